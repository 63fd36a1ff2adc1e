"""`sitelore extract`: HTML to Markdown, without network or state."""

from __future__ import annotations

from typing import Annotated

import typer

from sitelore.cli.console import AsJson, Links
from sitelore.model.settings import LinkStyle


def extract(
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="An HTML file; - reads stdin.", show_default=False)] = "-",
    url: Annotated[str | None, typer.Option(metavar="URL", help="The page's URL; links are resolved against it.")] = None,
    as_json: AsJson = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Read one {id, url, html} per line and write one document per line, on every core.")
    ] = False,
    links: Links = LinkStyle.ABSOLUTE,
    full: Annotated[
        bool, typer.Option("--full", help="With --json or --jsonl: add structured data, forms, actions, media and metadata.")
    ] = False,
) -> int:
    """Turn HTML into Markdown, without network or state."""
    from sitelore.cli.reading import extract_lines, extract_one

    if jsonl:
        return extract_lines(file, links, full=full)
    return extract_one(file, url, links, as_json=as_json or full, full=full)
