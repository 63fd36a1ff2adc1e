"""What an answer shows of a chunk: the few lines where the words of the question stand, and where in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import NamedTuple

from sitelore.index.plain import plain_text
from sitelore.index.terms import EDGES, WORD, is_unspaced, pieces, vocabulary

WIDTH = 300
"""Characters, without the marks that something was left out."""
_LEAD_IN = 60
_REPEATED = 0.05
_MOST_REPEATS = 3
_MORE = "…"
_STOPS = ".!?。！？"  # noqa: RUF001 - the full stops of other scripts are meant


@dataclass(frozen=True, slots=True)
class Snippet:
    """Plain text, and where in it the words of the question stand."""

    text: str
    highlights: tuple[tuple[int, int], ...] = ()


class _Found(NamedTuple):
    start: int
    end: int
    terms: tuple[str, ...]


def snippet_of(markdown: str, worth: Mapping[str, float], lang: str = "") -> Snippet:
    """The window that says most of what was asked; `worth` is what each term of the question counts."""
    text = plain_text(markdown)
    found = _found(text, worth, lang)
    start, end = _grown(text, *_window(found, worth))
    before = _MORE if start else ""
    after = _MORE if end < len(text) else ""
    shift = len(before) - start
    marks = ((one.start + shift, one.end + shift) for one in found if start <= one.start and one.end <= end)
    return Snippet(before + text[start:end] + after, _merged(marks))


def _found(text: str, worth: Mapping[str, float], lang: str) -> list[_Found]:
    """Plain text has one kind of space, and pieces that say nothing of the question are passed over as a whole."""
    parts = text.split(" ")
    says_nothing = worth.keys().isdisjoint
    said = [at for at, terms in enumerate(map(pieces(lang).__getitem__, parts)) if not says_nothing(terms)]
    if not said:
        return []
    starts = list(accumulate(map(len, parts), initial=0))
    return [one for at in said for one in _words(parts[at], starts[at] + at, worth, lang)]


def _words(piece: str, offset: int, worth: Mapping[str, float], lang: str) -> list[_Found]:
    """The words of a piece that the question has too, one after the other."""
    known = vocabulary(lang)
    bare = piece.strip(EDGES)
    if bare.isalnum() and bare.isascii():
        start = offset + piece.index(bare)
        return [_Found(start, start + len(bare), tuple(term for term in known[bare] if term in worth))]
    found: list[_Found] = []
    for match in WORD.finditer(piece):
        word, start = match[0], offset + match.start()
        terms = tuple(term for term in known[word] if term in worth)
        if terms and is_unspaced(word):
            found += _characters(word, start, terms)
        elif terms:
            found.append(_Found(start, start + len(word), terms))
    return found


def _characters(word: str, offset: int, terms: Sequence[str]) -> list[_Found]:
    """Where in a run without spaces the terms stand."""
    found = []
    folded = word.casefold()
    if len(folded) != len(word):
        folded = word
    for term in terms:
        at = folded.find(term)
        while at >= 0:
            found.append(_Found(offset + at, offset + at + len(term), (term,)))
            at = folded.find(term, at + len(term))
    return sorted(found, key=lambda one: (one.start, one.end))


def _window(found: Sequence[_Found], worth: Mapping[str, float]) -> tuple[int, int]:
    """From the first to the last word of the stretch that says most; repeats say a little."""
    best, span = 0.0, (0, 0)
    for index, first in enumerate(found):
        held: dict[str, int] = {}
        said, last = 0.0, first.start + WIDTH
        for _, end, terms in islice(found, index, None):
            if end > last:
                break
            for term in terms:
                times = held[term] = held.get(term, 0) + 1
                if times == 1:
                    said += worth[term]
                elif times <= _MOST_REPEATS + 1:
                    said += _REPEATED * worth[term]
            if said > best * (1 + 1e-9):
                best, span = said, (first.start, end)
    return span


def _grown(text: str, start: int, end: int) -> tuple[int, int]:
    """The window filled up to its width: from the start of a sentence or word before it, to the end of a word after it."""
    if len(text) <= WIDTH:
        return 0, len(text)
    spare = max(0, WIDTH - (end - start))
    earliest = max(0, start - min(spare, max(_LEAD_IN, spare - (len(text) - end))))
    begin = _begin(text, earliest, start)
    stop = min(len(text), begin + WIDTH)
    if stop < len(text):
        space = text.rfind(" ", end, stop + 1)
        stop = space if space > begin else stop
    return begin, stop


def _begin(text: str, earliest: int, start: int) -> int:
    if earliest == 0:
        return 0
    for mark in _STOPS:
        at = text.find(f"{mark} ", earliest, start)
        if at >= 0:
            return at + 2
    space = text.find(" ", earliest - 1, start)
    return space + 1 if space >= 0 else start


def _merged(marks: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Without overlaps: pairs of characters in a row are one mark."""
    whole: list[tuple[int, int]] = []
    for start, end in marks:
        if whole and start < whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return tuple(whole)
