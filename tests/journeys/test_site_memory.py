"""Text that repeats over a site is left out of exports, for any order of pages and number of workers."""

from __future__ import annotations

import io
import json
import signal
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.crawls import crawl, crawl_settings, run_cli, start_cli
from tests.support.http_server import Answer, Pages, prose, serve_site, site

from sitelore.app.wiring import embedded
from sitelore.export.boilerplate import NO_REPEATS, find_repeats
from sitelore.export.pages import write_jsonl

COOKIES = "We use cookies and similar means to make this shop work, and to learn which of its pages are read."
CALL = "Do you want to know more about our kettles? Write to the workshop and get an answer within a day."
BOX = [
    ("/page-1", "How the first kettle was made"),
    ("/page-2", "What steam can do for you"),
    ("/page-3", "A visit to the mine"),
]


def paragraphs(number: int) -> list[str]:
    return [prose(f"page {number} paragraph {part}", 40).capitalize() + "." for part in range(4)]


def kettles(count: int) -> Pages:
    """Pages with their own text between a cookie notice, a call to action and a box that all of them share."""
    links = "".join(f"<li><a href='{url}'>{name}</a></li>" for url, name in BOX)
    pages = {}
    for number in range(count):
        own = "".join(f"<p>{text}</p>" for text in paragraphs(number))
        onward = "".join(f'<a href="/page-{n}">.</a>' for n in range(3 * number + 1, min(count, 3 * number + 4)))
        title, steel = prose(f"title {number}", 3), prose(f"steel {number}", 30)
        body = (
            f"<h1>Page {title}</h1><p>{COOKIES}</p>{own}<h2>Materials</h2><p>{steel}</p>"
            f"<p>{CALL}</p><h2>More to read</h2><ul>{links}</ul><p>{COOKIES}</p>"
        )
        html = f"<!doctype html><title>Kettle {number}</title><body><main><article>{body}</article></main><nav>{onward}</nav>"
        pages["/" if number == 0 else f"/page-{number}"] = Answer(body=html.encode())
    return site(pages)


async def exported_json(data: Path, *, whole: bool = False) -> dict[str, dict[str, Any]]:
    sink = io.BytesIO()
    async with embedded(data, writing=False) as app:
        run = (await app.ledger.runs(1))[0]
        repeats = NO_REPEATS if whole else await find_repeats(app.ledger.sketches(run.id))
        await write_jsonl(partial(app.ledger.rows, run.id), app.blobs, sink, repeats)
    rows = [json.loads(line) for line in sink.getvalue().splitlines()]
    return {row["url"]: {name: value for name, value in row.items() if name != "fetched_at"} for row in rows}


async def test_text_that_all_pages_share_is_left_out_and_their_own_text_is_kept(tmp_path: Path) -> None:
    with serve_site(kettles(12)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url()))
        assert result.counts.pages == 12
        whole, trimmed = await exported_json(tmp_path, whole=True), await exported_json(tmp_path)
        for number in range(12):
            url = http_server.url("/" if number == 0 else f"/page-{number}")
            before, after = whole[url], trimmed[url]
            for part in ("markdown", "text"):
                assert COOKIES in before[part]
                assert CALL in before[part]
                assert COOKIES not in after[part]
                assert CALL not in after[part]
                assert "How the first kettle was made" not in after[part]
                assert "More to read" not in after[part]
                assert all(text in after[part] for text in (*paragraphs(number), prose(f"steel {number}", 30), "Materials"))
            assert after["word_count"] == len(after["text"].split())
            assert after["content_hash"] == before["content_hash"] == result.rows[url].content_hash
            assert after["markdown"].startswith("# Page ")


async def test_the_exported_files_leave_it_out_too(tmp_path: Path) -> None:
    with serve_site(kettles(6)) as http_server:
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--output", "md", "--delay", "0")
    assert done.code == 0, done.err
    files = list((tmp_path / "pages").rglob("*.md"))
    assert len(files) == 6
    assert not [path for path in files if COOKIES in path.read_text()]
    flags = ("export", "--format", "jsonl", "--data", str(tmp_path))
    assert COOKIES not in run_cli(*flags).out
    assert run_cli(*flags, "--whole").out.count(COOKIES) > 6


async def test_nothing_is_left_out_of_a_site_of_two_pages(tmp_path: Path) -> None:
    with serve_site(kettles(2)) as http_server:
        await crawl(tmp_path, crawl_settings(http_server.url(), max_pages=2))
        assert await exported_json(tmp_path) == await exported_json(tmp_path, whole=True)


async def test_headings_and_code_that_documentation_repeats_are_kept(tmp_path: Path) -> None:
    pages = {}
    for number in range(10):
        parts = [prose(f"{number} {part}", 30) for part in range(3)]
        onward = "".join(f'<a href="/f{n}">.</a>' for n in range(3 * number + 1, min(10, 3 * number + 4)))
        html = (
            f"<title>f{number}</title><body><main><h1>f{number}</h1><p>{parts[0]}</p><h2>Parameters</h2><p>{parts[1]}</p>"
            "<h2>Example</h2><p>Example:</p><pre><code>import kettle\nkettle.boil()</code></pre>"
            f"<h2>Returns</h2><p>{parts[2]}</p><p>Yes.</p><p>{prose(f'{number} more', 20)}</p></main><nav>{onward}</nav>"
        )
        pages["/" if number == 0 else f"/f{number}"] = Answer(body=html.encode())
    with serve_site(site(pages)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url()))
        assert result.counts.pages == 10
        assert await exported_json(tmp_path) == await exported_json(tmp_path, whole=True)


async def test_the_export_is_equal_for_any_number_of_workers_and_after_a_kill(tmp_path: Path) -> None:
    exports = []
    with serve_site(kettles(30)) as http_server:
        for concurrency in (1, 4, 16):
            data = tmp_path / str(concurrency)
            await crawl(data, crawl_settings(http_server.url(), concurrency=concurrency))
            exports.append(await exported_json(data))
        http_server.clear_log()
        killed = tmp_path / "killed"
        flags = ("crawl", http_server.url(), "--data", str(killed), "--delay", "0", "--concurrency", "4", "--output", "db")
        http_server.delay_s = 0.02
        with start_cli(*flags) as process:
            assert http_server.wait_for_hits(12)
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        assert run_cli(*flags, "--resume").code == 0
        exports.append(await exported_json(killed))
    assert len(exports[0]) == 30
    assert all(COOKIES not in row["markdown"] for row in exports[0].values())
    assert exports[1:] == [exports[0]] * 3
