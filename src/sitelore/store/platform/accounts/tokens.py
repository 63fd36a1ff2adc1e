"""Store tokens of a tenant, and find a token of any tenant for authentication."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import TenantId
from sitelore.model.platform.accounts import AuditEntry, StoredToken, Token, TokenKind, TokenScope
from sitelore.store.platform.accounts import audit_log
from sitelore.store.platform.accounts.users import find_user
from sitelore.store.platform.schema import tokens
from sitelore.store.schema import tenants
from sitelore.store.statements import insert_for, read_page
from sitelore.store.tenants import for_tenant

USE_INTERVAL_S = 60.0
"""The last use of a token is written at most this often."""

_c = tokens.c
_COLUMNS = (
    _c.id, _c.kind, _c.name, _c.scopes, _c.created_at, _c.created_by, _c.channel_id, _c.user_id, _c.expires_at, _c.revoked_at,
    _c.last_used_at, _c.last_address, _c.rotated_from,
)  # fmt: skip


def create_token(conn: sa.Connection, tenant: TenantId, token: Token, secret_hash: bytes, entry: AuditEntry) -> None:
    """Store a token. Storing it again changes nothing."""
    audit_log.append(conn, tenant, entry)
    _insert(conn, tenant, token, secret_hash)


def rotate_token(
    conn: sa.Connection,
    tenant: TenantId,
    token: Token,
    secret_hash: bytes,
    old_expires_at: float,
    entry: AuditEntry,
) -> bool:
    """Store the replacement of `token.rotated_from`, which expires then. False when that one is missing or no longer valid."""
    audit_log.lock_tenant(conn, tenant)
    if find_token(conn, tenant, token.id) is not None:
        return True  # this transaction was committed before, but its answer was lost
    old = find_token(conn, tenant, token.rotated_from)
    if old is None or not old.is_live(entry.at):
        return False
    expires_at = old_expires_at if old.expires_at is None else min(old.expires_at, old_expires_at)
    conn.execute(sa.update(tokens).where(_is(tenant, old.id)).values(expires_at=expires_at))
    create_token(conn, tenant, token, secret_hash, entry)
    return True


def revoke_token(conn: sa.Connection, tenant: TenantId, token_id: str, entry: AuditEntry) -> bool:
    """Revoke a token permanently. False when there is none; a revoked token is not changed."""
    audit_log.lock_tenant(conn, tenant)
    token = find_token(conn, tenant, token_id)
    if token is not None and token.revoked_at is None:
        conn.execute(sa.update(tokens).where(_is(tenant, token_id)).values(revoked_at=entry.at))
        audit_log.append(conn, tenant, entry)
    return token is not None


def find_token(conn: sa.Connection, tenant: TenantId, token_id: str) -> Token | None:
    """The token with this id."""
    row = conn.execute(sa.select(*_COLUMNS).where(_is(tenant, token_id))).one_or_none()
    return None if row is None else _token(row)


def list_tokens(conn: sa.Connection, tenant: TenantId, limit: int, offset: int) -> tuple[list[Token], int]:
    """A page of the tokens, newest first, and the total."""
    query = sa.select(*_COLUMNS).where(_c.tenant_id == tenant).order_by(_c.created_at.desc(), _c.id)
    rows, total = read_page(conn, query, limit, offset)
    return list(map(_token, rows)), total


def mark_used(conn: sa.Connection, tenant: TenantId, token_id: str, now: float, address: str) -> None:
    """Record the use of a token, unless one was recorded within `USE_INTERVAL_S`."""
    is_due = sa.or_(_c.last_used_at.is_(None), _c.last_used_at <= now - USE_INTERVAL_S)
    conn.execute(sa.update(tokens).where(_is(tenant, token_id), is_due).values(last_used_at=now, last_address=address))


def look_up(conn: sa.Connection, token_id: str) -> StoredToken | None:
    """The token with this id, of any tenant. Runs in a transaction of all tenants, which then becomes the token's own."""
    query = sa.select(tokens.c.tenant_id).where(_c.id == token_id)
    tenant = conn.scalar(query)
    return None if tenant is None else for_tenant(conn, _stored_token, TenantId(tenant), token_id)


def has_tokens(conn: sa.Connection) -> bool:
    """Whether any tenant has a token."""
    return conn.scalar(sa.select(_c.id).limit(1)) is not None


def _stored_token(conn: sa.Connection, tenant: TenantId, token_id: str) -> StoredToken | None:
    query = sa.select(*_COLUMNS, _c.secret_hash, tenants.c.suspended_at).join(tenants, tenants.c.id == _c.tenant_id)
    row = conn.execute(query.where(_is(tenant, token_id))).one_or_none()
    if row is None:
        return None
    user = find_user(conn, tenant, row.user_id) if row.user_id else None
    return StoredToken(tenant, _token(row), row.secret_hash, user, is_suspended=row.suspended_at is not None)


def _is(tenant: TenantId, token_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(_c.tenant_id == tenant, _c.id == token_id)


def _insert(conn: sa.Connection, tenant: TenantId, token: Token, secret_hash: bytes) -> None:
    values = {
        "tenant_id": tenant, "id": token.id, "secret_hash": secret_hash, "kind": token.kind.value, "name": token.name,
        "scopes": " ".join(sorted(token.scopes)), "channel_id": token.channel, "user_id": token.user,
        "created_at": token.created_at, "created_by": token.created_by, "expires_at": token.expires_at,
        "last_address": token.last_address, "rotated_from": token.rotated_from,
    }  # fmt: skip
    insert = insert_for(conn.dialect.name)(tokens).values(values)
    conn.execute(insert.on_conflict_do_nothing(index_elements=["tenant_id", "id"]))


def _token(row: Any) -> Token:
    return Token(
        row.id,
        TokenKind(row.kind),
        row.name,
        frozenset(map(TokenScope, row.scopes.split())),
        row.created_at,
        row.created_by,
        row.channel_id,
        row.user_id,
        row.expires_at,
        row.revoked_at,
        row.last_used_at,
        row.last_address,
        row.rotated_from,
    )
