"""Schedules on a fake clock: three servers with restarts, kills and outages, over months with daylight saving changes.

`make soak-schedules` covers two years.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from cronsim import CronSim
from sqlalchemy.exc import IntegrityError
from tests.ports.conftest import Database

from sitelore.model.frontier import IdempotencyKey, Run
from sitelore.model.ids import DEFAULT_TENANT, RunId, TenantId
from sitelore.model.platform.channels import (
    Channel,
    ChannelSettings,
    CrawlJob,
    Frequency,
    Outcome,
    Schedule,
    TenantCrawlSettings,
    Trigger,
)
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState
from sitelore.platform.channels.channels import ChannelService
from sitelore.platform.channels.cron import due_occurrence
from sitelore.platform.channels.schedules import Scheduler
from sitelore.platform_ports import Channels
from sitelore.store.blobs.sqlite import SqliteBlobs
from sitelore.store.blobs.tenant import TenantBlobs
from sitelore.store.engine import Engine
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.platform.channels.repository import SqlChannels
from sitelore.store.platform.schema import crawl_jobs
from sitelore.store.tenants import for_tenant

START = datetime(2026, 11, 18, 9, 0, tzinfo=ZoneInfo("UTC")).timestamp()
DAY = 86_400.0
DAYS = int(os.environ.get("SITELORE_SCHEDULE_DAYS", "135"))  # until April: the gap of daylight saving in New York and in Prague


@dataclass(slots=True)
class World:
    """A database with its servers, and one clock."""

    database: Database
    blobs: TenantBlobs
    now: float = START
    servers: list[tuple[Engine, Scheduler]] = field(default_factory=list)
    announced: list[RunId] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    async def start_server(self) -> Scheduler:
        engine = await self.database.engine()
        service = ChannelService(SqlChannels(engine, DEFAULT_TENANT), self.clock, announce=self._announce)
        scheduler = Scheduler(service.channels.queue(), service, SqlLedger(engine, DEFAULT_TENANT), self.blobs)
        self.servers.append((engine, scheduler))
        return scheduler

    async def restart(self, number: int) -> None:
        """Close a server, and start another one."""
        engine, _ = self.servers.pop(number)
        await self.start_server()
        await engine.close()

    async def _announce(self, run: RunId) -> None:
        self.announced.append(run)

    @property
    def service(self) -> ChannelService:
        return self.servers[0][1].service

    async def pass_of_all(self) -> int:
        """One pass of every server at once. Gives how many crawls they have started."""
        return sum(await asyncio.gather(*(scheduler.start_due_crawls(self.now) for _, scheduler in self.servers)))

    async def complete(self, service: ChannelService, run: RunId, state: RunState = RunState.COMPLETED) -> None:
        ledger = self.servers[0][1].ledger.for_tenant(tenant_of(service))
        await ledger.begin_run(run, self.now)
        assert await ledger.end_run(run, state, self.now)

    async def first_crawl(self, service: ChannelService, url: str, **settings: str) -> Channel:
        """A channel whose first crawl has completed and was followed up."""
        channel = await service.create("a website", url, ChannelSettings(**settings))  # type: ignore[arg-type]
        assert channel is not None
        started = await service.start(channel, Trigger.MANUAL, "test")
        assert started is not None
        await self.complete(service, started.run)
        await self.pass_of_all()
        return channel

    async def schedule(self, service: ChannelService, channel: Channel) -> Schedule:
        schedule = await service.channels.schedule(channel.id)
        assert schedule is not None
        return schedule


def tenant_of(service: ChannelService) -> TenantId:
    channels = service.channels
    assert isinstance(channels, SqlChannels)
    return channels._tenant


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> World:
    """A world with one server."""
    world = World(database, TenantBlobs(SqliteBlobs(tmp_path / "blobs.db"), DEFAULT_TENANT))
    await world.start_server()
    return world


def expected_occurrences(cron: str, zone: str, after: float, until: float) -> list[float]:
    """The occurrences by one uninterrupted iteration of the reference implementation."""
    times = (time.timestamp() for time in CronSim(cron, datetime.fromtimestamp(after, ZoneInfo(zone))))
    return list(takewhile(lambda time: time <= until, times))


async def crawls(service: ChannelService, channel: Channel) -> list[CrawlJob]:
    """The scheduled crawls of a channel, oldest first."""
    jobs, _ = await service.channels.jobs(channel.id, 10_000)
    return [job for job in reversed(jobs) if job.trigger is Trigger.SCHEDULE]


@pytest.mark.timeout(600)  # ten thousand transactions, which take long on a busy machine
@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_three_servers_start_every_occurrence_once(world: World) -> None:
    """Servers are restarted, and killed in the middle of a pass, before and after each of its transactions."""
    chance = random.Random(18)
    for _ in range(2):
        await world.start_server()
    tenant = (await SqlRunQueue(world.servers[0][0]).create_tenant("weekly", START)).id
    weekly = world.service.for_tenant(tenant)
    assert await weekly.change_crawl_settings(TenantCrawlSettings(frequency=Frequency.WEEKLY, time_zone="America/New_York"))
    rules = {
        "monthly": (world.service, "https://monthly.test/", "0 0 1 * *", "UTC"),
        "weekly": (weekly, "https://weekly.test/", "0 0 * * 0", "America/New_York"),
        "in the gap": (world.service, "https://gap.test/", "30 2 * * 0", "Europe/Prague"),
    }
    channels: dict[str, Channel] = {}
    for name, (service, url, cron, zone) in rules.items():
        own = {"cron": cron, "time_zone": zone} if name == "in the gap" else {}
        channels[name] = await world.first_crawl(service, url, **own)
    services = {tenant_of(service): service for service in (world.service, weekly)}
    planned_at, steps = world.now, 0
    while world.now < START + DAYS * DAY:
        [earliest, *_] = await world.servers[0][1].queue.due_schedules(world.now + DAYS * DAY, 1)
        world.now = max(world.now, earliest.planned.due_at) + chance.choice((0.0, 0.5, 30.0, 299.0))
        steps += 1
        if steps % 10 == 0:
            await world.restart(chance.randrange(3))
        if steps % 3 == 0:
            await _killed_pass(world.servers[chance.randrange(3)][1], world.now, chance.randrange(16))
        await world.pass_of_all()
        assert await world.servers[0][1].start_due_crawls(world.now) == 0, "nothing is left to start"
        for run in await active_runs(world):
            await world.complete(services[run.tenant], run.id, chance.choice((RunState.COMPLETED, RunState.FAILED)))
    for name, (service, _, cron, zone) in rules.items():
        jobs = await crawls(service, channels[name])
        schedule = await world.schedule(service, channels[name])
        until = world.now - schedule.planned.rule.jitter_s
        assert [job.scheduled_for for job in jobs] == expected_occurrences(cron, zone, planned_at, until), name
        assert (schedule.missed, schedule.skipped) == (0, 0), name
        assert all(0 <= job.run.created_at - (job.scheduled_for or 0) - schedule.planned.rule.jitter_s < 600 for job in jobs)
    print("\nscheduled crawls:", {name: len(await crawls(rules[name][0], channels[name])) for name in rules}, "passes:", steps)
    assert steps > 0.3 * DAYS


async def active_runs(world: World) -> list[Run]:
    """The runs that wait for a worker."""
    return await SqlRunQueue(world.servers[0][0]).workable_runs(99, world.now)


async def _killed_pass(scheduler: Scheduler, now: float, calls: int) -> None:
    """A pass that is killed before or after one of its transactions."""
    service = scheduler.service
    channels = cast("Channels", _KilledChannels(service.channels, [calls]))
    with suppress(_Killed):
        await replace(scheduler, service=replace(service, channels=channels)).start_due_crawls(now)


class _Killed(BaseException):
    """The end of a process."""


@dataclass(slots=True)
class _KilledChannels:
    """Channels whose process is killed at one of the next calls: before its transaction at even numbers, else after it."""

    channels: Any
    calls_left: list[int]

    def for_tenant(self, tenant: TenantId) -> _KilledChannels:
        return _KilledChannels(self.channels.for_tenant(tenant), self.calls_left)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            self._count()
            result = await getattr(self.channels, name)(*args, **kwargs)
            self._count()
            return result

        return call

    def _count(self) -> None:
        self.calls_left[0] -= 1
        if self.calls_left[0] < 0:
            raise _Killed


async def test_an_outage_is_made_up_by_one_crawl(world: World) -> None:
    service = world.service
    channel = await world.first_crawl(service, "https://a.test/", cron="0 4 * * *")
    first = (await world.schedule(service, channel)).planned.next_at
    world.now = first + 2.5 * DAY
    assert await world.pass_of_all() == 1
    assert await world.pass_of_all() == 0
    [job] = await crawls(service, channel)
    assert job.scheduled_for == first + 2 * DAY, "the newest one counts"
    schedule = await world.schedule(service, channel)
    assert (schedule.last_outcome, schedule.last_missed, schedule.missed) == (Outcome.STARTED, 3, 3)
    assert (schedule.last_run, schedule.planned.next_at) == (job.run.id, first + 3 * DAY)
    assert world.announced[-1] == job.run.id


async def test_an_occurrence_during_a_crawl_is_skipped_and_recorded(world: World) -> None:
    service = world.service
    channel = await world.first_crawl(service, "https://a.test/", cron="0 4 * * *")
    first = (await world.schedule(service, channel)).planned.next_at
    world.now = first
    assert await world.pass_of_all() == 1
    world.now = first + DAY
    assert await world.pass_of_all() == 0
    schedule = await world.schedule(service, channel)
    assert (schedule.last_outcome, schedule.last_at, schedule.skipped) == (Outcome.SKIPPED, first + DAY, 1)
    [job] = await crawls(service, channel)
    assert schedule.last_run == job.run.id
    await world.complete(service, job.run.id)
    world.now = first + 2 * DAY
    assert await world.pass_of_all() == 1
    assert [job.scheduled_for for job in await crawls(service, channel)] == [first, first + 2 * DAY]


async def test_an_interrupted_crawl_does_not_block_its_channel(world: World) -> None:
    service = world.service
    channel = await world.first_crawl(service, "https://a.test/", cron="0 4 * * *")
    world.now = (await world.schedule(service, channel)).planned.next_at
    await world.pass_of_all()
    [job] = await crawls(service, channel)
    ledger = world.servers[0][1].ledger
    await ledger.begin_run(job.run.id, world.now)
    assert await ledger.move_run(job.run.id, RunState.INTERRUPTED, world.now)
    world.now += DAY
    assert await world.pass_of_all() == 1
    earlier = await ledger.run(job.run.id)
    assert earlier is not None
    assert earlier.state is RunState.CANCELLED


async def test_the_schedule_is_created_by_the_first_crawl_that_completes(world: World) -> None:
    service = world.service
    channel = await service.create("a website", "https://a.test/", ChannelSettings())
    assert channel is not None
    for state in (RunState.FAILED, RunState.CANCELLED):
        started = await service.start(channel, Trigger.SIGNUP, "test")
        assert started is not None
        await world.complete(service, started.run, state)
        await world.pass_of_all()
        assert await service.channels.schedule(channel.id) is None
    started = await service.start(channel, Trigger.MANUAL, "test")
    assert started is not None
    await world.complete(service, started.run)
    expected = await service.expected_schedule(channel)
    assert expected is not None, "it is shown before the scheduler has stored it"
    world.now += 40 * DAY  # no server ran
    await world.pass_of_all()
    assert await world.pass_of_all() == 0
    jobs = await crawls(service, channel)
    assert [job.scheduled_for for job in jobs] == [expected.planned.next_at], (
        "it counts from the completion, and one was missed"
    )


async def test_schedules_follow_the_frequency(world: World) -> None:
    service = world.service
    channel = await world.first_crawl(service, "https://a.test/")
    own = await world.first_crawl(service, "https://own.test/", cron="0 4 * * *")
    uncrawled = await service.create("new", "https://new.test/", ChannelSettings())
    assert uncrawled is not None
    planned = (await world.schedule(service, own)).planned
    for frequency, cron in (
        (Frequency.WEEKLY, "0 0 * * 0"),
        (Frequency.MANUAL, None),
        (Frequency.MONTHLY, "0 0 1 * *"),
    ):
        assert await service.change_crawl_settings(TenantCrawlSettings(frequency=frequency))
        schedule = await service.channels.schedule(channel.id)
        assert (None if schedule is None else schedule.planned.rule.cron) == cron
        assert await service.channels.schedule(uncrawled.id) is None
        assert (await world.schedule(service, own)).planned == planned
    world.now += 3600
    before = (await world.schedule(service, channel)).planned
    assert await service.change_crawl_settings(TenantCrawlSettings(max_pages=50))
    assert (await world.schedule(service, channel)).planned == before, "another setting moves no schedule"
    assert await service.channels.next_scheduled() == min(before.due_at, planned.due_at)
    assert await service.channels.delete_channel(channel.id, world.now)
    assert await service.channels.schedule(channel.id) is None


async def test_a_schedule_that_was_planned_by_old_settings_is_planned_again(world: World) -> None:
    """The settings may change while another server plans the schedule of a crawl that has just completed."""
    service = world.service
    channel = await world.first_crawl(service, "https://a.test/", cron="0 4 * * *")
    stale = await world.schedule(service, channel)
    assert await service.change(channel, channel.title, channel.url, ChannelSettings(cron="0 5 * * *"))
    await service.channels.store_plans({channel.id: stale.planned})
    world.now = stale.planned.due_at
    assert await world.pass_of_all() == 0
    assert (await world.schedule(service, channel)).planned.rule.cron == "0 5 * * *"
    assert await service.channels.handle_occurrence(stale, due_occurrence(stale.planned, world.now), None, world.now) is None


async def test_the_database_refuses_a_second_active_crawl(world: World) -> None:
    service = world.service
    channel = await service.create("a website", "https://a.test/", ChannelSettings())
    assert channel is not None
    first = await service.start(channel, Trigger.MANUAL, "test")
    second = await service.start(channel, Trigger.MANUAL, "test")
    assert first is not None
    assert second is not None
    assert (first.is_refused, second.is_refused, second.run) == (False, True, first.run)
    engine, ledger = world.servers[0][0], world.servers[0][1].ledger
    other = await ledger.create_run("a.test", CrawlSettings(seeds=(channel.url,)), (), world.now)

    def insert(conn: sa.Connection, tenant: TenantId) -> None:
        row = {"run_id": other.id, "channel_id": channel.id, "trigger_type": "manual", "triggered_by": "", "config": "{}"}
        conn.execute(sa.insert(crawl_jobs).values(tenant_id=tenant, active=1, follow_up=0, **row))

    with pytest.raises(IntegrityError):
        await engine.write(for_tenant, insert, DEFAULT_TENANT)
    await world.complete(service, first.run, RunState.FAILED)
    again = await service.start(channel, Trigger.MANUAL, "test")
    assert again is not None
    assert again.is_new


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_of_many_starts_at_once_one_succeeds(world: World) -> None:
    for _ in range(2):
        await world.start_server()
    services = [scheduler.service for _, scheduler in world.servers]
    channel = await services[0].create("a website", "https://a.test/", ChannelSettings())
    assert channel is not None
    starts = [services[number % 3].start(channel, Trigger.MANUAL, "test") for number in range(12)]
    results = [result for result in await asyncio.gather(*starts) if result is not None]
    assert Counter((result.is_new, result.is_refused) for result in results) == {(True, False): 1, (False, True): 11}
    assert len({result.run for result in results}) == 1
    created = await asyncio.gather(*(service.create("b", "https://b.test/", ChannelSettings()) for service in services))
    assert sum(channel is not None for channel in created) == 1


async def test_a_start_with_a_key_that_is_repeated_gives_the_same_crawl(world: World) -> None:
    service = world.service
    channel = await service.create("a website", "https://a.test/", ChannelSettings())
    assert channel is not None
    key = IdempotencyKey("key", "request")
    first, again = [await service.start(channel, Trigger.MANUAL, "test", key) for _ in range(2)]
    assert first is not None
    assert again is not None
    assert (first.is_new, again.is_new, again.is_refused, again.run) == (True, False, False, first.run)
