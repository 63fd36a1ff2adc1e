"""Creating runs: from settings to a run with its first offers, and re-crawls of a known site by named pipelines.

Pipeline `index-site` fetches everything again. `update-delta` fetches what has changed: the URLs that the caller (a webhook)
lists, or, without any, the whole site by means of sitemap dates, conditional requests and content hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sitelore.extract.redaction.redactor import Redactor, redactor_of
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.api_loader import start_url
from sitelore.model.errors import NoSuchRun, UsageError
from sitelore.model.frontier import IdempotencyKey, IdempotentRun, Offer, RowKind, Run, RunListing, Source
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.settings import CrawlSettings, Pipeline
from sitelore.model.url import Url
from sitelore.ports import Ledger

_MAX_RUNS_SEARCHED = 200
_MAX_DIRTY_URLS = 10_000


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
        Offer(url=url, depth=0, source=Source.SEED, position=position, kind=kind, shape=url_pattern(url))
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
    tenant: str = DEFAULT_TENANT,
) -> Run:
    """Create a run of a tenant's site that was crawled before."""
    before = await last_crawl(ledger, site, tenant)
    settings = pipeline_settings(before, site, pipeline, dirty)
    return await ledger.create_run(site, settings, first_offers(settings, redaction), now, tenant)


async def last_crawl(ledger: Ledger, site: str, tenant: str = DEFAULT_TENANT) -> CrawlSettings:
    """The settings of the last run that crawled the whole site."""
    runs, _ = await ledger.list_runs(RunListing(site=site, limit=_MAX_RUNS_SEARCHED, tenant=tenant))
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
    fields = {
        "a URL to start from": settings.seeds,
        "the address of a sitemap": settings.sitemaps,
        "an include or exclude pattern": (*settings.include, *settings.exclude),
        "the user agent": (settings.user_agent,),
        "a tracking parameter": settings.tracking_parameters,
    }
    for field, texts in fields.items():
        kinds = redactor.count_secrets("\n".join(texts))
        if kinds:
            raise UsageError(f"{field} holds what looks like a secret ({', '.join(kinds)}); it would be kept, so leave it out")
