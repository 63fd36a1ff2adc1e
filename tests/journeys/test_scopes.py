"""How far a crawl goes: host, origin, prefix, include and exclude patterns. What is left out says why."""

from __future__ import annotations

from pathlib import Path

from tests.support.journey import command, crawl, crawl_settings
from tests.support.serve import Pages, page, prose, serving, site

from sitelore.model.settings import Scope


def docs(*elsewhere: str) -> Pages:
    """Two sections and whatever links leave the site."""
    links = ("/docs/start", "/docs/guide/one", "/blog/today", "/docs/print?format=pdf", *elsewhere)
    paths = ("/docs/start", "/docs/guide/one", "/docs/guide/two", "/blog/today", "/docs/print?format=pdf", "/documents")
    pages = {path: page(path, prose(path), links=("/docs/guide/two", "/documents")) for path in paths}
    return site({**pages, "/": page("Home", prose("home"), links=links), "/docs/": page("Docs", prose("docs"), links=links)})


async def test_the_host_of_the_seed_is_the_default_and_other_hosts_are_recorded(tmp_path: Path) -> None:
    with serving(site({"/": page("Other", prose("other"))}), host="localhost") as other, serving(lambda _: None) as web:
        web.pages = docs(other.url("/"), "http://elsewhere.invalid/page", "https://user:word@elsewhere.invalid/secret")
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), allow_private=("any",)))
        assert other.hits == []
        assert journey.rows[other.url("/")].skip_reason == "scope"
        assert journey.rows["http://elsewhere.invalid/page"].skip_reason == "scope"
        assert journey.rows["https://elsewhere.invalid/secret"].skip_reason == "scope"
        assert len(journey.kept()) == 7


async def test_origin_scope_keeps_to_scheme_host_and_port(tmp_path: Path) -> None:
    with serving(site({"/": page("Other port", prose("port"))})) as other, serving(lambda _: None) as web:
        web.pages = docs(other.url("/"), f"https://127.0.0.1:{web.port}/tls")
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), scope=Scope.ORIGIN, allow_private=("any",)))
        assert other.hits == []
        assert journey.rows[other.url("/")].skip_reason == "scope"
        assert journey.rows[f"https://127.0.0.1:{web.port}/tls"].skip_reason == "scope"


async def test_prefix_scope_stays_below_the_path_of_the_seed(tmp_path: Path) -> None:
    with serving(docs()) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/docs/"), scope=Scope.PREFIX))
        assert journey.kept(web.origin) == {
            "/docs/",
            "/docs/start",
            "/docs/guide/one",
            "/docs/guide/two",
            "/docs/print?format=pdf",
        }
        states = journey.states(web.origin)
        assert states["/blog/today"] == "scope"
        assert states["/documents"] == "scope"


async def test_exclude_and_include_patterns(tmp_path: Path) -> None:
    with serving(docs()) as web:
        excluded = await crawl(tmp_path / "a", crawl_settings(web.url("/"), exclude=("*/blog/*", "*format=pdf*")))
        states = excluded.states(web.origin)
        assert states["/blog/today"] == "excluded"
        assert states["/docs/print?format=pdf"] == "excluded"
        assert states["/docs/guide/two"] == "VISITED"
        assert "/blog/today" not in web.targets()
        included = await crawl(tmp_path / "b", crawl_settings(web.url("/"), include=("*/docs/*",)))
        states = included.states(web.origin)
        assert states["/"] == "VISITED", "a seed is what the person asked for by name"
        assert states["/docs/start"] == "VISITED"
        assert states["/blog/today"] == "excluded"


def test_the_command_takes_the_same_words_and_works_on_a_single_label_host(tmp_path: Path) -> None:
    with serving(docs(), host="localhost") as web:
        done = command(
            "crawl", web.url("/docs/"), "--scope", "prefix", "--exclude", "*format=pdf*",
            "--data", str(tmp_path), "--json", "--delay", "0",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert done.summary["pages"] == 4
        assert sorted(web.targets()) == ["/docs/", "/docs/guide/one", "/docs/guide/two", "/docs/start"]


async def test_depth_and_budget_leave_a_reason_behind(tmp_path: Path) -> None:
    with serving(docs()) as web:
        shallow = await crawl(tmp_path / "a", crawl_settings(web.url("/"), max_depth=1))
        assert shallow.states(web.origin)["/docs/guide/two"] == "depth"
        small = await crawl(tmp_path / "b", crawl_settings(web.url("/"), max_pages=2))
        assert small.kept(web.origin) == {"/", "/docs/start"}
        assert list(small.states(web.origin).values()).count("budget") == 5
