"""A worker over a real ledger: its leases, its limits, and what it leaves behind when it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest
from tests.ports.frontier import W1, admit_all, link, seed, the_row, u, visited

from sitelore.app.app import App
from sitelore.app.crawls import visit_context
from sitelore.app.wiring import embedded
from sitelore.crawl.context import ConcurrencyLimiter, Progress, VisitContext, WorkerConfig
from sitelore.crawl.settle import MAX_PENDING
from sitelore.crawl.worker import Worker
from sitelore.model.errors import Interrupted, StorageError
from sitelore.model.frontier import Lease, Offer, Run, Settlement, Source
from sitelore.model.response import Fetched, Request, Response
from sitelore.model.settings import CrawlSettings, Pace
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.ports import Feedback
from sitelore.store.ledger import SqlLedger

SETTINGS = CrawlSettings(seeds=("http://site.test/",), obey_robots=False, pace=Pace(delay_s=0.0, concurrency=2, per_host=2))
NO_DRAIN = WorkerConfig(drain_s=0.0)


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Site:
    """A site without pages: every URL is a 404, except `endless`, which never answers."""

    requested: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when `endless` was requested."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by a request for `last`."""

    async def fetch(self, request: Request) -> Fetched:
        if request.url == u("endless"):
            self.requested.set()
            await asyncio.Event().wait()
        if request.url == u("last"):
            await self.requested.wait()
            self.stop.set()
        return Response(request.url, 404, (), b"")

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Setup:
    """A running run whose seeds are queued, and a worker that has not begun."""

    app: App
    site: Site
    clock: Clock
    run: Run
    context: VisitContext
    worker: Worker

    @property
    def ledger(self) -> SqlLedger:
        return cast("SqlLedger", self.app.ledger)

    async def state(self, path: str) -> UrlState:
        return (await the_row(self.ledger, self.run, path)).state

    async def claim(self) -> Lease:
        """Let the worker claim one row."""
        await self.worker._claim()
        return self.worker._buffer.pop()


@asynccontextmanager
async def worker_on(
    data: Path, *offers: Offer, config: WorkerConfig = NO_DRAIN, limiter: ConcurrencyLimiter | None = None
) -> AsyncIterator[Setup]:
    site, clock = Site(), Clock()
    async with embedded(data, writing=True) as plain:
        worker_context = replace(plain.worker_context, clock=clock, config=config, limiter=limiter or ConcurrencyLimiter(10))
        app = replace(plain, fetcher=site, worker_context=worker_context)
        run = await app.ledger.create_run("site", SETTINGS, offers, clock())
        await app.ledger.move_run(run.id, RunState.RUNNING, clock())
        await app.ledger.open_wave(run.id, 0, admit_all)
        current = await app.ledger.run(run.id)
        assert current is not None
        async with visit_context(app, current) as context:
            yield Setup(app, site, clock, current, context, Worker(W1, current, worker_context, context, Progress()))


async def test_a_late_settlement_does_not_drop_the_newer_lease_of_its_row(tmp_path: Path) -> None:
    async with worker_on(tmp_path, seed("p")) as setup:
        expired = await setup.claim()
        setup.clock.now += NO_DRAIN.lease_s
        assert await setup.ledger.release(setup.run.id, setup.clock()) == 1
        newer = await setup.claim()
        assert newer.token > expired.token

        setup.worker._on_settled(visited(expired), False)
        assert setup.worker._leases == {u("p"): newer}, "it must still be renewed"
        setup.worker._on_settled(visited(newer), True)
        assert setup.worker._leases == {}


async def test_a_long_visit_keeps_its_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = WorkerConfig(drain_s=0.0, lease_s=0.3)
    async with worker_on(tmp_path, seed("endless"), config=config) as setup:
        renewed, renew = asyncio.Event(), setup.ledger.renew

        async def renew_and_report(leases: Sequence[Lease], until: float) -> int:
            count = await renew(leases, until)
            if until > 1_700_000_000.2:
                renewed.set()
            return count

        monkeypatch.setattr(setup.ledger, "renew", renew_and_report)
        task = asyncio.create_task(setup.worker.work(setup.site.stop))
        await setup.site.requested.wait()
        setup.clock.now += 0.25
        await renewed.wait()
        setup.clock.now += 0.2
        assert await setup.ledger.release(setup.run.id, setup.clock()) == 0, "the lease has not expired"
        setup.site.stop.set()
        with pytest.raises(Interrupted):
            await task


async def test_a_stopped_worker_writes_what_it_has_and_leaves_no_lease_and_no_slot_behind(tmp_path: Path) -> None:
    limiter = ConcurrencyLimiter(2)
    async with worker_on(tmp_path, seed("endless"), seed("last", 1), seed("rest", 2), limiter=limiter) as setup:
        with pytest.raises(Interrupted):
            await setup.worker.work(setup.site.stop)
        assert await setup.state("last") is UrlState.NOT_FOUND, "its visit ended before the stop was noticed"
        assert await setup.state("endless") is UrlState.QUEUED
        limiter.take()
        assert not limiter.is_full, "both visits gave their slots back"


async def test_no_visit_starts_while_too_many_settlements_are_unwritten(tmp_path: Path) -> None:
    async with worker_on(tmp_path, seed("p")) as setup:
        lease = await setup.claim()
        setup.worker._buffer.append(lease)
        for _ in range(MAX_PENDING):
            setup.worker._settler.add(visited(lease))
        assert setup.worker._next_lease() is None
        setup.worker._settler._queue.pop()
        assert setup.worker._next_lease() == lease


async def test_no_visit_starts_while_other_runs_use_all_slots_of_the_process(tmp_path: Path) -> None:
    limiter = ConcurrencyLimiter(1)
    async with worker_on(tmp_path, seed("p"), limiter=limiter) as setup:
        lease = await setup.claim()
        setup.worker._buffer.append(lease)
        limiter.take()
        assert setup.worker._next_lease() is None
        limiter.release()
        assert setup.worker._next_lease() == lease


async def test_a_closed_host_delays_only_its_own_rows(tmp_path: Path) -> None:
    other = Offer(u("p", "other.test"), 0, Source.SEED, position=1)
    async with worker_on(tmp_path, seed("p"), other) as setup:
        pace = setup.context.settings.pace
        await setup.app.gate.acquire("site.test", pace)
        await setup.app.gate.release("site.test", pace, Feedback(0.1, status=429, retry_after_s=60.0))
        await setup.worker._claim()
        setup.worker._closed_hosts = await setup.app.gate.closed_hosts()
        lease = setup.worker._next_lease()
        assert lease is not None
        assert lease.url == other.url
        assert setup.worker._next_lease() is None


async def test_a_ledger_that_cannot_be_written_ends_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with worker_on(tmp_path, seed("p")) as setup:

        async def fail(settlements: Sequence[Settlement]) -> list[bool]:
            raise StorageError("the disk is gone")

        monkeypatch.setattr(setup.ledger, "settle", fail)
        with pytest.raises(StorageError, match="the disk is gone"):
            await setup.worker.work(setup.site.stop)


async def test_rows_of_a_wave_that_another_process_opened_are_judged_by_the_scope_of_that_wave(tmp_path: Path) -> None:
    async with worker_on(tmp_path, seed("p")) as setup:
        joined = Url.trusted("http://other.test/x")
        [lease] = await setup.ledger.claim(setup.run.id, W1, 1, setup.clock(), 60.0)
        await setup.ledger.settle([visited(lease, "page", [link("next", lease)], joins_host="other.test")])
        assert setup.context.offer_builder.refusal(joined, 1) is not None
        assert await setup.ledger.open_wave(setup.run.id, 1, admit_all) is not None
        await setup.claim()
        assert setup.context.offer_builder.refusal(joined, 1) is None


async def test_links_of_a_rejected_settlement_are_offered_again(tmp_path: Path) -> None:
    async with worker_on(tmp_path, seed("p")) as setup:
        lease, offer_builder = await setup.claim(), setup.context.offer_builder
        offers = offer_builder.links(lease, [u("linked")])
        setup.worker._on_settled(visited(lease, "page", offers), False)
        assert offer_builder.links(lease, [u("linked")]) == offers
        setup.worker._on_settled(visited(lease, "page", offers), True)
        assert offer_builder.links(lease, [u("linked")]) == []
