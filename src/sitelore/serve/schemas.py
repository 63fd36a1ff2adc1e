"""Response schemas of the API and the conversions from domain types. Field names are fixed (`docs/reference/api.md`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from sitelore.app.explain import Explanation
from sitelore.export.rows import chain_of
from sitelore.model.audit.findings import AuditPhase, AuditState, FindingStatus, IgnoreScope, Severity
from sitelore.model.frontier import Edge, LinkBetweenPages, MediaCounts, Run, RunCounts, UrlRow
from sitelore.model.platform.accounts import TokenScope
from sitelore.model.settings import CrawlSettings, PersonalPolicy, ReadMode, RenderMode, Scope
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.serve.responses import Pagination
from sitelore.serve.run_requests import follows_documents
from sitelore.times import iso_time

_ADDRESS = re.compile(r"\[.*\](?::\d+)?|[0-9.]+(?::\d+)?")


class RunConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Settings of a run; null: no limit, or the default."""

    max_pages: int | None
    max_depth: int | None
    scope_mode: Scope
    include_documents: bool
    include_media: bool
    follow_redirects: bool
    demo_delay_ms: int
    request_timeout_ms: int
    max_retries: int
    read: ReadMode
    render: RenderMode
    screenshots: bool
    personal: PersonalPolicy
    accept_language: str
    audit: bool


class RunView(msgspec.Struct, frozen=True):
    """A run as the API shows it."""

    id: str
    site: str
    status: RunState
    seed_url: str | None
    normalized_seed_url: str | None
    root_url: str | None
    allowed_hosts: list[str]
    run_config: RunConfig
    wave: int
    depth: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    error: str


class MediaNumbers(msgspec.Struct, frozen=True, rename="camel"):
    """Counts of the media of a run."""

    urls: int
    images: int
    videos: int
    documents: int
    duplicates_skipped: int
    unchanged: int
    failed: int
    videos_skipped_oversized: int
    bandwidth_bytes: int
    compression_savings_bytes: int


class RunNumbers(msgspec.Struct, frozen=True):
    """Counts of a run. Sitemap URLs count only in `sitemaps`, media URLs only in `media`."""

    total_urls: int
    pages: int
    queued: int
    in_progress: int
    fetched: int
    prefetch_unused: int
    new: int
    changed: int
    sitemaps: int
    body_bytes: int
    words: int
    by_status: dict[str, int]
    skipped: dict[str, int]
    errors: dict[str, int]
    aliases: dict[str, int]
    redactions: dict[str, int]
    rendering: dict[str, int]
    media: MediaNumbers


class RunSummary(RunView, frozen=True):
    """One run with its counts."""

    counts: RunNumbers


class RunList(msgspec.Struct, frozen=True):
    """A page of runs, and how many there are in each state."""

    runs: list[RunView]
    by_status: dict[str, int]
    pagination: Pagination


class RedirectHop(msgspec.Struct, frozen=True):
    """One hop of a redirect chain."""

    url: str
    status: int
    permanent: bool


class UrlView(msgspec.Struct, frozen=True):
    """One URL of a run. `id` is its key; `discovered_from_url_id` is the key of the page it was first found on."""

    id: str
    url: str
    normalized_url: str
    discovered_from_url_id: str | None
    status: UrlState
    status_code: int | None
    depth: int
    source: str
    seq: int | None
    title: str
    content_type: str
    content_hash: str
    word_count: int
    noindex: bool
    final_url: str | None
    canonical_url: str | None
    redirect_chain: list[RedirectHop]
    proof: str | None
    skip_reason: str | None
    detail: str
    error: str
    retry_count: int
    fetches: int
    retry_after_at: str | None
    claimed_by_worker: str | None
    visited_at: str | None
    elapsed_ms: int | None
    body_bytes: int
    changed: bool | None
    render_reason: str | None
    render_evidence: list[str]


class UrlList(msgspec.Struct, frozen=True):
    """A page of a run's URLs."""

    urls: list[UrlView]
    pagination: Pagination


class UrlFacetsView(msgspec.Struct, frozen=True):
    """How many URLs of a list have each state, skip reason and cause of error."""

    by_status: dict[str, int]
    skipped: dict[str, int]
    errors: dict[str, int]


class PageView(msgspec.Struct, frozen=True):
    """A page with everything that was extracted from it, as in the export `jsonl`, without what repeats over the site."""

    url: str
    final_url: str
    canonical_url: str | None
    status_code: int | None
    crawl_status: str | None
    title: str
    h1: str
    description: str
    lang: str
    author: str
    published: str
    modified: str
    site_name: str
    image: str
    markdown: str
    text: str
    excerpt: str
    word_count: int
    content_hash: str
    strategy: str
    depth: int
    noindex: bool
    redirect_chain: list[RedirectHop]
    etag: str | None
    last_modified: str | None
    fetched_at: str | None
    headings: list[Any]
    landmarks: list[Any]
    links: list[Any]
    structured: Any
    forms: list[Any]
    actions: list[Any]
    media: list[Any]
    brand: dict[str, Any]
    rendering: dict[str, Any]
    screenshot: str | None
    meta: dict[str, Any]


class PageContent(msgspec.Struct, frozen=True):
    """The content of a page, with its metadata. `cached`: it was not fetched for this request."""

    url: str
    final_url: str
    title: str
    h1: str
    description: str
    lang: str
    author: str
    published: str
    modified: str
    site_name: str
    image: str
    canonical_url: str | None
    markdown: str
    text: str
    word_count: int
    content_hash: str
    strategy: str
    headings: list[Any]
    links: list[Any]
    structured: Any
    fetched_at: str | None
    cached: bool


class LinkView(msgspec.Struct, frozen=True):
    """A link between two pages."""

    source: str
    target: str
    text: str
    fragment: str
    nofollow: bool


class PageLinks(msgspec.Struct, frozen=True):
    """Links to a page and from it, of the current versions of the site's pages; at most 1,000 each."""

    inlinks: list[LinkView]
    outlinks: list[LinkView]


class GateView(msgspec.Struct, frozen=True):
    """One check that a URL passes, and its result; null: not reached, or it does not apply."""

    gate: str
    passed: bool | None
    rule: str
    detail: str


class ExplanationView(msgspec.Struct, frozen=True):
    """Why a URL was crawled or not: every check in the order in which a crawl applies them."""

    url: str
    row: UrlView | None
    gates: list[GateView]


class SessionView(msgspec.Struct, frozen=True):
    """Who is signed in, what they may do, and what the server offers to the dashboard."""

    actor: str
    tenant: str
    scopes: list[TokenScope]
    csrf_token: str
    needs_token: bool
    has_demo: bool
    version: str


class EdgeView(msgspec.Struct, frozen=True):
    """A URL and the page it was first found on, by their ids."""

    discovered_from_url_id: str
    id: str
    status: UrlState
    depth: int
    content_type: str


class Graph(msgspec.Struct, frozen=True):
    """How the URLs of a run were found."""

    edges: list[EdgeView]
    returned: int
    truncated: bool


class Started(msgspec.Struct, frozen=True):
    """A quick crawl was queued."""

    job_id: str
    status: str


class JobPage(msgspec.Struct, frozen=True):
    """One URL that a quick crawl requested. Times are milliseconds since 1970."""

    url: str
    status_code: int | None
    title: str
    links: list[str]
    crawled_at: int | None
    error: str


class Job(msgspec.Struct, frozen=True):
    """A quick crawl with its pages. Times are milliseconds since 1970."""

    id: str
    status: str
    seed_url: str | None
    max_pages: int | None
    pages: list[JobPage]
    pagination: Pagination
    started_at: int | None
    ended_at: int | None


class JobAnswer(msgspec.Struct, frozen=True):
    """A quick crawl."""

    job: Job


class Health(msgspec.Struct, frozen=True):
    """Health status."""

    status: str


class IgnoreView(msgspec.Struct, frozen=True):
    """A decision to ignore findings."""

    reason: str
    by: str
    scope: IgnoreScope
    until: str | None


class FindingView(msgspec.Struct, frozen=True):
    """A finding of audits with its life."""

    id: str
    rule: str
    title: str
    fix: str
    severity: Severity
    status: FindingStatus
    url: str
    evidence: dict[str, Any]
    has_fix: bool
    """Whether a change of the HTML may be proposed."""
    first_seen: str
    last_seen: str
    opened_run: str
    resolved_at: str | None
    ignored: IgnoreView | None


class FindingList(msgspec.Struct, frozen=True):
    """A page of the findings of a site, and how many pass the other filters, by status."""

    findings: list[FindingView]
    by_status: dict[FindingStatus, int]
    pagination: Pagination


class IssueView(msgspec.Struct, frozen=True):
    """How many findings of a site one rule has."""

    rule: str
    severity: Severity
    """That of the worst one."""
    findings: int
    pages: int
    new: int
    """Those that the latest audit opened."""
    regressed: int


class IssueList(msgspec.Struct, frozen=True):
    """The findings of a site by rule, the worst first."""

    issues: list[IssueView]


class RuleView(msgspec.Struct, frozen=True):
    """An audit rule as it is set for a site."""

    id: str
    group: str
    severity: Severity
    title: str
    explanation: str
    fix: str
    is_on: bool
    has_records: bool
    """False: crawls do not store what the rule needs, so it finds nothing."""
    thresholds: dict[str, float]
    open: int


class RuleList(msgspec.Struct, frozen=True):
    """All audit rules."""

    rules: list[RuleView]


class ScoreView(msgspec.Struct, frozen=True):
    """The share of indexable pages without an open error."""

    clean: int
    indexable: int
    percent: float | None
    band: str


class AuditCountsView(msgspec.Struct, frozen=True):
    """Numbers of findings after an audit."""

    by_severity: dict[str, int]
    by_rule: dict[str, int]
    opened: int
    resolved: int
    ignored: int


class AuditView(msgspec.Struct, frozen=True):
    """The audit of a run."""

    run: str
    state: AuditState
    phase: AuditPhase | None
    pages: int
    started_at: str | None
    finished_at: str | None
    is_complete: bool
    score: ScoreView | None
    findings: AuditCountsView
    error: str


class AuditList(msgspec.Struct, frozen=True):
    """Audits of a site."""

    audits: list[AuditView]


class InsightsView(msgspec.Struct, frozen=True):
    """The insights of a run."""

    run: str
    insights: dict[str, Any]


class FixProposalView(msgspec.Struct, frozen=True):
    """A proposal that fixes a finding in the HTML of its page, or the reason why there is none."""

    before: str
    """The lines of the HTML that change."""
    after: str
    reason: str


class AuditOptions(msgspec.Struct, frozen=True):
    """Settings of a site's audits."""

    rules: dict[str, Any]
    exclude: list[str]
    check_links: bool


def moment(seconds: float | None) -> str | None:
    """A Unix time as ISO 8601 in UTC, to the millisecond."""
    return None if seconds is None else iso_time(seconds)


def millis(seconds: float | None) -> int | None:
    """A Unix time or a duration in milliseconds."""
    return None if seconds is None else round(seconds * 1000)


def config_of(settings: CrawlSettings) -> RunConfig:
    """Run settings as the API shows them."""
    return RunConfig(
        max_pages=settings.max_pages,
        max_depth=settings.max_depth,
        scope_mode=settings.scope,
        include_documents=follows_documents(settings),
        include_media=bool(settings.media.types),
        follow_redirects=settings.follow_redirects,
        demo_delay_ms=round((settings.pace.delay_s or 0.0) * 1000),
        request_timeout_ms=round(settings.limits.headers_s * 1000),
        max_retries=settings.max_retries,
        read=settings.read,
        render=settings.rendering.mode,
        screenshots=settings.rendering.screenshots,
        personal=settings.personal,
        accept_language=settings.accept_language,
        audit=settings.audit,
    )


def _facts(run: Run) -> dict[str, object]:
    seed = next(iter(run.settings.seeds), None)
    return {
        "id": run.id,
        "site": run.site_name,
        "status": run.state,
        "seed_url": seed,
        "normalized_seed_url": seed,
        "root_url": seed,
        "allowed_hosts": _hosts(run),
        "run_config": config_of(run.settings),
        "wave": run.wave,
        "depth": run.depth,
        "created_at": moment(run.created_at) or "",
        "started_at": moment(run.started_at),
        "finished_at": moment(run.finished_at),
        "error": run.error,
    }


def run_view(run: Run) -> RunView:
    """A run as the API shows it."""
    return RunView(**_facts(run))  # type: ignore[arg-type]


def summary_view(run: Run, counts: RunCounts) -> RunSummary:
    """A run with its counts."""
    numbers = RunNumbers(
        total_urls=counts.urls,
        pages=counts.pages,
        queued=counts.states.get(UrlState.QUEUED, 0),
        in_progress=counts.states.get(UrlState.IN_PROGRESS, 0),
        fetched=counts.fetched,
        prefetch_unused=counts.prefetch_unused,
        new=counts.new,
        changed=counts.changed,
        sitemaps=counts.sitemaps,
        body_bytes=counts.body_bytes,
        words=counts.words,
        by_status=counts.states,
        skipped=counts.skipped,
        errors=counts.errors,
        aliases=counts.proofs,
        redactions=counts.redactions,
        rendering=counts.rendering,
        media=media_numbers(counts.media),
    )
    return RunSummary(**_facts(run), counts=numbers)  # type: ignore[arg-type]


def media_numbers(counts: MediaCounts) -> MediaNumbers:
    """Counts of media as the API shows them."""
    return MediaNumbers(
        urls=counts.urls,
        images=counts.images,
        videos=counts.videos,
        documents=counts.documents,
        duplicates_skipped=counts.duplicates_skipped,
        unchanged=counts.unchanged,
        failed=counts.failed,
        videos_skipped_oversized=counts.videos_skipped_oversized,
        bandwidth_bytes=counts.bandwidth_bytes,
        compression_savings_bytes=counts.saved_bytes,
    )


def url_view(row: UrlRow) -> UrlView:
    """A row as the API shows it."""
    url = str(row.url)
    return UrlView(
        id=url,
        url=url,
        normalized_url=url,
        discovered_from_url_id=_text(row.parent),
        status=row.state,
        status_code=row.status_code,
        depth=row.depth,
        source=row.source.value,
        seq=row.seq,
        title=row.title,
        content_type=row.content_type,
        content_hash=row.content_hash,
        word_count=row.word_count,
        noindex=row.noindex,
        final_url=_text(row.final_url),
        canonical_url=_text(row.canonical),
        redirect_chain=[RedirectHop(**hop) for hop in chain_of(row.redirect_chain)],
        proof=row.proof.value if row.proof else None,
        skip_reason=row.skip_reason.value if row.skip_reason else None,
        detail=row.detail,
        error=row.error,
        retry_count=row.attempts,
        fetches=row.fetches,
        retry_after_at=moment(row.retry_at),
        claimed_by_worker=row.claimed_by,
        visited_at=moment(row.fetched_at),
        elapsed_ms=millis(row.elapsed_s),
        body_bytes=row.body_bytes,
        changed=row.changed,
        render_reason=row.render.reason.value if row.render else None,
        render_evidence=list(row.render.evidence) if row.render else [],
    )


def explanation_view(explanation: Explanation) -> ExplanationView:
    """An explanation as the API shows it."""
    gates = [GateView(gate.gate, gate.passed, gate.rule, gate.detail) for gate in explanation.gates]
    return ExplanationView(str(explanation.url), url_view(explanation.row) if explanation.row else None, gates)


def content_view(document: Mapping[str, Any], *, is_cached: bool) -> PageContent:
    """A document as the API shows it."""
    own = {name: document.get(name) for name in PageContent.__struct_fields__}
    own["final_url"] = document.get("final_url") or document["url"]
    own["fetched_at"] = moment(document["fetched_at"])
    return PageContent(**own | {"cached": is_cached})  # type: ignore[arg-type]  # the fields of a document


def link_view(link: LinkBetweenPages) -> LinkView:
    """A link as the API shows it."""
    return LinkView(str(link.source), str(link.target), link.text, link.fragment, link.nofollow)


def edge_view(edge: Edge) -> EdgeView:
    """An edge as the API shows it."""
    return EdgeView(str(edge.parent), str(edge.url), edge.state, edge.depth, edge.content_type)


def _text(url: Url | None) -> str | None:
    return None if url is None else str(url)


def _hosts(run: Run) -> list[str]:
    """The authorities in scope: those of the seeds, with their `www.` twins where the scope counts them as one."""
    named = [url.authority for raw in run.settings.seeds or run.settings.sitemaps if (url := Url.parse(raw))]
    hosts = dict.fromkeys((*named, *run.joined_hosts))
    if run.settings.scope is not Scope.ORIGIN:
        for host in list(hosts):
            bare = host.removeprefix("www.")
            if "." in bare and not _ADDRESS.fullmatch(bare):
                hosts |= {bare: None, f"www.{bare}": None}
    return sorted(hosts)


class FlagView(msgspec.Struct, frozen=True):
    """A possible prompt injection: the rule that matched, and the text it matched."""

    rule: str
    evidence: str


class NeighbourView(msgspec.Struct, frozen=True):
    """A chunk before or after a result on its page."""

    text: str
    start: int


class ScoredWord(msgspec.Struct, frozen=True):
    """What a word of the query contributed to a score, and the fields it is in."""

    term: str
    score: float
    chunks: int
    fields: list[str]


class ScoreExplanation(msgspec.Struct, frozen=True):
    """How the score of a result came about."""

    words: list[ScoredWord]
    adjacent: float
    weight: float


class HitView(msgspec.Struct, frozen=True):
    """One search result with its location on the page."""

    url: str
    citation: str
    site: str
    title: str
    headings: list[str]
    snippet: str
    highlights: list[tuple[int, int]]
    score: float
    lexical: float | None
    dense: float | None
    chunk: str
    text: str
    lead: str
    start: int
    end: int
    tokens: int
    landmark: str
    lang: str
    type: str
    dated: str | None
    fetched_at: str | None
    presence: str
    flags: list[FlagView]
    neighbours: list[NeighbourView] | msgspec.UnsetType = msgspec.UNSET
    explanation: ScoreExplanation | msgspec.UnsetType = msgspec.UNSET


class SearchResults(msgspec.Struct, frozen=True):
    """Search results, best first, and how they were found."""

    query: str
    mode: str
    chunks: int
    embedded: int
    suggestion: str
    hits: list[HitView]


class SiteChangeView(msgspec.Struct, frozen=True):
    """One change of a site: a page that is new, changed, gone or moved."""

    change: str
    url: str
    at: str | None
    moved_to: str | None
    evidence: str
    removed: list[str]
    added: list[str]


class SiteChanges(msgspec.Struct, frozen=True):
    """Changes of a site, by URL."""

    site: str
    total: int
    changes: list[SiteChangeView]


class SiteView(msgspec.Struct, frozen=True):
    """One site and its index status."""

    name: str
    pages: int
    waiting: int
    chunks: int
    embedded: int
    held: int


class SiteList(msgspec.Struct, frozen=True):
    """All sites."""

    sites: list[SiteView]


class HeldPages(msgspec.Struct, frozen=True):
    """Pages of a site whose deletion is held back because too many disappeared at once."""

    site: str
    pages: int


class SiteAccessView(msgspec.Struct, frozen=True, rename="camel"):
    """Stored access to an origin, without its secrets."""

    origin: str
    created_at: str
    renewed_at: str
    """When a crawl last stored cookies that the site has renewed."""


class SiteAccessList(msgspec.Struct, frozen=True, rename="camel"):
    """The origins to which access is stored."""

    origins: list[SiteAccessView]
