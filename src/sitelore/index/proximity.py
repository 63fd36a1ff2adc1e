"""Words that stand side by side in a question and in a chunk say more than the same words far apart.

Postings know no positions, so this is looked at in the texts of the few best chunks alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, pairwise

import numpy as np

from sitelore.index.lexical import Collection, Floats, Places, Weighed, saturated
from sitelore.index.stemming import MAIN_LANGUAGE, language_of
from sitelore.index.stop_words import STOP_WORDS
from sitelore.index.terms import CACHED_LANGUAGES, Pieces, is_unspaced, vocabulary

PAIR_WEIGHT = 0.3
"""What a pair counts, as a share of what the more common one of its words does."""
MAX_TEXT = 20_000
"""Characters that are looked at; a chunk is far shorter."""


def _read(language: str, stop_words: frozenset[str], word: str) -> tuple[str, ...]:
    """The terms that a word is read by one after the other.

    An identifier is read by its parts. Words that say little are passed over, and scripts without spaces have their pairs of
    characters already.
    """
    if word.casefold() in stop_words or is_unspaced(word):
        return ()
    terms = vocabulary(language)[word]
    return terms[1:] if len(terms) > 2 else terms


@lru_cache(CACHED_LANGUAGES)
def _spoken(lang: str) -> Pieces:
    language = language_of(lang)
    if language != lang:
        return _spoken(language)
    return Pieces(partial(_read, language, frozenset(STOP_WORDS.get(language or MAIN_LANGUAGE, ()))))


def _sequence(text: str, lang: str) -> Iterator[str]:
    return chain.from_iterable(map(_spoken(lang).__getitem__, text[:MAX_TEXT].split()))


class Neighbours:
    """The pairs of words of a question, with what each is worth."""

    def __init__(self, text: str, langs: Iterable[str], words: Sequence[Weighed]) -> None:
        known = {term: word for word in words if not word.asked.is_small for term in word.asked.terms}
        self._known = known
        self._worth = {
            pair: min(known[pair[0]].rarity, known[pair[1]].rarity)
            for lang in langs
            for pair in pairwise(_sequence(text, lang))
            if pair[0] in known and pair[1] in known and pair[0] != pair[1]
        }

    def __bool__(self) -> bool:
        return bool(self._worth)

    def score(self, text: str, lang: str, norm: float) -> float:
        """What the pairs in a text of this norm add to the score of its words."""
        counts = Counter(filter(self._worth.__contains__, pairwise(_sequence(text, lang))))
        found = [(worth, counts[pair]) for pair, worth in self._worth.items() if pair in counts]
        if not found:
            return 0.0
        worths, often = np.array(found, np.float64).T
        return PAIR_WEIGHT * float((worths * saturated(often, np.full(len(often), norm))).sum())

    def most(self, places: Places, collection: Collection) -> Floats:
        """What the texts at these places can have at most by `score`: a pair stands nowhere oftener than its words."""
        often = {term: _counts(self._known[term], places) for term in {term for pair in self._worth for term in pair}}
        norms = collection.norms[places]
        most = np.zeros(len(places))
        for (first, second), worth in self._worth.items():
            most += worth * saturated(np.minimum(often[first], often[second]), norms)
        return PAIR_WEIGHT * most


def _counts(word: Weighed, places: Places) -> Floats:
    """How often a word stands at these places."""
    held = word.found.places
    at = np.minimum(np.searchsorted(held, places), len(held) - 1)
    return np.where(held[at] == places, word.found.counts[at], 0.0)
