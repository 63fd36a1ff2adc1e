"""A second crawl fetches only what changed: validators, lastmod, TTL, --force."""

from __future__ import annotations

from pathlib import Path

from tests.support.crawls import CrawlResult, crawl, crawl_settings
from tests.support.graph import sitemap_xml
from tests.support.http_server import Answer, HttpServer, Pages, page, prose, serve_site, site

NAMES = ("apples", "bears", "clouds", "dunes", "eagles")
OLD, NEW = "2024-01-01", "2024-06-01"


def shop(extra: dict[str, Answer] | None = None) -> Pages:
    """A home page, five pages below it, and one that only the fifth links to."""
    pages = {f"/{name}": page(name.title(), prose(name), links=("/",)) for name in NAMES[:4]}
    pages["/eagles"] = page("Eagles", prose("eagles"), links=("/nest",))
    pages["/nest"] = page("Nest", prose("nest"))
    pages["/"] = page("Shop", prose("shop"), links=tuple(f"/{name}" for name in NAMES))
    return site({**pages, **(extra or {})})


def with_lastmod(http_server: HttpServer, moved: str = "") -> Pages:
    """The shop with a sitemap; one page's lastmod may have moved."""
    entries = [(http_server.url(f"/{name}"), NEW if name == moved else OLD) for name in NAMES]
    return shop({"/sitemap.xml": Answer(body=sitemap_xml(entries), content_type="application/xml")})


async def test_an_unchanged_site_answers_304_to_everything_and_nothing_has_changed(tmp_path: Path) -> None:
    with serve_site(shop()) as http_server:
        first = await crawl(tmp_path, crawl_settings(http_server.url()))
        assert first.counts.pages == 7
        http_server.clear_log()
        second = await crawl(tmp_path, crawl_settings(http_server.url()))
    assert {row.state.value for row in second.rows.values()} == {"NOT_MODIFIED"}
    assert second.counts.changed == 0
    assert second.counts.new == 0
    assert second.counts.pages == 7
    pages = [hit for hit in http_server.hits if hit.target in second.states(http_server.origin)]
    assert {hit.status for hit in pages} == {304}
    assert all(hit.conditional for hit in pages)


async def test_links_of_a_304_page_are_still_followed(tmp_path: Path) -> None:
    with serve_site(shop()) as http_server:
        await crawl(tmp_path, crawl_settings(http_server.url()))
        second = await crawl(tmp_path, crawl_settings(http_server.url()))
        assert second.rows[http_server.url("/nest")].parent == http_server.url("/eagles")
        assert second.rows[http_server.url("/nest")].depth == 2
        assert second.rows[http_server.url("/eagles")].state == "NOT_MODIFIED"


async def test_one_edited_page_is_the_one_that_changed(tmp_path: Path) -> None:
    with serve_site(shop()) as http_server:
        await crawl(tmp_path, crawl_settings(http_server.url()))
        http_server.edit("/clouds")
        second = await crawl(tmp_path, crawl_settings(http_server.url()))
        assert second.counts.changed == 1
        assert [url for url, row in second.rows.items() if row.changed] == [http_server.url("/clouds")]
        assert second.rows[http_server.url("/clouds")].state == "VISITED"
        third = await crawl(tmp_path, crawl_settings(http_server.url()))
        assert third.counts.changed == 0


async def test_without_validators_the_content_hash_shows_that_nothing_changed(tmp_path: Path) -> None:
    with serve_site(shop()) as http_server:
        http_server.validators = False
        await crawl(tmp_path, crawl_settings(http_server.url()))
        http_server.edit("/dunes")
        second = await crawl(tmp_path, crawl_settings(http_server.url()))
        assert {row.state.value for row in second.rows.values()} == {"VISITED"}
        assert [url for url, row in second.rows.items() if row.changed] == [http_server.url("/dunes")]
        assert second.counts.changed == 1


async def test_a_moved_lastmod_fetches_exactly_that_page(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        http_server.pages = with_lastmod(http_server)
        settings = crawl_settings(sitemaps=(http_server.url("/sitemap.xml"),))
        first = await crawl(tmp_path, settings)
        assert first.counts.pages == 5
        http_server.clear_log()
        second = await crawl(tmp_path, settings)
        assert http_server.targets() == []
        assert _reasons(second, http_server) == dict.fromkeys((f"/{n}" for n in NAMES), "unchanged_lastmod")
        assert second.counts.changed == 0
        http_server.pages = with_lastmod(http_server, "bears")
        http_server.edit("/bears")
        third = await crawl(tmp_path, settings)
        assert http_server.targets() == ["/bears"]
        assert third.counts.changed == 1
        http_server.clear_log()
        await crawl(tmp_path, settings)
        assert http_server.targets() == []


async def test_a_moved_lastmod_of_a_page_that_did_not_change_costs_one_304(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        http_server.pages = with_lastmod(http_server)
        settings = crawl_settings(sitemaps=(http_server.url("/sitemap.xml"),))
        await crawl(tmp_path, settings)
        http_server.clear_log()
        http_server.pages = with_lastmod(http_server, "bears")
        second = await crawl(tmp_path, settings)
        assert [(h.target, h.status) for h in http_server.hits if h.target == "/bears"] == [("/bears", 304)]
        assert second.counts.changed == 0


async def test_within_its_ttl_a_page_is_not_fetched_and_its_links_are_still_followed(tmp_path: Path) -> None:
    with serve_site(shop()) as http_server:
        await crawl(tmp_path, crawl_settings(http_server.url()))
        http_server.clear_log()
        second = await crawl(tmp_path, crawl_settings(http_server.url(), ttl_s=3600.0))
        assert http_server.targets() == []
        assert set(second.states(http_server.origin).values()) == {"within_ttl"}
        assert second.counts.urls == 7
        assert second.counts.pages == 7


async def test_force_sends_unconditional_requests_for_everything(tmp_path: Path) -> None:
    with serve_site(shop()) as http_server:
        await crawl(tmp_path, crawl_settings(http_server.url()))
        http_server.clear_log()
        second = await crawl(tmp_path, crawl_settings(http_server.url(), ttl_s=3600.0, force=True))
        assert len(http_server.targets()) == 7
        assert not any(hit.conditional for hit in http_server.hits if hit.target in {"/", "/nest"})
        assert {row.state.value for row in second.rows.values()} == {"VISITED"}
        assert second.counts.changed == 0


async def test_a_page_that_went_away_is_recorded_as_gone(tmp_path: Path) -> None:
    with serve_site(shop()) as http_server:
        await crawl(tmp_path, crawl_settings(http_server.url()))
        http_server.pages = shop({"/apples": Answer(410, b"gone")})
        second = await crawl(tmp_path, crawl_settings(http_server.url()))
        assert second.rows[http_server.url("/apples")].state == "NOT_FOUND"
        assert second.rows[http_server.url("/apples")].status_code == 410


def _reasons(result: CrawlResult, http_server: HttpServer) -> dict[str, str]:
    """The reasons recorded for the pages of the sitemap."""
    return {path: state for path, state in result.states(http_server.origin).items() if path.removeprefix("/") in NAMES}
