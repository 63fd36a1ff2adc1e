"""MCP over HTTP: one request, one answer in JSON, no sessions. Host, origin, token and size are judged by `doors` before.

There is no stream from the server to the client: these tools never speak unasked. The SDK takes long to import, so that
happens when somebody first asks, in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from sitelore.model.ids import DEFAULT_TENANT
from sitelore.serve.problems import METHOD_NOT_ALLOWED, Refused
from sitelore.serve.sources import Sources

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_LOG = logging.getLogger(__name__)

PATH = "/mcp"


class McpDoor:
    """An ASGI application. What it starts ends with `close`, which the task that serves must await before its loop ends."""

    def __init__(self, sources: Sources, *, may_crawl: bool = False, tenant: str = DEFAULT_TENANT) -> None:
        self._sources = sources
        self._may_crawl = may_crawl
        self._tenant = tenant
        self._open: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[ASGIApp] | None = None
        self._closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        if scope["method"] != "POST":
            raise Refused(METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
        await (await self._app())(scope, receive, send)

    async def close(self) -> None:
        """End what is under way."""
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
            manager = await asyncio.to_thread(_manager, self._sources, may_crawl=self._may_crawl, tenant=self._tenant)
            async with manager.run():
                ready.set_result(manager.handle_request)
                await self._closing.wait()
        except Exception as problem:  # noqa: BLE001 whoever waits for it is told
            if ready.done():
                _LOG.exception("the MCP server failed")
            else:
                ready.set_exception(problem)


def _manager(sources: Sources, *, may_crawl: bool, tenant: str) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 see above

    from sitelore.serve.mcp import mcp_server  # noqa: PLC0415 see above

    server = mcp_server(sources, may_crawl=may_crawl, tenant=tenant)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)
