"""`sitelore worker`: crawls queued runs together with other workers, until a signal ends it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.cli.console import enable_garbage_collection, run_async
from sitelore.model.errors import UsageError

if TYPE_CHECKING:
    from socket import socket

    from sitelore.app.settings import OperatorSettings

_LOG = logging.getLogger(__name__)

_MAX_SHUTDOWN_S = 29.0
"""From the signal to the end. Supervisors commonly wait for 30 s before they kill a process."""


def worker(
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="PORT", envvar="SITELORE_METRICS_PORT", help="Serve /metrics and /health on this port."
        ),
    ] = None,
    metrics_host: Annotated[
        str, typer.Option(metavar="HOST", envvar="SITELORE_METRICS_HOST", help="Address for the metrics port.")
    ] = "127.0.0.1",
    debug: Annotated[bool, typer.Option("--debug", help="Log every URL.")] = False,
) -> int:
    """Work on queued runs, together with other workers. Needs Postgres, Redis and a blob store (see the settings)."""
    from sitelore.app.logs import log_as_json
    from sitelore.app.settings import operator_settings
    from sitelore.extract.malloc_tuning import share_one_heap
    from sitelore.serve.server import listening_socket

    settings = operator_settings()
    if not settings.is_scaled:
        raise UsageError(
            "a worker needs SITELORE_DATABASE_URL, SITELORE_REDIS_URL and SITELORE_BLOBS_URL; "
            "without them, use `sitelore crawl` or `sitelore serve`, which need no worker"
        )
    listening = None if metrics_port is None else listening_socket(metrics_host, metrics_port, with_tokens=True)
    share_one_heap()
    log_as_json(logging.DEBUG if debug else logging.INFO)
    run_async(_work(settings, listening))
    return 0


async def _work(settings: OperatorSettings, listening: socket | None) -> None:
    import asyncio
    import contextlib
    import signal

    from sitelore.app.wait_for_services import wait_for_services
    from sitelore.app.wiring import scaled
    from sitelore.serve.metrics_server import metrics_server

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        stop.set()
        loop.call_later(_MAX_SHUTDOWN_S, _exit_without_drain)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    metrics = contextlib.nullcontext() if listening is None else metrics_server(listening)
    if not await wait_for_services(settings, stop):
        return
    async with scaled(settings) as app, metrics:
        enable_garbage_collection()
        _LOG.info("working", extra={} if listening is None else {"metrics_port": listening.getsockname()[1]})
        await app.work(stop)
    _LOG.info("stopped")


def _exit_without_drain() -> None:
    """End the process while a service that does not answer blocks the shutdown. Leases expire; finished pages are stored."""
    import os

    _LOG.warning("stopped without finishing the requests in flight")
    os._exit(1)
