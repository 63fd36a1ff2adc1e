"""The MCP server from the shell: build the house, hand it to `serve`, end in order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
from importlib.util import find_spec
from pathlib import Path
from socket import socket

from sitelore.deploy.house import House
from sitelore.deploy.logs import log_as_json
from sitelore.deploy.opening import open_house
from sitelore.deploy.settings import operator_settings
from sitelore.fetch.guard import AddressGuard
from sitelore.model.errors import SiteloreError, UsageError
from sitelore.serve.context import ApiSettings
from sitelore.serve.mcp.backend import AppBackend
from sitelore.serve.mcp.transports import McpApp

_LOG = logging.getLogger(__name__)

_GARBAGE = 10_000
_ADVICE = "the MCP server needs its extra: pip install 'sitelore[mcp]'"


def run_mcp(http: str | None, data: Path, *, allow_crawl: bool, debug: bool) -> int:
    """Serve until the client leaves or a signal comes; the exit code is the answer."""
    if find_spec("mcp") is None:
        raise UsageError(_ADVICE)
    operator = operator_settings()
    AddressGuard((), operator.allow_private)  # a wrong entry is a complaint now, not at the first crawl
    listening = _listening(http, with_tokens=bool(operator.tokens)) if http is not None else None
    log_as_json(logging.DEBUG if debug else logging.INFO if listening else logging.WARNING)
    gc.freeze()  # as for a crawl: what was imported stays
    gc.set_threshold(_GARBAGE, 20, 20)
    gc.enable()
    if listening is None:
        asyncio.run(_over_stdio(data, allow_crawl=allow_crawl))
        return 0
    settings = ApiSettings(tokens=operator.tokens, allow_private=operator.allow_private)
    asyncio.run(_over_http(data, listening, settings, allow_crawl=allow_crawl))
    return 0


def sources_of(house: House, is_current: asyncio.Event | None = None) -> AppBackend:
    """What the tools ask."""
    allowed = operator_settings().allow_private
    return AppBackend(house.door.open, house.ledger, house.explain, house.start, allowed, is_current)


def door_of(house: House, *, may_crawl: bool = False) -> McpApp | None:
    """MCP for a server of the API; None where the extra is not installed."""
    return McpApp(sources_of(house), may_crawl=may_crawl) if find_spec("mcp") is not None else None


async def _over_http(data: Path, listening: socket, settings: ApiSettings, *, allow_crawl: bool) -> None:
    from sitelore.serve.server import serve_mcp

    with listening:
        async with open_house(data, writing=allow_crawl) as house:
            is_current = asyncio.Event()

            async def attend(stop: asyncio.Event) -> None:
                await _attend(house, stop, is_current, allow_crawl=allow_crawl)

            await serve_mcp(McpApp(sources_of(house, is_current), may_crawl=allow_crawl), settings, listening, attend)


async def _over_stdio(data: Path, *, allow_crawl: bool) -> None:
    from sitelore.serve.mcp.transports import serve_stdio

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_house(data, writing=allow_crawl) as house:
        is_current = asyncio.Event()
        attending = asyncio.create_task(_attend(house, stop, is_current, allow_crawl=allow_crawl))
        serving = asyncio.create_task(serve_stdio(sources_of(house, is_current), may_crawl=allow_crawl))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({serving, stopping, attending}, return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        await attending
    if not serving.done():
        # A thread waits for the next line of stdin, and nothing but the client can end that. Everything is closed.
        os._exit(0)
    await serving


async def _attend(house: House, stop: asyncio.Event, is_current: asyncio.Event, *, allow_crawl: bool) -> None:
    """Beside the server: a look at what was crawled since the index was last asked, and the crawls it is asked for."""
    looking = asyncio.create_task(_catch_up(house, is_current))
    try:
        await (house.attend(stop) if allow_crawl else stop.wait())
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking


async def _catch_up(house: House, is_current: asyncio.Event) -> None:
    try:
        for shelf in await house.search_service.sites():
            await house.search_service.refresh(shelf)
    except SiteloreError as problem:
        _LOG.warning("the index could not be brought up to date: %s", problem)
    except Exception:  # noqa: BLE001 the index is derived; what it has can be searched all the same
        _LOG.exception("the index could not be brought up to date")
    finally:
        is_current.set()


def _listening(http: str, *, with_tokens: bool) -> socket:
    from sitelore.serve.server import listening_socket

    host, _, port = http.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise UsageError(f"--http is {http!r}; it takes HOST:PORT, like 127.0.0.1:8090")
    return listening_socket(host or "127.0.0.1", int(port), with_tokens=with_tokens)
