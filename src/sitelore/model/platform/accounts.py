"""Who calls the API: tenants' users and tokens, what a token permits; and the audit log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

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
TENANT_SCOPES = ALL_SCOPES - {TokenScope.ADMIN}
"""Everything within one tenant."""
CHANNEL_SCOPES = TENANT_SCOPES - {TokenScope.MANAGE_TENANT}
"""Everything within one channel."""
MCP_SCOPES = frozenset({TokenScope.READ, TokenScope.SEARCH})


class UserRole(StrEnum):
    """The role of a user in a tenant."""

    OWNER = "owner"
    """As admin; also appoints and removes owners. A tenant with users keeps at least one."""
    ADMIN = "admin"
    """Everything within the tenant."""
    MEMBER = "member"
    """Reads, searches and crawls."""
    VIEWER = "viewer"
    """Reads and searches."""


ROLE_SCOPES: dict[UserRole, frozenset[TokenScope]] = {
    UserRole.OWNER: TENANT_SCOPES,
    UserRole.ADMIN: TENANT_SCOPES,
    UserRole.MEMBER: MCP_SCOPES | {TokenScope.CRAWL},
    UserRole.VIEWER: MCP_SCOPES,
}
"""What a user's tokens may permit at most."""


class TokenKind(StrEnum):
    """What a token is for; a part of its text, so that a leaked one can be classified."""

    API = "api"
    """Programs that use the API of a tenant."""
    MCP = "mcp"
    """Language models: read and search only."""
    ADMIN = "admin"
    """The operator's programs, for every tenant."""


@dataclass(frozen=True, slots=True)
class User:
    """A person who belongs to a tenant."""

    id: str
    email: str
    role: UserRole
    created_at: float


@dataclass(frozen=True, slots=True)
class Token:
    """An API token without its secret."""

    id: str
    """The public part of the token's text; unique over all tenants."""
    kind: TokenKind
    name: str
    scopes: frozenset[TokenScope]
    created_at: float
    created_by: str
    """The actor who created it."""
    channel: str = ""
    """The only channel that the token reaches; empty: every channel of the tenant."""
    user: str = ""
    """The id of the user it belongs to, whose role limits its scopes; empty: a token of the tenant."""
    expires_at: float | None = None
    revoked_at: float | None = None
    last_used_at: float | None = None
    """Exact to a minute."""
    last_address: str = ""
    """The IP address that used it last."""
    rotated_from: str = ""
    """The id of the token that this one replaces."""

    def is_live(self, now: float) -> bool:
        """Whether the token is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token with what authentication needs: its tenant, the hash of its secret, and its user."""

    tenant: TenantId
    token: Token
    secret_hash: bytes
    user: User | None = None
    is_suspended: bool = False
    """Whether the tenant is suspended."""

    @property
    def scopes(self) -> frozenset[TokenScope]:
        """The scopes of the token, limited by the role of its user."""
        if not self.token.user:
            return self.token.scopes
        return self.token.scopes & ROLE_SCOPES[self.user.role] if self.user else frozenset()


class AccountChange(StrEnum):
    """The result of a change of users."""

    DONE = "done"
    NO_USER = "no user"
    EMAIL_TAKEN = "e-mail address taken"
    LAST_OWNER = "last owner"


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
    role: UserRole | None = None
    """The role of the user whose token it is."""
    is_suspended: bool = False
    """Whether the tenant is suspended: the caller may do nothing."""
    request_id: str = ""
    """Identifies the request in the response, the log and the audit log."""

    def may(self, scope: TokenScope) -> bool:
        """Whether the token permits this."""
        return scope in self.all_scopes

    @property
    def all_scopes(self) -> frozenset[TokenScope]:
        """The scopes of the token. That of an administrator permits everything."""
        return ALL_SCOPES if TokenScope.ADMIN in self.scopes else self.scopes


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change: who did what to which object. Holds no secrets and no values, only hashes of what changed."""

    id: str
    """A UUID, so that an entry that is recorded twice is stored once."""
    at: float
    actor: str
    token_id: str
    action: str
    """`token.created`, `run.cancelled`, …"""
    object: str
    """What was changed, as `kind:id`."""
    before: str = ""
    """SHA-256 of the object before the change (`digest_of`); empty when it did not exist."""
    after: str = ""
    """SHA-256 of the object after the change; empty when it was deleted."""
    address: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A stored entry with its place in the chain of its tenant."""

    seq: int
    """1, 2, 3 … without gaps."""
    entry: AuditEntry
    previous: str
    """The hash of the record before; empty in the first."""
    hash: str


class AuditOrder(StrEnum):
    """By what the audit log is sorted."""

    TIME = "at"
    ACTOR = "actor"
    ACTION = "action"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class AuditListing:
    """A page of the audit log. Empty filters: all records."""

    limit: int = 100
    offset: int = 0
    actions: frozenset[str] = frozenset()
    actors: frozenset[str] = frozenset()
    subject: str = ""
    """Only records about this object."""
    text: str = ""
    """Part of who, action, object or address."""
    order: AuditOrder = AuditOrder.TIME
    is_descending: bool = True


@dataclass(frozen=True, slots=True)
class AuditFacets:
    """How many records pass the other filters, by action and by who made the change."""

    by_action: dict[str, int]
    by_actor: dict[str, int]


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """The result of checking a chain."""

    records: int
    last_hash: str
    """The hash of the last record. Kept elsewhere, it proves later that no record was removed at the end or rewritten."""
    broken_at: int | None = None
    """The first record that does not continue the chain; None: the chain is intact."""


EntryFor = Callable[[Any], AuditEntry | None]
"""Gives the entry about a change by its result; None where nothing was changed."""


def entry_of(caller: Caller, entry_id: str, at: float, action: str, changed: str) -> AuditEntry:
    """An entry about what this caller did."""
    return AuditEntry(
        entry_id, at, caller.actor, caller.token_id, action, changed, address=caller.address, request_id=caller.request_id
    )


def digest_of(value: Any) -> str:
    """SHA-256 of a JSON value, in hex."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def hash_of(seq: int, entry: AuditEntry, previous: str) -> str:
    """The hash of a record, which covers the one before."""
    fields = [entry.id, entry.at, entry.actor, entry.token_id, entry.action, entry.object, entry.before, entry.after,
              entry.address, entry.request_id]  # fmt: skip
    return digest_of([previous, seq, *fields])
