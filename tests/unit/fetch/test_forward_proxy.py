"""The browser's way out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from tests.web.serve import Answer, page, serving, site

from sitelore.fetch.forward_proxy import TROUBLE_HEADER, ForwardProxy
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
async def proxy_for(*opened: str, allow: Sequence[str] = ()) -> AsyncIterator[ForwardProxy]:
    proxy = ForwardProxy(AddressGuard(opened, allow), LIMITS, lookup)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()


class Browser:
    """One connection to a proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, target: str, method: str = "GET") -> tuple[bytes, bytes]:
        self.writer.write(f"{method} {target} HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\n\r\n".encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return head, await self.reader.readexactly(int(lengths[0][15:])) if lengths else b""


@asynccontextmanager
async def browsing(proxy: ForwardProxy) -> AsyncIterator[Browser]:
    host, port = proxy.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Browser(reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()


async def test_requests_to_what_is_open_pass_on_one_connection() -> None:
    with serving(site(PAGES)) as one, serving(site(PAGES)) as other:
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
async def test_what_is_not_open_is_answered_by_the_proxy_with_its_mark(target: str, failure: Failure) -> None:
    async with proxy_for() as proxy, browsing(proxy) as browser:
        head, body = await browser.ask(target)
        assert head.startswith(b"HTTP/1.1 502")
        assert f"{TROUBLE_HEADER}: {proxy.mark}".encode() in head
        assert body == b""
        host, _, port = target.removeprefix("http://").removesuffix("/x").replace("0x7f.1", "127.0.0.1").partition(":")
        trouble = proxy.trouble(host, int(port or 80))
        assert trouble is not None
        assert (trouble.failure, trouble.detail[-1]) == (failure, ".")
        assert proxy.refused == (failure is Failure.ADDRESS)


async def test_a_tunnel_is_judged_like_a_request() -> None:
    with serving(site(PAGES)) as web:
        async with proxy_for(web.origin) as proxy:
            async with browsing(proxy) as browser:
                head, _ = await browser.ask("127.0.0.1:9", "CONNECT")
                assert head.startswith(b"HTTP/1.1 502")
            async with browsing(proxy) as browser:
                head, _ = await browser.ask(web.origin.removeprefix("http://"), "CONNECT")
                assert head.startswith(b"HTTP/1.1 200")
                head, body = await browser.ask("/b")
                assert b"<h1>B" in body


async def test_the_proxy_is_no_way_to_itself() -> None:
    async with proxy_for(allow=["any"]) as proxy, browsing(proxy) as browser:
        head, _ = await browser.ask(f"{proxy.address}/")
        assert head.startswith(b"HTTP/1.1 502")


async def test_an_answer_that_weighs_too_much_is_cut() -> None:
    with serving(site(PAGES)) as web:
        async with proxy_for(web.origin) as proxy, browsing(proxy) as browser:
            with pytest.raises(asyncio.IncompleteReadError) as cut:
                await browser.ask(web.origin + "/large")
            assert len(cut.value.partial) < 400_000


async def test_a_refused_port_and_nonsense_end_the_connection_or_say_why() -> None:
    async with proxy_for("http://127.0.0.1:1") as proxy:
        async with browsing(proxy) as browser:
            head, _ = await browser.ask("http://127.0.0.1:1/")
            assert head.startswith(b"HTTP/1.1 502")
            trouble = proxy.trouble("127.0.0.1", 1)
            assert trouble is not None
            assert trouble.failure is Failure.CONNECTION
        for nonsense in (b"\x16\x03\x01\r\n\r\n", b"GET ftp://x/ HTTP/1.1\r\n\r\n", b"GET http:/// HTTP/1.1\r\n\r\n"):
            async with browsing(proxy) as browser:
                browser.writer.write(nonsense)
                assert await browser.reader.read() == b""
