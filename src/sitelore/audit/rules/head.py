"""Rules about the head of a page (title, description, viewport, encoding, previews) and its headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, pairwise
from textwrap import shorten

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import AppliesTo, Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.site import PageSummary, Site
from sitelore.model.audit.facts import HeadingFact
from sitelore.model.audit.findings import Severity

TABLE = RuleTable()

_MIN_DESCRIPTION, _MAX_DESCRIPTION = 50, 160
_MIN_PROSE_CHARS, _MIN_WORD_SHARE = 60, 0.9
_ITEM = ("- ", "* ", "\u2022 ")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!cf\.)(?<!vs\.)\s+(?![a-z])")

_SEPARATOR = re.compile(r"\s+[|\u2013\u2014\u00b7\u2022\u00bb\u2190\u203a:-]+\s+|\s+\|\s*|\s+(?=\()")
_MAX_SEPARATORS = 6
_SCALE = re.compile(r"maximum-scale\s*=\s*([\d.]+)", re.IGNORECASE)
_NO_SCALING = re.compile(r"user-scalable\s*=\s*(?:no|0)\b", re.IGNORECASE)
_REPEATABLE = (
    ("titles", "title"),
    ("descriptions", "meta description"),
    ("robots_metas", "meta robots"),
    ("viewports", "meta viewport"),
)


@TABLE.page(
    "title-missing",
    Group.HEAD,
    Severity.ERROR,
    title="Page without a title",
    explanation="The head has no title, or an empty one. Search results and browser tabs show the address or a guess.",
    fix="Add a title element that names the subject of the page.",
)
def _title_missing(page: AuditPage, _: Limits) -> Iterator[Hit]:
    if not page.facts.title and "title" not in page.facts.head_in_body:
        yield Hit({"titles": page.facts.titles, "proposal": page.content.h1})


def duplicates(pages: Iterable[PageSummary], value: str) -> Iterator[list[PageSummary]]:
    """Yield the sets of pages of one language that have an equal, normalised value."""
    sets: dict[tuple[str, str], list[PageSummary]] = {}
    for page in pages:
        if text := " ".join(str(getattr(page, value)).casefold().split()):
            sets.setdefault((text, page.lang.partition("-")[0]), []).append(page)
    return (each for each in sets.values() if len(each) > 1)


def _differing(pages: list[PageSummary]) -> list[PageSummary]:
    """Pages without those that repeat the content of another: these are findings of `duplicate-exact`."""
    return list({page.content_hash or page.url: page for page in reversed(pages)}.values())[::-1]


@TABLE.site(
    "title-duplicate",
    Group.HEAD,
    Severity.WARNING,
    (Needs.GRAPH, Needs.FACTS),
    title="Several pages have this title",
    explanation=(
        "Other indexable pages in the same language have an equal title. Readers cannot tell them apart in search results."
    ),
    fix="Give every page a title of its own: add what distinguishes it.",
)
def _title_duplicate(site: Site, _: Limits) -> Iterator[Hit]:
    for pages in duplicates(site.indexable, "title"):
        differing = _differing(pages)
        for page in differing if len(differing) > 1 else ():
            others = [str(other.url) for other in differing if other is not page]
            yield Hit({"title": page.title, **listed("pages", others)}, page.url)


@lru_cache(maxsize=100_000)
def _parts(title: str) -> tuple[tuple[str, str], ...]:
    """The beginnings and ends of a title at its separators: one of them may be the name of the site."""
    marks = list(islice(_SEPARATOR.finditer(title), _MAX_SEPARATORS))
    return (*(("prefix", title[: mark.end()]) for mark in marks), *(("suffix", title[mark.start() :]) for mark in marks))


def site_affix(site: Site, share: float, min_pages: int) -> tuple[str, str] | None:
    """The text that most titles begin or end with, and which: `prefix` or `suffix`. None when they have nothing in common."""
    titles = [page.title for page in site.indexable if page.title]
    counts = Counter(part for title in titles for part in _parts(title))
    if len(titles) < min_pages or not counts:
        return None
    usual = [part for part, count in counts.items() if count >= share * len(titles)]
    return max(usual, key=lambda part: (len(part[1]), part), default=None)


def without_affix(title: str, affix: tuple[str, str] | None) -> str:
    """A title without the name of the site."""
    if affix is None:
        return title
    return title.removeprefix(affix[1]) if affix[0] == "prefix" else title.removesuffix(affix[1])


@TABLE.site(
    "title-length",
    Group.HEAD,
    Severity.NOTICE,
    (Needs.FACTS, Needs.GRAPH),
    thresholds={"min_chars": 15, "max_chars": 65, "affix_share": 0.7, "affix_pages": 10},
    title="Title is very short or very long",
    explanation=(
        "Without the name of the site, the title is so short that it says little, or so long that search results cut it."
    ),
    fix="Write a title of about 15 to 65 characters, the most important words first.",
)
def _title_length(site: Site, limits: Limits) -> Iterator[Hit]:
    affix = site_affix(site, limits["affix_share"], int(limits["affix_pages"]))
    for page in site.indexable:
        own = without_affix(page.title, affix)
        # A short title with the name of the site is a whole one.
        is_short = len(page.title) < limits["min_chars"]
        if page.title and (is_short or len(own) > limits["max_chars"]):
            evidence = {"title": page.title, "length": len(own), "site_name": affix[1] if affix is not None else ""}
            yield Hit(evidence, page.url)


@TABLE.site(
    "title-pattern-outlier",
    Group.HEAD,
    Severity.NOTICE,
    (Needs.FACTS, Needs.GRAPH),
    thresholds={"min_pages": 10, "min_share": 0.7},
    title="Title without the name of the site",
    explanation="Most titles begin or end with the name of the site, this one does not.",
    fix="Follow the pattern of the other titles.",
)
def _title_pattern_outlier(site: Site, limits: Limits) -> Iterator[Hit]:
    affix = site_affix(site, limits["min_share"], int(limits["min_pages"]))
    if affix is None:
        return
    name = " ".join(_SEPARATOR.sub(" ", f" {affix[1]} ").split()).casefold()
    for page in site.indexable:
        if page.title and page is not site.start and not page.url.is_root and name not in page.title.casefold():
            yield Hit({"title": page.title, "pattern": affix[1], "place": affix[0]}, page.url)


@TABLE.page(
    "description-missing",
    Group.HEAD,
    Severity.WARNING,
    AppliesTo.INDEXABLE,
    thresholds={"min_words": 100},
    title="Page without a description",
    explanation="The page has no meta description. Search results show some sentence of the page instead.",
    fix="Add a meta description of one or two sentences.",
)
def _description_missing(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    is_in_body = "meta description" in page.facts.head_in_body
    if not page.facts.description and not is_in_body and page.word_count >= limits["min_words"]:
        yield Hit({"words": page.word_count, "proposal": first_sentence(page.content.text, page.content.h1)})


def first_sentence(text: str, h1: str) -> str:
    """A description from the first prose of a text: its first sentence, with those after it while it is too short."""
    line = next((line for line in text[:4_000].split("\n") if line != h1 and _is_prose(line)), "")
    description = ""
    for sentence in _SENTENCE_END.split(line):
        longer = f"{description} {sentence}".strip()
        if len(description) >= _MIN_DESCRIPTION or len(longer) > _MAX_DESCRIPTION:
            break
        description = longer
    return description if len(description) >= _MIN_DESCRIPTION else shorten(line, _MAX_DESCRIPTION, placeholder=" …")


def _is_prose(line: str) -> bool:
    """Whether a line is long enough for a description and mostly words: no code, syntax of a command, or item of a list."""
    if len(line) <= _MIN_PROSE_CHARS or line.startswith(_ITEM):
        return False
    return sum(char.isalpha() or char == " " for char in line) >= _MIN_WORD_SHARE * len(line)


@TABLE.site(
    "description-duplicate",
    Group.HEAD,
    Severity.NOTICE,
    (Needs.GRAPH, Needs.FACTS),
    title="Several pages have this description",
    explanation="Other indexable pages in the same language have an equal description.",
    fix="Write a description of its own for every page, or none.",
)
def _description_duplicate(site: Site, _: Limits) -> Iterator[Hit]:
    for pages in duplicates(site.indexable, "description"):
        differing = _differing(pages)
        for page in differing if len(differing) > 1 else ():
            others = [str(other.url) for other in differing if other is not page]
            yield Hit({"description": page.description, **listed("pages", others)}, page.url)


@TABLE.page(
    "description-length",
    Group.HEAD,
    Severity.NOTICE,
    AppliesTo.INDEXABLE,
    thresholds={"min_chars": 50, "max_chars": 160},
    title="Description is very short or very long",
    explanation="The meta description is too short to say something, or so long that search results cut it.",
    fix="Write a description of about 50 to 160 characters.",
)
def _description_length(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    length = len(page.facts.description)
    if length and not limits["min_chars"] <= length <= limits["max_chars"]:
        yield Hit({"length": length, "description": page.facts.description})


@TABLE.page(
    "head-element-repeated",
    Group.HEAD,
    Severity.WARNING,
    identity=("element",),
    title="Element repeated in the head",
    explanation="The head has this element more than once. Which one counts is up to the browser or search engine.",
    fix="Keep one of them.",
)
def _head_element_repeated(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for name, element in _REPEATABLE:
        if (count := getattr(page.facts, name)) > 1:
            yield Hit({"element": element, "count": count})


@TABLE.page(
    "head-element-in-body",
    Group.HEAD,
    Severity.WARNING,
    identity=("element",),
    title="Head element in the body",
    explanation=(
        "An element that counts only in the head stands in the body, mostly because another element ended the head too early."
    ),
    fix="Move it into the head, before the element that ended it.",
)
def _head_element_in_body(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for element in page.facts.head_in_body:
        yield Hit({"element": element, "head_ended_by": page.facts.head_ended_by})


@TABLE.page(
    "viewport-missing",
    Group.MOBILE,
    Severity.WARNING,
    title="No viewport for small screens",
    explanation="Without a viewport, phones show the page as on a desktop, in tiny letters.",
    fix='Add <meta name="viewport" content="width=device-width, initial-scale=1">.',
)
def _viewport_missing(page: AuditPage, _: Limits) -> Iterator[Hit]:
    if not page.facts.viewport and "meta viewport" not in page.facts.head_in_body:
        yield Hit({"viewports": page.facts.viewports})


@TABLE.page(
    "zoom-blocked",
    Group.MOBILE,
    Severity.WARNING,
    thresholds={"min_scale": 2},
    title="Readers cannot zoom",
    explanation="The viewport forbids zooming, which people with weak eyes need.",
    fix="Remove user-scalable=no and maximum-scale from the viewport.",
)
def _zoom_blocked(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    viewport = page.facts.viewport
    scale = _SCALE.search(viewport)
    if _NO_SCALING.search(viewport) or (scale is not None and _number(scale[1]) < limits["min_scale"]):
        yield Hit({"viewport": viewport})


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0  # as browsers read a scale that is no number


@TABLE.page(
    "charset-unclear",
    Group.HEAD,
    Severity.NOTICE,
    needs=(Needs.FACTS, Needs.HEADERS),
    title="Encoding is not declared, or is not UTF-8",
    explanation=(
        "Neither the header nor the first 1,024 bytes declare the encoding, or it is not UTF-8. Letters may be shown wrongly."
    ),
    fix='Save the page as UTF-8 and begin the head with <meta charset="utf-8">.',
)
def _charset_unclear(page: AuditPage, _: Limits) -> Iterator[Hit]:
    facts = page.facts
    declared = (facts.header_charset or facts.charset).lower().replace("_", "-")
    is_clear = bool(facts.header_charset) or facts.is_charset_early
    if not is_clear or (declared and declared not in {"utf-8", "utf8"}):
        yield Hit({"header": facts.header_charset, "markup": facts.charset, "is_early": facts.is_charset_early})


@TABLE.page(
    "preview-missing",
    Group.SOCIAL,
    Severity.NOTICE,
    AppliesTo.INDEXABLE,
    needs=(Needs.DOCUMENT,),
    title="No preview for social networks",
    explanation="The page has no og:title or og:image. Networks and chats show it without a title or picture of your choice.",
    fix="Add og:title and og:image to the head.",
)
def _preview_missing(page: AuditPage, _: Limits) -> Iterator[Hit]:
    meta = page.content.meta
    missing = [name for name in ("og:title", "og:image") if not meta.get(name)]
    if missing and page.content.text:
        yield Hit({"missing": missing, "twitter": bool(meta.get("twitter:title"))})


# Headings


def main_headings(page: AuditPage) -> list[HeadingFact]:
    """The headings of the main content: those in `main` or `article`, or all where the page has neither."""
    inside = [each for each in page.facts.headings if each.in_main]
    return inside or list(page.facts.headings)


@TABLE.page(
    "h1-missing",
    Group.HEADINGS,
    Severity.WARNING,
    thresholds={"min_words": 100},
    title="Page without a main heading",
    explanation="No h1 with a text tells readers, screen readers and search engines what the page is about.",
    fix="Make the headline of the page its h1.",
)
def _h1_missing(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    headings = [each for each in page.facts.headings if each.text]
    if page.word_count >= limits["min_words"] and not any(each.level == 1 for each in headings):
        yield Hit({"first_heading": headings[0].text if headings else "", "title": page.facts.title, "words": page.word_count})


@TABLE.page(
    "h1-repeated",
    Group.HEADINGS,
    Severity.NOTICE,
    title="Several main headings",
    explanation="The main content has more than one h1 with different texts, so its subject is not clear.",
    fix="Keep one h1 and make the others h2.",
)
def _h1_repeated(page: AuditPage, _: Limits) -> Iterator[Hit]:
    texts = dict.fromkeys(each.text.rstrip("\u00b6# ") for each in main_headings(page) if each.level == 1 and each.text)
    if len(texts) > 1:
        yield Hit(listed("headings", texts))


@TABLE.page(
    "heading-skip",
    Group.HEADINGS,
    Severity.NOTICE,
    identity=("heading",),
    title="Heading skips a level",
    explanation="A heading is more than one level below the one before it (an h4 after an h2), so the outline has a gap.",
    fix="Use the next level, and style sheets for its size.",
)
def _heading_skip(page: AuditPage, _: Limits) -> Iterator[Hit]:
    headings = main_headings(page)
    for before, heading in pairwise(headings):
        if heading.level > before.level + 1:
            after = f"h{before.level} {before.text}"
            yield Hit({"heading": heading.text, "level": heading.level, "after": after})


@TABLE.page(
    "heading-empty",
    Group.HEADINGS,
    Severity.NOTICE,
    title="Empty heading",
    explanation="A heading has neither text nor an image with one. Screen readers announce an empty heading.",
    fix="Write a text into it, or remove it.",
)
def _heading_empty(page: AuditPage, _: Limits) -> Iterator[Hit]:
    levels = [f"h{each.level}" for each in page.facts.headings if not each.text]
    if levels:
        yield Hit({"count": len(levels), **listed("levels", levels)})
