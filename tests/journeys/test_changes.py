"""What changed between two crawls: an edited, a deleted, a new and a moved page are four changes; old versions are kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from tests.support.articles import article, articles, topics
from tests.support.crawls import run_cli
from tests.support.http_server import Answer, HttpServer, Pages, serve_site

NAMES = topics(9)


def sitemap_of(pages: Pages, http_server: HttpServer, targets: list[str]) -> Pages:
    """The pages, listed in a sitemap, so that no page has to link to a new one."""
    entries = "".join(f"<url><loc>{http_server.url(target)}</loc></url>" for target in targets)
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()

    def answer(target: str) -> Answer | None:
        return Answer(body=body, content_type="application/xml") if target == "/sitemap.xml" else pages(target)

    return answer


def crawl(data: Path, http_server: HttpServer) -> None:
    done = run_cli(
        "crawl",
        "--sitemap",
        http_server.url("/sitemap.xml"),
        "--force",
        "--delay",
        "0",
        "--data",
        str(data),
        "--max-depth",
        "1",
    )
    assert done.code == 0, done.err


def test_an_edited_a_deleted_a_new_and_a_moved_page_are_four_changes(tmp_path: Path) -> None:
    edited, deleted, new, moved, *_ = (f"/{name}" for name in NAMES)
    with serve_site(articles(NAMES)) as http_server:
        http_server.validators = False
        kept = [f"/{name}" for name in NAMES]
        http_server.pages = sitemap_of(articles(NAMES, {new: Answer(404)}), http_server, [t for t in kept if t != new])
        crawl(tmp_path, http_server)
        between = datetime.now(UTC).isoformat()
        replaced = {
            edited: article(NAMES[0], ("/",), edited="A sentence about the quarry."),
            deleted: Answer(410),
            moved: Answer(301, headers=(("Location", "/elsewhere"),)),
            "/elsewhere": article(NAMES[3], ("/",)),
        }
        http_server.pages = sitemap_of(articles(NAMES, replaced), http_server, [*kept, "/elsewhere"])
        crawl(tmp_path, http_server)
        site = ("--data", str(tmp_path))
        shown = run_cli("changes", *site, "--no-diff")
        assert {tuple(line.split()[:3]) for line in shown.out.splitlines()} == {
            ("~", "changed", http_server.url(edited)),
            ("-", "gone", http_server.url(deleted)),
            ("+", "new", http_server.url(new)),
            (">", "moved", http_server.url(moved)),
        }
        second, first = (run["run"] for run in json.loads(run_cli("runs", *site, "--json").out))
        assert run_cli("changes", *site, "--no-diff", "--since", first, "--until", second).out == shown.out
        assert "+ " in run_cli("changes", *site).out
        assert "quarry" in run_cli("show", http_server.url(edited), *site).out
        before = run_cli("show", http_server.url(edited), "--at", between, *site)
        assert (before.code, "quarry" in before.out) == (0, False)


def test_a_page_that_comes_back_is_new_whether_or_not_it_has_changed(tmp_path: Path) -> None:
    same, edited = (f"/{name}" for name in NAMES[:2])
    kept = [f"/{name}" for name in NAMES]
    missing = articles(NAMES, {same: Answer(404), edited: Answer(404)})
    with serve_site(articles(NAMES)) as http_server:
        http_server.validators = False
        changed = articles(NAMES, {edited: article(NAMES[1], ("/",), edited="A sentence about the quarry.")})
        for pages in (articles(NAMES), missing, changed):
            http_server.pages = sitemap_of(pages, http_server, kept)
            crawl(tmp_path, http_server)
            back = run_cli("changes", "--no-diff", "--data", str(tmp_path))
        assert {tuple(line.split()[:3]) for line in back.out.splitlines()} == {
            ("+", "new", http_server.url(same)),
            ("+", "new", http_server.url(edited)),
        }
        crawl(tmp_path, http_server)
        assert run_cli("changes", "--no-diff", "--data", str(tmp_path)).out.count(http_server.url()) == 0
