"""Rules about the content of pages: duplicates, thin, hidden, outdated and damaged text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from statistics import median

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import AppliesTo, Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.shingles import clusters, jaccard
from sitelore.audit.site import PageSummary, Site, TargetKind
from sitelore.model.audit.facts import DateFact
from sitelore.model.audit.findings import Severity
from sitelore.model.states import Proof, UrlState

TABLE = RuleTable()

_REPLACEMENT = "\ufffd"
_ABOUT_ENCODING = re.compile(
    r"U\+FFFD|replacement character|mojibake|surrogate|\\ufffd|(?:decod|encod)ing error", re.IGNORECASE
)
_WRONG_PAIRS = re.compile(
    "[\u00c3\u00c2][\u0080-\u00bf]|\u00e2\u20ac[\u0090-\u00bf\u2018-\u2122\u0153]|\u00e2\u0080[\u0080-\u00bf]"
)
"""UTF-8 that was read as Latin-1 or Windows-1252."""
_VISIBLE_ENTITY = re.compile(r"&(?:nbsp|amp;nbsp|amp;amp|#160|amp;#\d+);")
_CODE = re.compile(r"^ *(?P<fence>`{3,}|~{3,}).*?^ *(?P=fence)|`[^`\n]+`|^ {4,}.*$", re.MULTILINE | re.DOTALL)
_LOREM = re.compile(r"lorem ipsum dolor sit amet", re.IGNORECASE)
_EMPTY_VALUE = re.compile(r"(?:^|[\s|:\u2013\u2014-])(?:undefined|null|NaN|TODO|TBD|FIXME)(?:$|\s*[|:\u2013\u2014-])")
_UNFILLED = re.compile(r"\{\{[^{}]{1,80}\}\}|\$\{[^{}]{1,80}\}|\{%[^{}]{1,80}%\}|\[object Object\]")
_NOT_PROSE = re.compile(r"/(?:contact|kontakt|imprint|impressum|login|search|tag|tags|category|archive|index|genindex|legal)\b")
_FINE_HIDING = re.compile(
    r"menu|nav|dialog|modal|tab|panel|accordion|collaps|dropdown|popup|popover|tooltip|sr-only|screen-reader|visually|offcanvas|"
    r"skip|mobile|desktop|cookie|consent|slide|carousel|toggle|drawer|overlay|search|template|toast|alert|lang|share|details|expand|"
    r"hidden-(?:xs|sm|md|lg)|noprint|print|loading|spinner|more|form|error|captcha|modal|lightbox|gallery|swiper|toc|comment|reply",
    re.IGNORECASE,
)
"""Elements that scripts show when they are needed."""
_DECEPTIVE = frozenset({"font-size", "clip", "off-screen", "colour"})
_VISIBLE_SOURCES = frozenset({"time", "text"})
_DECLARED_SOURCES = frozenset({"json-ld", "meta", "microdata"})
_TOKEN_BYTES = 4
_WORDS_PER_LINK = 5
"""A page with fewer words for each of its links is a list of links."""


def primary_of(site: Site, urls: list[str]) -> str:
    """The page of a set of duplicates that should stay: the start, else with the most internal rank, then the shortest URL."""
    return min(urls, key=lambda url: (url != site.start_url, -site.ranks.get(url, 0.0), len(url), url))


def _prose(page: AuditPage) -> str:
    """The text of a page without its code; to be called only where the text has something to look for."""
    return _CODE.sub(" ", page.content.markdown)


@TABLE.site(
    "duplicate-exact",
    Group.CONTENT,
    Severity.ERROR,
    (Needs.GRAPH,),
    identity=("primary",),
    title="Equal content under two addresses",
    explanation=(
        "The page has the content of another one, and neither a redirect nor a canonical link says which of them counts."
    ),
    fix="Redirect to the primary page, or add a canonical link to it.",
)
def _duplicate_exact(site: Site, _: Limits) -> Iterator[Hit]:
    sets: dict[str, list[PageSummary]] = {}
    for page in site.pages.values():
        is_merged = page.state is UrlState.ALIAS and page.proof is Proof.EQUAL_CONTENT and not page.noindex
        if page.content_hash and (is_merged or page.is_indexable):
            sets.setdefault(page.content_hash, []).append(page)
    for pages in sets.values():
        kept = [str(page.url) for page in pages if page.is_indexable]
        if len(pages) < 2 or not kept:
            continue
        primary = primary_of(site, kept)
        for page in pages:
            if primary not in {page.url, page.canonical}:
                inlinks = site.graph.inlink_count(page.url)
                others = sorted(str(each.url) for each in pages)
                yield Hit({"primary": primary, "inlinks": inlinks, **listed("pages", others)}, page.url)


@TABLE.site(
    "duplicate-near",
    Group.CONTENT,
    Severity.WARNING,
    (Needs.DOCUMENT, Needs.GRAPH),
    identity=("primary",),
    thresholds={"min_similarity": 0.9},
    title="Nearly equal content",
    explanation="Nine tenths or more of the text are those of another page. Search engines list one of them only.",
    fix="Merge the pages, make them differ, or add a canonical link to the primary one.",
)
def _duplicate_near(site: Site, limits: Limits) -> Iterator[Hit]:
    pairs = site.similar_pairs(limits["min_similarity"])
    shingles = {url: site.pages[url].shingles for pair in pairs for url in (pair.first, pair.second)}
    for group in clusters(pairs, shingles):
        primary = primary_of(site, group)
        for url in sorted(group):
            if url != primary:
                best = max((pair for pair in pairs if url in pair[:2]), key=lambda pair: pair.similarity)
                other = best.second if best.first == url else best.first
                evidence = {"similarity": round(best.similarity, 3), "nearest": other, "pages": sorted(group)[:10]}
                yield Hit({"primary": primary, **evidence}, url)


@TABLE.page(
    "mojibake",
    Group.CONTENT,
    Severity.WARNING,
    needs=(Needs.DOCUMENT,),
    thresholds={"min_pairs": 3},
    title="Damaged letters",
    explanation=(
        "The text has characters that arise when an encoding is mistaken for another, or entities that are shown "
        "as they are written."
    ),
    fix="Correct the declared encoding, or import the text again.",
)
def _mojibake(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    text = page.content.text
    charset = page.facts.header_charset or page.facts.charset
    at = text.find(_REPLACEMENT)
    if at >= 0 and _REPLACEMENT in _prose(page) and not _ABOUT_ENCODING.search(text):
        evidence = {"count": text.count(_REPLACEMENT), "charset": charset, "sample": text[max(0, at - 30) : at + 30]}
        yield Hit(evidence, severity=Severity.ERROR)
        return
    wrong = _WRONG_PAIRS.findall(text) if any(letter in text for letter in "\u00c2\u00c3\u00e2") else []
    wrong += _VISIBLE_ENTITY.findall(text) if "&" in text else []
    if len(wrong) >= limits["min_pairs"] and not _ABOUT_ENCODING.search(text):
        yield Hit({"count": len(wrong), "charset": charset, "sample": " ".join(wrong[:5])})


@TABLE.site(
    "thin-page",
    Group.CONTENT,
    Severity.NOTICE,
    (Needs.GRAPH,),
    thresholds={"min_group": 8, "min_alike": 0.7, "deviations": 3, "min_words": 100, "enough_words": 500},
    title="Page with little text",
    explanation="The page has far less text than others of its folder; where the folder has no norm, it has hardly any text.",
    fix="Say more, merge it with another page, or mark it noindex.",
)
def _thin_page(site: Site, limits: Limits) -> Iterator[Hit]:
    # On a site of short pages, a short one is nothing special.
    usual = median(page.word_count for page in site.indexable) if len(site.indexable) >= limits["min_group"] else math.inf
    for page in site.indexable:
        norm = site.norm(page)
        if page.word_count >= limits["enough_words"]:
            continue
        if norm is not None and norm.pages >= limits["min_group"] and norm.share_near >= limits["min_alike"]:
            if page.word_count < norm.median / 2 and page.word_count < norm.median - limits["deviations"] * norm.mad:
                yield Hit({"words": page.word_count, "median": norm.median, "group": page.group, "pages": norm.pages}, page.url)
        elif page.word_count < min(limits["min_words"], usual / 2) and _is_prose(site, page):
            yield Hit({"words": page.word_count, "group": page.group}, page.url)


def _is_prose(site: Site, page: PageSummary) -> bool:
    """Whether a page is meant to be read: not the start page, a list of links, a form, a contact page, a table or listing."""
    if (
        page is site.start
        or page.url.is_root
        or page.form_count
        or page.is_reference
        or _NOT_PROSE.search(page.url.path.lower())
    ):
        return False
    links = {link.target for link in site.graph.outlinks(page.url)}
    return len(links) * _WORDS_PER_LINK <= page.word_count


@TABLE.page(
    "hidden-text",
    Group.CONTENT,
    Severity.WARNING,
    identity=("element",),
    thresholds={"min_words": 50},
    title="Text that readers cannot see",
    explanation=(
        "A style hides text or links in a way that deceives search engines: tiny, off the screen, in the colour "
        "of its background."
    ),
    fix="Show the text or delete it.",
)
def _hidden_text(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    for part in page.facts.hidden:
        if _FINE_HIDING.search(part.element):
            continue
        is_much = part.words >= limits["min_words"]
        if is_much or (part.links and part.technique in _DECEPTIVE):
            evidence = {"element": part.element, "technique": part.technique, "words": part.words, "links": part.links}
            yield Hit({**evidence, "text": page.facts.hidden_text})


@TABLE.page(
    "placeholder-text",
    Group.CONTENT,
    Severity.WARNING,
    needs=(Needs.FACTS, Needs.DOCUMENT),
    identity=("place", "text"),
    thresholds={"max_in_text": 3},
    title="Placeholder was not filled in",
    explanation="The page shows text of a template (\u201clorem ipsum\u201d, {{name}}, undefined) instead of its content.",
    fix="Fill in the value, or remove the field.",
)
def _placeholder_text(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    alts = [str(each.get("alt") or "") for each in page.content.media]
    h1 = next((each.text for each in page.facts.headings if each.level == 1), "")
    places = [("title", page.facts.title), ("h1", h1), ("description", page.facts.description), *(("alt", alt) for alt in alts)]
    for place, text in places:
        match = _UNFILLED.search(text) or (_EMPTY_VALUE.search(text) if place != "description" else None)
        if match is not None and not _is_about_templates(page, match[0]):
            yield Hit({"place": place, "text": match[0].strip(" |:\u2013\u2014-")})
    if "lorem ipsum" in page.content.text.lower() and (match := _LOREM.search(_prose(page))):
        yield Hit({"place": "text", "text": match[0]})
    if "[object Object]" in page.content.text and (count := _prose(page).count("[object Object]")) > limits["max_in_text"]:
        yield Hit({"place": "text", "text": "[object Object]", "count": count})


def _is_about_templates(page: AuditPage, text: str) -> bool:
    """Whether the code of a page has the mark of a placeholder, so that the page explains templates."""
    mark = text[:2]
    return mark in {"{{", "${", "{%"} and any(mark in match[0] for match in _CODE.finditer(page.content.markdown))


def _day(fact: DateFact) -> date | None:
    try:
        return date.fromisoformat(fact.date[:10])
    except ValueError:
        return None


@TABLE.page(
    "dates-disagree",
    Group.CONTENT,
    Severity.NOTICE,
    identity=("event",),
    thresholds={"max_days": 30},
    title="Dates of the page disagree",
    explanation="The date that readers see and the one in the markup or the URL are far apart.",
    fix="Take all dates from one source.",
)
def _dates_disagree(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    for event in ("published", "modified"):
        facts = [fact for fact in page.facts.dates if fact.event == event]
        shown = [day for fact in facts if fact.source in _VISIBLE_SOURCES and (day := _day(fact)) is not None]
        declared = [day for fact in facts if fact.source in _DECLARED_SOURCES and (day := _day(fact)) is not None]
        gap = min((abs((a - b).days) for a in shown for b in declared), default=0)
        years = {day.year for day in (*shown, *declared)}
        in_url = {int(fact.date[:4]) for fact in facts if fact.source == "url" and fact.date[:4].isdecimal()}
        if gap > limits["max_days"] or (in_url and years and not in_url & years):
            yield Hit({"event": event, "days": gap, "dates": [f"{fact.source} {fact.date}" for fact in facts]})


@TABLE.page(
    "copyright-stale",
    Group.CONTENT,
    Severity.NOTICE,
    thresholds={"max_years": 0},
    title="Copyright year is over",
    explanation="The last year in the footer is before the year of the crawl, so the site looks neglected.",
    fix="Put the current year there, or none.",
)
def _copyright_stale(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    if page.facts.footer_year and page.fetched_at is not None and "present" not in page.facts.footer.lower():
        year = datetime.fromtimestamp(page.fetched_at, UTC).year
        if page.facts.footer_year < year - limits["max_years"]:
            yield Hit({"notice": page.facts.footer, "year": page.facts.footer_year})


@TABLE.page(
    "needs-javascript",
    Group.CONTENT,
    Severity.WARNING,
    needs=(Needs.DOCUMENT,),
    thresholds={"min_words": 200},
    title="Page is empty without JavaScript",
    explanation="The server sends a shell that scripts fill in the browser. Crawlers without a browser see nothing.",
    fix="Render the page on the server, or when the site is built.",
)
def _needs_javascript(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    rendering = page.content.rendering
    is_shell = rendering.get("reason") in {"shell", "known_page", "known_site"} and rendering.get("mode") == "browser"
    if is_shell and page.word_count >= limits["min_words"]:
        yield Hit({"words": page.word_count, "reason": rendering["reason"], **listed("signs", rendering.get("evidence", ()))})


@TABLE.page(
    "low-text-share",
    Group.CONTENT,
    Severity.NOTICE,
    AppliesTo.INDEXABLE,
    thresholds={"min_share": 0.02, "min_bytes": 50_000, "max_tokens": 100_000},
    title="Much markup, little text",
    explanation="The page's own text is a tiny part of the HTML, or is so long that language models cannot take it in at once.",
    fix="Move scripts and styles into files, trim the markup, or divide the page.",
)
def _low_text_share(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    size, text = page.facts.body_bytes, page.facts.text_bytes
    tokens = text // _TOKEN_BYTES
    is_list = len(page.facts.links) * _WORDS_PER_LINK > page.word_count
    is_markup = size >= limits["min_bytes"] and text < limits["min_share"] * size and not is_list
    if is_markup or tokens > limits["max_tokens"]:
        evidence = {"share": round(text / size, 3) if size else 0, "html_bytes": size, "text_tokens": tokens}
        yield Hit({**evidence, "html_tokens": size // _TOKEN_BYTES})


@TABLE.site(
    "content-shrank",
    Group.HISTORY,
    Severity.WARNING,
    (Needs.HISTORY,),
    thresholds={"min_share": 0.2, "min_words": 100},
    title="Page lost much of its text",
    explanation="The page has at least a fifth and 100 words less than its last version, under an equal title.",
    fix="Check whether the text was removed on purpose.",
)
def _content_shrank(site: Site, limits: Limits) -> Iterator[Hit]:
    for page in site.html_pages:
        before = next((each for each in site.earlier.get(page.url, ()) if each.word_count), None)
        lost = before.word_count - page.word_count if before is not None else 0
        if before is None or lost < limits["min_words"] or lost < limits["min_share"] * before.word_count:
            continue
        if before.title in {"", page.title}:
            yield Hit({"words": page.word_count, "before": before.word_count, "since": before.seen_at}, page.url)


@TABLE.site(
    "content-moved",
    Group.HISTORY,
    Severity.WARNING,
    (Needs.HISTORY, Needs.DOCUMENT),
    identity=("target",),
    thresholds={"min_similarity": 0.9},
    title="Page moved without a redirect",
    explanation="The page is gone, and a new page has its text. Links and bookmarks to the old address fail.",
    fix="Redirect the old address to the new one with 301.",
)
def _content_moved(site: Site, limits: Limits) -> Iterator[Hit]:
    new = [page for page in site.html_pages if page.shingles and page.url not in site.earlier]
    for page in site.pages.values():
        before = next((each for each in site.earlier.get(page.url, ()) if each.shingles), None)
        if before is None or site.target(page.url).kind is not TargetKind.GONE:
            continue
        alike = ((jaccard(before.shingles, other.shingles), other) for other in new)
        value, other = max(alike, key=lambda pair: pair[0], default=(0.0, page))
        if value >= limits["min_similarity"]:
            yield Hit({"target": str(other.url), "similarity": round(value, 3), "status": page.status}, page.url)
