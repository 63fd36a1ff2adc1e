"""Weighs the words of a chunk by the field they are in: title, headings, definition terms, text (BM25F).

A word counts as often as its field weighs, so that a match in a title is worth several mentions; the length of a chunk stays that of
its text.
"""

from __future__ import annotations

from collections import Counter

from sitelore.index.chunking.places import definition_terms
from sitelore.index.terms import terms_of
from sitelore.model.markdown_blocks import parse_blocks
from sitelore.model.search import Chunk

TITLE_WEIGHT = 3
HEADING_WEIGHT = 2
TERM_WEIGHT = 3
"""Of terms of definitions: signatures of functions, options, settings."""


def weighted_terms(chunk: Chunk, title: str, lang: str) -> tuple[Counter[str], int]:
    """The terms of a chunk with their weighted counts, and its length: the number of terms without weights."""
    headings = chunk.headings[1:] if chunk.headings[:1] == (title,) else chunk.headings
    counts = terms_of("\n".join((chunk.lead, chunk.text)), lang)
    named = definition_text(chunk.text)
    length = counts.total()
    for text, weight in ((title, TITLE_WEIGHT), ("\n".join(headings), HEADING_WEIGHT), (named, TERM_WEIGHT - 1)):
        for term, count in terms_of(text, lang).items() if text else ():
            counts[term] += weight * count
            length += count
    return counts, length


def definition_text(text: str) -> str:
    """The definition terms of a chunk, a line for each."""
    return "\n".join(text[line.start : line.end] for line in definition_terms(text, parse_blocks(text)))
