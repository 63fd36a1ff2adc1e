"""Rows of channels (websites that tenants follow) and of tenants' crawl settings. Deleting a channel deletes its site."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.ids import SiteId, TenantId
from sitelore.model.platform.channels import Channel, ChannelSettings, Frequency, Plan, TenantCrawlSettings, TenantUsage
from sitelore.model.states import ENDED, RunState
from sitelore.store.platform.schema import channels, media_urls
from sitelore.store.rows import encode, storable
from sitelore.store.runs.deletion import delete_site
from sitelore.store.runs.lifecycle import create_site, end_run
from sitelore.store.schema import pages, runs, sites, tenants
from sitelore.store.statements import insert_for, read_page

_settings_decoder = msgspec.json.Decoder(ChannelSettings)
_ENDED = sorted(state.value for state in ENDED)
_c = channels.c
_select_channels = sa.select(
    _c.id, _c.tenant_id, _c.site_id, sites.c.name, _c.title, _c.url, _c.settings, _c.created_at, _c.updated_at,
    _c.secret.is_not(None),
).select_from(channels.join(sites, sa.and_(sites.c.tenant_id == _c.tenant_id, sites.c.id == _c.site_id)))  # fmt: skip


def create_channel(
    conn: sa.Connection,
    tenant: TenantId,
    channel: str,
    site: str,
    title: str,
    url: str,
    settings: ChannelSettings,
    now: float,
) -> Channel | None:
    """Create a channel with this id for the tenant's site of this name, which is created if it is new.

    None when the site, with or without `www.`, has another channel.
    """
    host = site.removeprefix("www.")
    other = conn.scalar(sa.select(_c.id).where(_c.tenant_id == tenant, _c.host == host))
    if other is None:
        create_site(conn, tenant, site, now)
        site_id = conn.scalar(sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.name == site))
        values = {
            "tenant_id": tenant, "id": channel, "site_id": site_id, "host": host, "title": storable(title) or "", "url": url,
            "settings": encode(settings).decode(), "created_at": now, "updated_at": now,
        }  # fmt: skip
        conn.execute(insert_for(conn.dialect.name)(channels).values(values).on_conflict_do_nothing())
    # None when another channel was first. When the answer to a commit was lost, the channel is its own.
    return find_channel(conn, tenant, channel)


def find_channel(conn: sa.Connection, tenant: TenantId, channel: str) -> Channel | None:
    """The channel with this id."""
    row = conn.execute(_select_channels.where(_c.tenant_id == tenant, _c.id == channel)).one_or_none()
    return None if row is None else _channel_of(row)


def list_channels(conn: sa.Connection, tenant: TenantId, limit: int, offset: int, only: str = "") -> tuple[list[Channel], int]:
    """A page of the tenant's channels, oldest first, and the total. `only`: the only channel that may be listed."""
    condition = _c.tenant_id == tenant
    if only:
        condition &= _c.id == only
    rows, total = read_page(conn, _select_channels.where(condition).order_by(_c.created_at, _c.id), limit, offset)
    return list(map(_channel_of, rows)), total


def change_channel(
    conn: sa.Connection, tenant: TenantId, channel: str, title: str, url: str, settings: ChannelSettings, now: float
) -> Channel | None:
    """Replace title, address and settings of a channel. None when the channel does not exist."""
    values = {"title": storable(title) or "", "url": url, "settings": encode(settings).decode(), "updated_at": now}
    conn.execute(sa.update(channels).where(_c.tenant_id == tenant, _c.id == channel).values(values))
    return find_channel(conn, tenant, channel)


def delete_channel(conn: sa.Connection, tenant: TenantId, channel: str, now: float) -> bool:
    """Delete a channel with its site: pages, runs, versions, index. Runs that have not ended are cancelled first."""
    site = conn.scalar(sa.select(_c.site_id).where(_c.tenant_id == tenant, _c.id == channel))
    if site is None:
        return False
    # With the row of the site locked, no run can be created meanwhile.
    conn.execute(sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.id == site).with_for_update())
    of_site = sa.and_(runs.c.tenant_id == tenant, runs.c.site_id == site, runs.c.state.not_in(_ENDED))
    for run in conn.scalars(sa.select(runs.c.id).where(of_site).order_by(runs.c.id)).all():
        end_run(conn, tenant, run, RunState.CANCELLED, now)
    return delete_site(conn, tenant, SiteId(site))


def channel_secret(conn: sa.Connection, tenant: TenantId, channel: str) -> str | None:
    """The secret with which change notices of this channel are signed."""
    return conn.scalar(sa.select(_c.secret).where(_c.tenant_id == tenant, _c.id == channel))


def set_secret(conn: sa.Connection, tenant: TenantId, channel: str, secret: str, now: float) -> bool:
    """Replace the secret of a channel. False when the channel does not exist."""
    change = sa.update(channels).where(_c.tenant_id == tenant, _c.id == channel).values(secret=secret, updated_at=now)
    return conn.execute(change).rowcount == 1


def tenant_of_channel(conn: sa.Connection, channel: str) -> TenantId | None:
    """The tenant that has this channel, for a signed request, which names no tenant."""
    tenant = conn.scalar(sa.select(_c.tenant_id).where(_c.id == channel))
    return None if tenant is None else TenantId(tenant)


def _channel_of(row: Any) -> Channel:
    channel, tenant, site, name, title, url, settings, created_at, updated_at, has_secret = row
    decoded = _settings_decoder.decode(settings)
    return Channel(channel, tenant, site, name, title, url, decoded, created_at, updated_at, bool(has_secret))


_t = tenants.c
_CRAWL_COLUMNS = (_t.plan, _t.crawl_max_pages, _t.crawl_frequency, _t.max_video_mb, _t.time_zone)


def crawl_settings(conn: sa.Connection, tenant: TenantId) -> TenantCrawlSettings | None:
    """The crawl settings of the tenant; None when the tenant does not exist."""
    row = conn.execute(sa.select(*_CRAWL_COLUMNS).where(_t.id == tenant)).one_or_none()
    return None if row is None else TenantCrawlSettings(Plan(row[0]), row[1], Frequency(row[2]), row[3], row[4])


def change_crawl_settings(conn: sa.Connection, tenant: TenantId, settings: TenantCrawlSettings) -> bool:
    """Replace the crawl settings of the tenant. False when the tenant does not exist."""
    values = {
        "plan": settings.plan.value, "crawl_max_pages": settings.max_pages, "crawl_frequency": settings.frequency.value,
        "max_video_mb": settings.max_video_mb, "time_zone": settings.time_zone,
    }  # fmt: skip
    return conn.execute(sa.update(tenants).where(_t.id == tenant).values(values)).rowcount == 1


def usage(conn: sa.Connection, tenant: TenantId) -> TenantUsage:
    """How many channels the tenant has, and how many pages they have."""
    count = sa.select(sa.func.count()).select_from(channels).where(_c.tenant_id == tenant)
    joined = channels.join(pages, sa.and_(pages.c.tenant_id == _c.tenant_id, pages.c.site_id == _c.site_id))
    # Documents that were downloaded as media are indexed like pages, and are none.
    is_media = sa.exists().where(media_urls.c.tenant_id == tenant, media_urls.c.url_id == pages.c.url_id).correlate(pages)
    kept = sa.and_(_c.tenant_id == tenant, pages.c.alias_of.is_(None), pages.c.presence != sa.text("'GONE'"), ~is_media)
    page_count = sa.select(sa.func.count()).select_from(joined).where(kept)
    return TenantUsage(conn.scalar(count) or 0, conn.scalar(page_count) or 0)
