"""What is taken of one answer: its head, and its body up to its caps, decoded, where it is wanted at all."""

from __future__ import annotations

import asyncio
import re
import time
from functools import lru_cache

from sitelore.fetch.answers import Head
from sitelore.fetch.attempt import Attempt, Watch
from sitelore.fetch.encodings import BodyDecoder, encodings_of
from sitelore.fetch.wire import Trouble
from sitelore.model.file_types import VAGUE_TYPES, is_document_type, starts_like_document
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response

_TEXT_TYPES = re.compile(r"text/.*|application/(?:.*\+)?(?:xml|json|xhtml|html)|.*\+(?:xml|json)")
_UNTOLD_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown"})
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SNIFFED = 512
_TYPE_CHARS = 255
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")


class Receipt:
    """Receives one answer (`wire.Receiver`). `over` is done when there is nothing more to wait for."""

    __slots__ = (
        "_body", "_cap", "_decoder", "_documents", "_loop", "_request", "_sniffs", "_started", "_trouble", "_was_left",
        "_wire_cap", "attempt", "headers", "is_unheard", "over", "remote", "status",
    )  # fmt: skip

    def __init__(self, request: Request, watch: Watch, *, documents: bool) -> None:
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.remote = ""
        self.is_unheard = False
        """The connection ended before the server had said anything."""
        self.attempt = Attempt(watch, self._expired)
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()
        self._request = request
        self._documents = documents
        self._started = time.perf_counter()
        self._cap = watch.limits.body_bytes
        self._wire_cap = watch.limits.wire_bytes
        self._decoder: BodyDecoder | None = None
        self._sniffs = False
        """Its type was not told: it is left alone when it starts like no text."""
        self._body: bytes | bytearray = b""
        self._was_left = False
        self._trouble: Trouble | None = None

    def sending(self, remote: str) -> None:
        """The request leaves now."""
        self.remote = remote
        self.attempt.sending(self._loop.time())

    def sending_again(self) -> None:
        """Nothing has come of it so far, and it will be sent once more."""
        self.attempt.end()
        self.over = self._loop.create_future()
        self.is_unheard, self._trouble = False, None

    def answered(self, head: Head) -> bool:
        """The head has come; whether the body is wanted."""
        self.status, self.headers = head.status, head.headers
        self.attempt.receiving(self._loop.time())
        if head.status == 101:
            return self._fail((Failure.PROTOCOL, "The server switched protocols unasked."))
        content_type = ""
        if not self._request.whole_types:
            told = next((value for name, value in head.headers if name == "content-type"), "")
            content_type = told[:_TYPE_CHARS].partition(";")[0].strip().lower()
            self._sniffs = content_type in _UNTOLD_TYPES or (self._documents and content_type in VAGUE_TYPES)
            if not self._sniffs and not _is_text(content_type) and not (self._documents and is_document_type(content_type)):
                return self._leave()
        if self._request.max_body_bytes is not None:
            self._cap = min(self._cap, self._request.max_body_bytes)
        if not self._decodes(head):
            return self._fail((Failure.DECODING, "The body has a Content-Encoding that is not known."))
        if self._decoder is None:
            self._wire_cap = min(self._cap, self._wire_cap)
        if head.length is not None and head.length > self._wire_cap and not self._request.cut_at_cap:
            if self._sniffs and content_type not in _UNTOLD_TYPES:
                return self._leave()  # an archive, of which few are documents
            return self._fail((Failure.TOO_LARGE, f"The body is {head.length} bytes, {self._wire_cap} are allowed."))
        return True

    def take(self, piece: bytes) -> bool:
        """A piece of the body; whether more is wanted."""
        attempt, decoder = self.attempt, self._decoder
        attempt.received += len(piece)
        failure, detail = None, ""
        if decoder is not None:
            failure, detail = decoder.feed(piece), decoder.detail
        elif not self._body:
            self._body = piece
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += piece
        if failure is None and attempt.received > self._wire_cap:
            failure, detail = Failure.TOO_LARGE, f"The body is larger than {self._wire_cap} bytes."
        if failure is Failure.TOO_LARGE and self._request.cut_at_cap:
            self._over()
            return False
        if failure is not None:
            return self._fail((failure, detail))
        return not self._sniffs or self._starts_well()

    def ended(self, trouble: Trouble | None, *, unheard: bool = False) -> None:
        """The answer is whole, or something went wrong."""
        self.is_unheard = unheard
        if trouble is None and self._decoder is not None and (failure := self._decoder.finish()) is not None:
            trouble = failure, self._decoder.detail
        if trouble is not None:
            self._fail(trouble)
        else:
            self._over()

    def failed(self, trouble: Trouble) -> None:
        """Nothing was sent, or nothing can come any more."""
        self._fail(trouble)

    def fetched(self) -> Fetched:
        """What has come of it; asked once."""
        elapsed_s = time.perf_counter() - self._started
        # Of a redirect or an error that broke off, the head has said what it has to say.
        was_read = not self._was_left and self._trouble is None
        body = self._whole() if was_read else b""
        # The attempt calls back, so the two of them go only when garbage is looked for: not with a page in their hands.
        self._body, self._decoder = b"", None
        if self._trouble is not None and self.status < 300:
            return FetchFailure(self._request.url, *self._trouble, elapsed_s)
        received = self.attempt.received
        return Response(self._request.url, self.status, self.headers, body, was_read, received, elapsed_s, self.remote)

    def _decodes(self, head: Head) -> bool:
        """Whether what was done to the body can be undone. It was encoded first, and then made ready for the way."""
        codings = [coding for value in head.values("content-encoding") for coding in encodings_of(value)]
        codings += head.transfer_codings
        if codings:
            self._decoder = BodyDecoder.make(", ".join(codings), self._cap)
        return not codings or self._decoder is not None

    def _starts_well(self) -> bool:
        start = self._decoder.start if self._decoder else bytes(self._body[:_SNIFFED])
        if not start:
            return True
        self._sniffs = False
        is_file = self._documents and starts_like_document(start)
        if not is_file and _BINARY.search(start) and not start.startswith(_BOMS):
            return self._leave()
        return True

    def _whole(self) -> bytes:
        if self._decoder is not None:
            return self._decoder.body
        body = self._body[: self._wire_cap] if self._request.cut_at_cap else self._body
        return bytes(body)

    def _leave(self) -> bool:
        self._was_left = True
        self._over()
        return False

    def _fail(self, trouble: Trouble) -> bool:
        if not self.over.done():
            self._trouble = trouble
            self._over()
        return False

    def _expired(self, sentence: str) -> None:
        self._fail((Failure.TIMEOUT, sentence))

    def _over(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


@lru_cache(maxsize=256)
def _is_text(content_type: str) -> bool:
    return _TEXT_TYPES.fullmatch(content_type) is not None
