"""A second crawl costs what changed: validators, lastmod, TTL, --force."""

from __future__ import annotations

from pathlib import Path

from tests.support.graph import sitemap_xml
from tests.support.journey import Journey, crawl, crawl_settings
from tests.support.serve import Answer, Pages, Web, page, prose, serving, site

NAMES = ("apples", "bears", "clouds", "doors", "eagles")
OLD, NEW = "2024-01-01", "2024-06-01"


def shop(extra: dict[str, Answer] | None = None) -> Pages:
    """A home page, five pages below it, and one that only the fifth links to."""
    pages = {f"/{name}": page(name.title(), prose(name), links=("/",)) for name in NAMES[:4]}
    pages["/eagles"] = page("Eagles", prose("eagles"), links=("/nest",))
    pages["/nest"] = page("Nest", prose("nest"))
    pages["/"] = page("Shop", prose("shop"), links=tuple(f"/{name}" for name in NAMES))
    return site({**pages, **(extra or {})})


def with_lastmod(web: Web, moved: str = "") -> Pages:
    """The shop with a sitemap; one page's lastmod may have moved."""
    entries = [(web.url(f"/{name}"), NEW if name == moved else OLD) for name in NAMES]
    return shop({"/sitemap.xml": Answer(body=sitemap_xml(entries), content_type="application/xml")})


async def test_an_unchanged_site_answers_304_to_everything_and_nothing_has_changed(tmp_path: Path) -> None:
    with serving(shop()) as web:
        first = await crawl(tmp_path, crawl_settings(web.url()))
        assert first.counts.pages == 7
        web.forget()
        second = await crawl(tmp_path, crawl_settings(web.url()))
    assert {row.state.value for row in second.rows.values()} == {"NOT_MODIFIED"}
    assert second.counts.changed == 0
    assert second.counts.new == 0
    assert second.counts.pages == 7
    pages = [hit for hit in web.hits if hit.target in second.states(web.origin)]
    assert {hit.status for hit in pages} == {304}
    assert all(hit.conditional for hit in pages)


async def test_links_of_a_304_page_are_still_followed(tmp_path: Path) -> None:
    with serving(shop()) as web:
        await crawl(tmp_path, crawl_settings(web.url()))
        second = await crawl(tmp_path, crawl_settings(web.url()))
        assert second.rows[web.url("/nest")].parent == web.url("/eagles")
        assert second.rows[web.url("/nest")].depth == 2
        assert second.rows[web.url("/eagles")].state == "NOT_MODIFIED"


async def test_one_edited_page_is_the_one_that_changed(tmp_path: Path) -> None:
    with serving(shop()) as web:
        await crawl(tmp_path, crawl_settings(web.url()))
        web.edit("/clouds")
        second = await crawl(tmp_path, crawl_settings(web.url()))
        assert second.counts.changed == 1
        assert [url for url, row in second.rows.items() if row.changed] == [web.url("/clouds")]
        assert second.rows[web.url("/clouds")].state == "VISITED"
        third = await crawl(tmp_path, crawl_settings(web.url()))
        assert third.counts.changed == 0


async def test_without_validators_the_content_hash_tells_that_nothing_changed(tmp_path: Path) -> None:
    with serving(shop()) as web:
        web.validators = False
        await crawl(tmp_path, crawl_settings(web.url()))
        web.edit("/doors")
        second = await crawl(tmp_path, crawl_settings(web.url()))
        assert {row.state.value for row in second.rows.values()} == {"VISITED"}
        assert [url for url, row in second.rows.items() if row.changed] == [web.url("/doors")]
        assert second.counts.changed == 1


async def test_a_moved_lastmod_fetches_exactly_that_page(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        web.pages = with_lastmod(web)
        settings = crawl_settings(sitemaps=(web.url("/sitemap.xml"),))
        first = await crawl(tmp_path, settings)
        assert first.counts.pages == 5
        web.forget()
        second = await crawl(tmp_path, settings)
        assert web.targets() == []
        assert _reasons(second, web) == dict.fromkeys((f"/{n}" for n in NAMES), "unchanged_lastmod")
        assert second.counts.changed == 0
        web.pages = with_lastmod(web, "bears")
        web.edit("/bears")
        third = await crawl(tmp_path, settings)
        assert web.targets() == ["/bears"]
        assert third.counts.changed == 1
        web.forget()
        await crawl(tmp_path, settings)
        assert web.targets() == []


async def test_a_moved_lastmod_of_a_page_that_did_not_change_costs_one_304(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        web.pages = with_lastmod(web)
        settings = crawl_settings(sitemaps=(web.url("/sitemap.xml"),))
        await crawl(tmp_path, settings)
        web.forget()
        web.pages = with_lastmod(web, "bears")
        second = await crawl(tmp_path, settings)
        assert [(h.target, h.status) for h in web.hits if h.target == "/bears"] == [("/bears", 304)]
        assert second.counts.changed == 0


async def test_within_its_ttl_a_page_is_left_alone_and_its_links_are_still_followed(tmp_path: Path) -> None:
    with serving(shop()) as web:
        await crawl(tmp_path, crawl_settings(web.url()))
        web.forget()
        second = await crawl(tmp_path, crawl_settings(web.url(), ttl_s=3600.0))
        assert web.targets() == []
        assert set(second.states(web.origin).values()) == {"within_ttl"}
        assert second.counts.urls == 7
        assert second.counts.pages == 7


async def test_force_asks_for_everything_without_conditions(tmp_path: Path) -> None:
    with serving(shop()) as web:
        await crawl(tmp_path, crawl_settings(web.url()))
        web.forget()
        second = await crawl(tmp_path, crawl_settings(web.url(), ttl_s=3600.0, force=True))
        assert len(web.targets()) == 7
        assert not any(hit.conditional for hit in web.hits if hit.target in {"/", "/nest"})
        assert {row.state.value for row in second.rows.values()} == {"VISITED"}
        assert second.counts.changed == 0


async def test_a_page_that_went_away_is_recorded_as_gone(tmp_path: Path) -> None:
    with serving(shop()) as web:
        await crawl(tmp_path, crawl_settings(web.url()))
        web.pages = shop({"/apples": Answer(410, b"gone")})
        second = await crawl(tmp_path, crawl_settings(web.url()))
        assert second.rows[web.url("/apples")].state == "NOT_FOUND"
        assert second.rows[web.url("/apples")].status_code == 410


def _reasons(journey: Journey, web: Web) -> dict[str, str]:
    """What became of the pages that the sitemap lists."""
    return {path: state for path, state in journey.states(web.origin).items() if path.removeprefix("/") in NAMES}
