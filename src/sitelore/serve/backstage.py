"""What stands behind the API. The one seam between a server and the house it serves, embedded or scaled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sitelore.crawl.library import Library
from sitelore.model.ids import RunId
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.ports import Blobs, Clock, Ledger


@dataclass(frozen=True, slots=True)
class Backstage:
    """A house, and whoever works in it while the server runs."""

    ledger: Ledger
    blobs: Blobs
    clock: Clock
    attend: Callable[[asyncio.Event], Awaitable[None]]
    """Runs beside the server until the event is set: workers and maintenance in one process, maintenance alone where workers
    are processes of their own. Returns with nothing leased to this process; an error ends the server."""
    announce: Callable[[RunId], Awaitable[None]]
    """A run was made or cancelled: a hint, which may be lost."""
    open_library: Callable[[], Library]
    """Where questions are answered; built when the first comes."""
    redaction: Redaction = BUILT_IN_ALONE
    """What the operator adds to redaction."""

    @property
    def library(self) -> Library:
        """Where questions are answered."""
        return self.open_library()


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """What the operator decided about the API."""

    tokens: tuple[str, ...] = ()
    allow_private: tuple[str, ...] = ()
    """Private addresses that crawls may reach. Nothing in a request adds to it."""
    own_hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "[::1]"})
    """Names under which a server without tokens may be asked."""
    heartbeat_s: float = 15.0
    look_s: float = 0.5
    """How often a run that is followed is looked at."""
