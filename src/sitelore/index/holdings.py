"""The chunks that a question may be answered from: of one site or several, one behind the other.

A chunk's place counts through all of them. Sites stand by name, chunks by number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from sitelore.index.columns import Mask, SiteColumns
from sitelore.index.lexical import NOWHERE, Entries, Numbers, Places, joined, unpacked
from sitelore.index.lexical import Collection as Lengths
from sitelore.model.ids import SiteId
from sitelore.model.search import SearchQuery, SiteIndexStats
from sitelore.ports import SearchIndex

CACHED_CHUNKS = 2_000_000
"""Of all sites together that are kept in memory between questions, about 30 bytes each."""


CACHED_ENTRIES = 4_000_000
"""Of one site, 16 bytes each: where the words that were asked for last stand."""


class Holdings:
    """Sites that are asked as one collection."""

    def __init__(self, sites: Sequence[SiteColumns]) -> None:
        self.sites = sites
        sizes = [len(site.chunks) for site in sites]
        self._firsts = [sum(sizes[:index]) for index in range(len(sites))]
        self.lengths = Lengths([site.chunks for site in sites])
        below = [sum(site.pages for site in sites[:index]) for index in range(len(sites))]
        rows = [site.page_rows + first for site, first in zip(sites, below, strict=True)]
        self.pages: Places = np.concatenate(rows) if rows else np.empty(0, np.int64)
        """The page of each chunk. Pages count by site and address."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def langs(self) -> frozenset[str]:
        """The languages that pages say they are in."""
        return frozenset(lang for site in self.sites for lang in site.langs)

    def masks(self, query: SearchQuery) -> list[Mask | None]:
        """For each site, which of its chunks may be among the answers; None for all."""
        masks = [site.mask(query) for site in self.sites]
        return [None if mask is not None and mask.all() else mask for mask in masks]

    def split(self, places: Places) -> Iterator[tuple[int, SiteColumns, list[int]]]:
        """Places as numbers, site by site: the first place of the site, the site, and its numbers in the order given."""
        for first, site in zip(self._firsts, self.sites, strict=True):
            inside = places[(places >= first) & (places < first + len(site.chunks))] - first
            yield first, site, site.chunks.numbers[inside].tolist()

    def places(self, site: int, numbers: Numbers) -> tuple[Places, Mask]:
        """Where chunks of a site stand, and which of them do."""
        found, live = self.sites[site].chunks.places(numbers)
        return found + self._firsts[site], live

    async def entries(self, search_index: SearchIndex, terms: Collection[str]) -> dict[str, Entries]:
        """Where terms stand in all sites."""
        parts: dict[str, list[Entries]] = {}
        for first, site in zip(self._firsts, self.sites, strict=True):
            if len(site.chunks):
                for term, found in (await _entries(search_index, site, terms)).items():
                    if len(found.places):
                        parts.setdefault(term, []).append(Entries(found.places + first, found.counts) if first else found)
        return {term: joined(found) for term, found in parts.items()}


async def _entries(search_index: SearchIndex, site: SiteColumns, terms: Collection[str]) -> dict[str, Entries]:
    """Where terms stand in one site. Questions share most of their words: what was read for one is kept for the next."""
    kept = site.entries
    missing = [term for term in terms if term not in kept]
    if missing:
        packed = await search_index.postings(site.site, missing)
        for term in missing:
            kept[term] = unpacked(packed[term], site.chunks) if term in packed else NOWHERE
    found = {term: kept[term] for term in terms}
    for term in terms:
        kept.move_to_end(term)
    size = sum(len(one.places) for one in kept.values())
    while size > CACHED_ENTRIES and len(kept) > len(found):
        size -= len(kept.popitem(last=False)[1].places)
    return found


class Catalogue:
    """Sites as they were last seen; a site that has changed since is read again."""

    def __init__(self, search_index: SearchIndex) -> None:
        self._search_index = search_index
        self._seen: OrderedDict[SiteId, SiteColumns] = OrderedDict()
        self._last = Holdings(())

    async def holdings(self, shelves: Sequence[SiteIndexStats]) -> Holdings:
        """These sites as they are now."""
        ordered = sorted(shelves, key=lambda shelf: shelf.name)
        sites = [await self._columns(shelf) for shelf in ordered]
        self._forget(keep=len(sites))
        last = self._last
        if len(last.sites) != len(sites) or any(one is not other for one, other in zip(last.sites, sites, strict=True)):
            last = self._last = Holdings(sites)
        return last

    async def _columns(self, shelf: SiteIndexStats) -> SiteColumns:
        seen = self._seen.get(shelf.site)
        # Pages may cease to be searched before their chunks are dropped; the version rises only then.
        if seen is None or (seen.version, len(seen.chunks)) != (shelf.version, shelf.chunks):
            seen = SiteColumns(shelf.site, await self._search_index.chunk_table(shelf.site))
            self._seen[shelf.site] = seen
        self._seen.move_to_end(shelf.site)
        return seen

    def _forget(self, keep: int) -> None:
        total = sum(len(site.chunks) for site in self._seen.values())
        while total > CACHED_CHUNKS and len(self._seen) > keep:
            _, oldest = self._seen.popitem(last=False)
            total -= len(oldest.chunks)
