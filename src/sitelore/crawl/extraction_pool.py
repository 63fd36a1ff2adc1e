"""Pools of processes with limits on time and memory: `ProcessPool`, and `ExtractionPool`, the `Reader` port.

Why not `concurrent.futures`: there, one document that crashes its process breaks the whole pool, a document cannot be timed
out, and every child imports the program's main module. Here, a document that crashes its process or takes too long fails
alone; a new process extracts the documents queued behind it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from sitelore.crawl.extraction_process import (
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
    from sitelore.extract.inspection import Inspection

TIME_LIMIT_S = 30.0
"""The longest time that extracting one document may take."""
MEMORY_BYTES = 2 * 2**30
"""Address space limit of an extraction process; most of it is never touched."""
_CRASHED = "the reading process crashed or ran out of memory on this document"
_MIN_SENT = 2
"""One document being extracted, and one waiting in the pipe."""
_MAX_SENT = 8
"""Upper limit for small documents, as long as the pipe buffers them."""
_READ_BYTES = 96 * 2**10
"""Read buffer per recv: large enough for most answers, small enough that malloc reuses it instead of mmap-ing each time."""


@dataclass(slots=True, eq=False)
class _Request:
    message: bytearray
    answer: asyncio.Future[memoryview] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ProcessPool:
    """Up to `size` processes that run a module, started when first needed, each working on one message at a time.

    A message and its answer are bytes, prefixed with their size; before the first answer a process writes `READY`.
    """

    def __init__(self, module: str, size: int, time_limit_s: float, memory_bytes: int) -> None:
        self._workers = [_Worker(module, time_limit_s, memory_bytes) for _ in range(size)]

    async def close(self) -> None:
        """End the processes."""
        await asyncio.gather(*(worker.close() for worker in self._workers))

    def submit(self, message: bytearray) -> asyncio.Future[memoryview]:
        """Give a message to the process with the shortest queue. The answer is an error when the process ends over it."""
        request = _Request(message)
        min(self._workers, key=lambda worker: worker.load).put(request)
        return request.answer


class ExtractionPool(ProcessPool):
    """Extraction processes."""

    def __init__(self, size: int = 1, time_limit_s: float = TIME_LIMIT_S, memory_bytes: int = MEMORY_BYTES) -> None:
        super().__init__("sitelore.crawl.extraction_process", size, time_limit_s, memory_bytes)

    async def read(self, response: Response, options: ReadOptions) -> Reading:
        """Redact, parse and extract a page."""
        return (await self.read_timed(response, options))[0]

    async def read_timed(self, response: Response, options: ReadOptions) -> tuple[Reading, float]:
        """Extract a page and measure the CPU seconds it took."""
        return decode_reading(await self._submit(Job(response, options)))

    async def inspect(self, response: Response, options: ReadOptions) -> Inspection:
        """Extract a page, with a report on which blocks were kept and which were cut."""
        return decode_inspection(await self._submit(Job(response, options, inspect=True)))

    async def read_sitemap(self, response: Response, options: ReadOptions | None = None) -> SitemapReading:
        """Parse a sitemap, sitemap index, text list or feed; with `options`, a declared collection of an API as well."""
        return SITEMAP.decode(await self._submit(Job(response, options or ReadOptions(), sitemap=True)))

    def _submit(self, job: Job) -> asyncio.Future[memoryview]:
        return self.submit(framed(job))


class _Worker:
    """One extraction process and its queue. The next documents are sent while one is being extracted."""

    def __init__(self, module: str, time_limit_s: float, memory_bytes: int) -> None:
        self._module = module
        self._time_limit_s = time_limit_s
        self._memory_bytes = memory_bytes
        self._queue: deque[_Request] = deque()
        self._sent = self._sent_bytes = 0
        """How many requests, and how many bytes, were sent to the process and not answered."""
        self._process: _Process | None = None
        self._loop_task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    @property
    def load(self) -> int:
        return len(self._queue)

    def put(self, request: _Request) -> None:
        self._queue.append(request)
        self._wake.set()
        if self._loop_task is None:
            self._loop_task = asyncio.create_task(self._run())
        elif self._process is not None:
            self._send(self._process)

    async def close(self) -> None:
        if self._loop_task is not None:
            self._loop_task.cancel()
            await asyncio.gather(self._loop_task, return_exceptions=True)
        for request in self._queue:
            request.answer.cancel()

    async def _run(self) -> None:
        try:
            while True:
                while not self._queue:
                    self._wake.clear()
                    await self._wake.wait()
                await self._serve()
        except SiteloreError as error:
            for request in self._queue:
                if not request.answer.done():
                    request.answer.set_exception(error)
            self._queue.clear()
            self._loop_task = None

    async def _serve(self) -> None:
        """Run a process until it ends. The document it was extracting at that moment fails."""
        process = await _Process.start(self._module, self._on_answer, self._time_limit_s, self._memory_bytes)
        self._process, self._sent, self._sent_bytes = process, 0, 0
        try:
            self._send(process)
            reason = await process.ended
        finally:
            self._process = None
            await process.end()
        if self._sent and not (failed := self._queue.popleft()).answer.done():
            failed.answer.set_exception(ReaderCrashed(reason))

    def _send(self, process: _Process) -> None:
        while self._sent < len(self._queue) and not process.ended.done():
            message = self._queue[self._sent].message
            if not self._has_room(len(message)):
                break
            process.send(message, is_next=self._sent == 0)
            self._sent += 1
            self._sent_bytes += len(message)

    def _has_room(self, size: int) -> bool:
        """Whether to send another message: beyond the pipe's buffer, asyncio would hold a second copy of it."""
        return self._sent < _MIN_SENT or (self._sent < _MAX_SENT and self._sent_bytes + size <= PIPE_BYTES)

    def _on_answer(self, answer: memoryview) -> bool:
        """Complete the first request. Returns whether the process has another document to extract."""
        request = self._queue.popleft()
        self._sent -= 1
        self._sent_bytes -= len(request.message)
        if not request.answer.done():
            request.answer.set_result(answer)
        if self._process is not None:
            self._send(self._process)
        return self._sent > 0


class _Process(asyncio.SubprocessProtocol):
    """An extraction process. Answers are passed on in the callback that receives them, without waking another task."""

    def __init__(self, on_answer: Callable[[memoryview], bool], time_limit_s: float) -> None:
        self._on_answer = on_answer
        self._time_limit_s = time_limit_s
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._unread: bytes | bytearray = b""
        self._is_ready = False
        self._deadline: float | None = None
        """When the current document has taken too long; None while the process is idle."""
        self._timer: asyncio.TimerHandle | None = None
        self.ready: asyncio.Future[bool] = self._loop.create_future()
        self.ended: asyncio.Future[str] = self._loop.create_future()
        """The reason why no more answers come."""
        self._exited: asyncio.Future[None] = self._loop.create_future()

    @staticmethod
    async def start(module: str, on_answer: Callable[[memoryview], bool], time_limit_s: float, memory_bytes: int) -> _Process:
        """Start a process and wait until it is ready. `on_answer` is called with each answer."""
        loop = asyncio.get_running_loop()
        command = (sys.executable, "-m", module, str(memory_bytes))
        _, process = await loop.subprocess_exec(
            lambda: _Process(on_answer, time_limit_s),
            *command,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to the crawl, which drains and then ends its extraction processes
        )
        is_ready = False
        try:
            is_ready = await process.ready
        finally:
            if not is_ready:
                await process.end()
        # After READY, a crash is blamed on the document; a process that never becomes ready is a bug or a broken install.
        if not is_ready:
            raise SiteloreError("the extraction process does not start; run with --debug for its error")
        return process

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._transport is not None
        return self._transport.get_pid()

    def send(self, message: bytearray, *, is_next: bool) -> None:
        """Send a document; `is_next`: no other document is queued before it, so its time limit starts now."""
        assert self._stdin is not None
        self._stdin.write(message)
        if is_next:
            self._start_deadline()

    async def end(self) -> None:
        """End the process and wait until it has exited."""
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.close()
        await self._exited

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect to the pipes of the started process."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        answers = cast("Any", self._transport.get_pipe_transport(1))
        if hasattr(answers, "max_size"):  # an attribute of asyncio's own transport; other event loops may not have it
            answers.max_size = _READ_BYTES
        answers.set_protocol(_AnswerPipe(self, answers.get_protocol()))

    def pipe_data_received(self, _fd: int, data: bytes | str) -> None:
        """Receive part of an answer, or the READY message."""
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
        self._unread = self._pass_on_answers(unread) if self._is_ready else b""

    def _pass_on_answers(self, unread: bytes | bytearray) -> bytes | bytearray:
        """Pass on every complete answer without copying it, and return the rest. Usually a read holds exactly one answer."""
        at, size = 0, len(unread)
        while size - at >= SIZE_BYTES:
            end = at + SIZE_BYTES + int.from_bytes(unread[at : at + SIZE_BYTES], "big")
            if size < end:
                break
            self._deadline = None
            if self._on_answer(memoryview(unread)[at + SIZE_BYTES : end]):
                self._start_deadline()
            at = end
        return unread[at:] if at else unread

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        """Stop when the output pipe closes. Answers written before are received first, so the next document is blamed."""
        if fd == 1:
            self._stop(_CRASHED)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Record that the process has exited."""
        self._stop(_CRASHED)
        if not self._exited.done():
            self._exited.set_result(None)

    def _start_deadline(self) -> None:
        self._deadline = self._loop.time() + self._time_limit_s
        # One timer for all documents: when it fires for one that was answered long ago, it is set for the current one.
        if self._timer is not None and self._timer.when() > self._deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        if self._deadline is None:
            return
        if self._loop.time() >= self._deadline:
            self._stop(f"reading took longer than {self._time_limit_s:g} s")
        else:
            self._timer = self._loop.call_at(self._deadline, self._check_deadline)

    def _stop(self, reason: str) -> None:
        if not self.ready.done():
            self.ready.set_result(False)
        if not self.ended.done():
            self.ended.set_result(reason)


class _AnswerPipe(asyncio.Protocol):
    """Receives the output pipe. asyncio's own protocol would delay each piece until the next event loop iteration."""

    def __init__(self, process: _Process, original: asyncio.Protocol) -> None:
        self._process = process
        self._original = original

    def data_received(self, data: bytes) -> None:
        """Pass on part of an answer."""
        self._process.pipe_data_received(1, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify asyncio's own protocol that the process has closed the pipe."""
        self._original.connection_lost(exc)
