"""Schedules of channels. The caller decides what an occurrence does; each function stores one decision in one transaction.

Several servers look for due schedules. The one whose transaction moves `next_at` first handles the occurrence; for the others
the comparison fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import RunId, TenantId
from sitelore.model.platform.channels import NewCrawl, Occurrence, Outcome, Planned, Schedule, ScheduleRule
from sitelore.store.platform.channels.crawl_jobs import lock_site_of, start_crawl
from sitelore.store.platform.schema import crawl_jobs, schedules
from sitelore.store.schema import runs
from sitelore.store.statements import put_row
from sitelore.store.tenants import SUSPENDED

_c = schedules.c
_COLUMNS = (
    _c.tenant_id, _c.channel_id, _c.cron, _c.time_zone, _c.jitter_s, _c.next_at, _c.last_at, _c.last_outcome, _c.last_missed,
    _c.last_run, _c.missed, _c.skipped,
)  # fmt: skip


def due_schedules(conn: sa.Connection, now: float, limit: int) -> list[Schedule]:
    """Schedules whose next crawl should start by now, the longest overdue first; not those of suspended tenants."""
    query = sa.select(*_COLUMNS).where(_c.due_at <= now, _c.tenant_id.not_in(SUSPENDED))
    query = query.order_by(_c.due_at, _c.tenant_id, _c.channel_id).limit(limit)
    return [_schedule_of(row) for row in conn.execute(query)]


def find_schedule(conn: sa.Connection, tenant: TenantId, channel: str) -> Schedule | None:
    """The schedule of a channel."""
    row = conn.execute(sa.select(*_COLUMNS).where(_c.tenant_id == tenant, _c.channel_id == channel)).one_or_none()
    return None if row is None else _schedule_of(row)


def next_scheduled(conn: sa.Connection, tenant: TenantId) -> float | None:
    """When the next scheduled crawl of the tenant starts."""
    due_at: float | None = conn.scalar(sa.select(sa.func.min(_c.due_at)).where(_c.tenant_id == tenant))
    return due_at


def crawled_channels(conn: sa.Connection, tenant: TenantId) -> list[str]:
    """Channels with a crawl that has completed: these may have a schedule."""
    joined = crawl_jobs.join(runs, sa.and_(runs.c.tenant_id == crawl_jobs.c.tenant_id, runs.c.id == crawl_jobs.c.run_id))
    query = sa.select(crawl_jobs.c.channel_id).select_from(joined).distinct()
    completed = sa.and_(crawl_jobs.c.tenant_id == tenant, runs.c.state == sa.text("'COMPLETED'"))
    scheduled = sa.select(_c.channel_id).where(_c.tenant_id == tenant)
    return sorted({*conn.scalars(query.where(completed)), *conn.scalars(scheduled)})


def store_plans(conn: sa.Connection, tenant: TenantId, plans: Mapping[str, Planned | None], *, keep: bool = False) -> None:
    """Create or change the schedules of these channels; None deletes one. `keep`: one with the same rule stays as it is."""
    for channel, planned in sorted(plans.items()):
        if planned is None:
            conn.execute(sa.delete(schedules).where(_c.tenant_id == tenant, _c.channel_id == channel))
            continue
        current = find_schedule(conn, tenant, channel)
        if keep and current is not None and current.planned.rule == planned.rule:
            continue
        put_row(conn, schedules, {"tenant_id": tenant, "channel_id": channel}, _plan_values(planned))


def handle_occurrence(
    conn: sa.Connection, tenant: TenantId, before: Schedule, occurrence: Occurrence, crawl: NewCrawl | None, now: float
) -> Schedule | None:
    """Start the crawl of a due occurrence and set the next one.

    None when another server has done so, or the schedule has changed since it was read as `before`.
    Skips the occurrence while a crawl of the channel is active. Without a crawl, only records that none could be started.
    """
    channel = before.channel
    lock_site_of(conn, tenant, channel)
    query = sa.select(*_COLUMNS).where(_c.tenant_id == tenant, _c.channel_id == channel)
    row = conn.execute(query.with_for_update()).one_or_none()
    current = None if row is None else _schedule_of(row)
    if current is None or current.planned != before.planned:
        return None
    run: RunId | None = None
    outcome = Outcome.FAILED
    if crawl is not None:
        started = start_crawl(conn, tenant, channel, crawl, now, occurrence.scheduled_for)
        if started is None:
            return None
        run, outcome = started.run, Outcome.SKIPPED if started.is_refused else Outcome.STARTED
    changes = {
        **_plan_values(occurrence.next),
        "last_at": occurrence.scheduled_for,
        "last_outcome": outcome.value,
        "last_missed": occurrence.missed,
        "missed": current.missed + occurrence.missed,
        "skipped": current.skipped + int(outcome is Outcome.SKIPPED),
        "last_run": run if outcome is Outcome.STARTED else current.last_run,
    }
    conn.execute(sa.update(schedules).where(_c.tenant_id == tenant, _c.channel_id == channel).values(changes))
    return find_schedule(conn, tenant, channel)


def _plan_values(planned: Planned) -> dict[str, Any]:
    rule = planned.rule
    return {
        "cron": rule.cron, "time_zone": rule.time_zone, "jitter_s": rule.jitter_s, "next_at": planned.next_at,
        "due_at": planned.due_at,
    }  # fmt: skip


def _schedule_of(row: Any) -> Schedule:
    tenant, channel, cron, zone, jitter_s, next_at, last_at, outcome, last_missed, last_run, missed, skipped = row
    planned = Planned(ScheduleRule(cron, zone, jitter_s), next_at)
    last_outcome = None if outcome is None else Outcome(outcome)
    return Schedule(tenant, channel, planned, last_at, last_outcome, last_missed, last_run, missed, skipped)
