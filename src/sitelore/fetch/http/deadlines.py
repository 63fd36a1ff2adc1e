"""Timeouts of HTTP requests: headers, the whole body, and a minimum transfer rate.

One timer serves all requests of a run. A request that finishes in time costs no timer of its own: when the timer fires, it
looks for requests whose deadline has passed and is set for the next deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sitelore.model.settings import FetchLimits


class DeadlineTimer:
    """The timer that all requests of a run share."""

    def __init__(self, limits: FetchLimits) -> None:
        self.limits = limits
        self._pending: set[RequestDeadline] = set()
        self._handle: asyncio.TimerHandle | None = None

    def add(self, deadline: RequestDeadline) -> None:
        """Start watching a request."""
        self._pending.add(deadline)
        self.fire_by(deadline.due)

    def remove(self, deadline: RequestDeadline) -> None:
        """Stop watching a request."""
        self._pending.discard(deadline)

    def fire_by(self, due: float) -> None:
        """Fire at this time or earlier."""
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_at(due, self._fire)
        elif due < self._handle.when():
            self._handle.cancel()
            self._handle = asyncio.get_running_loop().call_at(due, self._fire)

    def close(self) -> None:
        """Stop watching everything."""
        self._pending.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        now = asyncio.get_running_loop().time()
        for deadline in [deadline for deadline in self._pending if deadline.due <= now]:
            deadline.check(now)
        if self._pending:
            self.fire_by(min(deadline.due for deadline in self._pending))


class RequestDeadline:
    """The deadlines of one request. `on_timeout` is called with a sentence that names the limit that was exceeded."""

    __slots__ = ("_body_started_at", "_on_timeout", "_timer", "_window_bytes", "_window_started_at", "due", "received")

    def __init__(self, timer: DeadlineTimer, on_timeout: Callable[[str], None]) -> None:
        self.received = 0
        """Bytes of the body so far."""
        self.due = 0.0
        self._timer = timer
        self._on_timeout = on_timeout
        self._body_started_at = 0.0
        self._window_started_at = 0.0
        self._window_bytes = 0

    def start_headers(self, now: float) -> None:
        """The request is being sent: start the timeout for the headers."""
        self._body_started_at = 0.0
        self.due = now + self._timer.limits.headers_s
        self._timer.add(self)

    def start_body(self, now: float) -> None:
        """The headers are complete: start the timeouts for the body."""
        self._body_started_at = self._window_started_at = now
        self._schedule()

    def cancel(self) -> None:
        """The request has ended."""
        self._timer.remove(self)

    def check(self, now: float) -> None:
        """Time the request out, or start its next transfer-rate window."""
        limits = self._timer.limits
        if not self._body_started_at:
            self._expire(f"No complete headers within {limits.headers_s:g} s.")
        elif now >= self._body_started_at + limits.body_s:
            self._expire(f"The body was not complete within {limits.body_s:g} s.")
        # A body that drips never hits an idle timeout, so the transfer rate of each window counts.
        elif self.received - self._window_bytes < limits.slow_bytes_per_s * (now - self._window_started_at):
            self._expire(f"The body came slower than {limits.slow_bytes_per_s} bytes a second.")
        else:
            self._window_started_at, self._window_bytes = now, self.received
            self._schedule()

    def _schedule(self) -> None:
        limits = self._timer.limits
        self.due = min(self._body_started_at + limits.body_s, self._window_started_at + limits.slow_after_s)
        self._timer.fire_by(self.due)

    def _expire(self, message: str) -> None:
        self._timer.remove(self)
        self._on_timeout(message)
