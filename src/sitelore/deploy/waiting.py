"""Servers that are started together come up in any order: a worker or a server that is there first waits for the others.

The database is needed, so its absence ends the waiting with an error. Redis and blobs are done without for a while later on,
so they are here too: when they have not come in time, work begins and meets them when they come. A setting that is wrong
is said at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from sitelore.deploy.checks import tried
from sitelore.deploy.settings import OperatorSettings
from sitelore.model.errors import StorageError

_LOG = logging.getLogger(__name__)

_PAUSES_S = (0.25, 5.0)
DATABASE = "database"


async def wait_for_servers(settings: OperatorSettings, stop: asyncio.Event | None = None) -> bool:
    """Until all can be used, or `start_s` have passed. False when told to stop meanwhile."""
    stop = stop or asyncio.Event()
    began, pause_s = time.monotonic(), _PAUSES_S[0]
    told: dict[str, str] = {}
    while not stop.is_set():
        away = await tried(settings)
        for name, why in away.items():
            if told.get(name) != why:
                _LOG.warning("waiting for the %s: %s", name, why)
        if told and not away:
            _LOG.info("everything is up after %.1f s", time.monotonic() - began)
        told = away
        left_s = settings.start_s - (time.monotonic() - began)
        if not away:
            return True
        if left_s <= 0:
            if DATABASE in away:
                raise StorageError(away[DATABASE])
            _LOG.warning("beginning without: %s", ", ".join(sorted(away)))
            return True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(pause_s, left_s)):
                await stop.wait()
        pause_s = min(2 * pause_s, _PAUSES_S[1])
    return False
