"""Channels on Postgres, Valkey and S3: two servers and a worker serve one channel."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.servers import LocalServers
from tests.interfaces.test_api_channels import CHANNELS, SETTINGS, added, eventually, finished, listed, pages
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import serve_site, site
from tests.support.workers import scaled_app, worker_pool


async def test_a_channel_is_crawled_once_whichever_server_is_called(servers: LocalServers, tmp_path: Path) -> None:
    with serve_site(site(pages()), host="localhost") as http_server:
        async with scaled_app(servers) as (_, operator):
            with worker_pool(operator) as pool:
                env = pool.variables()
                with (
                    serve_process(tmp_path, http_server, env=env) as first,
                    serve_process(tmp_path, http_server, env=env) as second,
                ):
                    channel = added(first.api, http_server.url("/"))
                    path = f"{CHANNELS}/{channel}/webcrawl"
                    assert second.api.call("POST", CHANNELS, {"url": http_server.url("/")}).kind == "channel-exists"
                    with ThreadPoolExecutor(8) as threads:
                        starts = list(
                            threads.map(lambda number: (first, second)[number % 2].api.call("POST", f"{path}/start"), range(8))
                        )
                    assert sorted(answer.status for answer in starts) == [201] + [409] * 7
                    pool.start(1)
                    assert finished(second.api, channel)["status"] == "COMPLETED"
                    every = listed(second.api, channel)
                    assert {name: each["status"] for name, each in every.items()} == {
                        "/": "ACTIVE", "/a": "ACTIVE", "/b": "ACTIVE", "/a/deep": "ACTIVE", "/private": "ACTIVE",
                        "/broken": "FAILED",
                    }  # fmt: skip
                    others = listed(first.api, channel)
                    # The index is updated meanwhile.
                    assert {name: {**each, "indexed": None} for name, each in others.items()} == {
                        name: {**each, "indexed": None} for name, each in every.items()
                    }
                    detail = first.api.get(f"{path}/pages/{every['/a']['id']}")
                    assert detail["markdown"].startswith("# A")
                    brand = eventually(lambda: shown if (shown := second.api.get("/tenant/v1/brand"))["confidence"] else None)
                    assert brand["primaryColor"] == "#3355ff"
                    weekly = first.api.call("PATCH", SETTINGS, {"websiteCrawlFrequency": "WEEKLY"}).json
                    assert second.api.get(f"{path}/status")["nextRunAt"] == weekly["nextScheduledCrawlAt"]
                    assert second.api.call("POST", f"{path}/changed", {"urls": [http_server.url("/b")]}).status == 201
                    assert finished(first.api, channel)["pagesCrawled"] == 1
                    assert second.api.call("DELETE", f"{path}/pages/{every['/a/deep']['id']}").status == 204
                    assert "/a/deep" not in listed(first.api, channel)
                    assert second.api.call("DELETE", f"{CHANNELS}/{channel}").status == 204
                    assert first.api.call("GET", f"{CHANNELS}/{channel}").kind == "channel-not-found"
                assert set(pool.stop()) == {0}
