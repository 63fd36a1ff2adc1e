"""The HTTP client against real servers on loopback; timeouts are short where a test waits for them."""

from __future__ import annotations

import asyncio
import gc
import gzip
import random
import socket
import ssl
import struct
import threading
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
from tests.unit.fetch.raw_server import ReceivedRequest, always, failure_of, fetching, reply, response_to, serving, url_of

from sitelore.fetch.access import RunAccess
from sitelore.fetch.failures import FailureInfo
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.body_reader import ResponseReader
from sitelore.fetch.http.client import HttpFetcher
from sitelore.fetch.http.deadlines import DeadlineTimer, RequestDeadline
from sitelore.fetch.http.encodings import BodyDecoder
from sitelore.fetch.http.response_parser import ResponseHead
from sitelore.model.access import Access
from sitelore.model.response import Failure, FetchFailure, Request, Response
from sitelore.model.settings import CrawlSettings, FetchLimits, Pace

HTML = "text/html; charset=utf-8"
SMALL = FetchLimits(wire_bytes=10_000, body_bytes=10_000)


async def test_a_response_is_returned_completely() -> None:
    response = await response_to(reply(b"<p>hello</p>", content_type=HTML, x_two="a"))
    assert (response.status, response.body, response.body_read) == (200, b"<p>hello</p>", True)
    assert response.headers == (("content-type", HTML), ("x-two", "a"), ("content-length", "12"))
    assert (response.remote, response.wire_bytes, response.content_type) == ("127.0.0.1", 12, "text/html")
    assert (response.version, response.reason) == ("1.1", "OK")
    assert response.elapsed_s > 0


async def test_a_request_names_the_crawler_and_its_content_encodings() -> None:
    async with serving(always(reply(b"x", content_type=HTML))) as site, fetching(site) as fetcher:
        await fetcher.fetch(Request(site.url("/a?b=c")))
    request = site.requests[0]
    assert request.target == "/a?b=c"
    assert request.headers["user-agent"].startswith("Sitelore/")
    assert request.headers["accept-encoding"] == "gzip, deflate, br, zstd"
    assert request.headers["host"] == f"127.0.0.1:{site.port}"
    assert "cookie" not in request.headers


@pytest.mark.parametrize(
    "target",
    ["/a%20b", "/%E3%83%84?q=%2F", "/a|b", "/a//b/", "/~joe/;x=1", "/?a=1&&b", "/a+b?c+d", "/%", "/a'b(c)!*", "/[x]?y=[1]"],
)
async def test_a_url_is_sent_as_it_is_written(target: str) -> None:
    async with serving(always(reply(b"x", content_type=HTML))) as site, fetching(site) as fetcher:
        url = site.url(target)
        await fetcher.fetch(Request(url))
    assert site.requests[0].target == url.target


async def test_validators_make_a_request_conditional() -> None:
    async with serving(always(reply(status="304 Not Modified", etag='"v1"'))) as site, fetching(site) as fetcher:
        request = Request(site.url(), etag='"v1"', last_modified="Wed, 21 Oct 2015 07:28:00 GMT")
        response = await fetcher.fetch(request)
    assert isinstance(response, Response)
    assert (response.status, response.body, response.header("etag")) == (304, b"", '"v1"')
    assert site.requests[0].headers["if-none-match"] == '"v1"'
    assert site.requests[0].headers["if-modified-since"] == "Wed, 21 Oct 2015 07:28:00 GMT"


async def test_a_validator_that_would_break_out_of_its_header_is_not_sent() -> None:
    async with serving(always(reply(b"x"))) as site, fetching(site) as fetcher:
        failure = await fetcher.fetch(Request(site.url(), etag='"a"\r\nX-Evil: 1'))
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, site.requests) == (Failure.PROTOCOL, [])


async def test_one_connection_serves_many_requests() -> None:
    async with serving(always(reply(b"x" * 50_000, content_type=HTML))) as site, fetching(site) as fetcher:
        for number in range(5):
            assert isinstance(await fetcher.fetch(Request(site.url(f"/{number}"))), Response)
    assert (site.connections, len(site.requests)) == (1, 5)


async def test_a_returned_body_is_not_kept_in_memory() -> None:
    """A body kept until the next garbage collection would be one of hundreds."""
    page = b"x" * 1_000_000
    async with serving(always(reply(page, content_type=HTML))) as site, fetching(site) as fetcher:
        await fetcher.fetch(Request(site.url()))
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(10):
                response = await fetcher.fetch(Request(site.url()))
                assert isinstance(response, Response)
                assert len(response.body) == len(page)
                del response
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
    assert held < 3 * len(page)


async def test_a_redirect_is_returned_and_not_followed() -> None:
    answer = reply(status="302 Found", location="/elsewhere", content_type=HTML)
    async with serving(always(answer)) as site, fetching(site) as fetcher:
        response = await fetcher.fetch(Request(site.url()))
    assert isinstance(response, Response)
    assert (response.status, response.header("location"), len(site.requests)) == (302, "/elsewhere", 1)


@pytest.mark.parametrize("status", ["301 Moved Permanently", "404 Not Found", "500 Internal Server Error"])
async def test_a_redirect_or_error_counts_even_when_its_body_is_broken(status: str) -> None:
    cut = reply(b"short", status=status, content_type=HTML, location="/x", Content_Length="5000")
    response = await response_to(cut)
    assert (response.status, response.body, response.body_read) == (int(status[:3]), b"", False)


async def test_a_header_in_latin_1_or_utf_8_is_text() -> None:
    head = b"HTTP/1.1 301 X\r\nLocation: /\xc3\xa9\r\nX-Name: caf\xe9\r\nContent-Length: 0\r\n\r\n"
    response = await response_to(head)
    assert (response.header("location"), response.header("x-name")) == ("/é", "café")


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/xhtml+xml", "application/rss+xml", "application/ld+json", "TEXT/HTML", "text/xml"],
)
async def test_a_text_like_body_is_read(content_type: str) -> None:
    assert (await response_to(reply(b"<p>hi</p>", content_type=content_type))).body == b"<p>hi</p>"


@pytest.mark.parametrize("content_type", ["image/png", "application/postscript", "video/mp4", "application/zip"])
async def test_another_body_is_not_read_and_the_connection_is_closed(content_type: str) -> None:
    answer = reply(b"x" * 100, content_type=content_type, Content_Length="1000000000")
    async with serving(always(answer)) as site, fetching(site) as fetcher:
        response = await fetcher.fetch(Request(site.url()))
        await asyncio.wait_for(site.closed.wait(), 10)
    assert isinstance(response, Response)
    assert (response.status, response.body, response.body_read) == (200, b"", False)


async def test_whole_types_reads_any_content_type() -> None:
    response = await response_to(reply(b"%PDF", content_type="application/pdf"), partial(Request, any_content_type=True))
    assert (response.body, response.body_read) == (b"%PDF", True)


@pytest.mark.parametrize("content_type", ["", "application/octet-stream"])
async def test_a_body_of_unknown_type_is_abandoned_when_it_starts_with_binary_data(content_type: str) -> None:
    answer = reply(b"\x89PNG\r\n\x1a\n\0\0" + b"x" * 100, content_type=content_type)
    assert (await response_to(answer)).body_read is False
    squeezed = reply(gzip.compress(b"\0\1\2" * 50), content_type=content_type, content_encoding="gzip")
    assert (await response_to(squeezed)).body_read is False
    assert (await response_to(reply("\ufeffhi".encode("utf-16"), content_type=content_type))).body_read is True


@pytest.mark.parametrize(
    ("content_type", "body", "is_read"),
    [
        ("application/pdf", b"%PDF-1.7\n\x00\x01", True),
        ("application/octet-stream", b"%PDF-1.7\n\x00\x01", True),
        ("application/zip", b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", True),
        ("application/zip", b"PK\x03\x04" + bytes(26) + b"photos/1.jpg", False),
        ("application/force-download", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", True),
        ("application/msword", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", True),
    ],
)
async def test_a_file_that_holds_text_is_read_by_its_name_or_by_how_it_starts(
    content_type: str, body: bytes, is_read: bool
) -> None:
    assert (await response_to(reply(body, content_type=content_type))).body_read is is_read


async def test_compressed_bodies_are_decoded() -> None:
    body = gzip.compress(b"<p>hello</p>")
    response = await response_to(reply(body, content_type=HTML, content_encoding="gzip"))
    assert (response.body, response.wire_bytes) == (b"<p>hello</p>", len(body))


@pytest.mark.parametrize(("size", "in_thread"), [(100_000, False), (3_000_000, True)])
async def test_a_large_compressed_body_is_decoded_outside_the_event_loop(
    size: int, in_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    decode_rest = BodyDecoder.decode_rest

    def recorded(decoder: BodyDecoder) -> FailureInfo | None:
        threads.append(threading.get_ident())
        return decode_rest(decoder)

    monkeypatch.setattr(BodyDecoder, "decode_rest", recorded)
    response = await response_to(reply(gzip.compress(b"y" * size), content_type=HTML, content_encoding="gzip"))
    assert response.body == b"y" * size
    assert bool(threads) == in_thread
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    ("data", "failure"),
    [
        (gzip.compress(b"y" * 17 * 2**20), Failure.TOO_LARGE),
        (gzip.compress(random.Random(7).randbytes(2**20))[:-1000], Failure.TRUNCATED),
        (gzip.compress(random.Random(7).randbytes(2**20))[:-4] + b"nope", Failure.DECODING),
    ],
)
async def test_a_failure_in_the_rest_of_a_large_body_is_the_failure_of_the_fetch(data: bytes, failure: Failure) -> None:
    answer = reply(data, content_type=HTML, content_encoding="gzip")
    assert (await failure_of(answer)).failure is failure


async def test_a_large_compressed_body_can_be_truncated() -> None:
    answer = reply(gzip.compress(b"y" * 3_000_000), content_type=HTML, content_encoding="gzip")
    capped = partial(Request, max_body_bytes=1_000_000, truncate_body=True)
    assert (await response_to(answer, capped)).body == b"y" * 1_000_000


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "none", "identity", "binary", " ", "rot13", "identity, utf-8"])
async def test_a_body_under_an_unknown_content_encoding_is_taken_as_it_is(encoding: str) -> None:
    response = await response_to(reply(b"<p>hello</p>", content_type=HTML, content_encoding=encoding))
    assert response.body == b"<p>hello</p>"


@pytest.mark.parametrize("encoding", ["gzip, utf-8", "UTF-8, GZIP"])
async def test_an_unknown_content_encoding_beside_a_known_one_is_ignored(encoding: str) -> None:
    body = gzip.compress(b"<p>hello</p>")
    assert (await response_to(reply(body, content_type=HTML, content_encoding=encoding))).body == b"<p>hello</p>"


@pytest.mark.parametrize("header", ["Content-Encoding: gzip, gzip, gzip, gzip, gzip", "Transfer-Encoding: rot13"])
async def test_an_unknown_transfer_encoding_or_too_many_encodings_are_a_decoding_error(header: str) -> None:
    data = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{header}\r\n\r\nx".encode()
    assert (await failure_of(data)).failure is Failure.DECODING


async def test_a_declared_length_over_the_size_limit_is_refused_unread() -> None:
    answer = reply(b"x", content_type=HTML, Content_Length="10001")
    async with serving(always(answer)) as site, fetching(site, limits=SMALL) as fetcher:
        failure = await fetcher.fetch(Request(site.url()))
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, failure.detail) == (Failure.TOO_LARGE, "The body is 10001 bytes, 10000 are allowed.")


@pytest.mark.parametrize("size", [9_999, 10_000, 10_001])
async def test_a_body_of_unknown_length_is_held_to_the_size_limit(size: int) -> None:
    answer = reply(b"x" * size, content_type=HTML, Content_Length="")
    if size > 10_000:
        assert (await failure_of(answer, limits=SMALL)).failure is Failure.TOO_LARGE
    else:
        assert len((await response_to(answer, limits=SMALL)).body) == size


async def test_the_size_limit_applies_to_all_pieces_of_a_body_together() -> None:
    timer = DeadlineTimer(SMALL)
    reader = ResponseReader(Request(url_of("http://a/")), timer, documents=False)
    assert reader.on_head(ResponseHead(200, (("content-type", HTML),), None, False, (), False))
    assert reader.on_data(b"x" * 6_000)
    assert not reader.on_data(b"x" * 6_000)
    timer.close()
    failure = reader.result()
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.TOO_LARGE


@pytest.mark.parametrize("length", ["", "9000"])
async def test_a_request_can_set_a_lower_cap_and_keep_the_truncated_body(length: str) -> None:
    answer = reply(b"y" * 9000, content_type=HTML, Content_Length=length)
    capped = partial(Request, max_body_bytes=100)
    assert (await failure_of(answer, capped)).failure is Failure.TOO_LARGE
    assert (await response_to(answer, partial(capped, truncate_body=True))).body == b"y" * 100
    squeezed = reply(gzip.compress(b"y" * 9000), content_type=HTML, content_encoding="gzip")
    assert (await response_to(squeezed, partial(capped, truncate_body=True))).body == b"y" * 100


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "failure"),
    [
        (reply(b"short", content_type=HTML, Content_Length="5000"), Failure.TRUNCATED),
        (CHUNKED + b"5\r\nhello\r\n", Failure.TRUNCATED),
        (CHUNKED + b"5\r\nhello\r\nzz\r\nrubbish", Failure.PROTOCOL),
        (reply(gzip.compress(b"x" * 5000, mtime=0)[:-8], content_type=HTML, content_encoding="gzip"), Failure.TRUNCATED),
        (b"HTTP/1.1 banana\r\n\r\n", Failure.PROTOCOL),
        (b"\x00\x01\x02 nonsense\r\n\r\n", Failure.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", Failure.PROTOCOL),
        (CHUNKED[:-2] + b"Content-Length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n", Failure.PROTOCOL),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", Failure.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", Failure.PROTOCOL),
        (b"", Failure.CONNECTION),
        (b"HTTP/1.1 200 O", Failure.CONNECTION),
    ],
)
async def test_a_broken_response_is_a_failure_with_a_one_line_message(data: bytes, failure: Failure) -> None:
    result = await failure_of(data)
    assert result.failure is failure
    assert result.detail.endswith(".")
    assert "http://" not in result.detail
    assert "<" not in result.detail
    assert result.elapsed_s > 0


async def test_a_body_that_ends_with_the_connection_is_whole() -> None:
    assert (await response_to(reply(b"all of it", content_type=HTML, Content_Length=""))).body == b"all of it"


@pytest.mark.parametrize("length", ["", "100000"])
async def test_a_reset_within_the_body_is_a_truncation(length: str) -> None:
    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(b"x" * 1000, content_type=HTML, Content_Length=length))
        await writer.drain()
        linger = struct.pack("ii", 1, 0)  # close sends a reset
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with serving(respond) as site, fetching(site) as fetcher:
        failure = await fetcher.fetch(Request(site.url()))
    assert isinstance(failure, FetchFailure)
    assert failure.failure in {Failure.TRUNCATED, Failure.CONNECTION}


async def test_slow_headers_time_out() -> None:
    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX-A: ")
        while not writer.is_closing():
            writer.write(b"a")
            await asyncio.sleep(0.01)

    async with serving(respond) as site, fetching(site, limits=FetchLimits(headers_s=0.1)) as fetcher:
        failure = await fetcher.fetch(Request(site.url()))
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, failure.detail) == (Failure.TIMEOUT, "No complete headers within 0.1 s.")


@pytest.mark.parametrize(
    ("limits", "detail"),
    [
        (FetchLimits(slow_after_s=0.1, slow_bytes_per_s=100_000), "The body came slower than 100000 bytes a second."),
        (
            FetchLimits(headers_s=0.05, slow_after_s=0.1, slow_bytes_per_s=100_000),
            "The body came slower than 100000 bytes a second.",
        ),
        (FetchLimits(body_s=0.1), "The body was not complete within 0.1 s."),
        (
            FetchLimits(headers_s=0.05, slow_after_s=0.05, slow_bytes_per_s=1, body_s=0.2),
            "The body was not complete within 0.2 s.",
        ),
    ],
)
async def test_a_slow_body_times_out(limits: FetchLimits, detail: str) -> None:
    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(b"<p>", content_type=HTML, Content_Length=""))
        while not writer.is_closing():
            writer.write(b"a")
            await asyncio.sleep(0.01)

    async with serving(respond) as site, fetching(site, limits=limits) as fetcher:
        failure = await fetcher.fetch(Request(site.url()))
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, failure.detail) == (Failure.TIMEOUT, detail)


async def test_a_body_that_starts_fast_must_not_drip_afterwards() -> None:
    timer, messages = DeadlineTimer(FetchLimits(slow_after_s=10.0, slow_bytes_per_s=500)), list[str]()
    deadline = RequestDeadline(timer, messages.append)
    deadline.start_body(1000.0)
    deadline.received = 1_000_000
    deadline.check(1010.0)
    assert messages == []
    deadline.received += 10
    deadline.check(1020.0)
    timer.close()
    assert messages == ["The body came slower than 500 bytes a second."]


async def test_a_request_that_took_too_long_does_not_harm_the_next() -> None:
    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        if request.target == "/slow":
            await asyncio.Event().wait()
        writer.write(reply(b"fine", content_type=HTML))

    async with serving(respond) as site, fetching(site, limits=FetchLimits(headers_s=0.1)) as fetcher:
        assert isinstance(await fetcher.fetch(Request(site.url("/slow"))), FetchFailure)
        response = await fetcher.fetch(Request(site.url("/quick")))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
    assert isinstance(response, Response)
    assert response.body == b"fine"


async def test_a_cancelled_fetch_stays_cancelled() -> None:
    received = asyncio.Event()

    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        received.set()
        await asyncio.Event().wait()

    async with serving(respond) as site, fetching(site) as fetcher:
        task = asyncio.create_task(fetcher.fetch(Request(site.url())))
        await received.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_new_connection_closed_without_a_response_is_not_retried() -> None:
    async with serving(always(b"", close=True)) as site, fetching(site) as fetcher:
        failure = await fetcher.fetch(Request(site.url()))
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, len(site.requests)) == (Failure.CONNECTION, 1)


async def test_an_idle_connection_that_the_server_closed_is_replaced() -> None:
    turn = iter((reply(b"one", content_type=HTML), None, reply(b"two", content_type=HTML)))

    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        data = next(turn)
        if data is None:
            writer.close()
        else:
            writer.write(data)

    async with serving(respond) as site, fetching(site) as fetcher:
        await fetcher.fetch(Request(site.url()))
        response = await fetcher.fetch(Request(site.url()))
    assert isinstance(response, Response)
    assert (response.body, site.connections, len(site.requests)) == (b"two", 2, 3)


async def test_cookies_live_within_the_run_and_never_reach_another_host() -> None:
    first = always(reply(b"x", content_type=HTML, set_cookie="sid=42; Path=/"))
    async with serving(first) as one, serving(always(reply(b"x", content_type=HTML))) as two:
        other = f"http://localhost:{two.port}"

        async def lookup(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        fetcher = HttpFetcher(CrawlSettings(), AddressGuard([one.origin, other]), lookup=lookup)
        await fetcher.fetch(Request(one.url("/in")))
        await fetcher.fetch(Request(one.url("/again")))
        assert isinstance(await fetcher.fetch(Request(url_of(f"{other}/"))), Response)
        await fetcher.close()
        async with fetching(one) as next_run:
            await next_run.fetch(Request(one.url("/later")))
    assert [request.headers.get("cookie") for request in one.requests] == [None, "sid=42", None]
    assert [request.headers.get("cookie") for request in two.requests] == [None]


class Forbidden:
    """Replaces `socket.socket` where no socket may be created."""

    def __init__(self, *_: object, **__: object) -> None:
        raise AssertionError("a socket was created")


async def refused(monkeypatch: pytest.MonkeyPatch, guard: AddressGuard, url: str, *addresses: str) -> FetchFailure:
    async def lookup(host: str, port: int) -> list[str]:
        return list(addresses)

    fetcher = HttpFetcher(CrawlSettings(), guard, lookup=lookup)
    with monkeypatch.context() as patched:
        patched.setattr("sitelore.fetch.http.pool.socket.socket", Forbidden)
        failure = await fetcher.fetch(Request(url_of(url)))
    await fetcher.close()
    assert isinstance(failure, FetchFailure)
    return failure


@pytest.mark.parametrize(
    ("url", "addresses", "detail"),
    [
        ("http://127.0.0.1/", (), "127.0.0.1 is a loopback address."),
        ("http://[::ffff:10.0.0.1]/", (), "::ffff:a00:1 is an address that embeds 10.0.0.1, a private address."),
        ("http://2130706433:8080/", (), "127.0.0.1 is a loopback address."),
        ("https://169.254.169.254/latest", (), "169.254.169.254 is a link-local address."),
        ("http://intranet.example/", ("10.0.0.5",), "intranet.example resolves to 10.0.0.5, a private address."),
        ("http://wiki/", ("192.168.1.1", "fd00::1"), "wiki resolves to 192.168.1.1, a private address."),
        ("http://rebind.example:8000/", ("127.0.0.1",), "rebind.example resolves to 127.0.0.1, a loopback address."),
        ("http://localhost:8001/", ("127.0.0.1",), "localhost is a local name."),
        ("http://metadata.google.internal/", ("8.8.8.8",), "metadata.google.internal is a local name."),
    ],
)
async def test_a_refused_address_never_gets_a_socket(
    monkeypatch: pytest.MonkeyPatch, url: str, addresses: tuple[str, ...], detail: str
) -> None:
    guard = AddressGuard(["http://localhost:8000", "http://127.0.0.1:8000"])
    failure = await refused(monkeypatch, guard, url, *addresses)
    assert (failure.failure, failure.detail) == (Failure.ADDRESS, detail)


async def test_an_address_that_changes_after_it_was_checked_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # The check of the name passes; the check of the connected address decides.
    guard = AddressGuard()

    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    fetcher = HttpFetcher(CrawlSettings(), guard, lookup=lookup)
    resolved: list[str] = []

    def lenient_once(host: str, port: int, ip: str) -> str | None:
        resolved.append(ip)
        return None if len(resolved) == 1 else AddressGuard().judge_connect(host, port, ip)

    with monkeypatch.context() as patched:
        patched.setattr("sitelore.fetch.http.pool.socket.socket", Forbidden)
        patched.setattr(guard, "judge_connect", lenient_once)
        failure = await fetcher.fetch(Request(url_of("http://turncoat.example/")))
    await fetcher.close()
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, resolved) == (Failure.ADDRESS, ["127.0.0.1", "127.0.0.1"])


async def test_of_several_addresses_only_the_allowed_are_used() -> None:
    async with serving(always(reply(b"x", content_type=HTML))) as site:

        async def lookup(host: str, port: int) -> list[str]:
            return ["10.0.0.1", "127.0.0.1"]

        guard = AddressGuard(allow_private=["127.0.0.1"])
        fetcher = HttpFetcher(CrawlSettings(), guard, lookup=lookup)
        response = await fetcher.fetch(Request(url_of(f"http://both.example:{site.port}/")))
        await fetcher.close()
    assert isinstance(response, Response)
    assert response.remote == "127.0.0.1"


async def test_a_name_that_does_not_resolve_is_a_dns_error() -> None:
    async def lookup(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    fetcher = HttpFetcher(CrawlSettings(), AddressGuard(), lookup=lookup)
    failure = await fetcher.fetch(Request(url_of("http://no-such-host.example/")))
    await fetcher.close()
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, failure.detail) == (Failure.DNS, "The host name does not resolve.")


async def test_a_connection_attempt_times_out() -> None:
    async def lookup(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    fetcher = HttpFetcher(CrawlSettings(limits=FetchLimits(connect_s=0.1)), AddressGuard(), lookup=lookup)
    failure = await fetcher.fetch(Request(url_of("http://slow.example/")))
    await fetcher.close()
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, failure.detail) == (Failure.TIMEOUT, "No connection within 0.1 s.")


async def test_a_closed_port_is_a_connection_error() -> None:
    async with serving(always(b"")) as site:
        pass
    async with fetching(site) as fetcher:
        failure = await fetcher.fetch(Request(site.url()))
    assert isinstance(failure, FetchFailure)
    assert (failure.failure, failure.detail) == (Failure.CONNECTION, "Connection refused.")


async def test_tls_accepts_only_a_valid_certificate(certificate: tuple[Path, Path]) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*certificate)
    async with serving(always(reply(b"safe", content_type=HTML)), tls=server) as site:
        guard = AddressGuard([site.origin])
        trusting = HttpFetcher(CrawlSettings(), guard, access=RunAccess(Access(ca_file=str(certificate[0]))))
        response = await trusting.fetch(Request(site.url()))
        await trusting.close()
        async with fetching(site) as fetcher:
            failure = await fetcher.fetch(Request(site.url()))
    assert isinstance(response, Response)
    assert response.body == b"safe"
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.TLS
    assert failure.detail.startswith("The certificate is not valid: self")


async def test_a_certificate_for_another_host_gives_a_one_line_message(certificate: tuple[Path, Path]) -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*certificate)
    async with serving(always(reply(b"safe", content_type=HTML)), tls=server) as site:
        origin = f"https://good.test:{site.port}"
        access = RunAccess(Access(ca_file=str(certificate[0])))
        fetcher = HttpFetcher(CrawlSettings(), AddressGuard([origin]), lookup=lookup, access=access)
        failure = await fetcher.fetch(Request(url_of(origin)))
        await fetcher.close()
    assert isinstance(failure, FetchFailure)
    assert failure.failure is Failure.TLS
    assert failure.detail.startswith("The certificate is not valid: Hostname mismatch")
    assert failure.detail.endswith("'good.test'.")


async def test_tls_with_a_server_without_tls_is_a_tls_error() -> None:
    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    fetcher = HttpFetcher(CrawlSettings(), AddressGuard([origin]))
    failure = await fetcher.fetch(Request(url_of(origin)))
    await fetcher.close()
    server.close()
    assert isinstance(failure, FetchFailure)
    assert failure.failure in {Failure.TLS, Failure.CONNECTION}  # a reset may come before the bytes


async def test_interim_responses_are_skipped() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    response = await response_to(early + reply(b"<p>hi</p>", content_type=HTML))
    assert (response.status, response.body) == (200, b"<p>hi</p>")


async def test_an_empty_line_before_the_status_line_is_skipped() -> None:
    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        for piece in (b"\r", b"\nHT", b"TP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>hi</p>"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    async with serving(respond) as site, fetching(site) as fetcher:
        for _ in range(2):
            response = await fetcher.fetch(Request(site.url()))
            assert isinstance(response, Response)
            assert response.body == b"<p>hi</p>"


async def test_endless_interim_responses_are_a_protocol_error() -> None:
    assert (await failure_of(b"HTTP/1.1 100 Continue\r\n\r\n" * 30)).failure is Failure.PROTOCOL


async def test_chunks_and_transfer_codings_are_decoded() -> None:
    packed = gzip.compress(b"<p>hello</p>")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in packed)
    response = await response_to(head + pieces + b"0\r\n\r\n")
    assert (response.body, response.wire_bytes) == (b"<p>hello</p>", len(packed))


async def test_a_response_in_small_pieces_is_assembled() -> None:
    whole = reply(b"<p>" + b"x" * 300 + b"</p>", content_type=HTML)

    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        for at in range(0, len(whole), 7):
            writer.write(whole[at : at + 7])
            await writer.drain()
            await asyncio.sleep(0)

    async with serving(respond) as site, fetching(site) as fetcher:
        response = await fetcher.fetch(Request(site.url()))
        again = await fetcher.fetch(Request(site.url()))
    assert isinstance(response, Response)
    assert isinstance(again, Response)
    assert response.body == again.body == b"<p>" + b"x" * 300 + b"</p>"
    assert site.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"one", content_type=HTML) + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse",
        CHUNKED + b"3\r\none\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse",
        reply(status="304 Not Modified") + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse",
        reply(b"one", content_type=HTML, connection="close"),
    ],
)
async def test_a_connection_with_excess_bytes_is_not_reused(answer: bytes) -> None:
    async with serving(always(answer)) as site, fetching(site) as fetcher:
        for _ in range(2):
            response = await fetcher.fetch(Request(site.url()))
            assert isinstance(response, Response)
            assert response.body in {b"one", b""}
    assert site.connections == 2


async def test_unrequested_bytes_close_an_idle_connection() -> None:
    unasked = asyncio.Event()

    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(b"one", content_type=HTML))
        await unasked.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse")

    async with serving(respond) as site, fetching(site) as fetcher:
        assert isinstance(await fetcher.fetch(Request(site.url())), Response)
        unasked.set()
        await asyncio.wait_for(site.closed.wait(), 10)
        response = await fetcher.fetch(Request(site.url()))
    assert isinstance(response, Response)
    assert (response.body, site.connections) == (b"one", 2)


async def test_the_next_address_is_tried_when_one_does_not_respond() -> None:
    async with serving(always(reply(b"x", content_type=HTML))) as site:

        async def lookup(host: str, port: int) -> list[str]:
            return ["::1", "127.0.0.1"]  # no process listens on the first

        fetcher = HttpFetcher(CrawlSettings(), AddressGuard(allow_private=["both.example"]), lookup=lookup)
        response = await fetcher.fetch(Request(url_of(f"http://both.example:{site.port}/")))
        await fetcher.close()
    assert isinstance(response, Response)
    assert response.remote == "127.0.0.1"


async def test_the_pool_keeps_no_more_idle_connections_than_concurrent_requests() -> None:
    async with serving(always(reply(b"x", content_type=HTML))) as one, serving(always(reply(b"x", content_type=HTML))) as two:
        settings = CrawlSettings(pace=Pace(concurrency=1))
        fetcher = HttpFetcher(settings, AddressGuard([one.origin, two.origin]))
        for site in (one, two, one):
            assert isinstance(await fetcher.fetch(Request(site.url())), Response)
        await fetcher.close()
    assert (one.connections, two.connections) == (2, 1)


async def test_closing_the_fetcher_cancels_pending_fetches() -> None:
    received = asyncio.Event()

    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        received.set()
        await asyncio.Event().wait()

    async with serving(respond) as site, fetching(site) as fetcher:
        task = asyncio.create_task(fetcher.fetch(Request(site.url())))
        await received.wait()
        await fetcher.close()
        with pytest.raises(asyncio.CancelledError):
            await task
