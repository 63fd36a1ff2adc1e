"""Page counts by URL pattern (the column `shape`), which the trap detection needs before each wave.

Patterns with many pages are not counted from scratch each time. When a wave admits rows of such a pattern, its counts so far
are stored with the sequence numbers of the wave's rows; the next time only those rows are counted. The sum equals a full count,
because all earlier rows are settled and any later wave with rows of the pattern would have stored its counts again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa

from sitelore.model.frontier import PatternYield
from sitelore.model.ids import RunId
from sitelore.model.states import UrlState
from sitelore.store.schema import pattern_stats, urls
from sitelore.store.statements import execute_many, pattern_stats_statement, select_in_batches

STORED_FROM_PAGES = 1_000
"""Patterns with fewer pages are not stored: counting them is as fast."""

_run: sa.BindParameter[str] = sa.bindparam("run", type_=sa.Text)
_batch: sa.BindParameter[str] = sa.bindparam("batch", type_=sa.Text, expanding=True)
_first_seq = sa.bindparam("first_seq", type_=sa.Integer)
_stored_counts = sa.select(pattern_stats).where(pattern_stats.c.run_id == _run, pattern_stats.c.shape.in_(_batch))
_full_counts = (
    sa.select(
        urls.c.shape,
        sa.func.count(),
        sa.func.count(urls.c.content_hash.distinct()),
        sa.func.count(urls.c.novelty.distinct()),
    )
    .where(urls.c.run_id == _run, urls.c.shape.in_(_batch), urls.c.content_hash.is_not(None))
    .group_by(urls.c.shape)
)
_earlier = urls.alias("earlier")
_earlier_of_pattern = (
    sa.select(_earlier.c.seq)
    .where(_earlier.c.run_id == _run, _earlier.c.shape == urls.c.shape, _earlier.c.seq < _first_seq)
    .where(_earlier.c.content_hash.is_not(None))
    .limit(1)  # makes Postgres look up each row by index instead of hashing all rows of the run
    .correlate(urls)
)
_same_content = _earlier_of_pattern.where(_earlier.c.content_hash == urls.c.content_hash).scalar_subquery()
_same_novelty = _earlier_of_pattern.where(_earlier.c.novelty == urls.c.novelty).scalar_subquery()
# By state, because the index on admitted rows starts with it.
_ADMITTED = sorted(state.value for state in UrlState if state is not UrlState.DISCOVERED)
_new_counts = (
    sa.select(
        urls.c.shape,
        sa.func.count(),
        sa.func.count(sa.distinct(sa.case((_same_content.is_(None), urls.c.content_hash)))),
        sa.func.count(sa.distinct(sa.case((_same_novelty.is_(None), urls.c.novelty)))),
    )
    .where(urls.c.run_id == _run, urls.c.state.in_(_ADMITTED), urls.c.seq.is_not(None))
    .where(urls.c.seq >= _first_seq, urls.c.seq < sa.bindparam("last_seq", type_=sa.Integer))
    .where(urls.c.shape.in_(_batch), urls.c.content_hash.is_not(None))
    .group_by(urls.c.shape)
)


def count_pages(conn: sa.Connection, run: RunId, patterns: Iterable[str]) -> dict[str, PatternYield]:
    """Page counts of these URL patterns; patterns without pages are left out."""
    counts: dict[str, PatternYield] = {}
    requested = set(patterns)
    counted_since: dict[tuple[int, int], list[str]] = defaultdict(list)
    for row in select_in_batches(conn, _stored_counts, requested, run=run):
        counts[row.shape] = PatternYield(row.pages, row.distinct_pages, row.novel_pages)
        counted_since[row.first_seq, row.last_seq].append(row.shape)
    for (first_seq, last_seq), of_wave in counted_since.items():
        rows = select_in_batches(conn, _new_counts, of_wave, run=run, first_seq=first_seq, last_seq=last_seq)
        for pattern, pages, distinct, novel in rows:
            before = counts[pattern]
            counts[pattern] = PatternYield(before.pages + pages, before.distinct + distinct, before.novel + novel)
    for pattern, pages, distinct, novel in select_in_batches(conn, _full_counts, requested.difference(counts), run=run):
        counts[pattern] = PatternYield(pages, distinct, novel)
    return counts


def store_counts(
    conn: sa.Connection, run: RunId, admitted: Iterable[str], counts: dict[str, PatternYield], first_seq: int, last_seq: int
) -> None:
    """Store the counts of patterns of which a wave admits rows, numbered from `first_seq` up to `last_seq`."""
    rows = []
    for pattern in sorted(set(admitted)):
        before = counts.get(pattern)
        if before is not None and before.pages >= STORED_FROM_PAGES:
            rows.append((run, pattern, before.pages, before.distinct, before.novel, first_seq, last_seq))
    execute_many(conn, pattern_stats_statement, rows)
