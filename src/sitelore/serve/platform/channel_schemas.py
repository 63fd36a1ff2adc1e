"""Responses of the routes of channels, crawl settings and brands, with the field names of the platform, in camel case."""

from __future__ import annotations

from typing import Any

import msgspec

from sitelore.model.platform.channels import (
    WEBSITE,
    Channel,
    ChannelPage,
    ChannelStatistics,
    CrawlJob,
    Frequency,
    Outcome,
    PageFacets,
    PageStatus,
    Plan,
    Schedule,
    ScheduleRule,
    Screenshots,
    TenantCrawlSettings,
    TenantUsage,
    Trigger,
)
from sitelore.model.platform.media import MediaTotals, place_of
from sitelore.model.settings import MediaType, PersonalPolicy, RenderMode
from sitelore.model.states import ACTIVE, KEPT, RunState, SkipReason, UrlState
from sitelore.platform.channels.cron import CRON_LINES, describe_cron, plan, upcoming
from sitelore.serve.platform.media_schemas import MediaOnPage
from sitelore.serve.responses import CamelCasePagination
from sitelore.serve.schemas import moment

_UPCOMING = 5
_PREVIEW_CHARS = 500
_CONNECTED = "CONNECTED"
_SCREENSHOT = "/tenant/v1/channels/{channel}/webcrawl/pages/{page}/screenshot"


class ScheduleView(msgspec.Struct, frozen=True, rename="camel"):
    """When a channel is crawled again, and what happened at the last occurrence."""

    frequency: str
    cron: str
    time_zone: str
    jitter_seconds: int
    next_run_at: str | None
    upcoming: list[str]
    last_run_at: str | None
    last_outcome: Outcome | None
    last_missed: int
    missed: int
    skipped: int
    summary: str


class CrawlConfigView(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of a crawl at the time it was started."""

    start_url: str
    max_pages: int
    max_depth: int
    same_origin_only: bool
    include_media: bool
    media_types: tuple[MediaType, ...]
    website_max_video_size_mb: int
    screenshots: Screenshots


class CrawlStatisticsView(msgspec.Struct, frozen=True, rename="camel"):
    """Figures of one crawl."""

    duration_seconds: float | None
    bandwidth_bytes: int
    compression_savings_bytes: int
    duplicates_skipped: int
    videos_skipped_oversized: int
    changed_pages: int
    new_pages: int
    pages_failed: int


class CrawlJobView(msgspec.Struct, frozen=True, rename="camel"):
    """One crawl of a channel. Its id is that of its run."""

    id: str
    tenant_id: str
    channel_id: str
    connected_channel_id: str
    status: RunState
    progress: str
    start_url: str
    max_pages: int
    max_depth: int
    same_origin_only: bool
    include_media: bool
    media_types: tuple[MediaType, ...]
    pages_crawled: int
    media_downloaded: int
    pages_indexed: int
    duplicates_skipped: int
    changed_pages: int
    robots_txt_skipped: int
    error_message: str | None
    trigger: Trigger
    triggered_by: str
    scheduled_for: str | None
    created_at: str
    started_at: str | None
    completed_at: str | None
    updated_at: str
    crawl_config: CrawlConfigView
    statistics: CrawlStatisticsView


class CrawlJobList(msgspec.Struct, frozen=True, rename="camel"):
    """A page of a channel's crawls, newest first."""

    jobs: list[CrawlJobView]
    pagination: CamelCasePagination


class CrawlStatusView(msgspec.Struct, frozen=True, rename="camel"):
    """The active crawl of a channel, or the last one; null values when there was none."""

    channel_id: str
    status: RunState | None
    is_active: bool
    progress: str
    pages_crawled: int
    max_pages: int | None
    images: int
    media_downloaded: int
    duplicates_skipped: int
    error_message: str | None
    started_at: str | None
    completed_at: str | None
    next_run_at: str | None
    job: CrawlJobView | None


class ChannelView(msgspec.Struct, frozen=True, rename="camel"):
    """A website of the tenant."""

    id: str
    type: str
    title: str
    url: str
    site: str
    status: str
    max_depth: int
    max_pages: int | None
    include_media: bool
    media_types: tuple[MediaType, ...]
    screenshots: Screenshots
    cron: str | None
    time_zone: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    render: RenderMode
    personal: PersonalPolicy
    crawl_status: RunState | None
    last_crawled_at: str | None
    schedule: ScheduleView | None
    has_webhook_secret: bool
    created_at: str
    updated_at: str


class ChannelList(msgspec.Struct, frozen=True, rename="camel"):
    """A page of channels."""

    channels: list[ChannelView]
    pagination: CamelCasePagination


class WebhookSecret(msgspec.Struct, frozen=True, rename="camel"):
    """The secret of a channel for signed change notices. It is shown once."""

    secret: str


class WebPageView(msgspec.Struct, frozen=True, rename="camel"):
    """A page of a channel."""

    id: str
    web_page_id: str
    tenant_id: str
    channel_id: str
    connected_channel_id: str
    url: str
    title: str
    description: str
    content_hash: str
    http_status: int | None
    depth: int | None
    status: PageStatus
    error_message: str | None
    word_count: int
    indexed: bool
    screenshot: str | None
    screenshot_url: str | None
    crawl_job_id: str | None
    last_crawled_at: str | None
    last_changed_at: str | None
    created_at: str | None
    updated_at: str | None


class WebPageDetail(WebPageView, frozen=True, rename="camel"):
    """A page of a channel with its content. `textPreview` is the start of `extractedText`; `htmlContent` is null unless
    it was requested.
    """

    canonical_url: str | None
    lang: str
    meta_keywords: str
    text_preview: str
    extracted_text: str
    markdown: str
    html_content: str | None
    media: list[MediaOnPage]


class WebPageFacets(msgspec.Struct, frozen=True, rename="camel"):
    """How many pages of a channel each further filter would leave. Pages that no recent crawl visited have no depth."""

    status: dict[str, int]
    depth: dict[str, int]


class WebPageList(msgspec.Struct, frozen=True, rename="camel"):
    """A page of a channel's pages, and how many there are by state and depth."""

    pages: list[WebPageView]
    facets: WebPageFacets
    pagination: CamelCasePagination


class PageFigures(msgspec.Struct, frozen=True, rename="camel"):
    """Pages of a channel by state."""

    total: int
    active: int
    failed: int
    deleted: int
    indexed: int
    screenshots: int


class MediaFigures(msgspec.Struct, frozen=True, rename="camel"):
    """Media of a channel."""

    total: int
    images: int
    videos: int
    documents: int
    duplicates_skipped: int
    videos_skipped_oversized: int


class StorageFigures(msgspec.Struct, frozen=True, rename="camel"):
    """Stored bytes of a channel's media, and what compression has saved."""

    original_file_size_bytes: int
    file_size_bytes: int
    compression_savings_bytes: int
    compression_ratio: float
    bandwidth_bytes: int


class CrawlFigures(msgspec.Struct, frozen=True, rename="camel"):
    """Crawls of a channel."""

    total: int
    failed: int


class ChannelStatisticsView(msgspec.Struct, frozen=True, rename="camel"):
    """Figures of a channel over all its crawls."""

    channel_id: str
    pages: PageFigures
    media: MediaFigures
    storage: StorageFigures
    crawls: CrawlFigures
    last_crawl: CrawlJobView | None
    last_crawled_at: str | None
    next_run_at: str | None


class UsageView(msgspec.Struct, frozen=True, rename="camel"):
    """How many pages and channels a tenant has."""

    pages: int
    channels: int


class CrawlSettingsView(msgspec.Struct, frozen=True, rename="camel"):
    """The crawl settings of a tenant."""

    tenant_id: str
    plan: Plan
    plan_max_pages: int
    website_crawl_max_pages: int
    effective_max_pages: int
    website_crawl_frequency: Frequency
    website_max_video_size_mb: int
    time_zone: str
    current_usage: UsageView
    next_scheduled_crawl_at: str | None


class SchedulePreview(msgspec.Struct, frozen=True, rename="camel"):
    """When a schedule would start crawls: in words, and the next five times."""

    cron: str
    time_zone: str
    description: str
    upcoming: list[str]


class BrandView(msgspec.Struct, frozen=True, rename="camel"):
    """The brand of a tenant: entries of a person, and what a crawl has detected where nothing was entered."""

    primary_color: str | None
    secondary_color: str | None
    font_primary: str | None
    font_secondary: str | None
    logo: str | None
    favicon: str | None
    confidence: float
    sources: dict[str, str]
    entered: list[str]
    detected: dict[str, str]
    channel_id: str | None
    detected_at: str | None
    updated_at: str | None


def schedule_view(schedule: Schedule, tenant: TenantCrawlSettings) -> ScheduleView:
    """A schedule as the API shows it, with the start of its next crawls."""
    rule = schedule.planned.rule
    is_custom = rule.cron != CRON_LINES.get(tenant.frequency)
    times = [moment(time) or "" for time in upcoming(schedule.planned, _UPCOMING)]
    return ScheduleView(
        frequency="CUSTOM" if is_custom else tenant.frequency.value,
        cron=rule.cron,
        time_zone=rule.time_zone,
        jitter_seconds=rule.jitter_s,
        next_run_at=times[0],
        upcoming=times,
        last_run_at=moment(schedule.last_at),
        last_outcome=schedule.last_outcome,
        last_missed=schedule.last_missed,
        missed=schedule.missed,
        skipped=schedule.skipped,
        summary=_summary(schedule),
    )


def schedule_preview(rule: ScheduleRule, now: float) -> SchedulePreview:
    """A schedule that is not stored yet."""
    times = [moment(time) or "" for time in upcoming(plan(rule, now), _UPCOMING)]
    return SchedulePreview(rule.cron, rule.time_zone, describe_cron(rule.cron), times)


def _summary(schedule: Schedule) -> str:
    """The last occurrence in words: `missed 3, ran once for 2026-05-01T00:00:00.000Z`."""
    if schedule.last_at is None:
        return ""
    at = moment(schedule.last_at)
    done = {
        Outcome.STARTED: f"ran {'once ' if schedule.last_missed else ''}for {at}",
        Outcome.SKIPPED: f"skipped {at}: a crawl was active",
        Outcome.FAILED: f"could not start for {at}",
    }[schedule.last_outcome or Outcome.FAILED]
    return f"missed {schedule.last_missed}, {done}" if schedule.last_missed else done


def channel_view(
    channel: Channel, tenant: TenantCrawlSettings, last: CrawlJob | None, schedule: Schedule | None
) -> ChannelView:
    """A channel as the API shows it."""
    own = channel.settings
    return ChannelView(
        id=channel.id,
        type=WEBSITE,
        title=channel.title,
        url=channel.url,
        site=channel.site_name,
        status=_CONNECTED,
        max_depth=own.max_depth,
        max_pages=own.max_pages,
        include_media=own.include_media,
        media_types=own.media_types,
        screenshots=own.screenshots,
        cron=own.cron,
        time_zone=own.time_zone,
        include=own.include,
        exclude=own.exclude,
        render=own.render,
        personal=own.personal,
        crawl_status=None if last is None else last.run.state,
        last_crawled_at=None if last is None else moment(last.run.finished_at or last.run.started_at),
        schedule=None if schedule is None else schedule_view(schedule, tenant),
        has_webhook_secret=channel.has_secret,
        created_at=moment(channel.created_at) or "",
        updated_at=moment(channel.updated_at) or "",
    )


def progress_of(job: CrawlJob) -> str:
    """The progress of a crawl in words: `Crawled 23/100 pages, 47 images (12 duplicates skipped)`."""
    text = f"Crawled {job.counts.pages}/{job.config.max_pages} pages"
    if job.config.include_media:
        text += f", {job.media.images} images ({job.media.duplicates_skipped} duplicates skipped)"
    return text


def job_view(job: CrawlJob) -> CrawlJobView:
    """A crawl as the API shows it."""
    run, config, counts = job.run, job.config, job.counts
    shown = CrawlConfigView(
        config.start_url, config.max_pages, config.max_depth, config.same_origin_only, config.include_media,
        config.media_types, config.max_video_mb, config.screenshots,
    )  # fmt: skip
    return CrawlJobView(
        id=run.id,
        tenant_id=str(run.tenant),
        channel_id=job.channel,
        connected_channel_id=job.channel,
        status=run.state,
        progress=progress_of(job),
        start_url=config.start_url,
        max_pages=config.max_pages,
        max_depth=config.max_depth,
        same_origin_only=config.same_origin_only,
        include_media=config.include_media,
        media_types=config.media_types,
        pages_crawled=counts.pages,
        media_downloaded=job.media.total,
        pages_indexed=job.pages_indexed,
        duplicates_skipped=job.media.duplicates_skipped,
        changed_pages=counts.changed,
        robots_txt_skipped=counts.skipped.get(SkipReason.ROBOTS, 0) + counts.skipped.get(SkipReason.ROBOTS_UNREACHABLE, 0),
        error_message=run.error or None,
        trigger=job.trigger,
        triggered_by=job.triggered_by,
        scheduled_for=moment(job.scheduled_for),
        created_at=moment(run.created_at) or "",
        started_at=moment(run.started_at),
        completed_at=moment(run.finished_at),
        updated_at=moment(run.finished_at or run.started_at or run.created_at) or "",
        crawl_config=shown,
        statistics=_crawl_statistics(job),
    )


def _crawl_statistics(job: CrawlJob) -> CrawlStatisticsView:
    run, media, counts = job.run, job.media, job.counts
    has_ended = run.started_at is not None and run.finished_at is not None
    failed = sum(counts.states.get(state, 0) for state in (UrlState.FAILED, UrlState.HTTP_TERMINAL, UrlState.FORBIDDEN))
    missing = counts.states.get(UrlState.NOT_FOUND, 0) + counts.states.get(UrlState.SOFT_404, 0)
    return CrawlStatisticsView(
        duration_seconds=round((run.finished_at or 0.0) - (run.started_at or 0.0), 3) if has_ended else None,
        bandwidth_bytes=counts.body_bytes + media.bandwidth_bytes,
        compression_savings_bytes=media.saved_bytes,
        duplicates_skipped=media.duplicates_skipped,
        videos_skipped_oversized=media.videos_skipped_oversized,
        changed_pages=counts.changed,
        new_pages=counts.new,
        pages_failed=failed + missing,
    )


def status_view(channel: Channel, job: CrawlJob | None, schedule: Schedule | None) -> CrawlStatusView:
    """The active or last crawl of a channel."""
    shown = None if job is None else job_view(job)
    return CrawlStatusView(
        channel_id=channel.id,
        status=None if job is None else job.run.state,
        is_active=job is not None and job.run.state in ACTIVE,
        progress="" if job is None else progress_of(job),
        pages_crawled=0 if job is None else job.counts.pages,
        max_pages=None if job is None else job.config.max_pages,
        images=0 if job is None else job.media.images,
        media_downloaded=0 if job is None else job.media.total,
        duplicates_skipped=0 if job is None else job.media.duplicates_skipped,
        error_message=None if shown is None else shown.error_message,
        started_at=None if shown is None else shown.started_at,
        completed_at=None if shown is None else shown.completed_at,
        next_run_at=None if schedule is None else moment(schedule.planned.due_at),
        job=shown,
    )


def _page_values(channel: Channel, page: ChannelPage, document: dict[str, Any]) -> dict[str, Any]:
    is_kept = page.state is None or page.state in KEPT or page.state is UrlState.SKIPPED
    # A page that was kept without a new response has the status of the response it was read from.
    status = 200 if is_kept and page.state is not UrlState.VISITED and page.document else page.http_status
    return {
        "id": str(page.id),
        "web_page_id": str(page.id),
        "tenant_id": str(channel.tenant),
        "channel_id": channel.id,
        "connected_channel_id": channel.id,
        "url": page.url,
        "title": page.title,
        "description": document.get("description", ""),
        "content_hash": page.content_hash,
        "http_status": status,
        "depth": page.depth,
        "status": page.status,
        "error_message": page.error or None,
        "word_count": page.word_count,
        "indexed": page.is_indexed,
        "screenshot": None if page.screenshot is None else place_of(channel.tenant, page.screenshot),
        "screenshot_url": None if page.screenshot is None else _SCREENSHOT.format(channel=channel.id, page=page.id),
        "crawl_job_id": page.run,
        "last_crawled_at": moment(page.last_crawled_at),
        "last_changed_at": moment(page.last_changed_at),
        "created_at": moment(page.first_seen_at),
        "updated_at": moment(page.last_crawled_at or page.first_seen_at),
    }


def page_view(channel: Channel, page: ChannelPage, document: dict[str, Any]) -> WebPageView:
    """A page as lists show it. `document` is its stored document; empty when it was never read."""
    return WebPageView(**_page_values(channel, page, document))


def page_facets_view(facets: PageFacets) -> WebPageFacets:
    """The numbers of pages by state and depth."""
    depths = {str(depth): count for depth, count in sorted(facets.by_depth.items(), key=_shallow_first) if depth is not None}
    return WebPageFacets({status.value: count for status, count in facets.by_status.items()}, depths)


def _shallow_first(entry: tuple[int | None, int]) -> int:
    return -1 if entry[0] is None else entry[0]


def page_detail(
    channel: Channel,
    page: ChannelPage,
    document: dict[str, Any],
    html: str | None,
    media: list[MediaOnPage],
) -> WebPageDetail:
    """A page with its content."""
    text = document.get("text", "")
    return WebPageDetail(
        **_page_values(channel, page, document),
        canonical_url=document.get("canonical_url") or None,
        lang=document.get("lang", ""),
        meta_keywords=str(document.get("meta", {}).get("keywords", "")),
        text_preview=text[:_PREVIEW_CHARS],
        extracted_text=text,
        markdown=document.get("markdown", ""),
        html_content=html,
        media=media,
    )


def statistics_view(channel: Channel, figures: ChannelStatistics, schedule: Schedule | None) -> ChannelStatisticsView:
    """The figures of a channel."""
    by_status, media, stored, last = figures.pages, figures.media, figures.stored_media, figures.last
    images, videos, documents = (stored.counts.get(kind.value, 0) for kind in MediaType)
    pages = PageFigures(
        sum(by_status.values()),
        by_status[PageStatus.ACTIVE],
        by_status[PageStatus.FAILED],
        by_status[PageStatus.DELETED],
        figures.pages_indexed,
        figures.screenshots,
    )
    return ChannelStatisticsView(
        channel_id=channel.id,
        pages=pages,
        media=MediaFigures(
            images + videos + documents, images, videos, documents, media.duplicates_skipped, media.videos_skipped_oversized
        ),
        storage=_storage(stored, media.bandwidth_bytes),
        crawls=CrawlFigures(figures.crawls, figures.crawls_failed),
        last_crawl=None if last is None else job_view(last),
        last_crawled_at=None if last is None else moment(last.run.finished_at),
        next_run_at=None if schedule is None else moment(schedule.planned.due_at),
    )


def _storage(stored: MediaTotals, bandwidth_bytes: int) -> StorageFigures:
    ratio = round(stored.saved_bytes / stored.original_bytes, 4) if stored.original_bytes else 0.0
    return StorageFigures(stored.original_bytes, stored.stored_bytes, stored.saved_bytes, ratio, bandwidth_bytes)


def crawl_settings_view(
    tenant: int, settings: TenantCrawlSettings, usage: TenantUsage, next_at: float | None
) -> CrawlSettingsView:
    """The crawl settings of a tenant."""
    return CrawlSettingsView(
        tenant_id=str(tenant),
        plan=settings.plan,
        plan_max_pages=settings.plan_pages,
        website_crawl_max_pages=settings.max_pages,
        effective_max_pages=settings.effective_max_pages,
        website_crawl_frequency=settings.frequency,
        website_max_video_size_mb=settings.max_video_mb,
        time_zone=settings.time_zone,
        current_usage=UsageView(usage.pages, usage.channels),
        next_scheduled_crawl_at=moment(next_at),
    )
