"""Types of the frontier: offers, leases, verdicts, settlements, rows, runs and their events, wave plans, and lists of these."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from sitelore.model.document import Blob
from sitelore.model.ids import NO_TEXT, BlobKey, CleanText, RunId, SiteId, TenantId, WorkerId
from sitelore.model.platform.media import KnownMedia, MediaUpdate, ShownMedia
from sitelore.model.response import RenderNote, RenderReason, SiteRendering, StoredHead
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import Proof, RunState, SkipReason, UrlState
from sitelore.model.url import Url


class RowKind(StrEnum):
    """Whether a row is visited as a page, as a sitemap, or as a media file of pages."""

    PAGE = "page"
    SITEMAP = "sitemap"
    MEDIA = "media"


class Source(StrEnum):
    """How a URL was discovered."""

    SEED = "seed"
    REDIRECT = "redirect"
    SITEMAP = "sitemap"
    LINK = "link"
    CANONICAL = "canonical"
    MEDIA = "media"
    """A page shows it."""


SOURCE_RANK = {
    Source.SEED: 0, Source.REDIRECT: 0, Source.SITEMAP: 0, Source.LINK: 1, Source.CANONICAL: 2, Source.MEDIA: 3,
}  # fmt: skip
"""The order in which offers of equal depth are admitted."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect: the redirecting URL and its status."""

    url: Url
    status: int


@dataclass(frozen=True, slots=True)
class Offer:
    """A URL proposed to the frontier. Offers of one URL merge by the minimum of `rank`, so their order does not matter."""

    url: Url
    depth: int
    source: Source
    parent: Url | None = None
    parent_seq: int = 0
    position: int = 0
    kind: RowKind = RowKind.PAGE
    refusal: SkipReason | None = None
    """Decided when offered (scope, nofollow, depth …): the row is SKIPPED unless a better offer arrives."""
    detail: str = ""
    pattern: str = ""
    """Its URL pattern (`frontier/url_pattern.py`)."""
    lastmod: float | None = None
    chain: tuple[Hop, ...] = ()
    """Redirects that led here; the last one is the redirecting URL."""

    @property
    def rank(self) -> tuple[int, int, int, int, int]:
        """The smallest rank wins: admissible before refused, then breadth first in page order."""
        return (self.refusal is not None, self.depth, SOURCE_RANK[self.source], self.parent_seq, self.position)


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What an earlier visit stored about this URL."""

    fetched_at: float
    content_hash: str
    novelty: str
    document: BlobKey
    etag: str | None = None
    last_modified: str | None = None
    lastmod: float | None = None
    title: CleanText = NO_TEXT
    canonical: Url | None = None
    snapshot: BlobKey | None = None
    word_count: int = 0
    noindex: bool = False
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    sketch: bytes = b""
    volatile: bytes = b""
    """Places in which the page differs between fetches without having changed (`extract/changes.py`)."""
    render_reason: RenderReason | None = None
    """Why a browser rendered the page, or should have; None for ordinary HTTP pages."""
    screenshot: BlobKey | None = None
    """Of a file of the media store (`screenshot_key`), or of a blob where an older version took it."""

    def unchanged(self) -> PageUpdate:
        """What a visit stores that keeps the page as it is."""
        return PageUpdate(
            title=self.title,
            content_hash=self.content_hash,
            novelty=self.novelty,
            document=self.document,
            canonical=self.canonical,
            snapshot=self.snapshot,
            word_count=self.word_count,
            noindex=self.noindex,
            etag=self.etag,
            last_modified=self.last_modified,
            content_type=self.content_type,
            headers=self.headers,
            sketch=self.sketch,
            volatile=self.volatile,
            render=None if self.render_reason is None else RenderNote(self.render_reason),
            screenshot=self.screenshot,
        )


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to visit one row until it expires or the row is claimed with a higher fencing token."""

    run: RunId
    url: Url
    token: int
    """The fencing token: raised with every claim, so that a settlement with an older one is rejected."""
    depth: int
    seq: int
    kind: RowKind
    attempts: int
    """Earlier attempts in this run."""
    source: Source = Source.LINK
    chain: tuple[Hop, ...] = ()
    lastmod: float | None = None
    known: KnownPage | None = None
    wave: int = 0
    """The wave that admitted the row. A worker that knows an older wave must reload the run before the visit."""
    known_media: KnownMedia | None = None
    """What is known of a media URL."""
    url_id: int = 0
    """The id of the URL within its site."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a visit: a terminal state, or QUEUED with `retry_at`."""

    state: UrlState
    status_code: int | None = None
    skip_reason: SkipReason | None = None
    detail: str = ""
    """An explanation for people: the robots line, the trap's URL pattern, the content type."""
    error: str = ""
    """`code: sentence`, the code from `Failure` or `redirect_loop`, `too_many_redirects`, `http_error`, `parse_error` …"""
    retry_at: float | None = None


@dataclass(frozen=True, slots=True)
class PageUpdate:
    """What a visit stores about a page; it becomes the `KnownPage` of that URL."""

    title: CleanText
    content_hash: str
    novelty: str
    document: BlobKey
    canonical: Url | None = None
    snapshot: BlobKey | None = None
    word_count: int = 0
    noindex: bool = False
    etag: str | None = None
    last_modified: str | None = None
    content_type: str = ""
    """As sent, including the charset: extracting the stored snapshot again needs it."""
    identity: str = ""
    """The URL normalised by the site's identity options; empty where there are none."""
    headers: tuple[tuple[str, str], ...] = ()
    """Other headers that extraction depends on (`READ_HEADERS`), redacted."""
    sketch: bytes = b""
    volatile: bytes = b""
    render: RenderNote | None = None
    screenshot: BlobKey | None = None
    links: bytes = b""
    """`Reading.page_links`."""
    facts: bytes = b""
    """The compressed bytes of `Reading.facts`; empty when the run stores none."""
    redactions: dict[str, int] = field(default_factory=dict)
    """How often each redaction rule fired."""


@dataclass(frozen=True, slots=True)
class ReprocessedPage:
    """The new facts of a page extracted again from its snapshot; applied if the page's document is still `before`."""

    url: Url
    before: BlobKey
    facts: PageUpdate


@dataclass(frozen=True, slots=True)
class PageSketch:
    """A page and the sketch of its text."""

    url: Url
    sketch: bytes


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything a visit changes besides the state of its row. Written together with the verdict, in one transaction."""

    page: PageUpdate | None = None
    offers: tuple[Offer, ...] = ()
    alias_of: Url | None = None
    chain: tuple[Hop, ...] = ()
    blobs: tuple[Blob, ...] = ()
    redactions: dict[str, int] = field(default_factory=dict)
    fetched: bool = False
    """Whether a request for the URL itself was sent."""
    body_bytes: int = 0
    elapsed_s: float = 0.0
    changed: bool | None = None
    """Whether the content of a known page differs; None when the page was not known."""
    joins_host: str | None = None
    """An authority that comes into scope because a seed redirects to it."""
    response_head: StoredHead | None = None
    """The head of the response; None when there was none."""
    shown: tuple[ShownMedia, ...] | None = None
    """The media that the page shows now; None: as before."""
    media: MediaUpdate | None = None
    """What is stored about a media URL."""
    is_oversized_video: bool = False
    """The URL is a video larger than the run allows."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The result of a lease: the verdict and its effects."""

    lease: Lease
    verdict: Verdict
    effects: Effects = Effects()
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Tenant:
    """A customer whose sites, runs and pages no other tenant sees."""

    id: TenantId
    name: str
    created_at: float
    suspended_at: float | None = None
    """Since when its tokens are refused."""


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl of one site."""

    id: RunId
    tenant: TenantId
    site: SiteId
    site_name: str
    state: RunState
    settings: CrawlSettings
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    wave: int = 0
    depth: int = 0
    joined_hosts: tuple[str, ...] = ()
    """Authorities that a redirecting seed led to; they are in scope like those of the seeds."""
    error: str = ""
    wave_hosts: tuple[str, ...] = ()
    """`joined_hosts` when the wave opened: they define the scope of all visits of this wave."""
    attempts: int = 0
    """How often the run has crashed."""
    site_rendering: SiteRendering = field(default_factory=SiteRendering)
    """What was known about rendering the site when the run was created."""
    time_limit_from: float | None = None
    """When the time limit began to count: the start of the run, or of its continuation after it was resumed."""

    def is_out_of_time(self, now: float) -> bool:
        """Whether the time limit of the run has passed."""
        limit_s = self.settings.time_limit_s
        return limit_s is not None and self.time_limit_from is not None and now - self.time_limit_from > limit_s


@dataclass(frozen=True, slots=True)
class UrlRow:
    """One row of the frontier, as exports, `explain` and the API show it."""

    run: RunId
    url: Url
    kind: RowKind
    state: UrlState
    depth: int
    source: Source
    parent: Url | None = None
    seq: int | None = None
    wave: int | None = None
    pattern: str = ""
    status_code: int | None = None
    redirect_chain: tuple[Hop, ...] = ()
    final_url: Url | None = None
    proof: Proof | None = None
    title: CleanText = NO_TEXT
    content_hash: str = ""
    canonical: Url | None = None
    content_type: str = ""
    word_count: int = 0
    noindex: bool = False
    document: BlobKey | None = None
    snapshot: BlobKey | None = None
    etag: str | None = None
    last_modified: str | None = None
    skip_reason: SkipReason | None = None
    detail: str = ""
    error: str = ""
    attempts: int = 0
    fetches: int = 0
    """Requests sent for this row, over all attempts and recorded crashes."""
    retry_at: float | None = None
    claimed_by: WorkerId | None = None
    token: int = 0
    lastmod: float | None = None
    fetched_at: float | None = None
    elapsed_s: float | None = None
    body_bytes: int = 0
    changed: bool | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Headers besides the content type that extraction depends on."""
    render: RenderNote | None = None
    """Why a browser rendered the page, or should have; None for ordinary HTTP pages."""
    screenshot: BlobKey | None = None
    response_head: StoredHead | None = None
    """None when there was no response in this run, or an older version of Sitelore stored the row."""


@dataclass(frozen=True, slots=True)
class MediaCounts:
    """Statistics of the media of a run, or of all runs of a channel."""

    urls: int = 0
    """Media URLs that pages show, without videos that are not downloaded."""
    images: int = 0
    videos: int = 0
    documents: int = 0
    duplicates_skipped: int = 0
    """Files that were not stored, because the tenant had their content already."""
    unchanged: int = 0
    """Files that were not downloaded again, because they have not changed."""
    failed: int = 0
    videos_skipped_oversized: int = 0
    original_bytes: int = 0
    """Of the files that were stored, as they were received."""
    stored_bytes: int = 0
    """Of these files, as they are stored."""
    bandwidth_bytes: int = 0
    """Bytes received."""

    @property
    def total(self) -> int:
        """Files of any type."""
        return self.images + self.videos + self.documents

    @property
    def saved_bytes(self) -> int:
        """Bytes that compression saved."""
        return self.original_bytes - self.stored_bytes


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Statistics of a run. Media count in `media` only."""

    states: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    proofs: dict[str, int] = field(default_factory=dict)
    redactions: dict[str, int] = field(default_factory=dict)
    rendering: dict[str, int] = field(default_factory=dict)
    """Kept pages that a browser rendered, or should have, by reason."""
    urls: int = 0
    pages: int = 0
    fetched: int = 0
    changed: int = 0
    new: int = 0
    sitemaps: int = 0
    body_bytes: int = 0
    words: int = 0
    prefetch_unused: int = 0
    """Pages that were fetched ahead of their admission and not used."""
    media: MediaCounts = MediaCounts()


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Queue counts of a run."""

    ready: int = 0
    """Rows that can be claimed now."""
    waiting: int = 0
    """Rows that wait for their retry time."""
    in_progress: int = 0
    next_retry_at: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that the next wave could admit."""

    url: Url
    kind: RowKind
    depth: int
    pattern: str
    source_rank: int = 0
    parent_seq: int = 0


@dataclass(frozen=True, slots=True)
class KeptPage:
    """The facts about a kept page that merging needs."""

    url: Url
    seq: int
    content_hash: str
    canonical: Url | None = None
    identity: str = ""
    """The URL normalised by the site's identity options; empty where there are none."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A duplicate page, the page it merges into, and the proof."""

    url: Url
    into: Url
    proof: Proof


@dataclass(frozen=True, slots=True)
class PatternYield:
    """The yield of one URL pattern in this run: pages fetched, and how many of them had new content."""

    pages: int = 0
    """Rows of the pattern with a content hash, including those merged later."""
    distinct: int = 0
    """Distinct content hashes among them."""
    novel: int = 0
    """Distinct content hashes that ignore digits."""


@dataclass(frozen=True, slots=True)
class WaveFacts:
    """Everything that the plan of the next wave depends on. All of it has settled, so every process makes the same plan."""

    settings: CrawlSettings
    wave: int
    depth: int
    kept: int
    """Pages of the run before this wave's merges."""
    settled: tuple[KeptPage, ...] = ()
    """Pages of the wave that has just settled, by seq."""
    related: tuple[KeptPage, ...] = ()
    """Earlier pages that share content or a canonical link with a page in `settled`."""
    candidates: tuple[Candidate, ...] = ()
    """Rows of the smallest depth that is not admitted, best rank first (at most `CANDIDATES_PER_WAVE`)."""
    pattern_yields: dict[str, PatternYield] = field(default_factory=dict)
    """The yield of every URL pattern in `candidates`."""
    media: tuple[Candidate, ...] = ()
    """Media that pages show and that are not admitted, best rank first. They do not count towards the page limit."""
    media_admitted: int = 0
    """Media that were admitted so far."""


@dataclass(frozen=True, slots=True)
class WavePlan:
    """The result of planning a wave."""

    merges: tuple[Merge, ...] = ()
    admit: tuple[Url, ...] = ()
    """In order of admission: they get the next `seq` numbers."""
    trapped: tuple[tuple[Url, str], ...] = ()
    """Rows given up as traps, each with the reason."""
    exhausted: bool = False
    """The page budget is used up, and no media is left: the remaining rows are SKIPPED and the run may end."""


@dataclass(frozen=True, slots=True)
class WaveOpened:
    """The wave that is open now. `admitted` is 0 when the crawl is complete."""

    wave: int
    admitted: int = 0
    merged: int = 0
    trapped: int = 0


CANDIDATES_PER_WAVE = 2_000


@dataclass(frozen=True, slots=True)
class OpenRow:
    """An admitted row that has not settled."""

    depth: int
    seq: int
    kind: RowKind
    pattern: str


@dataclass(frozen=True, slots=True)
class PrefetchFacts:
    """The state of a run from which the rows to fetch ahead of their admission are chosen."""

    settings: CrawlSettings
    kept: int
    """Pages kept so far, before the merges of the open wave."""
    open_rows: tuple[OpenRow, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    """Rows that are not admitted, in order of admission; the first ones when there are many."""
    candidate_count: int = 0
    started: frozenset[Url] = frozenset()
    """Candidates that a worker has fetched ahead or is fetching."""
    bets: int = 0
    """How many of the rows fetched ahead may turn out to be beyond the page limit, and how many results were lost."""
    pattern_yields: dict[str, PatternYield] = field(default_factory=dict)
    """The yield of every URL pattern in `candidates`."""


@dataclass(frozen=True, slots=True)
class PrefetchTarget:
    """A URL to fetch ahead: a candidate, or a link of a page that was itself fetched ahead."""

    url: Url
    depth: int
    kind: RowKind = RowKind.PAGE
    is_bet: bool = False
    """The page limit may end the run before the URL is admitted."""


class LinkBetweenPages(NamedTuple):
    """A link of the current version of a page."""

    source: Url
    target: Url
    position: int
    """Its place among the links of the source."""
    text: CleanText = NO_TEXT
    fragment: str = ""
    nofollow: bool = False


class LinkColumns(NamedTuple):
    """Links as columns of equal length, those of `LinkBetweenPages`: a site has millions of links, too many for objects."""

    sources: list[Url]
    targets: list[Url]
    positions: list[int]
    texts: list[CleanText]
    fragments: list[str]
    nofollow: list[bool]


@dataclass(frozen=True, slots=True)
class PageVersion:
    """What a page was from `seen_at` to `ended_at`; the current version has no end."""

    url: Url
    seen_at: float
    ended_at: float | None
    document: BlobKey
    content_hash: str
    redactions: dict[str, int] = field(default_factory=dict)
    facts: bytes = b""
    """Its `AuditFacts` as JSON; empty when none were stored."""


class EventKind(StrEnum):
    """The kind of a run event."""

    STATE = "state"
    """The run changed its state: `facts` has `state` and, if there is one, `error`."""
    WAVE = "wave"
    """A wave opened: `facts` has `wave` and `admitted`."""
    PROGRESS = "progress"
    """A worker settled rows, at most once a second: `facts` has `worker`, and `settled`, `pages`, `fetched` since the last."""


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something that happened to a run, for watchers. Events are not stored; the ledger is the source of truth."""

    run: RunId
    kind: EventKind
    at: float
    facts: dict[str, str | int] = field(default_factory=dict)


class StoredEventKind(StrEnum):
    """The kind of a stored event."""

    RUN_STARTED = "run.started"
    RUN_ENDED = "run.ended"
    """The run completed, failed or was cancelled: `facts` has `state` and, if there is one, `error`."""
    PAGE_NEW = "page.new"
    PAGE_CHANGED = "page.changed"
    PAGE_GONE = "page.gone"
    DELETIONS_HELD = "deletions.held"
    """Too many pages look gone at once: `facts` has `held`, their number."""
    WEBHOOK_DISABLED = "webhook.disabled"
    """A webhook endpoint was disabled, in no run: `facts` has `endpoint` and `reason`."""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event for other systems, stored in the transaction that it reports (the outbox). Ids rise within a tenant."""

    id: int
    run: RunId
    kind: StoredEventKind
    at: float
    url: Url | None = None
    facts: dict[str, str | int] = field(default_factory=dict)


class UrlOrder(StrEnum):
    """The order of a list of URLs. Rows without the value come last in either direction."""

    ID = "id"
    """The order in which rows were admitted."""
    VISITED_AT = "visited_at"
    UPDATED_AT = "updated_at"
    """Equal to `visited_at`: a row changes when its visit is settled."""
    NORMALIZED_URL = "normalized_url"
    DEPTH = "depth"
    TITLE = "title"


@dataclass(frozen=True, slots=True)
class UrlListing:
    """A page of a run's URLs. An empty filter lets every URL pass."""

    states: frozenset[UrlState] = frozenset()
    order: UrlOrder = UrlOrder.ID
    descending: bool = False
    limit: int = 100
    offset: int = 0
    skip_reasons: frozenset[SkipReason] = frozenset()
    error: str = ""
    """The cause, which is the part of the error before its first colon."""
    text: str = ""
    """Part of the URL or of the title."""

    @property
    def is_unfiltered(self) -> bool:
        """Whether every URL passes."""
        return not (self.states or self.skip_reasons or self.error or self.text)


@dataclass(frozen=True, slots=True)
class UrlFacets:
    """How many URLs of a list have each state, skip reason and cause of error. Each ignores the filter on its own column."""

    states: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageNeighbours:
    """The pages of a run before and after a page in the order of admission."""

    previous: Url | None = None
    next: Url | None = None


@dataclass(frozen=True, slots=True)
class PageAlias:
    """Another URL of a page in a run: it redirected there, or had the same content."""

    url: Url
    state: UrlState
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class HostProgress:
    """How far a run is with the URLs of one host."""

    host: str
    states: dict[str, int]
    """Numbers of URLs by state."""
    retry_at: float | None = None
    """When the next URL that failed is tried again."""
    elapsed_s: float | None = None
    """Mean duration of its requests."""


class RunOrder(StrEnum):
    """The order of a list of runs. Runs without the value come last in either direction."""

    CREATED_AT = "created_at"
    FINISHED_AT = "finished_at"
    DURATION = "duration"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class RunListing:
    """A page of the runs. Empty `states`, `site` or `text`: all."""

    states: frozenset[RunState] = frozenset()
    site: str = ""
    oldest_first: bool = False
    limit: int = 100
    offset: int = 0
    text: str = ""
    """Only runs of sites whose name contains this."""
    order: RunOrder = RunOrder.CREATED_AT
    page: Url | None = None
    """Only runs with this page: those that read it, or found it unchanged."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A URL and the page on which it was first found."""

    parent: Url
    url: Url
    state: UrlState
    depth: int
    content_type: str = ""
    """The media type of the response, without parameters; empty where there was none."""


@dataclass(frozen=True, slots=True)
class FoundUrl:
    """A URL of a run, or a sitemap, with the id of the URL on which it was found first."""

    id: int
    parent: int | None
    url: str
    state: str
    depth: int
    content_type: str
    """The media type of the response, without parameters; empty where there was none."""
    is_sitemap: bool


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A caller's key for a request that must take effect once, and a fingerprint of that request."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class IdempotentRun:
    """The run created under an idempotency key, and the fingerprint of the request that created it."""

    run: Run
    fingerprint: str
    is_new: bool
