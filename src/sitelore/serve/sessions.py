"""Sessions of the dashboard: one-time logins, cookies, and protection against cross-site request forgery (CSRF).

A browser cannot add a bearer token to the requests of `EventSource` or of a download link, and script must not keep one. So a
browser that has signed in gets an http-only cookie, and `Sessions.authorize` replaces the cookie by the token it was
issued for. Everything after that, scopes and revocation included, is what the token alone would get.

Sessions are kept in memory: a restart of the server signs every browser out.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from starlette.types import Scope

from sitelore.serve.problems import CROSS_ORIGIN, LOGIN_EXPIRED, ApiProblem

LOGIN_S = 600.0
"""How long a one-time login is valid."""
IDLE_S = 12 * 3600.0
"""A session ends after this time without a request."""
MAX_AGE_S = 7 * 86_400.0
MAX_SESSIONS = 1000
"""At the limit, the session that was used longest ago ends."""
CSRF_HEADER = b"x-csrf-token"
LOGIN_PATH = "/session/code"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_DASHBOARD = re.compile(r"/|/ui|/ui/.*")

Headers = dict[bytes, bytes]


@dataclass(slots=True)
class Session:
    """A signed-in browser."""

    id: str
    authorization: bytes
    """The Authorization header that the cookie represents; empty on a server without tokens."""
    csrf: str
    """Must be in a header of every request that changes something."""
    opened_at: float
    used_at: float


@dataclass(slots=True)
class Sessions:
    """All sessions of one server process."""

    token: str = ""
    """The token that a one-time login gives; empty on a server without tokens."""
    clock: Callable[[], float] = time.monotonic
    _logins: dict[str, float] = field(default_factory=dict)
    _sessions: OrderedDict[str, Session] = field(default_factory=OrderedDict)

    def new_login(self) -> str:
        """A code that signs in one browser, once, within ten minutes."""
        now = self.clock()
        self._logins = {code: end for code, end in self._logins.items() if end > now}
        code = secrets.token_urlsafe(32)
        self._logins[code] = now + LOGIN_S
        return code

    def sign_in(self, code: str) -> Session:
        """A session for a one-time login, which is used up by this."""
        ends_at = self._logins.pop(code, None)
        if ends_at is None or ends_at <= self.clock():
            raise ApiProblem(LOGIN_EXPIRED, "the link was used already, or is older than 10 minutes; start the server again")
        return self.open(f"Bearer {self.token}".encode() if self.token else b"")

    def open(self, authorization: bytes) -> Session:
        """A session for the sender of this Authorization header, which was checked before."""
        now = self.clock()
        session = Session(secrets.token_urlsafe(32), authorization, secrets.token_urlsafe(32), now, now)
        self._sessions[session.id] = session
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def close(self, session: Session) -> None:
        """Sign out."""
        self._sessions.pop(session.id, None)

    def session_of(self, scope: Scope) -> Session | None:
        """The session whose cookie the request carries."""
        raw = dict(scope["headers"]).get(b"cookie")
        if raw is None:
            return None
        try:
            cookie = SimpleCookie(raw.decode("latin-1")).get(cookie_name(scope))
        except CookieError:
            return None
        session = self._sessions.get(cookie.value) if cookie is not None else None
        if session is None:
            return None
        now = self.clock()
        if now - session.used_at > IDLE_S or now - session.opened_at > MAX_AGE_S:
            self.close(session)
            return None
        session.used_at = now
        self._sessions.move_to_end(session.id)
        return session

    def authorize(self, scope: Scope, headers: Headers) -> Headers:
        """The headers with the token that the session cookie replaces, if there is one and no token was sent.

        Raises `ApiProblem` when a request that changes something does not come from our own page (CSRF).
        """
        if b"authorization" in headers or is_public(scope["path"]):
            return headers
        session = self.session_of(scope)
        if session is None or not session.authorization:
            return headers
        if scope["method"] not in _SAFE_METHODS:
            _check_origin(headers, session)
        return {**headers, b"authorization": session.authorization}


def _check_origin(headers: Headers, session: Session) -> None:
    """Refuse a request of another site. Only hosts are compared: a proxy in front may speak TLS where this server does not."""
    origin = headers.get(b"origin", b"").decode("latin-1").lower().partition("://")[2]
    if not origin or origin != headers.get(b"host", b"").decode("latin-1").lower():
        raise ApiProblem(CROSS_ORIGIN, "the Origin header is missing or names another site")
    if not hmac.compare_digest(headers.get(CSRF_HEADER, b""), session.csrf.encode()):
        raise ApiProblem(CROSS_ORIGIN, "the X-CSRF-Token header does not belong to this session; reload the page")


def is_public(path: str) -> bool:
    """Whether a path needs no token: the files of the dashboard, and the one-time login."""
    return path == LOGIN_PATH or _DASHBOARD.fullmatch(path) is not None


def cookie_name(scope: Scope) -> str:
    """The name of the session cookie. Browsers send cookies to every port of a host, so the port is part of the name."""
    _, port = scope.get("server") or ("", 0)
    return f"sitelore_session_{port or 0}"


def cookie_header(scope: Scope, value: str) -> str:
    """The Set-Cookie header that keeps this value; empty: that removes the cookie."""
    secure = "; Secure" if scope["scheme"] == "https" else ""
    age = "" if value else "; Max-Age=0"
    return f"{cookie_name(scope)}={value}; Path=/; HttpOnly; SameSite=Strict{age}{secure}"
