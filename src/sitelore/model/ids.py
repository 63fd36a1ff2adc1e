"""Types of ids and of redacted text, so that one kind is never taken for another."""

from __future__ import annotations

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


def piece_of(text: CleanText, start: int, end: int) -> CleanText:
    """A slice of clean text, which is itself clean."""
    return CleanText(text[start:end])
