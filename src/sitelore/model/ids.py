"""Names for the things that are counted: an id of one kind never passes for another."""

from __future__ import annotations

from typing import NewType

RunId = NewType("RunId", str)
SiteId = NewType("SiteId", int)
WorkerId = NewType("WorkerId", str)
BlobKey = NewType("BlobKey", str)
"""SHA-256 of the uncompressed bytes, in hex."""
ChunkId = NewType("ChunkId", str)
"""Of a page's URL and the chunk's own text, in hex."""
CleanText = NewType("CleanText", str)
"""Redacted text, made in `extract/redaction/redactor.py` alone; the only text the ledger and blobs accept."""
CleanBytes = NewType("CleanBytes", bytes)
"""Bytes (compressed or not) of redacted content. Made in `extract/redaction/redactor.py` alone."""

NO_TEXT = CleanText("")
DEFAULT_TENANT = "default"
"""Whose sites they are where nobody has said."""


def piece_of(text: CleanText, start: int, end: int) -> CleanText:
    """The characters from `start` to `end`: a stretch of clean text is clean."""
    return CleanText(text[start:end])
