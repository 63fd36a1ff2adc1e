"""Store a sign-up in one transaction: tenant, owner, token, channel and first crawl."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from sitelore.model.frontier import Tenant
from sitelore.model.ids import DEFAULT_TENANT, TenantId
from sitelore.model.platform.accounts import AuditEntry
from sitelore.model.platform.signup import Registered, Registration
from sitelore.store.platform.accounts import audit_log, tokens, users
from sitelore.store.platform.channels import channels, crawl_jobs
from sitelore.store.tenants import create_tenant, for_all_tenants, for_tenant


def register(conn: sa.Connection, registration: Registration) -> Registered:
    """Store a sign-up. Storing it again gives what was stored.

    Runs in a transaction of all tenants, which becomes that of the new tenant.
    """
    for name in registration.names:
        tenant = for_all_tenants(conn, create_tenant, name, registration.owner.created_at)
        if for_tenant(conn, _is_own, tenant.id, tenant, registration):
            break
    else:
        raise AssertionError("the second name of a sign-up is random")
    for_tenant(conn, _record, DEFAULT_TENANT, registration, "tenant.created", f"tenant:{tenant.id}")
    return for_tenant(conn, _fill, tenant.id, tenant, registration)


def _is_own(conn: sa.Connection, tenant: TenantId, row: Tenant, registration: Registration) -> bool:
    """Whether the tenant was created by this sign-up, and not by another one at the same moment."""
    others, _ = users.list_users(conn, tenant, 2, 0)
    return row.created_at == registration.owner.created_at and {user.id for user in others} <= {registration.owner.id}


def _fill(conn: sa.Connection, tenant: TenantId, row: Tenant, registration: Registration) -> Registered:
    owner, token, website, now = registration.owner, registration.token, registration.website, registration.owner.created_at
    users.create_user(conn, tenant, owner, _entry(registration, "user.created", f"user:{owner.id}"))
    entry = _entry(registration, "token.created", f"token:{token.id}")
    tokens.create_token(conn, tenant, token, registration.secret_hash, entry)
    if website is None:
        return Registered(row)
    channel = channels.create_channel(
        conn, tenant, website.channel, website.site, website.title, website.url, website.settings, now
    )
    settings = channels.crawl_settings(conn, tenant)
    assert channel is not None  # a new tenant has no other channel
    assert settings is not None
    _record(conn, tenant, registration, "channel.created", f"channel:{channel.id}")
    started = crawl_jobs.start_crawl(conn, tenant, channel.id, website.plan_crawl(channel, settings), now)
    assert started is not None
    _record(conn, tenant, registration, "run.created", f"run:{started.run}")
    return Registered(row, channel, started.run)


def _record(conn: sa.Connection, tenant: TenantId, registration: Registration, action: str, changed: str) -> None:
    audit_log.append(conn, tenant, _entry(registration, action, changed))


def _entry(registration: Registration, action: str, changed: str) -> AuditEntry:
    """The entry of one step; its id is that of the sign-up with the step, so that a repeated transaction stores it once."""
    entry = registration.entry
    return replace(entry, id=f"{entry.id}-{action}", action=action, object=changed)
