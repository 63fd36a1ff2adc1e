"""Resolves host names in separate threads, so that slow name servers do not delay other names.

The operating system's resolver blocks its thread, often for half a minute, and cannot be cancelled. Callers stop waiting
at the time limit; until the thread ends, other lookups of that name fail at once instead of taking another thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

_TTL_S = 60.0
_NEGATIVE_TTL_S = 30.0
_TIME_LIMIT_S = 8.0
_MAX_THREADS = 128
_MAX_WAITING = 1000
_MAX_CACHED = 1000


class _PendingLookup(NamedTuple):
    answer: asyncio.Future[list[str]]
    deadline: float


def system_addresses(host: str) -> list[str]:
    """The addresses of a host by the operating system's resolver. Blocks; raises OSError."""
    try:
        results = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label longer than DNS allows
        raise OSError("not a valid host name") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in results))


class Resolver:
    """A cache over a blocking `resolve` function, with a single flight per name. An empty list means a missing name."""

    def __init__(
        self,
        resolve: Callable[[str], list[str]] = system_addresses,
        *,
        time_limit_s: float = _TIME_LIMIT_S,
        max_threads: int = _MAX_THREADS,
        max_cached: int = _MAX_CACHED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolve = resolve
        self._time_limit_s = time_limit_s
        self._max_threads = max_threads
        self._max_cached = max_cached
        self._clock = clock
        self._threads = 0
        self._pending: dict[str, _PendingLookup] = {}
        self._waiting: deque[str] = deque()
        """Pending names that have no thread yet."""
        self._cache: dict[str, tuple[float, list[str]]] = {}
        """Addresses with the time until which they are valid, the oldest name first."""

    async def lookup(self, host: str, _port: int) -> Sequence[str]:
        """The addresses of a host. Raises TimeoutError at the time limit, OSError when there are none."""
        valid_until, addresses = self._cache.get(host, (0.0, []))
        if valid_until <= self._clock():
            pending = self._pending.get(host) or self._start(host)
            async with asyncio.timeout_at(pending.deadline):
                addresses = await asyncio.shield(pending.answer)
        if not addresses:
            raise OSError("no address")
        return addresses

    def _start(self, host: str) -> _PendingLookup:
        if len(self._waiting) >= _MAX_WAITING:
            raise OSError("too many lookups")
        loop = asyncio.get_running_loop()
        self._pending[host] = pending = _PendingLookup(loop.create_future(), loop.time() + self._time_limit_s)
        self._waiting.append(host)
        self._start_threads(loop)
        return pending

    def _start_threads(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._threads < self._max_threads:
            self._threads += 1
            # A daemon, because a program must not wait for a lookup when it exits.
            threading.Thread(target=self._run, args=(loop, self._waiting.popleft()), name="resolver", daemon=True).start()

    def _run(self, loop: asyncio.AbstractEventLoop, host: str) -> None:
        """Resolve one name; runs in a thread."""
        addresses: list[str] = []
        ttl_s = _NEGATIVE_TTL_S
        try:
            addresses, ttl_s = self._resolve(host), _TTL_S
        except OSError as error:
            if error.errno == socket.EAI_AGAIN:
                ttl_s = 0.0
        finally:
            with contextlib.suppress(RuntimeError):  # the event loop was closed in the meantime
                loop.call_soon_threadsafe(self._on_answer, loop, host, addresses, ttl_s)

    def _on_answer(self, loop: asyncio.AbstractEventLoop, host: str, addresses: list[str], ttl_s: float) -> None:
        self._threads -= 1
        self._start_threads(loop)
        self._cache.pop(host, None)
        self._cache[host] = self._clock() + ttl_s, addresses
        while len(self._cache) > self._max_cached:
            del self._cache[next(iter(self._cache))]
        self._pending.pop(host).answer.set_result(addresses)
