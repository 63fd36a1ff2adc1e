"""Which chunks are looked at more closely: the best by words and the best by meaning, few of any one page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sitelore.index.columns import Mask
from sitelore.index.fusion import LEXICAL_WEIGHT, fuse
from sitelore.index.lexical import Floats, Places

DEPTH = 100
"""Candidates of either half."""
PER_PAGE = 3
"""Chunks of a page among the candidates by words, so that a page that holds a whole book leaves room for others."""
_POOL = 20
"""Times as many are ordered as are wanted, for the pages that have too many among them."""

_SAMPLED = 16


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates, the best first. A half that took no part has NaN."""

    places: Places
    scores: Floats
    lexical: Floats
    dense: Floats

    def at(self, rows: Places) -> Ranked:
        """Some of them."""
        return Ranked(self.places[rows], self.scores[rows], self.lexical[rows], self.dense[rows])


def best_by_words(scores: Floats, pages: Places, allowed: Mask | None, count: int, per_page: int) -> Places:
    """The places of the best that hold any word at all; equal ones by page, then by place."""
    pool = _POOL * count
    held = scores if allowed is None else np.where(allowed, scores, 0.0)
    places = np.flatnonzero(held > _floor(held, pool))
    if len(places) > pool:
        found = held[places]
        # The lowest of the pool, and all that equal it: which of equals stay must not hang on their order here.
        places = places[found >= np.partition(found, len(found) - pool)[len(found) - pool]]
    order = np.lexsort((places, pages[places], -scores[places]))
    places = places[order]
    return places[_turns(pages[places]) < per_page][:count]


def _floor(scores: Floats, pool: int) -> float:
    """A score that far more than `pool` are above, by what every so manieth shows; else zero, so that all are looked at."""
    some = scores[::_SAMPLED]
    rank = 2 * pool // _SAMPLED
    if not 0 < rank < len(some) // 2:
        return 0.0
    floor = max(0.0, float(np.partition(some, len(some) - rank)[len(some) - rank]))
    return floor if np.count_nonzero(scores > floor) > pool else 0.0


def ordered(ranked: Ranked, pages: Places, per_page: int) -> Ranked:
    """The best first, not more than so many of a page; equal ones by page, then by place."""
    order = np.lexsort((ranked.places, pages[ranked.places], -ranked.scores))
    turns = _turns(pages[ranked.places[order]])
    return ranked.at(order[turns < per_page])


def _turns(pages: Places) -> Places:
    """How many of the same page stand before each."""
    by_page = np.argsort(pages, kind="stable")
    grouped = pages[by_page]
    begins = np.flatnonzero(np.concatenate(([True], grouped[1:] != grouped[:-1]))) if len(grouped) else np.empty(0, np.int64)
    sizes = np.diff(np.append(begins, len(grouped)))
    turns = np.empty(len(pages), np.int64)
    turns[by_page] = np.arange(len(grouped)) - np.repeat(begins, sizes)
    return turns


def certain(places: Places, scores: Floats, always: Places, limit: int) -> tuple[Places, Floats]:
    """What a store gave as the nearest, without those that equal the last one where it may have left out others.

    Which of equals it gave hangs on the order of chunks in the store. Those of `always` were asked for by name.
    """
    if len(places) < limit:
        return places, scores
    last = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    if not (scores > last).any():
        return places, scores
    kept = (scores > last) | np.isin(places, always)
    return places[kept], scores[kept]


def nearest(near: Iterable[tuple[Places, Floats]], always: Places, count: int) -> tuple[Places, Floats]:
    """The nearest of several sites as of one, all that equal the last of them, and those of `always` however far they are."""
    parts = list(near)
    places = np.concatenate([part for part, _ in parts]) if parts else np.empty(0, np.int64)
    scores = np.concatenate([part for _, part in parts]) if parts else np.empty(0)
    if len(places) <= count:
        return places, scores
    kept = (scores >= np.partition(scores, len(scores) - count)[len(scores) - count]) | np.isin(places, always)
    return places[kept], scores[kept]


def by_words(places: Places, scores: Floats) -> Ranked:
    """Candidates by words alone."""
    found = scores[places]
    return Ranked(places, found, found, np.full(len(places), np.nan))


def by_meaning(places: Places, scores: Floats) -> Ranked:
    """Candidates by meaning alone."""
    return Ranked(places, scores, np.full(len(places), np.nan), scores)


def by_both(worded: Places, words: Floats, near: Places, nearness: Floats, weight: float = LEXICAL_WEIGHT) -> Ranked:
    """Candidates of either half with one score."""
    places = np.union1d(worded, near)
    dense = np.full(len(places), np.nan)
    dense[np.searchsorted(places, near)] = nearness
    lexical = words[places]
    return Ranked(places, fuse(lexical, dense, weight), lexical, dense)
