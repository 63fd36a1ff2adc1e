"""`sitelore delete`: says what it would delete, deletes with --yes, and explains what it cannot delete."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from scripts.servers import LocalServers
from tests.interfaces.cli import error_line, sitelore
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import page, prose, serve_site, site
from tests.support.workers import temporary_database, worker_settings

from sitelore.app.app import App
from sitelore.app.wiring import embedded, scaled
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState

PAGES = site({"/": page("Home", prose("home"), links=("/a",)), "/a": page("A", prose("a"))})


def in_app(data: Path, work: Callable[[App], Coroutine[Any, Any, Any]]) -> Any:
    """Run a function on the app over a data directory."""

    async def run() -> Any:
        async with embedded(data, writing=True) as app:
            return await work(app)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two runs of one site and one of another."""
    data = tmp_path_factory.mktemp("data")

    async def crawl_all(app: App) -> None:
        with serve_site(PAGES) as first, serve_site(PAGES) as second:
            for url in (first.url(), first.url(), second.url()):
                await crawl_in(app, crawl_settings(url))

    in_app(data, crawl_all)
    return data


@pytest.fixture
def data(crawled: Path, tmp_path: Path) -> Path:
    """A copy of the directory for one test."""
    return Path(shutil.copytree(crawled, tmp_path / "data"))


def runs_of(data: Path) -> list[tuple[str, str]]:
    """Ids and sites of all runs, newest first."""
    return [(run["run"], run["site"]) for run in json.loads(sitelore("runs", "--json", "--data", data).stdout)]


def test_without_yes_nothing_is_deleted(data: Path) -> None:
    before = runs_of(data)
    (newest, site_name), (second, _), (first, _) = before
    for arguments, sentence in {
        (first,): "would delete 1 run; nothing was deleted: add --yes to delete",
        (first[:-2], second, first): "would delete 2 runs; nothing was deleted: add --yes to delete",
        ("latest",): "would delete 1 run; nothing was deleted: add --yes to delete",
        ("--site", site_name): f"would delete the site {site_name} with 1 run, its pages and its search index; "
        "nothing was deleted: add --yes to delete",
        ("--older-than", "0s"): "would delete 1 run; nothing was deleted: add --yes to delete",
        ("--older-than", "30d"): "would delete 0 runs; nothing was deleted: add --yes to delete",
    }.items():
        done = sitelore("delete", *arguments, "--data", data)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", f"{sentence}\n")
    assert runs_of(data) == before
    assert newest


def test_runs_are_deleted_by_id_and_by_age(data: Path) -> None:
    (newest, _), (second, _), (first, _) = runs_of(data)
    done = sitelore("delete", "--older-than", "0s", "--yes", "--data", data)
    assert (done.returncode, done.stderr) == (0, "deleted 1 run; 0 blobs removed\n")
    assert [run for run, _ in runs_of(data)] == [newest, second]
    assert sitelore("delete", second, "--yes", "--data", data).returncode == 0
    assert [run for run, _ in runs_of(data)] == [newest]
    assert error_line(sitelore("delete", first, "--data", data)).startswith(f"no run {first!r} in {data}; see `sitelore runs")


def test_a_site_is_deleted_and_the_result_is_json(data: Path) -> None:
    [_, (second, site_name), (first, _)] = runs_of(data)
    arguments = ("delete", "--site", site_name, "--json", "--data", data)
    expected = {"deleted": False, "tenant": None, "site": site_name, "runs": [second, first], "blobs": 0}
    assert json.loads(sitelore(*arguments).stdout) == expected
    done = sitelore(*arguments, "--yes")
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        **expected,
        "deleted": True,
        "blobs": 2,
    }  # the snapshots are those of the other site, too
    assert len(runs_of(data)) == 1
    assert "no site" in error_line(sitelore(*arguments))


def test_a_tenant_is_deleted_with_everything_of_it(data: Path) -> None:
    async def crawl_as_tenant(app: App) -> None:
        tenant = await app.queue.create_tenant("acme", 0.0)
        ledger = app.ledger.for_tenant(tenant.id)
        run = await ledger.create_run("site", CrawlSettings(), [], 0.0)
        await ledger.end_run(run.id, RunState.CANCELLED, 1.0)

    in_app(data, crawl_as_tenant)
    before = runs_of(data)
    done = sitelore("delete", "--tenant", "acme", "--data", data)
    assert done.stderr == (
        "would delete the tenant acme with 1 run and everything else of it; nothing was deleted: add --yes to delete\n"
    )
    done = sitelore("delete", "--tenant", "acme", "--yes", "--json", "--data", data)
    assert json.loads(done.stdout)["tenant"] == "acme"
    message = error_line(sitelore("delete", "--tenant", "acme", "--data", data))
    assert message == f"no tenant 'acme' in {data}; there are: default"
    assert runs_of(data) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name runs, or one of --site, --older-than and --tenant"),
        (("latest", "--site", "x"), "name runs, or one of --site, --older-than and --tenant"),
        (("--site", "unknown.test"), "no site 'unknown.test' in DATA; see `sitelore runs --data DATA`"),
        (("latest", "zzz"), "no run 'zzz' in DATA; see `sitelore runs --data DATA`"),
        (("--older-than", "soon"), "--older-than: invalid duration 'soon' (use 90s, 30m, 24h or 7d)"),
        (
            ("--tenant", "default"),
            "the tenant default cannot be deleted, every installation has it; delete its sites with --site",
        ),
    ],
)
def test_errors_are_one_line_and_say_what_to_do(crawled: Path, arguments: tuple[str, ...], message: str) -> None:
    done = sitelore("delete", *arguments, "--yes", "--data", crawled)
    assert done.returncode == 2
    assert error_line(done) == message.replace("DATA", str(crawled))


def test_a_directory_without_data_is_an_error_and_is_not_created(tmp_path: Path) -> None:
    done = sitelore("delete", "latest", "--yes", "--data", tmp_path / "new")
    assert "no crawl data in" in error_line(done)
    assert not (tmp_path / "new").exists()


def test_an_active_run_is_not_deleted_and_an_interrupted_one_is(data: Path) -> None:
    async def start(app: App) -> tuple[str, str]:
        run = await app.create_run(crawl_settings("http://127.0.0.1:9/"))
        return run.id, run.site_name

    run, site_name = in_app(data, start)
    for arguments in ((run,), ("--site", site_name)):
        done = sitelore("delete", *arguments, "--yes", "--data", data)
        assert done.returncode == 2
        assert error_line(done) == (
            f"the run {run} has not ended (QUEUED); finish it (`sitelore crawl --resume`) or cancel it first"
        )

    async def interrupt(app: App) -> None:
        await app.ledger.begin_run(run, 1.0)
        await app.ledger.move_run(run, RunState.INTERRUPTED, 2.0)

    in_app(data, interrupt)
    assert sitelore("delete", "--site", site_name, "--yes", "--data", data).returncode == 0
    assert site_name not in {name for _, name in runs_of(data)}


def test_a_directory_in_use_is_an_error(data: Path) -> None:
    before = runs_of(data)

    async def delete_beside(_app: App) -> Any:
        return await asyncio.to_thread(sitelore, "delete", "latest", "--yes", "--data", data)

    assert "another process is writing" in error_line(in_app(data, delete_beside))
    assert runs_of(data) == before


def test_on_servers_a_site_is_deleted_and_its_contents_are_removed_later(
    servers: LocalServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crawl_and_delete() -> None:
        async with temporary_database(servers.postgres.url) as url:
            settings = worker_settings(servers, url, blobs_url=f"file://{tmp_path / 'blobs'}")
            for name in ("database_url", "redis_url", "blobs_url"):
                monkeypatch.setenv(f"SITELORE_{name.upper()}", getattr(settings, name))
            async with scaled(settings) as app:
                with serve_site(PAGES) as http_server:
                    run = (await crawl_in(app, crawl_settings(http_server.url()))).run
                done = await asyncio.to_thread(sitelore, "delete", "--site", run.site_name)
                assert done.stderr.startswith(f"would delete the site {run.site_name} with 1 run")
                done = await asyncio.to_thread(sitelore, "delete", "--site", run.site_name, "--yes")
                assert done.stderr == (
                    f"deleted the site {run.site_name} with 1 run, its pages and its search index; 4 blobs removed, "
                    "permanently within two hours\n"
                )
                assert await app.ledger.runs() == []

    asyncio.run(crawl_and_delete())
