"""Byte ranges of files (RFC 9110 §14): a browser seeks in a video without downloading all of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
