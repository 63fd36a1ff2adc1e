"""A sample of the texts of a site's search index with their embeddings. Every function is part of one transaction."""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.model.audit.findings import ChunkVector, VectorSample
from sitelore.model.ids import SiteId, TenantId
from sitelore.store.schema import IS_SEARCHABLE, chunks, models, pages, vectors
from sitelore.store.statements import BATCH, SITE, TENANT, select_in_batches

_live = chunks.join(
    pages,
    sa.and_(pages.c.tenant_id == chunks.c.tenant_id, pages.c.site_id == chunks.c.site_id, pages.c.number == chunks.c.page),
)
_of_site = sa.and_(
    chunks.c.tenant_id == TENANT, chunks.c.site_id == SITE, sa.text(IS_SEARCHABLE), sa.text("indexed = document")
)
_texts = (
    sa.select(chunks.c.text_hash)
    .select_from(
        _live.join(vectors, sa.and_(vectors.c.tenant_id == chunks.c.tenant_id, vectors.c.text_hash == chunks.c.text_hash))
    )
    .where(_of_site, vectors.c.model_id == sa.bindparam("model", type_=sa.Integer))
    .distinct()
)
_places = (
    sa.select(chunks.c.text_hash, chunks.c.number, chunks.c.page)
    .select_from(_live)
    .where(_of_site, chunks.c.text_hash.in_(BATCH))
    .order_by(chunks.c.number)
)


def sample_vectors(conn: sa.Connection, tenant: TenantId, site: SiteId, model: str, limit: int) -> VectorSample:
    """Texts of live chunks that have an embedding of this model, each once, at most `limit` of them by their hashes."""
    from sitelore.store.vectors.embeddings import vectors_of_texts  # noqa: PLC0415 needs numpy, a part of an extra

    model_id = conn.scalar(sa.select(models.c.id).where(models.c.tenant_id == tenant, models.c.name == model))
    if model_id is None:
        return VectorSample()
    values = {"tenant": tenant, "site": site, "model": model_id}
    total = conn.scalar(sa.select(sa.func.count()).select_from(_texts.subquery()), values) or 0
    hashes = list(conn.scalars(_texts.order_by(chunks.c.text_hash).limit(limit), values))
    places: dict[str, list[tuple[int, int]]] = {}
    for text_hash, number, page in select_in_batches(conn, _places, hashes, tenant=tenant, site=site):
        places.setdefault(text_hash, []).append((number, page))
    embedded = vectors_of_texts(conn, tenant, model_id, hashes)
    sample = [
        ChunkVector(known[0][0], tuple(dict.fromkeys(page for _, page in known)), embedded[text_hash])
        for text_hash in hashes
        if (known := places.get(text_hash))
    ]
    return VectorSample(sample, total)
