"""Crawls of channels: started one at a time per channel, listed, and followed up when they have completed.

A crawl is a run with a row in `crawl_jobs`. The row of the site is locked while one is started, so of two starts the second
sees the first; the partial unique index `crawl_jobs_active` enforces it. `runs/lifecycle.py` releases the channel in the
transaction that ends the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.frontier import MediaCounts, Run
from sitelore.model.ids import RunId, TenantId
from sitelore.model.platform.channels import CrawlConfig, CrawlJob, NewCrawl, StartedCrawl, Trigger
from sitelore.model.states import RunState
from sitelore.store.platform.channels.pages import indexed_pages_of_run
from sitelore.store.platform.schema import channels, crawl_jobs
from sitelore.store.rows import RUN_COLUMNS, encode, run_of, storable
from sitelore.store.runs.counts import counts, media_counts
from sitelore.store.runs.lifecycle import create_run, end_run
from sitelore.store.runs.listing import create_under_key
from sitelore.store.schema import run_counts, runs, sites
from sitelore.store.statements import read_page

_config_decoder = msgspec.json.Decoder(CrawlConfig)
_c = crawl_jobs.c
_IS_ACTIVE = sa.text("crawl_jobs.active = 1")  # spelled as in the partial index
_NEEDS_FOLLOW_UP = sa.text("crawl_jobs.follow_up = 1")
_JOB_COLUMNS = (_c.channel_id, _c.trigger_type, _c.triggered_by, _c.scheduled_for, _c.config)
_jobs = sa.select(*_JOB_COLUMNS, *RUN_COLUMNS).select_from(
    crawl_jobs.join(runs, sa.and_(runs.c.tenant_id == _c.tenant_id, runs.c.id == _c.run_id)).join(
        sites, sa.and_(sites.c.tenant_id == runs.c.tenant_id, sites.c.id == runs.c.site_id)
    )
)


def start_crawl(
    conn: sa.Connection, tenant: TenantId, channel: str, crawl: NewCrawl, now: float, scheduled_for: float | None = None
) -> StartedCrawl | None:
    """Create the run of a crawl, unless one is active. None when the channel does not exist.

    An interrupted crawl is cancelled: nothing works on it, and it must not block the channel.
    """
    lock_site_of(conn, tenant, channel)
    if conn.scalar(sa.select(channels.c.id).where(channels.c.tenant_id == tenant, channels.c.id == channel)) is None:
        return None

    def create() -> Run | None:
        active = active_run(conn, tenant, channel, now)
        return None if active is not None else _create(conn, tenant, channel, crawl, now, scheduled_for)

    once = create_under_key(conn, tenant, crawl.key, now, create)
    if once is not None:
        return StartedCrawl(once.run.id, once.is_new, fingerprint=once.fingerprint)
    active = active_run(conn, tenant, channel, now)
    assert active is not None  # that is why there is no new one
    return StartedCrawl(active, is_new=False, is_refused=True)


def lock_site_of(conn: sa.Connection, tenant: TenantId, channel: str) -> None:
    """Lock the row of the channel's site, which serialises starts, scheduled starts, page deletions and deletion."""
    site = sa.select(channels.c.site_id).where(channels.c.tenant_id == tenant, channels.c.id == channel).scalar_subquery()
    query = sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.id == site)
    conn.execute(query.with_for_update())


def active_run(conn: sa.Connection, tenant: TenantId, channel: str, now: float) -> RunId | None:
    """The run of the channel that is queued or running. One that was interrupted is cancelled."""
    query = sa.select(runs.c.id, runs.c.state).select_from(
        crawl_jobs.join(runs, sa.and_(runs.c.tenant_id == _c.tenant_id, runs.c.id == _c.run_id))
    )
    row = conn.execute(query.where(_c.tenant_id == tenant, _c.channel_id == channel, _IS_ACTIVE)).one_or_none()
    if row is None:
        return None
    if row.state == RunState.INTERRUPTED.value:
        end_run(conn, tenant, RunId(row.id), RunState.CANCELLED, now)
        return None
    return RunId(row.id)


def _create(
    conn: sa.Connection, tenant: TenantId, channel: str, crawl: NewCrawl, now: float, scheduled_for: float | None
) -> Run:
    run = create_run(conn, tenant, crawl.site_name, crawl.settings, crawl.offers, now)
    values = {
        "tenant_id": tenant, "run_id": run.id, "channel_id": channel, "trigger_type": crawl.trigger.value,
        "triggered_by": storable(crawl.triggered_by) or "", "scheduled_for": scheduled_for,
        "config": encode(crawl.config).decode(), "active": 1, "follow_up": 0,
    }  # fmt: skip
    conn.execute(sa.insert(crawl_jobs).values(values))
    return run


def list_jobs(
    conn: sa.Connection,
    tenant: TenantId,
    channel: str,
    limit: int,
    offset: int = 0,
    states: Sequence[RunState] = (),
) -> tuple[list[CrawlJob], int]:
    """A page of the channel's crawls, newest first, and the total."""
    condition = sa.and_(_c.tenant_id == tenant, _c.channel_id == channel)
    if states:
        condition &= runs.c.state.in_(sorted(state.value for state in states))
    rows, total = read_page(conn, _jobs.where(condition).order_by(_c.run_id.desc()), limit, offset)
    return [_job_of(conn, tenant, row) for row in rows], total


def find_job(conn: sa.Connection, tenant: TenantId, run: RunId) -> CrawlJob | None:
    """The crawl of this run; None when the run does not belong to a channel."""
    row = conn.execute(_jobs.where(_c.tenant_id == tenant, _c.run_id == run)).one_or_none()
    return None if row is None else _job_of(conn, tenant, row)


def media_of_crawls(conn: sa.Connection, tenant: TenantId, channel: str) -> MediaCounts:
    """The media figures of the channel, summed over its crawls."""
    n = run_counts.c
    of_crawl = sa.and_(n.tenant_id == _c.tenant_id, n.run_id == _c.run_id)
    query = sa.select(n.name, sa.func.sum(n.value)).select_from(crawl_jobs.join(run_counts, of_crawl))
    query = query.where(_c.tenant_id == tenant, _c.channel_id == channel).group_by(n.name)
    return media_counts({name: int(value) for name, value in conn.execute(query)})


def jobs_to_follow_up(conn: sa.Connection, limit: int) -> list[tuple[TenantId, RunId]]:
    """Crawls of all tenants that have completed and were not followed up."""
    query = sa.select(_c.tenant_id, _c.run_id).where(_NEEDS_FOLLOW_UP).order_by(_c.tenant_id, _c.run_id).limit(limit)
    return [(TenantId(tenant), RunId(run)) for tenant, run in conn.execute(query)]


def followed_up(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    """Mark a crawl as followed up."""
    conn.execute(sa.update(crawl_jobs).where(_c.tenant_id == tenant, _c.run_id == run).values(follow_up=0))


def _job_of(conn: sa.Connection, tenant: TenantId, row: Any) -> CrawlJob:
    channel, trigger, by, scheduled_for, config, *run_columns = row
    run = run_of(run_columns)
    return CrawlJob(
        channel=channel,
        run=run,
        trigger=Trigger(trigger),
        triggered_by=by,
        config=_config_decoder.decode(config),
        scheduled_for=scheduled_for,
        counts=counts(conn, tenant, run.id),
        pages_indexed=indexed_pages_of_run(conn, tenant, run.id),
    )
