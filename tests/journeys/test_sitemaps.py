"""Sitemaps of every kind, where they are found, and sitemap-only crawls."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.support.graph import sitemap_xml
from tests.support.journey import command, crawl, crawl_settings
from tests.support.serve import Answer, Web, page, prose, serving, site

XML = "application/xml"
NAMES = ("/one", "/two", "/three")


def _pages(web: Web, extra: dict[str, Answer], robots: str = "", home_links: tuple[str, ...] = ()) -> None:
    """Three pages that nothing links to, and a home page."""
    pages = {name: page(name, prose(name), links=("/linked",)) for name in NAMES}
    pages["/linked"] = page("Linked", prose("linked"))
    pages["/"] = page("Home", prose("home"), links=home_links)
    web.pages = site({**pages, **extra}, robots)


def _urls(web: Web) -> list[str]:
    return [web.url(name) for name in NAMES]


def _index(*urls: str) -> bytes:
    items = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</sitemapindex>'.encode()


def _rss(urls: list[str]) -> bytes:
    items = "".join(f"<item><title>t</title><link>{url}</link></item>" for url in urls)
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{items}</channel></rss>'.encode()


def _atom(urls: list[str]) -> bytes:
    items = "".join(f'<entry><title>t</title><link href="{url}"/></entry>' for url in urls)
    return f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>{items}</feed>'.encode()


def _news(urls: list[str]) -> bytes:
    spaces = (
        'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
        'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    )
    extra = "<news:news><news:title>t</news:title></news:news><image:image><image:loc>http://x.invalid/i.png</image:loc></image:image>"
    return f"<urlset {spaces}>{''.join(f'<url><loc>{url}</loc>{extra}</url>' for url in urls)}</urlset>".encode()


def _plain(urls: list[str]) -> bytes:
    return sitemap_xml([(url, "") for url in urls])


KINDS = {
    "/map.xml": (_plain, XML),
    "/map.xml.gz": (lambda urls: gzip.compress(_plain(urls)), "application/gzip"),
    "/map.txt": (lambda urls: "\n".join(urls).encode(), "text/plain"),
    "/feed.rss": (_rss, "application/rss+xml"),
    "/feed.atom": (_atom, "application/atom+xml"),
    "/news.xml": (_news, XML),
    "/broken.xml": (lambda urls: _plain(urls).replace(b"</urlset>", b"<url><loc>http://"), XML),
}


@pytest.mark.parametrize("path", sorted(KINDS))
async def test_every_kind_of_sitemap_is_read(path: str, tmp_path: Path) -> None:
    make, content_type = KINDS[path]
    with serving(lambda _: None) as web:
        _pages(web, {path: Answer(body=make(_urls(web)), content_type=content_type)})
        journey = await crawl(tmp_path, crawl_settings(sitemaps=(web.url(path),)))
        assert journey.kept(web.origin) == set(NAMES)
        assert [row.depth for row in journey.rows.values() if row.state == "VISITED"] == [1, 1, 1]
        assert journey.sitemaps[web.url(path)].state == "VISITED"


async def test_in_sitemap_only_mode_links_are_recorded_and_not_followed(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        _pages(web, {"/map.xml": Answer(body=_plain(_urls(web)), content_type=XML)})
        journey = await crawl(tmp_path, crawl_settings(sitemaps=(web.url("/map.xml"),)))
        assert journey.rows[web.url("/linked")].state == "SKIPPED"
        assert journey.rows[web.url("/linked")].skip_reason == "not_in_sitemap"
        assert "/linked" not in web.targets()


async def test_an_index_of_indexes_is_followed_and_ends_even_when_it_names_itself(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        one, two, three = _urls(web)
        maps = {
            "/top.xml": _index(web.url("/mid.xml"), web.url("/c.xml.gz"), web.url("/gone.xml")),
            "/mid.xml": _index(web.url("/a.xml"), web.url("/b.txt"), web.url("/top.xml")),
            "/a.xml": _plain([one]),
            "/b.txt": two.encode(),
            "/c.xml.gz": gzip.compress(_plain([three])),
        }
        _pages(
            web, {path: Answer(body=body, content_type="text/plain" if "txt" in path else XML) for path, body in maps.items()}
        )
        journey = await crawl(tmp_path, crawl_settings(sitemaps=(web.url("/top.xml"),)))
        assert journey.kept(web.origin) == set(NAMES)
        assert journey.sitemaps[web.url("/gone.xml")].state == "NOT_FOUND"
        assert sum(hit.target == "/top.xml" for hit in web.hits) == 1


async def test_robots_sitemap_lines_are_read_and_stand_ahead_of_links(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        robots = f"Sitemap: {web.url('/deep/map.xml')}\nUser-agent: *\nDisallow:\n"
        _pages(
            web, {"/deep/map.xml": Answer(body=_plain(_urls(web)), content_type=XML)}, robots, home_links=("/linked", "/two")
        )
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), max_pages=4, concurrency=16))
        assert journey.kept(web.origin) == {"/", *NAMES}
        assert journey.rows[web.url("/two")].source == "sitemap"
        assert journey.rows[web.url("/linked")].skip_reason == "budget"


async def test_the_usual_sitemap_is_tried_when_robots_names_none(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        _pages(web, {"/sitemap.xml": Answer(body=_plain(_urls(web)), content_type=XML)})
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.kept(web.origin) == {"/", *NAMES, "/linked"}
        assert journey.rows[web.url("/linked")].depth == 2


async def test_entries_of_other_hosts_are_recorded_as_out_of_scope(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        body = _plain([*_urls(web), "http://elsewhere.invalid/x"])
        _pages(web, {"/map.xml": Answer(body=body, content_type=XML)})
        journey = await crawl(tmp_path, crawl_settings(sitemaps=(web.url("/map.xml"),)))
        assert journey.rows["http://elsewhere.invalid/x"].skip_reason == "scope"
        assert journey.kept(web.origin) == set(NAMES)


def test_the_command_of_the_source_document_works_as_written(tmp_path: Path) -> None:
    config = tmp_path / "site.json"
    config.write_text('{"domain": "127.0.0.1", "mainContentSelectors": ["main"], "removeSelectors": [".cta"]}')
    with serving(lambda _: None) as web:
        _pages(web, {"/sitemap.xml": Answer(body=_plain(_urls(web)), content_type=XML)})
        done = command(
            "crawl", "--sitemap", web.url("/sitemap.xml"), "--domain-config", str(config), "--output", "db",
            "--max-pages", "5000", "--debug", "--json", "--data", str(tmp_path / "data"),
        )  # fmt: skip
        assert done.code == 0, done.err
        assert done.summary["pages"] == 3
