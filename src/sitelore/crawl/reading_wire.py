"""The messages between a crawl and its reading processes."""

from __future__ import annotations

import contextlib
import fcntl
from dataclasses import dataclass, fields
from typing import Any

import msgspec

from sitelore.model.document import Reading, ReadOptions
from sitelore.model.response import Response
from sitelore.model.sitemap import SitemapReading
from sitelore.model.url import Url

PIPE_BYTES = 2**20
"""What a pipe is made to hold."""

READY = b"read"
"""What a reading process says when it has started."""
SIZE_BYTES = 4
"""Of the number in front of every message."""
_MOST_MET = 20_000
_LONG_CHARS = 200


@dataclass(frozen=True, slots=True)
class Job:
    """One response to read, as a page or as a sitemap."""

    response: Response
    options: ReadOptions
    sitemap: bool = False


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
    """A job as it is sent, its size in front. Written in one piece: putting two together would copy a page once more."""
    message = bytearray(SIZE_BYTES)
    _ENCODER.encode_into(job, message, SIZE_BYTES)
    message[:SIZE_BYTES] = (len(message) - SIZE_BYTES).to_bytes(SIZE_BYTES, "big")
    return message


def widen(pipe: int) -> None:
    """Room for a whole page in a pipe, where the system allows it: each refill would wake both sides."""
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def job_decoder() -> msgspec.msgpack.Decoder[Job]:
    """For the reading process."""
    return msgspec.msgpack.Decoder(Job, dec_hook=_typed)


class _Answer(msgspec.Struct, array_like=True):
    """A reading whose links travel as one text: a hundred strings of a type of their own are a hundred calls on both sides."""

    reading: Reading
    links: str = ""
    refused: str = ""


_TOLD = tuple([field.name for field in fields(Reading) if field.name not in {"links", "refused_links"}])
_ANSWER = msgspec.msgpack.Decoder(_Answer, dec_hook=_typed)


def encode_reading(reading: Reading) -> bytes:
    """What `decode_reading` makes the same reading of. No URL holds a line's end."""
    # Field by field: a copy without links would take as long as all the rest.
    told = {name: getattr(reading, name) for name in _TOLD}
    return encode((told, "\n".join(reading.links), "\n".join(reading.refused_links)))


def decode_reading(message: bytes | memoryview) -> Reading:
    """A reading as the reading process made it."""
    answer = _ANSWER.decode(message)
    reading = answer.reading
    # Nobody else has seen it yet; a copy of two dozen fields for two of them would take longer than decoding it did.
    object.__setattr__(reading, "links", _urls(answer.links))
    object.__setattr__(reading, "refused_links", _urls(answer.refused))
    return reading


class _Met(dict[str, Url]):
    """Addresses of late, each the same object whichever page names it: pages of a site share most of their links, and to look
    up what is the same object takes no comparison.
    """

    def __missing__(self, text: str) -> Url:
        url = Url.trusted(text)
        if len(text) <= _LONG_CHARS:
            if len(self) >= _MOST_MET:
                self.clear()
            self[text] = url
        return url


_MET = _Met()


def _urls(joined: str) -> tuple[Url, ...]:
    return tuple(map(_MET.__getitem__, joined.split("\n"))) if joined else ()


SITEMAP = msgspec.msgpack.Decoder(SitemapReading, dec_hook=_typed)
