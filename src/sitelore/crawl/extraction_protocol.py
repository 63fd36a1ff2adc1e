"""The messages between a pool and its reading processes."""

from __future__ import annotations

import contextlib
import fcntl
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec

from sitelore.model.document import Reading, ReadOptions, SitemapReading
from sitelore.model.response import Response
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.extract.inspecting import Inspection

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
    """One response to read: as a page, as a page with a report on its blocks, or as a sitemap."""

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
    """A reading. Its links travel as one string: decoding a hundred `Url`s one by one takes longer than all the rest."""

    reading: Reading
    links: str = ""
    refused: str = ""
    cpu_s: float = 0.0


_TOLD = tuple([field.name for field in fields(Reading) if field.name not in {"links", "refused_links"}])
_ANSWER = msgspec.msgpack.Decoder(_Answer, dec_hook=_typed)


def encode_reading(reading: Reading, cpu_s: float = 0.0) -> bytes:
    """A reading as bytes, with the CPU time that it took. No URL holds a newline."""
    # Field by field: a copy without links would take as long as all the rest.
    told = {name: getattr(reading, name) for name in _TOLD}
    return encode((told, "\n".join(reading.links), "\n".join(reading.refused_links), cpu_s))


def decode_reading(message: bytes | memoryview) -> tuple[Reading, float]:
    """The reading that `encode_reading` wrote, and its CPU time in seconds."""
    answer = _ANSWER.decode(message)
    reading = answer.reading
    # Nobody else has seen it yet; a copy of two dozen fields for two of them would take longer than decoding it did.
    object.__setattr__(reading, "links", _urls(answer.links))
    object.__setattr__(reading, "refused_links", _urls(answer.refused))
    return reading, answer.cpu_s


def decode_inspection(message: bytes | memoryview) -> Inspection:
    """The inspection that a reading process made."""
    from sitelore.extract.inspecting import Inspection  # noqa: PLC0415 loads the extractor, which a crawl's own process never uses

    return msgspec.msgpack.decode(message, type=Inspection, dec_hook=_typed)


class _UrlInterner(dict[str, Url]):
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


_URLS = _UrlInterner()


def _urls(joined: str) -> tuple[Url, ...]:
    return tuple(map(_URLS.__getitem__, joined.split("\n"))) if joined else ()


SITEMAP = msgspec.msgpack.Decoder(SitemapReading, dec_hook=_typed)
