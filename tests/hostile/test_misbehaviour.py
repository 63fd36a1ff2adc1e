"""Crawls of servers that misbehave: each ends with its own outcome after few requests, and the canary is never reached.

Directly, and through an HTTP and a SOCKS5 proxy.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from tests.hostile.behaviours import CASES
from tests.support.crawls import CrawlResult, crawl_in, crawl_settings
from tests.support.misbehaving import Misbehaving, misbehaving
from tests.support.proxies import serve_proxy

from sitelore.app.wiring import embedded
from sitelore.fetch.access import RunAccess
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.model.access import NO_ACCESS, Access, Proxies
from sitelore.model.frontier import UrlRow
from sitelore.model.response import Failure, FetchFailure, Request
from sitelore.model.settings import CrawlSettings, FetchLimits
from sitelore.model.url import Url

LIMITS = FetchLimits(headers_s=1.0, slow_after_s=1.0, body_bytes=2**20, wire_bytes=2**20)
MOST_REQUESTS = 4  # a request, and at most three retries


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The crawl of all servers, and the requests that they saw."""

    journey: CrawlResult
    server: Misbehaving
    stored: int
    """The longest stored document, in bytes."""
    access: Access
    """The proxy that was used, if any."""

    def row(self, name: str) -> UrlRow:
        return self.journey.rows[self.server.url(name)]

    def last(self, name: str) -> UrlRow:
        """The row at which redirects end."""
        row, seen = self.row(name), set()
        while row.final_url and row.final_url not in seen and row.final_url in self.journey.rows:
            seen.add(row.final_url)
            row = self.journey.rows[row.final_url]
        return row


@pytest.fixture(scope="module", params=["direct", "http", "socks5"])
def access(request: pytest.FixtureRequest) -> Iterator[Access]:
    if request.param == "direct":
        yield NO_ACCESS
        return
    with serve_proxy(request.param, "ann:secret-word") as proxy:
        yield Access(proxies=Proxies((proxy.url,), (proxy.url,)))
        assert proxy.targets


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory, access: Access) -> Iterator[Aftermath]:
    with misbehaving({name: case.behaviour for name, case in CASES.items()}) as server:
        seeds = [server.url(name) for name in CASES]
        settings = replace(crawl_settings(*seeds, concurrency=16), limits=LIMITS, max_retries=1)

        async def crawl() -> Aftermath:
            async with embedded(tmp_path_factory.mktemp("misbehaviour"), writing=True) as app:
                journey = await crawl_in(app.with_access(access), settings)
                documents = [await app.blobs.get(row.document) for row in journey.rows.values() if row.document]
                assert all("Readable text" in json.loads(document)["markdown"] for document in documents)
                return Aftermath(journey, server, max(map(len, documents)), access)

        yield asyncio.run(crawl())


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", CASES)
def test_every_misbehaviour_ends_with_its_outcome(name: str, aftermath: Aftermath) -> None:
    rows = (aftermath.row(name), aftermath.last(name))
    outcomes = {word for row in rows for word in (row.state, row.skip_reason, row.error.partition(":")[0]) if word}
    assert CASES[name].outcome in outcomes, rows


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("redirect")])
def test_a_server_that_misbehaves_gets_few_requests(name: str, aftermath: Aftermath) -> None:
    assert 1 <= len(aftermath.server.requests[name]) <= MOST_REQUESTS


def test_the_crawl_completes_and_never_connects_to_the_canary(aftermath: Aftermath) -> None:
    assert aftermath.journey.run.state == "COMPLETED"
    assert aftermath.server.canary_connections == 0


def test_endless_redirects_end_and_bombs_are_not_stored(aftermath: Aftermath) -> None:
    assert len(aftermath.server.requests["redirects without an end"]) <= 25
    assert aftermath.stored < 100_000


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0", "127.1", "0x7f000001", "017700000001", "2130706433", "[::1]", "[::]",
     "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "①②⑦.①", "user:pw@127.0.0.1"],
)  # fmt: skip
async def test_the_canary_is_out_of_reach_under_every_name(aftermath: Aftermath, host: str) -> None:
    server = aftermath.server
    fetcher = HttpFetcher(CrawlSettings(), AddressGuard([server.origin("plain")]), access=RunAccess(aftermath.access))
    url = Url.parse(f"http://{host}:{server.canary_port}/internal")
    assert url is not None
    failure = await fetcher.fetch(Request(url))
    await fetcher.close()
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.ADDRESS
    assert "pw" not in failure.detail
    assert server.canary_connections == 0


async def test_the_canary_is_out_of_reach_for_a_name_that_resolves_to_it(aftermath: Aftermath) -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    server = aftermath.server
    access = RunAccess(aftermath.access)
    fetcher = HttpFetcher(CrawlSettings(), AddressGuard([server.canary]), lookup=lookup, access=access)
    url = Url.parse(f"http://rebound.example:{server.canary_port}/internal")
    assert url is not None
    failure = await fetcher.fetch(Request(url))
    await fetcher.close()
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.ADDRESS
    assert server.canary_connections == 0
