"""Backup, wipe, restore: exports are equal byte for byte, also of a backup that was made while a crawl was running."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from scripts.servers import LocalServers
from tests.support.crawls import crawl, crawl_in, crawl_settings, exported_json, run_cli, run_cli_async
from tests.support.http_server import HttpServer, Pages, page, prose, serve_site, site
from tests.support.workers import create_database, drop_database, export, worker_settings

from sitelore.app.app import App
from sitelore.app.operations.backup import deletion_lock
from sitelore.app.operations.deletion import delete_runs
from sitelore.app.wiring import embedded, scaled
from sitelore.crawl.context import Progress
from sitelore.model.errors import UsageError
from sitelore.model.frontier import Run
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.platform.media import screenshot_key
from sitelore.model.states import RunState

PAGES = 30
PICTURE = f"images/{'a' * 64}.png"
SCREENSHOT = screenshot_key("7", 17)


def pages(name: str) -> Pages:
    """Pages in a chain, so that the crawl takes as many steps as there are pages."""
    made = {
        f"/p{number}": page(f"{name} {number}", prose(f"{name} {number}"), links=(f"/p{number + 1}",))
        for number in range(PAGES)
    }
    return site(made | {"/": page(name, prose(name), links=("/p0",)), f"/p{PAGES}": page("Last", prose("last"))})


async def run_to_its_end(app: App, http_server: HttpServer) -> Run:
    run = await app.create_run(crawl_settings(http_server.url()))
    ended = await app.crawl(run, Progress(), asyncio.Event())
    assert ended.state is RunState.COMPLETED
    return ended


def exports(data: Path, run: str, folder: Path) -> dict[str, bytes]:
    """A run in every format that holds contents."""
    written: dict[str, bytes] = {}
    for form in ("json", "csv", "jsonl", "md", "warc"):
        target = folder / form
        done = run_cli("export", run, "--format", form, "--out", str(target), "--data", str(data))
        assert done.code == 0, done.err
        files = [target] if target.is_file() else [path for path in sorted(target.rglob("*")) if path.is_file()]
        written |= {f"{form}/{path.relative_to(folder)}": path.read_bytes() for path in files}
    assert len(written) > PAGES
    return written


@pytest.mark.parametrize("name", ["backup", "backup.tar"])
async def test_a_backup_made_during_a_crawl_is_restored_byte_for_byte(tmp_path: Path, name: str) -> None:
    data, target = tmp_path / "data", tmp_path / "backups" / name
    with serve_site(pages("first")) as first, serve_site(pages("second")) as second:
        await crawl(data, crawl_settings(first.url()))
        [finished] = [run["run"] for run in json.loads(run_cli("runs", "--json", "--data", str(data)).out)]
        before = exports(data, finished, tmp_path / "before")
        async with embedded(data, writing=True) as app:
            await app.media.for_tenant(DEFAULT_TENANT).files.put(PICTURE, b"picture")
            await app.media.for_tenant(DEFAULT_TENANT).files.put(SCREENSHOT, b"screenshot")
            second.delay_s = 0.05
            crawling = asyncio.create_task(run_to_its_end(app, second))
            assert await asyncio.to_thread(second.wait_for_hits, 5)
            second.delay_s = 2.0  # the crawl must go on for longer than the backup takes
            done = await run_cli_async("backup", str(target), "--json", "--data", str(data))
            assert done.code == 0, done.err
            assert not crawling.done(), "the backup was made while the crawl was running"
            second.delay_s = 0.0
            running = await crawling
            expected = await export(app, running)
        manifest = json.loads(done.out)
        assert manifest["database"] == "sqlite"
        assert manifest["blobs"] >= 2 * PAGES
        assert manifest["media"] == 2
        shutil.rmtree(data)
        restored = run_cli("restore", str(target), "--data", str(data))
        assert restored.code == 0, restored.err
        assert exports(data, finished, tmp_path / "after") == before
        async with embedded(data, writing=False) as app:
            assert await app.media.for_tenant(DEFAULT_TENANT).files.get(PICTURE) == b"picture"
            assert await app.media.for_tenant(DEFAULT_TENANT).files.get(SCREENSHOT) == b"screenshot"
        resumed = run_cli("crawl", "--resume", "--data", str(data), "--json")
        assert resumed.code == 0, resumed.err
        assert json.loads(resumed.out)["run"] == running.id
        assert exported_json(data, running.id) == expected
    for path in (*(tmp_path / "backups").rglob("*"), data / "sitelore.db", data / "blobs.db"):
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert sorted(path.name for path in (tmp_path / "backups").iterdir()) == [name]


async def test_a_second_backup_copies_what_is_new_and_drops_what_was_deleted(tmp_path: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "backup"
    with serve_site(pages("first")) as http_server:
        await crawl(data, crawl_settings(http_server.url()))
        first = json.loads(run_cli("backup", str(target), "--json", "--data", str(data)).out)
        assert first["copied"] == first["blobs"] > PAGES
        http_server.edit("/p3")
        result = await crawl(data, crawl_settings(http_server.url()))
        second = json.loads(run_cli("backup", str(target), "--json", "--data", str(data)).out)
        assert 0 < second["copied"] < 5
        assert second["blobs"] == first["blobs"] + second["copied"]
    site_name = result.run.site_name
    assert run_cli("delete", "--site", site_name, "--yes", "--data", str(data)).code == 0
    third = json.loads(run_cli("backup", str(target), "--json", "--data", str(data)).out)
    assert third["blobs"] == 0
    stored = b"".join(path.read_bytes() for path in target.iterdir())
    assert b"first 3" not in stored


async def test_a_restore_is_refused_while_a_process_uses_the_directory_or_without_consent(tmp_path: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "backup"
    with serve_site(pages("first")) as http_server:
        await crawl(data, crawl_settings(http_server.url(), max_pages=3))
    assert run_cli("backup", str(target), "--data", str(data)).code == 0
    before = exported_json(data)
    for writing in (True, False):
        async with embedded(data, writing=writing) as app:
            assert await app.ledger.runs()
            done = await run_cli_async("restore", str(target), "--yes", "--data", str(data))
            assert done.code == 3, (writing, done.err)
    done = run_cli("restore", str(target), "--data", str(data))
    assert done.code == 1
    assert "nothing was changed" in done.err
    (data / "sitelore.db-wal").write_bytes(b"stale")
    assert run_cli("restore", str(target), "--yes", "--data", str(data)).code == 0
    assert not (data / "sitelore.db-wal").exists() or (data / "sitelore.db-wal").read_bytes() != b"stale"
    assert exported_json(data) == before


def test_what_is_no_backup_or_is_damaged_is_refused(tmp_path: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "backup"
    done = run_cli("backup", str(target), "--data", str(data))
    assert done.code == 2
    assert "no crawl data" in done.err
    assert not data.exists()
    with serve_site(pages("first")) as http_server:
        asyncio.run(crawl(data, crawl_settings(http_server.url(), max_pages=3)))
    assert run_cli("restore", str(tmp_path), "--data", str(data)).code == 2
    (tmp_path / "other.tar").write_bytes(b"no archive")
    assert run_cli("restore", str(tmp_path / "other.tar"), "--data", str(data)).code == 3
    assert run_cli("backup", str(target), "--data", str(data)).code == 0
    database = target / "sitelore.db"
    content = bytearray(database.read_bytes())
    content[4096:12288] = b"\xff" * 8192
    database.write_bytes(content)
    before = exported_json(data)
    done = run_cli("restore", str(target), "--yes", "--data", str(data))
    assert done.code == 3
    assert "damaged" in done.err
    manifest = json.loads((target / "manifest.json").read_text())
    (target / "manifest.json").write_text(json.dumps(manifest | {"revision": "9999"}))
    assert "newer version" in run_cli("restore", str(target), "--yes", "--data", str(data)).err
    assert exported_json(data) == before


async def test_nothing_is_deleted_while_a_backup_is_made(tmp_path: Path) -> None:
    with serve_site(pages("first")) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            run = (await crawl_in(app, crawl_settings(http_server.url(), max_pages=3))).run
            async with deletion_lock(app) as is_ours:  # as a backup holds it
                assert is_ours
                with pytest.raises(UsageError, match="a backup"):
                    await delete_runs(app, DEFAULT_TENANT, [run.id])
                assert await app.ledger.run(run.id) is not None
            await delete_runs(app, DEFAULT_TENANT, [run.id])
            assert await app.ledger.run(run.id) is None


async def test_servers_are_backed_up_and_restored_into_an_empty_database(servers: LocalServers, tmp_path: Path) -> None:
    programs = servers.postgres._binaries  # those of the server's own version
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    urls = [await create_database(servers.postgres.url) for _ in range(2)]
    try:
        settings = [
            worker_settings(servers, url, blobs_url=f"file://{tmp_path / f'blobs{number}'}") for number, url in enumerate(urls)
        ]
        environments = [
            {
                "SITELORE_DATABASE_URL": s.database_url,
                "SITELORE_REDIS_URL": s.redis_url,
                "SITELORE_BLOBS_URL": s.blobs_url,
                "PATH": path,
            }
            for s in settings
        ]
        with serve_site(pages("first")) as first, serve_site(pages("second")) as second:
            async with scaled(settings[0]) as app:
                result = await crawl_in(app, crawl_settings(first.url()))
                tenant = await app.queue.create_tenant("other", app.clock())
                before = await export(app, result.run)
                for key in (PICTURE, SCREENSHOT):
                    await app.media.for_tenant(tenant.id).files.put(key, key.encode())
                second.delay_s = 0.05
                crawling = asyncio.create_task(run_to_its_end(app, second))
                assert await asyncio.to_thread(second.wait_for_hits, 5)
                second.delay_s = 2.0  # the crawl must go on for longer than the backup takes
                done = await run_cli_async("backup", str(tmp_path / "backup"), "--json", env=environments[0])
                assert done.code == 0, done.err
                assert not crawling.done()
                second.delay_s = 0.0
                running = await crawling
                expected = await export(app, running)
                refused = await run_cli_async("restore", str(tmp_path / "backup"), "--yes", env=environments[0])
                assert refused.code == 2
                assert "other connections" in refused.err
            done = await run_cli_async("restore", str(tmp_path / "backup"), env=environments[1])
            assert done.code == 0, done.err
            again = await run_cli_async("restore", str(tmp_path / "backup"), env=environments[1])
            assert again.code == 1, "there are data now"
            again = await run_cli_async("restore", str(tmp_path / "backup"), "--yes", env=environments[1])
            assert again.code == 0, again.err
            async with scaled(settings[1]) as app:
                run = await app.ledger.run(result.run.id)
                assert run is not None
                assert await export(app, run) == before
                for row in result.rows.values():
                    assert row.document is None or await app.blobs.get(row.document)
                for key in (PICTURE, SCREENSHOT):
                    assert await app.media.for_tenant(tenant.id).files.get(key) == key.encode()
                assert [stored.name for stored in await app.queue.tenants()] == ["default", tenant.name]
                assert await app.ledger.for_tenant(tenant.id).runs() == [], "row-level security is in place again"
                unfinished = await app.ledger.run(running.id)
                assert unfinished is not None
                assert unfinished.state is RunState.RUNNING
                finished = await app.crawl(unfinished, Progress(), asyncio.Event())
                assert await export(app, finished) == expected
        without = await run_cli_async("backup", str(tmp_path / "none"), env=environments[0] | {"PATH": str(tmp_path)})
        assert without.code == 2
        assert "pg_dump is not installed" in without.err
    finally:
        for url in urls:
            await drop_database(servers.postgres.url, url)
