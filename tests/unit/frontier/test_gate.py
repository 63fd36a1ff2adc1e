from __future__ import annotations

import heapq
import random
from itertools import pairwise

import pytest

from sitelore.frontier import gate as gate_module
from sitelore.frontier.gate import LocalGate, gap_s
from sitelore.model.politeness import is_private_host
from sitelore.model.response import Failure
from sitelore.model.settings import Pace
from sitelore.ports import Feedback

HOST = "example.com"
OWN = "127.0.0.1:8000"
GOOD = Feedback(0.05, status=200)


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def gate(clock: FakeClock) -> LocalGate:
    return LocalGate(clock)


async def starts_of(
    gate: LocalGate, clock: FakeClock, pace: Pace, count: int, *, seed: int, host: str = HOST, slowest_s: float = 0.3
) -> list[float]:
    """Workers that enter, sleep as long as they must (waking up to 1.5 ms late), fetch for a random while, and come back."""
    chance = random.Random(seed)
    starts: list[float] = []
    events = [(clock.now, worker, -1.0) for worker in range(pace.concurrency)]
    while len(starts) < count:
        clock.now, worker, latency_s = heapq.heappop(events)
        if latency_s >= 0:
            await gate.release(host, pace, Feedback(latency_s, status=200))
        wait_s = await gate.acquire(host, pace)
        if wait_s:
            heapq.heappush(events, (clock.now + wait_s + chance.uniform(0, 0.0015), worker, -1.0))
            continue
        starts.append(clock.now)
        latency_s = chance.uniform(0.001, slowest_s)
        heapq.heappush(events, (clock.now + latency_s, worker, latency_s))
    return starts


def shortest_gap(starts: list[float]) -> float:
    return min(later - earlier for earlier, later in pairwise(starts))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("delay_s", [0.05, 0.1, 1.0])
async def test_the_rate_is_never_passed_and_nine_tenths_of_it_are_reached(
    gate: LocalGate, clock: FakeClock, delay_s: float, seed: int
) -> None:
    starts = await starts_of(gate, clock, Pace(delay_s=delay_s), 2000, seed=seed)
    assert shortest_gap(starts) >= delay_s - 1e-9
    assert (starts[-1] - starts[0]) / (len(starts) - 1) <= delay_s / 0.9


async def test_a_crawl_delay_of_the_host_is_respected_exactly(gate: LocalGate, clock: FakeClock) -> None:
    await gate.set_crawl_delay(HOST, Pace(), 0.5)
    starts = await starts_of(gate, clock, Pace(), 1000, seed=4)
    assert shortest_gap(starts) >= 0.5 - 1e-9
    assert (starts[-1] - starts[0]) / (len(starts) - 1) <= 0.5 / 0.9


async def test_hosts_do_not_wait_for_each_other(gate: LocalGate) -> None:
    pace = Pace(delay_s=10.0)
    assert await gate.acquire("a.example", pace) == 0.0
    assert await gate.acquire("b.example", pace) == 0.0
    assert await gate.acquire("a.example", pace) == pytest.approx(10.002)


async def test_no_more_than_per_host_requests_are_under_way(gate: LocalGate, clock: FakeClock) -> None:
    pace = Pace(delay_s=0.0, per_host=3)
    assert [await gate.acquire(OWN, pace) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert 0 < await gate.acquire(OWN, pace) <= 0.05
    await gate.release(OWN, pace, GOOD)
    assert await gate.acquire(OWN, pace) == 0.0
    assert await gate.acquire(OWN, pace) > 0


async def test_retry_after_closes_the_host_to_the_second(gate: LocalGate, clock: FakeClock) -> None:
    pace = Pace(delay_s=0.0)
    await gate.acquire(HOST, pace)
    await gate.release(HOST, pace, Feedback(0.1, status=429, retry_after_s=7.0))
    assert await gate.acquire(HOST, pace) == pytest.approx(7.0)
    assert list(await gate.closed_hosts()) == [HOST]
    clock.now += 6.9
    assert await gate.acquire(HOST, pace) == pytest.approx(0.1)
    assert not await gate.closed_hosts()
    clock.now += 0.1
    assert await gate.acquire(HOST, pace) == 0.0


async def test_retry_after_is_honoured_up_to_its_cap(gate: LocalGate) -> None:
    pace = Pace(delay_s=0.0, max_retry_after_s=60.0)
    await gate.acquire(HOST, pace)
    await gate.release(HOST, pace, Feedback(0.1, status=503, retry_after_s=3600.0))
    assert await gate.acquire(HOST, pace) == pytest.approx(60.0)


async def test_the_gap_counts_from_when_a_request_really_left(gate: LocalGate, clock: FakeClock) -> None:
    pace = Pace(delay_s=1.0)
    assert await gate.acquire(HOST, pace) == 0.0
    clock.now += 0.4
    gate.mark_sent(HOST)
    clock.now += 0.7
    assert await gate.acquire(HOST, pace) == pytest.approx(0.302)


async def test_an_absurd_retry_after_counts_as_none(gate: LocalGate) -> None:
    pace = Pace(delay_s=0.0, max_retry_after_s=60.0)
    await gate.acquire(HOST, pace)
    await gate.release(HOST, pace, Feedback(0.1, status=503, retry_after_s=999_999_999.0))
    assert await gate.acquire(HOST, pace) == pytest.approx(0.5)


async def test_a_shorter_retry_after_does_not_open_a_closed_host(gate: LocalGate) -> None:
    pace = Pace(delay_s=0.0)
    for retry_after_s in (20.0, 2.0):
        await gate.release(HOST, pace, Feedback(0.1, status=429, retry_after_s=retry_after_s))
    assert await gate.acquire(HOST, pace) == pytest.approx(20.0)


async def cooldowns(gate: LocalGate, clock: FakeClock, feedback: Feedback, times: int) -> list[float]:
    """The wait after each of these answers, each requested as soon as the host is open again."""
    pace, waits = Pace(delay_s=0.0), []
    for _ in range(times):
        assert await gate.acquire(HOST, pace) == 0.0
        clock.now += feedback.elapsed_s
        await gate.release(HOST, pace, feedback)
        closed_s = await gate.acquire(HOST, pace)
        if closed_s == 0.0:
            await gate.release(HOST, pace, Feedback(0.0))
        waits.append(round(closed_s, 6))
        clock.now += closed_s
    return waits


@pytest.mark.parametrize(
    "feedback",
    [
        Feedback(0.1, status=429),
        Feedback(0.1, status=503),
        Feedback(2.0, failure=Failure.TIMEOUT),
        Feedback(0.1, failure=Failure.CONNECTION),
    ],
    ids=["429", "503", "timeout", "connection"],
)
async def test_a_cooldown_doubles_from_half_a_second_to_five(gate: LocalGate, clock: FakeClock, feedback: Feedback) -> None:
    assert await cooldowns(gate, clock, feedback, 6) == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


async def test_good_responses_reduce_the_backoff(gate: LocalGate, clock: FakeClock) -> None:
    busy = Feedback(0.1, status=503)
    assert (await cooldowns(gate, clock, busy, 4))[-1] == 4.0
    assert await cooldowns(gate, clock, GOOD, 2) == [0.0, 0.0]
    assert await cooldowns(gate, clock, busy, 1) == [2.0]
    await cooldowns(gate, clock, GOOD, 4)
    assert await cooldowns(gate, clock, busy, 1) == [0.5]


async def test_requests_under_way_when_the_host_closed_do_not_double_the_cooldown(gate: LocalGate, clock: FakeClock) -> None:
    pace = Pace(delay_s=0.0)
    for _ in range(8):
        assert await gate.acquire(HOST, pace) == 0.0
    clock.now += 1.0
    for _ in range(8):
        await gate.release(HOST, pace, Feedback(1.0, status=503))
    assert await gate.acquire(HOST, pace) == pytest.approx(0.5)


@pytest.mark.parametrize("status", [404, 410, 301, 304])
async def test_ordinary_answers_slow_nothing_down(gate: LocalGate, clock: FakeClock, status: int) -> None:
    assert set(await cooldowns(gate, clock, Feedback(0.1, status=status), 20)) == {0.0}


@pytest.mark.parametrize("failure", [Failure.DNS, Failure.TLS, Failure.TOO_LARGE, Failure.DECODING, Failure.ADDRESS])
async def test_failures_unrelated_to_load_cause_no_backoff(gate: LocalGate, clock: FakeClock, failure: Failure) -> None:
    assert set(await cooldowns(gate, clock, Feedback(0.1, failure=failure), 20)) == {0.0}


@pytest.mark.parametrize("status", [500, 502, 403])
async def test_one_bad_page_does_not_close_a_host_but_five_in_a_row_do(gate: LocalGate, clock: FakeClock, status: int) -> None:
    bad = Feedback(0.1, status=status)
    assert await cooldowns(gate, clock, bad, 5) == [0.0, 0.0, 0.0, 0.0, 0.5]
    for _ in range(10):
        assert await cooldowns(gate, clock, bad, 4) == [0.0] * 4
        assert await cooldowns(gate, clock, GOOD, 1) == [0.0]


async def test_a_crawl_delay_is_honoured_up_to_its_cap(gate: LocalGate) -> None:
    pace = Pace(delay_s=0.0, max_crawl_delay_s=30.0)
    await gate.set_crawl_delay(HOST, pace, 5.0)
    assert await gate.acquire(HOST, pace) == 0.0
    assert await gate.acquire(HOST, pace) == pytest.approx(5.0)
    assert list(await gate.closed_hosts()) == [HOST]
    await gate.set_crawl_delay(HOST, pace, 3600.0)
    assert await gate.acquire(HOST, pace) == pytest.approx(30.0)


async def test_a_crawl_delay_counts_from_the_robots_txt_that_contains_it(gate: LocalGate, clock: FakeClock) -> None:
    pace = Pace(delay_s=0.1)
    await gate.acquire(HOST, pace)
    clock.now += 0.2
    await gate.release(HOST, pace, Feedback(0.2, status=200))
    await gate.set_crawl_delay(HOST, pace, 2.0)
    assert await gate.acquire(HOST, pace) == pytest.approx(1.8)


async def test_a_crawl_delay_never_shortens_the_delay_of_the_settings(gate: LocalGate) -> None:
    pace = Pace(delay_s=3.0)
    await gate.set_crawl_delay(HOST, pace, 1.0)
    await gate.acquire(HOST, pace)
    assert await gate.acquire(HOST, pace) == pytest.approx(3.002)


async def test_without_a_delay_the_gap_follows_half_the_host_s_latency(gate: LocalGate, clock: FakeClock) -> None:
    pace = Pace()
    for _ in range(30):
        clock.now += 100.0
        assert await gate.acquire(HOST, pace) == 0.0
        await gate.release(HOST, pace, Feedback(2.0, status=200))
    await gate.acquire(HOST, pace)
    clock.now += 0.25
    assert await gate.acquire(HOST, pace) == pytest.approx(0.75)


@pytest.mark.parametrize(("latency_s", "expected_s"), [(None, 0.1), (0.01, 0.1), (0.6, 0.3), (60.0, 5.0)])
def test_the_adaptive_gap_has_a_floor_and_a_cap(latency_s: float | None, expected_s: float) -> None:
    assert gap_s(HOST, Pace(), latency_s, 0.0) == pytest.approx(expected_s)


async def test_hosts_of_the_user_have_no_gap(gate: LocalGate) -> None:
    assert [await gate.acquire(OWN, Pace()) for _ in range(8)] == [0.0] * 8
    assert gap_s(OWN, Pace(), 3.0, 0.0) == 0.0
    assert gap_s(OWN, Pace(delay_s=2.0), 0.01, 0.0) == pytest.approx(2.002)


def test_own_hosts_are_loopback_and_private_addresses() -> None:
    own = ["localhost", "localhost:8000", "app.localhost:3000", "127.0.0.1", "[::1]:8080", "10.1.2.3", "192.168.0.1:80"]
    assert [is_private_host(host) for host in own] == [True] * len(own)
    others = ["example.com", "8.8.8.8", "wiki", "localhost.example.com", "[2606:4700::1111]:443"]
    assert [is_private_host(host) for host in others] == [False] * len(others)


async def test_memory_is_bounded_and_closed_or_busy_hosts_are_kept(
    gate: LocalGate, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_module, "_MAX_HOSTS", 50)
    pace = Pace(delay_s=0.0)
    await gate.acquire("busy.example", pace)
    await gate.release("closed.example", pace, Feedback(0.1, status=429, retry_after_s=50.0))
    for number in range(1000):
        clock.now += 0.001
        await gate.acquire(f"h{number}.example", pace)
        await gate.release(f"h{number}.example", pace, GOOD)
    assert len(gate._hosts) <= 50
    assert await gate.acquire("closed.example", pace) > 40
    assert gate._hosts["busy.example"].in_progress == 1
