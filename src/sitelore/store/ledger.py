"""`ports.Ledger` over SQL: each call is one ledger function in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence

from sitelore.model.frontier import Known, Lease, Offer, Pulse, Run, RunCounts, Settlement, UrlRow, WaveOpened
from sitelore.model.ids import RunId, SiteId, WorkerId
from sitelore.model.response import RobotsFile
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.ports import Plan
from sitelore.store import endings_sql, frontier_sql, reading_sql, runs_sql, settle_sql, waves_sql
from sitelore.store.engine import Engine
from sitelore.store.schema import key_of


class SqlLedger:
    """The ledger in SQLite or Postgres, as its engine decides."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def create_run(self, site: str, settings: CrawlSettings, offers: Sequence[Offer], now: float) -> Run:
        """A new QUEUED run of the site of this name (made when it is new), with its first offers."""
        return await self._engine.run(runs_sql.create_run, site, settings, offers, now)

    async def run(self, run: RunId) -> Run | None:
        """The run of this id."""
        return await self._engine.read(runs_sql.find_run, run)

    async def runs(self, limit: int = 100) -> list[Run]:
        """Runs, newest first."""
        return await self._engine.read(runs_sql.latest_runs, limit)

    async def move_run(self, run: RunId, state: RunState, now: float, error: str = "") -> bool:
        """Start or end a run; False when it is not in a state that may move there."""
        return await self._engine.run(runs_sql.move_run, run, state, now, error)

    async def claim(
        self, run: RunId, worker: WorkerId, limit: int, now: float, lease_s: float, closed_hosts: Collection[str] = ()
    ) -> list[Lease]:
        """QUEUED rows that are due, in `seq` order, leased to this worker with a raised token."""
        return await self._engine.run(frontier_sql.claim, run, worker, limit, now, lease_s, closed_hosts)

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Write verdicts and effects where the token still matches. False for each that was fenced off."""
        return await self._engine.run(settle_sql.settle, settlements)

    async def renew(self, run: RunId, worker: WorkerId, until: float) -> None:
        """Prolong this worker's leases."""
        await self._engine.run(frontier_sql.renew, run, worker, until)

    async def release(self, run: RunId, now: float, worker: WorkerId | None = None) -> int:
        """Put leases back to QUEUED: a worker's own, or (None) every one that has run out."""
        return await self._engine.run(frontier_sql.release, run, now, worker)

    async def pulse(self, run: RunId, now: float) -> Pulse:
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
            page = await self._engine.read(reading_sql.rows_after, run, after, state, sitemaps)
            for row in page:
                yield row
            if len(page) < reading_sql.ROWS_PER_PAGE:
                return
            after = key_of(page[-1].url)

    async def counts(self, run: RunId) -> RunCounts:
        """The run in numbers; sitemap rows count in `sitemaps` alone."""
        return await self._engine.read(reading_sql.counts, run)

    async def known(self, site: SiteId, url: Url) -> Known | None:
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
