"""How a ledger function is run: in SQLite's one writer thread, or on a connection of Postgres' pool.

Either way a function gets a plain synchronous connection inside one transaction, which is committed when it returns.
"""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from sitelore.model.errors import CorruptData, DataDirBusy, DiskFull, SiteloreError, StorageError
from sitelore.store.migrations.current import migrate

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")

_BUSY_TIMEOUT_MS = 30_000
_TRIES = 5


class Engine(Protocol):
    """Runs ledger functions, each in a transaction of its own."""

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """`fn(connection, *args)`, committed."""
        ...

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """The same for a function that writes nothing; it does not wait for writers."""
        ...

    async def close(self) -> None:
        """Give the connections back."""
        ...


class _Lane:
    """One thread with one SQLite connection of its own."""

    def __init__(self, path: Path, begin: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sitelore-ledger")
        self._engine = sa.create_engine(sa.URL.create("sqlite+pysqlite", database=str(path)), poolclass=NullPool)
        self._conn: sa.Connection | None = None
        sa.event.listen(self._engine, "connect", _prepare_sqlite)
        sa.event.listen(self._engine, "begin", lambda conn: conn.exec_driver_sql(begin))

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, fn, args)

    def _call(self, fn: Callable[..., T], args: tuple[Any, ...]) -> T:
        try:
            if self._conn is None:
                self._conn = self._engine.connect()
            with self._conn.begin():
                return fn(self._conn, *args)
        except (DBAPIError, sqlite3.Error, OSError) as error:
            raise sqlite_problem(error, self._path) or error from error

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None
        self._engine.dispose()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver must not begin transactions behind our back
    for pragma in (
        f"busy_timeout = {_BUSY_TIMEOUT_MS}",
        "journal_mode = WAL",
        "synchronous = NORMAL",
        "temp_store = MEMORY",
        "cache_size = -4000",  # KB, on each connection; the system caches the file anyway
        "wal_autocheckpoint = 4000",
        "journal_size_limit = 67108864",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


class SqliteEngine:
    """One writer and one reader: in WAL mode neither waits for the other."""

    def __init__(self, path: Path) -> None:
        self._writer = _Lane(path, "BEGIN IMMEDIATE")
        self._reader = _Lane(path, "BEGIN")

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """`fn(connection, *args)` in the writer's thread, committed."""
        return await self._writer.run(fn, *args)

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """The same in the reader's thread."""
        return await self._reader.run(fn, *args)

    async def close(self) -> None:
        """End both threads. The writer goes last: it folds the write-ahead log into the database."""
        await self._reader.close()
        await self._writer.close()


class PostgresEngine:
    """A pool of connections."""

    def __init__(self, engine: AsyncEngine, name: str) -> None:
        self._engine = engine
        self._name = name

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """`fn(connection, *args)`, committed. What Postgres ends for a deadlock is done again: it left nothing behind."""
        for left in reversed(range(_TRIES)):
            try:
                async with self._engine.begin() as conn:
                    return await conn.run_sync(fn, *args)
            except (DBAPIError, OSError) as error:
                if left and _is_collision(error):
                    continue
                raise postgres_problem(error, self._name) or error from error
        raise AssertionError("unreachable")

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """The same: readers never wait in Postgres."""
        return await self.run(fn, *args)

    async def close(self) -> None:
        """Close the pool."""
        await self._engine.dispose()


def sqlite_problem(error: Exception, path: Path) -> SiteloreError | None:
    """What went wrong, for people; None when it is a mistake of ours that should be seen as it is."""
    text = str(getattr(error, "orig", None) or error).lower()
    if "malformed" in text or "not a database" in text or "file is encrypted" in text:
        return CorruptData(f"The database {path} is damaged or is no SQLite database.")
    if "full" in text:
        return DiskFull(f"There is no room left to write the database {path}.")
    if "readonly" in text or "unable to open" in text:
        return DiskFull(f"The database {path} cannot be opened for writing.")
    if "locked" in text:
        return DataDirBusy(f"Another process holds the database {path}.")
    if "disk i/o error" in text or isinstance(error, OSError):
        return DiskFull(f"The database {path} cannot be read or written: {text}.")
    return None


def _state_of(error: Exception) -> str:
    return str(getattr(getattr(error, "orig", None), "sqlstate", None) or getattr(error, "sqlstate", None) or "")


def _is_collision(error: Exception) -> bool:
    return _state_of(error) in {"40001", "40P01"}


def postgres_problem(error: Exception, name: str) -> SiteloreError | None:
    """The same for Postgres, by SQLSTATE."""
    state = _state_of(error)
    if state == "53100" or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return DiskFull(f"There is no room left to write the database {name}.")
    if state in {"25006", "42501"}:
        return DiskFull(f"The database {name} may not be written.")
    if state in {"XX001", "XX002"}:
        return CorruptData(f"The database {name} is damaged.")
    if isinstance(error, OSError) or state[:2] in {"08", "28", "3D", "57"} or getattr(error, "connection_invalidated", False):
        return StorageError(f"The database {name} cannot be reached: {getattr(error, 'orig', None) or error}.")
    return None


async def open_sqlite(path: Path) -> SqliteEngine:
    """The database in this file, made or brought up to date first."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskFull(f"The directory {path.parent} cannot be made: {error.strerror}.") from error
    engine = SqliteEngine(path)
    return await _migrated(engine, str(path))


async def open_postgres(url: str, pool: int = 8) -> PostgresEngine:
    """The database at this URL, made or brought up to date first."""
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - greenlet is not wanted in an embedded crawl

    where = sa.make_url(url).set(drivername="postgresql+asyncpg")
    engine = PostgresEngine(
        create_async_engine(where, pool_size=pool, max_overflow=0), where.render_as_string(hide_password=True)
    )
    return await _migrated(engine, str(where.database))


_E = TypeVar("_E", SqliteEngine, PostgresEngine)


async def _migrated(engine: _E, name: str) -> _E:
    try:
        await engine.run(migrate, name)
    except BaseException:
        await engine.close()
        raise
    return engine
