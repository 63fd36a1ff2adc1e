"""Help texts of commands whose options are grouped under headings (`typer.Option(rich_help_panel=…)`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

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
