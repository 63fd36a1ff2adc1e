"""The chunks that a query searches: those of one or several sites, as columns in memory, for filters and the order of results.

A `Corpus` joins the sites. Rows count through all of them: sites are sorted by name, chunks by number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from sitelore.index.lexical import (
    NO_POSTINGS,
    CorpusStatistics,
    Floats,
    LiveChunks,
    Numbers,
    Rows,
    TermPostings,
    concatenate_postings,
    unpack_postings,
)
from sitelore.model.ids import SiteId
from sitelore.model.search import FLAGGED, LINK_LIST, ChunkTable, SearchQuery, SiteIndexStats
from sitelore.ports import SearchIndex

Mask = NDArray[np.bool_]
_LAST_CHARACTER = chr(0x10FFFF)

LINK_LIST_WEIGHT = 0.3
"""Lists of links (indexes, tables of contents, tag pages) repeat the words of what they lead to, which should come first."""
CACHED_CHUNKS = 2_000_000
"""Chunks of all sites that are kept in memory between queries, about 30 bytes each."""
CACHED_POSTINGS = 4_000_000
"""TermPostings of one site that are kept in memory, 16 bytes each."""


class SiteChunks:
    """The live chunks of one version of a site, and their pages."""

    def __init__(self, site: SiteId, table: ChunkTable) -> None:
        self.site = site
        self.version = table.version
        self.chunks = LiveChunks(np.frombuffer(table.numbers, "<u4"), np.frombuffer(table.lengths, "<u2"))
        # Sorted by URL: the row of a page breaks ties between equal scores.
        pages = sorted(table.pages, key=lambda page: page.url)
        rows = {page.number: row for row, page in enumerate(pages)}
        self.page_rows = np.fromiter(
            (rows[number] for number in np.frombuffer(table.page_numbers, "<u4").tolist()), np.int64, len(self.chunks)
        )
        self.pages = len(pages)
        marks = np.frombuffer(table.marks, np.uint8)
        self._flagged = (marks & FLAGGED).astype(np.bool_)
        self.weights: Floats = np.where(marks & LINK_LIST, LINK_LIST_WEIGHT, 1.0)
        """What the score of each chunk is multiplied with."""
        self._langs = _CategoryColumn(page.lang for page in pages)
        self._kinds = _CategoryColumn(page.kind for page in pages)
        self._dated = np.array([np.nan if page.dated is None else page.dated for page in pages], np.float64)
        paths = [path_of(page.url) for page in pages]
        self._by_path = np.array(sorted(range(len(paths)), key=paths.__getitem__), np.int64)
        self._paths = sorted(paths)
        self.postings: OrderedDict[str, TermPostings] = OrderedDict()
        """Cached postings of recently used terms, the most recent last."""

    @property
    def langs(self) -> Sequence[str]:
        """The languages that the pages declare."""
        return self._langs.values

    def mask(self, query: SearchQuery) -> Mask | None:
        """The chunks that pass the filters of a query; None for all."""
        pages: Mask | None = None
        for mask in self._page_masks(query):
            pages = mask if pages is None else pages & mask
        chunks = None if pages is None else pages[self.page_rows]
        if query.flagged or not self._flagged.any():
            return chunks
        return ~self._flagged if chunks is None else chunks & ~self._flagged

    def _page_masks(self, query: SearchQuery) -> Iterable[Mask]:
        if query.langs:
            yield self._langs.mask(lambda lang: any(matches_language(lang, wanted) for wanted in query.langs))
        if query.kinds:
            yield self._kinds.mask(lambda kind: kind in query.kinds)
        if query.since is not None:
            yield self._dated >= query.since
        if query.until is not None:
            yield self._dated <= query.until
        if query.path.strip("/"):
            yield self._below(query.path)

    def _below(self, path: str) -> Mask:
        """Pages at a path and below it: `/docs` contains `/docs/a`, not `/docsets`."""
        parent = "/" + unquote(path).strip("/")
        below = np.zeros(self.pages, np.bool_)
        for first, last in ((parent, parent + "\0"), (parent + "/", parent + "/" + _LAST_CHARACTER)):
            below[self._by_path[bisect_left(self._paths, first) : bisect_left(self._paths, last)]] = True
        return below


class _CategoryColumn:
    """A column with few distinct values, stored as codes."""

    def __init__(self, column: Iterable[str]) -> None:
        codes: dict[str, int] = {}
        self._codes = np.array([codes.setdefault(value, len(codes)) for value in column], np.int64)
        self.values = tuple(codes)

    def mask(self, is_wanted: Callable[[str], bool]) -> Mask:
        if not self.values:
            return np.zeros(0, np.bool_)
        return np.array([is_wanted(value) for value in self.values], np.bool_)[self._codes]


def matches_language(lang: str, wanted: str) -> bool:
    """Whether a page's language tag falls under the wanted one: `en-GB` falls under `en`, `en` not under `en-GB`."""
    tag, wanted = (text.strip().lower().replace("_", "-") for text in (lang, wanted))
    return tag == wanted or tag.startswith(f"{wanted}-")


def path_of(url: str) -> str:
    """The percent-decoded path of a URL."""
    _, _, rest = url.partition("://")
    path = rest[rest.find("/") :] if "/" in rest else "/"
    return unquote(path.partition("?")[0].partition("#")[0])


class Corpus:
    """Several sites that are searched together."""

    def __init__(self, sites: Sequence[SiteChunks]) -> None:
        self.sites = sites
        sizes = [len(site.chunks) for site in sites]
        self._first_rows = [sum(sizes[:index]) for index in range(len(sites))]
        self.statistics = CorpusStatistics([site.chunks for site in sites])
        first_pages = [sum(site.pages for site in sites[:index]) for index in range(len(sites))]
        pages = [site.page_rows + first for site, first in zip(sites, first_pages, strict=True)]
        self.pages: Rows = np.concatenate(pages) if pages else np.empty(0, np.int64)
        """The page of each chunk. Pages are numbered by site and URL."""
        self.weights: Floats = np.concatenate([site.weights for site in sites]) if sites else np.empty(0)

    def __len__(self) -> int:
        return len(self.statistics)

    @property
    def langs(self) -> frozenset[str]:
        """The languages that the pages declare."""
        return frozenset(lang for site in self.sites for lang in site.langs)

    def masks(self, query: SearchQuery) -> list[Mask | None]:
        """For each site the chunks that pass the filters of a query; None for all."""
        masks = [site.mask(query) for site in self.sites]
        return [None if mask is not None and mask.all() else mask for mask in masks]

    def numbers_by_site(self, rows: Rows) -> Iterator[tuple[SiteChunks, list[int]]]:
        """Every site with the numbers of its chunks among these rows, in their order."""
        for first, site in zip(self._first_rows, self.sites, strict=True):
            inside = rows[(rows >= first) & (rows < first + len(site.chunks))] - first
            yield site, site.chunks.numbers[inside].tolist()

    def rows(self, site: int, numbers: Numbers) -> tuple[Rows, Mask]:
        """The rows of those of a site's chunks that are live, and a mask of which are."""
        rows, live = self.sites[site].chunks.rows(numbers)
        return rows + self._first_rows[site], live

    async def known_terms(self, search_index: SearchIndex, prefix: str, limit: int) -> dict[str, int]:
        """The most frequent terms with this beginning over all sites, and in how many chunks each occurs."""
        total: Counter[str] = Counter()
        for site in self.sites:
            if len(site.chunks):
                total.update(dict(await search_index.terms(site.site, prefix, limit)))
        return dict(sorted(total.items(), key=lambda known: (-known[1], known[0]))[:limit])

    async def postings(self, search_index: SearchIndex, terms: Collection[str]) -> dict[str, TermPostings]:
        """The postings of terms over all sites."""
        parts: dict[str, list[TermPostings]] = {}
        for first, site in zip(self._first_rows, self.sites, strict=True):
            if len(site.chunks):
                for term, part in (await _site_postings(search_index, site, terms)).items():
                    if len(part.rows):
                        parts.setdefault(term, []).append(TermPostings(part.rows + first, part.counts) if first else part)
        return {term: concatenate_postings(of_sites) for term, of_sites in parts.items()}


async def _site_postings(search_index: SearchIndex, site: SiteChunks, terms: Collection[str]) -> dict[str, TermPostings]:
    """The postings of terms in one site, from the cache where possible: queries share most of their words."""
    cache = site.postings
    missing = [term for term in terms if term not in cache]
    if missing:
        packed = await search_index.postings(site.site, missing)
        for term in missing:
            cache[term] = unpack_postings(packed[term], site.chunks) if term in packed else NO_POSTINGS
    postings = {term: cache[term] for term in terms}
    for term in terms:
        cache.move_to_end(term)
    size = sum(len(cached.rows) for cached in cache.values())
    while size > CACHED_POSTINGS and len(cache) > len(postings):
        size -= len(cache.popitem(last=False)[1].rows)
    return postings


class CorpusCache:
    """Keeps the chunk tables of sites in memory, and reads those again that have changed."""

    def __init__(self, search_index: SearchIndex) -> None:
        self._search_index = search_index
        self._tables: OrderedDict[SiteId, SiteChunks] = OrderedDict()
        self._last = Corpus(())

    async def corpus(self, stats: Sequence[SiteIndexStats]) -> Corpus:
        """The current corpus of these sites."""
        ordered = sorted(stats, key=lambda site: site.name)
        tables = [await self._table(site) for site in ordered]
        self._evict(keep=len(tables))
        last = self._last
        if len(last.sites) != len(tables) or any(old is not new for old, new in zip(last.sites, tables, strict=True)):
            last = self._last = Corpus(tables)
        return last

    async def _table(self, site: SiteIndexStats) -> SiteChunks:
        table = self._tables.get(site.site)
        # Pages can leave the search before their chunks are deleted, and only deletion raises the version: compare counts too.
        if table is None or (table.version, len(table.chunks)) != (site.version, site.chunks):
            table = SiteChunks(site.site, await self._search_index.chunk_table(site.site))
            self._tables[site.site] = table
        self._tables.move_to_end(site.site)
        return table

    def _evict(self, keep: int) -> None:
        total = sum(len(table.chunks) for table in self._tables.values())
        while total > CACHED_CHUNKS and len(self._tables) > keep:
            _, oldest = self._tables.popitem(last=False)
            total -= len(oldest.chunks)
