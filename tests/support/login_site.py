"""A site behind a login form, on a free loopback port.

with serve_login_site(LoginSite()) as site:
    site.origin               # http://127.0.0.1:<port>
    site.expire_after(3)      # the session ends after three more pages
    site.secrets()            # the password, and every session value that the site has issued
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qs

USER, PASSWORD = "ann", "open-4711-sesame"
TOKEN = "local-token-0815-abcdef"
WORDS = "Everything behind the form is written down here, for those who have logged in, and for no other visitor. " * 6
FORM = (
    "<form method=post action=/login><input id=user name=user><input id=password name=password type=password>"
    "<button id=go>Log in</button></form>"
)


@dataclass(slots=True)
class LoginSite:
    """What the site shows, and to whom."""

    pages: int = 6
    form_in_place: bool = False
    """Visitors who are not logged in get the login form at the URL of the page, instead of a redirect to it."""
    renews_at: str = ""
    """The path whose response replaces the session cookie; the old one is not valid any more."""
    port: int = 0
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """(method, path, headers) of every request."""
    issued: list[str] = field(default_factory=list)
    valid: set[str] = field(default_factory=set)
    left: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def secrets(self) -> list[str]:
        return [PASSWORD, TOKEN, *self.issued]

    def expire_after(self, pages: int) -> None:
        """End all sessions after this many more pages."""
        self.left = pages

    def issue(self) -> str:
        """A new valid session."""
        self.issued.append(f"sess-{token_hex(12)}-1")
        self.valid = {self.issued[-1]}
        return self.issued[-1]

    def paths(self) -> list[str]:
        """The paths of all GET requests, in order."""
        return [path for method, path, _ in self.requests if method == "GET"]

    def respond(self, method: str, path: str, headers: dict[str, str], body: str) -> tuple[int, dict[str, str], str]:
        """Status, headers and body of a response."""
        with self.lock:
            self.requests.append((method, path, headers))
            if path == "/login":
                return self._log_in(body) if method == "POST" else (200, {}, f"<title>Log in</title><main>{FORM}</main>")
            if path == "/robots.txt":
                return 404, {}, ""
            session = SimpleCookie(headers.get("cookie", "")).get("session")
            value = session.value if session is not None else ""
            if self.left is not None and value in self.valid:
                self.left -= 1
                if self.left < 0:
                    self.valid, self.left = set(), None
            if path == "/logout":
                self.valid = set()
            if value not in self.valid or path == "/admin":
                if self.form_in_place:
                    return 200, {}, f"<title>Members only</title><main><h1>Members only</h1>{FORM}</main>"
                return 302, {"Location": f"/login?next={path}"}, ""
            extra = {"Set-Cookie": f"session={self.issue()}; Path=/; HttpOnly"} if path == self.renews_at else {}
            return 200, extra, self._page(path, value)

    def _log_in(self, body: str) -> tuple[int, dict[str, str], str]:
        values = parse_qs(body)
        if values.get("user") != [USER] or values.get("password") != [PASSWORD]:
            return 200, {}, f"<title>Log in</title><main><p>Wrong password.</p>{FORM}</main>"
        return 302, {"Location": "/account", "Set-Cookie": f"session={self.issue()}; Path=/; HttpOnly"}, ""

    def _page(self, path: str, session: str) -> str:
        if path == "/account":
            script = f"<script>localStorage.setItem('token', '{TOKEN}')</script>"
            return f"<title>Account</title><main><h1>Account</h1><p>Welcome, {USER}.</p></main>{script}"
        links = "".join(f"<a href=/page/{number}>page {number}</a> " for number in range(self.pages))
        links += "<a href=/logout>Log out</a> <a href=/admin>Administration</a> <a href=/login>Log in again</a>"
        return (
            f"<title>Inside {path}</title><main><h1>Inside {path}</h1><p>{WORDS} This is {path}.</p>"
            f"<p>Your session is {session}.</p>{links}</main>"
        )


@contextlib.contextmanager
def serve_login_site(site: LoginSite) -> Iterator[LoginSite]:
    """Run the site."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, extra, text = site.respond(method, self.path.partition("?")[0], headers, body)
            data = text.encode()
            self.send_response(status)
            for name, value in {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(data)), **extra}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.handle_request("GET")

        def do_POST(self) -> None:
            self.handle_request("POST")

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
