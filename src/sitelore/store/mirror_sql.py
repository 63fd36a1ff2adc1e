"""What a vector store outside of the database has to hold: every chunk that has a vector, site by site."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from sitelore.model.ids import SiteId
from sitelore.store import vectors_sql
from sitelore.store.frontier_sql import chunks as pieces
from sitelore.store.schema import chunks, models, sites, vectors
from sitelore.store.shelves_sql import of_stale_page, stale_pages


class Held(NamedTuple):
    """A chunk as the other store has to hold it. `version`: the model's when its vector was put."""

    page: int
    text: str
    version: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A site, and the versions of its chunks and of the model's vectors."""

    site: SiteId
    tenant: str
    chunks_version: int
    vectors_version: int


@dataclass(frozen=True, slots=True)
class Whole:
    """All chunks of a site that have a vector, by dimensions and number."""

    standing: Standing
    next_chunk: int
    """Chunks from here on were made later: nothing is said about them."""
    by_dims: dict[int, dict[int, Held]]


@dataclass(frozen=True, slots=True)
class Written:
    """A chunk with its vector."""

    tenant: str
    site: int
    number: int
    held: Held
    half: bytes


TEXT_SIGNS = 16
"""Of a text's hash: enough to tell a chunk's texts apart."""

_with_vectors = chunks.join(vectors, vectors.c.text_hash == chunks.c.text_hash).join(models, models.c.id == vectors.c.model_id)
_standings = (
    sa.select(sites.c.id, sites.c.tenant, sites.c.index_version, models.c.version)
    .select_from(sites.join(models, sa.true()))
    .where(models.c.name == sa.bindparam("model"))
    .order_by(sites.c.id)
)


def standings(conn: sa.Connection, model: str, site: SiteId | None) -> list[Standing]:
    """One site, or every one."""
    query = _standings if site is None else _standings.where(sites.c.id == site)
    return [Standing(*row) for row in conn.execute(query, {"model": model})]


def vectors_since(conn: sa.Connection, model: str, version: int) -> dict[SiteId, int]:
    """Sites whose chunks got vectors after this version of the model, each with the last version that gave it any."""
    query = sa.select(chunks.c.site_id, sa.func.max(vectors.c.version)).select_from(_with_vectors)
    query = query.where(models.c.name == model, vectors.c.version > version).group_by(chunks.c.site_id)
    return {row[0]: row[1] for row in conn.execute(query)}


_whole = (
    sa.select(chunks.c.number, chunks.c.page, chunks.c.text_hash, vectors.c.version, sa.func.length(vectors.c.half))
    .select_from(_with_vectors)
    .where(chunks.c.site_id == sa.bindparam("site"), models.c.name == sa.bindparam("model"))
)


def whole(conn: sa.Connection, model: str, site: SiteId) -> Whole | None:
    """Everything that is to be held of a site, as of one moment."""
    found = standings(conn, model, site)
    if not found:
        return None
    next_chunk = conn.scalar(sa.select(sites.c.next_chunk).where(sites.c.id == site)) or 0
    by_dims: dict[int, dict[int, Held]] = {}
    for number, page, text, version, size in conn.execute(_whole, {"site": site, "model": model}):
        by_dims.setdefault(size // 2, {})[number] = Held(page, text[:TEXT_SIGNS], version)
    return Whole(found[0], next_chunk, by_dims)


_written = (
    sa.select(
        sites.c.tenant, chunks.c.site_id, chunks.c.number, chunks.c.page, chunks.c.text_hash, vectors.c.version, vectors.c.half
    )
    .select_from(_with_vectors.join(sites, sites.c.id == chunks.c.site_id))
    .where(models.c.name == sa.bindparam("model"))
)


def of_texts(conn: sa.Connection, model: str, hashes: Collection[str]) -> list[Written]:
    """Chunks of any site that say these texts."""
    found: list[Written] = []
    for some in pieces(sorted(hashes)):
        rows = conn.execute(_written.where(chunks.c.text_hash.in_(some)), {"model": model})
        found += (_row(*row) for row in rows)
    return found


def of_numbers(conn: sa.Connection, model: str, site: SiteId, numbers: Collection[int]) -> list[Written]:
    """These chunks of a site, as far as they have vectors."""
    found: list[Written] = []
    for some in pieces(sorted(numbers)):
        query = _written.where(chunks.c.site_id == site, chunks.c.number.in_(some))
        found += (_row(*row) for row in conn.execute(query, {"model": model}))
    return found


def _row(tenant: str, site: int, number: int, page: int, text: str, version: int, half: bytes) -> Written:
    return Written(tenant, site, number, Held(page, text[:TEXT_SIGNS], version), bytes(half))


@dataclass(frozen=True, slots=True)
class Shown:
    """What a question about a site has to know before it is asked elsewhere."""

    tenant: str
    stale: list[int]
    """Pages whose chunks may not be shown."""
    embedded: int


Counted = dict[tuple[int, str], tuple[Standing, int]]
"""How many chunks of a site have a vector of a model, as counted at these versions."""


def shown(conn: sa.Connection, model: str, site: SiteId, counted: Counted) -> Shown | None:
    """None where there is nothing to compare."""
    found = standings(conn, model, site)
    if not found:
        return None
    stale = stale_pages(conn, site)
    known_at, count = counted.get((site, model), (None, 0))
    if known_at != found[0] or stale:
        standing = vectors_sql.versions(conn, site, model)
        live = sa.select(sa.func.count()).select_from(chunks).where(chunks.c.site_id == site, ~of_stale_page())
        has_vector = sa.exists(sa.literal_column("1")).where(
            vectors.c.model_id == (standing[1] if standing else 0), vectors.c.text_hash == chunks.c.text_hash
        )
        count = conn.scalar(live.where(has_vector)) or 0
        if not stale:
            counted[site, model] = (found[0], count)
    return Shown(found[0].tenant, stale, count)


def live(conn: sa.Connection, site: SiteId, numbers: Collection[int]) -> set[int]:
    """Which of these chunks are there and may be shown."""
    found: set[int] = set()
    for some in pieces(sorted(numbers)):
        query = sa.select(chunks.c.number).where(chunks.c.site_id == site, chunks.c.number.in_(some), ~of_stale_page())
        found.update(conn.scalars(query))
    return found
