"""How a run begins: from what a person asked for to the first rows of its frontier."""

from __future__ import annotations

from sitelore.crawl.redact_settlement import refuse_secrets
from sitelore.extract.redact import redactor_of
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.api_loader import start_url
from sitelore.model.errors import UsageError
from sitelore.model.frontier import Kind, Offer, Run, Source
from sitelore.model.listing import IdempotencyKey, IdempotentRun
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.settings import CrawlSettings
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
