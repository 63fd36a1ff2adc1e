"""Insights about links: internal rank, pages that waste or lack it, click depth, orphans, broken links."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import quantiles

from sitelore.audit.site import BROKEN, PageSummary, Site, TargetKind
from sitelore.model.audit.findings import Indexability
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url

TOP = 20
DEEP = 4
"""Pages that are more clicks away are counted as deep."""
_LIMITS = frozenset({SkipReason.BUDGET, SkipReason.DEPTH, SkipReason.TRAP, SkipReason.CANCELLED})


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page with its internal rank."""

    url: str
    rank: float
    """PageRank; the ranks of all pages add up to about 1."""
    scaled: float
    """From 0 to 100 on a logarithmic scale; the best page has 100."""


def scaled_ranks(site: Site) -> list[RankedPage]:
    """The internal rank of all indexable pages, best first."""
    ranks = site.ranks
    if not ranks:
        return []
    low, high = math.log(min(ranks.values())), math.log(max(ranks.values()))
    width = high - low
    scaled = {url: round(100 * (math.log(rank) - low) / width, 2) if width else 100.0 for url, rank in ranks.items()}
    pages = [RankedPage(url, rank, scaled[url]) for url, rank in ranks.items()]
    return sorted(pages, key=lambda page: (-page.rank, page.url))


def rank_by_section(site: Site) -> dict[str, float]:
    """The share of the internal rank that each first segment of a path has, largest first."""
    shares: Counter[str] = Counter()
    for url, rank in site.ranks.items():
        shares[section_of(Url.trusted(url))] += rank  # type: ignore[assignment]
    total = sum(shares.values()) or 1
    return {section: share / total for section, share in shares.most_common()}


def section_of(url: Url) -> str:
    """The first segment of a path: `/docs/`; `/` for pages at the root."""
    first, slash, _ = url.path[1:].partition("/")
    return f"/{first}/" if slash else "/"


@dataclass(frozen=True, slots=True)
class RankSinks:
    """The share of rank that flows to URLs which search engines do not list."""

    shares: dict[str, float]
    """By `Indexability`."""
    pages: tuple[tuple[str, str, float], ...]
    """URLs with a rank in the upper quarter that are not indexable: URL, reason, share."""


def rank_sinks(site: Site) -> RankSinks:
    """How much internal rank URLs hold that are not indexable. All URLs of the site are nodes here, redirects too."""
    known = [page for page in site.pages.values() if page.skip_reason is not SkipReason.SCOPE]
    nodes = {str(page.url): number for number, page in enumerate(known)}
    edges = site.graph.edges([nodes.get(url, -1) for url in site.graph.urls], len(nodes))
    ranks = edges.pagerank()
    total = sum(ranks) or 1
    shares: dict[str, float] = {}
    for page, rank in zip(known, ranks, strict=True):
        if page.indexability is not Indexability.INDEXABLE:
            shares[page.indexability.value] = shares.get(page.indexability.value, 0.0) + rank / total
    high = quantiles(ranks, n=4)[2] if len(ranks) > 1 else 0.0
    pairs = zip(known, ranks, strict=True)
    wasted = [(str(page.url), page.indexability.value, rank / total) for page, rank in pairs if rank >= high]
    pages = sorted((each for each in wasted if each[1] != Indexability.INDEXABLE), key=lambda each: (-each[2], each[0]))
    return RankSinks(shares, tuple(pages[:TOP]))


@dataclass(frozen=True, slots=True)
class StarvedPage:
    """A page that matters and gets little internal rank, with pages that could link to it."""

    url: str
    rank: float
    words: int
    in_sitemap: bool
    suggestions: tuple[str, ...]


def starved_pages(site: Site, min_words: int = 500, limit: int = 100) -> list[StarvedPage]:
    """Pages in the lowest quarter of rank that are in the sitemap or long. Pages with related titles could link to them."""
    if len(site.ranks) < 4:
        return []
    low = quantiles(site.ranks.values(), n=4)[0]
    pages = [page for page in site.indexable if site.ranks[page.url] <= low and page is not site.start]
    wanted = [page for page in pages if page.url in site.listed or page.word_count >= min_words]
    wanted.sort(key=lambda page: (site.ranks[page.url], page.url))
    by_word = _pages_by_word(site)
    return [
        StarvedPage(
            str(page.url), site.ranks[page.url], page.word_count, page.url in site.listed, _suggestions(site, page, by_word)
        )
        for page in wanted[:limit]
    ]


def _title_words(page: PageSummary) -> set[str]:
    return {word for word in f"{page.title} {page.h1}".casefold().split() if len(word) > 3}


def _pages_by_word(site: Site) -> dict[str, list[PageSummary]]:
    pages: dict[str, list[PageSummary]] = {}
    for page in site.indexable:
        for word in _title_words(page):
            pages.setdefault(word, []).append(page)
    return pages


def _suggestions(site: Site, page: PageSummary, by_word: dict[str, list[PageSummary]], count: int = 3) -> tuple[str, ...]:
    """Pages whose titles share rare words with that of a page and that do not link to it yet."""
    scores: Counter[str] = Counter()
    for word in _title_words(page):
        others = by_word.get(word, [])
        if 1 < len(others) <= max(20, len(site.indexable) // 10):
            for other in others:
                scores[other.url] += 1000 // len(others)
    linking = {link.source for link in site.graph.inlinks(page.url)} | {page.url}
    # A link from a page without links to it does not help.
    can_link = (url for url in scores if url not in linking and site.click_depths[url] >= 0)
    best = sorted(can_link, key=lambda url: (-scores[url], -site.ranks[url], url))
    return tuple(map(str, best[:count]))


def click_depth(site: Site) -> dict[str, dict[str, int]]:
    """The number of HTML pages by clicks from the start page (`-` where no path leads there) and by indexability."""
    table: dict[int, Counter[str]] = {}
    for page in site.html_pages:
        table.setdefault(site.click_depths[page.url], Counter())[page.indexability.value] += 1
    return {"-" if depth < 0 else str(depth): dict(table[depth]) for depth in sorted(table, key=lambda each: (each < 0, each))}


@dataclass(frozen=True, slots=True)
class Orphans:
    """Indexable pages to which no page links."""

    is_confirmed: bool
    reasons: dict[str, int]
    """Why they are only suspected: URLs that were not read, by skip reason."""
    pages: tuple[tuple[str, str], ...]
    """URL and how it was discovered."""


def orphans(site: Site) -> Orphans:
    """Indexable pages to which no page links. They are only suspected when the run did not read the whole site."""
    cut = Counter(str(page.skip_reason) for page in site.pages.values() if page.skip_reason in _LIMITS)
    pages = [page for page in site.indexable if not site.followed_inlinks[page.url]]
    alone = [(str(page.url), page.source.value) for page in pages if page is not site.start and not page.url.is_root]
    return Orphans(site.is_complete, {} if site.is_complete else dict(cut), tuple(alone))


@dataclass(frozen=True, slots=True)
class LinkHealth:
    """Broken links by target, redirects by their length, and external hosts."""

    links: int
    broken_targets: tuple[tuple[str, str, int], ...]
    """URL, state, number of links; the most linked first."""
    chains: dict[str, int]
    """Redirecting URLs by the number of redirects."""
    external_hosts: tuple[tuple[str, int, int], ...]
    """Host, links, and targets that failed their last check."""


def link_health(site: Site, limit: int = 100) -> LinkHealth:
    """Broken links by target, redirects by their length, and external hosts."""
    broken = [
        (str(page.url), kind.value, site.graph.inlink_count(page.url))
        for page in site.pages.values()
        if (kind := site.target(page.url).kind) in BROKEN
    ]
    is_redirect = (page for page in site.pages.values() if page.is_redirect and page.state is not UrlState.FAILED)
    chains = Counter(str(max(1, len(page.chain))) for page in is_redirect)
    counts = Counter(site.graph.targets)
    hosts: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for number, url in enumerate(site.graph.urls):
        if counts[number] and site.target(url).kind is TargetKind.EXTERNAL:
            host = Url.trusted(url).host
            hosts[host] += counts[number]
            checks = site.external.get(url, ())
            failures[host] += bool(checks) and max(checks, key=lambda check: check.at).status in {0, 404, 410, *range(500, 600)}
    broken.sort(key=lambda each: (-each[2], each[0]))
    often = sorted(hosts.items(), key=lambda each: (-each[1], each[0]))[:limit]
    external = [(host, links, failures[host]) for host, links in often]
    return LinkHealth(len(site.graph), tuple(broken[:limit]), dict(chains), tuple(external))
