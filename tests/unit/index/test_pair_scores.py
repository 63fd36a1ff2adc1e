"""Scores of adjacent words: texts are read in parts, and postings give an upper bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitelore.index.lexical import (
    MAX_PAIR_TEXT,
    PAIR_WEIGHT,
    CorpusStatistics,
    LiveChunks,
    PairScorer,
    ScoredTerm,
    TermPostings,
    saturate,
    score_terms,
)
from sitelore.index.terms import WORD, TokenTerms, is_stop_word, is_unspaced, query_terms, terms_of, token_terms, vocabulary

LANGS = ("en", "de", "ja", "")
WORDS = (
    "pod pods Pod's volume volumes claim the of a kube-apiserver camelCase HTTPServer x-ray U.S. a.b.c 1.2 c++ C# c#x café "
    "Cafe\u0301 Straße STRASSE 日本語 日本 ภาษา _x_ __init__ don't don\u2019t --flag ... (pod) [volume](claim) **claim** pod, "
    "claim; 'pod' hy\u00adphen zero\u200bwidth a/b x=y naïve rotation rotating rotational"
)
words = st.sampled_from(WORDS.split())
spaces = st.sampled_from([" ", " ", " ", "\n", "\t", "\u00a0", "\u2028", "  ", ", ", "-", "", "."])
texts = st.lists(st.tuples(words, spaces), max_size=40).map(lambda parts: "".join(word + space for word, space in parts))
anything = st.one_of(texts, st.text(alphabet="ab .-'_#+\n\u00a0\u200b\u0301é語ภA1", max_size=120))


def sequence(text: str, lang: str) -> Iterator[str]:
    """The definition, without a cache of tokens."""
    for word in WORD.findall(text[:MAX_PAIR_TEXT]):
        if not is_stop_word(word, (lang,)) and not is_unspaced(word):
            terms = vocabulary(lang)[word]
            yield from terms[1:] if len(terms) > 2 else terms


def plain_score(question: str, text: str, lang: str, terms: list[ScoredTerm], norm: float) -> float:
    rarity = {term: word.idf for word in terms if not word.query_term.is_stop_word for term in word.query_term.terms}
    query_pairs = {pair for pair in pairwise(sequence(question, lang)) if pair[0] != pair[1] and set(pair) <= rarity.keys()}
    counts = Counter(pairwise(sequence(text, lang)))
    return PAIR_WEIGHT * sum(
        min(rarity[first], rarity[second]) * float(saturate(np.array([counts[first, second]], np.float64), np.array([norm]))[0])
        for first, second in query_pairs
        if counts[first, second]
    )


def indexed(chunks: list[str], lang: str, question: str) -> tuple[CorpusStatistics, list[ScoredTerm]]:
    """A collection of these chunks, and the words of a question with where they stand."""
    counted = [terms_of(text, lang) for text in chunks]
    numbers = np.arange(1, len(chunks) + 1, dtype="<u4")
    collection = CorpusStatistics([LiveChunks(numbers, np.array([sum(one.values()) for one in counted], "<u2"))])
    words = query_terms(question, [lang])
    entries = {}
    for term in {term for word in words for term in word.terms}:
        places = [at for at, one in enumerate(counted) if term in one]
        entries[term] = TermPostings(np.array(places, np.int64), np.array([counted[at][term] for at in places], np.float64))
    return collection, score_terms(words, entries, collection)


@given(anything, st.sampled_from(LANGS))
@settings(max_examples=400, deadline=None)
def test_a_text_has_the_terms_of_its_tokens(text: str, lang: str) -> None:
    whole = [term for word in WORD.findall(text) for term in vocabulary(lang)[word]]
    fresh = TokenTerms(vocabulary(lang).__getitem__)
    assert [term for piece in text.split() for term in fresh[piece]] == whole
    assert [term for piece in text.split() for term in token_terms(lang)[piece]] == whole


@given(st.lists(anything, min_size=1, max_size=6), texts, st.sampled_from(LANGS))
@settings(max_examples=300, deadline=None)
def test_pairs_count_as_in_the_plain_definition_and_never_more_than_postings_allow(
    chunks: list[str], question: str, lang: str
) -> None:
    collection, terms = indexed(chunks, lang, question)
    scorer = PairScorer(question, [lang], terms)
    if not scorer:
        assert all(plain_score(question, text, lang, terms, 1.0) == 0 for text in chunks)
        return
    most = scorer.upper_bounds(np.arange(len(chunks)), collection)
    for at, text in enumerate(chunks):
        norm = float(collection.norms[at])
        score = scorer.score(text, lang, norm)
        assert score == pytest.approx(plain_score(question, text, lang, terms, norm))
        assert score <= most[at] + 1e-9


def test_a_text_without_spaces_is_read_to_its_bound() -> None:
    collection, terms = indexed(["pod-volume"], "en", "pod volume")
    assert PairScorer("pod volume", ["en"], terms).score("/" * 300_000 + "pod-volume", "en", 1.0) == 0
    assert PairScorer("pod volume", ["en"], terms).score("pod-volume" + "/" * 300_000, "en", 1.0) > 0
    assert len(collection) == 1
