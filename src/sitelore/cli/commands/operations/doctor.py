"""`sitelore doctor`: checks that everything a crawl needs is installed and usable."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from sitelore.cli.console import DATA, AsJson, Data, print_json, run_async

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitelore.app.operations.checks import Check

_MIN_FREE_BYTES = 500_000_000
_REQUIRED = ("ada_url", "alembic", "brotli", "msgspec", "re2", "sqlalchemy", "turbohtml", "zstandard")
_OPTIONAL = {
    "numpy": ("search", "search"),
    "pyvips": ("media", "compressing images and thumbnails; without it, originals are stored"),
    "asyncpg": ("scaled", "Postgres"),
    "redis": ("scaled", "Redis"),
    "obstore": ("scaled", "S3"),
}
"""Libraries of extras: the extra, and what it is for."""


def doctor(as_json: AsJson = False, data: Data = DATA) -> int:
    """Check the installation. The exit code is 1 if something required is missing."""
    checks = list(_checks(data))
    if as_json:
        print_json([{"name": check.name, "ok": check.ok, "sentence": check.message} for check in checks])
    else:
        marks = {True: ("ok  ", typer.colors.GREEN), False: ("FAIL", typer.colors.RED), None: ("-   ", None)}
        for check in checks:
            mark, colour = marks[check.ok]
            typer.echo(f"{typer.style(mark, fg=colour)} {check.message}")
    return 1 if any(check.ok is False for check in checks) else 0


def _checks(data: Path) -> Iterator[Check]:
    from sitelore.app.operations.checks import check_browser, check_libraries

    yield _python()
    yield _sqlite()
    yield from _packages()
    yield from check_libraries()
    yield _data_directory(data)
    yield _free_space(data)
    yield _loopback()
    yield check_browser()
    yield from _services()


def _python() -> Check:
    from sitelore.app.operations.checks import Check

    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 11)
    return Check("python", ok, f"Python {version}" + ("." if ok else " is too old; 3.11 or later is required."))


def _sqlite() -> Check:
    import sqlite3

    from sitelore.app.operations.checks import Check

    ok = sqlite3.sqlite_version_info >= (3, 35, 0)
    return Check("sqlite", ok, f"SQLite {sqlite3.sqlite_version}" + ("." if ok else " is too old; 3.35 or later is required."))


def _packages() -> Iterator[Check]:
    from importlib.util import find_spec

    from sitelore.app.operations.checks import Check
    from sitelore.extras import install_command

    missing = [name for name in _REQUIRED if find_spec(name) is None]
    message = (
        f"Missing packages: {', '.join(missing)}. Reinstall sitelore." if missing else "All required packages are installed."
    )
    yield Check("libraries", not missing, message)
    for name, (extra, use) in _OPTIONAL.items():
        if find_spec(name) is not None:
            yield Check(name, True, f"{name} is installed ({use}).")
        else:
            yield Check(name, None, f"{name} is not installed. For {use}: {install_command(extra)}")


def _services() -> Iterator[Check]:
    """The services that the settings name, if any."""
    from sitelore.app.operations.checks import Check, check_services, check_vectors
    from sitelore.app.settings import operator_settings
    from sitelore.model.errors import SiteloreError

    try:
        settings = operator_settings()
    except SiteloreError as problem:
        yield Check("settings", False, f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
        return
    yield from run_async(check_vectors(settings))
    if settings.is_scaled:
        yield from run_async(check_services(settings))
    else:
        yield Check("servers", None, "No Postgres, Redis and S3 are configured; everything is stored in the data directory.")


def _existing_parent(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _data_directory(data: Path) -> Check:
    import tempfile

    from sitelore.app.operations.checks import Check

    try:
        with tempfile.TemporaryFile(dir=_existing_parent(data)):
            pass
    except OSError as problem:
        return Check("data", False, f"The data directory {data} is not writable: {problem.strerror}.")
    return Check("data", True, f"The data directory {data} {'is writable' if data.exists() else 'can be created'}.")


def _free_space(data: Path) -> Check:
    import shutil

    from sitelore.app.operations.checks import Check

    free = shutil.disk_usage(_existing_parent(data)).free
    ok = free > _MIN_FREE_BYTES
    return Check("room", ok, f"{free / 1e9:.1f} GB of disk space are free" + ("." if ok else ", which a crawl may use up."))


def _loopback() -> Check:
    import socket

    from sitelore.app.operations.checks import Check

    try:
        with socket.create_server(("127.0.0.1", 0)):
            pass
    except OSError as problem:
        return Check("loopback", False, f"No port can be opened on 127.0.0.1: {problem.strerror}. `sitelore demo` needs one.")
    return Check("loopback", True, "Ports can be opened on 127.0.0.1.")
