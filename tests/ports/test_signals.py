"""Signals and events, within one process and between processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from scripts.servers import LocalServers

from sitelore.model.frontier import EventKind, RunEvent
from sitelore.model.ids import RunId
from sitelore.ports import Events, Notifier
from sitelore.store.signals import LocalEvents, LocalNotifier

RUN, OTHER = RunId("run-1"), RunId("run-2")
LONG_S, SHORT_S = 10.0, 0.05


class Both:
    """Two ends, as two processes would have them; for one process they are the same."""

    def __init__(self, here: Notifier, there: Notifier, told_here: Events, told_there: Events) -> None:
        self.here, self.there, self.told_here, self.told_there = here, there, told_here, told_there


@pytest.fixture(params=["local", "redis"])
async def both(request: pytest.FixtureRequest) -> AsyncIterator[Both]:
    if request.param == "local":
        notifier, events = LocalNotifier(), LocalEvents()
        yield Both(notifier, notifier, events, events)
        return
    from sitelore.store.redis_signals import RedisNotifier, open_redis

    url = request.getfixturevalue("redis_url")
    clients = [open_redis(url), open_redis(url)]
    here, there = map(RedisNotifier, clients)
    yield Both(here, there, here, there)
    await asyncio.gather(here.close(), there.close())
    await asyncio.gather(*(client.aclose() for client in clients))


async def rung(ring: Callable[[], asyncio.Future[None]], wait: Callable[[], asyncio.Future[bool]]) -> bool:
    """Ring until it is heard: whoever subscribes needs a moment."""
    async with asyncio.timeout(LONG_S):
        while True:
            await ring()
            if await wait():
                return True


async def test_a_bell_rings_for_its_run_and_for_no_other(both: Both) -> None:
    async with both.there.subscribe(RUN) as bell, both.there.subscribe() as any_bell:
        assert await rung(lambda: asyncio.ensure_future(both.here.notify(RUN)), lambda: asyncio.ensure_future(bell.wait(0.2)))
        while await bell.wait(SHORT_S) or await any_bell.wait(SHORT_S):
            pass
        await both.here.notify(OTHER)
        assert await any_bell.wait(LONG_S)
        assert not await bell.wait(SHORT_S)


async def test_what_rang_while_nobody_waited_is_heard_once(both: Both) -> None:
    async with both.here.subscribe(RUN) as bell:
        while await bell.wait(SHORT_S):
            pass  # the ring of a fresh subscription
        for _ in range(500):
            await both.here.notify(RUN)
        assert await bell.wait(LONG_S)
        while await bell.wait(SHORT_S):
            pass  # what still came over the wire: one or a few, never five hundred
        assert not await bell.wait(SHORT_S)


async def test_a_watcher_sees_what_happens_to_its_run_in_order(both: Both) -> None:
    async with both.told_there.follow(RUN) as events:
        for number in range(5):
            await both.told_here.publish(RunEvent(OTHER, EventKind.WAVE, 1.0, {"wave": number}))
            await both.told_here.publish(RunEvent(RUN, EventKind.WAVE, 1.0, {"wave": number}))
        async with asyncio.timeout(LONG_S):
            seen = [await anext(events) for _ in range(5)]
    assert [(event.run, event.facts["wave"]) for event in seen] == [(RUN, number) for number in range(5)]


async def test_a_slow_watcher_costs_a_bounded_amount(both: Both) -> None:
    async with both.told_here.follow(RUN) as events:
        for number in range(3000):
            await both.told_here.publish(RunEvent(RUN, EventKind.PROGRESS, 1.0, {"settled": number}))
        async with asyncio.timeout(LONG_S):
            seen = [(await anext(events)).facts["settled"]]
            while seen[-1] != 2999:
                seen.append((await anext(events)).facts["settled"])
    assert len(seen) <= 1001
    assert seen == sorted(seen, key=int)


async def test_without_redis_nothing_fails_and_a_bell_still_rings_here() -> None:
    from sitelore.store.redis_signals import RedisNotifier, open_redis

    redis = open_redis("redis://127.0.0.1:1/0")
    notifier = RedisNotifier(redis)
    async with notifier.subscribe(RUN) as bell:
        await notifier.notify(RUN)
        assert await bell.wait(LONG_S)
        await notifier.publish(RunEvent(RUN, EventKind.STATE, 1.0))
    await notifier.close()
    await redis.aclose()


async def test_bells_ring_when_a_broken_subscription_stands_again(servers: LocalServers) -> None:
    """A signal may have been missed meanwhile: whoever waits looks for itself."""
    from sitelore.store.redis_signals import RedisNotifier, open_redis

    redis = open_redis(servers.valkey.url)
    notifier = RedisNotifier(redis)
    async with notifier.follow(RUN), notifier.subscribe(RUN) as bell:
        while await bell.wait(SHORT_S):
            pass
        servers.valkey.restart()
        assert await bell.wait(LONG_S)
    await notifier.close()
    await redis.aclose()


async def test_signals_that_are_closed_end_whatever_their_connection_does_at_that_moment(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client may lose a cancellation that comes while it sends: some of these would have waited for ever."""
    from sitelore.store import redis_signals

    monkeypatch.setattr(redis_signals, "_LISTEN_S", 0.002)  # a ping follows: it sends nearly all the time
    clients = [redis_signals.open_redis(redis_url) for _ in range(40)]
    some = [redis_signals.RedisNotifier(client) for client in clients]
    for notifier in some:
        async with notifier.subscribe() as bell:
            assert await bell.wait(LONG_S), "it rings when the subscription stands"
    async with asyncio.timeout(LONG_S):
        for notifier in some:
            await notifier.close()
    await asyncio.gather(*(client.aclose() for client in clients))
