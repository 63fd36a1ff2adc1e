"""Removes deleted text from SQLite files: writes a file anew without unused space, and empties its write-ahead log."""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from sitelore.store.engine import sqlite_error

_LOG = logging.getLogger(__name__)

_BUSY_S = 30.0
_CHECKPOINT_ATTEMPTS = 20
_CHECKPOINT_PAUSE_S = 0.05
_SIZES = ("PRAGMA freelist_count", "PRAGMA page_count", "PRAGMA page_size")


def rewrite(path: Path, vacuum_bytes: float, if_free: float) -> None:
    """Empty the write-ahead log, and write the file anew if it is small enough and this share of it is unused."""
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)) as connection:
            _checkpoint(connection)  # first: the size of the file is not known before
            free, pages, page_bytes = (connection.execute(query).fetchone()[0] for query in _SIZES)
            if pages * page_bytes <= vacuum_bytes and free >= if_free * pages:
                connection.execute("VACUUM")
                _checkpoint(connection)
    except sqlite3.Error as error:
        raise sqlite_error(error, path) or error from error


def _checkpoint(connection: sqlite3.Connection) -> None:
    """Write the log to the database file and truncate it. A transaction that reads an old state delays that."""
    for _ in range(_CHECKPOINT_ATTEMPTS):
        [is_busy, _, _] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not is_busy:
            return
        time.sleep(_CHECKPOINT_PAUSE_S)
    _LOG.warning("another process reads the data directory: deleted text leaves its write-ahead log later")
