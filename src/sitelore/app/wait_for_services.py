"""Waits at start until Postgres, Redis and the blob store answer, because services that start together are ready in any order.

The database is required: without it, waiting ends with an error. A worker can start without Redis and the blob store, which are
connected when they come up. A wrong setting is raised at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from sitelore.app.checks import unavailable_services
from sitelore.app.settings import OperatorSettings
from sitelore.model.errors import StorageError

_LOG = logging.getLogger(__name__)

_BACKOFF_S = (0.25, 5.0)
"""The first pause between two attempts, and the longest."""
_REQUIRED = "database"


async def wait_for_services(settings: OperatorSettings, stop: asyncio.Event | None = None) -> bool:
    """Wait until all services can be used, or `start_s` have passed. False when `stop` was set meanwhile."""
    stop = stop or asyncio.Event()
    began, pause_s = time.monotonic(), _BACKOFF_S[0]
    logged: dict[str, str] = {}
    while not stop.is_set():
        problems = await unavailable_services(settings)
        for name, problem in problems.items():
            if logged.get(name) != problem:
                _LOG.warning("waiting for %s: %s", name, problem)
        if logged and not problems:
            _LOG.info("all services are available after %.1f s", time.monotonic() - began)
        logged = problems
        left_s = settings.start_s - (time.monotonic() - began)
        if not problems:
            return True
        if left_s <= 0:
            if _REQUIRED in problems:
                raise StorageError(problems[_REQUIRED])
            _LOG.warning("starting without %s", ", ".join(sorted(problems)))
            return True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(pause_s, left_s)):
                await stop.wait()
        pause_s = min(2 * pause_s, _BACKOFF_S[1])
    return False
