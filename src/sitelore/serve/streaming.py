"""Streamed responses: exports and the link graph."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from enum import StrEnum
from typing import TypeVar

from sitelore.export.boilerplate import NO_REPEATS
from sitelore.export.pages import jsonl_lines
from sitelore.export.rows import Rows, csv_pieces, json_pieces, ndjson_pieces
from sitelore.model.frontier import Edge, Run, UrlRow
from sitelore.serve.run_service import RunService, encode
from sitelore.serve.schemas import edge_view

T = TypeVar("T")

_BATCH_BYTES = 1 << 16


class ExportFormat(StrEnum):
    """Export formats, named as on the command line; `ndjson` is `json` with one row per line."""

    JSON = "json"
    CSV = "csv"
    NDJSON = "ndjson"
    JSONL = "jsonl"


MEDIA_TYPES = {
    ExportFormat.JSON: "application/json",
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.NDJSON: "application/x-ndjson",
    ExportFormat.JSONL: "application/x-ndjson",
}


def exported(
    service: RunService, run: Run, form: ExportFormat, limit: int | None, *, whole: bool = False
) -> AsyncIterator[bytes]:
    """A run's export, byte-equal to `sitelore export`. `whole` keeps the site's boilerplate in every page."""
    ledger = service.context.ledger

    def rows() -> AsyncIterator[UrlRow]:
        return ledger.rows(run.id)

    if form is ExportFormat.JSONL:
        return first(_pages(service, run, rows, whole=whole), limit)
    wanted = first(rows(), limit)
    if form is ExportFormat.CSV:
        return csv_pieces(wanted)
    return json_pieces(wanted) if form is ExportFormat.JSON else ndjson_pieces(wanted)


async def _pages(service: RunService, run: Run, rows: Rows, *, whole: bool) -> AsyncIterator[bytes]:
    repeats = NO_REPEATS if whole else await service.repeats(run.id)
    async with aclosing(jsonl_lines(rows, service.context.blobs, repeats)) as lines:  # type: ignore[type-var]
        async for line in lines:
            yield line


async def first(items: AsyncIterator[T], limit: int | None) -> AsyncIterator[T]:
    """The first `limit` items."""
    left = limit
    async with aclosing(items) as open_items:  # type: ignore[type-var]
        if left == 0:
            return
        async for item in open_items:
            yield item
            if left is not None:
                left -= 1
                if not left:
                    return


async def graph(edges: AsyncIterator[Edge], limit: int) -> AsyncIterator[bytes]:
    """The JSON of a `Graph`, in pieces."""
    pending = bytearray(b'{"edges":[')
    returned = 0
    is_truncated = False
    async for edge in first(edges, limit + 1):
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
