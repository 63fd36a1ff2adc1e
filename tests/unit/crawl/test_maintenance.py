"""Maintenance over a real ledger, for runs without a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from tests.ports.frontier import W1, begin, link, seed, the_row, visited

from sitelore.crawl.context import WorkerConfig, WorkerContext
from sitelore.crawl.maintenance import Maintenance
from sitelore.frontier.gate import LocalGate
from sitelore.model.document import Blob
from sitelore.model.errors import StorageError
from sitelore.model.frontier import Run
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, TenantId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.store.engine import open_sqlite
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.local_notifications import LocalEvents, LocalNotifier

LEASE_S = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class NoBlobs:
    """Pages of these tests name no canonical, so none is read."""

    def for_tenant(self, tenant: TenantId) -> NoBlobs:
        assert tenant == DEFAULT_TENANT
        return self

    async def put(self, blobs: Sequence[Blob]) -> None:
        raise AssertionError

    async def get(self, key: BlobKey) -> bytes:
        raise AssertionError

    def keys(self, stored_before: float) -> AsyncIterator[BlobKey]:
        raise AssertionError

    async def delete(self, keys: Sequence[BlobKey], stored_before: float) -> int:
        raise AssertionError

    def deleted_keys(self, deleted_before: float) -> AsyncIterator[BlobKey]:
        raise AssertionError

    async def purge(self, keys: Sequence[BlobKey], deleted_before: float) -> int:
        raise AssertionError

    async def restore(self, keys: Sequence[BlobKey]) -> None:
        raise AssertionError


class MaintenanceSetup:
    """A ledger, a queue, a clock, and maintenance over them."""

    def __init__(self, ledger: SqlLedger, queue: SqlRunQueue) -> None:
        self.ledger, self.queue, self.clock, self.notifier = ledger, queue, Clock(), LocalNotifier()
        gate = LocalGate(self.clock)
        self.worker_context = WorkerContext(
            ledger, queue, gate, self.notifier, LocalEvents(), self.clock, WorkerConfig(is_shared=True, upkeep_s=0.01)
        )
        self.maintenance = Maintenance(self.worker_context, NoBlobs())

    async def running(self, settings: CrawlSettings | None = None) -> Run:
        run = await begin(self.ledger, seed("p"), settings=settings)
        assert await self.ledger.begin_run(run.id, self.clock())
        return run

    async def state(self, run: Run) -> RunState:
        stored = await self.ledger.run(run.id)
        assert stored is not None
        return stored.state

    async def cycle(self) -> int:
        self.clock.now += 1.0
        return await self.maintenance.cycle()


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[MaintenanceSetup]:
    engine = await open_sqlite(tmp_path / "ledger.db")
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    yield MaintenanceSetup(ledger, SqlRunQueue(engine))
    await ledger.close()


async def test_a_run_is_complete_when_it_was_quiet_in_two_cycles_in_a_row(setup: MaintenanceSetup) -> None:
    run = await setup.running()
    async with setup.notifier.subscribe(run.id) as subscription:
        assert await setup.cycle() == 1, "the first wave opens"
        assert await subscription.wait(0)
        [lease] = await setup.ledger.claim(run.id, W1, 10, setup.clock(), LEASE_S)
        await setup.cycle()
        assert await setup.state(run) is RunState.RUNNING, "a lease is under way"
        await setup.ledger.settle([visited(lease, "page", [link("next", lease)])])
        await setup.cycle()
        [lease] = await setup.ledger.claim(run.id, W1, 10, setup.clock(), LEASE_S)
        await setup.ledger.settle([visited(lease, "another")])
        await setup.cycle()
        assert await setup.state(run) is RunState.RUNNING, "quiet once is not enough"
        assert await setup.cycle() == 1
        assert await setup.state(run) is RunState.COMPLETED
    assert await setup.cycle() == 0


async def test_idle_cycles_count_only_in_a_row_and_only_with_the_leader_lock(setup: MaintenanceSetup) -> None:
    run = await setup.running()
    await setup.cycle()
    [lease] = await setup.ledger.claim(run.id, W1, 10, setup.clock(), LEASE_S)
    await setup.ledger.settle([visited(lease, "page")])
    await setup.cycle()
    async with setup.queue.leader_lock("maintenance") as is_ours:
        assert is_ours
        assert await setup.cycle() == 0, "another one has the turn"
    await setup.cycle()
    assert await setup.state(run) is RunState.RUNNING, "what was quiet before another had the turn does not count"
    await setup.cycle()
    assert await setup.state(run) is RunState.COMPLETED


async def test_leases_that_ran_out_are_given_back_and_signalled(setup: MaintenanceSetup) -> None:
    run = await setup.running()
    await setup.cycle()
    await setup.ledger.claim(run.id, W1, 10, setup.clock(), LEASE_S)
    async with setup.notifier.subscribe(run.id) as subscription:
        await setup.cycle()
        assert not await subscription.wait(0)
        setup.clock.now += LEASE_S
        await setup.cycle()
        assert await subscription.wait(0)
        assert (await the_row(setup.ledger, run, "p")).state is UrlState.QUEUED
        await setup.cycle()
        assert await subscription.wait(0), "work without a worker is announced again"


async def test_a_run_whose_time_is_over_is_interrupted_and_has_all_of_its_time_again_when_it_is_resumed(
    setup: MaintenanceSetup,
) -> None:
    run = await setup.running(CrawlSettings(seeds=("http://site.test/",), time_limit_s=10.0))
    await setup.cycle()
    assert await setup.state(run) is RunState.RUNNING
    setup.clock.now += 10.0
    await setup.cycle()
    stored = await setup.ledger.run(run.id)
    assert stored is not None
    assert (stored.state, stored.error.partition(":")[0]) == (RunState.INTERRUPTED, "time_limit")
    assert (await the_row(setup.ledger, run, "p")).state is UrlState.QUEUED, "nothing was skipped"
    setup.clock.now += 1000.0
    assert await setup.ledger.resume_run(run.id, setup.clock())
    assert await setup.ledger.begin_run(run.id, setup.clock())
    await setup.cycle()
    assert await setup.state(run) is RunState.RUNNING
    setup.clock.now += 10.0
    await setup.cycle()
    assert await setup.state(run) is RunState.INTERRUPTED


async def test_an_error_in_the_maintenance_of_one_run_does_not_block_the_others(
    setup: MaintenanceSetup, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = await setup.running()
    fine = await begin(setup.ledger, seed("p"), site="fine")
    await setup.ledger.begin_run(fine.id, setup.clock())
    queue_stats = setup.ledger.queue_stats

    async def failing(run: object, now: float) -> object:
        if run == broken.id:
            raise RuntimeError("a mistake of ours")
        return await queue_stats(fine.id, now)

    monkeypatch.setattr(setup.ledger, "queue_stats", failing)
    assert await setup.cycle() == 2
    assert (await the_row(setup.ledger, fine, "p")).state is UrlState.QUEUED
    assert "maintenance failed for run" in caplog.text


async def test_an_unavailable_ledger_is_retried(setup: MaintenanceSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await setup.running()
    running, away = setup.queue.running_runs, [StorageError("away"), StorageError("away")]

    async def sometimes() -> list[Run]:
        if away:
            raise away.pop()
        return await running()

    monkeypatch.setattr(setup.queue, "running_runs", sometimes)
    stop = asyncio.Event()
    async with setup.notifier.subscribe(run.id) as subscription:
        forever = asyncio.create_task(setup.maintenance.run_until_stopped(stop))
        assert await subscription.wait(10)
        stop.set()
        await forever
    assert not away
