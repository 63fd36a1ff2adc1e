"""Offers (URLs proposed to the frontier), and leases of URLs by workers: claim, renew, release.

Every function is part of one transaction; the time comes from the caller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from sitelore.model.frontier import KnownPage, Lease, Offer, QueueStats, RowKind
from sitelore.model.ids import RunId, TenantId, WorkerId
from sitelore.model.url import Url
from sitelore.store.pages.site_urls import UrlIds
from sitelore.store.rows import KNOWN_COLUMNS, LEASE_COLUMNS, WITH_CANONICAL, known_of, lease_of, offer_tuple
from sitelore.store.runs.counts import Changes, CountedRow
from sitelore.store.schema import key_of, pages, prefetches, runs, urls
from sitelore.store.statements import (
    BATCH,
    FIXED_OFFER_COLUMNS,
    OF_RUN,
    RUN,
    RUN_NUMBER,
    SITE_OF_RUN,
    TENANT,
    WITH_URL,
    better_offer_statement,
    execute_many,
    lastmod_statement,
    lease_statement,
    offer_statement,
    renew_statement,
    select_in_batches,
)

_QUEUED, _IN_PROGRESS = sa.text("'QUEUED'"), sa.text("'IN_PROGRESS'")

# Statements are built once: building one takes SQLAlchemy longer than running it takes SQLite.
_locked_runs = (
    sa.select(runs.c.id, runs.c.number, runs.c.site_id)
    .where(runs.c.tenant_id == TENANT, runs.c.id.in_(BATCH))
    .order_by(runs.c.id)
    .with_for_update()
)


class NumberedRun(NamedTuple):
    """A run with its number, which keys of its rows hold, and its site."""

    id: RunId
    number: int
    site: int


def lock_runs(conn: sa.Connection, tenant: TenantId, run_ids: Iterable[str]) -> dict[str, NumberedRun]:
    """Lock these runs and give them with their numbers and sites. On Postgres this serialises the writers of a run.

    Offers are merged and statistics are kept under this lock: pages that link to each other settle in different transactions.
    """
    rows = conn.execute(_locked_runs, {"tenant": tenant, "batch": sorted(set(run_ids))})
    return {row.id: NumberedRun(*row) for row in rows}


_offered = sa.select(
    urls.c.url_id, urls.c.seq, urls.c.lastmod, urls.c.kind, urls.c.state, urls.c.skip_reason, urls.c.refused, urls.c.depth,
    urls.c.source_rank, urls.c.parent_seq, urls.c.position,
).where(OF_RUN, urls.c.url_id.in_(BATCH))  # fmt: skip


def offer(
    conn: sa.Connection, tenant: TenantId, run: NumberedRun, offers: Iterable[Offer], url_ids: UrlIds, changes: Changes
) -> None:
    """Merge offers into the frontier: the smallest rank and the largest lastmod win. The caller has locked the run.

    The stored rows are read first: most links of a page lead to URLs that are known, and nothing is written for those.
    `url_ids` has the URLs of the offers and of their parents.
    """
    best: dict[str, tuple[tuple[int, int, int, int, int], Offer]] = {}
    lastmods: dict[str, float] = {}
    for new in offers:
        rank = new.rank
        current = best.get(new.url)
        if current is None or rank < current[0]:
            best[new.url] = (rank, new)
        if new.lastmod is not None and new.lastmod > lastmods.get(new.url, float("-inf")):
            lastmods[new.url] = new.lastmod
    by_id = {url_ids[url]: of_url for url, of_url in best.items()}
    stored = {row[0]: row for row in select_in_batches(conn, _offered, by_id, tenant=tenant, run=run.id)}
    inserted, replaced, newer = [], [], []
    for url_id in sorted(by_id):
        rank, new = by_id[url_id]
        row = stored.get(url_id)
        key, lastmod = (tenant, run.number, url_id), lastmods.get(new.url)
        parent = None if new.parent is None else url_ids[new.parent]
        if row is None:
            inserted.append(offer_tuple(key, new, parent, lastmod))
            changes.add(run.id, _counted(new))
        elif row.seq is None:
            lastmod = max((at for at in (lastmod, row.lastmod) if at is not None), default=None)
            is_replaceable = row.state == "DISCOVERED" or (row.state == "SKIPPED" and row.refused)
            if is_replaceable and rank < tuple(row[6:]):
                values = offer_tuple(key, new, parent, lastmod)
                replaced.append((*values[FIXED_OFFER_COLUMNS:], *key))
                changes.add(run.id, CountedRow(row.kind, row.state, row.skip_reason), -1)
                changes.add(run.id, _counted(new))
            elif lastmod != row.lastmod:
                newer.append((lastmod, *key))
    execute_many(conn, offer_statement, inserted)
    execute_many(conn, better_offer_statement, replaced)
    execute_many(conn, lastmod_statement, newer)


def urls_of_offer(new: Offer) -> tuple[Url, ...]:
    """The URLs of an offer and of the page that made it."""
    return (new.url,) if new.parent is None else (new.url, new.parent)


def _counted(new: Offer) -> CountedRow:
    refusal = new.refusal
    return CountedRow(new.kind, "DISCOVERED" if refusal is None else "SKIPPED", None if refusal is None else refusal.value)


# A run that was cancelled, has ended or waits for another attempt leases nothing.
_run_is_workable = sa.exists().where(
    runs.c.tenant_id == TENANT, runs.c.id == RUN, runs.c.state.in_(["QUEUED", "RUNNING"]), runs.c.retry_at.is_(None)
)
_is_prefetched_elsewhere = (
    sa.exists()
    .where(prefetches.c.tenant_id == TENANT, prefetches.c.run_number == urls.c.run_number)
    .where(prefetches.c.url_id == urls.c.url_id)
    .where(prefetches.c.worker != sa.bindparam("worker"), prefetches.c.lease_until > sa.bindparam("now"))
    .correlate(urls)
)
_due = (
    sa.select(urls.c.run_number, urls.c.url_id, *LEASE_COLUMNS)
    .select_from(WITH_URL)
    .where(OF_RUN)
    .where(urls.c.state == _QUEUED, urls.c.seq.is_not(None), _run_is_workable)
    .where(sa.or_(urls.c.retry_at.is_(None), urls.c.retry_at <= sa.bindparam("now")))
    .where(~_is_prefetched_elsewhere)
    .order_by(urls.c.seq)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
    .with_for_update(skip_locked=True, of=urls)  # ignored by SQLite, which has one writer
)
_due_on_open_hosts = _due.where(urls.c.host.not_in(sa.bindparam("closed_hosts", expanding=True)))
_known_pages = (
    sa.select(pages.c.url_id, *KNOWN_COLUMNS)
    .select_from(WITH_CANONICAL)
    .where(pages.c.tenant_id == TENANT, pages.c.site_id == SITE_OF_RUN, pages.c.url_id.in_(BATCH))
)

_locked_known_pages = _known_pages.order_by(pages.c.url_id).with_for_update(of=pages)


def claim(
    conn: sa.Connection,
    tenant: TenantId,
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
    values: dict[str, Any] = {"tenant": tenant, "run": run, "worker": worker, "max_rows": limit, "now": now}
    if closed_hosts:
        values["closed_hosts"] = sorted(closed_hosts)
    rows = conn.execute(_due_on_open_hosts if closed_hosts else _due, values).all()
    # One UPDATE for each key: Postgres plans one UPDATE over a subquery as a scan of the whole run while it has no statistics,
    # which is when a run is young and grows fastest.
    execute_many(conn, lease_statement, [(worker, now + lease_s, tenant, *row[:2]) for row in rows])
    known = known_pages(conn, tenant, run, [row.url_id for row in rows])
    leases = [lease_of(run, row[1:], known.get(row.url_id)) for row in rows]
    return _with_known_media(conn, tenant, run, leases) if any(lease.kind is RowKind.MEDIA for lease in leases) else leases


def _with_known_media(conn: sa.Connection, tenant: TenantId, run: RunId, leases: Sequence[Lease]) -> list[Lease]:
    """Leases with what is known of their media URLs."""
    from sitelore.store.platform.media import known_media  # noqa: PLC0415 - few runs download media

    site = conn.scalar(sa.select(runs.c.site_id).where(runs.c.tenant_id == tenant, runs.c.id == run)) or 0
    keys = [key_of(lease.url) for lease in leases if lease.kind is RowKind.MEDIA]
    known = known_media(conn, tenant, site, keys)
    return [replace(lease, known_media=known.get(key_of(lease.url))) for lease in leases]


def known_pages(
    conn: sa.Connection, tenant: TenantId, run: RunId, url_ids: Iterable[int], *, for_update: bool = False
) -> dict[int, KnownPage]:
    """What earlier visits stored about these URLs of the run's site, by id; `for_update` locks the pages."""
    statement = _locked_known_pages if for_update else _known_pages
    return {row[0]: known_of(row[1:]) for row in select_in_batches(conn, statement, url_ids, tenant=tenant, run=run)}


_tokens_of_leased = (
    sa.select(urls.c.url_id, urls.c.token).where(OF_RUN, urls.c.url_id.in_(BATCH)).where(urls.c.state == _IN_PROGRESS)
)


def renew(conn: sa.Connection, tenant: TenantId, leases: Sequence[Lease], until: float) -> int:
    """Extend these leases where their fencing token is still the current one. Returns how many were extended."""
    renewed: list[tuple[Any, ...]] = []
    for run in lock_runs(conn, tenant, {lease.run for lease in leases}).values():
        of_run = [lease for lease in leases if lease.run == run.id]
        url_ids = UrlIds(conn, tenant, run.site)
        url_ids.find(lease.url for lease in of_run)
        tokens = {url_ids.get(lease.url): lease.token for lease in of_run}
        rows = select_in_batches(conn, _tokens_of_leased, tokens.keys() - {None}, tenant=tenant, run=run.id)
        renewed += [(until, tenant, run.number, row[0]) for row in rows if tokens[row[0]] == row[1]]
    execute_many(conn, renew_statement, renewed)
    return len(renewed)


_is_leased = sa.and_(OF_RUN, urls.c.state == _IN_PROGRESS, urls.c.seq.is_not(None))
_reserved_in_run = sa.and_(prefetches.c.tenant_id == TENANT, prefetches.c.run_number == RUN_NUMBER)


def release(conn: sa.Connection, tenant: TenantId, run: RunId, now: float, worker: WorkerId | None = None) -> int:
    """Queue leased rows again, and end reservations of rows fetched ahead: a worker's own, or (None) all that have expired.

    Tokens stay. The next claim raises them, so that a former holder's settlement is rejected.
    """
    whose = urls.c.lease_until <= now if worker is None else urls.c.claimed_by == worker
    whose_reservation = prefetches.c.lease_until <= now if worker is None else prefetches.c.worker == worker
    # Checked without a lock first: usually there is none, and writers of the run need not wait for that answer.
    values = {"tenant": tenant, "run": run}
    leased = conn.execute(sa.select(urls.c.url_id).where(_is_leased, whose).limit(1), values).first()
    reserved = conn.execute(sa.select(prefetches.c.url_id).where(_reserved_in_run, whose_reservation).limit(1), values).first()
    if leased is None and reserved is None:
        return 0
    lock_runs(conn, tenant, [run])
    statement = sa.update(urls).where(_is_leased, whose)
    released = conn.execute(statement.values(state=_QUEUED, claimed_by=None, lease_until=None), values).rowcount
    return released + end_reservations(conn, tenant, run, whose_reservation, are_used=False)


def end_reservations(
    conn: sa.Connection, tenant: TenantId, run: RunId, which: sa.ColumnElement[bool], *, are_used: bool
) -> int:
    """Delete reservations of rows fetched ahead. Those whose result was not used are counted in the run."""
    count = conn.execute(sa.delete(prefetches).where(_reserved_in_run, which), {"tenant": tenant, "run": run}).rowcount
    if count and not are_used:
        total = runs.c.prefetch_unused + count
        conn.execute(sa.update(runs).where(runs.c.tenant_id == tenant, runs.c.id == run).values(prefetch_unused=total))
    return count


_is_delayed = urls.c.retry_at > sa.bindparam("now")
_admitted = sa.and_(OF_RUN, urls.c.seq.is_not(None))
_queued_counts = sa.select(
    sa.func.count(), sa.func.count(sa.case((_is_delayed, 1))), sa.func.min(sa.case((_is_delayed, urls.c.retry_at)))
).where(_admitted, urls.c.state == _QUEUED)
_leased_count = sa.select(sa.func.count()).where(_admitted, urls.c.state == _IN_PROGRESS)


def queue_stats(conn: sa.Connection, tenant: TenantId, run: RunId, now: float) -> QueueStats:
    """Queue statistics of a run: rows that are due, delayed and leased, and when the next delayed one is due."""
    queued, delayed, next_retry_at = conn.execute(_queued_counts, {"tenant": tenant, "run": run, "now": now}).one()
    in_progress = conn.scalar(_leased_count, {"tenant": tenant, "run": run}) or 0
    return QueueStats(queued - delayed, delayed, in_progress, next_retry_at)
