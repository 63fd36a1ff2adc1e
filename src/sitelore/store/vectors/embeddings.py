"""Embeddings by model and text hash: a text is embedded once, also when it occurs on several pages and sites."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from sitelore.model.ids import SiteId, TenantId
from sitelore.model.search import TextToEmbed
from sitelore.store.index.reads import has_vector, headings_of
from sitelore.store.rows import storable
from sitelore.store.schema import IS_HIDDEN, chunk_texts, chunks, links, models, pages, sites, vectors
from sitelore.store.statements import BATCH, SITE, TENANT, Statement, execute_many, insert_for, select_in_batches, upsert

_MODEL = sa.bindparam("model", type_=sa.Integer)
_of_chunk = sa.and_(
    pages.c.tenant_id == chunks.c.tenant_id, pages.c.site_id == chunks.c.site_id, pages.c.number == chunks.c.page
)
_inlinks = sa.select(sa.func.count()).select_from(links).where(links.c.tenant_id == TENANT, links.c.target_id == pages.c.url_id)
_pages_without_vector = (
    sa.select(pages.c.site_id, pages.c.number)
    .where(pages.c.tenant_id == TENANT, pages.c.number.is_not(None), sa.text(f"NOT {IS_HIDDEN}"))
    .where(sa.exists(sa.literal_column("1")).where(_of_chunk, ~has_vector(_MODEL)))
    .order_by(_inlinks.scalar_subquery().desc(), sa.func.coalesce(pages.c.published_at, pages.c.fetched_at).desc())
    .order_by(pages.c.site_id, pages.c.number)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
)
"""Pages with chunks that have no vector, the most linked ones first, then the newest."""
_chunks_without_vector = (
    sa.select(chunks.c.page, chunks.c.number, chunks.c.text_hash)
    .where(chunks.c.tenant_id == TENANT, chunks.c.site_id == SITE, chunks.c.page.in_(BATCH), ~has_vector(_MODEL))
    .order_by(chunks.c.number)
)
_texts = sa.select(chunk_texts.c.number, chunk_texts.c.headings, chunk_texts.c.lead, chunk_texts.c.text).where(
    chunk_texts.c.tenant_id == TENANT, chunk_texts.c.site_id == SITE, chunk_texts.c.number.in_(BATCH)
)


NothingToEmbed = dict[tuple[str, int | None], tuple[int, int, int]]
"""Cache by model and site: the versions at which no text was left to embed, so that the chunks need not be searched again."""


def texts_to_embed(
    conn: sa.Connection, tenant: TenantId, model: str, limit: int, site: SiteId | None, nothing_to_embed: NothingToEmbed
) -> list[TextToEmbed]:
    """Texts of live chunks that have no vector of this model; each once, though it may occur on many pages."""
    model_row = conn.execute(_model, {"tenant": tenant, "name": model}).one_or_none()
    site_versions = sa.select(sa.func.count(), sa.func.sum(sites.c.index_version)).where(sites.c.tenant_id == tenant)
    count, versions_sum = conn.execute(site_versions if site is None else site_versions.where(sites.c.id == site)).one()
    versions = (count, versions_sum or 0, 0 if model_row is None else model_row.version)
    if nothing_to_embed.get((model, site)) == versions:
        return []
    values = {"tenant": tenant, "model": 0 if model_row is None else model_row.id}
    missing = _missing_texts(conn, values, limit, site)
    if not missing and limit > 0:
        nothing_to_embed[model, site] = versions
    return _texts_of_chunks(conn, tenant, missing)


def _missing_texts(conn: sa.Connection, values: dict[str, int], limit: int, site: SiteId | None) -> dict[str, tuple[int, int]]:
    """Hash, site and chunk of texts without a vector, those of the most important pages first."""
    query = _pages_without_vector if site is None else _pages_without_vector.where(pages.c.site_id == site)
    ordered = [tuple(row) for row in conn.execute(query, {**values, "max_rows": limit})]
    by_site: dict[int, list[int]] = {}
    for site_id, page in ordered:
        by_site.setdefault(site_id, []).append(page)
    of_page: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for site_id, numbers in by_site.items():
        rows = select_in_batches(
            conn, _chunks_without_vector, numbers, tenant=values["tenant"], site=site_id, model=values["model"]
        )
        for row in rows:
            of_page.setdefault((site_id, row.page), []).append((row.text_hash, row.number))
    missing: dict[str, tuple[int, int]] = {}
    for site_id, page in ordered:
        for text_hash, number in of_page.get((site_id, page), ()):
            if len(missing) >= limit:
                return missing
            missing.setdefault(text_hash, (site_id, number))
    return missing


def _texts_of_chunks(conn: sa.Connection, tenant: TenantId, missing: dict[str, tuple[int, int]]) -> list[TextToEmbed]:
    by_site: dict[int, dict[int, str]] = {}
    for text_hash, (site, number) in missing.items():
        by_site.setdefault(site, {})[number] = text_hash
    texts = {
        hashes[row.number]: _embedded_text(row)
        for site, hashes in by_site.items()
        for row in select_in_batches(conn, _texts, hashes, tenant=tenant, site=site)
    }
    return [TextToEmbed(text_hash, texts[text_hash]) for text_hash in missing if text_hash in texts]


def _embedded_text(row: Any) -> Any:
    """The text that is embedded for a chunk: its headings, its lead and its own text."""
    headings = " > ".join(headings_of(row.headings))
    return "\n".join(part for part in (headings, row.lead, row.text) if part)


_model = sa.select(models.c.id, models.c.version).where(models.c.tenant_id == TENANT, models.c.name == sa.bindparam("name"))


def put_vectors(
    conn: sa.Connection, tenant: TenantId, model: str, vectors: Sequence[tuple[str, bytes]]
) -> tuple[int, dict[str, bytes]]:
    """Store vectors by text hash, replacing earlier ones. Returns the model's id and the stored vectors."""
    latest = {storable(text_hash) or "": half for text_hash, half in vectors if half and len(half) % 2 == 0}
    this_model = sa.and_(models.c.tenant_id == tenant, models.c.name == model)
    last_id = sa.select(sa.func.coalesce(sa.func.max(models.c.id), 0) + 1).where(models.c.tenant_id == tenant)
    insert = insert_for(conn.dialect.name)(models).values(tenant_id=tenant, id=last_id.scalar_subquery(), name=model)
    conn.execute(insert.on_conflict_do_nothing())
    # The update locks the model's row until the commit: versions commit in order, so a reader of newer versions misses none.
    conn.execute(sa.update(models).where(this_model).values(version=models.c.version + 1))
    row = conn.execute(_model, {"tenant": tenant, "name": model}).one()
    execute_many(conn, _vector_statement, [(tenant, row.id, key, row.version, latest[key]) for key in sorted(latest)])
    return row.id, latest


def _vector_statement(dialect_name: str) -> Statement:
    return upsert(dialect_name, vectors)


class Versions(NamedTuple):
    """Versions of a site's chunks and of a model's vectors; in-memory copies are current while both are unchanged."""

    site_version: int
    model_id: int
    model_version: int


_versions = (
    sa.select(sites.c.index_version, models.c.id, models.c.version)
    .select_from(sites.join(models, models.c.tenant_id == sites.c.tenant_id))
    .where(sites.c.tenant_id == TENANT, sites.c.id == SITE, models.c.name == sa.bindparam("model"))
)


def versions(conn: sa.Connection, tenant: TenantId, site: SiteId, model: str) -> Versions | None:
    """The current versions; None when the site or the model does not exist."""
    row = conn.execute(_versions, {"tenant": tenant, "site": site, "model": model}).one_or_none()
    return None if row is None else Versions(*row)


def text_hashes(conn: sa.Connection, tenant: TenantId, site: SiteId) -> list[tuple[int, int, str]]:
    """Number, page and text hash of every chunk of a site, by number."""
    if conn.dialect.name == "postgresql":
        columns = conn.exec_driver_sql(_TEXT_HASHES_IN_POSTGRES, (tenant, site)).one()
        return list(zip(*(column or [] for column in columns), strict=True))
    raw: Any = conn.connection.driver_connection
    query = "SELECT number, page, text_hash FROM chunks WHERE tenant_id = ? AND site_id = ? ORDER BY number"
    rows: list[tuple[int, int, str]] = raw.execute(query, (tenant, site)).fetchall()
    return rows


_TEXT_HASHES_IN_POSTGRES = """
    SELECT array_agg(number ORDER BY number), array_agg(page ORDER BY number), array_agg(text_hash ORDER BY number)
    FROM chunks WHERE tenant_id = $1 AND site_id = $2
"""


def vectors_of_site(conn: sa.Connection, tenant: TenantId, site: SiteId, model_id: int) -> list[tuple[str, bytes]]:
    """Text hash and vector of every text of a site, in one query."""
    if conn.dialect.name == "sqlite":
        raw: Any = conn.connection.driver_connection
        rows: list[tuple[str, bytes]] = raw.execute(_VECTORS_OF_SITE, (tenant, model_id, site)).fetchall()
        return rows
    return [(row[0], row[1]) for row in conn.exec_driver_sql(_VECTORS_OF_SITE_IN_POSTGRES, (tenant, model_id, site))]


_VECTORS_OF_SITE_IN_POSTGRES = """
    SELECT text_hash, embedding_f16 FROM vectors WHERE tenant_id = $1 AND model_id = $2
    AND text_hash IN (SELECT text_hash FROM chunks WHERE tenant_id = $1 AND site_id = $3)
"""
_VECTORS_OF_SITE = """
    SELECT vectors.text_hash, vectors.embedding_f16 FROM chunks
    JOIN vectors ON vectors.tenant_id = chunks.tenant_id AND vectors.text_hash = chunks.text_hash
    WHERE chunks.tenant_id = ? AND vectors.model_id = ? AND chunks.site_id = ?
"""


def vectors_of_texts(conn: sa.Connection, tenant: TenantId, model_id: int, hashes: Collection[str]) -> dict[str, bytes]:
    """The vectors of these texts that exist, by text hash."""
    return {row[0]: bytes(row[1]) for row in select_in_batches(conn, _vectors_of_texts, hashes, tenant=tenant, model=model_id)}


_vectors_of_texts = sa.select(vectors.c.text_hash, vectors.c.embedding_f16).where(
    vectors.c.tenant_id == TENANT, vectors.c.model_id == sa.bindparam("model"), vectors.c.text_hash.in_(BATCH)
)


def without_vector(conn: sa.Connection, tenant: TenantId, model: str, hashes: Collection[str]) -> set[str]:
    """Those of these text hashes that have no vector of this model."""
    row = conn.execute(_model, {"tenant": tenant, "name": model}).one_or_none()
    stored = select_in_batches(conn, _hashes_with_vector, hashes, tenant=tenant, model=row.id) if row is not None else ()
    return set(hashes).difference(row.text_hash for row in stored)


_hashes_with_vector = sa.select(vectors.c.text_hash).where(
    vectors.c.tenant_id == TENANT, vectors.c.model_id == sa.bindparam("model"), vectors.c.text_hash.in_(BATCH)
)


def vectors_since(
    conn: sa.Connection, tenant: TenantId, site: SiteId, model_id: int, version: int
) -> Iterator[tuple[str, bytes]]:
    """Text hash and vector of the site's texts that were embedded after this version of the model."""
    c = vectors.c
    of_site = sa.and_(chunks.c.tenant_id == tenant, chunks.c.site_id == site)
    is_used = sa.exists(sa.literal_column("1")).where(of_site, chunks.c.text_hash == c.text_hash)
    query = sa.select(c.text_hash, c.embedding_f16).where(c.tenant_id == tenant, c.model_id == model_id)
    for row in conn.execute(query.where(c.version > version, is_used)):
        yield row[0], bytes(row[1])
