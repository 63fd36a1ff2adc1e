"""BM25 over packed postings, counted over live chunks alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest

from sitelore.index.lexical import K1, B, Collection, Entries, LiveChunks, merged, scores, unpacked, weighed
from sitelore.index.terms import Asked
from sitelore.model.knowledge import Postings


def live(numbers: Sequence[int], lengths: Sequence[int] | None = None) -> LiveChunks:
    return LiveChunks(np.array(numbers, "<u4"), np.array(lengths or [10] * len(numbers), "<u2"))


def packed(numbers: Sequence[int], counts: Sequence[int]) -> bytes:
    return Postings(numbers, counts, [10] * len(numbers)).packed()


def test_a_score_is_bm25() -> None:
    chunks = live([1, 2, 3], [10, 20, 30])
    entries = {"pod": unpacked([packed([1, 3], [2, 1])], chunks)}
    collection = Collection.of([chunks])
    found = scores(weighed([Asked(("pod",), 0.5)], entries, collection), collection)
    rarity = log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = [
        0.5 * rarity * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / 20)) for tf, length in ((2, 10), (0, 20), (1, 30))
    ]
    assert found == pytest.approx(expected)


def test_dead_chunks_count_nowhere() -> None:
    grown, rebuilt = live([2, 5, 9], [10, 12, 14]), live([1, 2, 3], [10, 12, 14])
    figures = []
    for chunks, blocks in (
        (grown, [packed([1, 2, 4], [9, 1, 7]), packed([5, 8, 11], [3, 2, 1])]),
        (rebuilt, [packed([1, 2], [1, 3])]),
    ):
        collection = Collection.of([chunks])
        entries = {"pod": unpacked(blocks, chunks)}
        figures.append(scores(weighed([Asked(("pod",))], entries, collection), collection).tolist())
    assert figures[0] == figures[1]


@pytest.mark.parametrize("numbers", [[1, 2, 3], [7, 4_000_000_000, 4_000_000_001]])
def test_places_are_found_whether_numbers_are_dense_or_far_apart(numbers: list[int]) -> None:
    places, alive = live(numbers).places(np.array([0, numbers[0], numbers[2], 4_294_967_295], np.uint32))
    assert places.tolist() == [0, 2]
    assert alive.tolist() == [False, True, True, False]


def test_no_chunks_have_no_places() -> None:
    places, alive = live([]).places(np.array([1, 2], np.uint32))
    assert (places.tolist(), alive.tolist()) == ([], [False, False])
    assert len(Collection.of([])) == 0


def test_several_sites_are_one_collection() -> None:
    first, second = live([1, 2]), live([1, 2, 3])
    found = unpacked([packed([2, 3], [1, 4])], second, first_place=len(first))
    assert (found.places.tolist(), found.counts.tolist()) == ([3, 4], [1.0, 4.0])
    assert len(Collection.of([first, second])) == 5


def test_forms_of_one_word_are_counted_as_one() -> None:
    one = Entries(np.array([1, 4]), np.array([1.0, 2.0]))
    other = Entries(np.array([4, 5]), np.array([3.0, 1.0]))
    both = merged([one, other])
    assert (both.places.tolist(), both.counts.tolist()) == ([1, 4, 5], [1.0, 5.0, 1.0])


def test_a_word_that_all_chunks_hold_still_says_something() -> None:
    chunks = live([1, 2])
    collection = Collection.of([chunks])
    [word] = weighed([Asked(("a",))], {"a": unpacked([packed([1, 2], [1, 1])], chunks)}, collection)
    assert word.rarity > 0


def test_a_cut_block_is_no_error() -> None:
    assert unpacked([b"", b"\x01\x02\x03"], live([1])).places.tolist() == []
