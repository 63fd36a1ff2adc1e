"""Weighs the words of a chunk by the field they are in: title, headings, definition terms, address, text (BM25F).

A word counts as often as its field weighs, so that a match in a title is worth several mentions. The length of a chunk is that
without weights.
"""

from __future__ import annotations

from collections import Counter
from urllib.parse import unquote

from sitelore.index.terms import terms_of
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


def weighted_terms(chunk: Chunk, title: str, lang: str, address: str = "") -> tuple[Counter[str], int]:
    """The terms of a chunk with their weighted counts, and its length: the number of terms without weights."""
    headings = chunk.headings[1:] if chunk.headings[:1] == (title,) else chunk.headings
    counts = terms_of(f"{chunk.lead}\n{chunk.text}", lang)
    length = counts.total()
    anchors = "\n".join(anchor for at, anchor in chunk.anchors if at >= 0)
    for text, weight in (
        (title, TITLE_WEIGHT),
        ("\n".join(headings), HEADING_WEIGHT),
        ("\n".join(chunk.definitions), TERM_WEIGHT - 1),
        (anchors, ANCHOR_WEIGHT),
        (address, ADDRESS_WEIGHT),
    ):
        for term, count in terms_of(text, lang).items() if text else ():
            counts[term] += weight * count
            length += count
    return counts, length
