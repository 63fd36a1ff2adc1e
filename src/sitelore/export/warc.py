"""WARC 1.1 (ISO 28500:2017): what was received, one gzip member per record, so that any record can be read on its own.

Bodies are the redacted snapshots, without transfer and content encodings, in their own charset; headers are those the
ledger keeps. warcinfo says so. A page
confirmed by 304 becomes a `revisit`; a redirect becomes a `response` with its `location` and no body. Record ids are
made from the run and the URL, so the same run always gives the same archive.
"""

from __future__ import annotations

import gzip
from base64 import b32encode
from collections.abc import AsyncIterator
from hashlib import sha256
from http import HTTPStatus
from typing import BinaryIO
from uuid import NAMESPACE_URL, uuid5

from sitelore.export.pages import moment
from sitelore.model.errors import CorruptData
from sitelore.model.frontier import Run, UrlRow
from sitelore.model.states import REDIRECT_STATES, UrlState
from sitelore.ports import Blobs

_NOT_MODIFIED_PROFILE = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_LEVEL = 6

Headers = list[tuple[str, str]]


async def write_warc(run: Run, rows: AsyncIterator[UrlRow], blobs: Blobs, sink: BinaryIO) -> int:
    """The archive of one run. Gives the number of records after warcinfo."""
    sink.write(_record(_info(run)))
    count = 0
    async for row in rows:
        record = await _record_of(run, row, blobs)
        if record is not None:
            sink.write(_record(record))
            count += 1
    return count


def _info(run: Run) -> tuple[Headers, bytes]:
    fields: Headers = [
        ("software", run.settings.user_agent),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
        ("robots", "obey" if run.settings.obey_robots else "ignore"),
        ("description", "bodies are content-decoded and redacted; headers are those kept by the crawl"),
        ("isPartOf", run.site_name),
    ]
    return _warc_headers(run, "warcinfo", "", run.started_at or run.created_at, "application/warc-fields"), _lines(fields)


async def _record_of(run: Run, row: UrlRow, blobs: Blobs) -> tuple[Headers, bytes] | None:
    if row.fetched_at is None or row.status_code is None:
        return None
    if row.state is UrlState.NOT_MODIFIED:
        return _revisit(run, row)
    location = _location(row)
    if row.snapshot is None and location is None:
        return None
    try:
        body = await blobs.get(row.snapshot) if row.snapshot is not None else b""
    except KeyError:
        raise CorruptData(f"the stored snapshot of {row.url} is missing; crawl it again with --force") from None
    http: Headers = [("content-length", str(len(body)))]
    if location is not None:
        http.append(("location", location))
    if body:
        http.append(("content-type", _content_type(row, body)))
    http += _validators(row)
    block = _status_line(row.status_code) + _lines(http) + b"\r\n" + body
    headers = _warc_headers(run, "response", row.url, row.fetched_at, "application/http; msgtype=response")
    return [*headers, ("WARC-Payload-Digest", _digest(body)), ("WARC-Block-Digest", _digest(block))], block


def _revisit(run: Run, row: UrlRow) -> tuple[Headers, bytes]:
    headers = _warc_headers(run, "revisit", row.url, row.fetched_at, "application/http; msgtype=response")
    headers += [("WARC-Profile", _NOT_MODIFIED_PROFILE), ("WARC-Refers-To-Target-URI", row.url)]
    return headers, _status_line(304) + _lines(_validators(row)) + b"\r\n"


def _location(row: UrlRow) -> str | None:
    """Where a redirecting URL led. Its own hop is in the chain; the next one, or the end, is the target."""
    if row.status_code not in REDIRECT_STATES:
        return None
    urls = [hop.url for hop in row.redirect_chain]
    following = urls[urls.index(row.url) + 1 :] if row.url in urls else []
    return following[0] if following else row.final_url


def _content_type(row: UrlRow, body: bytes) -> str:
    """As the server wrote it; where it named no charset, UTF-8 is named when the bytes themselves prove it."""
    kind = _one_line(row.content_type or "text/html")
    if "charset" in kind.lower() or body.isascii():
        return kind
    try:
        body.decode()
    except UnicodeDecodeError:
        return kind
    return f"{kind}; charset=utf-8"


def _validators(row: UrlRow) -> Headers:
    pairs = [("etag", row.etag), ("last-modified", row.last_modified)]
    return [(name, _one_line(value)) for name, value in pairs if value]


def _warc_headers(run: Run, kind: str, url: str, at: float | None, content_type: str) -> Headers:
    identity = uuid5(NAMESPACE_URL, f"{run.id} {kind} {url}")
    headers: Headers = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<urn:uuid:{identity}>"),
        ("WARC-Date", moment(at or 0.0) or ""),
    ]
    if url:
        info = uuid5(NAMESPACE_URL, f"{run.id} warcinfo ")
        headers += [("WARC-Target-URI", url), ("WARC-Warcinfo-ID", f"<urn:uuid:{info}>")]
    return [*headers, ("Content-Type", content_type)]


def _record(record: tuple[Headers, bytes]) -> bytes:
    headers, block = record
    head = b"WARC/1.1\r\n" + _lines([*headers, ("Content-Length", str(len(block)))]) + b"\r\n"
    return gzip.compress(head + block + b"\r\n\r\n", _LEVEL, mtime=0)


def _lines(fields: Headers) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in fields).encode()


def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


def _digest(data: bytes) -> str:
    return f"sha256:{b32encode(sha256(data).digest()).decode()}"


def _one_line(value: str) -> str:
    return "".join(char if char.isprintable() else " " for char in value)
