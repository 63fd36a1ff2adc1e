"""The search service: search, stored pages, and an index that is kept current.

`crawl` and workers index in a process of their own (`app/index_process.py`), a server in the background (`app.LazySearch`); a
query indexes the few pages that still wait. Embeddings are made when there is time; until then search uses keywords only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from sitelore.background import first_of
from sitelore.frontier.presence import check_presence
from sitelore.index.search import Searcher
from sitelore.model.errors import CorruptData, EmbeddingFailed
from sitelore.model.frontier import RunListing
from sitelore.model.ids import BlobKey, SiteId
from sitelore.model.search import (
    IndexProgress,
    IndexWritten,
    PresenceChanges,
    SearchAnswer,
    SearchQuery,
    SiteIndexStats,
)
from sitelore.model.settings import BUILT_IN_ALONE, Redaction
from sitelore.model.states import RunState
from sitelore.model.url import Url
from sitelore.ports import Blobs, Clock, Embedder, Ledger, Reranker, SearchIndex

if TYPE_CHECKING:
    from sitelore.crawl.search.indexer import Indexer
    from sitelore.crawl.search.search_log import SearchRecorder

_LOG = logging.getLogger(__name__)

_PAGES_TRIED = 20
"""Pages of which one must be readable before an index is dropped."""
"""A key that is not stored: reading it shows whether the blob store can be reached."""
_FRESH_S = 1.0
_EMBED_RETRY_DELAY_S = 60.0
_UNREADABLE_RETRY_DELAY_S = 60.0
BACKGROUND_CPU_SHARE = 0.5
"""The share of one core that a server uses while it makes embeddings."""
MAX_PAGES_PER_QUERY = 200
"""Pages that a query indexes first; more than this is left to the server or `sitelore reindex`."""

Watch = Callable[[IndexProgress], None]


def _ignore_progress(_: IndexProgress) -> None:
    """The default progress callback."""


@dataclass(slots=True)
class SearchService:
    """Searches the index of a tenant, and keeps it current."""

    ledger: Ledger
    search_index: SearchIndex
    blobs: Blobs
    clock: Clock
    redaction: Redaction = BUILT_IN_ALONE
    """The operator's redaction options."""
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    recorder: SearchRecorder | None = None
    """Records searches, where the operator wants that."""
    _searcher: Searcher = field(init=False)
    _indexer: Indexer | None = None
    _refreshed_at: dict[SiteId, float] = field(default_factory=dict)
    _next_embed_at: float = 0.0
    _unreadable: dict[SiteId, tuple[int, float]] = field(default_factory=dict)
    """Per site: how many pages the last update left waiting, and when they are tried again."""

    def __post_init__(self) -> None:
        self._searcher = Searcher(self.search_index, self.embedder, self.reranker)

    @property
    def indexer(self) -> Indexer:
        """The indexer, built when it is first needed."""
        if self._indexer is None:
            from sitelore.crawl.search.indexer import Indexer  # noqa: PLC0415 a search alone does not need it

            self._indexer = Indexer(self.ledger, self.search_index, self.blobs, self.redaction)
        return self._indexer

    @property
    def model(self) -> str:
        """The name under which embeddings are stored; empty without an embedder."""
        return self.embedder.model if self.embedder is not None else ""

    async def search(self, query: SearchQuery, *, update: bool = True) -> SearchAnswer:
        """Search an index that includes every run that has ended; without `update`, the index as it is."""
        for stats in await self.sites(query.sites) if update else ():
            if time.monotonic() - self._refreshed_at.get(stats.site, -_FRESH_S) >= _FRESH_S:
                await self.refresh(stats, max_pages=MAX_PAGES_PER_QUERY)
        answer = await self._searcher.search(query)
        if self.recorder is not None:
            await self.recorder.record(query, answer, await self.sites())
        return answer

    async def sites(self, names: tuple[str, ...] = ()) -> list[SiteIndexStats]:
        """Index statistics of the tenant's sites, by name."""
        sites = await self.search_index.site_stats(self.model)
        return [stats for stats in sites if not names or stats.name in names]

    async def refresh(
        self,
        stats: SiteIndexStats,
        *,
        max_pages: int | None = None,
        watch: Watch = _ignore_progress,
        stop: asyncio.Event | None = None,
    ) -> IndexWritten:
        """Index what changed since the last call. Does nothing if more than `max_pages` wait or another process indexes.

        With `stop` set, it ends after the present batch.
        """
        async with self.ledger.leader_lock(f"index {stats.site}") as is_ours:
            if not is_ours:
                return IndexWritten()
            changes = await self.check_presence(stats.site)
            self._refreshed_at[stats.site] = time.monotonic()
            if changes:
                stats = next((row for row in await self.sites() if row.site == stats.site), stats)
            if not changes and not stats.waiting and not await self._needs_final_index_update(stats.site):
                return IndexWritten()
            if max_pages is not None and stats.waiting > max_pages:
                return IndexWritten()
            unreadable, retry_at = self._unreadable.get(stats.site, (0, 0.0))
            if not changes and stats.waiting == unreadable and time.monotonic() < retry_at:
                return IndexWritten()
            progress, written = IndexProgress(), IndexWritten()
            async with aclosing(self.indexer.catch_up(stats)) as batches:
                async for progress, written in batches:
                    watch(progress)
                    if stop is not None and stop.is_set():
                        return written
            self._unreadable[stats.site] = progress.pages_done - written.pages, time.monotonic() + _UNREADABLE_RETRY_DELAY_S
            if progress.pages_done and not written.pages and not stats.chunks:
                raise _no_page_readable()
            return written

    async def check_presence(self, site: SiteId) -> list[PresenceChanges]:
        """Mark pages as gone by the results of runs that ended since the last call."""
        changes = await self.search_index.check_presence(site, check_presence, self.clock())
        for change in changes:
            if change.held:
                _LOG.warning("mass deletion held back: %d pages appear to be gone; confirm or reject it", change.held)
        return changes

    async def _needs_final_index_update(self, site: SiteId) -> bool:
        """Whether the crawl of a site has ended that was indexed meanwhile, so that its index needs one more update."""
        if self._indexer is None or not self._indexer.is_provisional(site):
            return False
        runs, _ = await self.ledger.list_runs(RunListing(states=frozenset({RunState.RUNNING})))
        return all(run.site != site for run in runs)

    async def drop_index(self, site: SiteId) -> None:
        """Drop a site's index, to build it anew. Nothing is dropped when none of the first stored pages can be read."""
        tried = [version.document async for version in first_of(self.ledger.page_versions(site), _PAGES_TRIED)]
        if tried and not any([await self._is_stored(key) for key in tried]):
            raise _no_page_readable()
        await self.search_index.forget(site)

    async def _is_stored(self, key: BlobKey) -> bool:
        try:
            await self.blobs.get(key)
        except KeyError:
            return False
        return True

    async def embed(
        self,
        site: SiteId | None = None,
        *,
        watch: Watch = _ignore_progress,
        stop: asyncio.Event | None = None,
        in_background: bool = False,
    ) -> int:
        """Embed every chunk that has no vector yet, if there is an embedder. Returns how many texts were embedded.

        A command may embed while a server does so in the background: they begin at different ends.
        """
        if self.embedder is None:
            return 0
        from sitelore import metrics  # noqa: PLC0415 a search alone does not need it
        from sitelore.index.embeddings.backfill import embed_missing  # noqa: PLC0415 see above

        done = 0
        cpu_share = BACKGROUND_CPU_SHARE if in_background else 1.0
        batches = embed_missing(
            self.search_index, self.embedder, site=site, stop=stop, cpu_share=cpu_share, from_last=not in_background
        )
        async for progress in batches:
            metrics.EMBEDDED.inc(progress.texts_done - done)
            done = progress.texts_done
            watch(progress)
        return done

    async def update_lexical_index(self, stop: asyncio.Event) -> None:
        """Index once what has changed, without embeddings."""
        for stats in await self.sites():
            if stop.is_set():
                return
            await self.refresh(stats, stop=stop)

    async def update_vectors(self, stop: asyncio.Event) -> None:
        """Embed in one process at a time. An unavailable model is tried again later; keyword search works meanwhile."""
        if self.embedder is None or time.monotonic() < self._next_embed_at:
            return
        async with self.ledger.leader_lock("embed") as is_ours:
            if not is_ours:
                return
            try:
                await self.embed(stop=stop, in_background=True)
            except EmbeddingFailed as problem:
                _LOG.warning("embedding unavailable, retrying later: %s", problem)
                self._next_embed_at = time.monotonic() + _EMBED_RETRY_DELAY_S

    async def page(self, url: Url) -> dict[str, Any] | None:
        """The stored page with its Markdown; None when the tenant has no page at this URL."""
        row = await self.search_index.page(url)
        if row is None:
            return None
        document: dict[str, Any] = msgspec.json.decode(await self.blobs.get(row.document))
        return {**document, "url": str(row.url), "presence": row.presence.value, "fetched_at": row.fetched_at}


def _no_page_readable() -> CorruptData:
    return CorruptData("the blob store holds none of the stored pages; restore it (the index is as it was)")
