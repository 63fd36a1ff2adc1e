"""The statistics of a run equal a count of its rows at every moment, whatever happened to them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, W1, W2, admit_all, ended, facts, leases, link, redirected, seed, u, visited

from sitelore.model.frontier import (
    Effects,
    Lease,
    Merge,
    Offer,
    ReprocessedPage,
    RowKind,
    Run,
    Settlement,
    Verdict,
    WaveFacts,
    WavePlan,
)
from sitelore.model.ids import DEFAULT_TENANT, BlobKey
from sitelore.model.response import RenderNote, RenderReason
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import Proof, RunState, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.store.engine import Engine
from sitelore.store.ledger import SqlLedger
from sitelore.store.runs.counts import recount
from sitelore.store.tenants import for_tenant


async def check(engine: Engine, run: Run) -> None:
    """The kept statistics equal a new count."""
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    kept = await ledger.counts(run.id)
    await engine.write(for_tenant, recount, DEFAULT_TENANT, run.id)
    assert await ledger.counts(run.id) == kept


def offers_of(chance: random.Random, lease: Lease) -> list[Offer]:
    """Links to new and known URLs; some are refused, some are sitemaps, some have a better place than before."""
    offers = []
    for position in range(chance.randrange(6)):
        refusal = chance.choice([None, None, SkipReason.SCOPE, SkipReason.NOFOLLOW])
        kind = RowKind.SITEMAP if chance.random() < 0.1 else RowKind.PAGE
        offer = link(f"p{chance.randrange(40)}", lease, position, refusal=refusal, kind=kind)
        offers.append(replace(offer, depth=chance.randrange(1, 4), lastmod=chance.choice([None, NOW, NOW + 5])))
    return offers


def outcome(chance: random.Random, lease: Lease) -> Settlement:
    """Any way in which a visit can end."""
    offers = offers_of(chance, lease)
    rendered = replace(facts(f"c{chance.randrange(6)}"), word_count=5, render=RenderNote(RenderReason.ALWAYS))
    page = Effects(page=rendered, offers=tuple(offers), fetched=True, body_bytes=9, changed=chance.choice([None, True, False]))
    endings: list[Callable[[], Settlement]] = [
        lambda: visited(lease, f"c{chance.randrange(6)}", offers, redactions={"rule": 2}, body_bytes=7),
        lambda: Settlement(lease, Verdict(UrlState.VISITED, 200), page, NOW),
        lambda: Settlement(lease, Verdict(UrlState.NOT_MODIFIED, 304), Effects(page=facts("same"), fetched=True), NOW),
        lambda: ended(lease, UrlState.NOT_FOUND, status_code=404),
        lambda: ended(lease, UrlState.FAILED, f"timeout: {chance.random()}"),
        lambda: ended(lease, UrlState.QUEUED, "connection: refused", retry_at=NOW),
        lambda: redirected(lease, u(f"p{chance.randrange(40)}")),
        lambda: Settlement(lease, Verdict(UrlState.SKIPPED, skip_reason=SkipReason.TTL), Effects(page=facts("kept")), NOW),
        lambda: Settlement(lease, Verdict(UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS), Effects(), NOW),
    ]
    return chance.choice(endings)()


def planner(chance: random.Random) -> Callable[[WaveFacts], WavePlan]:
    """Admit most candidates, give some up as traps, merge pages of equal content into the first one."""

    def plan(wave: WaveFacts) -> WavePlan:
        trapped = {one.url: "why" for one in wave.candidates if chance.random() < 0.15}
        first: dict[str, Url] = {}
        merges = []
        for page in sorted((*wave.settled, *wave.related), key=lambda page: page.seq):
            into = first.setdefault(page.content_hash, page.url)
            if into != page.url:
                merges.append(Merge(page.url, into, Proof.EQUAL_CONTENT))
        admitted = tuple(one.url for one in wave.candidates if one.url not in trapped)
        return WavePlan(tuple(merges), admitted, tuple(trapped.items()))

    return plan


@pytest.mark.parametrize("number", range(4))
async def test_the_statistics_of_a_run_equal_a_count_of_its_rows(database: Database, number: int) -> None:
    chance = random.Random(number)
    engine = await database.engine()
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    offers = [seed(f"p{n}", n) for n in range(12)] + [seed("sitemap.xml", 12, kind=RowKind.SITEMAP)]
    run = await ledger.create_run("site", CrawlSettings(seeds=("http://site.test/",)), offers, NOW)
    await check(engine, run)
    await ledger.begin_run(run.id, NOW)
    await ledger.open_wave(run.id, 0, admit_all)
    for step in range(30):
        wave = await ledger.run(run.id)
        assert wave is not None
        held = await leases(ledger, run, chance.choice((W1, W2)), chance.randrange(1, 5))
        await check(engine, run)
        settlements = [outcome(chance, lease) for lease in held]
        assert all(await ledger.settle(settlements))
        assert not any(await ledger.settle(settlements)), "a second settlement of a lease changes nothing"
        if step % 7 == 3:
            await leases(ledger, run, W2, 2)
            await ledger.release(run.id, NOW, W2)
        if not held:
            await ledger.open_wave(run.id, wave.wave, planner(chance))
        await check(engine, run)
    kept = [row async for row in ledger.rows(run.id) if row.document is not None]
    assert len(kept) > 5
    words = replace(facts("again"), word_count=123)
    await ledger.replace_documents(
        run.id,
        [
            ReprocessedPage(kept[0].url, BlobKey(str(kept[0].document)), words),
            ReprocessedPage(kept[1].url, BlobKey("x"), words),
        ],
    )
    await check(engine, run)
    await ledger.end_run(run.id, chance.choice((RunState.COMPLETED, RunState.CANCELLED)), NOW)
    await check(engine, run)
    counts = await ledger.counts(run.id)
    assert sum(counts.states.values()) == counts.urls == len([row async for row in ledger.rows(run.id)])
