"""Words that stand side by side in a question and in a chunk say more than the same words far apart.

Postings know no positions, so this is looked at in the texts of the few best chunks alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from sitelore.index.lexical import Collection, Weighed, saturated
from sitelore.index.stemming import language_of
from sitelore.index.terms import CACHED_LANGUAGES, CACHED_WORDS, WORD, is_stop_word, is_unspaced, vocabulary

PAIR_WEIGHT = 0.3
"""What a pair counts, as a share of what the more common one of its words does."""
MAX_TEXT = 20_000
"""Characters that are looked at; a chunk is far shorter."""


class _Spoken(dict[str, tuple[str, ...]]):
    """Words that were met in a language, with the terms that they are read by one after the other.

    An identifier is read by its parts. Words that say little are passed over, and scripts without spaces have their pairs of
    characters already.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: str) -> tuple[str, ...]:
        if is_stop_word(word, (self._language,)) or is_unspaced(word):
            terms: tuple[str, ...] = ()
        else:
            terms = vocabulary(self._language)[word]
            terms = terms[1:] if len(terms) > 2 else terms
        if len(self) >= CACHED_WORDS:
            self.clear()
        self[word] = terms
        return terms


@lru_cache(CACHED_LANGUAGES)
def _spoken(lang: str) -> _Spoken:
    language = language_of(lang)
    return _Spoken(language) if language == lang else _spoken(language)


def _sequence(text: str, lang: str) -> list[str]:
    spoken = _spoken(lang)
    return [term for word in WORD.findall(text[:MAX_TEXT]) for term in spoken[word]]


class Neighbours:
    """The pairs of words of a question, with what each is worth."""

    def __init__(self, text: str, langs: Iterable[str], words: Sequence[Weighed]) -> None:
        rarity = {term: word.rarity for word in words if not word.asked.is_small for term in word.asked.terms}
        self._worth = {
            pair: min(rarity[pair[0]], rarity[pair[1]])
            for lang in langs
            for pair in pairwise(_sequence(text, lang))
            if pair[0] in rarity and pair[1] in rarity and pair[0] != pair[1]
        }

    def __bool__(self) -> bool:
        return bool(self._worth)

    def score(self, text: str, lang: str, length: float, collection: Collection) -> float:
        """What the pairs in a text of so many terms add to the score of its words."""
        counts = Counter(filter(self._worth.__contains__, pairwise(_sequence(text, lang))))
        found = [(worth, counts[pair]) for pair, worth in self._worth.items() if pair in counts]
        if not found:
            return 0.0
        worths, often = np.array(found, np.float64).T
        return PAIR_WEIGHT * float((worths * saturated(often, np.full(len(often), length), collection)).sum())
