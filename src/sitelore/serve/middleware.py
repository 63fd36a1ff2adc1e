"""Security middleware: checks Host, Origin, bearer token and body size, adds security headers, counts and logs requests.

Without tokens the server is for programs on this machine only. A browser on this machine also runs pages of other sites, so
a request is refused when its Host is foreign (DNS rebinding) or its Origin is another site (CSRF).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sitelore.metrics import REGISTRY, histogram
from sitelore.model.errors import StorageError
from sitelore.model.platform.accounts import Caller
from sitelore.serve import problems
from sitelore.serve.context import ApiSettings
from sitelore.serve.problems import ApiProblem, problem_response
from sitelore.serve.sessions import is_public

_LOG = logging.getLogger(__name__)

BODY_BYTES = 64 * 1024
BODY_S = 30.0
OPEN_PATHS = frozenset({"/health", "/ready"})
CALLER = "sitelore.caller"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._~!$&'()*+,;=%-]+)(?::[0-9]*)?")
"""A Host header in lower case: `uri-host [ ":" port ]` (RFC 9110 section 7.2, RFC 3986 section 3.2.2)."""
_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
_NOT_CACHED = (b"cache-control", b"no-store")

REQUESTS = Counter("sitelore_http_requests_total", "Requests that were answered, by status.", ["status"], registry=REGISTRY)
REQUEST_DURATION = histogram("sitelore_http_request_duration_seconds", "A request, until its response was sent.")


@dataclass(slots=True)
class _Exchange:
    """Status and start time of a request, for metrics and the log."""

    status: int = 0
    started: float = field(default_factory=time.perf_counter)


class SecurityMiddleware:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings
        self._tokens = tuple(_digest(token.encode()) for token in settings.tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                own = message.get("headers", ())
                is_cached = any(name == b"cache-control" for name, _ in own)
                message["headers"] = [*own, *_HEADERS, *(() if is_cached else (_NOT_CACHED,))]
            await send(message)

        try:
            await self._handle(scope, receive, send_with_headers, exchange)
        finally:
            elapsed_s = time.perf_counter() - exchange.started
            REQUESTS.labels(str(exchange.status)).inc()
            REQUEST_DURATION.observe(elapsed_s)
            # Never log the query string: it may hold what a person typed.
            what = {
                "method": scope["method"],
                "path": scope["path"],
                "status": exchange.status,
                "ms": round(elapsed_s * 1000, 1),
            }
            _LOG.log(logging.DEBUG if exchange.status < 500 else logging.ERROR, "request", extra=what)

    async def _handle(self, scope: Scope, receive: Receive, send: Send, exchange: _Exchange) -> None:
        try:
            headers = dict(scope["headers"])
            self._check_sender(scope, headers)
            headers = self._settings.sessions.authorize(scope, headers)
            scope[CALLER] = self._caller(scope, headers)
            if b"content-length" in headers or b"transfer-encoding" in headers:
                receive = await _read_body(headers, receive)
            await self._app(scope, receive, send)
        except ApiProblem as refused:
            await problem_response(refused, scope["path"])(scope, receive, send)
        except StorageError as problem:
            _LOG.exception("storage unavailable", extra={"path": scope["path"]})
            await self._send_error(ApiProblem(problems.UNAVAILABLE, str(problem)), scope, receive, send, exchange)
        except Exception:  # noqa: BLE001 the client gets a 500 problem
            _LOG.exception("request failed", extra={"path": scope["path"]})
            await self._send_error(ApiProblem(problems.INTERNAL), scope, receive, send, exchange)

    @staticmethod
    async def _send_error(refused: ApiProblem, scope: Scope, receive: Receive, send: Send, exchange: _Exchange) -> None:
        """Send a problem; if the response has started, abort the connection so that the client sees it is incomplete."""
        if exchange.status:
            raise ConnectionAbortedError(refused.kind.title)
        await problem_response(refused, scope["path"])(scope, receive, send)

    def _check_sender(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if self._tokens:
            return  # a browser never adds a bearer token by itself
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name(host) not in self._settings.own_hosts:
            names = ", ".join(sorted(self._settings.own_hosts))
            raise ApiProblem(problems.MISDIRECTED, f"without tokens this server answers under {names} alone")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"{scope['scheme']}://{host}":
            raise ApiProblem(problems.CROSS_ORIGIN, "the Origin header names another site")

    def _caller(self, scope: Scope, headers: dict[bytes, bytes]) -> Caller:
        """The caller: the operator of the default tenant. Without tokens, anyone on this machine."""
        address = (scope.get("client") or ("",))[0]
        if not self._tokens or scope["path"] in OPEN_PATHS or is_public(scope["path"]):
            return Caller(address=address)
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        digest = _digest(token.strip())
        # Compare with every token in constant time, so that timing reveals nothing.
        matches = [hmac.compare_digest(digest, known) for known in self._tokens]
        if kind.lower() != b"bearer" or not any(matches):
            raise ApiProblem(problems.UNAUTHORIZED, headers={"WWW-Authenticate": 'Bearer realm="sitelore"'})
        return Caller(token_id=digest.hex()[:16], actor="operator", address=address)


async def _read_body(headers: dict[bytes, bytes], receive: Receive) -> Receive:
    """Read the body up to the size and time limits, and replay it to the application as one message."""
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
        raise ApiProblem(problems.SLOW_BODY, headers={"Connection": "close"}) from None
    if body and headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise ApiProblem(problems.NOT_JSON)
    waiting: Iterator[Message] = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

    async def replay() -> Message:
        for message in waiting:
            return message
        return await receive()

    return replay


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _too_large() -> ApiProblem:
    return ApiProblem(problems.TOO_LARGE, f"at most {BODY_BYTES} bytes", headers={"Connection": "close"})


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _name(host: str) -> str:
    """The host name of a Host header, without its port; empty when the header is malformed."""
    match = _HOST.fullmatch(host)
    return match[1] if match else ""
