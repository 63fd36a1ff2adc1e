from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.unit.export.stored_run import StoredRun

from sitelore.export.compare import Change, Difference, differences, rows_of_file, rows_of_run
from sitelore.export.rows import FIELDS, cell, export_row, write_csv, write_json
from sitelore.model.errors import UsageError
from sitelore.model.frontier import Hop
from sitelore.model.ids import CleanText
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url


async def as_json(stored: StoredRun) -> bytes:
    sink = io.BytesIO()
    await write_json(stored.rows(), sink)
    return sink.getvalue()


async def listed(rows: AsyncIterator[Difference]) -> list[Difference]:
    return [difference async for difference in rows]


async def test_a_row_has_all_documented_fields(stored: StoredRun) -> None:
    row = export_row(stored.page("http://example.com/a"))
    assert tuple(row) == FIELDS
    assert {"url", "key", "state", "status_code", "depth", "parent", "redirect_chain", "final_url"} <= row.keys()
    assert {"title", "content_hash", "skip_reason", "error"} <= row.keys()
    assert row["final_url"] == "http://example.com/a"


async def test_a_url_that_was_not_fetched_has_no_final_url(stored: StoredRun) -> None:
    row = export_row(stored.other("http://example.com/x", UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS, detail="line 2"))
    assert (row["final_url"], row["skip_reason"], row["detail"]) == (None, "robots", "line 2")


async def test_a_redirect_chain_says_which_hops_are_permanent(stored: StoredRun) -> None:
    hops = (Hop(Url.trusted("http://example.com/a"), 301), Hop(Url.trusted("http://example.com/b"), 302))
    row = export_row(stored.alias("http://example.com/a", "http://example.com/c", redirect_chain=hops))
    assert [hop["permanent"] for hop in row["redirect_chain"]] == [True, False]


async def test_the_json_export_is_an_array_with_one_sorted_row_a_line(stored: StoredRun) -> None:
    for path in ("b", "a", "c"):
        stored.page(f"http://example.com/{path}")
    data = await as_json(stored)
    assert [row["key"][-1] for row in json.loads(data)] == ["a", "b", "c"]
    assert data.count(b"\n") == 5


async def test_an_empty_export_is_an_empty_array(stored: StoredRun) -> None:
    assert json.loads(await as_json(stored)) == []


async def test_no_cell_of_a_csv_export_can_run_as_a_formula(stored: StoredRun) -> None:
    for number, start in enumerate(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d")):
        stored.other(f"http://example.com/{number}", UrlState.VISITED, title=CleanText(f"{start}HYPERLINK(1)"))
    sink = io.BytesIO()
    assert await write_csv(stored.rows(), sink) == 8
    rows = list(csv.DictReader(io.StringIO(sink.getvalue().decode(), newline="")))
    assert [row["title"][0] for row in rows] == ["'"] * 8


def test_numbers_and_plain_text_stay_as_they_are_in_a_cell() -> None:
    assert [cell(value) for value in (200, None, False, "a=b")] == ["200", "", "false", "a=b"]


async def test_a_csv_cell_with_commas_quotes_and_line_breaks_reads_back(stored: StoredRun) -> None:
    title = 'a, "b"\nc'
    stored.other("http://example.com/", UrlState.VISITED, title=CleanText(title))
    sink = io.BytesIO()
    await write_csv(stored.rows(), sink)
    [row] = csv.DictReader(io.StringIO(sink.getvalue().decode(), newline=""))
    assert row["title"] == title


async def test_a_comparison_lists_added_removed_and_changed_rows(stored: StoredRun, tmp_path: Path) -> None:
    for path in ("a", "b"):
        stored.page(f"http://example.com/{path}")
    before = tmp_path / "before.json"
    before.write_bytes(await as_json(stored))
    stored.stored_rows.pop(0)
    stored.stored_rows.clear()
    stored.page("http://example.com/b", title="New")
    stored.page("http://example.com/c")
    changes = await listed(differences(rows_of_file(before), rows_of_run(stored.rows())))
    assert changes == [
        Difference(Change.REMOVED, "http://example.com/a"),
        Difference(Change.CHANGED, "http://example.com/b", (("title", "Hello", "New"),)),
        Difference(Change.ADDED, "http://example.com/c"),
    ]


async def test_a_csv_export_equals_the_json_export_of_the_same_run(stored: StoredRun, tmp_path: Path) -> None:
    hops = (Hop(Url.trusted("http://example.com/a"), 301),)
    stored.page("http://example.com/", title="=1+1")
    stored.alias("http://example.com/a", "http://example.com/", redirect_chain=hops)
    one, two = tmp_path / "one.json", tmp_path / "two.csv"
    one.write_bytes(await as_json(stored))
    sink = io.BytesIO()
    await write_csv(stored.rows(), sink)
    two.write_bytes(sink.getvalue())
    assert await listed(differences(rows_of_file(one), rows_of_file(two))) == []


async def test_an_array_formatted_by_another_program_can_be_compared(stored: StoredRun, tmp_path: Path) -> None:
    for path in ("a", "b"):
        stored.page(f"http://example.com/{path}")
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps(list(reversed(json.loads(await as_json(stored)))), indent=2))
    assert await listed(differences(rows_of_file(pretty), rows_of_run(stored.rows()))) == []


@pytest.mark.parametrize("content", ["{}", "not json", "[1]", '[{"a": 1}]', '[\n{"key": "b"},\n{"key": "a"}\n]'])
async def test_a_file_that_is_not_an_export_gives_a_one_line_error(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"x\.json is not an export"):
        [row async for row in rows_of_file(path)]
