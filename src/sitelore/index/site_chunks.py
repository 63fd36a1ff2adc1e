"""The chunks and pages of a site as columns in memory, for filters and the order of results."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from sitelore.index.lexical import LiveChunks, TermPostings
from sitelore.model.ids import SiteId
from sitelore.model.search import ChunkTable, SearchQuery

Mask = NDArray[np.bool_]
_LAST_CHARACTER = chr(0x10FFFF)


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
        self._flagged = np.frombuffer(table.flagged, np.uint8).astype(np.bool_)
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
