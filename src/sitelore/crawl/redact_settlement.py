"""The last look at what a visit changes before it is written: no secret in an address, a header or an error gets past it.

Pages are redacted where they are read. What comes by other ways (redirects, headers, sitemaps, robots.txt, what a failure says)
is looked at here, all strings of a settlement in one scan; most settlements cost that and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

from sitelore.extract.redact import Redactor, add_counts
from sitelore.frontier.admission import HELD_A_SECRET
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.errors import UsageError
from sitelore.model.frontier import Hop, Offer, PageFacts, Settlement
from sitelore.model.response import RobotsFile
from sitelore.model.settings import CrawlSettings


def redact_settlement(settlement: Settlement, redactor: Redactor) -> Settlement:
    """The same settlement, with the mark in place of every secret; addresses that held one are refused."""
    joined = "\n".join(_texts(settlement))
    if not redactor.holds(joined):
        return settlement
    verdict, effects = settlement.verdict, settlement.effects
    counts = dict(effects.redactions)
    add_counts(counts, redactor.kinds_in(joined))
    effects = replace(
        effects,
        page=_facts(effects.page, redactor) if effects.page else None,
        offers=tuple(_offer(offer, redactor) for offer in effects.offers),
        alias_of=redactor.url(effects.alias_of) if effects.alias_of else None,
        chain=_chain(effects.chain, redactor),
        redactions=counts,
        joins_host=None if effects.alias_of and redactor.holds(effects.alias_of) else effects.joins_host,
    )
    return replace(
        settlement,
        verdict=replace(verdict, detail=redactor.text(verdict.detail)[0], error=redactor.text(verdict.error)[0]),
        effects=effects,
    )


def saving_cleared(
    save: Callable[[RobotsFile], Awaitable[None]], redactor: Redactor
) -> Callable[[RobotsFile], Awaitable[None]]:
    """Keeps a robots.txt without its secrets."""

    async def save_cleared(file: RobotsFile) -> None:
        await save(replace(file, body=redactor.text(file.body)[0], detail=redactor.text(file.detail)[0]))

    return save_cleared


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


def _texts(settlement: Settlement) -> Iterator[str]:
    verdict, effects = settlement.verdict, settlement.effects
    yield verdict.detail
    yield verdict.error
    if effects.alias_of is not None:
        yield effects.alias_of
    for hop in effects.chain:
        yield hop.url
    for offer in effects.offers:
        yield offer.url
        if offer.detail:
            yield offer.detail
    page = effects.page
    if page is not None:
        yield from (page.canonical or "", page.etag or "", page.last_modified or "", page.content_type, page.identity)
        for _, value in page.headers:
            yield value
        if page.render is not None:
            yield from page.render.evidence


def _offer(offer: Offer, redactor: Redactor) -> Offer:
    url = redactor.url(offer.url)
    offer = replace(offer, chain=_chain(offer.chain, redactor), detail=redactor.text(offer.detail)[0])
    if url == offer.url:
        return offer
    return replace(offer, url=url, shape=url_pattern(url), refusal=HELD_A_SECRET[0], detail=HELD_A_SECRET[1])


def _chain(chain: tuple[Hop, ...], redactor: Redactor) -> tuple[Hop, ...]:
    return tuple(Hop(redactor.url(hop.url), hop.status) for hop in chain)


def _facts(page: PageFacts, redactor: Redactor) -> PageFacts:
    """A validator without its secret is no validator: it goes."""
    return replace(
        page,
        canonical=redactor.url(page.canonical) if page.canonical else None,
        etag=None if redactor.holds(page.etag or "") else page.etag,
        last_modified=None if redactor.holds(page.last_modified or "") else page.last_modified,
        content_type=redactor.text(page.content_type)[0],
        identity=redactor.text(page.identity)[0],
        headers=tuple((name, str(redactor.text(value)[0])) for name, value in page.headers),
        render=replace(page.render, evidence=tuple(str(redactor.text(told)[0]) for told in page.render.evidence))
        if page.render
        else None,
    )
