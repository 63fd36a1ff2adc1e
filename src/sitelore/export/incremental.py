"""Writes pages as Markdown files and JSON Lines while their crawl runs; the export at the end replaces them.

A page is written as it is known when it settles: with the text that repeats over the site, without aliases, and even if it
turns out to be a duplicate later. `write_exports` is what counts: it rewrites the files that differ and removes the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sitelore.background import wait
from sitelore.export.files import atomic_file, disk_errors_for
from sitelore.export.formats import FORMATS, MARKDOWN, ExportedFiles, ExportSource
from sitelore.export.markdown import EarlyTree
from sitelore.export.pages import documents, page_line
from sitelore.export.rows import is_page
from sitelore.model.errors import SiteloreError, StorageError
from sitelore.model.frontier import Settlement, UrlRow
from sitelore.model.settings import LinkStyle

_LOG = logging.getLogger(__name__)

JSON_LINES = "jsonl"

_INTERVAL_S = 1.0
_BATCH = 16
_BLOCK_BYTES = 1 << 16

Documents = list[tuple[UrlRow, dict[str, Any]]]
"""Rows of pages, each with its stored document."""


class IncrementalExport:
    """Writes the pages of a run about once a second. `add` is the `on_settled` callback of its workers.

    A problem stops it, not the crawl: it is reported once, and the export at the end tries again.
    """

    def __init__(
        self, source: ExportSource, out: Path, names: frozenset[str], report: Callable[[str], None], *, resumed: bool = False
    ) -> None:
        self._source = source
        self._report = report
        self._pending: list[UrlRow] = []
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._writers: dict[str, Callable[[Documents], None]] = {}
        self._paths: dict[str, str] = {}
        if JSON_LINES in names:
            path = out / FORMATS[JSON_LINES].filename
            self._paths[JSON_LINES] = str(path)
            self._writers[JSON_LINES] = EarlyLines(path, source.links, resumed=resumed).write
        if MARKDOWN in names:
            self._paths[MARKDOWN] = str(out)
            self._writers[MARKDOWN] = EarlyTree(out, source.run.site_name, source.links).write
        self._has_written = False

    @property
    def files(self) -> ExportedFiles:
        """Where the pages are that were written so far."""
        return ExportedFiles(self._paths if self._has_written else {})

    def add(self, settlement: Settlement) -> None:
        """Queue a page that has settled. A worker may also help with other runs; their pages are ignored."""
        if settlement.lease.run == self._source.run.id and self._writers:
            row = settled_row(settlement)
            if is_page(row):
                self._pending.append(row)
                self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write pages while the body runs, and the last ones if it is stopped: then no export may follow."""
        task = asyncio.create_task(self._write_until_closed())
        try:
            yield
        except BaseException as reason:
            await self._close(task)
            if not isinstance(reason, StorageError):  # do not wait again for a store that has just failed
                await self._write_pending()
            raise
        await self._close(task)

    async def _close(self, task: asyncio.Task[None]) -> None:
        """Wait for the batch that is being written: the export at the end must not write the same files meanwhile."""
        self._closing.set()
        self._wake.set()
        await task

    async def _write_until_closed(self) -> None:
        while not self._closing.is_set():
            await self._wake.wait()
            self._wake.clear()
            await self._write_pending(self._closing.is_set)
            await wait(self._closing, _INTERVAL_S)

    async def _write_pending(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        try:
            while self._pending and self._writers and not is_stopped():
                batch, self._pending = self._pending[:_BATCH], self._pending[_BATCH:]
                pages = [pair async for pair in documents(_each(batch), self._source.blobs, raw=True)]
                await asyncio.to_thread(self._write, pages)
        except Exception as problem:  # noqa: BLE001 the export at the end does not need these files
            self._writers.clear()
            self._pending.clear()
            self._report(f"note: no files are written until the crawl ends: {problem}")
            if not isinstance(problem, SiteloreError):
                _LOG.warning("writing files while a crawl runs failed", exc_info=problem)

    def _write(self, pages: Documents) -> None:
        self._has_written = True
        for write in self._writers.values():
            write(pages)


class EarlyLines:
    """Appends pages to a JSON Lines file in the order in which they settle.

    A new run starts a new file, so that a program that still reads the old one is not disturbed. A resumed run appends to the
    file that its first part left.
    """

    def __init__(self, path: Path, links: LinkStyle, *, resumed: bool) -> None:
        self._path = path
        self._links = links
        self._resumed = resumed
        self._is_started = False

    def write(self, pages: Documents) -> None:
        """Append one line for each page."""
        with disk_errors_for(self._path):
            if not self._is_started:
                self._start()
            lines = [page_line(row, document, [], links=self._links) for row, document in pages]
            with self._path.open("ab") as sink:
                sink.write(b"".join(lines))

    def _start(self) -> None:
        if self._resumed and self._path.exists():
            _cut_incomplete_line(self._path)
        else:
            with atomic_file(self._path):
                pass
        self._is_started = True


def _cut_incomplete_line(path: Path) -> None:
    """Remove the last line of a file if it has no newline: the process was killed while it wrote it."""
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        while end:
            start = max(0, end - _BLOCK_BYTES)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        file.truncate(end)


def settled_row(settlement: Settlement) -> UrlRow:
    """The row of a settled URL as far as an exported page needs it, without reading it from the ledger."""
    lease, verdict, effects = settlement.lease, settlement.verdict, settlement.effects
    row = UrlRow(
        run=lease.run,
        url=lease.url,
        kind=lease.kind,
        state=verdict.state,
        depth=lease.depth,
        source=lease.source,
        status_code=verdict.status_code,
        skip_reason=verdict.skip_reason,
        fetched_at=settlement.at if effects.fetched else None,
        redirect_chain=effects.chain,
        changed=effects.changed,
    )
    page = effects.page
    if page is None:
        return row
    return replace(
        row,
        final_url=lease.url,
        title=page.title,
        content_hash=page.content_hash,
        canonical=page.canonical,
        word_count=page.word_count,
        noindex=page.noindex,
        document=page.document,
        etag=page.etag,
        last_modified=page.last_modified,
        screenshot=page.screenshot,
    )


async def _each(rows: list[UrlRow]) -> AsyncIterator[UrlRow]:
    for row in rows:
        yield row
