"""A crawl that reads plainly follows the same links and keeps the same pages; reading them fully later makes up the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.web.journey import command, exported_rows
from tests.web.serve import Answer, Web, prose, serving, site

PRODUCT = {"@context": "https://schema.org", "@type": "Product", "name": "Kettle", "offers": {"price": "20"}}


def shop() -> dict[str, Answer]:
    """Pages with a frame, structured data, a form, and a box that only scoring tells from the content."""
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


def crawled(web: Web, data: Path, mode: str) -> dict[str, Any]:
    done = command("crawl", web.url(), "--read", mode, "--output", "db", "--delay", "0", "--json", "--data", str(data))
    assert done.code == 0, done.err
    return done.summary


def pages(data: Path) -> dict[str, dict[str, Any]]:
    done = command("export", "--format", "jsonl", "--data", str(data))
    assert done.code == 0, done.err
    return {row["url"]: row for row in map(json.loads, done.out.splitlines())}


def test_a_plain_crawl_keeps_the_same_pages_with_less_in_them(tmp_path: Path) -> None:
    with serving(site(shop())) as web:
        assert crawled(web, tmp_path / "plain", "plain")["pages"] == crawled(web, tmp_path / "full", "full")["pages"] == 6
        plain, full = pages(tmp_path / "plain"), pages(tmp_path / "full")
        kettles = web.url("/kettles")
    assert plain.keys() == full.keys()
    for name in ("title", "h1", "description", "lang", "links", "headings"):
        assert plain[kettles].get(name) == full[kettles].get(name), name
    assert (plain[kettles]["strategy"], full[kettles]["strategy"]) == ("main", "learned")
    assert full[kettles]["structured"]
    assert full[kettles]["forms"]
    assert not plain[kettles].get("structured")
    assert not plain[kettles].get("forms")
    assert prose("kettles 3") in plain[kettles]["markdown"]
    assert "Imprint" not in plain[kettles]["markdown"]


def test_a_crawl_for_content_alone_keeps_the_same_content(tmp_path: Path) -> None:
    with serving(site(shop())) as web:
        assert crawled(web, tmp_path / "content", "content")["pages"] == crawled(web, tmp_path / "full", "full")["pages"] == 6
        content, full = pages(tmp_path / "content"), pages(tmp_path / "full")
    assert content.keys() == full.keys()
    for url, page in full.items():
        for name in ("title", "h1", "links", "headings", "markdown", "text", "strategy", "content_hash"):
            assert content[url].get(name) == page.get(name), name
        assert not any(content[url].get(name) for name in ("structured", "forms", "actions", "media", "brand"))
    assert any(page["forms"] for page in full.values())


def test_reading_fully_later_gives_what_a_full_crawl_would_have(tmp_path: Path) -> None:
    with serving(site(shop())) as web:
        crawled(web, tmp_path / "plain", "plain")
        crawled(web, tmp_path / "full", "full")
        web.forget()
        summary = command("reprocess", "--read", "full", "--json", "--data", str(tmp_path / "plain")).summary
        assert web.hits == []
    assert (summary["pages"], summary["without_snapshot"], summary["unreadable"]) == (6, 0, {})
    plain, full = pages(tmp_path / "plain"), pages(tmp_path / "full")
    moving = {"fetched_at", "crawled_at", "run", "elapsed_ms"}
    for url, page in full.items():
        assert {k: v for k, v in plain[url].items() if k not in moving} == {k: v for k, v in page.items() if k not in moving}
    again = command("reprocess", "--read", "full", "--json", "--data", str(tmp_path / "plain")).summary
    assert again["changed"] == 0
    states = {url: row["state"] for url, row in exported_rows(tmp_path / "full").items()}
    assert {url: row["state"] for url, row in exported_rows(tmp_path / "plain").items()} == states


def test_a_way_of_reading_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    done = command("crawl", "http://127.0.0.1:9/", "--read", "half", "--data", str(tmp_path))
    assert done.code == 2
    assert "full" in done.err
    assert "plain" in done.err
