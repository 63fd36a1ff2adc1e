"""`sitelore delete`: delete runs, or a site with everything that was stored of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.commands.runs import find_run
from sitelore.cli.console import DATA, AsJson, Data, counted, data_option, note, print_json, run_async
from sitelore.model.errors import UsageError
from sitelore.model.states import ENDED

if TYPE_CHECKING:
    from pathlib import Path

    from sitelore.app.app import App
    from sitelore.model.frontier import Run
    from sitelore.model.ids import SiteId

_MAX_RUNS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Selection:
    """What to delete: runs, and the site they belong to where the whole site is deleted."""

    runs: list[Run]
    site: SiteId | None = None
    site_name: str = ""

    @property
    def sentence(self) -> str:
        runs = counted(len(self.runs), "run")
        return runs if self.site is None else f"the site {self.site_name} with {runs}, its pages and its search index"


def delete(
    run: Annotated[list[str] | None, typer.Argument(metavar="RUN…", help="Run ids, unique prefixes, or `latest`.")] = None,
    site: Annotated[str | None, typer.Option(metavar="NAME", help="Delete this site with everything stored of it.")] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="Delete runs that ended longer ago (30d), but the latest of each site.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only say what would be deleted.")] = False,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Delete runs, or a site with everything that was stored of it. Exported files are left alone."""
    if sum(bool(given) for given in (run, site, older_than)) != 1:
        raise UsageError("name runs, or a site with --site, or an age with --older-than")
    selected, blobs = run_async(_delete(data, run or [], site, older_than, is_confirmed=yes))
    if as_json:
        print_json(
            {"deleted": yes, "site": selected.site_name or None, "runs": [run.id for run in selected.runs], "blobs": blobs}
        )
    elif yes:
        note(f"deleted {selected.sentence}; {counted(blobs, 'blob')} removed")
    else:
        note(f"would delete {selected.sentence}; nothing was deleted: add --yes to delete")


async def _delete(
    data: Path, names: list[str], site: str | None, older_than: str | None, *, is_confirmed: bool
) -> tuple[_Selection, int]:
    """Select what to delete and, if confirmed, delete it. Gives the selection and the number of deleted blobs."""
    async with build_app(data, writing=False) as app:  # a directory without data is an error, and is not created
        selected = await _select(app, data, names, site, older_than)
    if not is_confirmed:
        return selected, 0
    async with build_app(data, writing=True) as app:
        return selected, await _delete_selected(app, data, selected)


async def _select(app: App, data: Path, names: list[str], site: str | None, older_than: str | None) -> _Selection:
    if site is not None:
        site_id = await app.ledger.site_named(site)
        if site_id is None:
            raise UsageError(f"no site {site!r} in {data}; see `sitelore runs{data_option(data)}`")
        runs = [run for run in await app.ledger.runs(_MAX_RUNS) if run.site == site_id]
        selected = _Selection(runs, site_id, site)
    elif older_than is not None:
        return _Selection(await _old_runs(app, older_than))
    else:
        runs = [await find_run(app, data, name) for name in names]
        selected = _Selection(list({run.id: run for run in runs}.values()))
    for run in selected.runs:
        if run.state not in ENDED:
            raise UsageError(f"the run {run.id} has not ended ({run.state.value}); let it finish or cancel it first")
    return selected


async def _old_runs(app: App, older_than: str) -> list[Run]:
    """Runs that ended before, without the latest of each site."""
    from sitelore.cli.commands.crawl import parse_duration

    before = app.clock() - parse_duration(older_than, "--older-than")
    old, seen = [], set()
    for run in await app.ledger.runs(_MAX_RUNS):  # newest first
        if run.state in ENDED and run.site in seen and (run.finished_at or run.created_at) < before:
            old.append(run)
        seen.add(run.site)
    return old


async def _delete_selected(app: App, data: Path, selected: _Selection) -> int:
    from sitelore.app.deletion import GRACE_S, compact, sweep_blobs

    if selected.site is not None:
        is_deleted = await app.ledger.delete_site(selected.site)
        if not is_deleted:
            raise UsageError(f"the site {selected.site_name} has a run that has not ended, or was deleted meanwhile")
    else:
        for run in selected.runs:
            await app.ledger.delete_run(run.id)
    # The lock on the data directory excludes other crawls; on servers they may be storing the same content just now.
    blobs = await sweep_blobs(app.ledger, app.blobs, time.time() - (GRACE_S if app.is_shared else 0.0))
    if not app.is_shared:
        compact(data)
    return blobs
