"""MCP over the process's own streams: whoever started it is the client. Stdout carries the protocol and nothing else."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from sitelore.model.ids import DEFAULT_TENANT
from sitelore.serve.mcp import mcp_server
from sitelore.serve.sources import Sources


async def serve_stdio(sources: Sources, *, may_crawl: bool = False, tenant: str = DEFAULT_TENANT) -> None:
    """Until the client closes our stdin. While it lasts, what anybody else prints goes to stderr."""
    server = mcp_server(sources, may_crawl=may_crawl, tenant=tenant)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
