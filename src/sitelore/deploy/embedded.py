"""The whole house in one process and one directory: SQLite, no servers."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sitelore.crawl.explain import Explanation, explain
from sitelore.crawl.probing import Probes
from sitelore.crawl.progress import Progress
from sitelore.crawl.reading import ReaderPool
from sitelore.crawl.runs import start_run
from sitelore.crawl.tools import PoliteFetcher, Tools, read_options_of, rules_of
from sitelore.crawl.worker import Worker
from sitelore.fetch.client import HttpFetcher
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.robots import RobotsKeeper
from sitelore.frontier.admission import Admission
from sitelore.frontier.gate import LocalGate
from sitelore.model.errors import DataDirBusy, DiskFull, NoSuchRun
from sitelore.model.frontier import Run
from sitelore.model.ids import WorkerId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import ENDED, RunState
from sitelore.model.url import Url
from sitelore.ports import Blobs, Clock, HostGate, Ledger, Reader
from sitelore.store.blobs import SqliteBlobs
from sitelore.store.engine import open_sqlite
from sitelore.store.ledger import SqlLedger

_FOREVER = 1e12


@dataclass(frozen=True, slots=True)
class House:
    """Every part, built. What a face may ask of it are its methods."""

    ledger: Ledger
    blobs: Blobs
    reader: Reader
    gate: HostGate
    clock: Clock

    async def start(self, settings: CrawlSettings) -> Run:
        """Create a run; nothing is fetched yet."""
        return await start_run(self.ledger, settings, self.clock())

    async def resume(self, site: str | None = None) -> Run | None:
        """The latest run that has not ended."""
        for run in await self.ledger.runs():
            if run.state not in ENDED and site in {None, run.site_name}:
                return run
        return None

    async def crawl(self, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        """Work on a run until it has ended."""
        # The directory's lock says that no other process works here: whatever is leased was left behind.
        await self.ledger.release(run.id, _FOREVER)
        await self.ledger.move_run(run.id, RunState.RUNNING, self.clock())
        run = await self.ledger.run(run.id) or run
        progress.max_pages, progress.started_at = run.settings.max_pages, self.clock()
        async with self._tools(run) as tools:
            worker = WorkerId(f"{os.getpid()}-{secrets.token_hex(3)}")
            return await Worker(worker, run, self.ledger, self.gate, tools, progress).work(stop)

    async def explain(self, url: Url, run: Run) -> Explanation:
        """Every gate this URL met in the run."""
        return await explain(url, run, self.ledger)

    @asynccontextmanager
    async def _tools(self, run: Run) -> AsyncIterator[Tools]:
        settings = run.settings
        guard = AddressGuard(settings.open_origins, settings.allow_private)
        http = HttpFetcher(settings, guard, sent=self.gate.sent)
        fetcher = PoliteFetcher(http, self.gate, settings, self.clock)
        options = read_options_of(settings)
        probes = Probes(fetcher.fetch, partial(self.reader.read, options=options), salt=run.id)
        tools = Tools(
            settings=settings,
            rules=rules_of(settings),
            read_options=options,
            fetcher=fetcher,
            robots=RobotsKeeper(http, self.gate, settings, self.clock, self.ledger.robots, self.ledger.save_robots),
            reader=self.reader,
            blobs=self.blobs,
            admission=Admission(settings, run.joined_hosts, guard.judge_url),
            probes=probes,
            clock=self.clock,
        )
        try:
            yield tools
        finally:
            await probes.close()
            await fetcher.close()


@asynccontextmanager
async def embedded(data: Path, *, writing: bool, readers: int = 1) -> AsyncIterator[House]:
    """The house on one directory. `writing` takes the directory's lock; reading beside a running crawl is fine."""
    with _directory(data, writing=writing):
        ledger = SqlLedger(await open_sqlite(data / "sitelore.db"))
        blobs = SqliteBlobs(data / "blobs.db")
        reader = ReaderPool(readers)
        try:
            yield House(ledger, blobs, reader, LocalGate(time.monotonic), time.time)
        finally:
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
