"""The HTTP client against the hostile server: each misbehaviour ends as the right failure, and the canary is never reached."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import psutil
import pytest
from tests.support.hostile import CANARY, HostileServer, hostile_server

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.fetch.robots import RobotsCache
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response, RobotsFile
from sitelore.model.settings import CrawlSettings, FetchLimits, Pace
from sitelore.model.url import Url
from sitelore.ports import Feedback

SETTINGS = CrawlSettings()
# Shorter timeouts, for slow responses.
HASTY = CrawlSettings(limits=FetchLimits(headers_s=1.0, slow_after_s=1.0))
MEMORY_BYTES = 64 * 2**20


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    with hostile_server() as running:
        yield running
        assert running.canary_hits() == 0


@asynccontextmanager
async def fetching(hostile: HostileServer, settings: CrawlSettings) -> AsyncIterator[HttpFetcher]:
    opened = [hostile.origin(offset) for offset in (*range(10), 11, 12, 13)]
    made = HttpFetcher(settings, AddressGuard(opened))
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def fetcher(hostile: HostileServer) -> AsyncIterator[HttpFetcher]:
    async with fetching(hostile, SETTINGS) as made:
        yield made


def url_of(text: str) -> Url:
    url = Url.parse(text)
    assert url is not None
    return url


async def fetched(fetcher: HttpFetcher, hostile: HostileServer, number: int, *, any_content_type: bool = False) -> Fetched:
    entry = {entry["id"]: entry for entry in hostile.expected()}[number]
    return await fetcher.fetch(Request(url_of(entry["entry_url"]), any_content_type=any_content_type))


@pytest.mark.parametrize(
    ("number", "failures"),
    [
        (13, {Failure.TOO_LARGE}),
        (14, {Failure.TOO_LARGE}),
        (15, {Failure.TOO_LARGE}),
        (21, {Failure.TOO_LARGE}),
        (23, {Failure.TRUNCATED}),
        (25, {Failure.PROTOCOL}),
        (27, {Failure.TRUNCATED}),
        (28, {Failure.PROTOCOL}),
        (30, {Failure.PROTOCOL}),
        (32, {Failure.CONNECTION}),
        (33, {Failure.CONNECTION, Failure.TRUNCATED}),
    ],
)
async def test_a_transport_misbehaviour_ends_as_its_failure_after_one_request(
    hostile: HostileServer, fetcher: HttpFetcher, number: int, failures: Collection[Failure]
) -> None:
    before = psutil.Process().memory_info().rss
    failure = await fetched(fetcher, hostile, number)
    assert isinstance(failure, FetchFailure)
    assert failure.failure in failures
    assert failure.detail.endswith(".")
    assert hostile.hits()[str(number)]["hits"] == 1
    assert psutil.Process().memory_info().rss - before < MEMORY_BYTES


@pytest.mark.parametrize("number", [19, 20])
async def test_a_slow_response_times_out(hostile: HostileServer, number: int) -> None:
    async with fetching(hostile, HASTY) as fetcher:
        failure = await fetched(fetcher, hostile, number)
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.TIMEOUT
    assert hostile.hits()[str(number)]["hits"] == 1


async def test_an_endless_body_is_cut_off_soon(hostile: HostileServer, fetcher: HttpFetcher) -> None:
    await fetched(fetcher, hostile, 21)
    assert hostile.hits()["21"]["bytes_sent"] < 2 * 33_554_432


@pytest.mark.parametrize(("number", "text"), [(40, b"sniffed-html"), (51, b"get-works"), (1, b"control-text-alpha")])
async def test_an_odd_but_valid_response_is_read(
    hostile: HostileServer, fetcher: HttpFetcher, number: int, text: bytes
) -> None:
    response = await fetched(fetcher, hostile, number)
    assert isinstance(response, Response)
    assert (response.status, response.body_read) == (200, True)
    assert text in response.body


async def test_an_image_labelled_as_html_is_returned_as_bytes(hostile: HostileServer, fetcher: HttpFetcher) -> None:
    response = await fetched(fetcher, hostile, 39)
    assert isinstance(response, Response)
    assert response.body.startswith(b"\x89PNG")


async def test_a_pdf_is_not_read_when_documents_are_off(hostile: HostileServer, fetcher: HttpFetcher) -> None:
    async with fetching(hostile, replace(SETTINGS, documents=False)) as picky:
        left = await fetched(picky, hostile, 62)
        assert isinstance(left, Response)
        assert (left.status, len(left.body), left.body_read) == (200, 0, False)
        requested = await fetched(picky, hostile, 62, any_content_type=True)
    for taken in (requested, await fetched(fetcher, hostile, 62)):
        assert isinstance(taken, Response)
        assert taken.body.startswith(b"%PDF")


@pytest.mark.parametrize("number", [111, 112, 113])
async def test_an_invalid_certificate_is_a_tls_error(hostile: HostileServer, fetcher: HttpFetcher, number: int) -> None:
    if not hostile.has_tls:
        pytest.skip("the hostile server has no TLS without the openssl command")
    failure = await fetched(fetcher, hostile, number)
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.TLS
    assert not any(key.startswith(f"{number}:") for key in hostile.hits())


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0", "127.1", "0x7f.1", "0x7f000001", "017700000001", "2130706433", "[::1]",
     "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "①②⑦.⓪.⓪.①", "user:pw@127.0.0.1"],
)  # fmt: skip
async def test_the_canary_is_out_of_reach_under_every_name(hostile: HostileServer, fetcher: HttpFetcher, host: str) -> None:
    failure = await fetcher.fetch(Request(url_of(f"http://{host}:{hostile.base_port + CANARY}/secret")))
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.ADDRESS
    assert "pw" not in failure.detail
    assert hostile.canary_hits() == 0


async def test_the_canary_is_out_of_reach_for_a_name_that_resolves_to_it(hostile: HostileServer) -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    fetcher = HttpFetcher(SETTINGS, AddressGuard([hostile.origin(CANARY)]), lookup=lookup)
    failure = await fetcher.fetch(Request(url_of(f"http://rebind.example:{hostile.base_port + CANARY}/secret")))
    await fetcher.close()
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.ADDRESS
    assert hostile.canary_hits() == 0


class OpenGate:
    """A gate without waits: the test is about robots.txt, not about the rate limit."""

    async def acquire(self, host: str, pace: Pace) -> float:
        return 0.0

    def mark_sent(self, host: str) -> None:
        pass

    async def release(self, host: str, pace: Pace, feedback: Feedback) -> None:
        return None

    async def set_crawl_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        return None

    async def closed_hosts(self) -> Collection[str]:
        return ()


@pytest.mark.parametrize(
    ("offset", "state", "page", "private"),
    [
        (1, "unreachable", False, False),
        (2, "unavailable", True, True),
        (3, "unavailable", True, True),
        (4, "ok", True, False),
        (5, "unavailable", True, True),
        (6, "ok", True, False),
        (7, "unreachable", False, False),
        (8, "ok", True, False),
        (9, "ok", True, False),
    ],
)
async def test_every_kind_of_robots_txt_is_understood(
    hostile: HostileServer, offset: int, state: str, page: bool, private: bool
) -> None:
    stored: dict[str, RobotsFile] = {}

    async def load(origin: str) -> RobotsFile | None:
        return stored.get(origin)

    async def save(file: RobotsFile) -> None:
        stored[file.origin] = file

    settings = HASTY if offset == 7 else SETTINGS
    async with fetching(hostile, settings) as fetcher:
        cache = RobotsCache(fetcher, OpenGate(), settings, time.time, load, save)
        verdict = await cache.judge(url_of(hostile.url("/page", offset)))
        assert (verdict.state, verdict.allowed) == (state, page)
        assert (await cache.judge(url_of(hostile.url("/private/x", offset)))).allowed is private
    hits = hostile.hits()
    assert hits[f"{100 + offset}:robots"]["hits"] <= 6
    assert hits[f"{100 + offset}:robots"]["bytes_sent"] <= 8_388_608
    assert len(stored[hostile.origin(offset)].body) <= 600_000
