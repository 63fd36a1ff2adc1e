"""The position of a page in a list, in camel case."""

from __future__ import annotations

import msgspec


class ListPosition(msgspec.Struct, frozen=True, rename="camel"):
    """Position of a page in a list."""

    total: int
    limit: int
    offset: int
    returned: int
    has_more: bool


def position(total: int, limit: int, offset: int, returned: int) -> ListPosition:
    """The position of a page of results."""
    return ListPosition(total, limit, offset, returned, offset + returned < total)
