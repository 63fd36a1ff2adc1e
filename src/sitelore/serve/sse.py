"""Server-sent events of a run.

Each event is a complete summary whose id identifies its content. A client that reconnects with `Last-Event-ID`, to this server
or another, gets the next summary that differs. So no event has to be buffered, and no client misses the end of a run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from sitelore.model.states import ENDED, WAITING
from sitelore.serve.run_service import RunService, encode
from sitelore.serve.schemas import RunSummary

MEDIA_TYPE = "text/event-stream"
_RETRY_MS = 2000


def event_id(summary: RunSummary) -> str:
    """The id of a summary: it changes with everything the event shows."""
    counts = summary.counts
    waiting = sum(counts.by_status.get(state, 0) for state in WAITING)
    parts = (summary.status.value, summary.wave, counts.total_urls, waiting, counts.in_progress, counts.pages, counts.fetched)
    return "-".join(map(str, parts))


def is_over(summary: RunSummary) -> bool:
    """Whether the run has ended."""
    return summary.status in ENDED


async def run_events(service: RunService, name: str, last_id: str) -> AsyncIterator[bytes]:
    """Events from the first that differs from `last_id` until the run has ended or the server stops."""
    yield f"retry: {_RETRY_MS}\n\n".encode()
    service.followers += 1
    try:
        sent_at = time.monotonic()
        while not service.closing.is_set():
            summary = await service.summary(name)
            if (this_id := event_id(summary)) != last_id:
                yield _event(this_id, "end" if is_over(summary) else "progress", encode(summary))
                last_id, sent_at = this_id, time.monotonic()
            elif time.monotonic() - sent_at >= service.settings.heartbeat_s:
                yield b": heartbeat\n\n"
                sent_at = time.monotonic()
            if is_over(summary):
                return
            await _pause(service)
    finally:
        service.followers -= 1


async def _pause(service: RunService) -> None:
    try:
        async with asyncio.timeout(min(service.settings.look_s, service.settings.heartbeat_s)):
            await service.closing.wait()
    except TimeoutError:
        pass


def _event(event_id: str, kind: str, data: bytes) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event_id.encode(), kind.encode(), data)
