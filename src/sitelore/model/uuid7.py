"""UUIDs of version 7 (RFC 9562), the public ids of new objects: they sort by time."""

from __future__ import annotations

import os
import uuid


def new_uuid(now: float) -> str:
    """A UUID of this time."""
    milliseconds = int(now * 1000) & (1 << 48) - 1
    random = int.from_bytes(os.urandom(10), "big")
    number = milliseconds << 80 | 7 << 76 | (random >> 62 & 0xFFF) << 64 | 2 << 62 | random & (1 << 62) - 1
    return str(uuid.UUID(int=number))
