"""The cache of robots.txt, over a scripted fetcher and a gate that records its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from tests.unit.fetch.raw_server import url_of
from tests.unit.fetch.recording_gate import RecordingGate

from sitelore.fetch import robots
from sitelore.fetch.robots import RobotsCache
from sitelore.fetch.robots_rules import MAX_BYTES
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response, RobotsFile
from sitelore.model.settings import CrawlSettings

ORIGIN = "http://site.example"
NOW = 1_700_000_000.0
DAY = 24 * 3600.0
Say = Callable[[Request], Fetched | Awaitable[Fetched]]


def says(body: bytes | str = b"", status: int = 200, **headers: str) -> Say:
    data = body.encode() if isinstance(body, str) else body
    header_pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return lambda request: Response(request.url, status, header_pairs, data)


def fails(failure: Failure) -> Say:
    return lambda request: FetchFailure(request.url, failure, "It did not work.", 0.1)


@dataclass
class World:
    """Everything around a cache. `script` answers the requests in order, its last entry all further ones."""

    script: list[Say]
    settings: CrawlSettings = field(default_factory=CrawlSettings)
    now: float = NOW
    stored: dict[str, RobotsFile] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    gate: RecordingGate = field(default_factory=RecordingGate)

    def cache(self) -> RobotsCache:
        async def load(origin: str) -> RobotsFile | None:
            return self.stored.get(origin)

        async def save(file: RobotsFile) -> None:
            self.stored[file.origin] = file

        return RobotsCache(self, self.gate, self.settings, lambda: self.now, load, save)

    async def fetch(self, request: Request) -> Fetched:
        self.requests.append(request)
        answer = self.script[min(len(self.requests), len(self.script)) - 1](request)
        return await answer if isinstance(answer, Awaitable) else answer

    async def close(self) -> None:
        return None


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "_RETRY_DELAYS_S", (0.0, 0.0))


PRIVATE = "User-agent: *\nDisallow: /private\nSitemap: http://site.example/s.xml\n"


async def test_the_rules_of_an_origin_are_fetched_once_and_obeyed() -> None:
    world = World([says(PRIVATE)])
    cache = world.cache()
    verdict = await cache.judge(url_of(f"{ORIGIN}/private/x"))
    assert (verdict.allowed, verdict.state, verdict.line) == (False, "ok", 2)
    verdict = await cache.judge(url_of(f"{ORIGIN}/page"))
    assert (verdict.allowed, verdict.state, verdict.sitemaps) == (True, "ok", ("http://site.example/s.xml",))
    assert [request.url for request in world.requests] == [f"{ORIGIN}/robots.txt"]
    request = world.requests[0]
    assert (request.any_content_type, request.truncate_body, request.max_body_bytes) == (True, True, MAX_BYTES + 1)
    assert world.stored[ORIGIN] == RobotsFile(ORIGIN, NOW, 200, PRIVATE)


async def test_origins_differ_by_scheme_and_port() -> None:
    world = World([says(PRIVATE)])
    cache = world.cache()
    for origin in (ORIGIN, "https://site.example", "http://site.example:8080"):
        await cache.judge(url_of(f"{origin}/"))
    assert len(world.requests) == 3


async def test_every_request_passes_the_gate_and_reports_its_outcome() -> None:
    world = World([says("x", 503, retry_after="7"), says(PRIVATE)])
    world.gate.waits = [0.001, 0.001]
    await world.cache().judge(url_of("http://site.example:8080/"))
    assert world.gate.entered == ["site.example:8080"] * 2
    assert [(host, feedback.status, feedback.retry_after_s) for host, feedback in world.gate.left] == [
        ("site.example:8080", 503, 7.0),
        ("site.example:8080", 200, None),
    ]


async def test_a_crawl_delay_is_passed_to_the_gate() -> None:
    world = World([says("User-agent: *\nCrawl-delay: 4\n")])
    await world.cache().judge(url_of(f"{ORIGIN}/"))
    assert world.gate.delays == [("site.example", 4.0)]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
async def test_a_missing_robots_txt_allows_everything(status: int) -> None:
    world = World([says("Disallow: /", status)])
    verdict = await world.cache().judge(url_of(f"{ORIGIN}/x"))
    assert (verdict.allowed, verdict.state, len(world.requests)) == (True, "unavailable", 1)
    assert (world.stored[ORIGIN].status, world.stored[ORIGIN].body) == (status, "")


@pytest.mark.parametrize(
    ("say", "times"),
    [
        (says("", 500), 3),
        (says("", 503), 3),
        (says("", 429), 1),
        (fails(Failure.TIMEOUT), 2),
        (fails(Failure.CONNECTION), 3),
        (fails(Failure.TRUNCATED), 3),
        (fails(Failure.PROTOCOL), 1),
        (fails(Failure.DECODING), 1),
    ],
)
async def test_an_unreachable_robots_txt_forbids_everything_after_a_bounded_number_of_tries(say: Say, times: int) -> None:
    world = World([say])
    cache = world.cache()
    verdict = await cache.judge(url_of(f"{ORIGIN}/x"))
    assert (verdict.allowed, verdict.state, len(world.requests)) == (False, "unreachable", times)
    assert world.stored[ORIGIN].detail
    await cache.judge(url_of(f"{ORIGIN}/y"))
    assert len(world.requests) == times


async def test_a_temporary_failure_is_retried() -> None:
    world = World([fails(Failure.CONNECTION), says("", 502), says(PRIVATE)])
    assert (await world.cache().judge(url_of(f"{ORIGIN}/x"))).state == "ok"


async def test_an_unreachable_robots_txt_is_requested_again_after_ten_minutes() -> None:
    world = World([says("", 500)] * 3 + [says(PRIVATE)])
    cache = world.cache()
    assert not (await cache.judge(url_of(f"{ORIGIN}/x"))).allowed
    world.now += 601
    assert (await cache.judge(url_of(f"{ORIGIN}/x"))).allowed


async def test_a_copy_younger_than_a_day_replaces_an_unreachable_robots_txt() -> None:
    world = World([says("", 503)])
    world.stored[ORIGIN] = RobotsFile(ORIGIN, NOW - DAY + 60, 200, PRIVATE)
    cache = world.cache()
    assert (await cache.judge(url_of(f"{ORIGIN}/x"))).allowed
    assert not (await cache.judge(url_of(f"{ORIGIN}/private"))).allowed
    assert world.stored[ORIGIN].body == PRIVATE
    world.now += 61
    assert (await cache.judge(url_of(f"{ORIGIN}/x"))).state == "unreachable"


@pytest.mark.parametrize("copy", [RobotsFile(ORIGIN, NOW - DAY, 200, PRIVATE), RobotsFile(ORIGIN, NOW - 60, 404, "")])
async def test_a_copy_that_is_old_or_not_a_2xx_is_not_used(copy: RobotsFile) -> None:
    world = World([fails(Failure.TIMEOUT)], stored={ORIGIN: copy})
    assert (await world.cache().judge(url_of(f"{ORIGIN}/x"))).state == "unreachable"


async def test_after_a_day_the_rules_are_fetched_anew() -> None:
    world = World([says(PRIVATE), says("User-agent: *\nDisallow: /other\n")])
    cache = world.cache()
    assert not (await cache.judge(url_of(f"{ORIGIN}/private"))).allowed
    world.now += DAY
    assert (await cache.judge(url_of(f"{ORIGIN}/private"))).allowed


@pytest.mark.parametrize("failure", [Failure.ADDRESS, Failure.TLS, Failure.DNS])
async def test_where_no_connection_is_possible_the_url_is_allowed_and_fails_itself(failure: Failure) -> None:
    world = World([fails(failure), fails(failure), says(PRIVATE)])
    cache = world.cache()
    verdict = await cache.judge(url_of(f"{ORIGIN}/private"))
    assert (verdict.allowed, verdict.state) == (True, "unavailable")
    assert world.stored == {}
    count = len(world.requests)
    await cache.judge(url_of(f"{ORIGIN}/private"))
    assert len(world.requests) > count  # and it is not believed a second time


def redirecting(hops: int, last: Say) -> list[Say]:
    return [says("", 302, location=f"/robots.txt?hop={hop}") for hop in range(hops)] + [last]


async def test_five_redirects_are_followed_and_each_passes_its_hosts_gate() -> None:
    world = World([*redirecting(4, says("", 301, location="https://cdn.example/r.txt")), says(PRIVATE)])
    assert not (await world.cache().judge(url_of(f"{ORIGIN}/private"))).allowed
    assert world.requests[-1].url == "https://cdn.example/r.txt"
    assert world.gate.entered == ["site.example"] * 5 + ["cdn.example"]
    assert world.stored[ORIGIN].body == PRIVATE


@pytest.mark.parametrize(
    "script",
    [
        redirecting(6, says(PRIVATE)),
        [says("", 302, location="/robots.txt")],
        [says("", 302)],
        [says("", 302, location="mailto:a@b.example")],
        [says("", 302, location="http://10.0.0.1/"), fails(Failure.ADDRESS)],
    ],
)
async def test_failing_redirects_count_as_no_robots_txt(script: list[Say]) -> None:
    world = World(script)
    verdict = await world.cache().judge(url_of(f"{ORIGIN}/private"))
    assert (verdict.allowed, verdict.state) == (True, "unavailable")
    assert len(world.requests) <= 6
    assert world.stored[ORIGIN].status == 302


async def test_a_redirect_to_a_server_that_fails_is_unreachable() -> None:
    redirect, broken = says("", 302, location="https://site.example/robots.txt"), fails(Failure.TLS)
    world = World([lambda request: (broken if request.url.scheme == "https" else redirect)(request)])
    assert (await world.cache().judge(url_of(f"{ORIGIN}/x"))).state == "unreachable"


async def test_concurrent_visits_share_one_fetch() -> None:
    release = asyncio.Event()

    async def slow(request: Request) -> Fetched:
        await release.wait()
        return Response(request.url, 200, (), PRIVATE.encode())

    world = World([slow])
    cache = world.cache()
    visits = [asyncio.create_task(cache.judge(url_of(f"{ORIGIN}/private/{number}"))) for number in range(20)]
    await asyncio.sleep(0)
    release.set()
    assert [verdict.allowed for verdict in await asyncio.gather(*visits)] == [False] * 20
    assert len(world.requests) == 1


async def test_when_the_fetching_visit_is_cancelled_another_takes_over() -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> Fetched:
        started.set()
        await release.wait()
        return Response(request.url, 200, (), PRIVATE.encode())

    world = World([slow])
    cache = world.cache()
    first, second = (asyncio.create_task(cache.judge(url_of(f"{ORIGIN}/private"))) for _ in range(2))
    await started.wait()
    first.cancel()
    release.set()
    assert not (await second).allowed
    with pytest.raises(asyncio.CancelledError):
        await first
    assert len(world.requests) == 2
    assert len(world.gate.left) == 2


async def test_a_server_that_never_responds_is_unreachable_after_the_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "_TIME_BUDGET_S", 0.05)

    async def silence(request: Request) -> Fetched:
        await asyncio.Event().wait()
        raise AssertionError

    world = World([silence])
    assert (await world.cache().judge(url_of(f"{ORIGIN}/x"))).state == "unreachable"
    assert [feedback.failure for _, feedback in world.gate.left] == [Failure.TIMEOUT]


async def test_waiting_for_the_rate_limit_does_not_use_up_the_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "_TIME_BUDGET_S", 0.01)
    world = World(redirecting(1, says(PRIVATE)))
    world.gate.waits = [0.02, 0.02]
    assert (await world.cache().judge(url_of(f"{ORIGIN}/x"))).state == "ok"


async def test_a_retry_with_a_long_wait_is_not_made() -> None:
    world = World([says("", 503)])

    def answer(request: Request) -> Fetched:
        world.gate.waits = [3600.0]  # what a gate makes of a server error
        return says("", 503)(request)  # type: ignore[return-value]

    world.script = [answer]
    assert (await world.cache().judge(url_of(f"{ORIGIN}/x"))).state == "unreachable"
    assert len(world.requests) == 1


async def test_robots_txt_is_not_requested_when_it_is_ignored() -> None:
    world = World([says("User-agent: *\nDisallow: /\n")], CrawlSettings(obey_robots=False))
    verdict = await world.cache().judge(url_of(f"{ORIGIN}/x"))
    assert (verdict.allowed, verdict.state, world.requests) == (True, "ignored", [])


async def test_more_agents_may_be_obeyed() -> None:
    world = World([says("User-agent: Googlebot\nDisallow: /g\n")], CrawlSettings(robots_agents=("Googlebot",)))
    verdict = await world.cache().judge(url_of(f"{ORIGIN}/g"))
    assert (verdict.allowed, verdict.agent) == (False, "Googlebot")


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbfUser-agent: *\rDisallow: /private\r",
        "\ufeffUser-agent: *\nDisallow: /private\n".encode("utf-16-le"),
        b"User-agent: *\nDisallow: /private\n# \0\xff broken\n",
    ],
)
async def test_odd_bytes_are_parsed_and_the_stored_text_is_clean(body: bytes) -> None:
    world = World([says(body)])
    assert not (await world.cache().judge(url_of(f"{ORIGIN}/private"))).allowed
    stored = world.stored[ORIGIN].body
    assert "Disallow: /private" in stored
    assert "\0" not in stored
    assert stored.encode("utf-8")


async def test_an_endless_file_is_stored_up_to_the_cap() -> None:
    body = PRIVATE.encode() + b"# endless\n" * 100_000
    world = World([says(body[: MAX_BYTES + 1])])
    assert not (await world.cache().judge(url_of(f"{ORIGIN}/private"))).allowed
    assert len(world.stored[ORIGIN].body) <= MAX_BYTES


async def test_the_cache_is_bounded_in_number_and_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "_MAX_ORIGINS", 10)
    monkeypatch.setattr(robots, "_MAX_CACHE_BYTES", 5 * len(PRIVATE))
    world = World([says(PRIVATE)])
    cache = world.cache()
    for number in range(30):
        await cache.judge(url_of(f"http://host{number}.example/"))
    assert len(cache._entries) == 5
    world.script = [says("", 404)]
    for number in range(30):
        await cache.judge(url_of(f"http://other{number}.example/"))
    assert len(cache._entries) == 10
