"""Several sites and crawls in one data directory: which run a command means, files of earlier crawls, sites that are down."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.crawls import run_cli
from tests.support.http_server import Answer, page, prose, serve_site, site

QUICK = ("--delay", "0")


def two_pages(title: str) -> dict[str, Answer]:
    return {"/": page(title, prose(title), links=("/next",)), "/next": page(f"{title} next", prose(f"{title} next"))}


def test_commands_mean_the_run_that_knows_the_url_or_the_site_that_is_named(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    with serve_site(site(two_pages("first"))) as first, serve_site(site(two_pages("second"))) as second:
        for server in (first, second):
            assert run_cli("crawl", server.url(), *QUICK, *data).code == 0
        names = [f"127.0.0.1:{server.port}" for server in (first, second)]

        explained = run_cli("explain", first.url("/next"), *data, "--json")
        assert json.loads(explained.out)["state"] == "VISITED"
        inspected = run_cli("inspect", first.url("/next"), *data, "--json")
        assert (json.loads(inspected.out)["title"], inspected.err) == ("first next", "")
        by_name = run_cli("export", names[0], *data)
        assert {row["url"] for row in json.loads(by_name.out)} == {first.url(), first.url("/next")}
        latest = run_cli("export", "latest", *data)
        assert {row["url"] for row in json.loads(latest.out)} == {second.url(), second.url("/next")}
        assert (
            latest.err
            == f"note: the latest run is of {names[1]}; for another site, give its name instead of latest: {names[0]}\n"
        )
        mixed = run_cli("compare", *names, *data)
        assert mixed.code == 2
        assert (
            mixed.err == f"sitelore: the runs are of different sites, {names[0]} and {names[1]}; compare two runs of one site\n"
        )
        unknown = run_cli("show", "nowhere.test", *data)
        assert (unknown.code, "no run or site 'nowhere.test'" in unknown.err) == (2, True)


def test_a_crawl_refreshes_every_file_that_an_earlier_one_wrote_and_none_of_another_site(tmp_path: Path) -> None:
    data, pages = ("--data", str(tmp_path / "data")), tmp_path / "data" / "pages"
    with serve_site(site(two_pages("first"))) as first, serve_site(site(two_pages("other"))) as other:
        assert run_cli("crawl", first.url(), *QUICK, *data, "--output", "jsonl", "--output", "csv").code == 0
        assert run_cli("crawl", other.url(), *QUICK, *data, "--output", "md").code == 0
        assert "first next" in (pages / "pages.jsonl").read_text()
        first.edit("/next")
        summary = json.loads(run_cli("crawl", first.url(), *QUICK, *data, "--json").out)
        assert set(summary["outputs"]) == {"db", "md", "jsonl", "csv"}
        exported = run_cli("export", f"127.0.0.1:{first.port}", "--format", "jsonl", *data).out
        assert (pages / "pages.jsonl").read_text() == exported


def test_a_site_that_is_down_fails_the_run_with_the_cause_and_keeps_the_files_of_its_pages(tmp_path: Path) -> None:
    data, pages = ("--data", str(tmp_path / "data")), tmp_path / "data" / "pages"
    options = (*QUICK, *data, "--output", "md", "--output", "jsonl", "--output", "csv")
    with serve_site(site(two_pages("first"))) as server:
        assert run_cli("crawl", server.url(), *options).code == 0
    before = {path: path.read_bytes() for path in pages.rglob("*") if path.is_file() and path.suffix != ".csv"}
    done = run_cli("crawl", server.url(), *options, "--json")
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith(
        f"sitelore: the crawl failed: {server.url()}: cannot connect to 127.0.0.1:{server.port}: connection refused"
    )
    summary = json.loads(done.out)
    assert (summary["state"], summary["pages"]) == ("FAILED", 0)
    assert {path: path.read_bytes() for path in before} == before
    assert "robots_unreachable" in (pages / "urls.csv").read_text()


def test_a_sitemap_on_a_host_that_is_down_fails_the_run_and_a_site_of_404s_does_not(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    with serve_site(site({"/": page("first")})) as server:
        missing = run_cli("crawl", server.url("/missing"), *QUICK, *data, "--json")
        assert (missing.code, json.loads(missing.out)["state"]) == (1, "COMPLETED")
    done = run_cli("crawl", "--sitemap", server.url("/sitemap.xml"), *QUICK, *data, "--json")
    assert (done.code, json.loads(done.out)["state"]) == (1, "FAILED")


def test_an_include_pattern_that_matches_nothing_is_reported(tmp_path: Path) -> None:
    with serve_site(site(two_pages("first"))) as server:
        done = run_cli("crawl", server.url(), *QUICK, "--data", str(tmp_path), "--include", "/nxt", "--include", "/next")
    assert "note: no URL matches --include '/nxt'\n" in done.err
    assert "--include '/next'" not in done.err
