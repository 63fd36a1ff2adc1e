"""A pool of reading processes with limits on time and memory, behind the `Reader` port.

Not `concurrent.futures`: there one document that crashes its process breaks the whole pool, none can be timed out, and every
child imports the program's main module. Here a document that crashes its process or takes too long costs that document and a
new process; the documents queued behind it are read by the new one.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from sitelore.crawl.extraction_protocol import (
    PIPE_BYTES,
    READY,
    SITEMAP,
    SIZE_BYTES,
    Job,
    decode_inspection,
    decode_reading,
    framed,
)
from sitelore.model.document import Reading, ReadOptions, SitemapReading
from sitelore.model.errors import ReaderCrashed, SiteloreError
from sitelore.model.response import Response

if TYPE_CHECKING:
    from sitelore.extract.inspecting import Inspection

TIME_LIMIT_S = 30.0
"""For one document."""
MEMORY_BYTES = 2 * 2**30
"""Address space of a reading process, most of which is never touched."""
_CRASHED = "the reading process crashed or ran out of memory on this document"
_ON_THE_WIRE = 2
"""One document being read, one waiting in the pipe."""
_MOST_ON_THE_WIRE = 8
"""Of documents that the pipe holds without our help."""
_READ_BYTES = 96 * 2**10
"""Most answers whole. Room is made for so much before each read, and more would be new memory from the system every time."""


@dataclass(slots=True, eq=False)
class _Task:
    message: bytearray
    answer: asyncio.Future[memoryview] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ExtractionPool:
    """`size` processes, started when first needed, each reading one document at a time."""

    def __init__(self, size: int = 1, time_limit_s: float = TIME_LIMIT_S, memory_bytes: int = MEMORY_BYTES) -> None:
        self._lanes = [_Worker(time_limit_s, memory_bytes) for _ in range(size)]

    async def read(self, response: Response, options: ReadOptions) -> Reading:
        """Redact, parse and extract a page."""
        return (await self.read_timed(response, options))[0]

    async def read_timed(self, response: Response, options: ReadOptions) -> tuple[Reading, float]:
        """Read a page, and tell how many seconds of CPU time that took."""
        return decode_reading(await self._ask(Job(response, options)))

    async def inspect(self, response: Response, options: ReadOptions) -> Inspection:
        """Read a page, with a report on what was kept and what was cut."""
        return decode_inspection(await self._ask(Job(response, options, inspect=True)))

    async def read_sitemap(self, response: Response, options: ReadOptions | None = None) -> SitemapReading:
        """Parse a sitemap, sitemap index, text list or feed; with `options`, a declared collection of an API as well."""
        return SITEMAP.decode(await self._ask(Job(response, options or ReadOptions(), sitemap=True)))

    async def close(self) -> None:
        """End the processes."""
        await asyncio.gather(*(lane.close() for lane in self._lanes))

    def _ask(self, job: Job) -> asyncio.Future[memoryview]:
        task = _Task(framed(job))
        min(self._lanes, key=lambda lane: lane.load).put(task)
        return task.answer


class _Worker:
    """One process and the documents that wait for it. The next ones are sent while one is being read."""

    def __init__(self, time_limit_s: float, memory_bytes: int) -> None:
        self._time_limit_s = time_limit_s
        self._memory_bytes = memory_bytes
        self._tasks: deque[_Task] = deque()
        self._sent = self._sent_bytes = 0
        """Of what the process has."""
        self._process: _Process | None = None
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
            self._send(self._process)

    async def close(self) -> None:
        if self._loop_task is not None:
            self._loop_task.cancel()
            await asyncio.gather(self._loop_task, return_exceptions=True)
        for task in self._tasks:
            task.answer.cancel()

    async def _run(self) -> None:
        try:
            while True:
                while not self._tasks:
                    self._wake.clear()
                    await self._wake.wait()
                await self._serve()
        except SiteloreError as error:
            for task in self._tasks:
                if not task.answer.done():
                    task.answer.set_exception(error)
            self._tasks.clear()
            self._loop_task = None

    async def _serve(self) -> None:
        """A process, for as long as it lives; what it was reading when it ended is to blame."""
        process = await _Process.start(self._answered, self._time_limit_s, self._memory_bytes)
        self._process, self._sent, self._sent_bytes = process, 0, 0
        try:
            self._send(process)
            why = await process.ended
        finally:
            self._process = None
            await process.end()
        if self._sent and not (blamed := self._tasks.popleft()).answer.done():
            blamed.answer.set_exception(ReaderCrashed(why))

    def _send(self, process: _Process) -> None:
        while self._sent < len(self._tasks) and not process.ended.done():
            message = self._tasks[self._sent].message
            if not self._has_room(len(message)):
                break
            process.send(message, is_next=self._sent == 0)
            self._sent += 1
            self._sent_bytes += len(message)

    def _has_room(self, size: int) -> bool:
        """What the pipe does not hold would be held here, once more beside the message itself."""
        return self._sent < _ON_THE_WIRE or (self._sent < _MOST_ON_THE_WIRE and self._sent_bytes + size <= PIPE_BYTES)

    def _answered(self, answer: memoryview) -> bool:
        """The document in front was read; whether another one is being read now."""
        task = self._tasks.popleft()
        self._sent -= 1
        self._sent_bytes -= len(task.message)
        if not task.answer.done():
            task.answer.set_result(answer)
        if self._process is not None:
            self._send(self._process)
        return self._sent > 0


class _Process(asyncio.SubprocessProtocol):
    """A reading process. Its answers are handed on in the call that brings them: no task of ours wakes up in between."""

    def __init__(self, answered: Callable[[memoryview], bool], time_limit_s: float) -> None:
        self._answered = answered
        self._time_limit_s = time_limit_s
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._unread: bytes | bytearray = b""
        self._is_ready = False
        self._due: float | None = None
        """When the document that is being read has taken too long."""
        self._timer: asyncio.TimerHandle | None = None
        self.ready: asyncio.Future[bool] = self._loop.create_future()
        self.ended: asyncio.Future[str] = self._loop.create_future()
        """Why no more answers come."""
        self._gone: asyncio.Future[None] = self._loop.create_future()

    @staticmethod
    async def start(answered: Callable[[memoryview], bool], time_limit_s: float, memory_bytes: int) -> _Process:
        """Start a process and wait until it is ready. `answered` is called with each answer."""
        loop = asyncio.get_running_loop()
        command = (sys.executable, "-m", "sitelore.crawl.extraction_process", str(memory_bytes))
        _, process = await loop.subprocess_exec(
            lambda: _Process(answered, time_limit_s),
            *command,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the crawl, which drains; it ends its readers itself
        )
        is_ready = False
        try:
            is_ready = await process.ready
        finally:
            if not is_ready:
                await process.end()
        # Documents are blamed for what happens after its greeting; a process that never gives it is our own fault.
        if not is_ready:
            raise SiteloreError("the reading process does not start; run with --debug for its error")
        return process

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._transport is not None
        return self._transport.get_pid()

    def send(self, message: bytearray, *, is_next: bool) -> None:
        """Hand a document over; `is_next`: nothing is in front of it, so its time begins."""
        assert self._stdin is not None
        self._stdin.write(message)
        if is_next:
            self._give_time()

    async def end(self) -> None:
        """No process is left behind."""
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.close()
        await self._gone

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It has been started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        answers = cast("Any", self._transport.get_pipe_transport(1))
        if hasattr(answers, "max_size"):  # asyncio's own; another event loop may have none
            answers.max_size = _READ_BYTES
        answers.set_protocol(_Answers(self, answers.get_protocol()))

    def pipe_data_received(self, _fd: int, data: bytes | str) -> None:
        """Part of an answer, or the greeting."""
        assert isinstance(data, bytes)
        unread: bytes | bytearray = data
        if self._unread:
            unread = self._unread if isinstance(self._unread, bytearray) else bytearray(self._unread)
            unread += data
        if not self._is_ready:
            if len(unread) < len(READY):
                self._unread = unread
                return
            self._is_ready = unread.startswith(READY)
            self.ready.set_result(self._is_ready)
            unread = unread[len(READY) :]
        self._unread = self._without_answers(unread) if self._is_ready else b""

    def _without_answers(self, unread: bytes | bytearray) -> bytes | bytearray:
        """Hands every whole answer on, as it lies in what was read: nearly always that is one answer and nothing else."""
        at, there = 0, len(unread)
        while there - at >= SIZE_BYTES:
            end = at + SIZE_BYTES + int.from_bytes(unread[at : at + SIZE_BYTES], "big")
            if there < end:
                break
            self._due = None
            if self._answered(memoryview(unread)[at + SIZE_BYTES : end]):
                self._give_time()
            at = end
        return unread[at:] if at else unread

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        """It reads or writes no more. What it had written before it ended is heard first: the next document is to blame."""
        if fd == 1:
            self._over(_CRASHED)

    def connection_lost(self, _exc: Exception | None) -> None:
        """It has ended, and so have its pipes."""
        self._over(_CRASHED)
        if not self._gone.done():
            self._gone.set_result(None)

    def _give_time(self) -> None:
        self._due = self._loop.time() + self._time_limit_s
        # One timer for all documents: when it rings for one that was read long ago, it is set for the one that is due.
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._loop.time() >= self._due:
            self._over(f"reading took longer than {self._time_limit_s:g} s")
        else:
            self._timer = self._loop.call_at(self._due, self._ring)

    def _over(self, why: str) -> None:
        if not self.ready.done():
            self.ready.set_result(False)
        if not self.ended.done():
            self.ended.set_result(why)


class _Answers(asyncio.Protocol):
    """The pipe that answers come by. Left to asyncio's own protocol, each piece would wait for the loop's next round."""

    def __init__(self, process: _Process, before: asyncio.Protocol) -> None:
        self._process = process
        self._before = before

    def data_received(self, data: bytes) -> None:
        """Part of an answer."""
        self._process.pipe_data_received(1, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has closed it."""
        self._before.connection_lost(exc)
