"""Seeds that redirect: within the site, to another host, in a loop, or endlessly."""

from __future__ import annotations

from pathlib import Path

from tests.support.crawls import crawl, crawl_settings
from tests.support.http_server import Answer, page, prose, redirect, serve_site, site


async def test_a_seed_that_moved_within_its_site_is_followed(tmp_path: Path) -> None:
    pages = {
        "/": redirect("/en/"),
        "/en/": page("Home", prose("en"), links=("/en/about",)),
        "/en/about": page("About", prose("about")),
    }
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.states(http_server.origin) == {"/": "ALIAS", "/en/": "VISITED", "/en/about": "VISITED"}
        assert result.rows[http_server.url("/")].final_url == http_server.url("/en/")
        assert result.rows[http_server.url("/en/")].depth == 0
        assert result.rows[http_server.url("/en/")].parent == http_server.url("/")
        assert [hop.status for hop in result.rows[http_server.url("/en/")].redirect_chain] == [301]


async def test_every_alias_of_a_redirect_chain_has_the_final_url(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/a", "/c")),
        "/a": redirect("/b", 301),
        "/b": redirect("/c", 302),
        "/c": redirect("/end", 308),
        "/end": page("End", prose("end")),
    }
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        ways = {path: result.rows[http_server.url(path)] for path in ("/a", "/b", "/c")}
        assert {path: [hop.status for hop in row.redirect_chain] for path, row in ways.items()} == {
            "/a": [301, 302, 308],
            "/b": [302, 308],
            "/c": [308],
        }
        assert {row.final_url for row in ways.values()} == {http_server.url("/end")}


async def test_a_seed_that_moved_to_another_host_brings_that_host_into_scope(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as new, serve_site(lambda _: None, host="localhost") as old:
        new.pages = site({"/": page("New home", prose("new"), links=("/more",)), "/more": page("More", prose("more"))})
        old.pages = lambda _: redirect(new.url("/"), 308)
        settings = crawl_settings(old.url("/"), allow_private=("any",))
        result = await crawl(tmp_path, settings)
        assert result.rows[old.url("/")].state == "ALIAS"
        assert result.rows[new.url("/")].state == "VISITED"
        assert result.rows[new.url("/more")].state == "VISITED"


async def test_a_seed_cannot_redirect_the_crawl_to_a_private_address(tmp_path: Path) -> None:
    with serve_site(site({"/": page("Internal", prose("secret"))})) as inside, serve_site(lambda _: None) as http_server:
        http_server.pages = lambda _: redirect(inside.url("/"), 302)
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert inside.hits == []
        assert result.rows[inside.url("/")].skip_reason == "address_refused"


async def test_a_redirect_loop_ends_with_a_verdict_and_few_requests(tmp_path: Path) -> None:
    with serve_site(site({"/a": redirect("/b"), "/b": redirect("/c", 302), "/c": redirect("/a", 307)})) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/a")))
        assert any(row.error.startswith("redirect_loop") for row in result.rows.values())
        assert result.rows[http_server.url("/c")].state == "FAILED"
        assert sorted(http_server.targets()) == ["/a", "/b", "/c"]


async def test_two_linked_redirects_to_each_other_are_not_pages(tmp_path: Path) -> None:
    pages = {"/": page("Home", prose("home"), links=("/x", "/y")), "/x": redirect("/y"), "/y": redirect("/x")}
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        for path in ("/x", "/y"):
            row = result.rows[http_server.url(path)]
            assert row.state == "FAILED"
            assert row.error.startswith("redirect_loop")
        assert sorted(http_server.targets()) == ["/", "/x", "/y"]


async def test_an_endless_redirect_chain_is_stopped(tmp_path: Path) -> None:
    with serve_site(lambda target: redirect(f"{target}x") if target.startswith("/go") else None) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/go")))
        assert any(row.error.startswith("too_many_redirects") for row in result.rows.values())
        assert len(http_server.targets()) <= 12


async def test_a_redirect_to_itself_with_a_cookie_is_retried_once(tmp_path: Path) -> None:
    home = page("Home", prose("home"))
    with serve_site(lambda target: home if target == "/" else None) as http_server:
        http_server.answer_first("/", Answer(302, headers=(("Location", "/"), ("Set-Cookie", "seen=1; Path=/"))))
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.rows[http_server.url("/")].state == "VISITED"
        assert http_server.targets() == ["/", "/"]


async def test_redirects_are_not_followed_when_the_run_disables_them(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/old", "/older")),
        "/old": redirect("/new", 301),
        "/older": redirect("/new", 307),
    }
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), follow_redirects=False))
        assert result.states(http_server.origin) == {"/": "VISITED", "/old": "REDIRECT_301", "/older": "REDIRECT_307"}
        assert "/new" not in http_server.targets()


async def test_two_seeds_that_lead_to_one_page_fetch_it_once(tmp_path: Path) -> None:
    pages = {"/one": redirect("/page"), "/two": redirect("/page", 302), "/page": page("Page", prose("page"))}
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/one"), http_server.url("/two")))
        assert result.states(http_server.origin) == {"/one": "ALIAS", "/two": "ALIAS", "/page": "VISITED"}
        assert http_server.targets().count("/page") == 1
        assert result.rows[http_server.url("/page")].parent == http_server.url("/one")
