"""The database's clock, carried forward by this machine's monotonic one.

Leases, retries and time limits of many machines are compared with each other, so they are all told by one clock. What this
machine believes the time to be plays no part: a worker whose clock is ten minutes off works like any other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sitelore.model.errors import StorageError
from sitelore.store.engine import PostgresEngine, database_time

_LEARN_S = 30.0


class DatabaseClock:
    """Seconds since the epoch as the database counts them; exact to the time an answer takes."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine
        self._offset_s = 0.0

    def __call__(self) -> float:
        """Now."""
        return time.monotonic() + self._offset_s

    async def learn(self) -> None:
        """Ask the database."""
        asked = time.monotonic()
        shown = await self._engine.read(database_time)
        self._offset_s = shown - (asked + time.monotonic()) / 2

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[DatabaseClock]:
        """Asked now and again and again: two clocks drift apart, and a machine that slept has lost time."""
        await self.learn()
        task = asyncio.create_task(self._learn_forever(), name="database clock")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _learn_forever(self) -> None:
        while True:
            await asyncio.sleep(_LEARN_S)
            with suppress(StorageError):
                await self.learn()
