"""A sign-up: a tenant with its owner, a token, the channel of its website and the first crawl, stored together or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sitelore.model.frontier import Tenant
from sitelore.model.ids import RunId
from sitelore.model.platform.accounts import AuditEntry, Token, User
from sitelore.model.platform.channels import Channel, ChannelSettings, NewCrawl, TenantCrawlSettings


@dataclass(frozen=True, slots=True)
class NewWebsite:
    """The website of a new tenant."""

    channel: str
    """The id of the new channel."""
    site: str
    title: str
    url: str
    settings: ChannelSettings
    plan_crawl: Callable[[Channel, TenantCrawlSettings], NewCrawl]
    """The first crawl; a pure function, called inside the transaction."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What a sign-up stores."""

    names: tuple[str, str]
    """The name of the tenant, and the one it gets where that is taken."""
    owner: User
    token: Token
    secret_hash: bytes
    website: NewWebsite | None
    entry: AuditEntry
    """The entry of the audit log, whose action and object vary."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A stored sign-up."""

    tenant: Tenant
    channel: Channel | None = None
    run: RunId | None = None
