"""`ports.SearchIndex` over SQL: each method runs one repository function in one transaction (see `ledger.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence

import sqlalchemy as sa

from sitelore.model.frontier import PageSketch
from sitelore.model.ids import SiteId, TenantId
from sitelore.model.search import Similarities, SiteIndexStats, TextToEmbed
from sitelore.store.engine import Engine, Repository, iterate_pages, read_long, write
from sitelore.store.index import postings as segments
from sitelore.store.index import reads, writes
from sitelore.store.pages import pages, presence
from sitelore.store.vectors import embeddings, pgvector
from sitelore.store.vectors.search import LocalVectorSearch, VectorQuery, VectorSearch


class SqlSearchIndex(Repository):
    """The search index of a tenant in SQLite or Postgres, on the engine of the ledger. Closing it does not close the engine.

    `vector_search`: the vector search backend, when it is not this process or the database.
    """

    def __init__(self, engine: Engine, tenant: TenantId, vector_search: VectorSearch | None = None) -> None:
        super().__init__(engine, tenant)
        self._vector_search: VectorSearch = vector_search or LocalVectorSearch(engine)
        self._embedded_counts: reads.EmbeddedCounts = {}
        self._nothing_to_embed: embeddings.NothingToEmbed = {}
        self._last_texts: set[str] = set()

    check_presence = write(presence.check_presence)
    release_held = write(presence.release_held)
    open_epoch = write(writes.open_epoch)
    pages_to_index = read_long(writes.pages_to_index)
    keep_chunks = write(writes.keep_chunks)
    write_pages = write(writes.write_pages)
    forget = write(writes.forget)
    chunk_table = read_long(reads.chunk_table)
    postings = read_long(segments.find_postings)
    terms = read_long(segments.terms_with_prefix)
    chunk_records = read_long(reads.chunk_records)
    page_chunks = read_long(reads.page_chunks)
    page = read_long(reads.stored_page)
    pages_pending_deletion = read_long(reads.pages_pending_deletion)

    def for_tenant(self, tenant: TenantId) -> SqlSearchIndex:
        """The search index of another tenant, with the same vector search backend."""
        return SqlSearchIndex(self._engine, tenant, self._vector_search)

    async def site_stats(self, model: str = "") -> list[SiteIndexStats]:
        """Index statistics of every site of the tenant, by name."""
        return await self._read_long(reads.site_stats, model, self._embedded_counts)

    def sketches(self, site: SiteId) -> AsyncIterator[PageSketch]:
        """Text sketches of every searchable page of the site, sorted by key."""
        return iterate_pages(lambda after: self._read_long(pages.site_sketches_after, site, after), pages.SKETCHES_PER_PAGE)

    async def texts_to_embed(self, model: str, limit: int, site: SiteId | None = None) -> list[TextToEmbed]:
        """Texts of live chunks that have no vector of this model."""
        texts = await self._read_long(embeddings.texts_to_embed, model, limit, site, self._nothing_to_embed)
        hashes = {text.text_hash for text in texts}
        # The same texts a second time cannot be embedded; the vectors of the others must not wait for them.
        if hashes <= self._last_texts:
            await self._vector_search.catch_up(self._tenant, model, site)
        self._last_texts = hashes
        return texts

    async def without_vector(self, model: str, hashes: Collection[str]) -> set[str]:
        """Those of these text hashes that have no vector of this model now."""
        return await self._read_long(embeddings.without_vector, model, hashes)

    async def put_vectors(self, model: str, vectors: Sequence[tuple[str, bytes]]) -> None:
        """Store vectors by text hash, as little-endian float16 of unit length."""
        if vectors:
            await self._write(_put_vectors, model, vectors, self._vector_search.is_external)
            await self._vector_search.put(self._tenant, model, {text_hash for text_hash, _ in vectors})

    async def nearest(
        self, site: SiteId, model: str, query: bytes, limit: int, also: Collection[int] = (), among: bytes | None = None
    ) -> Similarities:
        """The nearest live chunks to a float32 vector, exactly, and those in `also`. `among`: only these (packed uint32)."""
        return await self._vector_search.nearest(VectorQuery(self._tenant, site, model, query, limit, also, among))

    async def close(self) -> None:
        """Close the vector search backend."""
        await self._vector_search.close()


def _put_vectors(
    conn: sa.Connection, tenant: TenantId, model: str, vectors: Sequence[tuple[str, bytes]], is_external: bool
) -> None:
    with_pgvector = pgvector.prepare(conn, create=not is_external)
    model_id, stored = embeddings.put_vectors(conn, tenant, model, vectors)
    if with_pgvector:
        pgvector.put(conn, tenant, model_id, stored)
