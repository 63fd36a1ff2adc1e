"""Options of settings: their help comes from the catalogue, which also checks what is typed."""

from __future__ import annotations

from typing import Any

import typer

from sitelore.app.config.catalogue import BY_NAME, SETTINGS
from sitelore.app.config.kinds import Choice, Flag, Items

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
