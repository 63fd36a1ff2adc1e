"""`sitelore changes`: what is new, changed, gone or moved on a site between two runs or two dates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.console import DATA, AsJson, Data, note, print_json, run_async, visible
from sitelore.model.errors import NoSuchRun, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from sitelore.app.app import App
    from sitelore.model.changes import SiteChange

_SIGNS = {"new": "+", "changed": "~", "gone": "-", "moved": ">"}


def changes(
    site: Annotated[str, typer.Argument(metavar="[SITE]", help="A site.  [default: the latest]")] = "",
    since: Annotated[
        str,
        typer.Option(metavar="DATE|RUN", help="After a date, or the end of a run.  [default: before the last run]"),
    ] = "",
    until: Annotated[str, typer.Option(metavar="DATE|RUN", help="Before a date, or up to the end of a run.")] = "",
    diff: Annotated[bool, typer.Option("--diff/--no-diff", help="Show the lines of text that changed.")] = True,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show what is new, changed, gone or moved on a site."""
    listed = run_async(_changes(data, site, since, until))
    if as_json:
        from sitelore.export.pages import change_json

        print_json({"changes": [change_json(change) for change in listed]})
        return
    for change in listed:
        _print_change(change, diff=diff)
    if not listed:
        note("no changes")


def moment_of(text: str, option: str) -> float:
    """A date or time as Unix time."""
    from sitelore.times import parse_time

    try:
        return parse_time(text)
    except ValueError:
        raise UsageError(f"{option}: invalid date {text!r} (use a date such as 2026-11-01, or a run id)") from None


async def _changes(data: Path, site: str, since: str, until: str) -> list[SiteChange]:
    from sitelore.app.changes import END_OF_TIME, last_run_of, site_changes

    async with build_app(data, writing=False) as app:
        site_id, began = await last_run_of(app.ledger, site)
        await app.search_service.check_presence(site_id)
        start = await _moment(app, data, since, "--since") if since else began
        end = await _moment(app, data, until, "--until") if until else END_OF_TIME
        return await site_changes(app.ledger, app.blobs, site_id, start, end)


async def _moment(app: App, data: Path, text: str, option: str) -> float:
    """The end of a run, or a date."""
    from sitelore.cli.commands.runs import find_run

    try:
        run = await find_run(app, data, text)
    except NoSuchRun:
        return moment_of(text, option)
    return run.finished_at or app.clock()


def _print_change(change: SiteChange, *, diff: bool) -> None:
    target = f" -> {change.moved_to}" if change.moved_to else ""
    sys.stdout.write(f"{_SIGNS[change.kind]} {change.kind.value:<8}{visible(str(change.url))}{visible(target)}\n")
    lines: list[Any] = [*(("-", line) for line in change.removed), *(("+", line) for line in change.added)] if diff else []
    for sign, line in lines:
        sys.stdout.write(f"    {sign} {visible(line)}\n")
