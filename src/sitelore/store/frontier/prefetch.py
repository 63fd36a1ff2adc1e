"""Rows that workers fetch ahead of their admission. Every function is part of one transaction.

What was fetched is in the memory of a worker. The table `prefetches` reserves each of these URLs for its worker, so that no
two workers fetch one page, until the worker claims the row or its lease ends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import Candidate, KnownPage, Lease, OpenRow, PrefetchFacts, PrefetchTarget, RowKind, Source
from sitelore.model.ids import RunId, TenantId, WorkerId
from sitelore.model.states import RunState
from sitelore.model.url import Url
from sitelore.store.frontier.claims import end_reservations, known_pages, lock_runs
from sitelore.store.frontier.waves import count_pages
from sitelore.store.rows import hops, is_kept, settings_of
from sitelore.store.schema import IS_CANDIDATE, key_of, prefetches, runs, urls
from sitelore.store.statements import BATCH, RUN, TENANT, Statement, batches, execute_many, insert_for, select_in_batches

_MAX_CANDIDATES = 500
"""Candidates read at a time."""

_now = sa.bindparam("now", type_=sa.Double)
_running_run = sa.select(runs).where(runs.c.tenant_id == TENANT, runs.c.id == RUN, runs.c.state == RunState.RUNNING.value)
_open_rows = (
    sa.select(urls.c.depth, urls.c.seq, urls.c.kind, urls.c.pattern)
    .where(
        urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.state.in_(["QUEUED", "IN_PROGRESS"]), urls.c.seq.is_not(None)
    )
    .where(urls.c.kind != sa.text("'media'"))
)
_kept_in_wave = sa.select(sa.func.count()).where(
    urls.c.tenant_id == TENANT, urls.c.run_id == RUN, is_kept(), urls.c.seq >= sa.bindparam("first_seq", type_=sa.Integer)
)
_is_candidate = sa.and_(urls.c.tenant_id == TENANT, urls.c.run_id == RUN, sa.text(IS_CANDIDATE))
_candidate_count = sa.select(sa.func.count()).where(_is_candidate)
_reserved = (
    sa.exists()
    .where(prefetches.c.tenant_id == TENANT, prefetches.c.run_id == RUN, prefetches.c.url == urls.c.url)
    .where(prefetches.c.lease_until > _now)
    .correlate(urls)
)
_candidates = (
    sa.select(
        urls.c.url, urls.c.long_url, urls.c.kind, urls.c.depth, urls.c.pattern, urls.c.source_rank, urls.c.parent_seq, _reserved
    )
    .where(_is_candidate)
    .order_by(urls.c.depth, urls.c.source_rank, urls.c.parent_seq, urls.c.position, urls.c.url)
    .limit(_MAX_CANDIDATES)
)
_free_candidates = _candidates.where(~_reserved)
_bets = sa.select(sa.func.count()).where(
    prefetches.c.tenant_id == TENANT, prefetches.c.run_id == RUN, prefetches.c.is_bet == sa.text("1")
)
_KINDS = {kind.value: kind for kind in RowKind}


def prefetch_facts(
    conn: sa.Connection, tenant: TenantId, run: RunId, now: float, patterns: Collection[str]
) -> PrefetchFacts | None:
    """The facts from which the rows to fetch ahead are chosen; None when the run is not RUNNING."""
    key = {"tenant": tenant, "run": run}
    current = conn.execute(_running_run, key).one_or_none()
    if current is None:
        return None
    settings = settings_of(current.settings)
    has_limit = settings.max_pages is not None
    # Only a limit makes places in the order count; without one, reserved rows need not be read again.
    rows = conn.execute(_candidates if has_limit else _free_candidates, {**key, "now": now}).all()
    candidates = tuple(
        Candidate(Url.trusted(row[1] or row[0]), _KINDS[row[2]], row[3], row[4], source_rank=row[5], parent_seq=row[6])
        for row in rows
    )
    return PrefetchFacts(
        settings=settings,
        kept=current.pages_before_wave + (conn.scalar(_kept_in_wave, {**key, "first_seq": current.wave_first_seq}) or 0),
        open_rows=tuple(OpenRow(row[0], row[1], _KINDS[row[2]], row[3]) for row in conn.execute(_open_rows, key)),
        candidates=candidates,
        candidate_count=conn.scalar(_candidate_count, key) or 0 if has_limit else 0,
        started=frozenset(candidate.url for candidate, row in zip(candidates, rows, strict=True) if row[7]),
        # What was lost counts on, so that all bets that a run loses are within the share, however often a worker is killed.
        bets=(conn.scalar(_bets, key) or 0) + current.prefetch_unused if has_limit else 0,
        pattern_yields=count_pages(conn, tenant, run, {*patterns, *(candidate.pattern for candidate in candidates)}),
    )


_states = sa.select(urls.c.url, urls.c.state, urls.c.source, urls.c.chain, urls.c.lastmod).where(
    urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.url.in_(BATCH)
)
_reservations = sa.select(prefetches.c.url).where(
    prefetches.c.tenant_id == TENANT,
    prefetches.c.run_id == RUN,
    prefetches.c.url.in_(BATCH),
    prefetches.c.worker == sa.bindparam("worker"),
)


def start_prefetches(
    conn: sa.Connection,
    tenant: TenantId,
    run: RunId,
    worker: WorkerId,
    targets: Sequence[PrefetchTarget],
    now: float,
    lease_s: float,
) -> list[Lease]:
    """Reserve URLs for this worker. Gives a provisional lease, without seq and token, of each that is still to be admitted and
    that no other worker has reserved.
    """
    lock_runs(conn, tenant, [run])  # otherwise a row could be admitted and claimed between the two statements
    by_key = {key_of(target.url): target for target in targets}
    rows = {row.url: row for row in select_in_batches(conn, _states, by_key, tenant=tenant, run=run)}
    free = [key for key in sorted(by_key) if key not in rows or rows[key].state == "DISCOVERED"]
    values = [(tenant, run, key, worker, now + lease_s, int(by_key[key].is_bet), now) for key in free]
    execute_many(conn, _reserve_statement, values)
    reserved = {row.url for row in select_in_batches(conn, _reservations, free, tenant=tenant, run=run, worker=worker)}
    known = known_pages(conn, tenant, run, reserved)
    keys = [key for key in by_key if key in reserved]
    return [_provisional_lease(run, by_key[key], rows.get(key), known.get(key)) for key in keys]


def _provisional_lease(run: RunId, target: PrefetchTarget, row: Any, known: KnownPage | None) -> Lease:
    source, chain, lastmod = (Source(row.source), hops(row.chain), row.lastmod) if row else (Source.LINK, (), None)
    return Lease(run, target.url, 0, target.depth, 0, target.kind, 0, source, chain, lastmod, known)


def _reserve_statement(dialect_name: str) -> Statement:
    """Reserve a URL for a worker, unless another one holds it."""
    names = ("tenant_id", "run_id", "url", "worker", "lease_until", "is_bet")
    insert = insert_for(dialect_name)(prefetches).values({name: sa.bindparam(name) for name in names})
    statement = insert.on_conflict_do_update(
        index_elements=["tenant_id", "run_id", "url"],
        set_={name: insert.excluded[name] for name in names[3:]},
        where=prefetches.c.lease_until <= _now,
    )
    return statement, (*names, "now")


def renew_prefetches(conn: sa.Connection, tenant: TenantId, run: RunId, worker: WorkerId, until: float) -> None:
    """Extend the reservations of a worker."""
    c = prefetches.c
    own = sa.update(prefetches).where(c.tenant_id == tenant, c.run_id == run, c.worker == worker)
    conn.execute(own.values(lease_until=until))


def end_prefetches(
    conn: sa.Connection, tenant: TenantId, run: RunId, worker: WorkerId, ended: Collection[Url], *, are_used: bool
) -> None:
    """End these reservations of a worker, which uses their results now or has dropped them."""
    lock_runs(conn, tenant, [run])  # before the reservations, in the same order as the end of a run
    is_own = prefetches.c.worker == worker
    for keys in batches(sorted(key_of(url) for url in ended)):
        end_reservations(conn, tenant, run, sa.and_(is_own, prefetches.c.url.in_(keys)), are_used=are_used)
