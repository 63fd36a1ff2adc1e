"""`ports.Blobs` in one SQLite file: compressed bytes, keyed by the hash of their content.

CPU time of a put of a page's two blobs, measured: one file each in 256 directories 0.71 ms (creating a file is expensive), an
object-store library over a directory 0.26 ms, rows of a database with large pages 0.03 ms.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import zstandard

from sitelore.model.document import Blob
from sitelore.model.errors import CorruptData, StorageError
from sitelore.model.ids import BlobKey
from sitelore.store.engine import SQLITE_ERRORS, connect_read_only, set_pragma, sqlite_error

T = TypeVar("T")

_PRAGMAS = (
    "busy_timeout = 30000",
    "page_size = 32768",  # blobs are a few kilobytes to a few hundred
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "cache_size = -4000",
    "journal_size_limit = 67108864",
    "secure_delete = ON",
)


_KEYS_PER_READ = 5_000
_KEYS = """
    SELECT key FROM blobs WHERE key > ? AND key < ? AND instr(key, '/') = ?
    AND NOT EXISTS (SELECT 1 FROM puts WHERE puts.key = blobs.key AND puts.put_at >= ?) ORDER BY key LIMIT ?
"""
_DELETE = """
    DELETE FROM blobs WHERE key = ? AND NOT EXISTS (SELECT 1 FROM puts WHERE puts.key = blobs.key AND puts.put_at >= ?)
"""


class SqliteBlobs:
    """Blobs in a database of their own, apart from the ledger's, because it is large and append-only."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._connect = connect_read_only if read_only else _open
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sitelore-blobs")
        self._connection: sqlite3.Connection | None = None
        self._decompressor = zstandard.ZstdDecompressor()
        """Used in the thread only."""
        self._pending: dict[BlobKey, list[asyncio.Future[bytes]]] = {}

    async def put(self, blobs: Sequence[Blob]) -> None:
        """Store compressed blobs; on return they survive a crash of the process."""
        if blobs:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._thread, self._call, lambda db: _put(db, blobs))

    async def get(self, key: BlobKey) -> bytes:
        """The uncompressed bytes; KeyError when there are none. Concurrent calls share one trip to the thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()
        if not self._pending:
            loop.call_soon(self._read_pending)
        self._pending.setdefault(key, []).append(future)
        return await future

    def _read_pending(self) -> None:
        pending, self._pending = self._pending, {}

        def read_all(db: sqlite3.Connection) -> list[bytes | Exception]:
            return [self._get(db, key) for key in pending]

        try:
            batch = asyncio.get_running_loop().run_in_executor(self._thread, self._read, read_all)
        except RuntimeError as closed:
            _resolve(pending, [closed] * len(pending))
        else:
            batch.add_done_callback(lambda _: _resolve(pending, _contents(batch, len(pending))))

    def _get(self, db: sqlite3.Connection, key: BlobKey) -> bytes | Exception:
        row = db.execute("SELECT data FROM blobs WHERE key = ?", (key,)).fetchone()
        if row is None:
            return KeyError(key)
        try:
            return self._decompressor.decompress(row[0])
        except (zstandard.ZstdError, MemoryError):  # a damaged frame may claim any content size
            return self._decompress_unsized(key, row[0])

    def _decompress_unsized(self, key: BlobKey, data: bytes) -> bytes | Exception:
        """Decompress a frame that does not state its content size; CorruptData for data that is not a frame."""
        frame = self._decompressor.decompressobj()
        try:
            content = frame.decompress(data)
        except zstandard.ZstdError:
            return CorruptData(f"The blob {key} in {self._path} is damaged.")
        return content if frame.eof else CorruptData(f"The blob {key} in {self._path} is truncated.")

    async def keys(self, stored_before: float, prefix: str = "") -> AsyncIterator[BlobKey]:
        """Keys with this prefix, or without any, of blobs that were last put before this time; none without a file."""
        if not self._path.exists():
            return
        loop = asyncio.get_running_loop()
        if self._connection is None and not self._path.exists():
            return  # nothing was put yet: tenants and runs without pages are deleted too
        after = prefix
        while True:
            read = partial(_keys_after, after=after, prefix=prefix, stored_before=stored_before)
            batch = await loop.run_in_executor(self._thread, self._read, read)
            for key in batch:
                yield key
            if len(batch) < _KEYS_PER_READ:
                return
            after = batch[-1]

    async def deleted_keys(self, deleted_before: float, prefix: str = "") -> AsyncIterator[BlobKey]:  # noqa: ARG002
        """Nothing: one process writes to this file, so a blob is deleted at once."""
        for key in list[BlobKey]():
            yield key

    async def delete(self, keys: Sequence[BlobKey], stored_before: float) -> int:
        """Delete blobs, except those that were put again since this time. Their bytes are overwritten in the file."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._read, lambda db: _delete(db, keys, stored_before))

    async def purge(self, keys: Sequence[BlobKey], deleted_before: float) -> int:  # noqa: ARG002
        """Do nothing: deleted blobs are gone."""
        return 0

    async def restore(self, keys: Sequence[BlobKey]) -> None:
        """Do nothing: a deleted blob cannot be read any more."""

    async def close(self) -> None:
        """Close the database."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call a function that reads. A missing or empty file is an error: a new one would look as if every page were lost."""
        if self._connection is None and not (self._path.exists() and self._path.stat().st_size):
            raise StorageError(f"The blob store {self._path} is missing; it holds the contents of the crawled pages.")
        return self._call(work)

    def _call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._connection is None:
                self._connection = self._connect(self._path)
            return work(self._connection)
        except SQLITE_ERRORS as error:
            raise sqlite_error(error, self._path) or error from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _contents(batch: asyncio.Future[list[bytes | Exception]], count: int) -> Sequence[bytes | BaseException]:
    if batch.cancelled():
        return [asyncio.CancelledError()] * count
    problem = batch.exception()
    return batch.result() if problem is None else [problem] * count


def _resolve(pending: dict[BlobKey, list[asyncio.Future[bytes]]], contents: Sequence[bytes | BaseException]) -> None:
    for futures, content in zip(pending.values(), contents, strict=True):
        for future in futures:
            if future.done():
                continue
            if isinstance(content, asyncio.CancelledError):
                future.cancel()
            elif isinstance(content, BaseException):
                future.set_exception(content)
            else:
                future.set_result(content)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in _PRAGMAS:
            set_pragma(connection, pragma)
        connection.execute("CREATE TABLE IF NOT EXISTS blobs (key TEXT PRIMARY KEY, data BLOB NOT NULL)")
        # Apart from the blobs: a time beside the data could be read and updated only together with the data.
        connection.execute("CREATE TABLE IF NOT EXISTS puts (key TEXT PRIMARY KEY, put_at REAL NOT NULL) WITHOUT ROWID")
    except BaseException:
        connection.close()
        raise
    return connection


def _put(db: sqlite3.Connection, blobs: Sequence[Blob]) -> None:
    with db:
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT OR IGNORE INTO blobs (key, data) VALUES (?, ?)", [(blob.key, blob.data) for blob in blobs])
        now = time.time()
        db.executemany("INSERT OR REPLACE INTO puts (key, put_at) VALUES (?, ?)", [(blob.key, now) for blob in blobs])


def _keys_after(db: sqlite3.Connection, after: str, prefix: str, stored_before: float) -> list[BlobKey]:
    values = (after, f"{prefix}g", len(prefix), stored_before, _KEYS_PER_READ)  # keys are hexadecimal: "g" is above all
    return [BlobKey(row[0]) for row in db.execute(_KEYS, values)]


def _delete(db: sqlite3.Connection, keys: Sequence[BlobKey], stored_before: float) -> int:
    with db:
        db.execute("BEGIN IMMEDIATE")
        # A blob without a time was put before times were recorded, or has an older time that was deleted here.
        cursor = db.executemany(_DELETE, [(key, stored_before) for key in keys])
        db.execute("DELETE FROM puts WHERE put_at < ?", (stored_before,))
    return cursor.rowcount
