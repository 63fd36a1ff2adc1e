"""Channels (a channel is a website that a tenant follows): create, change and delete them, start and schedule their crawls.

The API and the scheduler share this. Which private addresses a crawl may reach depends on the operator's list when the crawl
starts, not on the one when the channel was created.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sitelore.crawl.runs import first_offers, pipeline_settings, site_name
from sitelore.extract.page_objects.brand import merge_brands
from sitelore.model.errors import UsageError
from sitelore.model.frontier import IdempotencyKey
from sitelore.model.ids import RunId, TenantId
from sitelore.model.platform.channels import (
    MAX_PAGES,
    Channel,
    ChannelSettings,
    CrawlConfig,
    NewCrawl,
    Planned,
    Schedule,
    Screenshots,
    StartedCrawl,
    TenantCrawlSettings,
    Trigger,
)
from sitelore.model.platform.tenant_settings import StoredBrand
from sitelore.model.settings import (
    BUILT_IN_ALONE,
    CrawlSettings,
    MediaPolicy,
    Pipeline,
    Redaction,
    Rendering,
    RenderMode,
    Scope,
)
from sitelore.model.states import RunState
from sitelore.platform.channels.cron import check_cron, check_time_zone, plan, rule_of
from sitelore.platform.secret_box import SecretBox, SecretUnreadable
from sitelore.platform.webhooks import delivery
from sitelore.platform_ports import Channels
from sitelore.ports import Clock

_LOG = logging.getLogger(__name__)

ROBOTS_AGENTS = ("Googlebot",)
"""Crawls of channels obey the rules for these agents as well."""


async def _announce_nothing(_: RunId) -> None:
    """For services that start no crawls."""


@dataclass(frozen=True, slots=True)
class ChannelService:
    """The channels of one tenant."""

    channels: Channels
    clock: Clock
    redaction: Redaction = BUILT_IN_ALONE
    allow_private: tuple[str, ...] = ()
    """The operator's private addresses that crawls may reach."""
    announce: Callable[[RunId], Awaitable[None]] = _announce_nothing
    """Wakes the workers."""
    secrets: SecretBox = field(default_factory=SecretBox)
    """Encrypts the secrets of channels."""

    def for_tenant(self, tenant: TenantId) -> ChannelService:
        """The channels of another tenant."""
        return replace(self, channels=self.channels.for_tenant(tenant))

    async def create(self, title: str, url: str, settings: ChannelSettings) -> Channel | None:
        """Create a channel for a website; None when the tenant has one for it. Raises `UsageError` for a wrong setting."""
        crawl_settings = self.checked(url, settings)
        return await self.channels.create_channel(site_name(crawl_settings), title, url, settings, self.clock())

    async def change(self, channel: Channel, title: str, url: str, settings: ChannelSettings) -> Channel | None:
        """Change a channel, and at once its schedule. Its website stays: another one is another channel."""
        if site_name(self.checked(url, settings)) != channel.site_name:
            raise UsageError(f"{url} is another website than {channel.site_name}; create a channel for it")
        changed = await self.channels.change_channel(channel.id, title, url, settings, self.clock())
        if changed is not None and changed.settings != channel.settings:
            await self.plan_schedules(await self.tenant_settings(), [changed.id], self.clock())
        return changed

    async def start(
        self, channel: Channel, trigger: Trigger, by: str, key: IdempotencyKey | None = None
    ) -> StartedCrawl | None:
        """Start a crawl of the whole site, unless one is active. None when the channel was deleted meanwhile."""
        return await self._start(channel, self.new_crawl(channel, await self.tenant_settings(), trigger, by, key))

    async def start_changed(
        self, channel: Channel, urls: Sequence[str], by: str, key: IdempotencyKey | None = None
    ) -> StartedCrawl | None:
        """Start a crawl of these URLs, or without any, of what has changed on the site. Raises `UsageError` for other sites."""
        whole = self.new_crawl(channel, await self.tenant_settings(), Trigger.WEBHOOK, by, key)
        settings = pipeline_settings(whole.settings, channel.site_name, Pipeline.UPDATE_DELTA, urls)
        settings = replace(settings, max_pages=whole.config.max_pages)
        offers = tuple(first_offers(settings, self.redaction))
        return await self._start(channel, replace(whole, settings=settings, offers=offers))

    def new_crawl(
        self, channel: Channel, tenant: TenantCrawlSettings, trigger: Trigger, by: str, key: IdempotencyKey | None = None
    ) -> NewCrawl:
        """A crawl of the whole site by the settings of the channel and the tenant. Raises `UsageError` for a wrong setting."""
        own = channel.settings
        max_pages = min(tenant.effective_max_pages, own.max_pages or tenant.effective_max_pages)
        config = CrawlConfig(
            channel.url, max_pages, own.max_depth, own.include_media, own.media_types, tenant.max_video_mb,
            screenshots=own.screenshots,
        )  # fmt: skip
        settings = self._settings(config, own)
        offers = tuple(first_offers(settings, self.redaction))
        key = key or IdempotencyKey(uuid.uuid4().hex, "")  # a commit whose answer was lost is repeated under the same key
        return NewCrawl(channel.site_name, settings, offers, config, trigger, by, key)

    async def change_crawl_settings(self, settings: TenantCrawlSettings) -> bool:
        """Change the crawl settings of the tenant and, in the same transaction, the schedules of its channels."""
        check_time_zone(settings.time_zone)
        plans = await self._plans(settings, await self.channels.crawled_channels(), self.clock())
        return await self.channels.change_crawl_settings(settings, plans)

    async def plan_schedules(self, tenant: TenantCrawlSettings, channels: Sequence[str], after: float) -> None:
        """Create, change or delete the schedules of those of these channels whose first crawl has completed."""
        crawled = set(await self.channels.crawled_channels())
        plans = await self._plans(tenant, [channel for channel in channels if channel in crawled], after)
        await self.channels.store_plans(plans, keep=True)

    async def expected_schedule(self, channel: Channel) -> Schedule | None:
        """The schedule of a channel. Where the first crawl has completed just now, the schedule that it is about to get."""
        schedule = await self.channels.schedule(channel.id)
        if schedule is not None:
            return schedule
        rule = rule_of(channel, await self.tenant_settings())
        [*completed], _ = await self.channels.jobs(channel.id, 1, 0, (RunState.COMPLETED,))
        if rule is None or not completed:
            return None
        return Schedule(channel.tenant, channel.id, plan(rule, completed[0].run.finished_at or self.clock()))

    async def new_secret(self, channel: Channel) -> str:
        """Replace the secret with which change notices of the channel are signed. It is shown once."""
        secret = delivery.new_secret()
        await self.channels.set_secret(channel.id, self.secrets.seal(secret, _row_of(channel)), self.clock())
        return secret

    async def secret(self, channel: Channel) -> str | None:
        """The secret of the channel; None when it has none, or the operator's key for it is missing."""
        stored = await self.channels.secret(channel.id)
        try:
            return None if stored is None else self.secrets.open(stored, _row_of(channel))
        except SecretUnreadable as problem:
            _LOG.warning("%s", problem, extra={"channel": channel.id})
            return None

    async def brand(self) -> tuple[StoredBrand, dict[str, Any]]:
        """What is stored of the tenant's brand, and the brand that results: a person's entries before detected values."""
        stored = await self.channels.brand()
        return stored, merge_brands(stored.entered, stored.detected)

    async def _start(self, channel: Channel, crawl: NewCrawl) -> StartedCrawl | None:
        started = await self.channels.start_crawl(channel.id, crawl, self.clock())
        if started is not None and started.is_new:
            await self.announce(started.run)
        return started

    async def _plans(self, tenant: TenantCrawlSettings, channels: Sequence[str], after: float) -> dict[str, Planned | None]:
        plans: dict[str, Planned | None] = {}
        for channel_id in channels:
            channel = await self.channels.channel(channel_id)
            if channel is not None:
                rule = rule_of(channel, tenant)
                plans[channel_id] = None if rule is None else plan(rule, after)
        return plans

    async def tenant_settings(self) -> TenantCrawlSettings:
        """The crawl settings of the tenant."""
        settings = await self.channels.crawl_settings()
        assert settings is not None  # the tenant of a caller exists
        return settings

    def checked(self, url: str, settings: ChannelSettings) -> CrawlSettings:
        """The crawl settings of a channel. Raises `UsageError` for a wrong setting."""
        if settings.cron is not None:
            check_cron(settings.cron)
        if settings.time_zone is not None:
            check_time_zone(settings.time_zone)
        crawl_settings = self._settings(CrawlConfig(url, MAX_PAGES, settings.max_depth), settings)
        first_offers(crawl_settings, self.redaction)
        return crawl_settings

    def _settings(self, config: CrawlConfig, own: ChannelSettings) -> CrawlSettings:
        return CrawlSettings(
            seeds=(config.start_url,),
            scope=Scope.ORIGIN,
            max_pages=config.max_pages,
            max_depth=config.max_depth,
            robots_agents=ROBOTS_AGENTS,
            include=own.include,
            exclude=own.exclude,
            personal=own.personal,
            rendering=Rendering(
                mode=RenderMode.ALWAYS if config.screenshots is Screenshots.ALL else own.render,
                screenshots=config.screenshots is not Screenshots.NONE,
            ),
            media=MediaPolicy(config.media_types if config.include_media else (), video_bytes=config.max_video_mb * 2**20),
            allow_private=self.allow_private,
        )


def _row_of(channel: Channel) -> str:
    """The row that an encrypted secret belongs to: in another one it is not valid."""
    return f"channel:{channel.tenant}:{channel.id}"
