"""Politeness over every gate: the one of a single process, and the one that processes share through Redis.

Redis goes by its own clock, so these tests go by the real one, with gaps as short as a busy machine allows. The rules of the
pace in every detail are in `tests/unit/frontier/test_gate.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from scripts.servers import LocalServers

from sitelore.frontier.gate import LocalGate
from sitelore.model.response import Failure
from sitelore.model.settings import Pace
from sitelore.ports import Feedback, HostGate

if TYPE_CHECKING:
    from sitelore.store.redis.gate import RedisGate

HOST, OTHER, OWN = "example.com", "example.org", "127.0.0.1:8000"
GOOD = Feedback(0.01, status=200)
GAP_S = 0.15
PACE = Pace(delay_s=GAP_S)
FAST = Pace(delay_s=0.0, per_host=2)
SLOT_S = 0.6
CLOCKS_S = 0.02
"""How far the clocks of Redis and of this process may differ over a second."""


class Shared:
    """The gates of two processes on one empty Redis, and a client for the test."""

    def __init__(self, url: str) -> None:
        from sitelore.store.redis.gate import RedisGate
        from sitelore.store.redis.notifications import open_redis

        self.clients = [open_redis(url) for _ in range(3)]
        self.redis = self.clients[2]
        self.gates: list[RedisGate] = [RedisGate(client, slot_s=SLOT_S) for client in self.clients[:2]]

    async def close(self) -> None:
        await asyncio.gather(*(gate.close() for gate in self.gates))
        await asyncio.gather(*(client.aclose() for client in self.clients))


@pytest.fixture
async def shared(redis_url: str) -> AsyncIterator[Shared]:
    both = Shared(redis_url)
    await both.redis.flushall()
    await both.redis.set("sitelore:gates", "0")  # as if this Redis were old: a new host is open at once
    yield both
    await both.close()


@pytest.fixture(params=["local", "redis"])
async def gates(request: pytest.FixtureRequest) -> AsyncIterator[list[HostGate]]:
    """The gates of two processes; within one process they are the same object."""
    if request.param == "local":
        gate = LocalGate(time.monotonic)
        yield [gate, gate]
        return
    both = Shared(request.getfixturevalue("redis_url"))
    await both.redis.flushall()
    await both.redis.set("sitelore:gates", "0")
    yield [*both.gates]
    await both.close()


async def pass_through(gate: HostGate, host: str = HOST, pace: Pace = PACE) -> float:
    """Wait until the gate opens; return that time."""
    async with asyncio.timeout(20):
        while wait_s := await gate.acquire(host, pace):  # noqa: ASYNC110 the gate answers with a time
            await asyncio.sleep(wait_s)
    return time.monotonic()


async def test_the_first_request_starts_at_once_and_the_next_after_the_gap(gates: list[HostGate]) -> None:
    assert await gates[0].acquire(HOST, PACE) == 0.0
    gates[0].mark_sent(HOST)
    for gate in gates:
        assert 0 < await gate.acquire(HOST, PACE) <= GAP_S + 0.01
    assert await gates[1].acquire(OTHER, PACE) == 0.0, "another host has its own gate"


async def test_the_gap_holds_over_all_processes_and_nearly_all_of_the_rate_is_used(gates: list[HostGate]) -> None:
    """Measures when requests are sent, some of them late, as a server would see it."""
    left_at: list[float] = []

    async def ask(gate: HostGate, late_s: float) -> None:
        for _ in range(3):
            await pass_through(gate)
            await asyncio.sleep(late_s)
            gate.mark_sent(HOST)
            left_at.append(time.monotonic())
            await gate.release(HOST, PACE, GOOD)

    await asyncio.gather(*(ask(gates[n % 2], 0.01 * (n % 3)) for n in range(6)))
    left_at.sort()
    gaps = [later - earlier for earlier, later in pairwise(left_at)]
    assert len(left_at) == 18
    assert min(gaps) >= GAP_S
    assert sum(gaps) / len(gaps) < 2 * GAP_S


async def test_no_more_than_per_host_requests_are_in_progress(gates: list[HostGate]) -> None:
    assert await gates[0].acquire(HOST, FAST) == 0.0
    assert await gates[1].acquire(HOST, FAST) == 0.0
    for gate in gates:
        assert await gate.acquire(HOST, FAST) > 0
    await gates[0].release(HOST, FAST, GOOD)
    await pass_through(gates[1], HOST, FAST)
    assert await gates[0].acquire(HOST, FAST) > 0


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_closes_a_host_for_everyone(gates: list[HostGate], status: int) -> None:
    assert await gates[0].acquire(HOST, FAST) == 0.0
    closed_at = time.monotonic()
    await gates[0].release(HOST, FAST, Feedback(0.01, status=status, retry_after_s=0.8))
    for gate in gates:
        assert await gate.acquire(HOST, FAST) > 0.3
    assert HOST in await gates[1].closed_hosts()
    assert await gates[1].acquire(OTHER, FAST) == 0.0
    assert await pass_through(gates[1], HOST, FAST) - closed_at >= 0.8
    assert HOST not in await gates[1].closed_hosts()


async def test_the_backoff_of_a_failing_host_grows(gates: list[HostGate]) -> None:
    await pass_through(gates[0], HOST, FAST)
    for number, cooldown_s in enumerate((0.5, 1.0)):
        failed, other = gates[number % 2], gates[1 - number % 2]
        failed_at = time.monotonic()
        await failed.release(HOST, FAST, Feedback(0.0, failure=Failure.CONNECTION))
        assert await pass_through(other, HOST, FAST) - failed_at >= cooldown_s - CLOCKS_S


async def test_five_server_errors_in_a_row_close_a_host_and_a_good_response_resets_the_count(gates: list[HostGate]) -> None:
    for status in (500, 500, 500, 500, 200, 500, 500, 500, 500):
        await pass_through(gates[0], HOST, FAST)
        await gates[0].release(HOST, FAST, Feedback(0.0, status=status))
    assert await gates[1].acquire(HOST, FAST) == 0.0
    await gates[1].release(HOST, FAST, Feedback(0.0, status=500))
    assert await gates[0].acquire(HOST, FAST) > 0.3


async def test_a_crawl_delay_applies_to_all_processes_up_to_the_cap(gates: list[HostGate]) -> None:
    await gates[0].set_crawl_delay(HOST, Pace(delay_s=0.0, max_crawl_delay_s=0.4), 99.0)
    began = await pass_through(gates[0], HOST, FAST)
    gates[0].mark_sent(HOST)
    await gates[0].release(HOST, FAST, GOOD)
    wait_s = await gates[1].acquire(HOST, FAST)
    assert 0.1 < wait_s <= 0.41
    assert await pass_through(gates[1], HOST, FAST) - began >= 0.4


async def test_an_adaptive_gap_follows_the_response_time_and_own_hosts_have_none(gates: list[HostGate]) -> None:
    adaptive = Pace(per_host=50)
    await pass_through(gates[0], HOST, adaptive)
    gates[0].mark_sent(HOST)
    wait_s = await gates[1].acquire(HOST, adaptive)
    assert 0.02 < wait_s <= 0.11
    await gates[0].release(HOST, adaptive, Feedback(4.0, status=200))
    await asyncio.sleep(wait_s)
    assert 1.0 < await gates[1].acquire(HOST, adaptive) <= 2.0, "half of what the host takes to answer"
    for _ in range(20):
        assert await gates[0].acquire(OWN, adaptive) == 0.0


async def test_a_request_that_is_not_yet_sent_is_not_overtaken(shared: Shared) -> None:
    """A process is slow between admission and sending: the gap counts from sending."""
    slow, quick = shared.gates
    assert await slow.acquire(HOST, PACE) == 0.0
    await asyncio.sleep(2 * GAP_S)
    assert await quick.acquire(HOST, PACE) > 0
    slow.mark_sent(HOST)
    left_at = time.monotonic()
    assert await pass_through(quick) - left_at >= GAP_S


async def test_a_request_that_is_never_sent_frees_its_turn(shared: Shared) -> None:
    first, second = shared.gates
    assert await first.acquire(HOST, PACE) == 0.0
    await first.release(HOST, PACE, Feedback(0.0))
    began = time.monotonic()
    assert await pass_through(second) - began < GAP_S + SLOT_S / 2


async def test_the_slots_of_a_dead_process_come_back_and_those_of_a_slow_one_do_not(shared: Shared) -> None:
    dead, alive = shared.gates
    assert await dead.acquire(HOST, FAST) == 0.0
    assert await alive.acquire(HOST, FAST) == 0.0
    assert dead._slot_renewer is not None
    dead._slot_renewer.cancel()
    began = time.monotonic()
    await pass_through(alive, HOST, FAST)
    assert time.monotonic() - began <= SLOT_S + 0.5
    await asyncio.sleep(2 * SLOT_S)
    assert await dead.acquire(HOST, FAST) > 0, "both slots are still held by the living one"


async def test_a_cancelled_enter_keeps_no_slot(shared: Shared) -> None:
    one, other = shared.gates
    for _ in range(4):
        asking = asyncio.create_task(one.acquire(HOST, FAST))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await pass_through(other, HOST, FAST)
    await pass_through(other, HOST, FAST)


async def test_a_cancelled_enter_gives_its_slot_back_before_the_slot_expires(shared: Shared) -> None:
    from sitelore.store.redis.gate import RedisGate

    one, other = RedisGate(shared.clients[0], slot_s=60.0), shared.gates[1]
    entering = [asyncio.create_task(one.acquire(HOST, FAST)) for _ in range(FAST.per_host)]
    await asyncio.sleep(0)  # both calls are on their way
    for task in entering:
        task.cancel()
    await asyncio.gather(*entering, return_exceptions=True)
    await one.close()
    assert [await other.acquire(HOST, FAST) for _ in range(FAST.per_host)] == [0.0] * FAST.per_host


async def test_a_host_that_redis_has_evicted_keeps_its_gap_through_a_process_that_knows_it(shared: Shared) -> None:
    (one, other), slow = shared.gates, Pace(delay_s=60.0, per_host=2)
    assert await one.acquire(HOST, slow) == 0.0
    await one.release(HOST, slow, GOOD)
    await one.close()
    assert await shared.redis.delete(f"sitelore:gate:{HOST}") == 1
    await one.set_crawl_delay(HOST, slow, 0.0)
    assert await other.acquire(HOST, slow) > 0


async def test_after_a_flush_the_gap_holds_and_known_state_is_restored(shared: Shared) -> None:
    one, other = shared.gates
    began = await pass_through(one)
    one.mark_sent(HOST)
    await one.release(OTHER, FAST, Feedback(0.0, status=429, retry_after_s=30.0))
    assert await other.acquire(OTHER, FAST) > 20
    await shared.redis.flushall()
    assert await pass_through(other) - began >= GAP_S, "the gap holds although no process knows the last request"
    assert await one.acquire(OTHER, FAST) > 20, "a process that knows of the closing restores it"
    assert await other.acquire(OTHER, FAST) > 20


async def test_without_redis_no_request_starts_and_afterwards_requests_go_on(servers: LocalServers) -> None:
    both = Shared(servers.valkey.url)
    await both.redis.flushall()
    gate, other = both.gates
    await pass_through(gate, HOST, FAST)
    servers.valkey.kill()
    assert await gate.acquire(HOST, FAST) > 0
    await gate.release(HOST, FAST, GOOD)
    assert await other.acquire(OTHER, FAST) > 0
    servers.valkey.start()
    await pass_through(gate, HOST, FAST)
    await pass_through(other, HOST, FAST)
    await both.close()
