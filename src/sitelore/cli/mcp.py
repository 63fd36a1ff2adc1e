"""`sitelore mcp`: its options. What happens then is in `mcp_serving`."""

from __future__ import annotations

from typing import Annotated

import typer

from sitelore.cli.console import DATA, Data


def mcp(
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP at /mcp there; stdin and stdout otherwise."),
    ] = None,
    allow_crawl: Annotated[bool, typer.Option("--allow-crawl", help="Offer a tool that starts crawls, and do them.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log what happens, on stderr.")] = False,
    data: Data = DATA,
) -> int:
    """Let a language model search and read what was crawled, by the Model Context Protocol."""
    from sitelore.cli.mcp_serving import run_mcp

    return run_mcp(http, data, allow_crawl=allow_crawl, debug=debug)
