"""`sitelore mcp`: an MCP server over stdin and stdout, or over HTTP."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.console import DATA, Data, run_async
from sitelore.extras import missing_libraries, require_extra
from sitelore.model.errors import SiteloreError, UsageError

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path
    from socket import socket

    from sitelore.app.app import App
    from sitelore.app.settings import OperatorSettings
    from sitelore.serve.context import ApiSettings
    from sitelore.serve.mcp.backend import AppBackend
    from sitelore.serve.mcp.transports import McpApp

_LOG = logging.getLogger(__name__)


def mcp(
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP at /mcp on this address instead of stdio."),
    ] = None,
    allow_crawl: Annotated[bool, typer.Option("--allow-crawl", help="Offer a tool that starts crawls, and run them.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log to stderr in detail.")] = False,
    data: Data = DATA,
) -> int:
    """Serve search and pages to language models over MCP. Uses stdin and stdout unless --http is given."""
    from sitelore.app.logs import log_as_json
    from sitelore.app.settings import operator_settings
    from sitelore.fetch.guard import AddressGuard
    from sitelore.serve.context import api_settings

    require_extra("mcp", "the MCP server")
    operator = operator_settings()
    AddressGuard((), operator.allow_private)  # a wrong entry is an error now, not at the first crawl
    listening = None if http is None else _listening_socket(http, operator, data)
    log_as_json(logging.DEBUG if debug else logging.INFO if listening else logging.WARNING)
    if listening is None:
        run_async(_serve_stdio(data, allow_crawl=allow_crawl))
    else:
        run_async(_serve_http(data, listening, api_settings(operator), allow_crawl=allow_crawl))
    return 0


def mcp_backend(app: App, is_current: asyncio.Event | None = None) -> AppBackend:
    """The data behind the MCP tools."""
    from sitelore.app.settings import operator_settings
    from sitelore.serve.mcp.backend import AppBackend

    allowed = operator_settings().allow_private
    return AppBackend(app.search.service, app.ledger, app.explain, app.create_run, allowed, is_current)


def mcp_asgi_app(app: App) -> McpApp | None:
    """The MCP endpoint of the HTTP API; None if MCP is not installed."""
    if missing_libraries("mcp"):
        return None
    from sitelore.serve.mcp.transports import McpApp

    return McpApp(mcp_backend(app), may_crawl=False)


async def _serve_http(data: Path, listening: socket, settings: ApiSettings, *, allow_crawl: bool) -> None:
    import asyncio

    from sitelore.extract.process_memory import collect_garbage_seldom
    from sitelore.serve.context import AccessControl, context_of
    from sitelore.serve.mcp.transports import McpApp
    from sitelore.serve.server import serve_mcp

    with listening:
        async with build_app(data, writing=allow_crawl, serving=True) as app:
            collect_garbage_seldom()
            is_current = asyncio.Event()

            async def background(stop: asyncio.Event) -> None:
                await _work_in_background(app, stop, is_current, allow_crawl=allow_crawl)

            access = AccessControl(
                context_of(app), replace(settings, has_stored_tokens=await app.accounts.directory.has_tokens())
            )
            await serve_mcp(McpApp(mcp_backend(app, is_current), may_crawl=allow_crawl), access, listening, background)


async def _serve_stdio(data: Path, *, allow_crawl: bool) -> None:
    import asyncio
    import os
    import signal

    from sitelore.extract.process_memory import collect_garbage_seldom
    from sitelore.serve.mcp.transports import serve_stdio

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with build_app(data, writing=allow_crawl, serving=True) as app:
        collect_garbage_seldom()
        is_current = asyncio.Event()
        background = asyncio.create_task(_work_in_background(app, stop, is_current, allow_crawl=allow_crawl))
        serving = asyncio.create_task(serve_stdio(mcp_backend(app, is_current), may_crawl=allow_crawl))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({serving, stopping, background}, return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        await background
    if not serving.done():
        # A thread is blocked reading stdin, and only the client could end it. Everything else is closed.
        os._exit(0)
    await serving


async def _work_in_background(app: App, stop: asyncio.Event, is_current: asyncio.Event, *, allow_crawl: bool) -> None:
    """Update the index once and, with `allow_crawl`, run crawls, until `stop` is set."""
    import asyncio
    import contextlib

    updating = asyncio.create_task(_update_index(app, is_current))
    try:
        await (app.run_background_work(stop) if allow_crawl else stop.wait())
    finally:
        updating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await updating


async def _update_index(app: App, is_current: asyncio.Event) -> None:
    try:
        for site in await app.search_service.sites():
            await app.search_service.refresh(site)
    except SiteloreError as problem:
        _LOG.warning("the index could not be updated: %s", problem)
    except Exception:  # noqa: BLE001 the index can be rebuilt, and its current state can be searched
        _LOG.exception("the index could not be updated")
    finally:
        is_current.set()


def _listening_socket(http: str, operator: OperatorSettings, data: Path) -> socket:
    from sitelore.cli.commands.operations.serve import needs_token
    from sitelore.serve.server import listening_socket

    host, _, port = http.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise UsageError(f"--http: invalid address {http!r} (use HOST:PORT, such as 127.0.0.1:8090)")
    host = host or "127.0.0.1"
    return listening_socket(host, int(port), with_tokens=needs_token(operator, host, data))
