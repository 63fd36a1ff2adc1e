from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console, RenderableType

from sitelore.app.explain import Explanation, GateResult
from sitelore.cli.commands.inspect import gates_table
from sitelore.cli.progress import RateMeter, duration, progress_bar, progress_line, time_left
from sitelore.cli.summary import Session, Summary, as_json, as_table, size
from sitelore.crawl.context import Progress
from sitelore.export.formats import ExportedFiles
from sitelore.model.frontier import Run, RunCounts
from sitelore.model.ids import DEFAULT_TENANT, RunId, SiteId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState
from sitelore.model.url import Url

RUN = Run(RunId("r1"), DEFAULT_TENANT, SiteId(1), "example.com", RunState.COMPLETED, CrawlSettings(), created_at=0.0)
COUNTS = RunCounts(
    states={"VISITED": 6, "NOT_MODIFIED": 2, "ALIAS": 2, "NOT_FOUND": 1, "SOFT_404": 1, "SKIPPED": 3, "REDIRECT_301": 1},
    skipped={"robots": 1, "within_ttl": 2},
    errors={"timeout": 1},
    proofs={"redirect": 1, "equal_content": 1},
    urls=16,
    pages=8,
    fetched=12,
    new=5,
    changed=1,
    body_bytes=123_456,
)
SUMMARY = Summary(
    RUN,
    COUNTS,
    Path("data"),
    "postgresql://crawler:***@db/sitelore",
    "s3://bucket",
    ExportedFiles({"md": "data/pages"}),
    markdown_chars=1234.4,
    session=Session(pages_before=2, elapsed_s=4.0),
)


def drawn(thing: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=110)
    console.print(thing)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_summary_table_has_all_required_counts() -> None:
    text = drawn(as_table(SUMMARY))
    for name in (
        "URLs in total",
        "unique final URLs",
        "redirects",
        "404s",
        "soft 404s",
        "skipped as duplicates",
        "average Markdown",
    ):
        assert name in text
    assert "20.0%  by equal_content 1, redirect 1" in text
    assert "4  (not_modified 2, within_ttl 2)" in text
    assert "timeout 1" in text
    assert "data/pages" in text
    assert "1.5 pages/s, 12 requests, 123.5 KB" in text
    assert "postgresql://crawler:***@db/sitelore" in text
    assert "s3://bucket" in text


def test_the_summary_object_has_all_documented_fields() -> None:
    summary = as_json(SUMMARY)
    assert (summary["run"], summary["state"], summary["pages"], summary["data"]) == ("r1", "COMPLETED", 8, "data")
    assert summary["states"]["VISITED"] == 6
    assert (summary["redirects"], summary["not_found"], summary["soft_404"], summary["dedupe_share"]) == (2, 1, 1, 0.2)
    assert summary["outputs"] == {"db": "postgresql://crawler:***@db/sitelore", "md": "data/pages"}
    assert summary["blobs"] == "s3://bucket"


def test_control_characters_of_pages_do_not_reach_the_terminal() -> None:
    gates = (GateResult("outcome", passed=True, rule="x", detail="\x1b[31mred\x07"),)
    text = drawn(gates_table(Explanation(Url.trusted("http://example.com/"), RUN, None, gates)))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_every_gate_is_shown_with_its_mark() -> None:
    gates = (
        GateResult("scope", True, "scope host"),
        GateResult("robots", False, "line 2: Disallow: /x", "agent *"),
        GateResult("budget", None, "no limit"),
    )
    text = drawn(gates_table(Explanation(Url.trusted("http://example.com/x"), RUN, None, gates)))
    assert [line.split()[0] for line in text.splitlines() if line.strip()][1:] == ["✓", "✗", "·"]
    assert "line 2: Disallow: /x" in text


def test_a_progress_line_has_all_counts_and_the_remaining_time() -> None:
    progress = Progress(pages=40, queued=9, in_flight=1, skipped=3, errors=2, depth=2, max_pages=100)
    assert progress_line(progress, 2.0) == "40 pages, 2.0/s, 10 queued, 3 skipped, 2 errors, depth 2, 30 s left"
    progress.max_pages = None
    assert "left" not in progress_line(progress, 2.0)


def test_the_bar_shows_the_same_numbers() -> None:
    text = drawn(
        progress_bar(Progress(pages=40, queued=9, in_flight=1, max_pages=100, latest="http://example.com/a\x1b[2J"), 2.0)
    )
    assert "40/100 pages" in text
    assert "30 s left" in text
    assert "\x1b" not in text


def test_no_remaining_time_is_shown_without_a_rate_or_a_limit() -> None:
    assert time_left(Progress(pages=1, max_pages=10), 0.0) == ""
    assert time_left(Progress(pages=1), 5.0) == ""
    assert time_left(Progress(pages=10, max_pages=10), 5.0) == ""


def test_the_rate_follows_the_last_seconds() -> None:
    meter = RateMeter(at=0.0)
    assert meter.update(10, 1.0) == 10.0
    assert 10.0 < meter.update(40, 2.0) < 30.0
    assert meter.update(40, 2.0) == meter.rate


def test_times_and_sizes_are_formatted() -> None:
    assert [duration(seconds) for seconds in (0.42, 12, 75, 3700)] == ["0.4 s", "12 s", "1 min 15 s", "1 h 01 min"]
    assert [size(number) for number in (12, 1500, 2.5e6, 3e9)] == ["12 bytes", "1.5 KB", "2.5 MB", "3.0 GB"]
