"""What happens between two waves, in one transaction: pages merge, traps are given up, the next wave is admitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import (
    CANDIDATES_PER_WAVE,
    Candidate,
    KeptPage,
    Merge,
    RowKind,
    UrlRow,
    WaveFacts,
    WaveOpened,
    WavePlan,
)
from sitelore.model.ids import RunId
from sitelore.model.url import Url
from sitelore.store.frontier_sql import chunks
from sitelore.store.rows import ROW_COLUMNS, is_kept, is_page, maybe_url, settings_of, storable, url_row
from sitelore.store.schema import key_of, runs, urls
from sitelore.store.statements import admit_statement, merge_statement, page_alias_statement, run_many, trap_statement
from sitelore.store.yields_sql import write_down, yields


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


_KEPT_COLUMNS = (urls.c.url, urls.c.long_url, urls.c.seq, urls.c.content_hash, urls.c.canonical, urls.c.identity)
_kept_in_wave = sa.select(*_KEPT_COLUMNS).where(urls.c.run_id == _run, is_kept(), urls.c.seq >= _first_seq)
_kept_in_wave = _kept_in_wave.order_by(urls.c.seq)
# Whether a row that is found by one of these is a page is asked afterwards, of the row: SQLite, which keeps no statistics
# here, would take the condition for a reason to read every page of the run.
_some: sa.BindParameter[str] = sa.bindparam("some", type_=sa.Text, expanding=True)
_found = sa.select(*_KEPT_COLUMNS, urls.c.kind, urls.c.state, urls.c.skip_reason).where(urls.c.run_id == _run)
_with_content = _found.where(urls.c.content_hash.in_(_some))
_with_identity = _found.where(urls.c.identity.in_(_some))
_with_url = _found.where(urls.c.url.in_(_some))
_with_canonical = _found.where(urls.c.canonical.in_(_some), urls.c.canonical != urls.c.url)
_waiting = sa.and_(urls.c.run_id == _run, urls.c.state == sa.text("'DISCOVERED'"))
_smallest_depth = sa.select(sa.func.min(urls.c.depth)).where(_waiting)
_best_candidates = (
    sa.select(urls.c.url, urls.c.long_url, urls.c.kind, urls.c.depth, urls.c.shape)
    .where(_waiting, urls.c.depth <= sa.bindparam("deepest", type_=sa.Integer))
    .order_by(urls.c.depth, urls.c.source_rank, urls.c.parent_seq, urls.c.position, urls.c.url)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_KINDS = {kind.value: kind for kind in RowKind}


def _facts(conn: sa.Connection, standing: sa.Row[Any], per_wave: int) -> WaveFacts:
    values = {"run": standing.id, "first_seq": standing.wave_seq}
    kept_now = [_kept(row) for row in conn.execute(_kept_in_wave, values)]
    settled = tuple(one for one in kept_now if one.content_hash or one.canonical or one.identity)
    candidates = _candidates(conn, standing, per_wave)
    return WaveFacts(
        settings=settings_of(standing.settings),
        wave=standing.wave,
        depth=standing.depth,
        kept=standing.kept_before + len(kept_now),
        settled=settled,
        related=_related(conn, standing.id, settled),
        candidates=candidates,
        shapes=yields(conn, standing.id, (one.shape for one in candidates)),
    )


def _kept(row: Sequence[Any]) -> KeptPage:
    return KeptPage(Url.trusted(row[1] or row[0]), row[2], row[3] or "", maybe_url(row[4]), row[5] or "")


def _related(conn: sa.Connection, run: RunId, settled: tuple[KeptPage, ...]) -> tuple[KeptPage, ...]:
    """Other kept pages that share content or identity with one of these, are named by one, or name one."""
    own = {key_of(one.url) for one in settled}
    lookups = (
        (_with_content, {one.content_hash for one in settled if one.content_hash}),
        (_with_identity, {one.identity for one in settled if one.identity}),
        (_with_url, {key_of(one.canonical) for one in settled if one.canonical} - own),
        (_with_canonical, own),
    )
    found: dict[str, KeptPage] = {}
    for statement, keys in lookups:
        for some in chunks(sorted(keys)):
            for row in conn.execute(statement, {"run": run, "some": some}):
                if row[0] not in own and is_page(row.kind, row.state, row.skip_reason, row.seq):
                    found[row[0]] = _kept(row)
    return tuple(sorted(found.values(), key=lambda one: one.seq))


def _candidates(conn: sa.Connection, standing: sa.Row[Any], per_wave: int) -> tuple[Candidate, ...]:
    """Rows left of this depth; when there are none, those of the smallest depth there is."""
    smallest = conn.scalar(_smallest_depth, {"run": standing.id})
    if smallest is None:
        return ()
    values = {"run": standing.id, "deepest": max(smallest, standing.depth), "most": per_wave}
    rows = conn.execute(_best_candidates, values)
    return tuple(Candidate(Url.trusted(row[1] or row[0]), _KINDS[row[2]], row[3], row[4]) for row in rows)


_earlier_pages = sa.select(sa.func.count()).where(
    urls.c.run_id == _run, urls.c.url.in_(_some), urls.c.seq < _first_seq, is_kept()
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
        wave_hosts=runs.c.joined_hosts,
    )
)


def _admit(conn: sa.Connection, standing: sa.Row[Any], facts: WaveFacts, decided: WavePlan) -> int:
    candidates = {one.url: one for one in facts.candidates}
    admitted = [candidates[url] for url in decided.admit]
    first, wave = standing.next_seq, standing.wave + 1
    rows = [(seq, wave, standing.id, key_of(url)) for seq, url in enumerate(decided.admit, first)]
    run_many(conn, admit_statement, rows)
    write_down(conn, standing.id, (one.shape for one in admitted), facts.shapes, first, first + len(rows))
    kept = conn.scalar(_pages_of_wave, {"run": standing.id, "first_seq": standing.wave_seq, "next_seq": first}) or 0
    values = {
        "run": standing.id, "new_wave": wave, "new_depth": max(standing.depth, *(one.depth for one in admitted)),
        "new_next_seq": first + len(rows), "new_wave_seq": first, "more_kept": kept,
    }  # fmt: skip
    conn.execute(_advance, values)
    return len(rows)


_whole_rows = sa.select(*ROW_COLUMNS).where(urls.c.run_id == _run, urls.c.url.in_(_some))


def canonical_claims(conn: sa.Connection, run: RunId, wave: int) -> list[tuple[UrlRow, UrlRow]]:
    """(page, the kept page it names as its canonical), contents differing, one of the two settled in this wave."""
    standing = conn.execute(sa.select(runs.c.wave, runs.c.wave_seq).where(runs.c.id == run)).one_or_none()
    if standing is None:
        return []
    first_seq = standing.wave_seq if standing.wave == wave else 0
    in_wave = _kept_in_wave.where(urls.c.wave == wave)
    fresh = {row[0]: row[4] for row in conn.execute(in_wave, {"run": run, "first_seq": first_seq})}
    pairs = {key: canonical for key, canonical in fresh.items() if canonical is not None and canonical != key}
    for some in chunks(sorted(fresh)):
        pairs.update((row[0], row[4]) for row in conn.execute(_with_canonical, {"run": run, "some": some}))
    rows: dict[str, UrlRow] = {}
    for some in chunks(sorted({*pairs, *pairs.values()})):
        rows.update((row.url, url_row(row)) for row in conn.execute(_whole_rows, {"run": run, "some": some}))
    claims = [(rows[key], rows[canonical]) for key, canonical in pairs.items() if canonical in rows]
    return sorted((pair for pair in claims if _is_claim(*pair)), key=lambda pair: pair[0].seq or 0)


def _is_claim(page: UrlRow, named: UrlRow) -> bool:
    """Both are kept (a kept page is its own final URL), the named one names no other, and they are not equal."""
    both_kept = page.final_url == page.url and named.final_url == named.url
    return both_kept and named.canonical in {None, named.url} and page.content_hash != named.content_hash
