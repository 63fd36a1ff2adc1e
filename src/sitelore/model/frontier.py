"""The nouns of the frontier: what is offered, what is leased, how a visit ends and what it changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sitelore.model.document import Blob
from sitelore.model.ids import NO_TEXT, BlobKey, CleanText, RunId, SiteId, WorkerId
from sitelore.model.rendering import RenderNote, RenderReason, SiteRendering
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import Proof, RunState, SkipReason, UrlState
from sitelore.model.url import Url


class RowKind(StrEnum):
    """What a row is visited as."""

    PAGE = "page"
    SITEMAP = "sitemap"


class Source(StrEnum):
    """How a URL became known. The order is the order in which equals are admitted."""

    SEED = "seed"
    REDIRECT = "redirect"
    SITEMAP = "sitemap"
    LINK = "link"
    CANONICAL = "canonical"


SOURCE_RANK = {Source.SEED: 0, Source.REDIRECT: 0, Source.SITEMAP: 0, Source.LINK: 1, Source.CANONICAL: 2}


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect: from where, with which status."""

    url: Url
    status: int


@dataclass(frozen=True, slots=True)
class Offer:
    """A URL proposed to the frontier. Offers to one key merge by minimum of `rank`, so their order never matters."""

    url: Url
    depth: int
    source: Source
    parent: Url | None = None
    parent_seq: int = 0
    position: int = 0
    kind: RowKind = RowKind.PAGE
    refusal: SkipReason | None = None
    """Decided when offered (scope, nofollow, depth …): the row is recorded as SKIPPED until a better offer comes."""
    detail: str = ""
    shape: str = ""
    lastmod: float | None = None
    chain: tuple[Hop, ...] = ()
    """Hops that led here; the last one is the redirecting URL."""

    @property
    def rank(self) -> tuple[int, int, int, int, int]:
        """Smallest wins: an admissible offer before a refused one, then breadth first in page order."""
        return (self.refusal is not None, self.depth, SOURCE_RANK[self.source], self.parent_seq, self.position)


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What an earlier visit of the same site left about this URL."""

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
    """Where this page differs from itself without having changed (`extract/changes/change.py`)."""
    render_reason: RenderReason | None = None
    """Why a browser read the page, or should have; None for what came over HTTP and was the page."""
    screenshot: BlobKey | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to visit one row, until it ends or a higher token takes it."""

    run: RunId
    url: Url
    token: int
    depth: int
    seq: int
    kind: RowKind
    attempts: int
    """Earlier tries of this URL in this run."""
    source: Source = Source.LINK
    chain: tuple[Hop, ...] = ()
    lastmod: float | None = None
    known: KnownPage | None = None
    wave: int = 0
    """The wave that admitted the row: whoever still knows an older one must look at the run again before it visits."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a visit ended: a terminal state, or QUEUED with `retry_at`."""

    state: UrlState
    status_code: int | None = None
    skip_reason: SkipReason | None = None
    detail: str = ""
    """Why, for people: the robots line, the trap's shape, the content type."""
    error: str = ""
    """`code: sentence`, the code from `Failure` or `redirect_loop`, `too_many_redirects`, `http_error`, `parse_error` …"""
    retry_at: float | None = None


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a visit learnt of a page; becomes the site's `KnownPage` of that URL."""

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
    """As the server wrote it, charset included: reading the stored bytes again needs it."""
    identity: str = ""
    """The URL in the form that the site's options give it; empty where they ask for nothing."""
    headers: tuple[tuple[str, str], ...] = ()
    """Other headers that reading depends on (`READ_HEADERS`), redacted."""
    sketch: bytes = b""
    volatile: bytes = b""
    render: RenderNote | None = None
    screenshot: BlobKey | None = None


@dataclass(frozen=True, slots=True)
class ReprocessedPage:
    """A page read again from its snapshot: what it says now, if it still says `before`."""

    url: Url
    before: BlobKey
    facts: PageFacts


@dataclass(frozen=True, slots=True)
class PageSketch:
    """A page of a run and the sketch of its text."""

    url: Url
    sketch: bytes


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything a visit changes besides its own row's state. Written with the verdict, in one transaction."""

    page: PageFacts | None = None
    offers: tuple[Offer, ...] = ()
    alias_of: Url | None = None
    chain: tuple[Hop, ...] = ()
    blobs: tuple[Blob, ...] = ()
    redactions: dict[str, int] = field(default_factory=dict)
    fetched: bool = False
    """Whether a request for the URL itself went out."""
    body_bytes: int = 0
    elapsed_s: float = 0.0
    changed: bool | None = None
    """For a page known before: whether its content differs now. None when it was not known."""
    joins_host: str | None = None
    """An authority that enters the run's scope because a seed redirects there."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A lease, how it ended, and what follows."""

    lease: Lease
    verdict: Verdict
    effects: Effects = Effects()
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl of one site."""

    id: RunId
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
    """Authorities that a redirecting seed led to; they are in scope like the seeds' own."""
    error: str = ""
    wave_hosts: tuple[str, ...] = ()
    """`joined_hosts` as they stood when the wave opened: what this wave's visits count as in scope, whenever they happen."""
    attempts: int = 0
    """How often the run has crashed."""
    site_rendering: SiteRendering = field(default_factory=SiteRendering)
    """What was known of the site when the run was made."""


@dataclass(frozen=True, slots=True)
class UrlRow:
    """One row of the frontier, as exports, `explain` and the API read it."""

    run: RunId
    url: Url
    kind: RowKind
    state: UrlState
    depth: int
    source: Source
    parent: Url | None = None
    seq: int | None = None
    wave: int | None = None
    shape: str = ""
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
    """Requests that really went out for this row, over all tries and crashes that were recorded."""
    retry_at: float | None = None
    claimed_by: WorkerId | None = None
    token: int = 0
    lastmod: float | None = None
    fetched_at: float | None = None
    elapsed_s: float | None = None
    body_bytes: int = 0
    changed: bool | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Headers besides the content type that reading depends on."""
    render: RenderNote | None = None
    """Why a browser read the page, or should have; None for what came over HTTP and was the page."""
    screenshot: BlobKey | None = None


@dataclass(frozen=True, slots=True)
class RunCounts:
    """A run in numbers."""

    states: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    proofs: dict[str, int] = field(default_factory=dict)
    redactions: dict[str, int] = field(default_factory=dict)
    rendering: dict[str, int] = field(default_factory=dict)
    """Pages kept that a browser read, or should have, by reason."""
    urls: int = 0
    pages: int = 0
    fetched: int = 0
    changed: int = 0
    new: int = 0
    sitemaps: int = 0
    body_bytes: int = 0
    words: int = 0


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Is there work, and if not now, when."""

    ready: int = 0
    waiting: int = 0
    """Rows that wait for a retry."""
    in_progress: int = 0
    next_retry_at: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that could be admitted by the next wave."""

    url: Url
    kind: RowKind
    depth: int
    shape: str


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page of the run, as merging by proof sees it."""

    url: Url
    seq: int
    content_hash: str
    canonical: Url | None = None
    identity: str = ""
    """What the site's options make of the URL; empty where they ask for nothing."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A page that turns out to be another one."""

    url: Url
    into: Url
    proof: Proof


@dataclass(frozen=True, slots=True)
class PatternYield:
    """What URLs of one shape brought so far in this run: pages read, and how many of them were not the same again."""

    pages: int = 0
    """Rows of the shape with a content hash, whatever merging made of them later."""
    distinct: int = 0
    """Distinct content hashes among them."""
    novel: int = 0
    """Distinct novelty hashes among them."""


@dataclass(frozen=True, slots=True)
class WaveFacts:
    """Everything the plan for the next wave may depend on. All of it is settled, so the plan is the same for everyone."""

    settings: CrawlSettings
    wave: int
    depth: int
    kept: int
    """Pages of the run before this wave's merges."""
    settled: tuple[KeptPage, ...] = ()
    """Pages of the wave that has just settled, by seq."""
    related: tuple[KeptPage, ...] = ()
    """Earlier pages with the content, or named as or naming the canonical, of a page in `settled`."""
    candidates: tuple[Candidate, ...] = ()
    """Unadmitted rows of the smallest depth there is, best rank first (at most `CANDIDATES_PER_WAVE`)."""
    shapes: dict[str, PatternYield] = field(default_factory=dict)
    """Of the shapes that stand in `candidates`."""


@dataclass(frozen=True, slots=True)
class WavePlan:
    """What happens between two waves."""

    merges: tuple[Merge, ...] = ()
    admit: tuple[Url, ...] = ()
    """In order: they get the next `seq` numbers."""
    trapped: tuple[tuple[Url, str], ...] = ()
    """Rows given up as a trap, each with the sentence that says why."""
    exhausted: bool = False
    """The budget is used up: what is left is SKIPPED as such and the run may end."""


@dataclass(frozen=True, slots=True)
class WaveOpened:
    """The wave that is open now. `admitted` 0 means that nothing is left to crawl."""

    wave: int
    admitted: int = 0
    merged: int = 0
    trapped: int = 0


CANDIDATES_PER_WAVE = 2_000


class EventKind(StrEnum):
    """What an event tells."""

    STATE = "state"
    """The run moved: `facts` has `state` and, where there is one, `error`."""
    WAVE = "wave"
    """A wave opened: `facts` has `wave` and `admitted`."""
    PROGRESS = "progress"
    """A worker settled rows, told at most once a second: `facts` has `worker`, `settled`, `pages`, `fetched` since the last."""


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One thing that happened to a run."""

    run: RunId
    kind: EventKind
    at: float
    facts: dict[str, str | int] = field(default_factory=dict)
