"""One request on its way: its deadlines, and what the connection below it has to report.

A single timer per request watches all phases. It is armed when the request leaves and looks at the clock when it
rings, so that a request that goes well pays for one timer, whatever limits are set.
"""

from __future__ import annotations

import asyncio
import time
from contextvars import ContextVar

from aiohttp.client_proto import ResponseHandler

from sitelore.model.settings import FetchLimits
from sitelore.model.url import Url


class Attempt:
    """A fetch in flight. The connector finds it through `current`."""

    __slots__ = (
        "_body_at", "_cancelling", "_handle", "_limits", "_loop", "_task", "_window_at", "_window_bytes",
        "expired", "headers", "is_fresh", "protocol", "received", "refusal", "remote", "started", "status", "url",
    )  # fmt: skip

    def __init__(self, url: Url, limits: FetchLimits) -> None:
        self.url = url
        self.started = time.perf_counter()
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.expired = ""
        """The sentence that says which deadline has passed."""
        self.refusal = ""
        """The sentence that says why the guard refused an address."""
        self.is_fresh = False
        """Whether the connection was opened for this request."""
        self.protocol: ResponseHandler | None = None
        self.remote = ""
        self.received = 0
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._loop = task.get_loop()
        self._limits = limits
        self._handle: asyncio.TimerHandle | None = None
        self._body_at = 0.0
        self._window_at = 0.0
        self._window_bytes = 0

    def sending(self, protocol: ResponseHandler | None) -> None:
        """The request leaves now: from here on the headers have their time."""
        self.end()
        self.protocol = protocol
        # Compared with None: a protocol with nothing to read is empty, and so false.
        transport = protocol.transport if protocol is not None else None
        peer = transport.get_extra_info("peername") if transport is not None else None
        self.remote = peer[0] if peer else ""
        self._handle = self._loop.call_later(self._limits.headers_s, self._ring)

    def receiving(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        """Headers are complete: from here on the body has its time."""
        self.status, self.headers = status, headers
        self._body_at = self._window_at = self._loop.time()
        # Usually the timer rings early enough anyway; it then looks at the clock and goes on.
        if self._handle is not None and self._next_due() < self._handle.when():
            self._handle.cancel()
            self._handle = self._loop.call_at(self._next_due(), self._ring)

    def end(self) -> None:
        """Nothing more to watch."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def has_expired(self) -> bool:
        """After a CancelledError: was it a deadline of ours, and nothing else? Takes the cancellation back if so."""
        return bool(self.expired) and self._task.uncancel() <= self._cancelling

    def _next_due(self) -> float:
        return min(self._body_at + self._limits.body_s, self._window_at + self._limits.slow_after_s)

    def _ring(self) -> None:
        limits, now = self._limits, self._loop.time()
        if not self._body_at:
            return self._expire(f"No complete headers within {limits.headers_s:g} s.")
        if now >= self._body_at + limits.body_s:
            return self._expire(f"The body was not complete within {limits.body_s:g} s.")
        if now >= self._window_at + limits.slow_after_s:
            # A body that drips never runs into an idle timeout: what counts is what a window brought.
            if self.received - self._window_bytes < limits.slow_bytes_per_s * (now - self._window_at):
                return self._expire(f"The body came slower than {limits.slow_bytes_per_s} bytes a second.")
            self._window_at, self._window_bytes = now, self.received
        self._handle = self._loop.call_at(self._next_due(), self._ring)
        return None

    def _expire(self, sentence: str) -> None:
        self._handle = None
        self.expired = sentence
        self._task.cancel()


current: ContextVar[Attempt] = ContextVar("current")
