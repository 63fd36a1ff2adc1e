"""Dependencies of the API: the parts of the application that routes use, and the settings of the server."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitelore.model.frontier import Tenant
from sitelore.model.ids import DEFAULT_TENANT, RunId, TenantId
from sitelore.model.platform.accounts import EntryFor
from sitelore.model.platform.channels import Channel
from sitelore.model.platform.rate_limits import RateLimits, RequestClass, parse_rate_limits
from sitelore.model.settings import BUILT_IN_ALONE, CrawlSettings, Redaction
from sitelore.model.url import Url
from sitelore.platform.accounts.authentication import CACHE_S, Authenticator
from sitelore.platform_ports import AccountDirectory, Accounts, Channels, Operations, RateLimiter, SessionStore
from sitelore.ports import AuditStore, BlobStorage, Clock, Ledger, RunQueue
from sitelore.serve.security.failed_logins import FailedLogins
from sitelore.serve.security.sessions import Sessions

if TYPE_CHECKING:
    from sitelore.app.app import App
    from sitelore.app.audit.pull_requests import FixService
    from sitelore.app.settings import OperatorSettings
    from sitelore.app.site_sessions import SiteSessions
    from sitelore.crawl.search.service import SearchService
    from sitelore.platform.media import MediaService
    from sitelore.platform.webhooks.endpoints import WebhookService


@dataclass(frozen=True, slots=True)
class AppContext:
    """The application's parts that routes use, and the background work of the server.

    Ledger, blobs, channels and search are those of one tenant; `for_tenant` gives those of another.
    """

    ledger: Ledger
    queue: RunQueue
    blobs: BlobStorage
    clock: Clock
    run_background: Callable[[asyncio.Event], Awaitable[None]]
    """Background work that runs until the event is set: workers and maintenance in one process, or maintenance alone where
    workers are separate processes. It returns with no lease left to this process; an error ends the server."""
    announce: Callable[[RunId], Awaitable[None]]
    """Notify workers that a run was created or cancelled. Best effort."""
    open_search_service: Callable[[TenantId], SearchService]
    """Builds the search service of a tenant on first use."""
    audits: AuditStore
    channels: Channels
    directory: AccountDirectory
    """Users, tokens and audit logs of all tenants."""
    rate_limiter: RateLimiter
    delete_channel: Callable[[Channel, EntryFor], Awaitable[None]]
    """Cancels the crawl of a channel and deletes everything of its site; the entry goes into the audit log."""
    delete_tenant: Callable[[Tenant], Awaitable[None]]
    """Cancels the runs of a tenant and deletes everything of it."""
    open_webhooks: Callable[[], WebhookService]
    """Builds the webhook service on first use."""
    open_fixes: Callable[[], FixService]
    """Builds the service for draft pull requests on first use."""
    open_media: Callable[[TenantId], MediaService]
    """Gives the media of a tenant."""
    fetch_document: Callable[[TenantId, Url, CrawlSettings], Awaitable[dict[str, Any]]]
    """Fetches and extracts one page for a tenant, outside of a run."""
    operations: Operations
    """What the operator sees over all tenants."""
    session_store: SessionStore
    """Sessions of browsers."""
    site_sessions: SiteSessions
    """Access to sites, stored encrypted."""
    closed_hosts: Callable[[], Awaitable[Collection[str]]] | None = None
    """Hosts that take no request now. None where workers are other processes, which alone know."""
    redaction: Redaction = BUILT_IN_ALONE
    """The operator's additional redaction rules."""
    demo_site: Callable[[], str] | None = None
    """Starts the bundled example site in this process and gives its URL. None where workers are other processes."""
    tenant: TenantId = DEFAULT_TENANT

    def for_tenant(self, tenant: TenantId) -> AppContext:
        """The parts of another tenant."""
        return replace(
            self,
            ledger=self.ledger.for_tenant(tenant),
            blobs=self.blobs.for_tenant(tenant),
            audits=self.audits.for_tenant(tenant),
            channels=self.channels.for_tenant(tenant),
            tenant=tenant,
        )

    @property
    def search_service(self) -> SearchService:
        """The search service of the tenant."""
        return self.open_search_service(self.tenant)

    @property
    def accounts(self) -> Accounts:
        """Users, tokens and the audit log of the tenant."""
        return self.directory.for_tenant(self.tenant)


def context_of(app: App) -> AppContext:
    """The parts of an application."""
    return AppContext(
        app.ledger, app.queue, app.blobs, app.clock, app.run_background_work, app.notify_workers, app.search.service,
        app.audits, app.open_channels(), app.accounts.directory, app.accounts.rate_limiter, app.delete_channel,
        app.delete_tenant, app.webhooks.service, app.fix_service, app.media_service, app.fetch_document,
        app.accounts.operations, app.accounts.sessions, app.site_sessions,
        None if app.is_shared else app.gate.closed_hosts, app.redaction,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """The operator's settings of the API."""

    tokens: tuple[str, ...] = ()
    """The operator's own tokens."""
    has_stored_tokens: bool = False
    """Whether tenants had tokens in the database when the server started."""
    open_signup: bool = False
    """Whether anyone may register a tenant."""
    rate_limits: RateLimits = field(default_factory=lambda: parse_rate_limits("", ""))
    allow_private: tuple[str, ...] = ()
    """Private addresses that crawls may reach. A request cannot extend it."""
    secrets_keys: tuple[str, ...] = field(default=(), repr=False)
    """Keys that encrypt the secrets of channels."""
    backups: Path | None = None
    """The directory whose backups the operator is shown."""
    own_hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "[::1]"})
    """Host headers that a server without tokens accepts."""
    heartbeat_s: float = 15.0
    poll_s: float = 0.5
    """Poll interval of event streams."""
    ready_s: float = 2.5
    """How long `/ready` waits for the ledger: longer than a server retries, so that the answer names the error."""


def api_settings(operator: OperatorSettings) -> ApiSettings:
    """The settings of the API from those of the operator."""
    return ApiSettings(
        tokens=operator.tokens,
        rate_limits=parse_rate_limits(operator.rate_limits, "SITELORE_RATE_LIMITS"),
        open_signup=operator.open_signup,
        allow_private=operator.allow_private,
        secrets_keys=operator.secrets_keys,
        backups=operator.backups,
    )


class AccessControl:
    """What the security middleware decides by: whose token or session it is, and how many requests it may send."""

    def __init__(self, context: AppContext, settings: ApiSettings) -> None:
        self._context = context
        self.settings = settings
        self.has_tokens = bool(settings.tokens) or settings.has_stored_tokens
        """Whether there were tokens when this was last checked. Once there are, the server never opens up again."""
        self._checked_at = -math.inf

    async def needs_token(self) -> bool:
        """Whether a request needs a token. Without any, the server answers to programs on this machine alone."""
        now = time.monotonic()
        if not self.has_tokens and now - self._checked_at >= CACHE_S:
            self._checked_at = now
            self.has_tokens = await self._context.directory.has_tokens() or self.has_tokens
        return self.has_tokens

    @cached_property
    def authenticator(self) -> Authenticator:
        """Finds the caller of a token."""
        return Authenticator(self._context.directory, self.settings.tokens, self._context.clock)

    @cached_property
    def sessions(self) -> Sessions:
        """The browsers that are signed in to the dashboard."""
        return Sessions(self._context.session_store)

    @cached_property
    def failures(self) -> FailedLogins:
        """Limits failed authentications."""
        return FailedLogins(self._context.rate_limiter, self.settings.rate_limits.by_token.get(RequestClass.LOGIN))

    @property
    def rate_limiter(self) -> RateLimiter:
        """Counts requests."""
        return self._context.rate_limiter
