"""Makes snippets: the part of a chunk that contains the most query terms, with highlights."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import NamedTuple

from sitelore.index.plain_text import plain_text
from sitelore.index.terms import EDGES, WORD, is_unspaced, token_terms, vocabulary
from sitelore.model.ids import NO_TEXT, CleanText, piece_of
from sitelore.model.search import ChunkRecord

WIDTH = 300
"""Characters, without ellipses."""
_MIN_LEAD_IN = 60
_REPEAT_WEIGHT = 0.05
_MAX_REPEATS = 3
_ELLIPSIS = "…"
_BLOCK_END = re.compile(r"\n[ \t]*\n")
_FULL_STOPS = ".!?。！？"  # noqa: RUF001 - the full stops of other scripts are meant


@dataclass(frozen=True, slots=True)
class Snippet:
    """Plain text, and the ranges of the query terms in it."""

    text: str
    highlights: tuple[tuple[int, int], ...] = ()


def shortened(text: CleanText, max_tokens: int) -> CleanText:
    """The beginning of a text with at most `max_tokens`, up to the end of a block or sentence, else of a word."""
    from sitelore.index.chunking.segments import count_tokens  # noqa: PLC0415 loads a vocabulary, and most answers need none
    from sitelore.index.chunking.sentences import sentence_starts, word_starts  # noqa: PLC0415

    blocks = [match.start() for match in _BLOCK_END.finditer(text)]
    for ends in (sorted({*blocks, *sentence_starts(text, 0, len(text))}), word_starts(text, 0, len(text))):
        fitting = bisect_right(ends, max_tokens, key=lambda end: count_tokens(text[:end].rstrip()))
        if fitting:
            return piece_of(text, 0, len(text[: ends[fitting - 1]].rstrip()))
    return NO_TEXT


def best_anchor(chunk: ChunkRecord, weights: Mapping[str, float]) -> tuple[str, bool]:
    """The page's own anchor at or above the part of a chunk with the most query terms, and whether that part begins there.

    A term in the first line of a part, its heading or signature, counts twice.
    """
    if not chunk.anchors:
        return "", False
    terms_by_token = token_terms(chunk.lang)

    def weigh(text: str) -> float:
        terms = {term for token in text.split() for term in terms_by_token[token]}
        return sum(weights.get(term, 0.0) for term in terms)

    places = [(0, next((anchor for at, anchor in chunk.anchors if at < 0), ""), False)]
    places += [(at, anchor, True) for at, anchor in chunk.anchors if at >= 0]
    ends = [start for start, _, _ in places[1:]] + [len(chunk.text)]
    best, best_weight = ("", False), 0.0
    for (start, anchor, is_at_anchor), end in zip(places, ends, strict=True):
        part = chunk.text[start:end]
        weight = weigh(part) + weigh(part.partition("\n")[0])
        if weight > best_weight:
            best, best_weight = (anchor, is_at_anchor), weight
    return best


class _TermMatch(NamedTuple):
    start: int
    end: int
    terms: tuple[str, ...]


def make_snippet(markdown: str, weights: Mapping[str, float], lang: str = "") -> Snippet:
    """The window with the highest sum of term weights; `weights` maps the terms of the query to their weights."""
    text = plain_text(markdown)
    matches = _find_matches(text, weights, lang)
    start, end = _fill_window(text, *_best_window(matches, weights))
    before = _ELLIPSIS if start else ""
    after = _ELLIPSIS if end < len(text) else ""
    shift = len(before) - start
    ranges = ((match.start + shift, match.end + shift) for match in matches if start <= match.start and match.end <= end)
    return Snippet(before + text[start:end] + after, _merge_ranges(ranges))


def _find_matches(text: str, weights: Mapping[str, float], lang: str) -> list[_TermMatch]:
    """The query terms in a plain text, in order. Tokens without a query term are skipped by a cache lookup."""
    tokens = text.split(" ")
    has_no_term = weights.keys().isdisjoint
    matching = [at for at, terms in enumerate(map(token_terms(lang).__getitem__, tokens)) if not has_no_term(terms)]
    if not matching:
        return []
    starts = list(accumulate(map(len, tokens), initial=0))
    return [match for at in matching for match in _matches_in_token(tokens[at], starts[at] + at, weights, lang)]


def _matches_in_token(token: str, offset: int, weights: Mapping[str, float], lang: str) -> list[_TermMatch]:
    """The words of a token that contain query terms, in order."""
    terms_of_word = vocabulary(lang)
    bare = token.strip(EDGES)
    if bare.isalnum() and bare.isascii():
        start = offset + token.index(bare)
        return [_TermMatch(start, start + len(bare), tuple(term for term in terms_of_word[bare] if term in weights))]
    matches: list[_TermMatch] = []
    for word_match in WORD.finditer(token):
        word, start = word_match[0], offset + word_match.start()
        terms = tuple(term for term in terms_of_word[word] if term in weights)
        if terms and is_unspaced(word):
            matches += _matches_in_run(word, start, terms)
        elif terms:
            matches.append(_TermMatch(start, start + len(word), terms))
    return matches


def _matches_in_run(word: str, offset: int, terms: Sequence[str]) -> list[_TermMatch]:
    """The occurrences of terms in a run of a script without spaces."""
    matches = []
    folded = word.casefold()
    if len(folded) != len(word):
        folded = word
    for term in terms:
        at = folded.find(term)
        while at >= 0:
            matches.append(_TermMatch(offset + at, offset + at + len(term), (term,)))
            at = folded.find(term, at + len(term))
    return sorted(matches, key=lambda match: (match.start, match.end))


def _best_window(matches: Sequence[_TermMatch], weights: Mapping[str, float]) -> tuple[int, int]:
    """Start and end of the window of matches with the highest weight; repeated terms add little."""
    best, span = 0.0, (0, 0)
    for index, first in enumerate(matches):
        counts: dict[str, int] = {}
        total, last = 0.0, first.start + WIDTH
        for _, end, terms in islice(matches, index, None):
            if end > last:
                break
            for term in terms:
                count = counts[term] = counts.get(term, 0) + 1
                if count == 1:
                    total += weights[term]
                elif count <= _MAX_REPEATS + 1:
                    total += _REPEAT_WEIGHT * weights[term]
            if total > best * (1 + 1e-9):
                best, span = total, (first.start, end)
    return span


def _fill_window(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a window to the full width: back to the start of a sentence or word, forward to the end of a word."""
    if len(text) <= WIDTH:
        return 0, len(text)
    spare = max(0, WIDTH - (end - start))
    earliest = max(0, start - min(spare, max(_MIN_LEAD_IN, spare - (len(text) - end))))
    begin = _window_start(text, earliest, start)
    stop = min(len(text), begin + WIDTH)
    if stop < len(text):
        space = text.rfind(" ", end, stop + 1)
        stop = space if space > begin else stop
    return begin, stop


def _window_start(text: str, earliest: int, start: int) -> int:
    if earliest == 0:
        return 0
    for mark in _FULL_STOPS:
        at = text.find(f"{mark} ", earliest, start)
        if at >= 0:
            return at + 2
    space = text.find(" ", earliest - 1, start)
    return space + 1 if space >= 0 else start


def _merge_ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Merge overlapping ranges, such as those of neighbouring character pairs."""
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
