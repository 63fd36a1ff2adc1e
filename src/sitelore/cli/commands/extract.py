"""`sitelore extract`: HTML to Markdown, one page or a stream of pages, without network or state.

Pages are read in the extraction processes of a crawl, under its limits on time and memory: a page that crashes its process or
takes too long fails alone. The stream keeps its order, and the number of bytes in memory is bounded.
"""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from sitelore.cli.console import AsJson, Links, counted, note, print_json, run_async
from sitelore.model.errors import ExtractionFailed, Interrupted, ReaderCrashed, UsageError
from sitelore.model.settings import LinkStyle

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Iterator

    from sitelore.crawl.extraction_pool import ExtractionPool
    from sitelore.model.document import Reading, ReadOptions
    from sitelore.model.response import Response
    from sitelore.model.url import Url

_MAX_BYTES = 2**26
"""The largest file or line that is read; larger ones are refused."""
_MAX_PENDING_BYTES = 2**26
"""Limit for all lines together that wait or are being extracted. The last of them may exceed it."""
_PENDING_PER_CORE = 24
_CHUNK_BYTES = 2**18
_FIELDS = ("title", "markdown", "text", "strategy", "links")
_MORE_FIELDS = ("h1", "description", "word_count")


def extract(
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="An HTML file; - reads stdin.", show_default=False)] = "-",
    url: Annotated[str | None, typer.Option(metavar="URL", help="The page's URL; links are resolved against it.")] = None,
    as_json: AsJson = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Read one {id, url, html} per line and write one document per line, on all cores.")
    ] = False,
    links: Links = LinkStyle.ABSOLUTE,
    full: Annotated[
        bool, typer.Option("--full", help="With --json or --jsonl: add structured data, forms, actions, media and metadata.")
    ] = False,
) -> int:
    """Convert HTML to Markdown, without network or state."""
    if jsonl:
        return _extract_lines(file, links, full=full)
    _extract_page(file, url, links, as_json=as_json or full, full=full)
    return 0


def document_fields(reading: Reading) -> dict[str, Any]:
    """The document of a page as a mapping. Raises `ExtractionFailed` if there is none."""
    import msgspec

    from sitelore.extract.packed_document import document_json

    fields: dict[str, Any] = msgspec.json.decode(document_json(reading))
    return fields


@asynccontextmanager
async def open_extraction_pool(size: int = 1) -> AsyncIterator[ExtractionPool]:
    """Extraction processes under the limits of a crawl."""
    from sitelore.crawl import extraction_pool as pools

    pool = pools.ExtractionPool(size, pools.TIME_LIMIT_S, pools.MEMORY_BYTES)
    try:
        yield pool
    finally:
        await pool.close()


def read_input(file: str) -> bytes:
    """The content of a file, or of stdin for `-`."""
    with _open_input(file) as source:
        body = source.read(_MAX_BYTES + 1)
    if len(body) > _MAX_BYTES:
        raise ExtractionFailed(f"{file} is larger than {_MAX_BYTES // 2**20} MiB, the limit for a page")
    return body


def _extract_page(file: str, url: str | None, links: LinkStyle, *, as_json: bool, full: bool) -> None:
    from sitelore.api import html_response
    from sitelore.intake.seeds import parse_user_url

    if url is None:
        raise UsageError("extract needs --url URL, against which the page's links are resolved")
    page_url = parse_user_url(url)
    document = document_fields(run_async(_read_page(html_response(read_input(file), page_url, "text/html"), full=full)))
    document["markdown"] = _rewrite_links(document.get("markdown", ""), links, page_url)
    if as_json:
        print_json(document if full else {name: document.get(name) for name in (*_FIELDS, *_MORE_FIELDS)})
    else:
        sys.stdout.write(document["markdown"].rstrip("\n") + "\n")


async def _read_page(response: Response, *, full: bool) -> Reading:
    async with open_extraction_pool() as pool:
        return await pool.read(response, _read_options(full=full))


def _read_options(*, full: bool) -> ReadOptions:
    from sitelore.app.settings import operator_redaction
    from sitelore.model.document import ReadOptions

    return ReadOptions(keep_snapshot=False, full=full, redaction=operator_redaction())


def _rewrite_links(markdown: str, links: LinkStyle, page_url: Url) -> str:
    if links is LinkStyle.ABSOLUTE:
        return markdown
    from sitelore.export.links import relative_to, rewrite_links

    return rewrite_links(markdown, links, relative_to(page_url))


def _extract_lines(file: str, links: LinkStyle, *, full: bool) -> int:
    """Extract one page per line, in order. Returns 1 if a line failed."""
    stream = _Stream(links, full=full)
    with _open_input(file) as source:
        try:
            run_async(stream.run(source))
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted after {counted(stream.done, 'page')}") from None
        finally:
            sys.stdout.buffer.flush()
    if stream.failed:
        note(f"{counted(stream.failed, 'page')} failed; see the field `error` in the output")
    return 1 if stream.failed else 0


@dataclass(slots=True)
class _Line:
    """One line of the input of `extract --jsonl`."""

    html: str
    url: str = ""
    id: Any = None


@dataclass(slots=True)
class _PendingLine:
    """A line that is being read, or the result of it."""

    result: asyncio.Task[bytes] | bytes
    size: int


@dataclass(slots=True)
class _Stream:
    """Reads lines ahead in one task and writes the results in order in another."""

    links: LinkStyle
    full: bool
    done: int = 0
    failed: int = 0
    _pending_bytes: int = 0
    _has_room: asyncio.Event = field(init=False)

    async def run(self, source: BinaryIO) -> None:
        """Process every line of a source."""
        import asyncio
        from functools import partial

        self._has_room = asyncio.Event()
        cores, options = _cores(), _read_options(full=self.full)
        queue: asyncio.Queue[_PendingLine | None] = asyncio.Queue(cores * _PENDING_PER_CORE)
        async with open_extraction_pool(cores) as pool:
            reading_ahead = asyncio.create_task(
                self._read_ahead(source, partial(self._process, pool=pool, options=options), queue)
            )
            try:
                while (pending := await queue.get()) is not None:
                    sys.stdout.buffer.write(pending.result if isinstance(pending.result, bytes) else await pending.result)
                    self.done += 1
                    self._pending_bytes -= pending.size
                    self._has_room.set()
                await reading_ahead
            finally:
                reading_ahead.cancel()

    async def _read_ahead(
        self,
        source: BinaryIO,
        process: Callable[[bytes], asyncio.Task[bytes] | bytes],
        queue: asyncio.Queue[_PendingLine | None],
    ) -> None:
        try:
            async for line in _lines(source):
                while self._pending_bytes >= _MAX_PENDING_BYTES:
                    self._has_room.clear()
                    await self._has_room.wait()
                self._pending_bytes += len(line)
                await queue.put(_PendingLine(process(line), len(line)))
        except OSError as problem:
            await queue.put(None)
            raise UsageError(f"cannot read the input: {problem.strerror}") from problem
        await queue.put(None)

    def _process(self, line: bytes, pool: ExtractionPool, options: ReadOptions) -> asyncio.Task[bytes] | bytes:
        """A task that reads the page of a line, or the error of a line without one."""
        import asyncio

        import msgspec

        from sitelore.api import UNKNOWN_URL, html_response
        from sitelore.model.url import Url

        if len(line) > _MAX_BYTES:
            return self._error(None, f"too_large: the line is longer than {_MAX_BYTES // 2**20} MiB")
        try:
            page = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            return self._error(_id_of(line), f"bad_line: {problem}")
        url = Url.parse(page.url or UNKNOWN_URL)
        if url is None:
            return self._error(page.id, f"bad_url: {page.url!r} is not an http(s) URL")
        response = html_response(page.html.encode("utf-8", "replace"), url, "text/html; charset=utf-8")
        return asyncio.create_task(self._read(page.id, response, pool, options))

    async def _read(self, page_id: Any, response: Response, pool: ExtractionPool, options: ReadOptions) -> bytes:
        import msgspec

        try:
            reading, cpu_s = await pool.read_timed(response, options)
            return self._document(page_id, reading, cpu_s, response.url)
        except ReaderCrashed as problem:
            return self._error(page_id, f"reader_crashed: {problem}")
        except (ExtractionFailed, msgspec.DecodeError, RecursionError) as problem:
            return self._error(page_id, str(problem))

    def _document(self, page_id: Any, reading: Reading, cpu_s: float, url: Url) -> bytes:
        import msgspec

        from sitelore.extract.packed_document import document_json

        # Fields stay encoded: decoding them in this process would keep the other cores waiting.
        fields: dict[str, Any] = msgspec.json.decode(document_json(reading), type=dict[str, msgspec.Raw])
        if self.links is not LinkStyle.ABSOLUTE:
            fields["markdown"] = _rewrite_links(msgspec.json.decode(fields["markdown"], type=str), self.links, url)
        short = {"id": page_id, **{name: fields.get(name) for name in _FIELDS}, "cpu_ms": round(cpu_s * 1000, 3)}
        return msgspec.json.encode({**fields, **short} if self.full else short) + b"\n"

    def _error(self, page_id: Any, error: str) -> bytes:
        import msgspec

        self.failed += 1
        return msgspec.json.encode({"id": page_id, "error": error}) + b"\n"


def _id_of(line: bytes) -> Any:
    """The id of a line that is JSON but not a page."""
    import msgspec

    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value.get("id") if isinstance(value, dict) else None


async def _lines(source: BinaryIO) -> AsyncIterator[bytes]:
    """The lines that are not blank. A line above the limit is cut right behind it."""
    line = bytearray()
    async for chunk in _chunks(source):
        first, *others = chunk.split(b"\n")
        line += first[: _MAX_BYTES + 1 - len(line)]
        for other in others:
            if line.strip():
                yield bytes(line)
            line = bytearray(other)
    if line.strip():
        yield bytes(line)


async def _chunks(source: BinaryIO) -> AsyncIterator[bytes]:
    """The bytes of a source as they arrive, without blocking the event loop while a pipe is empty."""
    import asyncio

    readable = asyncio.Event()
    while True:
        await _wait_for_input(source, readable)
        chunk: bytes = source.read1(_CHUNK_BYTES)  # type: ignore[attr-defined]  # every buffered source has this method
        if not chunk:
            return
        yield chunk


async def _wait_for_input(source: BinaryIO, readable: asyncio.Event) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    try:
        loop.add_reader(source.fileno(), readable.set)
    except OSError:  # a regular file, which never blocks, or not a file at all
        await asyncio.sleep(0)
        return
    try:
        await readable.wait()
    finally:
        loop.remove_reader(source.fileno())
        readable.clear()


def _cores() -> int:
    """The cores this process may use: in a container, often not all of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _open_input(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as source:
            yield source
    except OSError as problem:
        raise UsageError(f"cannot read {file}: {problem.strerror}") from problem
