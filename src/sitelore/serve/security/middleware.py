"""Security middleware: checks Host, Origin, bearer token, rate limits and body size, adds headers, counts and logs requests.

Without tokens the server is for programs on this machine only. A browser on this machine also runs pages of other sites, so
a request is refused when its Host is foreign (DNS rebinding) or its Origin is another site (CSRF). A token that is sent is
checked there as well.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sitelore.metrics import REGISTRY, histogram
from sitelore.model.errors import StorageError
from sitelore.model.platform.accounts import Caller
from sitelore.model.platform.rate_limits import BucketState, RequestClass
from sitelore.platform.accounts.rate_limits import buckets_of, request_class_of
from sitelore.serve import problems
from sitelore.serve.context import AccessControl
from sitelore.serve.problems import ApiProblem, problem_response
from sitelore.serve.security.sessions import LOGIN_PATH, SESSION, check_sender, is_public

_LOG = logging.getLogger(__name__)

BODY_BYTES = 64 * 1024
BODY_S = 30.0
OPEN_PATHS = frozenset({"/health", "/ready"})
SIGNED_PATHS = re.compile(r"/tenant/v1/channels/[^/]+/webcrawl/changed")
"""Routes that accept a signature instead of a token."""
SIGNUP_PATH = "/auth/v1/register/complete"
PUBLIC_PATHS = OPEN_PATHS | {SIGNUP_PATH, LOGIN_PATH}
"""Paths that need no token."""
CALLER = "sitelore.caller"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._~!$&'()*+,;=%-]+)(?::[0-9]*)?")
"""A Host header in lower case: `uri-host [ ":" port ]` (RFC 9110 section 7.2, RFC 3986 section 3.2.2)."""
_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
_NOT_CACHED = (b"cache-control", b"no-store")

REQUESTS = Counter("sitelore_http_requests_total", "Requests that were answered, by status.", ["status"], registry=REGISTRY)
REQUEST_DURATION = histogram("sitelore_http_request_duration_seconds", "A request, until its response was sent.")


@dataclass(slots=True)
class _Exchange:
    """Id, status and start time of a request, for metrics and the log."""

    request_id: str = field(default_factory=lambda: os.urandom(8).hex())
    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Headers to add to the response."""
    started: float = field(default_factory=time.perf_counter)


class SecurityMiddleware:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp, access: AccessControl) -> None:
        self._app = app
        self._access = access
        self._settings = access.settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                sent = message.get("headers", ())
                is_cached = any(name == b"cache-control" for name, _ in sent)
                own = (*_HEADERS, *(() if is_cached else (_NOT_CACHED,)), (b"x-request-id", exchange.request_id.encode()))
                message["headers"] = [*sent, *own, *exchange.headers]
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
                "request_id": exchange.request_id,
            }
            _LOG.log(logging.DEBUG if exchange.status < 500 else logging.ERROR, "request", extra=what)

    async def _handle(self, scope: Scope, receive: Receive, send: Send, exchange: _Exchange) -> None:
        try:
            headers = dict(scope["headers"])
            _check_framing(headers)
            await self._check_sender(scope, headers)
            caller = replace(await self._caller(scope, headers), request_id=exchange.request_id)
            scope[CALLER] = caller
            if scope["path"] not in OPEN_PATHS and (scope["path"] == LOGIN_PATH or not is_public(scope["path"])):
                await self._limit_rate(caller, scope, exchange)
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

    async def _check_sender(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if self._access.has_tokens or (scope["path"] not in OPEN_PATHS and await self._access.needs_token()):
            return  # a browser never adds a bearer token by itself
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name(host) not in self._settings.own_hosts:
            names = ", ".join(sorted(self._settings.own_hosts))
            raise ApiProblem(problems.MISDIRECTED, f"without tokens this server answers only under {names}")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"{scope['scheme']}://{host}":
            raise ApiProblem(problems.CROSS_ORIGIN, "the Origin header names another site")

    async def _caller(self, scope: Scope, headers: dict[bytes, bytes]) -> Caller:
        """The caller that the token belongs to. On a server without tokens, the operator: anyone on this machine."""
        address = (scope.get("client") or ("",))[0]
        if scope["path"] in OPEN_PATHS:
            return Caller(address=address)
        if scope["path"] == SIGNUP_PATH:
            return Caller(scopes=frozenset(), actor="sign-up", address=address)
        if is_public(scope["path"]):
            return Caller(scopes=frozenset(), actor="dashboard", address=address)
        authorization = headers.get(b"authorization")
        if authorization is None and b"webhook-signature" in headers and SIGNED_PATHS.fullmatch(scope["path"]):
            return Caller(scopes=frozenset(), actor="webhook", address=address)  # the route verifies the signature
        session = scope[SESSION] = await self._access.sessions.session_of(scope) if authorization is None else None
        if authorization is None and not await self._access.needs_token():
            return Caller(address=address)
        if session is not None:
            check_sender(scope, headers, session)
            caller = await self._access.authenticator.caller_by_id(session.token_id, address)
        else:
            caller = await self._caller_of_token(authorization, address)
        if caller is None:
            raise ApiProblem(problems.UNAUTHORIZED, headers={"WWW-Authenticate": 'Bearer realm="sitelore"'})
        if caller.is_suspended:
            raise ApiProblem(problems.TENANT_SUSPENDED)
        return caller

    async def _caller_of_token(self, authorization: bytes | None, address: str) -> Caller | None:
        if authorization is None:
            return None
        kind, _, token = authorization.partition(b" ")
        token, failures = token.strip(), self._access.failures
        failures.check(address, token)
        caller = await self._access.authenticator.caller(token, address) if kind.lower() == b"bearer" else None
        if caller is None:
            await failures.failed(address)
        else:
            failures.succeeded(token)
        return caller

    async def _limit_rate(self, caller: Caller, scope: Scope, exchange: _Exchange) -> None:
        """Take the request out of its token buckets, and note their state for the response."""
        by_address = {SIGNUP_PATH: RequestClass.SIGNUP, LOGIN_PATH: RequestClass.LOGIN}
        request_class = by_address.get(scope["path"]) or request_class_of(scope["method"], scope["path"])
        buckets = buckets_of(caller, request_class, self._settings.rate_limits)
        if not buckets:
            return
        states = await self._access.rate_limiter.take(buckets)
        exchange.headers = _rate_headers(states)
        if refused := [state for state in states if state.is_refused]:
            wait_s = max(state.reset_s for state in refused)
            raise ApiProblem(problems.RATE_LIMITED, f"try again in {wait_s} s", headers={"Retry-After": str(wait_s)})


def _check_framing(headers: dict[bytes, bytes]) -> None:
    # A proxy in front may see another end of the body, and in what follows it another request (RFC 9112 section 6.1).
    if b"content-length" in headers and b"transfer-encoding" in headers:
        raise ApiProblem(problems.AMBIGUOUS_BODY, headers={"Connection": "close"})


def _rate_headers(states: Sequence[BucketState]) -> list[tuple[bytes, bytes]]:
    """The state of the bucket that will be empty first."""
    state = min(states, key=lambda each: (not each.is_refused, each.remaining, -each.reset_s))
    values = (("limit", state.limit.requests), ("remaining", state.remaining), ("reset", state.reset_s))
    return [(f"ratelimit-{name}".encode(), str(value).encode()) for name, value in values]


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


def _name(host: str) -> str:
    """The host name of a Host header, without its port; empty when the header is malformed."""
    match = _HOST.fullmatch(host)
    return match[1] if match else ""
