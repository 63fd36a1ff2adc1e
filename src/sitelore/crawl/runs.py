"""Creating and scheduling runs: from settings to a run with its first offers, and from queued runs to the workers of a process.

A known site is crawled again by a named pipeline. `index-site` fetches everything again. `update-delta` fetches what has
changed: the URLs that the caller (a webhook) lists, or, without any, the whole site by means of sitemap dates, conditional
requests and content hashes.

The scheduler takes the longest waiting run first, one run per site, several sites in parallel. The ledger is the queue, so a
run that was active when a process died is picked up again. A run that crashes gets a second attempt after a pause, then it
has failed. A cancelled run has already ended in the ledger: its worker is stopped, and its later settlements are rejected by
their fencing tokens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from sitelore import metrics
from sitelore.crawl.context import Progress
from sitelore.extract.redaction.redactor import Redactor, redactor_of
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.api_loader import start_url
from sitelore.model.errors import Interrupted, NoSuchRun, OutOfTime, SessionEnded, UsageError
from sitelore.model.frontier import IdempotencyKey, IdempotentRun, Offer, RowKind, Run, RunListing, Source
from sitelore.model.ids import RunId
from sitelore.model.settings import BUILT_IN_ALONE, CrawlSettings, Pipeline, Redaction
from sitelore.model.states import ACTIVE, ENDED, RunState
from sitelore.model.url import Url
from sitelore.ports import Clock, Ledger, RunQueue

_LOG = logging.getLogger(__name__)

_MAX_RUNS_SEARCHED = 200
_MAX_DIRTY_URLS = 10_000

Crawl = Callable[[Run, Progress, asyncio.Event], Awaitable[Run]]
"""Works on a run until it has ended. Raises `Interrupted` once the event was set and nothing is leased any more, and
`OutOfTime` once its time limit has passed, or `SessionEnded`."""

ATTEMPTS = 2
_POLL_INTERVAL_S = 1.0
_PAUSE_S = 5.0
_DRAIN_S = 28.0
"""How long a worker may take to drain: longer than its own timeout for it, shorter than the 30 s that SIGTERM leaves."""
_LOOKAHEAD_RUNS = 64
"""Runs to load beyond the free slots, because several queued runs may belong to one site."""


def site_name(settings: CrawlSettings) -> str:
    """The name of the run's site: the authority of its first seed or sitemap. Later runs reuse what earlier ones learnt."""
    first = Url.parse((*settings.seeds, *settings.sitemaps)[0])
    assert first is not None  # settings accept only valid URLs as seeds
    return first.authority


def first_offers(settings: CrawlSettings, redaction: Redaction = BUILT_IN_ALONE) -> list[Offer]:
    """Offers for the seeds in order, then the sitemaps, all at depth 0. Raises `UsageError` if a setting holds a secret."""
    refuse_secrets(settings, redactor_of(redaction))
    sources = [(_parse(raw), RowKind.PAGE) for raw in settings.seeds]
    sources += [(_parse(raw), RowKind.SITEMAP) for raw in settings.sitemaps]
    for loader in (loader for override in settings.overrides for loader in override.loaders):
        if (url := start_url(loader)) is not None:
            sources.append((url, RowKind.SITEMAP if loader.record else RowKind.PAGE))
    return [
        Offer(url=url, depth=0, source=Source.SEED, position=position, kind=kind, pattern=url_pattern(url))
        for position, (url, kind) in enumerate(sources)
    ]


async def start_run(ledger: Ledger, settings: CrawlSettings, now: float, redaction: Redaction = BUILT_IN_ALONE) -> Run:
    """Create a run; nothing is fetched yet."""
    if not settings.seeds and not settings.sitemaps:
        raise UsageError("a crawl needs at least one URL or one --sitemap")
    return await ledger.create_run(site_name(settings), settings, first_offers(settings, redaction), now)


async def start_run_once(
    ledger: Ledger, settings: CrawlSettings, key: IdempotencyKey, now: float, redaction: Redaction = BUILT_IN_ALONE
) -> IdempotentRun:
    """Create a run under a caller's idempotency key; repeating the call returns the run created first."""
    return await ledger.create_run_once(key, site_name(settings), settings, first_offers(settings, redaction), now)


async def start_pipeline(
    ledger: Ledger,
    site: str,
    pipeline: Pipeline,
    dirty: Sequence[str],
    now: float,
    redaction: Redaction = BUILT_IN_ALONE,
) -> Run:
    """Create a run of a site that was crawled before."""
    before = await last_crawl(ledger, site)
    settings = pipeline_settings(before, site, pipeline, dirty)
    return await ledger.create_run(site, settings, first_offers(settings, redaction), now)


async def last_crawl(ledger: Ledger, site: str) -> CrawlSettings:
    """The settings of the last run that crawled the whole site."""
    runs, _ = await ledger.list_runs(RunListing(site=site, limit=_MAX_RUNS_SEARCHED))
    for run in runs:
        if run.settings.pipeline is not Pipeline.UPDATE_DELTA:
            return run.settings
    raise NoSuchRun(f"unknown site {site!r}; crawl it first")


def pipeline_settings(before: CrawlSettings, site: str, pipeline: Pipeline, dirty: Sequence[str] = ()) -> CrawlSettings:
    """The settings of a pipeline's run, derived from those of the last crawl."""
    if pipeline is Pipeline.INDEX_SITE:
        if dirty:
            raise UsageError("index-site reads the whole site; URLs belong to update-delta")
        return replace(before, force=True, ttl_s=None, pipeline=pipeline)
    if not dirty:
        return replace(before, force=False, ttl_s=None, pipeline=pipeline)
    if len(dirty) > _MAX_DIRTY_URLS:
        raise UsageError(f"{len(dirty):,} URLs at once; send at most {_MAX_DIRTY_URLS:,}, or none to check the whole site")
    urls = dict.fromkeys(_parse_dirty(raw, site, before) for raw in dirty)
    return replace(
        before,
        seeds=tuple(map(str, urls)),
        overrides=tuple(replace(own, loaders=()) for own in before.overrides),
        sitemaps=(),
        max_depth=0,
        max_pages=None,
        discover_sitemaps=False,
        force=False,
        ttl_s=None,
        pipeline=pipeline,
    )


def _parse(raw: str) -> Url:
    url = Url.parse(raw)
    if url is None:
        raise UsageError(f"{raw[:200]!r} is not an http(s) URL")
    return url


def _parse_dirty(raw: str, site: str, before: CrawlSettings) -> Url:
    """Parse a dirty URL. URLs of other sites are refused, because otherwise a webhook could have anything fetched."""
    url = _parse(raw)
    sources = [source for source in map(Url.parse, (*before.seeds, *before.sitemaps)) if source is not None]
    hosts = {site, *(source.authority for source in sources)}
    if url.authority not in hosts | {f"www.{host}" for host in hosts} | {host.removeprefix("www.") for host in hosts}:
        raise UsageError(f"{url.authority} is not a host of the site {site}")
    return url


def refuse_secrets(settings: CrawlSettings, redactor: Redactor) -> None:
    """Raise `UsageError` if a setting that is stored with the run contains a secret; the message does not repeat it."""
    stored_settings = {
        "a URL to start from": settings.seeds,
        "the address of a sitemap": settings.sitemaps,
        "an include or exclude pattern": (*settings.include, *settings.exclude),
        "the user agent": (settings.user_agent,),
        "a tracking parameter": settings.tracking_parameters,
    }
    for name, texts in stored_settings.items():
        kinds = redactor.count_secrets("\n".join(texts))
        if kinds:
            raise UsageError(f"{name} holds what looks like a secret ({', '.join(kinds)}); it would be kept, so leave it out")


@dataclass(slots=True, eq=False)
class _Job:
    """One active run."""

    run: Run
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    progress: Progress = field(default_factory=Progress)


class RunScheduler:
    """Runs `crawl` for queued runs: at most one per site, and `sites_at_once` in total."""

    def __init__(
        self, queue: RunQueue, ledger: Ledger, clock: Clock, crawl: Crawl, *, sites_at_once: int = 4, pause_s: float = _PAUSE_S
    ) -> None:
        self._queue = queue
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
        for run in await self._queue.workable_runs(self._sites_at_once + _LOOKAHEAD_RUNS, self._clock()):
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
            current = await self._ledger.for_tenant(job.run.tenant).run(job.run.id)
            if current is None or current.state not in ACTIVE:
                job.stop.set()

    def _raise_failures(self) -> None:
        """Remove finished jobs. A job raises only when not even the failure of its run could be stored."""
        for task in [task for task in self._jobs if task.done()]:
            del self._jobs[task]
            if not task.cancelled():
                task.result()

    async def _work_on(self, job: _Job) -> None:
        run = job.run
        ledger = self._ledger.for_tenant(run.tenant)
        extra = {"run": run.id, "site": run.site_name}
        _LOG.info("run started in this process", extra=extra)
        try:
            result = await self._crawl(run, job.progress, job.stop)
        except (Interrupted, OutOfTime, SessionEnded):
            current = await ledger.run(run.id)  # it may have ended before it was stopped
            if current is not None and current.state in ENDED:
                _LOG.info("run ended", extra={**extra, "state": current.state.value})
            else:
                _LOG.info("run stopped", extra=extra)
        except Exception as problem:  # noqa: BLE001 an error in one crawl must not end the other crawls
            _LOG.exception("run crashed", extra=extra)
            error = f"{type(problem).__name__}: {problem}"
            state = await ledger.crash_run(run.id, error, self._clock(), self._pause_s, ATTEMPTS)
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
