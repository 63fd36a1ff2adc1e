"""Likeness in Postgres by pgvector: each chunk's vector beside its number, read through from end to end.

The table stands in a schema of its own and outside of the migrations: a Postgres may be without the extension when it is
migrated and get it later, and a migration is run once. So it is made by whoever puts vectors and finds the extension; without
it, as with SQLite, the process keeps a matrix. It is derived from `vectors` and `chunks`, and follows every change of either
in the same transaction. On SQLite nothing here does anything.
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

from sitelore.model.ids import SiteId
from sitelore.model.search import Similarities
from sitelore.store import vectors_sql
from sitelore.store.frontier_sql import chunks as pieces
from sitelore.store.schema import chunks, models, sites
from sitelore.store.shelves_sql import stale_pages

SCHEMA = "sitelore_vectors"

_WRITERS = 5_190_273_364_418_207
"""Any number: whoever puts vectors and whoever writes chunks wait for each other, or a chunk could miss its vector."""
_MAKE = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "CREATE SCHEMA IF NOT EXISTS sitelore_vectors",
    """CREATE TABLE IF NOT EXISTS sitelore_vectors.chunk_vectors (
        site_id int NOT NULL, model_id int NOT NULL, number int NOT NULL, page int NOT NULL, dims int NOT NULL,
        half halfvec NOT NULL, PRIMARY KEY (site_id, model_id, number)
    )""",
    # In the row, however long: fetching each from elsewhere would take longer than comparing it.
    "ALTER TABLE sitelore_vectors.chunk_vectors ALTER COLUMN half SET STORAGE MAIN",
)
_DELETE_OF_MODEL = """
    DELETE FROM sitelore_vectors.chunk_vectors WHERE site_id = $1 AND model_id = $2 AND number = ANY ($3::int[])
"""
_DELETE = """
    DELETE FROM sitelore_vectors.chunk_vectors
    WHERE site_id = $1 AND model_id IN (SELECT id FROM models) AND number = ANY ($2::int[])
"""
_DELETE_ALL = "DELETE FROM sitelore_vectors.chunk_vectors WHERE site_id = $1"
_NEAREST = """
    SELECT number, half <#> ($5::real[])::halfvec AS distance FROM sitelore_vectors.chunk_vectors
    WHERE site_id = $1 AND model_id = $2 AND dims = $3 AND page <> ALL ($4::int[])
    ORDER BY distance, number LIMIT $6
"""
_NEAREST_AMONG = """
    SELECT number, half <#> ($5::real[])::halfvec AS distance FROM sitelore_vectors.chunk_vectors
    WHERE site_id = $1 AND model_id = $2 AND dims = $3 AND page <> ALL ($4::int[]) AND number = ANY ($7::int[])
    ORDER BY distance, number LIMIT $6
"""
_COUNT = """
    SELECT count(*) FROM sitelore_vectors.chunk_vectors
    WHERE site_id = $1 AND model_id = $2 AND dims = $3 AND page <> ALL ($4::int[])
"""
_COUNT_AMONG = """
    SELECT count(*) FROM sitelore_vectors.chunk_vectors
    WHERE site_id = $1 AND model_id = $2 AND dims = $3 AND page <> ALL ($4::int[]) AND number = ANY ($5::int[])
"""
# A plan of its own for every question, or the question would be converted anew for every row; and every row is read, so all
# hands help. For this transaction alone.
_MANNER = """
    SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('max_parallel_workers_per_gather', '2', true),
           set_config('parallel_setup_cost', '100', true), set_config('parallel_tuple_cost', '0.001', true)
"""

Counted = dict[tuple[int, str], tuple[tuple[int, int, int], int]]
"""How many chunks of a site have a vector of a model, as counted at these versions of the two and for this many dimensions."""


def is_ready(conn: sa.Connection) -> bool:
    """Whether the table is there."""
    if conn.dialect.name != "postgresql":
        return False
    return bool(conn.scalar(_IS_THERE))


_IS_THERE = sa.text("SELECT to_regclass('sitelore_vectors.chunk_vectors') IS NOT NULL")


def prepare(conn: sa.Connection, *, make: bool = True) -> bool:
    """Whether the table is there. Made if the extension can be had, with all that is known. The caller is to put vectors."""
    if conn.dialect.name != "postgresql":
        return False
    conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITERS)))
    if is_ready(conn):
        return True
    if not make or not conn.scalar(sa.text("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")):
        return False
    try:
        with conn.begin_nested():
            for statement in _MAKE:
                conn.exec_driver_sql(statement)
    except DBAPIError:  # we may not: an administrator has to make the extension
        return False
    for site in conn.scalars(sa.select(sites.c.id).order_by(sites.c.id)).all():
        _insert(conn, site, vectors_sql.hashes(conn, site))
    return True


def put(conn: sa.Connection, model: int, halves: dict[str, bytes]) -> None:
    """Vectors of these texts go to every chunk that says them. `prepare` was true in this transaction."""
    c = chunks.c
    rows: dict[int, list[_Row]] = {}
    for some in pieces(sorted(halves)):
        for one in conn.execute(sa.select(c.site_id, c.number, c.page, c.text_hash).where(c.text_hash.in_(some))):
            row = _Row(one.site_id, model, one.number, one.page, halves[one.text_hash])
            rows.setdefault(one.site_id, []).append(row)
    for site, of_site in rows.items():
        conn.exec_driver_sql(_DELETE_OF_MODEL, (site, model, [row.number for row in of_site]))
        _write(conn, of_site)


def add(conn: sa.Connection, site: SiteId, written: Sequence[tuple[int, int, str]]) -> None:
    """Chunks that were written, as number, page and text hash: they take the vectors their texts have already."""
    if written and remove(conn, site, [one[0] for one in written]):
        _insert(conn, site, written)


def remove(conn: sa.Connection, site: SiteId, numbers: Collection[int] | None = None) -> bool:
    """Chunks that are gone; None for all of the site's. False without the extension."""
    if conn.dialect.name != "postgresql":
        return False
    conn.execute(sa.select(sa.func.pg_advisory_xact_lock_shared(_WRITERS)))
    if not is_ready(conn):
        return False
    if numbers is None:
        conn.exec_driver_sql(_DELETE_ALL, (site,))
    else:
        conn.exec_driver_sql(_DELETE, (site, list(numbers)))
    return True


def _insert(conn: sa.Connection, site: SiteId, written: Sequence[tuple[int, int, str]]) -> None:
    for model in conn.scalars(sa.select(models.c.id)).all():
        for some in pieces(written):
            halves = dict(vectors_sql.halves(conn, model, sorted({one[2] for one in some})))
            _write(conn, [_Row(site, model, number, page, halves[text]) for number, page, text in some if text in halves])


class _Row(NamedTuple):
    site: int
    model: int
    number: int
    page: int
    half: bytes


def _write(conn: sa.Connection, rows: Sequence[_Row]) -> None:
    """By COPY, in Postgres' own form: as arrays of numbers, vectors would take many times as long. None is there yet."""
    if not rows:
        return
    parts = [_COPY_HEADER]
    by_size: dict[int, list[_Row]] = {}
    for row in rows:
        by_size.setdefault(len(row.half), []).append(row)
    parts += (_packed(same, size // 2) for size, same in by_size.items())
    parts.append(_COPY_END)
    raw: Any = conn.connection.driver_connection
    columns = ["site_id", "model_id", "number", "page", "dims", "half"]
    source = io.BytesIO(b"".join(parts))
    await_only(raw.copy_to_table("chunk_vectors", schema_name=SCHEMA, columns=columns, source=source, format="binary"))


_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"


def _packed(rows: Sequence[_Row], dims: int) -> bytes:
    """Rows of a binary COPY: how many fields, then each behind its length. A halfvec is its size, nothing, its halves.

    pgvector refuses what is no number; it is taken for nothing, as in the process.
    """
    numbers = [(f"{part}{at}", ">i4") for at in range(5) for part in ("size", "value")]
    vector: list[Any] = [("size5", ">i4"), ("dims", ">i2"), ("unused", ">i2"), ("half", ">f2", (dims,))]
    packed = np.zeros(len(rows), np.dtype([("fields", ">i2"), *numbers, *vector]))
    packed["fields"] = 6
    for at in range(5):
        packed[f"size{at}"] = 4
    for at, column in enumerate(list(zip(*rows, strict=True))[:4]):
        packed[f"value{at}"] = column
    packed["value4"] = packed["dims"] = dims
    packed["size5"] = 4 + 2 * dims
    halves = np.frombuffer(b"".join(row.half for row in rows), "<f2").reshape(-1, dims)
    packed["half"] = np.where(np.isfinite(halves), halves, np.float16(0))
    return packed.tobytes()


@dataclass(frozen=True, slots=True)
class Question:
    """What is compared with what."""

    site: SiteId
    model: str
    vector: Sequence[float]
    limit: int
    also: Collection[int] = ()
    among: Sequence[int] | None = None


def nearest(conn: sa.Connection, question: Question, counted: Counted) -> Similarities | None:
    """The nearest chunks, nearest first and by number among equals, then those in `also`. None without the extension."""
    if not is_ready(conn):
        return None
    standing = vectors_sql.versions(conn, question.site, question.model)
    if standing is None:
        return Similarities()
    site_version, model, model_version = standing
    among, dims, most = question.among, len(question.vector), max(0, question.limit)
    shown = (question.site, model, dims, stale_pages(conn, question.site))
    asked = (*shown, list(question.vector))
    conn.exec_driver_sql(_MANNER)
    query, values = (_NEAREST, (*asked, most)) if among is None else (_NEAREST_AMONG, (*asked, most, among))
    found = {number: -distance for number, distance in conn.exec_driver_sql(query, values)}
    wanted = set(question.also).difference(found)
    if among is not None:
        wanted.intersection_update(among)
    if wanted:
        more = conn.exec_driver_sql(_NEAREST_AMONG, (*asked, len(wanted), sorted(wanted)))
        found.update((number, -distance) for number, distance in more)
    if among is None:
        count = _count(conn, (question.site, question.model), (site_version, model_version, dims), shown, counted)
    else:
        count = conn.exec_driver_sql(_COUNT_AMONG, (*shown, among)).scalar_one()
    return Similarities(list(found), list(found.values()), count)


def _count(
    conn: sa.Connection, what: tuple[int, str], at: tuple[int, int, int], shown: tuple[Any, ...], counted: Counted
) -> int:
    """All that have a vector: counted again only when something has changed."""
    known_at, count = counted.get(what, (None, 0))
    if known_at != at or shown[-1]:
        count = int(conn.exec_driver_sql(_COUNT, shown).scalar_one())
        if not shown[-1]:
            counted[what] = (at, count)
    return count
