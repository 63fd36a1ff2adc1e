"""Seeds that redirect: elsewhere on the site, to another host, in circles, for ever."""

from __future__ import annotations

from pathlib import Path

from tests.support.journey import crawl, crawl_settings
from tests.support.serve import Answer, page, prose, redirect, serving, site


async def test_a_seed_that_moved_within_its_site_is_followed(tmp_path: Path) -> None:
    pages = {
        "/": redirect("/en/"),
        "/en/": page("Home", prose("en"), links=("/en/about",)),
        "/en/about": page("About", prose("about")),
    }
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.states(web.origin) == {"/": "ALIAS", "/en/": "VISITED", "/en/about": "VISITED"}
        assert journey.rows[web.url("/")].final_url == web.url("/en/")
        assert journey.rows[web.url("/en/")].depth == 0
        assert journey.rows[web.url("/en/")].parent == web.url("/")
        assert [hop.status for hop in journey.rows[web.url("/en/")].redirect_chain] == [301]


async def test_every_alias_of_a_chain_tells_the_rest_of_its_way(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/a", "/c")),
        "/a": redirect("/b", 301),
        "/b": redirect("/c", 302),
        "/c": redirect("/end", 308),
        "/end": page("End", prose("end")),
    }
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        ways = {path: journey.rows[web.url(path)] for path in ("/a", "/b", "/c")}
        assert {path: [hop.status for hop in row.redirect_chain] for path, row in ways.items()} == {
            "/a": [301, 302, 308],
            "/b": [302, 308],
            "/c": [308],
        }
        assert {row.final_url for row in ways.values()} == {web.url("/end")}


async def test_a_seed_that_moved_to_another_host_brings_that_host_into_scope(tmp_path: Path) -> None:
    with serving(lambda _: None) as new, serving(lambda _: None, host="localhost") as old:
        new.pages = site({"/": page("New home", prose("new"), links=("/more",)), "/more": page("More", prose("more"))})
        old.pages = lambda _: redirect(new.url("/"), 308)
        settings = crawl_settings(old.url("/"), allow_private=("any",))
        journey = await crawl(tmp_path, settings)
        assert journey.rows[old.url("/")].state == "ALIAS"
        assert journey.rows[new.url("/")].state == "VISITED"
        assert journey.rows[new.url("/more")].state == "VISITED"


async def test_a_seed_cannot_redirect_the_crawl_to_a_private_address(tmp_path: Path) -> None:
    with serving(site({"/": page("Internal", prose("secret"))})) as inside, serving(lambda _: None) as web:
        web.pages = lambda _: redirect(inside.url("/"), 302)
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert inside.hits == []
        assert journey.rows[inside.url("/")].skip_reason == "address_refused"


async def test_a_loop_ends_with_a_verdict_and_few_requests(tmp_path: Path) -> None:
    with serving(site({"/a": redirect("/b"), "/b": redirect("/c", 302), "/c": redirect("/a", 307)})) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/a")))
        assert any(row.error.startswith("redirect_loop") for row in journey.rows.values())
        assert journey.rows[web.url("/c")].state == "FAILED"
        assert sorted(web.targets()) == ["/a", "/b", "/c"]


async def test_two_redirects_that_are_both_linked_and_lead_to_each_other_are_no_pages(tmp_path: Path) -> None:
    pages = {"/": page("Home", prose("home"), links=("/x", "/y")), "/x": redirect("/y"), "/y": redirect("/x")}
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        for path in ("/x", "/y"):
            row = journey.rows[web.url(path)]
            assert row.state == "FAILED"
            assert row.error.startswith("redirect_loop")
        assert sorted(web.targets()) == ["/", "/x", "/y"]


async def test_an_endless_chain_is_cut(tmp_path: Path) -> None:
    with serving(lambda target: redirect(f"{target}x") if target.startswith("/go") else None) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/go")))
        assert any(row.error.startswith("too_many_redirects") for row in journey.rows.values())
        assert len(web.targets()) <= 12


async def test_a_redirect_to_itself_that_sets_a_cookie_is_tried_once_more(tmp_path: Path) -> None:
    home = page("Home", prose("home"))
    with serving(lambda target: home if target == "/" else None) as web:
        web.answer_first("/", Answer(302, headers=(("Location", "/"), ("Set-Cookie", "seen=1; Path=/"))))
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.rows[web.url("/")].state == "VISITED"
        assert web.targets() == ["/", "/"]


async def test_redirects_are_not_followed_when_the_run_says_so(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/old", "/older")),
        "/old": redirect("/new", 301),
        "/older": redirect("/new", 307),
    }
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), follow_redirects=False))
        assert journey.states(web.origin) == {"/": "VISITED", "/old": "REDIRECT_301", "/older": "REDIRECT_307"}
        assert "/new" not in web.targets()


async def test_two_seeds_that_lead_to_one_page_fetch_it_once(tmp_path: Path) -> None:
    pages = {"/one": redirect("/page"), "/two": redirect("/page", 302), "/page": page("Page", prose("page"))}
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/one"), web.url("/two")))
        assert journey.states(web.origin) == {"/one": "ALIAS", "/two": "ALIAS", "/page": "VISITED"}
        assert web.targets().count("/page") == 1
        assert journey.rows[web.url("/page")].parent == web.url("/one")
