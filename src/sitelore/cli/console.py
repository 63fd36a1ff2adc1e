"""Shared by all commands: common options, output to stdout and stderr, and running a coroutine or the application."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sitelore.app.wiring import build_app
from sitelore.model.errors import UsageError
from sitelore.model.settings import LinkStyle, PersonalPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from rich.console import Console

    from sitelore.app.app import App
    from sitelore.model.frontier import Tenant


_PLAIN_WIDTH = 110
_Result = TypeVar("_Result")

Data = Annotated[
    Path, typer.Option("--data", metavar="DIR", envvar="SITELORE_DATA", help="Directory for runs, pages and snapshots.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")]
_LINKS: Any = typer.Option(
    help="Links in Markdown: absolute, relative (between the files of a Markdown folder), text (without URLs), "
    "or none (text without URLs, images as their alt text).",
    rich_help_panel="Output",
)
Links = Annotated[LinkStyle, _LINKS]
LinksIfTyped = Annotated[LinkStyle | None, _LINKS]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run id or a prefix of one, a site (its latest run), or `latest`.")
]
InRun = Annotated[
    str, typer.Option("--run", metavar="RUN", help="A run id or a prefix of one, a site, or `latest` (with this URL).")
]
DATA = Path("sitelore-data")


def one_of(names: Sequence[str]) -> Callable[[str], str]:
    """A parser for an option that takes one of these names."""

    def parse(text: str) -> str:
        if text not in names:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(names)}.")
        return text

    return parse


def run_async(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine."""
    import asyncio

    return asyncio.run(work)


def data_console() -> Console:
    """Stdout, for results."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)


def note_console() -> Console:
    """Stderr, for progress and notes."""
    from rich.console import Console

    return Console(highlight=False, stderr=True, width=None if sys.stderr.isatty() else _PLAIN_WIDTH)


def note(message: str) -> None:
    """Print a note on stderr."""
    sys.stderr.write(f"{message}\n")


def print_json(value: object) -> None:
    """Print a JSON value on stdout: indented on a terminal, on one line in a pipe."""
    import msgspec

    data = msgspec.json.encode(value, enc_hook=str)
    if sys.stdout.isatty():
        data = msgspec.json.format(data, indent=2)
    sys.stdout.write(data.decode() + "\n")


def log_everything(personal: PersonalPolicy = PersonalPolicy.CHUNKS) -> None:
    """Log at every level on stderr."""
    from sitelore.app.logs import log_as_text

    log_as_text(logging.DEBUG, personal)


def visible(text: str) -> str:
    """Text from a website without control characters, which could move the cursor or change colours."""
    return "".join(char if char.isprintable() else " " for char in text)


def counted(number: int, noun: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def minute(seconds: float) -> str:
    """A Unix time in UTC, to the minute: `2026-05-01 09:30`."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def data_option(data: Path) -> str:
    """The `--data` option that a suggested command needs; empty for the default directory."""
    from shlex import quote

    return "" if data == DATA else f" --data {quote(str(data))}"


T = TypeVar("T")


def with_app(data: Path, work: Callable[[App], Awaitable[T]], *, writing: bool) -> T:
    """The result of work with the application on a data directory."""

    async def run() -> T:
        async with build_app(data, writing=writing) as app:
            return await work(app)

    return run_async(run())


async def tenant_named(app: App, name: str) -> Tenant:
    """The tenant of this name. Raises `UsageError`."""
    tenant = await app.queue.find_tenant(name)
    if tenant is None:
        raise UsageError(f"no tenant {name!r}; see `sitelore tenant list`")
    return tenant
