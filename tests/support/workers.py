"""Worker processes on real servers: start and kill them, wait for a run, and export it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import sqlalchemy as sa
from scripts.servers import LocalServers
from tests.support.crawls import COMMAND, environment

from sitelore.app.app import App
from sitelore.app.settings import OperatorSettings
from sitelore.app.wiring import scaled
from sitelore.export.rows import write_json
from sitelore.model.frontier import Run
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import ACTIVE

_numbers = itertools.count()
_POLL_S = 0.05
_STOP_TIMEOUT_S = 40.0

SKEWED_CLOCK = "import time; real = time.time; time.time = lambda: real() + {off_s}; from sitelore.cli.main import run; run()"
"""Runs `sitelore` with a clock that is wrong from the start, before any module of ours is imported."""


async def administer(url: str, statement: str) -> None:
    """Run one statement on a Postgres server, outside of a transaction."""
    import asyncpg

    address = sa.make_url(url)
    connection = await asyncpg.connect(address.set(drivername="postgresql").render_as_string(hide_password=False))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def create_database(server: str, template: str = "template1") -> str:
    """Create a database on a server, as a copy of this one; return its URL."""
    name = f"sitelore_{os.getpid()}_{next(_numbers)}"
    await administer(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)


async def drop_database(server: str, url: str) -> None:
    """Drop a database, and close its open connections."""
    await administer(server, f"DROP DATABASE {sa.make_url(url).database} WITH (FORCE)")


@asynccontextmanager
async def temporary_database(server: str) -> AsyncIterator[str]:
    """A database on a server that is dropped when the block ends."""
    url = await create_database(server)
    try:
        yield url
    finally:
        await drop_database(server, url)


@dataclass(slots=True)
class WorkerPool:
    """Worker processes on one set of servers."""

    settings: OperatorSettings
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    logs: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="sitelore-workers-")))

    def start(self, count: int = 1, *, clock_off_s: float = 0.0) -> Self:
        """Start this many more workers."""
        run_cli = (
            [*COMMAND, "worker"]
            if not clock_off_s
            else [sys.executable, "-c", SKEWED_CLOCK.format(off_s=clock_off_s), "worker"]
        )
        for _ in range(count):
            with (self.logs / f"worker-{len(self.workers)}.log").open("wb") as log:
                process = subprocess.Popen(
                    run_cli, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(self.variables()),
                    start_new_session=True,
                )  # fmt: skip
            self.workers.append(process)
        return self

    def variables(self) -> dict[str, str]:
        """The environment of a worker."""
        settings = self.settings
        return {
            "SITELORE_DATABASE_URL": settings.database_url,
            "SITELORE_REDIS_URL": settings.redis_url,
            "SITELORE_BLOBS_URL": settings.blobs_url,
            "SITELORE_LEASE_S": str(settings.lease_s),
            "SITELORE_UPKEEP_S": str(settings.upkeep_s),
            "SITELORE_PATIENCE_S": str(settings.patience_s),
        }

    @property
    def alive(self) -> list[subprocess.Popen[bytes]]:
        return [worker for worker in self.workers if worker.poll() is None]

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """`kill -9`."""
        worker.kill()
        worker.wait()

    def stop(self) -> list[int]:
        """Send SIGTERM to all; return their exit codes."""
        running = self.alive
        for worker in running:
            worker.send_signal(signal.SIGCONT)
            worker.terminate()
        return [worker.wait(_STOP_TIMEOUT_S) for worker in running]

    def log_text(self) -> str:
        """Everything the workers logged."""
        return "".join(log.read_text(errors="replace") for log in sorted(self.logs.iterdir()))


@contextmanager
def worker_pool(settings: OperatorSettings) -> Iterator[WorkerPool]:
    """A pool whose workers are killed when the block ends."""
    import shutil

    pool = WorkerPool(settings)
    try:
        yield pool
    finally:
        for worker in pool.workers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        shutil.rmtree(pool.logs, ignore_errors=True)


def worker_settings(servers: LocalServers, database_url: str, **changes: float | str) -> OperatorSettings:
    """Operator settings for these servers, with leases short enough for a test."""
    values: dict[str, float | str] = {
        "lease_s": 4.0,
        "upkeep_s": 0.2,
        "patience_s": 60.0,
        "blobs_url": servers.s3.url,
        **changes,
    }
    return OperatorSettings(database_url=database_url, redis_url=servers.valkey.url, **values)  # type: ignore[arg-type]


@asynccontextmanager
async def scaled_app(servers: LocalServers, **changes: float | str) -> AsyncIterator[tuple[App, OperatorSettings]]:
    """An app on its own database, and the settings with which workers use it."""
    async with temporary_database(servers.postgres.url) as url:
        settings = worker_settings(servers, url, **changes)
        async with scaled(settings) as app:
            yield app, settings


async def crawl_with_workers(app: App, settings: CrawlSettings, timeout_s: float = 100.0) -> Run:
    """Create a run and wait until worker processes have ended it."""
    run = await app.create_run(settings)
    return await wait_until_ended(app, run, timeout_s)


async def wait_until_ended(app: App, run: Run, timeout_s: float = 100.0) -> Run:
    """Wait until a run has ended or was interrupted."""
    async with asyncio.timeout(timeout_s), app.worker_context.notifier.subscribe(run.id) as subscription:
        while (current := await app.ledger.run(run.id) or run).state in ACTIVE:
            await subscription.wait(_POLL_S)
    return current


async def export(app: App, run: Run) -> bytes:
    """The run's JSON export, byte for byte."""
    sink = io.BytesIO()
    await write_json(app.ledger.rows(run.id), sink)
    return sink.getvalue()
