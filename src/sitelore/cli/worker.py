"""`sitelore worker`: its options. What happens then is in `toiling`."""

from __future__ import annotations

from typing import Annotated

import typer


def worker(
    metrics_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", envvar="SITELORE_METRICS_PORT", help="Answer /metrics on this port."),
    ] = None,
    metrics_host: Annotated[
        str, typer.Option(metavar="HOST", envvar="SITELORE_METRICS_HOST", help="The address to do it on.")
    ] = "127.0.0.1",
    debug: Annotated[bool, typer.Option("--debug", help="Log every URL.")] = False,
) -> int:
    """Work on whatever runs there are, together with other workers; needs Postgres, Redis and blobs by settings."""
    from sitelore.cli.toiling import run_worker

    return run_worker(None if metrics_port is None else (metrics_host, metrics_port), debug=debug)
