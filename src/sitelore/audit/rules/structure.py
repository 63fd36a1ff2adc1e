"""Rules about the place of a page within the site: links to it, click depth, its URL, versions of one page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.site import PageSummary, Site
from sitelore.model.audit.findings import Severity

TABLE = RuleTable()

_VERSION = re.compile(r"/(?:v?\d+(?:\.\d+)*(?:\.x)?|latest|stable|dev|main|master|next|nightly)(?=/)", re.IGNORECASE)
_SESSION = re.compile(r"(?:[?&;])(?:phpsessid|jsessionid|sid|sessionid|session_id|cfid|cftoken)=", re.IGNORECASE)
_URL_KINDS = ("underscore", "uppercase", "space", "double slash", "session id", "parameters", "long")


@TABLE.site(
    "orphan-page",
    Group.GRAPH,
    Severity.WARNING,
    (Needs.GRAPH,),
    title="No link leads to the page",
    explanation="No page of the site links to it without nofollow. Readers do not find it, and search engines rate it low.",
    fix="Link to it from two to five related pages.",
)
def _orphan_page(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.indexable:
        if page is not site.start and not page.url.is_root and not site.followed_inlinks[page.url]:
            severity = None if site.is_complete else Severity.NOTICE
            yield Hit({"source": page.source.value, "is_confirmed": site.is_complete}, page.url, severity)


@TABLE.site(
    "weak-inlinks",
    Group.GRAPH,
    Severity.NOTICE,
    (Needs.GRAPH,),
    thresholds={"min_depth": 2},
    title="Only one page links to the page",
    explanation="A single page of the site links to it. If that link goes, the page is lost.",
    fix="Link to it from related pages too.",
)
def _weak_inlinks(site: Site, limits: Limits) -> Iterator[Hit]:
    if not site.is_complete:
        return
    for page in site.indexable:
        if site.followed_inlinks[page.url] == 1 and site.click_depths[page.url] >= limits["min_depth"]:
            links = [link for link in site.sources(page.url) if not link.nofollow and link.source != page.url]
            first = links[0] if links else None
            evidence = {"page": first.source, "text": first.text} if first is not None else {"page": "", "text": ""}
            yield Hit({**evidence, "depth": site.click_depths[page.url]}, page.url)


@TABLE.site(
    "page-too-deep",
    Group.GRAPH,
    Severity.NOTICE,
    (Needs.GRAPH,),
    thresholds={"max_clicks": 4},
    title="Page is many clicks away",
    explanation="Readers need more than four clicks from the start page to reach it.",
    fix="Link to it from a page higher up.",
)
def _page_too_deep(site: Site, limits: Limits) -> Iterator[Hit]:
    for page in site.indexable:
        if site.click_depths[page.url] > limits["max_clicks"]:
            yield Hit({"clicks": site.click_depths[page.url], "parent": str(page.parent or "")}, page.url)


def _url_problems(page: PageSummary, limits: Limits) -> Iterator[str]:
    path, query = page.url.path, page.url.query
    checks = (
        "_" in path,
        path != path.lower() and re.search("[A-Z]", re.sub("%[0-9A-Fa-f]{2}", "", path)) is not None,
        "%20" in path,
        "//" in path,
        _SESSION.search(page.url) is not None,
        bool(query) and query.count("&") + 1 > limits["max_parameters"],
        len(page.url) > limits["max_chars"],
    )
    return (kind for kind, is_so in zip(_URL_KINDS, checks, strict=True) if is_so)


@TABLE.site(
    "url-form",
    Group.URL,
    Severity.NOTICE,
    (Needs.GRAPH,),
    identity=("kind",),
    thresholds={"max_chars": 115, "limit_chars": 2047, "max_parameters": 2, "usual_share": 0.7, "min_pages": 5},
    title="Address in an awkward form",
    explanation="The URL has underscores, capitals, spaces, double slashes, a session id, many parameters, or is very long.",
    fix="Redirect to a short address in small letters with hyphens. Do not change addresses for looks alone.",
)
def _url_form(site: Site, limits: Limits) -> Iterator[Hit]:
    problems = [(page, kind) for page in site.indexable for kind in _url_problems(page, limits)]
    counts = Counter(kind for _, kind in problems)
    usual = limits["usual_share"] * len(site.indexable) if len(site.indexable) >= limits["min_pages"] else float("inf")
    for page, kind in problems:
        if counts[kind] < usual:
            is_unusable = kind == "long" and len(page.url) > limits["limit_chars"]
            yield Hit({"kind": kind, "length": len(page.url)}, page.url, Severity.ERROR if is_unusable else None)


@TABLE.site(
    "docs-version-mixed",
    Group.MACHINES,
    Severity.NOTICE,
    (Needs.DOCUMENT, Needs.GRAPH),
    thresholds={"min_similarity": 0.9},
    title="Versions of one page compete",
    explanation="Nearly equal pages differ only in the version in their URL, and none names the newest one as canonical.",
    fix="Add canonical links to the newest version, or mark old versions noindex.",
)
def _docs_version_mixed(site: Site, limits: Limits) -> Iterator[Hit]:
    sets: dict[str, set[str]] = {}
    for pair in site.similar_pairs(limits["min_similarity"]):
        first, second = (_VERSION.sub("/*", url) for url in (pair.first, pair.second))
        if first == second:
            sets.setdefault(first, set()).update((pair.first, pair.second))
    for urls in sets.values():
        newest = max(urls, key=_version_key)
        for url in sorted(urls - {newest}):
            yield Hit({"newest": newest, **listed("versions", sorted(urls))}, url)


def _version_key(url: str) -> tuple[bool, tuple[int, ...], str]:
    match = _VERSION.search(url)
    numbers = tuple(map(int, re.findall(r"\d+", match[0]))) if match is not None else ()
    is_current = match is not None and match[0].lower() in {"/latest", "/stable"}
    return is_current, numbers, url
