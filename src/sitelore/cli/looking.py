"""Reading the data directory: runs, one run, exports of it, and what differs between two."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from sitelore.cli.console import data_console, note, print_json, visible
from sitelore.cli.summary import as_json as summary_json
from sitelore.cli.summary import as_table, summarise
from sitelore.cli.watching import span
from sitelore.cli.writing import PageView, write_manifest, write_to, write_tree
from sitelore.deploy.house import House
from sitelore.deploy.opening import open_house
from sitelore.export.compare import Change, Difference, differences, rows_of_file, rows_of_run
from sitelore.export.files import atomic_file
from sitelore.export.rows import Row
from sitelore.model.errors import NoSuchRun
from sitelore.model.frontier import Run
from sitelore.model.ids import RunId

_MANY = 1000
_SHOWN_VALUE = 160
_COUNTED = {"json": "rows", "csv": "rows", "tools": "actions"}


async def find_run(house: House, data: Path, name: str) -> Run:
    """The run of this id, of an id that starts so, or the latest."""
    if name != "latest" and (run := await house.ledger.run(RunId(name))) is not None:
        return run
    known = await house.ledger.runs(1 if name == "latest" else _MANY)
    matching = known if name == "latest" else [run for run in known if name and run.id.startswith(name)]
    if len(matching) > 1:
        raise NoSuchRun(f"{len(matching)} runs in {data} start with {name!r}; write more of it")
    if not matching:
        raise NoSuchRun(f"there is no run in {data} yet" if name == "latest" else f"there is no run {name!r} in {data}")
    return matching[0]


async def list_runs(data: Path, *, as_json: bool) -> None:
    """All runs, newest first."""
    async with open_house(data, writing=False) as house:
        found = [(run, await house.ledger.counts(run.id)) for run in await house.ledger.runs()]
    if as_json:
        print_json(
            [
                {
                    "run": run.id,
                    "site": run.site_name,
                    "state": run.state.value,
                    "pages": counts.pages,
                    "urls": counts.urls,
                    "created_at": run.created_at,
                    "started_at": run.started_at,
                    "finished_at": run.finished_at,
                }
                for run, counts in found
            ]
        )
        return
    from rich import box
    from rich.table import Table

    table = Table("run", "site", "state", "pages", "URLs", "started (UTC)", "took", box=box.SIMPLE, pad_edge=False)
    for run, counts in found:
        began, ended = run.started_at, run.finished_at
        start = datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%d %H:%M") if began else "-"
        took = span(ended - began) if began and ended else "-"
        table.add_row(run.id, run.site_name, run.state.value, f"{counts.pages:,}", f"{counts.urls:,}", start, took)
    data_console().print(table if found else f"no runs in {data} yet")


async def show_run(data: Path, name: str, *, as_json: bool) -> None:
    """One run in numbers, with the settings it was asked for."""
    async with open_house(data, writing=False) as house:
        run = await find_run(house, data, name)
        summary = await summarise(house, run, data)
    settings = msgspec.to_builtins(run.settings)
    if as_json:
        print_json({**summary_json(summary), "settings": settings})
        return
    console = data_console()
    console.print(as_table(summary))
    usual = msgspec.to_builtins(type(run.settings)())
    console.print("settings", style="dim")
    for key, value in settings.items():
        if value != usual[key]:
            console.print(f"  {key} = {msgspec.json.encode(value).decode()}", markup=False, soft_wrap=True)


async def export_run(data: Path, name: str, form: str, out: Path | None, view: PageView) -> None:
    """Write one run as a file, or to stdout when no path is given."""
    async with open_house(data, writing=False) as house:
        run = await find_run(house, data, name)
        if form == "md":
            tree = await write_tree(house, run, out or data / "pages", view)
            note(f"{tree.pages} pages written to {tree.folder}, {tree.removed} old ones removed")
        elif form == "actions" and out is not None:
            manifest, is_new = await write_manifest(house, run, out)
            said = f"written to {out}" if is_new else f"{out} says the same already"
            note(f"{len(manifest['actions'])} actions, version {manifest['version']}: {said}")
        elif out is None:
            await write_to(house, run, form, sys.stdout.buffer, view)
            sys.stdout.buffer.flush()
        else:
            with atomic_file(out) as sink:
                count = await write_to(house, run, form, sink, view)
            note(f"{count} {_COUNTED.get(form, 'pages')} written to {out}")


async def compare_exports(data: Path, before: str, after: str, *, as_json: bool) -> int:
    """Print what differs; 1 when anything does."""
    for name in (before, after):
        if not _is_file(name) and ("/" in name or name.endswith((".json", ".csv", ".jsonl"))):
            raise NoSuchRun(f"{name} is neither a file nor a run")
    found: list[dict[str, object]] = []
    totals = dict.fromkeys(Change, 0)
    async with AsyncExitStack() as opened:
        house = None
        if not (_is_file(before) and _is_file(after)):
            house = await opened.enter_async_context(open_house(data, writing=False))
        async for difference in differences(await _rows(house, data, before), await _rows(house, data, after)):
            totals[difference.change] += 1
            if as_json:
                changed = {field: [old, new] for field, old, new in difference.fields}
                found.append({"change": difference.change.value, "key": difference.key, "fields": changed})
            else:
                _print_difference(difference)
    if as_json:
        print_json({**{change.value: number for change, number in totals.items()}, "differences": found})
    else:
        note(", ".join(f"{number} {change}" for change, number in totals.items()) if any(totals.values()) else "no difference")
    return 1 if any(totals.values()) else 0


def _is_file(name: str) -> bool:
    return Path(name).is_file()


async def _rows(house: House | None, data: Path, name: str) -> AsyncIterator[Row]:
    if _is_file(name):
        return rows_of_file(Path(name))
    assert house is not None  # opened when one of the two is no file
    run = await find_run(house, data, name)
    return rows_of_run(house.ledger.rows(run.id))


def _print_difference(difference: Difference) -> None:
    sign = {Change.ADDED: "+", Change.REMOVED: "-", Change.CHANGED: "~"}[difference.change]
    sys.stdout.write(f"{sign} {difference.key}\n")
    for field, old, new in difference.fields:
        sys.stdout.write(f"    {field}: {_shown(old)} → {_shown(new)}\n")


def _shown(value: object) -> str:
    text = visible(msgspec.json.encode(value).decode())
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"
