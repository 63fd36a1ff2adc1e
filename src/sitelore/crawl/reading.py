"""A pool of reading processes, behind the `Reader` port.

Not `concurrent.futures`: there one document that crashes its process breaks the whole pool, none can be timed out, and every
child imports the program's main module. Here a document that crashes or outlasts its process costs that document and a fresh
process; the ones queued behind it are read by the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import deque
from dataclasses import dataclass, field

from sitelore.crawl.reading_wire import READY, SITEMAP, Job, decode_reading, encode
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.errors import ReaderCrashed, SiteloreError
from sitelore.model.response import Response
from sitelore.model.sitemap import SitemapReading

TIME_LIMIT_S = 30.0
_STREAM_LIMIT = 2**20


@dataclass(slots=True, eq=False)
class _Task:
    message: bytes
    answer: asyncio.Future[bytes] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ReaderPool:
    """`size` processes, started when first needed, each reading one document at a time."""

    def __init__(self, size: int = 1, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._lanes = [_Lane(time_limit_s) for _ in range(size)]

    async def read(self, response: Response, options: ReadOptions) -> Reading:
        """Redact, parse and extract a page."""
        return decode_reading(await self._ask(Job(response, options)))

    async def read_sitemap(self, response: Response, options: ReadOptions | None = None) -> SitemapReading:
        """Parse a sitemap, sitemap index, text list or feed; with `options`, a declared collection of an API as well."""
        return SITEMAP.decode(await self._ask(Job(response, options or ReadOptions(), sitemap=True)))

    async def close(self) -> None:
        """End the processes."""
        await asyncio.gather(*(lane.close() for lane in self._lanes))

    async def _ask(self, job: Job) -> bytes:
        task = _Task(encode(job))
        min(self._lanes, key=lambda lane: lane.load).put(task)
        return await task.answer


class _Lane:
    """One process and the documents that wait for it. The next document is sent while the last one is being read."""

    def __init__(self, time_limit_s: float) -> None:
        self._time_limit_s = time_limit_s
        self._tasks: deque[_Task] = deque()
        self._sent = 0
        self._process: asyncio.subprocess.Process | None = None
        self._loop_task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    @property
    def load(self) -> int:
        return len(self._tasks)

    def put(self, task: _Task) -> None:
        self._tasks.append(task)
        self._wake.set()
        if self._loop_task is None:
            self._loop_task = asyncio.create_task(self._run())
        elif self._process is not None:
            self._send()

    async def close(self) -> None:
        if self._loop_task is not None:
            self._loop_task.cancel()
            await asyncio.gather(self._loop_task, return_exceptions=True)
        for task in self._tasks:
            task.answer.cancel()
        await self._end_process()

    async def _run(self) -> None:
        try:
            await self._serve()
        except SiteloreError as error:
            for task in self._tasks:
                if not task.answer.done():
                    task.answer.set_exception(error)
            self._tasks.clear()
            self._loop_task = None

    async def _serve(self) -> None:
        while True:
            while not self._tasks:
                self._wake.clear()
                await self._wake.wait()
            if self._process is None:
                self._process = await self._start()
                self._sent = 0
            self._send()
            await self._receive()

    @staticmethod
    async def _start() -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "sitelore.crawl.reading_process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_STREAM_LIMIT,
            start_new_session=True,  # Ctrl-C is for the crawl, which drains; it ends its readers itself
        )
        # Documents are blamed for what happens after this greeting; a process that never gives it is our own fault.
        assert process.stdout is not None
        if await process.stdout.read(len(READY)) != READY:
            await process.wait()
            raise SiteloreError("the reading process does not start; run with --debug for its error")
        return process

    def _send(self) -> None:
        """At most two documents are on the wire: one being read, one waiting in the pipe."""
        assert self._process is not None
        assert self._process.stdin is not None
        while self._sent < min(2, len(self._tasks)):
            message = self._tasks[self._sent].message
            self._process.stdin.writelines((len(message).to_bytes(4, "big"), message))
            self._sent += 1

    async def _receive(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        stdout = self._process.stdout
        try:
            async with asyncio.timeout(self._time_limit_s):
                size = int.from_bytes(await stdout.readexactly(4), "big")
                answer = await stdout.readexactly(size)
        except TimeoutError:
            await self._give_up(f"reading took longer than {self._time_limit_s:.0f} s")
        except (asyncio.IncompleteReadError, ConnectionError):
            await self._give_up("the reading process ended on this document")
        else:
            task = self._tasks.popleft()
            self._sent -= 1
            if not task.answer.done():
                task.answer.set_result(answer)

    async def _give_up(self, why: str) -> None:
        task = self._tasks.popleft()
        await self._end_process()
        if not task.answer.done():
            task.answer.set_exception(ReaderCrashed(why))

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
