"""The child process that compresses images, and the messages between it and its parent (`crawl/media/image_pool.py`).

A message is its size and its content. A job is an operation, the extension of the file and the bytes of the file; an answer is
a line of JSON and the bytes of the result. The address space is limited to the size given as argument, so that an image made to
exhaust memory ends this process and no other.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from dataclasses import asdict, replace
from typing import BinaryIO

from sitelore.media.compression import CompressedImage, compress, prepare, thumbnail

READY = b"read"
_SIZE_BYTES = 4
_OPERATIONS = {"compress": compress, "thumbnail": thumbnail}


def encode_job(operation: str, data: bytes, extension: str) -> bytearray:
    """A job as a message."""
    head = f"{operation} {extension}\n".encode()
    message = bytearray((len(head) + len(data)).to_bytes(_SIZE_BYTES, "big"))
    message += head
    message += data
    return message


def decode_answer(answer: bytes | memoryview) -> CompressedImage:
    """The image of an answer."""
    head, _, data = bytes(answer).partition(b"\n")
    return replace(CompressedImage(**json.loads(head)), data=data)


def main(memory_bytes: int) -> None:
    """Read jobs from stdin and write answers to stdout."""
    prepare()
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # A private copy of stdout: anything that a library prints must not end up between two answers.
    sink = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    sink.write(READY)
    while (job := _next_job(sys.stdin.buffer)) is not None:
        answer = _answer(job)
        _write(sink, len(answer).to_bytes(_SIZE_BYTES, "big") + answer)


def _next_job(source: BinaryIO) -> bytes | None:
    head = source.read(_SIZE_BYTES)
    return source.read(int.from_bytes(head, "big")) if len(head) == _SIZE_BYTES else None


def _answer(job: bytes) -> bytes:
    head, _, data = job.partition(b"\n")
    operation, extension = head.decode().split(" ")
    try:
        result = _OPERATIONS[operation](data, extension)
    except (MemoryError, RecursionError) as error:
        result = CompressedImage(problem=f"the image cannot be decoded: {type(error).__name__}", is_too_large=True)
    facts = asdict(replace(result, data=b""))
    del facts["data"]
    return json.dumps(facts).encode() + b"\n" + result.data


def _write(sink: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[sink.write(view) :]


if __name__ == "__main__":
    main(int(sys.argv[1]))
