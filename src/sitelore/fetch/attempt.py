"""How long requests may take. One timer watches all that are under way, through all their phases.

A request that goes well costs no timer of its own: the one there is was set for an earlier request, and when it rings it looks
at the clock and is set again for whoever is due next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sitelore.model.settings import FetchLimits


class Watch:
    """The timer of all requests of a run."""

    def __init__(self, limits: FetchLimits) -> None:
        self.limits = limits
        self._under_way: set[Attempt] = set()
        self._handle: asyncio.TimerHandle | None = None

    def add(self, attempt: Attempt) -> None:
        """From now on it is looked at."""
        self._under_way.add(attempt)
        self.sooner(attempt.due)

    def remove(self, attempt: Attempt) -> None:
        """It has ended."""
        self._under_way.discard(attempt)

    def sooner(self, due: float) -> None:
        """Ring at this time, or before it."""
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_at(due, self._ring)
        elif due < self._handle.when():
            self._handle.cancel()
            self._handle = asyncio.get_running_loop().call_at(due, self._ring)

    def close(self) -> None:
        """Ring no more."""
        self._under_way.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _ring(self) -> None:
        self._handle = None
        now = asyncio.get_running_loop().time()
        for attempt in [one for one in self._under_way if one.due <= now]:
            attempt.ring(now)
        if self._under_way:
            self.sooner(min(one.due for one in self._under_way))


class Attempt:
    """One request on its way. `expire` is called with the sentence that says which deadline has passed."""

    __slots__ = ("_body_at", "_expire", "_watch", "_window_at", "_window_bytes", "due", "received")

    def __init__(self, watch: Watch, expire: Callable[[str], None]) -> None:
        self.received = 0
        """Bytes of the body so far."""
        self.due = 0.0
        self._watch = watch
        self._expire = expire
        self._body_at = 0.0
        self._window_at = 0.0
        self._window_bytes = 0

    def sending(self, now: float) -> None:
        """The request leaves now: from here on the headers have their time."""
        self._body_at = 0.0
        self.due = now + self._watch.limits.headers_s
        self._watch.add(self)

    def receiving(self, now: float) -> None:
        """Headers are complete: from here on the body has its time."""
        self._body_at = self._window_at = now
        self._go_on()

    def end(self) -> None:
        """Nothing more to watch."""
        self._watch.remove(self)

    def ring(self, now: float) -> None:
        """Its time has come: it is over, or gets more."""
        limits = self._watch.limits
        if not self._body_at:
            self._over(f"No complete headers within {limits.headers_s:g} s.")
        elif now >= self._body_at + limits.body_s:
            self._over(f"The body was not complete within {limits.body_s:g} s.")
        # A body that drips never runs into an idle timeout: what counts is what a window brought.
        elif self.received - self._window_bytes < limits.slow_bytes_per_s * (now - self._window_at):
            self._over(f"The body came slower than {limits.slow_bytes_per_s} bytes a second.")
        else:
            self._window_at, self._window_bytes = now, self.received
            self._go_on()

    def _go_on(self) -> None:
        limits = self._watch.limits
        self.due = min(self._body_at + limits.body_s, self._window_at + limits.slow_after_s)
        self._watch.sooner(self.due)

    def _over(self, sentence: str) -> None:
        self._watch.remove(self)
        self._expire(sentence)
