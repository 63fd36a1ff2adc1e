"""Files that are written while a crawl runs, and what the export at the end makes of them."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from tests.unit.export.stored_run import FETCHED_AT, StoredRun

from sitelore.export.formats import ExportSource
from sitelore.export.incremental import EarlyLines, IncrementalExport, settled_row
from sitelore.export.markdown import EarlyTree, write_markdown
from sitelore.export.pages import page_of
from sitelore.export.rows import is_page
from sitelore.model.errors import CorruptData, Interrupted, StorageError
from sitelore.model.frontier import Effects, Lease, PageUpdate, RowKind, Run, Settlement, Source, UrlRow, Verdict
from sitelore.model.ids import RunId
from sitelore.model.settings import LinkStyle
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.ports import Ledger

SITE = "example.com"


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.md")}


def with_document(stored: StoredRun, row: UrlRow) -> tuple[UrlRow, dict[str, Any]]:
    assert row.document is not None
    return row, msgspec.json.decode(stored.kept[row.document])


def write_early(stored: StoredRun, folder: Path, *rows: UrlRow, links: LinkStyle = LinkStyle.ABSOLUTE) -> None:
    EarlyTree(folder, SITE, links).write([with_document(stored, row) for row in rows])


def settlement_of(row: UrlRow) -> Settlement:
    """The settlement that a visit would make for this row."""
    assert row.document is not None
    lease = Lease(row.run, row.url, 1, row.depth, 1, row.kind, 0, row.source)
    facts = PageUpdate(row.title, row.content_hash, "", row.document, word_count=row.word_count, etag=row.etag)
    return Settlement(lease, Verdict(row.state, row.status_code), Effects(page=facts, fetched=True), FETCHED_AT)


def export_of(stored: StoredRun, run: Run, out: Path, *names: str, problems: list[str] | None = None) -> IncrementalExport:
    source = ExportSource(run, cast("Ledger", None), stored)  # the ledger is read by the export at the end only
    return IncrementalExport(source, out, frozenset(names), (problems if problems is not None else []).append)


async def test_an_early_file_of_no_page_is_removed_even_if_the_run_did_not_complete(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/exported")
    await write_markdown(stored.rows, stored, tmp_path, SITE)
    [exported] = stored.stored_rows
    stored.stored_rows.clear()
    duplicate, kept = stored.page("http://example.com/duplicate"), stored.page("http://example.com/kept")
    write_early(stored, tmp_path, exported, duplicate, kept)
    assert tree(tmp_path) == {"example.com/exported.md", "example.com/duplicate.md", "example.com/kept.md"}
    stored.stored_rows = [kept]
    result = await write_markdown(stored.rows, stored, tmp_path, SITE, prune=False)
    assert result.removed == 1
    assert tree(tmp_path) == {"example.com/exported.md", "example.com/kept.md"}
    await write_markdown(stored.rows, stored, tmp_path, SITE)
    assert tree(tmp_path) == {"example.com/kept.md"}


async def test_names_of_an_interrupted_export_after_early_files_are_kept_by_a_run_that_did_not_complete(
    stored: StoredRun, tmp_path: Path
) -> None:
    rows = [stored.page(f"http://example.com/{number:02}") for number in range(17)]  # one more than is read at a time
    last = rows[-1]
    assert last.document is not None
    write_early(stored, tmp_path, rows[0])
    document = stored.kept.pop(last.document)
    with pytest.raises(CorruptData):
        await write_markdown(stored.rows, stored, tmp_path, SITE)
    stored.kept[last.document] = document
    stored.stored_rows = [last]
    await write_markdown(stored.rows, stored, tmp_path, SITE, prune=False)
    assert len(tree(tmp_path)) == 17


async def test_the_file_of_an_unchanged_page_is_left_to_the_export(stored: StoredRun, tmp_path: Path) -> None:
    row = stored.page("http://example.com/a", "exported")
    await write_markdown(stored.rows, stored, tmp_path, SITE)
    before = (tmp_path / "example.com/a.md").read_bytes()
    again = stored.page("http://example.com/a", "with repeats")
    write_early(stored, tmp_path, replace(again, changed=False), replace(row, url=Url.trusted(row.url + "b"), changed=False))
    assert (tmp_path / "example.com/a.md").read_bytes() == before
    assert "exported" in (tmp_path / "example.com/ab.md").read_text()
    write_early(stored, tmp_path, replace(again, changed=True))
    assert "with repeats" in (tmp_path / "example.com/a.md").read_text()


def test_a_file_of_the_user_is_left_alone_while_the_crawl_runs(stored: StoredRun, tmp_path: Path) -> None:
    (tmp_path / "example.com").mkdir()
    (tmp_path / "example.com/notes.md").write_text("mine")
    write_early(stored, tmp_path, stored.page("http://example.com/notes"))
    assert (tmp_path / "example.com/notes.md").read_text() == "mine"


@pytest.mark.parametrize("url", ["http://example.com/%2e%2e/%2e%2e/up", "http://example.com/..%2f..%2fup", "http://../up"])
def test_no_url_leads_out_of_the_folder(stored: StoredRun, tmp_path: Path, url: str) -> None:
    write_early(stored, tmp_path / "out", stored.page(url))
    assert len(tree(tmp_path / "out")) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


async def test_a_file_that_is_already_right_is_not_written_again(stored: StoredRun, tmp_path: Path) -> None:
    row = stored.page("http://example.com/a")
    write_early(stored, tmp_path, row)
    path = tmp_path / "example.com/a.md"
    before = path.stat().st_ino
    await write_markdown(stored.rows, stored, tmp_path, SITE)
    assert path.stat().st_ino == before
    path.write_bytes(path.read_bytes().replace(b"Text", b"Mine"))
    await write_markdown(stored.rows, stored, tmp_path, SITE)
    assert "Text" in path.read_text()


async def test_a_link_in_place_of_a_file_is_replaced_even_if_the_bytes_are_equal(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/a")
    await write_markdown(stored.rows, stored, tmp_path, SITE)
    path = tmp_path / "example.com/a.md"
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    await write_markdown(stored.rows, stored, tmp_path, SITE)
    assert not path.is_symlink()


def test_relative_links_lead_to_the_files_that_are_written(stored: StoredRun, tmp_path: Path) -> None:
    first = stored.page("http://example.com/a", "[b](http://example.com/b) [c](http://example.com/c)")
    write_early(stored, tmp_path, first, stored.page("http://example.com/b"), links=LinkStyle.RELATIVE)
    assert "[b](b.md) [c](http://example.com/c)" in (tmp_path / "example.com/a.md").read_text()


@pytest.mark.parametrize("torn", [b"", b'{"url": "torn', b'{"text": "' + b"x" * 200_000])
def test_a_resumed_run_appends_after_the_last_complete_line(stored: StoredRun, tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_bytes(b'{"url": "first"}\n' + torn)
    row = with_document(stored, stored.page("http://example.com/a"))
    EarlyLines(path, LinkStyle.ABSOLUTE, resumed=True).write([row])
    assert [json.loads(line)["url"] for line in path.read_bytes().splitlines()] == ["first", "http://example.com/a"]


def test_a_resumed_run_without_a_complete_line_starts_with_its_own(stored: StoredRun, tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_bytes(b'{"url": "torn')
    EarlyLines(path, LinkStyle.ABSOLUTE, resumed=True).write([with_document(stored, stored.page("http://example.com/a"))])
    assert json.loads(path.read_bytes())["url"] == "http://example.com/a"


def test_a_settled_row_has_what_an_exported_page_shows(stored: StoredRun) -> None:
    row = stored.page("http://example.com/a")
    assert page_of(settled_row(settlement_of(row)), {}, []) == page_of(row, {}, [])


async def test_pages_that_wait_when_a_crawl_is_interrupted_are_written(stored: StoredRun, run: Run, tmp_path: Path) -> None:
    export = export_of(stored, run, tmp_path, "md", "jsonl")
    rows = [stored.page(f"http://example.com/{number}") for number in range(40)]
    with suppress(Interrupted):
        async with export.running():
            for row in rows:
                export.add(settlement_of(row))
            raise Interrupted("stopped")
    assert len(tree(tmp_path)) == 40
    assert (tmp_path / "pages.jsonl").read_bytes().count(b"\n") == 40
    assert export.files.paths == {"md": str(tmp_path), "jsonl": str(tmp_path / "pages.jsonl")}


async def test_only_pages_of_the_run_are_written(stored: StoredRun, run: Run, tmp_path: Path) -> None:
    export = export_of(stored, run, tmp_path, "md")
    other_run = replace(stored.page("http://example.com/other-run"), run=RunId("r2"))
    failed = Lease(run.id, other_run.url, 1, 1, 1, RowKind.PAGE, 0, Source.LINK)
    assert not is_page(settled_row(Settlement(failed, Verdict(UrlState.NOT_FOUND, 404))))
    with suppress(Interrupted):
        async with export.running():
            export.add(settlement_of(other_run))
            export.add(Settlement(failed, Verdict(UrlState.NOT_FOUND, 404)))
            raise Interrupted("stopped")
    assert list(tmp_path.iterdir()) == []
    assert export.files.paths == {}


async def test_a_missing_document_ends_the_early_files_with_one_note(stored: StoredRun, run: Run, tmp_path: Path) -> None:
    problems: list[str] = []
    export = export_of(stored, run, tmp_path, "md", problems=problems)
    rows = [stored.page(f"http://example.com/{number}") for number in range(40)]
    stored.kept.clear()
    with suppress(Interrupted):
        async with export.running():
            for row in rows:
                export.add(settlement_of(row))
            raise Interrupted("stopped")
    assert len(problems) == 1
    assert "is missing" in problems[0]


async def test_documents_are_not_read_from_a_store_that_has_just_failed(stored: StoredRun, run: Run, tmp_path: Path) -> None:
    problems: list[str] = []
    export = export_of(stored, run, tmp_path, "md", problems=problems)
    row = stored.page("http://example.com/a")
    stored.kept.clear()
    with suppress(StorageError):
        async with export.running():
            export.add(settlement_of(row))
            raise StorageError("the database is gone")
    assert problems == []


async def test_an_error_in_the_writer_does_not_reach_the_crawl(
    stored: StoredRun, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(EarlyTree, "write", fail)
    problems: list[str] = []
    export = export_of(stored, run, tmp_path, "md", problems=problems)
    with suppress(Interrupted):
        async with export.running():
            export.add(settlement_of(stored.page("http://example.com/a")))
            raise Interrupted("stopped")
    assert problems == ["note: no files are written until the crawl ends: a bug"]
    assert "writing files while a crawl runs failed" in caplog.text
