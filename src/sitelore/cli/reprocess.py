"""`sitelore reprocess`: the pages of a run read again from their snapshots, with no request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data
from sitelore.cli.runs import RunName
from sitelore.model.settings import ReadMode


def reprocess(
    run: RunName = "latest",
    domain_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read by these rules (JSON or YAML) instead of the run's own.")
    ] = None,
    read: Annotated[
        ReadMode | None,
        typer.Option(help="Extract this much of each page instead of what the run's settings say.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Extract a run's pages again from what was stored, with no request, and say what changed."""
    from sitelore.cli.rereading import reread_run

    reread_run(data, run, domain_config, read, dry_run=dry_run, as_json=as_json)
