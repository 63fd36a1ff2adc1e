"""The scope of a crawl: host, origin, prefix, include and exclude patterns. Every URL out of scope has a reason."""

from __future__ import annotations

from pathlib import Path

from tests.support.crawls import crawl, crawl_settings, run_cli
from tests.support.http_server import Pages, page, prose, serve_site, site

from sitelore.model.settings import Scope


def docs(*elsewhere: str) -> Pages:
    """Two sections, and links that leave the site."""
    links = ("/docs/start", "/docs/guide/one", "/blog/today", "/docs/print?format=pdf", *elsewhere)
    paths = ("/docs/start", "/docs/guide/one", "/docs/guide/two", "/blog/today", "/docs/print?format=pdf", "/documents")
    pages = {path: page(path, prose(path), links=("/docs/guide/two", "/documents")) for path in paths}
    return site({**pages, "/": page("Home", prose("home"), links=links), "/docs/": page("Docs", prose("docs"), links=links)})


async def test_the_host_of_the_seed_is_the_default_and_other_hosts_are_recorded(tmp_path: Path) -> None:
    with (
        serve_site(site({"/": page("Other", prose("other"))}), host="localhost") as other,
        serve_site(lambda _: None) as http_server,
    ):
        http_server.pages = docs(other.url("/"), "http://elsewhere.invalid/page", "https://user:word@elsewhere.invalid/secret")
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), allow_private=("any",)))
        assert other.hits == []
        assert result.rows[other.url("/")].skip_reason == "scope"
        assert result.rows["http://elsewhere.invalid/page"].skip_reason == "scope"
        assert result.rows["https://elsewhere.invalid/secret"].skip_reason == "scope"
        assert len(result.kept()) == 7


async def test_origin_scope_requires_the_same_scheme_host_and_port(tmp_path: Path) -> None:
    with serve_site(site({"/": page("Other port", prose("port"))})) as other, serve_site(lambda _: None) as http_server:
        http_server.pages = docs(other.url("/"), f"https://127.0.0.1:{http_server.port}/tls")
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), scope=Scope.ORIGIN, allow_private=("any",)))
        assert other.hits == []
        assert result.rows[other.url("/")].skip_reason == "scope"
        assert result.rows[f"https://127.0.0.1:{http_server.port}/tls"].skip_reason == "scope"


async def test_prefix_scope_stays_below_the_path_of_the_seed(tmp_path: Path) -> None:
    with serve_site(docs()) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/docs/"), scope=Scope.PREFIX))
        assert result.kept(http_server.origin) == {
            "/docs/",
            "/docs/start",
            "/docs/guide/one",
            "/docs/guide/two",
            "/docs/print?format=pdf",
        }
        states = result.states(http_server.origin)
        assert states["/blog/today"] == "scope"
        assert states["/documents"] == "scope"


async def test_exclude_and_include_patterns_select_pages_but_never_refuse_a_seed(tmp_path: Path) -> None:
    with serve_site(docs()) as http_server:
        excluded = await crawl(tmp_path / "a", crawl_settings(http_server.url("/"), exclude=("*/blog/*", "*format=pdf*")))
        states = excluded.states(http_server.origin)
        assert states["/blog/today"] == "excluded"
        assert states["/docs/print?format=pdf"] == "excluded"
        assert states["/docs/guide/two"] == "VISITED"
        assert "/blog/today" not in http_server.targets()
        included = await crawl(tmp_path / "b", crawl_settings(http_server.url("/"), include=("*/docs/*",)))
        states = included.states(http_server.origin)
        assert states["/"] == "VISITED", "a seed is named by the user"
        assert states["/docs/start"] == "VISITED"
        assert states["/blog/today"] == "excluded"


def test_the_command_has_the_same_options_and_accepts_a_single_label_host(tmp_path: Path) -> None:
    with serve_site(docs(), host="localhost") as http_server:
        done = run_cli(
            "crawl", http_server.url("/docs/"), "--scope", "prefix", "--exclude", "*format=pdf*",
            "--data", str(tmp_path), "--json", "--delay", "0",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert done.summary["pages"] == 4
        assert sorted(http_server.targets()) == ["/docs/", "/docs/guide/one", "/docs/guide/two", "/docs/start"]


async def test_urls_beyond_depth_or_budget_have_a_reason(tmp_path: Path) -> None:
    with serve_site(docs()) as http_server:
        shallow = await crawl(tmp_path / "a", crawl_settings(http_server.url("/"), max_depth=1))
        assert shallow.states(http_server.origin)["/docs/guide/two"] == "depth"
        small = await crawl(tmp_path / "b", crawl_settings(http_server.url("/"), max_pages=2))
        assert small.kept(http_server.origin) == {"/", "/docs/start"}
        assert list(small.states(http_server.origin).values()).count("budget") == 5
