"""The API on Postgres, Valkey and S3: two servers and two workers give the same results as one process."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scripts.servers import LocalServers, free_ports
from tests.interfaces.test_api_process import serve_process
from tests.support.crawls import crawl, crawl_settings, exported_json
from tests.support.graph import Graph
from tests.support.http_server import serve_site
from tests.support.tcp_proxy import tcp_proxy
from tests.support.workers import scaled_app, worker_pool

from sitelore.model.ids import RunId


async def test_two_servers_and_two_workers_make_the_same_crawl_as_one_process(servers: LocalServers, tmp_path: Path) -> None:
    graph = Graph(31, 80, with_sitemap=True)
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages = graph.pages(http_server.origin)
        await crawl(tmp_path / "alone", crawl_settings(http_server.url("/"), max_pages=5000, max_depth=25))
        alone = exported_json(tmp_path / "alone")
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                env = pool.variables()
                with (
                    serve_process(tmp_path, http_server, env=env) as first,
                    serve_process(tmp_path, http_server, env=env) as second,
                ):
                    body = {"seedUrl": http_server.url("/"), "settings": {"includeDocuments": True}}
                    made = [server.api.call("POST", "/crawl-runs", body, Idempotency_Key="both") for server in (first, second)]
                    [run] = {answer.json["id"] for answer in made}
                    assert second.api.get(f"/crawl-runs/{run}")["status"] == "QUEUED", "no worker has started yet"
                    pool.start(2)
                    assert second.api.finish(run)["status"] == "COMPLETED"
                    for server in (first, second):
                        assert server.api.call("GET", f"/crawl-runs/{run}/export").body == alone
                        assert server.api.get("/ready") == {"status": "ready"}
                    cancelled = first.api.start(http_server.url("/"))
                    assert first.api.call("POST", f"/crawl-runs/{cancelled}/cancel").json["status"] == "CANCELLED"
                    assert second.api.finish(cancelled)["status"] == "CANCELLED"
                    for server in (first, second):
                        assert server.end() < 30
                        assert server.process.returncode == 0
                assert set(pool.stop()) == {0}
                assert await app.ledger.release(RunId(run), 1e12) == 0, "a lease was not released"


async def test_without_postgres_the_api_answers_503_long_before_a_worker_gives_up(
    servers: LocalServers, tmp_path: Path
) -> None:
    """The client waits for a minute, a worker for an hour: an answer comes only from a server that does not wait like one."""
    with serve_site(lambda _: None, host="localhost") as http_server, tcp_proxy(servers.postgres.port) as proxy:
        async with scaled_app(servers, patience_s=3600.0) as (app, operator):
            with worker_pool(operator) as pool:
                url = operator.database_url.replace(f":{servers.postgres.port}/", f":{proxy.port}/")
                with serve_process(tmp_path, http_server, env=pool.variables() | {"SITELORE_DATABASE_URL": url}) as server:
                    assert server.api.get("/ready") == {"status": "ready"}
                    proxy.shut()
                    for path in ("/ready", "/metrics", "/crawl-runs"):
                        answer = server.api.call("GET", path)
                        assert (answer.status, answer.kind) == (503, "unavailable"), path
                    assert server.api.call("POST", "/crawl-runs", {"seedUrl": http_server.url("/")}).status == 503
                    assert server.api.call("GET", "/health").status == 200
                    proxy.open()
                    assert server.api.get("/ready") == {"status": "ready"}
                    assert await app.ledger.runs() == [], "a request that was answered with 503 was carried out later"


async def test_while_postgres_is_frozen_every_route_answers_503(servers: LocalServers, tmp_path: Path) -> None:
    """Connections stay open and nothing answers: the client waits for a minute, the proxy for as long as it takes."""
    with serve_site(lambda _: None, host="localhost") as http_server, tcp_proxy(servers.postgres.port) as proxy:
        async with scaled_app(servers, patience_s=3600.0) as (app, operator):
            run = await app.create_run(crawl_settings(http_server.url("/")))
            with worker_pool(operator) as pool:
                url = operator.database_url.replace(f":{servers.postgres.port}/", f":{proxy.port}/")
                with serve_process(tmp_path, http_server, env=pool.variables() | {"SITELORE_DATABASE_URL": url}) as server:
                    assert server.api.get("/ready") == {"status": "ready"}
                    proxy.freeze()
                    tails = ("", "/summary", "/urls", "/export", "/graph", "/events")
                    paths = ["/ready", "/metrics", "/crawl-runs", "/sites", *(f"/crawl-runs/{run.id}{tail}" for tail in tails)]
                    requests = [("GET", path) for path in paths]
                    requests += [("POST", f"/crawl-runs/{run.id}/{verb}") for verb in ("cancel", "resume")]
                    with ThreadPoolExecutor(len(requests)) as threads:
                        for answer, request in zip(
                            threads.map(lambda each: server.api.call(*each), requests), requests, strict=True
                        ):
                            assert (answer.status, answer.kind) == (503, "unavailable"), request
                    assert server.api.call("POST", "/crawl-runs", {"seedUrl": http_server.url("/")}).status == 503
                    assert server.api.call("GET", "/health").status == 200
                    proxy.thaw()
                    while server.api.call("GET", "/ready").status != 200:  # noqa: ASYNC110 another process, there is no event
                        await asyncio.sleep(0.05)
                    assert server.api.get(f"/crawl-runs/{run.id}")["status"] == "QUEUED"


async def test_a_worker_serves_its_metrics(servers: LocalServers, monkeypatch: pytest.MonkeyPatch) -> None:
    [port] = free_ports(1)
    monkeypatch.setenv("SITELORE_METRICS_PORT", str(port))
    async with scaled_app(servers) as (_, operator):
        with worker_pool(operator) as pool:
            pool.start()
            assert await asyncio.to_thread(_get, port, "/health") == '{"status":"ok"}'
            text = await asyncio.to_thread(_get, port, "/metrics")
            assert "# TYPE crawl_fetch_duration_seconds histogram\n" in text
            assert "# TYPE crawl_urls_visited_total counter\n" in text
            with pytest.raises(urllib.error.HTTPError, match="404"):
                await asyncio.to_thread(_get, port, "/elsewhere")
            assert pool.stop() == [0]


def _get(port: int, path: str) -> str:
    """The response, as soon as the port is open."""
    for _ in range(400):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError:
            time.sleep(0.05)
    pytest.fail("the worker does not answer")
