"""Two tenants with the same site: no query of one sees a row of the other in any table, even without a condition of its own."""

from __future__ import annotations

import os
from dataclasses import replace

import msgspec
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from tests.ports.audits import audited, fix_request, repository_of
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, W1, admit_all, facts, link, seed, u
from tests.ports.test_search_index import EPOCH, MODEL, page_of, vector

from sitelore.model.access import StoredSession
from sitelore.model.document import PageLink
from sitelore.model.errors import SiteloreError
from sitelore.model.frontier import (
    Effects,
    IdempotencyKey,
    PatternYield,
    PrefetchTarget,
    RunCounts,
    Settlement,
    StoredEventKind,
    Verdict,
)
from sitelore.model.ids import TenantId
from sitelore.model.platform.accounts import Caller, UserRole
from sitelore.model.platform.channels import ChannelSettings, CrawlConfig, NewCrawl, Planned, ScheduleRule, Trigger
from sitelore.model.platform.media import ShownMedia
from sitelore.model.platform.tenant_settings import RetentionPolicy
from sitelore.model.platform.webhooks import WebhookEndpoint
from sitelore.model.response import RobotsFile
from sitelore.model.settings import CrawlSettings, MediaType
from sitelore.model.states import RunState, UrlState
from sitelore.platform.accounts.accounts import AccountService, TokenRequest
from sitelore.store.audits.audit_store import SqlAuditStore
from sitelore.store.audits.fix_requests import SqlFixStore
from sitelore.store.engine import Engine
from sitelore.store.frontier import waves
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.platform.accounts.repository import SqlAccounts
from sitelore.store.platform.channels.repository import SqlChannels
from sitelore.store.platform.schema import page_deletions
from sitelore.store.platform.tenant_settings import set_retention
from sitelore.store.platform.webhooks import SqlWebhooks
from sitelore.store.schema import complete_metadata, sites, tenants
from sitelore.store.site_sessions import save_session
from sitelore.store.tenants import APP_ROLE, for_all_tenants, for_tenant

TABLES = [table.name for table in complete_metadata().sorted_tables]
NOT_BY_TENANT = {
    "runs_queue",
    "runs_running",
    "runs_state",
    "audits_unfinished",
    "schedules_due",
    "tokens_by_id",
    "webhook_queues_due",
    "fix_requests_due",
}
"""Indexes of schedulers, maintenance and authentication, which serve all tenants."""
SHARED = {
    "tenants", "sites", "runs", "urls", "audits", "channels", "crawl_jobs", "schedules", "tokens", "webhook_endpoints",
    "webhook_queues", "fix_requests",
}  # fmt: skip
"""Tables that schedulers, maintenance and authentication read across tenants."""


async def fill_channels(channels: SqlChannels) -> None:
    """Store something in every table of channels."""
    channel = await channels.create_channel("shop", "Shop", "http://shop/", ChannelSettings(), NOW)
    assert channel is not None
    settings = CrawlSettings(seeds=(channel.url,))
    config, key = CrawlConfig(channel.url, 9, 3), IdempotencyKey("crawl", "")
    crawl = NewCrawl("shop", settings, (), config, Trigger.MANUAL, "test", key)
    assert await channels.start_crawl(channel.id, crawl, NOW)
    await channels.store_plans({channel.id: Planned(ScheduleRule("0 0 * * 0", "UTC"), NOW)})
    await channels.enter_brand({"primary_color": "#112233"}, NOW)


async def fill(ledger: SqlLedger, search_index: SqlSearchIndex, content: str) -> None:
    """Store something in every table."""
    webhooks = SqlWebhooks(ledger._engine, ledger._tenant)
    await webhooks.add_endpoint(WebhookEndpoint(f"hook-{content}", f"https://{content}.test/", (), "plain:secret", NOW))
    await ledger._write(set_retention, RetentionPolicy(events_s=NOW))
    await ledger._write(save_session, StoredSession("http://site.test", "aes256gcm:sealed", NOW, NOW))
    await ledger.save_robots(RobotsFile("http://site.test", NOW, 200, f"# {content}"))
    key = IdempotencyKey("key", content)
    settings = CrawlSettings(seeds=("http://site.test/",))
    run = (await ledger.create_run_once(key, "site", settings, [seed("a")], NOW)).run
    await ledger.begin_run(run.id, NOW)
    await ledger.open_wave(run.id, 0, admit_all)
    [lease] = await ledger.claim(run.id, W1, 9, NOW, 60.0)
    links = msgspec.msgpack.encode([PageLink(str(u("b")), "", content)])
    page = replace(facts(content), links=links)
    effects = Effects(page=page, offers=(link("b", lease),), fetched=True, redactions={"rule": 1}, shown=shown_media(content))
    assert await ledger.settle([Settlement(lease, Verdict(UrlState.VISITED, 200), effects, NOW)]) == [True]
    await ledger.start_prefetches(run.id, W1, [PrefetchTarget(u("b"), 1)], NOW, 60.0)
    counted = {"pattern": PatternYield(waves.STORED_FROM_PAGES, 1, 1)}
    await ledger._write(waves.store_counts, run.id, ["pattern"], counted, 1, 2)
    await search_index.open_epoch(run.site, EPOCH)
    await search_index.write_pages(run.site, EPOCH, [page_of(u("a"), content)])
    await search_index.put_vectors(
        MODEL, [(text.text_hash, vector(content)) for text in await search_index.texts_to_embed(MODEL, 9)]
    )
    await audited(SqlAuditStore(ledger._engine, ledger._tenant), run)
    fixes = SqlFixStore(ledger._engine, ledger._tenant)
    await fixes.save_repository(repository_of(run.site))
    assert (await fixes.request_fix(fix_request(run.site, f"fix-{content}")))[1] is None


async def fill_accounts(engine: Engine, tenant: TenantId, name: str) -> None:
    """Store a user, a token and, with each, an entry of the audit log."""
    accounts = AccountService(SqlAccounts(engine, tenant), lambda: NOW, Caller(tenant))
    user = await accounts.create_user(f"{name}@people.test", UserRole.OWNER)
    await accounts.create_token(TokenRequest(name, user=user.id))


def shown_media(content: str) -> tuple[ShownMedia, ...]:
    """A video that is not downloaded, so that the page alone makes a row in every table of media."""
    return (ShownMedia(u(f"video/{content}"), MediaType.VIDEO, provider="youtube", video_id=content),)


async def two_tenants(database: Database) -> tuple[Engine, list[TenantId]]:
    """Two tenants with the same site, whose pages differ."""
    engine = await database.engine()
    ids = []
    for name in ("red", "blue"):
        tenant = await SqlRunQueue(engine).create_tenant(name, NOW)
        ledger, channels = SqlLedger(engine, tenant.id), SqlChannels(engine, tenant.id)
        await fill(ledger, SqlSearchIndex(engine, tenant.id), name)
        await fill_channels(channels)
        await engine.write(for_tenant, _delete_a_page, tenant.id)
        await fill_accounts(engine, tenant.id, name)
        ids.append(tenant.id)
    return engine, ids


def _delete_a_page(conn: sa.Connection, tenant: TenantId) -> None:
    site = conn.scalar(sa.select(sa.func.min(sites.c.id)).where(sites.c.tenant_id == tenant))
    values = {"tenant_id": tenant, "site_id": site, "url_id": 1, "run_id": "r"}
    conn.execute(sa.insert(page_deletions).values(values))


def count(conn: sa.Connection, _tenant: TenantId, table: str) -> int:
    return int(conn.scalar(sa.text(f"SELECT count(*) FROM {table}")) or 0)


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_query_without_a_condition_sees_the_rows_of_its_own_tenant_only(database: Database) -> None:
    engine, ids = await two_tenants(database)
    owner = await database.owner()
    for table in TABLES:
        column = "id" if table == "tenants" else "tenant_id"
        stored = {tenant: await owner.read(_rows_of, table, column, tenant) for tenant in ids}
        assert all(stored.values()), f"{table} is not covered: `fill` must store a row in it"
        for tenant in ids:
            assert await engine.read(for_tenant, count, tenant, table) == stored[tenant], table
        assert await engine.read(count, ids[0], table) == 0, f"{table} is visible without a tenant"
        across = await engine.read(for_all_tenants, count, ids[0], table)
        assert across == (await owner.read(count, ids[0], table) if table in SHARED else 0), table


def _rows_of(conn: sa.Connection, table: str, column: str, tenant: int) -> int:
    return int(conn.scalar(sa.text(f"SELECT count(*) FROM {table} WHERE {column} = :tenant"), {"tenant": tenant}) or 0)


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_tenant_cannot_write_rows_of_another(database: Database) -> None:
    engine, [red, blue] = await two_tenants(database)
    for table in (table for table in complete_metadata().sorted_tables if table is not tenants):
        stolen = sa.update(table).values(tenant_id=red).where(table.c.tenant_id == blue)
        assert await engine.write(for_tenant, lambda conn, _, change: conn.execute(change).rowcount, red, stolen) == 0
        removed = sa.delete(table).where(table.c.tenant_id == blue)
        assert await engine.write(for_tenant, lambda conn, _, change: conn.execute(change).rowcount, red, removed) == 0
        transfer = sa.update(table).values(tenant_id=blue).where(table.c.tenant_id == red)
        with pytest.raises((SiteloreError, DBAPIError), match=r"permission|row-level security|violates"):
            await engine.write(for_tenant, lambda conn, _, change: conn.execute(change).rowcount, red, transfer)


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_every_table_has_a_policy_that_even_its_owner_obeys(database: Database) -> None:
    engine, owner = await database.engine(), await database.owner()
    secured = sa.text(
        "SELECT relname FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')"
        " AND relrowsecurity AND relforcerowsecurity AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid)"
    )
    assert set(await owner.read(lambda conn: conn.scalars(secured).all())) == set(TABLES)
    every = sa.text(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')"
    )
    assert set(await owner.read(lambda conn: conn.scalars(every).all())) == {*TABLES, "alembic_version"}
    role = sa.text("SELECT current_user, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
    assert tuple(await engine.read(lambda conn: conn.execute(role).one())) == (APP_ROLE, False, False)
    owners = sa.text("SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'public'::regnamespace")
    assert APP_ROLE not in await owner.read(lambda conn: conn.scalars(owners).all())


@pytest.mark.parametrize("new_database", ["postgres"], indirect=True)
async def test_a_plain_owner_of_the_tables_needs_no_other_role(new_database: Database) -> None:
    owner, role = await new_database.owner(), f"plain_{os.urandom(4).hex()}"
    await owner.write(lambda conn: conn.exec_driver_sql(f"CREATE ROLE {role} LOGIN"))
    await owner.write(lambda conn: conn.exec_driver_sql(f"GRANT CREATE, USAGE ON SCHEMA public TO {role}"))
    plain = Database(sa.make_url(str(new_database.where)).set(username=role).render_as_string(hide_password=False))
    try:
        engine, [red, _] = await two_tenants(plain)
        assert await engine.read(lambda conn: conn.exec_driver_sql("SELECT current_user").scalar_one()) == role
        assert await engine.read(for_tenant, count, red, "pages") == 1
        assert await engine.read(count, red, "pages") == 0
    finally:
        await plain.close()
        await owner.write(lambda conn: conn.exec_driver_sql(f"DROP OWNED BY {role} CASCADE"))
        await owner.write(lambda conn: conn.exec_driver_sql(f"DROP ROLE {role}"))


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_the_tenant_of_a_transaction_does_not_stay_with_the_connection(database: Database) -> None:
    engine, [red, _] = await two_tenants(database)
    for _ in range(6):  # more often than there are connections
        assert await engine.read(for_tenant, count, red, "pages") == 1
        with pytest.raises(DBAPIError):
            await engine.read(for_tenant, lambda conn, _: conn.execute(sa.text("SELECT nothing FROM nowhere")), red)
        assert await engine.read(count, red, "pages") == 0


def test_every_key_and_index_starts_with_the_tenant() -> None:
    for table in complete_metadata().sorted_tables:
        if table is not tenants:
            assert next(iter(table.primary_key)).name == "tenant_id", table.name
        for index in table.indexes:
            if index.name not in NOT_BY_TENANT:
                assert next(iter(index.columns)).name == "tenant_id", index.name


async def test_the_ledger_of_a_tenant_does_not_find_what_another_has(database: Database) -> None:
    engine, [red, blue] = await two_tenants(database)
    ours, theirs = SqlLedger(engine, red), SqlLedger(engine, blue)
    [run] = [run for run in await theirs.runs() if run.site_name == "site"]
    assert await ours.run(run.id) is None
    assert await ours.row(run.id, u("a")) is None
    assert [row async for row in ours.rows(run.id)] == []
    assert [edge async for edge in ours.edges(run.id)] == []
    assert [version async for version in ours.page_versions(run.site)] == []
    assert await ours.counts(run.id) == RunCounts()
    assert await ours.known(run.site, u("a")) is None
    assert await ours.inlinks(run.site, u("b")) == []
    assert await ours.page_history(run.site, u("a")) == []
    assert await ours.events(0, 9, run.id) == []
    assert await ours.claim(run.id, W1, 9, NOW, 60.0) == []
    assert not await ours.end_run(run.id, RunState.CANCELLED, NOW)
    assert not await ours.delete_run(run.id)
    assert not await ours.delete_site(run.site)
    robots = await ours.robots("http://site.test")
    assert robots is not None
    assert robots.body == "# red"
    again = await ours.create_run_once(IdempotencyKey("key", "red"), "site", run.settings, [], NOW)
    assert (again.is_new, again.run.tenant) == (False, red), "a key of another tenant does not count"
    assert len({key async for part in ours.blob_references() for key in part} & {"docblue"}) == 0
    index = SqlSearchIndex(engine, red)
    assert await index.chunk_records(run.site, [1]) == []
    assert await index.postings(run.site, ["blue"]) == {}
    assert [stats.site for stats in await index.site_stats()] != [run.site]


async def test_a_deleted_tenant_leaves_no_row_in_any_table_and_those_of_another_stay(database: Database) -> None:
    engine, [red, blue] = await two_tenants(database)
    owner = await database.owner()
    columns = {table: "id" if table == "tenants" else "tenant_id" for table in TABLES}
    theirs = {table: await owner.read(_rows_of, table, column, red) for table, column in columns.items()}
    assert all(theirs.values())
    ledger = SqlLedger(engine, blue)
    for run in await ledger.runs():
        assert await ledger.end_run(run.id, RunState.CANCELLED, NOW)
    assert await ledger.delete_tenant()
    left = {table: await owner.read(_rows_of, table, column, blue) for table, column in columns.items()}
    assert {table: count for table, count in left.items() if count} == {}
    assert {table: await owner.read(_rows_of, table, column, red) for table, column in columns.items()} == theirs


async def test_events_are_stored_with_what_they_report(database: Database) -> None:
    [ledger] = await database.tenants("events")
    run = await ledger.create_run("site", CrawlSettings(), [seed("a"), seed("b", 1)], NOW)
    await ledger.begin_run(run.id, NOW)
    await ledger.open_wave(run.id, 0, admit_all)
    first, second = await ledger.claim(run.id, W1, 9, NOW, 60.0)
    effects = Effects(page=facts("x"), fetched=True)
    settlement = Settlement(first, Verdict(UrlState.VISITED, 200), effects, NOW + 1)
    assert await ledger.settle([settlement, Settlement(second, Verdict(UrlState.NOT_FOUND, 404), Effects(fetched=True), NOW)])
    assert await ledger.settle([settlement]) == [False], "a rejected settlement reports nothing"
    await ledger.end_run(run.id, RunState.COMPLETED, NOW + 2)
    stored = await ledger.events(0, 99)
    assert [(event.kind, event.at, event.url) for event in stored] == [
        (StoredEventKind.RUN_STARTED, NOW, None),
        (StoredEventKind.PAGE_NEW, NOW + 1, u("a")),
        (StoredEventKind.RUN_ENDED, NOW + 2, None),
    ]
    assert stored[-1].facts == {"state": "COMPLETED"}
    assert [event.id for event in stored] == sorted({event.id for event in stored})
    assert await ledger.events(stored[1].id, 99) == stored[2:]
    assert await ledger.events(0, 1) == stored[:1]
