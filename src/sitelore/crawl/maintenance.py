"""Maintenance of runs: recover expired leases, merge equal pages, open the next wave (batch of URLs), end the run.

A worker calls `reconcile_run` for its own run when it has nothing to claim. `Maintenance` does it for all runs, in a server or
in a worker that holds the leader lock: it also repeats notifications that may have been lost, interrupts runs past their
time limit, and completes runs that several processes work on.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import partial

import msgspec

from sitelore import metrics
from sitelore.background import repeat
from sitelore.crawl.context import VisitContext, WorkerContext
from sitelore.frontier.admission import SIMILAR, plan_wave
from sitelore.model.errors import OutOfTime, SessionEnded, StorageError
from sitelore.model.frontier import EventKind, Run, RunEvent, Source, UrlRow, WaveOpened
from sitelore.model.ids import BlobKey, RunId
from sitelore.model.response import Failure
from sitelore.model.states import REDIRECT_STATES, RunState, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.ports import Blobs, BlobStorage, Ledger

_LOG = logging.getLogger(__name__)

_MAX_WAIT_S = 0.25
_WORD = re.compile(r"\w+")
_QUIET_CYCLES = 2
"""Consecutive cycles in which a shared run must look finished before it is completed."""
_TIME_LIMIT = "time_limit"
_SESSION_ENDED = "session_ended"
_UNREACHABLE = frozenset({Failure.TIMEOUT, Failure.DNS, Failure.CONNECTION, Failure.TLS})
_ANSWERED = frozenset(
    {UrlState.FORBIDDEN, UrlState.NOT_FOUND, UrlState.SOFT_404, UrlState.HTTP_TERMINAL, *REDIRECT_STATES.values()}
)
"""States of URLs whose host sent a response."""
_SHOWN_SEEDS = 3


class RunStatus(Enum):
    """The result of reconciling a run."""

    WAITING = "waiting"
    OPENED = "opened"
    EXHAUSTED = "exhausted"
    """Nothing is left to admit; maintenance decides whether the shared run is complete."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ReconcileResult:
    """The result of one cycle, and after how many seconds another one is worthwhile."""

    status: RunStatus
    wait_s: float = 0.0
    admitted: int = 0


async def reconcile_run(run_id: RunId, ledger: Ledger, context: VisitContext, *, is_shared: bool = False) -> ReconcileResult:
    """Run one maintenance cycle of one run. A run that other processes share is not completed here."""
    started_at = time.perf_counter()
    result = await _reconcile(run_id, ledger, context, is_shared=is_shared)
    metrics.CYCLES.inc()
    metrics.RECONCILIATION.observe(time.perf_counter() - started_at)
    return result


async def _reconcile(run_id: RunId, ledger: Ledger, context: VisitContext, *, is_shared: bool) -> ReconcileResult:
    run = await ledger.run(run_id)
    if run is None or run.state is not RunState.RUNNING:
        return ReconcileResult(RunStatus.ENDED)
    now = context.clock()
    if recovered := await ledger.release(run_id, now):
        metrics.RECOVERED.inc(recovered)
        return ReconcileResult(RunStatus.WAITING)
    stats = await ledger.queue_stats(run_id, now)
    if stats.ready:
        return ReconcileResult(RunStatus.WAITING)
    if stats.waiting or stats.in_progress:
        next_at = stats.next_retry_at
        wait_s = _MAX_WAIT_S if next_at is None else max(0.01, min(next_at - now, _MAX_WAIT_S))
        return ReconcileResult(RunStatus.WAITING, wait_s=wait_s)
    opened = await open_next_wave(run, ledger, context.blobs)
    if opened is None:
        return ReconcileResult(RunStatus.WAITING, wait_s=0.01)
    if opened.admitted:
        return ReconcileResult(RunStatus.OPENED, admitted=opened.admitted)
    return ReconcileResult(RunStatus.EXHAUSTED, wait_s=_MAX_WAIT_S) if is_shared else await _complete(run_id, ledger, context)


async def open_next_wave(run: Run, ledger: Ledger, blobs: Blobs) -> WaveOpened | None:
    """Merge duplicate pages and admit the next wave; None when the current wave has not settled."""
    agreed = await _confirmed_canonicals(run.id, run.wave, ledger, blobs)
    return await ledger.open_wave(run.id, run.wave, partial(plan_wave, agreed=agreed))


async def _complete(run_id: RunId, ledger: Ledger, context: VisitContext) -> ReconcileResult:
    """Complete a run. The queue is checked a second time, so that a run never ends because it looked empty once."""
    stats = await ledger.queue_stats(run_id, context.clock())
    if stats.ready or stats.waiting or stats.in_progress:
        return ReconcileResult(RunStatus.WAITING)
    state, error = await _final_state(run_id, ledger)
    if await ledger.end_run(run_id, state, context.clock(), error):
        metrics.RUNS_ENDED.labels(state.value).inc()
    return ReconcileResult(RunStatus.ENDED)


async def _final_state(run_id: RunId, ledger: Ledger) -> tuple[RunState, str]:
    """COMPLETED; or FAILED with the reasons when nothing was kept because no host could be reached."""
    counts = await ledger.counts(run_id)
    if counts.pages or _ANSWERED & counts.states.keys():
        return RunState.COMPLETED, ""
    async for row in ledger.rows(run_id, sitemaps=True):
        if row.skip_reason is SkipReason.ROBOTS_UNREACHABLE or row.error.partition(":")[0] in _UNREACHABLE:
            return RunState.FAILED, await seed_problems(ledger, run_id)
    return RunState.COMPLETED, ""


async def seed_problems(ledger: Ledger, run_id: RunId) -> str:
    """Why the seeds of a run brought no page, as recorded."""
    reasons = [
        f"{row.url}: {_problem_of(row)}"
        async for row in ledger.rows(run_id, sitemaps=True)
        if row.source in {Source.SEED, Source.REDIRECT} and row.state is not UrlState.ALIAS
    ]
    return "; ".join(reasons[:_SHOWN_SEEDS]) or "the run has no seed"


async def failed_seeds(ledger: Ledger, run_id: RunId) -> list[str]:
    """The seeds of a run that failed, each with the reason."""
    rows = ledger.rows(run_id, sitemaps=True)
    return [f"{row.url}: {_problem_of(row)}" async for row in rows if row.source is Source.SEED and row.error][:_SHOWN_SEEDS]


def _problem_of(row: UrlRow) -> str:
    """Why a URL brought no page."""
    reason = row.error or row.detail or (str(row.skip_reason) if row.skip_reason else "")
    if not reason and row.status_code not in {None, 200}:
        reason = f"the server answered {row.status_code}"
    return (reason or f"state {row.state}").rstrip(".")


class Maintenance:
    """Reconciles every RUNNING run while this process holds the leader lock."""

    def __init__(self, worker_context: WorkerContext, blobs: BlobStorage) -> None:
        self._worker_context = worker_context
        self._queue = worker_context.queue
        self._blobs = blobs
        self._quiet_cycles: Counter[RunId] = Counter()

    async def run_until_stopped(self, stop: asyncio.Event) -> None:
        """Run cycles until stopped."""
        await repeat("maintenance", self.cycle, stop, self._worker_context.config.upkeep_s)

    async def cycle(self) -> int:
        """Reconcile every run once. Returns how many there are, 0 when another process holds the leader lock."""
        async with self._queue.leader_lock("maintenance") as is_ours:
            if not is_ours:
                self._quiet_cycles.clear()
                return 0
            runs = await self._queue.running_runs()
            self._quiet_cycles = Counter({run.id: count for run in runs if (count := self._quiet_cycles[run.id])})
            for run in runs:
                started_at = time.perf_counter()
                if not await self._reconcile_safely(run):
                    del self._quiet_cycles[run.id]
                metrics.CYCLES.inc()
                metrics.RECONCILIATION.observe(time.perf_counter() - started_at)
            return len(runs)

    async def _reconcile_safely(self, run: Run) -> bool:
        try:
            return await self._reconcile(run)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 a bug triggered by one run must not block the others; its worker reports it too
            _LOG.exception("maintenance failed for run", extra={"run": run.id})
            return False

    async def _reconcile(self, run: Run) -> bool:
        """Recover leases, repeat notifications, open the next wave. True when nothing had to be done."""
        context = self._worker_context.for_tenant(run.tenant)
        now = context.clock()
        if run.is_out_of_time(now):
            await interrupt_run(context, run.id, time_limit_error(run))
            return False
        if recovered := await context.ledger.release(run.id, now):
            metrics.RECOVERED.inc(recovered)
            _LOG.info("expired leases recovered", extra={"run": run.id, "leases": recovered})
        stats = await context.ledger.queue_stats(run.id, now)
        if stats.ready:
            metrics.RESENT.inc()
            await context.notifier.notify(run.id)
        if recovered or stats.ready or stats.waiting or stats.in_progress:
            return False
        opened = await open_next_wave(run, context.ledger, self._blobs.for_tenant(run.tenant))
        if opened is None:
            return False
        if opened.admitted:
            await announce_wave(context, run.id, opened.wave, opened.admitted)
            return False
        self._quiet_cycles[run.id] += 1
        if self._quiet_cycles[run.id] >= _QUIET_CYCLES:
            await _complete_shared(context, run)
        return True


async def _complete_shared(worker_context: WorkerContext, run: Run) -> None:
    state, error = await _final_state(run.id, worker_context.ledger)
    if await worker_context.ledger.end_run(run.id, state, worker_context.clock(), error):
        metrics.RUNS_ENDED.labels(state.value).inc()
        await announce_state(worker_context, run.id, state, error)


def interruption_of(run: Run) -> OutOfTime | SessionEnded:
    """The exception for a run that was interrupted elsewhere, by its recorded reason."""
    reason, _, message = run.error.partition(": ")
    return SessionEnded(message) if reason == _SESSION_ENDED else OutOfTime(run.error)


def session_error(problem: SessionEnded) -> str:
    """The recorded reason of a run that was logged out."""
    return f"{_SESSION_ENDED}: {problem}"


def time_limit_error(run: Run) -> str:
    """The message of a run that its time limit interrupted."""
    return f"{_TIME_LIMIT}: the time limit of {run.settings.time_limit_s:g} s has passed"


async def interrupt_run(worker_context: WorkerContext, run: RunId, error: str = "") -> None:
    """Stop a RUNNING run so that it can be resumed: none of its URLs is skipped, and active visits still settle."""
    if await worker_context.ledger.move_run(run, RunState.INTERRUPTED, worker_context.clock(), error):
        await announce_state(worker_context, run, RunState.INTERRUPTED, error)


async def announce_wave(worker_context: WorkerContext, run: RunId, wave: int, admitted: int) -> None:
    """Notify workers and publish the event that a wave opened."""
    await worker_context.notifier.notify(run)
    await worker_context.events.publish(
        RunEvent(run, EventKind.WAVE, worker_context.clock(), {"wave": wave, "admitted": admitted})
    )


async def announce_state(worker_context: WorkerContext, run: RunId, state: RunState, error: str = "") -> None:
    """Notify workers and publish the event that a run started, was interrupted or ended."""
    await worker_context.notifier.notify(run)
    facts: dict[str, str | int] = {"state": state.value, **({"error": error} if error else {})}
    await worker_context.events.publish(RunEvent(run, EventKind.STATE, worker_context.clock(), facts))


async def _confirmed_canonicals(run_id: RunId, wave: int, ledger: Ledger, blobs: Blobs) -> frozenset[tuple[Url, Url]]:
    """Canonical links between pages whose content is similar enough, though not equal."""
    agreed = set()
    for page, target in await ledger.canonical_claims(run_id, wave):
        if page.document is None or target.document is None:
            continue
        if await _word_overlap(blobs, page.document, target.document) >= SIMILAR:
            agreed.add((page.url, target.url))
    return frozenset(agreed)


@dataclass(frozen=True, slots=True)
class _StoredText:
    """The part of a stored document that is compared."""

    text: str = ""


_DECODER = msgspec.json.Decoder(_StoredText)


async def _word_overlap(blobs: Blobs, first: BlobKey, second: BlobKey) -> float:
    """The share of words that two documents have in common, 0 to 1."""
    words = [Counter(_WORD.findall(_DECODER.decode(await blobs.get(key)).text.lower())) for key in (first, second)]
    common = (words[0] & words[1]).total()
    return 2 * common / max(1, words[0].total() + words[1].total())
