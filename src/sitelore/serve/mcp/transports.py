"""Transports of the MCP server: stateless HTTP (one request, one JSON response) and stdio.

The security middleware checks host, origin, token and size before. The server sends no stream to the client, because no tool
sends anything unasked. The SDK is slow to import, so it is imported in a thread by the first request.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from sitelore.model.ids import DEFAULT_TENANT, TenantId
from sitelore.model.platform.accounts import MCP_SCOPES, Caller
from sitelore.serve.mcp.backend import McpBackend
from sitelore.serve.problems import FORBIDDEN, METHOD_NOT_ALLOWED, ApiProblem
from sitelore.serve.security.middleware import CALLER

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_LOG = logging.getLogger(__name__)

PATH = "/mcp"


class McpApp:
    """ASGI application for MCP. The serving task must await `close` before its event loop ends."""

    def __init__(self, backend: McpBackend, *, may_crawl: bool = False) -> None:
        self._backend = backend
        self._may_crawl = may_crawl
        self._open: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[ASGIApp] | None = None
        self._closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return
        if scope["method"] != "POST":
            raise ApiProblem(METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
        caller: Caller = scope[CALLER]
        if not all(map(caller.may, MCP_SCOPES)):
            raise ApiProblem(FORBIDDEN, f"the token needs the scopes {' and '.join(sorted(MCP_SCOPES))}")
        if caller.channel:
            raise ApiProblem(FORBIDDEN, "the token is bound to one channel")
        await (await self._app())(scope, receive, send)

    async def close(self) -> None:
        """Stop the session manager."""
        self._closing.set()
        if self._open is not None:
            await self._open

    async def _app(self) -> ASGIApp:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            # The SDK's task group must be entered and left by one task; requests come in many.
            self._open = asyncio.create_task(self._serve(self._ready))
        return await asyncio.shield(self._ready)

    async def _serve(self, ready: asyncio.Future[ASGIApp]) -> None:
        try:
            manager = await asyncio.to_thread(_manager, self._backend, may_crawl=self._may_crawl)
            async with manager.run():
                ready.set_result(manager.handle_request)
                await self._closing.wait()
        except Exception as problem:  # noqa: BLE001 re-raised in every waiting request
            if ready.done():
                _LOG.exception("the MCP server failed")
            else:
                ready.set_exception(problem)


def _manager(backend: McpBackend, *, may_crawl: bool) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 see above

    from sitelore.serve.mcp.tools import mcp_server  # noqa: PLC0415 see above

    server = mcp_server(backend, may_crawl=may_crawl)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)


async def serve_stdio(backend: McpBackend, *, may_crawl: bool = False, tenant: TenantId = DEFAULT_TENANT) -> None:
    """Serve MCP over stdin and stdout until the client closes stdin. Meanwhile other output of the process goes to stderr."""
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 slow to import

    from sitelore.serve.mcp.tools import mcp_server  # noqa: PLC0415 slow to import

    server = mcp_server(backend, may_crawl=may_crawl, tenant=tenant)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
