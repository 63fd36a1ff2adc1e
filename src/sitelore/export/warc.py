"""Writes a run as a WARC 1.1 archive (ISO 28500:2017), one gzip member per record.

Every URL that was answered has a `response` (redirects and errors too), or a `revisit` for a page confirmed by 304, each with
the `request` it answers. Bodies are the redacted snapshots without content encoding, in their own charset; of responses whose
body is not stored (redirects, errors) the head alone is written, marked as truncated. Heads hold the headers that the ledger
keeps, and requests the user agent and validators. IP addresses are not recorded. warcinfo says so. Pages without a snapshot
(`noarchive`) are left out.

Record ids are derived from the run and the URL, so the same run gives the same bytes.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import AsyncIterator
from hashlib import sha256
from http import HTTPStatus
from io import BytesIO
from typing import BinaryIO
from uuid import NAMESPACE_URL, uuid5

from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.utils import Digester
from warcio.warcwriter import WARCWriter

from sitelore.export.pages import moment
from sitelore.export.rows import is_page
from sitelore.model.document import PROBED_HEADER
from sitelore.model.errors import CorruptData
from sitelore.model.frontier import Run, UrlRow
from sitelore.model.states import REDIRECT_STATES, UrlState
from sitelore.ports import Blobs

_NOT_MODIFIED_PROFILE = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_SPECIFICATION = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_DESCRIPTION = (
    "bodies are redacted and content-decoded; heads hold the headers that the crawl keeps; "
    "bodies of redirects and errors, and IP addresses, are not recorded"
)

Headers = list[tuple[str, str]]


async def write_warc(run: Run, rows: AsyncIterator[UrlRow], blobs: Blobs, sink: BinaryIO) -> int:
    """Write the archive of a run. Returns the number of responses and revisits."""
    archive = _Archive(run, sink)
    archive.write_info()
    count = 0
    async for row in rows:
        if row.fetched_at is None or row.status_code is None or (row.snapshot is None and is_page(row)):
            continue
        if row.state is UrlState.NOT_MODIFIED:
            archive.write_revisit(row, await _snapshot(row, blobs))
        else:
            archive.write_response(row, await _snapshot(row, blobs))
        count += 1
    return count


async def _snapshot(row: UrlRow, blobs: Blobs) -> bytes | None:
    if row.snapshot is None:
        return None
    try:
        return await blobs.get(row.snapshot)
    except KeyError:
        raise CorruptData(f"the stored snapshot of {row.url} is missing; crawl it again with --force") from None


class _Writer(WARCWriter):  # type: ignore[misc] # warcio has no types
    """warcio's writer with SHA-256 digests instead of SHA-1."""

    @staticmethod
    def _create_digester() -> Digester:
        return Digester("sha256")


class _Archive:
    """The records of one run."""

    def __init__(self, run: Run, sink: BinaryIO) -> None:
        self._run = run
        self._writer = _Writer(sink, gzip=True, warc_version="1.1")

    def write_info(self) -> None:
        """Write the warcinfo record."""
        run = self._run
        fields = {
            "software": run.settings.user_agent,
            "format": "WARC File Format 1.1",
            "conformsTo": _SPECIFICATION,
            "robots": "obey" if run.settings.obey_robots else "ignore",
            "description": _DESCRIPTION,
            "isPartOf": run.site_name,
        }
        record = self._writer.create_warcinfo_record(None, {name: _one_line(value) for name, value in fields.items()})
        record.rec_headers.replace_header("WARC-Record-ID", self._record_id("warcinfo", ""))
        record.rec_headers.replace_header("WARC-Date", moment(run.started_at or run.created_at) or "")
        self._writer.write_record(record)

    def write_response(self, row: UrlRow, body: bytes | None) -> None:
        """Write a response and its request. Without a stored body the head alone."""
        headers = _response_headers(row)
        fields: dict[str, str] = {}
        if body is None and row.body_bytes:
            fields["WARC-Truncated"] = "unspecified"
        else:
            headers.insert(0, ("content-length", str(len(body or b""))))
        if body and not row.content_type:
            headers.append(("content-type", _with_charset("text/html", body)))
        elif body:
            headers = [(name, _with_charset(value, body) if name == "content-type" else value) for name, value in headers]
        self._write_pair("response", row, StatusAndHeaders(_status(row.status_code or 0), headers, "HTTP/1.1"), body, fields)

    def write_revisit(self, row: UrlRow, body: bytes | None) -> None:
        """Write a revisit for a page that the server confirmed by 304; `body` is the stored one that it stands for."""
        fields = {"WARC-Profile": _NOT_MODIFIED_PROFILE, "WARC-Refers-To-Target-URI": str(row.url)}
        if body is not None:
            fields["WARC-Payload-Digest"] = f"sha256:{b32encode(sha256(body).digest()).decode()}"
        self._write_pair("revisit", row, StatusAndHeaders(_status(304), _validators(row), "HTTP/1.1"), None, fields)

    def _write_pair(self, kind: str, row: UrlRow, head: StatusAndHeaders, body: bytes | None, fields: dict[str, str]) -> None:
        response = self._record(kind, row, head, body or b"", fields)
        self._writer.write_record(response)
        if row.state is UrlState.SKIPPED:  # known from an earlier run: this one sent no request
            return
        request_head = StatusAndHeaders(f"{row.url.target} HTTP/1.1", _request_headers(self._run, row), "GET")
        fields = {"WARC-Concurrent-To": self._record_id(kind, row.url)}
        self._writer.write_record(self._record("request", row, request_head, b"", fields))

    def _record(self, kind: str, row: UrlRow, head: StatusAndHeaders, body: bytes, fields: dict[str, str]) -> ArcWarcRecord:
        fields = {
            "WARC-Record-ID": self._record_id(kind, row.url),
            "WARC-Date": moment(row.fetched_at) or "",
            "WARC-Warcinfo-ID": self._record_id("warcinfo", ""),
            **fields,
        }
        return self._writer.create_warc_record(
            str(row.url), kind, BytesIO(body), len(body), warc_headers_dict=fields, http_headers=head
        )

    def _record_id(self, kind: str, url: str) -> str:
        return f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{self._run.id} {kind} {url}')}>"


def _request_headers(run: Run, row: UrlRow) -> Headers:
    """The headers of the request as far as they are known: cookies, for example, are not recorded."""
    headers = [("host", row.url.authority), ("user-agent", _one_line(run.settings.user_agent))]
    if row.state is UrlState.NOT_MODIFIED:
        names = {"etag": "if-none-match", "last-modified": "if-modified-since"}
        headers += [(names[name], value) for name, value in _validators(row)]
    return headers


def _response_headers(row: UrlRow) -> Headers:
    headers = [("content-type", row.content_type)] if row.content_type else []
    if (location := _location(row)) is not None:
        headers.append(("location", location))
    headers += [(name, value) for name, value in row.headers if name != PROBED_HEADER]
    return [(name, _one_line(value)) for name, value in headers] + _validators(row)


def _location(row: UrlRow) -> str | None:
    """The target of a redirect: the hop after the URL's own in the chain, else the final URL."""
    if row.status_code not in REDIRECT_STATES:
        return None
    urls = [hop.url for hop in row.redirect_chain]
    following = urls[urls.index(row.url) + 1 :] if row.url in urls else []
    target = following[0] if following else row.final_url
    return None if target is None else str(target)


def _with_charset(content_type: str, body: bytes) -> str:
    """The content type with `charset=utf-8` where it names no charset and the bytes are UTF-8 beyond ASCII."""
    if "charset" in content_type.lower() or body.isascii():
        return content_type
    try:
        body.decode()
    except UnicodeDecodeError:
        return content_type
    return f"{content_type}; charset=utf-8"


def _validators(row: UrlRow) -> Headers:
    pairs = [("etag", row.etag), ("last-modified", row.last_modified)]
    return [(name, _one_line(value)) for name, value in pairs if value]


def _status(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"{code} "


def _one_line(value: str) -> str:
    """The value without control characters, so that it cannot start another header."""
    return "".join(char if char.isprintable() else " " for char in value)
