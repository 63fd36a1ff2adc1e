"""The ledger: the database of runs, URLs, leases and pages (`ports.Ledger`), in SQLite or Postgres.

Each method runs one function of `store/` in one transaction. The assignments below say which, and whether it reads or writes
(`engine.read`, `engine.write`); the port documents the methods.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager

import sqlalchemy as sa

from sitelore.model.frontier import Edge, Lease, LinkColumns, Offer, PageSketch, PageVersion, RowKind, Run, Tenant, UrlRow
from sitelore.model.ids import BlobKey, RunId, SiteId, TenantId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store import tenants
from sitelore.store.engine import Engine, Repository, iterate_pages, read, read_long, write
from sitelore.store.frontier import claims, prefetch, waves
from sitelore.store.frontier import settle as settlements
from sitelore.store.pages import pages, versions
from sitelore.store.runs import counts, deletion, events, finalize, lifecycle, listing
from sitelore.store.tenants import for_all_tenants


class SqlLedger(Repository):
    """The ledger of one tenant in SQLite or Postgres, as its engine decides."""

    run = read(lifecycle.find_run)
    runs = read_long(lifecycle.latest_runs)
    move_run = write(lifecycle.move_run)
    begin_run = write(lifecycle.begin_run)
    end_run = write(lifecycle.end_run)
    crash_run = write(lifecycle.crash_run)
    resume_run = write(lifecycle.resume_run)
    create_run_once = write(listing.create_run_once)
    list_runs = read_long(listing.list_runs)
    count_runs = read_long(listing.count_runs)
    list_run_urls = read_long(listing.list_run_urls)
    url_facets = read_long(listing.url_facets)
    found_urls = read_long(listing.found_urls)
    page_neighbours = read_long(listing.page_neighbours)
    page_aliases = read_long(listing.page_aliases)
    host_progress = read_long(listing.host_progress)
    events = read_long(events.events_after)
    delete_run = write(deletion.delete_run)
    delete_site = write(deletion.delete_site)
    delete_tenant = write(deletion.delete_tenant)
    delete_versions = write(deletion.delete_versions)
    runs_to_expire = read_long(deletion.runs_to_expire)
    site_named = read(deletion.site_named)

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
    counts = read(counts.counts)
    documents = read_long(pages.documents)
    known = read(pages.known)
    replace_documents = write(pages.replace_documents)
    inlinks = read_long(versions.inlinks)
    outlinks = read_long(versions.outlinks)
    page_history = read_long(versions.page_history)
    changed_versions = read_long(versions.changed_versions)
    gone_pages = read_long(versions.gone_pages)
    returned_pages = read_long(versions.returned_pages)
    save_robots = write(pages.save_robots)
    robots = read(pages.find_robots)

    async def create_run(self, site: str, settings: CrawlSettings, offers: Sequence[Offer], now: float) -> Run:
        """Create a QUEUED run of the tenant's site of this name, with its first offers. A new site is created."""
        created: list[RunId] = []

        def create(conn: sa.Connection, tenant: TenantId) -> Run:
            # The engine runs this again when the answer to a commit was lost: the first run may exist.
            for run_id in created:
                if (run := lifecycle.find_run(conn, tenant, run_id)) is not None:
                    return run
            run = lifecycle.create_run(conn, tenant, site, settings, offers, now)
            created.append(run.id)
            return run

        return await self._write(create)

    async def renew(self, leases: Sequence[Lease], until: float) -> int:
        """Extend these leases where they are still held. Returns how many were extended."""
        return await self._write(claims.renew, leases, until) if leases else 0

    async def finish_rows(self, run: RunId, now: float) -> None:  # noqa: ARG002 - part of the port; nothing here needs a time
        """Finalise the rows of a run: skip rows that were not visited, resolve aliases to their final targets."""
        await self._write(finalize.finish_rows, run)

    def rows(
        self, run: RunId, state: UrlState | None = None, sitemaps: bool = False, media: bool = False
    ) -> AsyncIterator[UrlRow]:
        """All rows sorted by key; sitemap and media rows only when requested."""
        is_read = {RowKind.PAGE: True, RowKind.SITEMAP: sitemaps, RowKind.MEDIA: media}
        kinds = [kind for kind in RowKind if is_read[kind]]
        return iterate_pages(lambda after: self._read_long(pages.rows_after, run, after, state, kinds), pages.ROWS_PER_PAGE)

    def edges(self, run: RunId) -> AsyncIterator[Edge]:
        """Every URL with the page it was first found on, sorted by key."""
        return iterate_pages(lambda after: self._read_long(listing.links_after, run, after), listing.EDGES_PER_PAGE)

    def sketches(self, run: RunId) -> AsyncIterator[PageSketch]:
        """Text sketches of every kept page, sorted by key."""
        return iterate_pages(lambda after: self._read(pages.run_sketches_after, run, after), pages.SKETCHES_PER_PAGE)

    def page_versions(self, site: SiteId) -> AsyncIterator[PageVersion]:
        """The current versions of a site's pages, sorted by key."""
        return iterate_pages(
            lambda after: self._read_long(versions.current_versions_after, site, after), versions.VERSIONS_PER_PAGE
        )

    async def links(self, site: SiteId) -> AsyncIterator[LinkColumns]:
        """All links of the current versions of a site's pages in parts, each page's together and in page order."""
        after: int | None = 0
        urls: dict[int, Url] = {}
        while after is not None:
            part = await self._read_long(versions.links_after, site, after, urls)
            if part.links.sources:
                yield part.links
            after = part.next

    async def blob_references(self) -> AsyncIterator[set[BlobKey]]:
        """All keys of blobs that rows of the tenant refer to, in parts."""
        at: tuple[int, tuple[object, ...] | None] | None = (0, None)
        while at is not None:
            part = await self._read_long(deletion.blob_references, *at)
            yield part.keys
            at = part.next

    def leader_lock(self, task: str) -> AbstractAsyncContextManager[bool]:
        """The leader lock of a task: whether this process got it, until the block ends."""
        return self._engine.leader_lock(task)

    async def close(self) -> None:
        """Close the database."""
        await self._engine.close()


class SqlRunQueue:
    """The runs of all tenants (`ports.RunQueue`), and the tenants themselves."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def workable_runs(self, limit: int, now: float) -> list[Run]:
        """Runs that a worker may take, in the order of the port."""
        return await self._engine.read(for_all_tenants, lifecycle.workable_runs, limit, now)

    async def running_runs(self) -> list[Run]:
        """All RUNNING runs, oldest first."""
        return await self._engine.read(for_all_tenants, lifecycle.running_runs)

    async def due_audits(self, now: float, limit: int) -> list[Run]:
        """Runs whose audit waits, or whose process has died, oldest first."""
        from sitelore.store.audits.audit_runs import due_audits  # noqa: PLC0415 a crawl without audits does not need it

        return await self._engine.read(for_all_tenants, due_audits, now, limit)

    async def runs_by_state(self) -> dict[str, int]:
        """The number of runs per state."""
        return await self._engine.read_long(for_all_tenants, lifecycle.runs_by_state)

    async def tenants(self) -> list[Tenant]:
        """All tenants, by id."""
        return await self._engine.read(for_all_tenants, tenants.list_tenants)

    async def find_tenant(self, name: str) -> Tenant | None:
        """The tenant of this name."""
        return await self._engine.read(for_all_tenants, tenants.find_tenant, name)

    async def create_tenant(self, name: str, now: float) -> Tenant:
        """The tenant of this name; it is created if there is none."""
        return await self._engine.write(for_all_tenants, tenants.create_tenant, name, now)

    def leader_lock(self, task: str, *, for_long: bool = False) -> AbstractAsyncContextManager[bool]:
        """The leader lock of a task: whether this process got it, until the block ends."""
        return self._engine.leader_lock(task, for_long=for_long)
