"""What happens between two waves, in one transaction: pages merge, traps are given up, the next wave is admitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import (
    CANDIDATES_PER_WAVE,
    Candidate,
    Kept,
    Kind,
    Merge,
    ShapeYield,
    UrlRow,
    WaveFacts,
    WaveOpened,
    WavePlan,
)
from sitelore.model.ids import RunId
from sitelore.model.url import Url
from sitelore.store.frontier_sql import chunks
from sitelore.store.rows import ROW_COLUMNS, is_kept, maybe_url, settings_of, storable, url_row
from sitelore.store.schema import key_of, runs, urls
from sitelore.store.statements import admit_statement, merge_statement, page_alias_statement, run_many, trap_statement


def open_wave(
    conn: sa.Connection, run: RunId, wave: int, plan: Callable[[WaveFacts], WavePlan], per_wave: int = CANDIDATES_PER_WAVE
) -> WaveOpened | None:
    """Do as `plan` says, if `wave` is still the current one and every row of it has settled; else None."""
    merged = trapped = 0
    while True:
        standing = conn.execute(_standing, {"run": run}).one_or_none()
        if standing is None or standing.wave != wave or conn.execute(_busy, {"run": run}).first() is not None:
            return None
        facts = _facts(conn, standing, per_wave)
        decided = plan(facts)
        merged += _merge(conn, standing, decided.merges)
        trapped += _trap(conn, run, decided.trapped)
        if decided.admit and not decided.exhausted:
            return WaveOpened(wave + 1, _admit(conn, standing, facts, decided), merged, trapped)
        if decided.exhausted or not decided.trapped or not facts.candidates:
            return WaveOpened(wave, 0, merged, trapped)
        # Only traps stood among the first candidates; what lies behind them gets its chance.


# Statements are built once: a site of long chains opens a wave for every page, and making a statement takes SQLAlchemy
# longer than running it takes the database.
_run: sa.BindParameter[str] = sa.bindparam("run", type_=sa.Text)
_first_seq = sa.bindparam("first_seq", type_=sa.Integer)
_standing = sa.select(runs).where(runs.c.id == _run).with_for_update()
_busy = sa.select(urls.c.seq).where(urls.c.run_id == _run, urls.c.state.in_(["QUEUED", "IN_PROGRESS"]), urls.c.seq.is_not(None))
_busy = _busy.limit(1)


def _kept_columns(table: Any) -> tuple[sa.ColumnElement[Any], ...]:
    return (table.c.url, table.c.long_url, table.c.seq, table.c.content_hash, table.c.canonical)


_kept_in_wave = sa.select(*_kept_columns(urls)).where(urls.c.run_id == _run, is_kept(), urls.c.seq >= _first_seq)
_kept_in_wave = _kept_in_wave.order_by(urls.c.seq)


def _related_statements() -> list[sa.Select[Any]]:
    """Kept pages that share content with pages of this wave, are named by one, or name one."""
    now, then = urls.alias("now"), urls.alias("past")
    ties = (
        then.c.content_hash == now.c.content_hash,
        sa.and_(now.c.canonical == then.c.url, now.c.canonical != now.c.url),
        sa.and_(then.c.canonical == now.c.url, then.c.canonical != then.c.url),
    )
    # A page of this wave without text or canonical is not in `settled`; one that names it is.
    other = sa.or_(then.c.seq < _first_seq, sa.and_(then.c.content_hash.is_(None), then.c.canonical.is_(None)))
    return [
        sa.select(*_kept_columns(then))
        .select_from(now.join(then, sa.and_(then.c.run_id == now.c.run_id, tie)))
        .where(now.c.run_id == _run, is_kept(now), now.c.seq >= _first_seq, is_kept(then), other)
        .distinct()
        for tie in ties
    ]


_related_pages = _related_statements()
_waiting = sa.and_(urls.c.run_id == _run, urls.c.state == sa.text("'DISCOVERED'"))
_smallest_depth = sa.select(sa.func.min(urls.c.depth)).where(_waiting)
_best_candidates = (
    sa.select(urls.c.url, urls.c.long_url, urls.c.kind, urls.c.depth, urls.c.shape)
    .where(_waiting, urls.c.depth <= sa.bindparam("deepest", type_=sa.Integer))
    .order_by(urls.c.depth, urls.c.source_rank, urls.c.parent_seq, urls.c.position, urls.c.url)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_yields_by_shape = (
    sa.select(
        urls.c.shape,
        sa.func.count(),
        sa.func.count(urls.c.content_hash.distinct()),
        sa.func.count(urls.c.novelty.distinct()),
    )
    .where(urls.c.run_id == _run, urls.c.shape.in_(sa.bindparam("some", expanding=True)), urls.c.content_hash.is_not(None))
    .group_by(urls.c.shape)
)
_KINDS = {kind.value: kind for kind in Kind}


def _facts(conn: sa.Connection, standing: sa.Row[Any], per_wave: int) -> WaveFacts:
    values = {"run": standing.id, "first_seq": standing.wave_seq}
    kept_now = [_kept(row) for row in conn.execute(_kept_in_wave, values)]
    settled = tuple(one for one in kept_now if one.content_hash or one.canonical)
    candidates = _candidates(conn, standing, per_wave)
    return WaveFacts(
        settings=settings_of(standing.settings),
        wave=standing.wave,
        depth=standing.depth,
        kept=standing.kept_before + len(kept_now),
        settled=settled,
        related=_related(conn, values) if settled else (),
        candidates=candidates,
        shapes=_yields(conn, standing.id, sorted({one.shape for one in candidates})),
    )


def _kept(row: Sequence[Any]) -> Kept:
    key, long_url, seq, content_hash, canonical = row
    return Kept(Url.trusted(long_url or key), seq, content_hash or "", maybe_url(canonical))


def _related(conn: sa.Connection, values: dict[str, Any]) -> tuple[Kept, ...]:
    found: dict[str, Kept] = {}
    for statement in _related_pages:
        found.update((row[0], _kept(row)) for row in conn.execute(statement, values))
    return tuple(sorted(found.values(), key=lambda one: one.seq))


def _candidates(conn: sa.Connection, standing: sa.Row[Any], per_wave: int) -> tuple[Candidate, ...]:
    """Rows left of this depth; when there are none, those of the smallest depth there is."""
    smallest = conn.scalar(_smallest_depth, {"run": standing.id})
    if smallest is None:
        return ()
    values = {"run": standing.id, "deepest": max(smallest, standing.depth), "most": per_wave}
    rows = conn.execute(_best_candidates, values)
    return tuple(Candidate(Url.trusted(row[1] or row[0]), _KINDS[row[2]], row[3], row[4]) for row in rows)


def _yields(conn: sa.Connection, run: RunId, shapes: list[str]) -> dict[str, ShapeYield]:
    found: dict[str, ShapeYield] = {}
    for some in chunks(shapes):
        rows = conn.execute(_yields_by_shape, {"run": run, "some": some})
        found.update((row[0], ShapeYield(row[1], row[2], row[3])) for row in rows)
    return found


_earlier_pages = sa.select(sa.func.count()).where(
    urls.c.run_id == _run, urls.c.url.in_(sa.bindparam("some", expanding=True)), urls.c.seq < _first_seq, is_kept()
)


def _merge(conn: sa.Connection, standing: sa.Row[Any], merges: tuple[Merge, ...]) -> int:
    """Pages become aliases. Those of earlier waves were counted in `kept_before` and leave it."""
    if not merges:
        return 0
    into = {key_of(one.url): (str(one.into), one.proof.value) for one in merges}
    values = {"run": standing.id, "first_seq": standing.wave_seq}
    earlier = sum(conn.scalar(_earlier_pages, {**values, "some": some}) or 0 for some in chunks(sorted(into)))
    run_many(conn, merge_statement, [(*into[key], standing.id, key) for key in sorted(into)])
    run_many(conn, page_alias_statement, [(into[key][0], standing.site_id, key) for key in sorted(into)])
    if earlier:
        left = runs.c.kept_before - earlier
        conn.execute(sa.update(runs).where(runs.c.id == standing.id).values(kept_before=left))
    return len(into)


def _trap(conn: sa.Connection, run: RunId, trapped: tuple[tuple[Url, str], ...]) -> int:
    run_many(conn, trap_statement, [(storable(why), run, key_of(url)) for url, why in trapped])
    return len(trapped)


_pages_of_wave = sa.select(sa.func.count()).where(
    urls.c.run_id == _run, is_kept(), urls.c.seq >= _first_seq, urls.c.seq < sa.bindparam("next_seq", type_=sa.Integer)
)
_advance = (
    sa.update(runs)
    .where(runs.c.id == _run)
    .values(
        wave=sa.bindparam("new_wave", type_=sa.Integer),
        depth=sa.bindparam("new_depth", type_=sa.Integer),
        next_seq=sa.bindparam("new_next_seq", type_=sa.Integer),
        wave_seq=sa.bindparam("new_wave_seq", type_=sa.Integer),
        kept_before=runs.c.kept_before + sa.bindparam("more_kept", type_=sa.Integer),
    )
)


def _admit(conn: sa.Connection, standing: sa.Row[Any], facts: WaveFacts, decided: WavePlan) -> int:
    depths = {one.url: one.depth for one in facts.candidates}
    first, wave = standing.next_seq, standing.wave + 1
    rows = [(seq, wave, standing.id, key_of(url)) for seq, url in enumerate(decided.admit, first)]
    run_many(conn, admit_statement, rows)
    kept = conn.scalar(_pages_of_wave, {"run": standing.id, "first_seq": standing.wave_seq, "next_seq": first}) or 0
    values = {
        "run": standing.id, "new_wave": wave, "new_depth": max(standing.depth, *(depths[url] for url in decided.admit)),
        "new_next_seq": first + len(rows), "new_wave_seq": first, "more_kept": kept,
    }  # fmt: skip
    conn.execute(_advance, values)
    return len(rows)


def _claim_statements() -> list[sa.Select[Any]]:
    """(page, page it names) where the first, or the second, is of the wave."""
    names, named = urls.alias("names"), urls.alias("named")
    agrees = sa.or_(named.c.canonical.is_(None), named.c.canonical == named.c.url)
    differs = sa.func.coalesce(names.c.content_hash, "") != sa.func.coalesce(named.c.content_hash, "")
    columns = [table.c[column.name] for table in (names, named) for column in ROW_COLUMNS]
    return [
        sa.select(*columns)
        .select_from(names.join(named, sa.and_(named.c.run_id == names.c.run_id, named.c.url == names.c.canonical)))
        .where(names.c.run_id == _run, names.c.canonical != names.c.url, agrees, differs)
        .where(is_kept(names), is_kept(named), fresh.c.seq >= _first_seq, fresh.c.wave == sa.bindparam("wave"))
        for fresh in (names, named)
    ]


_canonical_claims = _claim_statements()
_wave_of_run = sa.select(runs.c.wave, runs.c.wave_seq).where(runs.c.id == _run)


def canonical_claims(conn: sa.Connection, run: RunId, wave: int) -> list[tuple[UrlRow, UrlRow]]:
    """(page, the kept page it names as its canonical), contents differing, one of the two settled in this wave."""
    standing = conn.execute(_wave_of_run, {"run": run}).one_or_none()
    if standing is None:
        return []
    values = {"run": run, "wave": wave, "first_seq": standing.wave_seq if standing.wave == wave else 0}
    pairs: dict[int, tuple[UrlRow, UrlRow]] = {}
    for statement in _canonical_claims:
        for row in conn.execute(statement, values):
            first = url_row(row[: len(ROW_COLUMNS)])
            pairs[first.seq or 0] = (first, url_row(row[len(ROW_COLUMNS) :]))
    return [pairs[seq] for seq in sorted(pairs)]
