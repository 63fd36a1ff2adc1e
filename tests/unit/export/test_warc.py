from __future__ import annotations

import io
import re
import zlib
from base64 import b32encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from tests.unit.export.shelf import ChunkTable

from sitelore.export.warc import write_warc
from sitelore.model.frontier import Hop, Run
from sitelore.model.states import UrlState
from sitelore.model.url import Url


def members(data: bytes) -> Iterator[bytes]:
    while data:
        stream = zlib.decompressobj(wbits=31)
        yield stream.decompress(data)
        assert stream.eof
        data = stream.unused_data


def parse(record: bytes) -> tuple[dict[str, str], bytes]:
    """A record as ISO 28500 §4 lays it out: version, fields, an empty line, the block, two line ends."""
    head, _, rest = record.partition(b"\r\n\r\n")
    version, *lines = head.decode().split("\r\n")
    assert version == "WARC/1.1"
    fields = dict(line.split(": ", 1) for line in lines)
    size = int(fields["Content-Length"])
    assert rest[size:] == b"\r\n\r\n"
    return fields, rest[:size]


async def archive(run: Run, shelf: ChunkTable) -> list[tuple[dict[str, str], bytes]]:
    sink = io.BytesIO()
    count = await write_warc(run, shelf.rows(), shelf, sink)
    records = [parse(member) for member in members(sink.getvalue())]
    assert len(records) == count + 1
    return records


async def test_every_record_has_the_fields_the_standard_demands(shelf: ChunkTable, run: Run) -> None:
    shelf.page("http://example.com/a")
    shelf.other("http://example.com/b", UrlState.SKIPPED)
    records = await archive(run, shelf)
    assert [fields["WARC-Type"] for fields, _ in records] == ["warcinfo", "response"]
    for fields, _ in records:
        assert re.fullmatch(r"<urn:uuid:[0-9a-f-]{36}>", fields["WARC-Record-ID"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", fields["WARC-Date"])
    assert len({fields["WARC-Record-ID"] for fields, _ in records}) == 2
    assert records[1][0]["WARC-Warcinfo-ID"] == records[0][0]["WARC-Record-ID"]


async def test_a_response_holds_the_http_head_and_the_snapshot(shelf: ChunkTable, run: Run) -> None:
    shelf.page("http://example.com/a")
    _, (fields, block) = await archive(run, shelf)
    head, _, body = block.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 200 OK"
    assert b'etag: "v1"' in head
    assert f"content-length: {len(body)}".encode() in head
    assert body == b"<h1>http://example.com/a</h1>"
    assert fields["WARC-Target-URI"] == "http://example.com/a"
    assert fields["WARC-Payload-Digest"] == f"sha256:{b32encode(sha256(body).digest()).decode()}"
    assert fields["WARC-Block-Digest"] == f"sha256:{b32encode(sha256(block).digest()).decode()}"


async def test_a_charset_is_named_only_where_the_bytes_prove_it(shelf: ChunkTable, run: Run) -> None:
    page = shelf.page("http://example.com/a")
    shelf.found = [replace(page, snapshot=shelf.add("<p>é".encode("latin-1")))]
    _, (_, latin) = await archive(run, shelf)
    shelf.found = [replace(page, snapshot=shelf.add("<p>é".encode()))]
    _, (_, utf8) = await archive(run, shelf)
    assert b"content-type: text/html\r\n" in latin
    assert b"content-type: text/html; charset=utf-8\r\n" in utf8


async def test_a_redirect_is_a_response_with_its_location(shelf: ChunkTable, run: Run) -> None:
    one, two, end = (Url.trusted(f"http://example.com/{name}") for name in ("1", "2", "end"))
    hops = (Hop(one, 301), Hop(two, 302))
    shelf.alias(one, end, redirect_chain=hops, status_code=301, fetched_at=1.0)
    shelf.alias(two, end, redirect_chain=hops, status_code=302, fetched_at=1.0)
    _, (_, first), (_, second) = await archive(run, shelf)
    assert b"location: http://example.com/2\r\n" in first
    assert b"location: http://example.com/end\r\n" in second


async def test_a_page_confirmed_by_304_is_a_revisit(shelf: ChunkTable, run: Run) -> None:
    page = shelf.page("http://example.com/a")
    shelf.found = [replace(page, state=UrlState.NOT_MODIFIED, status_code=304)]
    _, (fields, block) = await archive(run, shelf)
    assert fields["WARC-Type"] == "revisit"
    assert fields["WARC-Profile"].endswith("/revisit/server-not-modified")
    assert block.startswith(b"HTTP/1.1 304 Not Modified\r\n")


async def test_the_same_run_gives_the_same_archive(shelf: ChunkTable, run: Run) -> None:
    shelf.page("http://example.com/a")
    one, two = io.BytesIO(), io.BytesIO()
    await write_warc(run, shelf.rows(), shelf, one)
    await write_warc(run, shelf.rows(), shelf, two)
    assert one.getvalue() == two.getvalue()


async def test_no_header_value_can_start_a_header_of_its_own(shelf: ChunkTable, run: Run) -> None:
    page = shelf.page("http://example.com/a")
    shelf.found = [replace(page, etag='"x"\r\nset-cookie: a=b')]
    _, (_, block) = await archive(run, shelf)
    assert b"\r\nset-cookie" not in block
