"""Writes a run as a WARC 1.1 archive (ISO 28500:2017), one gzip member per record.

Every URL that was answered has a `response` (redirects and errors too) or a `revisit`, with the `request` it answers. A revisit
is a page confirmed by 304, or a body that another response of the archive holds.

Heads are written as the ledger stores them: in the order received, redacted, long values cut off, cookies without values.
Bodies are the redacted snapshots without content encoding, in their own charset; headers that describe the body as it was sent
are renamed to `x-orig-…`, because readers decode by them. Of responses whose body is not stored (redirects, errors) the head
alone is written, marked as truncated. Requests hold the user agent and validators. warcinfo states all of this. Pages without
a snapshot (`noarchive`) are left out. Rows of older versions have no stored head; theirs is made of the page's columns.

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
from sitelore.model.ids import BlobKey
from sitelore.model.settings import PersonalPolicy
from sitelore.model.states import REDIRECT_STATES, UrlState
from sitelore.ports import Blobs

_PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
_SPECIFICATION = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_DESCRIPTION = (
    "bodies are redacted and content-decoded, those of pages that a browser rendered are the rendered document; "
    "bodies of redirects and errors are not recorded; long header values are cut off; "
    "headers that describe the body as it was sent are named x-orig-*"
)
_REDACTION = (
    "secrets in bodies, URLs and headers are replaced by [REDACTED:rule]; "
    "values of cookies, and headers that carry credentials, are left out"
)
_REDACTION_OF_PERSONAL_DATA = "; personal data is masked"
_AS_SENT = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that describe the body as it was sent, not as it is stored."""

Headers = list[tuple[str, str]]


async def write_warc(run: Run, rows: AsyncIterator[UrlRow], blobs: Blobs, sink: BinaryIO) -> int:
    """Write the archive of a run. Returns the number of responses and revisits."""
    archive = _Archive(run, sink)
    archive.write_info()
    count = 0
    async for row in rows:
        if row.fetched_at is None or row.status_code is None or (row.snapshot is None and is_page(row)):
            continue
        archive.write_row(row, await _snapshot(row, blobs))
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
        self._responses: dict[BlobKey, tuple[str, str]] = {}
        """URL and date of the response that holds a body."""

    def write_info(self) -> None:
        """Write the warcinfo record."""
        run = self._run
        fields = {
            "software": run.settings.user_agent,
            "format": "WARC File Format 1.1",
            "conformsTo": _SPECIFICATION,
            "robots": "obey" if run.settings.obey_robots else "ignore",
            "description": _DESCRIPTION,
            "redaction": _REDACTION
            + (_REDACTION_OF_PERSONAL_DATA if run.settings.personal is PersonalPolicy.EVERYWHERE else ""),
            "isPartOf": run.site_name,
        }
        record = self._writer.create_warcinfo_record(None, {name: _one_line(value) for name, value in fields.items()})
        record.rec_headers.replace_header("WARC-Record-ID", self._record_id("warcinfo", ""))
        record.rec_headers.replace_header("WARC-Date", moment(run.started_at or run.created_at) or "")
        self._writer.write_record(record)

    def write_row(self, row: UrlRow, body: bytes | None) -> None:
        """Write the response or revisit of a URL, and its request. `body` is the stored one; for a 304 the one it confirms."""
        date = moment(row.fetched_at) or ""
        if row.state is UrlState.NOT_MODIFIED:
            fields = {"WARC-Profile": f"{_PROFILES}server-not-modified", "WARC-Refers-To-Target-URI": str(row.url)}
            if body is not None:
                fields["WARC-Payload-Digest"] = _digest(body)
            self._write_pair("revisit", row, _response_headers(row), b"", fields)
        elif body is None:
            fields = {"WARC-Truncated": "unspecified"} if _had_body(row) else {}
            self._write_pair("response", row, _response_headers(row), b"", fields)
        elif row.snapshot in self._responses:
            url, first_date = self._responses[row.snapshot]
            fields = {
                "WARC-Profile": f"{_PROFILES}identical-payload-digest",
                "WARC-Payload-Digest": _digest(body),
                "WARC-Refers-To": self._record_id("response", url),
                "WARC-Refers-To-Target-URI": url,
                "WARC-Refers-To-Date": first_date,
            }
            self._write_pair("revisit", row, _headers_for(row, body), b"", fields)
        else:
            if row.snapshot is not None and body:
                self._responses[row.snapshot] = (str(row.url), date)
            self._write_pair("response", row, _headers_for(row, body), body, {})

    def _write_pair(self, kind: str, row: UrlRow, headers: Headers, body: bytes, fields: dict[str, str]) -> None:
        head = row.response_head
        if head is not None and head.address:
            fields["WARC-IP-Address"] = head.address
        version = head.version if head is not None and head.version else "1.1"
        response_head = StatusAndHeaders(_status(row), headers, f"HTTP/{version}")
        self._writer.write_record(self._record(kind, row, response_head, body, fields))
        request_head = StatusAndHeaders(f"{row.url.target} HTTP/1.1", _request_headers(self._run, row), "GET")
        request_fields = {"WARC-Concurrent-To": self._record_id(kind, row.url)}
        if "WARC-IP-Address" in fields:
            request_fields["WARC-IP-Address"] = fields["WARC-IP-Address"]
        self._writer.write_record(self._record("request", row, request_head, b"", request_fields))

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


def _headers_for(row: UrlRow, body: bytes) -> Headers:
    """The headers of a response with its stored body: they describe that body, and not the one that was sent."""
    headers: Headers = [("content-length", str(len(body)))]
    for name, value in _response_headers(row):
        if name in _AS_SENT:
            headers.append((f"x-orig-{name}", value))
        elif name == "content-type":
            headers.append((name, _with_charset(value, body)))
        else:
            headers.append((name, value))
    if body and not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", _with_charset("text/html", body)))
    return headers


def _response_headers(row: UrlRow) -> Headers:
    """The headers as received; of a row without a stored head, those that other columns hold."""
    if row.response_head is not None:
        return [(name, _one_line(value)) for name, value in row.response_head.headers]
    if row.state is UrlState.NOT_MODIFIED:
        return _validators(row)
    headers = [("content-type", row.content_type)] if row.content_type else []
    if row.snapshot is None and not row.body_bytes:
        headers.append(("content-length", "0"))
    if (location := _location(row)) is not None:
        headers.append(("location", location))
    headers += [(name, value) for name, value in row.headers if name != PROBED_HEADER]
    return [(name, _one_line(value)) for name, value in headers] + _validators(row)


def _had_body(row: UrlRow) -> bool:
    """Whether a response whose body is not stored had one. The body of an unwanted type is not read."""
    headers = dict(row.response_head.headers) if row.response_head is not None else {}
    return row.body_bytes > 0 or "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


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


def _digest(body: bytes) -> str:
    return f"sha256:{b32encode(sha256(body).digest()).decode()}"


def _status(row: UrlRow) -> str:
    """Status code and reason; where the server's own reason is not stored, the standard one."""
    code, head = row.status_code or 0, row.response_head
    if head is not None and head.version:
        return f"{code} {_one_line(head.reason)}"
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"{code} "


def _one_line(value: str) -> str:
    """The value without control characters, so that it cannot start another header."""
    return "".join(char if char.isprintable() else " " for char in value)
