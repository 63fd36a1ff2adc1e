"""Politeness of every kind of request: pages over HTTP, pages through the browser, and robots.txt use the same gate.

What the gate decides is tested in `tests/unit/frontier/test_gate.py` and `tests/ports/test_gate.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from tests.unit.fetch.raw_server import url_of
from tests.unit.fetch.recording_gate import RecordingGate

from sitelore.fetch import robots
from sitelore.fetch.politeness import HostBusy, HostLimiter, PoliteFetcher, PoliteRenderer
from sitelore.fetch.robots import RobotsCache
from sitelore.model.response import (
    Failure,
    Fetched,
    FetchFailure,
    Rendered,
    RenderFailure,
    RenderRequest,
    Request,
    Response,
    RobotsFile,
)
from sitelore.model.settings import CrawlSettings
from sitelore.ports import Feedback

URL = url_of("http://site.example:8080/page")
HOST = "site.example:8080"
NOW = 1_700_000_000.0
SETTINGS = CrawlSettings()


@dataclass
class Network:
    """A fetcher and a renderer that send one scripted response, or raise, after a check that a slot is taken."""

    gate: RecordingGate
    outcome: Response | FetchFailure | BaseException
    sent: list[str] = field(default_factory=list)

    async def fetch(self, request: Request) -> Fetched:
        self.sent.append(request.url.authority)
        assert len(self.gate.entered) == len(self.gate.left) + 1, "a request without a slot"
        await asyncio.sleep(0)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        fetched = await self.fetch(Request(request.url))
        if isinstance(fetched, FetchFailure):
            return RenderFailure(request.url, fetched.failure, fetched.detail, fetched.elapsed_s)
        return Rendered(fetched)

    async def close(self) -> None:
        """Nothing is open."""


async def over_http(network: Network) -> None:
    await PoliteFetcher(network, network.gate, SETTINGS, lambda: NOW).fetch(Request(URL))


async def through_the_browser(network: Network) -> None:
    await PoliteRenderer(network, network.gate, SETTINGS, lambda: NOW).render(RenderRequest(URL))


async def for_robots_txt(network: Network) -> None:
    async def load(_: str) -> RobotsFile | None:
        return None

    async def save(_: RobotsFile) -> None:
        return None

    await RobotsCache(network, network.gate, SETTINGS, lambda: NOW, load, save).judge(URL)


Path = Callable[[Network], Awaitable[None]]
every_path = pytest.mark.parametrize("path", [over_http, through_the_browser, for_robots_txt])


@pytest.fixture(autouse=True)
def _single_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "_RETRY_DELAYS_S", ())


def responds(status: int, elapsed_s: float = 0.2, **headers: str) -> Response:
    return Response(
        URL, status, tuple((name.replace("_", "-"), value) for name, value in headers.items()), b"", elapsed_s=elapsed_s
    )


@every_path
async def test_a_request_waits_for_the_time_of_the_gate(path: Path) -> None:
    gate = RecordingGate(waits=[0.01, 0.02])
    network = Network(gate, responds(404))
    started = asyncio.get_running_loop().time()
    await path(network)
    assert asyncio.get_running_loop().time() - started >= 0.03
    assert network.sent == [HOST]


@every_path
async def test_a_request_takes_and_releases_one_slot_of_its_host(path: Path) -> None:
    network = Network(RecordingGate(), responds(200))
    await path(network)
    assert network.gate.entered == [HOST]
    assert [host for host, _ in network.gate.left] == [HOST]


@every_path
@pytest.mark.parametrize("error", [RuntimeError("a fault of ours"), asyncio.CancelledError()])
async def test_a_request_that_raises_releases_its_slot_and_reports_no_outcome(path: Path, error: BaseException) -> None:
    network = Network(RecordingGate(), error)
    with pytest.raises(type(error)):
        await path(network)
    assert network.gate.left == [(HOST, Feedback(0.0))]


@every_path
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0)])
async def test_retry_after_is_reported_in_seconds(path: Path, status: int, value: str, seconds: float) -> None:
    network = Network(RecordingGate(), responds(status, retry_after=value))
    await path(network)
    [(_, feedback)] = network.gate.left
    assert (feedback.status, feedback.retry_after_s) == (status, seconds)


@pytest.mark.parametrize("path", [over_http, for_robots_txt])
async def test_latency_and_failures_over_http_set_the_pace(path: Path) -> None:
    network = Network(RecordingGate(), responds(200, elapsed_s=1.5))
    await path(network)
    assert network.gate.left == [(HOST, Feedback(1.5, status=200))]
    network = Network(RecordingGate(), FetchFailure(URL, Failure.TIMEOUT, "No.", 9.0))
    await path(network)
    assert network.gate.left == [(HOST, Feedback(9.0, failure=Failure.TIMEOUT))]


async def test_the_time_and_the_crashes_of_the_browser_do_not_set_the_pace() -> None:
    for outcome in (responds(200, elapsed_s=9.0), FetchFailure(URL, Failure.CONNECTION, "It crashed.", 9.0)):
        network = Network(RecordingGate(), outcome)
        await through_the_browser(network)
        assert network.gate.left == [(HOST, Feedback(0.0))]


async def test_a_wait_longer_than_the_caller_accepts_makes_no_request() -> None:
    gate = RecordingGate(waits=[0.001, 0.5])
    sent: list[str] = []

    async def request() -> str:
        sent.append("request")
        return "response"

    limiter = HostLimiter(gate, SETTINGS)
    with pytest.raises(HostBusy):
        await limiter.run(HOST, request, lambda _: Feedback(0.0), max_wait_s=0.1)
    assert (sent, gate.entered, gate.left) == ([], [], [])
    assert await limiter.run(HOST, request, lambda _: Feedback(0.0), max_wait_s=0.1) == "response"
    assert len(gate.left) == 1


async def test_a_crawl_delay_reaches_the_gate() -> None:
    gate = RecordingGate()
    await HostLimiter(gate, SETTINGS).set_crawl_delay(HOST, 4.0)
    assert gate.delays == [(HOST, 4.0)]
