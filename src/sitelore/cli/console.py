"""Options that several commands share, and output to stdout and stderr."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.model.settings import LinkStyle, PersonalPolicy

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_WIDTH = 110

Data = Annotated[
    Path, typer.Option("--data", metavar="DIR", envvar="SITELORE_DATA", help="Where runs, pages and snapshots are kept.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]
Links = Annotated[
    LinkStyle,
    typer.Option(
        help="Links in Markdown: absolute; relative (between the files of a Markdown folder); text: their text alone; "
        "none: text alone, and images as their alt text."
    ),
]
DATA = Path("sitelore-data")


def data_console() -> Console:
    """Stdout, for what was asked for."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)


def note_console() -> Console:
    """Stderr, for progress and notes."""
    from rich.console import Console

    return Console(highlight=False, stderr=True, width=None if sys.stderr.isatty() else _PLAIN_WIDTH)


def note(sentence: str) -> None:
    """A remark for the person watching."""
    sys.stderr.write(f"{sentence}\n")


def print_json(value: object) -> None:
    """One JSON value on stdout, indented for a person, plain for a pipe."""
    import msgspec

    data = msgspec.json.encode(value, enc_hook=str)
    if sys.stdout.isatty():
        data = msgspec.json.format(data, indent=2)
    sys.stdout.write(data.decode() + "\n")


def log_everything(personal: PersonalPolicy = PersonalPolicy.CHUNKS) -> None:
    """Log lines of every level on stderr."""
    from sitelore.deploy.logs import log_as_text

    log_as_text(logging.DEBUG, personal)


def visible(text: str) -> str:
    """Text from a web page, safe to show: nothing in it can move the cursor or change colours."""
    return "".join(char if char.isprintable() else " " for char in text)
