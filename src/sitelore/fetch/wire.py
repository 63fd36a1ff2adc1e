"""One connection to a server, on which one request at a time is answered.

What arrives is handed on at once, in the call that brought it: no task wakes up for a piece of a body, and no queue has to be
kept short, because whoever receives says when there is enough.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from typing import Protocol, cast

from sitelore.fetch.answers import Head, Unchunked, find_head, may_become_head, read_head
from sitelore.model.response import Failure

Trouble = tuple[Failure, str]
"""What went wrong, and one sentence that says so: no URL, no object, nothing a site wrote."""

NOT_HTTP: Trouble = (Failure.PROTOCOL, "The answer is not valid HTTP.")
_MOST_INTERIMS = 20
_CUT: Trouble = (Failure.TRUNCATED, "The connection ended before the body did.")
_RESET: Trouble = (Failure.TRUNCATED, "The connection was reset before the body ended.")
_SILENT: Trouble = (Failure.CONNECTION, "The server closed the connection without an answer.")


class Receiver(Protocol):
    """Who asked."""

    def answered(self, head: Head) -> bool:
        """The head has come; whether the body is wanted."""
        ...

    def take(self, piece: bytes) -> bool:
        """A piece of the body; whether more is wanted."""
        ...

    def ended(self, trouble: Trouble | None, *, unheard: bool = False) -> None:
        """The answer is whole, or something went wrong; `unheard`: before the server had said anything."""
        ...


class Wire(asyncio.Protocol):
    """A connection. `gone` is told when it ends."""

    def __init__(self, origin: str, gone: Callable[[Wire], None]) -> None:
        self.origin = origin
        self.remote = ""
        self.may_be_kept = False
        """Nothing is under way, and the server lets the connection live."""
        self._gone = gone
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._unread: bytes | bytearray = b""
        self._looked_at = 0
        self._interims = 0
        self._is_heard = False
        self._is_in_body = False
        self._keeps = False
        self._left: int | None = None
        self._chunks: Unchunked | None = None

    def ask(self, request: bytes, receiver: Receiver) -> None:
        """Send a request; the receiver hears of everything that follows."""
        self.may_be_kept = self._is_heard = self._is_in_body = False
        self._unread, self._looked_at, self._interims = b"", 0, 0
        self._receiver = receiver
        if self._transport is None:
            self._end(_SILENT)
        else:
            self._transport.write(request)

    def drop(self) -> None:
        """End the connection, whatever is still on its way."""
        self.may_be_kept = False
        self._receiver = None
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """The same, and whoever still waits for an answer is told."""
        self._end(_SILENT)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.remote = peer[0] if peer else ""

    def data_received(self, data: bytes) -> None:
        """Something has arrived."""
        if self._receiver is None:
            self.drop()  # nobody has asked
        elif self._is_in_body:
            self._take(self._receiver, data)
        else:
            self._listen(self._receiver, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended, by the server, by an error or by us."""
        self._transport = None
        self.may_be_kept = False
        self._gone(self)
        if self._receiver is None:
            return
        if not self._is_in_body:
            self._end(_lost(exc) if exc is not None else _SILENT)
        elif self._left is not None or self._chunks is not None:
            self._end(_CUT)
        else:
            self._end(_RESET if exc is not None else None)

    def _listen(self, receiver: Receiver, data: bytes) -> None:
        """More of a head, or of several: interim ones say nothing to us."""
        self._is_heard = True
        unread: bytes | bytearray = data
        if self._unread:
            unread = self._unread if isinstance(self._unread, bytearray) else bytearray(self._unread)
            unread += data
        while True:
            place = find_head(unread, self._looked_at)
            if place is None:
                self._unread, self._looked_at = unread, len(unread)
                if not may_become_head(unread):
                    self._end(NOT_HTTP)
                return
            head = read_head(bytes(unread[: place[0]]))
            if head is None:
                self._end(NOT_HTTP)
                return
            unread, self._looked_at = unread[place[1] :], 0
            if not head.is_interim:
                self._begin(receiver, head, bytes(unread))
                return
            self._interims += 1
            if self._interims > _MOST_INTERIMS:
                self._end(NOT_HTTP)
                return
            if not unread:
                self._unread = b""
                return

    def _begin(self, receiver: Receiver, head: Head, rest: bytes) -> None:
        self._unread = b""
        self._is_in_body = True
        self._left, self._keeps = head.length, head.keeps
        self._chunks = Unchunked() if head.is_chunked else None
        is_wanted = receiver.answered(head)
        if head.length == 0:
            self._keeps = self._keeps and not rest
            self._end(None)
        elif not is_wanted:
            self.drop()
        elif rest:
            self._take(receiver, rest)

    def _take(self, receiver: Receiver, data: bytes) -> None:
        is_over = False
        if self._left is not None:
            if len(data) > self._left:
                data, self._keeps = data[: self._left], False
            self._left -= len(data)
            is_over = self._left == 0
        elif self._chunks is not None:
            data = self._chunks.feed(data)
            if self._chunks.is_broken:
                self._end(NOT_HTTP)
                return
            is_over = self._chunks.is_over
            self._keeps = self._keeps and not self._chunks.has_more
        if data and not receiver.take(data):
            self.drop()
        elif is_over:
            self._end(None)

    def _end(self, trouble: Trouble | None) -> None:
        receiver, self._receiver = self._receiver, None
        self.may_be_kept = trouble is None and self._keeps and self._transport is not None
        if receiver is not None:
            receiver.ended(trouble, unheard=not self._is_heard)
        if not self.may_be_kept:
            self.drop()


def _lost(error: Exception) -> Trouble:
    if isinstance(error, ssl.SSLError):
        return Failure.TLS, "The encrypted connection failed."
    return Failure.CONNECTION, by_number(getattr(error, "errno", None), "The connection was lost.")


def by_number(number: int | None, otherwise: str) -> str:
    """What the system says of an error."""
    return f"{os.strerror(number)}." if number and number > 0 else otherwise
