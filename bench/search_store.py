"""A search index filled with texts, as a crawl would leave it, for tests and benchmarks of search."""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.servers import postgres_alone
from tests.support.workers import temporary_database

from sitelore.index.terms import terms_of
from sitelore.model.frontier import Effects, Lease, Offer, PageUpdate, Settlement, Source, Verdict, WaveFacts, WavePlan
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, ChunkId, CleanText, SiteId, TenantId, WorkerId
from sitelore.model.search import Chunk, Flag, IndexedChunk, IndexedPage
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.ports import SearchIndex
from sitelore.store.engine import Engine, PostgresConfig, open_postgres, open_sqlite
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger, SqlRunQueue

NOW = 1_000_000.0
EPOCH = "texts"
AT_ONCE = 1_000
AHEAD = 3
"""Batches whose terms are computed ahead."""


@dataclass(frozen=True, slots=True)
class Text:
    """A page with its chunks."""

    url: str
    chunks: tuple[str, ...]
    title: str = ""
    lang: str = "en"
    kind: str = "page"
    dated: float | None = None
    flagged: bool = False

    @property
    def document(self) -> BlobKey:
        """The key of the page's document: a digest of its chunks."""
        return BlobKey(_digest(repr(self.chunks)))

    def indexed_page(self) -> IndexedPage:
        """The page with the terms of its chunks."""
        chunks, start = [], 0
        for text in self.chunks:
            end = start + len(text.encode("utf-8", "replace"))
            chunks.append(self._indexed(text, start, end))
            start = end + 1
        url = Url.trusted(self.url)
        return IndexedPage(url, self.document, CleanText(self.title), self.lang, self.kind, self.dated, tuple(chunks))

    def _indexed(self, text: str, start: int, end: int) -> IndexedChunk:
        flags = (Flag("orders", CleanText("ignore")),) if self.flagged else ()
        chunk = Chunk(ChunkId(_digest(f"{self.url} {text}")), CleanText(text), start, end, len(text) // 4, flags=flags)
        terms = terms_of(f"{self.title}\n{text}", self.lang)
        return IndexedChunk(chunk, terms, sum(terms.values()), _digest(text))


class SearchStore:
    """The ledger and the search index of one tenant in one database."""

    def __init__(
        self, engine: Engine, search_index: SqlSearchIndex, server: int = 0, tenant: TenantId = DEFAULT_TENANT
    ) -> None:
        self._engine = engine
        self._search_index = search_index
        self.ledger = SqlLedger(engine, tenant)
        self.server = server
        """Process id of the database server, 0 without one."""
        self.search_index: SearchIndex = search_index.for_tenant(tenant)

    async def create_tenant(self, name: str) -> SearchStore:
        """Create a tenant of this name; return the store of it in the same database."""
        tenant = await SqlRunQueue(self._engine).create_tenant(name, NOW)
        return SearchStore(self._engine, self._search_index, self.server, tenant.id)

    async def crawl(self, texts: Sequence[Text], site: str = "site") -> SiteId:
        """Record a completed run that visited these pages."""
        offers = [Offer(Url.trusted(text.url), 0, Source.SEED, position=at) for at, text in enumerate(texts)]
        run = await self.ledger.create_run(site, CrawlSettings(seeds=(texts[0].url,)), offers, NOW)
        await self.ledger.begin_run(run.id, NOW)
        by_url = {text.url: text for text in texts}
        settled = wave = 0
        while settled < len(by_url):
            await self.ledger.open_wave(run.id, wave, _all)
            wave += 1
            while leases := await self.ledger.claim(run.id, WorkerId("w"), AT_ONCE, NOW, 600.0):
                settled += sum(await self.ledger.settle([_visit(lease, by_url[str(lease.url)]) for lease in leases]))
        await self.ledger.open_wave(run.id, wave, _all)
        await self.ledger.end_run(run.id, RunState.COMPLETED, NOW)
        return run.site

    async def index(self, site: SiteId, texts: Sequence[Text], at_once: int = AT_ONCE) -> None:
        """Index the pages in this order."""
        await self.search_index.open_epoch(site, EPOCH)
        batches = [texts[start : start + at_once] for start in range(0, len(texts), at_once)]
        async for made in _with_terms(batches):
            await self.search_index.write_pages(site, EPOCH, made)

    async def add_pages(self, texts: Sequence[Text], site: str = "site") -> SiteId:
        """Crawl and index the pages."""
        made = await self.crawl(texts, site)
        await self.index(made, texts)
        return made

    async def add_vectors(self, model: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Store vectors by their texts."""
        await self.search_index.put_vectors(model, [(_digest(text), vector) for text, vector in vectors])


@asynccontextmanager
async def open_sqlite_store(path: Path) -> AsyncIterator[SearchStore]:
    """Open a store in this SQLite file."""
    engine = await open_sqlite(path)
    try:
        yield SearchStore(engine, SqlSearchIndex(engine, DEFAULT_TENANT))
    finally:
        await engine.close()


@asynccontextmanager
async def open_postgres_store() -> AsyncIterator[SearchStore]:
    """Open a store on a Postgres server that is started for it."""
    with postgres_alone() as server:
        async with temporary_database(server.url) as url:
            engine = await open_postgres(url, PostgresConfig(4, 60.0, idle_in_transaction_s=60.0))
            search_index = SqlSearchIndex(engine, DEFAULT_TENANT)
            try:
                yield SearchStore(engine, search_index, server.pid)
            finally:
                await search_index.close()
                await engine.close()


async def _with_terms(batches: Sequence[Sequence[Text]]) -> AsyncIterator[list[IndexedPage]]:
    """Compute the terms of batches, in order. Many batches are computed by other processes while one is written."""
    if len(batches) <= AHEAD:
        for batch in batches:
            yield _indexed(batch)
        return
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        waiting = deque(loop.run_in_executor(pool, _indexed, batch) for batch in batches[:AHEAD])
        for batch in batches[AHEAD:]:
            yield await waiting.popleft()
            waiting.append(loop.run_in_executor(pool, _indexed, batch))
        for made in waiting:
            yield await made


def _indexed(texts: Sequence[Text]) -> list[IndexedPage]:
    return [text.indexed_page() for text in texts]


def _visit(lease: Lease, text: Text) -> Settlement:
    document = text.document
    effects = Effects(page=PageUpdate(CleanText(text.title), document, document, document), fetched=True)
    return Settlement(lease, Verdict(UrlState.VISITED, 200), effects, NOW)


def _all(wave: WaveFacts) -> WavePlan:
    return WavePlan(admit=tuple(candidate.url for candidate in wave.candidates))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
