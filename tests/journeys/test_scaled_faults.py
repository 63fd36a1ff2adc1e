"""Workers die, freeze and go by wrong clocks, servers go away and forget: the export is the same, nothing is settled twice.

The full list on 3,000 pages is `make soak-scaled`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from scripts.servers import LocalServers
from tests.support.chaos import (
    Calm,
    Fault,
    Scene,
    calm_crawl,
    clocks_off,
    flush_redis,
    freeze,
    kills,
    ordeal,
    redis_away,
    restart_postgres,
)
from tests.support.graph import Graph
from tests.support.serve import Web, serving
from tests.support.tcp_proxy import tcp_proxy


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, Calm]]:
    """One site for all of these tests, a little slow so that a crawl of it can be disturbed, and its calm crawl."""
    with serving(lambda _: None) as web:
        calm = asyncio.run(calm_crawl(web, Graph(11, 170), tmp_path_factory.mktemp("calm")))
        web.delay_s = 0.05
        yield web, calm


FAULTS: dict[str, Fault] = {
    "kill -9": kills(2),
    "redis flushed": flush_redis,
    "redis away": redis_away(1.0),
    "postgres restarted": restart_postgres,
    "frozen": freeze,
    "clocks off": clocks_off(600.0),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_disturbed_crawl_gives_the_bytes_of_a_calm_one(
    servers: LocalServers, site: tuple[Web, Calm], name: str
) -> None:
    web, calm = site
    toll = await ordeal(servers, web, calm, name, FAULTS[name], lease_s=2.0)
    assert toll.is_fine, toll


async def test_a_blob_store_that_refuses_for_a_while_costs_time_alone(servers: LocalServers, site: tuple[Web, Calm]) -> None:
    web, calm = site
    with tcp_proxy(servers.s3.port) as proxy:

        async def refuse(scene: Scene) -> None:
            await scene.reach(0.3)
            proxy.shut()
            await asyncio.sleep(1.5)
            proxy.open()
            await scene.goes_on()

        url = servers.s3.url.replace(str(servers.s3.port), str(proxy.port))
        toll = await ordeal(servers, web, calm, "S3 refuses", refuse, lease_s=2.0, blobs_url=url)
    assert toll.is_fine, toll
