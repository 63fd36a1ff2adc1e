"""A run's pages read again from their snapshots, with no request: after extraction has become better, or by other rules.

Documents go first and the rows that name them after, a batch at a time; a row is changed only where it still names the document
that was read before. So whatever stops this halfway leaves pages of which each is either as before or new, and doing it again
does the rest. URL states are not touched.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import msgspec

from sitelore.crawl.worker_context import Progress
from sitelore.extract.changes.change import compare_documents, words_between
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.errors import ReaderCrashed
from sitelore.model.frontier import PageFacts, ReprocessedPage, Run, UrlRow
from sitelore.model.rendering import RenderDecision
from sitelore.model.response import Response
from sitelore.model.states import UNCHANGED, UrlState
from sitelore.ports import Blobs, Ledger, Reader

_BATCH = 64
_LARGEST = 5
_KEPT = frozenset({UrlState.VISITED, UrlState.NOT_MODIFIED})


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page that reads differently now."""

    url: str
    words_gained: int
    words_lost: int


@dataclass(slots=True)
class Reprocessed:
    """What reading again brought."""

    pages: int = 0
    """Pages read again."""
    changed: int = 0
    """Documents that differ in anything."""
    text_changed: int = 0
    """Those of them whose words differ."""
    words_gained: int = 0
    words_lost: int = 0
    without_snapshot: int = 0
    """Pages that cannot be read again: `noarchive`, a secret that only parsing shows, or a run without snapshots."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Pages that brought no document this time, with the reason; they stay as they were."""
    largest: list[PageChange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Again:
    row: UrlRow
    reading: Reading | None
    """None without a snapshot."""


@dataclass(frozen=True, slots=True)
class _Said:
    evidence: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _SaidOfRendering:
    """The one part of a stored document that its snapshot does not tell."""

    rendering: _Said = field(default_factory=_Said)


_RENDERING = msgspec.json.Decoder(_SaidOfRendering)


class Reprocessing:
    """One run being read again. `lanes` is how many pages the reader takes at a time."""

    def __init__(self, run: Run, ledger: Ledger, blobs: Blobs, reader: Reader, options: ReadOptions, lanes: int) -> None:
        self._run = run
        self._ledger = ledger
        self._blobs = blobs
        self._reader = reader
        self._options = options
        self._policy = RenderPolicy(run.settings, run.site_rendering, bool)
        self._ahead = 3 * lanes
        self._result = Reprocessed()
        self._largest: list[tuple[int, str, PageChange]] = []

    async def work(self, progress: Progress, *, write: bool) -> Reprocessed:
        """Read every page of the run again, and unless it is a trial keep what was read."""
        waiting: list[tuple[ReprocessedPage, Reading]] = []
        async for again in self._readings():
            reread = await self._judge(again)
            if reread is not None and again.reading is not None:
                waiting.append((reread, again.reading))
            progress.pages += 1
            progress.skipped, progress.errors = self._result.without_snapshot, len(self._result.unreadable)
            progress.latest = again.row.url
            if len(waiting) >= _BATCH:
                await self._write(waiting, write=write)
        await self._write(waiting, write=write)
        self._result.largest = [change for _, _, change in sorted(self._largest, reverse=True)]
        return self._result

    async def _readings(self) -> AsyncIterator[_Again]:
        """Pages in key order, a few being read ahead on every core."""
        under_way: deque[asyncio.Task[_Again]] = deque()
        try:
            async for row in self._ledger.rows(self._run.id):
                if row.document is None or not (row.state in _KEPT or row.skip_reason in UNCHANGED):
                    continue
                under_way.append(asyncio.create_task(self._read(row)))
                if len(under_way) > self._ahead:
                    yield await under_way.popleft()
            while under_way:
                yield await under_way.popleft()
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _read(self, row: UrlRow) -> _Again:
        if row.snapshot is None:
            return _Again(row, None)
        try:
            body = await self._blobs.get(row.snapshot)
        except KeyError:
            return _Again(row, None)
        kind = (("content-type", row.content_type),) if row.content_type else ()
        options = replace(self._options, rendering=await self._how_it_was_read(row))
        try:
            return _Again(row, await self._reader.read(Response(row.url, 200, (*kind, *row.headers), body), options))
        except ReaderCrashed as crash:
            return _Again(row, Reading(problem=f"parse_error: {crash}"))

    async def _how_it_was_read(self, row: UrlRow) -> RenderDecision:
        """A snapshot of a page that a browser read is what it showed there: the document goes on saying so."""
        if row.render is None or row.document is None:
            return self._policy.over_http(row.url)
        said = _RENDERING.decode(await self._blobs.get(row.document)).rendering
        return RenderDecision(row.render.in_browser, row.render.reason, tuple(said.evidence))

    async def _judge(self, again: _Again) -> ReprocessedPage | None:
        """Count one page; what is to be written of it, if anything."""
        row, reading, result = again.row, again.reading, self._result
        if reading is None:
            result.without_snapshot += 1
            return None
        result.pages += 1
        if reading.document is None or row.document is None:
            result.unreadable[str(row.url)] = reading.problem or "no document"
            return None
        if reading.document.key == row.document:
            return None
        result.changed += 1
        before = await self._blobs.get(row.document)
        gained, lost = words_between(before, reading.document)
        if gained or lost:
            result.text_changed += 1
            result.words_gained += gained
            result.words_lost += lost
            change = PageChange(str(row.url), gained, lost)
            heapq.heappush(self._largest, (gained + lost, change.url, change))
            if len(self._largest) > _LARGEST:
                heapq.heappop(self._largest)
        return ReprocessedPage(row.url, row.document, await self._facts(row, reading, before))

    async def _facts(self, row: UrlRow, reading: Reading, before: bytes) -> PageFacts:
        assert reading.document is not None
        known = await self._ledger.known(self._run.site, row.url)
        volatile = b""
        if known is not None and known.volatile and known.document == row.document:
            volatile = compare_documents(before, reading.document, known.volatile, learn=False).volatile
        return PageFacts(
            title=reading.title,
            content_hash=reading.content_hash,
            novelty=reading.novelty,
            document=reading.document.key,
            canonical=reading.canonical,
            word_count=reading.word_count,
            noindex=reading.noindex,
            sketch=reading.sketch,
            volatile=volatile,
        )

    async def _write(self, waiting: list[tuple[ReprocessedPage, Reading]], *, write: bool) -> None:
        if write and waiting:
            await self._blobs.put([reading.document for _, reading in waiting if reading.document is not None])
            await self._ledger.replace_documents(self._run.id, [reread for reread, _ in waiting])
        waiting.clear()
