"""A loopback server that sends exactly the bytes a test gives it, in the test's own event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.model.response import FetchFailure, Request, Response
from sitelore.model.settings import CrawlSettings, FetchLimits
from sitelore.model.url import Url


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as the server received it."""

    target: str
    headers: Mapping[str, str]


Responder = Callable[[ReceivedRequest, asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class Site:
    """A running server."""

    origin: str = ""
    port: int = 0
    connections: int = 0
    requests: list[ReceivedRequest] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has closed its connection."""

    def url(self, target: str = "/") -> Url:
        return url_of(self.origin + target)


def url_of(text: str) -> Url:
    url = Url.parse(text)
    assert url is not None
    return url


def reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """A complete response; `content_type="…"` becomes a Content-Type header. Content-Length is added when it is missing."""
    extra = {name.replace("_", "-"): value for name, value in headers.items()}
    extra.setdefault("Content-Length", str(len(body)))
    head = "".join(f"{name}: {value}\r\n" for name, value in extra.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def always(data: bytes, *, close: bool = False) -> Responder:
    """Respond to every request with these bytes."""

    async def respond(request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if close:
            writer.close()

    return respond


@asynccontextmanager
async def serving(respond: Responder, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    """A server that reads request heads and lets `respond` write; keeps connections alive until it closes them."""
    site = Site()
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.connections += 1
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                request = ReceivedRequest(first.split(" ")[1], headers)
                site.requests.append(request)
                await respond(request, writer)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            site.closed.set()
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(talk(reader, writer))
        talks.add(task)
        task.add_done_callback(talks.discard)

    server = await asyncio.start_server(begin, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    site.origin = f"{'https' if tls else 'http'}://127.0.0.1:{site.port}"
    try:
        yield site
    finally:
        server.close()
        for task in list(talks):
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


@asynccontextmanager
async def fetching(*sites: Site, limits: FetchLimits | None = None) -> AsyncIterator[HttpFetcher]:
    """A fetcher whose guard allows these sites."""
    settings = CrawlSettings(limits=limits or FetchLimits())
    fetcher = HttpFetcher(settings, AddressGuard([site.origin for site in sites]))
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def response_to(
    data: bytes, request: Callable[[Url], Request] = Request, *, limits: FetchLimits | None = None
) -> Response:
    """Fetch these bytes and expect a response."""
    async with serving(always(data, close=True)) as site, fetching(site, limits=limits) as fetcher:
        fetched = await fetcher.fetch(request(site.url()))
    assert isinstance(fetched, Response), fetched
    return fetched


async def failure_of(
    data: bytes, request: Callable[[Url], Request] = Request, *, limits: FetchLimits | None = None
) -> FetchFailure:
    """Fetch these bytes and expect a failure."""
    async with serving(always(data, close=True)) as site, fetching(site, limits=limits) as fetcher:
        fetched = await fetcher.fetch(request(site.url()))
    assert isinstance(fetched, FetchFailure), fetched
    return fetched
