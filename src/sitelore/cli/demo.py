"""`sitelore demo`: a small site on loopback, crawled in front of your eyes. Needs no internet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Where to keep the result.  [default: a temporary folder]")
    ] = None,
) -> int:
    """Serve a small bundled site on loopback and crawl it."""
    from sitelore.cli.demo_run import run_demo

    return run_demo(data)
