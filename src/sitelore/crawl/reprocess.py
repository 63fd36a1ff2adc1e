"""Reprocessing: extract a run's pages again from their stored snapshots, without any request.

Used after extraction was improved or its options changed. Documents are written before the rows that refer to them, one batch
at a time, and a row is updated only if it still refers to the document that was read. If it is interrupted, every page is
either unchanged or complete, and running it again does the rest. URL states do not change.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import msgspec

from sitelore.background import map_ahead
from sitelore.crawl.context import Progress
from sitelore.extract.changes import compare_documents, words_between
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.errors import ReaderCrashed
from sitelore.model.frontier import PageUpdate, ReprocessedPage, Run, UrlRow
from sitelore.model.response import RenderDecision, Response
from sitelore.model.states import KEPT, UNCHANGED
from sitelore.ports import Blobs, Ledger, Reader

_BATCH = 64
_LARGEST_CHANGES = 5


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page whose text differs after reprocessing."""

    url: str
    words_gained: int
    words_lost: int


@dataclass(slots=True)
class Reprocessed:
    """The result of reprocessing a run."""

    pages: int = 0
    """Pages extracted again."""
    changed: int = 0
    """Documents that differ in any field."""
    text_changed: int = 0
    """Changed documents whose words differ."""
    words_gained: int = 0
    words_lost: int = 0
    without_snapshot: int = 0
    """Pages that cannot be reprocessed: `noarchive`, a secret that only parsing reveals, or a run without snapshots."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Pages whose extraction failed, with the reason; their old document is kept."""
    largest: list[PageChange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _PageResult:
    row: UrlRow
    reading: Reading | None
    """None when the page has no snapshot."""


@dataclass(frozen=True, slots=True)
class _StoredRendering:
    evidence: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _StoredDocument:
    """The part of a stored document that cannot be derived from its snapshot."""

    rendering: _StoredRendering = field(default_factory=_StoredRendering)


_DECODER = msgspec.json.Decoder(_StoredDocument)


class Reprocessing:
    """Extracts one run's pages again. `concurrency` is how many pages the reader processes in parallel."""

    def __init__(self, run: Run, ledger: Ledger, blobs: Blobs, reader: Reader, options: ReadOptions, concurrency: int) -> None:
        self._run = run
        self._ledger = ledger
        self._blobs = blobs
        self._reader = reader
        self._options = options
        self._policy = RenderPolicy(run.settings, run.site_rendering, bool)
        self._read_ahead = 3 * concurrency
        self._result = Reprocessed()
        self._largest: list[tuple[int, str, PageChange]] = []

    async def work(self, progress: Progress, *, write: bool) -> Reprocessed:
        """Extract every page of the run again; the results are stored unless `write` is false."""
        batch: list[tuple[ReprocessedPage, Reading]] = []
        # A few pages are extracted ahead, to keep every process busy.
        async for result in map_ahead(self._extract, self._pages(), self._read_ahead):
            page = await self._compare(result)
            if page is not None and result.reading is not None:
                batch.append((page, result.reading))
            progress.pages += 1
            progress.skipped, progress.errors = self._result.without_snapshot, len(self._result.unreadable)
            progress.latest = result.row.url
            if len(batch) >= _BATCH:
                await self._write(batch, write=write)
        await self._write(batch, write=write)
        self._result.largest = [change for _, _, change in sorted(self._largest, reverse=True)]
        return self._result

    async def read(self, row: UrlRow) -> Reading | None:
        """Extract one page again, and store nothing; None when it has no snapshot."""
        return (await self._extract(row)).reading

    async def _pages(self) -> AsyncIterator[UrlRow]:
        async for row in self._ledger.rows(self._run.id):
            if row.document is not None and (row.state in KEPT or row.skip_reason in UNCHANGED):
                yield row

    async def _extract(self, row: UrlRow) -> _PageResult:
        if row.snapshot is None:
            return _PageResult(row, None)
        try:
            body = await self._blobs.get(row.snapshot)
        except KeyError:
            return _PageResult(row, None)
        content_type = (("content-type", row.content_type),) if row.content_type else ()
        options = replace(self._options, rendering=await self._stored_rendering(row))
        response = Response(row.url, 200, (*content_type, *row.headers), body)
        try:
            return _PageResult(row, await self._reader.read(response, options))
        except ReaderCrashed as crash:
            return _PageResult(row, Reading(problem=f"parse_error: {crash}"))

    async def _stored_rendering(self, row: UrlRow) -> RenderDecision:
        """How the page was fetched; the snapshot of a rendered page is the DOM, so the new document says the same."""
        if row.render is None or row.document is None:
            return self._policy.over_http(row.url)
        stored = _DECODER.decode(await self._blobs.get(row.document)).rendering
        return RenderDecision(row.render.in_browser, row.render.reason, tuple(stored.evidence))

    async def _compare(self, page: _PageResult) -> ReprocessedPage | None:
        """Count one page; returns what has to be written, None when its document stays."""
        row, reading, result = page.row, page.reading, self._result
        if reading is None:
            result.without_snapshot += 1
            return None
        result.pages += 1
        if reading.document is None or row.document is None:
            result.unreadable[str(row.url)] = reading.problem or "no document"
            return None
        if reading.document.key == row.document:
            # Facts and links may be missing, or be of older rules.
            return ReprocessedPage(row.url, row.document, await self._facts(row, reading, b""))
        result.changed += 1
        before = await self._blobs.get(row.document)
        gained, lost = words_between(before, reading.document)
        if gained or lost:
            result.text_changed += 1
            result.words_gained += gained
            result.words_lost += lost
            change = PageChange(str(row.url), gained, lost)
            heapq.heappush(self._largest, (gained + lost, change.url, change))
            if len(self._largest) > _LARGEST_CHANGES:
                heapq.heappop(self._largest)
        return ReprocessedPage(row.url, row.document, await self._facts(row, reading, before))

    async def _facts(self, row: UrlRow, reading: Reading, before: bytes) -> PageUpdate:
        assert reading.document is not None
        known = await self._ledger.known(self._run.site, row.url)
        volatile = b""
        if known is not None and known.volatile and known.document == row.document:
            volatile = known.volatile
            if reading.document.key != row.document:
                volatile = compare_documents(before, reading.document, volatile, learn=False).volatile
        return PageUpdate(
            title=reading.title,
            content_hash=reading.content_hash,
            novelty=reading.novelty,
            document=reading.document.key,
            canonical=reading.canonical,
            word_count=reading.word_count,
            noindex=reading.noindex,
            sketch=reading.sketch,
            volatile=volatile,
            links=reading.page_links,
            facts=reading.facts.data if reading.facts else b"",
            redactions=reading.redactions,
        )

    async def _write(self, batch: list[tuple[ReprocessedPage, Reading]], *, write: bool) -> None:
        if write and batch:
            new = [
                reading.document
                for page, reading in batch
                if reading.document is not None and reading.document.key != page.before
            ]
            await self._blobs.put(new)
            await self._ledger.replace_documents(self._run.id, [page for page, _ in batch])
        batch.clear()
