"""The application object `App`: creates runs, crawls them, works on the queue, explains URLs and searches.

Commands and servers call its methods. `wiring.py` builds it: that module chooses database, blob store, notifications and rate
limits and passes them in, and `App` works in the same way with every choice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sitelore.app.settings import OperatorSettings, operator_settings
from sitelore.background import in_background, keep_running, wait
from sitelore.crawl.context import (
    MediaContext,
    NavigationPolicy,
    Progress,
    ScreenshotContext,
    VisitContext,
    WorkerContext,
    read_options_of,
    redaction_of,
    rules_of,
)
from sitelore.crawl.maintenance import Maintenance, announce_state, interrupt_run, interruption_of, session_error
from sitelore.crawl.page_fetch import render_as_fetch
from sitelore.crawl.runs import RunScheduler, start_run
from sitelore.crawl.settle import redacting_saver
from sitelore.crawl.soft_404 import Soft404Detector
from sitelore.crawl.worker import Worker
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.extras import require_extra
from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.chromium import INSTALL_HINT, Browser
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.polite_client import PoliteClient
from sitelore.fetch.politeness import PoliteRenderer
from sitelore.frontier.offers import OfferBuilder
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.model.access.access import NO_ACCESS, Access
from sitelore.model.document import Reading
from sitelore.model.errors import Interrupted, OutOfTime, SessionEnded, StorageError
from sitelore.model.frontier import Run, Tenant
from sitelore.model.ids import DEFAULT_TENANT, RunId, TenantId, WorkerId
from sitelore.model.rendering import Rendered, RenderFailure, RenderRequest
from sitelore.model.response import Response
from sitelore.model.settings import BUILT_IN_ALONE, CrawlSettings, LoggedOut, Redaction
from sitelore.model.states import ACTIVE, ENDED, RunState
from sitelore.model.url import Url
from sitelore.platform_ports import Channels
from sitelore.ports import AuditStore, BlobStorage, Clock, Embedder, Fetcher, HostGate, Ledger, Reader, RunQueue

if TYPE_CHECKING:
    from sitelore.app.audit.pull_requests import FixService
    from sitelore.app.explain import Explanation
    from sitelore.app.operations.accounts import LazyAccounts
    from sitelore.app.site_sessions import SiteSessions
    from sitelore.crawl.login_watch import LoginWatch
    from sitelore.crawl.search.service import SearchService
    from sitelore.fetch.browser.renderer import BrowserRenderer
    from sitelore.model.access.site_sessions import SiteSession
    from sitelore.model.platform.audit_log import EntryFor
    from sitelore.model.platform.channels import Channel
    from sitelore.platform.channels.schedules import Scheduler
    from sitelore.platform.media import MediaService
    from sitelore.platform.video_thumbnails import VideoThumbnails
    from sitelore.platform.webhooks.endpoints import WebhookService
    from sitelore.platform_ports import MediaFiles
    from sitelore.store.engine import Engine
    from sitelore.store.index.search_index import SqlSearchIndex
    from sitelore.store.platform.retention import SqlRetention
    from sitelore.store.vectors.search import VectorSearch

_LOG = logging.getLogger(__name__)

_END_OF_TIME = 1e12
_RETRY_DELAY_S = 1.0
_EMBEDDED_MAINTENANCE_S = 0.25
_INSECURE = (
    "WARNING: certificates are not verified (insecure). Anyone between here and a site can read and change what is fetched, "
    "and receives the credentials that are sent."
)
_INDEX_INTERVAL_S = 2.0
_INDEX_DELAY_S = 5.0
"""A server answers requests first and updates its index this long after its start."""


@dataclass(frozen=True, slots=True)
class App:
    """A configured crawler: its storage, its workers and its search."""

    worker_context: WorkerContext
    blobs: BlobStorage
    """Of the default tenant; `blobs.for_tenant` gives those of another."""
    reader: Reader
    browser: Browser
    """Started when a page first needs it; shared by all runs."""
    search: LazySearch
    """Built for the first query."""
    accounts: LazyAccounts
    """Loaded when they are first used."""
    webhooks: LazyWebhooks
    """Outgoing webhooks, built on first use."""
    database_name: str
    """The file or the URL of the database, without its password."""
    blobs_name: str
    """The file, directory or bucket of the blobs, without credentials."""
    media: LazyMedia
    """Media files and what is known of them; opened when first used."""
    audits: AuditStore
    """Findings and audits of the default tenant; `audits.for_tenant` gives those of another."""
    open_channels: Callable[[], Channels]
    """Gives the channels of the default tenant. A function, because a crawl must not load what servers need."""
    site_sessions: SiteSessions
    """Sessions of sites behind a login."""
    sites_at_once: int = 4
    redaction: Redaction = BUILT_IN_ALONE
    """The operator's rules for secrets, and the key of their hashes."""
    access: Access = field(default=NO_ACCESS, repr=False)
    """Headers, cookies, credentials, proxies and TLS options of this process. Never stored."""
    allow_private: tuple[str, ...] = ()
    """Private addresses that scheduled crawls may reach."""
    fetcher: Fetcher | None = None
    """Replaces the HTTP client of the runs. It does not pass the address guard."""

    @property
    def ledger(self) -> Ledger:
        """Runs, URLs and pages of the default tenant; `ledger.for_tenant` gives those of another."""
        return self.worker_context.ledger

    @property
    def queue(self) -> RunQueue:
        """The runs of all tenants."""
        return self.worker_context.queue

    @property
    def search_service(self) -> SearchService:
        """Search over everything that was crawled for the default tenant."""
        return self.search.service(DEFAULT_TENANT)

    def media_service(self, tenant: TenantId) -> MediaService:
        """The media of a tenant, for the API."""
        from sitelore.platform.media import MediaService  # noqa: PLC0415 not needed by a crawl

        opened = self.media.of(tenant)
        return MediaService(opened.library, opened.files, opened.images, self.webhooks.video_thumbnails(), self.clock)

    @property
    def gate(self) -> HostGate:
        """The rate limit of each host."""
        return self.worker_context.gate

    @property
    def clock(self) -> Clock:
        """The clock of the database, which decides about leases and limits."""
        return self.worker_context.clock

    @property
    def is_shared(self) -> bool:
        """Whether other processes may work on the same runs."""
        return self.worker_context.config.is_shared

    def with_access(self, access: Access) -> App:
        """This application with more access to sites, whose secrets are removed wherever a page repeats them."""
        combined = self.access.with_other(access)
        return replace(self, access=combined, redaction=replace(self.redaction, secrets=combined.secrets()))

    async def create_run(self, settings: CrawlSettings, tenant: TenantId = DEFAULT_TENANT) -> Run:
        """Create a run and wake the workers; nothing is fetched yet."""
        run = await start_run(self.ledger.for_tenant(tenant), settings, self.clock(), self.redaction)
        await self.notify_workers(run.id)
        return run

    async def resume_run(self, run: RunId, time_limit_s: float | None = None) -> Run | None:
        """Let an interrupted run continue, with its full time limit or this new one; None when it has ended."""
        resumed = await self.ledger.resume_run(run, self.clock(), time_limit_s)
        await self.notify_workers(run)
        return resumed

    async def notify_workers(self, run: RunId) -> None:
        """Wake the workers because a run was created, resumed or cancelled. A hint: they also look on their own."""
        await self.worker_context.notifier.notify(run)

    async def delete_channel(self, channel: Channel, entry_for: EntryFor) -> None:
        """Cancel the crawl of a channel and delete everything of its site; the entry goes into the audit log."""
        from sitelore.app.operations.deletion import delete_channel  # noqa: PLC0415 not needed by a crawl

        await delete_channel(self, channel, entry_for)

    async def delete_tenant(self, tenant: Tenant) -> None:
        """Cancel the runs of a tenant and delete everything of it."""
        from sitelore.app.operations.deletion import cancel_and_delete_tenant  # noqa: PLC0415 not needed by a crawl

        await cancel_and_delete_tenant(self, tenant)

    async def unfinished_run(self, site: str | None = None) -> Run | None:
        """The latest run that has not ended, of this site or of any."""
        for run in await self.ledger.runs():
            if run.state not in ENDED and site in {None, run.site_name}:
                return run
        return None

    async def crawl(self, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        """Work on a run until it has ended, together with other workers where there are any.

        Raises `Interrupted`, `OutOfTime` or `SessionEnded` when it was stopped before; it can be resumed then.
        """
        if self.is_shared:
            return await self._crawl_with_others(run, progress, stop)
        # We hold the directory's lock, so no other process works here: every lease was left behind by one that died.
        worker_context = self.worker_context.for_tenant(run.tenant)
        await worker_context.ledger.release(run.id, _END_OF_TIME)
        await worker_context.ledger.move_run(run.id, RunState.RUNNING, self.clock())
        try:
            return await self._work_on(worker_context, run, progress, stop)
        except (Interrupted, asyncio.CancelledError):
            await interrupt_run(worker_context, run.id)
            raise

    async def work(self, stop: asyncio.Event) -> None:
        """Crawl and maintain all runs until `stop` is set. Returns with no URL leased to this process."""
        worker_context = self.worker_context
        if not self.is_shared:
            # One process, but the API can cancel runs and their time can run out while a worker is busy with them.
            worker_context = replace(
                worker_context, config=replace(worker_context.config, is_shared=True, upkeep_s=_EMBEDDED_MAINTENANCE_S)
            )
            for run in await self.queue.running_runs():
                await self.ledger.for_tenant(run.tenant).release(run.id, _END_OF_TIME)
        scheduler = RunScheduler(
            self.queue,
            self.ledger,
            self.clock,
            partial(self._begin_and_work, worker_context),
            sites_at_once=self.sites_at_once,
            pause_s=worker_context.config.pause_s,
        )
        async with (
            in_background("maintenance", partial(Maintenance(worker_context, self.blobs).forever, stop)),
            in_background("notifications", partial(self._wake_on_signals, scheduler)),
            in_background("retention", partial(self._delete_expired, stop)),
        ):
            while not stop.is_set():
                try:
                    await scheduler.work(stop)
                except StorageError as problem:
                    if not self.is_shared:
                        raise
                    _LOG.warning("storage unavailable, retrying: %s", problem)
                    await wait(stop, _RETRY_DELAY_S)

    async def run_background_work(self, stop: asyncio.Event) -> None:
        """Run a server's background work until stopped: index updates, and crawling (embedded) or only maintenance (scaled)."""
        async with (
            in_background("index updates", partial(self._update_index, stop)),
            in_background("schedules", partial(self._run_schedules, stop)),
            in_background("audits", partial(self._audit_runs, stop)),
            in_background("webhooks", partial(self._send_webhooks, stop)),
            in_background("pull requests", partial(self._open_pull_requests, stop)),
        ):
            if self.is_shared:
                async with in_background("retention", partial(self._delete_expired, stop)):
                    await keep_running("maintenance", partial(Maintenance(self.worker_context, self.blobs).forever, stop))
            else:
                await self.work(stop)

    async def _update_index(self, stop: asyncio.Event) -> None:
        """Keep the index current. For servers only: an index takes memory in every process that loads it."""
        await wait(stop, _INDEX_DELAY_S)
        if not stop.is_set():
            await self.search.keep_current(stop)

    async def _run_schedules(self, stop: asyncio.Event) -> None:
        """Start scheduled crawls. For servers only, since they know which addresses crawls may reach."""
        await self.scheduler().forever(stop, self.worker_context.config.upkeep_s)

    def scheduler(self) -> Scheduler:
        """The scheduler of all tenants' channels."""
        from sitelore.platform.channels.channels import ChannelService  # noqa: PLC0415 not needed by a crawl
        from sitelore.platform.channels.schedules import Scheduler  # noqa: PLC0415 see above

        channels = self.open_channels()
        service = ChannelService(channels, self.clock, self.redaction, self.allow_private, self.notify_workers)
        return Scheduler(channels.queue(), service, self.ledger, self.blobs)

    async def _audit_runs(self, stop: asyncio.Event) -> None:
        """Audit completed runs whose settings ask for it. For servers only, like the index."""
        from sitelore.app.audit.phase import keep_auditing  # noqa: PLC0415 not needed by a crawl

        await keep_auditing(self, stop)

    def fix_service(self) -> FixService:
        """Draft pull requests for findings of audits."""
        return self.webhooks.fixes(self)

    async def _open_pull_requests(self, stop: asyncio.Event) -> None:
        """Work on fix requests. For servers only, like audits."""
        await self.fix_service().forever(stop)

    async def _delete_expired(self, stop: asyncio.Event) -> None:
        """Apply retention periods once an hour."""
        from sitelore.app.operations.deletion import keep_deleting_expired  # noqa: PLC0415 not needed by a crawl

        await keep_deleting_expired(self, stop)

    async def _send_webhooks(self, stop: asyncio.Event) -> None:
        """Deliver events to webhook endpoints. Servers do so, which have the operator's settings for it; workers do not."""
        await self.webhooks.service().sender.forever(stop, is_alone=not self.is_shared)

    async def explain(self, url: Url, run: Run) -> Explanation:
        """Every check that this URL went through in the run."""
        from sitelore.app.explain import explain  # noqa: PLC0415 not needed by a crawl

        return await explain(
            redactor_of(redaction_of(run.settings, self.redaction)).redact_url(url), run, self.ledger.for_tenant(run.tenant)
        )

    async def fetch_document(self, tenant: TenantId, url: Url, settings: CrawlSettings) -> dict[str, Any]:
        """Fetch and extract one page outside of a run. Raises `FetchError`."""
        from sitelore.app.scrape import scrape  # noqa: PLC0415 needed only by servers

        return await scrape(self, tenant, url, settings)

    async def _crawl_with_others(self, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        async with in_background("maintenance", partial(Maintenance(self.worker_context, self.blobs).forever, stop)):
            while run.state in ACTIVE:
                if stop.is_set():
                    raise Interrupted("stopped")
                ledger = self.ledger.for_tenant(run.tenant)
                if await ledger.begin_run(run.id, self.clock()):
                    run = await self._work_on(self.worker_context, run, progress, stop)
                else:
                    await self._work_on_earlier_run(run, stop)
                    run = await ledger.run(run.id) or run
        if run.state is RunState.INTERRUPTED:
            raise interruption_of(run)
        return run

    async def _work_on_earlier_run(self, run: Run, stop: asyncio.Event) -> None:
        """Help to finish the run of the same site that is ahead of ours: one runs at a time."""
        for other in await self.queue.running_runs():
            if other.site == run.site and other.id != run.id:
                with contextlib.suppress(OutOfTime, SessionEnded):  # of that run, not of ours
                    await self._work_on(self.worker_context, other, Progress(), stop)
                return
        await wait(stop, _RETRY_DELAY_S)

    async def _begin_and_work(self, worker_context: WorkerContext, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        """Begin a run that is due and work on it. A storage failure delays the run instead of failing it."""
        try:
            if not await self.ledger.for_tenant(run.tenant).begin_run(run.id, self.clock()):
                return run
            return await self._work_on(worker_context, run, progress, stop)
        except StorageError as problem:
            if not self.is_shared:
                raise
            _LOG.warning("storage unavailable, the run is retried: %s", problem, extra={"run": run.id})
            await wait(stop, _RETRY_DELAY_S)
            return run

    async def _work_on(self, worker_context: WorkerContext, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        worker_context = worker_context.for_tenant(run.tenant)
        before, run = run.state, await worker_context.ledger.run(run.id) or run
        if run.state is not RunState.RUNNING:  # cancelled before it began
            return run
        if before is RunState.QUEUED:
            await announce_state(worker_context, run.id, run.state)
        progress.max_pages, progress.started_at = run.settings.max_pages, self.clock()
        try:
            async with self._visit_context(run) as visit_context:
                worker = WorkerId(f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}")
                try:
                    return await Worker(worker, run, worker_context, visit_context, progress).work(stop)
                except asyncio.CancelledError:
                    # Cancelled while draining: release our leases anyway.
                    await worker_context.ledger.release(run.id, self.clock(), worker)
                    raise
        except (OutOfTime, SessionEnded) as problem:
            error = session_error(problem) if isinstance(problem, SessionEnded) else str(problem)
            await interrupt_run(worker_context, run.id, error)
            raise

    def _browser_check(self, run: Run) -> Callable[[], bool]:
        """A function that says whether a browser is available; its absence is logged once per run."""
        is_logged = False

        def is_available() -> bool:
            nonlocal is_logged
            if self.browser.is_available():
                return True
            if not is_logged:
                _LOG.info("pages need a browser, but none is available: %s", INSTALL_HINT, extra={"run": run.id})
                is_logged = True
            return False

        return is_available

    async def _screenshots(self, run: Run) -> ScreenshotContext:
        media = self.media.of(run.tenant)
        return ScreenshotContext(media, await media.library.screenshot_folder(run.site))

    async def _wake_on_signals(self, scheduler: RunScheduler) -> None:
        async with self.worker_context.notifier.subscribe() as subscription:
            while True:
                if await subscription.wait(_RETRY_DELAY_S):
                    await scheduler.announce(RunId(""))

    @asynccontextmanager
    async def _visit_context(self, run: Run) -> AsyncIterator[VisitContext]:
        settings, ledger = run.settings, self.ledger.for_tenant(run.tenant)
        sessions = await self.site_sessions.of_run(run.tenant, settings)
        options = read_options_of(settings, with_secrets(self.redaction, sessions), login=bool(sessions))
        save_robots = redacting_saver(ledger.save_robots, redactor_of(options.redaction))
        access = RunAccess(self.access, settings, tuple(sessions))
        if access.insecure:
            _LOG.warning(_INSECURE, extra={"run": run.id})
        client = PoliteClient(settings, self.gate, self.clock, ledger.robots, save_robots, self.fetcher, access)
        fetcher, robots, guard = client.fetcher, client.robots, client.guard
        offer_builder = OfferBuilder(settings, run.wave_hosts, guard.judge_url, access.logged_in_origins)
        navigations = NavigationPolicy(robots, offer_builder, rules_of(settings), options.redaction)
        in_browser = _LazyRenderer(self.browser, settings, guard, navigations.judge, access)
        renderer = PoliteRenderer(in_browser, self.gate, settings, self.clock)

        async def read(response: Response) -> Reading:
            return await self.reader.read(response, visit_context.read_options)

        visit_context = VisitContext(
            settings=settings,
            rules=rules_of(settings),
            first_read_options=options,
            fetcher=fetcher,
            robots=robots,
            reader=self.reader,
            blobs=self.blobs.for_tenant(run.tenant),
            offer_builder=offer_builder,
            probes=Soft404Detector(fetcher.fetch, read, salt=run.id),
            clock=self.clock,
            policy=RenderPolicy(settings, run.site_rendering, self._browser_check(run)),
            renderer=renderer,
            rendered_probes=Soft404Detector(partial(render_as_fetch, renderer=renderer), read, salt=run.id),
            media=self.media.of(run.tenant) if settings.media.types else None,
            screenshots=await self._screenshots(run) if settings.rendering.screenshots else None,
            login_watch=_login_watch(settings, sessions),
            renewed_secrets=access.renewed_secrets,
        )
        try:
            yield visit_context
        finally:
            await visit_context.probes.close()
            await visit_context.rendered_probes.close()
            await renderer.close()
            await client.close()
            for session, renewed in access.renewed_sessions():
                await self.site_sessions.renew(run.tenant, sessions[session], renewed)


def with_secrets(redaction: Redaction, sessions: Iterable[SiteSession]) -> Redaction:
    """Redaction that also removes the values of stored sessions, wherever a page repeats them."""
    secrets = dict.fromkeys((*redaction.secrets, *(secret for session in sessions for secret in session.secrets())))
    return replace(redaction, secrets=tuple(secrets))


def _login_watch(settings: CrawlSettings, sessions: Iterable[SiteSession]) -> LoginWatch | None:
    """Notices that the crawl is logged out; None when it cannot be."""
    known = tuple(session for session in sessions if session.check_url)
    if not known and all(rules.logged_out == LoggedOut() for rules in settings.overrides):
        return None
    from sitelore.crawl.login_watch import LoginWatch  # noqa: PLC0415 few crawls are logged in

    return LoginWatch(known)


class LazyWebhooks:
    """Builds the services that send requests of tenants, and access to retention policies, when they are first used."""

    def __init__(self, engine: Engine, ledger: Ledger, clock: Clock, redaction: Redaction, access: Access) -> None:
        self._parts = (engine, ledger, clock, redaction, access)
        self._service: WebhookService | None = None
        self._fixes: FixService | None = None
        self._fetcher: Fetcher | None = None
        self._thumbnails: VideoThumbnails | None = None
        self._thumbnail_fetcher: Fetcher | None = None

    def service(self) -> WebhookService:
        """The webhooks of all tenants; one object for the life of the application."""
        if self._service is None:
            from sitelore.fetch.http.client import HttpFetcher  # noqa: PLC0415 see above
            from sitelore.platform.secret_box import SecretBox  # noqa: PLC0415 see above
            from sitelore.platform.webhooks.delivery import FETCH_SETTINGS, WebhookSender  # noqa: PLC0415 see above
            from sitelore.platform.webhooks.endpoints import WebhookService  # noqa: PLC0415 see above
            from sitelore.store.platform.webhooks import SqlWebhooks  # noqa: PLC0415 see above

            engine, ledger, clock, redaction, _ = self._parts
            guard = AddressGuard((), operator_settings().allow_private)
            self._fetcher = HttpFetcher(FETCH_SETTINGS, guard, access=self._access())
            webhooks, secrets = SqlWebhooks(engine, DEFAULT_TENANT), SecretBox(operator_settings().secrets_keys)
            sender = WebhookSender(webhooks, ledger, self._fetcher, guard, clock, secrets, redaction)
            self._service = WebhookService(webhooks, sender, secrets, clock)
        return self._service

    def fixes(self, app: App) -> FixService:
        """Connected repositories and fix requests of all tenants; one object for the life of the application."""
        if self._fixes is None:
            from sitelore.app.audit.pull_requests import FixService  # noqa: PLC0415 see above
            from sitelore.platform.secret_box import SecretBox  # noqa: PLC0415 see above
            from sitelore.store.audits.fix_requests import SqlFixStore  # noqa: PLC0415 see above

            store, secrets = SqlFixStore(self._parts[0], DEFAULT_TENANT), SecretBox(operator_settings().secrets_keys)
            self._fixes = FixService(app, store, secrets, AddressGuard((), operator_settings().allow_private), self._access())
        return self._fixes

    def video_thumbnails(self) -> VideoThumbnails:
        """Pictures of videos at their providers; one object for the life of the application."""
        if self._thumbnails is None:
            from sitelore.fetch.http.client import HttpFetcher  # noqa: PLC0415 see above
            from sitelore.platform.video_thumbnails import FETCH_SETTINGS, VideoThumbnails  # noqa: PLC0415 see above

            self._thumbnail_fetcher = HttpFetcher(FETCH_SETTINGS, AddressGuard((), ()), access=self._access())
            self._thumbnails = VideoThumbnails(self._thumbnail_fetcher)
        return self._thumbnails

    def _access(self) -> RunAccess:
        """The operator's proxies and certificates, without headers and credentials for sites."""
        access = self._parts[4]
        return RunAccess(Access(proxies=access.proxies, ca_file=access.ca_file, insecure=access.insecure))

    def retention(self, tenant: TenantId) -> SqlRetention:
        """The retention policy of a tenant."""
        from sitelore.store.platform.retention import SqlRetention  # noqa: PLC0415 see above

        return SqlRetention(self._parts[0], tenant)

    async def close(self) -> None:
        """Close the connections to receivers and providers."""
        for fetcher in (self._fetcher, self._thumbnail_fetcher):
            if fetcher is not None:
                await fetcher.close()


class LazyMedia:
    """Opens the media of tenants when they are first used: most crawls download none."""

    def __init__(self, engine: Engine, open_files: Callable[[], MediaFiles]) -> None:
        self._engine = engine
        self._open_files = open_files
        self._opened: MediaContext | None = None

    def of(self, tenant: TenantId) -> MediaContext:
        """Files and library of a tenant, and the processes that all tenants share."""
        if self._opened is None:
            from sitelore.crawl.media.image_pool import ImagePool  # noqa: PLC0415 see above
            from sitelore.store.platform.media_library import SqlMediaLibrary  # noqa: PLC0415 see above

            self._opened = MediaContext(self._open_files(), SqlMediaLibrary(self._engine, tenant), ImagePool())
        opened = self._opened
        return replace(opened, files=opened.files.for_tenant(tenant), library=opened.library.for_tenant(tenant))

    def files(self, tenant: TenantId) -> MediaFiles:
        """The files of a tenant."""
        return self.of(tenant).files

    async def close(self) -> None:
        """End the processes."""
        if self._opened is not None:
            await self._opened.images.close()
            await self._opened.files.close()


class LazySearch:
    """Builds the search services of tenants when they are first used: a crawl must not load their libraries."""

    def __init__(
        self, engine: Engine, ledger: Ledger, queue: RunQueue, blobs: BlobStorage, clock: Clock, redaction: Redaction
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._queue = queue
        self._blobs = blobs
        self._clock = clock
        self._redaction = redaction
        self._services: dict[TenantId, SearchService] = {}
        self._search_index: SqlSearchIndex | None = None
        self._embedder: Embedder | None = None

    def service(self, tenant: TenantId) -> SearchService:
        """The search service of a tenant; one object for the life of the application."""
        if tenant not in self._services:
            require_extra("search", "search")
            # Imported here: numpy, word lists and the embedding model's runtime are heavy.
            from sitelore.crawl.search.service import SearchService  # noqa: PLC0415 see above

            search_index = self._open_index().for_tenant(tenant)
            ledger, blobs = self._ledger.for_tenant(tenant), self._blobs.for_tenant(tenant)
            self._services[tenant] = SearchService(ledger, search_index, blobs, self._clock, self._redaction, self._embedder)
        return self._services[tenant]

    def _open_index(self) -> SqlSearchIndex:
        """The index of the default tenant; all tenants share its vector search backend and the embedding model."""
        if self._search_index is None:
            from sitelore.index.embeddings.factory import embedder_for  # noqa: PLC0415 see above
            from sitelore.store.index.search_index import SqlSearchIndex  # noqa: PLC0415 see above

            operator = operator_settings()
            self._embedder = embedder_for(operator.embeddings, operator.embeddings_key)
            self._search_index = SqlSearchIndex(self._engine, DEFAULT_TENANT, _vector_search(self._engine, operator))
        return self._search_index

    async def keep_current(self, stop: asyncio.Event) -> None:
        """Index and embed what changes for any tenant until stopped. Words never wait for vectors, which take much longer."""
        vectors = self._keep_updating(lambda service: service.update_vectors(stop), stop)
        await asyncio.gather(self.keep_words_current(stop), vectors)

    async def keep_words_current(self, stop: asyncio.Event) -> None:
        """Index what changes for any tenant until stopped, without embeddings."""
        await self._keep_updating(lambda service: service.update_words(stop), stop)

    async def update_words(self, stop: asyncio.Event) -> None:
        """Index once what has changed for any tenant, without embeddings."""
        await self._update(lambda service: service.update_words(stop))

    async def _keep_updating(self, update: Callable[[SearchService], Awaitable[None]], stop: asyncio.Event) -> None:
        """Update every tenant again and again."""
        while not stop.is_set():
            await self._update(update)
            await wait(stop, _INDEX_INTERVAL_S)

    async def _update(self, update: Callable[[SearchService], Awaitable[None]]) -> None:
        """Update every tenant. Errors are logged: the index is derived data, so an error in it must not end a crawl."""
        try:
            for tenant in await self._queue.tenants():
                await update(self.service(tenant.id))
        except StorageError as problem:
            _LOG.warning("storage unavailable, indexing retries: %s", problem)
        except Exception:  # noqa: BLE001 see above
            _LOG.exception("indexing failed")

    async def close(self) -> None:
        """Release the embedding model and the connection to a vector store."""
        if self._embedder is not None:
            await self._embedder.close()
        if self._search_index is not None:
            await self._search_index.close()


def _vector_search(engine: Engine, operator: OperatorSettings) -> VectorSearch | None:
    """The external vector store; None where the database compares vectors."""
    if operator.vectors in {"", "database"}:
        return None
    from sitelore.store.vectors.qdrant import QdrantVectorSearch  # noqa: PLC0415 see above
    from sitelore.store.vectors.qdrant_rest import QdrantServer  # noqa: PLC0415 only where one is configured

    return QdrantVectorSearch(engine, QdrantServer.read(operator.vectors, operator.vectors_key))


class _LazyRenderer:
    """Loads the browser renderer for the first page that needs it: most crawls never do."""

    def __init__(
        self,
        browser: Browser,
        settings: CrawlSettings,
        guard: AddressGuard,
        judge: Callable[[Url], Awaitable[str | None]],
        access: RunAccess,
    ) -> None:
        self._parts = (browser, settings, guard, judge)
        self._access = access
        self._renderer: BrowserRenderer | None = None

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """The page after its scripts ran."""
        if self._renderer is None:
            from sitelore.fetch.browser.renderer import BrowserRenderer  # noqa: PLC0415 see above

            self._renderer = BrowserRenderer(*self._parts, access=self._access)
        return await self._renderer.render(request)

    async def close(self) -> None:
        """Drop the run's cookies and pages."""
        if self._renderer is not None:
            await self._renderer.close()
