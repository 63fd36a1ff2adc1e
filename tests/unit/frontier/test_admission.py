import random

from sitelore.frontier.admission import FREE_COUNTING_PAGES, FREE_PAGES, MAX_FACETED, merge, plan_wave
from sitelore.model.frontier import Candidate, KeptPage, Merge, PatternYield, RowKind, WaveFacts
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import Proof
from sitelore.model.url import Url


def candidates(count: int, pattern: str = "a/#", start: int = 0, depth: int = 1) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(Url(f"http://{pattern.replace('#', str(i))}"), RowKind.PAGE, depth, pattern)
        for i in range(start, start + count)
    )


def facts(
    rows: tuple[Candidate, ...],
    *,
    kept: int = 0,
    max_pages: int | None = None,
    pattern_yields: dict[str, PatternYield] | None = None,
) -> WaveFacts:
    return WaveFacts(CrawlSettings(max_pages=max_pages), 1, 1, kept, candidates=rows, pattern_yields=pattern_yields or {})


def test_a_wave_admits_rows_in_order_within_the_budget() -> None:
    rows = candidates(10)
    plan = plan_wave(facts(rows, kept=4, max_pages=7))
    assert plan.admit == tuple(c.url for c in rows[:3])
    assert not plan.exhausted


def test_a_used_up_budget_ends_the_run() -> None:
    plan = plan_wave(facts(candidates(3), kept=7, max_pages=7))
    assert plan.exhausted
    assert plan.admit == ()


def test_a_merged_page_no_longer_counts_toward_the_budget() -> None:
    twins = (KeptPage(Url("http://a/x"), 1, "h"), KeptPage(Url("http://a/y"), 2, "h"))
    plan = plan_wave(WaveFacts(CrawlSettings(max_pages=2), 1, 1, 2, settled=twins, candidates=candidates(5)))
    assert len(plan.merges) == 1
    assert len(plan.admit) == 1


def test_sitemaps_use_no_budget() -> None:
    rows = (Candidate(Url("http://a/sitemap.xml"), RowKind.SITEMAP, 0, "a/sitemap.xml"), *candidates(3))
    assert len(plan_wave(facts(rows, max_pages=1)).admit) == 2


def test_a_new_url_pattern_is_sampled_first() -> None:
    plan = plan_wave(facts(candidates(1000)))
    assert len(plan.admit) == FREE_PAGES
    assert plan.trapped == ()


def test_the_cut_keeps_the_order_of_discovery() -> None:
    rows = (*candidates(FREE_PAGES + 1), *candidates(5, pattern="a/other/#"))
    assert plan_wave(facts(rows)).admit == tuple(c.url for c in rows[:FREE_PAGES])


def test_a_pattern_that_yields_is_trusted_with_more() -> None:
    yields = {"a/#": PatternYield(pages=100, distinct=90, novel=90)}
    assert len(plan_wave(facts(candidates(5000, start=100), pattern_yields=yields)).admit) == 800


def test_a_repetitive_url_pattern_is_a_trap_with_a_reason() -> None:
    yields = {"a/#": PatternYield(pages=100, distinct=3, novel=3)}
    rows = (*candidates(5, start=100), *candidates(2, pattern="a/fine/#"))
    plan = plan_wave(facts(rows, pattern_yields=yields))
    assert [url for url, _ in plan.trapped] == [c.url for c in rows[:5]]
    assert "100 pages of the pattern a/#" in plan.trapped[0][1]
    assert len(plan.admit) == 2


def test_pages_that_differ_in_numbers_alone_end_a_calendar_but_not_a_catalogue() -> None:
    counting = PatternYield(pages=100, distinct=100, novel=1)
    calendar = "a/{date}"
    rows = tuple(Candidate(Url(f"http://a/2026/{i:02}"), RowKind.PAGE, 1, calendar) for i in range(1, 4))
    assert len(plan_wave(facts(rows, pattern_yields={calendar: counting})).trapped) == 3
    assert len(plan_wave(facts(candidates(3), pattern_yields={"a/#": counting})).admit) == 3
    endless = PatternYield(pages=FREE_COUNTING_PAGES, distinct=FREE_COUNTING_PAGES, novel=1)
    assert len(plan_wave(facts(candidates(3), pattern_yields={"a/#": endless})).trapped) == 3


def test_combinations_of_filters_are_bounded_even_when_each_differs() -> None:
    pattern = "a/shop?{facets}"
    rows = (Candidate(Url("http://a/shop?a=1&b=2&c=3"), RowKind.PAGE, 1, pattern),)
    full = {pattern: PatternYield(pages=MAX_FACETED, distinct=MAX_FACETED, novel=MAX_FACETED)}
    assert len(plan_wave(facts(rows, pattern_yields=full)).trapped) == 1


def test_a_seed_is_never_a_trap() -> None:
    yields = {"a/#": PatternYield(pages=1000, distinct=1, novel=1)}
    assert len(plan_wave(facts(candidates(3, depth=0), pattern_yields=yields)).admit) == 3


A, B, C = Url("http://a/a"), Url("http://a/b"), Url("http://a/c")


def test_equal_content_merges_into_the_smallest_seq() -> None:
    pages = [KeptPage(B, 5, "h"), KeptPage(A, 2, "h"), KeptPage(C, 9, "other")]
    assert merge(pages) == (Merge(B, A, Proof.EQUAL_CONTENT),)


def test_the_canonical_target_is_the_page_even_when_it_came_later() -> None:
    pages = [KeptPage(A, 1, "h", canonical=B), KeptPage(B, 7, "h", canonical=B), KeptPage(C, 9, "h")]
    assert merge(pages) == (Merge(A, B, Proof.CANONICAL), Merge(C, B, Proof.EQUAL_CONTENT))


def test_a_canonical_link_alone_proves_nothing() -> None:
    assert merge([KeptPage(A, 1, "front"), KeptPage(B, 2, "story", canonical=A), KeptPage(C, 3, "shop", canonical=A)]) == ()


def test_a_canonical_link_that_agrees_merges() -> None:
    pages = [KeptPage(A, 1, "h1"), KeptPage(B, 2, "h2", canonical=A)]
    assert merge(pages, agreed={(B, A)}) == (Merge(B, A, Proof.CANONICAL),)


def test_a_canonical_link_to_a_page_that_names_a_third_is_not_believed() -> None:
    pages = [KeptPage(A, 1, "h1", canonical=C), KeptPage(B, 2, "h2", canonical=A)]
    assert merge(pages, agreed={(B, A)}) == ()


def test_chains_of_merges_end_at_one_page() -> None:
    pages = [KeptPage(A, 1, "h"), KeptPage(B, 2, "h"), KeptPage(C, 3, "x", canonical=B)]
    assert merge(pages, agreed={(C, B)}) == (Merge(B, A, Proof.EQUAL_CONTENT), Merge(C, A, Proof.CANONICAL))


def test_two_pages_that_name_each_other_end_as_one() -> None:
    pages = [KeptPage(A, 1, "h", canonical=B), KeptPage(B, 2, "h", canonical=A)]
    assert merge(pages) == (Merge(B, A, Proof.EQUAL_CONTENT),)


def test_urls_equal_by_identity_options_are_one_page() -> None:
    pages = [KeptPage(A, 1, "h1", identity="x"), KeptPage(B, 2, "h2", identity="x"), KeptPage(C, 3, "h2", identity="y")]
    assert merge(pages) == (Merge(B, A, Proof.IDENTITY),)


def test_pages_without_text_never_merge() -> None:
    assert merge([KeptPage(A, 1, ""), KeptPage(B, 2, "")]) == ()


def test_the_order_of_pages_never_matters() -> None:
    rng = random.Random(7)
    for _ in range(200):
        urls = [Url(f"http://a/{i}") for i in range(8)]
        pages = [KeptPage(u, i, rng.choice("xyz"), rng.choice([None, None, *urls])) for i, u in enumerate(urls)]
        agreed = {(p.url, p.canonical) for p in pages if p.canonical and rng.random() < 0.5}
        expected = merge(pages, agreed)
        rng.shuffle(pages)
        assert merge(pages, agreed) == expected
        gone = {m.url for m in expected}
        assert all(m.into not in gone for m in expected)
