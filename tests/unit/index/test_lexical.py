"""BM25 over packed postings, with counts of live chunks only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitelore.index.lexical import (
    K1,
    B,
    CorpusStatistics,
    LiveChunks,
    TermPostings,
    bm25_scores,
    merge_postings,
    score_terms,
    unpack_postings,
)
from sitelore.index.ranking import lexical_candidates
from sitelore.index.terms import QueryTerm
from sitelore.model.search import Postings


def live(numbers: Sequence[int], lengths: Sequence[int] | None = None) -> LiveChunks:
    return LiveChunks(np.array(numbers, "<u4"), np.array(lengths or [10] * len(numbers), "<u2"))


def packed(numbers: Sequence[int], counts: Sequence[int]) -> bytes:
    return Postings(numbers, counts, [10] * len(numbers)).packed()


def test_a_score_is_bm25() -> None:
    chunks = live([1, 2, 3], [10, 20, 30])
    entries = {"pod": unpack_postings([packed([1, 3], [2, 1])], chunks)}
    collection = CorpusStatistics([chunks])
    scores = bm25_scores(score_terms([QueryTerm(("pod",), 0.5)], entries, collection), collection)
    rarity = log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = [
        0.5 * rarity * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / 20)) for tf, length in ((2, 10), (0, 20), (1, 30))
    ]
    assert scores == pytest.approx(expected)


def test_dead_chunks_count_nowhere() -> None:
    grown, rebuilt = live([2, 5, 9], [10, 12, 14]), live([1, 2, 3], [10, 12, 14])
    figures = []
    for chunks, blocks in (
        (grown, [packed([1, 2, 4], [9, 1, 7]), packed([5, 8, 11], [3, 2, 1])]),
        (rebuilt, [packed([1, 2], [1, 3])]),
    ):
        collection = CorpusStatistics([chunks])
        entries = {"pod": unpack_postings(blocks, chunks)}
        figures.append(bm25_scores(score_terms([QueryTerm(("pod",))], entries, collection), collection).tolist())
    assert figures[0] == figures[1]


@pytest.mark.parametrize("numbers", [[1, 2, 3], [7, 4_000_000_000, 4_000_000_001]])
def test_places_are_found_whether_numbers_are_dense_or_far_apart(numbers: list[int]) -> None:
    places, alive = live(numbers).rows(np.array([0, numbers[0], numbers[2], 4_294_967_295], np.uint32))
    assert places.tolist() == [0, 2]
    assert alive.tolist() == [False, True, True, False]


def test_no_chunks_have_no_places() -> None:
    places, alive = live([]).rows(np.array([1, 2], np.uint32))
    assert (places.tolist(), alive.tolist()) == ([], [False, False])
    assert len(CorpusStatistics([])) == 0


def test_several_sites_are_one_collection() -> None:
    first, second = live([1, 2]), live([1, 2, 3])
    postings = unpack_postings([packed([2, 3], [1, 4])], second, first_row=len(first))
    assert (postings.rows.tolist(), postings.counts.tolist()) == ([3, 4], [1.0, 4.0])
    assert len(CorpusStatistics([first, second])) == 5


def test_forms_of_one_word_are_counted_as_one() -> None:
    one = TermPostings(np.array([1, 4]), np.array([1.0, 2.0]))
    other = TermPostings(np.array([4, 5]), np.array([3.0, 1.0]))
    both = merge_postings([one, other])
    assert (both.rows.tolist(), both.counts.tolist()) == ([1, 4, 5], [1.0, 5.0, 1.0])


def test_a_term_of_all_chunks_has_a_positive_score() -> None:
    chunks = live([1, 2])
    collection = CorpusStatistics([chunks])
    [word] = score_terms([QueryTerm(("a",))], {"a": unpack_postings([packed([1, 2], [1, 1])], chunks)}, collection)
    assert word.idf > 0


def test_a_truncated_block_is_ignored() -> None:
    assert unpack_postings([b"", b"\x01\x02\x03"], live([1])).rows.tolist() == []


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_common_and_rare_words_are_scored_alike_at_first_and_again(size: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    chunks = live(range(1, size + 1), chance.integers(1, 500, size).tolist())
    collection = CorpusStatistics([chunks])
    entries = {}
    for term, share in (("all", 1.0), ("half", 0.5), ("few", 0.05), ("none", 0.0)):
        places = np.flatnonzero(chance.random(size) < share)
        entries[term] = TermPostings(places, chance.integers(1, 9, len(places)).astype(np.float64))
    words = score_terms(
        [QueryTerm((term,), weight) for term, weight in (("all", 0.3), ("half", 1.0), ("few", 2.0))], entries, collection
    )
    mean = chunks.lengths.mean()
    expected = np.zeros(size)
    for word in words:
        for place, count in zip(word.postings.rows.tolist(), word.postings.counts.tolist(), strict=True):
            norm = K1 * (1 - B + B * float(chunks.lengths[place]) / mean)
            expected[place] += word.query_term.weight * word.idf * count * (K1 + 1) / (count + norm)
    for _ in range(2):
        assert bm25_scores(words, collection).tolist() == pytest.approx(expected.tolist())


@given(st.sampled_from([0, 5, 900, 20_000]), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_best_by_words_are_those_of_a_whole_sort(size: int, seed: int, is_coarse: bool, has_filter: bool) -> None:
    chance = np.random.default_rng(seed)
    scores = np.maximum(0.0, chance.standard_normal(size))
    if is_coarse:
        scores = np.asarray(np.round(scores, 1), np.float64)
    pages = np.sort(chance.integers(0, size // 3 + 1, size))
    allowed = chance.random(size) < 0.3 if has_filter else None
    held: Counter[int] = Counter()
    expected = []
    for at in sorted(range(size), key=lambda at: (-scores[at], pages[at], at)):
        if scores[at] > 0 and (allowed is None or allowed[at]):
            held[int(pages[at])] += 1
            if held[int(pages[at])] <= 2:
                expected.append(at)
    assert lexical_candidates(scores, pages, allowed, 10, 2).tolist() == expected[:10]
