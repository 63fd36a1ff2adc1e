"""Deletes the blobs that no row refers to any more (mark and sweep), beside running crawls.

A visit stores its blobs before its row, so a blob without a row may belong to a visit that has not settled. Blobs that were
stored, or stored again, after a point in time are left alone; that time must be earlier than the start of every visit that has
not settled.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from sitelore.model.ids import BlobKey
    from sitelore.ports import BlobStorage, Ledger

GRACE_S = 3600.0
"""How long a blob is kept without a row where other processes may be crawling."""

_BLOBS_PER_PASS = 200_000
"""Blobs compared with all references at a time; bounds the memory."""
_BLOBS_PER_DELETE = 500


def compact(data: Path) -> None:
    """Rewrite the databases of a data directory without the space of deleted rows. The caller has locked the directory."""
    for name in ("sitelore.db", "blobs.db"):
        if (data / name).exists():
            with closing(sqlite3.connect(data / name, isolation_level=None)) as connection:
                connection.execute("VACUUM")


async def sweep_blobs(ledger: Ledger, blobs: BlobStorage, stored_before: float, per_pass: int = _BLOBS_PER_PASS) -> int:
    """Delete unreferenced blobs that were last stored before this time. Gives their number."""
    deleted = 0
    batch: set[BlobKey] = set()
    async for key in blobs.keys(stored_before):
        batch.add(key)
        if len(batch) >= per_pass:
            deleted += await _delete_unreferenced(ledger, blobs, batch, stored_before)
            batch = set()
    return deleted + await _delete_unreferenced(ledger, blobs, batch, stored_before)


async def _delete_unreferenced(ledger: Ledger, blobs: BlobStorage, keys: set[BlobKey], stored_before: float) -> int:
    """Delete those of the keys that no row refers to."""
    if not keys:
        return 0
    async for referenced in ledger.blob_references():
        keys.difference_update(referenced)
    deleted, remaining = 0, iter(sorted(keys))
    while batch := list(islice(remaining, _BLOBS_PER_DELETE)):
        deleted += await blobs.delete(batch, stored_before)
    return deleted
