"""Extraction without a crawl: one file, or a stream of pages on every core.

The stream keeps its order and a bounded number of pages in memory. A page that ends its process costs that page: it and
its neighbours are read again one by one, and the one that does it again gets a line with an `error`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, cast

import msgspec
import zstandard

from sitelore.cli.console import note, print_json
from sitelore.deploy.settings import operator_redaction
from sitelore.extract.memory import give_back_large_blocks
from sitelore.extract.page import read
from sitelore.intake.seeds import typed_url
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.errors import Interrupted, SiteloreError, UsageError
from sitelore.model.response import Response
from sitelore.model.url import Url

_BATCH = 8
_BATCH_BYTES = 2**21
_HELD_BYTES = 2**26
"""What may be on its way at once, however long the lines are; one line more than that is always read."""
_TIME_LIMIT_S = 120.0
_SHORT = ("title", "markdown", "text", "strategy", "links")
_NO_ADDRESS = "http://unknown.invalid/"
"""Where a page without an address is taken to be (RFC 2606 §2): it is read all the same."""


class Unreadable(SiteloreError):
    """No document can be made of this."""


class Job(msgspec.Struct):
    """One line of `extract --jsonl`."""

    html: str
    url: str = ""
    id: Any = None


def unpacked(reading: Reading) -> dict[str, Any]:
    """The document of a reading, or the sentence that says why there is none."""
    if reading.document is None:
        raise Unreadable(reading.problem or "there is no document in it")
    data = zstandard.ZstdDecompressor().decompressobj().decompress(reading.document.data)
    document: dict[str, Any] = msgspec.json.decode(data)
    return document


def html_response(body: bytes, url: Url, content_type: str) -> Response:
    """What a server would have sent."""
    return Response(url=url, status=200, headers=(("content-type", content_type),), body=body)


def document_of_html(body: bytes, url: Url, content_type: str, options: ReadOptions | None = None) -> dict[str, Any]:
    """The document that a crawl would have made of these bytes."""
    return unpacked(read(html_response(body, url, content_type), options or _options(full=True)))


@lru_cache(maxsize=2)
def _options(*, full: bool) -> ReadOptions:
    """Without a snapshot, and with the operator's own rules for secrets."""
    return ReadOptions(keep_snapshot=False, offers=full, redaction=operator_redaction())


def extract_one(file: str, url: str | None, *, as_json: bool, full: bool) -> int:
    """One page to stdout."""
    if url is None:
        raise UsageError("extract needs --url URL: links of the page are resolved against it")
    with _source(file) as source:
        document = document_of_html(source.read(), typed_url(url), "text/html", _options(full=full))
    if as_json:
        print_json(document if full else {name: document.get(name) for name in (*_SHORT, "h1", "description", "word_count")})
    else:
        sys.stdout.write(str(document.get("markdown", "")).rstrip("\n") + "\n")
    return 0


def extract_lines(file: str, *, full: bool) -> int:
    """A page a line, in order. 1 when a line could not be read."""
    done = failed = 0
    with _source(file) as source, closing(_answers((line for line in source if line.strip()), full=full)) as answers:
        try:
            for answered in answers:
                with _undisturbed():
                    sys.stdout.buffer.writelines([line for line, _ in answered])
                    done, failed = done + len(answered), failed + sum(not ok for _, ok in answered)
            sys.stdout.buffer.flush()
        except KeyboardInterrupt:
            sys.stdout.buffer.flush()
            raise Interrupted(f"stopped after {done} pages") from None
    if failed:
        note(f"{failed} pages could not be read; their lines hold an `error`")
    return 1 if failed else 0


Answer = tuple[bytes, bool]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits until the block has ended, so that what is written is whole and counted."""
    came = False

    def later(_number: int, _frame: object) -> None:
        nonlocal came
        came = True

    before = signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _answers(lines: Iterator[bytes], *, full: bool) -> Generator[list[Answer]]:
    """What became of the lines, a batch at a time."""
    workers = _cores()
    batches = _batches(lines)
    waiting: deque[tuple[list[bytes], Future[list[Answer]]]] = deque()
    held = 0
    pool = _pool(workers)
    try:
        while True:
            while len(waiting) < 3 * workers and (held < _HELD_BYTES or not waiting) and (batch := next(batches, None)):
                waiting.append((batch, _submit(pool, batch, full=full)))
                held += sum(map(len, batch))
            if not waiting:
                return
            batch, future = waiting.popleft()
            held -= sum(map(len, batch))
            try:
                answered = future.result(_TIME_LIMIT_S)
            except (BrokenProcessPool, TimeoutError):
                _end(pool)
                answered = [_alone(line, full=full) for line in batch]
                pool = _pool(workers)
                waiting = deque((batch, _submit(pool, batch, full=full)) for batch, _ in waiting)
            yield answered
    finally:
        _end(pool)


def _batches(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """A few lines at a time, fewer when they are long."""
    batch: list[bytes] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if len(batch) == _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _cores() -> int:
    """The cores this process may use, which is not all of them in a container."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _submit(pool: ProcessPoolExecutor, batch: list[bytes], *, full: bool) -> Future[list[Answer]]:
    try:
        return pool.submit(read_lines, batch, full=full)
    except BrokenProcessPool as problem:
        broken: Future[list[Answer]] = Future()
        broken.set_exception(problem)
        return broken


def _alone(line: bytes, *, full: bool) -> Answer:
    pool = _pool(1)
    try:
        return pool.submit(read_lines, [line], full=full).result(_TIME_LIMIT_S)[0]
    except (BrokenProcessPool, TimeoutError) as problem:
        why = "it outlasted its time" if isinstance(problem, TimeoutError) else "it ended the process that read it"
        return _error_line(line, f"reader_crashed: {why}"), False
    finally:
        _end(pool)


def read_lines(lines: list[bytes], *, full: bool) -> list[Answer]:
    """What a worker process does: JSON lines in, JSON lines out."""
    return [_read_line(line, full=full) for line in lines]


def _read_line(line: bytes, *, full: bool) -> Answer:
    try:
        job = msgspec.json.decode(line, type=Job)
        began = time.process_time_ns()
        url = Url.parse(job.url or _NO_ADDRESS)
        if url is None:
            return _error_line(line, f"bad_url: {job.url!r} is not an http(s) URL"), False
        options = _options(full=full)
        document = document_of_html(job.html.encode("utf-8", "replace"), url, "text/html; charset=utf-8", options)
        cpu_ms = (time.process_time_ns() - began) / 1e6
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        return _error_line(line, f"bad_line: {problem}"), False
    except Exception as problem:  # noqa: BLE001 one bad page must not end the stream
        return _error_line(line, f"{type(problem).__name__}: {problem}"), False
    answer = {"id": job.id, **{name: document.get(name) for name in _SHORT}, "cpu_ms": round(cpu_ms, 3)}
    if full:
        answer = {**document, **answer}
    return msgspec.json.encode(answer) + b"\n", True


def _error_line(line: bytes, error: str) -> bytes:
    try:
        known = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        known = None
    return msgspec.json.encode({"id": known.get("id") if isinstance(known, dict) else None, "error": error}) + b"\n"


def _pool(workers: int) -> ProcessPoolExecutor:
    # Forking is quick, and safe here: this process has no thread yet. Elsewhere it is not the custom of the system.
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_reading)


def _begin_reading() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    give_back_large_blocks()


def _end(pool: ProcessPoolExecutor) -> None:
    processes = list((pool._processes or {}).values())  # noqa: SLF001 a process that hangs is ended no other way in 3.11
    thread = cast("Thread | None", pool._executor_manager_thread)  # noqa: SLF001 see below
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()
    if thread is not None:
        thread.join()  # one that closes its pipe while the interpreter ends has it complain of that


@contextmanager
def _source(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as source:
            yield source
    except OSError as problem:
        raise UsageError(f"cannot read {file}: {problem.strerror}") from problem
