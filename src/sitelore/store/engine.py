"""Database engines: how a repository function is executed on SQLite or on Postgres.

On both databases a function gets a plain synchronous connection inside one transaction, which is committed when it returns.
SQLite has one writer thread and two reader threads, Postgres a connection pool.

When Postgres is unavailable the engine retries for `PostgresConfig.retry_for_s`. The function is then run again from its start,
even where only the answer to a commit was lost, so every repository function must be safe to repeat: a settlement that was
already written fails the check of its fencing token, a run that was already created is returned, and rows leased by a claim
without an answer expire.

Leases, retries and time limits of several machines are compared with each other, so all machines use the clock of the database
(`DatabaseClock`), carried forward by the machine's monotonic clock. A worker whose own clock is wrong by ten minutes works like
any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import errno
import functools
import hashlib
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from sitelore.model.errors import CorruptData, DataDirBusy, DiskFull, SiteloreError, StorageError
from sitelore.model.ids import TenantId
from sitelore.store.migrations.current import migrate
from sitelore.store.tenants import app_role, for_tenant

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from sitelore.model.platform.accounts import EntryFor

T = TypeVar("T")
P = ParamSpec("P")
Function = Callable[Concatenate[sa.Connection, P], T]
"""A repository function: its first parameter is the connection."""

_LOG = logging.getLogger(__name__)

_LOCK_RETRY_S = 0.005
_BUSY_TIMEOUT_MS = 30_000
_DEADLOCK_ATTEMPTS = 5
_BACKOFF_S = (0.05, 1.0)

_SYNC_INTERVAL_S = 30.0


class Engine(Protocol):
    """Runs repository functions, each in its own transaction."""

    async def write(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that writes, and commit."""
        ...

    async def read(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a short function that only reads; it does not wait for writers."""
        ...

    async def read_long(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that reads and may take long; reads of the crawl do not wait for it."""
        ...

    def leader_lock(self, task: str, *, for_long: bool = False) -> AbstractAsyncContextManager[bool]:
        """Try to become the only process that does this task until the block ends; returns whether that succeeded.

        `for_long`: the lock must last, even when this process is suspended.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


SQLITE_ERRORS = (DBAPIError, sqlite3.Error, OSError, UnicodeDecodeError, msgspec.DecodeError)
"""Errors that `sqlite_error` translates. The last two come from stored values with flipped bytes."""


class _ConnectionThread:
    """A thread with one SQLite connection."""

    def __init__(self, engine: sa.Engine, path: Path, begin: str) -> None:
        self._engine = engine
        self._path = path
        self._begin = begin
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sitelore-ledger")
        self._conn: sa.Connection | None = None

    async def run(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        call = functools.partial(self._call, fn, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _call(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            conn = self._conn or self._connect()
            with conn.begin():
                return fn(conn, *args, **kwargs)
        except SQLITE_ERRORS as error:
            raise sqlite_error(error, self._path) or error from error

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


_READ_PRAGMAS = (
    f"busy_timeout = {_BUSY_TIMEOUT_MS}",
    "temp_store = MEMORY",
    "cache_size = -4000",  # KB for each connection; the operating system caches the file anyway
    "foreign_keys = ON",
)
_WRITE_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "wal_autocheckpoint = 4000",
    "journal_size_limit = 67108864",
    "secure_delete = ON",  # overwrite what is deleted with zeros; many builds of SQLite do so by default
)


def is_writable(path: Path) -> bool:
    """Whether an SQLite file and its directory, which holds the write-ahead log, can be written."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open an SQLite file in a directory that cannot be written.

    A file in WAL mode needs its -shm file, which SQLite cannot create there. Where no write-ahead log was left behind, the file
    is complete and cannot change, so it is opened as immutable, which needs neither.
    """
    mode = "mode=ro" if _has_log(path) else "immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)


def _has_log(path: Path) -> bool:
    """Whether a file has changes in a write-ahead log, as a process that was killed leaves them."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def set_pragma(connection: sqlite3.Connection, pragma: str) -> None:
    """Set a pragma, retrying while another connection holds the lock.

    When two connections switch a new file to WAL mode at once, SQLite reports "locked" to one of them whatever its busy
    timeout, to avoid a deadlock.
    """
    until = time.monotonic() + _BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute(f"PRAGMA {pragma}").close()
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or time.monotonic() > until:
                raise
            time.sleep(_LOCK_RETRY_S)
        else:
            return


class SqliteEngine:
    """One writer, one reader for the crawl and one reader for long reads; in WAL mode none waits for another."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        # Shared by all threads, so that a statement is compiled once.
        if read_only:
            engine = sa.create_engine("sqlite+pysqlite://", creator=lambda: connect_read_only(path), poolclass=NullPool)
        else:
            engine = sa.create_engine(sa.URL.create("sqlite+pysqlite", database=str(path)), poolclass=NullPool)
        pragmas = _READ_PRAGMAS if read_only else (*_READ_PRAGMAS, *_WRITE_PRAGMAS)

        def prepare(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # the driver must not begin transactions on its own
            for pragma in pragmas:
                set_pragma(connection, pragma)

        sa.event.listen(engine, "connect", prepare)
        self._writer = _ConnectionThread(engine, path, "BEGIN" if read_only else "BEGIN IMMEDIATE")
        self._reader = _ConnectionThread(engine, path, "BEGIN")
        self._long_reader = _ConnectionThread(engine, path, "BEGIN")
        self._locked_tasks: set[str] = set()

    async def write(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in the writer thread, and commit."""
        return await self._writer.run(fn, *args, **kwargs)

    async def read(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in the reader thread of the crawl."""
        return await self._reader.run(fn, *args, **kwargs)

    async def read_long(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in the thread for long reads."""
        return await self._long_reader.run(fn, *args, **kwargs)

    @asynccontextmanager
    async def leader_lock(self, task: str, *, for_long: bool = False) -> AsyncIterator[bool]:  # noqa: ARG002 see `Engine`
        """Lock a task within this process: the lock of the data directory keeps other processes out."""
        if task in self._locked_tasks:
            yield False
            return
        self._locked_tasks.add(task)
        try:
            yield True
        finally:
            self._locked_tasks.discard(task)

    async def close(self) -> None:
        """End the threads. The writer is last: closing it checkpoints the write-ahead log."""
        await self._long_reader.close()
        await self._reader.close()
        await self._writer.close()


@dataclass(frozen=True, slots=True)
class PostgresConfig:
    """Settings of the connection pool."""

    pool_size: int = 8
    retry_for_s: float = 0.0
    """How long an unavailable database is retried before the error is raised."""
    connect_timeout_s: float = 10.0
    idle_in_transaction_s: float = 10.0
    """Postgres ends a transaction that is idle for longer, so that a suspended process does not hold its locks for ever."""
    silence_s: float | None = None
    """When a transaction takes longer, a new connection is tried, which must succeed or fail within as long again; else the
    transaction is given up. A slow query of a working server is not affected. None: wait for as long as it takes."""


class PostgresEngine:
    """A connection pool."""

    def __init__(self, engine: AsyncEngine, name: str, config: PostgresConfig) -> None:
        self._engine = engine
        self._probe: asyncio.Task[None] | None = None
        self.name = name
        """The URL of the database without its password."""
        self._config = config

    async def write(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function and commit. A transaction that Postgres ended because of a deadlock is run again."""
        return await self._unless_silent(self._run_with_retries(self._engine.begin, fn, *args, **kwargs))

    async def _unless_silent(self, work: Coroutine[Any, Any, T]) -> T:
        """Await the work, or raise `StorageError` when the server gives no sign of life meanwhile."""
        silence_s = self._config.silence_s
        if silence_s is None:
            return await work
        task = asyncio.create_task(work)
        # Reads the error of work that was given up; asyncio would log it as never retrieved.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            while not (await asyncio.wait({task}, timeout=silence_s))[0]:
                if self._probe is None or self._probe.done():
                    self._probe = asyncio.create_task(self._connect_once())
                await asyncio.wait({task, self._probe}, timeout=silence_s, return_when=asyncio.FIRST_COMPLETED)
                if not task.done() and not self._probe.done():
                    raise StorageError(f"The database {self.name} does not answer.")
            return task.result()
        finally:
            task.cancel()  # not awaited: closing a connection to a frozen server takes seconds

    async def _connect_once(self) -> None:
        """Open and close a connection outside the pool. An error is a sign of life too: the work sees its own."""
        import asyncpg  # noqa: PLC0415 - an embedded crawl does not need it

        address = self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        with contextlib.suppress(Exception):
            await (await asyncpg.connect(address, timeout=self._config.connect_timeout_s)).close()

    async def _run_with_retries(
        self,
        connect: Callable[[], AbstractAsyncContextManager[AsyncConnection]],
        fn: Function[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        attempts_left, pause_s = _DEADLOCK_ATTEMPTS - 1, _BACKOFF_S[0]
        give_up_at = time.monotonic() + self._config.retry_for_s
        while True:
            try:
                async with connect() as conn:
                    return await conn.run_sync(fn, *args, **kwargs)
            except Exception as error:
                if attempts_left and _is_serialization_failure(error):
                    attempts_left -= 1
                    continue
                if not is_unavailable(error) or time.monotonic() >= give_up_at:
                    raise postgres_error(error, self.name) or error from error
                _LOG.warning("database unavailable (%s), retrying", type(error).__name__)
            await asyncio.sleep(max(0.0, min(pause_s, give_up_at - time.monotonic())))
            pause_s = min(2 * pause_s, _BACKOFF_S[1])

    async def read(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function like `write`: readers never wait for writers in Postgres."""
        return await self.write(fn, *args, **kwargs)

    async def read_long(self, fn: Function[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function like `write`: the pool has other connections for the crawl."""
        return await self.write(fn, *args, **kwargs)

    @asynccontextmanager
    async def leader_lock(self, task: str, *, for_long: bool = False) -> AsyncIterator[bool]:
        """Take an advisory lock in a transaction that does nothing else.

        The lock ends with the block, with the process, or when the process is suspended for too long. It only saves duplicate
        work; the work itself must be safe without it.
        """
        conn = await self._try_advisory_lock(int.from_bytes(hashlib.sha256(task.encode()).digest()[:8], "big", signed=True))
        if conn is not None and for_long:
            await conn.execute(sa.text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        try:
            yield conn is not None
        finally:
            if conn is not None:
                with contextlib.suppress(Exception):
                    await conn.close()

    async def _try_advisory_lock(self, number: int) -> AsyncConnection | None:
        conn = self._engine.connect()
        try:
            await conn.start()
            if await conn.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(number))):
                return conn
        except Exception as error:
            with contextlib.suppress(Exception):
                await conn.close()
            if is_unavailable(error):
                return None
            raise postgres_error(error, self.name) or error from error
        await conn.close()
        return None

    async def close(self) -> None:
        """Close the connection pool."""
        await self._engine.dispose()


def sqlite_error(error: Exception, path: Path) -> SiteloreError | None:
    """The error for users; None for a programming error, which must stay visible as it is."""
    text = str(getattr(error, "orig", None) or error).lower()
    if isinstance(error, UnicodeDecodeError | msgspec.DecodeError) or text.startswith("could not decode"):
        return CorruptData(f"The database {path} is damaged: a stored value cannot be decoded.")
    if any(sign in text for sign in ("malformed", "not a database", "file is encrypted", "unsupported file format")):
        return CorruptData(f"The database {path} is damaged or not an SQLite database; restore a backup.")
    if "full" in text:
        return DiskFull(f"The database {path} cannot be written: no space left on the disk.")
    if "unable to open" in text and not is_writable(path) and _has_log(path):
        return DiskFull(f"The database {path} was not closed and cannot be read without writing; copy its directory elsewhere.")
    if "readonly" in text or "unable to open" in text:
        return DiskFull(f"The database {path} cannot be opened for writing.")
    if "locked" in text:
        return DataDirBusy(f"The database {path} is locked by another process.")
    if "disk i/o error" in text or isinstance(error, OSError):
        return DiskFull(f"The database {path} cannot be read or written: {text}.")
    return None


def _sqlstate(error: Exception) -> str:
    return str(getattr(getattr(error, "orig", None), "sqlstate", None) or getattr(error, "sqlstate", None) or "")


def _is_serialization_failure(error: Exception) -> bool:
    return _sqlstate(error) in {"40001", "40P01"}


_UNAVAILABLE_STATES = frozenset({"57P01", "57P02", "57P03", "53300", "25P03"})
"""Admin shutdown, crash shutdown, starting up, too many connections, idle-in-transaction timeout."""


def is_unavailable(error: Exception) -> bool:
    """Whether the server or our connection to it is gone for now; the transaction was rolled back."""
    state = _sqlstate(error)
    if isinstance(error, OSError):
        return error.errno != errno.ENOSPC
    return state in _UNAVAILABLE_STATES or state.startswith("08") or bool(getattr(error, "connection_invalidated", False))


def _reason(error: Exception) -> str:
    """The system's message of a failed connection, without its number and the address; the driver's own one otherwise."""
    cause = getattr(error, "orig", None) or error
    number = getattr(cause, "errno", None)
    return os.strerror(number).lower() if isinstance(number, int) and number > 0 else str(cause).rstrip(".")


def postgres_error(error: Exception, name: str) -> SiteloreError | None:
    """The error for users, by SQLSTATE; None for a programming error, which must stay visible as it is."""
    state = _sqlstate(error)
    if state == "53100" or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return DiskFull(f"The database {name} cannot be written: no space left on the disk.")
    if state in {"25006", "42501"}:
        return DiskFull(f"The database {name} cannot be written: it is read-only or permission is missing.")
    if state in {"XX001", "XX002"}:
        return CorruptData(f"The database {name} is damaged.")
    if is_unavailable(error) or state[:2] in {"28", "3D", "57"}:
        return StorageError(f"The database {name} cannot be reached: {_reason(error)}.")
    return None


async def open_sqlite(path: Path, *, read_only: bool = False) -> SqliteEngine:
    """Open the database in this file; it is created or migrated first. With `read_only`, every write fails."""
    if read_only:
        return await _migrate(SqliteEngine(path, read_only=True), str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskFull(f"The directory {path.parent} cannot be created: {error.strerror}.") from error
    return await _migrate(SqliteEngine(path), str(path))


async def open_postgres(url: str, config: PostgresConfig | None = None) -> PostgresEngine:
    """Open the database at this URL; it is migrated first. Opening does not retry, so that a wrong URL fails at once."""
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - an embedded crawl does not need greenlet

    config = config or PostgresConfig()
    address = sa.make_url(url).set(drivername="postgresql+asyncpg")
    # Without the query, which may hold a password too.
    name = address.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
    connect_args = {"timeout": config.connect_timeout_s}
    as_owner = create_async_engine(address, poolclass=NullPool, connect_args=connect_args)
    migrating = await _migrate(PostgresEngine(as_owner, name, replace(config, retry_for_s=0.0)), str(address.database))
    session = {"idle_in_transaction_session_timeout": str(round(config.idle_in_transaction_s * 1000)), "jit": "off"}
    if role := await migrating.read(app_role):
        session["role"] = role
    await migrating.close()
    pool = create_async_engine(
        address,
        pool_size=config.pool_size,
        max_overflow=0,
        connect_args={**connect_args, "server_settings": session},
    )
    return PostgresEngine(pool, name, config)


def database_time(conn: sa.Connection) -> float:
    """The time of the database's clock, in seconds since the epoch."""
    return float(conn.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")) or 0.0)


_E = TypeVar("_E", SqliteEngine, PostgresEngine)


async def _migrate(engine: _E, name: str) -> _E:
    try:
        await engine.write(migrate, name)
    except BaseException:
        await engine.close()
        raise
    return engine


TenantFunction = Callable[Concatenate[sa.Connection, TenantId, P], T]
"""A repository function that concerns one tenant, which is its second parameter."""


class Repository:
    """Base of classes that put repository functions of one tenant behind a port."""

    def __init__(self, engine: Engine, tenant: TenantId) -> None:
        self._engine = engine
        self._tenant = tenant
        self.entry_for: EntryFor | None = None

    def for_tenant(self, tenant: TenantId) -> Self:
        """The repository of another tenant in the same database."""
        return self if tenant == self._tenant else type(self)(self._engine, tenant)

    def recording(self, entry_for: EntryFor) -> Self:
        """This repository, whose changes go into the audit log in the same transaction; `entry_for` sees their results."""
        recording = copy.copy(self)
        recording.entry_for = entry_for
        return recording

    async def _write(self, fn: TenantFunction[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        entry_for = self.entry_for
        if entry_for is None:
            return await self._engine.write(for_tenant, fn, self._tenant, *args, **kwargs)
        from sitelore.store.platform.accounts.audit_log import recorded  # noqa: PLC0415 - a crawl does without

        def change(conn: sa.Connection, tenant: TenantId) -> T:
            return recorded(conn, tenant, entry_for, lambda: fn(conn, tenant, *args, **kwargs))

        return await self._engine.write(for_tenant, change, self._tenant)

    async def _read(self, fn: TenantFunction[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._engine.read(for_tenant, fn, self._tenant, *args, **kwargs)

    async def _read_long(self, fn: TenantFunction[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._engine.read_long(for_tenant, fn, self._tenant, *args, **kwargs)


_Method = Callable[Concatenate[Repository, P], Coroutine[Any, Any, T]]


def _method(kind: str, fn: TenantFunction[P, T]) -> _Method[P, T]:
    @functools.wraps(fn)
    async def method(self: Repository, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await getattr(self, kind)(fn, *args, **kwargs)
        return result

    return method


def write(fn: TenantFunction[P, T]) -> _Method[P, T]:
    """A method that runs `fn` for the tenant with `Engine.write`."""
    return _method("_write", fn)


def read(fn: TenantFunction[P, T]) -> _Method[P, T]:
    """A method that runs `fn` for the tenant with `Engine.read`."""
    return _method("_read", fn)


def read_long(fn: TenantFunction[P, T]) -> _Method[P, T]:
    """A method that runs `fn` for the tenant with `Engine.read_long`."""
    return _method("_read_long", fn)


async def iterate_pages(read_page: Callable[[str], Awaitable[Sequence[tuple[str, T]]]], page_size: int) -> AsyncIterator[T]:
    """Items of all pages of a result. `read_page(after)` reads the next items with their keys; a short page is the last one."""
    after = ""
    while True:
        page = await read_page(after)
        for _, item in page:
            yield item
        if len(page) < page_size:
            return
        after = page[-1][0]


class DatabaseClock:
    """Seconds since the epoch by the database's clock; exact to the duration of one query."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine
        self._offset_s = 0.0

    def __call__(self) -> float:
        """The current time."""
        return time.monotonic() + self._offset_s

    async def sync(self) -> None:
        """Read the database's clock and store the offset to the monotonic clock."""
        sent_at = time.monotonic()
        database_now = await self._engine.read(database_time)
        self._offset_s = database_now - (sent_at + time.monotonic()) / 2

    @asynccontextmanager
    async def kept_in_sync(self) -> AsyncIterator[DatabaseClock]:
        """Sync now and periodically until the block ends: clocks drift, and a suspended machine loses time."""
        await self.sync()
        task = asyncio.create_task(self._sync_periodically(), name="database clock")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _sync_periodically(self) -> None:
        while True:
            await asyncio.sleep(_SYNC_INTERVAL_S)
            with contextlib.suppress(StorageError):
                await self.sync()
