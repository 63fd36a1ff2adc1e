"""Copies of SQLite files that other processes write: a consistent snapshot, blobs by key, and checks before a restore."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sitelore.model.document import Blob
from sitelore.model.errors import CorruptData, DataDirBusy
from sitelore.model.ids import BlobKey
from sitelore.store.engine import sqlite_error

BlobFile = sqlite3.Connection
"""An open file of blobs."""

_BUSY_S = 30.0
_BLOBS_PER_COPY = 500
_SIDE_FILES = ("-wal", "-shm", "-journal")
_TABLES = (
    "CREATE TABLE IF NOT EXISTS blobs (key TEXT PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS puts (key TEXT PRIMARY KEY, put_at REAL NOT NULL) WITHOUT ROWID",
)
_NEXT_KEYS = "SELECT key FROM source.blobs WHERE key > ? ORDER BY key LIMIT ?"


def snapshot(source: Path, target: Path) -> None:
    """Write a consistent, checked copy of a database that may be in use; an older copy is replaced when it is complete.

    `VACUUM INTO` reads one state of the database, with its write-ahead log, and blocks no writer. The copy needs free space of
    the size of the database.
    """
    unfinished = target.with_name(f"{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # SQLite keeps the mode of an empty file
    with _errors(source), closing(_connect(source)) as db:
        db.execute("VACUUM INTO ?", (str(unfinished),))
    check(unfinished)
    _sync(unfinished)
    unfinished.replace(target)


def check(path: Path) -> None:
    """Raise `CorruptData` when a database file is damaged."""
    with _errors(path), closing(_connect(path)) as db:
        result = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if result != "ok":
        raise CorruptData(f"The database {path} is damaged: {result}.")


def revision_of(path: Path) -> str:
    """The revision of the schema of a database."""
    with _errors(path), closing(_connect(path)) as db:
        return str(db.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def copy_blobs(source: Path, target: Path) -> int:
    """Copy the blobs that the target does not have. Returns their number.

    The source may be in use. Every batch reads a state of its own, so no read transaction keeps its write-ahead log from being
    emptied; blobs never change under a key.
    """
    with _errors(target), closing(open_blobs(target)) as db:
        db.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?mode=ro",))
        before = db.execute("SELECT count(*) FROM blobs").fetchone()[0]
        after = ""
        while keys := [row[0] for row in db.execute(_NEXT_KEYS, (after, _BLOBS_PER_COPY))]:
            span = (after, keys[-1])
            db.execute("BEGIN IMMEDIATE")
            missing = "key > ? AND key <= ? AND key NOT IN (SELECT key FROM blobs WHERE key > ? AND key <= ?)"
            db.execute(f"INSERT INTO blobs SELECT key, data FROM source.blobs WHERE {missing}", (*span, *span))  # noqa: S608
            db.execute("COMMIT")
            after = keys[-1]
        copied = db.execute("SELECT count(*) FROM blobs").fetchone()[0] - before
    return int(copied)


def prune_blobs(source: Path, target: Path) -> None:
    """Delete the blobs that the source no longer has."""
    with _errors(target), closing(open_blobs(target)) as db:
        db.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?mode=ro",))
        db.execute("DELETE FROM blobs WHERE key NOT IN (SELECT key FROM source.blobs)")


def open_blobs(path: Path) -> BlobFile:
    """Open or create a file of blobs that only its owner can read. Nothing else uses it."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    db = _connect(path)
    db.execute("PRAGMA page_size = 32768")
    db.execute("PRAGMA journal_mode = DELETE")  # the backup is one file, without a write-ahead log beside it
    db.execute("PRAGMA secure_delete = ON")
    for statement in _TABLES:
        db.execute(statement)
    return db


def count_blobs(path: Path) -> int:
    """The number of blobs in a backup."""
    with _errors(path), closing(open_blobs(path)) as db:
        return int(db.execute("SELECT count(*) FROM blobs").fetchone()[0])


def stored_keys(db: BlobFile) -> set[str]:
    """The keys of all blobs, with the prefix of their tenant."""
    return {row[0] for row in db.execute("SELECT key FROM blobs")}


def insert_blobs(db: BlobFile, blobs: Iterable[tuple[str, bytes]]) -> None:
    """Add compressed blobs."""
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT OR IGNORE INTO blobs (key, data) VALUES (?, ?)", list(blobs))
    db.execute("COMMIT")


def delete_blobs(db: BlobFile, keys: Iterable[str]) -> None:
    """Delete blobs."""
    db.execute("BEGIN IMMEDIATE")
    db.executemany("DELETE FROM blobs WHERE key = ?", [(key,) for key in keys])
    db.execute("COMMIT")


def read_blobs(path: Path, per_batch: int = _BLOBS_PER_COPY) -> Iterator[list[Blob]]:
    """All blobs of a backup, compressed, in batches."""
    with _errors(path), closing(_connect(path)) as db:
        after = ""
        query = "SELECT key, data FROM blobs WHERE key > ? ORDER BY key LIMIT ?"
        while rows := db.execute(query, (after, per_batch)).fetchall():
            yield [Blob(BlobKey(key), data) for key, data in rows]
            after = rows[-1][0]


def require_unused(path: Path) -> None:
    """Raise `DataDirBusy` while another process has this database open, even one that only reads it."""
    if not path.exists():
        return
    with _errors(path), closing(sqlite3.connect(path, timeout=0.5, isolation_level=None)) as db:
        # In WAL mode every open connection holds a shared lock on the file, which excludes this one.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise DataDirBusy(f"another process uses {path.parent}; stop it first") from None
        db.execute("ROLLBACK")


def replace(source: Path, target: Path) -> None:
    """Put a copy of a database in the place of another one, which no process uses."""
    unfinished = target.with_name(f"{target.name}.restoring")
    unfinished.unlink(missing_ok=True)
    with source.open("rb") as reading, os.fdopen(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        while piece := reading.read(1 << 20):
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    # A write-ahead log of the database before would be replayed over this one.
    for suffix in _SIDE_FILES:
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    unfinished.replace(target)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise sqlite_error(error, path) or error from error


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", timeout=_BUSY_S, isolation_level=None, uri=True)


def _sync(path: Path) -> None:
    with path.open("rb") as written:
        os.fsync(written.fileno())
