"""Duplicates become one page: redirects, canonical links with similar content, equal content. The proof is recorded."""

from __future__ import annotations

from pathlib import Path

from tests.support.crawls import crawl, crawl_settings, exported_rows, run_cli
from tests.support.http_server import Answer, page, prose, redirect, serve_site, site

from sitelore.model.settings import Identity, QueryForm, SlashForm


def _canonical(to: str) -> str:
    return f'<link rel="canonical" href="{to}">'


async def test_pages_of_equal_content_become_one_the_first_in_rank_order(tmp_path: Path) -> None:
    twin = page("Twin", prose("twin"))
    with serve_site(
        site({"/": page("Home", prose("home"), links=("/b", "/a", "/c")), "/a": twin, "/b": twin, "/c": twin})
    ) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), concurrency=8))
        assert result.states(http_server.origin) == {"/": "VISITED", "/a": "ALIAS", "/b": "VISITED", "/c": "ALIAS"}
        assert {result.rows[http_server.url(p)].proof for p in ("/a", "/c")} == {"equal_content"}
        assert {result.rows[http_server.url(p)].final_url for p in ("/a", "/c")} == {http_server.url("/b")}
        assert result.counts.pages == 2


async def test_a_canonical_link_to_similar_content_makes_its_target_the_page(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        shirt = page("Shirt", prose("shirt", 200), head=_canonical(http_server.url("/shirt")))
        http_server.pages = site(
            {"/": page("Home", prose("home"), links=("/shirt?ref=home", "/shirt")), "/shirt?ref=home": shirt, "/shirt": shirt}
        )
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.states(http_server.origin) == {"/": "VISITED", "/shirt?ref=home": "ALIAS", "/shirt": "VISITED"}
        alias = result.rows[http_server.url("/shirt?ref=home")]
        assert (alias.proof, alias.final_url) == ("canonical", http_server.url("/shirt"))


async def test_a_canonical_target_found_a_wave_later_still_becomes_the_page(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        shirt = page("Shirt", prose("shirt", 200), head=_canonical(http_server.url("/shirt")))
        http_server.pages = site(
            {"/": page("Home", prose("home"), links=("/print/shirt",)), "/print/shirt": shirt, "/shirt": shirt}
        )
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.states(http_server.origin) == {"/": "VISITED", "/print/shirt": "ALIAS", "/shirt": "VISITED"}
        assert result.rows[http_server.url("/print/shirt")].proof == "canonical"


async def test_identity_options_of_a_site_decide_which_urls_are_one_page(tmp_path: Path) -> None:
    """The URLs come in different waves and have different text: the option alone is the proof. Both are fetched unchanged."""
    pages = {
        "/": page("Home", prose("home"), links=("/list?b=2&a=1", "/about/")),
        "/list?b=2&a=1": page("List", prose("one"), links=("/list?a=1&b=2",)),
        "/list?a=1&b=2": page("List", prose("two")),
        "/about/": page("About", prose("about"), links=("/about",)),
        "/about": page("About", prose("about again")),
    }
    with serve_site(site(pages)) as http_server:
        options = Identity(slash=SlashForm.STRIP, query=QueryForm.SORT)
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), identity=options))
        aliases = {url: row for url, row in result.rows.items() if row.state == "ALIAS"}
        assert {(row.url, row.final_url, row.proof) for row in aliases.values()} == {
            (http_server.url("/list?a=1&b=2"), http_server.url("/list?b=2&a=1"), "identity"),
            (http_server.url("/about"), http_server.url("/about/"), "identity"),
        }
        assert {hit.target for hit in http_server.hits} >= set(pages)


async def test_a_canonical_link_to_different_content_merges_nothing(tmp_path: Path) -> None:
    """A template whose canonical link is always the home page must not merge the whole site into it."""
    with serve_site(lambda _: None) as http_server:
        names = ("/one", "/two", "/three")
        pages = {name: page(name, prose(name, 150), head=_canonical(http_server.url("/"))) for name in names}
        http_server.pages = site({**pages, "/": page("Home", prose("home", 150), links=names)})
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert set(result.states(http_server.origin).values()) == {"VISITED"}
        assert result.counts.pages == 4


async def test_an_alias_of_a_duplicate_leads_to_the_page_that_was_kept(tmp_path: Path) -> None:
    twin = page("Twin", prose("twin"))
    pages = {
        "/": page("Home", prose("home"), links=("/first", "/moved")),
        "/first": twin,
        "/moved": redirect("/second"),
        "/second": twin,
    }
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.states(http_server.origin) == {
            "/": "VISITED",
            "/first": "VISITED",
            "/moved": "ALIAS",
            "/second": "ALIAS",
        }
        assert result.rows[http_server.url("/moved")].final_url == http_server.url("/first")
        assert result.rows[http_server.url("/moved")].proof == "redirect"


async def test_pages_that_differ_in_one_word_are_two_pages(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/a", "/b")),
        "/a": page("Size", prose("same") + " small"),
        "/b": page("Size", prose("same") + " large"),
    }
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert result.counts.pages == 3


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
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), max_pages=3))
        assert result.kept(http_server.origin) == {"/", "/a", "/other"}


def test_a_page_with_several_urls_gets_one_markdown_file(tmp_path: Path) -> None:
    home = page("Home", prose("home"), links=("/index.html", "/home", "/start", "/old", "/?utm_source=x", "/#top"))
    pages: dict[str, Answer] = {"/": home, "/index.html": home, "/home": redirect("/"), "/start": redirect("/home", 302)}
    pages["/old"] = redirect("/index.html", 308)
    with serve_site(site(pages)) as http_server:
        out, data = tmp_path / "out", tmp_path / "data"
        done = run_cli(
            "crawl", http_server.url("/"), "--data", str(data), "--output", "md", "--out", str(out), "--json", "--delay", "0"
        )
        assert done.code == 0, done.err
        rows = exported_rows(data)
    assert len(list(out.rglob("*.md"))) == 1
    assert {url.removeprefix(http_server.origin): row["state"] for url, row in rows.items()} == {
        "/": "VISITED", "/index.html": "ALIAS", "/home": "ALIAS", "/start": "ALIAS", "/old": "ALIAS",
    }  # fmt: skip
    assert {row["final_url"] for row in rows.values()} == {http_server.url("/")}
    assert {row["proof"] for row in rows.values()} == {None, "redirect", "equal_content"}
