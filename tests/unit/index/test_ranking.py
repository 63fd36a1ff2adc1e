"""Fusion of the lexical and the dense ranking."""

from __future__ import annotations

import numpy as np
import pytest

from sitelore.index.ranking import (
    fuse,
    fuse_ranks,
    lexical_candidates,
    lexical_weight,
    merge_nearest,
    rank_dense,
    rank_hybrid,
    scale,
    sort_candidates,
    with_page_support,
    without_cut_ties,
)


def test_scores_are_spread_from_nought_to_one() -> None:
    assert scale(np.array([2.0, 4.0, 3.0])).tolist() == [0.0, 1.0, 0.5]


def test_equal_scores_are_all_best() -> None:
    assert scale(np.array([2.0, 2.0])).tolist() == [1.0, 1.0]
    assert scale(np.array([])).tolist() == []


def test_halves_are_added_by_weight() -> None:
    assert fuse(np.array([0.0, 10.0]), np.array([0.9, 0.1]), 0.4) == pytest.approx([0.6, 0.4])


def test_a_chunk_without_a_vector_is_judged_by_its_words() -> None:
    scores = fuse(np.array([10.0, 0.0, 5.0]), np.array([np.nan, 0.5, 0.1]), 0.5)
    assert scores == pytest.approx([1.0, 0.5, 0.25])


def test_rank_fusion_favours_results_of_both_rankings() -> None:
    fused = fuse_ranks([["a", "b", "c"], ["c", "b", "d"]])
    assert sorted(fused, key=lambda key: -fused[key])[:2] == ["c", "b"]
    assert fused["a"] == pytest.approx(1 / 61)


def test_candidates_of_either_half_take_part() -> None:
    words = np.array([0.0, 3.0, 0.0, 1.0])
    ranked = rank_hybrid(np.array([1, 3]), words, np.array([2, 1]), np.array([0.9, 0.2]), 0.5)
    assert ranked.rows.tolist() == [1, 2, 3]
    assert ranked.lexical.tolist() == [3.0, 0.0, 1.0]
    assert np.isnan(ranked.dense[2])


def test_one_page_cannot_fill_the_lexical_candidates() -> None:
    pages = np.array([0] * 50 + [1, 2])
    scores = np.concatenate((np.linspace(9, 8, 50), [2.0, 1.0]))
    assert lexical_candidates(scores, pages, None, 4, per_page=2).tolist() == [0, 1, 50, 51]


def test_equal_scores_are_ordered_by_page_and_all_are_considered() -> None:
    pages = np.arange(500)[::-1].copy()
    assert lexical_candidates(np.ones(500), pages, None, 3, per_page=1).tolist() == [499, 498, 497]


def test_filtered_chunks_are_not_candidates() -> None:
    allowed = np.array([False, True, True])
    assert lexical_candidates(np.array([3.0, 2.0, 0.0]), np.arange(3), allowed, 9, 9).tolist() == [1]


def test_the_nearest_of_several_sites_are_the_nearest_of_all() -> None:
    sites = [(np.array([0, 1]), np.array([0.9, 0.1])), (np.array([5, 6]), np.array([0.8, 0.7]))]
    places, scores = merge_nearest(sites, np.array([1]), 2)
    assert (places.tolist(), scores.tolist()) == ([0, 1, 5], [0.9, 0.1, 0.8])


def test_which_of_equals_a_store_has_left_out_does_not_matter() -> None:
    scores = np.array([0.9, 0.5, 0.5, 0.1])
    always = np.array([7])
    for equals in ((2, 3), (2, 4), (3, 4)):
        places, _ = without_cut_ties(np.array([1, *equals, 7]), scores, always, 3)
        assert places.tolist() == [1, 7]
    assert without_cut_ties(np.array([1, 2]), np.array([0.5, 0.5]), always, 2)[0].tolist() == [1, 2]


def test_few_of_a_page_stay_in_order() -> None:
    ranked = rank_dense(np.array([0, 1, 2, 3]), np.array([0.5, 0.9, 0.8, 0.7]))
    assert sort_candidates(ranked, np.array([0, 1, 1, 1]), 2).rows.tolist() == [1, 2, 0]


def test_a_page_that_answers_twice_is_raised_by_its_second_best_place() -> None:
    pages = np.array([7, 8, 8, 8])
    ranked = rank_dense(np.arange(4), np.array([0.8, 0.79, 0.7, 0.1]))
    raised = with_page_support(ranked, pages, 0.1)
    assert raised.scores.tolist() == pytest.approx([0.8, 0.86, 0.77, 0.17])
    assert sort_candidates(ranked, pages, per_page=2).rows.tolist() == [1, 0, 2]


def test_words_weigh_more_where_a_chunk_holds_all_of_them() -> None:
    weights = [lexical_weight(coverage) for coverage in (0.0, 0.2, 0.5, 0.9)]
    assert weights == pytest.approx([0.45, 0.45, 0.55, 0.75])
