"""Channels (websites that a tenant follows), their schedules and crawls, and the crawl settings of tenants."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sitelore.model.frontier import IdempotencyKey, MediaCounts, Offer, Run, RunCounts
from sitelore.model.ids import BlobKey, RunId, SiteId, TenantId
from sitelore.model.platform.media import MediaTotals
from sitelore.model.settings import CrawlSettings, MediaType, PersonalPolicy, RenderMode
from sitelore.model.states import UrlState

WEBSITE = "Website"
"""The type of a channel. Other types may follow."""
MIN_PAGES, MAX_PAGES = 10, 500
"""Limits of a tenant's own page limit."""


class Plan(StrEnum):
    """The plan that a tenant has booked."""

    FREE = "FREE"
    STARTER = "STARTER"
    PRO = "PRO"
    ENTERPRISE = "ENTERPRISE"


PLAN_PAGES = {Plan.FREE: 50, Plan.STARTER: 100, Plan.PRO: 300, Plan.ENTERPRISE: MAX_PAGES}
"""The most pages that one crawl of a channel keeps, whatever the tenant's own limit."""


class Frequency(StrEnum):
    """How often the channels of a tenant are crawled."""

    MANUAL = "MANUAL"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"


class Screenshots(StrEnum):
    """Which pages of a channel get a screenshot."""

    NONE = "NONE"
    RENDERED = "RENDERED"
    """Pages that need a browser."""
    ALL = "ALL"
    """Every page is rendered in a browser."""


class Trigger(StrEnum):
    """What started a crawl of a channel."""

    MANUAL = "manual"
    SCHEDULE = "schedule"
    WEBHOOK = "webhook"
    SIGNUP = "signup"


@dataclass(frozen=True, slots=True)
class TenantCrawlSettings:
    """The crawl settings of a tenant, which apply to all its channels."""

    plan: Plan = Plan.ENTERPRISE
    max_pages: int = 100
    """The tenant's own limit. `effective_max_pages` is what counts."""
    frequency: Frequency = Frequency.MONTHLY
    max_video_mb: int = 50
    """Larger local videos are not downloaded."""
    time_zone: str = "UTC"

    @property
    def plan_pages(self) -> int:
        """The ceiling of the plan."""
        return PLAN_PAGES[self.plan]

    @property
    def effective_max_pages(self) -> int:
        """The most pages that one crawl keeps."""
        return min(self.max_pages, self.plan_pages)


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """The settings of one channel."""

    max_depth: int = 3
    max_pages: int | None = None
    """A lower page limit than the tenant's; None: the tenant's."""
    include_media: bool = True
    media_types: tuple[MediaType, ...] = tuple(MediaType)
    cron: str | None = None
    """Its own schedule instead of the tenant's frequency."""
    time_zone: str | None = None
    """The time zone of its schedule; None: the tenant's."""
    screenshots: Screenshots = Screenshots.RENDERED
    include: tuple[str, ...] = ()
    """Only URLs that match one of these patterns are followed (`frontier/scope.py`)."""
    exclude: tuple[str, ...] = ()
    render: RenderMode = RenderMode.AUTO
    personal: PersonalPolicy = PersonalPolicy.CHUNKS


@dataclass(frozen=True, slots=True)
class Channel:
    """A website of a tenant that is crawled again and again."""

    id: str
    tenant: TenantId
    site: SiteId
    site_name: str
    title: str
    url: str
    settings: ChannelSettings
    created_at: float
    updated_at: float
    has_secret: bool = False
    """Whether it has a secret for signed change notices."""


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """The settings of a crawl at the time it was started, as the API shows them."""

    start_url: str
    max_pages: int
    max_depth: int
    include_media: bool = True
    media_types: tuple[MediaType, ...] = tuple(MediaType)
    max_video_mb: int = 50
    same_origin_only: bool = True
    screenshots: Screenshots = Screenshots.RENDERED


@dataclass(frozen=True, slots=True)
class CrawlJob:
    """One crawl of a channel: a run, and what started it."""

    channel: str
    run: Run
    trigger: Trigger
    triggered_by: str
    config: CrawlConfig
    scheduled_for: float | None = None
    """The occurrence of the schedule that started it."""
    counts: RunCounts = field(default_factory=RunCounts)
    pages_indexed: int = 0
    """Pages of the crawl whose content is in the search index."""

    @property
    def media(self) -> MediaCounts:
        """Media figures of the crawl."""
        return self.counts.media


@dataclass(frozen=True, slots=True)
class NewCrawl:
    """A crawl to start."""

    site_name: str
    settings: CrawlSettings
    offers: tuple[Offer, ...]
    config: CrawlConfig
    trigger: Trigger
    triggered_by: str
    key: IdempotencyKey
    """A second start under this key gives the crawl of the first one."""


@dataclass(frozen=True, slots=True)
class StartedCrawl:
    """The answer to a start: the new run, the one that was started under the same idempotency key, or the active one."""

    run: RunId
    is_new: bool
    is_refused: bool = False
    """Another crawl of the channel is active; `run` is that one."""
    fingerprint: str = ""
    """Of the request that created it, where there is an idempotency key."""


class PageStatus(StrEnum):
    """The state of a channel's page."""

    ACTIVE = "ACTIVE"
    FAILED = "FAILED"
    """The last crawl that visited it got an error. The last good content is kept."""
    DELETED = "DELETED"
    """It is gone from the site (deletion detection)."""


class PageOrder(StrEnum):
    """By what a channel's pages are sorted."""

    DEPTH = "depth"
    URL = "url"
    TITLE = "title"
    HTTP_STATUS = "httpStatus"
    WORDS = "wordCount"
    CRAWLED = "lastCrawledAt"
    CHANGED = "lastChangedAt"


@dataclass(frozen=True, slots=True)
class PageListing:
    """A page of a channel's pages."""

    depth: int | None = None
    status: PageStatus | None = None
    limit: int = 50
    offset: int = 0
    text: str = ""
    """Part of the URL or title."""
    order: PageOrder = PageOrder.DEPTH
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class PageFacets:
    """How many pages of a channel a further filter would leave, by its value."""

    by_status: dict[PageStatus, int]
    by_depth: dict[int | None, int]


@dataclass(frozen=True, slots=True)
class ChannelPage:
    """A page of a channel, with the result of the last visit."""

    id: int
    url: str
    status: PageStatus
    title: str = ""
    content_hash: str = ""
    word_count: int = 0
    depth: int | None = None
    """None when no recent crawl visited it."""
    http_status: int | None = None
    state: UrlState | None = None
    """The state of its row in the last crawl that visited it."""
    error: str = ""
    run: RunId | None = None
    """The last crawl that visited it."""
    first_seen_at: float | None = None
    last_crawled_at: float | None = None
    last_changed_at: float | None = None
    document: BlobKey | None = None
    """Its last good content; None when it was never read."""
    screenshot: BlobKey | None = None
    noindex: bool = False
    is_indexed: bool = False
    snapshot: BlobKey | None = None
    """Its HTML as it was stored."""
    content_type: str = ""
    """Of that HTML, with its charset."""


@dataclass(frozen=True, slots=True)
class ChannelStatistics:
    """Figures of a channel over all its crawls."""

    pages: dict[PageStatus, int]
    pages_indexed: int
    screenshots: int
    """Pages with a screenshot."""
    crawls: int
    crawls_failed: int
    media: MediaCounts
    """Over all crawls."""
    stored_media: MediaTotals
    """What is stored now."""
    last: CrawlJob | None = None
    """The last crawl that completed."""


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """How much of its crawl settings a tenant uses."""

    channels: int
    pages: int


class Outcome(StrEnum):
    """What happened at an occurrence of a schedule."""

    STARTED = "STARTED"
    SKIPPED = "SKIPPED"
    """A crawl of the channel was active."""
    FAILED = "FAILED"
    """The crawl could not be started; the log has the reason."""


@dataclass(frozen=True, slots=True)
class ScheduleRule:
    """When a channel is crawled."""

    cron: str
    """Five fields, as in Debian's cron."""
    time_zone: str
    """An IANA name. The fields are local time there."""
    jitter_s: int = 0
    """Delay after each occurrence, so that not all channels start at midnight."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The rule of a schedule with its next occurrence."""

    rule: ScheduleRule
    next_at: float

    @property
    def due_at(self) -> float:
        """When the crawl of this occurrence starts."""
        return self.next_at + self.rule.jitter_s


@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule of a channel."""

    tenant: TenantId
    channel: str
    planned: Planned
    last_at: float | None = None
    """The last occurrence that was handled."""
    last_outcome: Outcome | None = None
    last_missed: int = 0
    """Occurrences before it that passed while no server ran; one crawl replaced all of them."""
    last_run: RunId | None = None
    missed: int = 0
    """Over the life of the schedule."""
    skipped: int = 0
    """Occurrences that were skipped because a crawl was active, over the life of the schedule."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence that is due: what to do at once, and what comes next."""

    scheduled_for: float
    missed: int
    next: Planned
