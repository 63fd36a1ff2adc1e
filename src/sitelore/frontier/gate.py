"""STOPGAP by the integrator until the owner's version lands: replace freely."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sitelore.model.settings import Pace
from sitelore.ports import Feedback


class LocalGate:
    """Stopgap."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next: dict[str, float] = {}
        self._running: dict[str, int] = {}

    async def enter(self, host: str, pace: Pace) -> float:
        """Stopgap."""
        now = self._clock()
        wait = self._next.get(host, 0.0) - now
        if wait > 0:
            return wait
        if self._running.get(host, 0) >= pace.per_host:
            return 0.01
        self._running[host] = self._running.get(host, 0) + 1
        self._next[host] = now + (pace.delay_s or 0.0)
        return 0.0

    async def leave(self, host: str, pace: Pace, feedback: Feedback) -> None:
        """Stopgap."""
        self._running[host] -= 1
        if feedback.retry_after_s is not None and feedback.retry_after_s <= pace.max_retry_after_s:
            self._next[host] = max(self._next.get(host, 0.0), self._clock() + feedback.retry_after_s)

    async def ask_for_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        """Stopgap."""

    async def closed_hosts(self) -> Collection[str]:
        """Stopgap."""
        now = self._clock()
        return [h for h, t in self._next.items() if t - now > 0.5]
