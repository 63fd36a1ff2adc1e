"""A process that indexes pages while another one crawls: `python -m sitelore.app.index_process --data DIR`.

`crawl` starts it beside itself, so that chunking takes no time of the crawl's event loop. It runs at a low priority,
commits after every batch, and ends when its standard input is closed: after the last page was indexed, or, once its parent has
died, after the present batch.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sitelore.extras import missing_libraries

_START_AFTER_S = 3.0
_INTERVAL_S = 1.0
_NICENESS = 10
_FINISH = b"finish\n"
_GRACE_S = 5.0


@asynccontextmanager
async def indexing_beside(data: Path, *, enabled: bool = True) -> AsyncIterator[None]:
    """Index pages in another process while the body runs, and wait until it has indexed all of them. No-op unless `enabled`.

    The process starts after a few seconds: a search indexes the pages of a shorter crawl itself, in less time than a process
    takes to start. When the body is cancelled or fails, the process ends after its present batch; the next index update
    continues.
    """
    if not enabled or missing_libraries("search"):
        yield
        return
    starting = asyncio.create_task(_start_later(data))
    try:
        yield
        if starting.done():
            await _finish(starting.result())
    finally:
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await _end(await starting)


async def _start_later(data: Path) -> asyncio.subprocess.Process:
    await asyncio.sleep(_START_AFTER_S)
    command = (sys.executable, "-m", "sitelore.app.index_process", "--data", str(data))
    return await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL)


async def _finish(process: asyncio.subprocess.Process) -> None:
    """Let the process index the last pages, and wait for its end."""
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):  # it has ended because of an error, which it has reported
        process.stdin.write(_FINISH)
        await process.stdin.drain()
    process.stdin.close()
    await process.wait()


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

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    reading = asyncio.create_task(_read_command(lines, stop))
    async with build_app(data, writing=False) as app:
        service = app.search_service
        while not stop.is_set():
            await service.update_words(stop)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_INTERVAL_S):
                    await stop.wait()
        if await reading:
            await service.update_words(asyncio.Event())


async def _read_command(lines: asyncio.StreamReader, stop: asyncio.Event) -> bool:
    """Wait for the end of the input; whether the last pages are to be indexed."""
    command = await lines.read()
    stop.set()
    return command == _FINISH


def main() -> None:
    """Run the process until its standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the crawl, which then closes our input
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    asyncio.run(_index(arguments.data))


if __name__ == "__main__":
    main()
