"""Settlements: redact what a visit wants to write, and write many visits in one transaction.

`redact_settlement` is the last check for secrets. Page text is redacted during extraction; URLs, headers, redirect targets,
sitemap entries and error messages are redacted here, with one scan over all strings of a settlement.

`Settler` collects settlements and writes them in batches, blobs first, because a transaction costs more than the rows in it.
A batch is written when it is full, when a short window has passed, or at once when no visit is active that could join it, so
that a chain of single pages does not pay the window for every page. `kill -9` loses only active visits and pending
settlements; their rows are visited again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

from sitelore.extract.redaction.redactor import Redactor, add_counts
from sitelore.frontier.admission import HELD_A_SECRET
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.frontier import Hop, Offer, PageFacts, Settlement
from sitelore.model.response import RobotsFile
from sitelore.ports import Blobs, Clock, Ledger

MAX_PENDING = 64
_BATCH = MAX_PENDING // 2  # the next batch can fill while this one is written
_BATCH_WINDOW_S = 0.4


class Settler:
    """Writes settlements in batches and reports each result to `on_settled`."""

    def __init__(self, ledger: Ledger, blobs: Blobs, clock: Clock, on_settled: Callable[[Settlement, bool], None]) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._clock = clock
        self._on_settled = on_settled
        self._queue: list[Settlement] = []
        self._wake = asyncio.Event()
        self._flush_requested = asyncio.Event()
        self._writing = 0

    @property
    def pending(self) -> int:
        """How many settlements are not yet durable."""
        return len(self._queue) + self._writing

    @property
    def is_full(self) -> bool:
        """Whether new visits should wait, because a crash would lose everything that is pending."""
        return self.pending >= MAX_PENDING

    def add(self, settlement: Settlement) -> None:
        """Queue a settlement. `on_settled` is called once it is durable or was rejected."""
        self._queue.append(Settlement(settlement.lease, settlement.verdict, settlement.effects, self._clock()))
        self._wake.set()
        if len(self._queue) >= _BATCH:
            self._flush_requested.set()

    def flush(self) -> None:
        """Write the queued settlements now instead of waiting for a full batch."""
        self._flush_requested.set()

    async def write_forever(self) -> None:
        """Write batches until cancelled, which the worker does once nothing is pending."""
        while True:
            await self._wake.wait()
            if not self._flush_requested.is_set():
                try:
                    async with asyncio.timeout(_BATCH_WINDOW_S):
                        await self._flush_requested.wait()
                except TimeoutError:
                    pass
            batch, self._queue = self._queue[:MAX_PENDING], self._queue[MAX_PENDING:]
            if not self._queue:
                self._wake.clear()
                self._flush_requested.clear()
            if batch:
                await self._write(batch)

    async def _write(self, batch: list[Settlement]) -> None:
        self._writing = len(batch)
        blobs = {blob.key: blob for settlement in batch for blob in settlement.effects.blobs}
        if blobs:
            await self._blobs.put(list(blobs.values()))
        accepted = await self._ledger.settle(batch)
        self._writing = 0
        for settlement, is_accepted in zip(batch, accepted, strict=True):
            self._on_settled(settlement, is_accepted)


def redact_settlement(settlement: Settlement, redactor: Redactor) -> Settlement:
    """Replace every secret in a settlement by the redaction mark; offered URLs that contain one are refused."""
    joined = "\n".join(_texts(settlement))
    if not redactor.has_secrets(joined):
        return settlement
    verdict, effects = settlement.verdict, settlement.effects
    counts = dict(effects.redactions)
    add_counts(counts, redactor.count_secrets(joined))
    effects = replace(
        effects,
        page=_facts(effects.page, redactor) if effects.page else None,
        offers=tuple(_offer(offer, redactor) for offer in effects.offers),
        alias_of=redactor.redact_url(effects.alias_of) if effects.alias_of else None,
        chain=_chain(effects.chain, redactor),
        redactions=counts,
        joins_host=None if effects.alias_of and redactor.has_secrets(effects.alias_of) else effects.joins_host,
    )
    return replace(
        settlement,
        verdict=replace(verdict, detail=redactor.redact(verdict.detail)[0], error=redactor.redact(verdict.error)[0]),
        effects=effects,
    )


def redacting_saver(
    save: Callable[[RobotsFile], Awaitable[None]], redactor: Redactor
) -> Callable[[RobotsFile], Awaitable[None]]:
    """Wrap `save` so that a robots.txt is stored without secrets."""

    async def save_redacted(file: RobotsFile) -> None:
        await save(replace(file, body=redactor.redact(file.body)[0], detail=redactor.redact(file.detail)[0]))

    return save_redacted


def _texts(settlement: Settlement) -> Iterator[str]:
    """All strings of a settlement that could contain a secret."""
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
    url = redactor.redact_url(offer.url)
    offer = replace(offer, chain=_chain(offer.chain, redactor), detail=redactor.redact(offer.detail)[0])
    if url == offer.url:
        return offer
    return replace(offer, url=url, shape=url_pattern(url), refusal=HELD_A_SECRET[0], detail=HELD_A_SECRET[1])


def _chain(chain: tuple[Hop, ...], redactor: Redactor) -> tuple[Hop, ...]:
    return tuple(Hop(redactor.redact_url(hop.url), hop.status) for hop in chain)


def _facts(page: PageFacts, redactor: Redactor) -> PageFacts:
    """Redact page facts. An ETag or Last-Modified that contains a secret is dropped, because a redacted one never matches."""
    return replace(
        page,
        canonical=redactor.redact_url(page.canonical) if page.canonical else None,
        etag=None if redactor.has_secrets(page.etag or "") else page.etag,
        last_modified=None if redactor.has_secrets(page.last_modified or "") else page.last_modified,
        content_type=redactor.redact(page.content_type)[0],
        identity=redactor.redact(page.identity)[0],
        headers=tuple((name, str(redactor.redact(value)[0])) for name, value in page.headers),
        render=replace(page.render, evidence=tuple(str(redactor.redact(line)[0]) for line in page.render.evidence))
        if page.render
        else None,
    )
