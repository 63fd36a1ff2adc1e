from __future__ import annotations

import asyncio

import pytest

from sitelore.serve.single_flight import SingleFlightCache


class Time:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Looks:
    """Counts its calls; each lookup may take a while."""

    def __init__(self, time: Time, takes_s: float = 0.0) -> None:
        self.count = 0
        self._time = time
        self._takes_s = takes_s

    async def __call__(self) -> int:
        self.count += 1
        await asyncio.sleep(0)
        self._time.now += self._takes_s
        return self.count


async def test_concurrent_callers_share_one_lookup() -> None:
    time = Time()
    shared, look = SingleFlightCache(1.0, time), Looks(time)
    assert await asyncio.gather(*(shared.get(("a",), look) for _ in range(50))) == [1] * 50
    assert await shared.get(("b",), look) == 2


async def test_an_answer_is_kept_for_a_moment() -> None:
    time = Time()
    shared, look = SingleFlightCache(1.0, time), Looks(time)
    assert await shared.get(("a",), look) == 1
    time.now += 0.9
    assert await shared.get(("a",), look) == 1
    time.now += 0.2
    assert await shared.get(("a",), look) == 2


async def test_an_answer_that_was_dear_is_kept_longer() -> None:
    time = Time()
    shared, look = SingleFlightCache(1.0, time), Looks(time, takes_s=2.0)
    assert await shared.get(("a",), look) == 1
    time.now += 7.9
    assert await shared.get(("a",), look) == 1
    time.now += 0.2
    assert await shared.get(("a",), look) == 2


async def test_an_invalidated_entry_is_looked_up_again() -> None:
    time = Time()
    shared, look = SingleFlightCache(1.0, time), Looks(time)
    await shared.get(("run", "x"), look)
    await shared.get(("run", "y"), look)
    shared.forget("x")
    assert await shared.get(("run", "x"), look) == 3
    assert await shared.get(("run", "y"), look) == 2


async def test_a_cancelled_caller_does_not_cancel_the_lookup_of_others() -> None:
    shared, go = SingleFlightCache(1.0), asyncio.Event()

    async def look() -> str:
        await go.wait()
        return "found"

    impatient, patient = (asyncio.create_task(shared.get(("a",), look)) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.sleep(0)
    go.set()
    assert await patient == "found"
    assert impatient.cancelled()


async def test_a_failed_lookup_is_not_cached() -> None:
    shared, tries = SingleFlightCache(1.0), iter([ValueError("no"), None])

    async def look() -> str:
        if problem := next(tries):
            raise problem
        return "found"

    with pytest.raises(ValueError, match="no"):
        await shared.get(("a",), look)
    assert await shared.get(("a",), look) == "found"


async def test_memory_is_bounded() -> None:
    shared = SingleFlightCache(1000.0)

    async def look() -> str:
        return "x" * 100

    for number in range(2000):
        await shared.get((number,), look)
    assert len(shared._entries) <= 513
