"""JSON responses of the API: pagination in the two spellings that routes use, and byte ranges of files (RFC 9110 §14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response

JSON = "application/json"
REPLAYED = "Idempotent-Replayed"

encode = msgspec.json.Encoder().encode


def json_response(view: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response with this view as JSON."""
    return Response(encode(view), status, headers, JSON)


def charset_of(content_type: str) -> str:
    """The charset that a stored content type names, else UTF-8."""
    name = content_type.partition("charset=")[2].strip(' "')
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else "utf-8"


class Pagination(msgspec.Struct, frozen=True):
    """Which part of a list a response has, with keys in snake_case: routes of runs, sites, audits, tokens and users."""

    total: int
    limit: int
    offset: int
    returned: int
    has_more: bool


class CamelCasePagination(msgspec.Struct, frozen=True, rename="camel"):
    """Which part of a list a response has, with keys in camelCase: routes of channels, media and webhooks."""

    total: int
    limit: int
    offset: int
    returned: int
    has_more: bool


def pagination_of(total: int, limit: int, offset: int, returned: int) -> Pagination:
    """The pagination of a response with `returned` items from `offset` on."""
    return Pagination(total, limit, offset, returned, offset + returned < total)


def camel_case_pagination(total: int, limit: int, offset: int, returned: int) -> CamelCasePagination:
    """As `pagination_of`, for routes that answer in camelCase."""
    return CamelCasePagination(total, limit, offset, returned, offset + returned < total)


_ONE_RANGE = re.compile(r"\s*bytes\s*=\s*(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes from `start` until before `end` of a file of `size` bytes."""

    start: int
    end: int
    size: int

    @property
    def is_satisfiable(self) -> bool:
        """Whether the file has any of these bytes."""
        return self.start < self.end

    @property
    def content_range(self) -> str:
        """The value of the header `Content-Range`."""
        return f"bytes {self.start}-{self.end - 1}/{self.size}" if self.is_satisfiable else f"bytes */{self.size}"


def requested_range(header: str | None, size: int) -> ByteRange | None:
    """The range that a `Range` header requests; None where the whole file is to be sent.

    Several ranges, other units and malformed headers are ignored, as the standard allows.
    """
    match = _ONE_RANGE.fullmatch(header or "")
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        return ByteRange(max(0, size - int(suffix)), size, size)
    if last and int(last) < int(first):
        return None
    end = min(int(last) + 1, size) if last else size
    return ByteRange(int(first), end, size)
