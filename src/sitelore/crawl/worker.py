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

from sitelore.crawl import metrics
from sitelore.crawl.maintenance import RunStatus, reconcile_run, tell_wave
from sitelore.crawl.settle import Settler, redact_settlement
from sitelore.crawl.visit import visit
from sitelore.crawl.visit_context import VisitContext
from sitelore.crawl.worker_context import Progress, WorkerContext
from sitelore.extract.redact import redactor_of
from sitelore.model.errors import Interrupted, OutOfTime, SiteloreError
from sitelore.model.frontier import EventKind, Kind, Lease, Run, RunEvent, Settlement, Verdict
from sitelore.model.ids import WorkerId
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.ports import Subscription

_LOG = logging.getLogger(__name__)

_POLL_S = 0.25
_TELL_S = 1.0
_WRITE_S = 5.0
_RELEASE_S = 3.0
_CLAIM = 64
_GATE_POLL_S = 0.05

_KEPT = frozenset({UrlState.VISITED, UrlState.NOT_MODIFIED})
_WRONG = frozenset({UrlState.FAILED, UrlState.HTTP_TERMINAL})


class Worker:
    """Works on one run until it has ended, the person stops it, or its time is over."""

    def __init__(
        self, worker: WorkerId, run: Run, worker_context: WorkerContext, context: VisitContext, progress: Progress
    ) -> None:
        self._id = worker
        self._run = run
        self._worker_context = worker_context
        self._config = worker_context.config
        self._ledger = worker_context.ledger
        self._gate = worker_context.gate
        self._context = context
        self._progress = progress
        self._concurrency = context.settings.pace.concurrency
        self._buffer: deque[Lease] = deque()
        self._visits: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()
        self._closed: Collection[str] = ()
        self._draining = False
        self._claimed_at: dict[Url, float] = {}
        self._held: dict[Url, Lease] = {}
        self._redactor = redactor_of(context.read_options.redaction)
        self._began = context.clock()
        self._next_claim_at = 0.0
        """The ledger had nothing more to claim; asking again before this time is not worthwhile unless a wave opens."""
        self._settler = Settler(worker_context.ledger, context.blobs, context.clock, self._on_settled)

    async def work(self, stop: asyncio.Event) -> Run:
        """Until the run has ended. Raises `Interrupted` or `OutOfTime` after a drain that leaves no lease behind."""
        loops = (self._settler.write_forever(), self._keep_leases(), self._tell_progress())
        background = [asyncio.create_task(loop) for loop in loops]
        try:
            async with self._worker_context.notifier.subscribe(self._run.id) as bell:
                while True:
                    self._raise_failures(background)
                    self._check_end(stop)
                    if not await self._step() and (ended := await self._tend(bell)):
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
        if len(self._buffer) < self._concurrency and self._context.clock() >= self._next_claim_at:
            await self._claim(closed)
        self._start_visits()
        if not self._visits and not self._buffer:
            if not self._settler.pending:
                return False
            self._settler.hurry()
        await self._wait_for_a_move()
        return True

    async def _claim(self, closed: Collection[str]) -> None:
        now = self._context.clock()
        # What one process hoards, the others cannot visit; what it lacks, it asks for again.
        limit = self._concurrency if self._config.is_shared else max(_CLAIM, 2 * self._concurrency)
        leases = await self._ledger.claim(self._run.id, self._id, limit, now, self._config.lease_s, closed)
        self._held.update((lease.url, lease) for lease in leases)
        if any(lease.wave > self._run.wave for lease in leases):
            await self._look_at_the_run()  # another process opened this wave
        self._buffer.extend(leases)
        self._claimed_at.update((lease.url, now) for lease in leases)
        if len(leases) < limit:
            self._next_claim_at = now + _POLL_S
        self._progress.queued = max(0, self._progress.queued - len(leases))

    def _start_visits(self) -> None:
        while len(self._visits) < self._concurrency and (lease := self._next()) is not None:
            task = asyncio.create_task(self._visit_in_turn(lease))
            self._visits.add(task)
            task.add_done_callback(self._visits_done)
        self._progress.in_flight = len(self._visits)

    def _next(self) -> Lease | None:
        """A claimed row whose host may be asked; a seat is taken for it."""
        if self._draining or self._settler.is_full or self._worker_context.limiter.is_full:
            return None
        for _ in range(len(self._buffer)):
            lease = self._buffer.popleft()
            if lease.url.authority not in self._closed:
                metrics.QUEUE_LATENCY.observe(self._since_claim(lease))
                self._worker_context.limiter.take()
                return lease
            self._buffer.append(lease)
        return None

    async def _visit_in_turn(self, first: Lease) -> None:
        """One visit after the other, for as long as there is one to make: a task for each would cost the loop more rounds."""
        lease: Lease | None = first
        while lease is not None:
            try:
                await self._visit(lease)
            finally:
                self._worker_context.limiter.give_back()
            lease = self._next()
            self._start_visits()
            # The loop is woken only where it has something to do.
            if len(self._buffer) < self._concurrency and self._context.clock() >= self._next_claim_at:
                self._moved.set()

    async def _visit(self, lease: Lease) -> None:
        try:
            settlement = await visit(lease, self._context)
        except SiteloreError:
            raise
        except Exception as error:  # noqa: BLE001 see below
            # A fault of ours on one page must not end the crawl of all others; it is recorded where `explain` shows it.
            _LOG.exception("visit failed", extra={"run": lease.run, "url": lease.url, "worker": self._id})
            settlement = Settlement(lease, Verdict(UrlState.FAILED, error=f"internal_error: {type(error).__name__}"))
        self._settler.add(redact_settlement(settlement, self._redactor))

    def _visits_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is not None:
            # A visit that failed stays in the set until `_raise_failures` brings its error to the person.
            self._moved.set()
            return
        self._visits.discard(task)
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

    def _on_settled(self, settlement: Settlement, taken: bool) -> None:
        """A settlement is durable, or was fenced off: then nothing of it was written."""
        if len(self._visits) < self._concurrency:
            self._moved.set()
        self._meter(settlement, taken)
        # A worker that stood still past its lease may hold the row again, by a newer one that has to be kept.
        if self._held.get(settlement.lease.url) == settlement.lease:
            del self._held[settlement.lease.url]
        if not taken:
            lease = settlement.lease
            _LOG.info("a verdict came too late", extra={"run": lease.run, "url": lease.url, "worker": self._id})
            return
        self._context.admission.remember(settlement.lease, settlement.effects.offers)
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

    def _since_claim(self, lease: Lease) -> float:
        now = self._context.clock()
        return max(0.0, now - self._claimed_at.get(lease.url, now))

    def _meter(self, settlement: Settlement, taken: bool) -> None:
        lease, verdict = settlement.lease, settlement.verdict
        metrics.PROCESSING.observe(self._since_claim(lease))
        self._claimed_at.pop(lease.url, None)
        if settlement.effects.fetched:
            metrics.FETCH.observe(settlement.effects.elapsed_s)
        page = settlement.effects.page
        if page is not None and page.render is not None and page.render.metrics is not None:
            metrics.RENDERING.observe(page.render.metrics.elapsed_s)
        if not taken:
            metrics.FENCED.inc()
            return
        metrics.PROCESSED.inc()
        metrics.RETRIED.inc(verdict.state is UrlState.QUEUED)
        metrics.VISITED.inc(verdict.state in _KEPT)
        metrics.FAILED.inc(verdict.state in _WRONG)
        level = logging.INFO if verdict.state is UrlState.FAILED else logging.DEBUG
        if _LOG.isEnabledFor(level):
            what: dict[str, object] = {"run": lease.run, "url": lease.url, "worker": self._id, "state": verdict.state.value}
            what |= {"status_code": verdict.status_code, "error": verdict.error}
            _LOG.log(level, "a URL of %s is %s", lease.url.authority, verdict.state, extra=what)

    async def _tend(self, bell: Subscription) -> Run | None:
        """Nothing to claim: open the next wave, wait for a retry or a signal, or learn that the run is not to be worked on."""
        tended = await reconcile_run(self._run.id, self._ledger, self._context, is_shared=self._config.is_shared)
        self._next_claim_at = 0.0
        if tended.what is RunStatus.OPENED:
            await self._look_at_the_run()
            self._progress.queued += tended.admitted
            await tell_wave(self._worker_context, self._run.id, self._run.wave, tended.admitted)
        elif tended.what is RunStatus.ENDED:
            run = await self._ledger.run(self._run.id)
            assert run is not None
            return run
        elif tended.wait_s > 0:
            self._moved.clear()
            await bell.wait(self._config.poll_s if self._config.is_shared else min(tended.wait_s, _POLL_S))
        return None

    async def _look_at_the_run(self) -> None:
        """A wave has opened: what its visits count as in scope was settled when it did."""
        run = await self._ledger.run(self._run.id)
        if run is not None:
            self._run = run
            self._context.admission.join(run.wave_hosts, run.wave)
            self._progress.wave, self._progress.depth = run.wave, run.depth

    def _check_end(self, stop: asyncio.Event) -> None:
        if stop.is_set():
            raise Interrupted("stopped; continue with --resume")
        limit_s = self._context.settings.time_limit_s
        if limit_s is not None and self._context.clock() - self._began > limit_s:
            raise OutOfTime(f"the time limit of {limit_s:.0f} s has passed; continue with --resume")

    def _raise_failures(self, background: list[asyncio.Task[None]]) -> None:
        for task in (*self._visits, *background):
            if task.done() and not task.cancelled() and (error := task.exception()):
                raise error

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(self._config.lease_s / 3)
            held = list(self._held.values())
            kept = await self._ledger.renew(held, self._context.clock() + self._config.lease_s)
            _LOG.debug("leases renewed", extra={"run": self._run.id, "worker": self._id, "leases": kept})

    async def _tell_progress(self) -> None:
        progress, told = self._progress, (0, 0, 0)
        while True:
            await asyncio.sleep(_TELL_S)
            now = (progress.states.total(), progress.pages, progress.fetched)
            if now != told:
                settled, pages, fetched = (new - old for new, old in zip(now, told, strict=True))
                facts: dict[str, str | int] = {"worker": self._id, "settled": settled, "pages": pages, "fetched": fetched}
                await self._worker_context.events.publish(
                    RunEvent(self._run.id, EventKind.PROGRESS, self._context.clock(), facts)
                )
                told = now

    async def _drain(self, background: list[asyncio.Task[None]]) -> None:
        """Let visits under way finish, for a while; write them, give the rest back. A broken ledger must not hide the first
        error, and one that is away must not hold the process.
        """
        self._draining = True
        if self._visits:
            _, late = await asyncio.wait(self._visits, timeout=self._config.drain_s)
            for visit_task in late:
                visit_task.cancel()
            await asyncio.gather(*self._visits, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WRITE_S):
                await self._write_the_rest(background[0])
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_RELEASE_S):
                await self._ledger.release(self._run.id, self._context.clock(), self._id)

    async def _write_the_rest(self, writer: asyncio.Task[None]) -> None:
        while self._settler.pending and not writer.done():
            self._settler.hurry()
            self._moved.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._moved.wait()
