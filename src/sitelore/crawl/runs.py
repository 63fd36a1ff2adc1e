"""How a run begins: from what a person asked for to the first rows of its frontier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sitelore.extract.redact import Redactor, redactor_of
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.api_loader import start_url
from sitelore.model.errors import NoSuchRun, UsageError
from sitelore.model.frontier import Kind, Offer, Run, Source
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.listing import IdempotencyKey, IdempotentRun, RunListing
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.settings import CrawlSettings, Pipeline
from sitelore.model.url import Url
from sitelore.ports import Ledger


def site_name(settings: CrawlSettings) -> str:
    """The site a run belongs to: the authority of what was named first. Later runs of it learn from earlier ones."""
    first = Url.parse((*settings.seeds, *settings.sitemaps)[0])
    assert first is not None  # seeds were URLs when the settings were made
    return first.authority


def first_offers(settings: CrawlSettings, redaction: Redaction = BUILT_IN_ALONE) -> list[Offer]:
    """Seeds in the order given, then sitemaps, all at depth 0. Raises `UsageError` where a secret stands in what was asked."""
    refuse_secrets(settings, redactor_of(redaction))
    offers: list[Offer] = []
    for kind, typed in ((Kind.PAGE, settings.seeds), (Kind.SITEMAP, settings.sitemaps)):
        for raw in typed:
            url = Url.parse(raw)
            if url is None:
                raise UsageError(f"{raw!r} is not an http(s) URL")
            offers.append(Offer(url=url, depth=0, source=Source.SEED, position=len(offers), kind=kind, shape=url_pattern(url)))
    for loader in (loader for own in settings.overrides for loader in own.loaders):
        if (url := start_url(loader)) is not None:
            kind = Kind.SITEMAP if loader.record else Kind.PAGE
            offers.append(Offer(url=url, depth=0, source=Source.SEED, position=len(offers), kind=kind, shape=url_pattern(url)))
    return offers


async def start_run(ledger: Ledger, settings: CrawlSettings, now: float, redaction: Redaction = BUILT_IN_ALONE) -> Run:
    """Create a run; nothing is fetched yet."""
    if not settings.seeds and not settings.sitemaps:
        raise UsageError("a crawl needs at least one URL or one --sitemap")
    return await ledger.create_run(site_name(settings), settings, first_offers(settings, redaction), now)


async def start_run_once(
    ledger: Ledger, settings: CrawlSettings, once: IdempotencyKey, now: float, redaction: Redaction = BUILT_IN_ALONE
) -> IdempotentRun:
    """The same under a caller's key: asking again gives the run that was made before."""
    return await ledger.create_run_once(once, site_name(settings), settings, first_offers(settings, redaction), now)


_LOOKED_AT = 200
MOST_DIRTY = 10_000


async def start_pipeline(
    ledger: Ledger,
    site: str,
    pipeline: Pipeline,
    dirty: Sequence[str],
    now: float,
    redaction: Redaction = BUILT_IN_ALONE,
    tenant: str = DEFAULT_TENANT,
) -> Run:
    """A new run of a tenant's site that was crawled before."""
    before = await last_crawl(ledger, site, tenant)
    settings = pipeline_settings(before, site, pipeline, dirty)
    return await ledger.create_run(site, settings, first_offers(settings, redaction), now, tenant)


async def last_crawl(ledger: Ledger, site: str, tenant: str = DEFAULT_TENANT) -> CrawlSettings:
    """What was asked for when the whole site was last crawled."""
    runs, _ = await ledger.list_runs(RunListing(site=site, limit=_LOOKED_AT, tenant=tenant))
    for run in runs:
        if run.settings.pipeline is not Pipeline.UPDATE_DELTA:
            return run.settings
    raise NoSuchRun(f"no site is called {site!r}; crawl it once, then its pipelines work")


def pipeline_settings(before: CrawlSettings, site: str, pipeline: Pipeline, dirty: Sequence[str] = ()) -> CrawlSettings:
    """The settings of a pipeline's run."""
    if pipeline is Pipeline.INDEX_SITE:
        if dirty:
            raise UsageError("index-site reads the whole site; URLs belong to update-delta")
        return replace(before, force=True, ttl_s=None, pipeline=pipeline)
    if not dirty:
        return replace(before, force=False, ttl_s=None, pipeline=pipeline)
    if len(dirty) > MOST_DIRTY:
        raise UsageError(f"{len(dirty):,} URLs at once; send at most {MOST_DIRTY:,}, or none to look at the whole site")
    urls = dict.fromkeys(_of_site(raw, site, before) for raw in dirty)
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


def _of_site(raw: str, site: str, before: CrawlSettings) -> Url:
    """A dirty URL; one of another site is refused, or a webhook could have anything fetched."""
    url = Url.parse(raw)
    if url is None:
        raise UsageError(f"{raw[:200]!r} is not an http(s) URL")
    named = [known for known in map(Url.parse, (*before.seeds, *before.sitemaps)) if known is not None]
    hosts = {site, *(known.authority for known in named)}
    if url.authority not in hosts | {f"www.{host}" for host in hosts} | {host.removeprefix("www.") for host in hosts}:
        raise UsageError(f"{url.authority} is not a host of the site {site}")
    return url


def refuse_secrets(settings: CrawlSettings, redactor: Redactor) -> None:
    """What a person asks for is kept with the run: a secret in it is refused before, in words that do not repeat it."""
    asked = {
        "a URL to start from": settings.seeds,
        "the address of a sitemap": settings.sitemaps,
        "an include or exclude pattern": (*settings.include, *settings.exclude),
        "the user agent": (settings.user_agent,),
        "a tracking parameter": settings.tracking_parameters,
    }
    for what, texts in asked.items():
        kinds = redactor.kinds_in("\n".join(texts))
        if kinds:
            raise UsageError(f"{what} holds what looks like a secret ({', '.join(kinds)}); it would be kept, so leave it out")
