"""Create and suspend tenants. What the operator does with tenants is in the audit log of the default tenant."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sitelore.model.errors import Conflict
from sitelore.model.frontier import Tenant
from sitelore.model.ids import DEFAULT_TENANT, new_uuid
from sitelore.model.platform.accounts import TENANT_SCOPES, Caller, User, UserRole
from sitelore.model.platform.audit_log import AuditEntry, entry_of
from sitelore.platform.accounts.accounts import AccountService, CreatedToken, TokenRequest, check_name
from sitelore.platform_ports import AccountDirectory
from sitelore.ports import Clock, RunQueue

_FIRST_NAME = "first token"


@dataclass(frozen=True, slots=True)
class CreatedTenant:
    """A new tenant with its owner, if it has one, and its first token."""

    tenant: Tenant
    owner: User | None
    token: CreatedToken


@dataclass(frozen=True, slots=True)
class TenantService:
    """The tenants of an installation, for its operator."""

    queue: RunQueue
    directory: AccountDirectory
    clock: Clock
    caller: Caller

    async def create(self, name: str, owner_email: str | None = None) -> CreatedTenant:
        """Create a tenant with a token for all of it and, with an e-mail address, its owner."""
        tenant = await self.create_empty(name)
        caller = replace(self.caller, tenant=tenant.id, scopes=TENANT_SCOPES, role=None)
        service = AccountService(self.directory.for_tenant(tenant.id), self.clock, caller)
        owner = await service.create_user(owner_email, UserRole.OWNER) if owner_email else None
        token = await service.create_token(TokenRequest(_FIRST_NAME, user=owner.id if owner else ""))
        return CreatedTenant(tenant, owner, token)

    async def create_empty(self, name: str) -> Tenant:
        """Create a tenant without users and tokens."""
        check_name(name)
        now = self.clock()
        if await self.queue.find_tenant(name) is not None:
            raise Conflict(f"a tenant is named {name} already")
        tenant = await self.queue.create_tenant(name, now)
        if tenant.created_at != now:
            raise Conflict(f"a tenant is named {name} already")  # created by another process just now
        await self.record("tenant.created", tenant)
        return tenant

    async def suspend(self, tenant: Tenant, *, is_suspended: bool) -> Tenant | None:
        """Refuse the tokens of a tenant, or accept them again. None when it was deleted meanwhile."""
        if tenant.id == DEFAULT_TENANT and is_suspended:
            raise Conflict("the default tenant is the operator's own and cannot be suspended")
        entry = self._entry("tenant.suspended" if is_suspended else "tenant.resumed", tenant)
        return await self.directory.suspend(tenant.id, self.clock() if is_suspended else None, entry)

    async def record(self, action: str, tenant: Tenant) -> None:
        """Write to the audit log of the operator, where a tenant is a number: nothing else of a deleted one stays."""
        await self.directory.for_tenant(DEFAULT_TENANT).record(self._entry(action, tenant))

    def _entry(self, action: str, tenant: Tenant) -> AuditEntry:
        now = self.clock()
        return entry_of(self.caller, new_uuid(now), now, action, f"tenant:{tenant.id}")
