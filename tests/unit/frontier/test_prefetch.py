from __future__ import annotations

from typing import Any

import pytest

from sitelore.frontier.admission import FREE_PAGES
from sitelore.frontier.prefetch import allowed_bets, prefetch_targets
from sitelore.model.frontier import Candidate, OpenRow, PatternYield, PrefetchFacts, RowKind
from sitelore.model.settings import CrawlSettings, Prefetch
from sitelore.model.url import Url


def candidate(path: str, depth: int = 1, parent_seq: int = 1, **more: Any) -> Candidate:
    return Candidate(Url.trusted(f"http://site.test/{path}"), RowKind.PAGE, depth, f"/{path[:1]}", 1, parent_seq, **more)


def sitemap(depth: int = 0) -> Candidate:
    return Candidate(Url.trusted("http://site.test/sitemap.xml"), RowKind.SITEMAP, depth, "", 0, 1)


def open_page(seq: int, depth: int = 0) -> OpenRow:
    return OpenRow(depth, seq, RowKind.PAGE, "/open")


def chosen(
    candidates: list[Candidate], open_rows: list[OpenRow], limit: int | None, kept: int = 0, **more: Any
) -> dict[str, bool]:
    """The chosen paths, each with whether it is a bet."""
    settings = CrawlSettings(max_pages=limit, prefetch=more.pop("prefetch", Prefetch.ON))
    count = more.pop("candidate_count", len(candidates))
    facts = PrefetchFacts(settings, kept, tuple(open_rows), tuple(candidates), count, **more)
    return {target.url.path[1:]: target.is_bet for target in prefetch_targets(facts)}


def test_without_a_limit_every_candidate_is_fetched_ahead() -> None:
    assert chosen([candidate("a"), candidate("b", depth=2)], [open_page(1)], None) == {"a": False, "b": False}


def test_with_a_limit_a_candidate_that_no_open_row_can_precede_is_certain() -> None:
    assert chosen([candidate("a", parent_seq=3)], [open_page(4)], 10) == {"a": False}


def test_an_open_row_admitted_before_the_parent_could_still_offer_better_rows() -> None:
    assert chosen([candidate("a", parent_seq=3)], [open_page(2)], 10) == {}


def test_open_rows_and_earlier_candidates_take_places_of_the_limit() -> None:
    candidates = [candidate("a"), candidate("b"), candidate("c")]
    assert chosen(candidates, [open_page(4)], 6, kept=3) == {"a": False, "b": False}


def test_a_sitemap_that_was_not_read_may_bring_pages_that_come_before_every_link() -> None:
    assert chosen([sitemap(), candidate("a")], [], 10) == {"sitemap.xml": False}


def test_candidates_two_levels_below_the_first_are_not_certain() -> None:
    assert chosen([candidate("a", depth=1), candidate("b", depth=3)], [open_page(9, depth=5)], 10) == {"a": False}


def test_bets_are_a_small_share_of_a_limit_that_is_far_away() -> None:
    candidates = [candidate(f"a{number}", parent_seq=3) for number in range(30)]
    targets = chosen(candidates, [open_page(2)], 200)
    assert list(targets) == [f"a{number}" for number in range(10)]
    assert all(targets.values())
    assert len(chosen(candidates, [open_page(2)], 200, bets=7)) == 3


@pytest.mark.parametrize(("limit", "count"), [(200, 200), (19, 1)])
def test_there_are_no_bets_when_the_limit_is_near_or_small(limit: int, count: int) -> None:
    assert chosen([candidate("a", parent_seq=3)], [open_page(2)], limit, candidate_count=count) == {}


def test_half_of_the_bets_are_for_links_that_lead_on() -> None:
    settings = CrawlSettings(max_pages=200)
    assert [allowed_bets(settings, 100, bets) for bets in (0, 5, 10)] == [10, 5, 0]
    assert [allowed_bets(settings, 100, bets, is_any_link=True) for bets in (0, 5, 10)] == [5, 0, 0]


def test_bets_can_be_turned_off() -> None:
    assert chosen([candidate("a", parent_seq=3)], [open_page(2)], 200, prefetch=Prefetch.CERTAIN) == {}


def test_rows_that_a_worker_fetches_already_are_not_chosen_again() -> None:
    started = frozenset({Url.trusted("http://site.test/a")})
    assert chosen([candidate("a"), candidate("b")], [], None, started=started) == {"b": False}


def test_a_url_pattern_is_fetched_ahead_only_as_far_as_it_has_credit() -> None:
    yields = {"/a": PatternYield(pages=FREE_PAGES - 2, distinct=1, novel=1)}
    candidates = [candidate("a1"), candidate("a2"), candidate("a3"), candidate("b")]
    open_rows = [OpenRow(0, 1, RowKind.PAGE, "/a")]
    assert chosen(candidates, open_rows, None, pattern_yields=yields) == {"a1": False, "b": False}
