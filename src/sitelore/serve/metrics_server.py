"""Serves `/metrics` and `/health` of a worker process, with plain asyncio and no web framework."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sitelore.crawl.metrics import CONTENT_TYPE, exposition

_HEAD_S = 5.0


@asynccontextmanager
async def metrics_server(listening: socket.socket) -> AsyncIterator[None]:
    """Answer scrapes on this socket inside the block."""
    server = await asyncio.start_server(_answer, sock=listening)
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request per connection; slow or malformed requests are dropped."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
        async with asyncio.timeout(_HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_reply(head.split(b" ", 2)[:2]))
            await writer.drain()
    writer.close()


def _reply(request: list[bytes]) -> bytes:
    status, kind, body = b"200 OK", "application/json", b'{"status":"ok"}'
    if request == [b"GET", b"/metrics"]:
        kind, body = CONTENT_TYPE, exposition()
    elif request != [b"GET", b"/health"]:
        status, kind, body = b"404 Not Found", "text/plain", b"/metrics and /health are here\n"
    return b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (
        status, kind.encode(), len(body), body
    )  # fmt: skip
