"""Who works on what, in one process: the run that has waited longest first, one at a time for each site, several sites side
by side. The ledger is the queue, so a run that was under way when the process died is simply found again.

A run that crashes is tried once more after a pause, then it has failed. A run that was cancelled has ended in the ledger
already; its worker is told, and whatever it still brings is fenced off.
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
"""Work on a run until it has ended. Raises `Interrupted` when the event was set and nothing is leased any more."""

ATTEMPTS = 2
_LOOK_S = 1.0
_PAUSE_S = 5.0
_DRAIN_S = 28.0
"""Longer than a worker's own drain, shorter than the 30 s that a SIGTERM leaves: for a worker that hangs in its drain."""
_LOOKAHEAD_RUNS = 64
"""Runs to look at beyond what can be taken: several runs of one site may stand in front."""


@dataclass(slots=True, eq=False)
class _Job:
    """One run under way."""

    run: Run
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    progress: Progress = field(default_factory=Progress)


class RunScheduler:
    """Hands runs to `crawl`, at most one of each site and `sites_at_once` in all."""

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
        """Runs under way."""
        return len(self._jobs)

    async def announce(self, _run: RunId) -> None:
        """A run was made or cancelled: look now instead of a second later."""
        self._wake.set()

    async def work(self, stop: asyncio.Event) -> None:
        """Until told to stop; on return nothing is under way and nothing is leased."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                await self._start_what_may()
                await self._wait(stopping)
                self._raise_failures()
                await self._stop_the_cancelled()
        finally:
            stopping.cancel()
            await self._drain()
        self._raise_failures()

    async def _start_what_may(self) -> None:
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
        await asyncio.wait({stopping, waking}, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        waking.cancel()
        self._wake.clear()

    async def _stop_the_cancelled(self) -> None:
        for job in self._jobs.values():
            stands = await self._ledger.run(job.run.id)
            if stands is None or stands.state in ENDED:
                job.stop.set()

    def _raise_failures(self) -> None:
        """Forget what has ended. A job ends with an error only when not even its failure could be written down."""
        for task in [task for task in self._jobs if task.done()]:
            del self._jobs[task]
            if not task.cancelled():
                task.result()

    async def _work_on(self, job: _Job) -> None:
        run = job.run
        about = {"run": run.id, "site": run.site_name}
        _LOG.info("working on a run", extra=about)
        try:
            ended = await self._crawl(run, job.progress, job.stop)
        except Interrupted:
            stands = await self._ledger.run(run.id)  # it may have ended while we were told to stop
            if stands is not None and stands.state in ENDED:
                _LOG.info("a run has ended", extra={**about, "state": stands.state.value})
            else:
                _LOG.info("stopped working on a run", extra=about)
        except Exception as problem:  # noqa: BLE001 whatever ends a crawl must not end the ones beside it
            _LOG.exception("a run crashed", extra=about)
            error = f"{type(problem).__name__}: {problem}"
            left_as = await self._ledger.crash_run(run.id, error, self._clock(), self._pause_s, ATTEMPTS)
            if left_as is RunState.FAILED:
                metrics.RUNS_ENDED.labels(RunState.FAILED.value).inc()
        else:
            _LOG.info("a run has ended", extra={**about, "state": ended.state.value})

    async def _drain(self) -> None:
        for job in self._jobs.values():
            job.stop.set()
        if self._jobs:
            _, late = await asyncio.wait(self._jobs, timeout=_DRAIN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
