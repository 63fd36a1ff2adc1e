"""Selects candidates by words and by meaning, and fuses both scores into one ranking.

Each score is scaled to 0..1 among the candidates of a query, and the two are added by weight: scores carry more than ranks.
Reciprocal rank fusion (`fuse_ranks`) is for stores that return an order without scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from sitelore.index.corpus import Mask
from sitelore.index.lexical import Floats, Rows

DEPTH = 100
"""Candidates of each retriever."""
PER_PAGE = 3
"""Lexical candidates of one page, so that a very long page leaves room for others."""
LEXICAL_WEIGHT = 0.45
"""Of words against meaning, where no chunk has much of the words of a query."""
COVERAGE_WEIGHT, COVERED = 0.5, 0.3
"""What the share above `COVERED` of the best possible lexical score adds to the weight of words."""
SECOND_WEIGHT = 0.05
"""Of the second best candidate of a page in the score of each."""
RANK_OFFSET = 60
"""The usual constant of reciprocal rank fusion."""
_POOL_FACTOR = 20
"""How many times more chunks are sorted than requested, because the limit per page removes some."""
_SAMPLE_STEP = 16

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates sorted by score; a retriever (lexical or dense) that did not return the chunk scores NaN."""

    rows: Rows
    scores: Floats
    lexical: Floats
    dense: Floats

    def take(self, indices: Rows) -> Ranked:
        """The candidates at these indices."""
        return Ranked(self.rows[indices], self.scores[indices], self.lexical[indices], self.dense[indices])


def lexical_candidates(scores: Floats, pages: Rows, allowed: Mask | None, count: int, per_page: int) -> Rows:
    """The rows with the highest positive scores; ties are sorted by page, then by row."""
    pool = _POOL_FACTOR * count
    allowed_scores = scores if allowed is None else np.where(allowed, scores, 0.0)
    rows = np.flatnonzero(allowed_scores > _score_floor(allowed_scores, pool))
    if len(rows) > pool:
        positive = allowed_scores[rows]
        # Keep all that equal the last score of the pool: which of them stay must not depend on their order here.
        rows = rows[positive >= np.partition(positive, len(positive) - pool)[len(positive) - pool]]
    order = np.lexsort((rows, pages[rows], -scores[rows]))
    rows = rows[order]
    return rows[_rank_in_page(pages[rows]) < per_page][:count]


def _score_floor(scores: Floats, pool: int) -> float:
    """A score that more than `pool` chunks exceed, estimated from a sample; zero where none can be given."""
    sample = scores[::_SAMPLE_STEP]
    rank = 2 * pool // _SAMPLE_STEP
    if not 0 < rank < len(sample) // 2:
        return 0.0
    floor = max(0.0, float(np.partition(sample, len(sample) - rank)[len(sample) - rank]))
    return floor if np.count_nonzero(scores > floor) > pool else 0.0


def with_page_support(ranked: Ranked, pages: Rows, weight: float = SECOND_WEIGHT) -> Ranked:
    """The candidates, those of a page with several candidates raised by the score of the second best one.

    A page that is about the topic of a query answers it in several places, a page that mentions it in one.
    """
    of_rows = pages[ranked.rows]
    order = np.lexsort((-ranked.scores, of_rows))
    second = order[_rank_in_page(of_rows[order]) == 1]
    if not len(second):
        return ranked
    at = np.minimum(np.searchsorted(of_rows[second], of_rows), len(second) - 1)
    support = np.where(of_rows[second][at] == of_rows, ranked.scores[second][at], 0.0)
    return replace(ranked, scores=ranked.scores + weight * np.maximum(support, 0.0))


def sort_candidates(ranked: Ranked, pages: Rows, per_page: int) -> Ranked:
    """Sort by score, with at most `per_page` candidates of a page; ties are sorted by page, then by row."""
    ranked = with_page_support(ranked, pages)
    order = np.lexsort((ranked.rows, pages[ranked.rows], -ranked.scores))
    ranks = _rank_in_page(pages[ranked.rows[order]])
    return ranked.take(order[ranks < per_page])


def _rank_in_page(pages: Rows) -> Rows:
    """For each entry, how many of the same page precede it."""
    by_page = np.argsort(pages, kind="stable")
    grouped = pages[by_page]
    begins = np.flatnonzero(np.concatenate(([True], grouped[1:] != grouped[:-1]))) if len(grouped) else np.empty(0, np.int64)
    sizes = np.diff(np.append(begins, len(grouped)))
    ranks = np.empty(len(pages), np.int64)
    ranks[by_page] = np.arange(len(grouped)) - np.repeat(begins, sizes)
    return ranks


def without_cut_ties(rows: Rows, scores: Floats, always: Rows, limit: int) -> tuple[Rows, Floats]:
    """Nearest chunks of a store without those that tie with the last one, where the store may have left out others.

    Which of equals a store returns depends on its order of chunks. Chunks of `always` were requested by number and stay.
    """
    if len(rows) < limit:
        return rows, scores
    last = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    if not (scores > last).any():
        return rows, scores
    kept = (scores > last) | np.isin(rows, always)
    return rows[kept], scores[kept]


def merge_nearest(parts: Iterable[tuple[Rows, Floats]], always: Rows, count: int) -> tuple[Rows, Floats]:
    """The nearest chunks of several sites, with all that tie with the last one, and those of `always` at any distance."""
    results = list(parts)
    rows = np.concatenate([part for part, _ in results]) if results else np.empty(0, np.int64)
    scores = np.concatenate([part for _, part in results]) if results else np.empty(0)
    if len(rows) <= count:
        return rows, scores
    kept = (scores >= np.partition(scores, len(scores) - count)[len(scores) - count]) | np.isin(rows, always)
    return rows[kept], scores[kept]


def lexical_weight(coverage: float) -> float:
    """The weight of words against meaning, by the share of the best possible lexical score that the best chunk has.

    Where a chunk holds all words of a query, they name what is searched for; where none does, they only describe it.
    """
    return LEXICAL_WEIGHT + COVERAGE_WEIGHT * max(0.0, coverage - COVERED)


def rank_lexical(rows: Rows, scores: Floats) -> Ranked:
    """Candidates by words alone."""
    lexical = scores[rows]
    return Ranked(rows, lexical, lexical, np.full(len(rows), np.nan))


def rank_dense(rows: Rows, scores: Floats) -> Ranked:
    """Candidates by meaning alone."""
    return Ranked(rows, scores, np.full(len(rows), np.nan), scores)


def rank_hybrid(
    lexical_rows: Rows, lexical_scores: Floats, dense_rows: Rows, similarities: Floats, weight: float = LEXICAL_WEIGHT
) -> Ranked:
    """The candidates of both retrievers with one fused score."""
    rows = np.union1d(lexical_rows, dense_rows)
    dense = np.full(len(rows), np.nan)
    dense[np.searchsorted(rows, dense_rows)] = similarities
    lexical = lexical_scores[rows]
    return Ranked(rows, fuse(lexical, dense, weight), lexical, dense)


def strength(ranked: Ranked, ideal: float) -> float:
    """How good the best candidate is, between 0 and 1: its share of the best possible lexical score, and its similarity.

    Scores within a query are relative to its best candidate; multiplied by this, they are comparable between queries, and a
    query whose words are on no page has no high score.
    """
    by_words = np.nanmax(ranked.lexical, initial=0.0) / ideal if ideal > 0 else 0.0
    if np.isnan(ranked.dense).all():
        return float(by_words)
    by_meaning = max(0.0, float(np.nanmax(ranked.dense)))
    if np.isnan(ranked.lexical).all():
        return by_meaning
    return float(LEXICAL_WEIGHT * by_words + (1 - LEXICAL_WEIGHT) * by_meaning)


def scale(values: Floats) -> Floats:
    """Scale to 0 for the lowest and 1 for the highest. NaN stays NaN, and equal values are all 1."""
    known = values[~np.isnan(values)]
    if not len(known):
        return values.copy()
    low, high = float(known.min()), float(known.max())
    if high <= low:
        return np.where(np.isnan(values), np.nan, 1.0)
    return (values - low) / (high - low)


def fuse(lexical: Floats, dense: Floats, weight: float = LEXICAL_WEIGHT) -> Floats:
    """One score for every candidate. A chunk without a vector (NaN) is taken to be as similar as its lexical score."""
    by_words, by_meaning = scale(lexical), scale(dense)
    return weight * by_words + (1 - weight) * np.where(np.isnan(by_meaning), by_words, by_meaning)


def fuse_ranks(rankings: Sequence[Sequence[Key]], offset: int = RANK_OFFSET) -> dict[Key, float]:
    """Reciprocal rank fusion of several orders."""
    total: dict[Key, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            total[key] = total.get(key, 0.0) + 1 / (offset + rank)
    return total
