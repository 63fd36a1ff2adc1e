"""Vector search in Postgres by pgvector: each chunk's vector in a table of its own, compared by a sequential scan.

The table is in a schema of its own and not part of the migrations: a server may get the extension after it was migrated, and a
migration runs once. So the table is created by the first write of vectors that finds the extension; without it, as on SQLite,
the process caches a matrix. The table is derived from `vectors` and `chunks` and follows every change of either in the same
transaction. On SQLite the functions here do nothing.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import await_only

from sitelore.model.ids import SiteId, TenantId
from sitelore.model.search import Similarities
from sitelore.store.index.reads import stale_pages
from sitelore.store.schema import chunks, models, sites
from sitelore.store.statements import BATCH, batches, select_in_batches
from sitelore.store.tenants import app_role, as_owner, each_tenant, grants, secure_table
from sitelore.store.vectors import embeddings
from sitelore.store.vectors.embeddings import Versions

SCHEMA = "sitelore_vectors"

_WRITER_LOCK = 5_190_273_364_418_207
"""Advisory lock (any number): writers of vectors exclude writers of chunks, or a chunk could miss its vector."""
_CREATE = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "CREATE SCHEMA IF NOT EXISTS sitelore_vectors",
    """CREATE TABLE IF NOT EXISTS sitelore_vectors.chunk_vectors (
        tenant_id int NOT NULL, site_id int NOT NULL, model_id int NOT NULL, number int NOT NULL, page int NOT NULL,
        dims int NOT NULL, half halfvec NOT NULL, PRIMARY KEY (tenant_id, site_id, model_id, number)
    )""",
    # Inline storage however long: fetching each vector from a TOAST table would take longer than comparing it.
    "ALTER TABLE sitelore_vectors.chunk_vectors ALTER COLUMN half SET STORAGE MAIN",
)
_DELETE_OF_MODEL = """
    DELETE FROM sitelore_vectors.chunk_vectors
    WHERE tenant_id = $1 AND site_id = $2 AND model_id = $3 AND number = ANY ($4::int[])
"""
_DELETE = """
    DELETE FROM sitelore_vectors.chunk_vectors
    WHERE tenant_id = $1 AND site_id = $2 AND model_id IN (SELECT id FROM models WHERE tenant_id = $1)
    AND number = ANY ($3::int[])
"""
_DELETE_ALL = "DELETE FROM sitelore_vectors.chunk_vectors WHERE tenant_id = $1 AND site_id = $2"
_NEAREST = """
    SELECT number, half <#> ($6::real[])::halfvec AS distance FROM sitelore_vectors.chunk_vectors
    WHERE tenant_id = $1 AND site_id = $2 AND model_id = $3 AND dims = $4 AND page <> ALL ($5::int[])
    ORDER BY distance, number LIMIT $7
"""
_NEAREST_AMONG = """
    SELECT number, half <#> ($6::real[])::halfvec AS distance FROM sitelore_vectors.chunk_vectors
    WHERE tenant_id = $1 AND site_id = $2 AND model_id = $3 AND dims = $4 AND page <> ALL ($5::int[])
    AND number = ANY ($8::int[]) ORDER BY distance, number LIMIT $7
"""
_COUNT = """
    SELECT count(*) FROM sitelore_vectors.chunk_vectors
    WHERE tenant_id = $1 AND site_id = $2 AND model_id = $3 AND dims = $4 AND page <> ALL ($5::int[])
"""
_COUNT_AMONG = _COUNT + " AND number = ANY ($6::int[])"
# A custom plan for each query, because a generic one would convert the query vector for every row; and parallel workers,
# because every row is read. For this transaction only.
_PLANNER_SETTINGS = """
    SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('max_parallel_workers_per_gather', '2', true),
           set_config('parallel_setup_cost', '100', true), set_config('parallel_tuple_cost', '0.001', true)
"""
_TABLE_EXISTS = sa.text("SELECT to_regclass('sitelore_vectors.chunk_vectors') IS NOT NULL")

VectorCounts = dict[tuple[int, int], tuple[tuple[int, int, int], int]]
"""Cache by site and model: how many chunks had a vector at these versions of the two and with this many dimensions."""


def is_ready(conn: sa.Connection) -> bool:
    """Whether the table exists."""
    if conn.dialect.name != "postgresql":
        return False
    return bool(conn.scalar(_TABLE_EXISTS))


def prepare(conn: sa.Connection, *, create: bool = True) -> bool:
    """Lock the table for a writer of vectors, and create and fill it where it is missing. Returns whether it exists."""
    if conn.dialect.name != "postgresql":
        return False
    conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITER_LOCK)))
    if is_ready(conn):
        return True
    if not create or not conn.scalar(sa.text("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")):
        return False
    try:
        with as_owner(conn):
            for statement in _CREATE:
                conn.exec_driver_sql(statement)
            secure_table(conn, f"{SCHEMA}.chunk_vectors")
            if app_role(conn):
                for statement in grants(SCHEMA):
                    conn.exec_driver_sql(statement)
    except DBAPIError:  # no permission: an administrator has to create the extension
        return False
    for tenant in each_tenant(conn):
        for site in conn.scalars(sa.select(sites.c.id).where(sites.c.tenant_id == tenant).order_by(sites.c.id)).all():
            _insert(conn, tenant, site, embeddings.text_hashes(conn, tenant, site))
    return True


def put(conn: sa.Connection, tenant: TenantId, model_id: int, vectors: dict[str, bytes]) -> None:
    """Store the vectors of these texts for every chunk with such a text. `prepare` was true in this transaction."""
    c = chunks.c
    query = sa.select(c.site_id, c.number, c.page, c.text_hash).where(c.tenant_id == tenant, c.text_hash.in_(BATCH))
    by_site: dict[int, list[_Row]] = {}
    for chunk in select_in_batches(conn, query, vectors):
        row = _Row(tenant, chunk.site_id, model_id, chunk.number, chunk.page, vectors[chunk.text_hash])
        by_site.setdefault(chunk.site_id, []).append(row)
    for site, rows in by_site.items():
        conn.exec_driver_sql(_DELETE_OF_MODEL, (tenant, site, model_id, [row.number for row in rows]))
        _copy(conn, rows)


def add(conn: sa.Connection, tenant: TenantId, site: SiteId, written: Sequence[tuple[int, int, str]]) -> None:
    """Store the existing vectors of chunks that were written, given as number, page and text hash."""
    if written and remove(conn, tenant, site, [number for number, _, _ in written]):
        _insert(conn, tenant, site, written)


def remove(conn: sa.Connection, tenant: TenantId, site: SiteId, numbers: Collection[int] | None = None) -> bool:
    """Delete the vectors of these chunks (None: of all chunks of the site). False when the table does not exist."""
    if conn.dialect.name != "postgresql":
        return False
    conn.execute(sa.select(sa.func.pg_advisory_xact_lock_shared(_WRITER_LOCK)))
    if not is_ready(conn):
        return False
    if numbers is None:
        conn.exec_driver_sql(_DELETE_ALL, (tenant, site))
    else:
        conn.exec_driver_sql(_DELETE, (tenant, site, list(numbers)))
    return True


def _insert(conn: sa.Connection, tenant: TenantId, site: SiteId, written: Sequence[tuple[int, int, str]]) -> None:
    for model_id in conn.scalars(sa.select(models.c.id).where(models.c.tenant_id == tenant)).all():
        for batch in batches(written):
            vectors = embeddings.vectors_of_texts(conn, tenant, model_id, {text_hash for _, _, text_hash in batch})
            embedded = [chunk for chunk in batch if chunk[2] in vectors]
            rows = [_Row(tenant, site, model_id, number, page, vectors[text_hash]) for number, page, text_hash in embedded]
            _copy(conn, rows)


class _Row(NamedTuple):
    tenant: int
    site: int
    model_id: int
    number: int
    page: int
    half: bytes


_CREATE_COPY = """
    CREATE TEMPORARY TABLE IF NOT EXISTS copied_vectors (LIKE sitelore_vectors.chunk_vectors) ON COMMIT DROP
"""


def _copy(conn: sa.Connection, rows: Sequence[_Row]) -> None:
    """Insert rows by a binary COPY: as arrays of numbers, vectors would take many times as long. No row may exist yet.

    COPY does not work on a table with row-level security, so it fills a temporary one.
    """
    if not rows:
        return
    parts = [_COPY_HEADER]
    by_size: dict[int, list[_Row]] = {}
    for row in rows:
        by_size.setdefault(len(row.half), []).append(row)
    parts += (_pack(rows_of_size, size // 2) for size, rows_of_size in by_size.items())
    parts.append(_COPY_END)
    raw: Any = conn.connection.driver_connection
    columns = ["tenant_id", "site_id", "model_id", "number", "page", "dims", "half"]
    source = io.BytesIO(b"".join(parts))
    conn.exec_driver_sql(_CREATE_COPY)
    await_only(raw.copy_to_table("copied_vectors", columns=columns, source=source, format="binary"))
    conn.exec_driver_sql("INSERT INTO sitelore_vectors.chunk_vectors SELECT * FROM copied_vectors")
    conn.exec_driver_sql("DELETE FROM copied_vectors")


_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"


def _pack(rows: Sequence[_Row], dims: int) -> bytes:
    """Rows in the format of a binary COPY: the number of fields, then each field after its length.

    A halfvec is its dimensions, two unused bytes and its numbers. pgvector rejects NaN and infinity: they become 0.
    """
    numbers = [(f"{part}{at}", ">i4") for at in range(6) for part in ("size", "value")]
    vector: list[Any] = [("size6", ">i4"), ("dims", ">i2"), ("unused", ">i2"), ("half", ">f2", (dims,))]
    packed = np.zeros(len(rows), np.dtype([("fields", ">i2"), *numbers, *vector]))
    packed["fields"] = 7
    for at in range(6):
        packed[f"size{at}"] = 4
    for at, column in enumerate(list(zip(*rows, strict=True))[:5]):
        packed[f"value{at}"] = column
    packed["value5"] = packed["dims"] = dims
    packed["size6"] = 4 + 2 * dims
    halves = np.frombuffer(b"".join(row.half for row in rows), "<f2").reshape(-1, dims)
    packed["half"] = np.where(np.isfinite(halves), halves, np.float16(0))
    return packed.tobytes()


@dataclass(frozen=True, slots=True)
class Selection:
    """The chunks of a site that a query vector is compared with (`among`: only these), and how many to find."""

    tenant: TenantId
    site: SiteId
    versions: Versions
    limit: int
    also: Collection[int] = ()
    among: Sequence[int] | None = None


def nearest(conn: sa.Connection, vector: Sequence[float], selection: Selection, counts: VectorCounts) -> Similarities:
    """The nearest chunks, nearest first and by number among equals, then those in `also`. `is_ready` was true."""
    site, versions, among, dims = selection.site, selection.versions, selection.among, len(vector)
    shown = (selection.tenant, site, versions.model_id, dims, stale_pages(conn, selection.tenant, site))
    compared = (*shown, list(vector))
    limit = max(0, selection.limit)
    conn.exec_driver_sql(_PLANNER_SETTINGS)
    query, values = (_NEAREST, (*compared, limit)) if among is None else (_NEAREST_AMONG, (*compared, limit, among))
    scores = {number: -distance for number, distance in conn.exec_driver_sql(query, values)}
    missing = set(selection.also).difference(scores)
    if among is not None:
        missing.intersection_update(among)
    if missing:
        more = conn.exec_driver_sql(_NEAREST_AMONG, (*compared, len(missing), sorted(missing)))
        scores.update((number, -distance) for number, distance in more)
    if among is None:
        count = _count(conn, shown, (versions.site_version, versions.model_version, dims), counts)
    else:
        count = conn.exec_driver_sql(_COUNT_AMONG, (*shown, among)).scalar_one()
    return Similarities(list(scores), list(scores.values()), count)


def _count(
    conn: sa.Connection, shown: tuple[int, int, int, int, list[int]], versions: tuple[int, int, int], counts: VectorCounts
) -> int:
    """The number of live chunks with a vector; counted again only after a change."""
    _, site, model_id, _, stale = shown
    counted_at, count = counts.get((site, model_id), (None, 0))
    if counted_at != versions or stale:
        count = int(conn.exec_driver_sql(_COUNT, shown).scalar_one())
        if not stale:
            counts[site, model_id] = (versions, count)
    return count
