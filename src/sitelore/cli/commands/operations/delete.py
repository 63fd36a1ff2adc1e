"""`sitelore delete`: delete runs, a site or a tenant with everything that was stored of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.commands.runs import find_run
from sitelore.cli.console import DATA, AsJson, Data, counted, data_option, note, print_json, run_async
from sitelore.model.errors import UsageError
from sitelore.model.ids import DEFAULT_TENANT, DEFAULT_TENANT_NAME
from sitelore.model.settings import parse_duration
from sitelore.model.states import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sitelore.app.app import App
    from sitelore.model.frontier import Run, Tenant
    from sitelore.model.ids import RunId, SiteId

_MAX_RUNS = 1_000_000
_WORTH_A_REWRITE = 0.25
"""The unused share of a database file from which deleted runs make it smaller."""


@dataclass(frozen=True, slots=True)
class _Request:
    """What the options name; exactly one of them is set."""

    runs: list[str]
    site: str | None
    older_than_s: float | None
    tenant: str | None


@dataclass(frozen=True, slots=True)
class _Selection:
    """What to delete: runs, and the site or tenant they belong to where all of it is deleted."""

    runs: list[RunId]
    site: SiteId | None = None
    site_name: str | None = None
    tenant: Tenant | None = None

    @property
    def sentence(self) -> str:
        runs = counted(len(self.runs), "run")
        if self.tenant is not None:
            return f"the tenant {self.tenant.name} with {runs} and everything else of it"
        return runs if self.site is None else f"the site {self.site_name} with {runs}, its pages and its search index"


@dataclass(frozen=True, slots=True)
class _Result:
    selected: _Selection
    blobs: int = 0
    keeps_blobs: bool = False
    """Whether deleted contents can still be read for the grace period."""


def delete(
    run: Annotated[list[str] | None, typer.Argument(metavar="RUN…", help="Run ids, unique prefixes, or `latest`.")] = None,
    site: Annotated[str | None, typer.Option(metavar="NAME", help="Delete this site with all its data.")] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="Delete runs that ended longer ago (30d), but the latest of each site.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Delete this tenant with all its sites.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only show what would be deleted.")] = False,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Delete runs, or all data of a site. Exported files are not deleted."""
    if sum(map(bool, (run, site, older_than, tenant))) != 1:
        raise UsageError("name runs, or one of --site, --older-than and --tenant")
    older_than_s = None if older_than is None else parse_duration(older_than, "--older-than")
    result = run_async(_delete(data, _Request(run or [], site, older_than_s, tenant), is_confirmed=yes))
    selected = result.selected
    if as_json:
        name = None if selected.tenant is None else selected.tenant.name
        print_json({"deleted": yes, "tenant": name, "site": selected.site_name, "runs": selected.runs, "blobs": result.blobs})
    elif not yes:
        note(f"would delete {selected.sentence}; nothing was deleted: add --yes to delete")
    else:
        later = ", permanently within two hours" if result.keeps_blobs else ""
        note(f"deleted {selected.sentence}; {counted(result.blobs, 'blob')} removed{later}")


async def _delete(data: Path, request: _Request, *, is_confirmed: bool) -> _Result:
    """Select what to delete and, if confirmed, delete it."""
    async with build_app(data, writing=False) as app:  # a directory without data is an error, and is not created
        selected = await _select(app, data, request)
    if not is_confirmed:
        return _Result(selected)
    async with build_app(data, writing=True) as app:
        return await _delete_selected(app, selected)


async def _select(app: App, data: Path, request: _Request) -> _Selection:
    if request.tenant is not None:
        return await _select_tenant(app, data, request.tenant)
    if request.site is not None:
        site = await app.ledger.site_named(request.site)
        if site is None:
            raise UsageError(f"no site {request.site!r} in {data}; see `sitelore runs{data_option(data)}`")
        runs = [run for run in await app.ledger.runs(_MAX_RUNS) if run.site == site]
        return _Selection(_inactive(runs), site, request.site)
    if request.older_than_s is not None:
        return _Selection(await app.ledger.runs_to_expire(app.clock() - request.older_than_s))
    return _Selection(_inactive([await find_run(app, data, name, sites=False) for name in request.runs]))


async def _select_tenant(app: App, data: Path, name: str) -> _Selection:
    if name == DEFAULT_TENANT_NAME:
        raise UsageError(f"the tenant {name} cannot be deleted, every installation has it; delete its sites with --site")
    tenant = await app.queue.find_tenant(name)
    if tenant is None:
        names = ", ".join(tenant.name for tenant in await app.queue.tenants())
        raise UsageError(f"no tenant {name!r} in {data}; there are: {names}")
    runs = await app.ledger.for_tenant(tenant.id).runs(_MAX_RUNS)
    return _Selection(_inactive(runs), tenant=tenant)


def _inactive(runs: Iterable[Run]) -> list[RunId]:
    """The ids of runs, each once; none of them may be active."""
    by_id = {run.id: run for run in runs}
    for run in by_id.values():
        if run.state in ACTIVE:
            raise UsageError(
                f"the run {run.id} has not ended ({run.state.value}); finish it (`sitelore crawl --resume`) or cancel it first"
            )
    return list(by_id)


async def _delete_selected(app: App, selected: _Selection) -> _Result:
    from sitelore.app.operations import deletion
    from sitelore.model.frontier import Tenant

    tenant_id = DEFAULT_TENANT if selected.tenant is None else selected.tenant.id
    await deletion.cancel_interrupted(app, tenant_id, selected.runs)
    if selected.tenant is not None:
        blobs = await deletion.delete_tenant(app, selected.tenant, math.inf)
    elif selected.site is not None:
        default = Tenant(DEFAULT_TENANT, DEFAULT_TENANT_NAME, 0.0)
        blobs = await deletion.delete_site(app, default, selected.site, math.inf)
    else:
        blobs = await deletion.delete_runs(app, DEFAULT_TENANT, selected.runs)
        await deletion.vacuum_databases(app, if_free=_WORTH_A_REWRITE)
    return _Result(selected, blobs, keeps_blobs=app.is_shared and selected.tenant is None)
