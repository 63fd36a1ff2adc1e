"""A worker: claims rows of one run, visits them concurrently and settles them. Several workers may share a run.

The terms: a row is one URL of a run. The ledger is the database of runs and URLs. To claim a row is to lease it for a limited
time, so that no other worker visits it. To settle a row is to write the result of its visit. A wave is the batch of rows that a
run admits at once; the next one opens when all of them are settled. To reconcile a run is to do what is due between two batches
of work: take back expired leases, open the next wave, or end the run (`maintenance`).

Claimed rows wait in a small buffer until their host accepts a request; a host in backoff delays only its own rows. When the
ledger has nothing to claim, the worker reconciles the run until a wave opens or the run ends. Meanwhile it renews the leases
that it holds, and fetches pages ahead of their admission (`prefetch`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Collection
from dataclasses import replace

from sitelore import metrics
from sitelore.background import wait
from sitelore.crawl.context import Progress, VisitContext, WorkerContext
from sitelore.crawl.maintenance import RunStatus, announce_wave, reconcile_run, time_limit_error
from sitelore.crawl.prefetch import Prefetcher
from sitelore.crawl.settle import Settler, redact_settlement
from sitelore.crawl.visit import visit
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.model.errors import Interrupted, OutOfTime, SiteloreError
from sitelore.model.frontier import EventKind, Lease, RowKind, Run, RunEvent, Settlement, Verdict
from sitelore.model.ids import WorkerId
from sitelore.model.states import KEPT, UrlState
from sitelore.model.url import Url
from sitelore.ports import Subscription

_LOG = logging.getLogger(__name__)

_POLL_INTERVAL_S = 0.25
_PROGRESS_INTERVAL_S = 1.0
_WRITE_TIMEOUT_S = 5.0
_RELEASE_TIMEOUT_S = 3.0
_CLAIM_BATCH = 64
_GATE_POLL_INTERVAL_S = 0.05

_ERROR_STATES = frozenset({UrlState.FAILED, UrlState.HTTP_TERMINAL})


class Worker:
    """Works on one run until it ends, the user stops it, or its time limit passes."""

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
        self._wake = asyncio.Event()
        """Set when the main loop may have something to do: a visit ended, a settlement was written."""
        self._closed_hosts: Collection[str] = ()
        self._draining = False
        self._claimed_at: dict[Url, float] = {}
        self._leases: dict[Url, Lease] = {}
        self._next_claim_at = 0.0
        """The earliest time of the next claim, because the last one emptied the queue. Reset when a wave may have opened."""
        self._is_queue_empty = False
        """Whether the last claim got every row that was due."""
        self._settler = Settler(worker_context.ledger, context.blobs, context.clock, self._on_settled)
        self._prefetcher = Prefetcher(run.id, worker, worker_context, context, self._free_slots, self._wake.set)

    async def work(self, stop: asyncio.Event) -> Run:
        """Work until the run has ended. Raises `Interrupted` or `OutOfTime` after a drain that leaves no lease behind."""
        loops = (self._settler.write_forever(), self._renew_leases(), self._publish_progress())
        background = [asyncio.create_task(loop) for loop in loops]
        try:
            async with self._worker_context.notifier.subscribe(self._run.id) as subscription:
                while True:
                    self._raise_failures(background)
                    await self._check_end(stop)
                    if not await self._step() and (run := await self._reconcile(subscription)):
                        await self._prefetcher.close()
                        return run
        except BaseException as reason:
            is_abandoned = stop.is_set() and isinstance(reason, asyncio.CancelledError)
            await self._drain(background, 0.0 if is_abandoned else self._config.drain_s)
            raise
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)

    async def _step(self) -> bool:
        """Claim rows, start visits, wait until something changes. False when there is nothing left to visit or write."""
        self._closed_hosts = await self._gate.closed_hosts()
        if len(self._buffer) < self._concurrency and self._context.clock() >= self._next_claim_at:
            await self._claim()
        self._start_visits()
        if not self._visits and not self._buffer:
            if not self._settler.pending:
                return False
            self._settler.flush()
        await self._prefetcher.update(self._closed_hosts)
        await self._wait_for_wake()
        return True

    def _free_slots(self) -> int:
        """How many pages may be fetched ahead: open rows come first."""
        if self._buffer or self._draining or not self._is_queue_empty:
            return 0
        return self._concurrency - len(self._visits) - self._prefetcher.active

    async def _claim(self) -> None:
        now = self._context.clock()
        # Shared runs: claim only what can start now, so that rows are not locked away from other workers.
        limit = self._concurrency if self._config.is_shared else max(_CLAIM_BATCH, 2 * self._concurrency)
        leases = await self._ledger.claim(self._run.id, self._id, limit, now, self._config.lease_s, self._closed_hosts)
        self._leases.update((lease.url, lease) for lease in leases)
        if any(lease.wave > self._run.wave for lease in leases):
            await self._reload_run()  # another process opened this wave
        self._buffer.extend(leases)
        self._claimed_at.update((lease.url, now) for lease in leases)
        self._is_queue_empty = len(leases) < limit
        if self._is_queue_empty:
            self._next_claim_at = now + _POLL_INTERVAL_S
        self._progress.queued = max(0, self._progress.queued - len(leases))

    def _start_visits(self) -> None:
        while len(self._visits) + self._prefetcher.active < self._concurrency and (lease := self._next_lease()) is not None:
            task = asyncio.create_task(self._visit_until_empty(lease))
            self._visits.add(task)
            task.add_done_callback(self._on_visits_done)
        self._progress.in_flight = len(self._visits)

    def _next_lease(self) -> Lease | None:
        """Take a claimed row whose host accepts requests, and a slot of the concurrency limiter for it."""
        if self._draining or self._settler.is_full or self._worker_context.limiter.is_full:
            return None
        for _ in range(len(self._buffer)):
            lease = self._buffer.popleft()
            if lease.url.authority not in self._closed_hosts:
                metrics.QUEUE_LATENCY.observe(self._since_claim(lease))
                self._worker_context.limiter.take()
                return lease
            self._buffer.append(lease)
        return None

    async def _visit_until_empty(self, first: Lease) -> None:
        """Make one visit after another while there are leases. One task per visit would cost more event loop iterations."""
        lease: Lease | None = first
        while lease is not None:
            try:
                await self._visit(lease)
            finally:
                self._worker_context.limiter.release()
            lease = self._next_lease()
            self._start_visits()
            # Wake the main loop only when it should claim.
            if len(self._buffer) < self._concurrency and self._context.clock() >= self._next_claim_at:
                self._wake.set()

    async def _visit(self, lease: Lease) -> None:
        try:
            settlement = await visit(lease, self._context, await self._prefetcher.take(lease))
        except SiteloreError:
            raise
        except Exception as error:  # noqa: BLE001 see below
            # A bug that one page triggers must not end the crawl; it is recorded where `explain` shows it.
            _LOG.exception("visit failed", extra={"run": lease.run, "url": lease.url, "worker": self._id})
            settlement = Settlement(lease, Verdict(UrlState.FAILED, error=f"internal_error: {type(error).__name__}"))
        self._settler.add(redact_settlement(settlement, redactor_of(self._context.read_options.redaction)))

    def _on_visits_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is not None:
            # A failed task stays in the set until `_raise_failures` re-raises its error.
            self._wake.set()
            return
        self._visits.discard(task)
        if not self._visits:
            self._settler.flush()
        if len(self._buffer) < self._concurrency:
            self._wake.set()

    async def _wait_for_wake(self) -> None:
        is_held_back = bool(self._buffer) and len(self._visits) < self._concurrency
        self._wake.clear()
        await wait(self._wake, _GATE_POLL_INTERVAL_S if is_held_back else _POLL_INTERVAL_S)

    def _on_settled(self, settlement: Settlement, is_accepted: bool) -> None:
        """Account for a settlement that is durable, or was rejected by its fencing token: then nothing of it was written."""
        if len(self._visits) < self._concurrency:
            self._wake.set()
        self._record_metrics(settlement, is_accepted)
        lease = settlement.lease
        self._release_files(settlement)
        # After a pause longer than the lease, this worker may have claimed the row again: keep the newer lease.
        if self._leases.get(lease.url) == lease:
            del self._leases[lease.url]
        if not is_accepted:
            _LOG.info("settlement rejected: lease lost", extra={"run": lease.run, "url": lease.url, "worker": self._id})
            return
        self._context.offer_builder.remember(lease, settlement.effects.offers)
        progress, verdict = self._progress, settlement.verdict
        progress.fetched += settlement.effects.fetched
        progress.body_bytes += settlement.effects.body_bytes
        if verdict.state is UrlState.QUEUED:
            return
        progress.states[verdict.state] += 1
        progress.pages += verdict.state in KEPT and lease.kind is RowKind.PAGE
        progress.skipped += verdict.state is UrlState.SKIPPED
        progress.errors += verdict.state in _ERROR_STATES
        progress.latest = lease.url
        if lease.kind is RowKind.PAGE:
            self._worker_context.on_settled(settlement)

    def _release_files(self, settlement: Settlement) -> None:
        """Forget the files that the visit has stored: rows refer to them now, or nothing does."""
        context, update, page = self._context, settlement.effects.media, settlement.effects.page
        if context.media is not None and update is not None and update.file is not None and not update.is_known:
            context.media.release(update.file.key)
        if context.screenshots is not None and page is not None and page.screenshot is not None:
            context.screenshots.media.release(page.screenshot)

    def _since_claim(self, lease: Lease) -> float:
        now = self._context.clock()
        return max(0.0, now - self._claimed_at.get(lease.url, now))

    def _record_metrics(self, settlement: Settlement, is_accepted: bool) -> None:
        lease, verdict = settlement.lease, settlement.verdict
        metrics.PROCESSING.observe(self._since_claim(lease))
        self._claimed_at.pop(lease.url, None)
        if settlement.effects.fetched:
            metrics.FETCH.observe(settlement.effects.elapsed_s)
        page = settlement.effects.page
        if page is not None and page.render is not None and page.render.metrics is not None:
            metrics.RENDERING.observe(page.render.metrics.elapsed_s)
        if not is_accepted:
            metrics.FENCED.inc()
            return
        metrics.PROCESSED.inc()
        metrics.RETRIED.inc(verdict.state is UrlState.QUEUED)
        metrics.VISITED.inc(verdict.state in KEPT)
        metrics.FAILED.inc(verdict.state in _ERROR_STATES)
        if lease.kind is RowKind.MEDIA and verdict.state is not UrlState.QUEUED:
            _record_media(settlement)
        level = logging.INFO if verdict.state is UrlState.FAILED else logging.DEBUG
        if _LOG.isEnabledFor(level):
            extra: dict[str, object] = {"run": lease.run, "url": lease.url, "worker": self._id, "state": verdict.state.value}
            extra |= {"status_code": verdict.status_code, "error": verdict.error}
            _LOG.log(level, "URL of %s settled as %s", lease.url.authority, verdict.state, extra=extra)

    async def _reconcile(self, subscription: Subscription) -> Run | None:
        """Nothing to claim: open the next wave, wait for a retry or a notification, or return the run if it has ended."""
        result = await reconcile_run(self._run.id, self._ledger, self._context, is_shared=self._config.is_shared)
        self._next_claim_at = 0.0
        if result.status is RunStatus.OPENED:
            self._is_queue_empty = False
            self._prefetcher.postpone()
            await self._reload_run()
            self._progress.queued += result.admitted
            await announce_wave(self._worker_context, self._run.id, self._run.wave, result.admitted)
        elif result.status is RunStatus.ENDED:
            run = await self._ledger.run(self._run.id)
            assert run is not None
            return run
        elif result.wait_s > 0:
            await self._prefetcher.update(self._closed_hosts)
            self._wake.clear()
            await subscription.wait(self._config.poll_s if self._config.is_shared else min(result.wait_s, _POLL_INTERVAL_S))
        return None

    async def _reload_run(self) -> None:
        """Load the run after a wave opened: its hosts in scope are fixed for that wave."""
        run = await self._ledger.run(self._run.id)
        if run is not None:
            self._run = run
            self._context.offer_builder.join(run.wave_hosts, run.wave)
            self._progress.wave, self._progress.depth = run.wave, run.depth

    async def _check_end(self, stop: asyncio.Event) -> None:
        if stop.is_set():
            raise Interrupted("stopped; continue with --resume")
        if not self._run.is_out_of_time(self._context.clock()):
            return
        # Another process may have resumed the run meanwhile, with a new time limit.
        current = await self._ledger.run(self._run.id) or self._run
        if current.is_out_of_time(self._context.clock()):
            raise OutOfTime(time_limit_error(current))
        self._run = replace(self._run, settings=current.settings, time_limit_from=current.time_limit_from)

    def _raise_failures(self, background: list[asyncio.Task[None]]) -> None:
        for task in (*self._visits, *background):
            if task.done() and not task.cancelled() and (error := task.exception()):
                raise error

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(self._config.lease_s / 3)
            leases = list(self._leases.values())
            until = self._context.clock() + self._config.lease_s
            renewed = await self._ledger.renew(leases, until)
            await self._prefetcher.renew(until)
            _LOG.debug("leases renewed", extra={"run": self._run.id, "worker": self._id, "leases": renewed})

    async def _publish_progress(self) -> None:
        progress, published = self._progress, (0, 0, 0)
        while True:
            await asyncio.sleep(_PROGRESS_INTERVAL_S)
            counts = (progress.states.total(), progress.pages, progress.fetched)
            if counts != published:
                settled, pages, fetched = (new - old for new, old in zip(counts, published, strict=True))
                facts: dict[str, str | int] = {"worker": self._id, "settled": settled, "pages": pages, "fetched": fetched}
                await self._worker_context.events.publish(
                    RunEvent(self._run.id, EventKind.PROGRESS, self._context.clock(), facts)
                )
                published = counts

    async def _drain(self, background: list[asyncio.Task[None]], wait_s: float) -> None:
        """Let active visits finish for a while, write them, and release the remaining leases.

        A failing ledger must not hide the original error, and an unreachable one must not block the process.
        """
        self._draining = True
        await self._prefetcher.close()
        if self._visits:
            late = self._visits
            try:
                _, late = await asyncio.wait(self._visits, timeout=wait_s)
            finally:  # also when this is cancelled: a visit must not go on with a client that is closed
                for visit_task in late:
                    visit_task.cancel()
                await asyncio.gather(*self._visits, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WRITE_TIMEOUT_S):
                await self._write_pending(background[0])
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_RELEASE_TIMEOUT_S):
                await self._ledger.release(self._run.id, self._context.clock(), self._id)

    async def _write_pending(self, writer: asyncio.Task[None]) -> None:
        while self._settler.pending and not writer.done():
            self._settler.flush()
            self._wake.clear()
            await wait(self._wake, _POLL_INTERVAL_S)


def _record_media(settlement: Settlement) -> None:
    """Count a media URL that was visited by its result, and its bytes."""
    update, state = settlement.effects.media, settlement.verdict.state
    metrics.MEDIA_RECEIVED.inc(settlement.effects.body_bytes)
    if update is None:
        result = "failed" if state in _ERROR_STATES else "skipped"
    elif update.file is None:
        result = "unchanged"
    elif update.is_known:
        result = "duplicate"
    else:
        result = "stored"
        metrics.MEDIA_SAVED.inc(
            max(0, update.file.original_bytes - update.file.stored_bytes) if update.file.stored_bytes else 0
        )
    metrics.MEDIA.labels(result).inc()
