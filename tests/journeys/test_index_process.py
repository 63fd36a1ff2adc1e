"""Pages become searchable while they are crawled: in a process that a crawl starts, or one of a deployment's workers."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

import pytest
from scripts.servers import LocalServers
from tests.support.crawls import crawl_settings, start_cli
from tests.support.http_server import page, prose, serve_site, site
from tests.support.workers import scaled_app, worker_pool

from sitelore.app import index_process
from sitelore.app.index_process import index_while_crawling
from sitelore.app.wiring import build_app
from sitelore.model.search import SearchQuery

PAGES = {f"/{name}": page(name.title(), prose(name)) for name in ("rye", "wheat", "spelt")}


async def test_a_crawl_goes_on_where_the_system_cannot_start_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(index_process, "_START_AFTER_S", 0.0)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    warned = asyncio.Event()
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda _: warned.set())
    logging.getLogger(index_process.__name__).addHandler(handler)
    try:
        async with index_while_crawling(tmp_path):
            await asyncio.wait_for(warned.wait(), 30)
    finally:
        logging.getLogger(index_process.__name__).removeHandler(handler)
    assert "the index process does not start: No such file or directory" in caplog.text


async def test_a_crawl_that_fails_or_is_cancelled_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []
    event, start = asyncio.Event(), index_process._start

    async def start_and_note(data: Path, *_: str) -> asyncio.subprocess.Process | None:
        process = await start(data)
        assert process is not None
        started.append(process)
        event.set()
        return process

    monkeypatch.setattr(index_process, "_START_AFTER_S", 0.0)
    monkeypatch.setattr(index_process, "_start", start_and_note)

    async def fail() -> None:
        async with index_while_crawling(tmp_path):
            await event.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert started[0].returncode is not None


async def test_pages_are_searchable_while_a_crawl_still_runs(tmp_path: Path) -> None:
    names = [*PAGES, *(f"/{number}" for number in range(200))]
    pages = {**PAGES, "/": page("Grain", prose("grain"), links=tuple(names))}
    pages |= {name: page(name, prose(name)) for name in names if name not in pages}
    with serve_site(site(pages)) as http_server:
        http_server.delay_s = 0.2
        with start_cli(
            "crawl", http_server.url("/"), "--data", str(tmp_path), "--render", "never", "--delay", "0.2"
        ) as crawling:
            async with asyncio.timeout(60):
                while not (tmp_path / "sitelore.db").exists():  # noqa: ASYNC110 another process writes, there is no event
                    await asyncio.sleep(0.05)
                async with build_app(tmp_path, writing=False) as app:
                    while not (await app.search_service.search(SearchQuery("grain"), update=False)).hits:
                        assert crawling.poll() is None, "the crawl has ended"
                        await asyncio.sleep(0.05)


async def test_workers_index_without_a_server_and_one_of_them_at_a_time(servers: LocalServers) -> None:
    pages = {**PAGES, "/": page("Grain", prose("grain"), links=tuple(PAGES))}
    with serve_site(site(pages)) as http_server:
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                pool.start(2)
                await app.create_run(crawl_settings(http_server.url("/")))
                async with asyncio.timeout(90):
                    while not (await app.search_service.search(SearchQuery("spelt"), update=False)).hits:  # noqa: ASYNC110 see above
                        await asyncio.sleep(0.05)
                async with app.queue.leader_lock("index process") as is_free:
                    assert not is_free
                assert pool.stop() == [0, 0]
                async with app.queue.leader_lock("index process") as is_free:
                    assert is_free, "a stopped worker left its process"
