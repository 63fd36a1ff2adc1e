"""Channels of one tenant (`ports.Channels`), and of all tenants for the scheduler (`ports.ChannelQueue`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import RunId, TenantId, new_uuid
from sitelore.model.platform.channels import Channel, ChannelSettings, ChannelStatistics, Planned, Schedule, TenantCrawlSettings
from sitelore.model.states import RunState
from sitelore.store.engine import Engine, Repository, read, read_long, write
from sitelore.store.platform import media, tenant_settings
from sitelore.store.platform.channels import channels, crawl_jobs, schedules
from sitelore.store.platform.channels import pages as channel_pages
from sitelore.store.tenants import for_all_tenants


class SqlChannels(Repository):
    """The channels of a tenant in SQLite or Postgres. Each method is one transaction."""

    channel = read(channels.find_channel)
    list_channels = read(channels.list_channels)
    change_channel = write(channels.change_channel)
    delete_channel = write(channels.delete_channel)
    secret = read(channels.channel_secret)
    set_secret = write(channels.set_secret)
    crawl_settings = read(channels.crawl_settings)
    usage = read_long(channels.usage)

    start_crawl = write(crawl_jobs.start_crawl)
    jobs = read_long(crawl_jobs.list_jobs)
    job = read(crawl_jobs.find_job)
    followed_up = write(crawl_jobs.followed_up)

    pages = read_long(channel_pages.list_pages)
    page_facets = read_long(channel_pages.page_facets)
    page = read(channel_pages.find_page)
    delete_page = write(channel_pages.delete_page)

    schedule = read(schedules.find_schedule)
    next_scheduled = read(schedules.next_scheduled)
    crawled_channels = read(schedules.crawled_channels)
    store_plans = write(schedules.store_plans)
    handle_occurrence = write(schedules.handle_occurrence)

    brand = read(tenant_settings.find_brand)
    enter_brand = write(tenant_settings.enter_brand)
    store_detected_brand = write(tenant_settings.store_detected)

    def queue(self) -> SqlChannelQueue:
        """The due schedules and completed crawls of all tenants."""
        return SqlChannelQueue(self._engine)

    async def create_channel(self, site: str, title: str, url: str, settings: ChannelSettings, now: float) -> Channel | None:
        """Create a channel; None when the site has one."""
        return await self._write(channels.create_channel, new_uuid(now), site, title, url, settings, now)

    async def change_crawl_settings(self, settings: TenantCrawlSettings, plans: Mapping[str, Planned | None]) -> bool:
        """Replace the crawl settings of the tenant together with the schedules that follow from them."""
        return await self._write(_change_crawl_settings, settings, plans)

    async def statistics(self, channel: Channel) -> ChannelStatistics:
        """Figures of a channel over all its crawls."""
        return await self._read_long(_statistics, channel)


class SqlChannelQueue:
    """The schedules and the completed crawls of all tenants (`ports.ChannelQueue`)."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def due_schedules(self, now: float, limit: int) -> list[Schedule]:
        """Schedules whose next crawl should start by now, the longest overdue first."""
        return await self._engine.read(for_all_tenants, schedules.due_schedules, now, limit)

    async def jobs_to_follow_up(self, limit: int) -> list[tuple[TenantId, RunId]]:
        """Crawls that have completed and were not followed up."""
        return await self._engine.read(for_all_tenants, crawl_jobs.jobs_to_follow_up, limit)

    async def tenant_of_channel(self, channel: str) -> TenantId | None:
        """The tenant that has this channel."""
        return await self._engine.read(for_all_tenants, channels.tenant_of_channel, channel)


def _change_crawl_settings(
    conn: sa.Connection, tenant: TenantId, settings: TenantCrawlSettings, plans: Mapping[str, Any]
) -> bool:
    changed = channels.change_crawl_settings(conn, tenant, settings)
    schedules.store_plans(conn, tenant, plans, keep=True)
    return changed


def _statistics(conn: sa.Connection, tenant: TenantId, channel: Channel) -> ChannelStatistics:
    completed, _ = crawl_jobs.list_jobs(conn, tenant, channel.id, 1, states=[RunState.COMPLETED])
    _, total = crawl_jobs.list_jobs(conn, tenant, channel.id, 0)
    _, failed = crawl_jobs.list_jobs(conn, tenant, channel.id, 0, states=[RunState.FAILED])
    return ChannelStatistics(
        pages=channel_pages.count_pages(conn, tenant, channel.site),
        pages_indexed=channel_pages.indexed_pages(conn, tenant, channel.site),
        screenshots=channel_pages.count_screenshots(conn, tenant, channel.site),
        crawls=total,
        crawls_failed=failed,
        media=crawl_jobs.media_of_crawls(conn, tenant, channel.id),
        stored_media=media.totals(conn, tenant, channel.site),
        last=next(iter(completed), None),
    )
