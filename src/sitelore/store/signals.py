"""`ports.Signals` and `ports.Events` within one process. The Redis ones build on them: they only carry what is rung and told
from one process to another.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sitelore.model.frontier import RunEvent
from sitelore.model.ids import RunId

_MOST_UNREAD = 1000


class LocalSubscription:
    """A bell that remembers that it was rung, however often."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def strike(self) -> None:
        """Ring it."""
        self._rung.set()

    async def wait(self, timeout_s: float) -> bool:
        """Until it rings, or this long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        rung = self._rung.is_set()
        self._rung.clear()
        return rung


class LocalNotifier:
    """Signals between the tasks of one process."""

    def __init__(self) -> None:
        self._bells: dict[LocalSubscription, RunId | None] = {}

    async def notify(self, run: RunId) -> None:
        """There may be something to do for this run."""
        self.strike(run)

    def strike(self, run: RunId | None) -> None:
        """Ring the bells of this process that listen to this run; None rings all of them."""
        for bell, wanted in self._bells.items():
            if run is None or wanted is None or wanted == run:
                bell.strike()

    @asynccontextmanager
    async def subscribe(self, run: RunId | None = None) -> AsyncIterator[LocalSubscription]:
        """A bell that rings for this run, or for any."""
        bell = LocalSubscription()
        self._bells[bell] = run
        try:
            yield bell
        finally:
            del self._bells[bell]


class _Watcher:
    """What one watcher has not read yet. Bounded: what nobody reads must not fill the memory."""

    def __init__(self) -> None:
        self._unread: deque[RunEvent] = deque(maxlen=_MOST_UNREAD)
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
    """Events within one process."""

    def __init__(self) -> None:
        self._watchers: dict[_Watcher, RunId] = {}

    async def publish(self, event: RunEvent) -> None:
        """Tell it to whoever is watching."""
        self.hand_out(event)

    def hand_out(self, event: RunEvent) -> None:
        """Give it to the watchers of this process."""
        for watcher, run in self._watchers.items():
            if run == event.run:
                watcher.add(event)

    @asynccontextmanager
    async def follow(self, run: RunId) -> AsyncIterator[AsyncIterator[RunEvent]]:
        """Events of this run from now on; a watcher that is too slow misses the oldest."""
        watcher = _Watcher()
        self._watchers[watcher] = run
        try:
            yield watcher.read()
        finally:
            del self._watchers[watcher]
