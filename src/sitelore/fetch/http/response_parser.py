"""Parses HTTP/1.1 responses: the head, and where the body ends (RFC 9112).

Used by the HTTP client and by the browser's proxy. Harmless mistakes of servers are accepted as browsers accept them (bare
line feeds, folded lines, a repeated equal Content-Length, an empty line before the status line). A response is refused where
two parsers could disagree on the end of the body.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

MAX_HEAD = 256 * 1024
_MAX_LINE = 64 * 1024
_MAX_SIZE_LINE = 4096
_MAX_TRAILER = 64 * 1024
_MAX_CACHED_NAME = 40  # characters; longer header names are rare, and caching them would let a site fill the memory

_HEAD_STARTS = (b"HTTP/", b"\r\nHTTP/", b"\nHTTP/")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(r"HTTP/(\d\.\d) ([1-9]\d\d)(?: (.*))?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding", "connection"})
_LINE_ENDS = (b"\r\n", b"\n")


class ResponseHead(NamedTuple):
    """Status line and headers of a response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Lower-case names, in the order received."""
    length: int | None
    """Bytes of the body; None when it is chunked or ends with the connection."""
    is_chunked: bool
    transfer_codings: tuple[str, ...]
    """Transfer-Encoding without `chunked`, in the order applied."""
    keep_alive: bool
    """Whether the connection may be used for another request."""
    version: str = "1.1"
    reason: str = ""
    """The text after the status code."""

    @property
    def is_interim(self) -> bool:
        """Whether another head follows (1xx other than 101)."""
        return self.status < 200 and self.status != 101

    def values(self, name: str) -> list[str]:
        """Every header of this (lower-case) name."""
        return [value for key, value in self.headers if key == name]


def find_head_end(data: bytes | bytearray, start: int = 0) -> tuple[int, int] | None:
    """Where the head ends and where the body begins; None while the head is incomplete. `start`: bytes searched before."""
    match = _HEAD_END.search(data, max(0, start - 3))
    return match.span() if match else None


def may_become_head(data: bytes | bytearray) -> bool:
    """Whether these bytes may be the beginning of a head within the size limits."""
    if not any(data.startswith(start[: len(data)]) for start in _HEAD_STARTS) or len(data) > MAX_HEAD:
        return False
    return len(data) <= _MAX_LINE or data.rfind(b"\n") >= len(data) - _MAX_LINE


def parse_head(raw: bytes) -> ResponseHead | None:
    """Parse a head without its empty line; None when it is invalid."""
    if len(raw) > MAX_HEAD or b"\0" in raw:
        return None
    lines = _decode_lines(raw)
    status = _STATUS_LINE.fullmatch(lines[0])
    if status is None:
        return None
    headers: list[tuple[str, str]] = []
    framing: dict[str, list[str]] = {}
    for line in lines[1:]:
        raw_name, colon, text = line.partition(":")
        name = _cached_name(raw_name) if len(raw_name) <= _MAX_CACHED_NAME else _normalize_name(raw_name)
        value = text.strip(" \t")
        if not colon or not name:
            return None
        headers.append((name, value))
        if name in _FRAMING_HEADERS:
            # Only what ASCII calls white space and lower case: other parsers know no more.
            framing.setdefault(name, []).extend(_ascii_lower(part.strip(" \t")) for part in value.split(","))
    head = _with_framing(status[1], int(status[2]), tuple(headers), framing)
    return None if head is None else head._replace(version=status[1], reason=(status[3] or "").strip())


def _decode_lines(raw: bytes) -> list[str]:
    """The lines as text: UTF-8 where valid, else Latin-1. Surrogates are never produced: databases refuse them."""
    raw = raw.replace(b"\r\n", b"\n").removeprefix(b"\n")  # an empty line before the status line
    if b"\n " in raw or b"\n\t" in raw:
        raw = re.sub(rb"\n[ \t]+", b" ", raw)  # RFC 9112 §5.2
    lines = raw.decode().split("\n") if raw.isascii() else [_decode(line) for line in raw.split(b"\n")]
    is_too_long = len(raw) > _MAX_LINE and any(len(line) > _MAX_LINE for line in lines)
    return [""] if is_too_long or b"\r" in raw else lines


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text


def _normalize_name(raw_name: str) -> str:
    """A header name in lower case; empty when it is invalid."""
    name = raw_name.rstrip(" \t")
    return name.lower() if _TOKEN.fullmatch(name) else ""


_cached_name = lru_cache(maxsize=1024)(_normalize_name)


def _with_framing(
    version: str, status: int, headers: tuple[tuple[str, str], ...], framing: dict[str, list[str]]
) -> ResponseHead | None:
    """The head with its body framing (RFC 9112 §6.3); None when the Content-Length is invalid or contradicts another header."""
    lengths = {length for length in framing.get("content-length", ()) if length}
    codings = [coding for coding in framing.get("transfer-encoding", ()) if coding and coding != "identity"]
    if len(lengths) > 1:
        return None
    length: int | None = None
    for text in lengths:
        if not (text.isascii() and text.isdecimal() and len(text) <= 15):
            return None
        length = int(text)
    options = framing.get("connection", ())
    keep_alive = "close" not in options if version == "1.1" else "keep-alive" in options
    is_chunked = bool(codings) and codings[-1] == "chunked"
    if status in {204, 304} or 100 <= status < 200:
        return ResponseHead(status, headers, 0, False, (), keep_alive)
    if codings and length is not None:
        return None  # two ends of one body: an attempt at response splitting, "ought to be handled as an error"
    if length is None:
        keep_alive = keep_alive and is_chunked
    return ResponseHead(status, headers, length, is_chunked, tuple(c for c in codings if c != "chunked"), keep_alive)


class ChunkedDecoder:
    """Decodes a chunked body incrementally (RFC 9112 §7.1)."""

    __slots__ = ("_expected", "_left", "_line", "_trailer_bytes", "excess", "is_broken", "is_complete")

    def __init__(self) -> None:
        self._left = 0
        self._line = b""
        self._expected = "size"
        self._trailer_bytes = 0
        self.is_complete = False
        self.is_broken = False
        self.excess = 0
        """Bytes of the last piece that follow the end of the body, or that begin with the broken line."""

    def feed(self, data: bytes) -> bytes:
        """Decode more bytes; returns the body bytes in them."""
        pieces: list[bytes] = []
        at, line_at, size = 0, 0, len(data)
        while at < size and not self.is_complete and not self.is_broken:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                continue
            end = data.find(b"\n", at) + 1
            line = self._line + data[at : end or size]
            line_at, at = at, end or size
            if end:
                self._line = b""
                self._parse_line(line)
            else:
                self._line = line
                self.is_broken = len(line) > _MAX_SIZE_LINE
        self.excess = size - (line_at if self.is_broken else at)
        return b"".join(pieces)

    def _parse_line(self, line: bytes) -> None:
        if self._expected == "line_end":
            self.is_broken = line not in _LINE_ENDS
            self._expected = "size"
        elif self._expected == "trailer":
            self._trailer_bytes += len(line)
            self.is_complete = line in _LINE_ENDS
            self.is_broken = self._trailer_bytes > _MAX_TRAILER
        elif (size := _SIZE_LINE.fullmatch(line)) is None:
            self.is_broken = True
        else:
            self._left = int(size[1], 16)
            self._expected = "line_end" if self._left else "trailer"


class BodyFraming:
    """Finds the end of a body: after `length` bytes, after the last chunk, or when the connection closes."""

    __slots__ = ("_chunks", "_left", "ends_at_close", "excess", "is_broken", "is_complete")

    def __init__(self, length: int | None, *, is_chunked: bool = False) -> None:
        self._left = length
        self._chunks = ChunkedDecoder() if is_chunked else None
        self.ends_at_close = length is None and not is_chunked
        self.is_complete = length == 0
        self.is_broken = False
        self.excess = 0
        """Bytes of the last piece that do not belong to the body."""

    def feed(self, data: bytes) -> bytes:
        """Take more bytes from the connection; returns the body bytes in them, without chunk framing."""
        if self._left is not None:
            self.excess = max(0, len(data) - self._left)
            data = data[: self._left] if self.excess else data
            self._left -= len(data)
            self.is_complete = self._left == 0
        elif self._chunks is not None:
            data = self._chunks.feed(data)
            self.is_complete, self.is_broken = self._chunks.is_complete, self._chunks.is_broken
            self.excess = self._chunks.excess
        return data
