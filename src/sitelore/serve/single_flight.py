"""Single-flight cache: concurrent requests for one key share one computation, and its result is cached briefly.

Two hundred dashboards that poll one list must not cost two hundred queries. An expensive result is kept longer, so that
computing it takes at most a fifth of the time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")

Key = tuple[object, ...]

_MAX_ENTRIES = 512
_COST_FACTOR = 4.0


class SingleFlightCache:
    """Caches results by key for `ttl_s`; callers that arrive while a result is being computed wait for it."""

    def __init__(self, ttl_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._ttl_s = ttl_s
        self._now = now
        self._entries: dict[Key, tuple[float, asyncio.Task[Any]]] = {}

    async def get(self, key: Key, load: Callable[[], Awaitable[T]], ttl_s: float = 0.0) -> T:
        """The cached result for `key`, the one being computed, or a new one from `load`. `ttl_s`: keep it longer than usual."""
        until, task = self._entries.get(key, (0.0, None))
        if task is None or (task.done() and (self._now() >= until or task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(self._load(key, load, max(self._ttl_s, ttl_s)))
            self._entries[key] = (0.0, task)
            self._trim()
        # A caller that disconnects must not cancel the computation for the others.
        result: T = await asyncio.shield(task)
        return result

    def forget(self, *words: str) -> None:
        """Invalidate every key that contains one of these words."""
        for key in [key for key in self._entries if any(word in key for word in words)]:
            del self._entries[key]

    async def _load(self, key: Key, load: Callable[[], Awaitable[T]], ttl_s: float) -> T:
        started = self._now()
        result = await load()
        finished = self._now()
        entry = self._entries.get(key)
        if entry is not None and entry[1] is asyncio.current_task():
            self._entries[key] = (finished + max(ttl_s, _COST_FACTOR * (finished - started)), entry[1])
        return result

    def _trim(self) -> None:
        if len(self._entries) <= _MAX_ENTRIES:
            return
        now = self._now()
        for key in [key for key, (until, task) in self._entries.items() if task.done() and now >= until]:
            del self._entries[key]
        while len(self._entries) > _MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]
