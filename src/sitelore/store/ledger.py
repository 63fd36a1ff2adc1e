"""The ledger, the durable record of runs and their URLs (`ports.Ledger`), in SQLite or Postgres.

Each method runs one function of `store/` in one transaction. The assignments below say which, and whether it reads or writes
(`engine.read`, `engine.write`); the port documents the methods.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager

import sqlalchemy as sa

from sitelore.model.frontier import Edge, Lease, Offer, PageSketch, PageVersion, Run, UrlRow
from sitelore.model.ids import DEFAULT_TENANT, RunId, SiteId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UrlState
from sitelore.store import pages, versions
from sitelore.store.engine import Repository, iterate_pages, read, read_long, write
from sitelore.store.frontier import claims, prefetch, waves
from sitelore.store.frontier import settle as settlements
from sitelore.store.runs import finalize, lifecycle, listing


class SqlLedger(Repository):
    """The ledger in SQLite or Postgres, as its engine decides."""

    run = read(lifecycle.find_run)
    runs = read_long(lifecycle.latest_runs)
    move_run = write(lifecycle.move_run)
    begin_run = write(lifecycle.begin_run)
    end_run = write(lifecycle.end_run)
    crash_run = write(lifecycle.crash_run)
    resume_run = write(lifecycle.resume_run)
    workable_runs = read(lifecycle.workable_runs)
    running_runs = read(lifecycle.running_runs)
    create_run_once = write(listing.create_run_once)
    list_runs = read_long(listing.list_runs)
    runs_by_state = read_long(listing.runs_by_state)
    list_rows = read_long(listing.list_rows)

    claim = write(claims.claim)
    settle = write(settlements.settle)
    release = write(claims.release)
    queue_stats = read(claims.queue_stats)
    prefetch_facts = read(prefetch.prefetch_facts)
    start_prefetches = write(prefetch.start_prefetches)
    renew_prefetches = write(prefetch.renew_prefetches)
    end_prefetches = write(prefetch.end_prefetches)
    open_wave = write(waves.open_wave)
    canonical_claims = read(waves.canonical_claims)

    row = read(pages.row)
    counts = read_long(pages.counts)
    documents = read_long(pages.documents)
    known = read(pages.known)
    replace_documents = write(pages.replace_documents)
    inlinks = read_long(versions.inlinks)
    outlinks = read_long(versions.outlinks)
    page_history = read_long(versions.page_history)
    save_robots = write(pages.save_robots)
    robots = read(pages.find_robots)

    async def create_run(
        self, site: str, settings: CrawlSettings, offers: Sequence[Offer], now: float, tenant: str = DEFAULT_TENANT
    ) -> Run:
        """Create a QUEUED run of the tenant's site of this name, with its first offers. A new site is created."""
        created: list[RunId] = []

        def create(conn: sa.Connection) -> Run:
            # The engine runs this again when the answer to a commit was lost: the first run may exist.
            for run_id in created:
                if (run := lifecycle.find_run(conn, run_id)) is not None:
                    return run
            run = lifecycle.create_run(conn, site, settings, offers, now, tenant)
            created.append(run.id)
            return run

        return await self._engine.write(create)

    def leader_lock(self, task: str) -> AbstractAsyncContextManager[bool]:
        """The leader lock of a task: whether this process got it, until the block ends."""
        return self._engine.leader_lock(task)

    async def renew(self, leases: Sequence[Lease], until: float) -> int:
        """Extend these leases where they are still held. Gives how many were extended."""
        return await self._engine.write(claims.renew, leases, until) if leases else 0

    async def finish_rows(self, run: RunId, now: float) -> None:  # noqa: ARG002 - part of the port; nothing here needs a time
        """Finalise the rows of a run: skip rows that were not visited, resolve aliases to their final targets."""
        await self._engine.write(finalize.finish_rows, run)

    def rows(self, run: RunId, state: UrlState | None = None, sitemaps: bool = False) -> AsyncIterator[UrlRow]:
        """All rows sorted by key; sitemap rows only when requested."""
        return iterate_pages(
            lambda after: self._engine.read_long(pages.rows_after, run, after, state, sitemaps), pages.ROWS_PER_PAGE
        )

    def edges(self, run: RunId) -> AsyncIterator[Edge]:
        """Every URL with the page it was first found on, sorted by key."""
        return iterate_pages(lambda after: self._engine.read_long(listing.edges_after, run, after), listing.EDGES_PER_PAGE)

    def sketches(self, run: RunId) -> AsyncIterator[PageSketch]:
        """Text sketches of every kept page, sorted by key."""
        return iterate_pages(lambda after: self._engine.read(pages.run_sketches_after, run, after), pages.SKETCHES_PER_PAGE)

    def page_versions(self, site: SiteId) -> AsyncIterator[PageVersion]:
        """The current versions of a site's pages, sorted by key."""
        return iterate_pages(
            lambda after: self._engine.read_long(versions.current_versions_after, site, after), versions.VERSIONS_PER_PAGE
        )

    async def close(self) -> None:
        """Close the database."""
        await self._engine.close()
