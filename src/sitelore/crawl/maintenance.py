"""Maintenance of runs: recover expired leases, merge pages by proof, open the next wave, complete the run.

A worker calls `reconcile_run` for its own run when it has nothing to claim. `Maintenance` does it for all runs, in a server or
in a worker that holds the leader lock: it also repeats notifications that may have been lost, ends runs that exceeded their
time limit, and completes runs that several processes work on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import partial

from sitelore.crawl import metrics
from sitelore.crawl.stored_documents import word_overlap
from sitelore.crawl.visit_context import VisitContext
from sitelore.crawl.worker_context import WorkerContext
from sitelore.frontier.waves import SIMILAR, plan_wave
from sitelore.model.errors import StorageError
from sitelore.model.frontier import EventKind, Run, RunEvent, WaveOpened
from sitelore.model.ids import RunId
from sitelore.model.states import RunState
from sitelore.model.url import Url
from sitelore.ports import Blobs, Ledger

_LOG = logging.getLogger(__name__)

_WAIT_S = 0.25
_STABLE = 2
"""Cycles in a row in which a run must look finished before it is."""
TIME_LIMIT = "time_limit"


class RunStatus(Enum):
    """What a look at the run led to."""

    WAITING = "waiting"
    OPENED = "opened"
    DRY = "dry"
    """Nothing is left to admit; whether the run is complete is for maintenance to say."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ReconcileResult:
    """What happened, and after how long another look is worthwhile."""

    what: RunStatus
    wait_s: float = 0.0
    admitted: int = 0


async def reconcile_run(run_id: RunId, ledger: Ledger, context: VisitContext, *, is_shared: bool = False) -> ReconcileResult:
    """One maintenance cycle of one run. A run that others work on too is not completed here."""
    began = time.perf_counter()
    tended = await _tend(run_id, ledger, context, is_shared=is_shared)
    metrics.CYCLES.inc()
    metrics.RECONCILIATION.observe(time.perf_counter() - began)
    return tended


async def _tend(run_id: RunId, ledger: Ledger, context: VisitContext, *, is_shared: bool) -> ReconcileResult:
    run = await ledger.run(run_id)
    if run is None or run.state is not RunState.RUNNING:
        return ReconcileResult(RunStatus.ENDED)
    now = context.clock()
    if recovered := await ledger.release(run_id, now):
        metrics.RECOVERED.inc(recovered)
        return ReconcileResult(RunStatus.WAITING)
    pulse = await ledger.queue_stats(run_id, now)
    if pulse.ready:
        return ReconcileResult(RunStatus.WAITING)
    if pulse.waiting or pulse.in_progress:
        next_at = pulse.next_retry_at
        return ReconcileResult(RunStatus.WAITING, wait_s=_WAIT_S if next_at is None else max(0.01, min(next_at - now, _WAIT_S)))
    opened = await open_next(run, ledger, context.blobs)
    if opened is None:
        return ReconcileResult(RunStatus.WAITING, wait_s=0.01)
    if opened.admitted:
        return ReconcileResult(RunStatus.OPENED, admitted=opened.admitted)
    return ReconcileResult(RunStatus.DRY, wait_s=_WAIT_S) if is_shared else await _complete(run_id, ledger, context)


async def open_next(run: Run, ledger: Ledger, blobs: Blobs) -> WaveOpened | None:
    """Merge what is one page and admit the next wave; None when this wave has not settled."""
    agreed = await _agreed(run.id, run.wave, ledger, blobs)
    return await ledger.open_wave(run.id, run.wave, partial(plan_wave, agreed=agreed))


async def _complete(run_id: RunId, ledger: Ledger, context: VisitContext) -> ReconcileResult:
    """A run ends when nothing waits over two looks in a row, never because it once looked empty."""
    pulse = await ledger.queue_stats(run_id, context.clock())
    if pulse.ready or pulse.waiting or pulse.in_progress:
        return ReconcileResult(RunStatus.WAITING)
    if await ledger.end_run(run_id, RunState.COMPLETED, context.clock()):
        metrics.RUNS_ENDED.labels(RunState.COMPLETED.value).inc()
    return ReconcileResult(RunStatus.ENDED)


class Maintenance:
    """Looks after every RUNNING run, for as long as it has the turn."""

    def __init__(self, worker_context: WorkerContext, blobs: Blobs) -> None:
        self._worker_context = worker_context
        self._ledger = worker_context.ledger
        self._blobs = blobs
        self._stable: Counter[RunId] = Counter()

    async def forever(self, stop: asyncio.Event) -> None:
        """A cycle every now and then. A ledger that is away is tried again."""
        while not stop.is_set():
            try:
                await self.cycle()
            except StorageError as problem:
                _LOG.warning("maintenance has to wait: %s", problem)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._worker_context.config.upkeep_s):
                    await stop.wait()

    async def cycle(self) -> int:
        """One look at every run; gives their number, 0 when it is another process' turn."""
        async with self._ledger.leader_lock("maintenance") as is_ours:
            if not is_ours:
                self._stable.clear()
                return 0
            runs = await self._ledger.running_runs()
            self._stable = Counter({run.id: self._stable[run.id] for run in runs if self._stable[run.id]})
            for run in runs:
                began = time.perf_counter()
                if not await self._looked_after(run):
                    del self._stable[run.id]
                metrics.CYCLES.inc()
                metrics.RECONCILIATION.observe(time.perf_counter() - began)
            return len(runs)

    async def _looked_after(self, run: Run) -> bool:
        try:
            return await self._is_quiet(run)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 a fault of ours on one run must not keep the others waiting; its worker meets it too
            _LOG.exception("a run cannot be looked after", extra={"run": run.id})
            return False

    async def _is_quiet(self, run: Run) -> bool:
        """Recover, signal again, open what may open; whether nothing of it was to be done, now as in the cycle before."""
        now, limit_s = self._worker_context.clock(), run.settings.time_limit_s
        if limit_s is not None and run.started_at is not None and now - run.started_at > limit_s:
            await self._end(run, RunState.FAILED, f"{TIME_LIMIT}: the time limit of {limit_s:.0f} s has passed")
            return False
        if recovered := await self._ledger.release(run.id, now):
            metrics.RECOVERED.inc(recovered)
            _LOG.info("leases ran out", extra={"run": run.id, "leases": recovered})
        pulse = await self._ledger.queue_stats(run.id, now)
        if pulse.ready:
            metrics.RESENT.inc()
            await self._worker_context.notifier.notify(run.id)
        if recovered or pulse.ready or pulse.waiting or pulse.in_progress:
            return False
        opened = await open_next(run, self._ledger, self._blobs)
        if opened is None:
            return False
        if opened.admitted:
            await tell_wave(self._worker_context, run.id, opened.wave, opened.admitted)
            return False
        self._stable[run.id] += 1
        if self._stable[run.id] >= _STABLE:
            await self._end(run, RunState.COMPLETED)
        return True

    async def _end(self, run: Run, state: RunState, error: str = "") -> None:
        if await self._ledger.end_run(run.id, state, self._worker_context.clock(), error):
            metrics.RUNS_ENDED.labels(state.value).inc()
            await tell_state(self._worker_context, run.id, state, error)


async def tell_wave(worker_context: WorkerContext, run: RunId, wave: int, admitted: int) -> None:
    """A wave opened: workers wake up, watchers hear of it."""
    await worker_context.notifier.notify(run)
    await worker_context.events.publish(
        RunEvent(run, EventKind.WAVE, worker_context.clock(), {"wave": wave, "admitted": admitted})
    )


async def tell_state(worker_context: WorkerContext, run: RunId, state: RunState, error: str = "") -> None:
    """A run began or ended."""
    await worker_context.notifier.notify(run)
    facts: dict[str, str | int] = {"state": state.value, **({"error": error} if error else {})}
    await worker_context.events.publish(RunEvent(run, EventKind.STATE, worker_context.clock(), facts))


async def _agreed(run_id: RunId, wave: int, ledger: Ledger, blobs: Blobs) -> frozenset[tuple[Url, Url]]:
    """Canonical links between pages whose content is not equal but nearly so."""
    agreed = set()
    for page, target in await ledger.canonical_claims(run_id, wave):
        if page.document is None or target.document is None:
            continue
        if await word_overlap(blobs, page.document, target.document) >= SIMILAR:
            agreed.add((page.url, target.url))
    return frozenset(agreed)
