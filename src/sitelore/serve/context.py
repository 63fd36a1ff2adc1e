"""Dependencies of the API: the parts of the application that routes use, and the settings of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitelore.model.ids import DEFAULT_TENANT, RunId, TenantId
from sitelore.model.settings import BUILT_IN_ALONE, Redaction
from sitelore.ports import Blobs, Clock, Ledger, RunQueue
from sitelore.serve.sessions import Sessions

if TYPE_CHECKING:
    from sitelore.crawl.search_service import SearchService


@dataclass(frozen=True, slots=True)
class AppContext:
    """The application's parts that routes use, and the background work that runs beside the server."""

    ledger: Ledger
    queue: RunQueue
    blobs: Blobs
    clock: Clock
    run_background: Callable[[asyncio.Event], Awaitable[None]]
    """Background work that runs until the event is set: workers and maintenance in one process, or maintenance alone where
    workers are separate processes. It returns with no lease left to this process; an error ends the server."""
    announce: Callable[[RunId], Awaitable[None]]
    """Notify workers that a run was created or cancelled. Best effort."""
    open_search_service: Callable[[TenantId], SearchService]
    """Builds the search service of a tenant on first use."""
    redaction: Redaction = BUILT_IN_ALONE
    """The operator's additional redaction rules."""
    demo_site: Callable[[], str] | None = None
    """Starts the bundled example site in this process and gives its URL. None where workers are other processes."""

    @property
    def search_service(self) -> SearchService:
        """The search service of the default tenant."""
        return self.open_search_service(DEFAULT_TENANT)


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """The operator's settings of the API."""

    tokens: tuple[str, ...] = ()
    allow_private: tuple[str, ...] = ()
    """Private addresses that crawls may reach. A request cannot extend it."""
    own_hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "[::1]"})
    """Host headers that a server without tokens accepts."""
    heartbeat_s: float = 15.0
    poll_s: float = 0.5
    """Poll interval of event streams."""
    sessions: Sessions = field(default_factory=Sessions)
    """The browsers that are signed in to the dashboard."""
    ready_s: float = 2.5
    """How long `/ready` waits for the ledger: longer than a server retries, so that the answer names the error."""
