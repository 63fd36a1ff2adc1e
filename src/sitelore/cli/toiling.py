"""A worker from the shell: build the house on its servers, work until a signal comes, leave nothing leased."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
from socket import socket

from sitelore.deploy.logs import log_as_json
from sitelore.deploy.scaled import scaled
from sitelore.deploy.settings import OperatorSettings, operator_settings
from sitelore.deploy.waiting import wait_for_servers
from sitelore.extract.malloc_tuning import share_one_heap
from sitelore.model.errors import UsageError
from sitelore.serve.metrics_server import metrics_server
from sitelore.serve.server import listening_socket

_LOG = logging.getLogger(__name__)

_GARBAGE = 10_000
_AT_MOST_S = 29.0
"""From the signal to the end. Whoever sent it waits for 30 s before a `kill -9`."""


def run_worker(metrics: tuple[str, int] | None, *, debug: bool) -> int:
    """Work until SIGTERM or SIGINT, and tell how it goes at this address; the exit code is the answer."""
    settings = operator_settings()
    if not settings.is_scaled:
        raise UsageError(
            "a worker shares its runs with others, so it needs SITELORE_DATABASE_URL, SITELORE_REDIS_URL and "
            "SITELORE_BLOBS_URL; without them `sitelore crawl` and `sitelore serve` do all the work"
        )
    listening = None if metrics is None else listening_socket(*metrics, with_tokens=True)
    gc.freeze()  # as for a crawl: what was imported stays
    gc.set_threshold(_GARBAGE, 20, 20)
    gc.enable()
    share_one_heap()
    log_as_json(logging.DEBUG if debug else logging.INFO)
    asyncio.run(_work(settings, listening))
    return 0


async def _work(settings: OperatorSettings, listening: socket | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        stop.set()
        loop.call_later(_AT_MOST_S, _give_up)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    told = contextlib.nullcontext() if listening is None else metrics_server(listening)
    if not await wait_for_servers(settings, stop):
        return
    async with scaled(settings) as house, told:
        _LOG.info("working", extra={} if listening is None else {"metrics_port": listening.getsockname()[1]})
        await house.work(stop)
    _LOG.info("stopped")


def _give_up() -> None:
    """Servers that are away can hold a drain up. What is leased runs out; what is settled is safe."""
    _LOG.warning("stopped without having drained")
    os._exit(1)
