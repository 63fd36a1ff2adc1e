"""Concurrent work in a process: waiting, repetition, a restart after errors, work ahead of its use, the first of many items."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

from sitelore.model.errors import StorageError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_LOG = logging.getLogger(__name__)

_RETRY_DELAY_S = 1.0
_MAX_RETRY_DELAY_S = 60.0


async def wait(event: asyncio.Event, timeout_s: float) -> None:
    """Wait until the event is set, at most this long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()


async def repeat(
    name: str, work: Callable[[], Awaitable[object]], stop: asyncio.Event, interval_s: float, delay_s: float = 0.0
) -> None:
    """Do work in intervals until stopped. When storage is unavailable, that is logged, and the next pass tries again."""
    if delay_s:
        await wait(stop, delay_s)
    while not stop.is_set():
        try:
            await work()
        except StorageError as problem:
            _LOG.warning("storage unavailable, retrying %s: %s", name, problem)
        await wait(stop, interval_s)


async def keep_running(name: str, work: Callable[[], Coroutine[None, None, None]], backoff_s: float = _RETRY_DELAY_S) -> None:
    """Run background work until it returns. After an error it is logged and started again, each time after a longer pause."""
    while True:
        try:
            return await work()
        except Exception:  # noqa: BLE001 whatever failed, the process still needs this work
            _LOG.exception("background work failed, it is started again", extra={"work": name, "after_s": backoff_s})
        await asyncio.sleep(backoff_s)
        backoff_s = min(2 * backoff_s, _MAX_RETRY_DELAY_S)


@asynccontextmanager
async def in_background(name: str, work: Callable[[], Coroutine[None, None, None]]) -> AsyncIterator[None]:
    """Keep background work running while the body runs; cancel it at the end."""
    task = asyncio.create_task(keep_running(name, work), name=name)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def map_ahead(
    work: Callable[[_Item], Coroutine[Any, Any, _Result]], items: AsyncIterable[_Item], ahead: int
) -> AsyncGenerator[_Result, None]:
    """The results of work on each item, in the order of the items; work on the next `ahead` items runs meanwhile."""
    tasks: deque[asyncio.Task[_Result]] = deque()
    try:
        async for item in items:
            tasks.append(asyncio.create_task(work(item)))
            if len(tasks) > ahead:
                yield await tasks.popleft()
        while tasks:
            yield await tasks.popleft()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def first_of(items: AsyncIterator[_Item], limit: int | None) -> AsyncIterator[_Item]:
    """The first `limit` items."""
    left = limit
    async with aclosing(items) as open_items:  # type: ignore[type-var]
        if left == 0:
            return
        async for item in open_items:
            yield item
            if left is not None:
                left -= 1
                if not left:
                    return
