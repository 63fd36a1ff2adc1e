"""JSON responses of the API, and the position of a page of results in its list."""

from __future__ import annotations

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
    """Position of a page in a list."""

    total: int
    limit: int
    offset: int
    returned: int
    has_more: bool


class ListPosition(msgspec.Struct, frozen=True, rename="camel"):
    """Position of a page in a list."""

    total: int
    limit: int
    offset: int
    returned: int
    has_more: bool


def page_of(total: int, limit: int, offset: int, returned: int) -> Pagination:
    """The position of a page of results."""
    return Pagination(total, limit, offset, returned, offset + returned < total)


def position(total: int, limit: int, offset: int, returned: int) -> ListPosition:
    """The position of a page of results, in camel case."""
    return ListPosition(total, limit, offset, returned, offset + returned < total)
