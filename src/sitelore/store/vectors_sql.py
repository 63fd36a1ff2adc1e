"""Vectors by model and text: a text is embedded once, on whichever pages and sites it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import SiteId
from sitelore.model.search import TextToEmbed
from sitelore.store.frontier_sql import chunks as pieces
from sitelore.store.rows import storable
from sitelore.store.schema import chunk_texts, chunks, models, sites, vectors
from sitelore.store.shelves_sql import headings_of, of_stale_page
from sitelore.store.statements import insert_for, run_many

_has_vector = sa.exists(sa.literal_column("1")).where(
    vectors.c.model_id == sa.bindparam("model", type_=sa.Integer), vectors.c.text_hash == chunks.c.text_hash
)
_without = (
    sa.select(chunks.c.site_id, chunks.c.number, chunks.c.text_hash)
    .where(~of_stale_page(), ~_has_vector)
    .order_by(chunks.c.site_id, chunks.c.number)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_texts = sa.select(chunk_texts.c.number, chunk_texts.c.headings, chunk_texts.c.lead, chunk_texts.c.text).where(
    chunk_texts.c.site_id == sa.bindparam("site"), chunk_texts.c.number.in_(sa.bindparam("some", expanding=True))
)


Finished = dict[tuple[str, int | None], tuple[int, int, int]]
"""Models and sites for which no text was left, and the versions at which that was so: asking again need not look again."""


def texts_to_embed(conn: sa.Connection, model: str, limit: int, site: SiteId | None, finished: Finished) -> list[TextToEmbed]:
    """Texts of live chunks that have no vector of this model; each once, though it may stand on many pages."""
    known = conn.execute(sa.select(models.c.id, models.c.version).where(models.c.name == model)).one_or_none()
    asked = sa.select(sa.func.count(), sa.func.sum(sites.c.index_version))
    count, versions_sum = conn.execute(asked if site is None else asked.where(sites.c.id == site)).one()
    at = (count, versions_sum or 0, 0 if known is None else known.version)
    if finished.get((model, site)) == at:
        return []
    query = _without if site is None else _without.where(chunks.c.site_id == site)
    wanted: dict[str, tuple[int, int]] = {}
    for row in conn.execute(query, {"model": 0 if known is None else known.id, "most": limit}):
        wanted.setdefault(row.text_hash, (row.site_id, row.number))
    if not wanted and limit > 0:
        finished[model, site] = at
    return _texts_of(conn, wanted)


def _texts_of(conn: sa.Connection, wanted: dict[str, tuple[int, int]]) -> list[TextToEmbed]:
    of_sites: dict[int, dict[int, str]] = {}
    for text_hash, (of_site, number) in wanted.items():
        of_sites.setdefault(of_site, {})[number] = text_hash
    found: list[TextToEmbed] = []
    for of_site, numbers in of_sites.items():
        for some in pieces(sorted(numbers)):
            rows = conn.execute(_texts, {"site": of_site, "some": some})
            found += (TextToEmbed(numbers[row.number], _spoken(row)) for row in rows)
    return found


def _spoken(row: Any) -> Any:
    """What is embedded of a chunk: where it stands, what must be read before it, and its text."""
    above = " > ".join(headings_of(row.headings))
    return "\n".join(part for part in (above, row.lead, row.text) if part)


def put_vectors(conn: sa.Connection, model: str, found: Sequence[tuple[str, bytes]]) -> tuple[int, dict[str, bytes]]:
    """Keep vectors by text hash. One that is put again replaces the one that stands. Gives the model's number, and them."""
    latest = {storable(text_hash) or "": half for text_hash, half in found if half and len(half) % 2 == 0}
    insert = insert_for(conn.dialect.name)(models)
    conn.execute(insert.values(name=model).on_conflict_do_nothing(index_elements=["name"]))
    # The model's row is locked until the end: versions are committed in their order, and nobody who asks for newer misses one.
    conn.execute(sa.update(models).where(models.c.name == model).values(version=models.c.version + 1))
    known = conn.execute(sa.select(models.c.id, models.c.version).where(models.c.name == model)).one()
    run_many(conn, _vector, [(known.id, key, known.version, latest[key]) for key in sorted(latest)])
    return known.id, latest


def _vector(dialect_name: str) -> tuple[sa.UpdateBase, tuple[str, ...]]:
    names = tuple(column.name for column in vectors.c)
    insert = insert_for(dialect_name)(vectors).values({name: sa.bindparam(name) for name in names})
    changed = {name: insert.excluded[name] for name in ("version", "half")}
    return insert.on_conflict_do_update(index_elements=["model_id", "text_hash"], set_=changed), names


def versions(conn: sa.Connection, site: SiteId, model: str) -> tuple[int, int, int] | None:
    """The site's version, the model's number and the model's version; None where there is nothing to compare."""
    row = conn.execute(_versions, {"site": site, "model": model}).one_or_none()
    return None if row is None else (row[0], row[1], row[2])


_versions = (
    sa.select(sites.c.index_version, models.c.id, models.c.version)
    .select_from(sites.join(models, sa.true()))
    .where(sites.c.id == sa.bindparam("site"), models.c.name == sa.bindparam("model"))
)


def hashes(conn: sa.Connection, site: SiteId) -> list[tuple[int, int, str]]:
    """Number, page and text hash of every chunk of a site, by number."""
    if conn.dialect.name == "postgresql":
        packed = conn.exec_driver_sql(_PACKED, (site,)).one()
        return list(zip(*(column or [] for column in packed), strict=True))
    raw: Any = conn.connection.driver_connection
    query = "SELECT number, page, text_hash FROM chunks WHERE site_id = ? ORDER BY number"
    rows: list[tuple[int, int, str]] = raw.execute(query, (site,)).fetchall()
    return rows


_PACKED = """
    SELECT array_agg(number ORDER BY number), array_agg(page ORDER BY number), array_agg(text_hash ORDER BY number)
    FROM chunks WHERE site_id = $1
"""


def halves_of_site(conn: sa.Connection, site: SiteId, model: int) -> list[tuple[str, bytes]]:
    """Vectors of every text of a site, read at once."""
    if conn.dialect.name == "sqlite":
        raw: Any = conn.connection.driver_connection
        found: list[tuple[str, bytes]] = raw.execute(_ALL_HALVES, (model, site)).fetchall()
        return found
    return [(row[0], row[1]) for row in conn.exec_driver_sql(_ALL_HALVES_IN_POSTGRES, (model, site))]


_ALL_HALVES_IN_POSTGRES = """
    SELECT text_hash, half FROM vectors WHERE model_id = $1 AND text_hash IN (SELECT text_hash FROM chunks WHERE site_id = $2)
"""
_ALL_HALVES = """
    SELECT vectors.text_hash, vectors.half FROM chunks JOIN vectors ON vectors.text_hash = chunks.text_hash
    WHERE vectors.model_id = ? AND chunks.site_id = ?
"""


def halves(conn: sa.Connection, model: int, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Vectors of these texts, as far as there are any."""
    for some in pieces(wanted):
        for row in conn.execute(_halves, {"model": model, "some": some}):
            yield row[0], bytes(row[1])


_halves = sa.select(vectors.c.text_hash, vectors.c.half).where(
    vectors.c.model_id == sa.bindparam("model"), vectors.c.text_hash.in_(sa.bindparam("some", expanding=True))
)


def halves_since(conn: sa.Connection, site: SiteId, model: int, version: int) -> Iterator[tuple[str, bytes]]:
    """Vectors of the site's texts that were put after this version of the model."""
    c = vectors.c
    of_site = sa.exists(sa.literal_column("1")).where(chunks.c.text_hash == c.text_hash, chunks.c.site_id == site)
    for row in conn.execute(sa.select(c.text_hash, c.half).where(c.model_id == model, c.version > version, of_site)):
        yield row[0], bytes(row[1])
