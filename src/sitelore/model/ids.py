"""Types of ids and of redacted text, so that one kind is never taken for another; new ids."""

from __future__ import annotations

import os
import re
import uuid
from typing import NewType

TenantId = NewType("TenantId", int)
RunId = NewType("RunId", str)
SiteId = NewType("SiteId", int)
WorkerId = NewType("WorkerId", str)
BlobKey = NewType("BlobKey", str)
"""SHA-256 of the uncompressed bytes, in hex."""
ChunkId = NewType("ChunkId", str)
"""Hash of a page's URL and the chunk's own text, in hex."""
CleanText = NewType("CleanText", str)
"""Redacted text. Created only in `extract/redaction/redactor.py`; the only text that the ledger and blobs accept."""
CleanBytes = NewType("CleanBytes", bytes)
"""Bytes of redacted content, compressed or not. Created only in `extract/redaction/redactor.py`."""

NO_TEXT = CleanText("")
DEFAULT_TENANT = TenantId(1)
"""The tenant that every database has, and the only one of a data directory used by one person."""
DEFAULT_TENANT_NAME = "default"


_ID = re.compile(r"[0-9A-Za-z-]{1,64}")


def is_id(text: str) -> bool:
    """Whether a text can be the id of an object. Postgres rejects some texts, such as those with NUL."""
    return _ID.fullmatch(text) is not None


def piece_of(text: CleanText, start: int, end: int) -> CleanText:
    """A slice of clean text, which is itself clean."""
    return CleanText(text[start:end])


def new_uuid(now: float) -> str:
    """A UUID of version 7 (RFC 9562), the public id of a new object: UUIDs sort by time."""
    milliseconds = int(now * 1000) & (1 << 48) - 1
    random = int.from_bytes(os.urandom(10), "big")
    number = milliseconds << 80 | 7 << 76 | (random >> 62 & 0xFFF) << 64 | 2 << 62 | random & (1 << 62) - 1
    return str(uuid.UUID(int=number))
