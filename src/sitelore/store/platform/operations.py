"""Lists over all tenants for the operator of an installation (`platform_ports.Operations`)."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from sitelore.model.ids import RunId, TenantId
from sitelore.model.platform.operations import ActiveRun, DeadLetters, HeldSite, PlatformStats, WorkerLease
from sitelore.store.engine import Engine
from sitelore.store.platform.schema import schedules, webhook_deliveries, webhook_endpoints
from sitelore.store.rows import RUN_COLUMNS, RUNS_WITH_SITES, run_of
from sitelore.store.schema import IS_SEARCHABLE, NEEDS_INDEXING, pages, runs, sites, tenants, urls
from sitelore.store.tenants import SUSPENDED, each_tenant, for_all_tenants

_active_runs = (
    sa.select(*RUN_COLUMNS, tenants.c.name)
    .select_from(RUNS_WITH_SITES.join(tenants, tenants.c.id == runs.c.tenant_id))
    .where(runs.c.state.in_(("RUNNING", "QUEUED")))
    .order_by(runs.c.state.desc(), runs.c.queue_round, runs.c.created_at, runs.c.id)
)
_leases = (
    sa.select(urls.c.claimed_by, runs.c.id, sa.func.count(), sa.func.max(urls.c.lease_until))
    .select_from(runs.join(urls, sa.and_(urls.c.tenant_id == runs.c.tenant_id, urls.c.run_number == runs.c.number)))
    # As in the partial index `urls_admitted`.
    .where(sa.text("runs.state = 'RUNNING'"), urls.c.state == sa.text("'IN_PROGRESS'"), urls.c.seq.is_not(None))
    .where(urls.c.claimed_by.is_not(None))
    .group_by(urls.c.claimed_by, runs.c.id)
    .order_by(urls.c.claimed_by, runs.c.id)
)


class SqlOperations:
    """Reads that cross the tenants of one database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def active_runs(self, limit: int) -> list[ActiveRun]:
        """Runs of all tenants that are crawled, then those that wait, in the order of the queue."""
        return await self._engine.read(for_all_tenants, active_runs, limit)

    async def leases(self) -> list[WorkerLease]:
        """Which workers hold URLs of which runs."""
        return await self._engine.read(for_all_tenants, leases)

    async def held_sites(self) -> list[HeldSite]:
        """Sites of all tenants whose deletions are held back."""
        return await self._engine.read_long(for_all_tenants, held_sites)

    async def dead_letters(self) -> list[DeadLetters]:
        """Webhook endpoints of all tenants with dead letters."""
        return await self._engine.read_long(for_all_tenants, dead_letters)

    async def stats(self, now: float) -> PlatformStats:
        """Numbers over all tenants, for metrics."""
        return await self._engine.read_long(for_all_tenants, stats, now)


def active_runs(conn: sa.Connection, limit: int) -> list[ActiveRun]:
    """Runs of all tenants that are crawled, then those that wait, in the order of the queue."""
    return [ActiveRun(row[-1], run_of(row[:-1])) for row in conn.execute(_active_runs.limit(limit))]


def leases(conn: sa.Connection) -> list[WorkerLease]:
    """Which workers hold URLs of which runs."""
    return [WorkerLease(worker, RunId(run), count, until) for worker, run, count, until in conn.execute(_leases)]


def held_sites(conn: sa.Connection) -> list[HeldSite]:
    """Sites of all tenants whose deletions are held back. Visits one tenant after the other, whose rows no other sees."""
    return [held for tenant in each_tenant(conn) for held in _held_sites_of(conn, tenant)]


def _held_sites_of(conn: sa.Connection, tenant: TenantId) -> Iterator[HeldSite]:
    of_site = sa.and_(sites.c.tenant_id == pages.c.tenant_id, sites.c.id == pages.c.site_id)
    query = (
        sa.select(tenants.c.name, sites.c.name, sa.func.count())
        .select_from(pages.join(sites, of_site).join(tenants, tenants.c.id == pages.c.tenant_id))
        .where(pages.c.tenant_id == tenant, pages.c.held == 1)
        .group_by(tenants.c.name, sites.c.name)
        .order_by(sites.c.name)
    )
    for name, site, count in conn.execute(query):
        yield HeldSite(tenant, name, site, count)


def dead_letters(conn: sa.Connection) -> list[DeadLetters]:
    """Webhook endpoints of all tenants with dead letters."""
    return [letters for tenant in each_tenant(conn) for letters in _dead_letters_of(conn, tenant)]


def _dead_letters_of(conn: sa.Connection, tenant: TenantId) -> Iterator[DeadLetters]:
    d, e = webhook_deliveries.c, webhook_endpoints.c
    of_endpoint = sa.and_(e.tenant_id == d.tenant_id, e.id == d.endpoint_id)
    query = (
        sa.select(tenants.c.name, e.id, e.url, e.enabled, sa.func.count(), sa.func.min(d.created_at), sa.func.max(d.created_at))
        .select_from(webhook_deliveries.join(webhook_endpoints, of_endpoint).join(tenants, tenants.c.id == d.tenant_id))
        .where(d.tenant_id == tenant, sa.text("webhook_deliveries.state = 'DEAD'"))  # as in the partial index
        .group_by(tenants.c.name, e.id, e.url, e.enabled)
        .order_by(e.id)
    )
    for name, webhook, url, enabled, count, oldest, newest in conn.execute(query):
        yield DeadLetters(tenant, name, webhook, url, bool(enabled), count, oldest, newest)


def stats(conn: sa.Connection, now: float) -> PlatformStats:
    """The schedules of tenants that are not suspended, and the pages that wait for the index."""
    c = schedules.c
    active = sa.select(sa.func.count(), sa.func.min(c.due_at)).where(c.tenant_id.not_in(SUSPENDED))
    count, due_at = conn.execute(active).one()
    # As in the partial index `pages_to_index`.
    waiting = sa.select(sa.func.count()).select_from(pages).where(sa.text(IS_SEARCHABLE), sa.text(NEEDS_INDEXING))
    to_index = sum(conn.scalar(waiting.where(pages.c.tenant_id == tenant)) or 0 for tenant in each_tenant(conn))
    return PlatformStats(count, 0.0 if due_at is None else max(0.0, now - due_at), to_index)
