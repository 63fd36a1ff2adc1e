"""Audits a run: reads its stored pages and applies the rules of `sitelore.audit` to them.

Rows and page versions are read as streams; of each page only a summary is held. Audit facts that are not stored are extracted
from the page's snapshot, by the code of `sitelore reprocess`, and used for this audit alone. What an earlier run recorded about
the same URLs, media files and the search index are read as well. Nothing is requested, unless the option `check_links` is on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import msgspec

from sitelore.app.app import App
from sitelore.app.audit.chunk_topics import cluster_chunks
from sitelore.app.audit.link_checks import with_checks
from sitelore.app.audit.link_places import html_reader, with_selectors
from sitelore.app.audit.site_records import (
    MAX_INSTRUCTIONS,
    SiteFiles,
    instructions_of,
    personal_data_of,
    urls_without_instructions,
)
from sitelore.app.settings import operator_settings
from sitelore.audit.catalogue import RULES, AuditConfig
from sitelore.audit.checks import check_page, check_site
from sitelore.audit.graph import SiteGraph
from sitelore.audit.insights.links import section_of
from sitelore.audit.insights.topics import TopicCounts, terms_of
from sitelore.audit.page import AuditPage, PageContent, audit_page
from sitelore.audit.passages import Passages, paragraphs
from sitelore.audit.rule import Needs
from sitelore.audit.shingles import ShingleFile, shingles_of
from sitelore.audit.site import MIN_SHINGLE_WORDS, PageSummary, Site, add_anchors, is_complete_run, summarise
from sitelore.background import map_ahead
from sitelore.crawl.context import Progress, read_options_of
from sitelore.crawl.extraction_pool import ExtractionPool
from sitelore.crawl.reprocess import Reprocessing
from sitelore.export.rows import is_page
from sitelore.extract.audit_facts import decode_audit_facts, decompress_blob
from sitelore.extras import require_extra
from sitelore.model.audit.findings import (
    AuditPhase,
    EarlierPage,
    Finding,
    IndexedUrl,
    Instruction,
    RepeatedChunk,
    SearchLog,
    Severity,
)
from sitelore.model.frontier import PageVersion, RowKind, Run, RunListing, UrlRow
from sitelore.model.ids import BlobKey
from sitelore.model.response import RobotsFile
from sitelore.model.settings import Pipeline
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.ports import Ledger
from sitelore.store.schema import key_of


class _DocumentPart(TypedDict, total=False):
    """The parts of a stored document that `PageContent` holds. Most of a document is links, which the audit reads elsewhere."""

    text: Any
    markdown: Any
    h1: Any
    image: Any
    meta: Any
    structured: Any
    forms: Any
    media: Any
    rendering: Any


_decoder = msgspec.json.Decoder(_DocumentPart)
_PAGES_AHEAD_PER_CORE = 3
_MAX_RUNS_SEARCHED = 200
_MAX_QUERIES = 200
MIN_REPEATS = 5
"""Pages that have a passage before it is looked at."""
MAX_REPEATED = 200


@dataclass(slots=True)
class AuditProgress(Progress):
    """Progress of an audit: the number of checked pages, and the current step."""

    phase: AuditPhase = AuditPhase.PAGES


@dataclass(frozen=True, slots=True)
class SiteAudit:
    """The site of a run as rules and insights see it, and what the rules found."""

    run: Run
    site: Site
    findings: list[Finding]
    """The worst first, those of a rule together."""
    facts_extracted: int = 0
    """Pages whose facts were not stored, and were extracted from their snapshots."""
    without_facts: int = 0
    """Pages with neither facts nor a usable snapshot: rules about their markup did not see them."""


async def audit_site(app: App, run: Run, config: AuditConfig, progress: AuditProgress) -> SiteAudit:
    """Check all rules on a run, as far as what they need is stored."""
    require_extra("search", "audit")  # numpy, for the graph of links
    pool = ExtractionPool(os.cpu_count() or 1)
    try:
        return await _Audit(app, run, pool, config, progress).work()
    finally:
        await pool.close()


def is_partial(run: Run) -> bool:
    """Whether a run fetched only URLs that were named to it, as `update-delta` with URLs does."""
    return run.settings.pipeline is Pipeline.UPDATE_DELTA and run.settings.max_depth == 0


_SEVERITY_ORDER = {severity: number for number, severity in enumerate(Severity)}
_RULE_ORDER = {rule_id: number for number, rule_id in enumerate(RULES)}


def _order(finding: Finding) -> tuple[int, int, str]:
    return _SEVERITY_ORDER[finding.severity], _RULE_ORDER[finding.rule], finding.url


class _Audit:
    """One audit of a run."""

    def __init__(self, app: App, run: Run, pool: ExtractionPool, config: AuditConfig, progress: AuditProgress) -> None:
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
        self._app = app
        self._redaction = options.redaction
        self._files = SiteFiles()
        self._passages, self._topics = Passages(), TopicCounts()
        self._urls: list[str] = []
        self._shingles = ShingleFile()
        self._search_index = app.search.service(run.tenant).search_index
        self._scanned: set[str] = set()
        self._instructions: list[Instruction] = []
        self._known_runs: list[Run] | None = None
        self._facts_extracted = self._without_facts = 0

    async def work(self) -> SiteAudit:
        """Read everything, and check all rules."""
        graph = SiteGraph()
        summaries: dict[str, PageSummary] = {}
        findings: list[Finding] = []
        self._scanned = urls_without_instructions(await self._search_index.chunk_table(self._run.site))
        async with aclosing(self._pages()) as pages:
            async for page in pages:
                add_anchors(graph, page)
                summaries[str(page.url)] = summarise(page, self._shingles)
                findings += check_page(page, self._config)
                if page.is_kept:
                    self._read_text(page)
                    self._progress.pages += 1
                    self._progress.latest = page.url
        self._scanned.clear()
        self._progress.phase = AuditPhase.LINKS
        async for links in self._ledger.links(self._run.site):
            graph.add(links)
        media, unused = await self._files.media_files(
            self._app.media.for_tenant(self._run.tenant).library.site_media(self._run.site)
        )
        site = Site(
            summaries,
            graph,
            self._clock(),
            is_complete=self._is_complete(summaries),
            robots=await self._robots(),
            sitemaps=self._files.sitemap_files(),
            media=media,
            unused_media=tuple(unused),
            earlier=await self._earlier(summaries),
            instructions=tuple(self._instructions),
            indexed=await self._indexed(summaries),
            repeated_chunks=await self._repeated(),
            topics=self._topics,
            searches=await self._searches(),
            clusters=await cluster_chunks(self._app, self._run),
            missing=frozenset() if self._run.settings.media.types else frozenset({Needs.MEDIA}),
        )
        site = await with_checks(self._app, self._run, site, self._progress, is_allowed=self._config.check_links)
        self._progress.phase = AuditPhase.SITE
        # In a thread: a server answers requests meanwhile.
        findings += await asyncio.to_thread(check_site, site, self._config)
        findings.sort(key=_order)
        findings = await with_selectors(findings, html_reader(self._ledger, self._blobs, self._run.id))
        return SiteAudit(self._run, site, findings, self._facts_extracted, self._without_facts)

    def _read_text(self, page: AuditPage) -> None:
        """Count the passages and topics of a page, and find instructions to language models in it."""
        if page.is_html:
            self._passages.add(len(self._urls), page.content.text)
            self._urls.append(str(page.url))
            headings = [each.text for each in page.facts.headings]
            self._topics.add(section_of(page.url), terms_of(page.content.h1 or page.facts.title, headings, page.content.text))
        if len(self._instructions) < MAX_INSTRUCTIONS:
            self._instructions += instructions_of(page, is_scanned=page.url in self._scanned)

    async def _repeated(self) -> tuple[RepeatedChunk, ...]:
        """The passages that several pages have, with their texts."""
        repeated = []
        for each in self._passages.repeated(MIN_REPEATS, MAX_REPEATED):
            urls = tuple(self._urls[number] for number in each.pages)
            row = await self._ledger.row(self._run.id, Url.trusted(urls[0]))
            document = await self._document(row.document) if row is not None and row.document is not None else None
            text = dict(paragraphs(PageContent.of(document).text)).get(each.digest, "") if document is not None else ""
            if text:
                repeated.append(RepeatedChunk(text, len(text.split()), urls))
        return tuple(repeated)

    async def _indexed(self, summaries: Mapping[str, PageSummary]) -> tuple[IndexedUrl, ...]:
        """The pages in the search index that should not be there."""
        unwanted = {page.url for page in summaries.values() if page.is_kept and (page.is_noarchive or page.noindex)}
        held = await self._search_index.pages_pending_deletion(self._run.site, unwanted)
        indexed = []
        for each in held:
            page = summaries.get(each.url)
            is_gone = each.is_held and (page is None or not page.is_kept)
            runs = await self._full_runs_since(each.since) if is_gone and each.since is not None else 0
            directive = "" if page is None else "noindex" if page.noindex else "noarchive" if page.is_noarchive else ""
            indexed.append(IndexedUrl(each.url, each.chunks, directive, runs, each.since, each.evidence))
        return tuple(indexed)

    async def _full_runs_since(self, since: float) -> int:
        """The runs that crawled the whole site since a page was first missed, that run included."""
        runs = await self._full_runs()
        return 1 + sum((run.finished_at or run.created_at) > since for run in runs)

    async def _full_runs(self) -> list[Run]:
        """The completed runs that crawled the whole site, up to this one, newest first."""
        if self._known_runs is None:
            runs, _ = await self._ledger.list_runs(RunListing(site=self._run.site_name, limit=_MAX_RUNS_SEARCHED))
            is_before = (run for run in runs if run.created_at <= self._run.created_at and run.state is RunState.COMPLETED)
            self._known_runs = [run for run in is_before if not is_partial(run)]
        return self._known_runs

    def _is_complete(self, summaries: dict[str, PageSummary]) -> bool:
        return self._run.state is RunState.COMPLETED and not is_partial(self._run) and is_complete_run(summaries.values())

    async def _earlier(self, summaries: Mapping[str, PageSummary]) -> dict[str, Sequence[EarlierPage]]:
        """The rows of the previous run that crawled the whole site, by URL."""
        before = next((run for run in await self._full_runs() if run.id != self._run.id), None)
        if before is None:
            return {}
        return {
            str(row.url): (await self._earlier_page(row, summaries.get(row.url), before.finished_at or before.created_at),)
            async for row in self._ledger.rows(before.id)
            if row.state is not UrlState.SKIPPED or is_page(row)
        }

    async def _earlier_page(self, row: UrlRow, now: PageSummary | None, ended_at: float) -> EarlierPage:
        is_same = now is not None and now.is_kept and now.content_hash == row.content_hash
        shingles = b""
        if not is_same and row.document is not None and row.word_count >= MIN_SHINGLE_WORDS and is_page(row):
            document = await self._document(row.document)
            shingles = shingles_of(PageContent.of(document).text) if document is not None else b""
        return EarlierPage(
            url=str(row.url),
            seen_at=row.fetched_at or ended_at,
            title=row.title,
            word_count=row.word_count,
            content_hash=row.content_hash,
            status=row.status_code,
            final_url=str(row.final_url or ""),
            lastmod=row.lastmod,
            elapsed_s=row.elapsed_s,
            noindex=row.noindex,
            shingles=self._shingles.store(shingles),
            is_html=is_page(row) and "html" in row.content_type,
        )

    async def _searches(self) -> SearchLog | None:
        """What was searched on the site; None where searches are not recorded."""
        if not operator_settings().search_log_s:
            return None
        return await self._app.audits.for_tenant(self._run.tenant).search_log(self._run.site, _MAX_QUERIES)

    async def _robots(self) -> tuple[RobotsFile, ...]:
        files = [await self._ledger.robots(origin) for origin in sorted(self._files.origins)]
        return tuple(each for each in files if each is not None)

    def _pages(self) -> AsyncGenerator[AuditPage, None]:
        """All URLs in key order; a few pages are read ahead to keep every extraction process busy."""
        return map_ahead(self._page, self._rows(), self._pages_ahead)

    async def _rows(self) -> AsyncIterator[tuple[UrlRow, PageVersion | None]]:
        """All URLs with the current versions of their pages. Both streams are sorted by key, so they are merged."""
        versions = self._ledger.page_versions(self._run.site)
        version = await anext(versions, None)
        async for row in self._ledger.rows(self._run.id, sitemaps=True, media=True):
            self._files.add(row)
            if row.kind is not RowKind.PAGE:
                continue
            key = key_of(row.url)
            while version is not None and key_of(version.url) < key:
                version = await anext(versions, None)
            yield row, version if version is not None and version.url == row.url else None

    async def _page(self, stored: tuple[UrlRow, PageVersion | None]) -> AuditPage:
        row, version = stored
        if row.document is None or not is_page(row):
            return audit_page(row)
        # A version that a later run or `reprocess` stored is not what this run read.
        if version is None or not version.facts or version.document != row.document:
            version = await self._extracted_version(row) or version
        facts = decode_audit_facts(version.facts) if version is not None and version.facts else None
        self._without_facts += facts is None
        page = audit_page(row, version, facts, await self._document(row.document))
        personal = personal_data_of(page, self._redaction)
        return replace(page, redactions={**page.redactions, **personal}) if personal else page

    async def _extracted_version(self, row: UrlRow) -> PageVersion | None:
        """The page as extracted from its snapshot now; None when that is not possible."""
        reading = await self._snapshots.read(row)
        if reading is None or reading.facts is None or row.document is None:
            return None
        self._facts_extracted += 1
        facts = decompress_blob(reading.facts)
        return PageVersion(row.url, row.fetched_at or 0.0, None, row.document, row.content_hash, reading.redactions, facts)

    async def _document(self, key: BlobKey) -> Mapping[str, Any] | None:
        try:
            data = await self._blobs.get(key)
        except KeyError:
            return None
        return _decoder.decode(data)
