"""Running the application: a socket, the house's own work beside it, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from sitelore.serve.app import application
from sitelore.serve.backstage import ApiSettings, Backstage
from sitelore.serve.doors import Doors
from sitelore.serve.mcp_http import PATH as MCP_PATH
from sitelore.serve.mcp_http import McpDoor
from sitelore.serve.problems import NOT_FOUND, Refused

_LOG = logging.getLogger(__name__)

_GRACE_S = 5


class _Server(uvicorn.Server):
    """Uvicorn with an ear for who else must stop. A signal means a clean end: it is not raised again afterwards."""

    def __init__(self, config: uvicorn.Config, stop: asyncio.Event) -> None:
        super().__init__(config)
        self._stop = stop
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 the signature is uvicorn's
        """A signal came: stop taking requests, and tell the rest of the house."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._stop.set)


async def serve(
    backstage: Backstage,
    settings: ApiSettings,
    listening: socket.socket,
    stop: asyncio.Event | None = None,
    mcp: McpDoor | None = None,
) -> None:
    """Answer requests until a signal comes, `stop` is set or the house's own work fails. Closes the socket."""
    closing = stop or asyncio.Event()
    try:
        await answer_requests(application(backstage, settings, closing, mcp), listening, closing, backstage.attend)
    finally:
        if mcp is not None:
            await mcp.close()


async def serve_mcp(
    door: McpDoor, settings: ApiSettings, listening: socket.socket, attend: Callable[[asyncio.Event], Awaitable[None]]
) -> None:
    """The MCP server alone, behind the same doors as the API."""

    async def only_mcp(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != MCP_PATH:
            raise Refused(NOT_FOUND)
        await door(scope, receive, send)

    try:
        await answer_requests(Doors(only_mcp, settings), listening, asyncio.Event(), attend)
    finally:
        await door.close()


async def answer_requests(
    app: ASGIApp, listening: socket.socket, closing: asyncio.Event, attend: Callable[[asyncio.Event], Awaitable[None]]
) -> None:
    """Serve an application on this socket, with something beside it that goes on until `closing` is set."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = _Server(config, closing)
    attending = asyncio.ensure_future(attend(closing))
    attending.add_done_callback(lambda _: setattr(server, "should_exit", True))
    host, port = listening.getsockname()[:2]
    _LOG.info("listening", extra={"host": host, "port": port})
    with contextlib.closing(listening):
        try:
            await server.serve(sockets=[listening])
        finally:
            closing.set()
            await attending
    _LOG.info("stopped")
