"""One process on SQLite, and 1, 2, 4 and 8 workers on Postgres, Valkey and S3, export the same bytes for one site."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from scripts.servers import LocalServers
from tests.journeys.test_politeness import flat, noise_s
from tests.support.crawls import as_expected, crawl_in, crawl_settings, differences, run_cli, run_cli_async
from tests.support.graph import Graph
from tests.support.http_server import RateLimit, page, prose, serve_site, site
from tests.support.tcp_proxy import tcp_proxy
from tests.support.workers import crawl_with_workers, export, scaled_app, wait_until_ended, worker_pool

from sitelore.app.wiring import embedded
from sitelore.model.states import RunState, UrlState

BUDGET = 40


async def test_one_two_four_and_eight_workers_export_the_bytes_of_an_embedded_crawl(
    servers: LocalServers, tmp_path: Path
) -> None:
    graph = Graph(7, 120, with_sitemap=True)
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages = graph.pages(http_server.origin)
        settings_by_budget = {
            budget: crawl_settings(http_server.url("/"), concurrency=4, max_pages=budget, force=True)
            for budget in (None, BUDGET)
        }
        alone: dict[int | None, bytes] = {}
        async with embedded(tmp_path, writing=True) as app:
            for budget, settings in settings_by_budget.items():
                alone[budget] = await export(app, (await crawl_in(app, settings)).run)
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                for workers in (1, 2, 4, 8):
                    pool.start(workers - len(pool.workers))
                    for budget, settings in settings_by_budget.items():
                        http_server.clear_log()
                        run = await crawl_with_workers(app, settings)
                        assert run.state is RunState.COMPLETED, run.error
                        assert await export(app, run) == alone[budget], f"{workers} workers, budget {budget}"
                        counts = Counter(http_server.targets())
                        assert max(counts.values()) == 1, "a URL was fetched twice"
                        rows = {str(row.url): row async for row in app.ledger.rows(run.id)}
                        assert not differences(as_expected(rows), graph.expected(http_server.origin, budget))
                assert set(pool.stop()) == {0}
                assert await app.ledger.release(run.id, 1e12) == 0, "a stopped worker left a lease"


async def test_workers_and_servers_wait_until_their_services_are_available(servers: LocalServers, tmp_path: Path) -> None:
    with (
        tcp_proxy(servers.postgres.port) as database,
        tcp_proxy(servers.valkey.port) as redis,
        tcp_proxy(servers.s3.port) as s3,
        serve_site(site({"/": page("Home", prose("home"))}), host="localhost") as http_server,
    ):
        async with scaled_app(servers) as (app, operator):
            behind = replace(
                operator,
                database_url=operator.database_url.replace(str(servers.postgres.port), str(database.port)),
                redis_url=operator.redis_url.replace(str(servers.valkey.port), str(redis.port)),
                blobs_url=operator.blobs_url.replace(str(servers.s3.port), str(s3.port)),
            )
            for server in (database, redis, s3):
                server.shut()
            with worker_pool(behind) as pool:
                served = run_cli("serve", "--port", "0", env=pool.variables() | {"SITELORE_START_S": "0.3"})
                assert served.code == 3, served.err
                assert "waiting for database" in served.err
                assert served.err.splitlines()[-1].startswith("sitelore: The database"), served.err
                pool.start()
                while "waiting for blobs" not in pool.log_text():  # noqa: ASYNC110 another process logs, there is no event
                    await asyncio.sleep(0.05)
                for server in (s3, redis, database):
                    server.open()
                run = await crawl_with_workers(app, crawl_settings(http_server.url("/")))
                assert run.state is RunState.COMPLETED, run.error
                assert "all services are available" in pool.log_text()
                assert pool.stop() == [0]


async def test_the_commands_work_on_servers_as_on_a_data_directory(servers: LocalServers, tmp_path: Path) -> None:
    """`crawl` shares its run with workers; `runs`, `show`, `export`, `explain` and `compare` read its results."""
    graph = Graph(21, 60)
    with serve_site(lambda _: None) as http_server:
        http_server.pages = graph.pages(http_server.origin)
        here, there = ("--data", str(tmp_path / "here")), ("--data", str(tmp_path / "there"))
        flags = ("--delay", "0", "--json", "--output", "md")
        assert run_cli("crawl", http_server.url(), *here, *flags).code == 0
        async with scaled_app(servers) as (_, operator):
            with worker_pool(operator) as pool:
                pool.start()
                env = pool.variables()
                done = run_cli("crawl", http_server.url(), *there, *flags, env=env)
                assert done.code == 0, done.err
                assert done.summary["pages"] > 20
                for args in (["runs", "--json"], ["show", "latest", "--json"], ["explain", http_server.url(), "--json"]):
                    output = run_cli(*args, *there, env=env)
                    assert output.code == 0, output.err
                    assert done.summary["run"] in output.out
                alone, scaled = run_cli("export", "latest", *here), run_cli("export", "latest", *there, env=env)
                assert alone.out == scaled.out
                files = {path.name: path.read_bytes() for path in (tmp_path / "there" / "pages").rglob("*.md")}
                assert len(files) > 20
                assert not (tmp_path / "there" / "sitelore.db").exists()


async def test_a_stopped_worker_leaves_no_lease_and_the_others_continue(servers: LocalServers, tmp_path: Path) -> None:
    graph = Graph(5, 80)
    with serve_site(lambda _: None) as http_server:
        http_server.pages, http_server.delay_s = graph.pages(http_server.origin), 0.1
        settings = crawl_settings(http_server.url("/"), concurrency=4)
        async with scaled_app(servers, lease_s=600.0) as (app, operator):
            with worker_pool(operator) as pool:
                pool.start(2)
                run = await app.create_run(settings)
                assert await asyncio.to_thread(http_server.wait_for_hits, 20)
                leaver = pool.workers[0]
                leaver.terminate()
                assert await asyncio.to_thread(leaver.wait, 30) == 0
                mark = f"-{leaver.pid}-"
                leased = [row async for row in app.ledger.rows(run.id, UrlState.IN_PROGRESS, sitemaps=True)]
                assert not [row for row in leased if row.claimed_by and mark in row.claimed_by]
                run = await wait_until_ended(app, run)  # leases last ten minutes, so a lease left behind would block the run
                assert run.state is RunState.COMPLETED
                rows = {str(row.url): row async for row in app.ledger.rows(run.id)}
                assert not differences(as_expected(rows), graph.expected(http_server.origin))
                # What the worker had fetched ahead is lost with it, and counted.
                unused = (await app.ledger.counts(run.id)).prefetch_unused
                assert len(http_server.targets()) - len(set(http_server.targets())) <= unused


async def test_the_rate_limit_holds_for_all_workers_together_and_a_closed_host_is_closed_for_all(servers: LocalServers) -> None:
    with serve_site(flat(60)) as http_server:
        gap_s = 0.1
        http_server.rate_limit = RateLimit(after=30, seconds=2)
        settings = crawl_settings(http_server.url("/"), concurrency=4, delay_s=gap_s)
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                pool.start(4)
                run = await crawl_with_workers(app, settings)
                assert run.state is RunState.COMPLETED
                counts = await app.ledger.counts(run.id)
        assert counts.pages == 61
        gaps = [later.at - earlier.at for earlier, later in pairwise(http_server.hits)]
        assert min(gaps) >= gap_s - noise_s(http_server)
        [refused] = [n for n, hit in enumerate(http_server.hits) if hit.status == 429]
        assert gaps[refused] >= 2 - noise_s(http_server), "no worker sent a request after Retry-After"


async def test_runs_of_one_site_are_sequential_and_several_sites_run_concurrently(servers: LocalServers) -> None:
    """Runs are served in order of creation; a cancelled run ends at the next claim, with a reason in its rows."""
    graph = Graph(9, 30)
    with serve_site(lambda _: None) as http_server, serve_site(lambda _: None) as other:
        for each in (http_server, other):
            each.pages, each.delay_s = graph.pages(each.origin), 0.05
        async with scaled_app(servers) as (app, operator):
            first, second = [
                await app.create_run(crawl_settings(http_server.url("/"), concurrency=2, force=True)) for _ in range(2)
            ]
            endless = await app.create_run(crawl_settings(other.url("/"), concurrency=1, delay_s=1.0))
            with worker_pool(operator) as pool:
                pool.start(2)
                assert await asyncio.to_thread(other.wait_for_hits, 2)
                assert await app.ledger.end_run(endless.id, RunState.CANCELLED, app.clock())
                first, second = await wait_until_ended(app, first), await wait_until_ended(app, second)
        assert first.finished_at is not None
        assert second.started_at is not None
        assert second.started_at >= first.finished_at
        assert len(other.hits) < 8


async def test_a_run_past_its_time_limit_is_interrupted_although_its_worker_is_busy(servers: LocalServers) -> None:
    graph = Graph(9, 40)
    with serve_site(lambda _: None) as http_server:
        http_server.pages, http_server.delay_s = graph.pages(http_server.origin), 0.3
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                pool.start()
                run = await crawl_with_workers(app, crawl_settings(http_server.url("/"), concurrency=1, time_limit_s=2.0))
        assert run.state is RunState.INTERRUPTED
        assert run.error.startswith("time_limit")


async def test_a_crawl_past_its_time_limit_is_resumed_to_the_export_of_an_undisturbed_one(
    servers: LocalServers, tmp_path: Path
) -> None:
    """With and without another worker; the summary names the real database and blob store."""
    graph = Graph(24, 60)
    flags = ("--delay", "0", "--concurrency", "4", "--json", "--output", "db", "--data", str(tmp_path / "there"))
    with serve_site(lambda _: None) as http_server:
        http_server.pages = graph.pages(http_server.origin)
        assert run_cli("crawl", http_server.url(), "--data", str(tmp_path / "here"), "--delay", "0").code == 0
        calm = run_cli("export", "latest", "--data", str(tmp_path / "here")).out
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                for workers in (0, 1):
                    pool.start(workers)
                    http_server.delay_s = 1.0
                    cut = await run_cli_async(
                        "crawl", http_server.url(), *flags, "--force", "--time-limit", "3s", env=pool.variables()
                    )
                    assert cut.code == 15, cut.err
                    assert "--resume" in cut.err
                    assert cut.summary["state"] == "INTERRUPTED"
                    http_server.delay_s = 0.0
                    done = await run_cli_async("crawl", *flags, "--resume", "--time-limit", "5m", env=pool.variables())
                    assert done.code == 0, done.err
                    assert done.summary["run"] == cut.summary["run"]
                    assert done.summary["outputs"]["db"] == app.database_name
                    assert done.summary["blobs"] == app.blobs_name
                    resumed = await app.ledger.run(done.summary["run"])
                    assert resumed is not None
                    assert (resumed.state, resumed.settings.time_limit_s) == (RunState.COMPLETED, 300.0)
                    assert run_cli("export", "latest", env=pool.variables()).out == calm, f"{workers} workers"


async def test_doctor_reports_the_problem_of_each_server(servers: LocalServers) -> None:
    good = run_cli("doctor", env=servers.environment())
    assert good.code == 0, good.out
    assert "The database works." in good.out
    assert "Redis works" in good.out
    assert "The blob store can be read and written." in good.out
    away = {
        "SITELORE_DATABASE_URL": "postgresql://someone:pa55word@127.0.0.1:1/nothing",
        "SITELORE_REDIS_URL": "redis://:pa55word@127.0.0.1:1/0",
        "SITELORE_BLOBS_URL": "s3://key:pa55word@bucket?endpoint=http://127.0.0.1:1",
    }
    bad = run_cli("doctor", env=away)
    assert bad.code == 1
    wrong = [line for line in bad.out.splitlines() if line.startswith("FAIL")]
    assert [word for line in wrong for word in ("database", "Redis", "blob store") if word in line] == [
        "database",
        "Redis",
        "blob store",
    ], bad.out
    assert "pa55word" not in bad.out + bad.err
    partly = run_cli("doctor", env={"SITELORE_REDIS_URL": servers.valkey.url})
    assert partly.code == 1
    assert "SITELORE_DATABASE_URL" in partly.out


def test_a_worker_without_servers_names_the_missing_settings() -> None:
    done = run_cli("worker")
    assert done.code == 2
    assert "SITELORE_DATABASE_URL" in done.err
    assert len(done.err.strip().splitlines()) == 1
