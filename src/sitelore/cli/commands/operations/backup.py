"""`sitelore backup`, `sitelore restore`: copy and restore all stored data; `sitelore retention`: how long data are kept."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data, counted, data_console, data_option, note, print_json, run_async
from sitelore.model.errors import UsageError
from sitelore.model.ids import DEFAULT_TENANT_NAME
from sitelore.model.settings import parse_duration

if TYPE_CHECKING:
    from sitelore.model.platform.tenant_settings import RetentionPolicy

_DAY_S = 86_400.0


def backup(
    target: Annotated[
        Path, typer.Argument(metavar="DIR|FILE.tar", help="A directory, brought up to date, or a new .tar file.")
    ],
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Back up the database and all blobs, during crawls too."""
    from sitelore.app.operations.backup import back_up
    from sitelore.app.settings import operator_settings

    settings = operator_settings()
    manifest = run_async(back_up(data, settings, target))
    if as_json:
        print_json({"backup": str(target), **asdict(manifest)})
    else:
        stored = f"{counted(manifest.blobs, 'blob')} and {counted(manifest.media, 'media file')}"
        note(f"backed up to {target}: the database, {stored} ({manifest.copied:,} copied)")


def restore(
    source: Annotated[Path, typer.Argument(metavar="DIR|FILE.tar", exists=True, help="A backup.")],
    yes: Annotated[bool, typer.Option("--yes", help="Replace existing data.")] = False,
    data: Data = DATA,
) -> int:
    """Replace all stored data by a backup. No other process may use the data."""
    from sitelore.app.operations.backup import restore as restore_backup
    from sitelore.app.settings import operator_settings

    settings = operator_settings()
    manifest = run_async(restore_backup(source, data, settings, is_confirmed=yes))
    place = "the servers" if settings.is_scaled else str(data)
    if manifest is None:
        note(f"{place} has data, which a restore would replace; nothing was changed: add --yes to restore")
        return 1
    note(f"restored {place} from {source}: {counted(manifest.blobs, 'blob')}; see `sitelore runs{data_option(data)}`")
    return 0


def retention(
    tenant: Annotated[str, typer.Option(metavar="NAME", help="The tenant.")] = DEFAULT_TENANT_NAME,
    runs: Annotated[str | None, typer.Option(metavar="TIME", help="Ended runs, but the latest of each site.")] = None,
    versions: Annotated[str | None, typer.Option(metavar="TIME", help="Earlier versions of pages.")] = None,
    events: Annotated[str | None, typer.Option(metavar="TIME", help="Events; at least 7d.")] = None,
    deliveries: Annotated[str | None, typer.Option(metavar="TIME", help="The delivery log of webhooks; at least 7d.")] = None,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show or change how long data of a tenant is kept. Each period is a time (90d), `forever`, or `default`."""
    changes = {"runs_s": runs, "versions_s": versions, "events_s": events, "deliveries_s": deliveries}
    requested = {name: _parsed(name, text) for name, text in changes.items() if text is not None}
    policy = run_async(_retention(data, tenant, requested))
    if as_json:
        print_json(asdict(policy))
        return
    console = data_console()
    for name, kept_s in asdict(policy).items():
        console.print(f"{name.removesuffix('_s'):<12}{_shown(kept_s)}", markup=False)


async def _retention(data: Path, name: str, changes: dict[str, float | None]) -> RetentionPolicy:
    """Store the changes, if there are any; the periods that apply."""
    from sitelore.app.settings import operator_settings
    from sitelore.app.wiring import build_app
    from sitelore.cli.console import tenant_named
    from sitelore.model.platform.tenant_settings import default_retention

    async with build_app(data, writing=bool(changes)) as app:
        stored = app.webhooks.retention((await tenant_named(app, name)).id)
        policy = replace(await stored.policy(), **changes)
        if changes:
            await stored.set_policy(policy)
        return policy.with_defaults(default_retention(operator_settings().retention_s))


def _parsed(name: str, text: str) -> float | None:
    from sitelore.model.platform.tenant_settings import MIN_EVENTS_S, MIN_S

    if text in {"default", "forever"}:
        return None if text == "default" else 0.0
    option = f"--{name.removesuffix('_s')}"
    kept_s = parse_duration(text, option)
    minimum_s = MIN_EVENTS_S if name in {"events_s", "deliveries_s"} else MIN_S
    if kept_s < minimum_s:
        shortest = "7d" if minimum_s == MIN_EVENTS_S else "1h"
        raise UsageError(f"invalid {option} {text!r} (use at least {shortest}, `forever` or `default`)")
    return kept_s


def _shown(kept_s: float) -> str:
    if not kept_s:
        return "forever"
    return f"{kept_s / _DAY_S:g} days" if kept_s >= _DAY_S else f"{kept_s / 3600:g} hours"
