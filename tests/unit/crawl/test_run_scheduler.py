"""The run scheduler over a real ledger, with a crawl function that each test supplies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sitelore.crawl.context import Progress
from sitelore.crawl.runs import RunScheduler, start_run
from sitelore.model.errors import DiskFull, Interrupted, OutOfTime
from sitelore.model.frontier import Run
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState
from sitelore.store.engine import SqliteEngine, open_sqlite
from sitelore.store.ledger import SqlLedger, SqlRunQueue


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[SqliteEngine]:
    engine = await open_sqlite(tmp_path / "ledger.db")
    yield engine
    await engine.close()


@pytest.fixture
def ledger(engine: SqliteEngine) -> SqlLedger:
    return SqlLedger(engine, DEFAULT_TENANT)


@pytest.fixture
def queue(engine: SqliteEngine) -> SqlRunQueue:
    return SqlRunQueue(engine)


class Clock:
    """Every look is a second later, so runs are made in order and pauses pass by themselves."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Crawls:
    """Crawls that last until they are let go, and remember who was at work with whom."""

    def __init__(self, ledger: SqlLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self.order: list[str] = []
        self.active: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.begun = asyncio.Event()
        self.go: dict[str, asyncio.Event] = {}
        self.failing: Counter[str] = Counter()

    async def crawl(self, run: Run, _progress: Progress, stop: asyncio.Event) -> Run:
        assert await self._ledger.begin_run(run.id, self._clock())
        self.order.append(run.id)
        self.active[run.site_name] += 1
        self.most[run.site_name] = max(self.most[run.site_name], self.active[run.site_name])
        self.most["in all"] = max(self.most["in all"], self.active.total())
        self.begun.set()
        try:
            if self.failing[run.id]:
                self.failing[run.id] -= 1
                raise RuntimeError("a mistake of ours")
            await self._until(run, stop)
        finally:
            self.active[run.site_name] -= 1
        await self._ledger.end_run(run.id, RunState.COMPLETED, self._clock())
        return await self._ledger.run(run.id) or run

    async def _until(self, run: Run, stop: asyncio.Event) -> None:
        waits = [asyncio.create_task(event.wait()) for event in (stop, self.go.setdefault(run.id, asyncio.Event()))]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if stop.is_set():
            raise Interrupted("stopped")

    async def wait_for(self, count: int) -> None:
        while len(self.order) < count:
            self.begun.clear()
            async with asyncio.timeout(10):
                await self.begun.wait()


async def _until(queue: SqlRunQueue, states: dict[str, int]) -> None:
    async with asyncio.timeout(20):
        while await queue.runs_by_state() != states:  # noqa: ASYNC110 a queue has no event to wait for
            await asyncio.sleep(0.01)


async def _made(ledger: SqlLedger, clock: Clock, site: str) -> Run:
    return await start_run(ledger, CrawlSettings(seeds=(f"https://{site}/",)), clock())


async def test_the_longest_waiting_go_first_one_of_each_site_and_so_many_in_all(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    clock = Clock()
    crawls, stop = Crawls(ledger, clock), asyncio.Event()
    runs = [await _made(ledger, clock, site) for site in ("a.example", "a.example", "b.example", "c.example", "a.example")]
    scheduler = RunScheduler(queue, ledger, clock, crawls.crawl, sites_at_once=2)
    working = asyncio.create_task(scheduler.work(stop))
    await crawls.wait_for(2)
    assert crawls.order == [runs[0].id, runs[2].id]
    for number, run in enumerate((runs[0], runs[2], runs[1], runs[3], runs[4])):
        await crawls.wait_for(min(number + 2, 5))
        crawls.go[run.id].set()
    await _until(queue, {"COMPLETED": 5})
    stop.set()
    await working
    assert sorted(crawls.order) == sorted(run.id for run in runs)
    of_a = [run for run in crawls.order if run in {runs[0].id, runs[1].id, runs[4].id}]
    assert of_a == [runs[0].id, runs[1].id, runs[4].id]
    assert crawls.most["in all"] == 2
    assert {crawls.most[site] for site in ("a.example", "b.example", "c.example")} == {1}


async def test_a_crashed_run_is_retried_once_and_then_fails(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    clock = Clock()
    crawls, stop = Crawls(ledger, clock), asyncio.Event()
    once, twice = await _made(ledger, clock, "a.example"), await _made(ledger, clock, "b.example")
    crawls.failing.update({once.id: 1, twice.id: 2})
    crawls.go[once.id] = asyncio.Event()
    crawls.go[once.id].set()
    working = asyncio.create_task(RunScheduler(queue, ledger, clock, crawls.crawl, pause_s=0.5).work(stop))
    await _until(queue, {"COMPLETED": 1, "FAILED": 1})
    stop.set()
    await working
    failed = await ledger.run(twice.id)
    assert failed is not None
    assert failed.error == "RuntimeError: a mistake of ours"
    assert Counter(crawls.order) == {once.id: 2, twice.id: 2}


async def test_a_run_past_its_time_limit_has_not_crashed(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    clock, stop = Clock(), asyncio.Event()
    run = await _made(ledger, clock, "a.example")

    async def crawl(run: Run, _progress: Progress, _stop: asyncio.Event) -> Run:
        await ledger.begin_run(run.id, clock())
        await ledger.move_run(run.id, RunState.INTERRUPTED, clock())
        raise OutOfTime("over")

    working = asyncio.create_task(RunScheduler(queue, ledger, clock, crawl).work(stop))
    await _until(queue, {"INTERRUPTED": 1})
    stop.set()
    await working
    stored = await ledger.run(run.id)
    assert stored is not None
    assert (stored.state, stored.attempts) == (RunState.INTERRUPTED, 0)


async def test_an_interrupted_run_is_stopped_in_every_process(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    clock = Clock()
    crawls, stop = Crawls(ledger, clock), asyncio.Event()
    run = await _made(ledger, clock, "a.example")
    scheduler = RunScheduler(queue, ledger, clock, crawls.crawl)
    working = asyncio.create_task(scheduler.work(stop))
    await crawls.wait_for(1)
    assert await ledger.move_run(run.id, RunState.INTERRUPTED, clock())
    async with asyncio.timeout(20):
        while scheduler.active:
            await scheduler.announce(run.id)
            await asyncio.sleep(0.01)
    stop.set()
    await working


async def test_a_cancelled_run_is_stopped_and_the_next_of_its_site_begins(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    clock = Clock()
    crawls, stop = Crawls(ledger, clock), asyncio.Event()
    first, second = await _made(ledger, clock, "a.example"), await _made(ledger, clock, "a.example")
    scheduler = RunScheduler(queue, ledger, clock, crawls.crawl)
    working = asyncio.create_task(scheduler.work(stop))
    await crawls.wait_for(1)
    assert await ledger.end_run(first.id, RunState.CANCELLED, clock())
    await scheduler.announce(first.id)
    await crawls.wait_for(2)
    assert crawls.order == [first.id, second.id]
    stop.set()
    await working
    assert scheduler.active == 0
    current = await ledger.run(second.id)
    assert current is not None
    assert current.state is RunState.RUNNING, "it continues with the next worker"


async def test_a_ledger_that_cannot_be_written_ends_the_work_with_its_error(
    ledger: SqlLedger, queue: SqlRunQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_room(*_: object) -> None:
        raise DiskFull("no room left")

    clock = Clock()
    crawls = Crawls(ledger, clock)
    run = await _made(ledger, clock, "a.example")
    crawls.failing[run.id] = 1
    monkeypatch.setattr(SqlLedger, "crash_run", no_room)
    with pytest.raises(DiskFull, match="no room"):
        await RunScheduler(queue, ledger, clock, crawls.crawl).work(asyncio.Event())
