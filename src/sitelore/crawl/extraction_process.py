"""The child process of `ExtractionPool`, and the messages between the two: msgpack, each prefixed with its size.

The process extracts documents one after another until its input ends. It keeps no state and does no I/O besides its two pipes.
Its address space is limited to the size given as argument, so that a document made to exhaust memory ends this process and no
other.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import sys
import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from sitelore.model.document import Reading, ReadOptions, SitemapReading
from sitelore.model.response import Response
from sitelore.model.url import Url

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitelore.extract.inspection import Inspection

PIPE_BYTES = 2**20
"""The pipe buffer to request from the operating system."""

READY = b"read"
"""The first message of an extraction process, sent when it can take jobs."""
SIZE_BYTES = 4
"""Length of the size prefix of every message."""
_MAX_INTERNED = 20_000
_MAX_INTERNED_CHARS = 200


@dataclass(frozen=True, slots=True)
class Job:
    """One response to extract: as a page, as a page with a report on its blocks, or as a sitemap."""

    response: Response
    options: ReadOptions
    sitemap: bool = False
    inspect: bool = False


def _plain(value: Any) -> Any:
    if isinstance(value, Url):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _typed(kind: type, value: Any) -> Any:
    if kind is Url:
        return Url.trusted(value)
    raise NotImplementedError(kind.__name__)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)
encode = _ENCODER.encode


def framed(job: Job) -> bytearray:
    """A job as a message, with its size prefix. Encoded into one buffer, because joining two would copy the page again."""
    message = bytearray(SIZE_BYTES)
    _ENCODER.encode_into(job, message, SIZE_BYTES)
    message[:SIZE_BYTES] = (len(message) - SIZE_BYTES).to_bytes(SIZE_BYTES, "big")
    return message


def widen(pipe: int) -> None:
    """Enlarge a pipe's buffer to the size of a page, where the system allows it: each refill wakes both processes."""
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def job_decoder() -> msgspec.msgpack.Decoder[Job]:
    """The decoder of the extraction process."""
    return msgspec.msgpack.Decoder(Job, dec_hook=_typed)


class _Answer(msgspec.Struct, array_like=True):
    """A reading. Its links are sent as one string, because decoding a hundred `Url`s one by one takes longer than the rest."""

    reading: Reading
    links: str = ""
    refused: str = ""
    cpu_s: float = 0.0


_SENT_FIELDS = tuple([field.name for field in fields(Reading) if field.name not in {"links", "refused_links"}])
_ANSWER = msgspec.msgpack.Decoder(_Answer, dec_hook=_typed)


def encode_reading(reading: Reading, cpu_s: float = 0.0) -> bytes:
    """A reading as bytes, with the CPU time it took. Links are joined by newlines, which no URL contains."""
    # Field by field: copying the reading without its links would take as long as encoding it.
    values = {name: getattr(reading, name) for name in _SENT_FIELDS}
    return encode((values, "\n".join(reading.links), "\n".join(reading.refused_links), cpu_s))


def decode_reading(message: bytes | memoryview) -> tuple[Reading, float]:
    """The reading that `encode_reading` wrote, and its CPU time in seconds."""
    answer = _ANSWER.decode(message)
    reading = answer.reading
    # Set in place although it is frozen: it is not shared yet, and a copy would take longer than decoding it did.
    object.__setattr__(reading, "links", _urls(answer.links))
    object.__setattr__(reading, "refused_links", _urls(answer.refused))
    return reading, answer.cpu_s


def decode_inspection(message: bytes | memoryview) -> Inspection:
    """Decode the inspection of an extraction process."""
    from sitelore.extract.inspection import Inspection  # noqa: PLC0415 loads the extractor, which a crawl's own process never uses

    return msgspec.msgpack.decode(message, type=Inspection, dec_hook=_typed)


class _UrlInterner(dict[str, Url]):
    """Interns recently seen URLs, so equal links share one object and dict lookups hit the identity fast path."""

    def __missing__(self, text: str) -> Url:
        url = Url.trusted(text)
        if len(text) <= _MAX_INTERNED_CHARS:
            if len(self) >= _MAX_INTERNED:
                self.clear()
            self[text] = url
        return url


_URLS = _UrlInterner()


def _urls(joined: str) -> tuple[Url, ...]:
    return tuple(map(_URLS.__getitem__, joined.split("\n"))) if joined else ()


SITEMAP = msgspec.msgpack.Decoder(SitemapReading, dec_hook=_typed)


def main(memory_bytes: int) -> None:
    """Read length-prefixed jobs from stdin and write length-prefixed answers to stdout."""
    gc.disable()
    from sitelore.extract.page import read  # noqa: PLC0415 the pool imports this module for its messages, and never extracts
    from sitelore.extract.process_memory import collect_garbage_seldom, give_back_large_blocks  # noqa: PLC0415 as below

    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    give_back_large_blocks()
    # A private copy of stdout: anything that a library prints must not end up between two answers.
    sink = os.dup(1)
    os.dup2(2, 1)
    widen(0)
    widen(sink)
    decoder = job_decoder()
    collect_garbage_seldom()
    _write(sink, READY)
    while (job := _next_job(sys.stdin.buffer, decoder)) is not None:
        answer = _answer(job, read)
        del job  # a large page, which would stay while the next one comes
        _write(sink, len(answer).to_bytes(4, "big") + answer)


def _write(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]


def _next_job(source: BinaryIO, decoder: msgspec.msgpack.Decoder[Job]) -> Job | None:
    head = source.read(4)
    return decoder.decode(source.read(int.from_bytes(head, "big"))) if len(head) == 4 else None


def _answer(job: Job, read: Callable[[Response, ReadOptions], Reading]) -> bytes:
    if job.sitemap:
        return encode(_read_sitemap(job))
    if job.inspect:
        return encode(_inspect(job))
    started_at = time.process_time()
    try:
        reading = read(job.response, job.options)
    except (RecursionError, MemoryError) as error:
        reading = _failed(error)
    return encode_reading(reading, time.process_time() - started_at)


def _failed(error: Exception) -> Reading:
    return Reading(problem=f"parse_error: {type(error).__name__} while reading the document")


def _inspect(job: Job) -> Inspection:
    from sitelore.extract.inspection import Inspection, inspect  # noqa: PLC0415 a crawl does not inspect

    try:
        return inspect(job.response, job.options)
    except (RecursionError, MemoryError) as error:
        return Inspection(_failed(error))


def _read_sitemap(job: Job) -> SitemapReading:
    from sitelore.intake.sitemap import read_collection, read_sitemap  # noqa: PLC0415 imports `email`; pages need neither
    from sitelore.model.api_loader import collection_loader  # noqa: PLC0415 as above

    response = job.response
    if job.options.overrides and (loader := collection_loader(response.url, job.options.overrides)) is not None:
        return read_collection(response, loader)
    return read_sitemap(response.body, response.url, response.content_type)


if __name__ == "__main__":
    main(int(sys.argv[1]))
