"""Operations on runs that the routes share: read, list, summarise, start, cancel, resume; each for the caller's tenant."""

from __future__ import annotations

import asyncio
import gzip
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request

from sitelore import metrics
from sitelore.app.lineage import lineage_of
from sitelore.app.scrape import FetchError, PageRefused
from sitelore.crawl.runs import refuse_secrets, start_run, start_run_once
from sitelore.export.boilerplate import Repeats, find_repeats
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.model.access import SiteSession, StoredSession
from sitelore.model.errors import UsageError
from sitelore.model.frontier import FoundUrl, HostProgress, IdempotencyKey, IdempotentRun, Run, RunListing, UrlListing
from sitelore.model.ids import DEFAULT_TENANT, RunId, TenantId, is_id, new_uuid
from sitelore.model.platform.accounts import AuditEntry, Caller, EntryFor, entry_of
from sitelore.model.search import Presence
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import ENDED, RunState
from sitelore.model.url import Url
from sitelore.serve.context import ApiSettings, AppContext
from sitelore.serve.problems import (
    ADDRESS_REFUSED,
    ALREADY_ENDED,
    FETCH_FAILED,
    INVALID,
    KEY_REUSED,
    RUN_NOT_FOUND,
    UNAVAILABLE,
    ApiProblem,
)
from sitelore.serve.responses import encode, pagination_of
from sitelore.serve.routes.run_schemas import lineage_view
from sitelore.serve.schemas import RunList, RunSummary, UrlFacetsView, UrlList, run_view, summary_view, url_view
from sitelore.serve.security.auth import caller_of
from sitelore.serve.single_flight import SingleFlightCache

RUN_CREATED = "run.created"
_CACHE_S = 0.25
_ENDED_CACHE_S = 15.0
_MAX_HOSTS = 1_000
_LISTS = "lists of runs"
_LEDGER_CHECK = "ledger check"

_MAX_SERVICES = 256
_MAX_SCRAPES = 16
_MAX_SCRAPED = 32
"""Copies of pages that are kept for each tenant."""


@dataclass(slots=True)
class ServerState:
    """What all tenants of a server share."""

    closing: asyncio.Event
    """Set when the server is stopping."""
    followers: int = 0
    """Clients that follow a run."""
    scrapes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_SCRAPES))
    """Pages that are fetched at once for `POST /scrape`."""


@dataclass(slots=True)
class RunService:
    """Runs of one tenant, with a short cache in front of the ledger."""

    context: AppContext
    settings: ApiSettings
    state: ServerState
    _scraped: dict[CrawlSettings, dict[str, Any]] = field(default_factory=dict)
    """The last pages that were fetched for `POST /scrape`."""
    _cache: SingleFlightCache = field(default_factory=lambda: SingleFlightCache(_CACHE_S))

    async def check_ledger(self) -> None:
        """Return when the ledger answers; `TimeoutError` when it takes too long. Concurrent checks share one query."""
        async with asyncio.timeout(self.settings.ready_s):
            await self._cache.get((_LEDGER_CHECK,), lambda: self.context.ledger.runs(1))
        self._cache.forget(_LEDGER_CHECK)  # the next check must ask the ledger again

    async def run(self, name: str) -> Run:
        """The run with this id."""
        if not is_id(name):
            raise _no_run(name)
        run = await self._cache.get(("run", name), lambda: self.context.ledger.run(RunId(name)))
        if run is None:
            raise _no_run(name)
        return run

    async def record(self, caller: Caller, action: str, changed: str) -> None:
        """Write to the audit log what the caller did, where that is no single transaction (else see `entry_for`)."""
        now = self.context.clock()
        await self.context.accounts.record(entry_of(caller, new_uuid(now), now, action, changed))

    def entry_for(
        self, caller: Caller, action: str, changed: str | Callable[[Any], str], when: Callable[[Any], bool] = bool
    ) -> EntryFor:
        """The entry about a change by the caller, for `recording` of a repository. `changed`, `when`: what was changed, and
        whether anything was, by the result of the change.
        """
        now = self.context.clock()
        entry = entry_of(caller, new_uuid(now), now, action, "")

        def of_result(result: Any) -> AuditEntry | None:
            if not when(result):
                return None
            return replace(entry, object=changed if isinstance(changed, str) else changed(result))

        return of_result

    async def start(self, settings: CrawlSettings, key: IdempotencyKey | None, caller: Caller) -> IdempotentRun:
        """Create a run, or return the one that was created under this idempotency key."""
        now, redaction = self.context.clock(), self.context.redaction
        try:
            refuse_secrets(settings, redactor_of(redaction))
        except UsageError as problem:
            raise ApiProblem(INVALID, str(problem)) from problem
        if key is None:
            ledger = self.context.ledger.recording(self.entry_for(caller, RUN_CREATED, lambda run: f"run:{run.id}"))
            created = IdempotentRun(await start_run(ledger, settings, now, redaction), "", is_new=True)
        else:
            entry = self.entry_for(caller, RUN_CREATED, lambda once: f"run:{once.run.id}", lambda once: once.is_new)
            created = await start_run_once(self.context.ledger.recording(entry), settings, key, now, redaction)
            # A version of Sitelore with more settings has another fingerprint for an equal request.
            if created.fingerprint != key.fingerprint and created.run.settings != settings:
                raise ApiProblem(KEY_REUSED, "send another key, or the same request as before")
        self._cache.forget(_LISTS, created.run.id)
        await self.context.announce(created.run.id)
        return created

    async def scrape(self, settings: CrawlSettings, ttl_s: float | None, caller: Caller) -> tuple[dict[str, Any], bool]:
        """The document of a page, and whether it is a copy that is not older than `ttl_s`.

        A copy is one that this server fetched with equal settings; for one without settings of its own, it may also be the
        stored page of a crawl.
        """
        try:
            refuse_secrets(settings, redactor_of(self.context.redaction))
        except UsageError as problem:
            raise ApiProblem(INVALID, str(problem)) from problem
        url, now, max_age_s = Url.trusted(settings.seeds[0]), self.context.clock(), ttl_s or 0.0
        copy = self._scraped.get(settings)
        if copy is None and settings == CrawlSettings(seeds=settings.seeds, max_pages=1, allow_private=settings.allow_private):
            copy = await self.context.search_service.page(url)
            copy = copy if copy and copy["presence"] == Presence.PRESENT else None
        if copy is not None and now - copy["fetched_at"] < max_age_s:
            return copy, True
        if self.state.scrapes.locked():
            raise ApiProblem(
                UNAVAILABLE, f"{_MAX_SCRAPES} pages are being fetched; try again later", headers={"Retry-After": "5"}
            )
        try:
            async with self.state.scrapes:
                document = await self.context.fetch_document(self.context.tenant, url, settings)
        except PageRefused as problem:
            raise ApiProblem(ADDRESS_REFUSED, str(problem)) from None
        except FetchError as problem:
            raise ApiProblem(FETCH_FAILED, str(problem)) from None
        await self.record(caller, "page.scraped", url.authority)
        self._scraped[settings] = document
        while len(self._scraped) > _MAX_SCRAPED:
            del self._scraped[next(iter(self._scraped))]
        return document, False

    async def stored_access(self) -> list[StoredSession]:
        """The origins with stored access, without its secrets."""
        return await self.context.site_sessions.stored(self.context.tenant)

    async def store_access(self, session: SiteSession, caller: Caller) -> StoredSession:
        """Store access to an origin; what was stored for it before is replaced."""
        row = await self.context.site_sessions.save(self.context.tenant, session)
        await self.record(caller, "site-access.changed", session.origin)
        return row

    async def delete_access(self, origin: str, caller: Caller) -> bool:
        """Delete the access to an origin; False when there is none."""
        if not await self.context.site_sessions.forget(self.context.tenant, origin):
            return False
        await self.record(caller, "site-access.deleted", origin)
        return True

    async def cancel(self, name: str, caller: Caller) -> Run:
        """Cancel a run. Idempotent."""
        run = await self.run(name)
        ledger = self.context.ledger.recording(self.entry_for(caller, "run.cancelled", f"run:{run.id}"))
        if run.state not in ENDED and await ledger.end_run(run.id, RunState.CANCELLED, self.context.clock()):
            metrics.RUNS_ENDED.labels(RunState.CANCELLED.value).inc()
            await self.context.announce(run.id)
        self._cache.forget(_LISTS, run.id)
        run = await self.run(name)
        if run.state is not RunState.CANCELLED:
            raise ApiProblem(ALREADY_ENDED, f"the run is {run.state}")
        return run

    async def resume(self, name: str, caller: Caller) -> Run:
        """Let an interrupted run continue, with its full time limit. A run that is queued or running stays as it is."""
        run = await self.run(name)
        if run.state is RunState.INTERRUPTED:
            ledger = self.context.ledger.recording(self.entry_for(caller, "run.resumed", f"run:{run.id}"))
            await ledger.resume_run(run.id, self.context.clock())
            await self.context.announce(run.id)
        self._cache.forget(_LISTS, run.id)
        run = await self.run(name)
        if run.state in ENDED:
            raise ApiProblem(ALREADY_ENDED, f"the run is {run.state}")
        return run

    async def summary(self, name: str) -> RunSummary:
        """A run with its counts."""

        async def load() -> RunSummary:
            # The run first: if it has ended by then, the counts read afterwards are final.
            run = await self.context.ledger.run((await self.run(name)).id)
            assert run is not None
            return summary_view(run, await self.context.ledger.counts(run.id))

        return await self._cache.get(("summary", name), load)

    async def hosts(self, name: str) -> tuple[list[HostProgress], Collection[str] | None]:
        """The hosts of a run, and those that take no request now; None for these where only workers know."""
        run = await self.run(name)
        hosts = await self._cache.get(("hosts", name), lambda: self.context.ledger.host_progress(run.id, _MAX_HOSTS))
        return hosts, await self.context.closed_hosts() if self.context.closed_hosts is not None else None

    async def repeats(self, run: RunId) -> Repeats:
        """Boilerplate of a run's pages, which is removed where they are shown. Concurrent requests share one computation."""
        return await self._cache.get(("repeats", run), lambda: find_repeats(self.context.ledger.sketches(run)))

    async def runs(self, listing: RunListing) -> bytes:
        """A page of runs, encoded."""

        async def load() -> bytes:
            ledger = self.context.ledger
            (runs, total), states = await asyncio.gather(ledger.list_runs(listing), ledger.count_runs(listing.text))
            page = pagination_of(total, listing.limit, listing.offset, len(runs))
            return encode(RunList([run_view(run) for run in runs], states, page))

        return await self._cache.get((_LISTS, listing), load)

    async def lineage(self, name: str, limit: int) -> bytes:
        """How the URLs of a run were found, encoded and compressed with gzip."""
        run = await self.run(name)

        def encoded(rows: Sequence[FoundUrl]) -> bytes:
            view = lineage_view(lineage_of(rows[:limit]), is_truncated=len(rows) > limit)
            return gzip.compress(encode(view), compresslevel=1, mtime=0)

        async def load() -> bytes:
            return await asyncio.to_thread(encoded, await self.context.ledger.found_urls(run.id, limit + 1))

        return await self._cache.get(("lineage", name, run.state, limit), load, _ttl_s(run))

    async def facets(self, name: str, listing: UrlListing) -> bytes:
        """Counts of a run's URLs for the filters of a list, encoded."""
        run = await self.run(name)

        async def load() -> bytes:
            facets = await self.context.ledger.url_facets(run.id, listing)
            return encode(UrlFacetsView(facets.states, facets.skipped, facets.errors))

        return await self._cache.get(("facets", name, run.state, listing), load, _ttl_s(run))

    async def urls(self, name: str, listing: UrlListing) -> bytes:
        """A page of a run's URLs, encoded."""
        run = await self.run(name)

        async def load() -> bytes:
            rows, total = await self.context.ledger.list_run_urls(run.id, listing)
            page = pagination_of(total, listing.limit, listing.offset, len(rows))
            return encode(UrlList([url_view(row) for row in rows], page))

        return await self._cache.get(("urls", name, listing), load)


class RunServices:
    """The services of all tenants. Those used least recently are dropped: they hold nothing but a short cache."""

    def __init__(self, context: AppContext, settings: ApiSettings, closing: asyncio.Event) -> None:
        self._context = context
        self._settings = settings
        self._state = ServerState(closing)
        self._services: OrderedDict[TenantId, RunService] = OrderedDict()

    def of(self, tenant: TenantId) -> RunService:
        """The service of a tenant."""
        service = self._services.get(tenant)
        if service is None:
            context = self._context if tenant == DEFAULT_TENANT else self._context.for_tenant(tenant)
            service = self._services[tenant] = RunService(context, self._settings, self._state)
        self._services.move_to_end(tenant)
        if len(self._services) > _MAX_SERVICES:
            self._services.popitem(last=False)
        return service


def services_of(request: Request) -> RunServices:
    """The services of the server."""
    services = request.app.state.services
    assert isinstance(services, RunServices)
    return services


async def run_service_of(request: Request) -> RunService:
    """The `RunService` of the caller's tenant; a FastAPI dependency."""
    return services_of(request).of(caller_of(request).tenant)


def _ttl_s(run: Run) -> float:
    """How long what is computed from all URLs of a run is kept: only reprocessing changes a run that has ended."""
    return _ENDED_CACHE_S if run.state in ENDED else 0.0


def _no_run(name: str) -> ApiProblem:
    shown = name if name.isprintable() and len(name) <= 64 else "that"
    return ApiProblem(RUN_NOT_FOUND, f"no run has the id {shown}")
