"""Many workers over real servers: start them, kill them, freeze them, and look at what they made of a site."""

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
from tests.support.journey import COMMAND, environment

from sitelore.app.app import App
from sitelore.app.settings import OperatorSettings
from sitelore.app.wiring import scaled
from sitelore.export.rows import write_json
from sitelore.model.frontier import Run
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import ENDED

_numbers = itertools.count()
_LOOK_S = 0.05
_ENDS_S = 40.0

OFF_BY = "import time; real = time.time; time.time = lambda: real() + {off_s}; from sitelore.cli.main import run; run()"
"""A worker whose clock shows another time, from before it imports anything of ours."""


async def administer(url: str, statement: str) -> None:
    """Run one statement on a Postgres server, outside of a transaction."""
    import asyncpg

    where = sa.make_url(url)
    connection = await asyncpg.connect(where.set(drivername="postgresql").render_as_string(hide_password=False))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def new_database(server: str) -> AsyncIterator[str]:
    """A database of its own on a server; dropped at the end, whoever is still connected."""
    name = f"sitelore_{os.getpid()}_{next(_numbers)}"
    await administer(server, f"CREATE DATABASE {name}")
    try:
        yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        await administer(server, f"DROP DATABASE {name} WITH (FORCE)")


@dataclass(slots=True)
class Fleet:
    """Worker processes on one set of servers."""

    settings: OperatorSettings
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    logs: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="sitelore-fleet-")))

    def hire(self, count: int = 1, *, clock_off_s: float = 0.0) -> Self:
        """Start this many more workers."""
        command = (
            [*COMMAND, "worker"] if not clock_off_s else [sys.executable, "-c", OFF_BY.format(off_s=clock_off_s), "worker"]
        )
        for _ in range(count):
            with (self.logs / f"worker-{len(self.workers)}.log").open("wb") as log:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(self.variables()),
                    start_new_session=True,
                )  # fmt: skip
            self.workers.append(process)
        return self

    def variables(self) -> dict[str, str]:
        """The environment of a worker."""
        given = self.settings
        return {
            "SITELORE_DATABASE_URL": given.database_url,
            "SITELORE_REDIS_URL": given.redis_url,
            "SITELORE_BLOBS_URL": given.blobs_url,
            "SITELORE_LEASE_S": str(given.lease_s),
            "SITELORE_UPKEEP_S": str(given.upkeep_s),
            "SITELORE_PATIENCE_S": str(given.patience_s),
        }

    @property
    def alive(self) -> list[subprocess.Popen[bytes]]:
        return [worker for worker in self.workers if worker.poll() is None]

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """`kill -9`."""
        worker.kill()
        worker.wait()

    def dismiss(self) -> list[int]:
        """SIGTERM to all; their exit codes."""
        working = self.alive
        for worker in working:
            worker.send_signal(signal.SIGCONT)
            worker.terminate()
        return [worker.wait(_ENDS_S) for worker in working]

    def told(self) -> str:
        """Everything the workers logged."""
        return "".join(log.read_text(errors="replace") for log in sorted(self.logs.iterdir()))


@contextmanager
def fleet(settings: OperatorSettings) -> Iterator[Fleet]:
    """No worker outlives the block, whatever happens in it."""
    import shutil

    crew = Fleet(settings)
    try:
        yield crew
    finally:
        for worker in crew.workers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        shutil.rmtree(crew.logs, ignore_errors=True)


def settings_on(servers: LocalServers, database_url: str, **changes: float | str) -> OperatorSettings:
    """Leases short enough for a test."""
    given: dict[str, float | str] = {
        "lease_s": 4.0,
        "upkeep_s": 0.2,
        "patience_s": 60.0,
        "blobs_url": servers.s3.url,
        **changes,
    }
    return OperatorSettings(database_url=database_url, redis_url=servers.valkey.url, **given)  # type: ignore[arg-type]


@asynccontextmanager
async def scaled_app(servers: LocalServers, **changes: float | str) -> AsyncIterator[tuple[App, OperatorSettings]]:
    """An app on a database of its own, and the settings with which workers find it."""
    async with new_database(servers.postgres.url) as url:
        settings = settings_on(servers, url, **changes)
        async with scaled(settings) as app:
            yield app, settings


async def crawled_by_others(app: App, settings: CrawlSettings, timeout_s: float = 100.0) -> Run:
    """Ask for a run and wait until workers have ended it; nothing of it is done here."""
    run = await app.create_run(settings)
    return await ended(app, run, timeout_s)


async def ended(app: App, run: Run, timeout_s: float = 100.0) -> Run:
    """Wait until a run has ended."""
    async with asyncio.timeout(timeout_s), app.worker_context.notifier.subscribe(run.id) as bell:
        while (found := await app.ledger.run(run.id) or run).state not in ENDED:
            await bell.wait(_LOOK_S)
    return found


async def export(app: App, run: Run) -> bytes:
    """The run's JSON export, byte for byte."""
    sink = io.BytesIO()
    await write_json(app.ledger.rows(run.id), sink)
    return sink.getvalue()
