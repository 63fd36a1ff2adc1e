"""The application object `App`: creates runs, crawls them, works on the queue, explains URLs and searches.

Commands and servers call its methods. `wiring.py` builds it: that module chooses database, blob store, notifications and rate
limits and passes them in, and `App` works in the same way with every choice. The parts are imported when they are first used: a
crawl must not load the tables of accounts.
"""
# ruff: noqa: PLC0415 see above

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from sitelore.app.settings import OperatorSettings, operator_settings
from sitelore.background import in_background, wait
from sitelore.extras import require_extra
from sitelore.model.access import NO_ACCESS, Access
from sitelore.model.errors import StorageError
from sitelore.model.ids import DEFAULT_TENANT, RunId, TenantId
from sitelore.model.settings import BUILT_IN_ALONE, CrawlSettings, Redaction
from sitelore.model.states import ENDED

if TYPE_CHECKING:
    from sitelore.app.audit.pull_requests import FixService
    from sitelore.app.explain import Explanation
    from sitelore.app.site_sessions import SiteSessions
    from sitelore.crawl.context import MediaContext, Progress, WorkerContext
    from sitelore.crawl.search.search_log import SearchRecorder
    from sitelore.crawl.search.service import SearchService
    from sitelore.fetch.access import RunAccess
    from sitelore.fetch.browser.chromium import Browser
    from sitelore.model.frontier import Run, Tenant
    from sitelore.model.platform.accounts import EntryFor
    from sitelore.model.platform.channels import Channel
    from sitelore.model.url import Url
    from sitelore.platform.channels.schedules import Scheduler
    from sitelore.platform.media import MediaService, VideoThumbnails
    from sitelore.platform.webhooks.endpoints import WebhookService
    from sitelore.platform_ports import AccountDirectory, Channels, MediaFiles, Operations, RateLimiter, SessionStore
    from sitelore.ports import AuditStore, BlobStorage, Clock, Embedder, Fetcher, HostGate, Ledger, Reader, Reranker, RunQueue
    from sitelore.store.engine import Engine
    from sitelore.store.index.search_index import SqlSearchIndex
    from sitelore.store.platform.tenant_settings import SqlRetention
    from sitelore.store.vectors.search import VectorSearch


_LOG = logging.getLogger(__name__)

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
    open_audits: Callable[[], AuditStore]
    """Gives `audits`. A function, as below."""
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
    def audits(self) -> AuditStore:
        """Findings and audits of the default tenant; `audits.for_tenant` gives those of another."""
        return self.open_audits()

    @property
    def search_service(self) -> SearchService:
        """Search over everything that was crawled for the default tenant."""
        return self.search.service(DEFAULT_TENANT)

    def media_service(self, tenant: TenantId) -> MediaService:
        """The media of a tenant, for the API."""
        from sitelore.platform.media import MediaService

        opened = self.media.for_tenant(tenant)
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
        """This application with more credentials for sites, whose secrets are redacted wherever a page repeats them."""
        combined = self.access.with_other(access)
        return replace(self, access=combined, redaction=replace(self.redaction, secrets=combined.secrets()))

    async def create_run(self, settings: CrawlSettings, tenant: TenantId = DEFAULT_TENANT) -> Run:
        """Create a run and wake the workers; nothing is fetched yet."""
        from sitelore.crawl.runs import start_run

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
        from sitelore.app.operations.deletion import delete_channel

        await delete_channel(self, channel, entry_for)

    async def delete_tenant(self, tenant: Tenant) -> None:
        """Cancel the runs of a tenant and delete everything of it."""
        from sitelore.app.operations.deletion import cancel_and_delete_tenant

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
        from sitelore.app.crawls import crawl

        return await crawl(self, run, progress, stop)

    async def work(self, stop: asyncio.Event) -> None:
        """Crawl and maintain all runs until `stop` is set. Returns with no URL leased to this process."""
        from sitelore.app.crawls import work

        await work(self, stop)

    async def run_background_work(self, stop: asyncio.Event) -> None:
        """Run a server's background work until stopped: index updates, and crawling (embedded) or only maintenance (scaled)."""
        async with (
            in_background("index updates", partial(self._update_index, stop)),
            in_background("schedules", partial(self._run_schedules, stop)),
            in_background("audits", partial(self._audit_runs, stop)),
            in_background("webhooks", partial(self._send_webhooks, stop)),
            in_background("pull requests", partial(self._open_pull_requests, stop)),
            in_background("vacuum", partial(self._vacuum_databases, stop)),
        ):
            if self.is_shared:
                from sitelore.app.crawls import maintain

                async with in_background("retention", partial(self.delete_expired, stop)):
                    await maintain(self, stop)
            else:
                await self.work(stop)

    async def _update_index(self, stop: asyncio.Event) -> None:
        """Keep the index current. For servers only: an index takes memory in every process that loads it."""
        await wait(stop, _INDEX_DELAY_S)
        if not stop.is_set():
            await self.search.keep_index_current(stop)

    async def _run_schedules(self, stop: asyncio.Event) -> None:
        """Start scheduled crawls. For servers only, since they know which addresses crawls may reach."""
        await self.scheduler().run_until_stopped(stop, self.worker_context.config.upkeep_s)

    def scheduler(self) -> Scheduler:
        """The scheduler of all tenants' channels."""
        from sitelore.platform.channels.channels import ChannelService
        from sitelore.platform.channels.schedules import Scheduler

        channels = self.open_channels()
        service = ChannelService(channels, self.clock, self.redaction, self.allow_private, self.notify_workers)
        return Scheduler(channels.queue(), service, self.ledger, self.blobs)

    async def _audit_runs(self, stop: asyncio.Event) -> None:
        """Audit completed runs whose settings ask for it. For servers only, like the index."""
        from sitelore.app.audit.phase import keep_auditing

        await keep_auditing(self, stop)

    def fix_service(self) -> FixService:
        """Draft pull requests for findings of audits."""
        return self.webhooks.fixes(self)

    async def _open_pull_requests(self, stop: asyncio.Event) -> None:
        """Work on fix requests. For servers only, like audits."""
        await self.fix_service().run_until_stopped(stop)

    async def delete_expired(self, stop: asyncio.Event) -> None:
        """Apply retention periods once an hour."""
        from sitelore.app.operations.deletion import keep_deleting_expired

        await keep_deleting_expired(self, stop)

    async def _vacuum_databases(self, stop: asyncio.Event) -> None:
        """Vacuum the databases after deletions. For embedded servers only: commands do so at once."""
        if not self.is_shared:
            from sitelore.app.operations.deletion import keep_vacuuming

            await keep_vacuuming(self, stop)

    async def _send_webhooks(self, stop: asyncio.Event) -> None:
        """Deliver events to webhook endpoints. Servers do so, which have the operator's settings for it; workers do not."""
        await self.webhooks.service().sender.send_until_stopped(stop, is_alone=not self.is_shared)

    async def explain(self, url: Url, run: Run) -> Explanation:
        """Every check that this URL went through in the run."""
        from sitelore.app.explain import explain
        from sitelore.crawl.context import redaction_of
        from sitelore.extract.redaction.redactor import redactor_of

        return await explain(
            redactor_of(redaction_of(run.settings, self.redaction)).redact_url(url), run, self.ledger.for_tenant(run.tenant)
        )

    async def fetch_document(self, tenant: TenantId, url: Url, settings: CrawlSettings) -> dict[str, Any]:
        """Fetch and extract one page outside of a run. Raises `FetchError`."""
        from sitelore.app.scrape import scrape

        return await scrape(self, tenant, url, settings)


class LazyWebhooks:
    """Builds webhooks, fix requests, video thumbnails and retention policies of tenants when they are first used."""

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
            from sitelore.fetch.guard import AddressGuard
            from sitelore.fetch.http.client import HttpFetcher
            from sitelore.platform.secret_box import SecretBox
            from sitelore.platform.webhooks.delivery import FETCH_SETTINGS, WebhookSender
            from sitelore.platform.webhooks.endpoints import WebhookService
            from sitelore.store.platform.webhooks import SqlWebhooks

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
            from sitelore.app.audit.pull_requests import FixService
            from sitelore.fetch.guard import AddressGuard
            from sitelore.platform.secret_box import SecretBox
            from sitelore.store.audits.fix_requests import SqlFixStore

            store, secrets = SqlFixStore(self._parts[0], DEFAULT_TENANT), SecretBox(operator_settings().secrets_keys)
            self._fixes = FixService(app, store, secrets, AddressGuard((), operator_settings().allow_private), self._access())
        return self._fixes

    def video_thumbnails(self) -> VideoThumbnails:
        """Pictures of videos at their providers; one object for the life of the application."""
        if self._thumbnails is None:
            from sitelore.fetch.guard import AddressGuard
            from sitelore.fetch.http.client import HttpFetcher
            from sitelore.platform.media import FETCH_SETTINGS, VideoThumbnails

            self._thumbnail_fetcher = HttpFetcher(FETCH_SETTINGS, AddressGuard((), ()), access=self._access())
            self._thumbnails = VideoThumbnails(self._thumbnail_fetcher)
        return self._thumbnails

    def _access(self) -> RunAccess:
        """The operator's proxies and certificates, without headers and credentials for sites."""
        from sitelore.fetch.access import RunAccess

        access = self._parts[4]
        return RunAccess(Access(proxies=access.proxies, ca_file=access.ca_file, insecure=access.insecure))

    def retention(self, tenant: TenantId) -> SqlRetention:
        """The retention policy of a tenant."""
        from sitelore.store.platform.tenant_settings import SqlRetention

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

    def for_tenant(self, tenant: TenantId) -> MediaContext:
        """Files and library of a tenant, and the processes that all tenants share."""
        if self._opened is None:
            from sitelore.crawl.context import MediaContext
            from sitelore.crawl.media.image_pool import ImagePool
            from sitelore.store.platform.media_library import SqlMediaLibrary

            self._opened = MediaContext(self._open_files(), SqlMediaLibrary(self._engine, tenant), ImagePool())
        opened = self._opened
        return replace(opened, files=opened.files.for_tenant(tenant), library=opened.library.for_tenant(tenant))

    def files(self, tenant: TenantId) -> MediaFiles:
        """The files of a tenant."""
        return self.for_tenant(tenant).files

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
        self._reranker: Reranker | None = None

    def service(self, tenant: TenantId) -> SearchService:
        """The search service of a tenant; one object for the life of the application."""
        if tenant not in self._services:
            require_extra("search", "search")
            # Imported here: numpy, word lists and the embedding model's runtime are heavy.
            from sitelore.crawl.search.service import SearchService

            search_index = self._open_index().for_tenant(tenant)
            ledger, blobs = self._ledger.for_tenant(tenant), self._blobs.for_tenant(tenant)
            self._services[tenant] = SearchService(
                ledger, search_index, blobs, self._clock, self._redaction, self._embedder, self._reranker,
                self._recorder(tenant),
            )  # fmt: skip
        return self._services[tenant]

    def _recorder(self, tenant: TenantId) -> SearchRecorder | None:
        """What records the searches of a tenant; None unless the operator wants that."""
        retention_s = operator_settings().search_log_s
        if not retention_s:
            return None
        from sitelore.crawl.search.search_log import SearchRecorder
        from sitelore.store.audits.audit_store import SqlAuditStore

        return SearchRecorder(SqlAuditStore(self._engine, tenant), self._clock, self._redaction, retention_s)

    def _open_index(self) -> SqlSearchIndex:
        """The index of the default tenant; all tenants share its vector search backend and the embedding model."""
        if self._search_index is None:
            from sitelore.index.embeddings.factory import embedder_for, reranker_for
            from sitelore.store.index.search_index import SqlSearchIndex

            operator = operator_settings()
            self._embedder = embedder_for(operator.embeddings, operator.embeddings_key)
            self._reranker = reranker_for(operator.reranker, operator.reranker_key)
            self._search_index = SqlSearchIndex(self._engine, DEFAULT_TENANT, _vector_search(self._engine, operator))
        return self._search_index

    async def keep_index_current(self, stop: asyncio.Event) -> None:
        """Index and embed what changes for any tenant until stopped. The lexical index never waits for embeddings."""
        vectors = self._keep_updating(lambda service: service.update_vectors(stop), stop)
        await asyncio.gather(self.keep_lexical_index_current(stop), vectors)

    async def keep_lexical_index_current(self, stop: asyncio.Event) -> None:
        """Update the lexical (keyword) index of every tenant until stopped."""
        await self._keep_updating(lambda service: service.update_lexical_index(stop), stop)

    async def update_lexical_index(self, stop: asyncio.Event) -> None:
        """Update the lexical (keyword) index of every tenant once, without embeddings."""
        await self._update(lambda service: service.update_lexical_index(stop))

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
    from sitelore.store.vectors.qdrant import (
        QdrantServer,
        QdrantVectorSearch,
    )

    return QdrantVectorSearch(engine, QdrantServer.read(operator.vectors, operator.vectors_key))


class LazyAccounts:
    """Users, tokens and audit logs of all tenants, the rate limits of the API, and the sessions of browsers."""

    def __init__(self, engine: Engine, rate_limiter: RateLimiter | None = None, sessions: SessionStore | None = None) -> None:
        """`rate_limiter` and `sessions`: those that several servers share; None: this process has its own."""
        self._engine = engine
        self._shared_limiter = rate_limiter
        self._shared_sessions = sessions

    @cached_property
    def directory(self) -> AccountDirectory:
        """Users, tokens and audit logs of all tenants."""
        from sitelore.store.platform.accounts.repository import SqlAccountDirectory

        return SqlAccountDirectory(self._engine)

    @cached_property
    def operations(self) -> Operations:
        """What the operator sees over all tenants."""
        from sitelore.store.platform.operations import SqlOperations

        return SqlOperations(self._engine)

    @cached_property
    def rate_limiter(self) -> RateLimiter:
        """Counts requests to the API."""
        from sitelore.platform.accounts.rate_limits import LocalRateLimiter

        return self._shared_limiter or LocalRateLimiter()

    @cached_property
    def sessions(self) -> SessionStore:
        """Sessions of browsers and one-time logins."""
        from sitelore.platform.accounts.authentication import LocalSessionStore

        return self._shared_sessions or LocalSessionStore()
