"""A site with seeded faults that is crawled twice and audited after each crawl, changed in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.interfaces.test_api_process import ServerProcess, serve_process
from tests.support.http_server import Answer, HttpServer, page, prose, redirect, serve_site

_HEAD = '<meta name="viewport" content="width=device-width"><meta name="description" content="{}">'
_AUDIT_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class CheckedSite:
    """A server with a site that was crawled and audited twice."""

    server: ServerProcess
    http_server: HttpServer
    runs: tuple[str, str]

    @property
    def port(self) -> int:
        return self.server.api.port

    @property
    def site(self) -> str:
        return self.http_server.origin.removeprefix("http://")

    @property
    def path(self) -> str:
        """The path of the site in the API and in the dashboard."""
        return f"/sites/{quote(self.site, safe='')}"

    def get(self, path: str) -> Any:
        return self.server.api.get(f"{self.path}{path}")

    def page(self, target: str, view: str = "") -> str:
        """The screen of a page of the second run."""
        url = quote(self.http_server.url(target), safe="")
        return f"/runs/{self.runs[1]}/page?url={url}" + (f"&view={view}" if view else "")


def _shop_page(number: int, extra: str = "", head: str = "") -> Answer:
    text = prose(f"shop {number}", 90)
    links = ("/", f"/shop/{number % 9 + 1}")
    return page(
        f"Chair number {number} of the shop", text + extra, links=links, head=_HEAD.format(prose(f"d{number}", 14)) + head
    )


def pages(origin: str) -> dict[str, Answer]:
    """The site before it changed. `/old` takes two redirects, `/lost` is gone, and two articles have equal content."""
    shop = {f"/shop/{number}": _shop_page(number) for number in range(1, 10)}
    shop["/shop/4"] = page("Chair number 4 of the shop", "Sold out.", links=("/",))
    product = '<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Chair"}</script>'
    shop["/shop/2"] = _shop_page(2, head=product)
    twins = prose("twins", 120)
    alternates = '<link rel="alternate" hreflang="{}" href="{}"><link rel="alternate" hreflang="{}" href="{}">'
    both = alternates.format("en", f"{origin}/en", "de", f"{origin}/de")
    start = page(
        "Chairs and tables of the workshop",
        f'{prose("start", 90)}</p><img src="/chair.png"><p><a href="/shop/2#price">The price</a>',
        links=(*shop, "/old", "/lost", "/lost?again", "/twin-a", "/twin-b", "/en", "/de"),
        head=_HEAD.format("Chairs and tables that our workshop makes of oak, beech and ash, with prices and sizes."),
    )
    sitemap = "".join(f"<url><loc>{origin}{path}</loc></url>" for path in ("/", "/alone", *shop))
    return {
        "/": start,
        **shop,
        "/old": redirect("/older"),
        "/older": redirect("/shop/1"),
        "/twin-a": page("A long article about glue", twins, links=("/",)),
        "/twin-b": page("A long article about glue", twins, links=("/",)),
        "/alone": page("A page without inlinks", prose("alone", 120), links=("/",)),
        "/en": page("Our workshop in English", prose("en", 80), links=("/",), head=both),
        "/de": page("Unsere Werkstatt", prose("de", 80), links=("/",)),
        "/robots.txt": Answer(body=f"User-agent: *\nSitemap: {origin}/sitemap.xml\n".encode(), content_type="text/plain"),
        "/sitemap.xml": Answer(
            body=f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{sitemap}</urlset>'.encode(),
            content_type="application/xml",
        ),
    }


def change(site: dict[str, Answer]) -> None:
    """Change the site: a page fixed, one broken, one new, one gone, one with other words."""
    site["/shop/4"] = _shop_page(4)
    site["/shop/5"] = page("", prose("shop 5", 90), links=("/", "/nowhere"))
    site["/shop/10"] = _shop_page(10)
    site["/shop/1"] = _shop_page(1, extra=" It is made of oak.", head="")
    site["/shop/9"] = page("Chair number 9 of the shop", prose("shop 9", 90), links=("/", "/shop/10"))
    del site["/de"]


def audited(server: ServerProcess, path: str, run: str) -> None:
    """Return when the audit of a run is done."""
    deadline = time.monotonic() + _AUDIT_TIMEOUT_S
    while time.monotonic() < deadline:
        audits = server.api.get(f"{path}/audits")["audits"]
        if any(each["run"] == run and each["state"] == "done" for each in audits):
            return
        time.sleep(0.1)  # the API has no event for it
    raise TimeoutError(f"the audit of {run} did not end")


@contextmanager
def serve_checked_site(data: Path) -> Iterator[CheckedSite]:
    """Serve the site and the dashboard over it."""
    site: dict[str, Answer] = {}
    with serve_site(site.get, host="localhost") as http_server:
        site |= pages(http_server.origin)
        with serve_process(data, http_server) as server:
            path = f"/sites/{quote(http_server.origin.removeprefix('http://'), safe='')}"
            first = server.api.start(http_server.url("/"), audit=True)
            server.api.finish(first)
            audited(server, path, first)
            change(site)
            second = server.api.start(http_server.url("/"), audit=True)
            server.api.finish(second)
            audited(server, path, second)
            server.api.get("/search?q=chair")  # brings the index up to date
            yield CheckedSite(server, http_server, (first, second))
