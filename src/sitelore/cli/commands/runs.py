"""`sitelore runs`, `show`, `export` and `compare`: list, show, export and compare runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.console import (
    DATA,
    AsJson,
    Data,
    Links,
    RunName,
    counted,
    data_console,
    data_option,
    minute,
    note,
    one_of,
    print_json,
    run_async,
    visible,
)
from sitelore.export.formats import FORMATS, MARKDOWN
from sitelore.model.errors import NoSuchRun, UsageError
from sitelore.model.settings import LinkStyle

if TYPE_CHECKING:
    from sitelore.app.app import App
    from sitelore.export.compare import Difference
    from sitelore.model.frontier import Run, RunCounts
    from sitelore.model.ids import RunId
    from sitelore.model.url import Url

LATEST = "latest"
_SEARCHED_RUNS = 1000
_SHOWN_SITES = 3
_SHOWN_ID_CHARS = 13
_SHOWN_CHARS = 160
_FORMATS = [*FORMATS, MARKDOWN]


def runs(as_json: AsJson = False, data: Data = DATA) -> None:
    """List the runs in the data directory, newest first."""
    listed = run_async(_list_runs(data))
    if not as_json:
        _print_runs(data, listed)
        return
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
            for run, counts in listed
        ]
    )


def show(
    run: Annotated[str, typer.Argument(metavar="[RUN|URL]", help="A run, or the URL of a page.")] = "latest",
    at: Annotated[str, typer.Option(metavar="DATE", help="With a URL: the page as it was then (2026-11-01).")] = "",
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show the figures of a run, or a stored page at a date."""
    if "://" in run:
        run_async(_show_page(data, run, at, as_json=as_json))
    elif at:
        raise UsageError("--at needs the URL of a page")
    else:
        run_async(_show_run(data, run, as_json=as_json))


def export(
    run: RunName = "latest",
    form: Annotated[
        str,
        typer.Option(
            "--format",
            parser=one_of(_FORMATS),
            metavar="|".join(_FORMATS),
            help="json, csv: one row per URL. jsonl, md, llms-txt: the pages. warc: the responses. "
            "actions, tools: the site's actions.",
        ),
    ] = "json",
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A file, or a folder for md.  [default: stdout; DATA/pages for md]"),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="With jsonl and md: keep blocks that repeat over the site in every page.")
    ] = False,
    links: Links = LinkStyle.ABSOLUTE,
    data: Data = DATA,
) -> None:
    """Write a run to a file. Rows are sorted, so two exports of equal crawls are equal."""
    run_async(_export_run(data, run, form, out, whole=whole, links=links))


def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="An export (.json, .csv, .jsonl), a run id, or `latest`.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The export or run to compare it with.")],
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Compare two runs or exports. The exit code is 1 if they differ."""
    return run_async(_compare(data, before, after, as_json=as_json))


async def find_run(app: App, data: Path, name: str, *, sites: bool = True) -> Run:
    """The run with this id or unique prefix of an id, or the latest; with `sites`, also the latest of the site of this name."""
    from sitelore.model.ids import RunId

    if name != LATEST and (run := await app.ledger.run(RunId(name))) is not None:
        return run
    known = await app.ledger.runs(_SEARCHED_RUNS)
    if name == LATEST:
        return _latest_run(known, data, explain=sites)
    matching = [run for run in known if name and run.id.startswith(name)]
    if len(matching) > 1:
        raise NoSuchRun(f"{len(matching)} runs in {data} start with {name!r}; give more characters of the id")
    if sites and not matching:
        matching = [run for run in known if run.site_name == name][:1]
    if not matching:
        raise NoSuchRun(f"no run{' or site' if sites else ''} {name!r} in {data}; see `sitelore runs{data_option(data)}`")
    return matching[0]


def _latest_run(known: list[Run], data: Path, *, explain: bool) -> Run:
    """The newest of these runs. With `explain`, a note says of which site it is where several are known."""
    if not known:
        raise NoSuchRun(f"no run in {data} yet")
    others = sorted({run.site_name for run in known} - {known[0].site_name})
    if others and explain:
        names = ", ".join(others[:_SHOWN_SITES]) + (", …" if len(others) > _SHOWN_SITES else "")
        note(f"note: the latest run is of {known[0].site_name}; for another site, give its name instead of latest: {names}")
    return known[0]


async def find_run_of_url(app: App, data: Path, name: str, url: Url) -> Run:
    """The run with this name; for `latest`, the latest run that knows the URL."""
    from sitelore.app.explain import run_that_knows

    run = await run_that_knows(url, app.ledger) if name == LATEST else None
    return run or await find_run(app, data, name)


async def _list_runs(data: Path) -> list[tuple[Run, RunCounts]]:
    async with build_app(data, writing=False) as app:
        return [(run, await app.ledger.counts(run.id)) for run in await app.ledger.runs()]


def _print_runs(data: Path, listed: list[tuple[Run, RunCounts]]) -> None:

    from rich.table import Table

    from sitelore.cli.progress import duration

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("run", "site", "state", "pages", "URLs", "started (UTC)", "took"):
        table.add_column(column, no_wrap=column != "site", overflow="fold")
    id_chars = _unique_length([run.id for run, _ in listed])
    for run, counts in listed:
        began, ended = run.started_at, run.finished_at
        start = minute(began) if began else "-"
        took = duration(ended - began) if began and ended else "-"
        table.add_row(run.id[:id_chars], run.site_name, run.state.value, f"{counts.pages:,}", f"{counts.urls:,}", start, took)
    data_console().print(table if listed else f"no runs in {data} yet")


def _unique_length(ids: list[RunId]) -> int:
    """The length of the shortest unique prefix of these ids. Commands accept a prefix of an id."""
    length = _SHOWN_ID_CHARS
    while len({run[:length] for run in ids}) < len(set(ids)):
        length += 1
    return length


async def _show_page(data: Path, address: str, at: str, *, as_json: bool) -> None:
    from sitelore.app.changes import document_at
    from sitelore.cli.commands.changes import moment_of
    from sitelore.model.url import Url

    url = Url.parse(address)
    if url is None:
        raise UsageError(f"not a URL: {address}")
    async with build_app(data, writing=False) as app:
        document = await document_at(app.ledger, app.blobs, url, moment_of(at, "--at") if at else app.clock())
    if document is None:
        raise NoSuchRun(f"no stored version of {address}{f' at {at}' if at else ''}")
    if as_json:
        print_json(document)
    else:
        sys.stdout.write(f"{document['markdown'].rstrip()}\n")


async def _show_run(data: Path, name: str, *, as_json: bool) -> None:
    import msgspec

    from sitelore.cli import summary as summaries

    async with build_app(data, writing=False) as app:
        run = await find_run(app, data, name)
        summary = await summaries.summarise(app, run, data)
    settings = msgspec.to_builtins(run.settings)
    if as_json:
        print_json({**summaries.as_json(summary), "settings": settings})
        return
    console = data_console()
    console.print(summaries.as_table(summary))
    defaults = msgspec.to_builtins(type(run.settings)())
    console.print("settings", style="dim")
    for key, value in settings.items():
        if value != defaults[key]:
            console.print(f"  {key} = {msgspec.json.encode(value).decode()}", markup=False, soft_wrap=True)


async def _export_run(data: Path, name: str, form: str, out: Path | None, *, whole: bool, links: LinkStyle) -> None:
    from sitelore.export.files import atomic_file
    from sitelore.export.formats import ExportSource, write_manifest, write_tree

    async with build_app(data, writing=False) as app:
        source = ExportSource(await find_run(app, data, name), app.ledger, app.blobs, whole, links)
        if form == MARKDOWN:
            tree = await write_tree(source, out or data / "pages")
            note(f"{counted(tree.pages, 'page')} written to {tree.folder}, {counted(tree.removed, 'old file')} removed")
        elif form == "actions" and out is not None:
            manifest, is_new = await write_manifest(source, out)
            result = f"written to {out}" if is_new else f"{out} is up to date"
            note(f"{counted(len(manifest['actions']), 'action')}, version {manifest['version']}: {result}")
        elif out is None:
            await FORMATS[form].write(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with atomic_file(out) as sink:
                count = await FORMATS[form].write(source, sink)
            note(f"{counted(count, FORMATS[form].entry)} written to {out}")


async def _compare(data: Path, before: str, after: str, *, as_json: bool) -> int:
    from contextlib import AsyncExitStack

    from sitelore.export.compare import Change, differences, rows_of_file, rows_of_run

    for name in (before, after):
        if not _is_file(name) and ("/" in name or name.endswith((".json", ".csv", ".jsonl"))):
            raise NoSuchRun(f"{name} is neither a file nor a run")
    listed: list[dict[str, object]] = []
    totals = dict.fromkeys(Change, 0)
    async with AsyncExitStack() as opened:
        rows = []
        runs: list[Run] = []
        for name in (before, after):
            if _is_file(name):
                rows.append(rows_of_file(Path(name)))
                continue
            if not runs:
                app = await opened.enter_async_context(build_app(data, writing=False))
            runs.append(await find_run(app, data, name))
            rows.append(rows_of_run(app.ledger.rows(runs[-1].id)))
        if len({run.site for run in runs}) > 1:
            names = " and ".join(run.site_name for run in runs)
            raise UsageError(f"the runs are of different sites, {names}; compare two runs of one site")
        async for difference in differences(*rows):
            totals[difference.change] += 1
            if as_json:
                changed = {field: [old, new] for field, old, new in difference.fields}
                listed.append({"change": difference.change.value, "key": difference.key, "fields": changed})
            else:
                _print_difference(difference)
    if as_json:
        print_json({**{change.value: number for change, number in totals.items()}, "differences": listed})
    else:
        note(", ".join(f"{number} {change}" for change, number in totals.items()) if any(totals.values()) else "no difference")
    return 1 if any(totals.values()) else 0


def _is_file(name: str) -> bool:
    return Path(name).is_file()


def _print_difference(difference: Difference) -> None:
    sign = {"added": "+", "removed": "-", "changed": "~"}[difference.change.value]
    sys.stdout.write(f"{sign} {difference.key}\n")
    for field, old, new in difference.fields:
        sys.stdout.write(f"    {field}: {_shown(old)} → {_shown(new)}\n")


def _shown(value: object) -> str:
    import msgspec

    text = visible(msgspec.json.encode(value).decode())
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
