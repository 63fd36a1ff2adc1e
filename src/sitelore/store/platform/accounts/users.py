"""Store the users of a tenant."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import TenantId
from sitelore.model.platform.accounts import AccountChange, AuditEntry, User, UserRole
from sitelore.store.platform.accounts import audit_log
from sitelore.store.platform.schema import tokens, users
from sitelore.store.statements import insert_for, read_page

_c = users.c
_COLUMNS = (_c.id, _c.email, _c.role, _c.created_at)


def create_user(conn: sa.Connection, tenant: TenantId, user: User, entry: AuditEntry) -> AccountChange:
    """Store a user. Storing it again changes nothing."""
    values = {
        "tenant_id": tenant, "id": user.id, "email": user.email, "role": user.role.value, "created_at": user.created_at,
    }  # fmt: skip
    conn.execute(insert_for(conn.dialect.name)(users).values(values).on_conflict_do_nothing())
    if find_user(conn, tenant, user.id) is None:
        return AccountChange.EMAIL_TAKEN
    audit_log.append(conn, tenant, entry)
    return AccountChange.DONE


def change_role(conn: sa.Connection, tenant: TenantId, user_id: str, role: UserRole, entry: AuditEntry) -> AccountChange:
    """Give a user another role. The last owner keeps theirs."""
    audit_log.lock_tenant(conn, tenant)
    user = find_user(conn, tenant, user_id)
    if user is None:
        return AccountChange.NO_USER
    if role is not UserRole.OWNER and _is_last_owner(conn, tenant, user):
        return AccountChange.LAST_OWNER
    conn.execute(sa.update(users).where(_is(tenant, user_id)).values(role=role.value))
    audit_log.append(conn, tenant, entry)
    return AccountChange.DONE


def delete_user(conn: sa.Connection, tenant: TenantId, user_id: str, entry: AuditEntry) -> AccountChange:
    """Delete a user, and revoke their tokens. The last owner stays."""
    audit_log.lock_tenant(conn, tenant)
    user = find_user(conn, tenant, user_id)
    if user is None:
        return AccountChange.NO_USER
    if _is_last_owner(conn, tenant, user):
        return AccountChange.LAST_OWNER
    of_user = sa.and_(tokens.c.tenant_id == tenant, tokens.c.user_id == user_id, tokens.c.revoked_at.is_(None))
    conn.execute(sa.update(tokens).where(of_user).values(revoked_at=entry.at))
    conn.execute(sa.delete(users).where(_is(tenant, user_id)))
    audit_log.append(conn, tenant, entry)
    return AccountChange.DONE


def find_user(conn: sa.Connection, tenant: TenantId, user_id: str) -> User | None:
    """The user with this id."""
    row = conn.execute(sa.select(*_COLUMNS).where(_is(tenant, user_id))).one_or_none()
    return None if row is None else _user(row)


def list_users(conn: sa.Connection, tenant: TenantId, limit: int, offset: int) -> tuple[list[User], int]:
    """A page of the users by e-mail address, and the total."""
    rows, total = read_page(conn, sa.select(*_COLUMNS).where(_c.tenant_id == tenant).order_by(_c.email), limit, offset)
    return list(map(_user, rows)), total


def _is(tenant: TenantId, user_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(_c.tenant_id == tenant, _c.id == user_id)


def _is_last_owner(conn: sa.Connection, tenant: TenantId, user: User) -> bool:
    if user.role is not UserRole.OWNER:
        return False
    owners = sa.select(sa.func.count()).select_from(users).where(_c.tenant_id == tenant, _c.role == UserRole.OWNER.value)
    return conn.scalar(owners) == 1


def _user(row: Any) -> User:
    return User(row.id, row.email, UserRole(row.role), row.created_at)
