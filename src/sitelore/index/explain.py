"""Explains the score of a result: what each word of the query contributed and in which fields it is, and the similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sitelore.index.chunking.places import definitions
from sitelore.index.fields import address_words
from sitelore.index.lexical import CorpusStatistics, ScoredTerm, term_scores
from sitelore.index.terms import terms_of
from sitelore.model.markdown_blocks import parse_blocks
from sitelore.model.search import ChunkRecord, TermExplanation


def fields_of(record: ChunkRecord) -> Mapping[str, str]:
    """The texts of a chunk by the field that they are searched in."""
    return {
        "title": record.title,
        "headings": "\n".join(record.headings),
        "definitions": "\n".join(words for _, words in definitions(record.text, parse_blocks(record.text))),
        "anchors": "\n".join(anchor for at, anchor in record.anchors if at >= 0),
        "address": address_words(record.url),
        "text": f"{record.lead}\n{record.text}",
    }


def explain_words(
    record: ChunkRecord, row: int, terms: Sequence[ScoredTerm], statistics: CorpusStatistics
) -> tuple[TermExplanation, ...]:
    """Every word of the query that a chunk contains, with its part of the score, the most important first."""
    terms_by_field = {name: terms_of(text, record.lang) for name, text in fields_of(record).items() if text}
    explained = []
    for term in terms:
        score = term_scores(term, row, statistics)
        if score > 0:
            names = term.query_term.terms
            fields = tuple(field for field, counts in terms_by_field.items() if any(name in counts for name in names))
            explained.append(TermExplanation(names[0], score, len(term.postings.rows), fields))
    return tuple(sorted(explained, key=lambda word: (-word.score, word.term)))
