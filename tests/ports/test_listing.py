"""Lists with totals, and runs created under an idempotency key, over both databases."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from tests.ports.conftest import Database

from sitelore.crawl.runs import first_offers, start_run
from sitelore.model.frontier import (
    Effects,
    IdempotencyKey,
    Lease,
    Offer,
    PageUpdate,
    Run,
    RunListing,
    RunOrder,
    Settlement,
    Source,
    UrlListing,
    UrlOrder,
    Verdict,
    WaveFacts,
    WavePlan,
)
from sitelore.model.ids import BlobKey, CleanText, WorkerId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.runs.listing import EDGES_PER_PAGE, IDEMPOTENCY_KEY_TTL_S

NOW = 1_700_000_000.0
SETTINGS = CrawlSettings(seeds=("https://site.example/",))
SEED = Url.trusted("https://site.example/")


def _admit_all(facts: WaveFacts) -> WavePlan:
    return WavePlan(admit=tuple(one.url for one in facts.candidates))


async def _crawled(ledger: SqlLedger, links: int) -> Run:
    """A run whose seed links to this many pages; every second one was visited, the others are queued."""
    run = await start_run(ledger, SETTINGS, NOW)
    await ledger.move_run(run.id, RunState.RUNNING, NOW)
    await ledger.open_wave(run.id, 0, _admit_all)
    [lease] = await ledger.claim(run.id, WorkerId("w"), 10, NOW, 60)
    offers = tuple(
        Offer(Url.trusted(f"{SEED}{number:05}"), 1, Source.LINK, parent=SEED, parent_seq=1, position=number)
        for number in range(links)
    )
    done = Verdict(UrlState.VISITED, 200)
    await ledger.settle([Settlement(lease, done, Effects(offers=offers, fetched=True), at=NOW)])
    await ledger.open_wave(run.id, 1, _admit_all)
    leases = await ledger.claim(run.id, WorkerId("w"), links // 2, NOW, 60)
    await ledger.settle(
        [Settlement(lease, done, Effects(_page(lease), fetched=True), at=NOW + 1000 - lease.seq) for lease in leases]
    )  # the later admitted, the earlier fetched: the two orders differ
    return run


def _page(lease: Lease) -> PageUpdate:
    """A page whose title is in upper case for every second URL, and empty for the third."""
    title = "" if lease.seq == 3 else f"Title {lease.seq * 7 % 10}"
    hashed = str(lease.seq)
    return PageUpdate(CleanText(title.upper() if lease.seq % 2 else title), hashed, hashed, BlobKey(hashed.rjust(64, "0")))


@pytest.mark.parametrize("order", UrlOrder)
@pytest.mark.parametrize("descending", [False, True])
async def test_a_list_is_sorted_with_rows_without_a_value_last(ledger: SqlLedger, order: UrlOrder, descending: bool) -> None:
    run = await _crawled(ledger, 10)
    listing = UrlListing(order=order, descending=descending, limit=100)
    rows, total = await ledger.list_run_urls(run.id, listing)
    assert total == len(rows) == 11
    values = [
        {
            UrlOrder.ID: row.seq,
            UrlOrder.VISITED_AT: row.fetched_at,
            UrlOrder.UPDATED_AT: row.fetched_at,
            UrlOrder.NORMALIZED_URL: str(row.url),
            UrlOrder.DEPTH: row.depth,
            UrlOrder.TITLE: (row.title or "").lower() or None,
        }[order]
        for row in rows
    ]
    known: list[float | str] = [value for value in values if value is not None]
    assert values[: len(known)] == known == sorted(known, reverse=descending)
    parts = [(await ledger.list_run_urls(run.id, replace(listing, limit=3, offset=offset)))[0] for offset in range(0, 11, 3)]
    assert [row.url for part in parts for row in part] == [row.url for row in rows]


async def test_a_list_has_the_requested_states_only(ledger: SqlLedger) -> None:
    run = await _crawled(ledger, 10)
    visited, total = await ledger.list_run_urls(run.id, UrlListing(frozenset({UrlState.VISITED}), limit=2))
    assert (len(visited), total) == (2, 6)
    both = frozenset({UrlState.VISITED, UrlState.QUEUED})
    assert (await ledger.list_run_urls(run.id, UrlListing(both)))[1] == 11
    assert await ledger.list_run_urls(run.id, UrlListing(frozenset({UrlState.FAILED}))) == ([], 0)
    assert await ledger.list_run_urls(run.id, UrlListing(offset=11)) == ([], 11)


async def test_edges_lead_from_the_page_a_url_was_found_on(ledger: SqlLedger) -> None:
    run = await _crawled(ledger, EDGES_PER_PAGE + 3)
    edges = [edge async for edge in ledger.edges(run.id)]
    assert len(edges) == EDGES_PER_PAGE + 3
    assert {edge.parent for edge in edges} == {SEED}
    assert [edge.url for edge in edges] == sorted(edge.url for edge in edges)


async def test_urls_are_listed_as_they_were_found_each_after_its_parent(ledger: SqlLedger) -> None:
    run = await _crawled(ledger, 5)
    listed = await ledger.found_urls(run.id, 100)
    assert [each.url for each in listed] == [str(SEED), *(f"{SEED}{number:05}" for number in range(5))]
    assert [each.parent for each in listed] == [None, *[listed[0].id] * 5]
    assert [each.state for each in listed].count("VISITED") == 3
    assert await ledger.found_urls(run.id, 2) == listed[:2]


async def test_counts_of_a_list_without_filters_are_those_of_its_rows(ledger: SqlLedger) -> None:
    run = await _crawled(ledger, 10)
    rows, _ = await ledger.list_run_urls(run.id, UrlListing(limit=100))
    states = Counter(row.state.value for row in rows)
    assert (await ledger.url_facets(run.id, UrlListing())).states == states
    assert (await ledger.url_facets(run.id, UrlListing(text="SITE.example"))).states == states
    visited = frozenset({UrlState.VISITED})
    assert (await ledger.url_facets(run.id, UrlListing(visited))).states == states


async def test_runs_of_equally_named_sites_of_two_tenants_are_listed_apart(database: Database) -> None:
    settings = CrawlSettings(seeds=("https://a.example/",))
    first, second, empty = await database.tenants("one", "two", "three")
    for at, ledger in enumerate((first, second)):
        run = await ledger.create_run("a.example", settings, (), NOW + at)
        runs, total = await ledger.list_runs(RunListing(site="a.example"))
        assert ([listed.id for listed in runs], total) == ([run.id], 1)
    assert await empty.list_runs(RunListing()) == ([], 0)


async def test_runs_are_listed_and_counted_by_state_and_site(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    sites = ("a.example", "b.example", "a.example")
    runs = [await start_run(ledger, CrawlSettings(seeds=(f"https://{site}/",)), NOW + at) for at, site in enumerate(sites)]
    await ledger.move_run(runs[0].id, RunState.CANCELLED, NOW)
    newest, total = await ledger.list_runs(RunListing(limit=2))
    assert ([run.id for run in newest], total) == ([runs[2].id, runs[1].id], 3)
    oldest, _ = await ledger.list_runs(RunListing(oldest_first=True, limit=1))
    assert oldest[0].id == runs[0].id
    of_a, total = await ledger.list_runs(RunListing(site="a.example", states=frozenset({RunState.QUEUED})))
    assert ([run.id for run in of_a], total) == ([runs[2].id], 1)
    assert await queue.runs_by_state() == {"CANCELLED": 1, "QUEUED": 2}
    assert await ledger.count_runs() == {"CANCELLED": 1, "QUEUED": 2}
    assert await ledger.count_runs("A.EX") == {"CANCELLED": 1, "QUEUED": 1}
    named, total = await ledger.list_runs(RunListing(text="b.exa"))
    assert ([run.id for run in named], total) == ([runs[1].id], 1)
    assert (await ledger.list_runs(RunListing(text="%")))[1] == 0


async def test_runs_with_a_page_are_those_that_read_it_or_found_it_unchanged(ledger: SqlLedger) -> None:
    earlier, later = await _crawled(ledger, 2), await _crawled(ledger, 4)
    unread = await start_run(ledger, SETTINGS, NOW)

    async def with_page(path: str, site: str = "") -> set[str]:
        runs, total = await ledger.list_runs(RunListing(site=site, page=Url.trusted(f"{SEED}{path}")))
        assert total == len(runs)
        return {run.id for run in runs}

    assert await with_page("") == await with_page("", "site.example") == {later.id, earlier.id}
    assert await with_page("", "other.example") == set()
    assert await with_page("00001") == {later.id}  # queued in the earlier one
    assert await with_page("00003") == await with_page("nowhere") == set()
    assert unread.id not in await with_page("")


async def test_runs_are_sorted_and_those_without_the_value_come_last(ledger: SqlLedger) -> None:
    runs = [
        await start_run(ledger, CrawlSettings(seeds=(f"https://{site}.example/",)), NOW + at) for at, site in enumerate("bac")
    ]
    await ledger.move_run(runs[0].id, RunState.CANCELLED, NOW + 9)
    await ledger.move_run(runs[2].id, RunState.CANCELLED, NOW + 5)

    async def listed(order: RunOrder, *, oldest_first: bool) -> str:
        runs, _ = await ledger.list_runs(RunListing(order=order, oldest_first=oldest_first))
        return "".join(run.site_name[0] for run in runs)

    assert await listed(RunOrder.SITE, oldest_first=True) == "abc"
    assert await listed(RunOrder.SITE, oldest_first=False) == "cba"
    assert await listed(RunOrder.FINISHED_AT, oldest_first=True) == "cba"
    assert await listed(RunOrder.FINISHED_AT, oldest_first=False) == "bca"
    assert await listed(RunOrder.DURATION, oldest_first=False) == "cab", "none has started, so the newest come first"


async def test_an_idempotency_key_creates_one_run_even_in_concurrent_calls(ledger: SqlLedger) -> None:
    once = IdempotencyKey("key", "request digest")

    async def make(key: IdempotencyKey, now: float = NOW) -> tuple[str, str, bool]:
        made = await ledger.create_run_once(key, "site.example", SETTINGS, first_offers(SETTINGS), now)
        return made.run.id, made.fingerprint, made.is_new

    made = await asyncio.gather(*(make(once) for _ in range(8)))
    assert len({run for run, _, _ in made}) == 1
    assert sorted(is_new for _, _, is_new in made) == [False] * 7 + [True]
    other = await make(IdempotencyKey("key", "something else"))
    assert other == (made[0][0], "request digest", False)
    assert (await make(IdempotencyKey("another key", "request digest")))[2]
    assert len(await ledger.runs()) == 2
    assert (await make(once, NOW + IDEMPOTENCY_KEY_TTL_S + 1))[2], "a key is forgotten after a day"
