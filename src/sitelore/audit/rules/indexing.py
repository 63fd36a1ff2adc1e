"""Rules about what search engines may list: robots directives and canonical links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from sitelore.audit.page import AuditPage, robots_directives
from sitelore.audit.rule import AppliesTo, Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.rules.language import bad_target
from sitelore.audit.rules.reachability import source_list
from sitelore.audit.shingles import jaccard
from sitelore.audit.site import PageSummary, Site
from sitelore.model.audit.facts import Place
from sitelore.model.audit.findings import Indexability, Severity
from sitelore.model.states import Proof, SkipReason, UrlState
from sitelore.model.url import DEFAULT_RULES, Url, resolve

TABLE = RuleTable()

_ALIKE = 0.8
"""The similarity from which two pages count as versions of one."""
_SEARCH_AGENTS = frozenset({"", "googlebot", "bingbot"})
_UTILITY = re.compile(
    r"/(?:log-?in|sign-?in|sign-?up|register|account|my-?account|cart|basket|checkout|search|anmelden|warenkorb|suche|kasse)\b",
    re.IGNORECASE,
)
"""Pages that are kept out of search engines with reason though every page links to them."""
_NO_SNIPPET = frozenset({"nosnippet", "max-snippet:0", "noimageindex"})


@TABLE.page(
    "noindex",
    Group.INDEX,
    Severity.NOTICE,
    needs=(Needs.FACTS, Needs.HEADERS),
    title="Page is excluded from search engines",
    explanation="A robots meta or an X-Robots-Tag header says noindex.",
    fix="Remove the directive if the page is meant to be listed.",
)
def _noindex(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for declaration in page.facts.robots:
        agent, words = robots_directives(declaration)
        if agent in _SEARCH_AGENTS and not {"noindex", "none"}.isdisjoint(words):
            yield Hit({"directive": declaration.value, "place": declaration.place.value, "name": agent or declaration.name})
            return


@TABLE.site(
    "noindex-hub",
    Group.INDEX,
    Severity.WARNING,
    (Needs.GRAPH,),
    thresholds={"min_share": 0.1, "min_pages": 5},
    title="Much-linked page is excluded from search engines",
    explanation="A large share of the site links to this page, but it is noindex, so the weight of these links is lost.",
    fix="Let it be listed, or link to it from fewer pages.",
)
def _noindex_hub(site: Site, limits: Limits) -> Iterator[Hit]:
    least = max(limits["min_pages"], limits["min_share"] * len(site.html_pages))
    for page in site.html_pages:
        is_hub = page.indexability is Indexability.NOINDEX and site.followed_inlinks[page.url] >= least
        if is_hub and not _UTILITY.search(page.url.path):
            yield Hit({"inlinks": site.followed_inlinks[page.url], "pages": len(site.html_pages)}, page.url)


@TABLE.page(
    "nosnippet",
    Group.INDEX,
    Severity.NOTICE,
    AppliesTo.INDEXABLE,
    needs=(Needs.FACTS, Needs.HEADERS),
    identity=("directive",),
    title="Search results show no text or image",
    explanation="A robots directive forbids search engines to show a snippet or images of the page.",
    fix="Remove the directive if this is not wanted.",
)
def _nosnippet(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for word in sorted(_NO_SNIPPET & {word.replace(" ", "") for word in page.robots_words}):
        yield Hit({"directive": word})


@TABLE.site(
    "robots-conflict",
    Group.INDEX,
    Severity.WARNING,
    (Needs.ROBOTS, Needs.HISTORY),
    title="robots.txt hides a noindex",
    explanation="robots.txt excludes the URL, so crawlers never see that the page says noindex, and may list its address.",
    fix="Allow the URL in robots.txt, or remove the noindex.",
)
def _robots_conflict(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.pages.values():
        seen = [each.seen_at for each in site.earlier.get(page.url, ()) if each.noindex]
        if page.skip_reason is SkipReason.ROBOTS and seen:
            yield Hit({"robots": page.detail, "noindex_seen": max(seen)}, page.url)


@TABLE.site(
    "robots-blocked-linked",
    Group.INDEX,
    Severity.NOTICE,
    (Needs.ROBOTS, Needs.GRAPH),
    title="Linked URL is excluded by robots.txt",
    explanation="Pages link to the URL, but robots.txt excludes it. Crawlers cannot read it.",
    fix="Allow it in robots.txt, or remove the links.",
)
def _robots_blocked_linked(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.pages.values():
        if page.skip_reason is SkipReason.ROBOTS and (links := site.sources(page.url)):
            yield Hit({"robots": page.detail, **source_list(links)}, page.url)


@TABLE.site(
    "canonical-missing",
    Group.INDEX,
    Severity.NOTICE,
    (Needs.FACTS, Needs.GRAPH),
    title="Page with several addresses names none as its own",
    explanation="The page answers under more than one URL and has no canonical link, so search engines choose one of them.",
    fix="Add a canonical link with the preferred URL.",
)
def _canonical_missing(site: Site, _: Limits) -> Iterator[Hit]:
    addresses: dict[str, list[str]] = {}
    for page in site.pages.values():
        # Equal content at another path is a finding of `duplicate-exact`.
        is_variant = page.final_url is not None and page.url.path == page.final_url.path
        is_merged = page.proof is Proof.IDENTITY or (page.proof is Proof.EQUAL_CONTENT and is_variant)
        if page.state is UrlState.ALIAS and is_merged and page.final_url is not None:
            addresses.setdefault(page.final_url, []).append(str(page.url))
    for page in site.indexable:
        if page.url in addresses and not page.canonical_raw:
            yield Hit(listed("addresses", sorted(addresses[page.url])), page.url)


def _distinct(page: AuditPage, place: Place) -> list[str]:
    values = [each.value.strip() for each in page.facts.canonicals if each.place is place]
    return list(dict.fromkeys(str(page.resolved(value) or value) for value in values))


@TABLE.page(
    "canonical-multiple",
    Group.INDEX,
    Severity.ERROR,
    title="Several canonical links",
    explanation="The page names more than one canonical URL. Search engines ignore all of them.",
    fix="Keep one canonical link.",
)
def _canonical_multiple(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for place in (Place.HEAD, Place.HEADER):
        values = _distinct(page, place)
        if len(values) > 1:
            yield Hit({"place": place.value, **listed("values", values)})


@TABLE.page(
    "canonical-invalid",
    Group.INDEX,
    Severity.WARNING,
    identity=("value", "problem"),
    title="Canonical link is not valid",
    explanation=(
        "The canonical link is not an http(s) URL, has a fragment, is relative, or stands in the body, where it is ignored."
    ),
    fix="Write the full URL without a fragment into a canonical link in the head.",
)
def _canonical_invalid(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for each in page.facts.canonicals:
        value = each.value.strip()
        problem, severity = "", Severity.WARNING
        if each.place is Place.BODY:
            problem = "in the body"
        elif not value or page.resolved(value) is None:
            problem = "no http(s) URL"
        elif "#" in value:
            problem = "fragment"
        elif not value.lower().startswith(("http:", "https:")):
            problem, severity = "relative", Severity.NOTICE
        if problem:
            yield Hit({"value": value, "place": each.place.value, "problem": problem}, severity=severity)


@TABLE.page(
    "canonical-header-mismatch",
    Group.INDEX,
    Severity.ERROR,
    needs=(Needs.FACTS, Needs.HEADERS),
    title="Canonical link and header disagree",
    explanation="The Link header names another canonical URL than the page. Search engines cannot know which one is meant.",
    fix="Let both name one URL, or remove one of them.",
)
def _canonical_header_mismatch(page: AuditPage, _: Limits) -> Iterator[Hit]:
    tags, headers = _distinct(page, Place.HEAD), _distinct(page, Place.HEADER)
    if tags and headers and tags[0] != headers[0]:
        yield Hit({"tag": tags[0], "header": headers[0]})


def _elsewhere(site: Site) -> Iterator[tuple[PageSummary, Url]]:
    """Yield the pages whose canonical link leads to another URL, with that URL."""
    for page in site.pages.values():
        if page.canonical is not None and page.canonical != page.url and (page.is_html or page.state is UrlState.ALIAS):
            yield page, page.canonical


@TABLE.site(
    "canonical-to-bad",
    Group.INDEX,
    Severity.ERROR,
    (Needs.FACTS, Needs.GRAPH),
    identity=("target",),
    title="Canonical link leads to a page that cannot be listed",
    explanation=(
        "The canonical URL answers with an error, redirects, is noindex or is excluded by robots.txt. Neither "
        "page may be listed."
    ),
    fix="Name the final, indexable URL.",
)
def _canonical_to_bad(site: Site, _: Limits) -> Iterator[Hit]:
    for page, target in _elsewhere(site):
        problem = bad_target(site, target)
        if problem and problem != Indexability.CANONICALISED:
            yield Hit({"target": str(target), "problem": problem, "status": site.pages[target].status}, page.url)


@TABLE.site(
    "canonical-chain",
    Group.INDEX,
    Severity.WARNING,
    (Needs.FACTS, Needs.GRAPH),
    identity=("target",),
    title="Canonical links in a row",
    explanation="The canonical URL of the page names yet another canonical URL, or this page again.",
    fix="Name the last URL of the row; of two pages that name each other, choose one.",
)
def _canonical_chain(site: Site, _: Limits) -> Iterator[Hit]:
    for page, target in _elsewhere(site):
        following = site.pages.get(target)
        if following is not None and following.canonical not in {None, target}:
            yield Hit({"target": str(target), "final": str(following.canonical)}, page.url)


@TABLE.site(
    "canonical-to-home",
    Group.INDEX,
    Severity.ERROR,
    (Needs.FACTS, Needs.GRAPH),
    title="Canonical link leads to the home page",
    explanation=(
        "The page names the home page as its canonical URL though its content differs, so it disappears from search results."
    ),
    fix="Name the URL of the page itself.",
)
def _canonical_to_home(site: Site, _: Limits) -> Iterator[Hit]:
    for page, target in _elsewhere(site):
        home = site.pages.get(target)
        if target.is_root and page.is_html and home is not None and home.is_kept and not _is_alike(page, home):
            yield Hit({"target": str(target), "title": page.title, "home_title": home.title}, page.url)


def _is_alike(page: PageSummary, home: PageSummary) -> bool:
    """Whether a page has the content of another, such as its print or AMP version."""
    if page.content_hash == home.content_hash:
        return True
    return bool(page.shingles and home.shingles) and jaccard(page.shingles, home.shingles) >= _ALIKE


@TABLE.site(
    "canonical-not-same-content",
    Group.INDEX,
    Severity.WARNING,
    (Needs.FACTS, Needs.DOCUMENT, Needs.GRAPH),
    identity=("target",),
    thresholds={"warning_below": 0.5, "notice_below": 0.8},
    title="Canonical link leads to different content",
    explanation=(
        "The page and its canonical URL have little text in common. Search engines ignore such a link, or drop the page."
    ),
    fix="Name the URL of the page itself, or merge the two pages.",
)
def _canonical_not_same_content(site: Site, limits: Limits) -> Iterator[Hit]:
    for page, target in _elsewhere(site):
        other = site.pages.get(target)
        if target.is_root or other is None or not (page.is_html and other.is_html and page.shingles and other.shingles):
            continue
        value = jaccard(page.shingles, other.shingles)
        if value < limits["notice_below"]:
            severity = Severity.WARNING if value < limits["warning_below"] else Severity.NOTICE
            evidence = {"similarity": round(value, 2), "title": page.title, "other_title": other.title}
            yield Hit({"target": str(target), **evidence}, page.url, severity)


def _slash_form(url: str) -> str:
    path = urlsplit(url).path
    if path in {"", "/"} or "." in path.rpartition("/")[2]:
        return ""
    return "slash" if path.endswith("/") else "no slash"


def _tracking_form(url: str) -> str:
    names = [part.partition("=")[0] for part in urlsplit(url).query.split("&")]
    return "tracking parameter" if any(name and DEFAULT_RULES.drops(name) for name in names) else "no tracking parameter"


_FORMS: dict[str, Callable[[str], str]] = {
    "scheme": lambda url: urlsplit(url).scheme,
    "host": lambda url: "www" if urlsplit(url).netloc.startswith("www.") else "no www",
    "slash": _slash_form,
    "parameters": _tracking_form,
}


@TABLE.site(
    "canonical-form-drift",
    Group.INDEX,
    Severity.WARNING,
    (Needs.FACTS, Needs.GRAPH),
    identity=("form",),
    thresholds={"min_pages": 10, "max_share": 0.3},
    title="Canonical link in an unusual form",
    explanation="The canonical URL differs from those of most pages in its scheme, www, final slash or tracking parameters.",
    fix="Write all canonical URLs in one form.",
)
def _canonical_form_drift(site: Site, limits: Limits) -> Iterator[Hit]:
    pages = [(page, resolve(page.url, page.canonical_raw) or "") for page in site.html_pages if page.canonical_raw]
    for name, form_of in _FORMS.items():
        forms = [(page, form) for page, raw in pages if (form := form_of(raw))]
        counts = Counter(form for _, form in forms)
        for page, form in forms:
            if len(forms) >= limits["min_pages"] and counts[form] < limits["max_share"] * len(forms):
                usual = counts.most_common(1)[0][0]
                yield Hit({"form": name, "value": page.canonical_raw, "has": form, "usual": usual}, page.url)
