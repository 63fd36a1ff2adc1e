"""Texts in a real embedded store, as a crawl would have left them: for what is asked of search."""

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
from tests.support.fleet import new_database

from sitelore.index.terms import terms_of
from sitelore.model.frontier import Effects, Lease, Offer, PageFacts, Settlement, Source, Verdict, WaveFacts, WavePlan
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, ChunkId, CleanText, SiteId, WorkerId
from sitelore.model.search import Chunk, Flag, IndexedChunk, IndexedPage
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.ports import SearchIndex
from sitelore.store.engine import PostgresConfig, open_postgres, open_sqlite
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger

NOW = 1_000_000.0
EPOCH = "texts"
AT_ONCE = 1_000
AHEAD = 3
"""Batches whose terms are made before they are wanted."""


@dataclass(frozen=True, slots=True)
class Text:
    """A page of so many chunks."""

    url: str
    chunks: tuple[str, ...]
    title: str = ""
    lang: str = "en"
    kind: str = "page"
    dated: float | None = None
    flagged: bool = False

    @property
    def document(self) -> BlobKey:
        """What the page says, as a key."""
        return BlobKey(_digest(repr(self.chunks)))

    def indexed(self) -> IndexedPage:
        """With its terms."""
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


class SearchService:
    """Sites of texts, with the ledger that answers are joined with."""

    def __init__(self, ledger: SqlLedger, knowledge: SqlSearchIndex, server: int = 0) -> None:
        self.ledger = ledger
        self.server = server
        """The database's process, where it has one."""
        self.knowledge: SearchIndex = knowledge

    async def crawled(self, texts: Sequence[Text], site: str = "site", tenant: str = DEFAULT_TENANT) -> SiteId:
        """A run that has met these pages."""
        offers = [Offer(Url.trusted(text.url), 0, Source.SEED, position=at) for at, text in enumerate(texts)]
        run = await self.ledger.create_run(site, CrawlSettings(seeds=(texts[0].url,)), offers, NOW, tenant)
        await self.ledger.begin_run(run.id, NOW)
        by_url = {text.url: text for text in texts}
        met = wave = 0
        while met < len(by_url):
            await self.ledger.open_wave(run.id, wave, _all)
            wave += 1
            while leases := await self.ledger.claim(run.id, WorkerId("w"), AT_ONCE, NOW, 600.0):
                met += sum(await self.ledger.settle([_visit(lease, by_url[str(lease.url)]) for lease in leases]))
        await self.ledger.open_wave(run.id, wave, _all)
        await self.ledger.end_run(run.id, RunState.COMPLETED, NOW)
        return run.site

    async def indexed(self, site: SiteId, texts: Sequence[Text], at_once: int = AT_ONCE) -> None:
        """Their chunks, in this order."""
        await self.knowledge.open_epoch(site, EPOCH)
        batches = [texts[start : start + at_once] for start in range(0, len(texts), at_once)]
        async for made in _worded(batches):
            await self.knowledge.write_pages(site, EPOCH, made)

    async def shelved(self, texts: Sequence[Text], site: str = "site", tenant: str = DEFAULT_TENANT) -> SiteId:
        """Crawled and indexed."""
        made = await self.crawled(texts, site, tenant)
        await self.indexed(made, texts)
        return made

    async def given_vectors(self, model: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Vectors of texts."""
        await self.knowledge.put_vectors(model, [(_digest(text), vector) for text, vector in vectors])


@asynccontextmanager
async def open_library(path: Path) -> AsyncIterator[SearchService]:
    """A library in this file."""
    engine = await open_sqlite(path)
    try:
        yield SearchService(SqlLedger(engine), SqlSearchIndex(engine))
    finally:
        await engine.close()


@asynccontextmanager
async def open_shared_library() -> AsyncIterator[SearchService]:
    """A library on a Postgres of its own."""
    with postgres_alone() as server:
        async with new_database(server.url) as url:
            engine = await open_postgres(url, PostgresConfig(4, 60.0, idle_in_transaction_s=60.0))
            knowledge = SqlSearchIndex(engine)
            try:
                yield SearchService(SqlLedger(engine), knowledge, server.pid)
            finally:
                await knowledge.close()
                await engine.close()


async def _worded(batches: Sequence[Sequence[Text]]) -> AsyncIterator[list[IndexedPage]]:
    """Batches with their terms, in order. Of many, the next are made by other processes while one is written."""
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
    return [text.indexed() for text in texts]


def _visit(lease: Lease, text: Text) -> Settlement:
    document = text.document
    effects = Effects(page=PageFacts(CleanText(text.title), document, document, document), fetched=True)
    return Settlement(lease, Verdict(UrlState.VISITED, 200), effects, NOW)


def _all(wave: WaveFacts) -> WavePlan:
    return WavePlan(admit=tuple(one.url for one in wave.candidates))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
