"""Sessions of the dashboard: one-time logins, cookies, and protection against cross-site request forgery (CSRF).

A browser cannot add a bearer token to the requests of `EventSource` or of a download link, and script must not keep one. So a
browser that has signed in gets an http-only cookie, which represents the id of the token that it signed in with. Every
request looks the token up again: scopes, expiry and revocation are what the token alone would get.

Sessions are in a `SessionStore`: of this process, or in Redis, so that a browser may reach any server. The store has
hashes of the cookies and ids of tokens, no secret.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

import msgspec
from starlette.types import Scope

from sitelore.platform.accounts.authentication import LocalSessionStore
from sitelore.platform_ports import SessionStore
from sitelore.serve.problems import CROSS_ORIGIN, LOGIN_EXPIRED, ApiProblem

LOGIN_S = 600.0
"""How long a one-time login is valid."""
IDLE_S = 12 * 3600.0
"""A session ends after this time without a request."""
MAX_AGE_S = 7 * 86_400.0
CSRF_HEADER = b"x-csrf-token"
LOGIN_PATH = "/session/code"
SESSION = "sitelore.session"
"""The key of the ASGI scope under which the session of a request is."""
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_DASHBOARD = re.compile(r"/|/ui|/ui/.*")

Headers = dict[bytes, bytes]


class Session(msgspec.Struct, frozen=True):
    """A signed-in browser."""

    token_id: str
    """The token that the cookie represents; empty on a server without tokens."""
    csrf: str
    """Must be in a header of every request that changes something."""
    opened_at: float
    cookie: str = ""
    """The value of the cookie. It is not stored."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of all browsers."""

    store: SessionStore = field(default_factory=LocalSessionStore)
    clock: Callable[[], float] = time.time

    async def new_login(self, token_id: str) -> str:
        """A code that signs in one browser as this token, once, within ten minutes."""
        code = secrets.token_urlsafe(32)
        await self.store.put(_key("login", code), token_id.encode(), LOGIN_S)
        return code

    async def sign_in(self, code: str) -> Session:
        """A session for a one-time login, which is used up by this."""
        token_id = await self.store.take(_key("login", code))
        if token_id is None:
            raise ApiProblem(LOGIN_EXPIRED, "the link was used already, or is older than 10 minutes; start the server again")
        return await self.open(token_id.decode())

    async def open(self, token_id: str) -> Session:
        """A session for the sender of a request with this token."""
        session = Session(token_id, secrets.token_urlsafe(32), self.clock(), secrets.token_urlsafe(32))
        stored = msgspec.structs.replace(session, cookie="")
        await self.store.put(_key("session", session.cookie), msgspec.json.encode(stored), IDLE_S)
        return session

    async def close(self, session: Session) -> None:
        """Sign out."""
        await self.store.take(_key("session", session.cookie))

    async def session_of(self, scope: Scope) -> Session | None:
        """The session whose cookie the request carries."""
        raw = dict(scope["headers"]).get(b"cookie")
        if raw is None:
            return None
        try:
            cookie = SimpleCookie(raw.decode("latin-1")).get(cookie_name(scope))
        except CookieError:
            return None
        stored = await self.store.get(_key("session", cookie.value), IDLE_S) if cookie is not None else None
        if cookie is None or stored is None:
            return None
        session = msgspec.structs.replace(msgspec.json.decode(stored, type=Session), cookie=cookie.value)
        if self.clock() - session.opened_at > MAX_AGE_S:
            await self.close(session)
            return None
        return session


def _key(kind: str, secret: str) -> str:
    return f"{kind}:{sha256(secret.encode()).hexdigest()}"


def check_sender(scope: Scope, headers: Headers, session: Session) -> None:
    """Raise `ApiProblem` when a request that changes something does not come from our own page (CSRF)."""
    if scope["method"] in _SAFE_METHODS:
        return
    # Only hosts are compared: a proxy in front may speak TLS where this server does not.
    origin = headers.get(b"origin", b"").decode("latin-1").lower().partition("://")[2]
    if not origin or origin != headers.get(b"host", b"").decode("latin-1").lower():
        raise ApiProblem(CROSS_ORIGIN, "the Origin header is missing or names another site")
    if not hmac.compare_digest(headers.get(CSRF_HEADER, b""), session.csrf.encode()):
        raise ApiProblem(CROSS_ORIGIN, "the X-CSRF-Token header does not belong to this session; reload the page")


def is_public(path: str) -> bool:
    """Whether a path needs no token: the files of the dashboard, and the one-time login."""
    return path == LOGIN_PATH or _DASHBOARD.fullmatch(path) is not None


def cookie_name(scope: Scope) -> str:
    """The name of the session cookie. Browsers send cookies to every port of a host, so the port is part of the name.

    It is the port that the browser sees: servers behind one proxy have the same.
    """
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    port = host.rpartition(":")[2]
    return f"sitelore_session_{port if port.isascii() and port.isdecimal() else 0}"


def cookie_header(scope: Scope, value: str) -> str:
    """The Set-Cookie header that keeps this value; empty: that removes the cookie."""
    secure = "; Secure" if scope["scheme"] == "https" else ""
    age = "" if value else "; Max-Age=0"
    return f"{cookie_name(scope)}={value}; Path=/; HttpOnly; SameSite=Strict{age}{secure}"
