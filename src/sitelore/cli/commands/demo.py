"""`sitelore demo`: serves a small bundled site on loopback, crawls it, and suggests what to try next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from sitelore.cli.commands.crawl import CrawlOptions, OutputOptions, crawl_settings, run_crawl
from sitelore.cli.console import counted, data_console, data_option, note, visible

_SHOWN_LINES = 24
_SHOWN_PAGE = "**/articles/why-crawl.md"
_REDIRECTS = {"/blog/why-crawl": "/articles/why-crawl"}
_CONTENT_TYPES = {
    "xml": "application/xml",
    "txt": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}
_ORIGIN_PLACEHOLDER = b"{origin}"


def demo(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Directory for the result.  [default: a temporary one]")
    ] = None,
) -> int:
    """Crawl a small bundled site on this machine. Needs no internet."""
    from tempfile import mkdtemp

    data = data or Path(mkdtemp(prefix="sitelore-demo-"))
    with demo_site() as address:
        note(f"serving the demo site at {address} and crawling it into {data}")
        output = OutputOptions(data=data, out=data / "pages", outputs=frozenset({"md", "jsonl", "llms-txt"}))
        code = run_crawl(crawl_settings(CrawlOptions(urls=(address,), delay_s=0.0)), output)
    if code == 0:
        _show_page(data / "pages")
        _show_next_steps(address, data)
    return code


def _show_page(pages: Path) -> None:
    path = next(iter(sorted(pages.glob(_SHOWN_PAGE))), None)
    if path is None:
        return
    console = data_console()
    console.print(str(path), style="bold", soft_wrap=True)
    body = path.read_text(encoding="utf-8").split("---\n", 2)[-1].strip().splitlines()
    for line in body[:_SHOWN_LINES]:
        console.print(f"  {visible(line)}", markup=False, soft_wrap=True)
    if len(body) > _SHOWN_LINES:
        console.print(f"  … {counted(len(body) - _SHOWN_LINES, 'more line')}", style="dim")
    console.print()


def _show_next_steps(address: str, data: Path) -> None:
    console = data_console()
    console.print("Try next:", style="bold")
    for command in (
        f"sitelore explain {address}private/drafts{data_option(data)}",
        f"sitelore search 'what does 503 mean'{data_option(data)}",
        f"sitelore inspect {address}articles/tables{data_option(data)}",
        f"sitelore export latest --format csv{data_option(data)}",
        "sitelore crawl https://example.com --max-pages 50",
    ):
        console.print(f"  {command}", markup=False, soft_wrap=True)


class _DemoSite(BaseHTTPRequestHandler):
    """Answers GET requests with the bundled pages, redirects, ETags and 404s."""

    protocol_version = "HTTP/1.1"
    pages: ClassVar[dict[str, tuple[str, bytes]]] = {}

    def do_GET(self) -> None:
        """Answer one request."""
        from hashlib import sha256

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
    """Serve the site while the body runs; gives its URL."""
    from threading import Thread

    _DemoSite.pages = dict(_bundled_pages())
    server = ThreadingHTTPServer(("127.0.0.1", 0), _DemoSite)
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
    from importlib.resources import files

    for file in files("sitelore.cli").joinpath("demo_site").iterdir():
        name, _, ending = file.name.rpartition(".")
        if ending not in _CONTENT_TYPES:
            continue
        path = "/" + name.replace("__", "/")
        path = path.removesuffix("index") if ending == "html" else f"{path}.{ending}"
        yield path, (_CONTENT_TYPES[ending], file.read_bytes())
