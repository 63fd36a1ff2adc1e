"""Two rankings become one.

Scores say more than ranks: each half is brought to the range from 0 to 1 among the candidates of a question, and the two are
added by weight. Rank fusion stands by for stores that give an order and no scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

LEXICAL_WEIGHT = 0.45
RANK_OFFSET = 60
"""How little the very first ranks stand out: the usual constant of reciprocal rank fusion."""

Floats = NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)


def spread(values: Floats) -> Floats:
    """From 0 for the lowest to 1 for the highest; what is not known (NaN) stays so, and equal values are all 1."""
    known = values[~np.isnan(values)]
    if not len(known):
        return values.copy()
    low, high = float(known.min()), float(known.max())
    if high <= low:
        return np.where(np.isnan(values), np.nan, 1.0)
    return (values - low) / (high - low)


def fuse(lexical: Floats, dense: Floats, weight: float = LEXICAL_WEIGHT) -> Floats:
    """One score for every candidate. A chunk that has no vector yet (NaN) is taken to be as near as its words say."""
    by_words, by_meaning = spread(lexical), spread(dense)
    return weight * by_words + (1 - weight) * np.where(np.isnan(by_meaning), by_words, by_meaning)


def fuse_ranks(rankings: Sequence[Sequence[Key]], offset: int = RANK_OFFSET) -> dict[Key, float]:
    """Reciprocal rank fusion: what stands high in several orders stands high."""
    total: dict[Key, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            total[key] = total.get(key, 0.0) + 1 / (offset + rank)
    return total
