"""`sitelore pipeline`: crawl a known site again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data, Links
from sitelore.cli.crawl import Output
from sitelore.model.settings import LinkStyle, Pipeline


def pipeline(
    name: Annotated[Pipeline, typer.Argument(metavar="NAME", help="index-site: all pages. update-delta: changed pages.")],
    site: Annotated[str, typer.Argument(metavar="SITE", help="A site as `sitelore runs` names it.")],
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="With update-delta: only these.", show_default=False)
    ] = None,
    output: Annotated[
        list[Output] | None,
        typer.Option(help="Files to write besides the database. Repeatable; db alone writes none.  [default: md]"),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where files go.  [default: DATA/pages]")] = None,
    links: Links = LinkStyle.ABSOLUTE,
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Re-crawl a known site with its last settings, fully or incrementally."""
    from sitelore.cli.asking import Wishes
    from sitelore.cli.running import run_pipeline

    outputs = frozenset(one.value for one in output or [Output.MD])
    return run_pipeline(site, name, urls or (), Wishes(data, out or data / "pages", outputs, links, as_json=as_json))
