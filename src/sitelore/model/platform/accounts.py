"""Who calls the API: the tenant, what the token permits, and the actor for the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sitelore.model.ids import DEFAULT_TENANT, TenantId


class TokenScope(StrEnum):
    """A permission of an API token."""

    READ = "read"
    """Runs, pages, media, statistics, exports and events."""
    SEARCH = "search"
    """Search, and pages by URL."""
    CRAWL = "crawl"
    """Start, cancel and resume runs."""
    MANAGE_CHANNEL = "manage:channel"
    """Create, change and delete channels, their pages and media, schedules and webhooks."""
    MANAGE_TENANT = "manage:tenant"
    """Users, tokens and settings of the own tenant, its audit log."""
    ADMIN = "admin"
    """The operator: every tenant."""


ALL_SCOPES = frozenset(TokenScope)


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated sender of a request."""

    tenant: TenantId = DEFAULT_TENANT
    scopes: frozenset[TokenScope] = ALL_SCOPES
    token_id: str = ""
    """The id of the token; empty for a server without tokens, which answers to programs on its own machine only."""
    actor: str = "local"
    """Who acts, for the audit log: an e-mail address or the name of the token."""
    channel: str = ""
    """A token of one channel reaches nothing else; empty: every channel of the tenant."""
    address: str = ""
    """The IP address of the client."""

    def may(self, scope: TokenScope) -> bool:
        """Whether the token permits this. An administrator's token permits everything."""
        return scope in self.scopes or TokenScope.ADMIN in self.scopes
