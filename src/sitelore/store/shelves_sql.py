"""Reading the index: sites in numbers, every live chunk as columns, and the few that are shown.

A chunk is live while its page may be searched and still says what the chunk was made from. All chunks of a page are written
together, so this is asked of the page alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import sqlalchemy as sa

from sitelore.model.frontier import PageSketch
from sitelore.model.ids import NO_TEXT, SiteId
from sitelore.model.search import ChunkRecord, ChunkTable, ChunkTablePage, Flag, Presence, SiteIndexStats, StoredPage
from sitelore.model.url import Url
from sitelore.store.frontier_sql import chunks as pieces
from sitelore.store.schema import (
    HAS_CHUNKS,
    MAY_BE_SEARCHED,
    NOT_TO_BE_SHOWN,
    TO_BE_INDEXED,
    chunk_texts,
    chunks,
    key_of,
    models,
    pages,
    sites,
    vectors,
)

_headings = msgspec.json.Decoder(tuple[str, ...])
_flags = msgspec.json.Decoder(list[tuple[str, str]])

_is_stale = sa.and_(sa.text(HAS_CHUNKS), sa.text(NOT_TO_BE_SHOWN))
_is_live = sa.and_(sa.text(MAY_BE_SEARCHED), sa.text("indexed = document"))
_of_site = pages.c.site_id == sites.c.id
_one: sa.ColumnElement[int] = sa.literal_column("1")


def of_stale_page() -> sa.ColumnElement[bool]:
    """Whether a row of `chunks` is not to be shown. Stale pages are few and have an index of their own."""
    return sa.exists(_one).where(pages.c.site_id == chunks.c.site_id, pages.c.number == chunks.c.page, _is_stale)


def _count(*where: sa.ColumnElement[bool] | sa.TextClause) -> Any:
    return sa.select(sa.func.count()).select_from(pages).where(_of_site, *where).scalar_subquery()


_waiting = sa.and_(sa.text(MAY_BE_SEARCHED), sa.text(TO_BE_INDEXED))
_sites = sa.select(
    sites.c.id,
    sites.c.name,
    sites.c.tenant,
    sites.c.index_version,
    sites.c.index_epoch,
    sites.c.indexed_pages,
    sites.c.chunk_count,
    _count(_waiting).label("waiting"),
    _count(_waiting, pages.c.indexed.is_(None)).label("new"),
    _count(_is_stale, sa.text("(alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE')")).label("unwanted"),
    # Not a join: SQLite would look for the few stale pages among all that have a number.
    sa.select(sa.func.count())
    .select_from(chunks)
    .where(chunks.c.site_id == sites.c.id)
    .where(chunks.c.page.in_(sa.select(pages.c.number).where(_of_site, _is_stale).correlate(sites)))
    .scalar_subquery()
    .label("stale"),
    _count(sa.text("held = 1")).label("held"),
).order_by(sites.c.tenant, sites.c.name)
_sites_of = _sites.where(sites.c.tenant == sa.bindparam("tenant"))
_model = sa.select(models.c.id, models.c.version).where(models.c.name == sa.bindparam("name"))

KnownPage = dict[tuple[int, str], tuple[tuple[int, int], int]]
"""How many chunks of a site, stale ones too, have a vector of a model, as counted at these versions of the two."""


def by_index(conn: sa.Connection) -> None:
    """For this transaction. Postgres takes conditions that hardly any page meets for common ones, and would read all pages."""
    if conn.dialect.name == "postgresql":
        conn.execute(_NO_SCANS)


_NO_SCANS = sa.select(sa.func.set_config("enable_seqscan", "off", sa.true()))


def shelves(conn: sa.Connection, tenant: str | None, model: str, known: KnownPage) -> list[SiteIndexStats]:
    """Every site of the tenant in numbers. Nothing here is counted chunk by chunk, but for `known` where it is out of date."""
    by_index(conn)
    rows = conn.execute(_sites).all() if tenant is None else conn.execute(_sites_of, {"tenant": tenant}).all()
    asked = conn.execute(_model, {"name": model}).one_or_none() if model else None
    found = []
    for row in rows:
        embedded = 0
        if asked is not None and row.chunk_count:
            at = (row.index_version, asked.version)
            counted_at, embedded = known.get((row.id, model), ((-1, -1), 0))
            which = {"site": row.id, "model": asked.id}
            if counted_at != at:
                embedded = conn.scalar(_embedded, which) or 0
                known[row.id, model] = (at, embedded)
            # Pages turn stale and back without a new version; they are few, and chunks are many.
            embedded -= (conn.scalar(_embedded_stale, which) or 0) if row.stale else 0
        found.append(
            SiteIndexStats(
                row.id, row.name, row.tenant, row.index_version, row.index_epoch or "",
                row.indexed_pages - row.unwanted + row.new, row.waiting, row.chunk_count - row.stale, embedded, row.held,
            )
        )  # fmt: skip
    return found


_embedded = (
    sa.select(sa.func.count())
    .select_from(chunks)
    .where(chunks.c.site_id == sa.bindparam("site"))
    .where(sa.exists(_one).where(vectors.c.model_id == sa.bindparam("model"), vectors.c.text_hash == chunks.c.text_hash))
)
_embedded_stale = _embedded.where(
    chunks.c.page.in_(sa.select(pages.c.number).where(pages.c.site_id == sa.bindparam("site"), _is_stale))
)


def shelf(conn: sa.Connection, site: SiteId) -> ChunkTable:
    """Every live chunk of a site, as numbers."""
    version = conn.scalar(sa.select(sites.c.index_version).where(sites.c.id == site))
    if not version:
        return ChunkTable(version or 0)
    c = pages.c
    query = sa.select(c.number, c.url, c.long_url, c.lang, c.indexed_kind, c.dated, c.shelved)
    query = query.where(c.site_id == site, c.number.is_not(None), _is_live).order_by(c.number)
    rows = conn.execute(query).all()
    live = tuple(
        ChunkTablePage(number, long_url or url, lang or "", kind or "page", dated)
        for number, url, long_url, lang, kind, dated, _ in rows
    )
    packed = [row[6] or b"" for row in rows]
    sizes = [len(one) // _PACKED_BYTES for one in packed]
    numbers = np.frombuffer(b"".join(one[: 4 * n] for one, n in zip(packed, sizes, strict=True)), "<u4")
    lengths = np.frombuffer(b"".join(one[4 * n : 6 * n] for one, n in zip(packed, sizes, strict=True)), "<u2")
    flagged = np.frombuffer(b"".join(one[6 * n :] for one, n in zip(packed, sizes, strict=True)), "u1")
    of_page = np.repeat(np.array([page.number for page in live], dtype="<u4"), sizes)
    order = np.argsort(numbers)
    columns = (numbers, of_page, lengths, flagged)
    return ChunkTable(version, live, *(column[order].tobytes() for column in columns))


_PACKED_BYTES = 4 + 2 + 1
"""Of a chunk in `pages.shelved`."""


def _card_query(shown: Any, with_pages: sa.FromClause) -> sa.Select[Any]:
    of_chunk = sa.and_(chunk_texts.c.site_id == chunks.c.site_id, chunk_texts.c.number == chunks.c.number)
    return (
        sa.select(
            chunks.c.number, chunks.c.id, sites.c.name, shown.c.url, shown.c.long_url, shown.c.title, shown.c.indexed_title,
            shown.c.lang, shown.c.indexed_kind, shown.c.dated, shown.c.presence, shown.c.fetched_at, chunk_texts.c.text,
            chunk_texts.c.lead, chunk_texts.c.headings, chunk_texts.c.first_byte, chunk_texts.c.end_byte, chunk_texts.c.tokens,
            chunk_texts.c.landmark, chunk_texts.c.fragment, chunk_texts.c.flags,
        )
        .select_from(with_pages.join(chunk_texts, of_chunk).join(sites, sites.c.id == chunks.c.site_id))
        .where(chunks.c.site_id == sa.bindparam("site"), chunks.c.number.in_(sa.bindparam("some", expanding=True)))
    )  # fmt: skip


_of_page = sa.and_(pages.c.site_id == chunks.c.site_id, pages.c.number == chunks.c.page)
_cards = _card_query(pages, chunks.join(pages, _of_page)).where(_is_live)
# A page for each chunk, in this order: Postgres would begin with all pages of a site that it has no statistics of yet.
_shown = sa.select(pages).where(_of_page, _is_live).offset(sa.literal_column("0")).correlate(chunks).lateral("shown")
_cards_in_postgres = _card_query(_shown, chunks.join(_shown, sa.true()))


def cards(conn: sa.Connection, site: SiteId, numbers: Sequence[int]) -> list[ChunkRecord]:
    """These chunks as far as they may be shown, in the order asked for."""
    query = _cards_in_postgres if conn.dialect.name == "postgresql" else _cards
    found: dict[int, ChunkRecord] = {}
    for some in pieces(sorted(set(numbers))):
        found.update((row[0], _card(site, row)) for row in conn.execute(query, {"site": site, "some": some}))
    return [found[number] for number in numbers if number in found]


def headings_of(text: str | None) -> tuple[Any, ...]:
    """The headings of a chunk."""
    return _headings.decode(text) if text else ()


def _card(site: SiteId, row: Any) -> ChunkRecord:
    (
        number, chunk, name, url, long_url, title, indexed_title, lang, kind, dated, presence, fetched_at,
        text, lead, headings, first_byte, end_byte, tokens, landmark, fragment, flags,
    ) = row  # fmt: skip
    return ChunkRecord(
        number, chunk, site, name, Url.trusted(long_url or url), indexed_title or title, lang or "", kind or "page", dated,
        text or NO_TEXT, lead or NO_TEXT, headings_of(headings), first_byte, end_byte, tokens, landmark or "", fragment or "",
        _flags_of(flags), Presence(presence), fetched_at,
    )  # fmt: skip


def _flags_of(text: str | None) -> tuple[Flag, ...]:
    found: list[Any] = _flags.decode(text) if text else []
    return tuple(Flag(rule, evidence) for rule, evidence in found)


def page_now(conn: sa.Connection, tenant: str, url: Url) -> StoredPage | None:
    """The tenant's page of this address, also one that is gone; the one looked at last where several sites have it."""
    c = pages.c
    query = sa.select(c.site_id, sites.c.name, c.url, c.long_url, c.document, c.presence, c.evidence, c.fetched_at)
    query = query.select_from(pages.join(sites, sites.c.id == c.site_id)).where(sites.c.tenant == tenant)
    query = query.where(c.url == key_of(url)).order_by(c.fetched_at.desc(), c.site_id).limit(1)
    row = conn.execute(query).one_or_none()
    if row is None:
        return None
    whole = Url.trusted(row.long_url or row.url)
    presence = Presence(row.presence)
    return StoredPage(row.site_id, row.name, whole, row.document, presence, row.evidence or "", row.fetched_at)


SKETCHES_PER_PAGE = 1_000


def sketches_after(conn: sa.Connection, site: SiteId, after: str) -> list[tuple[str, PageSketch]]:
    """The next pages that may be searched, each with its key; fewer than `SKETCHES_PER_PAGE` when these are the last."""
    c = pages.c
    query = sa.select(c.url, c.long_url, c.sketch).where(c.site_id == site, c.url > after, sa.text(MAY_BE_SEARCHED))
    rows = conn.execute(query.where(c.sketch.is_not(None)).order_by(c.url).limit(SKETCHES_PER_PAGE))
    return [(key, PageSketch(Url.trusted(long_url or key), bytes(sketch))) for key, long_url, sketch in rows]


def stale_pages(conn: sa.Connection, site: SiteId) -> list[int]:
    """Numbers of pages whose chunks are there and may not be shown."""
    return list(conn.scalars(_stale_pages, {"site": site}))


_stale_pages = sa.select(pages.c.number).where(pages.c.site_id == sa.bindparam("site"), _is_stale)
