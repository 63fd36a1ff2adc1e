"""`ports.Ledger` over SQL: each call is one ledger function in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager

import sqlalchemy as sa

from sitelore.model.frontier import (
    KnownPage,
    Lease,
    Offer,
    PageSketch,
    QueueStats,
    ReprocessedPage,
    Run,
    RunCounts,
    Settlement,
    UrlRow,
    WaveOpened,
)
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, RunId, SiteId, WorkerId
from sitelore.model.listing import Edge, IdempotencyKey, IdempotentRun, RunListing, UrlListing
from sitelore.model.response import RobotsFile
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.ports import Plan
from sitelore.store import (
    endings_sql,
    frontier_sql,
    listing_sql,
    reading_sql,
    rereading_sql,
    runs_sql,
    settle_sql,
    waves_sql,
    working_sql,
)
from sitelore.store.engine import Engine
from sitelore.store.schema import key_of


class SqlLedger:
    """The ledger in SQLite or Postgres, as its engine decides."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def create_run(
        self, site: str, settings: CrawlSettings, offers: Sequence[Offer], now: float, tenant: str = DEFAULT_TENANT
    ) -> Run:
        """A new QUEUED run of the tenant's site of this name (made when it is new), with its first offers."""
        named: list[RunId] = []

        def create(conn: sa.Connection) -> Run:
            # Run again by the engine when an answer was lost: what the earlier try made may be there.
            for run in named:
                if (made := runs_sql.find_run(conn, run)) is not None:
                    return made
            made = runs_sql.create_run(conn, site, settings, offers, now, tenant)
            named.append(made.id)
            return made

        return await self._engine.run(create)

    async def run(self, run: RunId) -> Run | None:
        """The run of this id."""
        return await self._engine.read(runs_sql.find_run, run)

    async def runs(self, limit: int = 100) -> list[Run]:
        """Runs, newest first."""
        return await self._engine.read_long(runs_sql.latest_runs, limit)

    async def move_run(self, run: RunId, state: RunState, now: float, error: str = "") -> bool:
        """Start or end a run; False when it is not in a state that may move there."""
        return await self._engine.run(runs_sql.move_run, run, state, now, error)

    async def begin_run(self, run: RunId, now: float) -> bool:
        """QUEUED to RUNNING, if its pause is over and no other run of the site is RUNNING. True when it is RUNNING now."""
        return await self._engine.run(working_sql.begin_run, run, now)

    async def end_run(self, run: RunId, state: RunState, now: float, error: str = "") -> bool:
        """Finish the rows and end the run, together. False when it had ended already."""
        return await self._engine.run(working_sql.end_run, run, state, now, error)

    async def crash_run(self, run: RunId, error: str, now: float, pause_s: float, attempts: int) -> RunState | None:
        """Something of ours failed on a RUNNING run: back to QUEUED for a while, or FAILED when these were its attempts."""
        return await self._engine.run(working_sql.crash_run, run, error, now, pause_s, attempts)

    async def workable_runs(self, limit: int, now: float) -> list[Run]:
        """Runs that a worker may work on, oldest first."""
        return await self._engine.read(working_sql.workable_runs, limit, now)

    async def running_runs(self) -> list[Run]:
        """Every RUNNING run, oldest first."""
        return await self._engine.read(working_sql.running_runs)

    def leader_lock(self, task: str) -> AbstractAsyncContextManager[bool]:
        """Whether this task is ours to do now: no two processes have the turn at once. It ends with the block."""
        return self._engine.leader_lock(task)

    async def claim(
        self, run: RunId, worker: WorkerId, limit: int, now: float, lease_s: float, closed_hosts: Collection[str] = ()
    ) -> list[Lease]:
        """QUEUED rows that are due, in `seq` order, leased to this worker with a raised token."""
        return await self._engine.run(frontier_sql.claim, run, worker, limit, now, lease_s, closed_hosts)

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Write verdicts and effects where the token still matches. False for each that was fenced off."""
        return await self._engine.run(settle_sql.settle, settlements)

    async def renew(self, leases: Sequence[Lease], until: float) -> int:
        """Prolong these leases, as far as they are still held. Gives how many are."""
        return await self._engine.run(frontier_sql.renew, leases, until) if leases else 0

    async def release(self, run: RunId, now: float, worker: WorkerId | None = None) -> int:
        """Put leases back to QUEUED: a worker's own, or (None) every one that has run out."""
        return await self._engine.run(frontier_sql.release, run, now, worker)

    async def queue_stats(self, run: RunId, now: float) -> QueueStats:
        """Is there work, and if not now, when."""
        return await self._engine.read(frontier_sql.pulse, run, now)

    async def open_wave(self, run: RunId, wave: int, plan: Plan) -> WaveOpened | None:
        """Merge, admit and trap as `plan` says, if `wave` is still the current one and has settled; else None."""
        return await self._engine.run(waves_sql.open_wave, run, wave, plan)

    async def canonical_claims(self, run: RunId, wave: int) -> list[tuple[UrlRow, UrlRow]]:
        """Pages of this wave that name, or are named as, another kept page's canonical, with different content."""
        return await self._engine.read(waves_sql.canonical_claims, run, wave)

    async def finish_rows(self, run: RunId, now: float) -> None:  # noqa: ARG002 - the port's; nothing here is dated
        """At the end of a run: what was never admitted is SKIPPED (budget), redirect aliases learn how their target ended."""
        await self._engine.run(endings_sql.finish_rows, run)

    async def row(self, run: RunId, url: Url) -> UrlRow | None:
        """One row."""
        return await self._engine.read(reading_sql.row, run, url)

    async def rows(self, run: RunId, state: UrlState | None = None, sitemaps: bool = False) -> AsyncIterator[UrlRow]:
        """All rows sorted by key, a page at a time; sitemap rows only when asked for."""
        after = ""
        while True:
            page = await self._engine.read_long(reading_sql.rows_after, run, after, state, sitemaps)
            for row in page:
                yield row
            if len(page) < reading_sql.ROWS_PER_PAGE:
                return
            after = key_of(page[-1].url)

    async def counts(self, run: RunId) -> RunCounts:
        """The run in numbers; sitemap rows count in `sitemaps` alone."""
        return await self._engine.read_long(reading_sql.counts, run)

    async def documents(self, run: RunId, most: int) -> list[BlobKey]:
        """Documents of the run's pages, evenly chosen where there are more than `most`."""
        return await self._engine.read_long(reading_sql.documents, run, most)

    async def create_run_once(
        self,
        once: IdempotencyKey,
        site: str,
        settings: CrawlSettings,
        offers: Sequence[Offer],
        now: float,
        tenant: str = DEFAULT_TENANT,
    ) -> IdempotentRun:
        """The run made under this key within the last day, or a new one."""
        return await self._engine.run(listing_sql.create_run_once, once, site, settings, offers, now, tenant)

    async def list_runs(self, listing: RunListing) -> tuple[list[Run], int]:
        """A page of the runs, and how many there are in all."""
        return await self._engine.read_long(listing_sql.list_runs, listing)

    async def runs_by_state(self) -> dict[str, int]:
        """How many runs stand where."""
        return await self._engine.read_long(listing_sql.runs_by_state)

    async def list_rows(self, run: RunId, listing: UrlListing) -> tuple[list[UrlRow], int]:
        """A page of a run's URLs, and how many there are in all."""
        return await self._engine.read_long(listing_sql.list_rows, run, listing)

    async def edges(self, run: RunId) -> AsyncIterator[Edge]:
        """Every URL with the page it was first found on, sorted by key, a page at a time."""
        after = ""
        while True:
            page = await self._engine.read_long(listing_sql.edges_after, run, after)
            for _, edge in page:
                yield edge
            if len(page) < listing_sql.EDGES_PER_PAGE:
                return
            after = page[-1][0]

    async def sketches(self, run: RunId) -> AsyncIterator[PageSketch]:
        """Every kept page with the sketch of its text, sorted by key."""
        after = ""
        while True:
            page = await self._engine.read(rereading_sql.sketches_after, run, after)
            for _, sketched in page:
                yield sketched
            if len(page) < rereading_sql.SKETCHES_PER_PAGE:
                return
            after = page[-1][0]

    async def replace_documents(self, run: RunId, pages: Sequence[ReprocessedPage]) -> None:
        """What pages say after being read again, where they still say what was read before. States stay."""
        await self._engine.run(rereading_sql.replace_documents, run, pages)

    async def known(self, site: SiteId, url: Url) -> KnownPage | None:
        """What earlier visits left about a URL."""
        return await self._engine.read(runs_sql.known, site, url)

    async def save_robots(self, file: RobotsFile) -> None:
        """Remember a robots.txt as received."""
        await self._engine.run(runs_sql.save_robots, file)

    async def robots(self, origin: str) -> RobotsFile | None:
        """The robots.txt last received from this origin."""
        return await self._engine.read(runs_sql.find_robots, origin)

    async def close(self) -> None:
        """Give the database back."""
        await self._engine.close()
