"""What the operator sees over all tenants, on SQLite and Postgres."""

from __future__ import annotations

import sqlalchemy as sa
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, W1, admit_all, leases, seed, started, visited

from sitelore.model.ids import TenantId
from sitelore.model.platform.operations import DeadLetters, HeldSite, WorkerLease
from sitelore.model.platform.webhooks import WebhookEndpoint
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState
from sitelore.store.platform.operations import SqlOperations
from sitelore.store.platform.schema import webhook_deliveries
from sitelore.store.platform.webhooks import SqlWebhooks
from sitelore.store.schema import pages
from sitelore.store.tenants import for_tenant


async def test_active_runs_of_all_tenants_are_listed_with_the_workers_that_hold_their_urls(database: Database) -> None:
    red, blue = await database.tenants("red", "blue")
    operations = SqlOperations(await database.engine())
    assert (await operations.active_runs(10), await operations.leases()) == ([], [])
    queued = await blue.create_run("waits.test", CrawlSettings(seeds=("http://waits.test/",)), [seed("")], NOW)
    running = await red.create_run("busy.test", CrawlSettings(seeds=("http://busy.test/",)), [seed(""), seed("a", 1)], NOW + 1)
    await red.move_run(running.id, RunState.RUNNING, NOW)
    await red.open_wave(running.id, 0, admit_all)
    assert await operations.leases() == []
    held = await leases(red, running)
    active = await operations.active_runs(10)
    assert [(each.tenant_name, each.run.id, each.run.state) for each in active] == [
        ("red", running.id, RunState.RUNNING), ("blue", queued.id, RunState.QUEUED),
    ]  # fmt: skip
    assert await operations.leases() == [WorkerLease(W1, running.id, 2, NOW + 60)]
    await red.settle([visited(held[0])])
    assert [lease.urls for lease in await operations.leases()] == [1]
    assert len(await operations.active_runs(1)) == 1


async def test_held_deletions_and_dead_letters_of_all_tenants_are_counted(database: Database) -> None:
    red, blue = await database.tenants("red", "blue")
    engine = await database.engine()
    operations = SqlOperations(engine)
    ids = {tenant.name: tenant.id for tenant in await (await database.queue()).tenants()}
    for ledger, paths in ((red, ("", "a")), (blue, ("",))):
        _, claimed = await started(ledger, *paths, site="site.test")
        await ledger.settle([visited(lease, str(lease.seq)) for lease in claimed])
    assert await operations.held_sites() == []

    def hold(conn: sa.Connection, tenant: TenantId) -> None:
        conn.execute(sa.update(pages).where(pages.c.tenant_id == tenant).values(held=1))

    await engine.write(for_tenant, hold, ids["red"])
    assert await operations.held_sites() == [HeldSite(ids["red"], "red", "site.test", 2)]

    assert await operations.dead_letters() == []
    await SqlWebhooks(engine, ids["blue"]).add_endpoint(WebhookEndpoint("hook", "https://blue.test/secret", (), "plain:x", NOW))

    def die(conn: sa.Connection, tenant: TenantId) -> None:
        row = {"tenant_id": tenant, "endpoint_id": "hook", "run_id": "r", "type": "run.completed"}
        times = (("DEAD", NOW), ("DEAD", NOW + 5), ("DELIVERED", NOW + 9))
        for number, (state, at) in enumerate(times):
            conn.execute(sa.insert(webhook_deliveries).values(**row, event_id=number, state=state, created_at=at))

    await engine.write(for_tenant, die, ids["blue"])
    assert await operations.dead_letters() == [
        DeadLetters(ids["blue"], "blue", "hook", "https://blue.test/secret", True, 2, NOW, NOW + 5)
    ]
