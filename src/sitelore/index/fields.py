"""Weighs the words of a chunk by the field they are in: title, headings, definition terms, address, text (BM25F).

A word counts as often as its field weighs, so that a match in a title is worth several mentions. The length of a chunk is that
without weights.
"""

from __future__ import annotations

from urllib.parse import unquote

from sitelore.index.terms import term_sequence, terms_of
from sitelore.model.search import Chunk
from sitelore.model.url import Url

TITLE_WEIGHT = 3
HEADING_WEIGHT = 2
TERM_WEIGHT = 3
"""Of what a chunk defines: signatures of functions, options, settings."""
ANCHOR_WEIGHT = 2
"""Of the page's own anchors, which often are the full names of what a chunk defines (`csv.DictWriter.writeheader`)."""

ADDRESS_WEIGHT = 2
"""Of the name of the page's file, which often is the name of its topic where the title is that of the whole site."""
_INDEX_NAMES = frozenset({"index", "default", "readme"})


def address_words(url: Url) -> str:
    """The last part of a page's path that is a name: `postmap.1` of `/html/postmap.1.html`, `auth` of `/auth/index.html`."""
    for part in reversed(unquote(url.path).split("/")):
        stem = part.rpartition(".")[0] or part
        if stem and stem.partition(".")[0].lower() not in _INDEX_NAMES:
            return stem
    return ""


class PageFields:
    """The fields that the chunks of one page share, and their terms: title, address and headings."""

    def __init__(self, title: str, lang: str, address: str = "") -> None:
        self._title = title
        self._lang = lang
        self._shared = tuple((words, weight) for words, weight in ((title, TITLE_WEIGHT), (address, ADDRESS_WEIGHT)) if words)
        self._terms: dict[str, tuple[str, ...]] = {}

    def weighted_terms(self, chunk: Chunk) -> tuple[dict[str, int], int]:
        """The terms of a chunk with their weighted counts, and its length: the number of terms without weights."""
        counts: dict[str, int] = terms_of(f"{chunk.lead}\n{chunk.text}", self._lang)
        length = sum(counts.values())
        headings = chunk.headings[1:] if chunk.headings[:1] == (self._title,) else chunk.headings
        fields = [
            *self._shared,
            *((heading, HEADING_WEIGHT) for heading in headings),
            *((definition, TERM_WEIGHT - 1) for definition in chunk.definitions),
            *((anchor, ANCHOR_WEIGHT) for at, anchor in chunk.anchors if at >= 0),
        ]
        for text, weight in fields:
            terms = self._terms_of(text)
            length += len(terms)
            for term in terms:
                counts[term] = counts.get(term, 0) + weight
        return counts, length

    def _terms_of(self, text: str) -> tuple[str, ...]:
        """The terms of a short text. A page repeats them in many chunks."""
        terms = self._terms.get(text)
        if terms is None:
            terms = self._terms[text] = tuple(term_sequence(text, self._lang))
        return terms
