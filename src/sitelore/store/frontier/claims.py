"""Offers, claims and leases of the URL frontier. Every function is part of one transaction; the time comes from the caller."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import KnownPage, Lease, Offer, QueueStats
from sitelore.model.ids import RunId, WorkerId
from sitelore.store.rows import KNOWN_COLUMNS, LEASE_COLUMNS, known_of, lease_of, offer_tuple
from sitelore.store.schema import key_of, pages, prefetches, runs, urls
from sitelore.store.statements import (
    BATCH,
    execute_many,
    lastmod_statement,
    lease_statement,
    offer_statement,
    renew_statement,
    select_in_batches,
)

_QUEUED, _IN_PROGRESS = sa.text("'QUEUED'"), sa.text("'IN_PROGRESS'")

# Statements are built once: building one takes SQLAlchemy longer than running it takes SQLite.
_locked_runs = sa.select(runs.c.id, runs.c.site_id).where(runs.c.id.in_(BATCH)).order_by(runs.c.id).with_for_update()


def lock_runs(conn: sa.Connection, run_ids: Iterable[str]) -> dict[str, int]:
    """Lock these runs and give the site of each. On Postgres this serialises the writers of a run.

    Without it two writers could deadlock: an offer locks the row it conflicts with even where it changes nothing, and pages
    that link to each other settle in different transactions.
    """
    return {row[0]: row[1] for row in conn.execute(_locked_runs, {"batch": sorted(set(run_ids))})}


def offer(conn: sa.Connection, offers: Iterable[tuple[RunId, Offer]]) -> None:
    """Merge offers into the frontier: the smallest rank and the largest lastmod win."""
    best: dict[tuple[str, str], tuple[tuple[int, ...], Offer]] = {}
    lastmods: dict[tuple[str, str], float] = {}
    for run, new in offers:
        key = (run, key_of(new.url))
        rank = new.rank
        current = best.get(key)
        if current is None or rank < current[0]:
            best[key] = (rank, new)
        if new.lastmod is not None and new.lastmod > lastmods.get(key, float("-inf")):
            lastmods[key] = new.lastmod
    # Sorted, so that two transactions lock the rows they share in the same order.
    execute_many(conn, offer_statement, [offer_tuple(k[0], best[k][1], lastmods.get(k)) for k in sorted(best)])
    execute_many(conn, lastmod_statement, [(lastmods[k], *k, lastmods[k]) for k in sorted(lastmods)])


# A run that was cancelled, has ended or waits for another attempt leases nothing.
_run_is_workable = sa.exists().where(
    runs.c.id == sa.bindparam("run"), runs.c.state.in_(["QUEUED", "RUNNING"]), runs.c.retry_at.is_(None)
)
_is_prefetched_elsewhere = (
    sa.exists()
    .where(prefetches.c.run_id == urls.c.run_id, prefetches.c.url == urls.c.url)
    .where(prefetches.c.worker != sa.bindparam("worker"), prefetches.c.lease_until > sa.bindparam("now"))
    .correlate(urls)
)
_due = (
    sa.select(*LEASE_COLUMNS)
    .where(urls.c.run_id == sa.bindparam("run"), urls.c.state == _QUEUED, urls.c.seq.is_not(None), _run_is_workable)
    .where(sa.or_(urls.c.retry_at.is_(None), urls.c.retry_at <= sa.bindparam("now")))
    .where(~_is_prefetched_elsewhere)
    .order_by(urls.c.seq)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
    .with_for_update(skip_locked=True, of=urls)  # ignored by SQLite, which has one writer
)
_due_on_open_hosts = _due.where(urls.c.host.not_in(sa.bindparam("closed_hosts", expanding=True)))
_known_pages = sa.select(pages.c.url, *KNOWN_COLUMNS).where(
    pages.c.site_id == sa.select(runs.c.site_id).where(runs.c.id == sa.bindparam("run")).scalar_subquery(),
    pages.c.url.in_(BATCH),
)


def claim(
    conn: sa.Connection,
    run: RunId,
    worker: WorkerId,
    limit: int,
    now: float,
    lease_s: float,
    closed_hosts: Collection[str] = (),
) -> list[Lease]:
    """Lease QUEUED rows that are due to this worker, in `seq` order, and raise their fencing tokens.

    Rows that another worker has fetched ahead are left to that worker.
    """
    values: dict[str, Any] = {"run": run, "worker": worker, "max_rows": limit, "now": now}
    if closed_hosts:
        values["closed_hosts"] = sorted(closed_hosts)
    rows = conn.execute(_due_on_open_hosts if closed_hosts else _due, values).all()
    # One UPDATE for each key: Postgres plans one UPDATE over a subquery as a scan of the whole run while it has no statistics,
    # which is when a run is young and grows fastest.
    execute_many(conn, lease_statement, [(worker, now + lease_s, run, row[0]) for row in rows])
    known = known_pages(conn, run, [row[0] for row in rows])
    return [lease_of(run, row, known.get(row[0])) for row in rows]


def known_pages(conn: sa.Connection, run: RunId, keys: Iterable[str]) -> dict[str, KnownPage]:
    """What earlier visits stored about these URLs of the run's site, by key."""
    return {row[0]: known_of(row[1:]) for row in select_in_batches(conn, _known_pages, keys, run=run)}


_tokens_of_leased = (
    sa.select(urls.c.url, urls.c.token)
    .where(urls.c.run_id == sa.bindparam("run"), urls.c.url.in_(BATCH))
    .where(urls.c.state == _IN_PROGRESS)
)


def renew(conn: sa.Connection, leases: Sequence[Lease], until: float) -> int:
    """Extend these leases where their fencing token is still the current one. Gives how many were extended."""
    lock_runs(conn, {lease.run for lease in leases})
    tokens = {(lease.run, key_of(lease.url)): lease.token for lease in leases}
    renewed: list[tuple[Any, ...]] = []
    for run in sorted({lease.run for lease in leases}):
        keys = [key for run_of_lease, key in tokens if run_of_lease == run]
        rows = select_in_batches(conn, _tokens_of_leased, keys, run=run)
        renewed += [(until, run, row[0]) for row in rows if tokens[run, row[0]] == row[1]]
    execute_many(conn, renew_statement, renewed)
    return len(renewed)


def release(conn: sa.Connection, run: RunId, now: float, worker: WorkerId | None = None) -> int:
    """Queue leased rows again, and end reservations of rows fetched ahead: a worker's own, or (None) all that have expired.

    Tokens stay. The next claim raises them, so that a former holder's settlement is rejected.
    """
    whose = urls.c.lease_until <= now if worker is None else urls.c.claimed_by == worker
    whose_reservation = prefetches.c.lease_until <= now if worker is None else prefetches.c.worker == worker
    # Checked without a lock first: usually there is none, and writers of the run need not wait for that answer.
    leased = conn.execute(sa.select(urls.c.url).where(_leased(run), whose).limit(1)).first()
    reserved = conn.execute(sa.select(prefetches.c.url).where(prefetches.c.run_id == run, whose_reservation).limit(1)).first()
    if leased is None and reserved is None:
        return 0
    lock_runs(conn, [run])
    statement = sa.update(urls).where(_leased(run), whose)
    released = conn.execute(statement.values(state=_QUEUED, claimed_by=None, lease_until=None)).rowcount
    return released + end_reservations(conn, run, whose_reservation, are_used=False)


def end_reservations(conn: sa.Connection, run: RunId, which: sa.ColumnElement[bool], *, are_used: bool) -> int:
    """Delete reservations of rows fetched ahead. Those whose result was not used are counted in the run."""
    count = conn.execute(sa.delete(prefetches).where(prefetches.c.run_id == run, which)).rowcount
    if count and not are_used:
        total = runs.c.prefetch_unused + count
        conn.execute(sa.update(runs).where(runs.c.id == run).values(prefetch_unused=total))
    return count


def _leased(run: RunId) -> sa.ColumnElement[bool]:
    return sa.and_(urls.c.run_id == run, urls.c.state == _IN_PROGRESS, urls.c.seq.is_not(None))


_is_delayed = urls.c.retry_at > sa.bindparam("now")
_admitted = sa.and_(urls.c.run_id == sa.bindparam("run"), urls.c.seq.is_not(None))
_queued_counts = sa.select(
    sa.func.count(), sa.func.count(sa.case((_is_delayed, 1))), sa.func.min(sa.case((_is_delayed, urls.c.retry_at)))
).where(_admitted, urls.c.state == _QUEUED)
_leased_count = sa.select(sa.func.count()).where(_admitted, urls.c.state == _IN_PROGRESS)


def queue_stats(conn: sa.Connection, run: RunId, now: float) -> QueueStats:
    """Queue statistics of a run: rows that are due, delayed and leased, and when the next delayed one is due."""
    queued, delayed, next_retry_at = conn.execute(_queued_counts, {"run": run, "now": now}).one()
    in_progress = conn.scalar(_leased_count, {"run": run}) or 0
    return QueueStats(queued - delayed, delayed, in_progress, next_retry_at)
