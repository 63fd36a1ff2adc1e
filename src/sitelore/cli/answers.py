"""`explain` and `inspect`: why a URL ended as it did, and what was made of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data

InRun = Annotated[str, typer.Option("--run", metavar="RUN", help="The run to ask.")]


def explain(
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL to ask about, fetched or not.")],
    run: InRun = "latest",
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show every gate a URL met, with its rule and its verdict."""
    import asyncio

    from sitelore.cli.telling import explain_url

    asyncio.run(explain_url(data, url, run, as_json=as_json))


def inspect(
    target: Annotated[str, typer.Argument(metavar="URL|FILE", help="A crawled URL, any other URL, or an HTML file.")],
    url: Annotated[str | None, typer.Option(metavar="URL", help="With FILE: the address the page would have.")] = None,
    domain_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Try these rules instead of those of the crawl.")
    ] = None,
    run: InRun = "latest",
    lines: Annotated[int, typer.Option(min=0, metavar="N", help="Show this many lines of each half; 0 shows all.")] = 40,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show what was extracted from a page: facts, Markdown, and beside it what was cut and why."""
    from sitelore.cli.inspecting import Target, inspect_target

    inspect_target(data, Target(target, url, run, domain_config), lines, as_json=as_json)
