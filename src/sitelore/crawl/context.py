"""Dependencies and options that the workers of a process (`WorkerContext`) and the visits of a run (`VisitContext`) share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sitelore.model.document import ReadOptions
from sitelore.model.ids import BlobKey, TenantId
from sitelore.model.platform.media import screenshot_key
from sitelore.model.settings import BUILT_IN_ALONE, CrawlSettings, PersonalPolicy, ReadMode, Redaction
from sitelore.model.url import DEFAULT_RULES, KeyRules

if TYPE_CHECKING:  # every command loads this module
    from sitelore.crawl.login_watch import LoginWatch
    from sitelore.crawl.media.image_pool import ImagePool
    from sitelore.crawl.soft_404 import Soft404Detector
    from sitelore.fetch.politeness import PoliteFetcher, PoliteRenderer
    from sitelore.frontier.offers import OfferBuilder
    from sitelore.frontier.render_policy import RenderPolicy
    from sitelore.model.frontier import Settlement
    from sitelore.platform_ports import MediaFiles, MediaLibrary
    from sitelore.ports import Blobs, Clock, Events, HostGate, Ledger, Notifier, Reader, Robots, RunQueue


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Timeouts and intervals of workers, and whether other processes share the runs."""

    is_shared: bool = False
    """Other processes may work on the same runs: maintenance completes a run, and a worker claims only what it can start."""
    lease_s: float = 120.0
    poll_s: float = 0.25
    """How long an idle worker waits for a notification before it polls the ledger."""
    drain_s: float = 12.0
    """How long active visits may continue after a stop. SIGTERM leaves 30 s; the rest is for writing settlements."""
    upkeep_s: float = 1.0
    """Interval between two maintenance cycles."""
    pause_s: float = 5.0
    """Delay before a crashed run gets its second attempt."""


class ConcurrencyLimiter:
    """Limits the active visits of a process, over all its runs."""

    def __init__(self, count: int) -> None:
        self._free = count

    @property
    def is_full(self) -> bool:
        """Whether no further visit may start."""
        return self._free <= 0

    def take(self) -> None:
        """Count a visit that starts."""
        self._free -= 1

    def release(self) -> None:
        """Count a visit that ended."""
        self._free += 1


def _ignore_settlement(_: Settlement) -> None:
    """The default callback for settlements."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """Dependencies handed to every worker of a process."""

    ledger: Ledger
    """Of the tenant whose runs are worked on (`for_tenant`)."""
    queue: RunQueue
    gate: HostGate
    notifier: Notifier
    events: Events
    clock: Clock
    config: WorkerConfig = WorkerConfig()
    limiter: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(1_000_000))
    on_settled: Callable[[Settlement], None] = _ignore_settlement
    """Called with every durable settlement of a page that is not a retry."""

    def for_tenant(self, tenant: TenantId) -> WorkerContext:
        """The context for the runs of a tenant."""
        return replace(self, ledger=self.ledger.for_tenant(tenant))


@dataclass(slots=True)
class Progress:
    """Progress counters of one run in this process, written by its worker and read by a progress bar."""

    pages: int = 0
    fetched: int = 0
    queued: int = 0
    in_flight: int = 0
    skipped: int = 0
    errors: int = 0
    body_bytes: int = 0
    wave: int = 0
    depth: int = 0
    max_pages: int | None = None
    started_at: float = 0.0
    states: Counter[str] = field(default_factory=Counter)
    latest: str = ""


@dataclass(frozen=True, slots=True)
class MediaContext:
    """Where media files are stored, and the processes that compress images."""

    files: MediaFiles
    library: MediaLibrary
    images: ImagePool
    videos: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_VIDEOS))
    """Videos are in memory as a whole while they are downloaded, so only a few are at a time."""
    pending: Counter[str] = field(default_factory=Counter)
    """Files that visits have stored and whose settlements are not written, by their places in the store."""

    def hold(self, key: str) -> None:
        """Remember a file that is about to be stored."""
        self.pending[self.files.place(key)] += 1

    def release(self, key: str) -> None:
        """Forget a file whose settlement was written or rejected."""
        place = self.files.place(key)
        if self.pending[place] > 1:
            self.pending[place] -= 1
        else:
            del self.pending[place]

    def is_pending(self, key: str) -> bool:
        """Whether the settlement of a file is not written yet."""
        return self.files.place(key) in self.pending


MAX_VIDEOS = 2


@dataclass(frozen=True, slots=True)
class ScreenshotContext:
    """Where the screenshots of a run's pages are stored."""

    media: MediaContext
    folder: str
    """The channel of the site, or the id of the site."""

    async def store(self, page: int, jpeg: bytes) -> BlobKey:
        """Store the screenshot of a page, by the id of its URL, in place of the one before. Returns its key."""
        key = screenshot_key(self.folder, page)
        self.media.hold(key)
        await self.media.files.put(key, jpeg)
        return BlobKey(key)


@dataclass(frozen=True, slots=True)
class VisitContext:
    """Settings and dependencies handed to every visit of a run."""

    settings: CrawlSettings
    rules: KeyRules
    first_read_options: ReadOptions
    """Options of extraction at the start of the run."""
    fetcher: PoliteFetcher
    robots: Robots
    reader: Reader
    blobs: Blobs
    offer_builder: OfferBuilder
    probes: Soft404Detector
    clock: Clock
    policy: RenderPolicy
    renderer: PoliteRenderer
    rendered_probes: Soft404Detector
    """Probes made in the browser, for rendered pages: a site's error page may look different there."""
    media: MediaContext | None = None
    """None in a run that downloads no media."""
    screenshots: ScreenshotContext | None = None
    """None in a run that takes no screenshots."""
    login_watch: LoginWatch | None = None
    """None in a run that cannot be logged out: without a stored session and without declared signs."""

    renewed_secrets: Callable[[], tuple[str, ...]] = tuple
    """Values that sites have set in stored sessions since the run began. They must not be stored either."""

    @property
    def read_options(self) -> ReadOptions:
        """Options of extraction now."""
        options, renewed = self.first_read_options, self.renewed_secrets()
        if not renewed:
            return options
        return replace(options, redaction=replace(options.redaction, secrets=(*options.redaction.secrets, *renewed)))

    def soft_404_detector(self, in_browser: bool) -> Soft404Detector:
        """The detector whose probes are fetched in the same way as the page."""
        return self.rendered_probes if in_browser else self.probes


def rules_of(settings: CrawlSettings) -> KeyRules:
    """URL normalisation of a run: the default rules plus the tracking parameters of its settings."""
    return DEFAULT_RULES.plus(settings.tracking_parameters) if settings.tracking_parameters else DEFAULT_RULES


def redaction_of(settings: CrawlSettings, operators: Redaction) -> Redaction:
    """Redaction options of a run: the operator's rules and key, and the run's policy on personal data."""
    return replace(
        operators,
        personal=settings.personal is PersonalPolicy.EVERYWHERE,
        personal_ids=settings.personal_ids,
        keep_contacts=settings.keep_contacts,
    )


def read_options_of(settings: CrawlSettings, operators: Redaction = BUILT_IN_ALONE, *, login: bool = False) -> ReadOptions:
    """Extraction options of a run; `login`: it uses a stored session."""
    return ReadOptions(
        dropped_parameters=settings.tracking_parameters,
        overrides=settings.overrides,
        obey_nofollow=settings.obey_nofollow,
        keep_snapshot=settings.keep_snapshots,
        full=settings.read is ReadMode.FULL or bool(settings.media.types),
        facts=settings.audit_facts or settings.audit,
        documents=settings.documents,
        redaction=redaction_of(settings, operators),
        login=login,
    )
