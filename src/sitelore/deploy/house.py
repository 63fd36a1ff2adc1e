"""The house, whichever way it was built: what a face may ask of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sitelore.crawl.maintenance import TIME_LIMIT, Maintenance, announce_state
from sitelore.crawl.page_fetch import render_as_fetch
from sitelore.crawl.run_scheduler import RunScheduler
from sitelore.crawl.runs import start_run
from sitelore.crawl.settle import redacting_saver
from sitelore.crawl.soft_404 import Soft404Detector
from sitelore.crawl.visit_context import NavigationPolicy, VisitContext, read_options_of, redaction_of, rules_of
from sitelore.crawl.worker import Worker
from sitelore.crawl.worker_context import Progress, WorkerContext
from sitelore.deploy.library import LibraryDoor
from sitelore.extract.redact import redactor_of
from sitelore.fetch.browser.chromium import INSTALL_HINT, Browser
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.fetch.politeness import PoliteFetcher, PoliteRenderer
from sitelore.fetch.robots import RobotsCache
from sitelore.frontier.admission import Admission
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.model.errors import Interrupted, OutOfTime, StorageError
from sitelore.model.frontier import Run
from sitelore.model.ids import RunId, WorkerId
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.rendering import Rendered, RenderFailure, RenderRequest
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import ENDED, RunState
from sitelore.model.url import Url
from sitelore.ports import Blobs, Clock, HostGate, Ledger, Reader

if TYPE_CHECKING:
    from sitelore.crawl.explain import Explanation
    from sitelore.crawl.search_service import SearchService
    from sitelore.fetch.browser.renderer import BrowserRenderer

_LOG = logging.getLogger(__name__)

_FOREVER = 1e12
_AGAIN_S = 1.0
_UPKEEP_ALONE_S = 0.25
_SETTLED_S = 5.0
"""After its start, a server has other things to do than to look at its index."""


@dataclass(frozen=True, slots=True)
class House:
    """Every part, built. What a face may ask of it are its methods."""

    worker_context: WorkerContext
    blobs: Blobs
    reader: Reader
    browser: Browser
    """Started when a page first needs it; shared by all runs."""
    door: LibraryDoor
    """Opened when somebody first asks."""
    sites_at_once: int = 4
    redaction: Redaction = BUILT_IN_ALONE
    """The operator's rules for secrets, and the key of their hashes."""

    @property
    def ledger(self) -> Ledger:
        """The frontier and everything known."""
        return self.worker_context.ledger

    @property
    def search_service(self) -> SearchService:
        """Where questions are answered."""
        return self.door.open()

    @property
    def gate(self) -> HostGate:
        """Politeness."""
        return self.worker_context.gate

    @property
    def clock(self) -> Clock:
        """The time that the ledger goes by."""
        return self.worker_context.clock

    @property
    def is_shared(self) -> bool:
        """Whether other processes may be at work here."""
        return self.worker_context.config.is_shared

    async def start(self, settings: CrawlSettings) -> Run:
        """Create a run; nothing is fetched yet."""
        run = await start_run(self.ledger, settings, self.clock(), self.redaction)
        await self.announce(run.id)
        return run

    async def announce(self, run: RunId) -> None:
        """A run was made or cancelled: whoever works looks now instead of a moment later."""
        await self.worker_context.notifier.notify(run)

    async def resume(self, site: str | None = None) -> Run | None:
        """The latest run that has not ended."""
        for run in await self.ledger.runs():
            if run.state not in ENDED and site in {None, run.site_name}:
                return run
        return None

    async def crawl(self, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        """Work on a run until it has ended, with whoever else works on it."""
        if self.is_shared:
            return await self._crawl_with_others(run, progress, stop)
        # The directory's lock says that no other process works here: whatever is leased was left behind.
        await self.ledger.release(run.id, _FOREVER)
        await self.ledger.move_run(run.id, RunState.RUNNING, self.clock())
        return await self._work_on(self.worker_context, run, progress, stop)

    async def work(self, stop: asyncio.Event) -> None:
        """Work on whatever runs there are, and look after all of them, until told to stop. Leaves no lease."""
        worker_context = self.worker_context
        if not self.is_shared:
            # One process, yet runs may be cancelled or run out of time while a worker is busy with them.
            worker_context = replace(
                worker_context, config=replace(worker_context.config, is_shared=True, upkeep_s=_UPKEEP_ALONE_S)
            )
            for run in await self.ledger.running_runs():
                await self.ledger.release(run.id, _FOREVER)
        scheduler = RunScheduler(
            self.ledger,
            self.clock,
            partial(self._take_on, worker_context),
            sites_at_once=self.sites_at_once,
            pause_s=worker_context.config.pause_s,
        )
        async with _beside(Maintenance(worker_context, self.blobs).forever(stop)), _beside(self._wake(scheduler)):
            while not stop.is_set():
                try:
                    await scheduler.work(stop)
                except StorageError as problem:
                    if not self.is_shared:
                        raise
                    _LOG.warning("work has to wait: %s", problem)
                    await _pause(stop)

    async def attend(self, stop: asyncio.Event) -> None:
        """What belongs beside a server: the index, and all work in a house of one process or maintenance in one of many."""
        async with _beside(self._keep_library(stop)):
            if self.is_shared:
                await Maintenance(self.worker_context, self.blobs).forever(stop)
            else:
                await self.work(stop)

    async def _keep_library(self, stop: asyncio.Event) -> None:
        """The index, beside a server. Workers leave it alone: it takes its memory in every process that has it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SETTLED_S):
                await stop.wait()
        if not stop.is_set():
            await self.search_service.keep_current(stop)

    async def explain(self, url: Url, run: Run) -> Explanation:
        """Every gate this URL met in the run."""
        from sitelore.crawl.explain import explain  # noqa: PLC0415 a crawl explains nothing

        return await explain(redactor_of(redaction_of(run.settings, self.redaction)).url(url), run, self.ledger)

    async def _crawl_with_others(self, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        async with _beside(Maintenance(self.worker_context, self.blobs).forever(stop)):
            while run.state not in ENDED:
                if stop.is_set():
                    raise Interrupted("stopped")
                if await self.ledger.begin_run(run.id, self.clock()):
                    run = await self._work_on(self.worker_context, run, progress, stop)
                else:
                    await self._help_out(run, stop)
                    run = await self.ledger.run(run.id) or run
        if run.state is RunState.FAILED and run.error.startswith(TIME_LIMIT):
            raise OutOfTime(run.error)
        return run

    async def _help_out(self, run: Run, stop: asyncio.Event) -> None:
        """Another run of the site comes first: the sooner it ends, the sooner ours begins."""
        for other in await self.ledger.running_runs():
            if other.site == run.site and other.id != run.id:
                await self._work_on(self.worker_context, other, Progress(), stop)
                return
        await _pause(stop)

    async def _take_on(self, worker_context: WorkerContext, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        """The foreman's: begin the run if that is still to be done. What is wrong with our storage is not the run's fault."""
        try:
            if not await self.ledger.begin_run(run.id, self.clock()):
                return run
            return await self._work_on(worker_context, run, progress, stop)
        except StorageError as problem:
            if not self.is_shared:
                raise
            _LOG.warning("a run has to wait: %s", problem, extra={"run": run.id})
            await _pause(stop)
            return run

    async def _work_on(self, worker_context: WorkerContext, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
        before, run = run.state, await self.ledger.run(run.id) or run
        if run.state is not RunState.RUNNING:  # cancelled before its turn came
            return run
        if before is RunState.QUEUED:
            await announce_state(worker_context, run.id, run.state)
        progress.max_pages, progress.started_at = run.settings.max_pages, self.clock()
        async with self._tools(run) as tools:
            worker = WorkerId(f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}")
            try:
                return await Worker(worker, run, worker_context, tools, progress).work(stop)
            except asyncio.CancelledError:
                # Cut off in the middle of its drain: the leases must not outlive the worker all the same.
                await self.ledger.release(run.id, self.clock(), worker)
                raise

    def _browser_of(self, run: Run) -> Callable[[], bool]:
        """Whether there is a browser; that a run misses it is logged once."""
        told: list[RunId] = []

        def is_there() -> bool:
            if self.browser.is_available():
                return True
            if not told:
                _LOG.info("pages need a browser, and there is none: %s", INSTALL_HINT, extra={"run": run.id})
                told.append(run.id)
            return False

        return is_there

    async def _wake(self, scheduler: RunScheduler) -> None:
        async with self.worker_context.notifier.subscribe() as bell:
            while True:
                if await bell.wait(_AGAIN_S):
                    await scheduler.announce(RunId(""))

    @asynccontextmanager
    async def _tools(self, run: Run) -> AsyncIterator[VisitContext]:
        settings = run.settings
        guard = AddressGuard(settings.open_origins, settings.allow_private)
        http = HttpFetcher(settings, guard, clock=self.clock, sent=self.gate.sent)
        fetcher = PoliteFetcher(http, self.gate, settings, self.clock)
        options = read_options_of(settings, self.redaction)
        save_robots = redacting_saver(self.ledger.save_robots, redactor_of(options.redaction))
        robots = RobotsCache(http, self.gate, settings, self.clock, self.ledger.robots, save_robots)
        admission = Admission(settings, run.wave_hosts, guard.judge_url)
        navigations = NavigationPolicy(robots, admission, rules_of(settings), options.redaction)
        in_browser = _LateRenderer(self.browser, settings, guard, navigations.judge)
        renderer = PoliteRenderer(in_browser, self.gate, settings, self.clock)
        read = partial(self.reader.read, options=options)
        tools = VisitContext(
            settings=settings,
            rules=rules_of(settings),
            read_options=options,
            fetcher=fetcher,
            robots=robots,
            reader=self.reader,
            blobs=self.blobs,
            admission=admission,
            probes=Soft404Detector(fetcher.fetch, read, salt=run.id),
            clock=self.clock,
            policy=RenderPolicy(settings, run.site_rendering, self._browser_of(run)),
            renderer=renderer,
            rendered_probes=Soft404Detector(partial(render_as_fetch, renderer=renderer), read, salt=run.id),
        )
        try:
            yield tools
        finally:
            await tools.probes.close()
            await tools.rendered_probes.close()
            await renderer.close()
            await fetcher.close()


class _LateRenderer:
    """Renders from when a page first needs it: most crawls open no browser, and what it takes is not loaded for them."""

    def __init__(
        self, browser: Browser, settings: CrawlSettings, guard: AddressGuard, judge: Callable[[Url], Awaitable[str | None]]
    ) -> None:
        self._parts = (browser, settings, guard, judge)
        self._made: BrowserRenderer | None = None

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """The page as a browser shows it."""
        if self._made is None:
            from sitelore.fetch.browser.renderer import BrowserRenderer  # noqa: PLC0415 see above

            self._made = BrowserRenderer(*self._parts)
        return await self._made.render(request)

    async def close(self) -> None:
        """Forget the run's cookies and pages."""
        if self._made is not None:
            await self._made.close()


@asynccontextmanager
async def _beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Something that goes on while the body runs, and ends with it."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _pause(stop: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_AGAIN_S):
            await stop.wait()
