"""Notifications that wake workers, and progress events of runs, within one process (`ports.Notifier`, `ports.Events`).

`store/redis/notifications.py` uses them in each process, and transports notifications and events between processes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sitelore.background import wait
from sitelore.model.frontier import RunEvent
from sitelore.model.ids import RunId

_MAX_UNREAD = 1000


class LocalSubscription:
    """A subscription. Notifications that arrive between waits are coalesced."""

    def __init__(self) -> None:
        self._notified = asyncio.Event()

    def notify(self) -> None:
        """Wake the subscriber."""
        self._notified.set()

    async def wait(self, timeout_s: float) -> bool:
        """Wait for a notification, at most this long; returns whether there was one."""
        await wait(self._notified, timeout_s)
        is_notified = self._notified.is_set()
        self._notified.clear()
        return is_notified


class LocalNotifier:
    """Notifications between the tasks of one process."""

    def __init__(self) -> None:
        self._subscriptions: dict[LocalSubscription, RunId | None] = {}

    async def notify(self, run: RunId) -> None:
        """Notify that there may be work for this run."""
        self.notify_local(run)

    def notify_local(self, run: RunId | None) -> None:
        """Notify the subscriptions in this process to this run; None notifies all of them."""
        for subscription, subscribed_run in self._subscriptions.items():
            if run is None or subscribed_run is None or subscribed_run == run:
                subscription.notify()

    @asynccontextmanager
    async def subscribe(self, run: RunId | None = None) -> AsyncIterator[LocalSubscription]:
        """A subscription to the notifications of this run, or of any."""
        subscription = LocalSubscription()
        self._subscriptions[subscription] = run
        try:
            yield subscription
        finally:
            del self._subscriptions[subscription]


class _EventQueue:
    """Unread events of one subscriber. Bounded, so that a subscriber that does not read cannot fill the memory."""

    def __init__(self) -> None:
        self._unread: deque[RunEvent] = deque(maxlen=_MAX_UNREAD)
        self._more = asyncio.Event()

    def add(self, event: RunEvent) -> None:
        self._unread.append(event)
        self._more.set()

    async def read(self) -> AsyncIterator[RunEvent]:
        while True:
            while self._unread:
                yield self._unread.popleft()
            self._more.clear()
            await self._more.wait()


class LocalEvents:
    """Events of runs, sent to the subscribers in this process."""

    def __init__(self) -> None:
        self._followers: dict[_EventQueue, RunId] = {}

    async def publish(self, event: RunEvent) -> None:
        """Send an event to the subscribers of its run."""
        self.publish_local(event)

    def publish_local(self, event: RunEvent) -> None:
        """Send an event to the subscribers in this process; `publish` of Redis also reaches other processes."""
        for queue, run in self._followers.items():
            if run == event.run:
                queue.add(event)

    @asynccontextmanager
    async def follow(self, run: RunId) -> AsyncIterator[AsyncIterator[RunEvent]]:
        """Events of this run from now on; a subscriber that is too slow loses the oldest."""
        queue = _EventQueue()
        self._followers[queue] = run
        try:
            yield queue.read()
        finally:
            del self._followers[queue]
