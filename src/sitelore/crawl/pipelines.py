"""Pipelines by name: the same visits, fed differently. A site that was crawled once is looked at again as it was then.

`index-site` reads everything anew. `update-delta` reads what has changed: the URLs that somebody (a webhook) says are dirty,
or, where nobody says so, the whole site through its sitemaps' dates, conditional requests and hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sitelore.crawl.runs import first_offers
from sitelore.model.errors import NoSuchRun, UsageError
from sitelore.model.frontier import Run
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.listing import RunListing
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.settings import CrawlSettings, Pipeline
from sitelore.model.url import Url
from sitelore.ports import Ledger

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
    raise NoSuchRun(f"unknown site {site!r}; crawl it first")


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
