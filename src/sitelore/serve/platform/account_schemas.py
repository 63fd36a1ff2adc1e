"""Requests and responses about tokens, users, the audit log and tenants, in camel case (`docs/reference/api.md`)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from sitelore.model.frontier import Tenant
from sitelore.model.platform.accounts import AuditCheck, AuditRecord, Caller, Token, TokenKind, TokenScope, User, UserRole
from sitelore.platform.accounts.accounts import ROTATION_GRACE_S, CreatedToken, TokenRequest
from sitelore.serve.platform.channel_schemas import ChannelView, CrawlJobView
from sitelore.serve.responses import Pagination
from sitelore.serve.schemas import moment

_MAX_GRACE_S = 30 * 86_400
_BODY = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)
_LINE = r"^[^\x00-\x1f\x7f]+$"

Email = Annotated[str, Field(min_length=3, max_length=254, description="An e-mail address.", examples=["ann@example.com"])]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=_LINE, description="A name for people.")]


class NewToken(BaseModel):
    """A token to create."""

    model_config = _BODY

    name: Name
    kind: Annotated[TokenKind, Field(description="What it is for; `mcp` permits only reading and searching.")] = TokenKind.API
    scopes: Annotated[list[TokenScope], Field(max_length=20, description="What it permits; empty: everything that it may.")] = (
        Field(default_factory=list)
    )
    channel_id: Annotated[str, Field(max_length=64, description="The only channel it reaches; empty: all of them.")] = ""
    user_id: Annotated[str, Field(max_length=64, description="The user it belongs to, whose role limits it.")] = ""
    expires_at: Annotated[AwareDatetime | None, Field(description="When it expires (ISO 8601 with a zone); null: never.")] = (
        None
    )

    def request(self) -> TokenRequest:
        """The request of the service."""
        return TokenRequest(
            self.name, frozenset(self.scopes), self.kind, self.channel_id, self.user_id, _seconds(self.expires_at)
        )


class TokenRotation(BaseModel):
    """How a token is replaced."""

    model_config = _BODY

    grace_seconds: Annotated[
        int, Field(ge=0, le=_MAX_GRACE_S, strict=True, description="How long the old token stays valid.")
    ] = int(ROTATION_GRACE_S)


class NewUser(BaseModel):
    """A user to create."""

    model_config = _BODY

    email: Email
    role: UserRole = UserRole.MEMBER


class ChangedUser(BaseModel):
    """A new role of a user."""

    model_config = _BODY

    role: UserRole


class NewTenant(BaseModel):
    """A tenant to create."""

    model_config = _BODY

    name: Name
    owner_email: Annotated[Email | None, Field(description="Its first user, an owner.")] = None


class TokenView(msgspec.Struct, frozen=True, rename="camel"):
    """A token without its secret."""

    id: str
    prefix: str
    kind: TokenKind
    name: str
    scopes: list[TokenScope]
    channel_id: str | None
    user_id: str | None
    is_valid: bool
    created_at: str | None
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    last_address: str | None
    rotated_from: str | None


class TokenCreated(TokenView, frozen=True, rename="camel"):
    """A new token with its text in `token`, which is shown once."""

    token: str


class TokenList(msgspec.Struct, frozen=True):
    """A page of tokens."""

    tokens: list[TokenView]
    pagination: Pagination


class UserView(msgspec.Struct, frozen=True, rename="camel"):
    """A user."""

    id: str
    email: str
    role: UserRole
    created_at: str | None


class UserList(msgspec.Struct, frozen=True):
    """A page of users."""

    users: list[UserView]
    pagination: Pagination


class AuditRecordView(msgspec.Struct, frozen=True, rename="camel"):
    """A record of the audit log."""

    seq: int
    id: str
    at: str | None
    actor: str
    token_id: str
    action: str
    object: str
    before_hash: str
    after_hash: str
    address: str
    request_id: str
    previous: str
    hash: str


class AuditFacetsView(msgspec.Struct, frozen=True):
    """How many records pass the other filters, by action and by actor; the 100 most frequent of each."""

    by_action: dict[str, int]
    by_actor: dict[str, int]


class AuditLogPage(msgspec.Struct, frozen=True):
    """A page of the audit log."""

    records: list[AuditRecordView]
    facets: AuditFacetsView
    pagination: Pagination


class AuditCheckView(msgspec.Struct, frozen=True, rename="camel"):
    """Whether every record of the audit log continues the chain."""

    is_intact: bool
    records: int
    last_hash: str
    broken_at: int | None


class TenantView(msgspec.Struct, frozen=True, rename="camel"):
    """A tenant."""

    id: str
    name: str
    created_at: str | None
    suspended_at: str | None


class TenantCreated(TenantView, frozen=True, rename="camel"):
    """A new tenant with its first token, which is shown once."""

    token: str


class TenantList(msgspec.Struct, frozen=True):
    """A page of tenants."""

    tenants: list[TenantView]
    pagination: Pagination


class Identity(msgspec.Struct, frozen=True, rename="camel"):
    """The caller."""

    tenant: TenantView
    actor: str
    token_id: str | None
    role: UserRole | None
    scopes: list[TokenScope]
    channel_id: str | None


class Registration(msgspec.Struct, frozen=True, rename="camel"):
    """A sign-up: the token is shown only this once."""

    tenant: TenantView
    user: UserView
    token: str
    channel: ChannelView | None
    crawl_job: CrawlJobView | None


def token_view(token: Token, now: float) -> TokenView:
    """A token in the API's form."""
    return TokenView(
        id=token.id,
        prefix=f"sl_{token.kind}_{token.id}",
        kind=token.kind,
        name=token.name,
        scopes=sorted(token.scopes),
        channel_id=token.channel or None,
        user_id=token.user or None,
        is_valid=token.is_live(now),
        created_at=moment(token.created_at),
        created_by=token.created_by,
        expires_at=moment(token.expires_at),
        revoked_at=moment(token.revoked_at),
        last_used_at=moment(token.last_used_at),
        last_address=token.last_address or None,
        rotated_from=token.rotated_from or None,
    )


def created_view(created: CreatedToken, now: float) -> TokenCreated:
    """A new token with its text."""
    return TokenCreated(**msgspec.structs.asdict(token_view(created.token, now)), token=created.text)


def user_view(user: User) -> UserView:
    """A user in the API's form."""
    return UserView(user.id, user.email, user.role, moment(user.created_at))


def tenant_view(tenant: Tenant) -> TenantView:
    """A tenant in the API's form."""
    return TenantView(str(tenant.id), tenant.name, moment(tenant.created_at), moment(tenant.suspended_at))


def identity_view(caller: Caller, tenant: Tenant) -> Identity:
    """The caller in the API's form."""
    return Identity(
        tenant_view(tenant),
        caller.actor,
        caller.token_id or None,
        caller.role,
        sorted(caller.all_scopes),
        caller.channel or None,
    )


def audit_view(record: AuditRecord) -> AuditRecordView:
    """A record in the API's form."""
    entry = record.entry
    return AuditRecordView(
        record.seq, entry.id, moment(entry.at), entry.actor, entry.token_id, entry.action, entry.object, entry.before,
        entry.after, entry.address, entry.request_id, record.previous, record.hash,
    )  # fmt: skip


def audit_check_view(check: AuditCheck) -> AuditCheckView:
    """The result of a check in the API's form."""
    return AuditCheckView(check.broken_at is None, check.records, check.last_hash, check.broken_at)


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
