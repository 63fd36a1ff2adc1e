"""Which links of pages fetched ahead are followed, as far as the trap detection goes."""

from __future__ import annotations

from sitelore.crawl.prefetch import _PatternCounts
from sitelore.frontier.admission import FREE_PAGES
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.frontier import OpenRow, PatternYield, PrefetchFacts, PrefetchTarget, RowKind
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

URLS = [Url.trusted(f"https://example.com/shop/hats?visitor={number:016x}") for number in range(2 * FREE_PAGES)]
PATTERN = url_pattern(URLS[0])


def facts(pages: PatternYield, open_rows: int = 0) -> PrefetchFacts:
    rows = tuple(OpenRow(1, seq, RowKind.PAGE, PATTERN) for seq in range(open_rows))
    return PrefetchFacts(
        settings=CrawlSettings(seeds=(URLS[0],)),
        kept=pages.pages,
        open_rows=rows,
        candidates=(),
        candidate_count=0,
        started=frozenset(),
        bets=0,
        pattern_yields={PATTERN: pages},
    )


def follow(counts: _PatternCounts) -> int:
    """Choose links of the pattern as long as it has credit, and count them."""
    for number, url in enumerate(URLS):
        if not counts.has_credit(PrefetchTarget(url, 2)):
            return number
        counts.add(url)
    return len(URLS)


def test_links_chosen_at_once_use_up_the_credit_of_their_pattern() -> None:
    assert follow(_PatternCounts()) == FREE_PAGES


def test_pages_admitted_since_the_yield_was_read_use_up_credit() -> None:
    counts = _PatternCounts()
    for url in URLS[:60]:
        counts.add(url)
        counts.admit(url)
        counts.drop(url)
    assert follow(counts) == FREE_PAGES - 60


def test_a_pattern_without_credit_gets_more_once_its_yield_is_read_again() -> None:
    counts = _PatternCounts()
    for url in URLS[:FREE_PAGES]:
        counts.admit(url)
    assert follow(counts) == 0
    assert counts.exhausted == {PATTERN}
    counts.update(facts(PatternYield(pages=90, distinct=20, novel=20), open_rows=10))
    assert not counts.exhausted
    assert follow(counts) == 100  # twenty different pages allow for two hundred; a hundred are settled or open


def test_a_trap_gets_no_more_credit() -> None:
    counts = _PatternCounts()
    for url in URLS[:FREE_PAGES]:
        counts.admit(url)
    assert follow(counts) == 0
    counts.update(facts(PatternYield(pages=FREE_PAGES, distinct=1, novel=1)))
    assert follow(counts) == 0
