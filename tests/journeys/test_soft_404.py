"""Pages that say 200 and mean 404: found by their text and by asking for a path that cannot exist."""

from __future__ import annotations

from pathlib import Path

from tests.support.journey import crawl, crawl_settings
from tests.support.serve import Answer, page, prose, serving, site

SORRY = page("Page not found", "Sorry, the page you are looking for could not be found.")
HOME = ("/gone", "/about", "/errors-explained", "/also-gone")


def _polite_liar(target: str) -> Answer | None:
    """Answers 200 to everything."""
    known = {
        "/": page("Home", prose("home"), links=HOME),
        "/about": page("About us", prose("about")),
        "/errors-explained": page("What the error 404 not found means", prose("errors", 300)),
    }
    return None if target in {"/robots.txt", "/sitemap.xml"} else known.get(target, SORRY)


async def test_an_error_page_served_as_200_is_a_soft_404_and_an_article_about_errors_is_not(tmp_path: Path) -> None:
    with serving(_polite_liar) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.states(web.origin) == {
            "/": "VISITED",
            "/about": "VISITED",
            "/errors-explained": "VISITED",
            "/gone": "SOFT_404",
            "/also-gone": "SOFT_404",
        }
        assert journey.rows[web.url("/gone")].status_code == 200
        assert journey.rows[web.url("/gone")].detail
        assert journey.counts.pages == 3


async def test_the_home_page_is_exempt(tmp_path: Path) -> None:
    with serving(lambda target: SORRY if target != "/robots.txt" else None) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.rows[web.url("/")].state == "VISITED"


async def test_probes_leave_no_rows_and_few_requests(tmp_path: Path) -> None:
    with serving(_polite_liar) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        probes = set(web.targets()) - set(journey.states(web.origin))
        assert len(probes) <= 1, "one probe per directory"


async def test_a_soft_404_uses_no_budget(tmp_path: Path) -> None:
    with serving(_polite_liar) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), max_pages=3))
        assert journey.kept(web.origin) == {"/", "/about", "/errors-explained"}


async def test_an_honest_site_with_a_short_page_keeps_it(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/short",)),
        "/short": page("Not found in shops", "New bread, not found in shops."),
    }
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.rows[web.url("/short")].state == "VISITED"
