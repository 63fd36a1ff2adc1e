"""Interfaces (Protocols) of the crawler, the index and audits, named by role; those of the platform are in `platform_ports.py`.

Implemented by: `fetch` (`Fetcher`, `Renderer`, `Robots`), `frontier` (`HostGate` for one process) and `store` (for many),
`crawl` (`Reader`, a pool of extraction processes), `index` (`Embedder`), `store` (`Ledger`, `SearchIndex`, `Blobs`, `Notifier`,
`Events`). The composition root chooses the implementations.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:  # two hundred classes: a process loads those that it has a use for
    from sitelore.model.audit.findings import (
        AuditPhase,
        AuditRecord,
        AuditScore,
        ExternalCheck,
        FindingListing,
        FindingRecord,
        FindingStatus,
        Ignore,
        LlmsTxt,
        RuleFindings,
        SearchLog,
        VectorSample,
    )
    from sitelore.model.changes import ChangedVersion, GonePage, ReturnedPage
    from sitelore.model.document import Blob, Reading, ReadOptions, SitemapReading
    from sitelore.model.frontier import (
        Edge,
        FoundUrl,
        HostProgress,
        IdempotencyKey,
        IdempotentRun,
        KnownPage,
        Lease,
        LinkBetweenPages,
        LinkColumns,
        Offer,
        PageAlias,
        PageNeighbours,
        PageSketch,
        PageVersion,
        PrefetchFacts,
        PrefetchTarget,
        QueueStats,
        ReprocessedPage,
        Run,
        RunCounts,
        RunEvent,
        RunListing,
        Settlement,
        StoredEvent,
        Tenant,
        UrlFacets,
        UrlListing,
        UrlRow,
        WaveFacts,
        WaveOpened,
        WavePlan,
    )
    from sitelore.model.ids import BlobKey, CleanText, RunId, SiteId, TenantId, WorkerId
    from sitelore.model.platform.accounts import EntryFor
    from sitelore.model.response import (
        Failure,
        Fetched,
        Rendered,
        RenderFailure,
        RenderRequest,
        Request,
        Response,
        RobotsFile,
        RobotsVerdict,
    )
    from sitelore.model.search import (
        ChunkRecord,
        ChunkTable,
        HeldPage,
        IndexedPage,
        IndexWritten,
        PageToIndex,
        PresenceChanges,
        RunOutcome,
        Similarities,
        SiteIndexStats,
        StoredPage,
        TextToEmbed,
    )
    from sitelore.model.settings import CrawlSettings, Pace
    from sitelore.model.states import RunState, UrlState
    from sitelore.model.url import Url

Clock = Callable[[], float]
"""Seconds since the epoch. Injected, so that tests control time."""


class Fetcher(Protocol):
    """The HTTP client. The address guard checks every connection; redirects are never followed."""

    async def fetch(self, request: Request) -> Fetched:
        """Send one GET request; failures are returned as data."""

    async def close(self) -> None:
        """Close all connections."""


class Renderer(Protocol):
    """The browser. The address guard checks every request it makes."""

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """Open the page, wait until it has settled, and read it; failures are returned as data. Restarts a crashed browser."""

    async def close(self) -> None:
        """Close the run's pages and delete its cookies. The browser process is shared and stays."""


class Robots(Protocol):
    """robots.txt verdicts; each host's robots.txt is fetched once and cached."""

    async def judge(self, url: Url) -> RobotsVerdict:
        """Whether a URL may be fetched. Fetches the host's robots.txt when it is unknown or too old."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """The outcome of a request, for the host's rate limit."""

    elapsed_s: float
    status: int | None = None
    failure: Failure | None = None
    retry_after_s: float | None = None


class HostGate(Protocol):
    """Per-host rate limiter (politeness): minimum gap between requests, concurrency limit, backoff."""

    async def acquire(self, host: str, pace: Pace) -> float:
        """Take a slot: 0.0 when the request may start, else the seconds to wait before trying again."""

    def mark_sent(self, host: str) -> None:
        """The request is sent only now, because a connection had to be opened first: the gap counts from here."""

    async def release(self, host: str, pace: Pace, feedback: Feedback) -> None:
        """Release the slot and adapt gap and backoff to the outcome."""

    async def set_crawl_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        """Apply a Crawl-delay of robots.txt, up to the pace's cap."""

    async def closed_hosts(self) -> Collection[str]:
        """Hosts that get no request for now (backoff, Retry-After); their rows should not be claimed."""


class Reader(Protocol):
    """Extraction in another process, bounded in time and memory."""

    async def read(self, response: Response, options: ReadOptions) -> Reading:
        """Redact, parse and extract a page."""

    async def read_sitemap(self, response: Response, options: ReadOptions | None = None) -> SitemapReading:
        """Parse a sitemap, sitemap index, text list or feed; with `options`, also a declared API collection."""

    async def close(self) -> None:
        """End the processes."""


class Blobs(Protocol):
    """Content-addressed storage of one tenant. Putting the same key twice is harmless."""

    async def put(self, blobs: Sequence[Blob]) -> None:
        """Store compressed blobs; on return they survive a crash of the process."""

    async def get(self, key: BlobKey) -> bytes:
        """The uncompressed bytes; KeyError when there are none."""


class BlobStorage(Blobs, Protocol):
    """Content-addressed storage with all its tenants, from which blobs can be deleted."""

    def for_tenant(self, tenant: TenantId) -> BlobStorage:
        """The blobs of another tenant in the same store."""

    def keys(self, stored_before: float) -> AsyncIterator[BlobKey]:
        """The keys of all blobs that were last written before this time (seconds since the epoch)."""

    def deleted_keys(self, deleted_before: float) -> AsyncIterator[BlobKey]:
        """The keys of blobs that were soft-deleted before this time: they can still be read."""

    async def delete(self, keys: Sequence[BlobKey], stored_before: float) -> int:
        """Soft-delete blobs, except those that were written again since this time. Returns how many were deleted.

        A store that several processes write to keeps deleted blobs readable until they are purged.
        """

    async def purge(self, keys: Sequence[BlobKey], deleted_before: float) -> int:
        """Permanently remove blobs that were soft-deleted before this time. Returns the number removed."""

    async def restore(self, keys: Sequence[BlobKey]) -> None:
        """Undo the soft delete of blobs."""


class Subscription(Protocol):
    """A subscription. Notifications that arrive between waits are coalesced per run."""

    async def wait(self, timeout_s: float) -> bool:
        """Wait for a notification, or until the timeout. Returns whether one arrived."""


class Notifier(Protocol):
    """Wake-up notifications: polling the ledger is worthwhile. A lost or repeated one costs time, never work."""

    async def notify(self, run: RunId) -> None:
        """Announce that there may be work for this run. Never fails."""

    def subscribe(self, run: RunId | None = None) -> AbstractAsyncContextManager[Subscription]:
        """Subscribe to the notifications of this run, or of all runs."""


class Events(Protocol):
    """Run events for watchers. Events are not stored."""

    async def publish(self, event: RunEvent) -> None:
        """Publish an event. Never fails, never waits for a watcher."""

    def follow(self, run: RunId) -> AbstractAsyncContextManager[AsyncIterator[RunEvent]]:
        """Events of this run from now on; a slow watcher misses the oldest."""


Plan: TypeAlias = "Callable[[WaveFacts], WavePlan]"
"""The decision between two waves (`frontier/admission.py`), a pure function that the ledger calls inside its transaction."""


class RunQueue(Protocol):
    """The runs of all tenants, for the workers and the maintenance that serve them, and the tenants themselves."""

    async def workable_runs(self, limit: int, now: float) -> list[Run]:
        """Runs that a worker may take: RUNNING runs without a worker, the first QUEUED run of each site without a RUNNING one
        (round-robin by site), then RUNNING runs of other workers.
        """

    async def running_runs(self) -> list[Run]:
        """All RUNNING runs, oldest first."""

    async def due_audits(self, now: float, limit: int) -> list[Run]:
        """Runs whose audit waits, or whose process has died, oldest first."""

    async def runs_by_state(self) -> dict[str, int]:
        """The number of runs per state."""

    async def tenants(self) -> list[Tenant]:
        """All tenants, by id."""

    async def find_tenant(self, name: str) -> Tenant | None:
        """The tenant of this name."""

    async def create_tenant(self, name: str, now: float) -> Tenant:
        """The tenant of this name; it is created if there is none."""

    def leader_lock(self, task: str, *, for_long: bool = False) -> AbstractAsyncContextManager[bool]:
        """Leader election: True when this process may do the task now. Held until the block ends.

        Without `for_long`, a process that is suspended for seconds may lose the lock.
        """


class Ledger(Protocol):
    """The database of runs, URLs (the frontier), leases and pages of one tenant. One call is one transaction."""

    def for_tenant(self, tenant: TenantId) -> Ledger:
        """The ledger of another tenant in the same database."""

    def recording(self, entry_for: EntryFor) -> Ledger:
        """These rows, whose next change goes into the audit log in the same transaction."""

    async def create_run(self, site: str, settings: CrawlSettings, offers: Sequence[Offer], now: float) -> Run:
        """Create a QUEUED run with its first offers. A site of this name is created if the tenant has none."""

    async def run(self, run: RunId) -> Run | None:
        """The run of this id."""

    async def runs(self, limit: int = 100) -> list[Run]:
        """Runs, newest first."""

    async def move_run(self, run: RunId, state: RunState, now: float, error: str = "") -> bool:
        """Start, interrupt or end a run; False when its state does not allow that transition."""

    async def begin_run(self, run: RunId, now: float) -> bool:
        """Move a run from QUEUED to RUNNING, if its pause is over and no other run of its site is RUNNING.

        True when it is RUNNING now.
        """

    async def end_run(self, run: RunId, state: RunState, now: float, error: str = "") -> bool:
        """Finish the rows and end the run, in one transaction. False when it had already ended."""

    async def crash_run(self, run: RunId, error: str, now: float, pause_s: float, attempts: int) -> RunState | None:
        """Record a crash of a RUNNING run: back to QUEUED after a pause, or FAILED when its attempts are used up."""

    async def resume_run(self, run: RunId, now: float, time_limit_s: float | None = None) -> Run | None:
        """Queue an INTERRUPTED run again, and give any run that has not ended its full time limit, or this new one.

        None when the run has ended.
        """

    def leader_lock(self, task: str) -> AbstractAsyncContextManager[bool]:
        """Leader election: True when this process may do the task now. Held until the block ends."""

    async def claim(
        self, run: RunId, worker: WorkerId, limit: int, now: float, lease_s: float, closed_hosts: Collection[str] = ()
    ) -> list[Lease]:
        """Lease QUEUED rows that are due, in `seq` order, to this worker, and raise their fencing tokens."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Write verdicts and effects where the fencing token still matches. False for each rejected settlement."""

    async def renew(self, leases: Sequence[Lease], until: float) -> int:
        """Renew these leases, as far as they are still held. Returns how many are.

        Leases are listed one by one: a claim whose response was lost leaves rows leased to a worker that does not know of
        them, and those must expire.
        """

    async def release(self, run: RunId, now: float, worker: WorkerId | None = None) -> int:
        """Return leases to QUEUED and end reservations of prefetched rows: a worker's own, or (None) all that have expired."""

    async def prefetch_facts(self, run: RunId, now: float, patterns: Collection[str]) -> PrefetchFacts | None:
        """The facts from which the rows to fetch ahead of their admission are chosen; None when the run is not RUNNING.

        They hold the yields of these URL patterns and of those of the candidates.
        """

    async def start_prefetches(
        self, run: RunId, worker: WorkerId, targets: Sequence[PrefetchTarget], now: float, lease_s: float
    ) -> list[Lease]:
        """Reserve URLs for this worker, which fetches them ahead: their rows can be claimed only by it while the lease holds.

        Returns a provisional lease, without seq and token, of each URL that is free and still to be admitted.
        """

    async def renew_prefetches(self, run: RunId, worker: WorkerId, until: float) -> None:
        """Extend the reservations of a worker."""

    async def end_prefetches(self, run: RunId, worker: WorkerId, ended: Collection[Url], *, are_used: bool) -> None:
        """End these reservations, whose results are used now or were dropped. What was dropped is counted."""

    async def queue_stats(self, run: RunId, now: float) -> QueueStats:
        """Queue counts of a run: ready, waiting for a retry, in progress."""

    async def open_wave(self, run: RunId, wave: int, plan: Plan) -> WaveOpened | None:
        """Merge, admit and trap as `plan` decides, if `wave` is still current and has settled; else None."""

    async def canonical_claims(self, run: RunId, wave: int) -> list[tuple[UrlRow, UrlRow]]:
        """Pairs of pages of this wave with a canonical link between them and different content."""

    async def finish_rows(self, run: RunId, now: float) -> None:
        """At the end of a run: skip rows that were never admitted (budget), and resolve the targets of redirect aliases."""

    async def row(self, run: RunId, url: Url) -> UrlRow | None:
        """One row of a run."""

    def rows(
        self, run: RunId, state: UrlState | None = None, sitemaps: bool = False, media: bool = False
    ) -> AsyncIterator[UrlRow]:
        """All rows sorted by key; sitemap rows only if `sitemaps`, media rows only if `media`."""

    async def counts(self, run: RunId) -> RunCounts:
        """Statistics of a run; sitemap rows count only in `sitemaps`, media rows only in `media`."""

    async def documents(self, run: RunId, limit: int) -> list[BlobKey]:
        """Documents of the run's pages; an even sample if there are more than `limit`."""

    async def create_run_once(
        self,
        key: IdempotencyKey,
        site: str,
        settings: CrawlSettings,
        offers: Sequence[Offer],
        now: float,
    ) -> IdempotentRun:
        """The run created under this idempotency key within the last day, or a new one."""

    async def list_runs(self, listing: RunListing) -> tuple[list[Run], int]:
        """A page of the runs, and the total."""

    async def count_runs(self, text: str = "") -> dict[str, int]:
        """The number of the tenant's runs in each state, of sites whose name contains the text."""

    async def list_run_urls(self, run: RunId, listing: UrlListing) -> tuple[list[UrlRow], int]:
        """A page of a run's URLs, and the total; without sitemap rows."""

    async def url_facets(self, run: RunId, listing: UrlListing) -> UrlFacets:
        """Counts of the URLs that pass the other filters of a list, by state, by skip reason and by cause of error."""

    async def found_urls(self, run: RunId, limit: int) -> list[FoundUrl]:
        """The URLs and sitemaps of a run in the order in which they were found, each after its parent if that is a page."""
        ...

    async def page_neighbours(self, run: RunId, url: Url) -> PageNeighbours:
        """The pages of a run before and after a page in the order of admission."""

    async def page_aliases(self, run: RunId, url: Url, limit: int) -> list[PageAlias]:
        """The URLs of a run that lead to a page, by URL."""

    async def host_progress(self, run: RunId, limit: int) -> list[HostProgress]:
        """The hosts of a run with their URLs by state, those with most URLs first."""

    async def delete_run(self, run: RunId) -> bool:
        """Delete a run and its rows; the pages of its site stay. False when the run does not exist or has not ended."""

    async def delete_site(self, site: SiteId) -> bool:
        """Delete a site with its runs, pages, versions, links and index. False when it is missing or a run has not ended."""

    async def delete_tenant(self) -> bool:
        """Delete the tenant with everything of it. False when it is missing or has an active run."""

    async def delete_versions(self, ended_before: float) -> int:
        """Delete some versions of pages that ended before this time. Returns how many; 0 when none is left."""

    async def runs_to_expire(self, ended_before: float) -> list[RunId]:
        """Runs that ended before this time, oldest first, without the latest run of each site."""

    async def site_named(self, name: str) -> SiteId | None:
        """The id of the tenant's site of this name."""

    async def events(self, after: int, limit: int, run: RunId | None = None) -> list[StoredEvent]:
        """The next stored events of the tenant, or of one run, after this id, oldest first."""

    def blob_references(self) -> AsyncIterator[set[BlobKey]]:
        """All keys of blobs that rows refer to, in parts; a key may be in several of them."""

    def edges(self, run: RunId) -> AsyncIterator[Edge]:
        """All URLs with the page on which each was first found, sorted by key."""

    def sketches(self, run: RunId) -> AsyncIterator[PageSketch]:
        """All kept pages with the sketches of their text, sorted by key."""

    async def replace_documents(self, run: RunId, pages: Sequence[ReprocessedPage]) -> None:
        """Store the results of reprocessing for pages whose document is still the one that was read. States stay."""

    async def inlinks(self, site: SiteId, url: Url, limit: int = 1_000) -> list[LinkBetweenPages]:
        """Links to a URL from the current versions of the site's pages that were stored first, by source and position."""

    async def outlinks(self, site: SiteId, url: Url, limit: int = 1_000) -> list[LinkBetweenPages]:
        """Links of the current version of a page, in page order."""

    def links(self, site: SiteId) -> AsyncIterator[LinkColumns]:
        """All links of the current versions of the site's pages that are kept, in parts, each page's in page order."""

    async def changed_versions(self, site: SiteId, since: float, until: float) -> list[ChangedVersion]:
        """Pages whose content at the end of the period differs from that before it, by URL."""

    async def gone_pages(self, site: SiteId, since: float, until: float) -> list[GonePage]:
        """Pages that were found to be gone in the period, by URL."""

    async def returned_pages(self, site: SiteId, since: float, until: float) -> list[ReturnedPage]:
        """Pages that were gone, and were found to exist again in the period, by URL."""

    async def page_history(self, site: SiteId, url: Url) -> list[PageVersion]:
        """All stored versions of a page, the current one first."""

    def page_versions(self, site: SiteId) -> AsyncIterator[PageVersion]:
        """The current versions of a site's pages, sorted by key."""

    async def known(self, site: SiteId, url: Url) -> KnownPage | None:
        """What earlier visits stored about a URL."""

    async def save_robots(self, file: RobotsFile) -> None:
        """Store a robots.txt as received."""

    async def robots(self, origin: str) -> RobotsFile | None:
        """The last robots.txt received from this origin."""

    async def close(self) -> None:
        """Close the database connections."""


PresenceCheck: TypeAlias = "Callable[[RunOutcome], PresenceChanges]"
"""The decision after a run (`frontier/presence.py`): which pages are gone. A pure function, called inside a transaction."""


class SearchIndex(Protocol):
    """The search index: chunks, their terms and vectors. One call is one transaction."""

    def for_tenant(self, tenant: TenantId) -> SearchIndex:
        """The search index of another tenant in the same database."""

    def recording(self, entry_for: EntryFor) -> SearchIndex:
        """These pages, whose next change goes into the audit log in the same transaction."""

    async def site_stats(self, model: str = "") -> list[SiteIndexStats]:
        """Index statistics of all sites of the tenant, by name."""

    async def check_presence(self, site: SiteId, decide: PresenceCheck, now: float) -> list[PresenceChanges]:
        """Decide for every run of the site that ended since the last call which pages are gone; their chunks are deleted."""

    async def release_held(self, site: SiteId, now: float, *, agreed: bool) -> int:
        """Resolve a mass deletion that was held back: delete the pages (agreed), or keep them. Returns how many."""

    def sketches(self, site: SiteId) -> AsyncIterator[PageSketch]:
        """All searchable pages of the site with the sketches of their text, sorted by key."""

    async def open_epoch(self, site: SiteId, epoch: str) -> None:
        """Set the chunking epoch of a site; pages indexed in another epoch wait to be indexed again."""

    async def pages_to_index(self, site: SiteId, limit: int, after: str = "") -> list[PageToIndex]:
        """Pages whose chunks are out of date, by URL, starting after `after`."""

    async def keep_chunks(self, site: SiteId, epoch: str, kept: Sequence[PageToIndex]) -> None:
        """Note that the chunks of these pages are those that the settings of this epoch give."""

    async def write_pages(self, site: SiteId, epoch: str, pages: Sequence[IndexedPage]) -> IndexWritten:
        """Replace the chunks of these pages; chunks with an unchanged id keep their number and vector.

        A page that has changed since, or is gone, is skipped.
        """

    async def forget(self, site: SiteId) -> None:
        """Delete all chunks of the site; the index can be rebuilt from the pages."""

    async def chunk_table(self, site: SiteId) -> ChunkTable:
        """All live chunks of a site, as columns of numbers."""

    async def postings(self, site: SiteId, terms: Collection[str]) -> dict[str, list[bytes]]:
        """The packed `Postings` of terms in ascending order of chunk numbers; they may still contain deleted chunks."""

    async def terms(self, site: SiteId, prefix: str, limit: int) -> list[tuple[str, int]]:
        """The terms that begin like this with the number of chunks that contain each, the most frequent first."""

    async def chunk_records(self, site: SiteId, numbers: Sequence[int]) -> list[ChunkRecord]:
        """The records of these chunks in the given order, without chunks that must not be shown."""

    async def pages_pending_deletion(self, site: SiteId, named: Collection[Url]) -> list[HeldPage]:
        """Indexed pages whose deletion waits for a decision, and those of the named pages that are indexed."""

    async def page_chunks(self, site: SiteId, url: Url) -> list[ChunkRecord]:
        """The chunks of a page of the site, in page order; none when it is not indexed as it is now."""

    async def page(self, url: Url) -> StoredPage | None:
        """The tenant's page at this URL, even if it is gone; the most recently checked one if several sites have it."""

    async def texts_to_embed(self, model: str, limit: int, site: SiteId | None = None) -> list[TextToEmbed]:
        """Texts of live chunks that have no vector of this model, those of the most linked, then the newest pages first."""

    async def without_vector(self, model: str, hashes: Collection[str]) -> set[str]:
        """Those of these text hashes that have no vector of this model now."""
        ...

    async def put_vectors(self, model: str, vectors: Sequence[tuple[str, bytes]]) -> None:
        """Store vectors by text hash, as little-endian float16 of unit length."""

    async def nearest(
        self, site: SiteId, model: str, query: bytes, limit: int, also: Collection[int] = (), among: bytes | None = None
    ) -> Similarities:
        """The nearest live chunks to a float32 vector, exactly, and those in `also`. `among`: only these (packed uint32)."""


class Embedder(Protocol):
    """An embedding model: text to vectors of unit length."""

    @property
    def model(self) -> str:
        """The name under which vectors are stored: vectors of different models are never compared."""

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Embed passages, as little-endian float16."""

    async def embed_query(self, text: str) -> bytes:
        """Embed a query, as little-endian float32."""

    async def close(self) -> None:
        """Release the model."""


class Reranker(Protocol):
    """A model that reads a query and a text together, which is exact and slow: only the best results are scored."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, between 0 and 1."""


# Audits


class AuditStore(Protocol):
    """Findings of a tenant's sites with their life over runs, audits of runs, and insights. One call is one transaction."""

    def for_tenant(self, tenant: TenantId) -> AuditStore:
        """The audits of another tenant in the same database."""

    def recording(self, entry_for: EntryFor) -> AuditStore:
        """These audits, whose next change goes into the audit log in the same transaction."""

    async def request(self, site: SiteId) -> AuditRecord | None:
        """Queue an audit of the latest completed run of a site, also again. None when a later run was audited, or none."""

    async def claim(self, run: RunId, now: float, lease_until: float) -> bool:
        """Begin an audit of a run. False when another process audits the site, or audited a newer run."""

    async def skip(self, run: RunId) -> None:
        """Forget a waiting audit that would come after that of a newer run."""

    async def report(self, run: RunId, phase: AuditPhase, pages: int, lease_until: float) -> None:
        """Store the progress of an audit, and renew its lease."""

    async def finish(
        self,
        run: RunId,
        score: AuditScore | None,
        is_complete: bool,
        figures: Mapping[str, Any],
        now: float,
    ) -> AuditRecord:
        """Store the result of an audit with its insights (`figures`, values that JSON can hold)."""

    async def fail(self, run: RunId, error: str, now: float, attempts: int) -> None:
        """Let an audit that crashed wait for another attempt, or fail it after this many."""

    async def audit(self, run: RunId) -> AuditRecord | None:
        """The audit of a run."""

    async def audits(self, site: SiteId, limit: int) -> list[AuditRecord]:
        """The audits of a site, that of the newest run first."""

    async def insights(self, run: RunId) -> dict[str, Any]:
        """The insights of a run by name; empty when it was not audited."""

    async def settings(self, site: SiteId) -> dict[str, Any]:
        """The options of a site's audits, else those of the tenant; empty without any."""

    async def save_settings(self, site: SiteId, options: Mapping[str, Any]) -> None:
        """Store the options of a site's audits; `SiteId(0)`: those of all sites without options of their own."""

    async def record_search(
        self,
        site_ids: Iterable[SiteId],
        text: CleanText,
        *,
        has_results: bool,
        is_weak: bool,
        now: float,
        kept_since: float,
    ) -> None:
        """Count a search of these sites in the search log, and delete queries that were last made before `kept_since`."""

    async def delete_searches(self, site: SiteId, before: float) -> None:
        """Delete the queries of a site that were last made before this time."""

    async def search_log(self, site: SiteId, limit: int) -> SearchLog:
        """The number of searches of a site, and the queries that most often had no good result."""

    async def sample_vectors(self, site: SiteId, model: str, limit: int) -> VectorSample:
        """Texts of live chunks that have an embedding of this model, each once, at most `limit` in a stable order."""

    async def findings_with_keys(self, site: SiteId, keys: Collection[str]) -> list[FindingRecord]:
        """The stored findings with these keys."""

    async def unseen_findings(self, site: SiteId, run: str, after: str) -> list[FindingRecord]:
        """The next findings by key that are not resolved and that a run did not have; none after the last."""

    async def save_findings(self, site: SiteId, records: Sequence[FindingRecord]) -> None:
        """Store findings, new ones and those that have changed."""

    async def finding(self, site: SiteId, key: str) -> FindingRecord | None:
        """The finding with this key."""

    async def list_findings(self, site: SiteId, listing: FindingListing) -> tuple[list[FindingRecord], int]:
        """A page of the findings of a site, the worst first, and how many match."""

    async def findings_by_status(self, site: SiteId, listing: FindingListing) -> dict[FindingStatus, int]:
        """How many findings pass the other filters of a list, by status."""

    async def findings_by_rule(self, site: SiteId, listing: FindingListing, run: str) -> list[RuleFindings]:
        """The findings of a list by rule, the worst first. `run`: the one whose new findings are counted."""

    async def ignores(self, site: SiteId) -> list[Ignore]:
        """All decisions to ignore findings of a site."""

    async def ignore(self, site: SiteId, decision: Ignore) -> int:
        """Store a decision, and apply it to the findings that it covers. Returns how many these are."""

    async def stop_ignoring(self, site: SiteId, decision: Ignore) -> int:
        """Delete a decision, and open the findings that it covered again. Returns how many these are."""

    async def open_expired(self, site: SiteId, now: float) -> None:
        """Open ignored findings again whose time is over."""

    async def url_checks(self, site: SiteId, urls: Collection[str]) -> dict[str, tuple[ExternalCheck, ...]]:
        """The checks of these URLs of other sites, the oldest first; URLs that were never checked are left out."""

    async def save_url_checks(self, site: SiteId, checks: Mapping[str, Sequence[ExternalCheck]]) -> None:
        """Store the checks of URLs, in place of those before."""

    async def llms_txt(self, site: SiteId) -> LlmsTxt | None:
        """The file `/llms.txt` of a site as it was last received; None when it was never requested."""

    async def save_llms_txt(self, site: SiteId, file: LlmsTxt) -> None:
        """Store the file `/llms.txt` of a site."""
