"""Assigns runs to the workers of one process: the longest waiting run first, one run per site, several sites in parallel.

The ledger is the queue, so a run that was active when a process died is picked up again. A run that crashes gets a second
attempt after a pause, then it has failed. A cancelled run has already ended in the ledger: its worker is stopped, and its
later settlements are rejected by their fencing tokens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from sitelore.crawl import metrics
from sitelore.crawl.worker_context import Progress
from sitelore.model.errors import Interrupted
from sitelore.model.frontier import Run
from sitelore.model.ids import RunId
from sitelore.model.states import ENDED, RunState
from sitelore.ports import Clock, Ledger

_LOG = logging.getLogger(__name__)

Crawl = Callable[[Run, Progress, asyncio.Event], Awaitable[Run]]
"""Works on a run until it has ended. Raises `Interrupted` once the event was set and nothing is leased any more."""

ATTEMPTS = 2
_POLL_INTERVAL_S = 1.0
_PAUSE_S = 5.0
_DRAIN_S = 28.0
"""For a worker that hangs while draining: longer than its own drain timeout, shorter than the 30 s that SIGTERM leaves."""
_LOOKAHEAD_RUNS = 64
"""Runs to load beyond the free slots, because several queued runs may belong to one site."""


@dataclass(slots=True, eq=False)
class _Job:
    """One active run."""

    run: Run
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    progress: Progress = field(default_factory=Progress)


class RunScheduler:
    """Runs `crawl` for queued runs: at most one per site, and `sites_at_once` in total."""

    def __init__(
        self, ledger: Ledger, clock: Clock, crawl: Crawl, *, sites_at_once: int = 4, pause_s: float = _PAUSE_S
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._crawl = crawl
        self._sites_at_once = sites_at_once
        self._pause_s = pause_s
        self._jobs: dict[asyncio.Task[None], _Job] = {}
        self._wake = asyncio.Event()

    @property
    def active(self) -> int:
        """How many runs are active."""
        return len(self._jobs)

    async def announce(self, _run: RunId) -> None:
        """Wake the scheduler because a run was created or cancelled, instead of waiting for the next poll."""
        self._wake.set()

    async def work(self, stop: asyncio.Event) -> None:
        """Schedule runs until stopped; on return no run is active and nothing is leased."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                await self._start_runs()
                await self._wait(stopping)
                self._raise_failures()
                await self._stop_ended()
        finally:
            stopping.cancel()
            await self._drain()
        self._raise_failures()

    async def _start_runs(self) -> None:
        if len(self._jobs) >= self._sites_at_once:
            return
        for run in await self._ledger.workable_runs(self._sites_at_once + _LOOKAHEAD_RUNS, self._clock()):
            busy = {job.run.site for job in self._jobs.values()}
            if len(busy) < self._sites_at_once and run.site not in busy:
                task = asyncio.create_task(self._work_on(job := _Job(run)), name=f"run {run.id}")
                self._jobs[task] = job
                task.add_done_callback(lambda _: self._wake.set())

    async def _wait(self, stopping: asyncio.Task[bool]) -> None:
        waking = asyncio.create_task(self._wake.wait())
        await asyncio.wait({stopping, waking}, timeout=_POLL_INTERVAL_S, return_when=asyncio.FIRST_COMPLETED)
        waking.cancel()
        self._wake.clear()

    async def _stop_ended(self) -> None:
        for job in self._jobs.values():
            current = await self._ledger.run(job.run.id)
            if current is None or current.state in ENDED:
                job.stop.set()

    def _raise_failures(self) -> None:
        """Remove finished jobs. A job raises only when not even the failure of its run could be stored."""
        for task in [task for task in self._jobs if task.done()]:
            del self._jobs[task]
            if not task.cancelled():
                task.result()

    async def _work_on(self, job: _Job) -> None:
        run = job.run
        extra = {"run": run.id, "site": run.site_name}
        _LOG.info("run started in this process", extra=extra)
        try:
            result = await self._crawl(run, job.progress, job.stop)
        except Interrupted:
            current = await self._ledger.run(run.id)  # it may have ended before it was stopped
            if current is not None and current.state in ENDED:
                _LOG.info("run ended", extra={**extra, "state": current.state.value})
            else:
                _LOG.info("run stopped", extra=extra)
        except Exception as problem:  # noqa: BLE001 an error in one crawl must not end the other crawls
            _LOG.exception("run crashed", extra=extra)
            error = f"{type(problem).__name__}: {problem}"
            state = await self._ledger.crash_run(run.id, error, self._clock(), self._pause_s, ATTEMPTS)
            if state is RunState.FAILED:
                metrics.RUNS_ENDED.labels(RunState.FAILED.value).inc()
        else:
            _LOG.info("run ended", extra={**extra, "state": result.state.value})

    async def _drain(self) -> None:
        for job in self._jobs.values():
            job.stop.set()
        if self._jobs:
            _, late = await asyncio.wait(self._jobs, timeout=_DRAIN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
