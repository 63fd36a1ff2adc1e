"""Reads of the search index: statistics of sites, all live chunks as a table of columns, and single chunks with their texts.

A chunk is live while its page may be searched and still has the document that the chunk was made from. All chunks of a page are
written together, so the condition concerns the page only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import numpy as np
import sqlalchemy as sa

from sitelore.model.ids import NO_TEXT, SiteId, TenantId
from sitelore.model.search import ChunkRecord, ChunkTable, ChunkTablePage, Flag, HeldPage, Presence, SiteIndexStats, StoredPage
from sitelore.model.url import Url
from sitelore.store.pages.site_urls import find_url_id
from sitelore.store.schema import (
    HAS_CHUNKS,
    IS_HIDDEN,
    IS_SEARCHABLE,
    NEEDS_INDEXING,
    chunk_texts,
    chunks,
    key_of,
    models,
    pages,
    site_urls,
    sites,
    vectors,
)
from sitelore.store.statements import BATCH, OF_SITE, PAGES_WITH_URL, SITE, TENANT, select_in_batches

IS_UNWANTED = "(alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE')"
"""Pages that must not be searched, whatever their chunks say."""

_headings_decoder = msgspec.json.Decoder(tuple[str, ...])
_anchors_decoder = msgspec.json.Decoder(tuple[tuple[int, str], ...])
_flags_decoder = msgspec.json.Decoder(list[tuple[str, str]])

_is_stale = sa.and_(sa.text(HAS_CHUNKS), sa.text(IS_HIDDEN))
_is_live = sa.and_(sa.text(IS_SEARCHABLE), sa.text("indexed = document"))
_of_site = sa.and_(pages.c.tenant_id == sites.c.tenant_id, pages.c.site_id == sites.c.id)
_of_page = sa.and_(
    pages.c.tenant_id == chunks.c.tenant_id, pages.c.site_id == chunks.c.site_id, pages.c.number == chunks.c.page
)
_one: sa.ColumnElement[int] = sa.literal_column("1")


def of_stale_page() -> sa.ColumnElement[bool]:
    """SQL condition: the row of `chunks` belongs to a stale page (one that is indexed and may not be shown any more).

    Stale pages are few and have a partial index.
    """
    return sa.exists(_one).where(_of_page, _is_stale)


def has_vector(model_id: sa.ColumnElement[int] | int) -> sa.ColumnElement[bool]:
    """Whether a row of `chunks` has a vector of this model."""
    c = vectors.c
    return sa.exists(_one).where(c.tenant_id == chunks.c.tenant_id, c.model_id == model_id, c.text_hash == chunks.c.text_hash)


def _page_count(*where: sa.ColumnElement[bool] | sa.TextClause) -> Any:
    return sa.select(sa.func.count()).select_from(pages).where(_of_site, *where).scalar_subquery()


_needs_indexing = sa.and_(sa.text(IS_SEARCHABLE), sa.text(NEEDS_INDEXING))
_sites_with_counts = sa.select(
    sites.c.id,
    sites.c.name,
    sites.c.index_version,
    sites.c.index_epoch,
    sites.c.indexed_pages,
    sites.c.chunk_count,
    _page_count(_needs_indexing).label("waiting"),
    _page_count(_needs_indexing, pages.c.indexed.is_(None)).label("new"),
    _page_count(_is_stale, sa.text(IS_UNWANTED)).label("unwanted"),
    # Not a join: SQLite would search for the few stale pages among all pages that have a number.
    sa.select(sa.func.count())
    .select_from(chunks)
    .where(chunks.c.tenant_id == sites.c.tenant_id, chunks.c.site_id == sites.c.id)
    .where(chunks.c.page.in_(sa.select(pages.c.number).where(_of_site, _is_stale).correlate(sites)))
    .scalar_subquery()
    .label("stale"),
    _page_count(sa.text("held = 1")).label("held"),
)
_sites = _sites_with_counts.select_from(sites).where(sites.c.tenant_id == TENANT).order_by(sites.c.name)
_model = sa.select(models.c.id, models.c.version).where(models.c.tenant_id == TENANT, models.c.name == sa.bindparam("name"))
_embedded = (
    sa.select(sa.func.count())
    .select_from(chunks)
    .where(chunks.c.tenant_id == TENANT, chunks.c.site_id == SITE, has_vector(sa.bindparam("model")))
)
_embedded_stale = _embedded.where(
    chunks.c.page.in_(sa.select(pages.c.number).where(pages.c.tenant_id == TENANT, pages.c.site_id == SITE, _is_stale))
)

EmbeddedCounts = dict[tuple[int, str], tuple[tuple[int, int], int]]
"""Cache by site and model: how many chunks, stale ones included, had a vector at these versions of the site and the model."""

_NO_SEQSCAN = sa.select(sa.func.set_config("enable_seqscan", "off", sa.true()))


def disable_seqscan(conn: sa.Connection) -> None:
    """Make Postgres use indexes in this transaction: it misestimates the selectivity of rare conditions."""
    if conn.dialect.name == "postgresql":
        conn.execute(_NO_SEQSCAN)


def site_stats(conn: sa.Connection, tenant: TenantId, model: str, counts: EmbeddedCounts) -> list[SiteIndexStats]:
    """Index statistics of every site of the tenant. Chunks are only counted one by one where `counts` is out of date."""
    disable_seqscan(conn)
    rows = conn.execute(_sites, {"tenant": tenant}).all()
    model_row = conn.execute(_model, {"tenant": tenant, "name": model}).one_or_none() if model else None
    stats = []
    for row in rows:
        embedded = 0
        if model_row is not None and row.chunk_count:
            versions = (row.index_version, model_row.version)
            counted_at, embedded = counts.get((row.id, model), ((-1, -1), 0))
            values = {"tenant": tenant, "site": row.id, "model": model_row.id}
            if counted_at != versions:
                embedded = conn.scalar(_embedded, values) or 0
                counts[row.id, model] = (versions, embedded)
            # Pages become stale and current again without a new version, so their chunks are subtracted each time.
            embedded -= (conn.scalar(_embedded_stale, values) or 0) if row.stale else 0
        stats.append(
            SiteIndexStats(
                row.id, row.name, row.index_version, row.index_epoch or "",
                row.indexed_pages - row.unwanted + row.new, row.waiting, row.chunk_count - row.stale, embedded, row.held,
            )
        )  # fmt: skip
    return stats


_SUMMARY_BYTES = 4 + 2 + 1
"""Bytes of one chunk in a chunk summary (`pages.chunk_summary`, see `writes.chunk_summary`)."""


def chunk_table(conn: sa.Connection, tenant: TenantId, site: SiteId) -> ChunkTable:
    """The table of all live chunks of a site: numbers, pages, lengths and flags."""
    this_site = sa.and_(sites.c.tenant_id == tenant, sites.c.id == site)
    version = conn.scalar(sa.select(sites.c.index_version).where(this_site))
    if not version:
        return ChunkTable(version or 0)
    c = pages.c
    columns: list[sa.Column[Any]] = [
        c.number, *site_urls.c["url", "long_url"], c.lang, c.indexed_kind, c.published_at, c.chunk_summary
    ]  # fmt: skip
    query = sa.select(*columns)
    query = query.select_from(PAGES_WITH_URL).where(OF_SITE, c.number.is_not(None), _is_live).order_by(c.number)
    rows = conn.execute(query, {"tenant": tenant, "site": site}).all()
    live = tuple(
        ChunkTablePage(number, long_url or url, lang or "", kind or "page", dated)
        for number, url, long_url, lang, kind, dated, _ in rows
    )
    summaries = [row[6] or b"" for row in rows]
    sizes = [len(summary) // _SUMMARY_BYTES for summary in summaries]
    sized = list(zip(summaries, sizes, strict=True))
    numbers = np.frombuffer(b"".join(summary[: 4 * n] for summary, n in sized), "<u4")
    lengths = np.frombuffer(b"".join(summary[4 * n : 6 * n] for summary, n in sized), "<u2")
    marks = np.frombuffer(b"".join(summary[6 * n :] for summary, n in sized), "u1")
    of_page = np.repeat(np.array([page.number for page in live], dtype="<u4"), sizes)
    order = np.argsort(numbers)
    return ChunkTable(version, live, *(column[order].tobytes() for column in (numbers, of_page, lengths, marks)))


_held_columns = (*site_urls.c["url", "long_url"], *pages.c["chunk_summary", "held", "presence_at", "evidence"])
_held = sa.select(*_held_columns).select_from(PAGES_WITH_URL).where(OF_SITE, sa.text("held = 1"), sa.text(HAS_CHUNKS))
_named = sa.select(*_held_columns).select_from(PAGES_WITH_URL).where(OF_SITE, site_urls.c.url.in_(BATCH), _is_live)


def pages_pending_deletion(conn: sa.Connection, tenant: TenantId, site: SiteId, named: Collection[Url]) -> list[HeldPage]:
    """Indexed pages with a pending deletion (held back until a user decides), and those of the named pages that are indexed."""
    rows = {row.url: row for row in select_in_batches(conn, _named, set(map(key_of, named)), tenant=tenant, site=site)}
    rows |= {row.url: row for row in conn.execute(_held, {"tenant": tenant, "site": site})}
    return [
        HeldPage(long_url or key, len(summary or b"") // _SUMMARY_BYTES, bool(held), since, evidence or "")
        for key, long_url, summary, held, since, evidence in (rows[key] for key in sorted(rows))
    ]


def _chunk_query(page: Any, with_pages: sa.FromClause) -> sa.Select[Any]:
    of_chunk = sa.and_(*(chunk_texts.c[name] == chunks.c[name] for name in ("tenant_id", "site_id", "number")))
    of_site = sa.and_(sites.c.tenant_id == chunks.c.tenant_id, sites.c.id == chunks.c.site_id)
    of_url = sa.and_(site_urls.c.tenant_id == TENANT, site_urls.c.id == page.c.url_id)
    return (
        sa.select(
            chunks.c.number, chunks.c.id, sites.c.name, *site_urls.c["url", "long_url"], page.c.title, page.c.indexed_title,
            page.c.lang, page.c.indexed_kind, page.c.published_at, page.c.presence, page.c.fetched_at, chunk_texts.c.text,
            chunk_texts.c.lead, chunk_texts.c.headings, chunk_texts.c.first_byte, chunk_texts.c.end_byte, chunk_texts.c.tokens,
            chunk_texts.c.landmark, chunk_texts.c.fragment, chunk_texts.c.flags, chunk_texts.c.anchors,
        )
        .select_from(with_pages.join(chunk_texts, of_chunk).join(sites, of_site).join(site_urls, of_url))
        .where(chunks.c.tenant_id == TENANT, chunks.c.site_id == SITE, chunks.c.number.in_(BATCH))
    )  # fmt: skip


_chunks = _chunk_query(pages, chunks.join(pages, _of_page)).where(_is_live)
# LATERAL with OFFSET 0 makes Postgres look up the page of each chunk: it would start with all pages of a site that it has no
# statistics of yet.
_page_of_chunk = sa.select(pages).where(_of_page, _is_live).offset(sa.literal_column("0")).correlate(chunks).lateral("shown")
_chunks_in_postgres = _chunk_query(_page_of_chunk, chunks.join(_page_of_chunk, sa.true()))


def chunk_records(conn: sa.Connection, tenant: TenantId, site: SiteId, numbers: Sequence[int]) -> list[ChunkRecord]:
    """The live chunks among these numbers with their texts, in the given order."""
    query = _chunks_in_postgres if conn.dialect.name == "postgresql" else _chunks
    records = {
        row[0]: _chunk_record(site, row) for row in select_in_batches(conn, query, set(numbers), tenant=tenant, site=site)
    }
    return [records[number] for number in numbers if number in records]


def page_chunks(conn: sa.Connection, tenant: TenantId, site: SiteId, url: Url) -> list[ChunkRecord]:
    """The live chunks of a page, in page order."""
    url_id = find_url_id(conn, tenant, site, url)
    query = sa.select(chunks.c.number).select_from(chunks.join(pages, _of_page)).where(OF_SITE, pages.c.url_id == url_id)
    numbers = conn.scalars(query, {"tenant": tenant, "site": site}).all()
    return sorted(chunk_records(conn, tenant, site, numbers), key=lambda record: record.start)


def headings_of(text: str | None) -> tuple[Any, ...]:
    """Decode the headings of a chunk."""
    return _headings_decoder.decode(text) if text else ()


def _chunk_record(site: SiteId, row: Any) -> ChunkRecord:
    (
        number, chunk, name, url, long_url, title, indexed_title, lang, kind, dated, presence, fetched_at,
        text, lead, headings, first_byte, end_byte, tokens, landmark, fragment, flags, anchors,
    ) = row  # fmt: skip
    return ChunkRecord(
        number, chunk, site, name, Url.trusted(long_url or url), indexed_title or title, lang or "", kind or "page", dated,
        text or NO_TEXT, lead or NO_TEXT, headings_of(headings), first_byte, end_byte, tokens, landmark or "", fragment or "",
        _anchors_decoder.decode(anchors) if anchors else (), _flags_of(flags), Presence(presence), fetched_at,
    )  # fmt: skip


def _flags_of(text: str | None) -> tuple[Flag, ...]:
    flags: list[Any] = _flags_decoder.decode(text) if text else []
    return tuple(Flag(rule, evidence) for rule, evidence in flags)


def stored_page(conn: sa.Connection, tenant: TenantId, url: Url) -> StoredPage | None:
    """The tenant's page of this URL, even one that is gone; the one fetched last where several sites have it."""
    c = pages.c
    ids = sa.select(site_urls.c.id).where(site_urls.c.tenant_id == tenant, site_urls.c.url == key_of(url))
    ids = ids.where(site_urls.c.site_id.in_(sa.select(sites.c.id).where(sites.c.tenant_id == tenant)))
    query = sa.select(
        c.site_id, sites.c.name, *site_urls.c["url", "long_url"], c.document, c.presence, c.evidence, c.fetched_at
    )
    query = query.select_from(PAGES_WITH_URL.join(sites, _of_site)).where(c.tenant_id == tenant, site_urls.c.id.in_(ids))
    query = query.order_by(c.fetched_at.desc(), c.site_id).limit(1)
    row = conn.execute(query).one_or_none()
    if row is None:
        return None
    full_url, presence = Url.trusted(row.long_url or row.url), Presence(row.presence)
    return StoredPage(row.site_id, row.name, full_url, row.document, presence, row.evidence or "", row.fetched_at)


_stale_pages = sa.select(pages.c.number).where(pages.c.tenant_id == TENANT, pages.c.site_id == SITE, _is_stale)


def stale_pages(conn: sa.Connection, tenant: TenantId, site: SiteId) -> list[int]:
    """The page numbers (ids within a site) of stale pages: their chunks must not be shown."""
    return list(conn.scalars(_stale_pages, {"tenant": tenant, "site": site}))
