"""Between waves and at the end: recover lost leases, merge by proof, open the next wave, complete the run.

`tend` is what a worker does for its own run when it has nothing to claim. `Maintenance` is what a server, or any worker, does
for all runs: it also sends signals again that may have been lost, ends runs whose time is over, and completes runs that more
than one process works on.

Safe from any number of processes at once: opening a wave is a compare-and-set, ending a run is a move that only one makes. That
one process at a time has the turn saves work, nothing more.
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
from sitelore.crawl.shared import Shared
from sitelore.crawl.stored import share_of_words
from sitelore.crawl.tools import Tools
from sitelore.frontier.merging import SIMILAR
from sitelore.frontier.waves import plan_wave
from sitelore.model.errors import StorageError
from sitelore.model.events import EventKind, RunEvent
from sitelore.model.frontier import Run, WaveOpened
from sitelore.model.ids import RunId
from sitelore.model.states import RunState
from sitelore.model.url import Url
from sitelore.ports import Blobs, Ledger

_LOG = logging.getLogger(__name__)

_WAIT_S = 0.25
_STABLE = 2
"""Cycles in a row in which a run must look finished before it is."""
TIME_LIMIT = "time_limit"


class Tending(Enum):
    """What a look at the run led to."""

    WAITING = "waiting"
    OPENED = "opened"
    DRY = "dry"
    """Nothing is left to admit; whether the run is complete is for maintenance to say."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Tended:
    """What happened, and after how long another look is worthwhile."""

    what: Tending
    wait_s: float = 0.0
    admitted: int = 0


async def tend(run_id: RunId, ledger: Ledger, tools: Tools, *, is_shared: bool = False) -> Tended:
    """One maintenance cycle of one run. A run that others work on too is not completed here."""
    began = time.perf_counter()
    tended = await _tend(run_id, ledger, tools, is_shared=is_shared)
    metrics.CYCLES.inc()
    metrics.RECONCILIATION.observe(time.perf_counter() - began)
    return tended


async def _tend(run_id: RunId, ledger: Ledger, tools: Tools, *, is_shared: bool) -> Tended:
    run = await ledger.run(run_id)
    if run is None or run.state is not RunState.RUNNING:
        return Tended(Tending.ENDED)
    now = tools.clock()
    if recovered := await ledger.release(run_id, now):
        metrics.RECOVERED.inc(recovered)
        return Tended(Tending.WAITING)
    pulse = await ledger.pulse(run_id, now)
    if pulse.ready:
        return Tended(Tending.WAITING)
    if pulse.waiting or pulse.in_progress:
        next_at = pulse.next_retry_at
        return Tended(Tending.WAITING, wait_s=_WAIT_S if next_at is None else max(0.01, min(next_at - now, _WAIT_S)))
    opened = await open_next(run, ledger, tools.blobs)
    if opened is None:
        return Tended(Tending.WAITING, wait_s=0.01)
    if opened.admitted:
        return Tended(Tending.OPENED, admitted=opened.admitted)
    return Tended(Tending.DRY, wait_s=_WAIT_S) if is_shared else await _complete(run_id, ledger, tools)


async def open_next(run: Run, ledger: Ledger, blobs: Blobs) -> WaveOpened | None:
    """Merge what is one page and admit the next wave; None when this wave has not settled."""
    agreed = await _agreed(run.id, run.wave, ledger, blobs)
    return await ledger.open_wave(run.id, run.wave, partial(plan_wave, agreed=agreed))


async def _complete(run_id: RunId, ledger: Ledger, tools: Tools) -> Tended:
    """A run ends when nothing waits over two looks in a row, never because it once looked empty."""
    pulse = await ledger.pulse(run_id, tools.clock())
    if pulse.ready or pulse.waiting or pulse.in_progress:
        return Tended(Tending.WAITING)
    if await ledger.end_run(run_id, RunState.COMPLETED, tools.clock()):
        metrics.RUNS_ENDED.labels(RunState.COMPLETED.value).inc()
    return Tended(Tending.ENDED)


class Maintenance:
    """Looks after every RUNNING run, for as long as it has the turn."""

    def __init__(self, shared: Shared, blobs: Blobs) -> None:
        self._shared = shared
        self._ledger = shared.ledger
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
                async with asyncio.timeout(self._shared.terms.upkeep_s):
                    await stop.wait()

    async def cycle(self) -> int:
        """One look at every run; gives their number, 0 when it is another process' turn."""
        async with self._ledger.turn("maintenance") as is_ours:
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
        now, limit_s = self._shared.clock(), run.settings.time_limit_s
        if limit_s is not None and run.started_at is not None and now - run.started_at > limit_s:
            await self._end(run, RunState.FAILED, f"{TIME_LIMIT}: the time limit of {limit_s:.0f} s has passed")
            return False
        if recovered := await self._ledger.release(run.id, now):
            metrics.RECOVERED.inc(recovered)
            _LOG.info("leases ran out", extra={"run": run.id, "leases": recovered})
        pulse = await self._ledger.pulse(run.id, now)
        if pulse.ready:
            metrics.RESENT.inc()
            await self._shared.signals.ring(run.id)
        if recovered or pulse.ready or pulse.waiting or pulse.in_progress:
            return False
        opened = await open_next(run, self._ledger, self._blobs)
        if opened is None:
            return False
        if opened.admitted:
            await tell_wave(self._shared, run.id, opened.wave, opened.admitted)
            return False
        self._stable[run.id] += 1
        if self._stable[run.id] >= _STABLE:
            await self._end(run, RunState.COMPLETED)
        return True

    async def _end(self, run: Run, state: RunState, error: str = "") -> None:
        if await self._ledger.end_run(run.id, state, self._shared.clock(), error):
            metrics.RUNS_ENDED.labels(state.value).inc()
            await tell_state(self._shared, run.id, state, error)


async def tell_wave(shared: Shared, run: RunId, wave: int, admitted: int) -> None:
    """A wave opened: workers wake up, watchers hear of it."""
    await shared.signals.ring(run)
    await shared.events.publish(RunEvent(run, EventKind.WAVE, shared.clock(), {"wave": wave, "admitted": admitted}))


async def tell_state(shared: Shared, run: RunId, state: RunState, error: str = "") -> None:
    """A run began or ended."""
    await shared.signals.ring(run)
    facts: dict[str, str | int] = {"state": state.value, **({"error": error} if error else {})}
    await shared.events.publish(RunEvent(run, EventKind.STATE, shared.clock(), facts))


async def _agreed(run_id: RunId, wave: int, ledger: Ledger, blobs: Blobs) -> frozenset[tuple[Url, Url]]:
    """Canonical links between pages whose content is not equal but nearly so."""
    agreed = set()
    for page, target in await ledger.canonical_claims(run_id, wave):
        if page.document is None or target.document is None:
            continue
        if await share_of_words(blobs, page.document, target.document) >= SIMILAR:
            agreed.add((page.url, target.url))
    return frozenset(agreed)
