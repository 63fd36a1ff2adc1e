"""Streamed responses: exports, the link graph, and server-sent events of a run.

Each event is a complete summary whose id identifies its content. A client that reconnects with `Last-Event-ID`, to this server
or another, gets the next summary that differs. So no event has to be buffered, and no client misses the end of a run.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from enum import StrEnum
from tempfile import TemporaryFile

from sitelore.background import first_of, wait
from sitelore.export.boilerplate import NO_REPEATS
from sitelore.export.formats import FORMATS, ExportSource
from sitelore.export.pages import jsonl_lines
from sitelore.export.rows import Rows, csv_pieces, json_pieces, ndjson_pieces
from sitelore.model.frontier import Edge, Run, UrlListing, UrlOrder, UrlRow
from sitelore.model.states import ACTIVE, WAITING
from sitelore.ports import Ledger
from sitelore.serve.responses import encode
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import RunSummary, edge_view

_BATCH_BYTES = 1 << 16
_ROWS_PER_READ = 5_000

EVENT_STREAM = "text/event-stream"
_RETRY_MS = 2000


class StreamedFormat(StrEnum):
    """Export formats that the API serves, named as on the command line; `ndjson` is `json` with one row per line."""

    JSON = "json"
    CSV = "csv"
    NDJSON = "ndjson"
    JSONL = "jsonl"
    WARC = "warc"
    LLMS_TXT = "llms-txt"
    LLMS_FULL_TXT = "llms-full-txt"
    ACTIONS = "actions"
    TOOLS = "tools"


MEDIA_TYPES = {
    StreamedFormat.JSON: "application/json",
    StreamedFormat.CSV: "text/csv; charset=utf-8",
    StreamedFormat.NDJSON: "application/x-ndjson",
    StreamedFormat.JSONL: "application/x-ndjson",
    StreamedFormat.WARC: "application/gzip",
    StreamedFormat.LLMS_TXT: "text/plain; charset=utf-8",
    StreamedFormat.LLMS_FULL_TXT: "text/plain; charset=utf-8",
    StreamedFormat.ACTIONS: "application/json",
    StreamedFormat.TOOLS: "application/json",
}


def exported(
    service: RunService, run: Run, form: StreamedFormat, filters: UrlListing, limit: int | None, *, whole: bool = False
) -> AsyncIterator[bytes]:
    """A run's export, byte-equal to `sitelore export` without filters. `whole` keeps the site's boilerplate in every page."""
    ledger = service.context.ledger

    def rows() -> AsyncIterator[UrlRow]:
        return ledger.rows(run.id) if filters == UrlListing() else _filtered(ledger, run, filters)

    if form is StreamedFormat.JSONL:
        return first_of(_pages(service, run, rows, whole=whole), limit)
    if form in FORMATS and form not in {StreamedFormat.JSON, StreamedFormat.CSV}:
        source = ExportSource(run, ledger, service.context.blobs, whole, select=lambda: first_of(rows(), limit))
        return _written(form, source)
    wanted = first_of(rows(), limit)
    if form is StreamedFormat.CSV:
        return csv_pieces(wanted)
    return json_pieces(wanted) if form is StreamedFormat.JSON else ndjson_pieces(wanted)


async def _written(form: StreamedFormat, source: ExportSource) -> AsyncIterator[bytes]:
    """A format that is written to a file: a temporary one, whose bytes are sent."""
    with TemporaryFile() as file:
        await FORMATS[form].write(source, file)
        file.seek(0)
        while piece := file.read(_BATCH_BYTES):
            yield piece


async def _filtered(ledger: Ledger, run: Run, filters: UrlListing) -> AsyncIterator[UrlRow]:
    """The rows that pass the filters, sorted by key."""
    listing = replace(filters, order=UrlOrder.NORMALIZED_URL, limit=_ROWS_PER_READ)
    while True:
        rows, total = await ledger.list_run_urls(run.id, listing)
        for row in rows:
            yield row
        listing = replace(listing, offset=listing.offset + len(rows))
        if not rows or listing.offset >= total:
            return


async def _pages(service: RunService, run: Run, rows: Rows, *, whole: bool) -> AsyncIterator[bytes]:
    repeats = NO_REPEATS if whole else await service.repeats(run.id)
    async with aclosing(jsonl_lines(rows, service.context.blobs, repeats)) as lines:  # type: ignore[type-var]
        async for line in lines:
            yield line


async def graph(edges: AsyncIterator[Edge], limit: int) -> AsyncIterator[bytes]:
    """The JSON of a `Graph`, in pieces."""
    pending = bytearray(b'{"edges":[')
    returned = 0
    is_truncated = False
    async for edge in first_of(edges, limit + 1):
        if returned == limit:
            is_truncated = True
            break
        if returned:
            pending += b","
        pending += encode(edge_view(edge))
        returned += 1
        if len(pending) > _BATCH_BYTES:
            yield bytes(pending)
            pending.clear()
    pending += b'],"returned":%d,"truncated":%b}' % (returned, b"true" if is_truncated else b"false")
    yield bytes(pending)


def event_id(summary: RunSummary) -> str:
    """The id of a summary: it changes with everything the event shows."""
    counts = summary.counts
    waiting = sum(counts.by_status.get(state, 0) for state in WAITING)
    parts = (summary.status.value, summary.wave, counts.total_urls, waiting, counts.in_progress, counts.pages, counts.fetched)
    return "-".join(map(str, parts))


def is_over(summary: RunSummary) -> bool:
    """Whether nothing more will happen to the run on its own: it has ended, or waits to be resumed."""
    return summary.status not in ACTIVE


async def run_events(service: RunService, name: str, last_id: str) -> AsyncIterator[bytes]:
    """Events from the first that differs from `last_id` until the run has ended or the server stops."""
    yield f"retry: {_RETRY_MS}\n\n".encode()
    service.state.followers += 1
    try:
        sent_at = time.monotonic()
        while not service.state.closing.is_set():
            summary = await service.summary(name)
            if (this_id := event_id(summary)) != last_id:
                yield _event(this_id, "end" if is_over(summary) else "progress", encode(summary))
                last_id, sent_at = this_id, time.monotonic()
            elif time.monotonic() - sent_at >= service.settings.heartbeat_s:
                yield b": heartbeat\n\n"
                sent_at = time.monotonic()
            if is_over(summary):
                return
            await wait(service.state.closing, min(service.settings.poll_s, service.settings.heartbeat_s))
    finally:
        service.state.followers -= 1


def _event(event_id: str, kind: str, data: bytes) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event_id.encode(), kind.encode(), data)
