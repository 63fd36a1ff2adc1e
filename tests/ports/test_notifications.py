"""Notifications and events, within one process and between processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from scripts.servers import LocalServers

from sitelore.model.frontier import EventKind, RunEvent
from sitelore.model.ids import RunId
from sitelore.ports import Events, Notifier
from sitelore.store.local_notifications import LocalEvents, LocalNotifier

RUN, OTHER = RunId("run-1"), RunId("run-2")
LONG_S, SHORT_S = 10.0, 0.05


class Both:
    """The notifiers and events of two processes; within one process they are the same objects."""

    def __init__(self, here: Notifier, there: Notifier, events_here: Events, events_there: Events) -> None:
        self.here, self.there, self.events_here, self.events_there = here, there, events_here, events_there


@pytest.fixture(params=["local", "redis"])
async def both(request: pytest.FixtureRequest) -> AsyncIterator[Both]:
    if request.param == "local":
        notifier, events = LocalNotifier(), LocalEvents()
        yield Both(notifier, notifier, events, events)
        return
    from sitelore.store.redis.notifications import RedisNotifier, open_redis

    url = request.getfixturevalue("redis_url")
    clients = [open_redis(url), open_redis(url)]
    here, there = map(RedisNotifier, clients)
    yield Both(here, there, here, there)
    await asyncio.gather(here.close(), there.close())
    await asyncio.gather(*(client.aclose() for client in clients))


async def notified_until_received(ring: Callable[[], asyncio.Future[None]], wait: Callable[[], asyncio.Future[bool]]) -> bool:
    """Notify until it arrives: a new subscription takes a moment."""
    async with asyncio.timeout(LONG_S):
        while True:
            await ring()
            if await wait():
                return True


async def test_a_subscription_is_notified_for_its_run_only(both: Both) -> None:
    async with both.there.subscribe(RUN) as subscription, both.there.subscribe() as any_subscription:
        assert await notified_until_received(
            lambda: asyncio.ensure_future(both.here.notify(RUN)), lambda: asyncio.ensure_future(subscription.wait(0.2))
        )
        while await subscription.wait(SHORT_S) or await any_subscription.wait(SHORT_S):
            pass
        await both.here.notify(OTHER)
        assert await any_subscription.wait(LONG_S)
        assert not await subscription.wait(SHORT_S)


async def test_notifications_between_waits_are_coalesced(both: Both) -> None:
    async with both.here.subscribe(RUN) as subscription:
        while await subscription.wait(SHORT_S):
            pass  # the ring of a fresh subscription
        for _ in range(500):
            await both.here.notify(RUN)
        assert await subscription.wait(LONG_S)
        while await subscription.wait(SHORT_S):
            pass  # some may still arrive: a few, never five hundred
        assert not await subscription.wait(SHORT_S)


async def test_a_follower_gets_the_events_of_its_run_in_order(both: Both) -> None:
    async with both.events_there.follow(RUN) as events:
        for number in range(5):
            await both.events_here.publish(RunEvent(OTHER, EventKind.WAVE, 1.0, {"wave": number}))
            await both.events_here.publish(RunEvent(RUN, EventKind.WAVE, 1.0, {"wave": number}))
        async with asyncio.timeout(LONG_S):
            seen = [await anext(events) for _ in range(5)]
    assert [(event.run, event.facts["wave"]) for event in seen] == [(RUN, number) for number in range(5)]


async def test_unread_events_of_a_slow_follower_are_bounded(both: Both) -> None:
    async with both.events_here.follow(RUN) as events:
        for number in range(3000):
            await both.events_here.publish(RunEvent(RUN, EventKind.PROGRESS, 1.0, {"settled": number}))
        async with asyncio.timeout(LONG_S):
            seen = [(await anext(events)).facts["settled"]]
            while seen[-1] != 2999:
                seen.append((await anext(events)).facts["settled"])
    assert len(seen) <= 1001
    assert seen == sorted(seen, key=int)


async def test_without_redis_local_notifications_still_arrive() -> None:
    from sitelore.store.redis.notifications import RedisNotifier, open_redis

    redis = open_redis("redis://127.0.0.1:1/0")
    notifier = RedisNotifier(redis)
    async with notifier.subscribe(RUN) as subscription:
        await notifier.notify(RUN)
        assert await subscription.wait(LONG_S)
        await notifier.publish(RunEvent(RUN, EventKind.STATE, 1.0))
    await notifier.close()
    await redis.aclose()


async def test_subscriptions_are_notified_after_a_reconnect(servers: LocalServers) -> None:
    """A notification may have been missed meanwhile, so every subscriber has to look for work."""
    from sitelore.store.redis.notifications import RedisNotifier, open_redis

    redis = open_redis(servers.valkey.url)
    notifier = RedisNotifier(redis)
    async with notifier.follow(RUN), notifier.subscribe(RUN) as subscription:
        while await subscription.wait(SHORT_S):
            pass
        servers.valkey.restart()
        assert await subscription.wait(LONG_S)
    await notifier.close()
    await redis.aclose()


async def test_close_ends_the_listener_even_when_the_client_swallows_the_cancellation(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client may lose a cancellation that comes while it sends: some of these would have waited for ever."""
    from sitelore.store.redis import notifications as redis_notifications

    monkeypatch.setattr(redis_notifications, "_LISTEN_S", 0.002)  # a ping follows, so it is sending nearly all the time
    clients = [redis_notifications.open_redis(redis_url) for _ in range(40)]
    notifiers = [redis_notifications.RedisNotifier(client) for client in clients]
    for notifier in notifiers:
        async with notifier.subscribe() as subscription:
            assert await subscription.wait(LONG_S), "it is notified when the subscription is made"
    async with asyncio.timeout(LONG_S):
        for notifier in notifiers:
            await notifier.close()
    await asyncio.gather(*(client.aclose() for client in clients))
