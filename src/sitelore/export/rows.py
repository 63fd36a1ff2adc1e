"""Exports the URLs of a run as JSON or CSV: sorted by key, without ids and times, so that equal crawls give equal bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable
from typing import Any, BinaryIO

import msgspec

from sitelore.model.frontier import Hop, UrlRow
from sitelore.model.states import UNCHANGED, UrlState
from sitelore.model.url import Url

Rows = Callable[[], AsyncIterator[UrlRow]]
"""Returns all rows of a run, sorted by key. Writers that need two passes call it twice."""

Row = dict[str, Any]
"""One row of an export."""

FIELDS = (
    "url", "key", "state", "status_code", "depth", "parent", "source", "redirect_chain", "final_url", "proof", "canonical_url",
    "title", "content_type", "word_count", "content_hash", "noindex", "skip_reason", "detail", "error",
)  # fmt: skip

_PERMANENT = frozenset({301, 308})
_KEPT_STATES = frozenset({UrlState.VISITED, UrlState.NOT_MODIFIED})
# Spreadsheets take cells with these starts for formulas; the last four are the full-width forms of the first four.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # fmt: skip
_BATCH_BYTES = 1 << 16


def is_page(row: UrlRow) -> bool:
    """Whether this row is a page of its run: read in it, or known to be unchanged."""
    return row.document is not None and (row.state in _KEPT_STATES or row.skip_reason in UNCHANGED)


def plain(url: Url | None) -> str | None:
    """A URL as a plain string, which encoders require."""
    return None if url is None else str(url)


def chain_of(hops: tuple[Hop, ...]) -> list[dict[str, Any]]:
    """A redirect chain as JSON data."""
    return [{"url": str(hop.url), "status": hop.status, "permanent": hop.status in _PERMANENT} for hop in hops]


def export_row(row: UrlRow) -> Row:
    """The exported fields of one URL, in the order of `FIELDS`."""
    final = row.final_url or (row.url if row.state in _KEPT_STATES or row.skip_reason in UNCHANGED else None)
    return {
        "url": str(row.url),
        "key": str(row.url),
        "state": row.state.value,
        "status_code": row.status_code,
        "depth": row.depth,
        "parent": plain(row.parent),
        "source": row.source.value,
        "redirect_chain": chain_of(row.redirect_chain),
        "final_url": plain(final),
        "proof": row.proof.value if row.proof else None,
        "canonical_url": plain(row.canonical),
        "title": row.title,
        "content_type": row.content_type,
        "word_count": row.word_count,
        "content_hash": row.content_hash,
        "noindex": row.noindex,
        "skip_reason": row.skip_reason.value if row.skip_reason else None,
        "detail": row.detail,
        "error": row.error,
    }


async def write_json(rows: AsyncIterator[UrlRow], sink: BinaryIO) -> int:
    """Write a JSON array with one row a line. Returns the number of rows."""
    return await _write(json_pieces, rows, sink)


async def write_csv(rows: AsyncIterator[UrlRow], sink: BinaryIO) -> int:
    """Write CSV (RFC 4180) that is safe to open in a spreadsheet. Returns the number of rows."""
    return await _write(csv_pieces, rows, sink)


async def json_pieces(rows: AsyncIterator[UrlRow]) -> AsyncIterator[bytes]:
    """The JSON array in pieces of about 64 KB."""
    encoder = msgspec.json.Encoder()
    pending = bytearray(b"[")
    is_empty = True
    async for row in rows:
        pending += b"\n" if is_empty else b",\n"
        pending += encoder.encode(export_row(row))
        is_empty = False
        if len(pending) > _BATCH_BYTES:
            yield bytes(pending)
            pending.clear()
    pending += b"]\n" if is_empty else b"\n]\n"
    yield bytes(pending)


async def ndjson_pieces(rows: AsyncIterator[UrlRow]) -> AsyncIterator[bytes]:
    """JSON Lines (one object a line) in pieces of about 64 KB."""
    encoder = msgspec.json.Encoder()
    pending = bytearray()
    async for row in rows:
        pending += encoder.encode(export_row(row))
        pending += b"\n"
        if len(pending) > _BATCH_BYTES:
            yield bytes(pending)
            pending.clear()
    if pending:
        yield bytes(pending)


async def csv_pieces(rows: AsyncIterator[UrlRow]) -> AsyncIterator[bytes]:
    """The CSV in pieces of about 64 KB."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(FIELDS)
    async for row in rows:
        writer.writerow([cell(value) for value in export_row(row).values()])
        if text.tell() > _BATCH_BYTES:
            yield _take_text(text)
    yield _take_text(text)


async def _write(
    pieces: Callable[[AsyncIterator[UrlRow]], AsyncIterator[bytes]], rows: AsyncIterator[UrlRow], sink: BinaryIO
) -> int:
    count = 0

    async def counted() -> AsyncIterator[UrlRow]:
        nonlocal count
        async for row in rows:
            count += 1
            yield row

    async for piece in pieces(counted()):
        sink.write(piece)
    return count


def cell(value: object) -> str:
    """A value as a CSV cell; text that could be a formula gets a leading apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return "; ".join(f"{hop['status']} {hop['url']}" for hop in value)
    text = str(value).replace("\x00", "")
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _take_text(text: io.StringIO) -> bytes:
    piece = text.getvalue().encode("utf-8", "replace")
    text.seek(0)
    text.truncate()
    return piece
