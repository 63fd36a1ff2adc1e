"""Runs, offers, claims, leases and settlements: one suite over both databases."""

from __future__ import annotations

import asyncio
import dataclasses
import random

import pytest
from tests.ports.conftest import Database
from tests.ports.frontier import (
    NOW,
    W1,
    W2,
    admit_all,
    all_rows,
    begin,
    ended,
    facts,
    leases,
    link,
    redirected,
    seed,
    started,
    the_row,
    u,
    visited,
)

from sitelore.model.frontier import Effects, Hop, Lease, Offer, QueueStats, RowKind, Settlement, Source, Verdict, WavePlan
from sitelore.model.ids import CleanText, RunId
from sitelore.model.response import RobotsFile, StoredHead
from sitelore.model.settings import CrawlSettings, Pace, Scope
from sitelore.model.states import Proof, RunState, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.ports import Ledger
from sitelore.store.ledger import SqlLedger


def test_the_sql_ledger_implements_the_port(ledger: SqlLedger) -> None:
    port: Ledger = ledger  # the type checker's half of this test
    assert {name for name in vars(Ledger) if not name.startswith("_")} <= set(dir(port))


# Runs


async def test_a_run_is_stored_with_its_settings(ledger: SqlLedger) -> None:
    settings = CrawlSettings(
        seeds=("http://site.test/",), scope=Scope.DOMAIN, max_pages=7, pace=Pace(delay_s=0.5), exclude=("/a*",)
    )
    run = await begin(ledger, seed(""), settings=settings)
    assert run.state is RunState.QUEUED
    assert (run.wave, run.depth, run.site_name, run.created_at) == (0, 0, "site", NOW)
    assert run.settings == settings
    assert await ledger.run(run.id) == run
    assert await ledger.run(RunId("none")) is None


async def test_runs_of_one_name_share_a_site_and_are_listed_newest_first(ledger: SqlLedger) -> None:
    first = await ledger.create_run("one", CrawlSettings(), [], NOW)
    second = await ledger.create_run("one", CrawlSettings(), [], NOW + 5)
    other = await ledger.create_run("two", CrawlSettings(), [], NOW + 9)
    assert first.site == second.site != other.site
    assert [run.id for run in await ledger.runs()] == [other.id, second.id, first.id]
    assert [run.id for run in await ledger.runs(1)] == [other.id]
    assert sorted([other.id, first.id, second.id]) == [first.id, second.id, other.id]


async def test_run_ids_stay_unique_within_one_second(ledger: SqlLedger) -> None:
    made = {(await ledger.create_run("one", CrawlSettings(), [], NOW)).id for _ in range(60)}
    assert len(made) == 60


async def test_a_run_changes_state_only_as_the_state_diagram_allows(ledger: SqlLedger) -> None:
    run = await begin(ledger)
    assert not await ledger.move_run(run.id, RunState.COMPLETED, NOW)
    assert await ledger.move_run(run.id, RunState.RUNNING, NOW + 1)
    assert not await ledger.move_run(run.id, RunState.RUNNING, NOW + 2)
    assert await ledger.move_run(run.id, RunState.FAILED, NOW + 3, "no such host")
    assert not await ledger.move_run(run.id, RunState.CANCELLED, NOW + 4)
    assert not await ledger.move_run(RunId("none"), RunState.RUNNING, NOW)
    after = await ledger.run(run.id)
    assert after is not None
    assert (after.state, after.started_at, after.finished_at, after.error) == (
        RunState.FAILED,
        NOW + 1,
        NOW + 3,
        "no such host",
    )


# Offers


async def test_the_offer_with_the_smallest_rank_wins(ledger: SqlLedger) -> None:
    run = await begin(
        ledger,
        Offer(u("p"), 3, Source.LINK, u("far"), 9, 0, pattern="far"),
        Offer(u("p"), 1, Source.LINK, u("near"), 4, 2, pattern="near", chain=(Hop(u("from"), 302),)),
        Offer(u("p"), 1, Source.LINK, u("later"), 4, 3),
        Offer(u("p"), 1, Source.CANONICAL, u("canon"), 1, 0),
    )
    row = await the_row(ledger, run, "p")
    assert (row.depth, row.parent, row.pattern, row.source, row.state) == (
        1,
        u("near"),
        "near",
        Source.LINK,
        UrlState.DISCOVERED,
    )
    assert row.redirect_chain == (Hop(u("from"), 302),)


async def test_a_refused_offer_is_stored_until_an_admissible_one_replaces_it(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "")
    refused = link("p", lease, 0, refusal=SkipReason.NOFOLLOW, detail="rel=nofollow")
    assert await ledger.settle([visited(lease, "a", [refused])]) == [True]
    row = await the_row(ledger, run, "p")
    assert (row.state, row.skip_reason, row.detail) == (UrlState.SKIPPED, SkipReason.NOFOLLOW, "rel=nofollow")
    again = await ledger.create_run("site", CrawlSettings(), [refused, link("p", lease, 5)], NOW)
    row = await the_row(ledger, again, "p")
    assert (row.state, row.skip_reason, row.detail) == (UrlState.DISCOVERED, None, "")


async def test_a_worse_offer_never_turns_an_admissible_row_into_a_refused_one(ledger: SqlLedger) -> None:
    run, [one, two] = await started(ledger, "1", "2")
    await ledger.settle([visited(one, "a", [link("p", one, 7)])])
    await ledger.settle([visited(two, "b", [link("p", two, 0, refusal=SkipReason.DEPTH)])])
    assert (await the_row(ledger, run, "p")).state is UrlState.DISCOVERED


async def test_an_admitted_row_ignores_offers(ledger: SqlLedger) -> None:
    run, [one, two] = await started(ledger, "1", "2")
    better = Offer(two.url, 0, Source.SEED, parent=u("x"), lastmod=5.0)
    await ledger.settle([visited(one, "a", [better])])
    row = await the_row(ledger, run, "2")
    assert (row.state, row.parent, row.lastmod) == (UrlState.IN_PROGRESS, None, None)


async def test_a_row_skipped_as_a_trap_ignores_offers(ledger: SqlLedger) -> None:
    run, [one, two] = await started(ledger, "1", "2")
    await ledger.settle([visited(one, "a", [link("t", one, 4)]), visited(two, "b")])
    trap = lambda wave: WavePlan(trapped=tuple((c.url, "grows for ever") for c in wave.candidates))  # noqa: E731 - a plan is a function
    opened = await ledger.open_wave(run.id, 1, trap)
    assert opened is not None
    assert (opened.admitted, opened.trapped, opened.wave) == (0, 1, 1)
    row = await the_row(ledger, run, "t")
    assert (row.state, row.skip_reason, row.detail) == (UrlState.SKIPPED, SkipReason.TRAP, "grows for ever")


async def test_a_better_offer_does_not_revive_a_trap(ledger: SqlLedger) -> None:
    run, [first] = await started(ledger, "1")
    await ledger.settle([visited(first, "a", [link("t", first, 4), link("next", first, 5)])])
    opened = await ledger.open_wave(run.id, 1, lambda _: WavePlan(admit=(u("next"),), trapped=((u("t"), "grows for ever"),)))
    assert opened is not None
    [lease] = await leases(ledger, run)
    await ledger.settle([visited(lease, "b", [Offer(u("t"), 0, Source.REDIRECT, lease.url, lease.seq)])])
    row = await the_row(ledger, run, "t")
    assert (row.state, row.skip_reason, row.depth) == (UrlState.SKIPPED, SkipReason.TRAP, 1)


async def test_redactions_of_a_run_are_counted_over_all_its_visits(ledger: SqlLedger) -> None:
    run, [first, second] = await started(ledger, "a", "b")
    await ledger.settle([visited(first, "a", redactions={"aws": 2})])
    await ledger.settle([visited(second, "b", redactions={"aws": 1, "jwt": 1})])
    assert (await ledger.counts(run.id)).redactions == {"aws": 3, "jwt": 1}


async def test_the_largest_lastmod_is_stored_whichever_offer_wins(ledger: SqlLedger) -> None:
    run, [one, two] = await started(ledger, "1", "2")
    good = [link("p", one, 0, lastmod=10.0), link("q", one, 1)]
    worse = [link("p", two, 0, lastmod=30.0), link("q", two, 1, lastmod=7.0)]
    await ledger.settle([visited(one, "a", good)])
    await ledger.settle([visited(two, "b", worse)])
    rows = await all_rows(ledger, run.id)
    assert (rows[u("p")].lastmod, rows[u("p")].parent) == (30.0, one.url)
    assert (rows[u("q")].lastmod, rows[u("q")].parent) == (7.0, one.url)


async def test_a_sitemap_offer_replaces_a_page_offer_only_by_rank(ledger: SqlLedger) -> None:
    sitemap = Offer(u("s.xml"), 1, Source.SITEMAP, kind=RowKind.SITEMAP)
    run = await begin(ledger, link("s.xml"), sitemap, link("t.xml", depth=0), dataclasses.replace(sitemap, url=u("t.xml")))
    assert (await the_row(ledger, run, "s.xml")).kind is RowKind.SITEMAP
    assert (await the_row(ledger, run, "t.xml")).kind is RowKind.PAGE


@pytest.mark.parametrize("shuffle", range(3))
async def test_offers_in_any_order_any_split_and_any_number_give_the_same_rows(ledger: SqlLedger, shuffle: int) -> None:
    rng = random.Random(shuffle)
    offers = [
        Offer(
            u(f"p{rng.randrange(25)}"), rng.randrange(1, 4), rng.choice([Source.LINK, Source.CANONICAL, Source.SITEMAP]),
            u(f"parent{n}"), 100 + n, rng.randrange(9), rng.choice(list(RowKind)), rng.choice([None, None, *SkipReason]),
            detail=str(n), pattern=str(n), lastmod=rng.choice([None, float(n)]),
        )
        for n in range(150)
    ]  # fmt: skip
    outcomes = []
    for _ in range(3):
        run, held = await started(ledger, "1", "2", "3")
        mine = [offer for offer in offers for _ in range(rng.choice([1, 1, 2]))]
        rng.shuffle(mine)
        for lease in held:
            await ledger.settle([visited(lease, "x", [o for n, o in enumerate(mine) if n % 3 == held.index(lease)])])
        rows = await all_rows(ledger, run.id, sitemaps=True, media=True)
        outcomes.append({url: dataclasses.replace(row, run=RunId("")) for url, row in rows.items()})
    assert outcomes[0] == outcomes[1] == outcomes[2]
    best = {url: min((o for o in offers if o.url == url), key=lambda o: o.rank) for url in {o.url for o in offers}}
    for url, offer in best.items():
        row = outcomes[0][url]
        assert (row.depth, row.parent, row.source, row.kind, row.pattern) == (
            offer.depth, offer.parent, offer.source, offer.kind, offer.pattern,
        )  # fmt: skip
        assert row.skip_reason == offer.refusal
        assert row.lastmod == max((o.lastmod for o in offers if o.url == url and o.lastmod is not None), default=None)


async def test_a_url_too_long_for_an_index_is_a_row_like_any_other(ledger: SqlLedger) -> None:
    noise = random.Random(1)
    paths = ["x" * 3000 + "".join(noise.choices("abcdefghijklmnop0123456789", k=5000)) for _ in range(3)]
    run = await begin(ledger, *(seed(path, n, pattern="/" + path) for n, path in enumerate(paths)), seed(paths[0], 9))
    await ledger.open_wave(run.id, 0, admit_all)
    held = await leases(ledger, run)
    assert [lease.url for lease in held] == [u(path) for path in paths]
    assert await ledger.settle(
        [redirected(held[0], u(paths[1])), *(visited(one, "same", canonical=u(paths[2])) for one in held[1:])]
    )
    again, _ = await started(ledger, *paths)
    await ledger.finish_rows(run.id, NOW)
    rows = await all_rows(ledger, run.id)
    assert set(rows) == {u(path) for path in paths}
    assert rows[u(paths[0])].final_url == u(paths[1])
    known = await ledger.known(again.site, u(paths[1]))
    assert known is not None


async def test_text_that_a_database_would_reject_is_stored_with_replacements(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "")
    page = dataclasses.replace(facts("a"), title=CleanText("nul \0 and \ud800 half"), etag='"\0"')
    verdict = Verdict(UrlState.VISITED, 200, detail="de\0tail", error="e\0")
    assert await ledger.settle([Settlement(lease, verdict, Effects(page=page, fetched=True), NOW)]) == [True]
    row = await the_row(ledger, run, "")
    assert row.title == "nul \ufffd and ? half"
    assert row.detail == "de\ufffdtail"


# Claims and leases


async def test_rows_are_claimed_in_seq_order_with_a_raised_token(ledger: SqlLedger) -> None:
    run = await begin(ledger, *(seed(f"p{n}", n) for n in range(5)))
    assert await leases(ledger, run) == []
    await ledger.open_wave(run.id, 0, admit_all)
    first = await leases(ledger, run, limit=3)
    assert [(lease.url, lease.seq, lease.token) for lease in first] == [(u(f"p{n}"), n + 1, 1) for n in range(3)]
    assert [lease.url for lease in await leases(ledger, run, W2)] == [u("p3"), u("p4")]
    row = await the_row(ledger, run, "p0")
    assert (row.state, row.claimed_by, row.wave, row.seq) == (UrlState.IN_PROGRESS, W1, 1, 1)


async def test_rows_of_closed_hosts_and_rows_not_yet_due_are_not_claimed(ledger: SqlLedger) -> None:
    offers = [
        Offer(u("a", host), 0, Source.SEED, position=n) for n, host in enumerate(("one.test", "two.test:81", "three.test"))
    ]
    run = await begin(ledger, *offers)
    await ledger.open_wave(run.id, 0, admit_all)
    held = await ledger.claim(run.id, W1, 10, NOW, 60.0, {"two.test:81"})
    assert [lease.url.host for lease in held] == ["one.test", "three.test"]
    retry = Verdict(UrlState.QUEUED, 503, error="http_error: 503", retry_at=NOW + 30)
    await ledger.settle([Settlement(held[0], retry, Effects(fetched=True), NOW)])
    assert await ledger.queue_stats(run.id, NOW) == QueueStats(ready=1, waiting=1, in_progress=1, next_retry_at=NOW + 30)
    assert [lease.url.host for lease in await leases(ledger, run, now=NOW + 29)] == ["two.test"]
    [late] = await leases(ledger, run, now=NOW + 30)
    assert (late.url.host, late.attempts, late.token) == ("one.test", 1, 2)
    assert await ledger.queue_stats(run.id, NOW) == QueueStats(in_progress=3)


async def test_a_lease_has_the_page_stored_by_earlier_runs(ledger: SqlLedger) -> None:
    _, [old] = await started(ledger, "p")
    page = dataclasses.replace(facts("body", u("canon")), etag='"v1"', last_modified="Mon", noindex=True, word_count=3)
    await ledger.settle([Settlement(old, Verdict(UrlState.VISITED), Effects(page=page, fetched=True), NOW + 7)])
    run, held = await started(ledger, "p", "new")
    known = held[0].known
    assert known is not None
    assert (known.fetched_at, known.content_hash, known.etag, known.last_modified) == (NOW + 7, "body", '"v1"', "Mon")
    assert (known.canonical, known.noindex, known.word_count, known.title) == (u("canon"), True, 3, "Body")
    assert held[1].known is None
    assert await ledger.known(run.site, u("p")) == known
    _, [elsewhere] = await started(ledger, "p", site="other")
    assert elsewhere.known is None


async def test_concurrent_claimers_never_share_a_row(database: Database) -> None:
    ledgers = [await database.ledger() for _ in range(3)]
    run = await begin(ledgers[0], *(seed(f"p{n}", n) for n in range(200)))
    await ledgers[0].open_wave(run.id, 0, admit_all)

    async def take(ledger: SqlLedger) -> list[Lease]:
        taken: list[Lease] = []
        while batch := await leases(ledger, run, limit=7):
            taken += batch
        return taken

    taken = await asyncio.gather(*(take(ledger) for ledger in ledgers for _ in range(2)))
    claimed = [lease.url for batch in taken for lease in batch]
    assert len(claimed) == len(set(claimed)) == 200


async def test_a_released_lease_goes_to_the_next_worker_and_the_first_is_rejected_by_its_token(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "p")
    assert await ledger.release(run.id, NOW + 59) == 0
    assert await ledger.release(run.id, NOW + 60) == 1
    [taken] = await leases(ledger, run, W2)
    assert (taken.token, taken.attempts) == (2, 0)
    assert await ledger.settle([visited(lease, "old", [link("x", lease)])]) == [False]
    assert (await the_row(ledger, run, "p")).state is UrlState.IN_PROGRESS
    assert await ledger.row(run.id, u("x")) is None
    assert await ledger.known(run.site, u("p")) is None
    assert await ledger.settle([visited(taken, "new")]) == [True]
    assert (await the_row(ledger, run, "p")).content_hash == "new"


async def test_a_settlement_of_a_released_row_is_rejected_before_the_next_claim(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "p")
    await ledger.release(run.id, NOW, W1)
    assert await ledger.settle([visited(lease, "late")]) == [False]
    assert (await the_row(ledger, run, "p")).state is UrlState.QUEUED


async def test_a_worker_releases_and_renews_its_own_leases_only(ledger: SqlLedger) -> None:
    run = await begin(ledger, seed("a"), seed("b", 1))
    await ledger.open_wave(run.id, 0, admit_all)
    first = await leases(ledger, run, W1, 1)
    second = await leases(ledger, run, W2, 1)
    assert await ledger.renew(first, NOW + 500) == 1
    assert await ledger.renew([dataclasses.replace(second[0], token=7)], NOW + 500) == 0
    assert await ledger.renew([], NOW + 500) == 0
    assert await ledger.release(run.id, NOW + 100) == 1
    assert (await the_row(ledger, run, "a")).claimed_by == W1
    assert (await the_row(ledger, run, "b")).state is UrlState.QUEUED
    assert await ledger.release(run.id, NOW, W2) == 0
    assert await ledger.release(run.id, NOW, W1) == 1


# Settling


async def test_a_visit_is_settled_once_and_whole(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "p")
    settlement = visited(
        lease, "body", [link("x", lease)], canonical=u("p"), redactions={"aws": 2, "jwt": 1}, body_bytes=99, elapsed_s=0.5
    )  # fmt: skip
    assert await ledger.settle([settlement, settlement]) == [True, False]
    assert await ledger.settle([settlement]) == [False]
    row = await the_row(ledger, run, "p")
    assert (row.state, row.status_code, row.content_hash, row.canonical) == (UrlState.VISITED, 200, "body", u("p"))
    assert (row.fetched_at, row.elapsed_s, row.body_bytes, row.fetches, row.attempts) == (NOW, 0.5, 99, 1, 0)
    assert (row.final_url, row.claimed_by, row.changed) == (u("p"), None, None)
    assert (await ledger.counts(run.id)).redactions == {"aws": 2, "jwt": 1}
    row = await the_row(ledger, run, "x")
    assert (row.parent, row.depth, row.state) == (u("p"), 1, UrlState.DISCOVERED)


async def test_the_head_of_the_last_response_is_stored_with_its_row(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "")
    head = StoredHead("1.1", "Not \0 Fine", "192.0.2.7", (("server", "n\0 ü"), ("set-cookie", "a="), ("set-cookie", "b=")))
    assert await ledger.settle([visited(lease, "page", response_head=head)]) == [True]
    assert (await the_row(ledger, run, "")).response_head == head


async def test_a_redirect_becomes_an_alias_and_offers_its_target(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "old")
    chain = (Hop(u("old"), 301),)
    offer = Offer(u("new"), 0, Source.REDIRECT, lease.url, lease.seq, chain=chain)
    effects = Effects(offers=(offer,), alias_of=u("new"), chain=chain, fetched=True, joins_host="www.site.test")
    await ledger.settle([Settlement(lease, Verdict(UrlState.ALIAS, 301), effects, NOW)])
    row = await the_row(ledger, run, "old")
    assert (row.state, row.proof, row.final_url, row.redirect_chain) == (UrlState.ALIAS, Proof.REDIRECT, u("new"), chain)
    await ledger.open_wave(run.id, 1, admit_all)
    [target] = await leases(ledger, run)
    assert (target.url, target.depth, target.chain, target.source) == (u("new"), 0, chain, Source.REDIRECT)
    after = await ledger.run(run.id)
    assert after is not None
    assert after.joined_hosts == ("www.site.test",)


async def test_joined_hosts_are_a_sorted_set(ledger: SqlLedger) -> None:
    run, held = await started(ledger, "a", "b", "c")
    for lease, host in zip(held, ("z.test", "a.test", "z.test"), strict=True):
        await ledger.settle([visited(lease, joins_host=host)])
    after = await ledger.run(run.id)
    assert after is not None
    assert after.joined_hosts == ("a.test", "z.test")


async def test_a_retry_goes_back_to_the_queue_and_counts(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "p")
    retry = Verdict(UrlState.QUEUED, 503, error="http_error: 503", retry_at=NOW + 5)
    await ledger.settle([Settlement(lease, retry, Effects(fetched=True), NOW)])
    row = await the_row(ledger, run, "p")
    assert (row.state, row.attempts, row.fetches, row.retry_at, row.error) == (
        UrlState.QUEUED, 1, 1, NOW + 5, "http_error: 503",
    )  # fmt: skip
    [again] = await leases(ledger, run, now=NOW + 5)
    await ledger.settle([visited(again, "ok")])
    row = await the_row(ledger, run, "p")
    assert (row.state, row.attempts, row.fetches, row.retry_at, row.error) == (UrlState.VISITED, 1, 2, None, "")


async def test_a_page_that_was_not_fetched_keeps_the_time_and_lastmod_of_its_last_fetch(ledger: SqlLedger) -> None:
    first = await begin(ledger, seed("p", lastmod=100.0))
    await ledger.open_wave(first.id, 0, admit_all)
    [lease] = await leases(ledger, first)
    await ledger.settle([visited(lease, "body")])
    second = await begin(ledger, seed("p", lastmod=200.0))
    await ledger.open_wave(second.id, 0, admit_all)
    [lease] = await leases(ledger, second)
    unchanged = Verdict(UrlState.SKIPPED, skip_reason=SkipReason.TTL)
    await ledger.settle([Settlement(lease, unchanged, Effects(page=facts("body")), NOW + 50)])
    known = await ledger.known(second.site, u("p"))
    assert known is not None
    assert (known.fetched_at, known.lastmod) == (NOW, 100.0)
    row = await the_row(ledger, second, "p")
    assert (row.fetched_at, row.fetches, row.final_url) == (None, 0, u("p"))
    third, [lease] = await started(ledger, "p")
    checked = Settlement(
        lease, Verdict(UrlState.NOT_MODIFIED, 304), Effects(page=facts("body"), fetched=True, changed=False), NOW + 99
    )
    await ledger.settle([checked])
    known = await ledger.known(third.site, u("p"))
    assert known is not None
    assert (known.fetched_at, known.lastmod) == (NOW + 99, 100.0)


async def test_a_missing_page_does_not_change_the_stored_page(ledger: SqlLedger) -> None:
    _, [lease] = await started(ledger, "p")
    await ledger.settle([visited(lease, "body")])
    run, [lease] = await started(ledger, "p")
    await ledger.settle([ended(lease, UrlState.NOT_FOUND, status_code=404)])
    known = await ledger.known(run.site, u("p"))
    assert known is not None
    assert known.content_hash == "body"


async def test_visits_of_several_runs_settle_in_one_batch(ledger: SqlLedger) -> None:
    one, [first] = await started(ledger, "p", site="one")
    two, [second] = await started(ledger, "p", site="two")
    stale = dataclasses.replace(first, token=7)
    settled = await ledger.settle([visited(stale, "no"), visited(second, "2", [link("x", second)]), visited(first, "1")])
    assert settled == [False, True, True]
    assert (await the_row(ledger, one, "p")).content_hash == "1"
    assert (await the_row(ledger, two, "p")).content_hash == "2"
    assert await ledger.row(one.id, u("x")) is None
    assert await ledger.settle([]) == []


async def test_settling_from_many_workers_at_once_loses_nothing(database: Database) -> None:
    ledgers = [await database.ledger() for _ in range(3)]
    names = [f"p{n}" for n in range(60)]
    run, held = await started(ledgers[0], *names)
    # Every page links to every other and to the same new pages: writers meet on all rows.
    todo = [visited(one, one.url, [link(name, one, n) for n, name in enumerate([*names, "x", "y", "z"])]) for one in held]
    batches = [(ledgers[n % 3], todo[n * 5 : n * 5 + 5]) for n in range(12)]
    done = await asyncio.gather(*(ledger.settle(batch) for ledger, batch in batches))
    assert all(all(batch) for batch in done)
    rows = await all_rows(ledgers[0], run.id)
    assert all(rows[u(name)].state is UrlState.VISITED for name in names)
    assert [rows[u(name)].parent for name in "xyz"] == [u("p0")] * 3


async def test_offers_of_a_rejected_visit_are_written_by_the_next_one(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "p")
    await ledger.release(run.id, NOW, W1)
    [taken] = await leases(ledger, run, W2)
    assert await ledger.settle([visited(lease, "a", [link("x", lease)])]) == [False]
    assert await ledger.settle([visited(taken, "a", [link("x", taken)])]) == [True]
    assert (await the_row(ledger, run, "x")).state is UrlState.DISCOVERED


# Robots


async def test_the_last_robots_file_of_an_origin_is_remembered(ledger: SqlLedger) -> None:
    assert await ledger.robots("http://site.test") is None
    await ledger.save_robots(RobotsFile("http://site.test", NOW, 200, "User-agent: *\0"))
    later = RobotsFile("http://site.test", NOW + 1, 0, "", "timeout")
    await ledger.save_robots(later)
    assert await ledger.robots("http://site.test") == later


async def test_a_lease_is_the_same_whatever_the_case_of_its_url(ledger: SqlLedger) -> None:
    run, held = await started(ledger, "A", "a", "B", "%C3%A9")
    assert len(held) == 4
    assert list(await all_rows(ledger, run.id)) == [u("%C3%A9"), u("A"), u("B"), u("a")]
    assert isinstance(held[0].url, Url)


async def test_documents_of_a_run_are_an_even_sample_of_its_pages(ledger: SqlLedger) -> None:
    run, held = await started(ledger, *(f"p{n}" for n in range(12)))
    await ledger.settle([visited(one, str(n)) for n, one in enumerate(held[:10])])
    await ledger.settle([ended(held[10], UrlState.NOT_FOUND), redirected(held[11], u("p0"))])
    assert await ledger.documents(run.id, 10) == [f"doc{n}" for n in range(10)]
    assert await ledger.documents(run.id, 5) == ["doc1", "doc3", "doc5", "doc7", "doc9"]
    assert await ledger.documents(run.id, 4) == ["doc2", "doc5", "doc8"]
    assert await ledger.documents(RunId("none"), 5) == []
