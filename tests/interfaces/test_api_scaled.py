"""The API on Postgres, Valkey and S3: two servers answer, workers crawl, and all of them tell the same."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from scripts.servers import LocalServers, free_ports
from tests.interfaces.test_api_process import serve_process
from tests.support.fleet import fleet, scaled_app
from tests.support.graph import Graph
from tests.support.journey import crawl, crawl_settings, exported
from tests.support.serve import serving

from sitelore.model.ids import RunId


async def test_two_servers_and_two_workers_make_the_same_crawl_as_one_process(servers: LocalServers, tmp_path: Path) -> None:
    graph = Graph(31, 80, with_sitemap=True)
    with serving(lambda _: None, host="localhost") as web:
        web.pages = graph.pages(web.origin)
        await crawl(tmp_path / "alone", crawl_settings(web.url("/"), max_pages=5000, max_depth=25))
        alone = exported(tmp_path / "alone")
        async with scaled_app(servers) as (app, operator):
            with fleet(operator) as crew:
                env = crew.variables()
                with serve_process(tmp_path, web, env=env) as one, serve_process(tmp_path, web, env=env) as two:
                    asked = {"seedUrl": web.url("/"), "settings": {"includeDocuments": True}}
                    made = [server.api.call("POST", "/crawl-runs", asked, Idempotency_Key="both") for server in (one, two)]
                    [run] = {answer.json["id"] for answer in made}
                    assert two.api.get(f"/crawl-runs/{run}")["status"] == "QUEUED", "no worker is there yet"
                    crew.hire(2)
                    assert two.api.finish(run)["status"] == "COMPLETED"
                    for server in (one, two):
                        assert server.api.call("GET", f"/crawl-runs/{run}/export").body == alone
                        assert server.api.get("/ready") == {"status": "ready"}
                    cancelled = one.api.start(web.url("/"))
                    assert one.api.call("POST", f"/crawl-runs/{cancelled}/cancel").json["status"] == "CANCELLED"
                    assert two.api.finish(cancelled)["status"] == "CANCELLED"
                    for server in (one, two):
                        assert server.end() < 30
                        assert server.process.returncode == 0
                assert set(crew.dismiss()) == {0}
                assert await app.ledger.release(RunId(run), 1e12) == 0, "a lease was left behind"


async def test_a_worker_tells_how_it_does(servers: LocalServers, monkeypatch: pytest.MonkeyPatch) -> None:
    [port] = free_ports(1)
    monkeypatch.setenv("SITELORE_METRICS_PORT", str(port))
    async with scaled_app(servers) as (_, operator):
        with fleet(operator) as crew:
            crew.hire()
            assert await asyncio.to_thread(_asked, port, "/health") == '{"status":"ok"}'
            text = await asyncio.to_thread(_asked, port, "/metrics")
            assert "# TYPE crawl_fetch_duration_seconds histogram\n" in text
            assert "# TYPE crawl_urls_visited_total counter\n" in text
            with pytest.raises(urllib.error.HTTPError, match="404"):
                await asyncio.to_thread(_asked, port, "/elsewhere")
            assert crew.dismiss() == [0]


def _asked(port: int, path: str) -> str:
    """The answer, once somebody listens."""
    for _ in range(400):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError:
            time.sleep(0.05)
    pytest.fail("the worker does not answer")
