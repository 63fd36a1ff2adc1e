"""A worker: claims rows, visits them side by side, settles them. Any number of workers may work on one run.

Claimed rows wait in a small buffer until their host may be asked; a host that is closed for a while delays its own rows and
nothing else. When the ledger has no work left the worker tends the run (`maintenance`) until a wave opens or the run ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Collection

from sitelore.crawl.maintenance import Tending, tend
from sitelore.crawl.progress import Progress
from sitelore.crawl.settling import Settler
from sitelore.crawl.tools import Tools
from sitelore.crawl.visit import visit
from sitelore.model.errors import Interrupted, OutOfTime, SiteloreError
from sitelore.model.frontier import Kind, Lease, Run, Settlement, Verdict
from sitelore.model.ids import WorkerId
from sitelore.model.states import ENDED, UrlState
from sitelore.ports import HostGate, Ledger

_LOG = logging.getLogger(__name__)

LEASE_S = 120.0
_RENEW_S = LEASE_S / 3
_POLL_S = 0.25
_CLAIM = 32
_GATE_POLL_S = 0.05

_KEPT = frozenset({UrlState.VISITED, UrlState.NOT_MODIFIED})
_WRONG = frozenset({UrlState.FAILED, UrlState.HTTP_TERMINAL})


class Worker:
    """Works on one run until it has ended, the person stops it, or its time is over."""

    def __init__(self, worker: WorkerId, run: Run, ledger: Ledger, gate: HostGate, tools: Tools, progress: Progress) -> None:
        self._id = worker
        self._run = run
        self._ledger = ledger
        self._gate = gate
        self._tools = tools
        self._progress = progress
        self._concurrency = tools.settings.pace.concurrency
        self._buffer: deque[Lease] = deque()
        self._visits: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()
        self._closed: Collection[str] = ()
        self._draining = False
        self._began = tools.clock()
        self._dry_until = 0.0
        """The ledger had nothing more to claim; asking again before this time is not worthwhile unless a wave opens."""
        self._settler = Settler(ledger, tools.blobs, tools.clock, self._written)

    async def work(self, stop: asyncio.Event) -> Run:
        """Until the run has ended. Raises `Interrupted` or `OutOfTime` after a drain that leaves no lease behind."""
        background = [asyncio.create_task(self._settler.write_forever()), asyncio.create_task(self._keep_leases())]
        try:
            while True:
                self._raise_failures(background)
                self._check_end(stop)
                if not await self._step() and (ended := await self._tend()):
                    return ended
        except BaseException:
            await self._drain(background)
            raise
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)

    async def _step(self) -> bool:
        """Claim, start what may start, wait for something to move. False when there is nothing to do here."""
        closed = self._closed = await self._gate.closed_hosts()
        if len(self._buffer) < self._concurrency and self._tools.clock() >= self._dry_until:
            await self._claim(closed)
        self._start_visits()
        if not self._visits and not self._buffer:
            if not self._settler.pending:
                return False
            self._settler.hurry()
        await self._wait_for_a_move()
        return True

    async def _claim(self, closed: Collection[str]) -> None:
        now = self._tools.clock()
        limit = max(_CLAIM, 2 * self._concurrency)
        leases = await self._ledger.claim(self._run.id, self._id, limit, now, LEASE_S, closed)
        self._buffer.extend(leases)
        if len(leases) < limit:
            self._dry_until = now + _POLL_S
        self._progress.queued = max(0, self._progress.queued - len(leases))

    def _start_visits(self) -> None:
        for _ in range(len(self._buffer)):
            if len(self._visits) >= self._concurrency or self._settler.is_full:
                break
            lease = self._buffer.popleft()
            if lease.url.authority in self._closed:
                self._buffer.append(lease)
                continue
            task = asyncio.create_task(self._visit(lease))
            self._visits.add(task)
            task.add_done_callback(self._visit_done)
        self._progress.in_flight = len(self._visits)

    async def _visit(self, lease: Lease) -> None:
        try:
            settlement = await visit(lease, self._tools)
        except SiteloreError:
            raise
        except Exception as error:  # noqa: BLE001 see below
            # A fault of ours on one page must not end the crawl of all others; it is recorded where `explain` shows it.
            _LOG.exception("visit failed")
            settlement = Settlement(lease, Verdict(UrlState.FAILED, error=f"internal_error: {type(error).__name__}"))
        self._settler.add(settlement)

    def _visit_done(self, task: asyncio.Task[None]) -> None:
        """Start the next one at once; wake the loop only where it has something to do."""
        if task.cancelled() or task.exception() is not None:
            # A visit that failed stays in the set until `_raise_failures` brings its error to the person.
            self._moved.set()
            return
        self._visits.discard(task)
        if not self._draining:
            self._start_visits()
        if not self._visits:
            self._settler.hurry()
        if len(self._buffer) < self._concurrency:
            self._moved.set()

    async def _wait_for_a_move(self) -> None:
        held_back = bool(self._buffer) and len(self._visits) < self._concurrency
        self._moved.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GATE_POLL_S if held_back else _POLL_S):
                await self._moved.wait()

    def _written(self, settlement: Settlement, taken: bool) -> None:
        """A settlement is durable, or was fenced off: then what it offered was not written either."""
        if len(self._visits) < self._concurrency:
            self._moved.set()
        if not taken:
            self._tools.admission.forget()
            return
        progress, verdict = self._progress, settlement.verdict
        progress.fetched += settlement.effects.fetched
        progress.body_bytes += settlement.effects.body_bytes
        if verdict.state is UrlState.QUEUED:
            return
        progress.states[verdict.state] += 1
        progress.pages += verdict.state in _KEPT and settlement.lease.kind is Kind.PAGE
        progress.skipped += verdict.state is UrlState.SKIPPED
        progress.errors += verdict.state in _WRONG
        progress.latest = settlement.lease.url

    async def _tend(self) -> Run | None:
        """Nothing to claim: open the next wave, wait for a retry, or learn that the run has ended."""
        tended = await tend(self._run.id, self._ledger, self._tools)
        self._dry_until = 0.0
        if tended.what is Tending.OPENED:
            await self._entered_wave(tended.admitted)
        elif tended.what is Tending.ENDED:
            run = await self._ledger.run(self._run.id)
            assert run is not None
            assert run.state in ENDED
            return run
        elif tended.wait_s > 0:
            self._moved.clear()
            await asyncio.sleep(min(tended.wait_s, _POLL_S))
        return None

    async def _entered_wave(self, admitted: int) -> None:
        run = await self._ledger.run(self._run.id)
        if run is not None:
            self._run = run
            self._tools.admission.join(run.joined_hosts)
            self._progress.wave, self._progress.depth = run.wave, run.depth
            self._progress.queued += admitted

    def _check_end(self, stop: asyncio.Event) -> None:
        if stop.is_set():
            raise Interrupted("stopped; continue with --resume")
        limit_s = self._tools.settings.time_limit_s
        if limit_s is not None and self._tools.clock() - self._began > limit_s:
            raise OutOfTime(f"the time limit of {limit_s:.0f} s has passed; continue with --resume")

    def _raise_failures(self, background: list[asyncio.Task[None]]) -> None:
        for task in (*self._visits, *background):
            if task.done() and not task.cancelled() and (error := task.exception()):
                raise error

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_S)
            await self._ledger.renew(self._run.id, self._id, self._tools.clock() + LEASE_S)

    async def _drain(self, background: list[asyncio.Task[None]]) -> None:
        """Let visits under way finish, write them, give the rest back. A broken ledger must not hide the first error."""
        self._draining = True
        await asyncio.gather(*self._visits, return_exceptions=True)
        writer = background[0]
        while self._settler.pending and not writer.done():
            self._settler.hurry()
            self._moved.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._moved.wait()
        with contextlib.suppress(Exception):
            await self._ledger.release(self._run.id, self._tools.clock(), self._id)
