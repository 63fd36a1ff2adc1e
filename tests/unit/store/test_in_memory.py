"""In-memory vector search equals a comparison with every vector and a full sort."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sitelore.model.search import Similarities
from sitelore.store.vectors.in_memory import QuantisedVectors, SiteMatrix, nearest

Floats = NDArray[np.float32]
DIMS = 16


def matrix(chance: np.random.Generator, chunks: int, rows: QuantisedVectors, spread: int = 1) -> SiteMatrix:
    numbers = np.cumsum(chance.integers(1, spread + 1, chunks)).astype(np.int64)
    pages = np.sort(chance.integers(0, chunks // 3 + 1, chunks)).astype(np.int64)
    return SiteMatrix(1, 1, {}, rows, [], numbers, pages, chance.integers(0, len(rows), chunks))


def plainly(
    held: SiteMatrix, stale: list[int], query: Floats, limit: int, also: list[int], among: Collection[int] | None
) -> Similarities:
    shown = [
        (float(held.vectors.values[at].astype(np.float32) @ query), int(number))
        for number, page, at in zip(held.numbers, held.pages, held.at, strict=True)
        if page not in stale and (among is None or int(number) in among)
    ]
    shown.sort(key=lambda one: (-one[0], one[1]))
    first = shown[: max(0, limit)]
    more = sorted((one for one in shown[max(0, limit) :] if one[1] in also), key=lambda one: one[1])
    return Similarities([number for _, number in first + more], [score for score, _ in first + more], len(shown))


@given(
    seed=st.integers(0, 2**32 - 1),
    chunks=st.sampled_from([1, 7, 300, 1_500]),
    spread=st.sampled_from([1, 3, 90_000]),
    limit=st.sampled_from([0, 1, 5, 400]),
    filtered=st.sampled_from([None, 0.0, 0.05, 0.6, 1.0]),
)
@settings(max_examples=80, deadline=None)
def test_the_nearest_equal_a_full_sort(seed: int, chunks: int, spread: int, limit: int, filtered: float | None) -> None:
    # Small whole numbers: sums are exact in whatever order they are added, and many are equal.
    chance = np.random.default_rng(seed)
    rows = QuantisedVectors.quantise(chance.integers(-3, 4, (max(1, chunks // 2), DIMS)).astype(np.float16))
    held = matrix(chance, chunks, rows, spread)
    query = chance.integers(-3, 4, DIMS).astype(np.float32)
    stale = [0] if seed % 3 == 0 else []
    also = [int(number) for number in held.numbers[:: max(1, chunks // 9)]] + [2**31]
    among = None if filtered is None else held.numbers[chance.random(chunks) < filtered].astype("<u4")
    result = nearest(held, stale, query, limit, also, None if among is None else (among.tobytes() + b"\xff\xff\xff\xff"))
    assert result == plainly(held, stale, query, limit, also, None if among is None else set(among.tolist()))


vectors = st.builds(
    lambda seed, shape, spread: (np.random.default_rng(seed), shape, spread),
    st.integers(0, 2**32 - 1),
    st.tuples(st.sampled_from([1, 50, 2_500]), st.sampled_from([1, 7, 384, 1_536])),
    st.sampled_from([0.0, 1e-6, 0.05, 1.0, 300.0]),
)


@given(vectors)
@settings(max_examples=60, deadline=None)
def test_the_error_of_quantised_similarities_is_within_its_bound(
    drawn: tuple[np.random.Generator, tuple[int, int], float],
) -> None:
    chance, shape, spread = drawn
    rows = QuantisedVectors.quantise((spread * chance.standard_normal(shape)).astype(np.float16))
    query = chance.standard_normal(shape[1]).astype(np.float32)
    known = rows.approximate_similarity(query)
    assert known is not None
    exact = rows.values.astype(np.float64) @ query.astype(np.float64)
    computed = rows.similarity(np.arange(len(rows)), query)
    assert (np.abs(known[0] - exact) <= known[1]).all()
    assert (np.abs(known[0] - computed) <= known[1]).all()


@given(vectors, st.integers(1, 300))
@settings(max_examples=40, deadline=None)
def test_the_nearest_by_quantised_search_are_the_nearest_in_full_precision(
    drawn: tuple[np.random.Generator, tuple[int, int], float], limit: int
) -> None:
    chance, shape, spread = drawn
    held = matrix(chance, 2_000, QuantisedVectors.quantise((spread * chance.standard_normal(shape)).astype(np.float16)))
    query = chance.standard_normal(shape[1]).astype(np.float32)
    similarity = held.vectors.similarity(held.at, query)
    order = np.lexsort((held.numbers, -similarity))[:limit]
    result = nearest(held, [], query, limit, [], None)
    assert result.numbers[:limit] == held.numbers[order].tolist()


@pytest.mark.parametrize("query", [np.zeros(DIMS), np.full(DIMS, np.inf), np.full(DIMS, np.nan)])
def test_a_query_without_direction_is_not_an_error(query: NDArray[np.float64]) -> None:
    chance = np.random.default_rng(1)
    held = matrix(chance, 1_500, QuantisedVectors.quantise(chance.standard_normal((1_500, DIMS)).astype(np.float16)))
    with np.errstate(invalid="ignore"):
        assert len(nearest(held, [], query.astype(np.float32), 3, (), None).numbers) <= 3


def test_replaced_taken_and_appended_vectors_equal_a_single_quantisation() -> None:
    chance = np.random.default_rng(2)
    first, second, third = (chance.standard_normal((count, DIMS)).astype(np.float16) for count in (40, 7, 3))
    second[0, 0], second[1, 1] = np.nan, np.inf
    at = np.array([4, 39, 0], np.int64)
    built = QuantisedVectors.quantise(first).append(QuantisedVectors.quantise(second))
    built = built.replace(at, QuantisedVectors.quantise(third)).take(np.arange(46, -1, -1))
    whole = np.concatenate((first, np.nan_to_num(second, nan=0.0, posinf=0.0)))
    whole[at] = third
    made = QuantisedVectors.quantise(whole[::-1].copy())
    assert (built.values == made.values).all()
    assert (built.codes is None) == (made.codes is None)
    if built.codes is not None:
        assert (built.codes == made.codes).all()
        assert (built.errors == made.errors).all()
    assert (built.scales == made.scales).all()
    assert built.max_length >= made.max_length
    assert built.nbytes == made.nbytes
