"""The browser's guard proxy."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from tests.support.http_server import Answer, page, serve_site, site
from tests.unit.fetch.raw_server import always
from tests.unit.fetch.raw_server import serving as raw_serving

from sitelore.fetch.browser.guard_proxy import PROXY_HEADER, GuardProxy, parse_request
from sitelore.fetch.guard import AddressGuard
from sitelore.model.response import Failure
from sitelore.model.settings import FetchLimits

LIMITS = FetchLimits(wire_bytes=100_000)
PAGES = {"/a": page("A"), "/b": page("B"), "/large": Answer(body=b"x" * 400_000)}


async def lookup(host: str, port: int) -> Sequence[str]:
    if host.endswith(".missing"):
        raise OSError("no address")
    return [host if host[0].isdigit() else "127.0.0.1"]


@asynccontextmanager
async def proxy_for(*opened: str, allow: Sequence[str] = ()) -> AsyncIterator[GuardProxy]:
    proxy = GuardProxy(AddressGuard(opened, allow), LIMITS, lookup)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()


class Browser:
    """One connection to a proxy, with its credentials."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authorization: str) -> None:
        self.reader, self.writer = reader, writer
        self.authorization = authorization

    async def ask(self, target: str, method: str = "GET") -> tuple[bytes, bytes]:
        credentials = f"Proxy-Authorization: {self.authorization}\r\n" if self.authorization else ""
        self.writer.write(
            f"{method} {target} HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\n{credentials}\r\n".encode()
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return head, await self.reader.readexactly(int(lengths[0][15:])) if lengths else b""


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@asynccontextmanager
async def browsing(proxy: GuardProxy, authorization: str | None = None) -> AsyncIterator[Browser]:
    host, port = proxy.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Browser(reader, writer, basic(*proxy.credentials) if authorization is None else authorization)
    finally:
        writer.close()
        await writer.wait_closed()


async def test_requests_to_allowed_origins_pass_on_one_connection() -> None:
    with serve_site(site(PAGES)) as one, serve_site(site(PAGES)) as other:
        async with proxy_for(one.origin, other.origin) as proxy, browsing(proxy) as browser:
            for origin, path, text in [(one.origin, "/a", b"A"), (one.origin, "/b", b"B"), (other.origin, "/a", b"A")]:
                head, body = await browser.ask(origin + path)
                assert head.startswith(b"HTTP/1.1 200")
                assert b"<h1>" + text in body
        assert [hit.target for hit in one.hits] == ["/a", "/b"]


@pytest.mark.parametrize(
    ("target", "failure"),
    [
        ("http://127.0.0.1:9/x", Failure.ADDRESS),
        ("http://localhost:9/x", Failure.ADDRESS),
        ("http://public.example/x", Failure.ADDRESS),
        ("http://0x7f.1:9/x", Failure.ADDRESS),
        ("http://name.missing/x", Failure.DNS),
    ],
)
async def test_a_refused_address_gets_a_502_with_the_token_of_the_proxy(target: str, failure: Failure) -> None:
    async with proxy_for() as proxy, browsing(proxy) as browser:
        head, body = await browser.ask(target)
        assert head.startswith(b"HTTP/1.1 502")
        assert f"{PROXY_HEADER}: {proxy.token}".encode() in head
        assert body == b""
        host, _, port = target.removeprefix("http://").removesuffix("/x").replace("0x7f.1", "127.0.0.1").partition(":")
        info = proxy.failure(host, int(port or 80))
        assert info is not None
        assert (info.failure, info.detail[-1]) == (failure, ".")
        assert proxy.refused == (failure is Failure.ADDRESS)


async def test_a_tunnel_is_checked_like_a_request() -> None:
    with serve_site(site(PAGES)) as http_server:
        async with proxy_for(http_server.origin) as proxy:
            async with browsing(proxy) as browser:
                head, _ = await browser.ask("127.0.0.1:9", "CONNECT")
                assert head.startswith(b"HTTP/1.1 502")
            async with browsing(proxy) as browser:
                head, _ = await browser.ask(http_server.origin.removeprefix("http://"), "CONNECT")
                assert head.startswith(b"HTTP/1.1 200")
                head, body = await browser.ask("/b")
                assert b"<h1>B" in body


async def test_the_proxy_does_not_connect_to_itself() -> None:
    async with proxy_for(allow=["any"]) as proxy, browsing(proxy) as browser:
        head, _ = await browser.ask(f"{proxy.address}/")
        assert head.startswith(b"HTTP/1.1 502")


async def test_a_response_over_the_size_limit_is_cut() -> None:
    with serve_site(site(PAGES)) as http_server:
        async with proxy_for(http_server.origin) as proxy, browsing(proxy) as browser:
            with pytest.raises(asyncio.IncompleteReadError) as cut:
                await browser.ask(http_server.origin + "/large")
            assert len(cut.value.partial) < 400_000


async def test_a_closed_port_gets_a_502_and_an_invalid_request_closes_the_connection() -> None:
    async with proxy_for("http://127.0.0.1:1") as proxy:
        async with browsing(proxy) as browser:
            head, _ = await browser.ask("http://127.0.0.1:1/")
            assert head.startswith(b"HTTP/1.1 502")
            info = proxy.failure("127.0.0.1", 1)
            assert info is not None
            assert info.failure is Failure.CONNECTION
        for nonsense in (b"\x16\x03\x01", b"GET ftp://x/ HTTP/1.1", b"GET http:/// HTTP/1.1"):
            async with browsing(proxy) as browser:
                browser.writer.write(nonsense + f"\r\nProxy-Authorization: {browser.authorization}\r\n\r\n".encode())
                assert await browser.reader.read() == b""


@pytest.mark.parametrize("authorization", ["", "Basic", "Bearer x", basic("sitelore", ""), basic("sitelore", "0" * 32)])
async def test_without_the_credentials_of_its_browser_the_proxy_forwards_nothing(authorization: str) -> None:
    with serve_site(site(PAGES)) as http_server:
        async with proxy_for(http_server.origin) as proxy, browsing(proxy, authorization) as browser:
            for target, method in (
                (http_server.origin + "/a", "GET"),
                (http_server.origin.removeprefix("http://"), "CONNECT"),
            ):
                head, body = await browser.ask(target, method)
                assert head.startswith(b"HTTP/1.1 407")
                assert b'\r\nProxy-Authenticate: Basic realm="sitelore"\r\n' in head
                assert body == b""
            browser.authorization = basic(*proxy.credentials)
            head, _ = await browser.ask(http_server.origin + "/b")
            assert head.startswith(b"HTTP/1.1 200"), "a browser repeats its request on the same connection"
        assert [hit.target for hit in http_server.hits] == ["/b"]


async def test_the_credentials_of_the_proxy_differ_from_the_token_that_pages_can_see() -> None:
    async with proxy_for() as proxy, proxy_for() as other:
        assert proxy.token not in proxy.credentials
        assert proxy.credentials != other.credentials


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def test_a_request_is_forwarded_in_origin_form_without_headers_meant_for_the_proxy() -> None:
    request = parse_request(
        head("GET http://a.example/x?y HTTP/1.1", "Host: a.example", "Proxy-Connection: keep-alive", "A: b")
    )
    assert request is not None
    assert (request.method, request.target, request.body_length) == ("GET", "http://a.example/x?y", 0)
    assert request.for_upstream(None) == head("GET /x?y HTTP/1.1", "Host: a.example", "A: b", "Connection: keep-alive")


@pytest.mark.parametrize(
    "lines",
    [
        ("",),
        ("GET /",),
        ("GET / SPDY/3",),
        ("GET  http://a/ HTTP/1.1",),
        ("GET / HTTP/1.1", "no colon"),
        ("POST / HTTP/1.1", "Transfer-Encoding: chunked"),
        ("POST / HTTP/1.1", "Content-Length: 1", "Content-Length: 2"),
        ("POST / HTTP/1.1", "Content-Length: -1"),
    ],
)
def test_an_invalid_request_is_none(lines: tuple[str, ...]) -> None:
    assert parse_request(head(*lines)) is None


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("method", "response", "forwarded"),
    [
        ("GET", OK + b"Content-Length: 2\r\n\r\nhi", b"hi"),
        ("GET", OK + b"Content-Length: 2\r\n\r\nhi and more", b"hi"),
        ("GET", CHUNKED + b"\r\n2\r\nhi\r\n0\r\n\r\n", b"2\r\nhi\r\n0\r\n\r\n"),
        ("GET", CHUNKED + b"\r\n2\r\nhi\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", b"2\r\nhi\r\n0\r\n\r\n"),
        ("GET", CHUNKED + b"\r\n2\r\nhello\r\n9\r\n", b"2\r\nhe"),
        ("GET", CHUNKED + b"\r\nzz\r\nrubbish", b""),
        ("GET", OK + b"\r\nuntil the end", b"until the end"),
        ("GET", b"\r\n" + OK + b"Content-Length: 2\r\n\r\nhi", b"hi"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b""),
        ("HEAD", OK + b"Content-Length: 9\r\nConnection: close\r\n\r\n", b""),
        ("GET", b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi", b"hi"),
    ],
)
async def test_a_body_is_forwarded_up_to_its_end_and_no_further(method: str, response: bytes, forwarded: bytes) -> None:
    server = raw_serving(always(response, close=True))
    async with server as upstream, proxy_for(upstream.origin) as proxy, browsing(proxy) as browser:
        credentials = f"Proxy-Authorization: {browser.authorization}"
        browser.writer.write(f"{method} {upstream.origin}/ HTTP/1.1\r\nHost: x\r\n{credentials}\r\n\r\n".encode())
        await browser.reader.readuntil(b"\r\n\r\n")
        browser.writer.write_eof()
        assert await browser.reader.read() == forwarded


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 banana\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        CHUNKED + b"Content-Length: 9\r\n\r\n2\r\nhi\r\n0\r\n\r\nmore",
        OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nuntil the end",
        OK + b"no colon\r\nContent-Length: 2\r\n\r\nuntil the end",
    ],
)
async def test_a_response_that_the_http_client_would_refuse_becomes_a_502(response: bytes) -> None:
    server = raw_serving(always(response, close=True))
    async with server as upstream, proxy_for(upstream.origin) as proxy, browsing(proxy) as browser:
        answer, _ = await browser.ask(f"{upstream.origin}/")
        assert answer.startswith(b"HTTP/1.1 502")
        info = proxy.failure("127.0.0.1", upstream.port)
        assert info is not None
        assert info.failure is Failure.PROTOCOL
