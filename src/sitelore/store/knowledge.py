"""`ports.Knowledge` over SQL: each call is one function in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence

import sqlalchemy as sa

from sitelore.model.frontier import PageSketch
from sitelore.model.ids import SiteId
from sitelore.model.search import (
    ChunkRecord,
    ChunkTable,
    IndexedPage,
    IndexWritten,
    PageToIndex,
    PresenceChanges,
    Similarities,
    SiteIndexStats,
    StoredPage,
    TextToEmbed,
)
from sitelore.model.url import Url
from sitelore.ports import PresenceCheck
from sitelore.store import dense_sql, indexing_sql, postings_sql, reckoning_sql, shelves_sql, vectors_sql
from sitelore.store.engine import Engine
from sitelore.store.likeness import Asked, LocalVectorSearch, VectorSearch


class SqlSearchIndex:
    """The index in SQLite or Postgres, beside the ledger and on the same engine. Whoever opened the engine closes it.

    `comparing`: where vectors are compared, if not in the database or by this process.
    """

    def __init__(self, engine: Engine, comparing: VectorSearch | None = None) -> None:
        self._engine = engine
        self._comparing: VectorSearch = comparing or LocalVectorSearch(engine)
        self._embedded: shelves_sql.KnownPage = {}
        self._finished: vectors_sql.Finished = {}
        self._given: set[str] = set()

    async def site_stats(self, tenant: str | None, model: str = "") -> list[SiteIndexStats]:
        """Every site of the tenant (None: of all), by name, in numbers."""
        return await self._engine.read_long(shelves_sql.shelves, tenant, model, self._embedded)

    async def check_presence(self, site: SiteId, decide: PresenceCheck, now: float) -> list[PresenceChanges]:
        """Let every run of the site that ended since the last time say which pages are gone; their chunks go with them."""
        return await self._engine.run(reckoning_sql.check_presence, site, decide, now)

    async def release_held(self, site: SiteId, now: float, *, agreed: bool) -> int:
        """Pages that look gone and were held: drop them (agreed), or keep them. Gives how many."""
        return await self._engine.run(reckoning_sql.release_held, site, now, agreed)

    async def sketches(self, site: SiteId) -> AsyncIterator[PageSketch]:
        """Every page of the site that is searched, with the sketch of its text, sorted by key."""
        after = ""
        while True:
            page = await self._engine.read_long(shelves_sql.sketches_after, site, after)
            for _, sketched in page:
                yield sketched
            if len(page) < shelves_sql.SKETCHES_PER_PAGE:
                return
            after = page[-1][0]

    async def open_epoch(self, site: SiteId, epoch: str) -> None:
        """From now on chunks are made this way: pages whose chunks were made otherwise wait to be indexed again."""
        await self._engine.run(indexing_sql.open_epoch, site, epoch)

    async def pages_to_index(self, site: SiteId, limit: int, after: str = "") -> list[PageToIndex]:
        """Pages whose chunks do not say what the page says, by URL, from the one after `after` on."""
        return await self._engine.read_long(indexing_sql.pages_to_index, site, limit, after)

    async def write_pages(self, site: SiteId, epoch: str, pages: Sequence[IndexedPage]) -> IndexWritten:
        """Put these chunks in the place of those the pages had; chunks whose id stays keep their number and vector."""
        return await self._engine.run(indexing_sql.write_pages, site, epoch, pages)

    async def forget(self, site: SiteId) -> None:
        """Drop every chunk of the site: the index can always be made again from the pages."""
        await self._engine.run(indexing_sql.forget, site)

    async def chunk_table(self, site: SiteId) -> ChunkTable:
        """Every live chunk of a site, as numbers."""
        return await self._engine.read_long(shelves_sql.shelf, site)

    async def postings(self, site: SiteId, terms: Collection[str]) -> dict[str, list[bytes]]:
        """Where terms stand, as packed `Postings` in ascending order of numbers."""
        return await self._engine.read_autocommit(postings_sql.find, site, terms)

    async def chunk_records(self, site: SiteId, numbers: Sequence[int]) -> list[ChunkRecord]:
        """These chunks as far as they may be shown, in the order asked for."""
        return await self._engine.read_autocommit(shelves_sql.cards, site, numbers)

    async def page(self, tenant: str, url: Url) -> StoredPage | None:
        """The tenant's page of this address, also one that is gone; the one looked at last where several sites have it."""
        return await self._engine.read_long(shelves_sql.page_now, tenant, url)

    async def texts_to_embed(self, model: str, limit: int, site: SiteId | None = None) -> list[TextToEmbed]:
        """Texts of live chunks that have no vector of this model."""
        found = await self._engine.read_long(vectors_sql.texts_to_embed, model, limit, site, self._finished)
        hashes = {one.text_hash for one in found}
        # Given twice: nobody can embed these, and they must not keep the others waiting.
        if hashes <= self._given:
            await self._comparing.catch_up(model, site)
        self._given = hashes
        return found

    async def put_vectors(self, model: str, vectors: Sequence[tuple[str, bytes]]) -> None:
        """Vectors by text hash, as little-endian float16 of unit length."""
        if vectors:
            await self._engine.run(_put_vectors, model, vectors, self._comparing.is_elsewhere)
            await self._comparing.put(model, {text_hash for text_hash, _ in vectors})

    async def likeness(
        self, site: SiteId, model: str, query: bytes, limit: int, also: Collection[int] = (), among: bytes | None = None
    ) -> Similarities:
        """The nearest live chunks to a float32 vector, exactly, and those in `also`. `among`: only these (packed uint32)."""
        return await self._comparing.nearest(Asked(site, model, query, limit, also, among))

    async def close(self) -> None:
        """Give back what is held beside the database."""
        await self._comparing.close()


def _put_vectors(conn: sa.Connection, model: str, vectors: Sequence[tuple[str, bytes]], is_elsewhere: bool) -> None:
    with_pgvector = dense_sql.prepare(conn, make=not is_elsewhere)
    number, put = vectors_sql.put_vectors(conn, model, vectors)
    if with_pgvector:
        dense_sql.put(conn, number, put)
