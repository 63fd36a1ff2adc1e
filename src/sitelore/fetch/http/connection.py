"""One HTTP/1.1 connection, which serves one request at a time.

Received bytes go to the response handler in the callback that delivers them: no task wakes up per piece of a body, and no
queue has to be bounded, because the handler says when it has enough.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol, cast

from sitelore.fetch.failures import CONNECTION_LOST, NO_RESPONSE, NOT_HTTP, TLS_FAILED, TRUNCATED, FailureInfo, os_error_message
from sitelore.fetch.http.proxies import UpstreamProxy
from sitelore.fetch.http.response_parser import BodyFraming, ResponseHead, find_head_end, may_become_head, parse_head
from sitelore.model.response import Failure

_MAX_INTERIM_RESPONSES = 20
_RESET = FailureInfo(Failure.TRUNCATED, "The connection was reset before the body ended.")


class ResponseSink(Protocol):
    """Receives one response."""

    def on_head(self, head: ResponseHead) -> bool:
        """The head is complete; returns whether the body is wanted."""
        ...

    def on_data(self, piece: bytes) -> bool:
        """A piece of the body; returns whether more is wanted."""
        ...

    def on_end(self, failure: FailureInfo | None, *, unanswered: bool = False) -> None:
        """The response is complete, or has failed; `unanswered`: the server had not sent a single byte."""
        ...


class HttpConnection(asyncio.Protocol):
    """A connection to one origin. `on_close` is called once when it is closed."""

    def __init__(self, origin: str, on_close: Callable[[HttpConnection], None], proxy: UpstreamProxy | None = None) -> None:
        self.origin = origin
        self.proxy = proxy
        """The HTTP proxy at the other end, which expects whole URLs; None when the server itself is there."""
        self.remote = ""
        self.is_reusable = False
        """No request is in progress, and the server keeps the connection alive."""
        self._on_close = on_close
        self._transport: asyncio.Transport | None = None
        self._sink: ResponseSink | None = None
        self._buffer: bytes | bytearray = b""
        self._searched = 0
        """Bytes of the buffer that hold no end of a head."""
        self._interim_responses = 0
        self._has_received = False
        self._keep_alive = False
        self._has_body = True
        self._framing: BodyFraming | None = None
        """Set while a body is received."""

    def send(self, request: bytes, sink: ResponseSink, *, has_body: bool = True) -> None:
        """Send a request; its response goes to `sink`. The response to a HEAD request has no body."""
        self._has_body = has_body
        self.is_reusable = self._has_received = False
        self._framing = None
        self._buffer, self._searched, self._interim_responses = b"", 0, 0
        self._sink = sink
        if self._transport is None:
            self._finish(NO_RESPONSE)
        else:
            self._transport.write(request)

    def abort(self) -> None:
        """Close the connection at once. A pending response is not reported."""
        self.is_reusable = False
        self._sink = None
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close the connection at once. A pending response is reported as failed."""
        self._finish(NO_RESPONSE)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.remote = peer[0] if peer else ""

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        if self._sink is None:
            self.abort()  # bytes without a request
        elif self._framing is not None:
            self._receive_body(self._sink, self._framing, data)
        else:
            self._receive_head(self._sink, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        self._transport = None
        self.is_reusable = False
        self._on_close(self)
        if self._sink is None:
            return
        if self._framing is None:
            self._finish(_explain_loss(exc) if exc is not None else NO_RESPONSE)
        elif not self._framing.ends_at_close:
            self._finish(TRUNCATED)
        else:
            self._finish(_RESET if exc is not None else None)

    def _receive_head(self, sink: ResponseSink, data: bytes) -> None:
        """More bytes of a head, or of several: interim responses (1xx) are skipped."""
        self._has_received = True
        buffer: bytes | bytearray = data
        if self._buffer:
            buffer = self._buffer if isinstance(self._buffer, bytearray) else bytearray(self._buffer)
            buffer += data
        while True:
            end = find_head_end(buffer, self._searched)
            if end is None:
                self._buffer, self._searched = buffer, len(buffer)
                if not may_become_head(buffer):
                    self._finish(NOT_HTTP)
                return
            head = parse_head(bytes(buffer[: end[0]]))
            if head is None:
                self._finish(NOT_HTTP)
                return
            buffer, self._searched = buffer[end[1] :], 0
            if not head.is_interim:
                self._start_body(sink, head, bytes(buffer))
                return
            self._interim_responses += 1
            if self._interim_responses > _MAX_INTERIM_RESPONSES:
                self._finish(NOT_HTTP)
                return
            if not buffer:
                self._buffer = b""
                return

    def _start_body(self, sink: ResponseSink, head: ResponseHead, rest: bytes) -> None:
        self._buffer = b""
        self._keep_alive = head.keep_alive
        if self._has_body:
            self._framing = framing = BodyFraming(head.length, is_chunked=head.is_chunked)
        else:
            self._framing = framing = BodyFraming(0)
        is_wanted = sink.on_head(head)
        if framing.is_complete:
            self._keep_alive = self._keep_alive and not rest
            self._finish(None)
        elif not is_wanted:
            self.abort()
        elif rest:
            self._receive_body(sink, framing, rest)

    def _receive_body(self, sink: ResponseSink, framing: BodyFraming, data: bytes) -> None:
        data = framing.feed(data)
        if framing.is_broken:
            self._finish(NOT_HTTP)
            return
        if framing.excess:
            self._keep_alive = False
        if data and not sink.on_data(data):
            self.abort()
        elif framing.is_complete:
            self._finish(None)

    def _finish(self, failure: FailureInfo | None) -> None:
        sink, self._sink = self._sink, None
        self.is_reusable = failure is None and self._keep_alive and self._transport is not None
        if sink is not None:
            sink.on_end(failure, unanswered=not self._has_received)
        if not self.is_reusable:
            self.abort()


def _explain_loss(error: Exception) -> FailureInfo:
    if isinstance(error, ssl.SSLError):
        return TLS_FAILED
    return FailureInfo(Failure.CONNECTION, os_error_message(getattr(error, "errno", None), CONNECTION_LOST.detail))
