"""Reads for the sync of an external vector store, which holds every chunk that has a vector, site by site."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from sitelore.model.ids import SiteId, TenantId
from sitelore.store.index.reads import has_vector, of_stale_page, stale_pages
from sitelore.store.schema import chunks, models, sites, tenants, vectors
from sitelore.store.statements import BATCH, SITE, TENANT, select_in_batches
from sitelore.store.vectors import embeddings

TEXT_HASH_CHARS = 16
"""Stored characters of a text hash: enough to tell the versions of a chunk's text apart."""


class VectorRow(NamedTuple):
    """A chunk as it must exist in the external vector store; `version` is the model version its vector was written at."""

    page: int
    text: str
    version: int


@dataclass(frozen=True, slots=True)
class SyncState:
    """Versions of a site's chunks and of a model's vectors."""

    site: SiteId
    tenant: str
    chunks_version: int
    vectors_version: int


@dataclass(frozen=True, slots=True)
class SiteVectors:
    """All chunks of a site that have a vector, by dimensions and number."""

    state: SyncState
    next_chunk: int
    """Chunks from this number on were created later and are not covered."""
    by_dims: dict[int, dict[int, VectorRow]]


@dataclass(frozen=True, slots=True)
class ChunkVector:
    """A chunk with its vector (float16)."""

    tenant: str
    site: int
    number: int
    row: VectorRow
    half: bytes


_with_vectors = chunks.join(
    vectors, sa.and_(vectors.c.tenant_id == chunks.c.tenant_id, vectors.c.text_hash == chunks.c.text_hash)
).join(models, sa.and_(models.c.tenant_id == vectors.c.tenant_id, models.c.id == vectors.c.model_id))
_sync_states = (
    sa.select(sites.c.id, tenants.c.name, sites.c.index_version, models.c.version)
    .select_from(sites.join(tenants, tenants.c.id == sites.c.tenant_id).join(models, models.c.tenant_id == sites.c.tenant_id))
    .where(sites.c.tenant_id == TENANT, models.c.name == sa.bindparam("model"))
    .order_by(sites.c.id)
)


def sync_states(conn: sa.Connection, tenant: TenantId, model: str, site: SiteId | None) -> list[SyncState]:
    """The current versions of one site of the tenant, or (None) of each."""
    query = _sync_states if site is None else _sync_states.where(sites.c.id == site)
    return [SyncState(*row) for row in conn.execute(query, {"tenant": tenant, "model": model})]


def latest_vectors(conn: sa.Connection, tenant: TenantId, model: str, version: int) -> dict[SiteId, int]:
    """Sites whose chunks got vectors after this version of the model, each with the latest version of its vectors."""
    query = sa.select(chunks.c.site_id, sa.func.max(vectors.c.version)).select_from(_with_vectors)
    query = query.where(chunks.c.tenant_id == tenant, models.c.name == model, vectors.c.version > version).group_by(
        chunks.c.site_id
    )
    return {row[0]: row[1] for row in conn.execute(query)}


_vector_rows = (
    sa.select(chunks.c.number, chunks.c.page, chunks.c.text_hash, vectors.c.version, sa.func.length(vectors.c.embedding_f16))
    .select_from(_with_vectors)
    .where(chunks.c.tenant_id == TENANT, chunks.c.site_id == SITE, models.c.name == sa.bindparam("model"))
)


def site_vectors(conn: sa.Connection, tenant: TenantId, model: str, site: SiteId) -> SiteVectors | None:
    """Everything that the external store must hold of a site, as of one moment."""
    states = sync_states(conn, tenant, model, site)
    if not states:
        return None
    next_chunk = conn.scalar(sa.select(sites.c.next_chunk).where(sites.c.tenant_id == tenant, sites.c.id == site)) or 0
    by_dims: dict[int, dict[int, VectorRow]] = {}
    for number, page, text, version, size in conn.execute(_vector_rows, {"tenant": tenant, "site": site, "model": model}):
        by_dims.setdefault(size // 2, {})[number] = VectorRow(page, text[:TEXT_HASH_CHARS], version)
    return SiteVectors(states[0], next_chunk, by_dims)


_chunk_vectors = (
    sa.select(
        tenants.c.name,
        chunks.c.site_id,
        chunks.c.number,
        chunks.c.page,
        chunks.c.text_hash,
        vectors.c.version,
        vectors.c.embedding_f16,
    )
    .select_from(_with_vectors.join(tenants, tenants.c.id == chunks.c.tenant_id))
    .where(chunks.c.tenant_id == TENANT, models.c.name == sa.bindparam("model"))
)


def vectors_of_texts(conn: sa.Connection, tenant: TenantId, model: str, hashes: Collection[str]) -> list[ChunkVector]:
    """Chunks of any site of the tenant with these texts."""
    query = _chunk_vectors.where(chunks.c.text_hash.in_(BATCH))
    return [_chunk_vector(*row) for row in select_in_batches(conn, query, hashes, tenant=tenant, model=model)]


def vectors_of_chunks(
    conn: sa.Connection, tenant: TenantId, model: str, site: SiteId, numbers: Collection[int]
) -> list[ChunkVector]:
    """The vectors of these chunks of a site; chunks without a vector are left out."""
    query = _chunk_vectors.where(chunks.c.site_id == site, chunks.c.number.in_(BATCH))
    return [_chunk_vector(*row) for row in select_in_batches(conn, query, numbers, tenant=tenant, model=model)]


def _chunk_vector(tenant: str, site: int, number: int, page: int, text: str, version: int, half: bytes) -> ChunkVector:
    return ChunkVector(tenant, site, number, VectorRow(page, text[:TEXT_HASH_CHARS], version), bytes(half))


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What must be known of a site before the external store is searched."""

    tenant: str
    stale: list[int]
    """Pages whose chunks must not be shown."""
    embedded: int


EmbeddedCounts = dict[tuple[int, str], tuple[SyncState, int]]
"""Cache by site and model: how many chunks had a vector at these versions."""


def search_context(
    conn: sa.Connection, tenant: TenantId, model: str, site: SiteId, counts: EmbeddedCounts
) -> SearchContext | None:
    """The context of a search; None when the site or the model does not exist."""
    states = sync_states(conn, tenant, model, site)
    if not states:
        return None
    stale = stale_pages(conn, tenant, site)
    counted_at, count = counts.get((site, model), (None, 0))
    if counted_at != states[0] or stale:
        versions = embeddings.versions(conn, tenant, site, model)
        of_site = sa.and_(chunks.c.tenant_id == tenant, chunks.c.site_id == site)
        query = sa.select(sa.func.count()).select_from(chunks).where(of_site, ~of_stale_page())
        count = conn.scalar(query.where(has_vector(versions.model_id if versions else 0))) or 0
        if not stale:
            counts[site, model] = (states[0], count)
    return SearchContext(states[0].tenant, stale, count)


def live_chunks(conn: sa.Connection, tenant: TenantId, site: SiteId, numbers: Collection[int]) -> set[int]:
    """The subset of these chunks that exists and may be shown."""
    of_site = sa.and_(chunks.c.tenant_id == tenant, chunks.c.site_id == site)
    query = sa.select(chunks.c.number).where(of_site, chunks.c.number.in_(BATCH), ~of_stale_page())
    return {row[0] for row in select_in_batches(conn, query, numbers)}
