"""Create, queue, start, interrupt, resume and end runs. A site has at most one RUNNING run, with any number of workers.

Runs are scheduled round-robin by site: a site with a thousand queued runs waits no less than a site with one. A run gets its
queue round when it is created: one more than the last queued run of its site, and at least the round that
is being served. The queue is served by round, and first come, first served within a round. Both ends are found by index, so
neither creating a run nor looking for work gets slower when ten thousand runs wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from sitelore.model.frontier import Offer, Run, StoredEventKind
from sitelore.model.ids import RunId, TenantId, new_uuid
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import ENDED, RUN_TRANSITIONS, RunState
from sitelore.store.frontier.claims import NumberedRun, end_reservations, lock_runs, offer, urls_of_offer
from sitelore.store.pages.site_urls import UrlIds
from sitelore.store.rows import RUN_COLUMNS, RUNS_WITH_SITES, encode, run_of, storable
from sitelore.store.runs.counts import Changes
from sitelore.store.runs.events import NewEvent, delete_old_events, store_events
from sitelore.store.runs.finalize import finish_rows, update_render_stats
from sitelore.store.schema import runs, sites, urls
from sitelore.store.statements import BATCH, insert_for, next_id_of_all, next_ids
from sitelore.store.tenants import all_tenants

_select_runs = sa.select(*RUN_COLUMNS).select_from(RUNS_WITH_SITES)

_RUNNING, _QUEUED = sa.text("runs.state = 'RUNNING'"), sa.text("runs.state = 'QUEUED'")  # spelled as in the partial indexes
_of_site = runs.c.site_id == sa.bindparam("site", type_=sa.Integer)
_rounds = sa.select(
    sa.select(sa.func.max(runs.c.queue_round)).where(_RUNNING).scalar_subquery(),
    sa.select(runs.c.queue_round).where(_QUEUED).order_by(runs.c.queue_round).limit(1).scalar_subquery(),
    sa.select(runs.c.queue_round).where(_QUEUED, _of_site).order_by(runs.c.queue_round.desc()).limit(1).scalar_subquery(),
    sa.select(sa.func.max(runs.c.queue_round)).where(_RUNNING, _of_site).scalar_subquery(),
)
_front_of_queue = (
    sa.select(runs.c.id, runs.c.site_id, runs.c.retry_at)
    .where(_QUEUED, runs.c.site_id.not_in(sa.bindparam("excluded_sites", expanding=True)))
    .order_by(runs.c.queue_round, runs.c.created_at, runs.c.id)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
)


def create_run(
    conn: sa.Connection, tenant: TenantId, site: str, settings: CrawlSettings, offers: Sequence[Offer], now: float
) -> Run:
    """Create a QUEUED run of the tenant's site of this name, with its first offers. A new site is created."""
    # The lock serialises the creation of runs of one site: two at once would get the same queue round.
    this_site = sa.and_(sites.c.tenant_id == tenant, sites.c.name == site)
    query = sa.select(sites.c.id, sites.c.rendering).where(this_site).with_for_update(key_share=True)
    row = conn.execute(query).one_or_none()
    if row is None:
        create_site(conn, tenant, site, now)
        row = conn.execute(query).one()
    run_id, [number] = RunId(new_uuid(now)), next_ids(conn, tenant, runs, 1, "number")
    values = {
        "tenant_id": tenant, "id": run_id, "site_id": row.id, "state": RunState.QUEUED.value,
        "settings": encode(settings).decode(), "created_at": now, "wave": 0, "depth": 0, "next_seq": 1, "wave_first_seq": 1,
        "pages_before_wave": 0, "joined_hosts": "[]", "error": "", "queue_round": next_round(conn, row.id),
        "site_rendering": row.rendering, "number": number,
    }  # fmt: skip
    conn.execute(sa.insert(runs).values(values))
    counts, url_ids = Changes(), UrlIds(conn, tenant, row.id)
    url_ids.add({url for new in offers for url in urls_of_offer(new)})
    offer(conn, tenant, NumberedRun(run_id, number, row.id), offers, url_ids, counts)
    counts.write(conn, tenant)
    run = find_run(conn, tenant, run_id)
    if run is None:
        raise AssertionError(f"run {run_id} is missing after its insert")
    return run


def create_site(conn: sa.Connection, tenant: TenantId, name: str, now: float) -> None:
    """Create a site, unless another transaction was first. Ids are unique over all tenants."""
    site_id = next_id_of_all(conn, tenant, sites)
    new_site = insert_for(conn.dialect.name)(sites).values(tenant_id=tenant, id=site_id, name=name, created_at=now)
    conn.execute(new_site.on_conflict_do_nothing(index_elements=["tenant_id", "name"]))


def find_run(conn: sa.Connection, tenant: TenantId, run: RunId) -> Run | None:
    """The run with this id."""
    row = conn.execute(_select_runs.where(runs.c.tenant_id == tenant, runs.c.id == run)).one_or_none()
    return None if row is None else run_of(row)


def latest_runs(conn: sa.Connection, tenant: TenantId, limit: int = 100) -> list[Run]:
    """Runs, newest first."""
    query = _select_runs.where(runs.c.tenant_id == tenant).order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(limit)
    return [run_of(row) for row in conn.execute(query)]


_other_run = runs.alias("other")
_is_running = sa.text("runs.state = 'RUNNING'")  # spelled as in the partial index
_another_is_running = (
    sa.exists()
    .where(
        _other_run.c.tenant_id == runs.c.tenant_id, _other_run.c.site_id == runs.c.site_id, sa.text("other.state = 'RUNNING'")
    )
    .correlate(runs)
)
_is_due = sa.or_(runs.c.retry_at.is_(None), runs.c.retry_at <= sa.bindparam("now", type_=sa.Double))
_runs_in_order = _select_runs.order_by(runs.c.queue_round, runs.c.created_at, runs.c.id)
_running_runs = _runs_in_order.where(_is_running)
_runs_by_id = _runs_in_order.where(runs.c.id.in_(BATCH))
_runs_with_leases = (
    sa.select(runs.c.id)
    .distinct()
    .select_from(runs.join(urls, sa.and_(urls.c.tenant_id == runs.c.tenant_id, urls.c.run_number == runs.c.number)))
    .where(runs.c.tenant_id.in_(sa.bindparam("tenants", expanding=True)), runs.c.id.in_(BATCH))
    .where(urls.c.state == sa.text("'IN_PROGRESS'"))
    .where(urls.c.seq.is_not(None), urls.c.lease_until > sa.bindparam("now", type_=sa.Double))
)


def runs_by_state(conn: sa.Connection) -> dict[str, int]:
    """The number of runs of all tenants in each state."""
    return {row[0]: row[1] for row in conn.execute(sa.select(runs.c.state, sa.func.count()).group_by(runs.c.state))}


def running_runs(conn: sa.Connection) -> list[Run]:
    """Every RUNNING run, oldest first."""
    return [run_of(row) for row in conn.execute(_running_runs)]


def workable_runs(conn: sa.Connection, limit: int, now: float) -> list[Run]:
    """Runs that a worker may work on, in queue order within each group.

    First RUNNING runs without a worker, then of each site without a RUNNING run the first QUEUED one whose pause is over, then
    RUNNING runs that have a worker: they get help when nothing else waits.
    """
    running = running_runs(conn)
    queued = first_queued_runs(conn, limit, now, {int(run.site) for run in running})
    if not queued:
        return running[:limit]
    leased = set(
        conn.scalars(
            _runs_with_leases,
            {"batch": [run.id for run in running], "tenants": sorted({run.tenant for run in running}), "now": now},
        )
    )
    without_worker = [run for run in running if run.id not in leased]
    startable = [run_of(row) for row in conn.execute(_runs_by_id, {"batch": queued})]
    return [*without_worker, *startable, *(run for run in running if run.id in leased)][:limit]


def begin_run(conn: sa.Connection, tenant: TenantId, run: RunId, now: float) -> bool:
    """Move a run from QUEUED to RUNNING if its pause is over and the site has no RUNNING run; True when it is RUNNING now."""
    # With the site's row locked, the second of two workers that begin two runs of a site sees the first one's run.
    _lock_site(conn, tenant, run)
    begin = (
        sa.update(runs)
        .where(_is_run(tenant, run), runs.c.state == RunState.QUEUED.value, _is_due, ~_another_is_running)
        .values(state=RunState.RUNNING.value, retry_at=None, **_start_times(now))
    )
    if conn.execute(begin, {"now": now}).rowcount:
        store_events(conn, tenant, [NewEvent(run, StoredEventKind.RUN_STARTED, now)])
        return True
    return conn.scalar(sa.select(runs.c.state).where(_is_run(tenant, run))) == RunState.RUNNING.value


def _start_times(now: float) -> dict[str, sa.ColumnElement[float]]:
    """The times that a run gets when it begins. A second attempt after a crash keeps those of the first."""
    return {name: sa.func.coalesce(runs.c[name], now) for name in ("started_at", "time_limit_from")}


def _lock_site(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    site_of_run = sa.select(runs.c.site_id).where(_is_run(tenant, run)).scalar_subquery()
    conn.execute(sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.id == site_of_run).with_for_update())


def _is_run(tenant: TenantId, run: RunId) -> sa.ColumnElement[bool]:
    return sa.and_(runs.c.tenant_id == tenant, runs.c.id == run)


def move_run(conn: sa.Connection, tenant: TenantId, run: RunId, state: RunState, now: float, error: str = "") -> bool:
    """Start, interrupt or end a run; False when its state does not allow that."""
    allowed = [before.value for before, after in RUN_TRANSITIONS.items() if state in after]
    values: dict[str, object] = {"state": state.value, "error": storable(error) or ""}
    if state is RunState.RUNNING:
        values |= {"retry_at": None, **_start_times(now)}
    if state in ENDED:
        values["finished_at"] = now
    change = sa.update(runs).where(_is_run(tenant, run), runs.c.state.in_(allowed)).values(**values)
    is_moved = conn.execute(change).rowcount == 1
    if is_moved and state is RunState.RUNNING:
        store_events(conn, tenant, [NewEvent(run, StoredEventKind.RUN_STARTED, now)])
    if is_moved and state in ENDED:
        facts = {"state": state.value, **({"error": error} if error else {})}
        store_events(conn, tenant, [NewEvent(run, StoredEventKind.RUN_ENDED, now, facts=facts)])
        delete_old_events(conn, tenant, now)
    return is_moved


def end_run(conn: sa.Connection, tenant: TenantId, run: RunId, state: RunState, now: float, error: str = "") -> bool:
    """Finish the rows and end the run, in one transaction. False when it had ended already."""
    if state not in ENDED:
        raise AssertionError(f"{state} is not a final state")
    _lock_site(conn, tenant, run)  # before the run, in the same order as `begin_run`: the render statistics are written there
    lock_runs(conn, tenant, [run])
    moved = move_run(conn, tenant, run, state, now, error)
    if moved:
        finish_rows(conn, tenant, run)
        end_reservations(conn, tenant, run, sa.true(), are_used=False)
        update_render_stats(conn, tenant, run)
        _end_job(conn, tenant, run, state)
        ended = find_run(conn, tenant, run)
        if state is RunState.COMPLETED and ended is not None and ended.settings.audit:
            from sitelore.store.audits.audit_runs import queue_audit  # noqa: PLC0415 most runs have no audit

            queue_audit(conn, tenant, run)
    return moved


# Plain SQL: most commands need no tables of channels.
_released = sa.text("UPDATE crawl_jobs SET active = 0, follow_up = :follow_up WHERE tenant_id = :tenant AND run_id = :run")


def _end_job(conn: sa.Connection, tenant: TenantId, run: RunId, state: RunState) -> None:
    """Where the run is a crawl of a channel, release the channel for the next one."""
    values = {"tenant": tenant, "run": run, "follow_up": int(state is RunState.COMPLETED)}
    conn.execute(_released, values)


def crash_run(
    conn: sa.Connection, tenant: TenantId, run: RunId, error: str, now: float, pause_s: float, attempts: int
) -> RunState | None:
    """Queue a run again after a pause, or fail it after this many attempts; None when it was not RUNNING."""
    _lock_site(conn, tenant, run)  # before the run, in the same order as `end_run`, which fails the run below
    lock_runs(conn, tenant, [run])
    row = conn.execute(sa.select(runs.c.state, runs.c.attempts).where(_is_run(tenant, run))).one_or_none()
    if row is None or row.state != RunState.RUNNING.value:
        return None
    if row.attempts + 1 >= attempts:
        end_run(conn, tenant, run, RunState.FAILED, now, error)
        return RunState.FAILED
    values = {"state": RunState.QUEUED.value, "attempts": row.attempts + 1, "retry_at": now + pause_s}
    conn.execute(sa.update(runs).where(_is_run(tenant, run)).values(error=storable(error) or "", **values))
    return RunState.QUEUED


def resume_run(conn: sa.Connection, tenant: TenantId, run: RunId, now: float, time_limit_s: float | None = None) -> Run | None:
    """Queue an INTERRUPTED run again, with its full time limit or this new one; None when the run has ended.

    A run that still counts as RUNNING, because its worker was killed or others work on it, gets the full time as well.
    """
    _lock_site(conn, tenant, run)  # before the run, in the same order as `end_run`
    lock_runs(conn, tenant, [run])
    current = find_run(conn, tenant, run)
    if current is None or current.state in ENDED:
        return None
    values: dict[str, object] = {"time_limit_from": now if current.state is RunState.RUNNING else None}
    if time_limit_s is not None:
        values["settings"] = encode(replace(current.settings, time_limit_s=time_limit_s)).decode()
    if current.state is RunState.INTERRUPTED:
        values |= {"state": RunState.QUEUED.value, "error": "", "queue_round": next_round(conn, int(current.site))}
    conn.execute(sa.update(runs).where(_is_run(tenant, run)).values(**values))
    return find_run(conn, tenant, run)


def next_round(conn: sa.Connection, site: int) -> int:
    """The queue round of a new run of this site. The caller has locked the site's row."""
    with all_tenants(conn):  # the queue is shared
        running, queued, last_queued_of_site, running_of_site = conn.execute(_rounds, {"site": site}).one()
    current = running if running is not None else queued or 0
    last = last_queued_of_site if last_queued_of_site is not None else running_of_site
    return int(current if last is None else max(current, last + 1))


def first_queued_runs(conn: sa.Connection, limit: int, now: float, busy_sites: set[int]) -> list[str]:
    """Ids of the first queued run of each site that is not busy, in queue order, except runs that have to pause.

    Sites behind the front of the queue may be missing when a few sites fill it: they follow once these few are busy.
    """
    run_ids: list[str] = []
    excluded = set(busy_sites)
    max_rows = 2 * limit
    while True:
        rows = conn.execute(_front_of_queue, {"excluded_sites": sorted(excluded), "max_rows": max_rows}).all()
        for run, site, retry_at in rows:
            if site not in excluded:
                excluded.add(site)
                if retry_at is None or retry_at <= now:
                    run_ids.append(run)
        if run_ids or len(rows) < max_rows:
            return run_ids[:limit]
