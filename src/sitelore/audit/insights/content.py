"""Insights about content: duplicates, thin pages, decay, translations, structured data, use by machines, inventory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from sitelore.audit.insights.links import section_of
from sitelore.audit.rules.content import primary_of
from sitelore.audit.rules.language import bad_target
from sitelore.audit.shingles import SimilarPair, clusters
from sitelore.audit.site import PageSummary, Site
from sitelore.model.states import SkipReason

_DAY_S = 86_400
_AGES = ((30, "<30 d"), (90, "<90 d"), (180, "<180 d"), (365, "<365 d"))
_TOKEN_BYTES = 4


@dataclass(frozen=True, slots=True)
class DuplicateSet:
    """Pages with equal or nearly equal text."""

    primary: str
    pages: tuple[str, ...]
    similarity: float
    """Of the pair that is least alike among those compared; 1 for equal content."""


def exact_duplicates(site: Site) -> list[DuplicateSet]:
    """Sets of indexable pages with equal content, the largest first."""
    sets: dict[str, list[str]] = {}
    for page in site.indexable:
        if page.content_hash:
            sets.setdefault(page.content_hash, []).append(str(page.url))
    equal = [urls for urls in sets.values() if len(urls) > 1]
    return _largest_first(DuplicateSet(primary_of(site, urls), tuple(sorted(urls)), 1.0) for urls in equal)


def near_duplicates(site: Site, threshold: float = 0.90) -> list[DuplicateSet]:
    """Sets of indexable pages with nearly equal text, the largest first. A threshold from 0.7 on needs no new crawl."""
    pairs = site.similar_pairs(threshold)
    shingles = {url: site.pages[url].shingles for pair in pairs for url in (pair.first, pair.second)}
    groups = clusters(pairs, shingles)
    return _largest_first(
        DuplicateSet(primary_of(site, urls), tuple(sorted(urls)), _least(pairs, frozenset(urls))) for urls in groups
    )


def _least(pairs: Iterable[SimilarPair], urls: frozenset[str]) -> float:
    return min(pair.similarity for pair in pairs if pair.first in urls and pair.second in urls)


def _largest_first(sets: Iterable[DuplicateSet]) -> list[DuplicateSet]:
    return sorted(sets, key=lambda each: (-len(each.pages), each.primary))


@dataclass(frozen=True, slots=True)
class FolderNorm:
    """How many words the pages of a folder have."""

    folder: str
    pages: int
    median: float
    mad: float
    has_norm: bool
    """Whether the pages are alike enough for the median to mean something."""
    thin: tuple[tuple[str, int], ...]


def thin_pages(site: Site, min_group: int = 8, min_alike: float = 0.7) -> list[FolderNorm]:
    """The word counts of each folder with at least `min_group` pages, and the pages far below its median."""
    folders: dict[str, list[PageSummary]] = {}
    for page in site.indexable:
        folders.setdefault(page.group, []).append(page)
    norms = []
    for folder, pages in sorted(folders.items()):
        norm = site.norm(pages[0])
        if norm is None or norm.pages < min_group:
            continue
        has_norm = norm.share_near >= min_alike
        limit = min(norm.median / 2, norm.median - 3 * norm.mad) if has_norm else 0
        thin = [(str(page.url), page.word_count) for page in pages if page.word_count < limit]
        norms.append(FolderNorm(folder, norm.pages, norm.median, norm.mad, has_norm, tuple(thin)))
    return norms


@dataclass(frozen=True, slots=True)
class Decay:
    """How old the content of a site is."""

    ages: dict[str, int]
    """Indexable pages by the time since their last real change."""
    shrunk: tuple[tuple[str, int, int], ...]
    """Pages that lost at least a fifth of their text: URL, words before, words now."""
    queue: tuple[tuple[str, float], ...]
    """Pages to refresh, by internal rank times age: URL, age in days."""


def decay(site: Site, limit: int = 50) -> Decay:
    """How old the content of a site is, by stored changes, else by the dates that pages and sitemaps state."""
    ages: Counter[str] = Counter()
    weighed: list[tuple[float, str, float]] = []
    shrunk: list[tuple[str, int, int]] = []
    for page in site.indexable:
        before = next(iter(site.earlier.get(page.url, ())), None)
        if before is not None and before.word_count and page.word_count <= 0.8 * before.word_count:
            shrunk.append((str(page.url), before.word_count, page.word_count))
        changed = _changed_at(site, page)
        if changed is None:
            ages["unknown"] += 1
            continue
        days = max(0.0, (site.now - changed) / _DAY_S)
        ages[next((name for limit_days, name in _AGES if days < limit_days), "older")] += 1
        weighed.append((site.ranks[page.url] * days, str(page.url), days))
    weighed.sort(key=lambda each: (-each[0], each[1]))
    return Decay(dict(ages), tuple(shrunk[:limit]), tuple((url, round(days, 1)) for _, url, days in weighed[:limit]))


def _changed_at(site: Site, page: PageSummary) -> float | None:
    """When a page last really changed, as far as it is known."""
    before = next(iter(site.earlier.get(page.url, ())), None)
    if before is not None:
        if page.changed:
            return page.fetched_at
        if before.changed_at is not None:
            return before.changed_at
    if page.modified:
        return datetime.fromisoformat(page.modified).replace(tzinfo=UTC).timestamp()
    return site.listed.get(page.url) or page.lastmod


@dataclass(frozen=True, slots=True)
class TranslationSet:
    """Pages that name each other as translations, with the state of each language."""

    page: str
    cells: dict[str, str]
    """By language: `ok`, `no return`, `not known`, or why the target cannot be listed."""


def hreflang_matrix(site: Site, limit: int = 1_000) -> list[TranslationSet]:
    """The state of each translation of each page that names any."""
    sets: list[TranslationSet] = []
    for page in site.html_pages:
        if page.alternates and len(sets) < limit:
            cells = {each.lang: _cell(site, page, each.url) for each in page.alternates}
            sets.append(TranslationSet(str(page.url), cells))
    return sets


def _cell(site: Site, page: PageSummary, url: str | None) -> str:
    target = site.pages.get(url) if url is not None else None
    if target is None:
        return "not known" if url is not None else "invalid"
    if target is page:
        return "ok"
    problem = bad_target(site, target.url)
    return problem or ("ok" if page.url in {each.url for each in target.alternates} else "no return")


@dataclass(frozen=True, slots=True)
class StructuredCoverage:
    """Which types of structured data the pages of each folder carry."""

    pages: dict[str, int]
    """Indexable pages by folder."""
    types: dict[str, dict[str, int]]
    """By type, then by folder."""
    broken: int
    """Pages with structured data that cannot be read."""


def structured_coverage(site: Site) -> StructuredCoverage:
    """Which types of structured data the pages of each folder carry."""
    types: dict[str, Counter[str]] = {}
    for page in site.indexable:
        for name in page.types:
            types.setdefault(name, Counter())[page.group] += 1
    broken = sum(bool(page.broken_structured) for page in site.html_pages)
    return StructuredCoverage(dict(site.group_sizes), {name: dict(types[name]) for name in sorted(types)}, broken)


@dataclass(frozen=True, slots=True)
class MachineReadiness:
    """How well language models and crawlers without a browser can use the site."""

    pages: int
    readable_without_scripts: int
    html_tokens: int
    text_tokens: int
    refused_by_robots: int
    noindex: int
    llms_txt: str
    """`ok`, `missing` or `unknown`."""


def machine_readiness(site: Site) -> MachineReadiness:
    """How well language models and crawlers without a browser can use the site. Tokens are estimated at four bytes."""
    pages = site.html_pages
    file = site.llms_txt
    return MachineReadiness(
        pages=len(pages),
        readable_without_scripts=sum(not page.needs_browser for page in pages),
        html_tokens=sum(page.html_bytes for page in pages) // _TOKEN_BYTES,
        text_tokens=sum(page.text_bytes for page in pages) // _TOKEN_BYTES,
        refused_by_robots=sum(page.skip_reason is SkipReason.ROBOTS for page in site.pages.values()),
        noindex=sum(page.noindex for page in pages),
        llms_txt="unknown" if file is None else "ok" if file.status == 200 else "missing",
    )


def inventory(site: Site) -> dict[str, dict[str, int]]:
    """Counts of all URLs by state, status, depth and indexability, and of HTML pages by language, section and words."""
    urls, pages = site.pages.values(), site.html_pages
    return {
        "state": dict(Counter(page.state.value for page in urls)),
        "status": dict(Counter(str(page.status or "-") for page in urls)),
        "indexability": dict(Counter(page.indexability.value for page in urls)),
        "depth": dict(Counter(str(page.depth) for page in pages)),
        "language": dict(Counter(page.lang or "-" for page in pages)),
        "section": dict(Counter(section_of(page.url) for page in pages)),
        "words": dict(Counter(_bucket(page.word_count) for page in pages)),
    }


def _bucket(words: int) -> str:
    return next(
        (name for limit, name in ((100, "<100"), (300, "<300"), (1000, "<1000"), (3000, "<3000")) if words < limit), "more"
    )
