"""One look for all who ask the same thing at the same time.

Two hundred dashboards that poll one list must not cost two hundred queries. An answer is kept for a moment; a look that took
long is kept longer, so that looking never takes more than a fifth of the time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")

Key = tuple[object, ...]

_KEPT = 512
_COST_FACTOR = 4.0


class Shared:
    """Remembers answers by key for `kept_s`, and lets later askers wait for a look that is under way."""

    def __init__(self, kept_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._kept_s = kept_s
        self._now = now
        self._looks: dict[Key, tuple[float, asyncio.Task[Any]]] = {}

    async def get(self, key: Key, look: Callable[[], Awaitable[T]]) -> T:
        """The answer to `key`: a fresh one, or one that is being looked for, or what `look` finds now."""
        until, task = self._looks.get(key, (0.0, None))
        if task is None or (task.done() and (self._now() >= until or task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(self._look(key, look))
            self._looks[key] = (0.0, task)
            self._trim()
        # One asker that goes away must not take the answer from the others.
        found: T = await asyncio.shield(task)
        return found

    def forget(self, *words: str) -> None:
        """Something was changed here: whoever asks next for a key with one of these words in it sees it."""
        for key in [key for key in self._looks if any(word in key for word in words)]:
            del self._looks[key]

    async def _look(self, key: Key, look: Callable[[], Awaitable[T]]) -> T:
        began = self._now()
        found = await look()
        ended = self._now()
        stands = self._looks.get(key)
        if stands is not None and stands[1] is asyncio.current_task():
            self._looks[key] = (ended + max(self._kept_s, _COST_FACTOR * (ended - began)), stands[1])
        return found

    def _trim(self) -> None:
        if len(self._looks) <= _KEPT:
            return
        now = self._now()
        for key in [key for key, (until, task) in self._looks.items() if task.done() and now >= until]:
            del self._looks[key]
        while len(self._looks) > _KEPT:
            del self._looks[next(iter(self._looks))]
