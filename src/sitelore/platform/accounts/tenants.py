"""Create and suspend tenants: by the operator, or by the sign-up of a company.

What is done with tenants is in the audit log of the default tenant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from sitelore.crawl.runs import site_name
from sitelore.model.errors import Conflict
from sitelore.model.frontier import Tenant
from sitelore.model.ids import DEFAULT_TENANT, new_uuid
from sitelore.model.platform.accounts import TENANT_SCOPES, AuditEntry, Caller, Token, TokenKind, User, UserRole, entry_of
from sitelore.model.platform.channels import ChannelSettings, Trigger
from sitelore.model.platform.signup import NewWebsite, Registered, Registration
from sitelore.platform.accounts.accounts import AccountService, CreatedToken, TokenRequest, check_email, check_name
from sitelore.platform.accounts.authentication import new_token_text
from sitelore.platform.channels.channels import ChannelService
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


CHANNEL_TITLE = "Company Website"
_SIGNUP_NAME = "sign-up"
_SUFFIX_CHARS = 6


@dataclass(frozen=True, slots=True)
class SignedUp:
    """A stored sign-up, with the token, which is shown once."""

    registered: Registered
    owner: User
    token: str


@dataclass(frozen=True, slots=True)
class SignupService:
    """Registers tenants."""

    directory: AccountDirectory
    channels: ChannelService
    """Plans the first crawl. Its tenant does not matter."""
    caller: Caller

    async def register(self, company: str, email: str, website: str | None) -> SignedUp:
        """Register a company. Raises `UsageError` for a wrong name, address or website."""
        check_name(company)
        check_email(email)
        now = self.channels.clock()
        owner = User(new_uuid(now), email.lower(), UserRole.OWNER, now)
        text = new_token_text(TokenKind.API)
        token = Token(text.id, TokenKind.API, _SIGNUP_NAME, TENANT_SCOPES, now, owner.email, user=owner.id)
        registration = Registration(
            # A name that is taken must not be refused: that would tell who is a customer.
            names=(company, f"{company} {text.id[:_SUFFIX_CHARS]}"),
            owner=owner,
            token=token,
            secret_hash=text.secret_hash,
            website=None if website is None else self._website(website, owner),
            entry=entry_of(self.caller, new_uuid(now), now, "", ""),
        )
        registered = await self.directory.register(registration)
        if registered.run is not None:
            await self.channels.announce(registered.run)
        return SignedUp(registered, owner, text.text)

    def _website(self, url: str, owner: User) -> NewWebsite:
        settings = ChannelSettings()
        site = site_name(self.channels.checked(url, settings))
        plan_crawl = partial(self.channels.new_crawl, trigger=Trigger.SIGNUP, by=owner.email)
        return NewWebsite(new_uuid(owner.created_at), site, CHANNEL_TITLE, url, settings, plan_crawl)
