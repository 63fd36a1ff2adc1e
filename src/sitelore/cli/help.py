"""Help texts with headings: options by `typer.Option(rich_help_panel=…)`, commands by `COMMAND_GROUPS`.

The help of a setting's option comes from the catalogue, which also checks what is typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sitelore.app.config.catalogue import BY_NAME, SETTINGS
from sitelore.app.config.kinds import Choice, Flag, Items

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter


COMMAND_GROUPS = {
    "Crawl": ("crawl", "init", "config", "login", "pipeline", "demo"),
    "Read and search": ("search", "runs", "show", "explain", "inspect", "changes", "compare", "export", "extract"),
    "Audit": ("audit", "insights", "fix", "repository"),
    "Stored data": ("reprocess", "reindex", "deletions", "delete", "retention", "backup", "restore"),
    "Servers": ("serve", "worker", "mcp", "tenant", "token", "webhooks", "doctor"),
}
"""All commands by heading, in the order of `sitelore --help`."""
_OTHER = "Options"
_ARGUMENTS = "Arguments"


class GroupedCommand(TyperCommand):
    """A command that lists its options under their headings; those without one come last."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write arguments and options in the order of their definition."""
        groups: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: []}
        others: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is None:
                continue
            if parameter.param_type_name == "argument":
                groups[_ARGUMENTS].append(record)
            elif heading := getattr(parameter, "rich_help_panel", None):
                groups.setdefault(heading, []).append(record)
            else:
                others.append(record)
        for heading, records in {**groups, _OTHER: others}.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class GroupedCommands(TyperGroup):
    """The list of commands under its headings."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002 the signature of click
        """Write the commands that are there, with the first sentence of their help."""
        width = max(map(len, self.commands), default=0)
        for heading, names in COMMAND_GROUPS.items():
            rows = [(name.ljust(width), self.commands[name].get_short_help_str(100)) for name in names if name in self.commands]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


# Headings of the options in `sitelore crawl --help`.
WHAT, EXTRACTION, POLITENESS, ACCESS = "What to crawl", "What to extract", "Politeness and speed", "Access to the site"
FILES = "Output"


def setting(key: str, panel: str, metavar: str = "") -> Any:
    """The option of a setting, by its name or short key. Typer takes the text; `typed_values` checks it."""
    own = BY_NAME.get(key) or next(other for other in SETTINGS if other.short == key)
    if isinstance(own.kind, Flag) or not metavar:
        metavar = "|".join(own.kind.form) if isinstance(own.kind, Choice) else ""
    default = "" if isinstance(own.kind, Flag) or not own.default() else f"  [default: {own.text(own.default())}]"
    if own.unset:
        default = f"  [default: {own.unset}]"
    repeatable = " Repeatable." if isinstance(own.kind, Items) else ""
    names = [] if not isinstance(own.kind, Flag) else ["--documents/--no-documents" if key == "documents" else own.option]
    return typer.Option(*names, metavar=metavar or None, help=f"{own.meaning}{repeatable}{default}", rich_help_panel=panel)
