"""The scheduler: starts the crawls of due schedules, and follows up crawls of channels that have completed.

`start_due_crawls` does one pass. It may run on every server at once: the one whose transaction is first handles an occurrence,
the others see that. A server that is killed between two transactions leaves nothing half done; the next pass continues.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sitelore import metrics
from sitelore.background import repeat
from sitelore.model.errors import CorruptData, StorageError, UsageError
from sitelore.model.frontier import IdempotencyKey
from sitelore.model.ids import RunId, TenantId
from sitelore.model.platform.channels import CrawlJob, NewCrawl, Outcome, Schedule, Trigger
from sitelore.model.url import Url
from sitelore.platform.channels.channels import ChannelService
from sitelore.platform.channels.cron import due_occurrence, rule_of
from sitelore.platform_ports import ChannelQueue
from sitelore.ports import BlobStorage, Ledger

_LOG = logging.getLogger(__name__)

_BATCH = 100
_ACTOR = "schedule"


@dataclass(frozen=True, slots=True)
class _DocumentWithBrand:
    """The part of a stored document that is read."""

    brand: dict[str, Any] = field(default_factory=dict)


_brand_decoder = msgspec.json.Decoder(_DocumentWithBrand)


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Schedules of all tenants."""

    queue: ChannelQueue
    service: ChannelService
    ledger: Ledger
    blobs: BlobStorage

    async def run_until_stopped(self, stop: asyncio.Event, interval_s: float) -> None:
        """Run `start_due_crawls` repeatedly until stopped."""
        await repeat("schedules", lambda: self.start_due_crawls(self.service.clock()), stop, interval_s)

    async def start_due_crawls(self, now: float) -> int:
        """Follow up completed crawls, then start the crawls of due schedules. Returns how many crawls were started."""
        for tenant, run in await self.queue.jobs_to_follow_up(_BATCH):
            try:
                await self._follow_up(tenant, run, now)
            except StorageError:
                raise
            except Exception:  # noqa: BLE001 an error in one crawl must not stop the schedules of all others
                _LOG.exception("a completed crawl could not be followed up", extra={"run": run})
                await self.service.for_tenant(tenant).channels.followed_up(run)
        started = 0
        for schedule in await self.queue.due_schedules(now, _BATCH):
            try:
                started += await self._handle_occurrence(schedule, now)
            except StorageError:
                raise
            except Exception:  # noqa: BLE001 see above
                _LOG.exception("a scheduled crawl cannot be started", extra={"channel": schedule.channel})
                channels = self.service.for_tenant(schedule.tenant).channels
                await channels.handle_occurrence(schedule, due_occurrence(schedule.planned, now), None, now)
        return started

    async def _handle_occurrence(self, schedule: Schedule, now: float) -> bool:
        """Handle a due schedule; True when this server has started a crawl."""
        service = self.service.for_tenant(schedule.tenant)
        channel, tenant = await service.channels.channel(schedule.channel), await service.channels.crawl_settings()
        if channel is None or tenant is None:  # deleted meanwhile
            return False
        if rule_of(channel, tenant) != schedule.planned.rule:  # settings were changed while the schedule was planned
            await service.plan_schedules(tenant, [channel.id], now)
            return False
        occurrence = due_occurrence(schedule.planned, now)
        crawl: NewCrawl | None = None
        try:
            key = IdempotencyKey(f"schedule:{channel.id}:{occurrence.scheduled_for:.0f}", "")
            crawl = service.new_crawl(channel, tenant, Trigger.SCHEDULE, _ACTOR, key)
        except UsageError as problem:
            _LOG.warning("a scheduled crawl cannot be started: %s", problem, extra={"channel": channel.id})
        handled = await service.channels.handle_occurrence(schedule, occurrence, crawl, now)
        if handled is None:
            return False
        metrics.SCHEDULED.labels((handled.last_outcome or Outcome.FAILED).value).inc()
        metrics.MISSED.inc(occurrence.missed)
        facts = {"channel": channel.id, "outcome": handled.last_outcome, "missed": occurrence.missed}
        _LOG.info("scheduled crawl", extra=facts)
        if handled.last_outcome is not Outcome.STARTED or handled.last_run is None:
            return False
        await service.announce(handled.last_run)
        return True

    async def _follow_up(self, tenant_id: TenantId, run: RunId, now: float) -> None:
        """After a completed crawl, plan the next one, and store the brand of the home page."""
        service = self.service.for_tenant(tenant_id)
        channels = service.channels
        job, tenant = await channels.job(run), await channels.crawl_settings()
        if job is None or tenant is None:  # deleted meanwhile
            return
        await service.plan_schedules(tenant, [job.channel], job.run.finished_at or now)
        brand = await self._home_page_brand(tenant_id, job)
        if brand.get("confidence"):
            await channels.store_detected_brand(job.channel, brand, now)
        await channels.followed_up(run)

    async def _home_page_brand(self, tenant: TenantId, job: CrawlJob) -> dict[str, Any]:
        """The brand on the page that the channel's URL leads to; empty where none was detected."""
        ledger, url = self.ledger.for_tenant(tenant), Url.parse(job.config.start_url)
        row = None if url is None else await ledger.row(job.run.id, url)
        if row is not None and row.document is None and row.final_url is not None:
            row = await ledger.row(job.run.id, row.final_url)
        if row is None or row.document is None:
            return {}
        try:
            return _brand_decoder.decode(await self.blobs.for_tenant(tenant).get(row.document)).brand
        except (KeyError, CorruptData, msgspec.DecodeError) as problem:
            _LOG.warning("the home page cannot be read: %r", problem, extra={"run": job.run.id})
            return {}
