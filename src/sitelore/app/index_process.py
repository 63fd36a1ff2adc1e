"""A process that indexes pages while others crawl: `python -m sitelore.app.index_process --data DIR`.

`crawl` starts one for itself, and of all workers of a deployment one does, so that chunking takes no time of a crawl's event
loop. It runs at a low priority, commits after every batch, and ends when its standard input is closed: after the last page was
indexed, or, once its parent has died, after the present batch. Pages that it could not index wait for the next index update.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sitelore.app.logs import log_as_json
from sitelore.extract.process_memory import collect_garbage_seldom, share_one_heap
from sitelore.extras import missing_libraries

if TYPE_CHECKING:
    from sitelore.ports import RunQueue

_LOG = logging.getLogger(__name__)

_START_AFTER_S = 3.0
_RESTART_AFTER_S = 10.0
_NICENESS = 10
_FINISH = b"finish\n"
_GRACE_S = 5.0
_SAY_AFTER_S = 2.0
_LEADER = "index process"


@asynccontextmanager
async def index_while_crawling(
    data: Path, *, enabled: bool = True, on_wait: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """Index pages in another process while the body runs, and wait until it has indexed all of them. No-op unless `enabled`.

    `on_wait` is called when that takes more than a moment. The process starts after a few seconds: a search indexes the pages
    of a shorter crawl itself, in less time than a process takes to start. When the body is cancelled or fails, the process ends
    after its present batch.
    """
    if not enabled or missing_libraries("search"):
        yield
        return
    starting = asyncio.create_task(_start_later(data))
    try:
        yield
        if starting.done() and (process := starting.result()) is not None:
            await _finish(process, on_wait)
    finally:
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            if (process := await starting) is not None:
                await _end(process)


async def index_as_leader(queue: RunQueue) -> None:
    """Keep an index process running for a deployment on servers, while no other worker does. Until it is cancelled."""
    wait_s = _START_AFTER_S
    while True:
        await asyncio.sleep(wait_s)
        async with queue.leader_lock(_LEADER, for_long=True) as is_ours:
            if is_ours and (process := await _start(Path(), "--log-as-json")) is not None:
                try:
                    await process.wait()
                finally:
                    await _end(process)
        wait_s = _RESTART_AFTER_S


async def _start_later(data: Path) -> asyncio.subprocess.Process | None:
    await asyncio.sleep(_START_AFTER_S)
    return await _start(data)


async def _start(data: Path, *options: str) -> asyncio.subprocess.Process | None:
    """The started process; None where the system cannot start one, for lack of memory or processes."""
    command = (sys.executable, "-m", "sitelore.app.index_process", "--data", str(data), *options)
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=null)
    except OSError as problem:
        _LOG.warning("pages are not indexed while they are crawled, the index process does not start: %s", problem.strerror)
        return None


async def _finish(process: asyncio.subprocess.Process, on_wait: Callable[[], None]) -> None:
    """Let the process index the last pages, and wait for its end."""
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):  # it has ended because of an error, which it has reported
        process.stdin.write(_FINISH)
        await process.stdin.drain()
    process.stdin.close()
    waiting = asyncio.get_running_loop().call_later(_SAY_AFTER_S, on_wait)
    try:
        await process.wait()
    finally:
        waiting.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process after its present batch, or at once if that takes too long."""
    assert process.stdin is not None
    if process.returncode is None:
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()


async def _index(data: Path) -> None:
    from sitelore.app.wiring import build_app  # noqa: PLC0415 after the niceness is set
    from sitelore.crawl.search import indexer  # noqa: F401, PLC0415 imported before garbage is collected

    collect_garbage_seldom()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    reading = asyncio.create_task(_read_command(lines, stop))
    async with build_app(data, writing=False) as app:
        await app.search.keep_lexical_index_current(stop)
        if await reading:
            await app.search.update_lexical_index(asyncio.Event())


async def _read_command(lines: asyncio.StreamReader, stop: asyncio.Event) -> bool:
    """Wait for the end of the input; whether the last pages are to be indexed."""
    command = await lines.read()
    stop.set()
    return command == _FINISH


def main() -> None:
    """Run the process until its standard input ends."""
    gc.disable()
    share_one_heap()
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True, help="not read where the environment names servers")
    parser.add_argument("--log-as-json", action="store_true")
    arguments = parser.parse_args()
    if arguments.log_as_json:
        log_as_json(logging.INFO)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # signals are for the parent, which then closes our input
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    asyncio.run(_index(arguments.data))


if __name__ == "__main__":
    main()
