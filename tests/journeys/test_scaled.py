"""The same site by one process on SQLite and by 1, 2, 4 and 8 worker processes on Postgres, Valkey and S3: the same bytes."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from scripts.servers import LocalServers
from tests.journeys.test_politeness import flat, noise_s
from tests.support.fleet import crawled_by_others, ended, export, fleet, scaled_app
from tests.support.graph import Graph
from tests.support.journey import as_expected, command, crawl_in, crawl_settings, differences
from tests.support.serve import Closing, page, prose, serving, site
from tests.support.tcp_proxy import tcp_proxy

from sitelore.app.wiring import embedded
from sitelore.model.states import RunState, UrlState

BUDGET = 40


async def test_one_two_four_and_eight_workers_export_the_bytes_of_an_embedded_crawl(
    servers: LocalServers, tmp_path: Path
) -> None:
    graph = Graph(7, 120, with_sitemap=True)
    with serving(lambda _: None, host="localhost") as web:
        web.pages = graph.pages(web.origin)
        wanted = {
            budget: crawl_settings(web.url("/"), concurrency=4, max_pages=budget, force=True) for budget in (None, BUDGET)
        }
        alone: dict[int | None, bytes] = {}
        async with embedded(tmp_path, writing=True) as app:
            for budget, settings in wanted.items():
                alone[budget] = await export(app, (await crawl_in(app, settings)).run)
        async with scaled_app(servers) as (app, operator):
            with fleet(operator) as crew:
                for workers in (1, 2, 4, 8):
                    crew.hire(workers - len(crew.workers))
                    for budget, settings in wanted.items():
                        web.forget()
                        run = await crawled_by_others(app, settings)
                        assert run.state is RunState.COMPLETED, run.error
                        assert await export(app, run) == alone[budget], f"{workers} workers, budget {budget}"
                        asked = Counter(web.targets())
                        assert max(asked.values()) == 1, "a URL was fetched twice"
                        rows = {str(row.url): row async for row in app.ledger.rows(run.id)}
                        assert not differences(as_expected(rows), graph.expected(web.origin, budget))
                assert set(crew.dismiss()) == {0}
                assert await app.ledger.release(run.id, 1e12) == 0, "a worker that ended left a lease behind"


async def test_workers_and_servers_that_are_started_first_wait_for_the_others(servers: LocalServers, tmp_path: Path) -> None:
    with (
        tcp_proxy(servers.postgres.port) as database,
        tcp_proxy(servers.valkey.port) as redis,
        tcp_proxy(servers.s3.port) as s3,
        serving(site({"/": page("Home", prose("home"))}), host="localhost") as web,
    ):
        async with scaled_app(servers) as (app, operator):
            behind = replace(
                operator,
                database_url=operator.database_url.replace(str(servers.postgres.port), str(database.port)),
                redis_url=operator.redis_url.replace(str(servers.valkey.port), str(redis.port)),
                blobs_url=operator.blobs_url.replace(str(servers.s3.port), str(s3.port)),
            )
            for one in (database, redis, s3):
                one.shut()
            with fleet(behind) as crew:
                given = command("serve", "--port", "0", env=crew.variables() | {"SITELORE_START_S": "0.3"})
                assert given.code == 3, given.err
                assert "waiting for database" in given.err
                assert given.err.splitlines()[-1].startswith("sitelore: The database"), given.err
                crew.hire()
                while "waiting for blobs" not in crew.told():  # noqa: ASYNC110 another process logs, there is no event
                    await asyncio.sleep(0.05)
                for one in (s3, redis, database):
                    one.open()
                run = await crawled_by_others(app, crawl_settings(web.url("/")))
                assert run.state is RunState.COMPLETED, run.error
                assert "all services are available" in crew.told()
                assert crew.dismiss() == [0]


async def test_the_commands_work_on_servers_as_they_do_on_a_directory(servers: LocalServers, tmp_path: Path) -> None:
    """`crawl` with workers that join in; `runs`, `show`, `export`, `explain` and `compare` read what is there."""
    graph = Graph(21, 60)
    with serving(lambda _: None) as web:
        web.pages = graph.pages(web.origin)
        here, there = ("--data", str(tmp_path / "here")), ("--data", str(tmp_path / "there"))
        flags = ("--delay", "0", "--json", "--output", "md")
        assert command("crawl", web.url(), *here, *flags).code == 0
        async with scaled_app(servers) as (_, operator):
            with fleet(operator) as crew:
                crew.hire()
                env = crew.variables()
                done = command("crawl", web.url(), *there, *flags, env=env)
                assert done.code == 0, done.err
                assert done.summary["pages"] > 20
                for args in (["runs", "--json"], ["show", "latest", "--json"], ["explain", web.url(), "--json"]):
                    told = command(*args, *there, env=env)
                    assert told.code == 0, told.err
                    assert done.summary["run"] in told.out
                alone, scaled = command("export", "latest", *here), command("export", "latest", *there, env=env)
                assert alone.out == scaled.out
                files = {path.name: path.read_bytes() for path in (tmp_path / "there" / "pages").rglob("*.md")}
                assert len(files) > 20
                assert not (tmp_path / "there" / "sitelore.db").exists()


async def test_a_worker_told_to_stop_leaves_no_lease_and_the_others_go_on(servers: LocalServers, tmp_path: Path) -> None:
    graph = Graph(5, 80)
    with serving(lambda _: None) as web:
        web.pages, web.delay_s = graph.pages(web.origin), 0.1
        settings = crawl_settings(web.url("/"), concurrency=4)
        async with scaled_app(servers, lease_s=600.0) as (app, operator):
            with fleet(operator) as crew:
                crew.hire(2)
                run = await app.create_run(settings)
                assert await asyncio.to_thread(web.wait_for_hits, 20)
                leaver = crew.workers[0]
                leaver.terminate()
                assert await asyncio.to_thread(leaver.wait, 30) == 0
                mark = f"-{leaver.pid}-"
                held = [row async for row in app.ledger.rows(run.id, UrlState.IN_PROGRESS, sitemaps=True)]
                assert not [row for row in held if row.claimed_by and mark in row.claimed_by]
                run = await ended(app, run)  # with leases of ten minutes: whatever was left behind would hold it up
                assert run.state is RunState.COMPLETED
                rows = {str(row.url): row async for row in app.ledger.rows(run.id)}
                assert not differences(as_expected(rows), graph.expected(web.origin))
                assert max(Counter(web.targets()).values()) == 1


async def test_the_rate_holds_over_all_workers_together_and_a_closed_host_is_closed_for_all(servers: LocalServers) -> None:
    with serving(flat(60)) as web:
        gap_s = 0.1
        web.close_for = Closing(after=30, seconds=2)
        settings = crawl_settings(web.url("/"), concurrency=4, delay_s=gap_s)
        async with scaled_app(servers) as (app, operator):
            with fleet(operator) as crew:
                crew.hire(4)
                run = await crawled_by_others(app, settings)
                assert run.state is RunState.COMPLETED
                counts = await app.ledger.counts(run.id)
        assert counts.pages == 61
        gaps = [later.at - earlier.at for earlier, later in pairwise(web.hits)]
        assert min(gaps) >= gap_s - noise_s(web)
        [refused] = [n for n, hit in enumerate(web.hits) if hit.status == 429]
        assert gaps[refused] >= 2 - noise_s(web), "whoever was told, everyone stayed away"
        pages = [hit.at for hit in web.hits[4:refused]]
        assert (len(pages) - 1) * gap_s / (pages[-1] - pages[0]) >= 0.75, "and nearly all of the rate is reached"


async def test_one_run_of_a_site_after_the_other_and_several_sites_at_once(servers: LocalServers) -> None:
    """First come, first served; a cancelled run ends at the next claim and its rows say why."""
    graph = Graph(9, 30)
    with serving(lambda _: None) as web, serving(lambda _: None) as other:
        for one in (web, other):
            one.pages, one.delay_s = graph.pages(one.origin), 0.05
        async with scaled_app(servers) as (app, operator):
            first, second = [await app.create_run(crawl_settings(web.url("/"), concurrency=2, force=True)) for _ in range(2)]
            endless = await app.create_run(crawl_settings(other.url("/"), concurrency=1, delay_s=1.0))
            with fleet(operator) as crew:
                crew.hire(2)
                assert await asyncio.to_thread(other.wait_for_hits, 2)
                assert await app.ledger.end_run(endless.id, RunState.CANCELLED, app.clock())
                first, second = await ended(app, first), await ended(app, second)
        assert first.finished_at is not None
        assert second.started_at is not None
        assert second.started_at >= first.finished_at
        assert len(other.hits) < 8


async def test_a_run_whose_time_is_over_ends_though_its_worker_is_busy(servers: LocalServers) -> None:
    graph = Graph(9, 40)
    with serving(lambda _: None) as web:
        web.pages, web.delay_s = graph.pages(web.origin), 0.3
        async with scaled_app(servers) as (app, operator):
            with fleet(operator) as crew:
                crew.hire()
                run = await crawled_by_others(app, crawl_settings(web.url("/"), concurrency=1, time_limit_s=2.0))
        assert run.state is RunState.FAILED
        assert run.error.startswith("time_limit")


async def test_doctor_says_what_is_wrong_with_each_server(servers: LocalServers) -> None:
    good = command("doctor", env=servers.environment())
    assert good.code == 0, good.out
    assert "The database works." in good.out
    assert "Redis works" in good.out
    assert "The blob store can be read and written." in good.out
    away = {
        "SITELORE_DATABASE_URL": "postgresql://someone:pa55word@127.0.0.1:1/nothing",
        "SITELORE_REDIS_URL": "redis://:pa55word@127.0.0.1:1/0",
        "SITELORE_BLOBS_URL": "s3://key:pa55word@bucket?endpoint=http://127.0.0.1:1",
    }
    bad = command("doctor", env=away)
    assert bad.code == 1
    wrong = [line for line in bad.out.splitlines() if line.startswith("FAIL")]
    assert [word for line in wrong for word in ("database", "Redis", "blob store") if word in line] == [
        "database",
        "Redis",
        "blob store",
    ], bad.out
    assert "pa55word" not in bad.out + bad.err
    partly = command("doctor", env={"SITELORE_REDIS_URL": servers.valkey.url})
    assert partly.code == 1
    assert "SITELORE_DATABASE_URL" in partly.out


def test_a_worker_without_servers_says_what_it_needs() -> None:
    done = command("worker")
    assert done.code == 2
    assert "SITELORE_DATABASE_URL" in done.err
    assert len(done.err.strip().splitlines()) == 1
