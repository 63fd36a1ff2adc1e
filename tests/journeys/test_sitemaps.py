"""Sitemaps of every format, their discovery, and sitemap-only crawls."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.support.crawls import crawl, crawl_settings, run_cli
from tests.support.graph import sitemap_xml
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site

XML = "application/xml"
NAMES = ("/one", "/two", "/three")


def _pages(http_server: HttpServer, extra: dict[str, Answer], robots: str = "", home_links: tuple[str, ...] = ()) -> None:
    """Three pages that nothing links to, and a home page."""
    pages = {name: page(name, prose(name), links=("/linked",)) for name in NAMES}
    pages["/linked"] = page("Linked", prose("linked"))
    pages["/"] = page("Home", prose("home"), links=home_links)
    http_server.pages = site({**pages, **extra}, robots)


def _urls(http_server: HttpServer) -> list[str]:
    return [http_server.url(name) for name in NAMES]


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
    with serve_site(lambda _: None) as http_server:
        _pages(http_server, {path: Answer(body=make(_urls(http_server)), content_type=content_type)})
        result = await crawl(tmp_path, crawl_settings(sitemaps=(http_server.url(path),)))
        assert result.kept(http_server.origin) == set(NAMES)
        assert [row.depth for row in result.rows.values() if row.state == "VISITED"] == [1, 1, 1]
        assert result.sitemaps[http_server.url(path)].state == "VISITED"


async def test_in_sitemap_only_mode_links_are_recorded_and_not_followed(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        _pages(http_server, {"/map.xml": Answer(body=_plain(_urls(http_server)), content_type=XML)})
        result = await crawl(tmp_path, crawl_settings(sitemaps=(http_server.url("/map.xml"),)))
        assert result.rows[http_server.url("/linked")].state == "SKIPPED"
        assert result.rows[http_server.url("/linked")].skip_reason == "not_in_sitemap"
        assert "/linked" not in http_server.targets()


async def test_nested_sitemap_indexes_are_followed_and_a_loop_ends(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        first, second, third = _urls(http_server)
        maps = {
            "/top.xml": _index(http_server.url("/mid.xml"), http_server.url("/c.xml.gz"), http_server.url("/gone.xml")),
            "/mid.xml": _index(http_server.url("/a.xml"), http_server.url("/b.txt"), http_server.url("/top.xml")),
            "/a.xml": _plain([first]),
            "/b.txt": second.encode(),
            "/c.xml.gz": gzip.compress(_plain([third])),
        }
        _pages(
            http_server,
            {path: Answer(body=body, content_type="text/plain" if "txt" in path else XML) for path, body in maps.items()},
        )
        result = await crawl(tmp_path, crawl_settings(sitemaps=(http_server.url("/top.xml"),)))
        assert result.kept(http_server.origin) == set(NAMES)
        assert result.sitemaps[http_server.url("/gone.xml")].state == "NOT_FOUND"
        assert sum(hit.target == "/top.xml" for hit in http_server.hits) == 1


async def test_sitemaps_of_robots_txt_are_read_and_rank_before_links(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        robots = f"Sitemap: {http_server.url('/deep/map.xml')}\nUser-agent: *\nDisallow:\n"
        _pages(
            http_server,
            {"/deep/map.xml": Answer(body=_plain(_urls(http_server)), content_type=XML)},
            robots,
            home_links=("/linked", "/two"),
        )
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), max_pages=4, concurrency=16))
        assert result.kept(http_server.origin) == {"/", *NAMES}
        assert result.rows[http_server.url("/two")].source == "sitemap"
        assert result.rows[http_server.url("/linked")].skip_reason == "budget"


async def test_the_default_sitemap_url_is_tried_when_robots_txt_names_none(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        _pages(http_server, {"/sitemap.xml": Answer(body=_plain(_urls(http_server)), content_type=XML)})
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.kept(http_server.origin) == {"/", *NAMES, "/linked"}
        assert result.rows[http_server.url("/linked")].depth == 2


async def test_entries_of_other_hosts_are_recorded_as_out_of_scope(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        body = _plain([*_urls(http_server), "http://elsewhere.invalid/x"])
        _pages(http_server, {"/map.xml": Answer(body=body, content_type=XML)})
        result = await crawl(tmp_path, crawl_settings(sitemaps=(http_server.url("/map.xml"),)))
        assert result.rows["http://elsewhere.invalid/x"].skip_reason == "scope"
        assert result.kept(http_server.origin) == set(NAMES)


def test_the_documented_sitemap_command_works(tmp_path: Path) -> None:
    config = tmp_path / "site.json"
    config.write_text('{"domain": "127.0.0.1", "mainContentSelectors": ["main"], "removeSelectors": [".cta"]}')
    with serve_site(lambda _: None) as http_server:
        _pages(http_server, {"/sitemap.xml": Answer(body=_plain(_urls(http_server)), content_type=XML)})
        done = run_cli(
            "crawl", "--sitemap", http_server.url("/sitemap.xml"), "--domain-config", str(config), "--output", "db",
            "--max-pages", "5000", "--debug", "--json", "--data", str(tmp_path / "data"),
        )  # fmt: skip
        assert done.code == 0, done.err
        assert done.summary["pages"] == 3


async def test_sitemap_indexes_without_an_end_cost_a_few_requests(tmp_path: Path) -> None:
    def answer(target: str) -> Answer | None:
        if not target.startswith("/deep"):
            return pages.get(target)
        number = int(target.removeprefix("/deep").removesuffix(".xml"))
        children = (f"/deep{number + 1}.xml", "/deep0.xml", "/map.xml")
        return Answer(body=_index(*map(http_server.url, children)), content_type=XML)

    with serve_site(answer) as http_server:
        pages = {"/": page("Home", prose("home")), "/listed": page("Listed", prose("listed"))}
        pages["/robots.txt"] = Answer(body=f"Sitemap: {http_server.url('/deep0.xml')}".encode(), content_type="text/plain")
        pages["/map.xml"] = Answer(body=_plain([http_server.url("/listed")]), content_type=XML)
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), max_pages=10))
        assert result.kept(http_server.origin) == {"/", "/listed"}
        assert [target for target in http_server.targets() if "deep" in target] == [f"/deep{n}.xml" for n in range(6)]
