"""Sign-up: a company becomes a tenant with an owner, a token, a channel for its website and a first crawl."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sitelore.crawl.runs import site_name
from sitelore.model.ids import new_uuid
from sitelore.model.platform.accounts import TENANT_SCOPES, Caller, Token, TokenKind, User, UserRole
from sitelore.model.platform.audit_log import entry_of
from sitelore.model.platform.channels import ChannelSettings, Trigger
from sitelore.model.platform.signup import NewWebsite, Registered, Registration
from sitelore.platform.accounts.accounts import check_email, check_name
from sitelore.platform.accounts.tokens import new_token_text
from sitelore.platform.channels.channels import ChannelService
from sitelore.platform_ports import AccountDirectory

CHANNEL_TITLE = "Company Website"
_FIRST_NAME = "sign-up"
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
        token = Token(text.id, TokenKind.API, _FIRST_NAME, TENANT_SCOPES, now, owner.email, user=owner.id)
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
