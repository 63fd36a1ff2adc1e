"""What URLs of one shape brought so far. A shape of many pages is not counted anew between any two waves.

When a wave admits rows of such a shape, what it had yielded before is written down with the numbers of the wave's rows. The
next time the shape is asked for, only those rows are counted: every later one would have been admitted by a wave that wrote
it down again. All rows before are settled, so the sum is what counting all of them would give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa

from sitelore.model.frontier import PatternYield
from sitelore.model.ids import RunId
from sitelore.model.states import UrlState
from sitelore.store.frontier_sql import chunks
from sitelore.store.schema import shape_yields, urls
from sitelore.store.statements import run_many, yield_statement

MANY = 1_000
"""Pages of a shape from which on it is written down: fewer are counted in the time that takes."""

_run: sa.BindParameter[str] = sa.bindparam("run", type_=sa.Text)
_some: sa.BindParameter[str] = sa.bindparam("some", type_=sa.Text, expanding=True)
_first_seq = sa.bindparam("first_seq", type_=sa.Integer)
_written_down = sa.select(shape_yields).where(shape_yields.c.run_id == _run, shape_yields.c.shape.in_(_some))
_all_rows = (
    sa.select(
        urls.c.shape,
        sa.func.count(),
        sa.func.count(urls.c.content_hash.distinct()),
        sa.func.count(urls.c.novelty.distinct()),
    )
    .where(urls.c.run_id == _run, urls.c.shape.in_(_some), urls.c.content_hash.is_not(None))
    .group_by(urls.c.shape)
)
_earlier = urls.alias("earlier")
_of_shape = (
    sa.select(_earlier.c.seq)
    .where(_earlier.c.run_id == _run, _earlier.c.shape == urls.c.shape, _earlier.c.seq < _first_seq)
    .where(_earlier.c.content_hash.is_not(None))
    .limit(1)  # one by one over an index, never by a hash over all rows of the run
    .correlate(urls)
)
_same_content = _of_shape.where(_earlier.c.content_hash == urls.c.content_hash).scalar_subquery()
_same_novelty = _of_shape.where(_earlier.c.novelty == urls.c.novelty).scalar_subquery()
# By state, because the index on admitted rows is in that order.
_ADMITTED = sorted(state.value for state in UrlState if state is not UrlState.DISCOVERED)
_rows_since = (
    sa.select(
        urls.c.shape,
        sa.func.count(),
        sa.func.count(sa.distinct(sa.case((_same_content.is_(None), urls.c.content_hash)))),
        sa.func.count(sa.distinct(sa.case((_same_novelty.is_(None), urls.c.novelty)))),
    )
    .where(urls.c.run_id == _run, urls.c.state.in_(_ADMITTED), urls.c.seq.is_not(None))
    .where(urls.c.seq >= _first_seq, urls.c.seq < sa.bindparam("last_seq", type_=sa.Integer))
    .where(urls.c.shape.in_(_some), urls.c.content_hash.is_not(None))
    .group_by(urls.c.shape)
)


def yields(conn: sa.Connection, run: RunId, shapes: Iterable[str]) -> dict[str, PatternYield]:
    """What these shapes have yielded; those that have brought nothing are left out."""
    found: dict[str, PatternYield] = {}
    wanted = sorted(set(shapes))
    since: dict[tuple[int, int], list[str]] = defaultdict(list)
    for some in chunks(wanted):
        for row in conn.execute(_written_down, {"run": run, "some": some}):
            found[row.shape] = PatternYield(row.pages, row.distinct_pages, row.novel_pages)
            since[row.first_seq, row.last_seq].append(row.shape)
    for (first_seq, last_seq), of_wave in since.items():
        for some in chunks(of_wave):
            rows = conn.execute(_rows_since, {"run": run, "some": some, "first_seq": first_seq, "last_seq": last_seq})
            for shape, pages, distinct, novel in rows:
                before = found[shape]
                found[shape] = PatternYield(before.pages + pages, before.distinct + distinct, before.novel + novel)
    for some in chunks([shape for shape in wanted if shape not in found]):
        rows = conn.execute(_all_rows, {"run": run, "some": some})
        found.update((row[0], PatternYield(row[1], row[2], row[3])) for row in rows)
    return found


def write_down(
    conn: sa.Connection, run: RunId, admitted: Iterable[str], known: dict[str, PatternYield], first_seq: int, last_seq: int
) -> None:
    """A wave admits rows of these shapes, numbered from `first_seq` up to `last_seq`; `known` is what stands before it."""
    rows = []
    for shape in sorted(set(admitted)):
        stands = known.get(shape)
        if stands is not None and stands.pages >= MANY:
            rows.append((run, shape, stands.pages, stands.distinct, stands.novel, first_seq, last_seq))
    run_many(conn, yield_statement, rows)
