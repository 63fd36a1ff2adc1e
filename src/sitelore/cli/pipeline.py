"""`sitelore pipeline`: look at a site again, by the name of what for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data, Links
from sitelore.cli.crawl import Output
from sitelore.model.settings import LinkStyle, Pipeline


def pipeline(
    name: Annotated[
        Pipeline, typer.Argument(metavar="NAME", help="index-site: everything again. update-delta: what has changed.")
    ],
    site: Annotated[str, typer.Argument(metavar="SITE", help="A site as `sitelore runs` names it.")],
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="With update-delta: look at these alone.", show_default=False)
    ] = None,
    output: Annotated[
        list[Output] | None, typer.Option(help="What to leave besides the database. Repeatable.  [default: md]")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where files go.  [default: DATA/pages]")] = None,
    links: Links = LinkStyle.ABSOLUTE,
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Look at a site again as it was crawled before: all of it, or what has changed."""
    from sitelore.cli.asking import Wishes
    from sitelore.cli.running import run_pipeline

    outputs = frozenset(one.value for one in output or [Output.MD])
    return run_pipeline(site, name, urls or (), Wishes(data, out or data / "pages", outputs, links, as_json=as_json))
