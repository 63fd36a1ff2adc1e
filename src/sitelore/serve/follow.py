"""A run as it goes, by server-sent events.

An event is a whole summary, and its id says which one: whoever comes back with `Last-Event-ID` gets the next one that differs,
from this server or another. So nothing has to be kept for those who are away, and nobody misses how a run ended.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from sitelore.model.states import ENDED, WAITING
from sitelore.serve.desk import Desk, encode
from sitelore.serve.wire import RunSummary

MEDIA_TYPE = "text/event-stream"
_RETRY_MS = 2000


def event_id(summary: RunSummary) -> str:
    """Which summary this is: it changes with everything a watcher would want to see."""
    counts = summary.counts
    waiting = sum(counts.by_status.get(state, 0) for state in WAITING)
    parts = (summary.status.value, summary.wave, counts.total_urls, waiting, counts.in_progress, counts.pages, counts.fetched)
    return "-".join(map(str, parts))


def is_over(summary: RunSummary) -> bool:
    """Whether nothing will change any more."""
    return summary.status in ENDED


async def followed(desk: Desk, name: str, last_id: str) -> AsyncIterator[bytes]:
    """Events from the first that differs from `last_id` until the run has ended or the server stops."""
    yield f"retry: {_RETRY_MS}\n\n".encode()
    desk.followers += 1
    try:
        told = time.monotonic()
        while not desk.closing.is_set():
            summary = await desk.summary(name)
            if (this_id := event_id(summary)) != last_id:
                yield _event(this_id, "end" if is_over(summary) else "progress", encode(summary))
                last_id, told = this_id, time.monotonic()
            elif time.monotonic() - told >= desk.settings.heartbeat_s:
                yield b": still here\n\n"
                told = time.monotonic()
            if is_over(summary):
                return
            await _pause(desk)
    finally:
        desk.followers -= 1


async def _pause(desk: Desk) -> None:
    try:
        async with asyncio.timeout(min(desk.settings.look_s, desk.settings.heartbeat_s)):
            await desk.closing.wait()
    except TimeoutError:
        pass


def _event(event_id: str, kind: str, data: bytes) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event_id.encode(), kind.encode(), data)
