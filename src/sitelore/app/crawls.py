"""Crawls runs for the application: one run until it has ended, or the runs of the queue.

`App` loads this module when a crawl begins: most commands only read what was crawled, and load none of what fetches pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sitelore.background import in_background, keep_running, wait
from sitelore.crawl.context import Progress, ScreenshotContext, VisitContext, WorkerContext, read_options_of, rules_of
from sitelore.crawl.maintenance import Maintenance, announce_state, interrupt_run, interruption_of, session_error
from sitelore.crawl.page_fetch import NavigationPolicy, render_as_fetch
from sitelore.crawl.runs import RunScheduler
from sitelore.crawl.settle import redacting_saver
from sitelore.crawl.soft_404 import Soft404Detector
from sitelore.crawl.worker import Worker
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.chromium import INSTALL_HINT, Browser
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.polite_client import PoliteClient
from sitelore.fetch.politeness import PoliteRenderer
from sitelore.frontier.offers import OfferBuilder
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.model.document import Reading
from sitelore.model.errors import Interrupted, OutOfTime, SessionEnded, StorageError
from sitelore.model.frontier import Run
from sitelore.model.ids import RunId, WorkerId
from sitelore.model.response import Rendered, RenderFailure, RenderRequest, Response
from sitelore.model.settings import CrawlSettings, LoggedOut, Redaction
from sitelore.model.states import ACTIVE, RunState
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.app.app import App
    from sitelore.crawl.login_watch import LoginWatch
    from sitelore.fetch.browser.renderer import BrowserRenderer
    from sitelore.model.access import SiteSession

_LOG = logging.getLogger(__name__)

_END_OF_TIME = 1e12
_RETRY_DELAY_S = 1.0
_EMBEDDED_MAINTENANCE_S = 0.25
_INSECURE = (
    "WARNING: certificates are not verified (insecure). Anyone between here and a site can read and change what is fetched, "
    "and receives the credentials that are sent."
)


async def crawl(app: App, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
    """Work on a run until it has ended, together with other workers where there are any.

    Raises `Interrupted`, `OutOfTime` or `SessionEnded` when it was stopped before; it can be resumed then.
    """
    if app.is_shared:
        return await _crawl_with_others(app, run, progress, stop)
    # We hold the directory's lock, so no other process works here: every lease was left behind by one that died.
    worker_context = app.worker_context.for_tenant(run.tenant)
    await worker_context.ledger.release(run.id, _END_OF_TIME)
    await worker_context.ledger.move_run(run.id, RunState.RUNNING, app.clock())
    try:
        return await _work_on(app, worker_context, run, progress, stop)
    except (Interrupted, asyncio.CancelledError):
        await interrupt_run(worker_context, run.id)
        raise


async def work(app: App, stop: asyncio.Event) -> None:
    """Crawl and maintain all runs until `stop` is set. Returns with no URL leased to this process."""
    worker_context = app.worker_context
    if not app.is_shared:
        # One process, but the API can cancel runs and their time can run out while a worker is busy with them.
        worker_context = replace(
            worker_context, config=replace(worker_context.config, is_shared=True, upkeep_s=_EMBEDDED_MAINTENANCE_S)
        )
        for run in await app.queue.running_runs():
            await app.ledger.for_tenant(run.tenant).release(run.id, _END_OF_TIME)
    scheduler = RunScheduler(
        app.queue,
        app.ledger,
        app.clock,
        partial(_begin_and_work, app, worker_context),
        sites_at_once=app.sites_at_once,
        pause_s=worker_context.config.pause_s,
    )
    async with (
        in_background("maintenance", partial(Maintenance(worker_context, app.blobs).run_until_stopped, stop)),
        in_background("notifications", partial(_wake_on_signals, app, scheduler)),
        in_background("retention", partial(app.delete_expired, stop)),
    ):
        while not stop.is_set():
            try:
                await scheduler.work(stop)
            except StorageError as problem:
                if not app.is_shared:
                    raise
                _LOG.warning("storage unavailable, retrying: %s", problem)
                await wait(stop, _RETRY_DELAY_S)


async def maintain(app: App, stop: asyncio.Event) -> None:
    """Maintain the runs of all workers until `stop` is set, without crawling."""
    await keep_running("maintenance", partial(Maintenance(app.worker_context, app.blobs).run_until_stopped, stop))


async def _crawl_with_others(app: App, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
    async with in_background("maintenance", partial(Maintenance(app.worker_context, app.blobs).run_until_stopped, stop)):
        while run.state in ACTIVE:
            if stop.is_set():
                raise Interrupted("stopped")
            ledger = app.ledger.for_tenant(run.tenant)
            if await ledger.begin_run(run.id, app.clock()):
                run = await _work_on(app, app.worker_context, run, progress, stop)
            else:
                await _work_on_earlier_run(app, run, stop)
                run = await ledger.run(run.id) or run
    if run.state is RunState.INTERRUPTED:
        raise interruption_of(run)
    return run


async def _work_on_earlier_run(app: App, run: Run, stop: asyncio.Event) -> None:
    """Help to finish the run of the same site that is ahead of ours: one runs at a time."""
    for other in await app.queue.running_runs():
        if other.site == run.site and other.id != run.id:
            with contextlib.suppress(OutOfTime, SessionEnded):  # of that run, not of ours
                await _work_on(app, app.worker_context, other, Progress(), stop)
            return
    await wait(stop, _RETRY_DELAY_S)


async def _begin_and_work(app: App, worker_context: WorkerContext, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
    """Begin a run that is due and work on it. A storage failure delays the run instead of failing it."""
    try:
        if not await app.ledger.for_tenant(run.tenant).begin_run(run.id, app.clock()):
            return run
        return await _work_on(app, worker_context, run, progress, stop)
    except StorageError as problem:
        if not app.is_shared:
            raise
        _LOG.warning("storage unavailable, the run is retried: %s", problem, extra={"run": run.id})
        await wait(stop, _RETRY_DELAY_S)
        return run


async def _work_on(app: App, worker_context: WorkerContext, run: Run, progress: Progress, stop: asyncio.Event) -> Run:
    worker_context = worker_context.for_tenant(run.tenant)
    before, run = run.state, await worker_context.ledger.run(run.id) or run
    if run.state is not RunState.RUNNING:  # cancelled before it began
        return run
    if before is RunState.QUEUED:
        await announce_state(worker_context, run.id, run.state)
    progress.max_pages, progress.started_at = run.settings.max_pages, app.clock()
    try:
        async with visit_context(app, run) as context:
            worker = WorkerId(f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}")
            try:
                return await Worker(worker, run, worker_context, context, progress).work(stop)
            except asyncio.CancelledError:
                # Cancelled while draining: release our leases anyway.
                await worker_context.ledger.release(run.id, app.clock(), worker)
                raise
    except (OutOfTime, SessionEnded) as problem:
        error = session_error(problem) if isinstance(problem, SessionEnded) else str(problem)
        await interrupt_run(worker_context, run.id, error)
        raise


def _browser_check(app: App, run: Run) -> Callable[[], bool]:
    """A function that says whether a browser is available; its absence is logged once per run."""
    is_logged = False

    def is_available() -> bool:
        nonlocal is_logged
        if app.browser.is_available():
            return True
        if not is_logged:
            _LOG.info("pages need a browser, but none is available: %s", INSTALL_HINT, extra={"run": run.id})
            is_logged = True
        return False

    return is_available


async def _wake_on_signals(app: App, scheduler: RunScheduler) -> None:
    async with app.worker_context.notifier.subscribe() as subscription:
        while True:
            if await subscription.wait(_RETRY_DELAY_S):
                await scheduler.announce(RunId(""))


async def _screenshots(app: App, run: Run) -> ScreenshotContext:
    media = app.media.for_tenant(run.tenant)
    return ScreenshotContext(media, await media.library.screenshot_folder(run.site))


@asynccontextmanager
async def visit_context(app: App, run: Run) -> AsyncIterator[VisitContext]:
    """The dependencies of the visits of a run, closed at the end."""
    settings, ledger = run.settings, app.ledger.for_tenant(run.tenant)
    sessions = await app.site_sessions.of_run(run.tenant, settings)
    options = read_options_of(settings, with_secrets(app.redaction, sessions), login=bool(sessions))
    save_robots = redacting_saver(ledger.save_robots, redactor_of(options.redaction))
    access = RunAccess(app.access, settings, tuple(sessions))
    if access.insecure:
        _LOG.warning(_INSECURE, extra={"run": run.id})
    client = PoliteClient(settings, app.gate, app.clock, ledger.robots, save_robots, app.fetcher, access)
    fetcher, robots, guard = client.fetcher, client.robots, client.guard
    offer_builder = OfferBuilder(settings, run.wave_hosts, guard.judge_url, access.logged_in_origins)
    navigations = NavigationPolicy(robots, offer_builder, rules_of(settings), options.redaction)
    in_browser = _LazyRenderer(app.browser, settings, guard, navigations.judge, access)
    renderer = PoliteRenderer(in_browser, app.gate, settings, app.clock)

    async def read(response: Response) -> Reading:
        return await app.reader.read(response, context.read_options)

    context = VisitContext(
        settings=settings,
        rules=rules_of(settings),
        first_read_options=options,
        fetcher=fetcher,
        robots=robots,
        reader=app.reader,
        blobs=app.blobs.for_tenant(run.tenant),
        offer_builder=offer_builder,
        probes=Soft404Detector(fetcher.fetch, read, salt=run.id),
        clock=app.clock,
        policy=RenderPolicy(settings, run.site_rendering, _browser_check(app, run)),
        renderer=renderer,
        rendered_probes=Soft404Detector(partial(render_as_fetch, renderer=renderer), read, salt=run.id),
        media=app.media.for_tenant(run.tenant) if settings.media.types else None,
        screenshots=await _screenshots(app, run) if settings.rendering.screenshots else None,
        login_watch=_login_watch(settings, sessions),
        renewed_secrets=access.renewed_secrets,
    )
    try:
        yield context
    finally:
        await context.probes.close()
        await context.rendered_probes.close()
        await renderer.close()
        await client.close()
        for session, renewed in access.renewed_sessions():
            await app.site_sessions.renew(run.tenant, sessions[session], renewed)


def with_secrets(redaction: Redaction, sessions: Iterable[SiteSession]) -> Redaction:
    """Redaction that also removes the values of stored sessions, wherever a page repeats them."""
    secrets = dict.fromkeys((*redaction.secrets, *(secret for session in sessions for secret in session.secrets())))
    return replace(redaction, secrets=tuple(secrets))


def _login_watch(settings: CrawlSettings, sessions: Iterable[SiteSession]) -> LoginWatch | None:
    """Notices that the crawl is logged out; None when it cannot be."""
    known = tuple(session for session in sessions if session.check_url)
    if not known and all(rules.logged_out == LoggedOut() for rules in settings.overrides):
        return None
    from sitelore.crawl.login_watch import LoginWatch  # noqa: PLC0415 few crawls are logged in

    return LoginWatch(known)


class _LazyRenderer:
    """Loads the browser renderer for the first page that needs it: most crawls never do."""

    def __init__(
        self,
        browser: Browser,
        settings: CrawlSettings,
        guard: AddressGuard,
        judge: Callable[[Url], Awaitable[str | None]],
        access: RunAccess,
    ) -> None:
        self._parts = (browser, settings, guard, judge)
        self._access = access
        self._renderer: BrowserRenderer | None = None

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """The page after its scripts ran."""
        if self._renderer is None:
            from sitelore.fetch.browser.renderer import BrowserRenderer  # noqa: PLC0415 see above

            self._renderer = BrowserRenderer(*self._parts, access=self._access)
        return await self._renderer.render(request)

    async def close(self) -> None:
        """Drop the run's cookies and pages."""
        if self._renderer is not None:
            await self._renderer.close()
