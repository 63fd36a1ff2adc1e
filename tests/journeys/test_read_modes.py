"""`--read content` keeps the same pages and content as a full crawl; reprocessing adds the rest later."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.crawls import exported_rows, run_cli
from tests.support.http_server import Answer, HttpServer, prose, serve_site, site

PRODUCT = {"@context": "https://schema.org", "@type": "Product", "name": "Kettle", "offers": {"price": "20"}}


def shop() -> dict[str, Answer]:
    """Pages with a menu, structured data, a form and a box of related links."""
    pages = {}
    names = ("kettles", "lamps", "ovens", "tables")
    for name in names:
        text = "".join(f"<p>{prose(f'{name} {number}')}</p>" for number in range(4))
        menu = "".join(f'<li><a href="/{other}">{other.title()}</a></li>' for other in names)
        pages[f"/{name}"] = Answer(
            body=f"""<html lang="en"><head><title>{name.title()}</title><meta name="description" content="All {name}">
            <script type="application/ld+json">{json.dumps(PRODUCT)}</script></head><body><nav><ul>{menu}</ul></nav>
            <main><h1>{name.title()}</h1>{text}<form action="/find" role="search"><input name="q"></form>
            <div class="related"><h3>Related</h3><ul>{menu}</ul></div></main><footer><a href="/imprint">Imprint</a></footer>
            </body></html>""".encode()
        )
    pages["/imprint"] = Answer(body=f"<html><title>Imprint</title><main><p>{prose('imprint')}</p></main>".encode())
    pages["/"] = Answer(
        body=b'<html><title>Shop</title><main><h1>Shop</h1><a href="/kettles">Kettles</a><p>Welcome to the shop.</p></main>'
    )
    return pages


def crawled(http_server: HttpServer, data: Path, mode: str) -> dict[str, Any]:
    done = run_cli("crawl", http_server.url(), "--read", mode, "--output", "db", "--delay", "0", "--json", "--data", str(data))
    assert done.code == 0, done.err
    return done.summary


def pages(data: Path) -> dict[str, dict[str, Any]]:
    done = run_cli("export", "--format", "jsonl", "--data", str(data))
    assert done.code == 0, done.err
    return {row["url"]: row for row in map(json.loads, done.out.splitlines())}


def test_a_crawl_that_reads_only_content_keeps_the_same_content(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        assert (
            crawled(http_server, tmp_path / "content", "content")["pages"]
            == crawled(http_server, tmp_path / "full", "full")["pages"]
            == 6
        )
        content, full = pages(tmp_path / "content"), pages(tmp_path / "full")
    assert content.keys() == full.keys()
    for url, page in full.items():
        for name in ("title", "h1", "links", "headings", "markdown", "text", "strategy", "content_hash"):
            assert content[url].get(name) == page.get(name), name
        assert not any(content[url].get(name) for name in ("structured", "forms", "actions", "media", "brand"))
    assert any(page["forms"] for page in full.values())


def test_reprocessing_in_full_gives_what_a_full_crawl_would_have(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        crawled(http_server, tmp_path / "content", "content")
        crawled(http_server, tmp_path / "full", "full")
        http_server.clear_log()
        summary = run_cli("reprocess", "--read", "full", "--json", "--data", str(tmp_path / "content")).summary
        assert http_server.hits == []
    assert (summary["pages"], summary["without_snapshot"], summary["unreadable"]) == (6, 0, {})
    content, full = pages(tmp_path / "content"), pages(tmp_path / "full")
    moving = {"fetched_at", "crawled_at", "run", "elapsed_ms"}
    for url, page in full.items():
        assert {k: v for k, v in content[url].items() if k not in moving} == {k: v for k, v in page.items() if k not in moving}
    again = run_cli("reprocess", "--read", "full", "--json", "--data", str(tmp_path / "content")).summary
    assert again["changed"] == 0
    states = {url: row["state"] for url, row in exported_rows(tmp_path / "full").items()}
    assert {url: row["state"] for url, row in exported_rows(tmp_path / "content").items()} == states


def test_a_stored_run_with_mode_plain_loads_and_is_reprocessed_as_content(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        crawled(http_server, tmp_path, "content")
    with closing(sqlite3.connect(tmp_path / "sitelore.db")) as database, database:
        changed = database.execute("""UPDATE runs SET settings = replace(settings, '"read":"content"', '"read":"plain"')""")
        assert changed.rowcount == 1
        [(settings,)] = database.execute("SELECT settings FROM runs").fetchall()
        assert '"read":"plain"' in settings
    run = json.loads(run_cli("show", "--json", "--data", str(tmp_path)).out)
    assert run["settings"]["read"] == "content"
    again = run_cli("reprocess", "--json", "--data", str(tmp_path)).summary
    assert (again["pages"], again["changed"]) == (6, 0)


@pytest.mark.parametrize("mode", ["plain", "half"])
def test_an_unknown_mode_is_refused_with_the_names_of_the_known_ones(mode: str, tmp_path: Path) -> None:
    for name, target in (("crawl", "http://127.0.0.1:9/"), ("reprocess", "latest")):
        done = run_cli(name, target, "--read", mode, "--data", str(tmp_path))
        assert done.code == 2
        assert all(name in done.err for name in ("--read", "full", "content"))
