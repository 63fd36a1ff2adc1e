"""`runs`, `show`, `export`, `compare`: list, show, export and compare runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data, Links
from sitelore.model.settings import LinkStyle

RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run id, a prefix of one, or `latest`.")]


class Format(StrEnum):
    """The files a run can become."""

    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"
    MD = "md"
    WARC = "warc"
    LLMS_TXT = "llms-txt"
    ACTIONS = "actions"
    TOOLS = "tools"


def runs(as_json: AsJson = False, data: Data = DATA) -> None:
    """List the runs in the data directory, newest first."""
    import asyncio

    from sitelore.cli.looking import list_runs

    asyncio.run(list_runs(data, as_json=as_json))


def show(run: RunName = "latest", as_json: AsJson = False, data: Data = DATA) -> None:
    """Show one run: its numbers and its settings."""
    import asyncio

    from sitelore.cli.looking import show_run

    asyncio.run(show_run(data, run, as_json=as_json))


def export(
    run: RunName = "latest",
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="json, csv: one row per URL. jsonl, md, llms-txt: the pages. warc: the responses. "
            "actions, tools: the site's actions.",
        ),
    ] = Format.JSON,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A file, or for md a folder.  [default: stdout, for md DATA/pages]"),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="With jsonl and md: keep blocks that repeat over the site in every page.")
    ] = False,
    links: Links = LinkStyle.ABSOLUTE,
    data: Data = DATA,
) -> None:
    """Write a run as a file. Rows are sorted by key, so that equal crawls give equal files."""
    import asyncio

    from sitelore.cli.looking import export_run
    from sitelore.cli.writing import PageView

    asyncio.run(export_run(data, run, form.value, out, PageView(whole, links)))


def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="An export (.json, .csv, .jsonl), a run's id, or `latest`.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The same, to compare with.")],
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Compare two exports or runs; exit code 1 when they differ."""
    import asyncio

    from sitelore.cli.looking import compare_exports

    return asyncio.run(compare_exports(data, before, after, as_json=as_json))
