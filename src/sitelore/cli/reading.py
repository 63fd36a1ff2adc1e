"""Extraction without a crawl: one page, or a stream of pages on every core.

Pages are read by the reading processes of a crawl, under the same limits on time and memory: a page that crashes its process
or takes too long costs that page. The stream keeps its order and holds a bounded number of bytes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import zstandard

from sitelore.cli.console import note, print_json
from sitelore.crawl.extraction_pool import MEMORY_BYTES, TIME_LIMIT_S, ExtractionPool
from sitelore.deploy.settings import operator_redaction
from sitelore.intake.seeds import typed_url
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.errors import Interrupted, ReaderCrashed, SiteloreError, UsageError
from sitelore.model.response import Response
from sitelore.model.settings import LinkStyle
from sitelore.model.url import Url

_TIME_LIMIT_S = TIME_LIMIT_S
_MEMORY_BYTES = MEMORY_BYTES
_LARGEST_BYTES = 2**26
"""Of a file or a line; more is not read at all."""
_HELD_BYTES = 2**26
"""Lines that wait or are being read; one more is always taken, however long it is."""
_HELD_PER_CORE = 24
_CHUNK_BYTES = 2**18
_SHORT = ("title", "markdown", "text", "strategy", "links")
_NO_ADDRESS = "http://unknown.invalid/"
"""The address of a page that has none (RFC 2606 §2)."""


class Unreadable(SiteloreError):
    """No document can be made of a page."""


class _Line(msgspec.Struct):
    """One line of `extract --jsonl`."""

    html: str
    url: str = ""
    id: Any = None


def unpacked(reading: Reading) -> dict[str, Any]:
    """The document of a reading. Raises `Unreadable` when there is none."""
    fields: dict[str, Any] = msgspec.json.decode(_document_json(reading))
    return fields


def _document_json(reading: Reading) -> bytes:
    if reading.document is None:
        raise Unreadable(reading.problem or "there is no document in it")
    return zstandard.ZstdDecompressor().decompressobj().decompress(reading.document.data)


def html_response(body: bytes, url: Url, content_type: str) -> Response:
    """A response as a server would have sent it."""
    return Response(url=url, status=200, headers=(("content-type", content_type),), body=body)


@asynccontextmanager
async def limited_readers(size: int = 1) -> AsyncIterator[ExtractionPool]:
    """Reading processes under the limits of a crawl."""
    pool = ExtractionPool(size, _TIME_LIMIT_S, _MEMORY_BYTES)
    try:
        yield pool
    finally:
        await pool.close()


def read_input(file: str) -> bytes:
    """The bytes of a file, or of stdin for `-`."""
    with _source(file) as source:
        body = source.read(_LARGEST_BYTES + 1)
    if len(body) > _LARGEST_BYTES:
        raise Unreadable(f"{file} is larger than {_LARGEST_BYTES // 2**20} MiB, the most that is read of a page")
    return body


def extract_one(file: str, url: str | None, links: LinkStyle, *, as_json: bool, full: bool) -> int:
    """Extract one page and write it to stdout."""
    if url is None:
        raise UsageError("extract needs --url URL: links of the page are resolved against it")
    page = typed_url(url)
    document = unpacked(asyncio.run(_read_one(html_response(read_input(file), page, "text/html"), _options(full=full))))
    document["markdown"] = _rewrite(document.get("markdown", ""), links, page)
    if as_json:
        print_json(document if full else {name: document.get(name) for name in (*_SHORT, "h1", "description", "word_count")})
    else:
        sys.stdout.write(document["markdown"].rstrip("\n") + "\n")
    return 0


async def _read_one(response: Response, options: ReadOptions) -> Reading:
    async with limited_readers() as readers:
        return await readers.read(response, options)


def _options(*, full: bool) -> ReadOptions:
    """Without a snapshot, and with the operator's own rules for secrets."""
    return ReadOptions(keep_snapshot=False, full=full, redaction=operator_redaction())


def _rewrite(markdown: str, links: LinkStyle, page: Url) -> str:
    if links is LinkStyle.ABSOLUTE:
        return markdown
    from sitelore.export.links import relative_to, rewrite_links

    return rewrite_links(markdown, links, relative_to(page))


def extract_lines(file: str, links: LinkStyle, *, full: bool) -> int:
    """Extract a page a line, in order. Returns 1 when a line could not be read."""
    stream = _Stream(links, full=full)
    with _source(file) as source:
        try:
            asyncio.run(stream.run(source))
        except KeyboardInterrupt:
            raise Interrupted(f"stopped after {stream.done} pages") from None
        finally:
            sys.stdout.buffer.flush()
    if stream.failed:
        note(f"{stream.failed} pages could not be read; their lines hold an `error`")
    return 1 if stream.failed else 0


@dataclass(slots=True)
class _Waiting:
    """A line that is being read, or the answer to it."""

    answer: asyncio.Task[bytes] | bytes
    size: int


@dataclass(slots=True)
class _Stream:
    """Lines in, answers out. One task reads lines ahead, another writes the answers in order."""

    links: LinkStyle
    full: bool
    done: int = 0
    failed: int = 0
    _held: int = 0
    _room: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, source: BinaryIO) -> None:
        """Answer every line of a source."""
        cores, options = _cores(), _options(full=self.full)
        queue: asyncio.Queue[_Waiting | None] = asyncio.Queue(cores * _HELD_PER_CORE)
        async with limited_readers(cores) as readers:
            taking = asyncio.create_task(
                self._take_lines(source, partial(self._answer, readers=readers, options=options), queue)
            )
            try:
                while (waiting := await queue.get()) is not None:
                    answer = waiting.answer if isinstance(waiting.answer, bytes) else await waiting.answer
                    sys.stdout.buffer.write(answer)
                    self.done += 1
                    self._held -= waiting.size
                    self._room.set()
                await taking
            finally:
                taking.cancel()

    async def _take_lines(
        self, source: BinaryIO, answer: Callable[[bytes], asyncio.Task[bytes] | bytes], queue: asyncio.Queue[_Waiting | None]
    ) -> None:
        try:
            async for line in _lines(source):
                while self._held >= _HELD_BYTES:
                    self._room.clear()
                    await self._room.wait()
                self._held += len(line)
                await queue.put(_Waiting(answer(line), len(line)))
        except OSError as problem:
            await queue.put(None)
            raise UsageError(f"cannot read the input: {problem.strerror}") from problem
        await queue.put(None)

    def _answer(self, line: bytes, readers: ExtractionPool, options: ReadOptions) -> asyncio.Task[bytes] | bytes:
        """The answer to a line that is no page, or a task that reads its page."""
        if len(line) > _LARGEST_BYTES:
            return self._error(None, f"too_large: the line is longer than {_LARGEST_BYTES // 2**20} MiB")
        try:
            page = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            return self._error(_id_of(line), f"bad_line: {problem}")
        url = Url.parse(page.url or _NO_ADDRESS)
        if url is None:
            return self._error(page.id, f"bad_url: {page.url!r} is not an http(s) URL")
        response = html_response(page.html.encode("utf-8", "replace"), url, "text/html; charset=utf-8")
        return asyncio.create_task(self._read(page.id, response, readers, options))

    async def _read(self, name: Any, response: Response, readers: ExtractionPool, options: ReadOptions) -> bytes:
        try:
            reading, cpu_s = await readers.read_timed(response, options)
            return self._document(name, reading, cpu_s, response.url)
        except ReaderCrashed as problem:
            return self._error(name, f"reader_crashed: {problem}")
        except (Unreadable, msgspec.DecodeError, RecursionError) as problem:
            return self._error(name, str(problem))

    def _document(self, name: Any, reading: Reading, cpu_s: float, url: Url) -> bytes:
        # Fields are passed on as they were written: taking them apart here would keep the other cores waiting.
        fields: dict[str, Any] = msgspec.json.decode(_document_json(reading), type=dict[str, msgspec.Raw])
        if self.links is not LinkStyle.ABSOLUTE:
            fields["markdown"] = _rewrite(msgspec.json.decode(fields["markdown"], type=str), self.links, url)
        answer = {"id": name, **{short: fields.get(short) for short in _SHORT}, "cpu_ms": round(cpu_s * 1000, 3)}
        return msgspec.json.encode({**fields, **answer} if self.full else answer) + b"\n"

    def _error(self, name: Any, error: str) -> bytes:
        self.failed += 1
        return msgspec.json.encode({"id": name, "error": error}) + b"\n"


def _id_of(line: bytes) -> Any:
    """The id of a line that is JSON but no page."""
    try:
        known = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return known.get("id") if isinstance(known, dict) else None


async def _lines(source: BinaryIO) -> AsyncIterator[bytes]:
    """Lines that are not blank. Of one that is too long, no more than shows that it is."""
    line = bytearray()
    async for chunk in _chunks(source):
        first, *others = chunk.split(b"\n")
        line += first[: _LARGEST_BYTES + 1 - len(line)]
        for other in others:
            if line.strip():
                yield bytes(line)
            line = bytearray(other)
    if line.strip():
        yield bytes(line)


async def _chunks(source: BinaryIO) -> AsyncIterator[bytes]:
    """The bytes of a source as they come. The event loop goes on while a pipe has none."""
    readable = asyncio.Event()
    while True:
        await _wait_for_input(source, readable)
        chunk: bytes = source.read1(_CHUNK_BYTES)  # type: ignore[attr-defined]  # every buffered source has it
        if not chunk:
            return
        yield chunk


async def _wait_for_input(source: BinaryIO, readable: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    try:
        loop.add_reader(source.fileno(), readable.set)
    except OSError:  # a regular file, which never blocks, or no file at all
        await asyncio.sleep(0)
        return
    try:
        await readable.wait()
    finally:
        loop.remove_reader(source.fileno())
        readable.clear()


def _cores() -> int:
    """The cores this process may use, which is not all of them in a container."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
