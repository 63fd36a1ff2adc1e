"""Runs the ASGI application with uvicorn, background work, and a graceful shutdown.

Connections are limited: how many are open, and how long a request head may take. The server shares its process, and so its
limit of open files, with crawls, and anyone can open a connection without a token. At the limit, the connection that has
waited longest for a request is closed.

`metrics_server` serves `/metrics` and `/health` of a worker process, with plain asyncio and no web framework.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from sitelore.metrics import CONTENT_TYPE, exposition
from sitelore.model.errors import UsageError
from sitelore.serve.app import application
from sitelore.serve.context import AccessControl, ApiSettings, AppContext
from sitelore.serve.mcp.transports import PATH as MCP_PATH
from sitelore.serve.mcp.transports import McpApp
from sitelore.serve.problems import NOT_FOUND, ApiProblem
from sitelore.serve.security.middleware import SecurityMiddleware

_LOG = logging.getLogger(__name__)

_GRACE_S = 5
_BACKLOG = 1024

MAX_CONNECTIONS = 1000
REQUEST_HEAD_S = 10.0
ACCEPT_BATCH = 16
"""Connections that are accepted before the limit is applied to them."""

_HEAD_S = 5.0


def max_connections() -> int:
    """The limit of open connections: at most half of the files that this process may open."""
    open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if open_files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, open_files // 2)


class LimitedConnection(H11Protocol):
    """An HTTP connection that is closed when a request head is overdue, or to make room for another connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting_since = 0.0
        self._head_timer: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Add a connection; at the limit, close the one that has waited longest for a request, or else this one."""
        super().connection_made(transport)
        self._wait_for_head()
        if len(self.connections) > max_connections():
            others = (other for other in self.connections if isinstance(other, LimitedConnection) and other is not self)
            waiting = [other for other in others if other.is_waiting]
            min(waiting, key=lambda other: other.waiting_since, default=self).drop()
            _LOG.warning("too many connections, one was closed")

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._wait_for_head()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close the connection at once."""
        self.connections.discard(self)  # now, because `connection_lost` comes only after other connections were accepted
        self.transport.abort()

    def _wait_for_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self.waiting_since = self.loop.time()
        self._head_timer = self.loop.call_later(REQUEST_HEAD_S, self._drop_if_waiting)

    def _drop_if_waiting(self) -> None:
        if self.is_waiting:
            self.drop()


class _Server(uvicorn.Server):
    """Uvicorn server that also sets the `stop` event on SIGINT and SIGTERM. The signal is not raised again afterwards."""

    def __init__(self, config: uvicorn.Config, stop: asyncio.Event) -> None:
        super().__init__(config)
        self._stop = stop
        self._loop = asyncio.get_running_loop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections. Asyncio uses one number for the queue and for a batch of accepts; the queue may be longer."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 the signature is uvicorn's
        """Stop accepting requests and set the stop event."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._stop.set)


async def serve(
    context: AppContext,
    settings: ApiSettings,
    listening: socket.socket,
    stop: asyncio.Event | None = None,
    mcp: McpApp | None = None,
) -> None:
    """Serve the API until a signal arrives, `stop` is set or the background work fails. Closes the socket."""
    closing = stop or asyncio.Event()
    access = AccessControl(context, settings)
    try:
        app = application(context, settings, closing, mcp, access)
        await answer_requests(app, listening, closing, context.run_background)
    finally:
        await access.authenticator.close()
        if mcp is not None:
            await mcp.close()


async def serve_mcp(
    mcp: McpApp,
    access: AccessControl,
    listening: socket.socket,
    run_background: Callable[[asyncio.Event], Awaitable[None]],
) -> None:
    """Serve MCP alone, behind the same security middleware as the API."""

    async def only_mcp(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != MCP_PATH:
            raise ApiProblem(NOT_FOUND)
        await mcp(scope, receive, send)

    try:
        await answer_requests(SecurityMiddleware(only_mcp, access), listening, asyncio.Event(), run_background)
    finally:
        await access.authenticator.close()
        await mcp.close()


async def answer_requests(
    app: ASGIApp, listening: socket.socket, closing: asyncio.Event, run_background: Callable[[asyncio.Event], Awaitable[None]]
) -> None:
    """Serve an application on this socket, with background work (`run_background`) that runs until `closing` is set."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        http=LimitedConnection,
        ws="none",
        backlog=ACCEPT_BATCH,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = _Server(config, closing)
    background = asyncio.ensure_future(run_background(closing))
    background.add_done_callback(lambda _: setattr(server, "should_exit", True))
    host, port = listening.getsockname()[:2]
    _LOG.info("listening", extra={"host": host, "port": port})
    with contextlib.closing(listening):
        try:
            await server.serve(sockets=[listening])
        finally:
            closing.set()
            await background
    _LOG.info("stopped")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listening_socket(host: str, port: int, *, with_tokens: bool) -> socket.socket:
    """Bind and listen. Raises `UsageError` when the address cannot be used, or is public and no token is set."""
    if not with_tokens and not is_loopback(host):
        raise UsageError(
            f"without SITELORE_TOKENS the server listens only on loopback, not on {host}; "
            "set it, or create a token with `sitelore token create`"
        )
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        listening = socket.create_server((plain, port), family=family, backlog=_BACKLOG)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).partition(" (while attempting")[0]
        hint = "; choose another port" if problem.errno == errno.EADDRINUSE else ""
        raise UsageError(f"cannot listen on {host}:{port}: {reason}{hint}") from problem
    # Head and body are two writes: without this, which connections inherit, each answer would wait 40 ms for an ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


@asynccontextmanager
async def metrics_server(listening: socket.socket) -> AsyncIterator[None]:
    """Serve Prometheus metrics on this socket during the block (a context manager)."""
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
