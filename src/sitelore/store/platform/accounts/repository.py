"""Accounts and the audit log in SQLite or Postgres (`ports.Accounts`, `ports.AccountDirectory`); see `store/ledger.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import sqlalchemy as sa

from sitelore.model.frontier import Tenant
from sitelore.model.ids import DEFAULT_TENANT, TenantId
from sitelore.model.platform.accounts import AuditEntry, AuditRecord, StoredToken
from sitelore.model.platform.signup import Registered, Registration
from sitelore.store import tenants
from sitelore.store.engine import Engine, Repository, read, read_long, write
from sitelore.store.platform.accounts import audit_log, signup, tokens, users
from sitelore.store.tenants import for_all_tenants, for_tenant


class SqlAccounts(Repository):
    """Users, tokens and the audit log of one tenant."""

    create_token = write(tokens.create_token)
    rotate_token = write(tokens.rotate_token)
    revoke_token = write(tokens.revoke_token)
    find_token = read(tokens.find_token)
    list_tokens = read_long(tokens.list_tokens)

    create_user = write(users.create_user)
    change_role = write(users.change_role)
    delete_user = write(users.delete_user)
    find_user = read(users.find_user)
    list_users = read_long(users.list_users)

    record = write(audit_log.append)
    audit_records = read_long(audit_log.list_records)
    audit_facets = read_long(audit_log.count_records)

    async def audit_chain(self) -> AsyncIterator[AuditRecord]:
        """All records of the audit log in the order of the chain."""
        after = 0
        while records := await self._read_long(audit_log.records_after, after):
            for record in records:
                yield record
            after = records[-1].seq


class SqlAccountDirectory:
    """The accounts of all tenants."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def for_tenant(self, tenant: TenantId) -> SqlAccounts:
        """The accounts of one tenant."""
        return SqlAccounts(self._engine, tenant)

    async def look_up(self, token_id: str) -> StoredToken | None:
        """The token with this id, of any tenant."""
        return await self._engine.read(for_all_tenants, tokens.look_up, token_id)

    async def mark_used(self, tenant: TenantId, token_id: str, now: float, address: str) -> None:
        """Record the use of a token, at most once a minute."""
        await self._engine.write(for_tenant, tokens.mark_used, tenant, token_id, now, address)

    async def has_tokens(self) -> bool:
        """Whether any tenant has a token."""
        return await self._engine.read(for_all_tenants, tokens.has_tokens)

    async def tenant(self, tenant: TenantId) -> Tenant | None:
        """The tenant of this id."""
        return await self._engine.read(for_all_tenants, tenants.tenant_by_id, tenant)

    async def register(self, registration: Registration) -> Registered:
        """Store a sign-up in one transaction."""
        return await self._engine.write(for_all_tenants, signup.register, registration)

    async def suspend(self, tenant: TenantId, since: float | None, entry: AuditEntry | None = None) -> Tenant | None:
        """Refuse the tokens of a tenant from now on, or (None) accept them again. None when the tenant does not exist.

        The entry goes into the operator's audit log if that is a change.
        """
        return await self._engine.write(for_all_tenants, _suspend, tenant, since, entry)


def _suspend(conn: sa.Connection, tenant: TenantId, since: float | None, entry: AuditEntry | None) -> Tenant | None:
    before, changed = tenants.tenant_by_id(conn, tenant), tenants.suspend(conn, tenant, since)
    is_change = before is not None and changed is not None and before.suspended_at != changed.suspended_at
    if is_change and entry is not None:
        for_tenant(conn, audit_log.append, DEFAULT_TENANT, entry)
    return changed
