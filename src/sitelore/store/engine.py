"""How a ledger function is run: in SQLite's one writer thread, or on a connection of Postgres' pool.

Either way a function gets a plain synchronous connection inside one transaction, which is committed when it returns.

A Postgres that is away for a while is waited for, as long as the engine's patience lasts. The function is then run again from
its start, even where only the answer to a commit was lost: every ledger function may be repeated. A settlement that is already
written is fenced off, a run that is already there is found, and rows that an unanswered claim has leased run out.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from sitelore.model.errors import CorruptData, DataDirBusy, DiskFull, SiteloreError, StorageError
from sitelore.store.migrations.current import migrate

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_LOCKED_S = 0.005
_BUSY_TIMEOUT_MS = 30_000
_TRIES = 5
_PAUSES_S = (0.05, 1.0)
_CONNECT_S = 10.0


class Engine(Protocol):
    """Runs ledger functions, each in a transaction of its own."""

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """`fn(connection, *args)`, committed."""
        ...

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """The same for a function that writes nothing; it does not wait for writers."""
        ...

    async def read_long(self, fn: Callable[..., T], *args: Any) -> T:
        """The same for one that may take long: what a crawl reads does not wait for it."""
        ...

    async def read_autocommit(self, fn: Callable[..., T], *args: Any) -> T:
        """The same for one that somebody waits for and whose statements need not be one transaction."""
        ...

    def leader_lock(self, task: str) -> AbstractAsyncContextManager[bool]:
        """Whether this task is ours to do now, until the block ends."""
        ...

    async def close(self) -> None:
        """Give the connections back."""
        ...


class _Lane:
    """One thread with one SQLite connection of its own."""

    def __init__(self, engine: sa.Engine, path: Path, begin: str) -> None:
        self._engine = engine
        self._path = path
        self._begin = begin
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sitelore-ledger")
        self._conn: sa.Connection | None = None

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, fn, args)

    def _call(self, fn: Callable[..., T], args: tuple[Any, ...]) -> T:
        try:
            conn = self._conn or self._connect()
            with conn.begin():
                return fn(conn, *args)
        except (DBAPIError, sqlite3.Error, OSError) as error:
            raise sqlite_problem(error, self._path) or error from error

    def _connect(self) -> sa.Connection:
        self._conn = conn = self._engine.connect()
        sa.event.listen(conn, "begin", lambda conn: conn.exec_driver_sql(self._begin))
        return conn

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None


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
        set_pragma(connection, pragma)


def set_pragma(connection: sqlite3.Connection, pragma: str) -> None:
    """Set it, however many do so at the same moment.

    Of two that turn a new file to WAL at once, SQLite tells one that the file is locked, whatever its timeout: they would
    wait for each other.
    """
    until = time.monotonic() + _BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute(f"PRAGMA {pragma}").close()
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or time.monotonic() > until:
                raise
            time.sleep(_LOCKED_S)
        else:
            return


class SqliteEngine:
    """One writer, one reader for the crawl and one for those who watch it: in WAL mode none waits for another."""

    def __init__(self, path: Path) -> None:
        # One for all lanes: a statement that two of them run is compiled once.
        engine = sa.create_engine(sa.URL.create("sqlite+pysqlite", database=str(path)), poolclass=NullPool)
        sa.event.listen(engine, "connect", _prepare_sqlite)
        self._writer = _Lane(engine, path, "BEGIN IMMEDIATE")
        self._reader = _Lane(engine, path, "BEGIN")
        self._browser = _Lane(engine, path, "BEGIN")
        self._turns: set[str] = set()

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """`fn(connection, *args)` in the writer's thread, committed."""
        return await self._writer.run(fn, *args)

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """The same in the reader's thread."""
        return await self._reader.run(fn, *args)

    async def read_long(self, fn: Callable[..., T], *args: Any) -> T:
        """The same in a thread where nothing of the crawl waits."""
        return await self._browser.run(fn, *args)

    async def read_autocommit(self, fn: Callable[..., T], *args: Any) -> T:
        """The same: a transaction costs nothing here."""
        return await self._browser.run(fn, *args)

    @asynccontextmanager
    async def leader_lock(self, task: str) -> AsyncIterator[bool]:
        """One process works on a file (the directory's lock sees to it), so turns are taken within it."""
        if task in self._turns:
            yield False
            return
        self._turns.add(task)
        try:
            yield True
        finally:
            self._turns.discard(task)

    async def close(self) -> None:
        """End the threads. The writer goes last: it folds the write-ahead log into the database."""
        await self._browser.close()
        await self._reader.close()
        await self._writer.close()


@dataclass(frozen=True, slots=True)
class PostgresTerms:
    """How a pool behaves."""

    pool: int = 8
    patience_s: float = 0.0
    """How long a database that is away is waited for before the error goes to the caller."""
    frozen_s: float = 10.0
    """A transaction in which nothing happens for this long is ended by the database: a process that is frozen in the middle
    of one must not hold its locks for ever."""


class PostgresEngine:
    """A pool of connections."""

    def __init__(self, engine: AsyncEngine, name: str, terms: PostgresTerms) -> None:
        self._engine = engine
        self._without_transactions = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._name = name
        self._terms = terms

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """`fn(connection, *args)`, committed. What Postgres ends for a deadlock is done again: it left nothing behind."""
        return await self._done(self._engine.begin, fn, args)

    async def _done(
        self, opened: Callable[[], AbstractAsyncContextManager[AsyncConnection]], fn: Callable[..., T], args: tuple[Any, ...]
    ) -> T:
        left, pause_s = _TRIES - 1, _PAUSES_S[0]
        give_up_at = time.monotonic() + self._terms.patience_s
        while True:
            try:
                async with opened() as conn:
                    return await conn.run_sync(fn, *args)
            except Exception as error:
                if left and _is_collision(error):
                    left -= 1
                    continue
                if not is_away(error) or time.monotonic() >= give_up_at:
                    raise postgres_problem(error, self._name) or error from error
                _LOG.warning("the database is away (%s); waiting for it", type(error).__name__)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _PAUSES_S[1])

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """The same: readers never wait in Postgres."""
        return await self.run(fn, *args)

    async def read_long(self, fn: Callable[..., T], *args: Any) -> T:
        """The same again: a pool has more than one connection."""
        return await self.run(fn, *args)

    async def read_autocommit(self, fn: Callable[..., T], *args: Any) -> T:
        """Without BEGIN and COMMIT: two round trips less, and every statement sees its own moment in Postgres anyway."""
        return await self._done(self._without_transactions.connect, fn, args)

    @asynccontextmanager
    async def leader_lock(self, task: str) -> AsyncIterator[bool]:
        """An advisory lock, held by a transaction that does nothing else: it ends with the block, with the process, or when
        the process is frozen for too long. So having the turn saves work; what is done in it must be safe without it.
        """
        held = await self._lock(int.from_bytes(hashlib.sha256(task.encode()).digest()[:8], "big", signed=True))
        try:
            yield held is not None
        finally:
            if held is not None:
                with contextlib.suppress(Exception):
                    await held.close()

    async def _lock(self, number: int) -> AsyncConnection | None:
        conn = self._engine.connect()
        try:
            await conn.start()
            if await conn.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(number))):
                return conn
        except Exception as error:
            with contextlib.suppress(Exception):
                await conn.close()
            if is_away(error):
                return None
            raise postgres_problem(error, self._name) or error from error
        await conn.close()
        return None

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


_AWAY = frozenset({"57P01", "57P02", "57P03", "53300", "25P03"})
"""Shut down by hand, crashed, starting up, too many connections, ended because nothing happened for too long."""


def is_away(error: Exception) -> bool:
    """Whether the database, or our connection to it, is gone for now; what was begun there has left nothing behind."""
    state = _state_of(error)
    if isinstance(error, OSError):
        return error.errno != errno.ENOSPC
    return state in _AWAY or state.startswith("08") or bool(getattr(error, "connection_invalidated", False))


def postgres_problem(error: Exception, name: str) -> SiteloreError | None:
    """The same for Postgres, by SQLSTATE."""
    state = _state_of(error)
    if state == "53100" or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return DiskFull(f"There is no room left to write the database {name}.")
    if state in {"25006", "42501"}:
        return DiskFull(f"The database {name} may not be written.")
    if state in {"XX001", "XX002"}:
        return CorruptData(f"The database {name} is damaged.")
    if is_away(error) or state[:2] in {"28", "3D", "57"}:
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


async def open_postgres(url: str, terms: PostgresTerms | None = None) -> PostgresEngine:
    """The database at this URL, made or brought up to date first. Opening has no patience: a wrong URL is said at once."""
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - greenlet is not wanted in an embedded crawl

    terms = terms or PostgresTerms()
    where = sa.make_url(url).set(drivername="postgresql+asyncpg")
    session = {"idle_in_transaction_session_timeout": str(round(terms.frozen_s * 1000)), "jit": "off"}
    pool = create_async_engine(
        where, pool_size=terms.pool, max_overflow=0, connect_args={"server_settings": session, "timeout": _CONNECT_S}
    )
    name = where.render_as_string(hide_password=True)
    await _migrated(PostgresEngine(pool, name, replace(terms, patience_s=0.0)), str(where.database))
    return PostgresEngine(pool, name, terms)


def database_time(conn: sa.Connection) -> float:
    """What the database's clock shows."""
    return float(conn.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")) or 0.0)


_E = TypeVar("_E", SqliteEngine, PostgresEngine)


async def _migrated(engine: _E, name: str) -> _E:
    try:
        await engine.run(migrate, name)
    except BaseException:
        await engine.close()
        raise
    return engine
