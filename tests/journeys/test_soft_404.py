"""Soft 404s are detected by their text and by a probe of a path that cannot exist."""

from __future__ import annotations

from pathlib import Path

from tests.support.crawls import crawl, crawl_settings
from tests.support.http_server import Answer, page, prose, serve_site, site

SORRY = page("Page not found", "Sorry, the page you are looking for could not be found.")
HOME = ("/gone", "/about", "/errors-explained", "/also-gone")


def _always_200(target: str) -> Answer | None:
    """Answer 200 to every request."""
    known = {
        "/": page("Home", prose("home"), links=HOME),
        "/about": page("About us", prose("about")),
        "/errors-explained": page("What the error 404 not found means", prose("errors", 300)),
    }
    return None if target in {"/robots.txt", "/sitemap.xml"} else known.get(target, SORRY)


async def test_an_error_page_served_as_200_is_a_soft_404_and_an_article_about_errors_is_not(tmp_path: Path) -> None:
    with serve_site(_always_200) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.states(http_server.origin) == {
            "/": "VISITED",
            "/about": "VISITED",
            "/errors-explained": "VISITED",
            "/gone": "SOFT_404",
            "/also-gone": "SOFT_404",
        }
        assert result.rows[http_server.url("/gone")].status_code == 200
        assert result.rows[http_server.url("/gone")].detail
        assert result.counts.pages == 3


async def test_the_home_page_is_exempt(tmp_path: Path) -> None:
    with serve_site(lambda target: SORRY if target != "/robots.txt" else None) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.rows[http_server.url("/")].state == "VISITED"


async def test_probes_leave_no_rows_and_few_requests(tmp_path: Path) -> None:
    with serve_site(_always_200) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        probes = set(http_server.targets()) - set(result.states(http_server.origin))
        assert len(probes) <= 1, "one probe per directory"


async def test_a_soft_404_uses_no_budget(tmp_path: Path) -> None:
    with serve_site(_always_200) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), max_pages=3))
        assert result.kept(http_server.origin) == {"/", "/about", "/errors-explained"}


async def test_a_site_with_real_404s_keeps_its_short_pages(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/short",)),
        "/short": page("Not found in shops", "New bread, not found in shops."),
    }
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.rows[http_server.url("/short")].state == "VISITED"


async def test_pages_titled_with_a_status_code_are_kept_beside_true_404s(tmp_path: Path) -> None:
    titles = ("404", "410 Gone", "Page 404", "Error 404", "404 Not Found", "403", "410", "Page not found")
    links = tuple(f"/codes/{number}" for number in range(len(titles)))
    pages = {target: page(title, prose(title, 60)) for target, title in zip(links, titles, strict=True)}
    with serve_site(site({"/": page("Home", prose("home"), links=links), **pages})) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.kept(http_server.origin) == {"/", *links}
