"""Where questions are answered: search, pages to read, and an index that is brought up to date before it is asked.

A crawl does not index. Whoever asks first pays for what has changed since (a laptop), or finds it done, because a server keeps
everything current beside its other work (`keep_current`). Vectors follow when there is time; until then words alone answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sitelore.crawl.index_pages import Indexing
from sitelore.index.embeddings.backfill import embed_missing
from sitelore.index.search import Searcher
from sitelore.model.errors import EmbeddingFailed, StorageError
from sitelore.model.ids import DEFAULT_TENANT, SiteId
from sitelore.model.search import IndexProgress, IndexWritten, SearchAnswer, SearchQuery, SiteIndexStats
from sitelore.model.url import Url
from sitelore.ports import Blobs, Embedder, Ledger, SearchIndex

_LOG = logging.getLogger(__name__)

_LOOK_S = 2.0
_FRESH_S = 1.0
_ASK_AGAIN_S = 60.0
_AT_ONCE = 200
"""Pages that a question waits for; more than this is left to whoever keeps the index current."""

Watch = Callable[[IndexProgress], None]


def nobody(_: IndexProgress) -> None:
    """Nobody is watching."""


@dataclass(slots=True)
class SearchService:
    """Answers from the index of one house."""

    indexing: Indexing
    embedder: Embedder | None = None
    _searcher: Searcher = field(init=False)
    _looked_at: dict[SiteId, float] = field(default_factory=dict)
    _ask_again_at: float = 0.0

    def __post_init__(self) -> None:
        self._searcher = Searcher(self.search_index, self.embedder)

    @property
    def search_index(self) -> SearchIndex:
        """The index."""
        return self.indexing.search_index

    @property
    def _ledger(self) -> Ledger:
        return self.indexing.ledger

    @property
    def _blobs(self) -> Blobs:
        return self.indexing.blobs

    @property
    def model(self) -> str:
        """What vectors are kept under; empty without an embedder."""
        return self.embedder.model if self.embedder is not None else ""

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """What answers a question, from an index that knows of every run that has ended."""
        for shelf in await self.sites(query.tenant, query.sites):
            if time.monotonic() - self._looked_at.get(shelf.site, -_FRESH_S) >= _FRESH_S:
                await self.refresh(shelf, most=_AT_ONCE)
        return await self._searcher.search(query)

    async def sites(self, tenant: str | None = DEFAULT_TENANT, names: tuple[str, ...] = ()) -> list[SiteIndexStats]:
        """The sites of a tenant, by name."""
        shelves = await self.search_index.site_stats(tenant, self.model)
        return [shelf for shelf in shelves if not names or shelf.name in names]

    async def refresh(self, shelf: SiteIndexStats, *, most: int | None = None, watch: Watch = nobody) -> IndexWritten:
        """Reckon with the site's runs and index what waits, unless that is more than `most` pages or somebody else does it."""
        async with self._ledger.leader_lock(f"index {shelf.site}") as is_ours:
            if not is_ours:
                return IndexWritten()
            reckoned = await self.indexing.check_presence(shelf.site)
            self._looked_at[shelf.site] = time.monotonic()
            if reckoned:
                shelf = next((one for one in await self.sites(shelf.tenant) if one.site == shelf.site), shelf)
            if not reckoned and not shelf.waiting:
                return IndexWritten()
            if most is not None and shelf.waiting > most:
                return IndexWritten()
            written = IndexWritten()
            async for progress, so_far in self.indexing.catch_up(shelf):
                watch(progress)
                written = so_far
            return written

    async def embed(self, site: SiteId | None = None, *, watch: Watch = nobody, stop: asyncio.Event | None = None) -> int:
        """Give every chunk its vector, as far as there is an embedder. How many texts got one."""
        if self.embedder is None:
            return 0
        done = 0
        async for progress in embed_missing(self.search_index, self.embedder, site=site, stop=stop):
            done = progress.texts_done
            watch(progress)
        return done

    async def keep_current(self, stop: asyncio.Event) -> None:
        """Until told to stop: index what changes, then give it vectors. What goes wrong is logged and tried again."""
        while not stop.is_set():
            try:
                for shelf in await self.sites(None):
                    if stop.is_set():
                        return
                    await self.refresh(shelf)
                await self._embed_in_turn(stop)
            except StorageError as problem:
                _LOG.warning("the index has to wait: %s", problem)
            except Exception:  # noqa: BLE001 the index is derived; whatever is wrong with it must not end the crawls beside it
                _LOG.exception("the index could not be brought up to date")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await stop.wait()

    async def _embed_in_turn(self, stop: asyncio.Event) -> None:
        """One process at a time. A model that is not to be had is asked again later; words answer meanwhile."""
        if self.embedder is None or time.monotonic() < self._ask_again_at:
            return
        async with self._ledger.leader_lock("embed") as is_ours:
            if not is_ours:
                return
            try:
                await self.embed(stop=stop)
            except EmbeddingFailed as problem:
                _LOG.warning("vectors have to wait: %s", problem)
                self._ask_again_at = time.monotonic() + _ASK_AGAIN_S

    async def page(self, url: Url, tenant: str = DEFAULT_TENANT) -> dict[str, Any] | None:
        """A page as it last was, with its Markdown; None when the tenant has none at this address."""
        found = await self.search_index.page(tenant, url)
        if found is None:
            return None
        document: dict[str, Any] = msgspec.json.decode(await self._blobs.get(found.document))
        return {**document, "url": str(found.url), "presence": found.presence.value, "fetched_at": found.fetched_at}
