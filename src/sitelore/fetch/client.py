"""URL → Response over HTTP/1.1: one GET, within its limits, following nothing."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import aiohttp
from yarl import URL

from sitelore.fetch.attempt import Attempt, current
from sitelore.fetch.connections import GuardedConnector, Lookup, system_lookup
from sitelore.fetch.cookies import CookieJar
from sitelore.fetch.encodings import BodyDecoder, encodings_of
from sitelore.fetch.failures import UNSENDABLE, explain
from sitelore.fetch.guard import AddressGuard
from sitelore.model.file_types import VAGUE_TYPES, is_document_type, starts_like_document
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response
from sitelore.model.settings import CrawlSettings
from sitelore.ports import Clock

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_MAX_HEADER = 64 * 1024
_READ_BUFFER = 256 * 1024

_TEXT_TYPES = re.compile(r"text/.*|application/(?:.*\+)?(?:xml|json|xhtml|html)|.*\+(?:xml|json)")
_UNTOLD_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown"})
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SNIFFED = 512
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")


@dataclass(frozen=True, slots=True)
class _Body:
    data: bytes = b""
    was_read: bool = True
    failure: Failure | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a body is read."""

    wire_cap: int
    cut_at_cap: bool
    sniff: bool
    """Its type was not told: it is left alone when it starts like no text."""
    documents: bool = False
    """Unless it starts like a file that is read."""


_LEFT_ALONE = _Body(was_read=False)
_UNSENDABLE = _Body(failure=UNSENDABLE[0], detail=UNSENDABLE[1])


class HttpFetcher:
    """Fetches for one run. Cookies live as long as it does; connections are kept and judged by the guard.

    `sent` is told the authority whenever a request leaves.
    """

    def __init__(
        self,
        settings: CrawlSettings,
        guard: AddressGuard,
        *,
        sent: Callable[[str], None] = lambda _: None,
        clock: Clock = time.time,
        lookup: Lookup = system_lookup,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._limits = settings.limits
        self._concurrency = max(1, settings.pace.concurrency)
        self._user_agent = settings.user_agent
        self._documents = settings.documents
        self._guard = guard
        self._lookup = lookup
        self._sent = sent
        self._tls = tls
        self._cookies = CookieJar(clock)
        self._session: aiohttp.ClientSession | None = None

    async def fetch(self, request: Request) -> Fetched:
        """One GET; failures come back as data."""
        session = self._session or self._open()
        attempt = Attempt(request.url, self._limits)
        current.set(attempt)
        try:
            body = await self._exchange(session, request, attempt)
        except asyncio.CancelledError:
            if not attempt.has_expired():
                raise
            body = _Body(failure=Failure.TIMEOUT, detail=attempt.expired)
        except (aiohttp.ClientError, OSError, RuntimeError, ValueError) as error:
            if session.closed:
                raise
            failure, detail = explain(error, attempt, self._limits.connect_s)
            body = _Body(failure=failure, detail=detail)
        finally:
            attempt.end()
        return _fetched(attempt, body)

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            connector=GuardedConnector(self._guard, self._lookup, self._concurrency, self._tls, self._sent),
            headers={"User-Agent": self._user_agent, "Accept": _ACCEPT, "Accept-Encoding": "gzip, deflate, br, zstd"},
            cookie_jar=aiohttp.DummyCookieJar(),
            # All but the connect phase is watched by the attempt's own timer.
            timeout=aiohttp.ClientTimeout(total=None, connect=self._limits.connect_s),
            auto_decompress=False,
            trust_env=False,
            read_bufsize=_READ_BUFFER,
            max_line_size=_MAX_HEADER,
            max_field_size=_MAX_HEADER,
        )
        return self._session

    def _headers(self, request: Request) -> dict[str, str] | None:
        headers = {} if request.accept is None else {"Accept": request.accept}
        if request.etag:
            headers["If-None-Match"] = request.etag
        if request.last_modified:
            headers["If-Modified-Since"] = request.last_modified
        if self._cookies and (cookie := self._cookies.header(request.url)):
            headers["Cookie"] = cookie
        return headers or None

    async def _exchange(self, session: aiohttp.ClientSession, request: Request, attempt: Attempt) -> _Body:
        url = request.url
        target = URL(url, encoded=True)
        if target.raw_host != url.host.strip("[]") or target.port != url.port:
            return _UNSENDABLE  # two readings of one URL are how a guard is walked around
        answer = await session.get(target, headers=self._headers(request), allow_redirects=False)
        try:
            attempt.receiving(answer.status, tuple((_text(name).lower(), _text(value)) for name, value in answer.raw_headers))
            if "Set-Cookie" in answer.headers:
                self._cookies.store(url, [value for name, value in attempt.headers if name == "set-cookie"])
            return await self._body(request, answer, attempt)
        finally:
            if not answer.closed:
                answer.close()

    async def _body(self, request: Request, answer: aiohttp.ClientResponse, attempt: Attempt) -> _Body:
        if answer.status == 101:
            return _Body(failure=Failure.PROTOCOL, detail="The server switched protocols unasked.")
        sniff, content_type = False, ""
        if not request.whole_types:
            content_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            sniff = content_type in _UNTOLD_TYPES or (self._documents and content_type in VAGUE_TYPES)
            if not sniff and not _is_text(content_type) and not (self._documents and is_document_type(content_type)):
                return _LEFT_ALONE
        cap = self._limits.body_bytes
        if request.max_body_bytes is not None:
            cap = min(cap, request.max_body_bytes)
        coding = ", ".join(answer.headers.getall("Content-Encoding", ()))
        decoder = None
        if coding and encodings_of(coding):
            decoder = BodyDecoder.make(coding, cap)
            if decoder is None:
                return _Body(failure=Failure.DECODING, detail="The body has a Content-Encoding that is not known.")
        wire_cap = self._limits.wire_bytes if decoder else min(cap, self._limits.wire_bytes)
        declared = answer.content_length
        if declared is not None and declared > wire_cap and not request.cut_at_cap and answer.status != 304:
            if sniff and content_type not in _UNTOLD_TYPES:
                return _LEFT_ALONE  # an archive, of which few are documents
            return _Body(failure=Failure.TOO_LARGE, detail=f"The body is {declared} bytes, {wire_cap} are allowed.")
        body = await _read(answer.content, attempt, decoder, _Reading(wire_cap, request.cut_at_cap, sniff, self._documents))
        if body.failure is None and body.was_read and _was_reset(answer, attempt):
            return _Body(failure=Failure.TRUNCATED, detail="The connection was reset before the body ended.")
        return body


async def _read(content: aiohttp.StreamReader, attempt: Attempt, decoder: BodyDecoder | None, how: _Reading) -> _Body:
    """The body up to its caps."""
    pieces: list[bytes] = []
    is_sniffed = not how.sniff
    while piece := await content.readany():
        attempt.received += len(piece)
        failure, detail = None, ""
        if decoder is None:
            pieces.append(piece)
        else:
            failure, detail = decoder.feed(piece), decoder.detail
        if failure is None and attempt.received > how.wire_cap:
            failure, detail = Failure.TOO_LARGE, f"The body is larger than {how.wire_cap} bytes."
        if failure is Failure.TOO_LARGE and how.cut_at_cap:
            return _Body(decoder.body if decoder else b"".join(pieces)[: how.wire_cap])
        if failure is not None:
            return _Body(failure=failure, detail=detail)
        if not is_sniffed and (start := decoder.start if decoder else piece[:_SNIFFED]):
            is_sniffed = True
            is_file = how.documents and starts_like_document(start)
            if not is_file and _BINARY.search(start) and not start.startswith(_BOMS):
                return _LEFT_ALONE
    if decoder is None:
        return _Body(pieces[0] if len(pieces) == 1 else b"".join(pieces))
    ended = decoder.finish()
    return _Body(decoder.body) if ended is None else _Body(failure=ended, detail=decoder.detail)


def _was_reset(answer: aiohttp.ClientResponse, attempt: Attempt) -> bool:
    """Whether a body that only the end of the connection ends was ended by an error: the library takes it for whole."""
    if answer.content_length is not None or "Transfer-Encoding" in answer.headers or attempt.protocol is None:
        return False
    return isinstance(attempt.protocol.exception(), aiohttp.ClientOSError)


def _fetched(attempt: Attempt, body: _Body) -> Fetched:
    elapsed_s = time.perf_counter() - attempt.started
    if body.failure is not None:
        if attempt.status < 300:
            return FetchFailure(attempt.url, body.failure, body.detail, elapsed_s)
        body = _LEFT_ALONE  # a redirect or an error has said in its head what it has to say
    return Response(
        attempt.url,
        attempt.status,
        attempt.headers,
        body.data,
        body.was_read,
        attempt.received,
        elapsed_s,
        attempt.remote,
    )


@lru_cache(maxsize=256)
def _is_text(content_type: str) -> bool:
    return _TEXT_TYPES.fullmatch(content_type) is not None


def _text(raw: bytes) -> str:
    """A header as text: UTF-8 where it is, Latin-1 otherwise; never a surrogate, which no database takes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
