"""Vector search over the vectors in the ledger's own database, and the protocol of all vector search backends.

On SQLite, and on Postgres without pgvector, this process caches a matrix and compares. With pgvector the database can compare
too: that takes four times the CPU but always sees the latest change. So pgvector answers while a site changes, while a matrix
is being read, and for sites that are too large for a process; a site that is unchanged and searched again gets a matrix.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from array import array
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from sitelore.model.errors import SiteloreError
from sitelore.model.ids import SiteId, TenantId
from sitelore.model.search import Similarities
from sitelore.store.engine import Engine
from sitelore.store.schema import sites
from sitelore.store.tenants import for_tenant
from sitelore.store.vectors import embeddings, pgvector
from sitelore.store.vectors.embeddings import Versions
from sitelore.store.vectors.in_memory import MatrixAndStale, MatrixCache, nearest

_LOG = logging.getLogger(__name__)

_QUERIES_BEFORE_MATRIX = 4
"""Queries at unchanged versions before a site's matrix is read: reading it costs as much as twenty answers."""
_MAX_MATRIX_BYTES = 1 << 29
"""Limit for one matrix where pgvector is available; larger sites are always compared by pgvector."""


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A query vector (float32) and the chunks of a site that it is compared with."""

    tenant: TenantId
    site: SiteId
    model: str
    query: bytes
    limit: int
    also: Collection[int] = ()
    among: bytes | None = None

    @property
    def vector(self) -> NDArray[np.float32]:
        """The query rounded to float16, the precision of stored vectors, so that every backend compares the same numbers."""
        return np.frombuffer(self.query, "<f4").astype(np.float16).astype(np.float32)

    @property
    def allowed_numbers(self) -> list[int] | None:
        """The only chunk numbers that are compared; None for all."""
        return None if self.among is None else array("I", self.among).tolist()


class VectorSearch(Protocol):
    """A vector search backend. Everything it stores is derived from the ledger's database."""

    @property
    def is_external(self) -> bool:
        """Whether vectors are stored outside the database, so that the pgvector table is not needed."""
        ...

    async def nearest(self, query: VectorQuery) -> Similarities:
        """The nearest live chunks, and those requested by number."""
        ...

    async def put(self, tenant: TenantId, model: str, hashes: Collection[str]) -> None:
        """Vectors of these texts were stored in the database."""
        ...

    async def catch_up(self, tenant: TenantId, model: str, site: SiteId | None) -> None:
        """Bring the backend to the state of the database, when all texts are embedded."""
        ...

    async def close(self) -> None:
        """Close connections and end background tasks."""
        ...


_MatrixKey = tuple[TenantId, SiteId, str, int]
"""Tenant, site, model and dimensions."""


class LocalVectorSearch:
    """Vector search by a matrix in this process, or by pgvector."""

    is_external = False

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cache = MatrixCache()
        self._counts: pgvector.VectorCounts = {}
        self._query_counts: dict[_MatrixKey, tuple[Versions, int]] = {}
        self._matrix_reads: dict[_MatrixKey, asyncio.Task[None]] = {}

    async def nearest(self, query: VectorQuery) -> Similarities:
        """The nearest live chunks, exactly."""
        result: Similarities | MatrixAndStale | None = await self._engine.read(
            for_tenant, self._cached_matrix, query.tenant, query
        )
        if result is None:
            result = await self._engine.read_long(for_tenant, self._compare_or_load, query.tenant, query)
        if isinstance(result, tuple):
            return await asyncio.to_thread(nearest, *result, query.vector, query.limit, query.also, query.among)
        return result or Similarities()

    def _cached_matrix(self, conn: sa.Connection, tenant: TenantId, query: VectorQuery) -> MatrixAndStale | None:
        """The site's matrix, if it is cached in the state of the database."""
        versions = embeddings.versions(conn, tenant, query.site, query.model)
        if versions is None:
            return None
        return self._cache.get_current(conn, tenant, query.site, versions, len(query.query) // 4)

    def _compare_or_load(
        self, conn: sa.Connection, tenant: TenantId, query: VectorQuery
    ) -> Similarities | MatrixAndStale | None:
        """The result of pgvector, or without pgvector the matrix to search."""
        vector = query.vector
        if not pgvector.is_ready(conn):
            return self._cache.load(conn, tenant, query.site, query.model, len(vector))
        versions = embeddings.versions(conn, tenant, query.site, query.model)
        if versions is None:
            return None
        selection = pgvector.Selection(tenant, query.site, versions, query.limit, query.also, query.allowed_numbers)
        result = pgvector.nearest(conn, vector.tolist(), selection, self._counts)
        chunks = conn.scalar(sa.select(sites.c.chunk_count).where(sites.c.tenant_id == tenant, sites.c.id == query.site)) or 0
        if chunks * vector.nbytes <= _MAX_MATRIX_BYTES:
            self._count_query((tenant, query.site, query.model, len(vector)), versions)
        return result

    def _count_query(self, key: _MatrixKey, versions: Versions) -> None:
        """After enough queries at unchanged versions, read the matrix in the background."""
        before, count = self._query_counts.get(key, (versions, 0))
        count = count + 1 if before == versions else 1
        self._query_counts[key] = (versions, count)
        if count >= _QUERIES_BEFORE_MATRIX and key not in self._matrix_reads:
            self._matrix_reads[key] = asyncio.get_running_loop().create_task(self._read_matrix(key))

    async def _read_matrix(self, key: _MatrixKey) -> None:
        try:
            tenant, site, model, dims = key
            await self._engine.read_long(for_tenant, self._cache.load, tenant, site, model, dims)
        except SiteloreError as problem:
            _LOG.warning("reading the vectors of a site failed, pgvector goes on comparing: %s", problem)
        finally:
            del self._matrix_reads[key], self._query_counts[key]

    async def put(self, tenant: TenantId, model: str, hashes: Collection[str]) -> None:
        """Nothing to do: matrices follow the versions in the database."""

    async def catch_up(self, tenant: TenantId, model: str, site: SiteId | None) -> None:
        """Nothing to do: matrices follow the versions in the database."""

    async def close(self) -> None:
        """Cancel background reads."""
        tasks = list(self._matrix_reads.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
