"""The messages between a crawl and its reading processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from sitelore.model.document import Reading, ReadOptions
from sitelore.model.response import Response
from sitelore.model.sitemap import SitemapReading
from sitelore.model.url import Url

READY = b"read"
"""What a reading process says when it has started."""


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


def job_decoder() -> msgspec.msgpack.Decoder[Job]:
    """For the reading process."""
    return msgspec.msgpack.Decoder(Job, dec_hook=_typed)


READING = msgspec.msgpack.Decoder(Reading, dec_hook=_typed)
SITEMAP = msgspec.msgpack.Decoder(SitemapReading, dec_hook=_typed)
