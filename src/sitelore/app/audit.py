"""Audits a run: reads what a crawl stored, without any request, and gives it to the rules of `sitelore.audit`.

Rows and page versions are read as streams; of each page only a summary is held. Audit facts that are not stored are extracted
from the page's snapshot, by the code of `sitelore reprocess`, and used for this audit alone.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import msgspec

from sitelore.app.app import App
from sitelore.audit.catalogue import RULES, AuditConfig
from sitelore.audit.checks import DEFAULT_CONFIG, check_page, check_site
from sitelore.audit.findings import RuleCard, merge_findings, rule_cards, score
from sitelore.audit.graph import SiteGraph
from sitelore.audit.page import AuditPage, audit_page
from sitelore.audit.site import PageSummary, Site, add_anchors, is_complete_run, summarise
from sitelore.crawl.context import Progress, read_options_of
from sitelore.crawl.extraction_pool import ExtractionPool
from sitelore.crawl.reprocess import Reprocessing
from sitelore.export.rows import is_page
from sitelore.extract.audit_facts import decode_audit_facts, unpack_audit_facts
from sitelore.extras import require_extra
from sitelore.model.audit import AuditScore, Finding, Severity, SitemapFile
from sitelore.model.frontier import PageVersion, RowKind, Run, Source, UrlRow
from sitelore.model.response import RobotsFile
from sitelore.model.settings import Pipeline
from sitelore.model.states import RunState, SkipReason, UrlState
from sitelore.ports import Ledger
from sitelore.store.schema import key_of

_SITEMAP_KINDS = frozenset({"urlset", "index", "text", "rss", "atom", "news"})
_PAGES_AHEAD_PER_CORE = 3


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The result of an audit."""

    run: Run
    site: Site
    findings: list[Finding]
    """The worst first, those of a rule together."""
    score: AuditScore
    cards: list[RuleCard]
    """One for each rule with findings, the worst first."""
    facts_extracted: int = 0
    """Pages whose facts were not stored, and were extracted from their snapshots."""
    without_facts: int = 0
    """Pages with neither facts nor a usable snapshot: rules about their markup did not see them."""


async def audit_site(app: App, run: Run, config: AuditConfig = DEFAULT_CONFIG, progress: Progress | None = None) -> AuditResult:
    """Check all rules on a run, as far as what they need is stored."""
    require_extra("search", "audit")  # numpy, for the graph of links
    pool = ExtractionPool(os.cpu_count() or 1)
    try:
        return await _Audit(app, run, pool, config, progress or Progress()).work()
    finally:
        await pool.close()


def is_partial(run: Run) -> bool:
    """Whether a run fetched only URLs that were named to it, as `update-delta` with URLs does."""
    return run.settings.pipeline is Pipeline.UPDATE_DELTA and run.settings.max_depth == 0


@dataclass(slots=True)
class _SiteFiles:
    """What the rows of a run say about its sitemaps, and the origins of its URLs."""

    origins: set[str] = field(default_factory=set)
    sitemaps: list[UrlRow] = field(default_factory=list)
    entries: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """The URLs that were found in each sitemap."""
    maybe_listed: dict[str, float | None] = field(default_factory=dict)
    """Pages that were known before a sitemap was read, so that their rows do not say whether one lists them."""

    def add(self, row: UrlRow) -> None:
        """Add one row."""
        if row.kind is RowKind.SITEMAP:
            self.sitemaps.append(row)
            return
        if row.skip_reason is not SkipReason.SCOPE:
            self.origins.add(row.url.origin)
        if row.source is Source.SITEMAP and row.parent is not None:
            self.entries.setdefault(str(row.parent), {})[str(row.url)] = row.lastmod
        elif row.source in {Source.SEED, Source.REDIRECT} and is_page(row):
            self.maybe_listed[str(row.url)] = row.lastmod

    def sitemap_files(self) -> tuple[SitemapFile, ...] | None:
        """The sitemaps; None when the run looked for none."""
        files = [_sitemap_file(row, self.entries.get(str(row.url), {})) for row in self.sitemaps if _is_sitemap(row)]
        for number, each in enumerate(files):
            if each.entries:
                files[number] = replace(each, entries={**self.maybe_listed, **each.entries})
                break
        return tuple(files) if self.sitemaps else None


def _is_sitemap(row: UrlRow) -> bool:
    """Whether a row is a sitemap or should be one: not a collection of an API, and not skipped."""
    return row.state is not UrlState.SKIPPED and (row.state is not UrlState.VISITED or _sitemap_kind(row) in _SITEMAP_KINDS)


def _sitemap_kind(row: UrlRow) -> str:
    return row.detail.partition(":")[0] if row.state is UrlState.VISITED else ""


def _sitemap_file(row: UrlRow, entries: dict[str, float | None]) -> SitemapFile:
    return SitemapFile(str(row.url), row.status_code or 0, _sitemap_kind(row), row.error, row.body_bytes, entries)


_SEVERITY_ORDER = {severity: number for number, severity in enumerate(Severity)}
_RULE_ORDER = {rule_id: number for number, rule_id in enumerate(RULES)}


def _order(finding: Finding) -> tuple[int, int, str]:
    return _SEVERITY_ORDER[finding.severity], _RULE_ORDER[finding.rule], finding.url


class _Audit:
    """One audit of a run."""

    def __init__(self, app: App, run: Run, pool: ExtractionPool, config: AuditConfig, progress: Progress) -> None:
        self._run = run
        self._config = config
        self._progress = progress
        self._clock = app.clock
        self._ledger: Ledger = app.ledger.for_tenant(run.tenant)
        self._blobs = app.blobs.for_tenant(run.tenant)
        cores = os.cpu_count() or 1
        options = replace(read_options_of(run.settings, app.redaction), keep_snapshot=False, facts=True)
        self._snapshots = Reprocessing(run, self._ledger, self._blobs, pool, options, cores)
        self._pages_ahead = _PAGES_AHEAD_PER_CORE * cores
        self._files = _SiteFiles()
        self._facts_extracted = self._without_facts = 0

    async def work(self) -> AuditResult:
        """Read everything, and check all rules."""
        graph = SiteGraph()
        summaries: dict[str, PageSummary] = {}
        findings: list[Finding] = []
        async with aclosing(self._pages()) as pages:
            async for page in pages:
                add_anchors(graph, page)
                summaries[str(page.url)] = summarise(page)
                findings += check_page(page, self._config)
                if page.is_kept:
                    self._progress.pages += 1
                    self._progress.latest = page.url
        async for link in self._ledger.links(self._run.site):
            graph.add(link)
        site = Site(
            summaries,
            graph,
            self._clock(),
            is_complete=self._is_complete(summaries),
            robots=await self._robots(),
            sitemaps=self._files.sitemap_files(),
        )
        findings += check_site(site, self._config)
        findings.sort(key=_order)
        records = merge_findings((), findings, (), site.is_complete, site.now)
        cards = rule_cards(site, records)
        return AuditResult(self._run, site, findings, score(site, records), cards, self._facts_extracted, self._without_facts)

    def _is_complete(self, summaries: dict[str, PageSummary]) -> bool:
        return self._run.state is RunState.COMPLETED and not is_partial(self._run) and is_complete_run(summaries.values())

    async def _robots(self) -> tuple[RobotsFile, ...]:
        files = [await self._ledger.robots(origin) for origin in sorted(self._files.origins)]
        return tuple(each for each in files if each is not None)

    async def _pages(self) -> AsyncGenerator[AuditPage, None]:
        """All URLs in key order; a few pages are read ahead to keep every extraction process busy."""
        tasks: deque[asyncio.Task[AuditPage]] = deque()
        try:
            async for row, version in self._rows():
                tasks.append(asyncio.create_task(self._page(row, version)))
                if len(tasks) > self._pages_ahead:
                    yield await tasks.popleft()
            while tasks:
                yield await tasks.popleft()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _rows(self) -> AsyncIterator[tuple[UrlRow, PageVersion | None]]:
        """All URLs with the current versions of their pages. Both streams are sorted by key, so they are merged."""
        versions = self._ledger.page_versions(self._run.site)
        version = await anext(versions, None)
        async for row in self._ledger.rows(self._run.id, sitemaps=True):
            self._files.add(row)
            if row.kind is RowKind.SITEMAP:
                continue
            key = key_of(row.url)
            while version is not None and key_of(version.url) < key:
                version = await anext(versions, None)
            yield row, version if version is not None and version.url == row.url else None

    async def _page(self, row: UrlRow, version: PageVersion | None) -> AuditPage:
        if row.document is None or not is_page(row):
            return audit_page(row)
        # A version that a later run or `reprocess` stored is not what this run read.
        if version is None or not version.facts or version.document != row.document:
            version = await self._extracted_version(row) or version
        facts = decode_audit_facts(version.facts) if version is not None and version.facts else None
        self._without_facts += facts is None
        return audit_page(row, version, facts, await self._document(row))

    async def _extracted_version(self, row: UrlRow) -> PageVersion | None:
        """The page as extracted from its snapshot now; None when that is not possible."""
        reading = await self._snapshots.read(row)
        if reading is None or reading.facts is None or row.document is None:
            return None
        self._facts_extracted += 1
        facts = unpack_audit_facts(reading.facts)
        return PageVersion(row.url, row.fetched_at or 0.0, None, row.document, row.content_hash, reading.redactions, facts)

    async def _document(self, row: UrlRow) -> dict[str, object] | None:
        try:
            data = await self._blobs.get(row.document) if row.document is not None else b""
        except KeyError:
            return None
        document: dict[str, object] = msgspec.json.decode(data)
        return document
