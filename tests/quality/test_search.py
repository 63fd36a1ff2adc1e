"""The quality of lexical search on two collections does not fall below its floors.

`make bench-search` gives the figures of all ways of searching, through the store; when one has become better, the floor is
raised to it.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from bench.search import Questions, ndcg
from tests.support.corpora import corpus

from sitelore.index.lexical import CorpusStatistics, LiveChunks, TermPostings, bm25_scores, score_terms, unpack_postings
from sitelore.index.ranking import lexical_candidates
from sitelore.index.terms import query_terms, terms_of
from sitelore.model.search import Postings

FLOORS = {"cranfield": 0.445, "k8s": 0.618}


def indexed(docs: Mapping[str, str], vocabulary: frozenset[str]) -> tuple[LiveChunks, dict[str, TermPostings]]:
    """Index every document as one chunk, with postings for the terms of `vocabulary`."""
    postings: defaultdict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    lengths = []
    for number, text in enumerate(docs.values()):
        terms = terms_of(text, "en")
        lengths.append(sum(terms.values()))
        for term in vocabulary & terms.keys():
            numbers, counts = postings[term]
            numbers.append(number)
            counts.append(terms[term])
    chunks = LiveChunks(np.arange(len(lengths), dtype="<u4"), np.array(lengths, "<u2"))
    packed = {
        term: Postings(numbers, counts, [lengths[at] for at in numbers]).packed()
        for term, (numbers, counts) in postings.items()
    }
    return chunks, {term: unpack_postings([block], chunks) for term, block in packed.items()}


@pytest.mark.parametrize("name", FLOORS)
def test_lexical_search_is_no_worse_than_its_floor(name: str) -> None:
    figure = quality_of(Questions.read(corpus(f"retrieval/{name}.json")))
    print(f"{name}: {figure:.4f}")
    assert figure >= FLOORS[name]


def test_lexical_search_answers_the_questions_about_a_small_site() -> None:
    """Notes about a pottery workshop in three languages, written for this test."""
    assert quality_of(Questions.read(Path(__file__).with_name("workshop.json"))) >= 0.98


def quality_of(collection: Questions) -> float:
    """Mean nDCG@10 of lexical search."""
    queries = {key: query_terms(text, ["en"]) for key, text in collection.queries.items()}
    chunks, entries = indexed(collection.docs, frozenset(t for words in queries.values() for word in words for t in word.terms))
    keys, lengths, pages = list(collection.docs), CorpusStatistics([chunks]), np.arange(len(chunks))
    scores = []
    for key, words in queries.items():
        total = bm25_scores(score_terms(words, entries, lengths), lengths)
        ranking = [keys[place] for place in lexical_candidates(total, pages, None, 10, 1).tolist()]
        scores.append(ndcg(ranking, collection.relevant.get(key, {})))
    return statistics.fmean(scores)
