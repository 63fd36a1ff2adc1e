"""Offers, claims and leases. Every function is part of one transaction; the time comes from the caller."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from sitelore.model.frontier import KnownPage, Lease, Offer, QueueStats
from sitelore.model.ids import RunId, WorkerId
from sitelore.store.rows import KNOWN_COLUMNS, LEASE_COLUMNS, known_of, lease_of, offer_tuple
from sitelore.store.schema import key_of, pages, runs, urls
from sitelore.store.statements import lastmod_statement, lease_statement, offer_statement, renew_statement, run_many

IN_LIST = 500
"""How many values an IN list holds: far below the limits of both databases."""

_T = TypeVar("_T")

_QUEUED, _IN_PROGRESS = sa.text("'QUEUED'"), sa.text("'IN_PROGRESS'")


def chunks(items: Sequence[_T], size: int = IN_LIST) -> Iterator[Sequence[_T]]:
    """Pieces of at most `size`."""
    return (items[start : start + size] for start in range(0, len(items), size))


# Statements are built once: making one takes SQLAlchemy longer than running it takes SQLite.
_runs_in_turn = (
    sa.select(runs.c.id, runs.c.site_id)
    .where(runs.c.id.in_(sa.bindparam("wanted", expanding=True)))
    .order_by(runs.c.id)
    .with_for_update()
)


def lock_runs(conn: sa.Connection, run_ids: Iterable[str]) -> dict[str, int]:
    """Site of each run. On Postgres this makes writers of one run take turns.

    Without it two of them could wait for each other: an offer locks the row it meets even where it changes nothing, and
    pages that link to each other settle in different transactions.
    """
    return {row[0]: row[1] for row in conn.execute(_runs_in_turn, {"wanted": sorted(set(run_ids))})}


def offer(conn: sa.Connection, offers: Iterable[tuple[RunId, Offer]]) -> None:
    """Merge offers into the frontier by minimum of rank, and of lastmod by maximum."""
    best: dict[tuple[str, str], tuple[tuple[int, ...], Offer]] = {}
    lastmods: dict[tuple[str, str], float] = {}
    for run, one in offers:
        key = (run, key_of(one.url))
        rank = one.rank
        stands = best.get(key)
        if stands is None or rank < stands[0]:
            best[key] = (rank, one)
        if one.lastmod is not None and one.lastmod > lastmods.get(key, float("-inf")):
            lastmods[key] = one.lastmod
    # Sorted, so that two transactions lock the rows they share in one order.
    run_many(conn, offer_statement, [offer_tuple(k[0], best[k][1], lastmods.get(k)) for k in sorted(best)])
    run_many(conn, lastmod_statement, [(lastmods[k], *k, lastmods[k]) for k in sorted(lastmods)])


# A run that was cancelled, has ended or waits for another attempt gives nothing more out.
_may_be_worked_on = sa.exists().where(
    runs.c.id == sa.bindparam("run"), runs.c.state.in_(["QUEUED", "RUNNING"]), runs.c.retry_at.is_(None)
)
_due = (
    sa.select(*LEASE_COLUMNS)
    .where(urls.c.run_id == sa.bindparam("run"), urls.c.state == _QUEUED, urls.c.seq.is_not(None), _may_be_worked_on)
    .where(sa.or_(urls.c.retry_at.is_(None), urls.c.retry_at <= sa.bindparam("now")))
    .order_by(urls.c.seq)
    .limit(sa.bindparam("most", type_=sa.Integer))
    .with_for_update(skip_locked=True, of=urls)  # on SQLite, which has one writer, this says nothing
)
_due_and_open = _due.where(urls.c.host.not_in(sa.bindparam("closed", expanding=True)))


def claim(
    conn: sa.Connection,
    run: RunId,
    worker: WorkerId,
    limit: int,
    now: float,
    lease_s: float,
    closed_hosts: Collection[str] = (),
) -> list[Lease]:
    """QUEUED rows that are due, in `seq` order, leased to this worker with a raised token."""
    values: dict[str, Any] = {"run": run, "most": limit, "now": now}
    if closed_hosts:
        values["closed"] = sorted(closed_hosts)
    rows = conn.execute(_due_and_open if closed_hosts else _due, values).all()
    # Row by row over the key: one UPDATE over a subquery is planned by Postgres as a walk through the whole run while it
    # has no statistics, which is when a run is young and grows fastest.
    run_many(conn, lease_statement, [(worker, now + lease_s, run, row[0]) for row in rows])
    known = _known_by_key(conn, run, [row[0] for row in rows])
    return [lease_of(run, row, known.get(row[0])) for row in rows]


_known_of_run = sa.select(pages.c.url, *KNOWN_COLUMNS).where(
    pages.c.site_id == sa.select(runs.c.site_id).where(runs.c.id == sa.bindparam("run")).scalar_subquery(),
    pages.c.url.in_(sa.bindparam("some", expanding=True)),
)


def _known_by_key(conn: sa.Connection, run: RunId, keys: list[str]) -> dict[str, KnownPage]:
    found: dict[str, KnownPage] = {}
    for some in chunks(keys):
        found.update((row[0], known_of(row[1:])) for row in conn.execute(_known_of_run, {"run": run, "some": some}))
    return found


_held_by_token = (
    sa.select(urls.c.url, urls.c.token)
    .where(urls.c.run_id == sa.bindparam("run"), urls.c.url.in_(sa.bindparam("some", expanding=True)))
    .where(urls.c.state == _IN_PROGRESS)
)


def renew(conn: sa.Connection, leases: Sequence[Lease], until: float) -> int:
    """Prolong these leases where their token still stands."""
    lock_runs(conn, {lease.run for lease in leases})
    tokens = {(lease.run, key_of(lease.url)): lease.token for lease in leases}
    held: list[tuple[Any, ...]] = []
    for run in sorted({lease.run for lease in leases}):
        for some in chunks(sorted(key for its_run, key in tokens if its_run == run)):
            rows = conn.execute(_held_by_token, {"run": run, "some": some})
            held += [(until, run, row[0]) for row in rows if tokens[run, row[0]] == row[1]]
    run_many(conn, renew_statement, held)
    return len(held)


def release(conn: sa.Connection, run: RunId, now: float, worker: WorkerId | None = None) -> int:
    """Back to QUEUED. Tokens stay: the next claim raises them, so whoever held the lease is fenced off."""
    whose = urls.c.lease_until <= now if worker is None else urls.c.claimed_by == worker
    # Looked for first: nearly always there is none, and writers of the run need not wait for that answer.
    if conn.execute(sa.select(urls.c.url).where(_leased(run), whose).limit(1)).first() is None:
        return 0
    lock_runs(conn, [run])
    statement = sa.update(urls).where(_leased(run), whose)
    return conn.execute(statement.values(state=_QUEUED, claimed_by=None, lease_until=None)).rowcount


def _leased(run: RunId) -> sa.ColumnElement[bool]:
    return sa.and_(urls.c.run_id == run, urls.c.state == _IN_PROGRESS, urls.c.seq.is_not(None))


_waits = urls.c.retry_at > sa.bindparam("now")
_admitted = sa.and_(urls.c.run_id == sa.bindparam("run"), urls.c.seq.is_not(None))
_queued = sa.select(
    sa.func.count(), sa.func.count(sa.case((_waits, 1))), sa.func.min(sa.case((_waits, urls.c.retry_at)))
).where(_admitted, urls.c.state == _QUEUED)
_leased_now = sa.select(sa.func.count()).where(_admitted, urls.c.state == _IN_PROGRESS)


def pulse(conn: sa.Connection, run: RunId, now: float) -> QueueStats:
    """Counts of what is queued and leased; read from one index."""
    total, waiting, next_retry_at = conn.execute(_queued, {"run": run, "now": now}).one()
    in_progress = conn.scalar(_leased_now, {"run": run}) or 0
    return QueueStats(total - waiting, waiting, in_progress, next_retry_at)
