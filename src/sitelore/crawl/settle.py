"""Many visits, one transaction. Visits hand their settlements in; they are written together, blobs first.

A batch is written when half of what may be pending has come together, when a short window has passed, or at once when no other
visit is under way that could still join it: a chain of single pages must not pay the window on every page. What a `kill -9`
loses is what was in flight plus what is pending. A transaction costs more than a page in it does, hence the window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

from sitelore.extract.redact import Redactor, add_counts
from sitelore.frontier.admission import HELD_A_SECRET
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.frontier import Hop, Offer, PageFacts, Settlement
from sitelore.model.response import RobotsFile
from sitelore.ports import Blobs, Clock, Ledger

PENDING = 64
_BATCH = PENDING // 2  # the next batch may come together while one is written
_WINDOW_S = 0.4


class Settler:
    """Writes settlements; tells who hands them in what became of them."""

    def __init__(self, ledger: Ledger, blobs: Blobs, clock: Clock, written: Callable[[Settlement, bool], None]) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._clock = clock
        self._on_settled = written
        self._waiting: list[Settlement] = []
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._writing = 0

    @property
    def pending(self) -> int:
        """Settlements that are not yet durable."""
        return len(self._waiting) + self._writing

    @property
    def is_full(self) -> bool:
        """Whether visits should wait: the more is not durable yet, the more a crash would cost."""
        return self.pending >= PENDING

    def add(self, settlement: Settlement) -> None:
        """Take a settlement in; it is durable once `written` was called with it."""
        self._waiting.append(Settlement(settlement.lease, settlement.verdict, settlement.effects, self._clock()))
        self._wake.set()
        if len(self._waiting) >= _BATCH:
            self._hurry.set()

    def hurry(self) -> None:
        """Nothing more will come soon: write what there is."""
        self._hurry.set()

    async def write_forever(self) -> None:
        """The writing loop; cancelled when the worker is done and nothing is pending."""
        while True:
            await self._wake.wait()
            if not self._hurry.is_set():
                try:
                    async with asyncio.timeout(_WINDOW_S):
                        await self._hurry.wait()
                except TimeoutError:
                    pass
            batch, self._waiting = self._waiting[:PENDING], self._waiting[PENDING:]
            if not self._waiting:
                self._wake.clear()
                self._hurry.clear()
            if batch:
                await self._write(batch)

    async def _write(self, batch: list[Settlement]) -> None:
        self._writing = len(batch)
        blobs = {blob.key: blob for settlement in batch for blob in settlement.effects.blobs}
        if blobs:
            await self._blobs.put(list(blobs.values()))
        accepted = await self._ledger.settle(batch)
        self._writing = 0
        for settlement, taken in zip(batch, accepted, strict=True):
            self._on_settled(settlement, taken)


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
