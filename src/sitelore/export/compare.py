"""Compares two exports: added, removed and changed rows, field by field."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from sitelore.export.rows import Row, cell, export_row
from sitelore.model.errors import UsageError
from sitelore.model.frontier import UrlRow
from sitelore.model.states import UrlState

_IDS_AND_TIMES = frozenset(
    {"run", "site", "id", "fetched_at", "etag", "last_modified", "elapsed_s", "created_at", "finished_at"}
)
_OF_FETCH = frozenset({"state", "status_code", "changed"})
"""Fields in which a page that was not downloaded again (304) differs from the same page when it was."""
_MAX_CELL_CHARS = 1 << 24


class Change(StrEnum):
    """What happened to a row between two exports."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that differs. `fields` holds (name, before, after) for a changed one."""

    change: Change
    key: str
    fields: tuple[tuple[str, Any, Any], ...] = ()


async def differences(before: AsyncIterator[Row], after: AsyncIterator[Row]) -> AsyncIterator[Difference]:
    """Compare two sorted exports. Ids, times and fields that only one side has are ignored."""
    old, new = await anext(before, None), await anext(after, None)
    while old is not None or new is not None:
        if new is None or (old is not None and old["key"] < new["key"]):
            assert old is not None
            yield Difference(Change.REMOVED, old["key"])
            old = await anext(before, None)
        elif old is None or new["key"] < old["key"]:
            yield Difference(Change.ADDED, new["key"])
            new = await anext(after, None)
        else:
            if fields := _changed_fields(old, new):
                yield Difference(Change.CHANGED, old["key"], fields)
            old, new = await anext(before, None), await anext(after, None)


async def rows_of_run(rows: AsyncIterator[UrlRow]) -> AsyncIterator[Row]:
    """The rows of a run as they are exported."""
    async for row in rows:
        yield export_row(row)


async def rows_of_file(path: Path) -> AsyncIterator[Row]:
    """The rows of an export on disk (.json, .jsonl, .csv), sorted by key."""
    for row in _read(path):
        yield row


def _read(path: Path) -> Iterator[Row]:
    try:
        if path.suffix.lower() == ".csv":
            yield from _sorted(_csv_rows(path), path)
        elif path.suffix.lower() in {".jsonl", ".ndjson"}:
            yield from _sorted(_json_lines(path), path)
        else:
            yield from _json_rows(path)
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path} is not an export: it is not UTF-8 text") from problem
    except (msgspec.DecodeError, csv.Error) as problem:
        raise UsageError(f"{path} is not an export: {problem}") from problem
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror}") from problem


def _json_rows(path: Path) -> Iterator[Row]:
    """Rows of a JSON array: streamed in our own layout (one row a line), else read at once."""
    with path.open("rb") as source:
        if source.readline().strip() == b"[":
            previous = ""
            ordered = True
            for line in source:
                text = line.strip().removesuffix(b",")
                if text in {b"", b"]"}:
                    continue
                try:
                    row = _row_of(msgspec.json.decode(text), path)
                except msgspec.DecodeError:
                    if previous:
                        raise
                    ordered = False  # an array laid out by another program
                    break
                if row["key"] < previous:
                    raise UsageError(f"{path} is not an export: its rows are not sorted by key")
                previous = row["key"]
                yield row
            if ordered:
                return
    data = msgspec.json.decode(path.read_bytes())
    if not isinstance(data, list):
        raise UsageError(f"{path} is not an export: it is not a list of rows")
    yield from _sorted(iter(data), path)


def _json_lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as source:
        for line in source:
            if line.strip():
                yield msgspec.json.decode(line)


def _csv_rows(path: Path) -> Iterator[Any]:
    csv.field_size_limit(_MAX_CELL_CHARS)
    with path.open(encoding="utf-8-sig", newline="") as source:
        yield from csv.DictReader(source)


def _sorted(rows: Iterator[Any], path: Path) -> list[Row]:
    return sorted((_row_of(row, path) for row in rows), key=lambda row: str(row["key"]))


def _row_of(row: Any, path: Path) -> Row:
    if not isinstance(row, dict):
        raise UsageError(f"{path} is not an export: a row is not an object")
    if "key" not in row:
        if "url" not in row:
            raise UsageError(f"{path} is not an export: a row has no key")
        row["key"] = row["url"]
    return row


def _changed_fields(old: Row, new: Row) -> tuple[tuple[str, Any, Any], ...]:
    ignored = _IDS_AND_TIMES | _OF_FETCH if _is_unmodified(old) or _is_unmodified(new) else _IDS_AND_TIMES
    return tuple(
        (name, old[name], new[name])
        for name in old
        if name in new and name not in ignored and old[name] != new[name] and _as_text(old[name]) != _as_text(new[name])
    )


def _is_unmodified(row: Row) -> bool:
    """Whether a page was known and not downloaded again."""
    return str(row.get("state", "")) == UrlState.NOT_MODIFIED


def _as_text(value: Any) -> str:
    """The value as a CSV cell, so that a CSV export can equal a JSON one."""
    return value if isinstance(value, str) and value.startswith("'") else cell(value)
