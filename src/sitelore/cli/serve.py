"""`sitelore serve`: its options. What happens then is in `serving`."""

from __future__ import annotations

from typing import Annotated

import typer

from sitelore.cli.console import DATA, Data


def serve(
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on; without tokens, loopback alone.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="The port; 0 takes a free one.")] = 8080,
    debug: Annotated[bool, typer.Option("--debug", help="Log every request and every URL.")] = False,
    data: Data = DATA,
) -> int:
    """Serve the HTTP API, and crawl what it is asked for."""
    from sitelore.cli.serving import run_server

    return run_server(host, port, data, debug=debug)
