"""Serves a small bundled website on loopback: for `sitelore demo` and the example of the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from typing import ClassVar

_REDIRECTS = {"/blog/why-crawl": "/articles/why-crawl"}
_CONTENT_TYPES = {
    "xml": "application/xml",
    "txt": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}
_ORIGIN_PLACEHOLDER = b"{origin}"


class _Handler(BaseHTTPRequestHandler):
    """Answers GET requests with the bundled pages, redirects, ETags and 404s."""

    protocol_version = "HTTP/1.1"
    pages: ClassVar[dict[str, tuple[str, bytes]]] = {}

    def do_GET(self) -> None:
        """Answer one request."""
        path = self.path.partition("?")[0]
        if path in _REDIRECTS:
            self._send(301, "text/plain", b"", location=_REDIRECTS[path])
            return
        kind, body = self.pages.get(path, ("", b""))
        if not kind:
            kind, body = self.pages["/404"]
            self._send(404, kind, body)
            return
        body = body.replace(_ORIGIN_PLACEHOLDER, f"http://{self.headers['Host']}".encode())
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
        """Log nothing: the output of the crawl is enough."""


@contextmanager
def demo_site() -> Iterator[str]:
    """Serve the site while the body runs; returns its URL."""
    _Handler.pages = dict(_bundled_pages())
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _bundled_pages() -> Iterator[tuple[str, tuple[str, bytes]]]:
    """The path, content type and body of each file: `index.html` is `/`, `a.html` is `/a`, `a__b.html` is `/a/b`."""
    for file in files("sitelore.app").joinpath("demo_pages").iterdir():
        name, _, ending = file.name.rpartition(".")
        if ending not in _CONTENT_TYPES:
            continue
        path = "/" + name.replace("__", "/")
        path = path.removesuffix("index") if ending == "html" else f"{path}.{ending}"
        yield path, (_CONTENT_TYPES[ending], file.read_bytes())
