"""`sitelore serve`: the HTTP API, with crawling or maintenance beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.console import DATA, Data, enable_garbage_collection, run_async

if TYPE_CHECKING:
    from pathlib import Path
    from socket import socket

    from sitelore.app.settings import OperatorSettings


def serve(
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Address to listen on; without SITELORE_TOKENS only loopback.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0 takes a free one.")] = 8080,
    debug: Annotated[bool, typer.Option("--debug", help="Log every request and every URL.")] = False,
    data: Data = DATA,
) -> int:
    """Serve the HTTP API and run its crawls."""
    import logging

    from sitelore.app.logs import log_as_json
    from sitelore.app.settings import operator_settings
    from sitelore.fetch.guard import AddressGuard
    from sitelore.serve.server import listening_socket

    operator = operator_settings()
    AddressGuard((), operator.allow_private)  # a wrong entry is an error now, not at the first crawl
    listening = listening_socket(host, port, with_tokens=bool(operator.tokens))
    log_as_json(logging.DEBUG if debug else logging.INFO)
    run_async(_serve(operator, data, listening))
    return 0


async def _serve(operator: OperatorSettings, data: Path, listening: socket) -> None:
    from sitelore.app.wait_for_services import wait_for_services
    from sitelore.cli.commands.mcp import mcp_endpoint
    from sitelore.serve.context import ApiSettings, AppContext
    from sitelore.serve.server import serve as serve_api

    settings = ApiSettings(tokens=operator.tokens, allow_private=operator.allow_private)
    with listening:
        if operator.is_scaled:
            await wait_for_services(operator)
        async with build_app(data, writing=True) as app:
            enable_garbage_collection()
            context = AppContext(
                app.ledger,
                app.blobs,
                app.clock,
                app.run_background_work,
                app.notify_workers,
                app.search.service,
                app.redaction,
            )
            await serve_api(context, settings, listening, mcp=mcp_endpoint(app))
