"""An HTTP/1.1 answer taken apart: its head, and the bytes of a body that comes in chunks (RFC 9112).

Read as a browser would where a server is merely careless (bare line feeds, folded lines, a length said twice), refused where
two readers could differ on where the body ends.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sitelore.fetch.http_framing import MAX_HEAD

_MAX_LINE = 64 * 1024
_MAX_SIZE_LINE = 4096
_MAX_TRAILER = 64 * 1024
_SHORT_NAME = 40  # longer ones are not worth remembering, and could fill the memory

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(r"HTTP/(\d\.\d) ([1-9]\d\d)(?: .*)?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})
_LINE_ENDS = (b"\r\n", b"\n")


class Head(NamedTuple):
    """What precedes a body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Lower-case names, in the order received."""
    length: int | None
    """How many bytes follow; None: that shows when they are over."""
    is_chunked: bool
    transfer_codings: tuple[str, ...]
    """What was done to the body for the way, besides cutting it into chunks."""
    keeps: bool
    """Whether the server lets the connection live."""

    @property
    def is_interim(self) -> bool:
        """Whether another head follows."""
        return self.status < 200 and self.status != 101

    def values(self, name: str) -> list[str]:
        """Every header of this (lower-case) name."""
        return [value for key, value in self.headers if key == name]


def find_head(data: bytes | bytearray, looked_at: int = 0) -> tuple[int, int] | None:
    """Where a head ends and where what follows it begins; None when its end has not come yet."""
    found = _HEAD_END.search(data, max(0, looked_at - 3))
    return found.span() if found else None


def may_become_head(data: bytes | bytearray) -> bool:
    """Whether this may be the beginning of a head, within what one may weigh."""
    if not data.startswith(b"HTTP/"[: len(data)]) or len(data) > MAX_HEAD:
        return False
    return len(data) <= _MAX_LINE or data.rfind(b"\n") >= len(data) - _MAX_LINE


def read_head(raw: bytes) -> Head | None:
    """A head without its empty line; None when it is none."""
    if len(raw) > MAX_HEAD or b"\0" in raw:
        return None
    lines = _lines(raw)
    status = _STATUS.fullmatch(lines[0])
    if status is None:
        return None
    headers: list[tuple[str, str]] = []
    framing: dict[str, list[str]] = {}
    for line in lines[1:]:
        written, colon, text = line.partition(":")
        name = _known_name(written) if len(written) <= _SHORT_NAME else _name(written)
        value = text.strip(" \t")
        if not colon or not name:
            return None
        headers.append((name, value))
        if name in _FRAMING:
            framing.setdefault(name, []).extend(part.strip().lower() for part in value.split(","))
    return _framed(status[1], int(status[2]), tuple(headers), framing)


def _lines(raw: bytes) -> list[str]:
    """Each line as text: UTF-8 where it is, Latin-1 otherwise; never a surrogate, which no database takes."""
    raw = raw.replace(b"\r\n", b"\n")
    if b"\n " in raw or b"\n\t" in raw:
        raw = re.sub(rb"\n[ \t]+", b" ", raw)  # RFC 9112 §5.2
    lines = raw.decode().split("\n") if raw.isascii() else [_text(line) for line in raw.split(b"\n")]
    too_long = len(raw) > _MAX_LINE and any(len(line) > _MAX_LINE for line in lines)
    return [""] if too_long or b"\r" in raw else lines


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _name(written: str) -> str:
    """A header's name in lower case; empty when it is none."""
    name = written.rstrip(" \t")
    return name.lower() if _TOKEN.fullmatch(name) else ""


_known_name = lru_cache(maxsize=1024)(_name)


def _framed(version: str, status: int, headers: tuple[tuple[str, str], ...], framing: dict[str, list[str]]) -> Head | None:
    """The head with how its body ends (RFC 9112 §6.3); None when the server says two things at once."""
    lengths = {length for length in framing.get("content-length", ()) if length}
    codings = [coding for coding in framing.get("transfer-encoding", ()) if coding and coding != "identity"]
    if len(lengths) > 1:
        return None
    length: int | None = None
    for text in lengths:
        if not (text.isascii() and text.isdecimal() and len(text) <= 15):
            return None
        length = int(text)
    wishes = framing.get("connection", ())
    keeps = "close" not in wishes if version == "1.1" else "keep-alive" in wishes
    is_chunked = bool(codings) and codings[-1] == "chunked"
    if status in {204, 304} or 100 <= status < 200:
        return Head(status, headers, 0, False, (), keeps)
    if codings:
        # What comes after a body whose length is said in two ways is nobody's answer.
        keeps = keeps and is_chunked and length is None
        length = None
    elif length is None:
        keeps = False
    return Head(status, headers, length, is_chunked, tuple(c for c in codings if c != "chunked"), keeps)


class Unchunked:
    """Takes the chunks of a body apart as they arrive."""

    __slots__ = ("_expects", "_left", "_line", "_trailer", "has_more", "is_broken", "is_over")

    def __init__(self) -> None:
        self._left = 0
        self._line = b""
        self._expects = "size"
        self._trailer = 0
        self.is_over = False
        self.is_broken = False
        self.has_more = False
        """Something follows the body."""

    def feed(self, data: bytes) -> bytes:
        """What of the body these bytes hold."""
        pieces: list[bytes] = []
        at, size = 0, len(data)
        while at < size and not self.is_over and not self.is_broken:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                continue
            end = data.find(b"\n", at) + 1
            line = self._line + data[at : end or size]
            at = end or size
            if end:
                self._line = b""
                self._read_line(line)
            else:
                self._line = line
                self.is_broken = len(line) > _MAX_SIZE_LINE
        self.has_more = at < size
        return b"".join(pieces)

    def _read_line(self, line: bytes) -> None:
        if self._expects == "end":
            self.is_broken = line not in _LINE_ENDS
            self._expects = "size"
        elif self._expects == "trailer":
            self._trailer += len(line)
            self.is_over = line in _LINE_ENDS
            self.is_broken = self._trailer > _MAX_TRAILER
        elif (size := _SIZE.fullmatch(line)) is None:
            self.is_broken = True
        else:
            self._left = int(size[1], 16)
            self._expects = "end" if self._left else "trailer"
