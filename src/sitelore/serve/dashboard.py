"""Serves the dashboard: the built single-page application in `static/`, under a strict content security policy.

A package that was built where npm cannot be reached has no `static/`; then one plain page says so.
"""

from __future__ import annotations

import mimetypes
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from sitelore.serve.problems import NOT_FOUND, ApiProblem

FOLDER = Path(__file__).with_name("static")
NONCE = "__CSP_NONCE__"
"""The placeholder that `ui/vite.config.ts` puts into `index.html`."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "frame-src https://www.youtube-nocookie.com https://player.vimeo.com; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'"
)
_FOREVER = "public, max-age=31536000, immutable"  # the name of an asset has a hash of its content
_SHORT = "public, max-age=3600"
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sitelore</title>
<h1>Sitelore is running, without its dashboard</h1>
<p>This copy was installed without the dashboard: npm could not be reached when the package was built.
Run <code>make ui</code> in a checkout, or install a wheel that contains it.</p>
<p>The API works: see <a href="/openapi.json">its description</a>.</p></html>"""


@dataclass(frozen=True, slots=True)
class _Asset:
    """A file of the dashboard, plain and compressed."""

    body: bytes
    gzipped: bytes | None
    media_type: str


def routes(folder: Path = FOLDER) -> list[Route]:
    """The routes of the dashboard. Every path below `/ui/` that is not a file is a screen of the application."""

    @cache
    def assets() -> dict[str, _Asset]:
        return {path.relative_to(folder).as_posix(): _read(path) for path in folder.rglob("*") if path.is_file()}

    async def home(_: Request) -> Response:
        return RedirectResponse("/ui/") if (folder / "index.html").is_file() else _plain_page()

    async def screen(request: Request) -> Response:
        path = request.path_params.get("path", "")
        if not (folder / "index.html").is_file():
            return _plain_page()
        if path.startswith("assets/"):
            return _file(request, assets().get(path), _FOREVER)
        if path in assets() and path != "index.html":
            return _file(request, assets()[path], _SHORT)
        return _index(assets()["index.html"])

    return [
        Route("/", home, methods=["GET"], include_in_schema=False),
        Route("/ui", home, methods=["GET"], include_in_schema=False),
        Route("/ui/{path:path}", screen, methods=["GET"], include_in_schema=False),
    ]


def _read(path: Path) -> _Asset:
    compressed = path.with_name(path.name + ".gz")
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return _Asset(path.read_bytes(), compressed.read_bytes() if compressed.is_file() else None, media_type)


def _file(request: Request, asset: _Asset | None, caching: str) -> Response:
    if asset is None:
        raise ApiProblem(NOT_FOUND)
    headers = {"Cache-Control": caching, "Vary": "Accept-Encoding"}
    if asset.gzipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.gzipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.body, headers=headers, media_type=asset.media_type)


def _index(asset: _Asset) -> Response:
    """The page of the application, with a new nonce for the styles that it adds."""
    nonce = secrets.token_urlsafe(16)
    body = asset.body.replace(NONCE.encode(), nonce.encode())
    headers = {"Content-Security-Policy": POLICY.format(nonce=nonce), "Cross-Origin-Opener-Policy": "same-origin"}
    return Response(body, headers=headers, media_type="text/html")


def _plain_page() -> Response:
    return HTMLResponse(_NOT_BUILT, headers={"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"})
