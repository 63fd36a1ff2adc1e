"""Start reading here: one crawl of a tiny site, and all of its results."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.crawls import crawl, crawl_settings, run_cli
from tests.support.http_server import page, prose, redirect, serve_site, site

BAKERY = site(
    {
        "/": page(
            "The bakery", prose("home"), links=("/bread", "/old-bread", "/gone", "/staff/rota", "http://elsewhere.invalid/")
        ),
        "/bread": page("Our bread", prose("bread"), links=("/", "/bread#crust", "/bread?utm_source=letter", "/bread/rye")),
        "/bread/rye": page("Rye", prose("rye")),
        "/old-bread": redirect("/bread", 301),
        "/staff/rota": page("Rota", prose("rota")),
    },
    robots="User-agent: *\nDisallow: /staff/\n",
)


async def test_every_discovered_url_has_a_row_with_its_outcome(tmp_path: Path) -> None:
    with serve_site(BAKERY) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        rows, at = result.rows, http_server.url

    assert result.run.state == "COMPLETED"
    assert {url: row.state.value for url, row in rows.items()} == {
        at("/"): "VISITED",
        at("/bread"): "VISITED",
        at("/bread/rye"): "VISITED",
        at("/old-bread"): "ALIAS",
        at("/gone"): "NOT_FOUND",
        at("/staff/rota"): "SKIPPED",
        "http://elsewhere.invalid/": "SKIPPED",
    }
    assert rows[at("/old-bread")].final_url == at("/bread")
    assert rows[at("/old-bread")].proof == "redirect"
    assert rows[at("/gone")].status_code == 404
    assert rows[at("/staff/rota")].skip_reason == "robots"
    assert "line 2" in rows[at("/staff/rota")].detail
    assert rows["http://elsewhere.invalid/"].skip_reason == "scope"
    assert rows[at("/bread/rye")].parent == at("/bread")
    assert rows[at("/bread/rye")].depth == 2


async def test_nothing_is_fetched_twice_and_nothing_forbidden_at_all(tmp_path: Path) -> None:
    with serve_site(BAKERY) as http_server:
        await crawl(tmp_path, crawl_settings(http_server.url("/")))
        assert sorted(http_server.targets()) == ["/", "/bread", "/bread/rye", "/gone", "/old-bread"]
        assert sum(hit.target == "/robots.txt" for hit in http_server.hits) == 1
        assert all(hit.agent.startswith("Sitelore/") for hit in http_server.hits)


def test_the_command_prints_a_summary_and_writes_markdown_and_an_export(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    with serve_site(BAKERY) as http_server:
        done = run_cli(
            "crawl", http_server.url("/"), "--data", str(data), "--json", "--delay", "0", "--output", "md", "--out", str(out)
        )
    assert done.code == 0, done.err
    assert done.summary["state"] == "COMPLETED"
    assert done.summary["pages"] == 3
    assert {"run", "data"} <= done.summary.keys()
    files = sorted(out.rglob("*.md"))
    assert len(files) == 3
    rye = next(f for f in files if "rye" in f.name or "rye" in str(f)).read_text()
    assert rye.startswith("---\n")
    assert prose("rye")[:40] in rye

    rows = run_cli("export", "latest", "--format", "json", "--data", str(data))
    assert rows.code == 0, rows.err
    assert [row["state"] for row in json.loads(rows.out)].count("VISITED") == 3
    explained = run_cli("explain", http_server.url("/staff/rota"), "--data", str(data))
    assert explained.code == 0, explained.err
    assert "Disallow: /staff/" in explained.out
