"""Lexical scores: BM25 over packed postings, and a bonus for query words that are adjacent in a chunk.

Statistics (chunk count, document frequency, lengths) are taken over the live chunks of all searched sites together, so a
rebuilt index gives the same scores as one that grew.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from sitelore.index.languages import MAIN_LANGUAGE, STOP_WORDS, language_of
from sitelore.index.terms import CACHED_LANGUAGES, QueryTerm, TokenTerms, is_unspaced, vocabulary

K1 = 1.5
"""BM25: how slowly the score saturates with the term frequency."""
B = 0.7
"""BM25: how strongly long chunks are penalised."""
PAIR_WEIGHT = 0.3
"""Score of an adjacent pair, as a share of the score of its more common word."""
MAX_PAIR_TEXT = 20_000
"""Characters that are searched for pairs; a chunk is far shorter."""

_POSTING_BYTES = 8
_COMMON_SHARE, _MAX_CACHED_COMMON = 8, 32
"""A term in more than an eighth of the chunks is common; dense scores are cached for so many, 8 bytes for each chunk."""
_MAX_TABLE_FACTOR, _MIN_TABLE_SIZE = 8, 1 << 16

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
"""Row numbers of chunks in a corpus."""
Numbers = NDArray[np.uint32]
"""Numbers of chunks as the store has them, unique within a site."""


class LiveChunks:
    """Maps the numbers of a site's live chunks to rows."""

    __slots__ = ("_row_of", "lengths", "numbers")

    def __init__(self, numbers: Numbers, lengths: NDArray[np.uint16]) -> None:
        self.numbers = numbers
        self.lengths = lengths
        self._row_of: NDArray[np.int32] | None = None
        highest = int(numbers[-1]) if len(numbers) else 0
        # A table is much faster than a binary search, and small unless few numbers are in use.
        if len(numbers) and highest < _MAX_TABLE_FACTOR * len(numbers) + _MIN_TABLE_SIZE:
            self._row_of = np.full(highest + 1, -1, np.int32)
            self._row_of[numbers] = np.arange(len(numbers), dtype=np.int32)

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, numbers: Numbers) -> tuple[Rows, NDArray[np.bool_]]:
        """The rows of those of these chunks that are live, and a mask of which are."""
        if not len(self.numbers):
            return np.empty(0, np.int64), np.zeros(len(numbers), np.bool_)
        if self._row_of is not None:
            inside = np.minimum(numbers, len(self._row_of) - 1)
            rows = self._row_of[inside].astype(np.int64)
            live = (rows >= 0) & (inside == numbers)
        else:
            rows = np.searchsorted(self.numbers, numbers)
            np.minimum(rows, len(self.numbers) - 1, out=rows)
            live = self.numbers[rows] == numbers
        return rows[live], live


@dataclass(frozen=True, slots=True)
class TermPostings:
    """The chunks that contain a term: rows in ascending order, and the term's count in each."""

    rows: Rows
    counts: Floats


NO_POSTINGS = TermPostings(np.empty(0, np.int64), np.empty(0, np.float64))


def unpack_postings(packed: Sequence[bytes], chunks: LiveChunks, first_row: int = 0) -> TermPostings:
    """Decode the packed postings of one site, without dead chunks. Rows start at `first_row`."""
    sizes = [len(part) // _POSTING_BYTES for part in packed]
    numbers = b"".join([part[: 4 * size] for part, size in zip(packed, sizes, strict=True)])
    counts = b"".join([part[4 * size : 6 * size] for part, size in zip(packed, sizes, strict=True)])
    rows, live = chunks.rows(np.frombuffer(numbers, "<u4"))
    return TermPostings(rows + first_row, np.frombuffer(counts, "<u2")[live].astype(np.float64))


def concatenate_postings(parts: Sequence[TermPostings]) -> TermPostings:
    """The postings of one term in consecutive sites."""
    if len(parts) < 2:
        return parts[0] if parts else NO_POSTINGS
    return TermPostings(np.concatenate([part.rows for part in parts]), np.concatenate([part.counts for part in parts]))


def merge_postings(parts: Sequence[TermPostings]) -> TermPostings:
    """The postings of several terms as those of one; counts of a chunk are added."""
    filled = [part for part in parts if len(part.rows)]
    if len(filled) < 2:
        return filled[0] if filled else NO_POSTINGS
    rows, inverse = np.unique(np.concatenate([part.rows for part in filled]), return_inverse=True)
    counts = np.zeros(len(rows))
    np.add.at(counts, inverse, np.concatenate([part.counts for part in filled]))
    return TermPostings(rows, counts)


class CorpusStatistics:
    """The statistics that BM25 needs of all searched chunks."""

    __slots__ = ("_common", "lengths", "norms")

    def __init__(self, sites: Sequence[LiveChunks]) -> None:
        lengths = np.concatenate([site.lengths for site in sites]) if sites else np.empty(0, np.uint16)
        self.lengths = lengths.astype(np.float64)
        mean = max(1.0, int(lengths.sum(dtype=np.int64)) / max(1, len(lengths)))
        self.norms: Floats = K1 * (1 - B + B * self.lengths / mean)
        """BM25's length normalisation of each chunk."""
        self._common: OrderedDict[tuple[str, ...], Floats] = OrderedDict()

    def __len__(self) -> int:
        return len(self.lengths)

    def idf(self, document_frequency: int) -> float:
        """Inverse document frequency; positive even for a term that every chunk contains."""
        return log(1 + (len(self) - document_frequency + 0.5) / (document_frequency + 0.5))

    def common_scores(self, terms: tuple[str, ...], postings: TermPostings) -> Floats:
        """The unweighted score of every chunk for a common term; cached, as most queries contain one."""
        cached = self._common.get(terms)
        if cached is None:
            cached = np.zeros(len(self))
            cached[postings.rows] = saturate(postings.counts, self.norms[postings.rows])
            self._common[terms] = cached
            if len(self._common) > _MAX_CACHED_COMMON:
                self._common.popitem(last=False)
        self._common.move_to_end(terms)
        return cached


@dataclass(frozen=True, slots=True)
class ScoredTerm:
    """A query term with its postings and inverse document frequency."""

    query_term: QueryTerm
    postings: TermPostings
    idf: float


def score_terms(
    query_terms: Sequence[QueryTerm], postings: Mapping[str, TermPostings], statistics: CorpusStatistics
) -> list[ScoredTerm]:
    """The query terms that occur in the corpus."""
    scored = []
    for term in query_terms:
        merged = merge_postings([postings[name] for name in term.terms if name in postings])
        if len(merged.rows):
            scored.append(ScoredTerm(term, merged, statistics.idf(len(merged.rows))))
    return scored


def bm25_scores(terms: Sequence[ScoredTerm], statistics: CorpusStatistics) -> Floats:
    """The BM25 score of every chunk; zero for chunks without any of the terms."""
    total, part = np.zeros(len(statistics)), np.empty(len(statistics))
    for term in terms:
        rows, weight = term.postings.rows, term.query_term.weight * term.idf
        if _COMMON_SHARE * len(rows) > len(statistics):
            total += np.multiply(weight, statistics.common_scores(term.query_term.terms, term.postings), out=part)
        else:
            total[rows] += weight * saturate(term.postings.counts, statistics.norms[rows])
    return total


def term_scores(term: ScoredTerm, row: int, statistics: CorpusStatistics) -> float:
    """What a term adds to the score of one chunk."""
    count = _counts_in(term, np.array([row]))
    weight = term.query_term.weight * term.idf
    return weight * float(saturate(count, statistics.norms[row : row + 1])[0]) if count[0] else 0.0


def best_possible(query_terms: Sequence[QueryTerm], terms: Sequence[ScoredTerm], statistics: CorpusStatistics) -> float:
    """The score that a chunk would have with every word of a query, many times; unknown words count as the rarest ones."""
    idf = {term.query_term.terms: term.idf for term in terms}
    rarest = statistics.idf(0)
    return (K1 + 1) * sum(term.weight * idf.get(term.terms, rarest) for term in query_terms)


def saturate(counts: Floats, norms: Floats) -> Floats:
    """BM25's saturated term frequency."""
    saturated: Floats = counts * (K1 + 1) / (counts + norms)
    return saturated


class PairScorer:
    """Scores chunks in which words that are adjacent in the query are adjacent as well.

    TermPostings hold no positions, so this reads the texts of the best few chunks alone.
    """

    def __init__(self, query: str, langs: Iterable[str], terms: Sequence[ScoredTerm]) -> None:
        by_name = {name: term for term in terms if not term.query_term.is_stop_word for name in term.query_term.terms}
        self._by_name = by_name
        self._pair_idf = {
            pair: min(by_name[pair[0]].idf, by_name[pair[1]].idf)
            for lang in langs
            for pair in pairwise(_term_sequence(query, lang))
            if pair[0] in by_name and pair[1] in by_name and pair[0] != pair[1]
        }

    def __bool__(self) -> bool:
        return bool(self._pair_idf)

    def score(self, text: str, lang: str, norm: float) -> float:
        """The bonus of a chunk with this text and length normalisation."""
        counts = Counter(filter(self._pair_idf.__contains__, pairwise(_term_sequence(text, lang))))
        pairs = [(idf, counts[pair]) for pair, idf in self._pair_idf.items() if pair in counts]
        if not pairs:
            return 0.0
        idfs, frequencies = np.array(pairs, np.float64).T
        return PAIR_WEIGHT * float((idfs * saturate(frequencies, np.full(len(frequencies), norm))).sum())

    def upper_bounds(self, rows: Rows, statistics: CorpusStatistics) -> Floats:
        """The highest bonus that each of these chunks can have: a pair is at most as frequent as its rarer word."""
        names = {name for pair in self._pair_idf for name in pair}
        counts = {name: _counts_in(self._by_name[name], rows) for name in names}
        norms = statistics.norms[rows]
        bounds = np.zeros(len(rows))
        for (first, second), idf in self._pair_idf.items():
            bounds += idf * saturate(np.minimum(counts[first], counts[second]), norms)
        return PAIR_WEIGHT * bounds


def _term_sequence(text: str, lang: str) -> Iterator[str]:
    return chain.from_iterable(map(_sequence_cache(lang).__getitem__, text[:MAX_PAIR_TEXT].split()))


@lru_cache(CACHED_LANGUAGES)
def _sequence_cache(lang: str) -> TokenTerms:
    language = language_of(lang)
    if language != lang:
        return _sequence_cache(language)
    return TokenTerms(partial(_sequence_terms, language, frozenset(STOP_WORDS.get(language or MAIN_LANGUAGE, ()))))


def _sequence_terms(language: str, stop_words: frozenset[str], word: str) -> tuple[str, ...]:
    """The terms of a word in reading order: the parts of an identifier without the whole.

    Stop words are skipped, and so are scripts without spaces, whose terms are pairs of characters already.
    """
    if word.casefold() in stop_words or is_unspaced(word):
        return ()
    terms = vocabulary(language)[word]
    return terms[1:] if len(terms) > 2 else terms


def _counts_in(term: ScoredTerm, rows: Rows) -> Floats:
    """How often a term occurs in each of these chunks."""
    with_term = term.postings.rows
    at = np.minimum(np.searchsorted(with_term, rows), len(with_term) - 1)
    return np.where(with_term[at] == rows, term.postings.counts[at], 0.0)
