"""Faults of workers and servers change no byte of the export, and no row is settled twice.

The full list on 3,000 pages is `make soak-scaled`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from scripts.servers import LocalServers
from tests.support.faults import (
    Baseline,
    Fault,
    crawl_baseline,
    crawl_with_fault,
    flush_redis,
    kill_redis,
    kill_workers,
    refuse_connections,
    restart_postgres,
    skew_clocks,
    suspend_worker,
)
from tests.support.graph import Graph
from tests.support.http_server import HttpServer, serve_site
from tests.support.tcp_proxy import tcp_proxy


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HttpServer, Baseline]]:
    """One site for all of these tests, slow enough that a fault occurs during its crawl, and its baseline."""
    with serve_site(lambda _: None) as http_server:
        baseline = asyncio.run(crawl_baseline(http_server, Graph(11, 170), tmp_path_factory.mktemp("baseline")))
        http_server.delay_s = 0.05
        yield http_server, baseline


FAULTS: dict[str, Fault] = {
    "kill -9": kill_workers(2),
    "redis flushed": flush_redis,
    "redis killed": kill_redis(1.0),
    "postgres restarted": restart_postgres,
    "worker suspended": suspend_worker,
    "clocks skewed": skew_clocks(600.0),
}


LOSES_LEASES = {"kill -9", "worker suspended", "clocks skewed"}
"""Faults after which leases must expire. After the others none may be lost, however busy the machine is."""


@pytest.mark.parametrize("name", FAULTS)
async def test_a_crawl_with_a_fault_exports_the_same_bytes_as_an_undisturbed_one(
    servers: LocalServers, site: tuple[HttpServer, Baseline], name: str
) -> None:
    http_server, baseline = site
    lease_s = 2.0 if name in LOSES_LEASES else 30.0
    report = await crawl_with_fault(servers, http_server, baseline, name, FAULTS[name], lease_s=lease_s)
    assert report.passed, report


async def test_a_blob_store_that_refuses_connections_for_a_while_only_costs_time(
    servers: LocalServers, site: tuple[HttpServer, Baseline]
) -> None:
    http_server, baseline = site
    with tcp_proxy(servers.s3.port) as proxy:
        url = servers.s3.url.replace(str(servers.s3.port), str(proxy.port))
        refusal = refuse_connections(proxy, 1.5)
        report = await crawl_with_fault(servers, http_server, baseline, "S3 refuses", refusal, lease_s=30.0, blobs_url=url)
    assert report.passed, report
