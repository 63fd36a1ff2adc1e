"""Sessions and one-time logins in this process (`platform_ports.SessionStore`)."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MAX_ENTRIES = 1000
"""At the limit, the entry that was used longest ago is dropped."""


class LocalSessionStore:
    """Values with an expiry, in the memory of one process."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._entries: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def put(self, key: str, value: bytes, ttl_s: float) -> None:
        """Store a value until it expires."""
        self._entries[key] = (self._monotonic() + ttl_s, value)
        self._entries.move_to_end(key)
        while len(self._entries) > MAX_ENTRIES:
            self._entries.popitem(last=False)

    async def get(self, key: str, ttl_s: float) -> bytes | None:
        """The value, which from now on lives for `ttl_s`."""
        value = await self.take(key)
        if value is not None:
            await self.put(key, value, ttl_s)
        return value

    async def take(self, key: str) -> bytes | None:
        """Remove and return the value: of two callers, one gets it."""
        expires_at, value = self._entries.pop(key, (0.0, None))
        return value if value is not None and self._monotonic() < expires_at else None
