"""Splits text into index terms, and queries into weighted terms.

A word is normalised (NFKC, case, accents) and stemmed by the language of its page. Identifiers are indexed whole and in parts:
`kube-apiserver` is found by `kube`, `apiserver` and itself, `camelCase` by `camel`. Scripts without spaces are indexed by pairs
of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from sitelore.index.languages import MAIN_LANGUAGE, STOP_WORDS, language_of, stem

MAX_TERM = 48
"""Characters of a term; longer words are found by their beginning."""
MAX_PARTS = 12
"""Parts of an identifier that is also indexed whole; longer ones are indexed by their parts alone."""
MAX_QUERY_TERMS = 96
PART_WEIGHT = 0.6
"""Weight in a query of an identifier and of each of its parts."""
STOP_WORD_WEIGHT = 0.3
MAX_STEMMED_CHARS = 64
CACHED_WORDS = 30_000
"""Words in a cache; nine tenths of the words of a text are among the 20,000 most frequent ones of its site."""
MAX_CACHED_WORD_CHARS = 40
MAX_CACHED_TOKEN_CHARS = 120
CACHED_LANGUAGES = 64

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7"
    "\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7"
    "\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0d81-\u0d83\u0dca-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
"""Vowel signs and points: parts of words that Python's `\\w` does not match."""
_INVISIBLE = "\u00ad\u200b-\u200d\u2060\ufeff"
_UNSPACED = (
    "\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces between words (Han, kana, Thai, Lao, Burmese, Khmer), and Hangul, which appends endings to words."""

WORD = re.compile(rf"[\w{_MARKS}{_INVISIBLE}]+(?:[-.'\u2019\u2010\u2011\u00b7][\w{_MARKS}{_INVISIBLE}]+)*(?:\+\+|#(?!\w))?")
"""Matches a word as it is written, an identifier as a whole."""
EDGES = '.,;:!?()[]{}<>"*`|/\\=~$%&^@-'
"""Characters that are stripped from both sides of a word."""
_JOINTS = re.compile(r"[-._\u2010\u2011\u00b7'\u2019]+")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RUNS = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_INVISIBLES = re.compile(f"[{_INVISIBLE}]+")
_POSSESSIVE = re.compile(r"['\u2019][sS]?$")
_POINTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]+")


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One word of a query: its term in each language of the pages, and its weight."""

    terms: tuple[str, ...]
    weight: float = 1.0
    is_stop_word: bool = False


class Vocabulary(dict[str, tuple[str, ...]]):
    """Cache from the words of a language, as `WORD` matches them, to their terms. Missing words are added on lookup."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: str) -> tuple[str, ...]:
        if word.isalpha() and word.isascii() and (word.islower() or word[1:].islower() or word.isupper()):
            terms: tuple[str, ...] = (_term(word, self._language),)  # the common case: one part, no search needed
        else:
            parts = _identifier_parts(word)[0] if word.isascii() else [part for part, _ in _parts(word)]
            terms = tuple(term for part in parts if (term := _term(part, self._language)))
        if len(word) <= MAX_CACHED_WORD_CHARS:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[word] = terms
        return terms


class TokenTerms(dict[str, tuple[str, ...]]):
    """Cache from white-space separated tokens to the terms of their words, in order.

    No word holds a space, so the terms of a text are those of its tokens. Most texts consist of the same few tokens, and a
    lookup is much cheaper than matching words.
    """

    def __init__(self, terms_of_word: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._terms_of_word = terms_of_word

    def __missing__(self, token: str) -> tuple[str, ...]:
        bare = token.strip(EDGES)
        if bare.isascii() and bare.isidentifier():
            terms = self._terms_of_word(bare)
        else:
            terms = tuple(chain.from_iterable(map(self._terms_of_word, WORD.findall(bare))))
        if len(token) <= MAX_CACHED_TOKEN_CHARS:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[token] = terms
        return terms


def term_sequence(text: str, lang: str = "") -> Iterator[str]:
    """The terms of a text, in order."""
    return chain.from_iterable(map(token_terms(lang).__getitem__, text.split()))


def terms_of(text: str, lang: str = "") -> Counter[str]:
    """Count the terms of a text."""
    return Counter(term_sequence(text, lang))


@lru_cache(CACHED_LANGUAGES)
def token_terms(lang: str) -> TokenTerms:
    """The token cache for the language of a tag."""
    language = language_of(lang)
    return TokenTerms(vocabulary(language).__getitem__) if language == lang else token_terms(language)


@lru_cache(CACHED_LANGUAGES)
def vocabulary(lang: str) -> Vocabulary:
    """The word cache for the language of a tag."""
    language = language_of(lang)
    return Vocabulary(language) if language == lang else vocabulary(language)


def query_terms(text: str, langs: Iterable[str] = ()) -> list[QueryTerm]:
    """Split a query into weighted terms, in the order of its words; a repeated word weighs more."""
    languages = sorted({language_of(lang) for lang in langs}) or [""]
    by_terms: dict[tuple[str, ...], QueryTerm] = {}
    for word in WORD.findall(text):
        for part, weight in _parts(word):
            terms = tuple(dict.fromkeys(term for language in languages if (term := _term(part, language)))) if weight else ()
            if terms:
                is_stop = is_stop_word(part, languages)
                previous = by_terms[terms].weight if terms in by_terms else 0.0
                by_terms[terms] = QueryTerm(terms, previous + weight * (STOP_WORD_WEIGHT if is_stop else 1.0), is_stop)
    return list(by_terms.values())[:MAX_QUERY_TERMS]


def is_stop_word(word: str, languages: Iterable[str]) -> bool:
    """Whether a word is a stop word of one of these languages; an empty one means the main language."""
    folded = word.casefold()
    return any(folded in STOP_WORDS.get(language or MAIN_LANGUAGE, ()) for language in languages)


def is_unspaced(word: str) -> bool:
    """Whether a word contains characters of a script without spaces."""
    return not word.isascii() and _IS_UNSPACED.search(word) is not None


def _parts(word: str) -> Iterator[tuple[str, float]]:
    """The parts that a word is indexed by, each with its weight in a query."""
    if not word.isascii():
        word = unicodedata.normalize("NFKC", _INVISIBLES.sub("", word))
        if _IS_UNSPACED.search(word):
            for run in _RUNS.findall(word):
                yield from _character_pairs(run) if _IS_UNSPACED.match(run) else _weighted_parts(run)
            return
    yield from _weighted_parts(word)


def _weighted_parts(word: str) -> Iterator[tuple[str, float]]:
    parts, weight = _identifier_parts(word)
    return ((part, weight) for part in parts)


def _character_pairs(run: str) -> Iterator[tuple[str, float]]:
    """Every pair of neighbouring characters, and every single one; singles count in a query of one character alone."""
    for character in run:
        yield character, float(len(run) == 1)
    for first, second in pairwise(run):
        yield first + second, 1.0


def _identifier_parts(word: str) -> tuple[list[str], float]:
    """The parts of an identifier, itself first, and the weight of each of them."""
    word = _POSSESSIVE.sub("", word).strip("_-.'\u2019")
    pieces = (word,) if word.isalnum() else _JOINTS.split(word)
    parts = [part for piece in pieces for part in ((piece,) if piece.islower() else _HUMPS.split(piece)) if part]
    if len(parts) < 2:
        return parts, 1.0
    if all(len(part) == 1 and part.isalpha() for part in parts):
        return ["".join(parts)], 1.0
    long_parts = [part for part in parts if len(part) > 1 or part.isdigit()]
    return [_joined(word, parts), *long_parts] if len(parts) <= MAX_PARTS else long_parts, PART_WEIGHT


def _joined(word: str, parts: list[str]) -> str:
    """An identifier as one word: `DaemonSet` and `daemon-set` are equal, `1.2` and `12` are not."""
    return word if any(map(str.isdigit, word)) else "".join(parts)


def _term(word: str, language: str) -> str:
    folded = stem(word.casefold()[:MAX_STEMMED_CHARS], language)
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _POINTS.sub("", unicodedata.normalize("NFD", folded)))
    return folded[:MAX_TERM]
