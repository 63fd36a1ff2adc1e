"""`sitelore init`: writes a commented configuration file; `sitelore config`: the settings in force and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sitelore.app.config.sources import plain, run_settings, set_values
from sitelore.cli.commands.crawl import Assignments, ConfigPath
from sitelore.cli.console import AsJson, data_console, note, print_json
from sitelore.model.errors import UsageError


def init(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="The site to crawl.", show_default=False)] = None,
    config: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")] = Path("sitelore.toml"),
) -> None:
    """Write a commented sitelore.toml. It names every setting with its default; a file that exists is not touched."""
    from sitelore.app.config.file import read_config
    from sitelore.app.config.reference import template
    from sitelore.intake.seeds import parse_user_url

    text = template(str(parse_user_url(url)) if url else "https://example.com/")
    try:
        with config.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{config} exists already; edit it, or name another file with --config") from None
    read_config(config)
    note(f"wrote {config}; `sitelore config` shows what is in force, `sitelore crawl` crawls its sites")


def config(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="Show the settings of a crawl of this URL.", show_default=False)
    ] = None,
    config: ConfigPath = None,
    domain_config: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON or YAML file with rules per domain.")] = None,
    set_: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Show the settings in force, and where each comes from. Secrets are named without their values."""
    from sitelore.app.config.plans import find_config, first_url, values_in_force
    from sitelore.app.config.reference import access_in_force, in_force, outputs_in_force, shown_value
    from sitelore.app.config.reference import as_json as value_as_json
    from sitelore.app.settings import environment_sources
    from sitelore.intake.seeds import parse_user_url

    file = find_config(config)
    seeds = (str(parse_user_url(url)),) if url else ()
    values = values_in_force(seeds, set_values(set_ or ()), file, domain_config)
    rows = in_force(run_settings(plain(values) | {"seeds": seeds}), values)
    site = first_url(seeds, {})
    outputs = outputs_in_force(file.outputs_for(site) if file else {})
    access = access_in_force(file.access_for(site) if file else {})
    variables = environment_sources()
    if as_json:
        groups = {"settings": rows, "output": outputs, "access": access}
        tables = {
            group: {name: {"value": value_as_json(value), "source": source} for name, value, source in own}
            for group, own in groups.items()
        }
        print_json({"file": str(file.path) if file else None, **tables, "environment": variables})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("setting", "value", "from"):
        table.add_column(column, overflow="fold", header_style="bold")
    for name, value, source in rows:
        table.add_row(name, shown_value(name, value), source, style="dim" if source == "default" else None)
    for name, value, source in (*outputs, *access):
        table.add_row(name, value, source, style="dim" if source == "default" else None)
    for name in variables:
        table.add_row(name, "is set", "environment")
    data_console().print(table)
    note(f"file: {file.path}" if file else "no sitelore.toml here; `sitelore init` writes one")
