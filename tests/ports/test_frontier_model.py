"""Whole crawls through the ledger, under random interleavings and crashes, against a simulation in plain Python."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, all_rows, begin, facts, seed, u

from sitelore.frontier.prefetch import BET_SHARE, allowed_bets, pages_in_sight, prefetch_targets
from sitelore.model.frontier import (
    Effects,
    Hop,
    KeptPage,
    Lease,
    Merge,
    Offer,
    PrefetchFacts,
    PrefetchTarget,
    Settlement,
    Source,
    Verdict,
    WaveFacts,
    WavePlan,
)
from sitelore.model.ids import RunId, WorkerId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import Proof, UrlState
from sitelore.model.url import Url
from sitelore.store.ledger import SqlLedger

PAGES = 50
MAX_DEPTH = 6
MAX_HOPS = 5


@dataclass(frozen=True)
class Site:
    """Each number is a page with links and content, a redirect, or missing."""

    redirects: dict[int, int]
    missing: set[int]
    links: dict[int, list[int]]
    contents: dict[int, str]


def make_site(number: int) -> Site:
    rng = random.Random(number)
    redirects = {n: rng.randrange(PAGES) for n in range(1, PAGES) if rng.random() < 0.15}
    missing = {n for n in range(1, PAGES) if n not in redirects and rng.random() < 0.1}
    links = {n: [rng.randrange(PAGES) for _ in range(rng.randrange(1, 6))] for n in range(PAGES)}
    contents = {n: f"c{rng.randrange(12)}" if rng.random() < 0.25 else f"own{n}" for n in range(PAGES)}
    return Site(redirects, missing, links, contents)


Outcome = dict[int, tuple[str, int | None, int, int | None, int | None]]
"""By page: state, seq, depth, parent, where it leads."""


@dataclass
class Row:
    rank: tuple[int, ...]
    depth: int
    parent: int | None
    chain: tuple[int, ...] = ()
    state: str = "DISCOVERED"
    seq: int | None = None
    leads: int | None = None


@dataclass
class Simulation:
    """A simulated crawl without databases, batches or crashes: one row after the other, in order."""

    site: Site
    budget: int
    rows: dict[int, Row] = field(default_factory=dict)
    next_seq: int = 1

    def offer(self, page: int, row: Row) -> None:
        current = self.rows.get(page)
        if current is None or (current.state == "DISCOVERED" and row.rank < current.rank):
            self.rows[page] = row

    def visit(self, page: int) -> None:
        row = self.rows[page]
        assert row.seq is not None
        if page in self.site.missing:
            row.state = "NOT_FOUND"
        elif page in self.site.redirects:
            target = self.site.redirects[page]
            if target in (page, *row.chain) or len(row.chain) >= MAX_HOPS:
                row.state = "FAILED"
                return
            row.state, row.leads = "ALIAS", target
            self.offer(target, Row((row.depth, 0, row.seq, 0), row.depth, page, (*row.chain, page)))
        else:
            row.state, row.leads = "VISITED", page
            for position, target in enumerate(self.site.links[page]) if row.depth < MAX_DEPTH else ():
                self.offer(target, Row((row.depth + 1, 1, row.seq, position), row.depth + 1, page))

    def merge(self) -> None:
        first: dict[str, int] = {}
        for page in sorted((p for p, r in self.rows.items() if r.state == "VISITED"), key=lambda p: self.rows[p].seq or 0):
            stays = first.setdefault(self.site.contents[page], page)
            if stays != page:
                self.rows[page].state, self.rows[page].leads = "ALIAS", stays

    def crawl(self) -> Outcome:
        self.offer(0, Row((0, 0, 0, 0), 0, None))
        while wave := self._next_wave():
            for page in wave:
                self.rows[page].state, self.rows[page].seq = "QUEUED", self.next_seq
                self.next_seq += 1
            for page in wave:
                self.visit(page)
            self.merge()
        for row in self.rows.values():
            row.state = "SKIPPED" if row.state == "DISCOVERED" else row.state
        for page in [page for page in self.rows if self._is_in_circle(page)]:  # all found before any is changed
            self.rows[page].state = "FAILED"
        return {page: (row.state, row.seq, row.depth, row.parent, self._end(page)) for page, row in self.rows.items()}

    def _next_wave(self) -> list[int]:
        kept = sum(row.state == "VISITED" for row in self.rows.values())
        waiting = [page for page, row in self.rows.items() if row.state == "DISCOVERED"]
        if not waiting:
            return []
        reached = max((row.depth for row in self.rows.values() if row.seq is not None), default=0)
        depth = max(reached, min(self.rows[page].depth for page in waiting))
        wave = sorted((page for page in waiting if self.rows[page].depth <= depth), key=lambda page: self.rows[page].rank)
        return wave[: self.budget - kept]

    def _is_in_circle(self, page: int) -> bool:
        at: int | None = page
        for _ in self.rows:
            row = self.rows.get(page if at is None else at)
            at = row.leads if row is not None and row.state == "ALIAS" else None
            if at is None or at == page:
                break
        return at == page

    def _end(self, page: int) -> int | None:
        row = self.rows[page]
        if row.state not in {"ALIAS", "VISITED"}:
            return None
        while row.state == "ALIAS" and row.leads is not None and self.rows[row.leads].state == "ALIAS":
            row = self.rows[row.leads]
        return row.leads


def merge_equal_content(wave: WaveFacts) -> tuple[Merge, ...]:
    first: dict[str, KeptPage] = {}
    merges = []
    for one in sorted((*wave.related, *wave.settled), key=lambda kept: kept.seq):
        stays = first.setdefault(one.content_hash, one)
        if stays is not one:
            merges.append(Merge(one.url, stays.url, Proof.EQUAL_CONTENT))
    return tuple(merges)


def settlement(site: Site, lease: Lease, rng: random.Random) -> Settlement:
    page = int(lease.url.path[1:])
    if page in site.missing:
        return Settlement(lease, Verdict(UrlState.NOT_FOUND, 404), Effects(fetched=True), NOW)
    if page in site.redirects:
        target = u(str(site.redirects[page]))
        if target in (lease.url, *(hop.url for hop in lease.chain)) or len(lease.chain) >= MAX_HOPS:
            return Settlement(lease, Verdict(UrlState.FAILED, error="redirect_loop: again"), Effects(fetched=True), NOW)
        chain = (*lease.chain, Hop(lease.url, 301))
        offer = Offer(target, lease.depth, Source.REDIRECT, lease.url, lease.seq, chain=chain)
        return Settlement(lease, Verdict(UrlState.ALIAS, 301), Effects(offers=(offer,), alias_of=target, fetched=True), NOW)
    offers = [
        Offer(u(str(target)), lease.depth + 1, Source.LINK, lease.url, lease.seq, position)
        for position, target in enumerate(site.links[page])
    ]
    offers = [offer for offer in offers for _ in range(rng.choice([1, 1, 2]))] if lease.depth < MAX_DEPTH else []
    rng.shuffle(offers)
    effects = Effects(page=facts(site.contents[page]), offers=tuple(offers), fetched=True)
    return Settlement(lease, Verdict(UrlState.VISITED, 200), effects, NOW)


@dataclass
class Ahead:
    """What the workers of a crawl have fetched ahead of its admission, by worker."""

    held: dict[WorkerId, dict[Url, Lease]] = field(default_factory=dict)
    certain: set[Url] = field(default_factory=set)
    bets: set[Url] = field(default_factory=set)
    fetched: Counter[Url] = field(default_factory=Counter)
    """Requests for each URL, ahead or not."""


async def crawl(database: Database, site: Site, budget: int, interleaving: int, ahead: Ahead | None = None) -> Outcome:
    """Several ledgers over one database; leases get lost, late and repeated settlements arrive."""
    rng = random.Random(interleaving)
    ledgers = [await database.ledger() for _ in range(2)]
    settings = CrawlSettings(seeds=("http://site.test/",), max_pages=budget, detect_traps=False)
    # Each crawl is of a site of its own: only one run of a site is RUNNING.
    run = await begin(ledgers[0], seed("0"), site=f"site {budget} {interleaving} {ahead is None}", settings=settings)
    await ledgers[0].begin_run(run.id, NOW)
    stale: list[Settlement] = []
    wave, now = 0, NOW

    def plan(wave: WaveFacts) -> WavePlan:
        merges = merge_equal_content(wave)
        left = budget - (wave.kept - len(merges))
        return WavePlan(merges, tuple(one.url for one in wave.candidates[:left]), exhausted=left <= 0)

    while True:
        opened = await rng.choice(ledgers).open_wave(run.id, wave, plan)
        assert opened is not None
        if not opened.admitted:
            break
        wave = opened.wave
        while (pulse := await ledgers[0].queue_stats(run.id, now)).ready or pulse.in_progress:
            if ahead is not None:
                await _fetch_ahead(rng.choice(ledgers), site, run.id, rng, ahead, now)
            now = await _one_step(rng.choice(ledgers), site, run.id, rng, stale, now, ahead)
    assert await ledgers[0].settle(stale) == [False] * len(stale)
    await ledgers[0].finish_rows(run.id, now)
    rows = await all_rows(ledgers[0], run.id)
    return {
        int(url.path[1:]): (
            row.state.value, row.seq, row.depth, None if row.parent is None else int(row.parent.path[1:]),
            None if row.final_url is None else int(row.final_url.path[1:]),
        )
        for url, row in rows.items()
    }  # fmt: skip


async def _fetch_ahead(ledger: SqlLedger, site: Site, run: RunId, rng: random.Random, ahead: Ahead, now: float) -> None:
    """A worker fetches some of the candidates that it may fetch ahead, and links of pages that it holds; sometimes it loses all
    that it holds.
    """
    worker = WorkerId(f"w{rng.randrange(3)}")
    own = ahead.held.setdefault(worker, {})
    if rng.random() < 0.1:
        await ledger.release(run, now, worker)
        own.clear()
    facts = await ledger.prefetch_facts(run, now, ())
    assert facts is not None
    targets = [target for target in prefetch_targets(facts) if rng.random() < 0.5 and target.url not in own]
    targets += _links_to_bet_on(site, facts, own, targets)
    for lease in await ledger.start_prefetches(run, worker, targets, now, 1_000.0):
        assert not any(lease.url in held for held in ahead.held.values()), "two workers fetch one page"
        own[lease.url] = lease
        ahead.fetched[lease.url] += 1
    for target in targets:
        if target.url in own:
            (ahead.bets if target.is_bet else ahead.certain).add(target.url)


def _links_to_bet_on(
    site: Site, facts: PrefetchFacts, own: dict[Url, Lease], targets: list[PrefetchTarget]
) -> list[PrefetchTarget]:
    """Links of pages that a worker holds, as many as it may fetch besides `targets`."""
    bets = facts.bets + sum(target.is_bet for target in targets)
    taken = {target.url for target in targets}.union(own)
    links: dict[Url, PrefetchTarget] = {}
    for lease in own.values():
        page = int(lease.url.path[1:])
        for number in site.links[page] if page not in site.missing and page not in site.redirects else ():
            url, depth = u(str(number)), lease.depth + 1
            in_sight = pages_in_sight(facts) + bets + len(links)
            if url not in taken and depth <= MAX_DEPTH and allowed_bets(facts.settings, in_sight, bets + len(links)) > 0:
                links.setdefault(url, PrefetchTarget(url, depth, is_bet=True))
    return list(links.values())


async def _one_step(
    ledger: SqlLedger, site: Site, run: RunId, rng: random.Random, stale: list[Settlement], now: float, ahead: Ahead | None
) -> float:
    worker = WorkerId(f"w{rng.randrange(3)}")
    held = await ledger.claim(run, worker, rng.randrange(1, 7), now, 10.0)
    if ahead is not None:
        own = ahead.held.get(worker, {})
        for other, theirs in ahead.held.items():
            assert other == worker or not any(lease.url in theirs for lease in held), "claimed what another worker holds"
        used = [lease.url for lease in held if own.pop(lease.url, None)]
        await ledger.end_prefetches(run, worker, used, are_used=True)
        ahead.fetched.update(lease.url for lease in held if lease.url not in used)
    rng.shuffle(held)
    lost = [lease for lease in held if rng.random() < 0.2]
    done = [settlement(site, lease, rng) for lease in held if lease not in lost]
    late = [settlement(site, lease, rng) for lease in lost]
    cut = rng.randrange(len(done) + 1)
    for batch in (done[:cut], done[cut:]):
        assert await ledger.settle([*batch, *rng.sample(stale, min(2, len(stale)))]) == [True] * len(batch) + [False] * min(
            2, len(stale)
        )
        stale += batch
    if lost or not held:
        now += 10.0
        await ledger.release(run, now)
        stale += late
    return now


@pytest.mark.parametrize("number", range(3))
async def test_fetching_ahead_changes_nothing_and_wastes_no_certain_fetch(database: Database, number: int) -> None:
    site = make_site(number)
    for budget in (1, 7, 20, 30, 40, 1000):
        expected = Simulation(site, budget).crawl()
        ahead = Ahead()
        assert await crawl(database, site, budget, number, ahead) == expected
        admitted = {u(str(page)) for page, row in expected.items() if row[1] is not None}
        assert ahead.certain <= admitted
        assert len(ahead.fetched.keys() - admitted) <= budget * BET_SHARE
        assert ahead.certain or budget < 20  # so that the test cannot pass without fetching ahead
        assert ahead.bets or budget < 1000  # nor without bets


async def test_bets_that_a_killed_worker_lost_still_count(database: Database) -> None:
    ledger = await database.ledger()
    settings = CrawlSettings(seeds=("http://site.test/",), max_pages=100)
    run = await begin(ledger, seed("0"), site="bets", settings=settings)
    await ledger.begin_run(run.id, NOW)
    worker = WorkerId("w1")
    targets = [PrefetchTarget(u(str(number)), 1, is_bet=True) for number in range(1, 4)]
    await ledger.start_prefetches(run.id, worker, targets, NOW, 10.0)
    await ledger.end_prefetches(run.id, worker, [targets[0].url], are_used=True)
    assert await _bets(ledger, run.id, NOW) == 2
    assert await _bets(ledger, run.id, NOW + 20.0) == 2  # expired, and not yet released
    await ledger.release(run.id, NOW + 20.0)
    assert await _bets(ledger, run.id, NOW + 20.0) == 2


async def _bets(ledger: SqlLedger, run: RunId, now: float) -> int:
    facts = await ledger.prefetch_facts(run, now, ())
    assert facts is not None
    return facts.bets


@pytest.mark.parametrize("number", range(3))
async def test_a_crawl_matches_its_simulation_under_any_interleaving_and_crash(database: Database, number: int) -> None:
    site = make_site(number)
    for budget in (7, 1000):
        expected = Simulation(site, budget).crawl()
        assert sum(row[0] == "VISITED" for row in expected.values()) <= budget
        for interleaving in range(2):
            assert await crawl(database, site, budget, interleaving) == expected
