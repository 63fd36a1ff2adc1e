"""Reads one response: the head, and the decoded body where its type is wanted, within the size limits."""

from __future__ import annotations

import asyncio
import re
import time
from functools import lru_cache

from sitelore.fetch.failures import FailureInfo
from sitelore.fetch.http.deadlines import DeadlineTimer, RequestDeadline
from sitelore.fetch.http.encodings import BodyDecoder, parse_encodings
from sitelore.fetch.http.response_parser import ResponseHead
from sitelore.model.response import (
    VAGUE_TYPES,
    Failure,
    Fetched,
    FetchFailure,
    Request,
    Response,
    is_document_type,
    starts_like_document,
)

_TEXT_TYPES = re.compile(r"text/.*|application/(?:.*\+)?(?:xml|json|xhtml|html)|.*\+(?:xml|json)")
_UNKNOWN_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown"})
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SNIFFED_BYTES = 512
_MAX_TYPE_CHARS = 255
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")


class ResponseReader:
    """Collects one response (a `ResponseSink`). `done` is set when nothing more is expected."""

    __slots__ = (
        "_body", "_decoder", "_documents", "_failure", "_is_abandoned", "_is_whole", "_loop", "_max_body", "_max_wire",
        "_request", "_sniff", "_started", "deadline", "done", "headers", "is_unanswered", "reason", "remote", "status",
        "version",
    )  # fmt: skip

    def __init__(self, request: Request, timer: DeadlineTimer, *, documents: bool) -> None:
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.version = self.reason = ""
        self.remote = ""
        self.is_unanswered = False
        """The connection was closed before the server sent anything."""
        self.deadline = RequestDeadline(timer, self._on_timeout)
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._request = request
        self._documents = documents
        self._started = time.perf_counter()
        self._max_body = timer.limits.body_bytes
        self._max_wire = timer.limits.wire_bytes
        self._decoder: BodyDecoder | None = None
        self._sniff = False
        """The Content-Type says nothing: check the first bytes, and abandon a binary body."""
        self._body: bytes | bytearray = b""
        self._is_abandoned = False
        self._is_whole = False
        """The body was received up to its end."""
        self._failure: FailureInfo | None = None

    def start(self, remote: str) -> None:
        """The request is about to be sent to this address."""
        self.remote = remote
        self.deadline.start_headers(self._loop.time())

    def restart(self) -> None:
        """Prepare for the request to be sent once more; the server has not responded to it."""
        self.deadline.cancel()
        self.done = self._loop.create_future()
        self.is_unanswered, self._failure = False, None

    def on_head(self, head: ResponseHead) -> bool:
        """The head is complete; returns whether the body is wanted."""
        self.status, self.headers = head.status, head.headers
        self.version, self.reason = head.version, head.reason
        self.deadline.start_body(self._loop.time())
        if head.status == 101:
            return self.fail(FailureInfo(Failure.PROTOCOL, "The server switched protocols without a request to do so."))
        content_type = self._content_type()
        if self._request.size_limits is not None:
            of_videos, of_others = self._request.size_limits
            self._max_body = self._max_wire = of_videos if content_type.startswith("video/") else of_others
        if not self._request.any_content_type:
            self._sniff = content_type in _UNKNOWN_TYPES or (self._documents and content_type in VAGUE_TYPES)
            if not self._sniff and not _is_text(content_type) and not (self._documents and is_document_type(content_type)):
                return self._abandon()
        if self._request.max_body_bytes is not None:
            self._max_body = min(self._max_body, self._request.max_body_bytes)
        if not self._choose_decoder(head):
            return self.fail(FailureInfo(Failure.DECODING, "The body has an unknown Transfer-Encoding, or too many encodings."))
        if self._decoder is None:
            self._max_wire = min(self._max_body, self._max_wire)
        if head.length is not None and head.length > self._max_wire and not self._request.truncate_body:
            if self._sniff and content_type not in _UNKNOWN_TYPES:
                return self._abandon()  # an archive, of which few are documents
            detail = f"The body is {head.length} bytes, {self._max_wire} are allowed."
            return self.fail(FailureInfo(Failure.TOO_LARGE, detail))
        return True

    def on_data(self, piece: bytes) -> bool:
        """A piece of the body; returns whether more is wanted."""
        deadline, decoder = self.deadline, self._decoder
        deadline.received += len(piece)
        failure = None
        if decoder is not None:
            failure = decoder.feed(piece)
        elif not self._body:
            self._body = piece
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += piece
        if failure is None and deadline.received > self._max_wire:
            failure = FailureInfo(Failure.TOO_LARGE, f"The body is larger than {self._max_wire} bytes.")
        if failure is not None:
            if failure.failure is not Failure.TOO_LARGE or not self._request.truncate_body:
                return self.fail(failure)
            self._finish()
            return False
        return not self._sniff or self._passes_sniffing()

    def on_end(self, failure: FailureInfo | None, *, unanswered: bool = False) -> None:
        """The response is complete, or has failed."""
        self.is_unanswered = unanswered
        self._is_whole = failure is None
        if failure is None and self._decoder is not None and not self._decoder.has_rest:
            failure = self._decoder.finish()
        if failure is not None:
            self.fail(failure)
        else:
            self._finish()

    async def decode_rest(self) -> None:
        """Decode the rest of a large body in a thread. Call it when `done` is set."""
        decoder = self._decoder
        if decoder is None or not decoder.has_rest or self._is_abandoned or self._failure is not None:
            return
        failure = await asyncio.to_thread(decoder.decode_rest)
        if failure is None and self._is_whole:
            failure = decoder.finish()
        if failure is not None and (failure.failure is not Failure.TOO_LARGE or not self._request.truncate_body):
            self._failure = failure

    def fail(self, failure: FailureInfo) -> bool:
        """End with this failure, unless the response has ended already. Always False: no more bytes are wanted."""
        if not self.done.done():
            self._failure = failure
            self._finish()
        return False

    def result(self) -> Fetched:
        """The response or the failure. Call it once: it drops the body."""
        elapsed_s = time.perf_counter() - self._started
        is_read = not self._is_abandoned and self._failure is None
        body = self._take_body() if is_read else b""
        # Reader and deadline reference each other, so they live until the next garbage collection: drop the body now.
        self._body, self._decoder = b"", None
        # The head of a redirect or an error is a result even when the body is broken.
        if self._failure is not None and self.status < 300:
            return FetchFailure(self._request.url, *self._failure, elapsed_s, self._content_type())
        received = self.deadline.received
        return Response(
            self._request.url,
            self.status,
            self.headers,
            body,
            is_read,
            received,
            elapsed_s,
            self.remote,
            self.version,
            self.reason,
        )

    def _content_type(self) -> str:
        value = next((value for name, value in self.headers if name == "content-type"), "")
        return value[:_MAX_TYPE_CHARS].partition(";")[0].strip().lower()

    def _choose_decoder(self, head: ResponseHead) -> bool:
        """Whether the body can be decoded. Content-Encoding was applied first, then Transfer-Encoding."""
        codings = [coding for value in head.values("content-encoding") for coding in parse_encodings(value)]
        codings += head.transfer_codings
        if codings:
            self._decoder = BodyDecoder.make(codings, self._max_body)
        return not codings or self._decoder is not None

    def _passes_sniffing(self) -> bool:
        start = self._decoder.start if self._decoder else bytes(self._body[:_SNIFFED_BYTES])
        if not start:
            return True
        self._sniff = False
        is_document = self._documents and starts_like_document(start)
        if not is_document and _BINARY.search(start) and not start.startswith(_BOMS):
            return self._abandon()
        return True

    def _take_body(self) -> bytes:
        if self._decoder is not None:
            return self._decoder.body
        body = self._body[: self._max_wire] if self._request.truncate_body else self._body
        return bytes(body)

    def _abandon(self) -> bool:
        """End without the body, whose type is not wanted."""
        self._is_abandoned = True
        self._finish()
        return False

    def _on_timeout(self, message: str) -> None:
        self.fail(FailureInfo(Failure.TIMEOUT, message))

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


@lru_cache(maxsize=256)
def _is_text(content_type: str) -> bool:
    return _TEXT_TYPES.fullmatch(content_type) is not None
