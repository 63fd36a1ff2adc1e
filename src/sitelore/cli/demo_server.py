"""The demo's site: bundled files on a free loopback port, with a redirect, validators and a proper 404."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from typing import ClassVar

_MOVED = {"/blog/why-crawl": "/articles/why-crawl"}
_TYPES = {
    "xml": "application/xml",
    "txt": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}
_ORIGIN = b"{origin}"


class DemoSite(BaseHTTPRequestHandler):
    """GET requests for the bundled pages."""

    protocol_version = "HTTP/1.1"
    pages: ClassVar[dict[str, tuple[str, bytes]]] = {}

    def do_GET(self) -> None:
        """One request."""
        path = self.path.partition("?")[0]
        if path in _MOVED:
            self._send(301, "text/plain", b"", location=_MOVED[path])
            return
        kind, body = self.pages.get(path, ("", b""))
        if not kind:
            kind, body = self.pages["/404"]
            self._send(404, kind, body)
            return
        body = body.replace(_ORIGIN, f"http://{self.headers['Host']}".encode())
        tag = f'"{sha256(body).hexdigest()[:16]}"'
        if self.headers.get("If-None-Match") == tag:
            self._send(304, kind, b"", etag=tag)
        else:
            self._send(200, kind, body, etag=tag)

    def _send(self, status: int, kind: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name http.server calls
        """Say nothing: the crawl's own output is the show."""


@contextmanager
def demo_site() -> Iterator[str]:
    """Serve the site until the body ends; gives its address."""
    DemoSite.pages = dict(_bundled())
    server = ThreadingHTTPServer(("127.0.0.1", 0), DemoSite)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _bundled() -> Iterator[tuple[str, tuple[str, bytes]]]:
    """`index.html` is its folder, `a.html` is `/a`, everything else goes by its name. Folders are written `a__b`."""
    for file in files("sitelore.cli").joinpath("demo_site").iterdir():
        name, _, ending = file.name.rpartition(".")
        if ending not in _TYPES:
            continue
        path = "/" + name.replace("__", "/")
        path = path.removesuffix("index") if ending == "html" else f"{path}.{ending}"
        yield path, (_TYPES[ending], file.read_bytes())
