"""Where HTTP/1.1 messages begin and end, for a proxy that passes them on unread (RFC 9112 §6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_HEAD = 256 * 1024
_HOP_BY_HOP = frozenset({"connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer", "upgrade"})
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")
_MAX_SIZE_LINE = 4096


class Ends(StrEnum):
    """How a body ends."""

    AT_ONCE = "at_once"
    BY_LENGTH = "by_length"
    BY_CHUNKS = "by_chunks"
    BY_CLOSING = "by_closing"
    """Also whatever is not understood: the browser sees all of it, and nothing comes after it."""


@dataclass(frozen=True, slots=True)
class Body:
    """A message's body: how it ends, after how many bytes."""

    ends: Ends
    length: int = 0


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request to a proxy: the target as written, headers as they came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    @property
    def body(self) -> Body:
        """A request without a length has no body."""
        if _values(self.headers, "transfer-encoding"):
            return Body(Ends.BY_CHUNKS)
        return _by_length(self.headers) or Body(Ends.AT_ONCE)

    def in_origin_form(self, target: str) -> bytes:
        """The head as the server itself is to see it, asking for a connection that is kept."""
        kept = [f"{name}: {value}" for name, value in self.headers if name.lower() not in _HOP_BY_HOP]
        return "\r\n".join([f"{self.method} {target} HTTP/1.1", *kept, "Connection: keep-alive", "", ""]).encode("latin-1")


def read_request(head: bytes) -> RequestHead | None:
    """The head of a request, None when it is none. Browsers write them well, so nothing is forgiven."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    headers = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not line:
            break
        if not colon or not name or name != name.strip():
            return None
        headers.append((name, value.strip()))
    return RequestHead(words[0], words[1], tuple(headers))


def body_of_answer(head: bytes, method: str) -> Body:
    """How the body ends that follows this head, in answer to such a request."""
    lines = head.decode("latin-1").split("\r\n")
    status = re.fullmatch(r"HTTP/1\.1 (\d{3})(?: .*)?", lines[0])
    if status is None:
        return Body(Ends.BY_CLOSING)
    headers = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if line and (not colon or line[0] in " \t" or name != name.rstrip()):
            return Body(Ends.BY_CLOSING)
        headers.append((name, value.strip()))
    if method == "HEAD" or status[1] in {"204", "304"} or status[1].startswith("1"):
        return Body(Ends.AT_ONCE)
    coding = _values(headers, "transfer-encoding")
    if coding:
        plain = len(coding) == 1 and coding[0].lower() == "chunked" and not _values(headers, "content-length")
        return Body(Ends.BY_CHUNKS) if plain else Body(Ends.BY_CLOSING)
    return _by_length(headers) or Body(Ends.BY_CLOSING)


def is_answer(head: bytes) -> bool:
    """Whether this is the head of an answer at all. Browsers take anything for one."""
    return re.match(rb"HTTP/1\.[01] [1-5]\d\d[ \r]", head) is not None


def is_interim(head: bytes) -> bool:
    """Whether another head follows (1xx other than 101)."""
    return re.match(rb"HTTP/1\.1 1(?!01)\d\d", head) is not None


def may_be_kept(head: bytes) -> bool:
    """Whether the server lets the connection live."""
    return re.search(rb"\r\nconnection:[^\r]*close", head.lower()) is None


class Chunks:
    """Finds the end of a chunked body in the bytes that pass by."""

    __slots__ = ("_expects", "_left", "_line", "is_broken", "is_over")

    def __init__(self) -> None:
        self._left = 0
        self._line = b""
        self._expects = "size"
        self.is_over = False
        self.is_broken = False

    def feed(self, data: bytes) -> int:
        """Look at more bytes; how many of them belong to this body."""
        at = 0
        while at < len(data) and not self.is_over and not self.is_broken:
            if self._expects == "data":
                step = min(self._left, len(data) - at)
                at += step
                self._left -= step
                if self._left == 0:
                    self._expects = "size"
                continue
            end = data.find(b"\n", at)
            self._line += data[at : end + 1] if end >= 0 else data[at:]
            at = end + 1 if end >= 0 else len(data)
            if end >= 0:
                self._read_line(self._line)
                self._line = b""
            elif len(self._line) > _MAX_SIZE_LINE:
                self.is_broken = True
        return len(data) if self.is_broken else at

    def _read_line(self, line: bytes) -> None:
        if self._expects == "trailer":
            self.is_over = line in {b"\r\n", b"\n"}
            return
        size = _SIZE.match(line)
        if size is None:
            self.is_broken = True
        elif int(size[0], 16) == 0:
            self._expects = "trailer"
        else:
            self._left = int(size[0], 16) + 2  # its own line end
            self._expects = "data"


def _values(headers: list[tuple[str, str]] | tuple[tuple[str, str], ...], name: str) -> list[str]:
    return [value for key, value in headers if key.lower() == name]


def _by_length(headers: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Body | None:
    lengths = _values(headers, "content-length")
    if len(lengths) != 1 or not lengths[0].isascii() or not lengths[0].isdecimal() or len(lengths[0]) > 15:
        return None
    return Body(Ends.BY_LENGTH, int(lengths[0]))
