"""Users and tokens of a tenant: what a caller may create, and the entries of the audit log that go with every change."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace

from sitelore.extract.redaction.redactor import redactor_of
from sitelore.model.errors import Conflict, NotPermitted, UsageError
from sitelore.model.ids import DEFAULT_TENANT, new_uuid
from sitelore.model.platform.accounts import (
    CHANNEL_SCOPES,
    MCP_SCOPES,
    ROLE_SCOPES,
    TENANT_SCOPES,
    AccountChange,
    AuditCheck,
    AuditEntry,
    AuditRecord,
    Caller,
    Token,
    TokenKind,
    TokenScope,
    User,
    UserRole,
    digest_of,
    entry_of,
    hash_of,
)
from sitelore.model.settings import BUILT_IN_ALONE
from sitelore.platform.accounts.authentication import new_token_text
from sitelore.platform_ports import Accounts
from sitelore.ports import Clock

_EMAIL = re.compile(r"[^\s@<>\"]{1,64}@[^\s@<>\"]{1,253}")
ROTATION_GRACE_S = 86_400.0
"""How long a token stays valid after it was rotated, unless the caller chooses."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """Name, scopes and expiry of a token to create."""

    name: str
    scopes: frozenset[TokenScope] = frozenset()
    """Empty: all that its kind, channel and user allow and its creator has."""
    kind: TokenKind = TokenKind.API
    channel: str = ""
    user: str = ""
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A token and its text, which is shown once."""

    token: Token
    text: str


@dataclass(frozen=True, slots=True)
class AccountService:
    """Users and tokens of the caller's tenant."""

    accounts: Accounts
    clock: Clock
    caller: Caller

    async def create_token(self, request: TokenRequest) -> CreatedToken:
        """Create a token, which permits no more than its creator's."""
        check_name(request.name)
        now = self.clock()
        if request.expires_at is not None and request.expires_at <= now:
            raise UsageError("the token would have expired already; choose a later time")
        allowed = self._allowed(await self._user_of(request), request)
        scopes = request.scopes or allowed
        if not scopes or not scopes <= allowed:
            names = ", ".join(sorted(scopes - allowed)) or "any scope"
            raise NotPermitted(f"the token may not have {names}: its creator, kind, channel or user lacks it")
        text = new_token_text(request.kind)
        token = Token(
            text.id, request.kind, request.name, scopes, now, self.caller.actor, request.channel, request.user,
            request.expires_at,
        )  # fmt: skip
        entry = replace(self._entry("token.created", f"token:{token.id}", now), after=_digest(token))
        await self.accounts.create_token(token, text.secret_hash, entry)
        return CreatedToken(token, text.text)

    async def rotate_token(self, token_id: str, grace_s: float = ROTATION_GRACE_S) -> CreatedToken | None:
        """Replace a token by one with the same permissions; the old one is valid for `grace_s` more. None if it is missing."""
        old, now = await self.accounts.find_token(token_id), self.clock()
        if old is None:
            return None
        if not old.scopes <= self.caller.all_scopes:
            raise NotPermitted("the token permits more than yours")
        text = new_token_text(old.kind)
        lifetime_s = None if old.expires_at is None else old.expires_at - old.created_at
        new = Token(
            text.id, old.kind, old.name, old.scopes, now, self.caller.actor, old.channel, old.user,
            None if lifetime_s is None else now + lifetime_s, rotated_from=old.id,
        )  # fmt: skip
        entry = replace(self._entry("token.rotated", f"token:{old.id}", now), before=_digest(old), after=_digest(new))
        if not await self.accounts.rotate_token(new, text.secret_hash, now + grace_s, entry):
            raise Conflict("the token is revoked or has expired; create a new one")
        return CreatedToken(new, text.text)

    async def revoke_token(self, token_id: str) -> Token | None:
        """Revoke a token permanently. None if it does not exist."""
        old, now = await self.accounts.find_token(token_id), self.clock()
        if old is None:
            return None
        revoked = replace(old, revoked_at=old.revoked_at or now)
        entry = replace(self._entry("token.revoked", f"token:{old.id}", now), before=_digest(old), after=_digest(revoked))
        await self.accounts.revoke_token(token_id, entry)
        return revoked

    async def create_user(self, email: str, role: UserRole) -> User:
        """Create a user."""
        check_email(email)
        self._check_role(role)
        now = self.clock()
        user = User(new_uuid(now), email.lower(), role, now)
        entry = replace(self._entry("user.created", f"user:{user.id}", now), after=_digest(user))
        _check(await self.accounts.create_user(user, entry))
        return user

    async def change_role(self, user_id: str, role: UserRole) -> User | None:
        """Change the role of a user. None if there is no such user."""
        user = await self.accounts.find_user(user_id)
        if user is None:
            return None
        self._check_role(user.role, role)
        changed = replace(user, role=role)
        entry = self._entry("user.changed", f"user:{user_id}", self.clock())
        entry = replace(entry, before=_digest(user), after=_digest(changed))
        return changed if _check(await self.accounts.change_role(user_id, role, entry)) else None

    async def delete_user(self, user_id: str) -> bool:
        """Delete a user, and revoke their tokens. False if there is no such user."""
        user = await self.accounts.find_user(user_id)
        if user is None:
            return False
        self._check_role(user.role)
        entry = replace(self._entry("user.deleted", f"user:{user_id}", self.clock()), before=_digest(user))
        return _check(await self.accounts.delete_user(user_id, entry))

    async def _user_of(self, request: TokenRequest) -> User | None:
        user = await self.accounts.find_user(request.user) if request.user else None
        if request.user and user is None:
            raise UsageError("no user has this id")
        return user

    def _allowed(self, user: User | None, request: TokenRequest) -> frozenset[TokenScope]:
        """The scopes that a token may have."""
        allowed = self.caller.all_scopes
        if request.kind is not TokenKind.ADMIN or self.caller.tenant != DEFAULT_TENANT:
            allowed &= TENANT_SCOPES
        if request.kind is TokenKind.MCP:
            allowed &= MCP_SCOPES
        if request.channel:
            allowed &= CHANNEL_SCOPES
        return allowed if user is None else allowed & ROLE_SCOPES[user.role]

    def _check_role(self, *roles: UserRole) -> None:
        """Raise `NotPermitted` when another than an owner, or a token without a user, appoints or removes owners."""
        if UserRole.OWNER in roles and self.caller.role not in {None, UserRole.OWNER}:
            raise NotPermitted("only an owner can appoint or remove owners")

    def _entry(self, action: str, changed: str, now: float) -> AuditEntry:
        return entry_of(self.caller, new_uuid(now), now, action, changed)


def check_email(email: str) -> None:
    """Raise `UsageError` unless this is an e-mail address."""
    if not _EMAIL.fullmatch(email) or not email.isprintable():
        raise UsageError("not an e-mail address")


def check_name(name: str) -> None:
    """Raise `UsageError` for a name that must not be stored."""
    if not name.strip() or not name.isprintable():
        raise UsageError("a name has at least one character, and no control characters")
    if redactor_of(BUILT_IN_ALONE).count_secrets(name):
        raise UsageError("the name holds what looks like a secret; choose another one")


async def check_chain(records: AsyncIterator[AuditRecord]) -> AuditCheck:
    """Check that each record continues the chain. The first one may follow records that retention has deleted."""
    count, previous = 0, None
    async for record in records:
        is_next = previous is None or (record.seq == previous.seq + 1 and record.previous == previous.hash)
        if not is_next or record.hash != hash_of(record.seq, record.entry, record.previous):
            return AuditCheck(count, previous.hash if previous else "", broken_at=record.seq)
        count, previous = count + 1, record
    return AuditCheck(count, previous.hash if previous else "")


def _check(change: AccountChange) -> bool:
    """Whether the user exists. Raises `Conflict` when the change was refused."""
    if change is AccountChange.EMAIL_TAKEN:
        raise Conflict("another user has this e-mail address")
    if change is AccountChange.LAST_OWNER:
        raise Conflict("the last owner cannot be removed; name another owner first")
    return change is AccountChange.DONE


def _digest(value: Token | User) -> str:
    fields = asdict(value)
    if isinstance(value, Token):
        fields["scopes"] = sorted(value.scopes)
        del fields["last_used_at"], fields["last_address"]
    return digest_of(fields)
