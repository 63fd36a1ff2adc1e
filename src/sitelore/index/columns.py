"""A site's chunks and pages column by column: what filters and the order of answers need, without asking the store."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from sitelore.index.lexical import Entries, LiveChunks
from sitelore.model.ids import SiteId
from sitelore.model.search import ChunkTable, SearchQuery

Mask = NDArray[np.bool_]
_LAST = chr(0x10FFFF)


class SiteColumns:
    """The live chunks of one version of a site, with the pages they are of."""

    def __init__(self, site: SiteId, shelf: ChunkTable) -> None:
        self.site = site
        self.version = shelf.version
        self.chunks = LiveChunks(np.frombuffer(shelf.numbers, "<u4"), np.frombuffer(shelf.lengths, "<u2"))
        # By URL, so that a page's row says where it stands among equals.
        pages = sorted(shelf.pages, key=lambda page: page.url)
        rows = {page.number: row for row, page in enumerate(pages)}
        self.page_rows = np.fromiter(
            (rows[number] for number in np.frombuffer(shelf.page_numbers, "<u4").tolist()), np.int64, len(self.chunks)
        )
        self.pages = len(pages)
        self._flagged = np.frombuffer(shelf.flagged, np.uint8).astype(np.bool_)
        self._langs = _Words(page.lang for page in pages)
        self._kinds = _Words(page.kind for page in pages)
        self._dated = np.array([np.nan if page.dated is None else page.dated for page in pages], np.float64)
        paths = [path_of(page.url) for page in pages]
        self._by_path = np.array(sorted(range(len(paths)), key=paths.__getitem__), np.int64)
        self._paths = sorted(paths)
        self.entries: OrderedDict[str, Entries] = OrderedDict()
        """Where terms stand that were asked for, those asked for last behind the others."""

    @property
    def langs(self) -> Sequence[str]:
        """The languages that pages say they are in."""
        return self._langs.words

    def mask(self, query: SearchQuery) -> Mask | None:
        """Which chunks may be among the answers; None for all."""
        wanted: Mask | None = None
        for part in self._page_masks(query):
            wanted = part if wanted is None else wanted & part
        chunks = None if wanted is None else wanted[self.page_rows]
        if query.flagged or not self._flagged.any():
            return chunks
        return ~self._flagged if chunks is None else chunks & ~self._flagged

    def _page_masks(self, query: SearchQuery) -> Iterable[Mask]:
        if query.langs:
            yield self._langs.mask(lambda lang: any(speaks(lang, asked) for asked in query.langs))
        if query.kinds:
            yield self._kinds.mask(lambda kind: kind in query.kinds)
        if query.since is not None:
            yield self._dated >= query.since
        if query.until is not None:
            yield self._dated <= query.until
        if query.path.strip("/"):
            yield self._below(query.path)

    def _below(self, path: str) -> Mask:
        """Pages at a path and below it: `/docs` is above `/docs/a`, not above `/docsets`."""
        asked = "/" + unquote(path).strip("/")
        found = np.zeros(self.pages, np.bool_)
        for first, last in ((asked, asked + "\0"), (asked + "/", asked + "/" + _LAST)):
            found[self._by_path[bisect_left(self._paths, first) : bisect_left(self._paths, last)]] = True
        return found


class _Words:
    """A column of few different words."""

    def __init__(self, column: Iterable[str]) -> None:
        codes: dict[str, int] = {}
        self._codes = np.array([codes.setdefault(word, len(codes)) for word in column], np.int64)
        self.words = tuple(codes)

    def mask(self, is_wanted: Callable[[str], bool]) -> Mask:
        if not self.words:
            return np.zeros(0, np.bool_)
        return np.array([is_wanted(word) for word in self.words], np.bool_)[self._codes]


def speaks(lang: str, asked: str) -> bool:
    """Whether a page's language is the one asked for: `en` asks for `en-GB` too, `en-GB` not for `en`."""
    said, wanted = (tag.strip().lower().replace("_", "-") for tag in (lang, asked))
    return said == wanted or said.startswith(f"{wanted}-")


def path_of(url: str) -> str:
    """The path of an address, decoded."""
    _, _, rest = url.partition("://")
    path = rest[rest.find("/") :] if "/" in rest else "/"
    return unquote(path.partition("?")[0].partition("#")[0])
