"""The inverted index: segments of packed postings.

Each write of pages appends one segment with the terms of its new chunks. Chunk numbers only rise, so the segments of a site
are consecutive ranges, and merging neighbours keeps their numbers in order. Too many neighbours of a size class are merged into
one, and a segment is rewritten when half of its chunks are dead. So a lookup reads few segments, and a posting is rewritten a
few times in its life. Large segments are left alone, so that no single write takes long.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from sitelore.model.ids import TenantId
from sitelore.store.rows import storable
from sitelore.store.schema import chunks, key_of, postings, segments
from sitelore.store.statements import BATCH, SITE, TENANT, Statement, execute_many, select_in_batches

_MERGE_STEPS = ((0, 64, 8), (64, 512, 8), (512, 2_048, 3))
"""(more chunks than, up to, max. segments): neighbours of a size class beyond that number are merged. The last number is small,
because such a merge rewrites thousands of chunks."""
_MAX_TERM_CHARS = 200
_POSTING_BYTES = 8
_MAX_UINT16 = 0xFFFF


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """The terms of a new chunk with their counts, and the length of the chunk in terms."""

    number: int
    terms: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class _Segment:
    first: int
    last: int
    size: int
    dead: int


_packed_postings = (
    sa.select(postings.c.term, postings.c.packed)
    .where(
        postings.c.tenant_id == TENANT,
        postings.c.site_id == SITE,
        postings.c.segment.in_(sa.bindparam("segments", expanding=True)),
    )
    .where(postings.c.term.in_(BATCH))
    .order_by(postings.c.segment)
)


def find_postings(conn: sa.Connection, tenant: TenantId, site: int, terms: Collection[str]) -> dict[str, list[bytes]]:
    """Packed `Postings` of these terms, in ascending order of chunk numbers."""
    terms_by_key = {key: term for term in terms if (key := _term_key(term)) is not None}
    firsts = [segment.first for segment in _segments(conn, tenant, site)]
    packed_by_term: dict[str, list[bytes]] = {}
    if not firsts:
        return packed_by_term
    for key, packed in select_in_batches(conn, _packed_postings, terms_by_key, tenant=tenant, site=site, segments=firsts):
        packed_by_term.setdefault(terms_by_key[key], []).append(bytes(packed))
    return packed_by_term


_LAST_CHARACTER = chr(0x10FFFF)


def terms_with_prefix(conn: sa.Connection, tenant: TenantId, site: int, prefix: str, limit: int) -> list[tuple[str, int]]:
    """The terms that begin like this with the number of their postings, the most frequent first."""
    if _term_key(prefix) != prefix:
        return []
    size = sa.func.sum(sa.func.length(postings.c.packed))
    firsts = [segment.first for segment in _segments(conn, tenant, site)]
    query = sa.select(postings.c.term, size).where(postings.c.tenant_id == tenant, postings.c.site_id == site)
    query = query.where(postings.c.segment.in_(firsts), postings.c.term.between(prefix, prefix + _LAST_CHARACTER))
    query = query.group_by(postings.c.term).order_by(size.desc(), postings.c.term).limit(limit)
    return [(term, int(total) // _POSTING_BYTES) for term, total in conn.execute(query)]


def _term_key(term: str) -> str | None:
    """The key of a term; None for a term that the databases cannot store."""
    if len(term) <= _MAX_TERM_CHARS and term.isascii() and "\0" not in term:
        return term or None
    return key_of(term, _MAX_TERM_CHARS) if storable(term) == term else None


def update_segments(conn: sa.Connection, tenant: TenantId, site: int, new: Sequence[ChunkTerms], dead: Collection[int]) -> None:
    """Append a segment for new chunks, count dead chunks, and merge segments. The caller has locked the site."""
    current = _segments(conn, tenant, site)
    if dead and current:
        _count_dead(conn, tenant, site, current, dead)
    if new:
        added = _Segment(new[0].number, new[-1].number, len(new), 0)
        _write(conn, tenant, site, added, _pack(new))
        current.append(added)
    _compact(conn, tenant, site, current)


def drop_segments(conn: sa.Connection, tenant: TenantId, site: int) -> None:
    """Drop every posting of the site."""
    conn.execute(sa.delete(postings).where(postings.c.tenant_id == tenant, postings.c.site_id == site))
    conn.execute(sa.delete(segments).where(segments.c.tenant_id == tenant, segments.c.site_id == site))


_segments_of_site = (
    sa.select(segments.c.segment, segments.c.last_number, segments.c.size, segments.c.dead)
    .where(segments.c.tenant_id == TENANT, segments.c.site_id == SITE)
    .order_by(segments.c.segment)
)


def _segments(conn: sa.Connection, tenant: TenantId, site: int) -> list[_Segment]:
    return [_Segment(*row) for row in conn.execute(_segments_of_site, {"tenant": tenant, "site": site})]


def _pack(new: Sequence[ChunkTerms]) -> Iterator[tuple[str, bytes]]:
    """Every term with its packed postings. One sort replaces a list for each of ten thousand terms."""
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    ids: list[int] = []
    counts: list[int] = []
    for chunk in new:
        ids.extend(map(vocabulary.__getitem__, chunk.terms))
        counts.extend(chunk.terms.values())
    sizes = [len(chunk.terms) for chunk in new]
    term_ids = np.array(ids, dtype=np.int64)
    order = np.argsort(term_ids, kind="stable")
    numbers = np.repeat(np.array([chunk.number for chunk in new], dtype="<u4"), sizes)[order]
    lengths = np.repeat(np.array([min(_MAX_UINT16, chunk.length) for chunk in new], dtype="<u2"), sizes)[order]
    frequencies = np.clip(np.array(counts, dtype=np.int64), 0, _MAX_UINT16).astype("<u2")[order]
    ends = np.cumsum(np.bincount(term_ids, minlength=len(vocabulary))) if len(vocabulary) else np.zeros(0, np.int64)
    for term, packed in zip(vocabulary, _split(numbers, frequencies, lengths, ends), strict=True):
        if packed and (key := _term_key(term)) is not None:
            yield key, packed


_Numbers = NDArray[Any]


def _split(numbers: _Numbers, counts: _Numbers, lengths: _Numbers, ends: _Numbers) -> Iterator[bytes]:
    """Cut the three columns at `ends` and pack each part; an empty part is empty bytes."""
    n, c, m = numbers.tobytes(), counts.tobytes(), lengths.tobytes()
    start = 0
    for end in ends.tolist():
        yield n[4 * start : 4 * end] + c[2 * start : 2 * end] + m[2 * start : 2 * end]
        start = end


def _count_dead(conn: sa.Connection, tenant: TenantId, site: int, current: list[_Segment], dead: Collection[int]) -> None:
    """Add dead chunks to the counts of their segments, in the database and in `current`."""
    firsts = [segment.first for segment in current]
    deaths = Counter(bisect_right(firsts, number) - 1 for number in dead)
    deaths.pop(-1, None)
    for at, more in deaths.items():
        current[at] = replace(current[at], dead=current[at].dead + more)
        c = segments.c
        this = sa.and_(c.tenant_id == tenant, c.site_id == site, c.segment == current[at].first)
        conn.execute(sa.update(segments).where(this).values(dead=current[at].dead))


def _compact(conn: sa.Connection, tenant: TenantId, site: int, current: list[_Segment]) -> None:
    """Rewrite segments whose chunks are half dead, then merge neighbours, the smallest first."""
    rewritten = [_merge(conn, tenant, site, [segment]) if 2 * segment.dead >= segment.size else segment for segment in current]
    current = [segment for segment in rewritten if segment.size]
    for min_size, max_size, max_segments in _MERGE_STEPS:
        merged: list[_Segment] = []
        for group in _neighbours(current, max_size):
            is_too_many = sum(segment.size > min_size for segment in group) > max_segments
            merged += [_merge(conn, tenant, site, group)] if is_too_many else group
        current = merged


def _neighbours(current: Sequence[_Segment], max_size: int) -> Iterator[list[_Segment]]:
    """Groups of adjacent segments of up to this size; each larger segment is its own group."""
    for is_small, adjacent in groupby(current, key=lambda segment: segment.size <= max_size):
        group = list(adjacent)
        yield from [group] if is_small else ([segment] for segment in group)


def _merge(conn: sa.Connection, tenant: TenantId, site: int, group: Sequence[_Segment]) -> _Segment:
    """Replace adjacent segments by one without dead chunks; when no chunk is alive, by none (size 0)."""
    firsts = [segment.first for segment in group]
    alive = _alive(conn, tenant, site, group[0].first, group[-1].last)
    merged = _Segment(group[0].first, group[-1].last, len(alive), 0)
    packed = list(_alive_postings(conn, tenant, site, firsts, alive)) if len(alive) else []
    for table in (postings, segments):
        c = table.c
        conn.execute(sa.delete(table).where(c.tenant_id == tenant, c.site_id == site, c.segment.in_(firsts)))
    if packed:
        _write(conn, tenant, site, merged, packed)
        return merged
    return replace(merged, size=0)


def _alive(conn: sa.Connection, tenant: TenantId, site: int, first: int, last: int) -> _Numbers:
    c = chunks.c
    query = sa.select(c.number).where(c.tenant_id == tenant, c.site_id == site, c.number.between(first, last))
    query = query.order_by(c.number)
    return np.array([row[0] for row in conn.execute(query)], dtype=np.int64)


def _alive_postings(
    conn: sa.Connection, tenant: TenantId, site: int, firsts: Sequence[int], alive: _Numbers
) -> Iterator[tuple[str, bytes]]:
    """The postings of these segments, merged by term, without those of dead chunks. All terms are filtered at once."""
    c = postings.c
    query = sa.select(c.term, c.packed).where(c.tenant_id == tenant, c.site_id == site, c.segment.in_(firsts))
    query = query.order_by(c.segment)
    parts: dict[str, list[bytes]] = defaultdict(list)
    for term, packed in conn.execute(query).all():
        parts[term].append(packed)
    sized = [(block, len(block) >> 3) for blocks in parts.values() for block in blocks]
    columns = (
        np.frombuffer(b"".join(block[: 4 * n] for block, n in sized), "<u4"),
        np.frombuffer(b"".join(block[4 * n : 6 * n] for block, n in sized), "<u2"),
        np.frombuffer(b"".join(block[6 * n :] for block, n in sized), "<u2"),
    )
    first = int(alive[0])
    is_alive = np.zeros(int(alive[-1]) - first + 1, dtype=bool)
    is_alive[alive - first] = True
    at = columns[0].astype(np.int64) - first
    kept = (at >= 0) & (at < len(is_alive))
    kept[kept] = is_alive[at[kept]]
    ends = np.cumsum([sum(len(block) >> 3 for block in blocks) for blocks in parts.values()])
    kept_ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept)))[ends]
    filtered = _split(columns[0][kept], columns[1][kept], columns[2][kept], kept_ends)
    return ((term, block) for term, block in zip(parts, filtered, strict=True) if block)


def _write(conn: sa.Connection, tenant: TenantId, site: int, segment: _Segment, packed: Iterable[tuple[str, bytes]]) -> None:
    values = {
        "tenant_id": tenant,
        "site_id": site,
        "segment": segment.first,
        "last_number": segment.last,
        "size": segment.size,
        "dead": segment.dead,
    }
    conn.execute(sa.insert(segments).values(values))
    if conn.dialect.name == "postgresql":
        rows = list(packed)
        # One statement with two arrays: a row at a time would take ten times as long.
        terms, blocks = [row[0] for row in rows], [row[1] for row in rows]
        conn.exec_driver_sql(_INSERT_ARRAYS, (tenant, site, segment.first, terms, blocks))
    else:
        execute_many(conn, _posting_statement, sorted((tenant, site, segment.first, term, block) for term, block in packed))


_INSERT_ARRAYS = """
    INSERT INTO postings (tenant_id, site_id, segment, term, packed)
    SELECT $1::int, $2::int, $3::int, new.term, new.packed FROM unnest($4::text[], $5::bytea[]) AS new (term, packed)
"""


def _posting_statement(_dialect_name: str) -> Statement:
    names = tuple(column.name for column in postings.c)
    return sa.insert(postings).values({name: sa.bindparam(name) for name in names}), names
