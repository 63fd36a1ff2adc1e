"""Limits on HTTP connections: how many are open, and how long a request head may take.

The server shares its process, and so its limit of open files, with crawls. Anyone can open a connection without a token, so
clients that open many and send nothing must neither exhaust that limit nor shut out others: at the limit, the connection that
has waited longest for a request is closed.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_LOG = logging.getLogger(__name__)

MAX_CONNECTIONS = 1000
HEAD_S = 10.0
ACCEPT_BATCH = 16
"""Connections that are accepted before the limit is applied to them."""


def max_connections() -> int:
    """The limit of open connections: at most half of the files that this process may open."""
    open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if open_files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, open_files // 2)


class LimitedConnection(H11Protocol):
    """An HTTP connection that is closed when a request head is overdue, or to make room for another connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting_since = 0.0
        self._head_timer: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Add a connection; at the limit, close the one that has waited longest for a request, or else this one."""
        super().connection_made(transport)
        self._wait_for_head()
        if len(self.connections) > max_connections():
            others = (other for other in self.connections if isinstance(other, LimitedConnection) and other is not self)
            waiting = [other for other in others if other.is_waiting]
            min(waiting, key=lambda other: other.waiting_since, default=self).drop()
            _LOG.warning("too many connections, one was closed")

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._wait_for_head()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close the connection at once."""
        self.connections.discard(self)  # now, because `connection_lost` comes only after other connections were accepted
        self.transport.abort()

    def _wait_for_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self.waiting_since = self.loop.time()
        self._head_timer = self.loop.call_later(HEAD_S, self._drop_if_waiting)

    def _drop_if_waiting(self) -> None:
        if self.is_waiting:
            self.drop()
