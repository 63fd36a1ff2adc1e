"""The database's clock, carried forward by this machine's monotonic clock.

Leases, retries and time limits of several machines are compared with each other, so all machines use the clock of the database.
A worker whose own clock is wrong by ten minutes works like any other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sitelore.model.errors import StorageError
from sitelore.store.engine import PostgresEngine, database_time

_SYNC_INTERVAL_S = 30.0


class DatabaseClock:
    """Seconds since the epoch by the database's clock; exact to the duration of one query."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine
        self._offset_s = 0.0

    def __call__(self) -> float:
        """The current time."""
        return time.monotonic() + self._offset_s

    async def sync(self) -> None:
        """Read the database's clock and store the offset to the monotonic clock."""
        sent_at = time.monotonic()
        database_now = await self._engine.read(database_time)
        self._offset_s = database_now - (sent_at + time.monotonic()) / 2

    @asynccontextmanager
    async def kept_in_sync(self) -> AsyncIterator[DatabaseClock]:
        """Sync now and periodically until the block ends: clocks drift, and a suspended machine loses time."""
        await self.sync()
        task = asyncio.create_task(self._sync_periodically(), name="database clock")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _sync_periodically(self) -> None:
        while True:
            await asyncio.sleep(_SYNC_INTERVAL_S)
            with suppress(StorageError):
                await self.sync()
