"""Text → terms: what a word is, which words are taken for the same one, and which say nothing in a question.

A word is folded (NFKC, case, accents) and stemmed by the language of its page. Identifiers are split and kept: `kube-apiserver`
is found by `kube`, by `apiserver` and by itself, `camelCase` by `camel`. Scripts that write no spaces give pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from sitelore.index.stemming import MAIN_LANGUAGE, language_of, stem
from sitelore.index.stop_words import STOP_WORDS

MAX_TERM = 48
"""Characters. What is longer is no word that anybody types, and is found by its beginning."""
MAX_PARTS = 12
"""Of an identifier; what has more is kept in parts alone."""
MAX_ASKED = 96
"""Words of a question that are looked for."""
PART_WEIGHT = 0.6
"""What the parts of an identifier, and the whole of it, count each in a question."""
STOP_WORD_WEIGHT = 0.3
LONGEST_STEMMED = 64
CACHED_WORDS = 50_000
CACHED_LENGTH = 40
CACHED_PIECE = 120
CACHED_TERMS = 20_000
CACHED_LANGUAGES = 64

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7"
    "\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7"
    "\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0d81-\u0d83\u0dca-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
"""Vowel signs and points: parts of words that Python's `\\w` leaves out."""
_INVISIBLE = "\u00ad\u200b-\u200d\u2060\ufeff"
_UNSPACED = (
    "\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that write no spaces (Han, kana, Thai, Lao, Burmese, Khmer), and Hangul, which glues endings to words."""

WORD = re.compile(rf"[\w{_MARKS}{_INVISIBLE}]+(?:[-.'\u2019\u2010\u2011\u00b7][\w{_MARKS}{_INVISIBLE}]+)*(?:\+\+|#(?!\w))?")
"""A word as it is written, an identifier in one piece."""
EDGES = '.,;:!?()[]{}<>"*`|/\\=~$%&^@-'
"""Around a word these are never part of it."""
_JOINTS = re.compile(r"[-._\u2010\u2011\u00b7'\u2019]+")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RUNS = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_INVISIBLES = re.compile(f"[{_INVISIBLE}]+")
_POSSESSIVE = re.compile(r"['\u2019][sS]?$")
_POINTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """One word of a question: the terms that stand for it, in any of the languages of the pages."""

    terms: tuple[str, ...]
    weight: float = 1.0
    is_small: bool = False
    """It holds the sentence together, and says little."""


class Vocabulary(dict[str, tuple[str, ...]]):
    """Words that were met in a language, as `WORD` finds them, with their terms. One that is asked for is met."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: str) -> tuple[str, ...]:
        if word.isalpha() and word.isascii() and (word.islower() or word[1:].islower() or word.isupper()):
            terms: tuple[str, ...] = (_term(word, self._language),)  # as most are: one part, and known without looking for it
        else:
            terms = tuple(term for part, _ in _parts(word) if (term := _term(part, self._language)))
        if len(word) <= CACHED_LENGTH:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[word] = terms
        return terms


class Pieces(dict[str, tuple[str, ...]]):
    """What was met between spaces, with what its words are read as, one after the other.

    No word holds a space, so a text is read by its pieces as it would be read whole. The same few pieces make up most texts,
    and looking one up takes far less than finding its words.
    """

    def __init__(self, read: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, piece: str) -> tuple[str, ...]:
        bare = piece.strip(EDGES)
        terms = self[bare] if bare != piece else tuple(chain.from_iterable(map(self._read, WORD.findall(piece))))
        if len(piece) <= CACHED_PIECE:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[piece] = terms
        return terms


def terms_of(text: str, lang: str = "") -> Counter[str]:
    """The terms of a text, with how often each stands there."""
    known = vocabulary(lang)
    counted: Counter[str] = Counter()
    for word, count in Counter(WORD.findall(text)).items():
        for term in known[word]:
            counted[term] += count
    return counted


@lru_cache(CACHED_LANGUAGES)
def pieces(lang: str) -> Pieces:
    """What stands between spaces in the language of a tag, with all terms that it is found by."""
    language = language_of(lang)
    return Pieces(vocabulary(language).__getitem__) if language == lang else pieces(language)


@lru_cache(CACHED_LANGUAGES)
def vocabulary(lang: str) -> Vocabulary:
    """The words of the language of a tag."""
    language = language_of(lang)
    return Vocabulary(language) if language == lang else vocabulary(language)


def query_terms(text: str, langs: Iterable[str] = ()) -> list[Asked]:
    """What a question asks for, word by word, in the order of its words; a word that is repeated counts more."""
    languages = sorted({language_of(lang) for lang in langs}) or [""]
    asked: dict[tuple[str, ...], Asked] = {}
    for word in WORD.findall(text):
        for part, weight in _parts(word):
            terms = tuple(dict.fromkeys(term for language in languages if (term := _term(part, language)))) if weight else ()
            if terms:
                is_small = is_stop_word(part, languages)
                before = asked[terms].weight if terms in asked else 0.0
                asked[terms] = Asked(terms, before + weight * (STOP_WORD_WEIGHT if is_small else 1.0), is_small)
    return list(asked.values())[:MAX_ASKED]


def is_stop_word(word: str, languages: Iterable[str]) -> bool:
    """Whether a word says little, in one of these languages (none named: in the main one)."""
    folded = word.casefold()
    return any(folded in STOP_WORDS.get(language or MAIN_LANGUAGE, ()) for language in languages)


def is_unspaced(word: str) -> bool:
    """Whether a word is, or holds, a run of a script without spaces."""
    return not word.isascii() and _IS_UNSPACED.search(word) is not None


def _parts(word: str) -> Iterator[tuple[str, float]]:
    """What a word is indexed by, and how much each counts in a question."""
    if not word.isascii():
        word = unicodedata.normalize("NFKC", _INVISIBLES.sub("", word))
        if _IS_UNSPACED.search(word):
            for run in _RUNS.findall(word):
                yield from _characters(run) if _IS_UNSPACED.match(run) else _parts_of_spaced(run)
            return
    yield from _parts_of_spaced(word)


def _characters(run: str) -> Iterator[tuple[str, float]]:
    """Every two characters in a row; and every one, which is asked for where it stands alone."""
    for character in run:
        yield character, float(len(run) == 1)
    for first, second in pairwise(run):
        yield first + second, 1.0


def _parts_of_spaced(word: str) -> Iterator[tuple[str, float]]:
    word = _POSSESSIVE.sub("", word).strip("_-.'\u2019")
    parts = [part for piece in _JOINTS.split(word) for part in _HUMPS.split(piece) if part]
    if len(parts) < 2:
        yield from ((part, 1.0) for part in parts)
    elif all(len(part) == 1 and part.isalpha() for part in parts):
        yield "".join(parts), 1.0
    else:
        if len(parts) <= MAX_PARTS:
            yield _joined(word, parts), PART_WEIGHT
        yield from ((part, PART_WEIGHT) for part in parts if len(part) > 1 or part.isdigit())


def _joined(word: str, parts: list[str]) -> str:
    """An identifier as one word: `DaemonSet` and `daemon-set` are the same, `1.2` and `12` are not."""
    return word if any(map(str.isdigit, word)) else "".join(parts)


@lru_cache(CACHED_TERMS)
def _term(word: str, language: str) -> str:
    folded = stem(word.casefold()[:LONGEST_STEMMED], language)
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _POINTS.sub("", unicodedata.normalize("NFD", folded)))
    return folded[:MAX_TERM]
