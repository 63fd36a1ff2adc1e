"""All interfaces (Protocols), named by role.

Implemented by: `fetch` (`Fetcher`, `Renderer`, `Robots`), `frontier` (`HostGate` for one process) and `store` (for many),
`crawl` (`Reader`, a pool of extraction processes), `index` (`Embedder`), `store` (`Ledger`, `SearchIndex`, `Blobs`, `Notifier`,
`Events`). The composition root chooses the implementations.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sitelore.model.document import Blob, Reading, ReadOptions, SitemapReading
from sitelore.model.frontier import (
    KnownPage,
    Lease,
    Offer,
    PageSketch,
    QueueStats,
    ReprocessedPage,
    Run,
    RunCounts,
    RunEvent,
    Settlement,
    UrlRow,
    WaveFacts,
    WaveOpened,
    WavePlan,
)
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, RunId, SiteId, WorkerId
from sitelore.model.listing import Edge, IdempotencyKey, IdempotentRun, RunListing, UrlListing
from sitelore.model.rendering import Rendered, RenderFailure, RenderRequest
from sitelore.model.response import Failure, Fetched, Request, Response, RobotsFile, RobotsVerdict
from sitelore.model.settings import CrawlSettings, Pace
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url

if TYPE_CHECKING:  # two dozen classes, which a crawl has no use for
    from sitelore.model.search import (
        ChunkRecord,
        ChunkTable,
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

Clock = Callable[[], float]
"""Seconds since the epoch. Injected, so that tests own time."""


class Fetcher(Protocol):
    """Url → Response. Every connection is judged by the address guard; redirects are never followed."""

    async def fetch(self, request: Request) -> Fetched:
        """One GET; failures come back as data."""
        ...

    async def close(self) -> None:
        """End all connections."""
        ...


class Renderer(Protocol):
    """Url → the page as a browser shows it. Every request the browser makes is judged by the address guard."""

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """Open the page, wait until it has settled, read it; failures come back as data. A crashed browser is started anew."""
        ...

    async def close(self) -> None:
        """Forget the run's cookies and pages. The browser itself belongs to the house."""
        ...


class Robots(Protocol):
    """robots.txt of every host met, fetched once, remembered."""

    async def judge(self, url: Url) -> RobotsVerdict:
        """May this URL be fetched? Fetches the host's robots.txt when it is not known or too old."""
        ...


@dataclass(frozen=True, slots=True)
class Feedback:
    """How a host took a request."""

    elapsed_s: float
    status: int | None = None
    failure: Failure | None = None
    retry_after_s: float | None = None


class HostGate(Protocol):
    """Politeness: one atomic step that answers "may I, and if not, when?"."""

    async def enter(self, host: str, pace: Pace) -> float:
        """0.0: go, a slot is taken. Otherwise the seconds after which asking again is worthwhile."""
        ...

    def sent(self, host: str) -> None:
        """The request leaves only now (a connection had to be made first): the gap counts from here."""
        ...

    async def leave(self, host: str, pace: Pace, feedback: Feedback) -> None:
        """Give the slot back and let the pace adapt."""
        ...

    async def ask_for_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        """The host asked for a gap between requests (robots.txt Crawl-delay); honoured up to the pace's cap."""
        ...

    async def closed_hosts(self) -> Collection[str]:
        """Hosts that will take no request for a while; their rows are better left unclaimed."""
        ...


class Reader(Protocol):
    """Response → Reading, in another process, bounded in time and memory."""

    async def read(self, response: Response, options: ReadOptions) -> Reading:
        """Redact, parse and extract a page."""
        ...

    async def read_sitemap(self, response: Response, options: ReadOptions | None = None) -> SitemapReading:
        """Parse a sitemap, sitemap index, text list or feed; with `options`, a declared collection of an API as well."""
        ...

    async def close(self) -> None:
        """End the processes."""
        ...


class Blobs(Protocol):
    """Content-addressed bytes. Putting the same key twice is harmless."""

    async def put(self, blobs: Sequence[Blob]) -> None:
        """Store compressed blobs; on return they survive a crash of the process."""
        ...

    async def get(self, key: BlobKey) -> bytes:
        """The uncompressed bytes; KeyError when there are none."""
        ...


class Subscription(Protocol):
    """One listener's ear. What was rung while nobody waited is kept, once for each run."""

    async def wait(self, timeout_s: float) -> bool:
        """Until it rings, or this long."""
        ...


class Notifier(Protocol):
    """Hints that asking the ledger is worthwhile. A lost or doubled one costs time, never work."""

    async def notify(self, run: RunId) -> None:
        """There may be something to do for this run. Never fails."""
        ...

    def subscribe(self, run: RunId | None = None) -> AbstractAsyncContextManager[Subscription]:
        """A bell that rings for this run, or for any."""
        ...


class Events(Protocol):
    """What happens to runs, told to whoever is watching at that moment. Nothing is kept."""

    async def publish(self, event: RunEvent) -> None:
        """Tell it. Never fails, never waits for a watcher."""
        ...

    def follow(self, run: RunId) -> AbstractAsyncContextManager[AsyncIterator[RunEvent]]:
        """Events of this run from now on; a watcher that is too slow misses the oldest."""
        ...


Plan = Callable[[WaveFacts], WavePlan]
"""The pure decision between two waves (`frontier/waves.py`); the ledger runs it inside its transaction."""


class Ledger(Protocol):
    """The frontier and everything known of a site, durable. One call is one transaction."""

    async def create_run(
        self, site: str, settings: CrawlSettings, offers: Sequence[Offer], now: float, tenant: str = DEFAULT_TENANT
    ) -> Run:
        """A new QUEUED run of the tenant's site of this name (made when it is new), with its first offers."""
        ...

    async def run(self, run: RunId) -> Run | None:
        """The run of this id."""
        ...

    async def runs(self, limit: int = 100) -> list[Run]:
        """Runs, newest first."""
        ...

    async def move_run(self, run: RunId, state: RunState, now: float, error: str = "") -> bool:
        """Start or end a run; False when it is not in a state that may move there."""
        ...

    async def begin_run(self, run: RunId, now: float) -> bool:
        """QUEUED to RUNNING, if its pause is over and no other run of the site is RUNNING. True when it is RUNNING now."""
        ...

    async def end_run(self, run: RunId, state: RunState, now: float, error: str = "") -> bool:
        """Finish the rows and end the run, together. False when it had ended already."""
        ...

    async def crash_run(self, run: RunId, error: str, now: float, pause_s: float, attempts: int) -> RunState | None:
        """Something of ours failed on a RUNNING run: back to QUEUED for a while, or FAILED when these were its attempts."""
        ...

    async def workable_runs(self, limit: int, now: float) -> list[Run]:
        """Runs that a worker may work on: RUNNING ones without a worker, of each site without one the first QUEUED one
        (sites take turns), then RUNNING ones that others work on.
        """
        ...

    async def running_runs(self) -> list[Run]:
        """Every RUNNING run, oldest first."""
        ...

    def leader_lock(self, task: str) -> AbstractAsyncContextManager[bool]:
        """Whether this task is ours to do now: no two processes have the turn at once. It ends with the block."""
        ...

    async def claim(
        self, run: RunId, worker: WorkerId, limit: int, now: float, lease_s: float, closed_hosts: Collection[str] = ()
    ) -> list[Lease]:
        """QUEUED rows that are due, in `seq` order, leased to this worker with a raised token."""
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Write verdicts and effects where the token still matches. False for each that was fenced off."""
        ...

    async def renew(self, leases: Sequence[Lease], until: float) -> int:
        """Prolong these leases, as far as they are still held. Gives how many are.

        Leases are named one by one: a claim whose answer was lost leaves rows leased to a worker that does not know of
        them, and they must run out.
        """
        ...

    async def release(self, run: RunId, now: float, worker: WorkerId | None = None) -> int:
        """Put leases back to QUEUED: a worker's own, or (None) every one that has run out."""
        ...

    async def queue_stats(self, run: RunId, now: float) -> QueueStats:
        """Is there work, and if not now, when."""
        ...

    async def open_wave(self, run: RunId, wave: int, plan: Plan) -> WaveOpened | None:
        """Merge, admit and trap as `plan` says, if `wave` is still the current one and has settled; else None."""
        ...

    async def canonical_claims(self, run: RunId, wave: int) -> list[tuple[UrlRow, UrlRow]]:
        """Pages of this wave that name, or are named as, another kept page's canonical, with different content."""
        ...

    async def finish_rows(self, run: RunId, now: float) -> None:
        """At the end of a run: what was never admitted is SKIPPED (budget), redirect aliases learn how their target ended."""
        ...

    async def row(self, run: RunId, url: Url) -> UrlRow | None:
        """One row."""
        ...

    def rows(self, run: RunId, state: UrlState | None = None, sitemaps: bool = False) -> AsyncIterator[UrlRow]:
        """All rows sorted by key; sitemap rows only when asked for."""
        ...

    async def counts(self, run: RunId) -> RunCounts:
        """The run in numbers; sitemap rows count in `sitemaps` alone."""
        ...

    async def documents(self, run: RunId, most: int) -> list[BlobKey]:
        """Documents of the run's pages, evenly chosen where there are more than `most`."""
        ...

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
        ...

    async def list_runs(self, listing: RunListing) -> tuple[list[Run], int]:
        """A page of the runs, and how many there are in all."""
        ...

    async def runs_by_state(self) -> dict[str, int]:
        """How many runs stand where."""
        ...

    async def list_rows(self, run: RunId, listing: UrlListing) -> tuple[list[UrlRow], int]:
        """A page of a run's URLs, and how many there are in all; sitemap rows are not among them."""
        ...

    def edges(self, run: RunId) -> AsyncIterator[Edge]:
        """Every URL with the page it was first found on, sorted by key."""
        ...

    def sketches(self, run: RunId) -> AsyncIterator[PageSketch]:
        """Every kept page with the sketch of its text, sorted by key."""
        ...

    async def replace_documents(self, run: RunId, pages: Sequence[ReprocessedPage]) -> None:
        """What pages say after being read again, where they still say what was read before. States stay."""
        ...

    async def known(self, site: SiteId, url: Url) -> KnownPage | None:
        """What earlier visits left about a URL."""
        ...

    async def save_robots(self, file: RobotsFile) -> None:
        """Remember a robots.txt as received."""
        ...

    async def robots(self, origin: str) -> RobotsFile | None:
        """The robots.txt last received from this origin."""
        ...

    async def close(self) -> None:
        """Give the database back."""
        ...


PresenceCheck: TypeAlias = "Callable[[RunOutcome], PresenceChanges]"
"""The pure decision after a run (`frontier/presence.py`): which pages are gone. The store runs it inside its transaction."""


class SearchIndex(Protocol):
    """Chunks, their words and their vectors, beside the pages they were made from. One call is one transaction."""

    async def site_stats(self, tenant: str | None, model: str = "") -> list[SiteIndexStats]:
        """Every site of the tenant (None: of all), by name, in numbers."""
        ...

    async def check_presence(self, site: SiteId, decide: PresenceCheck, now: float) -> list[PresenceChanges]:
        """Let every run of the site that ended since the last time say which pages are gone; their chunks go with them."""
        ...

    async def release_held(self, site: SiteId, now: float, *, agreed: bool) -> int:
        """Pages that look gone and were held: drop them (agreed), or keep them. Gives how many."""
        ...

    def sketches(self, site: SiteId) -> AsyncIterator[PageSketch]:
        """Every page of the site that is searched, with the sketch of its text, sorted by key."""
        ...

    async def open_epoch(self, site: SiteId, epoch: str) -> None:
        """From now on chunks are made this way: pages whose chunks were made otherwise wait to be indexed again."""
        ...

    async def pages_to_index(self, site: SiteId, limit: int, after: str = "") -> list[PageToIndex]:
        """Pages whose chunks do not say what the page says, by URL, from the one after `after` on."""
        ...

    async def write_pages(self, site: SiteId, epoch: str, pages: Sequence[IndexedPage]) -> IndexWritten:
        """Put these chunks in the place of those the pages had; chunks whose id stays keep their number and vector.

        A page that has changed since, or is gone, is left alone.
        """
        ...

    async def forget(self, site: SiteId) -> None:
        """Drop every chunk of the site: the index can always be made again from the pages."""
        ...

    async def chunk_table(self, site: SiteId) -> ChunkTable:
        """Every live chunk of a site, as numbers."""
        ...

    async def postings(self, site: SiteId, terms: Collection[str]) -> dict[str, list[bytes]]:
        """Where terms stand, as packed `Postings` in ascending order of numbers; chunks that are gone may still be among
        them.
        """
        ...

    async def chunk_records(self, site: SiteId, numbers: Sequence[int]) -> list[ChunkRecord]:
        """These chunks as far as they may be shown, in the order asked for."""
        ...

    async def page(self, tenant: str, url: Url) -> StoredPage | None:
        """The tenant's page of this address, also one that is gone; the one looked at last where several sites have it."""
        ...

    async def texts_to_embed(self, model: str, limit: int, site: SiteId | None = None) -> list[TextToEmbed]:
        """Texts of live chunks that have no vector of this model."""
        ...

    async def put_vectors(self, model: str, vectors: Sequence[tuple[str, bytes]]) -> None:
        """Vectors by text hash, as little-endian float16 of unit length."""
        ...

    async def likeness(
        self, site: SiteId, model: str, query: bytes, limit: int, also: Collection[int] = (), among: bytes | None = None
    ) -> Similarities:
        """The nearest live chunks to a float32 vector, exactly, and those in `also`. `among`: only these (packed uint32)."""
        ...


class Embedder(Protocol):
    """Text → a vector of unit length."""

    @property
    def model(self) -> str:
        """What vectors are kept under: vectors of different models are never compared."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Passages, as little-endian float16."""
        ...

    async def embed_query(self, text: str) -> bytes:
        """A question, as little-endian float32."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...
