"""Opening of waves and finalisation of runs: one suite over both databases."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from tests.ports.conftest import Database
from tests.ports.frontier import (
    NOW,
    W1,
    admit,
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

from sitelore.model.frontier import (
    Candidate,
    Effects,
    KeptPage,
    Merge,
    Offer,
    PatternYield,
    RowKind,
    Settlement,
    Source,
    Verdict,
    WaveFacts,
    WaveOpened,
    WavePlan,
)
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.states import Proof, SkipReason, UrlState
from sitelore.store.engine import Engine
from sitelore.store.frontier import waves
from sitelore.store.ledger import SqlLedger
from sitelore.store.pages import pages as stored_pages
from sitelore.store.rows import is_kept
from sitelore.store.schema import pages, runs, site_urls, urls
from sitelore.store.tenants import for_tenant


def watching(seen: list[WaveFacts], plan: Callable[[WaveFacts], WavePlan] = admit_all) -> Callable[[WaveFacts], WavePlan]:
    """A plan that records its input."""

    def planned(wave: WaveFacts) -> WavePlan:
        seen.append(wave)
        return plan(wave)

    return planned


async def test_a_wave_opens_only_when_it_is_current_and_settled(ledger: SqlLedger) -> None:
    run = await begin(ledger, seed("a"), seed("b", 1))
    assert await ledger.open_wave(run.id, 1, admit_all) is None
    assert await ledger.open_wave(run.id, 0, admit_all) == WaveOpened(1, 2)
    assert await ledger.open_wave(run.id, 0, admit_all) is None
    assert await ledger.open_wave(run.id, 1, admit_all) is None
    first, second = await leases(ledger, run)
    await ledger.settle([visited(first, "1", [link("c", first)])])
    assert await ledger.open_wave(run.id, 1, admit_all) is None
    retry = Settlement(second, Verdict(UrlState.QUEUED, retry_at=NOW + 9), Effects(), NOW)
    await ledger.settle([retry])
    assert await ledger.open_wave(run.id, 1, admit_all) is None
    [second] = await leases(ledger, run, now=NOW + 9)
    await ledger.settle([ended(second, UrlState.FAILED, "timeout: slow")])
    assert await ledger.open_wave(run.id, 1, admit_all) == WaveOpened(2, 1)
    after = await ledger.run(run.id)
    assert after is not None
    assert (after.wave, after.depth) == (2, 1)
    row = await the_row(ledger, run, "c")
    assert (row.seq, row.wave, row.state) == (3, 2, UrlState.QUEUED)


async def test_an_unknown_run_opens_no_wave(ledger: SqlLedger) -> None:
    run = await begin(ledger)
    assert await ledger.open_wave(run.id, 0, admit_all) == WaveOpened(0)
    assert await ledger.open_wave(type(run.id)("none"), 0, admit_all) is None


async def test_of_many_openers_one_opens_the_wave(database: Database) -> None:
    ledgers = [await database.ledger() for _ in range(3)]
    run = await begin(ledgers[0], *(seed(f"p{n}", n) for n in range(50)))
    opened = await asyncio.gather(*(ledger.open_wave(run.id, 0, admit_all) for ledger in ledgers * 3))
    assert [one for one in opened if one] == [WaveOpened(1, 50)]
    rows = await all_rows(ledgers[0], run.id)
    assert sorted(row.seq or 0 for row in rows.values()) == list(range(1, 51))


async def test_candidates_come_in_rank_order_and_the_rest_of_a_depth_comes_first(ledger: SqlLedger) -> None:
    run, [one, two] = await started(ledger, "1", "2")
    offers = [link("b", two, 0), link("a", two, 1), Offer(u("s"), 1, Source.SITEMAP, parent_seq=99, pattern="/s")]
    await ledger.settle([visited(two, "2", offers), visited(one, "1", [link("z", one, 5)])])
    seen: list[WaveFacts] = []
    await ledger.open_wave(run.id, 1, watching(seen, admit("s")))
    assert seen[0].candidates[0] == Candidate(u("s"), RowKind.PAGE, 1, "/s")
    assert [one.url for one in seen[0].candidates] == [u("s"), u("z"), u("b"), u("a")]
    assert (seen[0].wave, seen[0].depth, seen[0].kept) == (1, 0, 2)
    [lease] = await leases(ledger, run)
    await ledger.settle([visited(lease, "s", [link("deep", lease)])])
    await ledger.open_wave(run.id, 2, watching(seen))
    assert [one.url for one in seen[1].candidates] == [u("z"), u("b"), u("a")]
    assert seen[1].depth == 1
    for lease in await leases(ledger, run):
        await ledger.settle([ended(lease, UrlState.NOT_FOUND)])
    await ledger.open_wave(run.id, 3, watching(seen))
    assert [(one.url, one.depth) for one in seen[2].candidates] == [(u("deep"), 2)]


async def test_redirect_targets_of_this_depth_come_before_the_next_depth(ledger: SqlLedger) -> None:
    run, [one, two] = await started(ledger, "1", "2")
    await ledger.settle([visited(one, "1", [link("next", one)]), redirected(two, u("target"))])
    seen: list[WaveFacts] = []
    await ledger.open_wave(run.id, 1, watching(seen))
    assert [one.url for one in seen[0].candidates] == [u("target")]


async def test_a_plan_gets_the_pages_of_the_wave_and_related_pages(ledger: SqlLedger) -> None:
    run, [same, named, names, plain] = await started(ledger, "same", "named", "names", "plain")
    more = [link(name, same, n) for n, name in enumerate(["copy", "points", "pointed", "gone", "silent", "mute", "to-mute"])]
    await ledger.settle([
        visited(same, "S", more), visited(named, "N"), visited(names, "M", canonical=u("pointed")), visited(plain, "P"),
    ])  # fmt: skip
    seen: list[WaveFacts] = []
    await ledger.open_wave(run.id, 1, watching(seen))
    assert [one.url for one in seen[0].settled] == [u("same"), u("named"), u("names"), u("plain")]
    assert seen[0].related == ()
    copy, points, pointed, gone, silent, mute, to_mute = await leases(ledger, run)
    await ledger.settle([
        visited(copy, "S"), visited(points, "Q", canonical=u("named")), visited(pointed, "R"),
        ended(gone, UrlState.NOT_FOUND), visited(silent), visited(mute), visited(to_mute, "T", canonical=u("mute")),
    ])  # fmt: skip
    await ledger.open_wave(run.id, 2, watching(seen))
    assert seen[1].kept == 10
    assert seen[1].settled == (
        KeptPage(u("copy"), copy.seq, "S"), KeptPage(u("points"), points.seq, "Q", u("named")),
        KeptPage(u("pointed"), pointed.seq, "R"), KeptPage(u("to-mute"), to_mute.seq, "T", u("mute")),
    )  # fmt: skip
    assert [one.url for one in seen[1].related] == [u("same"), u("named"), u("names"), u("mute")]


async def test_merged_pages_become_aliases_and_are_no_longer_counted(ledger: SqlLedger) -> None:
    run, held = await started(ledger, "a", "b", "c")
    await ledger.settle([visited(lease, "same", [link("d", held[0])]) for lease in held])
    merges = (Merge(u("b"), u("a"), Proof.EQUAL_CONTENT), Merge(u("c"), u("a"), Proof.CANONICAL))
    opened = await ledger.open_wave(run.id, 1, lambda wave: WavePlan(merges, admit_all(wave).admit))
    assert opened == WaveOpened(2, 1, merged=2)
    row = await the_row(ledger, run, "b")
    assert (row.state, row.proof, row.final_url) == (UrlState.ALIAS, Proof.EQUAL_CONTENT, u("a"))
    [lease] = await leases(ledger, run)
    await ledger.settle([visited(lease, "d", [link("e", lease)])])
    seen: list[WaveFacts] = []
    merged = WavePlan((Merge(u("a"), u("d"), Proof.CANONICAL),))
    await ledger.open_wave(run.id, 2, watching(seen, lambda _: merged))
    assert seen[-1].kept == 2
    await ledger.open_wave(run.id, 2, watching(seen))
    assert seen[-1].kept == 1
    assert (await ledger.counts(run.id)).proofs == {"canonical": 2, "equal_content": 1}


async def test_the_stored_page_of_a_merged_url_names_its_target(database: Database) -> None:
    engine = await database.engine()
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    run, held = await started(ledger, "a", "b")
    await ledger.settle([visited(lease, "same") for lease in held])
    await ledger.open_wave(run.id, 1, lambda _: WavePlan((Merge(u("b"), u("a"), Proof.EQUAL_CONTENT),)))
    target = site_urls.alias("target")
    of_page = sa.and_(site_urls.c.tenant_id == pages.c.tenant_id, site_urls.c.id == pages.c.url_id)
    to_target = sa.and_(target.c.tenant_id == pages.c.tenant_id, target.c.id == pages.c.alias_of)
    named = pages.join(site_urls, of_page).outerjoin(target, to_target)
    query = sa.select(site_urls.c.url, target.c.url).select_from(named).order_by(site_urls.c.url)
    owner = await database.owner()
    rows = await owner.read(lambda conn: [tuple(row) for row in conn.execute(query)])
    assert rows == [(u("a"), None), (u("b"), u("a"))]


async def test_an_exhausted_budget_admits_nothing_but_still_merges(ledger: SqlLedger) -> None:
    run, held = await started(ledger, "a", "b")
    await ledger.settle([visited(lease, "same", [link("c", lease)]) for lease in held])
    merge = Merge(u("b"), u("a"), Proof.EQUAL_CONTENT)
    plan = lambda wave: WavePlan((merge,), admit_all(wave).admit, exhausted=True)  # noqa: E731 - a plan is a function
    assert await ledger.open_wave(run.id, 1, plan) == WaveOpened(1, 0, merged=1)
    assert (await the_row(ledger, run, "c")).state is UrlState.DISCOVERED
    after = await ledger.run(run.id)
    assert after is not None
    assert (after.wave, after.depth) == (1, 0)


async def test_candidates_after_a_batch_of_traps_are_admitted(database: Database) -> None:
    engine = await database.engine()
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    run, [lease] = await started(ledger, "")
    await ledger.settle([visited(lease, "x", [link(f"p{n:02}", lease, n) for n in range(10)])])
    calls: list[WaveFacts] = []

    def plan(wave: WaveFacts) -> WavePlan:
        calls.append(wave)
        traps = [one.url for one in wave.candidates if one.url < u("p07")]
        return WavePlan(
            admit=tuple(one.url for one in wave.candidates if one.url not in traps), trapped=tuple((t, "why") for t in traps)
        )

    opened = await engine.write(for_tenant, waves.open_wave, DEFAULT_TENANT, run.id, 1, plan, 3)
    assert opened == WaveOpened(2, 2, trapped=7)
    assert [len(wave.candidates) for wave in calls] == [3, 3, 3]
    assert (await ledger.counts(run.id)).skipped == {"trap": 7}


async def test_page_counts_of_a_url_pattern_include_merged_pages(ledger: SqlLedger) -> None:
    run = await begin(ledger, *(seed(f"d{n}", n, pattern="/d#") for n in range(4)), seed("e", 9, pattern="/e"))
    await ledger.open_wave(run.id, 0, admit_all)
    held = await leases(ledger, run)
    contents = [("A", "n"), ("A", "n"), ("B", "n"), ("", "")]
    for lease, (content, novelty) in zip(held, contents, strict=False):
        effects = Effects(page=facts(content, novelty=novelty), fetched=True, offers=(link("d9", lease, pattern="/d#"),))
        await ledger.settle([Settlement(lease, Verdict(UrlState.VISITED), effects, NOW)])
    await ledger.settle([visited(held[4], "E", [link("f", held[4], pattern="/f")])])
    seen: list[WaveFacts] = []
    merge = WavePlan((Merge(u("d1"), u("d0"), Proof.EQUAL_CONTENT),))
    await ledger.open_wave(run.id, 1, watching(seen, lambda _: merge))
    await ledger.open_wave(run.id, 1, watching(seen))
    assert seen[0].pattern_yields == seen[1].pattern_yields == {"/d#": PatternYield(3, 2, 1)}


async def test_canonical_claims_are_pairs_of_kept_pages_with_different_content(ledger: SqlLedger) -> None:
    names = ["target", "chained", "claims", "agrees", "self", "to-chained", "to-gone", "gone"]
    run, held = await started(ledger, *names)
    lease = dict(zip(names, held, strict=True))
    await ledger.settle([
        visited(lease["target"], "T", [link("late", held[0]), link("odd", held[0], 1)], canonical=u("target")),
        visited(lease["chained"], "C", canonical=u("target")),
        visited(lease["claims"], "D", canonical=u("target")),
        visited(lease["agrees"], "T", canonical=u("target")),
        visited(lease["self"], "S", canonical=u("self")),
        visited(lease["to-chained"], "X", canonical=u("chained")),
        visited(lease["to-gone"], "Y", canonical=u("gone")),
        ended(lease["gone"], UrlState.NOT_FOUND),
    ])  # fmt: skip
    pairs = [(one.url, other.url) for one, other in await ledger.canonical_claims(run.id, 1)]
    assert pairs == [(u("chained"), u("target")), (u("claims"), u("target"))]
    await ledger.open_wave(run.id, 1, admit_all)
    late, odd = await leases(ledger, run)
    await ledger.settle([visited(late, "L", canonical=u("self")), visited(odd, "O")])
    pairs = [(one.url, other.url) for one, other in await ledger.canonical_claims(run.id, 2)]
    assert pairs == [(u("late"), u("self"))]
    assert len(await ledger.canonical_claims(run.id, 1)) == 3
    assert await ledger.canonical_claims(type(run.id)("none"), 1) == []


async def test_the_stored_page_count_equals_a_count_of_the_rows(database: Database) -> None:
    engine = await database.engine()
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    run, held = await started(ledger, *(f"p{n}" for n in range(6)))

    def plan(wave: WaveFacts) -> WavePlan:
        by_content: dict[str, KeptPage] = {}
        merges = []
        for one in sorted(
            (*wave.settled, *wave.related), key=lambda kept: -kept.seq
        ):  # the youngest stays: earlier waves lose pages
            stays = by_content.setdefault(one.content_hash, one)
            if stays is not one:
                merges.append(Merge(one.url, stays.url, Proof.EQUAL_CONTENT))
        return WavePlan(tuple(merges), admit_all(wave).admit)

    for wave in range(1, 5):
        await ledger.settle([
            visited(one, f"c{one.seq % 4}", [link(f"w{wave}-{n}", one, n) for n in range(3)]) for one in held
        ])  # fmt: skip
        assert await ledger.open_wave(run.id, wave, plan) is not None
        held = await leases(ledger, run)
        of_run = urls.c.run_number == sa.select(runs.c.number).where(runs.c.id == run.id).scalar_subquery()
        count = sa.select(sa.func.count()).select_from(urls).where(of_run, is_kept())
        carried = sa.select(runs.c.pages_before_wave).where(runs.c.id == run.id)
        assert await scalar(engine, carried) == await scalar(engine, count) == 4


async def scalar(engine: Engine, query: sa.Select[int]) -> int | None:
    return await engine.read(for_tenant, lambda conn, _: conn.scalar(query), DEFAULT_TENANT)


# The end of a run


async def test_rows_that_were_not_admitted_or_visited_end_with_a_skip_reason(ledger: SqlLedger) -> None:
    run = await begin(ledger, seed("a"), seed("b", 1), seed("c", 2))
    await ledger.open_wave(run.id, 0, admit("a", "b"))
    await leases(ledger, run, limit=1)
    for _ in range(2):
        await ledger.finish_rows(run.id, NOW)
        rows = await all_rows(ledger, run.id)
        assert {row.state for row in rows.values()} == {UrlState.SKIPPED}
        assert [rows[u(name)].skip_reason for name in "abc"] == [SkipReason.CANCELLED, SkipReason.CANCELLED, SkipReason.BUDGET]
        assert rows[u("a")].claimed_by is None


async def test_an_alias_gets_the_final_target_of_its_redirects(ledger: SqlLedger) -> None:
    run, [one, two, three, four] = await started(ledger, "1", "2", "3", "4")
    await ledger.settle(
        [redirected(one, u("m")), redirected(two, u("gone")), redirected(three, u("out")), redirected(four, u("m"))]
    )
    await ledger.open_wave(run.id, 1, admit("m", "gone"))
    held = {lease.url: lease for lease in await leases(ledger, run)}
    await ledger.settle([redirected(held[u("m")], u("page")), ended(held[u("gone")], UrlState.FAILED, "timeout: 10 s")])
    await ledger.open_wave(run.id, 2, admit("page"))
    [page] = await leases(ledger, run)
    await ledger.settle([visited(page, "body")])
    for _ in range(2):
        await ledger.finish_rows(run.id, NOW)
        rows = await all_rows(ledger, run.id)
        assert [rows[u(name)].final_url for name in ("1", "m", "4", "2")] == [u("page"), u("page"), u("page"), u("gone")]
        assert (rows[u("1")].error, rows[u("1")].skip_reason) == ("", None)
        assert (rows[u("2")].state, rows[u("2")].error) == (UrlState.ALIAS, "timeout: 10 s")
        assert (rows[u("3")].state, rows[u("3")].skip_reason) == (UrlState.ALIAS, SkipReason.BUDGET)
        assert rows[u("gone")].final_url is None
        assert [hop.url for hop in rows[u("1")].redirect_chain] == [u("1"), u("m")]


async def test_an_alias_of_a_merged_page_leads_to_the_remaining_page(ledger: SqlLedger) -> None:
    run, [one, two, three] = await started(ledger, "1", "2", "3")
    await ledger.settle([redirected(one, u("2")), visited(two, "x"), visited(three, "x")])
    await ledger.open_wave(run.id, 1, lambda _: WavePlan((Merge(u("2"), u("3"), Proof.CANONICAL),)))
    await ledger.finish_rows(run.id, NOW)
    row = await the_row(ledger, run, "1")
    assert (row.final_url, row.proof, row.skip_reason) == (u("3"), Proof.REDIRECT, None)


async def test_a_redirect_loop_fails(ledger: SqlLedger) -> None:
    run, [one, two] = await started(ledger, "1", "2")
    await ledger.settle([redirected(one, u("2")), redirected(two, u("1"))])
    for _ in range(2):
        await ledger.finish_rows(run.id, NOW)
        rows = await all_rows(ledger, run.id)
        assert {(row.state, row.error.partition(":")[0], row.final_url) for row in rows.values()} == {
            (UrlState.FAILED, "redirect_loop", None)
        }


# Reading


async def test_rows_are_read_in_byte_order_over_several_pages(ledger: SqlLedger) -> None:
    names = [f"{letter}{n}" for n in range(stored_pages.ROWS_PER_PAGE // 4) for letter in ("a", "B", "-", "_", "~", "%C3%A4")]
    run = await begin(
        ledger, *(seed(name, n) for n, name in enumerate(names)), Offer(u("s"), 0, Source.SITEMAP, kind=RowKind.SITEMAP)
    )
    got = [row.url async for row in ledger.rows(run.id)]
    assert got == sorted(u(name) for name in names)
    with_sitemaps = [row.url async for row in ledger.rows(run.id, sitemaps=True)]
    assert with_sitemaps == sorted([*got, u("s")])
    assert [row async for row in ledger.rows(run.id, UrlState.VISITED)] == []
    assert len([row async for row in ledger.rows(run.id, UrlState.DISCOVERED)]) == len(names)


async def test_the_counts_add_up(ledger: SqlLedger) -> None:
    _, [old, left] = await started(ledger, "old", "left")
    await ledger.settle([visited(old, "was"), visited(left, "left")])
    names = ["new", "old", "left", "moved", "dead", "slow", "slow2", "twin"]
    run, held = await started(ledger, *names)
    lease = dict(zip(names, held, strict=True))
    offers = [link("out", lease["new"], refusal=SkipReason.SCOPE), link("more", lease["new"], 1)]
    offers.append(Offer(u("map.xml"), 1, Source.SITEMAP, kind=RowKind.SITEMAP))
    skip = Settlement(
        lease["left"], Verdict(UrlState.SKIPPED, skip_reason=SkipReason.LASTMOD), Effects(page=facts("left")), NOW
    )
    assert all(await ledger.settle([
        visited(lease["new"], "n", offers, body_bytes=10, redactions={"jwt": 1}), skip,
        visited(lease["old"], "is", changed=True, body_bytes=5, redactions={"jwt": 2}),
        redirected(lease["moved"], u("slow")), visited(lease["twin"], "n"),
        ended(lease["dead"], UrlState.NOT_FOUND, "http_error: 404", status_code=404),
        ended(lease["slow"], UrlState.FAILED, "timeout: after 10 s"), ended(lease["slow2"], UrlState.FAILED, "timeout: 11 s"),
    ]))  # fmt: skip
    await ledger.open_wave(run.id, 1, lambda _: WavePlan((Merge(u("twin"), u("new"), Proof.EQUAL_CONTENT),)))
    await ledger.finish_rows(run.id, NOW)
    counts = await ledger.counts(run.id)
    assert counts.states == {"ALIAS": 2, "FAILED": 2, "NOT_FOUND": 1, "SKIPPED": 3, "VISITED": 2}
    assert counts.skipped == {"budget": 1, "scope": 1, "unchanged_lastmod": 1}
    assert counts.errors == {"http_error": 1, "timeout": 2}
    assert counts.proofs == {"equal_content": 1, "redirect": 1}
    assert counts.redactions == {"jwt": 3}
    assert (counts.urls, counts.pages, counts.new, counts.changed, counts.sitemaps) == (10, 3, 1, 1, 1)
    assert (counts.fetched, counts.body_bytes) == (7, 15)
    assert await ledger.counts(type(run.id)("none")) == type(counts)()


async def test_a_worker_without_leases_releases_none(ledger: SqlLedger) -> None:
    run = await begin(ledger, seed("a"))
    assert await ledger.release(run.id, NOW, W1) == 0
    assert await ledger.release(type(run.id)("none"), NOW) == 0


async def test_incremental_page_counts_equal_full_counts(ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """URL patterns appear and disappear between waves; contents repeat within a wave, over waves and over patterns."""
    monkeypatch.setattr(waves, "STORED_FROM_PAGES", 2)
    chance = random.Random(5)
    seen: list[WaveFacts] = []
    run = await begin(ledger, seed("start", pattern="s0"))
    read: dict[str, list[tuple[str, str]]] = defaultdict(list)
    url_pattern = {u("start"): "s0"}
    for wave in range(9):
        expected = {
            shape: PatternYield(len(counts), len({content for content, _ in counts}), len({novelty for _, novelty in counts}))
            for shape, counts in read.items()
        }
        await ledger.open_wave(run.id, wave, watching(seen))
        offered = {one.pattern for one in seen[-1].candidates}
        assert seen[-1].pattern_yields == {shape: count for shape, count in expected.items() if shape in offered}
        settled = []
        for number, lease in enumerate(await leases(ledger, run)):
            content, novelty = f"c{chance.randrange(30)}", f"n{chance.randrange(9)}"
            read[url_pattern[lease.url]].append((content, novelty))
            shapes = [chance.choice(("s1", "s2") if wave % 3 else ("s0", "s2", "s3")) for _ in range(3 if wave < 3 else 1)]
            offers = tuple(link(f"{wave}-{number}-{n}", lease, n, pattern=shape) for n, shape in enumerate(shapes))
            url_pattern |= {one.url: one.pattern for one in offers}
            effects = Effects(page=facts(content, novelty=novelty), offers=offers, fetched=True)
            settled.append(Settlement(lease, Verdict(UrlState.VISITED, 200), effects, NOW))
        assert all(await ledger.settle(settled))
    assert sum(map(len, read.values())) > 100
