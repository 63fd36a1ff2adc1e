"""The WARC export, read back with warcio."""

from __future__ import annotations

import io
import re
import zlib
from base64 import b32encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

import pytest
from tests.unit.export.stored_run import StoredRun
from warcio.archiveiterator import ArchiveIterator

from sitelore.export.warc import write_warc
from sitelore.model.document import PROBED_HEADER
from sitelore.model.errors import CorruptData
from sitelore.model.frontier import Hop, Run
from sitelore.model.ids import BlobKey
from sitelore.model.response import StoredHead
from sitelore.model.settings import PersonalPolicy
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url


@dataclass
class Record:
    fields: dict[str, str]
    line: str
    """The request line or status line; empty without an HTTP head."""
    head: list[tuple[str, str]]
    body: bytes

    @property
    def type(self) -> str:
        return self.fields["WARC-Type"]

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.head)


def members(data: bytes) -> Iterator[bytes]:
    while data:
        stream = zlib.decompressobj(wbits=31)
        yield stream.decompress(data)
        assert stream.eof
        data = stream.unused_data


async def archive(run: Run, stored: StoredRun) -> list[Record]:
    """All records as warcio reads them, with every digest checked."""
    sink = io.BytesIO()
    count = await write_warc(run, stored.rows(), stored, sink)
    sink.seek(0)
    records = []
    for record in ArchiveIterator(sink, check_digests="raise"):
        http = record.http_headers
        line = f"{http.protocol} {http.statusline}" if http else ""
        body = record.content_stream().read()
        records.append(Record(dict(record.rec_headers.headers), line, http.headers if http else [], body))
    assert len(records) == len(list(members(sink.getvalue()))), "one gzip member for each record"
    assert sum(record.type in {"response", "revisit"} for record in records) == count
    return records


async def test_every_record_has_the_fields_the_standard_demands(stored: StoredRun, run: Run) -> None:
    stored.page("http://example.com/a")
    stored.other("http://example.com/b", UrlState.SKIPPED)
    records = await archive(run, stored)
    assert [record.type for record in records] == ["warcinfo", "response", "request"]
    for record in records:
        assert re.fullmatch(r"<urn:uuid:[0-9a-f-]{36}>", record.fields["WARC-Record-ID"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record.fields["WARC-Date"])
        assert record.fields["Content-Length"].isdecimal()
    assert len({record.fields["WARC-Record-ID"] for record in records}) == 3
    for record in records[1:]:
        assert record.fields["WARC-Warcinfo-ID"] == records[0].fields["WARC-Record-ID"]
        assert record.fields["WARC-Target-URI"] == "http://example.com/a"


async def test_warcinfo_lists_what_the_archive_leaves_out(stored: StoredRun, run: Run) -> None:
    [info] = await archive(run, stored)
    assert info.fields["Content-Type"] == "application/warc-fields"
    fields = dict(line.split(": ", 1) for line in info.body.decode().splitlines())
    assert fields["isPartOf"] == "example.com"
    assert fields["robots"] == "obey"
    assert "bodies are redacted and content-decoded" in fields["description"]
    assert "[REDACTED:rule]" in fields["redaction"]
    assert "personal data" not in fields["redaction"]
    [info] = await archive(replace(run, settings=replace(run.settings, personal=PersonalPolicy.EVERYWHERE)), stored)
    assert b"personal data is masked" in info.body


async def test_a_response_holds_the_http_head_and_the_snapshot(stored: StoredRun, run: Run) -> None:
    page = stored.page("http://example.com/a")
    kept = (("content-language", "en"), ("x-robots-tag", "noindex"), (PROBED_HEADER, "1"))
    stored.stored_rows = [replace(page, headers=kept, last_modified="Tue, 14 Nov 2023 22:13:20 GMT")]
    _, response, _ = await archive(run, stored)
    assert response.line == "HTTP/1.1 200 OK"
    assert response.body == b"<h1>http://example.com/a</h1>"
    assert response.head == [
        ("content-length", str(len(response.body))),
        ("content-type", "text/html"),
        ("content-language", "en"),
        ("x-robots-tag", "noindex"),
        ("etag", '"v1"'),
        ("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ]
    assert response.fields["WARC-Payload-Digest"] == f"sha256:{b32encode(sha256(response.body).digest()).decode()}"
    assert response.fields["WARC-Block-Digest"].startswith("sha256:")
    assert "WARC-Truncated" not in response.fields


async def test_a_request_is_a_plain_get_that_names_its_response(stored: StoredRun, run: Run) -> None:
    stored.page("http://example.com:8080/a?b=c")
    _, response, request = await archive(run, stored)
    assert request.line == "GET /a?b=c HTTP/1.1"
    assert request.head == [("host", "example.com:8080"), ("user-agent", run.settings.user_agent)]
    assert request.body == b""
    assert request.fields["WARC-Concurrent-To"] == response.fields["WARC-Record-ID"]


async def test_a_charset_is_named_only_where_the_bytes_prove_it(stored: StoredRun, run: Run) -> None:
    page = stored.page("http://example.com/a")
    stored.stored_rows = [replace(page, snapshot=stored.add("<p>é".encode("latin-1")))]
    _, latin, _ = await archive(run, stored)
    stored.stored_rows = [replace(page, snapshot=stored.add("<p>é".encode()))]
    _, utf8, _ = await archive(run, stored)
    stored.stored_rows = [replace(page, content_type="", snapshot=stored.add("<p>é".encode()))]
    _, untyped, _ = await archive(run, stored)
    assert latin.headers["content-type"] == "text/html"
    assert utf8.headers["content-type"] == untyped.headers["content-type"] == "text/html; charset=utf-8"


async def test_a_redirect_is_a_response_with_its_location(stored: StoredRun, run: Run) -> None:
    one, two, end = (Url.trusted(f"http://example.com/{name}") for name in ("1", "2", "end"))
    hops = (Hop(one, 301), Hop(two, 302))
    stored.alias(one, end, redirect_chain=hops, status_code=301, fetched_at=1.0)
    stored.alias(two, end, redirect_chain=hops, status_code=302, fetched_at=1.0)
    _, first, _, second, _ = await archive(run, stored)
    assert (first.line, first.headers["location"]) == ("HTTP/1.1 301 Moved Permanently", "http://example.com/2")
    assert (second.line, second.headers["location"]) == ("HTTP/1.1 302 Found", "http://example.com/end")
    assert first.headers["content-length"] == "0"


async def test_an_error_is_a_response_whose_missing_body_is_marked(stored: StoredRun, run: Run) -> None:
    stored.other(
        "http://example.com/a", UrlState.NOT_FOUND, status_code=404, fetched_at=1.0, body_bytes=99, content_type="text/html"
    )
    stored.other("http://example.com/b", UrlState.HTTP_TERMINAL, status_code=599, fetched_at=1.0)
    stored.other("http://example.com/c", UrlState.FAILED)
    _, missing, request, other, _ = await archive(run, stored)
    assert (missing.line, missing.head, missing.body) == ("HTTP/1.1 404 Not Found", [("content-type", "text/html")], b"")
    assert missing.fields["WARC-Truncated"] == "unspecified"
    assert request.line == "GET /a HTTP/1.1"
    assert other.line.split() == ["HTTP/1.1", "599"]
    assert "WARC-Truncated" not in other.fields


async def test_a_page_confirmed_by_304_is_a_revisit(stored: StoredRun, run: Run) -> None:
    page = stored.page("http://example.com/a")
    stored.stored_rows = [replace(page, state=UrlState.NOT_MODIFIED, status_code=304)]
    _, revisit, request = await archive(run, stored)
    assert revisit.type == "revisit"
    assert revisit.fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://example.com/a"
    body = b"<h1>http://example.com/a</h1>"
    assert revisit.fields["WARC-Payload-Digest"] == f"sha256:{b32encode(sha256(body).digest()).decode()}"
    assert (revisit.line, revisit.head, revisit.body) == ("HTTP/1.1 304 Not Modified", [("etag", '"v1"')], b"")
    assert request.headers["if-none-match"] == '"v1"'


async def test_a_page_of_an_earlier_run_that_was_not_requested_has_no_record(stored: StoredRun, run: Run) -> None:
    page = stored.page("http://example.com/a")
    stored.stored_rows = [replace(page, state=UrlState.SKIPPED, skip_reason=SkipReason.TTL, status_code=None, fetched_at=None)]
    assert [record.type for record in await archive(run, stored)] == ["warcinfo"]


async def test_a_stored_head_is_written_as_received_and_names_the_address(stored: StoredRun, run: Run) -> None:
    headers = (
        ("server", "nginx"),
        ("content-type", "text/html"),
        ("content-encoding", "gzip"),
        ("content-length", "21"),
        ("set-cookie", "a=; Secure"),
        ("set-cookie", "b="),
    )
    page = stored.page("http://example.com/a")
    stored.stored_rows = [replace(page, response_head=StoredHead("1.0", "Fine", "192.0.2.7", headers))]
    _, response, request = await archive(run, stored)
    assert response.line == "HTTP/1.0 200 Fine"
    assert response.body == b"<h1>http://example.com/a</h1>"
    assert response.head == [
        ("content-length", str(len(response.body))),
        ("server", "nginx"),
        ("content-type", "text/html"),
        ("x-orig-content-encoding", "gzip"),
        ("x-orig-content-length", "21"),
        ("set-cookie", "a=; Secure"),
        ("set-cookie", "b="),
    ]
    assert response.fields["WARC-IP-Address"] == request.fields["WARC-IP-Address"] == "192.0.2.7"


@pytest.mark.parametrize("sent", [("transfer-encoding", "chunked"), ("content-length", "99")])
async def test_the_head_of_a_body_that_is_not_stored_is_unchanged(stored: StoredRun, run: Run, sent: tuple[str, str]) -> None:
    head = StoredHead("1.1", "Not Found", "", (("content-encoding", "gzip"), sent))
    stored.other("http://example.com/a", UrlState.NOT_FOUND, status_code=404, fetched_at=1.0, response_head=head)
    _, missing, _ = await archive(run, stored)
    assert (missing.head, missing.body) == ([("content-encoding", "gzip"), sent], b"")
    assert missing.fields["WARC-Truncated"] == "unspecified"
    assert "WARC-IP-Address" not in missing.fields


async def test_an_equal_body_is_a_revisit_of_the_first_response(stored: StoredRun, run: Run) -> None:
    first = stored.page("http://example.com/a")
    stored.stored_rows = [first, replace(first, url=Url.trusted("http://example.com/b"), state=UrlState.ALIAS)]
    _, response, _, revisit, request = await archive(run, stored)
    assert (response.type, revisit.type, request.type) == ("response", "revisit", "request")
    assert revisit.fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert revisit.fields["WARC-Refers-To"] == response.fields["WARC-Record-ID"]
    assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://example.com/a"
    assert revisit.fields["WARC-Refers-To-Date"] == response.fields["WARC-Date"]
    assert revisit.fields["WARC-Payload-Digest"] == response.fields["WARC-Payload-Digest"]
    assert (revisit.head, revisit.body) == (response.head, b"")


async def test_a_page_without_a_snapshot_is_left_out(stored: StoredRun, run: Run) -> None:
    stored.stored_rows = [replace(stored.page("http://example.com/a"), snapshot=None)]
    assert [record.type for record in await archive(run, stored)] == ["warcinfo"]


async def test_a_snapshot_that_is_lost_is_an_error(stored: StoredRun, run: Run) -> None:
    stored.stored_rows = [replace(stored.page("http://example.com/a"), snapshot=BlobKey("0" * 64))]
    with pytest.raises(CorruptData, match=r"snapshot of http://example\.com/a is missing"):
        await archive(run, stored)


async def test_the_same_run_gives_the_same_archive(stored: StoredRun, run: Run) -> None:
    stored.page("http://example.com/a")
    one, two = io.BytesIO(), io.BytesIO()
    await write_warc(run, stored.rows(), stored, one)
    await write_warc(run, stored.rows(), stored, two)
    assert one.getvalue() == two.getvalue()


async def test_a_header_value_cannot_inject_another_header(stored: StoredRun, run: Run) -> None:
    page = stored.page("http://example.com/a")
    odd = "x\r\nset-cookie: a=b"
    stored.stored_rows = [replace(page, etag=odd, last_modified=odd, content_type=odd, headers=(("link", odd),))]
    _, response, request = await archive(run, stored)
    assert "set-cookie" not in response.headers | request.headers
    assert response.headers["link"] == "x  set-cookie: a=b"
