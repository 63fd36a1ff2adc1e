"""Chunks in the place of those that pages had. Numbers, terms and counters change together, under a lock on the site."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import sqlalchemy as sa

from sitelore.model.ids import SiteId
from sitelore.model.search import IndexedChunk, IndexedPage, IndexWritten, PageToIndex
from sitelore.model.url import Url
from sitelore.store import dense_sql, postings_sql
from sitelore.store.frontier_sql import chunks as pieces
from sitelore.store.postings_sql import Worded
from sitelore.store.rows import encode, storable
from sitelore.store.schema import (
    HAS_CHUNKS,
    MAY_BE_SEARCHED,
    NOT_TO_BE_SHOWN,
    TO_BE_INDEXED,
    chunk_texts,
    chunks,
    key_of,
    pages,
    sites,
)
from sitelore.store.shelves_sql import by_index
from sitelore.store.statements import insert_for, run_many

_MOST_LENGTH = 0xFFFF

_waiting = sa.and_(sa.text(MAY_BE_SEARCHED), sa.text(TO_BE_INDEXED))
_lock = (
    sa.select(sites.c.next_page, sites.c.next_chunk, sites.c.index_epoch)
    .where(sites.c.id == sa.bindparam("site"))
    .with_for_update()
)


def pages_to_index(conn: sa.Connection, site: SiteId, limit: int, after: str) -> list[PageToIndex]:
    """Pages whose chunks do not say what the page says, by URL."""
    c = pages.c
    query = sa.select(c.url, c.long_url, c.document, c.title, c.content_type, c.fetched_at)
    query = query.where(c.site_id == site, c.url > key_of(after), _waiting).order_by(c.url).limit(limit)
    return [
        PageToIndex(Url.trusted(long_url or key), document, title, content_type or "", fetched_at)
        for key, long_url, document, title, content_type, fetched_at in conn.execute(query)
    ]


def open_epoch(conn: sa.Connection, site: SiteId, epoch: str) -> None:
    """From now on chunks are made this way; those that were made otherwise stay until they are made again."""
    standing = conn.execute(_lock, {"site": site}).one_or_none()
    if standing is None or (standing.index_epoch or "") == epoch:
        return
    conn.execute(sa.update(sites).where(sites.c.id == site).values(index_epoch=epoch))
    made = sa.update(pages).where(pages.c.site_id == site, pages.c.indexed_epoch.is_not(None))
    conn.execute(made.values(indexed_epoch=None))


@dataclass(slots=True)
class _Changes:
    """What one write does, gathered before anything is written."""

    next_chunk: int
    kept: int = 0
    is_change: bool = False
    new: list[Worded] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    texts: list[tuple[Any, ...]] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)
    pages: list[tuple[Any, ...]] = field(default_factory=list)


def write_pages(conn: sa.Connection, site: SiteId, epoch: str, made: Sequence[IndexedPage]) -> IndexWritten:
    """Put these chunks in the place of those the pages had, where the pages still say what they were made from."""
    place = conn.execute(_lock, {"site": site}).one_or_none()
    if place is None:
        return IndexWritten()
    dropped = drop_unsearchable(conn, site)
    wanted = {key_of(one.url): one for one in made}
    standing = _standing(conn, site, wanted)
    had = _had(conn, site, [row.number for row in standing if row.number is not None])
    changes = _Changes(place.next_chunk)
    next_page = place.next_page
    current = epoch if epoch == (place.index_epoch or "") else None
    first_time = 0
    for row in standing:
        page, number = wanted[row.url], row.number
        if number is None:
            number, next_page = next_page, next_page + 1
        first_time += row.indexed is None
        told = (storable(page.title), storable(page.lang), storable(page.kind), page.dated)
        if (row.indexed, row.indexed_title, row.lang, row.indexed_kind, row.dated) != (page.document, *told):
            changes.is_change = True
        shelved = _compare(changes, site, number, page.chunks, had.get(number, {}))
        changes.pages.append((page.document, current, number, *told, shelved, site, row.url))
    _write(conn, site, changes)
    added, gone = len(changes.new), len(changes.dead)
    if changes.is_change or added or gone:
        c = sites.c
        counted = {"indexed_pages": c.indexed_pages + first_time, "chunk_count": c.chunk_count + added - gone}
        moved = {"next_page": next_page, "next_chunk": changes.next_chunk, "index_version": c.index_version + 1}
        conn.execute(sa.update(sites).where(c.id == site).values(**counted, **moved))
    return IndexWritten(len(changes.pages), added, changes.kept, gone + dropped)


def _standing(conn: sa.Connection, site: SiteId, wanted: dict[str, IndexedPage]) -> list[Any]:
    """The pages that may be written, locked: nothing changes them until these chunks are there."""
    c = pages.c
    query = sa.select(c.url, c.document, c.number, c.indexed, c.indexed_title, c.lang, c.indexed_kind, c.dated)
    query = query.where(c.site_id == site, sa.text(MAY_BE_SEARCHED)).order_by(c.url).with_for_update()
    found: list[Any] = []
    for some in pieces(sorted(wanted)):
        found += (row for row in conn.execute(query.where(c.url.in_(some))) if row.document == wanted[row.url].document)
    return found


_Had = dict[str, list[Any]]
_OF_PAGE = (chunks.c.page, chunks.c.id, chunks.c.number, chunks.c.terms_sum, chunks.c.told_sum, chunks.c.text_hash)


def _had(conn: sa.Connection, site: SiteId, numbers: Sequence[int]) -> dict[int, _Had]:
    """Chunks of these pages by id; one id may stand twice where a page says the same twice."""
    found: dict[int, _Had] = {}
    for some in pieces(sorted(numbers)):
        query = sa.select(*_OF_PAGE).where(chunks.c.site_id == site, chunks.c.page.in_(some)).order_by(chunks.c.number.desc())
        for row in conn.execute(query):
            found.setdefault(row.page, {}).setdefault(row.id, []).append(row)
    return found


def _compare(changes: _Changes, site: SiteId, page: int, indexed: Sequence[IndexedChunk], had: _Had) -> bytes:
    """A chunk whose id and terms stay keeps its number; what has moved with it is written over. Gives the page's shelf."""
    numbers: list[int] = []
    for one in indexed:
        terms_sum, told = _terms_sum(one), _told(one)
        told_sum = crc32(encode(told))
        stood = had.get(one.chunk.id)
        was = stood.pop() if stood else None
        if was is not None and was.terms_sum == terms_sum:
            numbers.append(was.number)
            changes.kept += 1
            if (was.told_sum, was.text_hash) == (told_sum, one.text_hash):
                continue
            changes.is_change = True
        else:
            if was is not None:
                changes.dead.append(was.number)
            numbers.append(changes.next_chunk)
            changes.next_chunk += 1
            changes.new.append(Worded(numbers[-1], one.terms, one.length))
        changes.rows.append((site, numbers[-1], page, one.chunk.id, one.text_hash, terms_sum, told_sum))
        changes.texts.append((site, numbers[-1], *told))
    changes.dead += (row.number for rows in had.values() for row in rows)
    return shelved(numbers, indexed)


def shelved(numbers: Sequence[int], indexed: Sequence[IndexedChunk]) -> bytes:
    """Numbers, lengths and flags of a page's chunks, packed: n times uint32, uint16 and uint8."""
    lengths = array("H", [min(one.length, _MOST_LENGTH) for one in indexed])
    return array("I", numbers).tobytes() + lengths.tobytes() + bytes(bool(one.chunk.flags) for one in indexed)


def _terms_sum(one: IndexedChunk) -> int:
    counts = array("Q", [one.length, *one.terms.values()]).tobytes()
    return crc32("\0".join(one.terms).encode("utf-8", "replace"), crc32(counts))


def _told(one: IndexedChunk) -> tuple[Any, ...]:
    """In the order of the columns of `chunk_texts`, without its key."""
    chunk = one.chunk
    headings = [storable(text) or "" for text in chunk.headings]
    flags = [(storable(flag.rule) or "", storable(flag.evidence) or "") for flag in chunk.flags]
    return (
        chunk.start, chunk.end, chunk.tokens, chunk.overlap, storable(chunk.lead),
        encode(headings).decode() if headings else None, storable(chunk.landmark), storable(chunk.fragment),
        encode(flags).decode() if flags else None, storable(chunk.text),
    )  # fmt: skip


_TEXT_HASH = [column.name for column in chunks.c].index("text_hash")


def _write(conn: sa.Connection, site: SiteId, changes: _Changes) -> None:
    _delete(conn, site, changes.dead)
    run_many(conn, _chunk, changes.rows)
    run_many(conn, _text, changes.texts)
    run_many(conn, _page, changes.pages)
    dense_sql.add(conn, site, [(row[1], row[2], row[_TEXT_HASH]) for row in changes.rows])
    if changes.new or changes.dead:
        postings_sql.change(conn, site, changes.new, changes.dead)


def _delete(conn: sa.Connection, site: SiteId, numbers: Collection[int]) -> None:
    if numbers:
        dense_sql.remove(conn, site, numbers)
    for some in pieces(sorted(numbers)):
        for table in (chunks, chunk_texts):
            conn.execute(sa.delete(table).where(table.c.site_id == site, table.c.number.in_(some)))


_Built = tuple[sa.UpdateBase, tuple[str, ...]]


def _replacing(table: sa.Table, dialect_name: str) -> _Built:
    names = tuple(column.name for column in table.c)
    insert = insert_for(dialect_name)(table).values({name: sa.bindparam(name) for name in names})
    changed = {name: insert.excluded[name] for name in names if name not in {"site_id", "number"}}
    return insert.on_conflict_do_update(index_elements=["site_id", "number"], set_=changed), names


def _chunk(dialect_name: str) -> _Built:
    return _replacing(chunks, dialect_name)


def _text(dialect_name: str) -> _Built:
    return _replacing(chunk_texts, dialect_name)


def _page(_dialect_name: str) -> _Built:
    c = pages.c
    names = ("indexed", "indexed_epoch", "number", "indexed_title", "lang", "indexed_kind", "dated", "shelved")
    statement = sa.update(pages).ordered_values(*((c[name], sa.bindparam(name, type_=c[name].type)) for name in names))
    where = statement.where(c.site_id == sa.bindparam("the_site"), c.url == sa.bindparam("the_url"))
    return where, (*names, "the_site", "the_url")


def drop_unsearchable(conn: sa.Connection, site: SiteId) -> int:
    """Drop the chunks of pages that are gone, became aliases or do not want to be indexed. The caller has locked the site."""
    c = pages.c
    unwanted = sa.text("(alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE')")
    query = sa.select(c.number, c.url).where(c.site_id == site, sa.text(HAS_CHUNKS), sa.text(NOT_TO_BE_SHOWN), unwanted)
    by_index(conn)
    found = conn.execute(query.order_by(c.url).with_for_update()).all()
    if not found:
        return 0
    dead: list[int] = []
    for some in pieces(found):
        of_pages = chunks.c.page.in_([row.number for row in some])
        dead += conn.scalars(sa.select(chunks.c.number).where(chunks.c.site_id == site, of_pages))
        emptied = sa.update(pages).where(c.site_id == site, c.url.in_([row.url for row in some]))
        conn.execute(emptied.values(indexed=None, indexed_epoch=None, shelved=None))
    _delete(conn, site, dead)
    postings_sql.change(conn, site, (), dead)
    counted = {"indexed_pages": sites.c.indexed_pages - len(found), "chunk_count": sites.c.chunk_count - len(dead)}
    conn.execute(sa.update(sites).where(sites.c.id == site).values(index_version=sites.c.index_version + 1, **counted))
    return len(dead)


def forget(conn: sa.Connection, site: SiteId) -> None:
    """Drop every chunk of the site. Numbers are not given out again: whoever holds an old shelf must not meet new chunks."""
    if conn.execute(_lock, {"site": site}).one_or_none() is None:
        return
    for table in (chunks, chunk_texts):
        conn.execute(sa.delete(table).where(table.c.site_id == site))
    postings_sql.forget(conn, site)
    dense_sql.remove(conn, site)
    emptied = sa.update(pages).where(pages.c.site_id == site, pages.c.indexed.is_not(None))
    conn.execute(emptied.values(indexed=None, indexed_epoch=None, shelved=None))
    version = sites.c.index_version + 1
    conn.execute(sa.update(sites).where(sites.c.id == site).values(index_version=version, indexed_pages=0, chunk_count=0))
