"""`sitelore doctor`: is everything here that a crawl needs? One sentence a check."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from sitelore.cli.console import DATA, AsJson, Data

_ROOM_BYTES = 500_000_000
_NEEDED = ("ada_url", "alembic", "brotli", "msgspec", "re2", "sqlalchemy", "turbohtml", "zstandard")
_OPTIONAL = {
    "asyncpg": "Postgres as the database (pip install 'sitelore[scaled]')",
    "redis": "Redis for many workers (pip install 'sitelore[scaled]')",
    "obstore": "S3 for blobs (pip install 'sitelore[scaled]')",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `ok` None: fine without it."""

    name: str
    ok: bool | None
    sentence: str


def doctor(as_json: AsJson = False, data: Data = DATA) -> int:
    """Check that everything a crawl needs is here."""
    checks = [_python(), _sqlite(), *_parts(), *_compiled(), _folder(data), _room(data), _loopback(), _browser(), *_servers()]
    if as_json:
        from sitelore.cli.console import print_json

        print_json(checks)
    else:
        for check in checks:
            mark, colour = {True: ("ok  ", typer.colors.GREEN), False: ("FAIL", typer.colors.RED), None: ("-   ", None)}[
                check.ok
            ]
            typer.echo(f"{typer.style(mark, fg=colour)} {check.sentence}")
    return 1 if any(check.ok is False for check in checks) else 0


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 11)
    return Check("python", ok, f"Python {found}" + ("." if ok else " is too old: 3.11 is needed."))


def _sqlite() -> Check:
    import sqlite3

    ok = sqlite3.sqlite_version_info >= (3, 35, 0)
    return Check("sqlite", ok, f"SQLite {sqlite3.sqlite_version}" + ("." if ok else " is too old: 3.35 is needed."))


def _parts() -> Iterator[Check]:
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    sentence = f"Missing: {', '.join(missing)}; install sitelore again." if missing else "All libraries are installed."
    yield Check("libraries", not missing, sentence)
    for name, use in _OPTIONAL.items():
        here = find_spec(name) is not None
        yield Check(name, True if here else None, f"{name} is installed." if here else f"{name} is not installed: no {use}.")


def _compiled() -> Iterator[Check]:
    from sitelore.deploy.checks import check_libraries

    for name, ok, sentence in check_libraries():
        yield Check(name, ok, sentence)


def _browser() -> Check:
    from sitelore.deploy.checks import check_browser

    return Check("browser", *check_browser())


def _servers() -> Iterator[Check]:
    """The servers that the settings name, if they name any."""
    from sitelore.deploy.settings import operator_settings
    from sitelore.model.errors import SiteloreError

    try:
        settings = operator_settings()
    except SiteloreError as problem:
        yield Check("settings", False, f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
        return
    import asyncio

    from sitelore.deploy.checks import check_servers, check_vectors

    for name, ok, sentence in asyncio.run(check_vectors(settings)):
        yield Check(name, ok, sentence)
    if not settings.is_scaled:
        yield Check("servers", None, "No servers are named by settings: everything is kept in the data directory.")
        return
    for name, ok, sentence in asyncio.run(check_servers(settings)):
        yield Check(name, ok, sentence)


def _folder(data: Path) -> Check:
    import tempfile

    place = data
    while not place.exists():
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as problem:
        return Check("data", False, f"The data directory {data} cannot be written: {problem.strerror}.")
    return Check("data", True, f"The data directory {data} {'can be written' if data.exists() else 'can be made'}.")


def _room(data: Path) -> Check:
    import shutil

    place = data
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    ok = free > _ROOM_BYTES
    return Check("room", ok, f"{free / 1e9:.1f} GB of disk are free" + ("." if ok else ": a crawl may run out of room."))


def _loopback() -> Check:
    import socket

    try:
        with socket.create_server(("127.0.0.1", 0)):
            pass
    except OSError as problem:
        return Check("loopback", False, f"No socket can be opened on 127.0.0.1: {problem.strerror}; `sitelore demo` needs one.")
    return Check("loopback", True, "Sockets can be opened on 127.0.0.1.")
