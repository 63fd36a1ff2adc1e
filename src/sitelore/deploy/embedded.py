"""The whole house in one process and one directory: SQLite, no servers. `scaled.py` has the same shape."""

from __future__ import annotations

import fcntl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from sitelore.crawl.extraction_pool import ExtractionPool
from sitelore.crawl.worker_context import WorkerContext
from sitelore.deploy.house import House
from sitelore.deploy.library import LibraryDoor
from sitelore.deploy.settings import house_browser
from sitelore.fetch.browser.chromium import Browser
from sitelore.frontier.gate import LocalGate
from sitelore.model.errors import DataDirBusy, DiskFull, NoSuchRun
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.store.blobs import SqliteBlobs
from sitelore.store.engine import open_sqlite
from sitelore.store.ledger import SqlLedger
from sitelore.store.signals import LocalEvents, LocalNotifier

__all__ = ["House", "embedded"]


@asynccontextmanager
async def embedded(
    data: Path, *, writing: bool, readers: int = 1, sites_at_once: int = 4, redaction: Redaction = BUILT_IN_ALONE
) -> AsyncIterator[House]:
    """The house on one directory. `writing` takes the directory's lock; reading beside a running crawl is fine."""
    with _directory(data, writing=writing):
        engine = await open_sqlite(data / "sitelore.db")
        ledger = SqlLedger(engine)
        blobs = SqliteBlobs(data / "blobs.db")
        reader = ExtractionPool(readers)
        browser = Browser(house_browser)
        worker_context = WorkerContext(ledger, LocalGate(time.monotonic), LocalNotifier(), LocalEvents(), time.time)
        door = LibraryDoor(engine, ledger, blobs, time.time, redaction)
        try:
            yield House(worker_context, blobs, reader, browser, door, sites_at_once, redaction)
        finally:
            await door.close()
            await browser.close()
            await reader.close()
            await blobs.close()
            await ledger.close()


@contextmanager
def _directory(data: Path, *, writing: bool) -> Iterator[None]:
    if not writing:
        if not (data / "sitelore.db").exists():
            raise NoSuchRun(f"nothing was crawled into {data} yet; name the directory with --data or crawl first")
        yield
        return
    try:
        data.mkdir(parents=True, exist_ok=True)
        lock = (data / "lock").open("w")
    except OSError as error:
        raise DiskFull(f"cannot write to {data}: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataDirBusy(f"another crawl is writing to {data}; wait for it or choose another --data") from error
        yield
