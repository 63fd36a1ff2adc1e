"""Deleted sites and runs: nothing of them is left, and crawls of other sites are undisturbed."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest
from scripts.servers import LocalServers
from tests.support.crawls import CrawlResult, crawl, crawl_in, crawl_settings, run_cli
from tests.support.http_server import HttpServer, Pages, page, prose, serve_site, site
from tests.support.webhook_receiver import Reply, receiver
from tests.support.workers import export, scaled_app

from sitelore.app.app import App
from sitelore.app.operations.deletion import (
    cancel_and_delete_tenant,
    delete_expired,
    delete_runs,
    delete_site,
    delete_tenant,
    keep_deleting_expired,
    keep_vacuuming,
    purge_deleted_blobs,
    soft_delete_unreferenced_blobs,
)
from sitelore.app.wiring import embedded
from sitelore.crawl.context import Progress
from sitelore.crawl.runs import start_run
from sitelore.model.frontier import Tenant
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.platform.media import screenshot_key
from sitelore.model.platform.tenant_settings import RetentionPolicy, default_retention
from sitelore.model.platform.webhooks import DeliveryListing
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState

MARKER = "quokkasecret"
PAGES = 40
DEFAULT = Tenant(DEFAULT_TENANT, "default", 0.0)


def marked_site() -> Pages:
    """Pages with the marker in URL, title, text and link text."""
    pages = {
        f"/{MARKER}-{number}": page(f"{MARKER.title()} {number}", f"{MARKER} {prose(f'{MARKER}{number}', 60)}", links=("/",))
        for number in range(8)
    }
    pages["/"] = page(f"All of {MARKER}", prose("home"), links=tuple(pages))
    return site(pages)


def other_site() -> Pages:
    """A home page that links to the first of a list of pages, each of which links to the next three."""
    pages = {
        f"/p{number}": page(
            f"Page {number}",
            prose(f"page {number}"),
            links=tuple(f"/p{number + step}" for step in (1, 2, 3) if number + step < PAGES),
        )
        for number in range(PAGES)
    }
    pages["/"] = page("Home", prose("home of the other"), links=("/p0",))
    return site(pages)


def stored_bytes(data: Path) -> list[bytes]:
    """Parts of all stored blobs, as they are in the file: compressed contents have no plain text to look for."""
    with closing(sqlite3.connect(data / "blobs.db")) as db:
        return [bytes(row[0])[20:60] for row in db.execute("SELECT data FROM blobs WHERE length(data) > 60")]


def left_of(data: Path, contents: list[bytes]) -> list[str]:
    """The files that hold the marker in any spelling, or one of these contents, each with what it holds."""
    left = []
    for path in sorted(path for path in data.rglob("*") if path.is_file()):
        stored = path.read_bytes()
        left += [f"{path.name}: {MARKER}"] if MARKER.encode() in stored.lower() else []
        left += [f"{path.name}: {content!r}" for content in contents if content in stored]
    return left


async def site_of(app: App, result: CrawlResult) -> None:
    """Delete the site of a crawl."""
    await delete_site(app, DEFAULT, result.run.site)


async def crawl_marked(app: App, http_server: HttpServer) -> CrawlResult:
    """Crawl the marked site twice, with a change of a page in between, and index it."""
    await crawl_in(app, crawl_settings(http_server.url()))
    await app.search_service.update_lexical_index(asyncio.Event())
    http_server.edit(f"/{MARKER}-3")
    result = await crawl_in(app, crawl_settings(http_server.url()))
    await app.search_service.update_lexical_index(asyncio.Event())
    return result


async def crawl_other(app: App, settings: CrawlSettings) -> bytes:
    """Crawl the other site in an app; its export."""
    run = await app.crawl(await app.create_run(settings), Progress(), asyncio.Event())
    assert (await app.ledger.counts(run.id)).pages == PAGES + 1
    return await export(app, run)


async def test_a_site_deleted_beside_a_crawl_leaves_no_byte_and_the_crawl_is_undisturbed(tmp_path: Path) -> None:
    data, undisturbed = tmp_path / "data", tmp_path / "undisturbed"
    with serve_site(marked_site()) as marked, serve_site(other_site()) as other:
        settings = crawl_settings(other.url())
        for directory in (data, undisturbed):
            await crawl(directory, settings)
        other.edit("/p5")  # the second crawl finds one page changed and the others unchanged
        async with embedded(undisturbed, writing=True) as app:
            expected = await crawl_other(app, settings)
        async with embedded(data, writing=True) as app:
            before = set(stored_bytes(data))
            result = await crawl_marked(app, marked)
            contents = [content for content in stored_bytes(data) if content not in before]
            assert len(contents) > 16
            assert left_of(data, contents)
            other.clear_log()
            crawling = asyncio.create_task(crawl_other(app, settings))
            assert await asyncio.to_thread(other.wait_for_hits, 10)
            await site_of(app, result)
            assert not crawling.done()
            assert left_of(data, contents) == []
            while not crawling.done():  # sweeps at every moment of the crawl
                await soft_delete_unreferenced_blobs(app.ledger, app.blobs, app.clock())
            assert await crawling == expected
            assert await app.search_service.sites() != []
    assert left_of(data, contents) == []


async def test_a_server_writes_its_files_anew_after_the_request_that_deletes(tmp_path: Path) -> None:
    """What is due survives the process that deleted."""
    due, database = tmp_path / "rewrite.due", tmp_path / "sitelore.db"
    with serve_site(marked_site()) as marked:
        async with embedded(tmp_path, writing=True) as app:
            tenant = await app.queue.create_tenant("tenant", app.clock())
            own = replace(app, worker_context=app.worker_context.for_tenant(tenant.id))
            run = await start_run(own.ledger, crawl_settings(marked.url()), app.clock(), app.redaction)
            assert (await app.crawl(run, Progress(), asyncio.Event())).state is RunState.COMPLETED
            contents = stored_bytes(tmp_path)
            await cancel_and_delete_tenant(app, tenant)
            assert due.exists()
    async with embedded(tmp_path, writing=True) as app:
        stop = asyncio.Event()
        rewriting = asyncio.create_task(keep_vacuuming(app, stop, interval_s=0.01))
        async with asyncio.timeout(20):
            while due.exists():  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.02)
        stop.set()
        await rewriting
        with closing(sqlite3.connect(database)) as db:
            assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert left_of(tmp_path, contents) == []


async def test_deleting_a_site_by_command_leaves_no_byte(tmp_path: Path) -> None:
    with serve_site(marked_site()) as marked, serve_site(other_site()) as other:
        await crawl(tmp_path, crawl_settings(other.url(), max_pages=5))
        before = set(stored_bytes(tmp_path))
        async with embedded(tmp_path, writing=True) as app:
            result = await crawl_marked(app, marked)
    contents = [content for content in stored_bytes(tmp_path) if content not in before]
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    done = run_cli("delete", "--site", result.run.site_name, "--yes", "--data", str(tmp_path))
    assert (done.code, done.out) == (0, ""), done.err
    assert left_of(tmp_path, contents) == []
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < size
    async with embedded(tmp_path, writing=False) as app:
        assert {run.site_name for run in await app.ledger.runs()} == {f"127.0.0.1:{other.port}"}


async def test_after_its_runs_are_deleted_a_site_is_searched_and_crawled_as_before(tmp_path: Path) -> None:
    with serve_site(marked_site()) as marked:
        async with embedded(tmp_path, writing=True) as app:
            result = await crawl_marked(app, marked)
            runs = [run.id for run in await app.ledger.runs()]
            assert len(runs) == 2
            documents = {str(row.url): await app.blobs.get(row.document) for row in result.rows.values() if row.document}
            # The snapshot before the change; the document before the change belongs to a version of the page.
            assert await delete_runs(app, DEFAULT_TENANT, runs) == 1
            [stats] = await app.search_service.sites()
            assert stats.chunks > 0
            for url, document in documents.items():
                known = await app.ledger.known(result.run.site, result.rows[url].url)
                assert known is not None
                assert await app.blobs.get(known.document) == document
            again = await crawl_in(app, crawl_settings(marked.url()))
    assert {row.state.value for row in again.rows.values()} == {"NOT_MODIFIED"}
    assert again.counts.changed == 0


async def test_a_server_deletes_what_is_older_than_the_retention_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_site(marked_site()) as marked:
        async with embedded(tmp_path, writing=True) as app:
            result = await crawl_marked(app, marked)
            monkeypatch.setenv("SITELORE_RETENTION", "1h")
            changed = result.rows[marked.url(f"/{MARKER}-3")].url
            assert len(await app.ledger.page_history(result.run.site, changed)) == 2
            at = app.clock()
            later = replace(app, worker_context=replace(app.worker_context, clock=lambda: at + 3601))
            stop = asyncio.Event()
            deleting = asyncio.create_task(keep_deleting_expired(later, stop, delay_s=0.0))
            async with asyncio.timeout(20):
                while len(await app.ledger.page_history(result.run.site, changed)) > 1:  # noqa: ASYNC110 - there is no event
                    await asyncio.sleep(0.02)
            stop.set()
            await deleting
            assert [run.id for run in await app.ledger.runs()] == [result.run.id]
            assert {str(row.url) async for row in app.ledger.rows(result.run.id)} == set(result.rows)
            for row in result.rows.values():
                assert row.document is None or await app.blobs.get(row.document)


async def test_each_tenant_keeps_its_data_for_as_long_as_its_policy_says(tmp_path: Path) -> None:
    async with embedded(tmp_path, writing=True) as app:
        at, day_s = app.clock(), 86_400.0
        later = replace(app, worker_context=replace(app.worker_context, clock=lambda: at + 40 * day_s))
        policies = {"short": RetentionPolicy(runs_s=day_s), "long": RetentionPolicy(0.0, 0.0, 0.0, 0.0), "usual": None}
        webhooks = app.webhooks.service()
        for name, policy in policies.items():
            tenant = (await app.queue.create_tenant(name, at)).id
            if policy is not None:
                await app.webhooks.retention(tenant).set_policy(policy)
            await webhooks.create(tenant, "https://receiver.example/")
            ledger = app.ledger.for_tenant(tenant)
            for number in range(2):
                run = await ledger.create_run("site.test", CrawlSettings(), (), at + number)
                await ledger.begin_run(run.id, at + number)
                await ledger.end_run(run.id, RunState.CANCELLED, at + number)
        expired = await delete_expired(later, default_retention(60 * day_s))
        left = {}
        for name in policies:
            tenant = (await app.queue.create_tenant(name, at)).id
            ledger, [endpoint] = app.ledger.for_tenant(tenant), await webhooks.endpoints(tenant)
            _, deliveries = await webhooks.deliveries(tenant, endpoint.id, DeliveryListing())
            left[name] = (len(await ledger.runs()), len(await ledger.events(0, 99)), deliveries)
        # The last event stays, because SQLite would use its id again; after 30 days the others go by default.
        assert left == {"short": (1, 1, 0), "long": (2, 4, 4), "usual": (2, 1, 0)}
        assert (expired.runs, expired.events, expired.deliveries) == (1, 4, 6)


async def test_nothing_of_a_deleted_tenant_is_left_in_files_or_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The marker is in URLs, titles, texts, the URL of a webhook, the answers to it and the name of the tenant."""
    monkeypatch.setenv("SITELORE_ALLOW_PRIVATE", "127.0.0.1")
    caplog.set_level(logging.INFO)
    with serve_site(marked_site()) as marked, receiver() as hook:
        hook.answer = lambda _: Reply(500, body=MARKER.encode())
        async with embedded(tmp_path, writing=True) as app:
            tenant = await app.queue.create_tenant(f"{MARKER} ltd", app.clock())
            own = replace(app, worker_context=app.worker_context.for_tenant(tenant.id))
            webhooks = app.webhooks.service()
            endpoint, secret = await webhooks.create(tenant.id, f"{hook.url}/{MARKER}")
            run = await start_run(own.ledger, crawl_settings(marked.url()), app.clock(), app.redaction)
            assert (await app.crawl(run, Progress(), asyncio.Event())).state is RunState.COMPLETED
            await app.search.service(tenant.id).update_lexical_index(asyncio.Event())
            assert await webhooks.sender.send_due_deliveries() == 1
            assert hook.requests
            files = app.media.for_tenant(tenant.id).files
            for key in (f"images/{'a' * 64}.png", screenshot_key("0197aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee", 1)):
                await files.put(key, MARKER.encode())
            contents = [*stored_bytes(tmp_path), secret.removeprefix("whsec_").encode(), endpoint.id.encode(), run.id.encode()]
            assert len(left_of(tmp_path, contents)) > 10
            await delete_tenant(app, tenant)
            assert left_of(tmp_path, contents) == []
            assert list((tmp_path / "media").iterdir()) == [], "directories are named by the ids of tenants and channels"
    assert left_of(tmp_path, contents) == []
    messages = " ".join(str(vars(record)) for record in caplog.records).lower()
    assert MARKER not in messages
    assert secret.lower() not in messages


@asynccontextmanager
async def scaled_crawl(servers: LocalServers, tmp_path: Path) -> AsyncIterator[App]:
    """An app on servers, with its blobs in a directory of its own."""
    async with scaled_app(servers, blobs_url=f"file://{tmp_path / 'blobs'}") as (app, _):
        yield app


async def test_on_servers_a_deleted_site_is_readable_until_it_is_purged(servers: LocalServers, tmp_path: Path) -> None:
    with serve_site(marked_site()) as marked:
        async with scaled_crawl(servers, tmp_path) as app:
            result = await crawl_in(app, crawl_settings(marked.url()))
            key = next(row.document for row in result.rows.values() if row.document)
            await site_of(app, result)
            assert [key async for key in app.blobs.keys(app.clock() + 60)] == []
            assert await app.blobs.get(key)
            assert await purge_deleted_blobs(app.ledger, app.blobs, app.clock() - 3600) == 0
            assert await purge_deleted_blobs(app.ledger, app.blobs, app.clock() + 60) > 0
            with pytest.raises(KeyError):
                await app.blobs.get(key)
            assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
