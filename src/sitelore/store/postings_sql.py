"""Where terms stand: segments of packed postings.

Each write of pages appends one segment with the terms of its new chunks. Chunk numbers only rise, so the segments of a site
lie one after the other, and joining neighbours keeps their numbers in order. Too many neighbours of a size become one, and a
segment that is half dead is written anew: a look-up meets few segments, and a posting is rewritten a few times in its life.
Large segments are left as they are, so that no single write takes long.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from sitelore.store.frontier_sql import chunks as pieces
from sitelore.store.rows import storable
from sitelore.store.schema import chunks, key_of, postings, segments
from sitelore.store.statements import run_many

_STEPS = ((0, 64, 8), (64, 512, 8), (512, 2_048, 3))
"""More than so many neighbours between these sizes, in chunks, become one; the last step is short, for it joins thousands."""
_TERM_CHARS = 200
_MOST = 0xFFFF


@dataclass(frozen=True, slots=True)
class Worded:
    """A new chunk's number, its terms and how many they are."""

    number: int
    terms: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class _Segment:
    first: int
    last: int
    size: int
    dead: int


def find(conn: sa.Connection, site: int, terms: Collection[str]) -> dict[str, list[bytes]]:
    """Where terms stand, as packed `Postings` in ascending order of numbers."""
    keys = {key: term for term in terms if (key := _key(term)) is not None}
    named = [one.first for one in _segments(conn, site)]
    found: dict[str, list[bytes]] = {}
    if not named:
        return found
    for some in pieces(sorted(keys)):
        for term, packed in conn.execute(_blocks, {"site": site, "named": named, "some": some}):
            found.setdefault(keys[term], []).append(bytes(packed))
    return found


_blocks = (
    sa.select(postings.c.term, postings.c.packed)
    .where(postings.c.site_id == sa.bindparam("site"), postings.c.segment.in_(sa.bindparam("named", expanding=True)))
    .where(postings.c.term.in_(sa.bindparam("some", expanding=True)))
    .order_by(postings.c.segment)
)


def _key(term: str) -> str | None:
    """What a term is kept under; None for one that no database takes."""
    if len(term) <= _TERM_CHARS and term.isascii() and "\0" not in term:
        return term or None
    return key_of(term, _TERM_CHARS) if storable(term) == term else None


def change(conn: sa.Connection, site: int, new: Sequence[Worded], dead: Collection[int]) -> None:
    """Append the terms of new chunks, count the dead ones, and keep the segments few. The caller has locked the site."""
    standing = _segments(conn, site)
    if dead and standing:
        standing = _buried(conn, site, standing, dead)
    if new:
        added = _Segment(new[0].number, new[-1].number, len(new), 0)
        _write(conn, site, added, _packed(new))
        standing.append(added)
    _tidy(conn, site, standing)


def forget(conn: sa.Connection, site: int) -> None:
    """Drop every posting of the site."""
    conn.execute(sa.delete(postings).where(postings.c.site_id == site))
    conn.execute(sa.delete(segments).where(segments.c.site_id == site))


def _segments(conn: sa.Connection, site: int) -> list[_Segment]:
    return [_Segment(*row) for row in conn.execute(_of_site, {"site": site})]


_of_site = (
    sa.select(segments.c.segment, segments.c.last_number, segments.c.size, segments.c.dead)
    .where(segments.c.site_id == sa.bindparam("site"))
    .order_by(segments.c.segment)
)


def _packed(new: Sequence[Worded]) -> Iterator[tuple[str, bytes]]:
    """Every term with its postings; one sort instead of a list for each of ten thousand terms."""
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    ids: list[int] = []
    counts: list[int] = []
    for one in new:
        ids.extend(map(vocabulary.__getitem__, one.terms))
        counts.extend(one.terms.values())
    sizes = [len(one.terms) for one in new]
    terms = np.array(ids, dtype=np.int64)
    order = np.argsort(terms, kind="stable")
    numbers = np.repeat(np.array([one.number for one in new], dtype="<u4"), sizes)[order]
    lengths = np.repeat(np.array([min(_MOST, one.length) for one in new], dtype="<u2"), sizes)[order]
    often = np.clip(np.array(counts, dtype=np.int64), 0, _MOST).astype("<u2")[order]
    ends = np.cumsum(np.bincount(terms, minlength=len(vocabulary))) if len(vocabulary) else np.zeros(0, np.int64)
    for term, block in zip(vocabulary, _blocks_of(numbers, often, lengths, ends), strict=True):
        if block and (key := _key(term)) is not None:
            yield key, block


_Numbers = NDArray[Any]


def _blocks_of(numbers: _Numbers, counts: _Numbers, lengths: _Numbers, ends: _Numbers) -> Iterator[bytes]:
    """Columns cut at `ends`, each piece packed; nothing where a piece is empty."""
    n, c, m = numbers.tobytes(), counts.tobytes(), lengths.tobytes()
    start = 0
    for end in ends.tolist():
        yield n[4 * start : 4 * end] + c[2 * start : 2 * end] + m[2 * start : 2 * end]
        start = end


def _buried(conn: sa.Connection, site: int, standing: list[_Segment], dead: Collection[int]) -> list[_Segment]:
    """The same segments with these numbers counted as dead."""
    firsts = [one.first for one in standing]
    more = Counter(bisect_right(firsts, number) - 1 for number in dead)
    more.pop(-1, None)
    for at, deaths in more.items():
        one = standing[at]
        standing[at] = _Segment(one.first, one.last, one.size, one.dead + deaths)
        this = sa.and_(segments.c.site_id == site, segments.c.segment == one.first)
        conn.execute(sa.update(segments).where(this).values(dead=standing[at].dead))
    return standing


def _tidy(conn: sa.Connection, site: int, standing: list[_Segment]) -> None:
    """Write half-dead segments anew, then join neighbours, the smallest first."""
    for at, one in enumerate(standing):
        if 2 * one.dead >= one.size:
            standing[at] = _join(conn, site, [one])
    standing = [one for one in standing if one.size]
    for least, most, many in _STEPS:
        standing = [
            one
            for run in _neighbours(standing, most)
            for one in ([_join(conn, site, run)] if sum(one.size > least for one in run) > many else run)
        ]


def _neighbours(standing: Sequence[_Segment], most: int) -> Iterator[list[_Segment]]:
    """Segments of up to this size that lie side by side; larger ones each alone."""
    for is_small, side_by_side in groupby(standing, key=lambda one: one.size <= most):
        run = list(side_by_side)
        yield from [run] if is_small else ([one] for one in run)


def _join(conn: sa.Connection, site: int, run: Sequence[_Segment]) -> _Segment:
    """Neighbours become one segment without its dead; of nothing alive, nothing is left."""
    named = [one.first for one in run]
    alive = _alive(conn, site, run[0].first, run[-1].last)
    joined = _Segment(run[0].first, run[-1].last, len(alive), 0)
    blocks = list(_living(conn, site, named, alive)) if len(alive) else []
    for table in (postings, segments):
        conn.execute(sa.delete(table).where(table.c.site_id == site, table.c.segment.in_(named)))
    if blocks:
        _write(conn, site, joined, blocks)
        return joined
    return _Segment(run[0].first, run[-1].last, 0, 0)


def _alive(conn: sa.Connection, site: int, first: int, last: int) -> _Numbers:
    c = chunks.c
    query = sa.select(c.number).where(c.site_id == site, c.number.between(first, last)).order_by(c.number)
    return np.array([row[0] for row in conn.execute(query)], dtype=np.int64)


def _living(conn: sa.Connection, site: int, named: Sequence[int], alive: _Numbers) -> Iterator[tuple[str, bytes]]:
    """The postings of these segments, joined by term, as far as their chunks live. All terms are sifted at once."""
    c = postings.c
    query = sa.select(c.term, c.packed).where(c.site_id == site, c.segment.in_(named)).order_by(c.segment)
    parts: dict[str, list[bytes]] = defaultdict(list)
    for term, packed in conn.execute(query).all():
        parts[term].append(packed)
    flat = [block for blocks in parts.values() for block in blocks]
    sizes = [len(block) >> 3 for block in flat]
    columns = (
        np.frombuffer(b"".join(block[: 4 * n] for block, n in zip(flat, sizes, strict=True)), "<u4"),
        np.frombuffer(b"".join(block[4 * n : 6 * n] for block, n in zip(flat, sizes, strict=True)), "<u2"),
        np.frombuffer(b"".join(block[6 * n :] for block, n in zip(flat, sizes, strict=True)), "<u2"),
    )
    first = int(alive[0])
    lives = np.zeros(int(alive[-1]) - first + 1, dtype=bool)
    lives[alive - first] = True
    at = columns[0].astype(np.int64) - first
    kept = (at >= 0) & (at < len(lives))
    kept[kept] = lives[at[kept]]
    ends = np.cumsum([sum(len(block) >> 3 for block in blocks) for blocks in parts.values()])
    left = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept)))[ends]
    cut = _blocks_of(columns[0][kept], columns[1][kept], columns[2][kept], left)
    return ((term, block) for term, block in zip(parts, cut, strict=True) if block)


def _write(
    conn: sa.Connection, site: int, segment: _Segment, blocks: Iterator[tuple[str, bytes]] | list[tuple[str, bytes]]
) -> None:
    values = {
        "site_id": site,
        "segment": segment.first,
        "last_number": segment.last,
        "size": segment.size,
        "dead": segment.dead,
    }
    conn.execute(sa.insert(segments).values(values))
    if conn.dialect.name == "postgresql":
        rows = list(blocks)
        # One statement with two arrays: a row at a time would take ten times as long.
        conn.exec_driver_sql(_UNNEST, (site, segment.first, [row[0] for row in rows], [row[1] for row in rows]))
    else:
        run_many(conn, _posting, sorted((site, segment.first, term, block) for term, block in blocks))


_UNNEST = """
    INSERT INTO postings (site_id, segment, term, packed)
    SELECT $1::int, $2::int, one.term, one.packed FROM unnest($3::text[], $4::bytea[]) AS one (term, packed)
"""


def _posting(_dialect_name: str) -> tuple[sa.UpdateBase, tuple[str, ...]]:
    names = tuple(column.name for column in postings.c)
    return sa.insert(postings).values({name: sa.bindparam(name) for name in names}), names
