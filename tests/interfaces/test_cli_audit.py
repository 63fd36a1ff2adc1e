"""`sitelore audit` on a small site with known faults: table, JSON, CSV, SARIF, exit codes, errors."""

from __future__ import annotations

import csv
import fcntl
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.cli import error_line, sitelore
from tests.support.http_server import Answer, page, prose, redirect, serve_site

from sitelore.cli import console
from sitelore.model.audit.findings import Severity

_LISTED = ("/a", "/b", "/c", "/d", "/e", "/dropped")
"""The URLs in the sitemap: not the start page, which is a seed, and not `/f`."""
_ROBOTS = b"User-agent: *\nDisallow: /private\nthis line has no meaning\n"


@dataclass(frozen=True)
class Crawled:
    origin: str
    data: Path


def _pages() -> dict[str, Answer]:
    links = ("/a", "/b", "/c", "/d", "/e", "/f", "/lost", "/old", "/a#nowhere")
    known = {
        "/": page("Start of the site", prose("start"), links=links),
        "/a": page("=2+3 mills and wheels", prose("a"), links=("/", "/lost")),
        "/b": page("A page about wheels", prose("b") + "<img src=/x.png>", links=("/",)),
        "/old": redirect("/older"),
        "/older": redirect("/b"),
        "/lost": Answer(404, b"gone"),
        "/dropped": Answer(404, b"gone"),
        "/robots.txt": Answer(body=_ROBOTS, content_type="text/plain"),
    }
    return known | {f"/{name}": page(f"A page about {name * 9}", prose(name), links=("/",)) for name in "cdef"}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """The site, crawled without audit facts, and no longer served: audits make no request."""
    data = tmp_path_factory.mktemp("audit") / "data"
    known = _pages()
    with serve_site(known.get) as http_server:
        urls = "".join(f"<url><loc>{http_server.url(path)}</loc></url>" for path in _LISTED)
        sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        known["/sitemap.xml"] = Answer(body=sitemap.encode(), content_type="application/xml")
        done = sitelore("crawl", http_server.url("/"), "--delay", "0", "--output", "db", "--data", data)
        assert done.returncode == 0, done.stderr
        origin = http_server.origin
    return Crawled(origin, data)


def audit_json(data: Path, *options: str) -> dict[str, Any]:
    done = sitelore("audit", "--json", "--data", data, *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    return report


def rows_of(path: Path) -> list[dict[str, str]]:
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(data.decode("utf-8-sig").splitlines()))


def test_the_table_has_the_score_and_a_line_for_each_rule_the_worst_first(crawled: Crawled) -> None:
    done = sitelore("audit", "--data", crawled.data)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith(crawled.origin.removeprefix("http://"))
    assert lines[1] == "score 71 % (good): 5 of 7 indexable pages without an error"
    severities = [words[0] for line in lines if (words := line.split()) and words[0] in set(Severity)]
    assert severities == sorted(severities, key=[each.value for each in Severity].index)
    assert "error 2 broken-internal-link Link to a page that does not exist" in [" ".join(line.split()) for line in lines]
    assert f"         {crawled.origin}/ → {crawled.origin}/lost" in lines


def test_the_lines_of_the_table_fit_into_80_columns(crawled: Crawled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_PLAIN_WIDTH", 80)
    lines = sitelore("audit", "--data", crawled.data).stdout.splitlines()
    assert max(len(line) for line in lines if line.startswith(("score", *Severity))) <= 80


def test_missing_facts_are_extracted_from_snapshots_and_the_command_that_stores_them_is_named(crawled: Crawled) -> None:
    done = sitelore("audit", "--json", "--data", crawled.data)
    report = json.loads(done.stdout)
    assert report["facts_extracted"] == 7
    assert f"`sitelore reprocess {report['run']} --data {crawled.data}`" in done.stderr


def test_an_audit_with_stored_facts_gives_the_same_findings(crawled: Crawled, tmp_path: Path) -> None:
    from shutil import copytree

    copy = copytree(crawled.data, tmp_path / "data")
    assert sitelore("reprocess", "--data", copy).returncode == 0
    before, after = audit_json(crawled.data), audit_json(copy)
    assert after["facts_extracted"] == 0
    compared = [
        [(each["key"], each["severity"], each["evidence"]) for each in report["findings"]] for report in (before, after)
    ]
    assert compared[0] == compared[1]
    assert before["score"] == after["score"]


def test_json_has_score_cards_and_findings(crawled: Crawled) -> None:
    report = audit_json(crawled.data)
    assert report["is_complete"] is True
    assert report["score"] == {"clean": 5, "indexable": 7, "percent": pytest.approx(500 / 7), "band": "good"}
    by_rule: dict[str, list[dict[str, Any]]] = {}
    for finding in report["findings"]:
        by_rule.setdefault(finding["rule"], []).append(finding)
    at = {rule: [each["url"].removeprefix(crawled.origin) for each in findings] for rule, findings in by_rule.items()}
    assert at["broken-internal-link"] == ["/", "/a"]
    assert at["page-gone"] == ["/dropped", "/lost"]
    assert at["redirect-chain"] == ["/old"]
    assert at["broken-anchor"] == ["/"]
    assert at["image-alt-missing"] == ["/b"]
    assert at["robots-txt-invalid"] == ["/robots.txt"]
    assert at["sitemap-lists-bad"] == ["/dropped"]
    assert at["sitemap-omits-page"] == ["/f"]
    sources = [each["page"].removeprefix(crawled.origin) for each in by_rule["page-gone"][1]["evidence"]["sources"]]
    assert sources == ["/", "/a"]
    assert {card["rule"]: card["count"] for card in report["cards"]} == {rule: len(each) for rule, each in by_rule.items()}


def test_one_rule_is_shown_with_its_fix_and_every_finding(crawled: Crawled) -> None:
    done = sitelore("audit", "--rule", "page-gone", "--data", crawled.data)
    assert done.returncode == 0
    assert done.stdout.startswith("page-gone  error  2 findings on 2 pages\n")
    assert "\nFix: Restore the page" in done.stdout
    assert f"\n{crawled.origin}/lost\n    status: 404\n" in done.stdout
    assert f'    linked from: page {crawled.origin}/a, text "link 2", selector a[href="/lost"]\n' in done.stdout
    assert "broken-internal-link" not in done.stdout
    report = audit_json(crawled.data, "--rule", "redirect-*")
    assert {each["rule"] for each in report["findings"]} == {"redirect-chain"}


def test_verbose_shows_examples_of_every_rule(crawled: Crawled) -> None:
    short, long = (sitelore("audit", *options, "--data", crawled.data).stdout for options in ((), ("--verbose",)))
    assert f"         {crawled.origin}/robots.txt\n" in long
    assert f"         {crawled.origin}/robots.txt\n" not in short


def test_csv_files_open_in_a_spreadsheet(crawled: Crawled, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    assert sitelore("audit", "--csv", folder, "--data", crawled.data).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["findings.csv", "links_broken.csv", "pages.csv", "redirects.csv"]
    pages = {row["address"].removeprefix(crawled.origin): row for row in rows_of(folder / "pages.csv")}
    a, lost = pages["/a"], pages["/lost"]
    assert (a["status"], a["title"], a["title_length"], a["h1"]) == (
        "200",
        "'=2+3 mills and wheels",
        "21",
        "'=2+3 mills and wheels",
    )
    assert (a["depth"], a["inlinks"], a["outlinks"], a["indexable"], a["reason"]) == ("1", "1", "2", "true", "")
    assert (lost["status"], lost["inlinks"], lost["indexable"], lost["reason"]) == ("404", "2", "false", "error")
    broken = [(row["target"], row["status"], row["source"], row["text"]) for row in rows_of(folder / "links_broken.csv")]
    assert broken == [
        (f"{crawled.origin}/lost", "404", f"{crawled.origin}/", "link 7"),
        (f"{crawled.origin}/lost", "404", f"{crawled.origin}/a", "link 2"),
    ]
    redirects = {row["address"].removeprefix(crawled.origin): row for row in rows_of(folder / "redirects.csv")}
    assert (redirects["/old"]["final"], redirects["/old"]["final_status"]) == (f"{crawled.origin}/b", "200")
    findings = rows_of(folder / "findings.csv")
    assert len(findings) == len(audit_json(crawled.data)["findings"])
    assert findings[0]["severity"] == "error"


def test_sarif_has_rules_and_results(crawled: Crawled, tmp_path: Path) -> None:
    path = tmp_path / "audit.sarif"
    assert sitelore("audit", "--sarif", path, "--data", crawled.data).returncode == 0
    log = json.loads(path.read_bytes())
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rule["id"] and rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules)
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert {result["level"] for result in run["results"]} == {"error", "warning", "note"}
    [chain] = [result for result in run["results"] if result["ruleId"] == "redirect-chain"]
    assert chain["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": f"{crawled.origin}/old"}}}]
    assert f"final: {crawled.origin}/b" in chain["message"]["text"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--fail-on", "error"), 1),
        (("--fail-on", "notice"), 1),
        (("--fail-on", "error", "--rule", "broken-anchor"), 0),
        (("--fail-on", "warning", "--rule", "broken-anchor"), 1),
    ],
)
def test_fail_on_sets_the_exit_code(crawled: Crawled, options: tuple[str, ...], code: int) -> None:
    assert sitelore("audit", *options, "--data", crawled.data).returncode == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("elsewhere.test",), "unknown site 'elsewhere.test'; known sites: 127.0.0.1:"),
        (("--rule", "brokn-anchor"), "unknown audit rule 'brokn-anchor' (did you mean 'broken-anchor'?)"),
        (("--fail-on", "fatal"), "Invalid value for '--fail-on'"),
        (("--run", "nothing"), "no run or site 'nothing' in"),
        (("elsewhere.test", "--run", "latest"), "is of the site 127.0.0.1:"),
    ],
)
def test_wrong_usage_is_one_line(crawled: Crawled, arguments: tuple[str, ...], message: str) -> None:
    done = sitelore("audit", *arguments, "--data", crawled.data)
    assert done.returncode == 2
    assert message in error_line(done)


def test_a_directory_with_several_sites_needs_the_name_of_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    names = []
    for title in ("One", "Two"):
        with serve_site({"/": page(title, prose(title))}.get) as http_server:
            done = sitelore("crawl", http_server.url("/"), "--delay", "0", "--output", "db", "--audit-facts", "--data", data)
            assert done.returncode == 0, done.stderr
            names.append(http_server.origin.removeprefix("http://"))
    done = sitelore("audit", "--data", data)
    assert done.returncode == 2
    assert error_line(done) == f"name one of the 2 sites in {data}: {', '.join(sorted(names))}"
    done = sitelore("audit", names[0], "--data", data)
    assert done.returncode == 0
    assert done.stdout.startswith(names[0])
    assert done.stderr == ""


def test_new_shows_only_what_a_run_opened_and_fixed_findings_count_as_resolved(tmp_path: Path) -> None:
    data = tmp_path / "data"
    pages = {
        "/": page("Start of the site", prose("start"), links=("/a", "/lost")),
        "/a": page("A page about mills", prose("a"), links=("/",)),
    }
    with serve_site(pages.get) as http_server:
        crawl = ("crawl", http_server.url("/"), "--delay", "0", "--output", "db", "--audit", "--data", data)
        done = sitelore(*crawl)
        assert done.returncode == 0, done.stderr
        assert "`sitelore audit 127.0.0.1:" in done.stderr
        first = sitelore("audit", "--data", data).stdout.splitlines()
        assert first[3].endswith(" new, 0 resolved, 0 ignored")
        assert sitelore("audit", "--new", "--fail-on", "error", "--data", data).returncode == 1
        pages["/"] = page("Start of the site", prose("start"), links=("/a",))
        pages["/a"] = page("A page about mills", prose("a") + "<img src=/x.png>", links=("/",))
        assert sitelore(*crawl, "--force").returncode == 0
        assert sitelore("audit", "--new", "--fail-on", "error", "--data", data).returncode == 0
    done = sitelore("audit", "--data", data)
    assert "2 resolved, 0 ignored" in done.stdout.splitlines()[3]
    new = audit_json(data, "--new")
    assert {each["rule"] for each in new["findings"]} == {"image-alt-missing", "image-no-dimensions"}
    assert {card["rule"] for card in new["cards"]} == {"image-alt-missing", "image-no-dimensions"}


def test_a_directory_that_another_process_writes_to_is_audited_without_storing(crawled: Crawled) -> None:
    with (crawled.data / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = sitelore("audit", "--json", "--data", crawled.data)
    assert done.returncode == 0
    assert json.loads(done.stdout)["is_stored"] is False
    assert "the findings are not stored: another process is writing to" in done.stderr


def test_insights_are_shown_in_words_and_as_json(crawled: Crawled) -> None:
    assert sitelore("audit", "--data", crawled.data).returncode == 0
    done = sitelore("insights", "--data", crawled.data)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "  11 URLs: 7 read, 0 unchanged, 2 merged, 0 skipped, 2 failed, 0 unfinished" in lines
    assert "  the whole site was read" in lines
    figures = json.loads(sitelore("insights", "--json", "--data", crawled.data).stdout)
    honesty = figures["run_honesty"]
    parts = [honesty[name] for name in ("read", "unchanged", "merged", "unfinished")]
    assert sum(parts) + sum(honesty["skipped"].values()) + sum(honesty["failed"].values()) == honesty["discovered"]
    assert figures["internal_rank"]["top"][0]["url"] == f"{crawled.origin}/"


def test_insights_need_an_audit(crawled: Crawled, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_site({"/": page("One", prose("one"))}.get) as http_server:
        assert sitelore("crawl", http_server.url("/"), "--delay", "0", "--output", "db", "--data", data).returncode == 0
    done = sitelore("insights", "--data", data)
    assert done.returncode == 2
    assert "was not audited yet; run `sitelore audit" in error_line(done)


def test_the_html_report_is_one_file_that_loads_nothing_and_escapes_what_pages_say(tmp_path: Path) -> None:
    data, report = tmp_path / "data", tmp_path / "report.html"
    evil = "&lt;script&gt;alert(1)&lt;/script&gt;"
    pages = {
        "/": page("Start of the site", prose("start"), links=("/a", "/lost")),
        "/a": page(evil, prose("a") + f"<a href=/lost>{evil}</a>", links=("/",)),
    }
    with serve_site(pages.get) as http_server:
        assert sitelore("crawl", http_server.url("/"), "--delay", "0", "--output", "db", "--data", data).returncode == 0
    assert sitelore("audit", "--html", report, "--data", data).returncode == 0
    text = report.read_text(encoding="utf-8")
    assert evil in text
    assert "<script" not in text
    assert not re.search(r"<(?:link|img|iframe|object)\b|\bsrc=|url\(|@import", text)
    assert "default-src &#x27;none&#x27;" in text
    assert text.count("<figure") == text.count("<summary>As a table</summary>") + text.count('class="trend"')
    assert "Link to a page that does not exist" in text


def test_fix_writes_patches_for_a_checkout_and_says_what_has_none(tmp_path: Path) -> None:
    data, checkout, out, words = tmp_path / "data", tmp_path / "site", tmp_path / "fixes", tmp_path / "words.json"
    checkout.mkdir()
    pages = {
        "/": page("Start of the site", prose("start", 200), links=("/a.html", "/strange")),
        "/a.html": page("A page about mills", prose("a", 200) + "<img src=/x.png>", links=("/",)),
    }
    (checkout / "index.html").write_bytes(pages["/"].body)
    (checkout / "a.html").write_bytes(pages["/a.html"].body)
    with serve_site(pages.get) as http_server:
        assert sitelore("crawl", http_server.url("/"), "--delay", "0", "--output", "db", "--data", data).returncode == 0
    keys = [each["key"] for each in audit_json(data, "--rule", "image-alt-missing")["findings"]]
    words.write_text(json.dumps(dict.fromkeys(keys, "A mill")))
    options = ("--checkout", checkout, "--out", out, "--words", words, "--json", "--data", data)
    done = sitelore("fix", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    proposed = {(each["rule"], each["file"]) for each in report["proposals"]}
    assert {("viewport-missing", "a.html"), ("viewport-missing", "index.html"), ("image-alt-missing", "a.html")} <= proposed
    [refused] = [each for each in report["refusals"] if each["rule"] == "broken-internal-link"]
    assert refused["reason"] == "no page of the site is clearly the one that is meant"
    assert sorted(path.name for path in out.iterdir()) == sorted(report["files"])
    assert '<img src=/x.png alt="A mill">' in (out / "summary.md").read_text()
    assert (checkout / "a.html").read_bytes() == pages["/a.html"].body
    done = sitelore("fix", "--out", out / "html", "--rule", "viewport-missing", "--data", data)
    assert done.stdout.startswith("2 proposals; 0 findings without one\n")
    done = sitelore("fix", "--checkout", tmp_path / "missing", "--data", data)
    assert (done.returncode, error_line(done)) == (2, f"no folder {tmp_path / 'missing'}")


def test_a_directory_without_data_is_an_error(tmp_path: Path) -> None:
    assert sitelore("audit", "--data", tmp_path / "none").returncode == 2
