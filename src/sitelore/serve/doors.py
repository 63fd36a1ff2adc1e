"""What every request passes before a route sees it: host, origin, token, size of the body. And what every answer gets.

Without tokens the server is for programs on this machine alone. A browser on this machine also runs pages of strangers, so
a request is refused when it comes under a foreign name (a name that was rebound to loopback) or from a page of another site.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sitelore.crawl.metrics import REGISTRY, histogram
from sitelore.model.errors import StorageError
from sitelore.serve import problems
from sitelore.serve.backstage import ApiSettings
from sitelore.serve.problems import Refused, problem_response

_LOG = logging.getLogger(__name__)

BODY_BYTES = 64 * 1024
BODY_S = 30.0
OPEN_PATHS = frozenset({"/health", "/ready"})
CALLER = "sitelore.caller"
_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"), (b"referrer-policy", b"no-referrer"))

REQUESTS = Counter("sitelore_http_requests_total", "Requests that were answered, by status.", ["status"], registry=REGISTRY)
ANSWER_TIME = histogram("sitelore_http_request_duration_seconds", "A request, until its answer was sent.")


@dataclass(slots=True)
class _Answer:
    """What became of a request."""

    status: int = 0
    began: float = field(default_factory=time.perf_counter)


class Doors:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings
        self._tokens = tuple(_digest(token.encode()) for token in settings.tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            await self._pass(scope, receive, sending, answer)
        finally:
            took_s = time.perf_counter() - answer.began
            REQUESTS.labels(str(answer.status)).inc()
            ANSWER_TIME.observe(took_s)
            # Never the query: it may hold what a person typed.
            what = {"method": scope["method"], "path": scope["path"], "status": answer.status, "ms": round(took_s * 1000, 1)}
            _LOG.log(logging.DEBUG if answer.status < 500 else logging.ERROR, "answered", extra=what)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, answer: _Answer) -> None:
        try:
            headers = dict(scope["headers"])
            self._judge_sender(scope, headers)
            scope[CALLER] = self._caller(scope, headers)
            if b"content-length" in headers or b"transfer-encoding" in headers:
                receive = await _whole_body(headers, receive)
            await self._app(scope, receive, send)
        except Refused as refused:
            await problem_response(refused, scope["path"])(scope, receive, send)
        except StorageError as problem:
            _LOG.exception("the ledger cannot be used", extra={"path": scope["path"]})
            await self._apologise(Refused(problems.UNAVAILABLE, str(problem)), scope, receive, send, answer)
        except Exception:  # noqa: BLE001 whatever goes wrong, the caller gets an answer
            _LOG.exception("a request failed", extra={"path": scope["path"]})
            await self._apologise(Refused(problems.INTERNAL), scope, receive, send, answer)

    @staticmethod
    async def _apologise(refused: Refused, scope: Scope, receive: Receive, send: Send, answer: _Answer) -> None:
        """An answer that has begun cannot be taken back: the connection breaks off, so that nobody takes half for whole."""
        if answer.status:
            raise ConnectionAbortedError(refused.kind.title)
        await problem_response(refused, scope["path"])(scope, receive, send)

    def _judge_sender(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if self._tokens:
            return  # no browser adds a bearer token by itself
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name(host) not in self._settings.own_hosts:
            names = ", ".join(sorted(self._settings.own_hosts))
            raise Refused(problems.MISDIRECTED, f"without tokens this server answers under {names} alone")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"{scope['scheme']}://{host}":
            raise Refused(problems.CROSS_ORIGIN, "the Origin header names another site")

    def _caller(self, scope: Scope, headers: dict[bytes, bytes]) -> str:
        """Who asks: the beginning of the token's hash, or nobody when there are no tokens."""
        if not self._tokens or scope["path"] in OPEN_PATHS:
            return ""
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = _digest(token.strip())
        # Every token is compared, in constant time: how long it takes says nothing.
        matches = [hmac.compare_digest(given, known) for known in self._tokens]
        if kind.lower() != b"bearer" or not any(matches):
            raise Refused(problems.UNAUTHORIZED, headers={"WWW-Authenticate": 'Bearer realm="sitelore"'})
        return given.hex()[:16]


async def _whole_body(headers: dict[bytes, bytes], receive: Receive) -> Receive:
    """Take the body in first, as far as it may go, and hand it on as one message."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > BODY_BYTES:
        raise _too_large()
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in _pieces(receive):
                body += piece
                if len(body) > BODY_BYTES:
                    raise _too_large()
    except TimeoutError:
        raise Refused(problems.SLOW_BODY, headers={"Connection": "close"}) from None
    if body and headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise Refused(problems.NOT_JSON)
    waiting: Iterator[Message] = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

    async def again() -> Message:
        for message in waiting:
            return message
        return await receive()

    return again


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _too_large() -> Refused:
    return Refused(problems.TOO_LARGE, f"at most {BODY_BYTES} bytes", headers={"Connection": "close"})


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0]
