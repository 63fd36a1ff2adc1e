"""Replace the chunks of pages. Chunk numbers, postings and counters change together, under a lock on the site's row."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import sqlalchemy as sa

from sitelore.model.ids import SiteId, TenantId
from sitelore.model.search import FLAGGED, LINK_LIST, IndexedChunk, IndexedPage, IndexWritten, PageToIndex
from sitelore.model.url import Url
from sitelore.store.index import postings
from sitelore.store.index.postings import ChunkTerms
from sitelore.store.index.reads import IS_UNWANTED, disable_seqscan
from sitelore.store.pages.site_urls import UrlIds, in_url_order
from sitelore.store.rows import encode, storable
from sitelore.store.schema import (
    HAS_CHUNKS,
    IS_HIDDEN,
    IS_SEARCHABLE,
    NEEDS_INDEXING,
    chunk_texts,
    chunks,
    key_of,
    pages,
    site_urls,
    sites,
)
from sitelore.store.statements import (
    BATCH,
    OF_SITE,
    PAGE_KEY,
    PAGES_WITH_URL,
    SITE,
    TENANT,
    Statement,
    batches,
    bind,
    execute_many,
    select_in_batches,
    update_page,
    upsert,
)
from sitelore.store.vectors import pgvector

_MAX_LENGTH = 0xFFFF

_locked_site = (
    sa.select(sites.c.next_page, sites.c.next_chunk, sites.c.index_epoch)
    .where(sites.c.tenant_id == TENANT, sites.c.id == SITE)
    .with_for_update()
)


_to_index = (
    sa.select(*site_urls.c["url", "long_url"], *pages.c["document", "title", "content_type", "fetched_at", "indexed"])
    .select_from(PAGES_WITH_URL)
    .where(OF_SITE, sa.text(IS_SEARCHABLE), sa.text(NEEDS_INDEXING))
)


def pages_to_index(conn: sa.Connection, tenant: TenantId, site: SiteId, limit: int, after: str = "") -> list[PageToIndex]:
    """Pages whose chunks are missing or out of date, by URL, from the one after `after` on."""
    rows = in_url_order(conn, _to_index, SITE, {"tenant": tenant, "site": site}, key_of(after), limit)
    return [
        PageToIndex(Url.trusted(long_url or key), document, title, content_type or "", fetched_at, indexed == document)
        for key, long_url, document, title, content_type, fetched_at, indexed in rows
    ]


def open_epoch(conn: sa.Connection, tenant: TenantId, site: SiteId, epoch: str) -> None:
    """Set the settings by which chunks are made. Chunks made by other settings stay until their page is indexed again."""
    current = conn.execute(_locked_site, {"tenant": tenant, "site": site}).one_or_none()
    if current is None or (current.index_epoch or "") == epoch:
        return
    conn.execute(sa.update(sites).where(sites.c.tenant_id == tenant, sites.c.id == site).values(index_epoch=epoch))
    indexed = sa.update(pages).where(pages.c.tenant_id == tenant, pages.c.site_id == site, pages.c.indexed_epoch.is_not(None))
    conn.execute(indexed.values(indexed_epoch=None))


def keep_chunks(conn: sa.Connection, tenant: TenantId, site: SiteId, epoch: str, kept: Sequence[PageToIndex]) -> None:
    """Note that the chunks of these pages are those that the settings of this epoch give, unless a page has changed."""
    c = pages.c
    ids = UrlIds(conn, tenant, site)
    ids.find(page.url for page in kept)
    documents = {ids.get(page.url): page.document for page in kept}
    for batch in batches(sorted(url_id for url_id in documents if url_id is not None)):
        of_site = sa.and_(c.tenant_id == tenant, c.site_id == site, c.url_id.in_(batch), c.indexed == c.document)
        rows = conn.execute(sa.select(c.url_id, c.document).where(of_site)).all()
        current = [row.url_id for row in rows if row.document == documents[row.url_id]]
        conn.execute(sa.update(pages).where(of_site, c.url_id.in_(current)).values(indexed_epoch=epoch))


@dataclass(slots=True)
class _Changes:
    """All changes of one call, collected before anything is written."""

    next_chunk: int
    kept: int = 0
    metadata_changed: bool = False
    new_terms: list[ChunkTerms] = field(default_factory=list)
    chunks: list[tuple[Any, ...]] = field(default_factory=list)
    texts: list[tuple[Any, ...]] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)
    pages: list[tuple[Any, ...]] = field(default_factory=list)


def write_pages(conn: sa.Connection, tenant: TenantId, site: SiteId, epoch: str, pages: Sequence[IndexedPage]) -> IndexWritten:
    """Replace the chunks of these pages, except pages whose document has changed since they were read."""
    current = conn.execute(_locked_site, {"tenant": tenant, "site": site}).one_or_none()
    if current is None:
        return IndexWritten()
    dropped = drop_unsearchable(conn, tenant, site)
    current_pages = _locked_pages(conn, tenant, site, pages)
    old_chunks = _chunks_of_pages(conn, tenant, site, [row.number for _, row in current_pages if row.number is not None])
    changes = _Changes(current.next_chunk)
    next_page = current.next_page
    page_epoch = epoch if epoch == (current.index_epoch or "") else None
    new_pages = 0
    for page, row in current_pages:
        number = row.number
        if number is None:
            number, next_page = next_page, next_page + 1
        new_pages += row.indexed is None
        metadata = (storable(page.title), storable(page.lang), storable(page.kind), page.dated)
        if (row.indexed, row.indexed_title, row.lang, row.indexed_kind, row.published_at) != (page.document, *metadata):
            changes.metadata_changed = True
        summary = _replace_chunks(changes, (tenant, site), number, page.chunks, old_chunks.get(number, {}))
        changes.pages.append((page.document, page_epoch, number, *metadata, summary, tenant, site, row.url_id))
    _write(conn, tenant, site, changes)
    added, removed = len(changes.new_terms), len(changes.dead)
    if changes.metadata_changed or added or removed:
        c = sites.c
        counters = {"indexed_pages": c.indexed_pages + new_pages, "chunk_count": c.chunk_count + added - removed}
        numbers = {"next_page": next_page, "next_chunk": changes.next_chunk, "index_version": c.index_version + 1}
        conn.execute(sa.update(sites).where(c.tenant_id == tenant, c.id == site).values(**counters, **numbers))
    return IndexWritten(len(changes.pages), added, changes.kept, removed + dropped)


_locked = (
    sa.select(*pages.c["url_id", "document", "number", "indexed", "indexed_title", "lang", "indexed_kind", "published_at"])
    .where(OF_SITE, pages.c.url_id.in_(BATCH), sa.text(IS_SEARCHABLE))
    .order_by(pages.c.url_id)
    .with_for_update()
)


def _locked_pages(
    conn: sa.Connection, tenant: TenantId, site: SiteId, indexed: Sequence[IndexedPage]
) -> list[tuple[IndexedPage, Any]]:
    """The searchable pages whose document is still the indexed one, with their rows, by URL.

    The rows stay locked until their chunks are written.
    """
    url_ids = UrlIds(conn, tenant, site)
    stored_ids = url_ids.find(page.url for page in indexed)
    rows = {row.url_id: row for row in select_in_batches(conn, _locked, stored_ids, tenant=tenant, site=site)}
    of_rows = {url_ids.get(page.url): page for page in indexed}
    current = [(of_rows[url_id], row) for url_id, row in rows.items() if row.document == of_rows[url_id].document]
    return sorted(current, key=lambda page_and_row: key_of(page_and_row[0].url))


_ChunksById = dict[str, list[Any]]
"""Rows of a page's chunks by chunk id; an id occurs twice where a page repeats a text."""
_OLD_COLUMNS = (
    chunks.c.page,
    chunks.c.id,
    chunks.c.number,
    chunks.c.terms_checksum,
    chunks.c.metadata_checksum,
    chunks.c.text_hash,
)


def _chunks_of_pages(
    conn: sa.Connection, tenant: TenantId, site: SiteId, page_numbers: Sequence[int]
) -> dict[int, _ChunksById]:
    chunks_by_page: dict[int, _ChunksById] = {}
    query = sa.select(*_OLD_COLUMNS).where(chunks.c.tenant_id == tenant, chunks.c.site_id == site, chunks.c.page.in_(BATCH))
    for row in select_in_batches(conn, query.order_by(chunks.c.number.desc()), page_numbers):
        chunks_by_page.setdefault(row.page, {}).setdefault(row.id, []).append(row)
    return chunks_by_page


def _replace_chunks(
    changes: _Changes, key: tuple[TenantId, SiteId], page: int, new: Sequence[IndexedChunk], old: _ChunksById
) -> bytes:
    """Collect the changes of one page and give its chunk summary.

    A chunk whose id and terms are unchanged keeps its number; other metadata of it is overwritten.
    """
    numbers: list[int] = []
    for indexed in new:
        terms_checksum, metadata = _terms_checksum(indexed), _chunk_metadata(indexed)
        metadata_sum = crc32(encode(metadata))
        same_id = old.get(indexed.chunk.id)
        before = same_id.pop() if same_id else None
        if before is not None and before.terms_checksum == terms_checksum:
            numbers.append(before.number)
            changes.kept += 1
            if (before.metadata_checksum, before.text_hash) == (metadata_sum, indexed.text_hash):
                continue
            changes.metadata_changed = True
        else:
            if before is not None:
                changes.dead.append(before.number)
            numbers.append(changes.next_chunk)
            changes.next_chunk += 1
            changes.new_terms.append(ChunkTerms(numbers[-1], indexed.terms, indexed.length))
        changes.chunks.append((*key, numbers[-1], page, indexed.chunk.id, indexed.text_hash, terms_checksum, metadata_sum))
        changes.texts.append((*key, numbers[-1], *metadata))
    changes.dead += (row.number for rows in old.values() for row in rows)
    return chunk_summary(numbers, new)


def chunk_summary(numbers: Sequence[int], indexed: Sequence[IndexedChunk]) -> bytes:
    """Numbers, lengths and marks of a page's chunks, packed: n times uint32, n times uint16, n times uint8."""
    lengths = array("H", [min(chunk.length, _MAX_LENGTH) for chunk in indexed])
    marks = bytes(FLAGGED * bool(chunk.chunk.flags) | LINK_LIST * chunk.chunk.is_link_list for chunk in indexed)
    return array("I", numbers).tobytes() + lengths.tobytes() + marks


def _terms_checksum(indexed: IndexedChunk) -> int:
    counts = array("Q", [indexed.length, *indexed.terms.values()]).tobytes()
    return crc32("\0".join(indexed.terms).encode("utf-8", "replace"), crc32(counts))


def _chunk_metadata(indexed: IndexedChunk) -> tuple[Any, ...]:
    """The values of `chunk_texts` in the order of its columns, without its key."""
    chunk = indexed.chunk
    headings = [storable(text) or "" for text in chunk.headings]
    anchors = [(at, storable(anchor) or "") for at, anchor in chunk.anchors]
    flags = [(storable(flag.rule) or "", storable(flag.evidence) or "") for flag in chunk.flags]
    return (
        chunk.start, chunk.end, chunk.tokens, chunk.overlap, storable(chunk.lead),
        encode(headings).decode() if headings else None, storable(chunk.landmark), storable(chunk.fragment),
        encode(flags).decode() if flags else None, storable(chunk.text), encode(anchors).decode() if anchors else None,
    )  # fmt: skip


_NUMBER, _PAGE, _TEXT_HASH = ([column.name for column in chunks.c].index(name) for name in ("number", "page", "text_hash"))


def _write(conn: sa.Connection, tenant: TenantId, site: SiteId, changes: _Changes) -> None:
    _delete_chunks(conn, tenant, site, changes.dead)
    execute_many(conn, _chunk_statement, changes.chunks)
    execute_many(conn, _text_statement, changes.texts)
    execute_many(conn, _page_statement, changes.pages)
    pgvector.add(conn, tenant, site, [(row[_NUMBER], row[_PAGE], row[_TEXT_HASH]) for row in changes.chunks])
    if changes.new_terms or changes.dead:
        postings.update_segments(conn, tenant, site, changes.new_terms, changes.dead)


def _delete_chunks(conn: sa.Connection, tenant: TenantId, site: SiteId, numbers: Collection[int]) -> None:
    if numbers:
        pgvector.remove(conn, tenant, site, numbers)
    for batch in batches(sorted(numbers)):
        for table in (chunks, chunk_texts):
            conn.execute(
                sa.delete(table).where(table.c.tenant_id == tenant, table.c.site_id == site, table.c.number.in_(batch))
            )


def _chunk_statement(dialect_name: str) -> Statement:
    return upsert(dialect_name, chunks)


def _text_statement(dialect_name: str) -> Statement:
    return upsert(dialect_name, chunk_texts)


def _page_statement(_dialect_name: str) -> Statement:
    names = ("indexed", "indexed_epoch", "number", "indexed_title", "lang", "indexed_kind", "published_at", "chunk_summary")
    return update_page(*((pages.c[name], bind(pages.c[name])) for name in names)), (*names, *PAGE_KEY)


def drop_unsearchable(conn: sa.Connection, tenant: TenantId, site: SiteId) -> int:
    """Drop the chunks of pages that are gone, became aliases or are marked noindex. The caller has locked the site."""
    c = pages.c
    query = sa.select(c.number, c.url_id).where(
        c.tenant_id == tenant, c.site_id == site, sa.text(HAS_CHUNKS), sa.text(IS_HIDDEN), sa.text(IS_UNWANTED)
    )
    disable_seqscan(conn)
    if conn.dialect.name == "postgresql":  # rows are locked in this order. SQLite would read all pages to get it.
        query = query.order_by(c.url_id).with_for_update()
    rows = conn.execute(query).all()
    if not rows:
        return 0
    dead: list[int] = []
    for batch in batches(rows):
        of_pages = chunks.c.page.in_([row.number for row in batch])
        dead += conn.scalars(sa.select(chunks.c.number).where(chunks.c.tenant_id == tenant, chunks.c.site_id == site, of_pages))
        emptied = sa.update(pages).where(c.tenant_id == tenant, c.site_id == site, c.url_id.in_([row.url_id for row in batch]))
        conn.execute(emptied.values(indexed=None, indexed_epoch=None, chunk_summary=None))
    _delete_chunks(conn, tenant, site, dead)
    postings.update_segments(conn, tenant, site, (), dead)
    counters = {"indexed_pages": sites.c.indexed_pages - len(rows), "chunk_count": sites.c.chunk_count - len(dead)}
    conn.execute(
        sa.update(sites)
        .where(sites.c.tenant_id == tenant, sites.c.id == site)
        .values(index_version=sites.c.index_version + 1, **counters)
    )
    return len(dead)


def forget(conn: sa.Connection, tenant: TenantId, site: SiteId) -> None:
    """Drop every chunk of the site. Numbers are not reused: a cached chunk table must not match new chunks."""
    if conn.execute(_locked_site, {"tenant": tenant, "site": site}).one_or_none() is None:
        return
    for table in (chunks, chunk_texts):
        conn.execute(sa.delete(table).where(table.c.tenant_id == tenant, table.c.site_id == site))
    postings.drop_segments(conn, tenant, site)
    pgvector.remove(conn, tenant, site)
    emptied = sa.update(pages).where(pages.c.tenant_id == tenant, pages.c.site_id == site, pages.c.indexed.is_not(None))
    conn.execute(emptied.values(indexed=None, indexed_epoch=None, chunk_summary=None))
    version = sites.c.index_version + 1
    conn.execute(
        sa.update(sites)
        .where(sites.c.tenant_id == tenant, sites.c.id == site)
        .values(index_version=version, indexed_pages=0, chunk_count=0)
    )
