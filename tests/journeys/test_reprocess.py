"""Reprocessing extracts stored pages again: without requests, with a summary of changes, and idempotently."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.crawls import crawl_in, crawl_settings, run_cli
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.crawl.context import Progress, read_options_of
from sitelore.crawl.reprocess import Reprocessed, Reprocessing
from sitelore.export.pages import write_jsonl
from sitelore.export.rows import write_json
from sitelore.extract.audit_facts import decode_audit_facts
from sitelore.model.audit.facts import Declaration, Place
from sitelore.model.frontier import Run
from sitelore.model.settings import Overrides

SECRET = "AKIA" + "Z7Q2M4XW9K3BVT5N"
TITLES_ONLY = (Overrides(domain="127.0.0.1", main_content_selectors=("h1",)),)


def shop() -> dict[str, Answer]:
    pages = {f"/{name}": page(name.title(), prose(name), links=("/",)) for name in ("apples", "bears", "clouds", "dunes")}
    pages["/secret"] = page("Secret", f"{prose('secret')} key {SECRET} end", links=("/",))
    pages["/kept-out"] = page("Kept out", prose("kept out"), head='<meta name="robots" content="noarchive">')
    pages["/latin"] = Answer(
        body=f"<html><title>Caf\u00e9</title><main><h1>Caf\u00e9</h1><p>{prose('latin')} cr\u00e8me</p></main>".encode(
            "latin-1"
        ),
        content_type="text/html; charset=iso-8859-1",
    )
    pages["/headers"] = Answer(
        body=page("Headers", prose("headers")).body.replace(b' lang="en"', b""),
        headers=(("X-Robots-Tag", "noindex"), ("Content-Language", "de"), ("Link", '</other>; rel="canonical"')),
    )
    pages["/"] = page("Shop", prose("shop"), links=tuple(path for path in pages if path != "/"))
    return pages


async def crawled(app: App, http_server: HttpServer) -> Run:
    journey = await crawl_in(app, crawl_settings(http_server.url()))
    assert journey.counts.pages == 9
    assert journey.counts.redactions
    http_server.clear_log()
    return journey.run


async def reread(app: App, run: Run, overrides: tuple[Overrides, ...] = (), *, write: bool = True) -> Reprocessed:
    options = replace(read_options_of(run.settings), keep_snapshot=False, overrides=overrides)
    return await Reprocessing(run, app.ledger, app.blobs, app.reader, options, 1).work(Progress(), write=write)


async def exported_json(app: App, run: Run) -> dict[str, dict[str, Any]]:
    sink = io.BytesIO()
    await write_jsonl(partial(app.ledger.rows, run.id), app.blobs, sink)
    return {row["url"]: row for row in map(json.loads, sink.getvalue().splitlines())}


async def rows(app: App, run: Run) -> bytes:
    sink = io.BytesIO()
    await write_json(app.ledger.rows(run.id), sink)
    return sink.getvalue()


async def test_reprocessing_sends_no_request_and_changes_nothing(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            run = await crawled(app, http_server)
            before, table = await exported_json(app, run), await rows(app, run)
            result = await reread(app, run)
            assert http_server.hits == []
            assert await exported_json(app, run) == before
            assert await rows(app, run) == table
        headers = before[http_server.url("/headers")]
    assert (headers["noindex"], headers["lang"], headers["canonical_url"]) == (True, "de", http_server.url("/other"))
    assert (result.pages, result.changed, result.without_snapshot) == (8, 0, 1)
    assert (result.words_gained, result.words_lost, result.unreadable, result.largest) == (0, 0, {}, [])


async def test_changed_rules_change_the_export_once(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            run = await crawled(app, http_server)
            before = await exported_json(app, run)
            trial = await reread(app, run, TITLES_ONLY, write=False)
            assert await exported_json(app, run) == before
            result = await reread(app, run, TITLES_ONLY)
            after = await exported_json(app, run)
            again = await reread(app, run, TITLES_ONLY)
            back = await reread(app, run)
            assert await exported_json(app, run) == before
            assert http_server.hits == []
        assert after[http_server.url("/apples")]["markdown"] == "# Apples"
        assert after[http_server.url("/apples")]["word_count"] == 1
        assert after[http_server.url("/kept-out")] == before[http_server.url("/kept-out")]
    assert {url: row["crawl_status"] for url, row in after.items()} == {url: row["crawl_status"] for url, row in before.items()}
    assert trial == result
    assert result.changed == result.text_changed == 8
    assert result.words_lost > 8 * 50
    assert result.words_gained == 0
    assert len(result.largest) == 5
    assert result.largest[0].words_lost >= result.largest[-1].words_lost > 0
    assert (again.changed, again.words_lost) == (0, 0)
    assert back.words_gained == result.words_lost


async def test_the_next_crawl_uses_reprocessed_pages_and_other_runs_keep_their_own(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            first = await crawled(app, http_server)
            await reread(app, first, TITLES_ONLY)
            second = await crawl_in(app, crawl_settings(http_server.url()))
            assert second.rows[http_server.url("/apples")].state == "NOT_MODIFIED"
            assert (await exported_json(app, second.run))[http_server.url("/apples")]["markdown"] == "# Apples"
            assert (await reread(app, first)).changed == 8
            assert (await exported_json(app, second.run))[http_server.url("/apples")]["markdown"] == "# Apples"
            assert (await reread(app, second.run)).changed == 8
            assert (await exported_json(app, second.run))[http_server.url("/headers")]["lang"] == "de"


async def test_the_command_reprocesses_in_parallel_and_reports_changes(tmp_path: Path) -> None:
    rules, data = tmp_path / "rules.json", tmp_path / "data"
    rules.write_text(json.dumps({"domain": "127.0.0.1", "mainContentSelectors": ["h1"]}))
    with serve_site(site(shop())) as http_server:
        async with embedded(data, writing=True) as app:
            run = await crawled(app, http_server)
        summary = run_cli(
            "reprocess", "latest", "--domain-config", str(rules), "--dry-run", "--json", "--data", str(data)
        ).summary
        assert summary["run"] == run.id
        assert (summary["pages"], summary["changed"], summary["without_snapshot"], summary["dry_run"]) == (8, 8, 1, True)
        assert summary["words_lost"] > summary["largest"][0]["words_lost"] > 50
        done = run_cli("reprocess", "--data", str(data))
        assert done.code == 0, done.err
        assert "pages reprocessed" in done.out
        assert "0 gained, 0 lost" in done.out
        assert http_server.hits == []
    missing = run_cli("reprocess", "nothing", "--data", str(data))
    assert missing.code == 2
    assert "no run" in missing.err


async def test_a_run_that_has_not_ended_is_not_reprocessed(tmp_path: Path) -> None:
    async with embedded(tmp_path, writing=True) as app:
        run = await app.create_run(crawl_settings("http://127.0.0.1:9/"))
    done = run_cli("reprocess", run.id, "--data", str(tmp_path))
    assert done.code == 2
    assert "has not ended" in done.err


async def test_facts_and_links_of_pages_are_filled_without_requests(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            run = await crawled(app, http_server)
            assert {version.facts async for version in app.ledger.page_versions(run.site)} == {b""}
        assert run_cli("reprocess", "--data", str(tmp_path)).code == 0
        assert http_server.hits == []
        async with embedded(tmp_path, writing=True) as app:
            versions = {version.url.path: version async for version in app.ledger.page_versions(run.site)}
            inlinks = await app.ledger.inlinks(run.site, versions["/apples"].url)
    facts = {path: decode_audit_facts(version.facts) for path, version in versions.items() if version.facts}
    assert facts.keys() == versions.keys() - {"/kept-out"}  # it has no snapshot
    assert (facts["/apples"].title, facts["/apples"].lang, facts["/apples"].link_count) == ("Apples", "en", 1)
    assert facts["/headers"].canonicals == (Declaration("/other", Place.HEADER, "canonical"),)
    assert [(link.source.path, link.text) for link in inlinks] == [("/", "link 1")]


async def test_a_crawl_stores_facts_when_its_settings_say_so(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            journey = await crawl_in(app, crawl_settings(http_server.url(), audit_facts=True))
            facts = [decode_audit_facts(version.facts) async for version in app.ledger.page_versions(journey.run.site)]
    assert len(facts) == journey.counts.pages
    assert all(own.kind == "html" and own.titles == 1 for own in facts)
    assert not any(SECRET in str(own) for own in facts)
