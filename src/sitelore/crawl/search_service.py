"""The search service: search, stored pages, and an index that is updated before it is queried.

A crawl does not index. On a laptop the first query after a crawl indexes what has changed; a server keeps the index current in
the background (`keep_current`). Embeddings are made when there is time; until then search uses keywords only.
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

_POLL_INTERVAL_S = 2.0
_FRESH_S = 1.0
_EMBED_RETRY_DELAY_S = 60.0
_MAX_PAGES_PER_QUERY = 200
"""Pages that a query indexes first; more than this is left to `keep_current` or `sitelore reindex`."""

Watch = Callable[[IndexProgress], None]


def _ignore_progress(_: IndexProgress) -> None:
    """The default progress callback."""


@dataclass(slots=True)
class SearchService:
    """Searches the index of one data directory or database, and keeps it current."""

    indexing: Indexing
    embedder: Embedder | None = None
    _searcher: Searcher = field(init=False)
    _refreshed_at: dict[SiteId, float] = field(default_factory=dict)
    _next_embed_at: float = 0.0

    def __post_init__(self) -> None:
        self._searcher = Searcher(self.search_index, self.embedder)

    @property
    def search_index(self) -> SearchIndex:
        """The index that is searched."""
        return self.indexing.search_index

    @property
    def _ledger(self) -> Ledger:
        return self.indexing.ledger

    @property
    def _blobs(self) -> Blobs:
        return self.indexing.blobs

    @property
    def model(self) -> str:
        """The name under which embeddings are stored; empty without an embedder."""
        return self.embedder.model if self.embedder is not None else ""

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """Search an index that includes every run that has ended."""
        for stats in await self.sites(query.tenant, query.sites):
            if time.monotonic() - self._refreshed_at.get(stats.site, -_FRESH_S) >= _FRESH_S:
                await self.refresh(stats, max_pages=_MAX_PAGES_PER_QUERY)
        return await self._searcher.search(query)

    async def sites(self, tenant: str | None = DEFAULT_TENANT, names: tuple[str, ...] = ()) -> list[SiteIndexStats]:
        """Index statistics of a tenant's sites, by name."""
        sites = await self.search_index.site_stats(tenant, self.model)
        return [stats for stats in sites if not names or stats.name in names]

    async def refresh(
        self, stats: SiteIndexStats, *, max_pages: int | None = None, watch: Watch = _ignore_progress
    ) -> IndexWritten:
        """Index what changed since the last call. Does nothing if more than `max_pages` wait or another process indexes."""
        async with self._ledger.leader_lock(f"index {stats.site}") as is_ours:
            if not is_ours:
                return IndexWritten()
            changes = await self.indexing.check_presence(stats.site)
            self._refreshed_at[stats.site] = time.monotonic()
            if changes:
                stats = next((row for row in await self.sites(stats.tenant) if row.site == stats.site), stats)
            if not changes and not stats.waiting:
                return IndexWritten()
            if max_pages is not None and stats.waiting > max_pages:
                return IndexWritten()
            written = IndexWritten()
            async for progress, so_far in self.indexing.catch_up(stats):
                watch(progress)
                written = so_far
            return written

    async def embed(
        self, site: SiteId | None = None, *, watch: Watch = _ignore_progress, stop: asyncio.Event | None = None
    ) -> int:
        """Embed every chunk that has no vector yet, if there is an embedder. Returns how many texts were embedded."""
        if self.embedder is None:
            return 0
        done = 0
        async for progress in embed_missing(self.search_index, self.embedder, site=site, stop=stop):
            done = progress.texts_done
            watch(progress)
        return done

    async def keep_current(self, stop: asyncio.Event) -> None:
        """Index and embed what changes until stopped. Errors are logged and retried."""
        while not stop.is_set():
            try:
                for stats in await self.sites(None):
                    if stop.is_set():
                        return
                    await self.refresh(stats)
                await self._embed_as_leader(stop)
            except StorageError as problem:
                _LOG.warning("storage unavailable, indexing retries: %s", problem)
            except Exception:  # noqa: BLE001 the index is derived data: an error in it must not end the crawls of this process
                _LOG.exception("indexing failed")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_INTERVAL_S):
                    await stop.wait()

    async def _embed_as_leader(self, stop: asyncio.Event) -> None:
        """Embed in one process at a time. An unavailable model is tried again later; keyword search works meanwhile."""
        if self.embedder is None or time.monotonic() < self._next_embed_at:
            return
        async with self._ledger.leader_lock("embed") as is_ours:
            if not is_ours:
                return
            try:
                await self.embed(stop=stop)
            except EmbeddingFailed as problem:
                _LOG.warning("embedding unavailable, retrying later: %s", problem)
                self._next_embed_at = time.monotonic() + _EMBED_RETRY_DELAY_S

    async def page(self, url: Url, tenant: str = DEFAULT_TENANT) -> dict[str, Any] | None:
        """The stored page with its Markdown; None when the tenant has no page at this URL."""
        row = await self.search_index.page(tenant, url)
        if row is None:
            return None
        document: dict[str, Any] = msgspec.json.decode(await self._blobs.get(row.document))
        return {**document, "url": str(row.url), "presence": row.presence.value, "fetched_at": row.fetched_at}
