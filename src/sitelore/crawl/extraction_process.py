"""The child process of `ExtractionPool`: extracts documents one after another until its input ends.

It keeps no state and does no I/O besides its two pipes. Its address space is limited to the size given as argument, so that a
document made to exhaust memory ends this process and no other.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from sitelore.crawl.extraction_protocol import READY, Job, encode, encode_reading, job_decoder, widen
from sitelore.extract.malloc_tuning import give_back_large_blocks
from sitelore.extract.page import read
from sitelore.model.api_loader import collection_loader
from sitelore.model.document import Reading, SitemapReading

if TYPE_CHECKING:
    from sitelore.extract.inspection import Inspection

_GARBAGE = 20_000


def main(memory_bytes: int) -> None:
    """Read length-prefixed jobs from stdin and write length-prefixed answers to stdout."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    give_back_large_blocks()
    # A private copy of stdout: anything that a library prints must not end up between two answers.
    sink = os.dup(1)
    os.dup2(2, 1)
    widen(0)
    widen(sink)
    decoder = job_decoder()
    gc.freeze()
    gc.set_threshold(_GARBAGE, 20, 20)
    _write(sink, READY)
    while (job := _next_job(sys.stdin.buffer, decoder)) is not None:
        answer = _answer(job)
        del job  # a large page, which would stay while the next one comes
        _write(sink, len(answer).to_bytes(4, "big") + answer)


def _write(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]


def _next_job(source: BinaryIO, decoder: msgspec.msgpack.Decoder[Job]) -> Job | None:
    head = source.read(4)
    return decoder.decode(source.read(int.from_bytes(head, "big"))) if len(head) == 4 else None


def _answer(job: Job) -> bytes:
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
    from sitelore.intake.api_collections import read_collection  # noqa: PLC0415 pages do not need it, and it imports much of `email`
    from sitelore.intake.sitemap import read_sitemap  # noqa: PLC0415 as above

    response = job.response
    if job.options.overrides and (loader := collection_loader(response.url, job.options.overrides)) is not None:
        return read_collection(response, loader)
    return read_sitemap(response.body, response.url, response.content_type)


if __name__ == "__main__":
    main(int(sys.argv[1]))
