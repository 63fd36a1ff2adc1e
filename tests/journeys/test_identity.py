"""One page per real page: redirects, canonical links that agree, equal content. The proof is on record, the file is one."""

from __future__ import annotations

from pathlib import Path

from tests.support.journey import command, crawl, crawl_settings, exported_rows
from tests.support.serve import Answer, page, prose, redirect, serving, site

from sitelore.model.settings import Identity, QueryForm, SlashForm


def _canonical(to: str) -> str:
    return f'<link rel="canonical" href="{to}">'


async def test_equal_content_is_one_page_the_first_one_met(tmp_path: Path) -> None:
    twin = page("Twin", prose("twin"))
    with serving(site({"/": page("Home", prose("home"), links=("/b", "/a", "/c")), "/a": twin, "/b": twin, "/c": twin})) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), concurrency=8))
        assert journey.states(web.origin) == {"/": "VISITED", "/a": "ALIAS", "/b": "VISITED", "/c": "ALIAS"}
        assert {journey.rows[web.url(p)].proof for p in ("/a", "/c")} == {"equal_content"}
        assert {journey.rows[web.url(p)].final_url for p in ("/a", "/c")} == {web.url("/b")}
        assert journey.counts.pages == 2


async def test_a_canonical_link_that_agrees_makes_its_target_the_page(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        shirt = page("Shirt", prose("shirt", 200), head=_canonical(web.url("/shirt")))
        web.pages = site(
            {"/": page("Home", prose("home"), links=("/shirt?ref=home", "/shirt")), "/shirt?ref=home": shirt, "/shirt": shirt}
        )
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.states(web.origin) == {"/": "VISITED", "/shirt?ref=home": "ALIAS", "/shirt": "VISITED"}
        alias = journey.rows[web.url("/shirt?ref=home")]
        assert (alias.proof, alias.final_url) == ("canonical", web.url("/shirt"))


async def test_a_canonical_target_found_a_wave_later_still_becomes_the_page(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        shirt = page("Shirt", prose("shirt", 200), head=_canonical(web.url("/shirt")))
        web.pages = site({"/": page("Home", prose("home"), links=("/print/shirt",)), "/print/shirt": shirt, "/shirt": shirt})
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.states(web.origin) == {"/": "VISITED", "/print/shirt": "ALIAS", "/shirt": "VISITED"}
        assert journey.rows[web.url("/print/shirt")].proof == "canonical"


async def test_a_sites_own_options_decide_when_addresses_are_one_page(tmp_path: Path) -> None:
    """Found in different waves, with different text: the option alone proves it. Both addresses are fetched as they are."""
    pages = {
        "/": page("Home", prose("home"), links=("/list?b=2&a=1", "/about/")),
        "/list?b=2&a=1": page("List", prose("one"), links=("/list?a=1&b=2",)),
        "/list?a=1&b=2": page("List", prose("two")),
        "/about/": page("About", prose("about"), links=("/about",)),
        "/about": page("About", prose("about again")),
    }
    with serving(site(pages)) as web:
        options = Identity(slash=SlashForm.STRIP, query=QueryForm.SORT)
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), identity=options))
        aliases = {url: row for url, row in journey.rows.items() if row.state == "ALIAS"}
        assert {(row.url, row.final_url, row.proof) for row in aliases.values()} == {
            (web.url("/list?a=1&b=2"), web.url("/list?b=2&a=1"), "identity"),
            (web.url("/about"), web.url("/about/"), "identity"),
        }
        assert {hit.target for hit in web.hits} >= set(pages)


async def test_a_canonical_link_that_does_not_agree_merges_nothing(tmp_path: Path) -> None:
    """A template that names the home page as everyone's canonical must not swallow the site."""
    with serving(lambda _: None) as web:
        names = ("/one", "/two", "/three")
        pages = {name: page(name, prose(name, 150), head=_canonical(web.url("/"))) for name in names}
        web.pages = site({**pages, "/": page("Home", prose("home", 150), links=names)})
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert set(journey.states(web.origin).values()) == {"VISITED"}
        assert journey.counts.pages == 4


async def test_an_alias_of_a_duplicate_leads_to_the_page_that_was_kept(tmp_path: Path) -> None:
    twin = page("Twin", prose("twin"))
    pages = {
        "/": page("Home", prose("home"), links=("/first", "/moved")),
        "/first": twin,
        "/moved": redirect("/second"),
        "/second": twin,
    }
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.states(web.origin) == {"/": "VISITED", "/first": "VISITED", "/moved": "ALIAS", "/second": "ALIAS"}
        assert journey.rows[web.url("/moved")].final_url == web.url("/first")
        assert journey.rows[web.url("/moved")].proof == "redirect"


async def test_pages_that_differ_in_one_word_are_two_pages(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/a", "/b")),
        "/a": page("Size", prose("same") + " small"),
        "/b": page("Size", prose("same") + " large"),
    }
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/")))
        assert journey.counts.pages == 3


async def test_duplicates_use_no_budget(tmp_path: Path) -> None:
    twin = page("Twin", prose("twin"))
    links = ("/a", "/b", "/c", "/other")
    pages = {
        "/": page("Home", prose("home"), links=links),
        "/a": twin,
        "/b": twin,
        "/c": twin,
        "/other": page("Other", prose("other")),
    }
    with serving(site(pages)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), max_pages=3))
        assert journey.kept(web.origin) == {"/", "/a", "/other"}


def test_however_many_urls_lead_there_one_markdown_file_is_written(tmp_path: Path) -> None:
    home = page("Home", prose("home"), links=("/index.html", "/home", "/start", "/old", "/?utm_source=x", "/#top"))
    pages: dict[str, Answer] = {"/": home, "/index.html": home, "/home": redirect("/"), "/start": redirect("/home", 302)}
    pages["/old"] = redirect("/index.html", 308)
    with serving(site(pages)) as web:
        out, data = tmp_path / "out", tmp_path / "data"
        done = command(
            "crawl", web.url("/"), "--data", str(data), "--output", "md", "--out", str(out), "--json", "--delay", "0"
        )
        assert done.code == 0, done.err
        rows = exported_rows(data)
    assert len(list(out.rglob("*.md"))) == 1
    assert {url.removeprefix(web.origin): row["state"] for url, row in rows.items()} == {
        "/": "VISITED", "/index.html": "ALIAS", "/home": "ALIAS", "/start": "ALIAS", "/old": "ALIAS",
    }  # fmt: skip
    assert {row["final_url"] for row in rows.values()} == {web.url("/")}
    assert {row["proof"] for row in rows.values()} == {None, "redirect", "equal_content"}
