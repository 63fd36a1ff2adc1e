"""The server from the shell: build the house, hand it to `serve`, end in order."""

from __future__ import annotations

import asyncio
import gc
import logging
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from sitelore.cli.mcp_serving import door_of
from sitelore.deploy.logs import log_as_json
from sitelore.deploy.opening import open_house
from sitelore.deploy.settings import operator_settings
from sitelore.fetch.guard import AddressGuard
from sitelore.serve.context import ApiSettings, AppContext
from sitelore.serve.server import listening_socket, serve

_GARBAGE = 10_000


def run_server(host: str, port: int, data: Path, *, debug: bool) -> int:
    """Serve until a signal comes; the exit code is the answer."""
    operator = operator_settings()
    AddressGuard((), operator.allow_private)  # a wrong entry is a complaint now, not at the first crawl
    listening = listening_socket(host, port, with_tokens=bool(operator.tokens))
    log_as_json(logging.DEBUG if debug else logging.INFO)
    gc.freeze()  # as for a crawl: what was imported stays
    gc.set_threshold(_GARBAGE, 20, 20)
    gc.enable()
    settings = ApiSettings(tokens=operator.tokens, allow_private=operator.allow_private)
    asyncio.run(_serve(_Serving(settings, data, listening)))
    return 0


@dataclass(frozen=True, slots=True)
class _Serving:
    settings: ApiSettings
    data: Path
    listening: socket


async def _serve(asked: _Serving) -> None:
    """The API beside what the house does anyway: all the work in a house of one process, maintenance in one of many."""
    with asked.listening:
        if (operator := operator_settings()).is_scaled:
            from sitelore.deploy.waiting import wait_for_servers

            await wait_for_servers(operator)
        async with open_house(asked.data, writing=True) as house:
            context = AppContext(
                house.ledger, house.blobs, house.clock, house.attend, house.announce, house.door.open, house.redaction
            )
            await serve(context, asked.settings, asked.listening, mcp=door_of(house))
