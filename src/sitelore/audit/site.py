"""The site as site rules and insights see it: a summary of every URL, the graph of links, and records about the site."""

from __future__ import annotations

import re
import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from sitelore.audit.graph import GraphLink, SiteGraph
from sitelore.audit.insights.chunk_clusters import ChunkClusters
from sitelore.audit.insights.topics import TopicCounts
from sitelore.audit.page import AuditPage
from sitelore.audit.rule import Needs
from sitelore.audit.shingles import ShingleFile, SimilarPair, shingles_of, similar_pairs
from sitelore.model.audit.facts import Alt, AuditFacts, LinkKind, has_id
from sitelore.model.audit.findings import (
    EarlierPage,
    ExternalCheck,
    Indexability,
    IndexedUrl,
    Instruction,
    LlmsTxt,
    MediaFile,
    RepeatedChunk,
    SearchLog,
    Shingles,
    SitemapFile,
)
from sitelore.model.frontier import Hop, Source
from sitelore.model.response import RobotsFile
from sitelore.model.states import REDIRECT_STATES, UNCHANGED, Proof, SkipReason, UrlState
from sitelore.model.url import Url

MAX_REDIRECTS = 20
MAX_KNOWN_IDS = 20_000
"""A page with more ids may have ids that its facts do not record."""
MIN_SHINGLE_WORDS = 100
SECURITY_HEADERS = (
    "strict-transport-security", "content-security-policy", "x-content-type-options", "x-frame-options", "referrer-policy"
)  # fmt: skip

_NO_ANCHOR = re.compile(r"$|top$|[/!]|:~:", re.IGNORECASE)
"""Fragments that name no element: an empty one, the top of the page, routes of scripts, text fragments."""
_ID_PREFIXES = ("", "user-content-")
"""Prefixes that scripts of a site add to ids."""
_SHELLS = frozenset({"shell", "no_browser", "failed"})
_REFERENCE = re.compile(r"^(?:\||```)", re.MULTILINE)
"""A table or a listing in Markdown."""
_DATE_CHARS = len("2024-05-06")


class TargetKind(StrEnum):
    """The state of the target of a link."""

    PAGE = "page"
    GONE = "gone"
    SERVER_ERROR = "server_error"
    FAILED = "failed"
    SOFT_404 = "soft_404"
    FORBIDDEN = "forbidden"
    REDIRECT = "redirect"
    ALIAS = "alias"
    SKIPPED = "skipped"
    EXTERNAL = "external"
    UNKNOWN = "unknown"
    """A URL of the site that the run does not know."""


BROKEN = frozenset({TargetKind.GONE, TargetKind.SERVER_ERROR, TargetKind.FAILED, TargetKind.SOFT_404})


class Target(NamedTuple):
    """The state of the target of a link."""

    kind: TargetKind
    status: int | None = None
    final_url: str = ""
    reason: str = ""


class AlternateLink(NamedTuple):
    """A translation that a page names."""

    lang: str
    href: str
    url: Url | None


class ImageUse(NamedTuple):
    """An image on a page, with the width that the markup declares."""

    url: str
    width: int


@dataclass(frozen=True, slots=True)
class PageSummary:
    """One URL as site rules see it: small enough to be held for every page of a site."""

    url: Url
    state: UrlState
    status: int | None
    is_kept: bool
    is_html: bool
    is_redirect: bool
    indexability: Indexability
    chain: tuple[Hop, ...] = ()
    final_url: Url | None = None
    proof: Proof | None = None
    skip_reason: SkipReason | None = None
    detail: str = ""
    error: str = ""
    source: Source = Source.LINK
    parent: Url | None = None
    depth: int = 0
    group: str = ""
    """The authority and folder of the URL: pages of one folder mostly come from one template."""
    title: str = ""
    h1: str = ""
    description: str = ""
    lang: str = ""
    word_count: int = 0
    content_hash: str = ""
    canonical: Url | None = None
    canonical_raw: str = ""
    alternates: tuple[AlternateLink, ...] = ()
    neighbours: tuple[tuple[str, Url], ...] = ()
    noindex: bool = False
    nofollow: bool = False
    """Whether the page asks crawlers not to follow its links."""
    types: tuple[str, ...] = ()
    """The types of its structured data."""
    broken_structured: int = 0
    form_count: int = 0
    is_reference: bool = False
    """Whether it has a table or a listing: such a page is complete with few words."""
    elapsed_s: float | None = None
    body_bytes: int = 0
    text_bytes: int = 0
    html_bytes: int = 0
    fetched_at: float | None = None
    lastmod: float | None = None
    modified: str = ""
    """The latest date of modification that the page states, `2024-05-06`."""
    ids: bytes = b""
    """Its ids for `PageIds`; empty where they are not all known."""
    security_headers: frozenset[str] | None = None
    """Headers of `SECURITY_HEADERS` that it has; None when its headers are not known."""
    servers: tuple[str, ...] = ()
    """Headers that name the software of the server."""
    cookies: tuple[str, ...] = ()
    """`Set-Cookie` headers: names and flags."""
    images: tuple[ImageUse, ...] = ()
    files: tuple[str, ...] = ()
    """Other media that the page embeds."""
    image_count: int = 0
    images_without_alt: int = 0
    is_noarchive: bool = False
    shingles: Shingles = b""
    changed: bool | None = None
    needs_browser: bool = False

    @property
    def is_indexable(self) -> bool:
        """Whether it is an HTML page that search engines may list."""
        return self.is_html and self.indexability is Indexability.INDEXABLE


def summarise(page: AuditPage, file: ShingleFile | None = None) -> PageSummary:
    """The summary of a page; `file` takes its shingles."""
    facts, content = page.facts, page.content
    structured = [each for each in content.structured if each.get("source") != "opengraph"]
    words = page.word_count
    shingles = shingles_of(content.text) if page.is_html and words >= MIN_SHINGLE_WORDS else b""
    return PageSummary(
        url=page.url,
        state=page.state,
        status=page.status,
        is_kept=page.is_kept,
        is_html=page.is_html,
        is_redirect=page.is_redirect,
        indexability=page.indexability,
        chain=page.chain,
        final_url=page.url if page.final_url == page.url else page.final_url,
        proof=page.proof,
        skip_reason=page.skip_reason,
        detail=page.detail,
        error=page.error,
        source=page.source,
        parent=page.parent,
        depth=page.depth,
        group=sys.intern(folder_of(page.url)),
        title=facts.title,
        h1=_main_heading(facts),
        description=facts.description,
        lang=sys.intern(facts.lang.lower()),
        word_count=words,
        content_hash=page.content_hash,
        canonical=page.canonical,
        canonical_raw=page.canonicals[0].value if page.canonicals else "",
        alternates=tuple(AlternateLink(each.lang, each.href, page.resolved(each.href)) for each in facts.alternates),
        neighbours=tuple(_neighbours(page)),
        noindex=page.indexability is Indexability.NOINDEX or bool({"noindex", "none"} & page.robots_words.keys()),
        nofollow=bool({"nofollow", "none"} & page.robots_words.keys()),
        types=tuple(sorted({sys.intern(str(name)) for each in structured for name in each.get("types", ())})),
        broken_structured=len(facts.json_ld_errors),
        form_count=len(content.forms),
        is_reference=_REFERENCE.search(content.markdown) is not None,
        elapsed_s=page.elapsed_s,
        body_bytes=page.body_bytes,
        text_bytes=facts.text_bytes,
        html_bytes=facts.body_bytes,
        fetched_at=page.fetched_at,
        lastmod=page.lastmod,
        modified=_modified(facts),
        ids=_packed_ids(page),
        security_headers=_shared(frozenset(_present_headers(page))) if page.is_html and page.has_head else None,
        servers=tuple(sys.intern(each) for name in ("server", "x-powered-by") for each in page.headers(name)),
        cookies=tuple(map(sys.intern, page.headers("set-cookie"))),
        images=tuple(_images(page)),
        files=tuple(sys.intern(str(each["url"])) for each in content.media if each.get("type") != "image" and each.get("url")),
        image_count=facts.image_count,
        images_without_alt=sum(each.alt is Alt.ABSENT for each in facts.images),
        is_noarchive="noarchive" in page.robots_words,
        shingles=file.store(shingles) if file is not None else shingles,
        changed=page.changed,
        needs_browser=content.rendering.get("reason") in _SHELLS and not page.is_rendered,
    )


def _modified(facts: AuditFacts) -> str:
    dates = (each.date[:_DATE_CHARS] for each in facts.dates if each.event == "modified" and len(each.date) >= _DATE_CHARS)
    return max(dates, default="")


def _main_heading(facts: AuditFacts) -> str:
    return next((each.text for each in facts.headings if each.level == 1 and each.text), "")


@lru_cache(maxsize=64)
def _shared(headers: frozenset[str]) -> frozenset[str]:
    """The first of all equal sets: most pages of a site have the same headers."""
    return headers


def folder_of(url: Url) -> str:
    """The authority and the folder of a URL."""
    return f"{url.authority}{url.path.rpartition('/')[0]}/"


def _present_headers(page: AuditPage) -> Iterator[str]:
    policy = page.header("content-security-policy").lower()
    for name in SECURITY_HEADERS:
        if page.header(name) or (name == "x-frame-options" and "frame-ancestors" in policy):
            yield name


def _neighbours(page: AuditPage) -> Iterator[tuple[str, Url]]:
    """Yield the next and previous page that the head names; nothing where links without text may lead there."""
    facts = page.facts
    if not any(image.is_only_in_link for image in facts.images) and all(link.name for link in facts.links):
        for each in facts.neighbours:
            if (url := page.resolved(each.value)) is not None:
                yield each.name, url


def _images(page: AuditPage) -> Iterator[ImageUse]:
    widths = {page.resolved(each.src): each.width for each in page.facts.images if each.width}
    for each in page.content.media:
        if each.get("type") == "image" and (url := str(each.get("url") or "")):
            width = str(each.get("width") or widths.get(Url.trusted(url), ""))
            yield ImageUse(sys.intern(url), int(width) if width.isdecimal() and len(width) < 6 else 0)


# Fragments


def add_anchors(graph: SiteGraph, page: AuditPage) -> None:
    """Add the page's links to fragments, its own and those of other pages, to the graph."""
    for link in page.facts.links if page.is_html else ():
        fragment = link.href.partition("#")[2].partition(":~:")[0]
        if link.kind in {LinkKind.PAGE, LinkKind.SAME_PAGE} and not _NO_ANCHOR.match(fragment):
            target = page.url if link.kind is LinkKind.SAME_PAGE else page.resolved(link.href)
            if target is not None:
                graph.add_anchor(page.url, target, fragment, link.name)


def _packed_ids(page: AuditPage) -> bytes:
    """The ids of a page, compressed; nothing where the page may have more than its facts record."""
    is_shell = page.content.rendering.get("reason") in _SHELLS and not page.is_rendered
    if not page.is_html or is_shell or len(page.facts.hashed_ids) >= MAX_KNOWN_IDS:
        return b""
    names = "\n".join(page.facts.ids).encode("utf-8", "replace")
    return zlib.compress(names + b"\0" + array("Q", page.facts.hashed_ids).tobytes(), 1)


class PageIds:
    """The ids of a page, for looking up fragments."""

    def __init__(self, packed: bytes) -> None:
        names, _, hashes = zlib.decompress(packed).partition(b"\0")
        self.names = tuple(names.decode("utf-8", "replace").split("\n"))
        self._facts = AuditFacts(ids=self.names, hashed_ids=tuple(array("Q", hashes)))

    def has_anchor(self, fragment: str) -> bool:
        """Whether a fragment leads to an element of the page."""
        return any(has_id(self._facts, f"{prefix}{form}") for prefix in _ID_PREFIXES for form in (fragment, unquote(fragment)))

    def nearest(self, fragment: str) -> list[str]:
        """The ids that are most like a fragment."""
        return get_close_matches(unquote(fragment), self.names, 3, 0.5)


# The site


class Section(NamedTuple):
    """Median and median absolute deviation of a figure over the pages of a folder."""

    pages: int
    median: float
    mad: float
    share_near: float
    """The share of pages within half of the median."""


@dataclass(frozen=True)
class Site:
    """Everything that site rules use. Records that the caller does not have stay empty."""

    pages: Mapping[str, PageSummary]
    graph: SiteGraph
    now: float
    is_complete: bool = True
    """Whether the run read the whole site: no budget, depth limit or trap ended it."""
    robots: tuple[RobotsFile, ...] = ()
    sitemaps: tuple[SitemapFile, ...] | None = None
    """None when sitemaps were not looked for."""
    media: Mapping[str, MediaFile] = field(default_factory=dict)
    external: Mapping[str, Sequence[ExternalCheck]] = field(default_factory=dict)
    earlier: Mapping[str, Sequence[EarlierPage]] = field(default_factory=dict)
    """Earlier runs by URL, newest first."""
    instructions: tuple[Instruction, ...] = ()
    indexed: tuple[IndexedUrl, ...] = ()
    repeated_chunks: tuple[RepeatedChunk, ...] = ()
    llms_txt: LlmsTxt | None = None
    unused_media: tuple[MediaFile, ...] = ()
    """Stored files that no page of the run shows."""
    topics: TopicCounts | None = None
    searches: SearchLog | None = None
    """What was searched on the site, where that is recorded."""
    clusters: ChunkClusters | None = None
    """The chunks of the search index by topic, where they have embeddings."""
    missing: frozenset[Needs] = frozenset()
    """Records that this run does not have though others may: what rules found in them is neither confirmed nor resolved."""

    @cached_property
    def start(self) -> PageSummary | None:
        """The page at which the crawl began."""
        seeds = [page for page in self.pages.values() if page.source is Source.SEED]
        first = min(seeds or self.pages.values(), key=lambda page: (page.depth, len(page.url), page.url), default=None)
        return self.final(first.url) or first if first is not None else None

    @property
    def start_url(self) -> str:
        """The URL of findings that concern the whole site."""
        return str(self.start.url) if self.start is not None else ""

    @cached_property
    def authorities(self) -> frozenset[str]:
        """The hosts of the site."""
        return frozenset(page.url.authority for page in self.pages.values() if page.is_kept)

    @cached_property
    def html_pages(self) -> list[PageSummary]:
        """The HTML pages that were read, in the order of their URLs."""
        return sorted((page for page in self.pages.values() if page.is_html), key=lambda page: page.url)

    @cached_property
    def indexable(self) -> list[PageSummary]:
        """The HTML pages that search engines may list, in the order of their URLs."""
        return [page for page in self.html_pages if page.is_indexable]

    @cached_property
    def listed(self) -> dict[str, float | None]:
        """The URLs that sitemaps list, with the time of their last modification."""
        files = self.sitemaps or ()
        entries = ((Url.parse(url, each.url), at) for each in files for url, at in each.entries.items())
        return {url: at for url, at in entries if url is not None}

    def final(self, url: str) -> PageSummary | None:
        """The page behind a URL, after redirects and merges; None when the run does not know it."""
        page = self.pages.get(url)
        for _ in range(MAX_REDIRECTS):
            if page is None or page.final_url is None or page.final_url == page.url:
                return page
            if not page.is_redirect and page.state is not UrlState.ALIAS:
                return page
            page = self.pages.get(page.final_url)
        return None

    def target(self, url: str) -> Target:
        """What became of the target of a link."""
        page = self.pages.get(url)
        if page is None or page.skip_reason is SkipReason.SCOPE:
            is_own = Url.trusted(url).authority in self.authorities
            return Target(TargetKind.UNKNOWN if is_own else TargetKind.EXTERNAL)
        final = str(page.final_url or "")
        if page.is_kept:
            return Target(TargetKind.PAGE, page.status or 200)
        if page.is_redirect and page.state is not UrlState.FAILED:
            return Target(TargetKind.REDIRECT, page.status, final)
        kinds = {
            UrlState.ALIAS: TargetKind.ALIAS,
            UrlState.NOT_FOUND: TargetKind.GONE,
            UrlState.SOFT_404: TargetKind.SOFT_404,
            UrlState.FORBIDDEN: TargetKind.FORBIDDEN,
            UrlState.FAILED: TargetKind.FAILED,
        }
        if page.state is UrlState.HTTP_TERMINAL:
            return Target(_kind_by_status(page.status), page.status, reason=page.error)
        reason = str(page.skip_reason or "") or page.error
        return Target(kinds.get(page.state, TargetKind.SKIPPED), page.status, final, reason)

    def broken(self, url: str) -> Target | None:
        """The state of a target that a reader cannot reach, redirects followed; None when it is not broken."""
        target = self.target(url)
        if target.kind is TargetKind.REDIRECT:
            last = self.final(url)
            target = self.target(last.url)._replace(final_url=str(last.url)) if last is not None else target
        return target if target.kind in BROKEN else None

    # Measures over the graph

    @cached_property
    def nodes(self) -> dict[str, int]:
        """The number of each HTML page in the graph of pages."""
        return {page.url: number for number, page in enumerate(self.html_pages)}

    @cached_property
    def _link_measures(self) -> tuple[list[int], list[int]]:
        """The number of followed links to each node and its click depth. The edges are not held: they take much memory."""
        edges = self.graph.edges(self._nodes_by_id(self.nodes), len(self.nodes))
        return edges.followed_in_degrees(), edges.click_depths(self.nodes.get(self.start_url, -1))

    def _nodes_by_id(self, nodes: Mapping[str, int]) -> list[int]:
        finals = (self.final(url) for url in self.graph.urls)
        return [nodes.get(page.url, -1) if page is not None else -1 for page in finals]

    @cached_property
    def followed_inlinks(self) -> dict[str, int]:
        """The number of pages that link to each HTML page without nofollow."""
        return dict(zip(self.nodes, self._link_measures[0], strict=True))

    @cached_property
    def click_depths(self) -> dict[str, int]:
        """The number of clicks from the start page to each HTML page; -1 where no path of followed links leads to it."""
        return dict(zip(self.nodes, self._link_measures[1], strict=True))

    @cached_property
    def ranks(self) -> dict[str, float]:
        """The internal PageRank of each indexable page."""
        nodes = {str(page.url): number for number, page in enumerate(self.indexable)}
        edges = self.graph.edges(self._nodes_by_id(nodes), len(nodes))
        return dict(zip(nodes, edges.pagerank(), strict=True))

    def similar_pairs(self, threshold: float) -> list[SimilarPair]:
        """Pairs of indexable pages that are at least this much alike, and not equal."""
        if threshold not in self._pairs:
            pages = {str(page.url): page.shingles for page in self.indexable if page.shingles}
            hashes = {url: self.pages[url].content_hash for url in pages}
            pairs = similar_pairs(pages, threshold)
            self._pairs[threshold] = [pair for pair in pairs if hashes[pair.first] != hashes[pair.second]]
        return self._pairs[threshold]

    @cached_property
    def _pairs(self) -> dict[float, list[SimilarPair]]:
        return {}

    def sources(self, url: str) -> list[GraphLink]:
        """The links of the site's pages to a URL."""
        return [link for link in self.graph.inlinks(url) if (page := self.pages.get(link.source)) is not None and page.is_kept]

    def norm(self, page: PageSummary) -> Section | None:
        """The word counts of the folder of a page; None when the folder is not known."""
        return self._norms.get(page.group)

    @cached_property
    def _norms(self) -> dict[str, Section]:
        counts: dict[str, list[int]] = {}
        for page in self.indexable:
            counts.setdefault(page.group, []).append(page.word_count)
        return {group: norm_of(words) for group, words in counts.items()}

    @cached_property
    def group_sizes(self) -> Counter[str]:
        """The number of indexable pages of each folder."""
        return Counter(page.group for page in self.indexable)


def _kind_by_status(status: int | None) -> TargetKind:
    if status is None or status >= 500:
        return TargetKind.SERVER_ERROR
    return TargetKind.FORBIDDEN if status in {401, 402, 403, 407, 429, 451} else TargetKind.GONE


def norm_of(values: Sequence[float]) -> Section:
    """The median of some figures and how far they are spread."""
    middle = _median(values)
    near = sum(abs(value - middle) <= middle / 2 for value in values)
    return Section(len(values), middle, _median([abs(value - middle) for value in values]), near / len(values))


def _median(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def is_complete_run(pages: Iterable[PageSummary]) -> bool:
    """Whether no limit ended the run before the whole site was read."""
    cut = {SkipReason.BUDGET, SkipReason.DEPTH, SkipReason.TRAP, SkipReason.CANCELLED, SkipReason.ROBOTS_UNREACHABLE}
    return not any(page.state is UrlState.SKIPPED and page.skip_reason in cut for page in pages)


def was_read(page: PageSummary) -> bool:
    """Whether the run fetched the URL and got a final answer, so that its findings may end."""
    if page.state in {UrlState.VISITED, UrlState.NOT_FOUND, UrlState.ALIAS, UrlState.SOFT_404}:
        return True
    return page.status in REDIRECT_STATES or (page.state is UrlState.HTTP_TERMINAL and page.status == 410)


def was_unchanged(page: PageSummary) -> bool:
    """Whether the page is the one of an earlier run."""
    return page.state is UrlState.NOT_MODIFIED or (page.state is UrlState.SKIPPED and page.skip_reason in UNCHANGED)
