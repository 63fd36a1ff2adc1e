"""Where running text may be parted: at the ends of sentences, else between clauses, else between words.

Never inside a link, an image, inline code or a short emphasis, as long as there is another place.
"""

# ruff: noqa: RUF001  # other scripts have other full stops, commas and quotes

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from zlib import crc32

Span = tuple[int, int]

_CLOSERS = r"[\])}\"'”’»›*_`~]*"
_SENTENCE_END = re.compile(rf"[.!?…‽]+{_CLOSERS}(?:\s+|$)|[。！？｡．।॥؟۔։።፧၊။។៕᙮]+[」』”’）】》〉\])\"'*_]*\s*")
_CLAUSE_END = re.compile(r"[,;:)\]—–][*_]{0,3}\s+|[、，；：،؛][\s]*|\s[—–-]\s|\n[ \t]*")
_SPACE = re.compile(r"\s+")
_SPAN = re.compile(
    r"\[!\[[^\[\]\n]{0,400}\]\([^()\s]{0,2000}\)\]\([^()\s]{0,2000}\)"
    r"|!?\[[^\[\]]{0,400}\](?:\([^()\s]{0,2000}(?:\([^()\s]{0,400}\)[^()\s]{0,400})?(?:\s\"[^\"\n]{0,400}\")?\)|\[[^\[\]]{0,99}\])"
    r"|``[^`](?:[^`]|`(?!`)){0,400}``|`[^`]{1,400}`"
    r"|\*\*[^*\n]{1,200}\*\*|\*[^*\s][^*\n]{0,200}\*|__[^_\n]{1,200}__"
    r"|<[^<>\n]{1,400}>|https?://[^\s<>)\]]{1,2000}"
)
_MAY_HOLD_SPANS = re.compile(r"[\[`*<]|__|://")
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“„«*_]*$")
_LETTERS_WITH_DOTS = re.compile(r"(?:\w\.)+\w?$|\w$|\d{1,2}$")
_SHORTENED = (
    "mr mrs ms dr prof st jr sr vs etc eg ie cf al fig figs no nos vol vols pp p ch sec eq ref refs ed eds approx dept est "
    "inc ltd co corp bros gen col sgt lt capt hon rev jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri "
    "bzw usw ca evtl ggf inkl vgl nr str bd hrsg abs art z.b d.h u.a o.ä s.o u.s.w m mme mlle mm av env ex chap éd sra dra "
    "ud uds pág núm dott sig pag ecc tzn np tj tzv min max e.g i.e"
)
_ABBREVIATIONS = frozenset(_SHORTENED.split())
_LOOK_BACK = 16
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\u20e3")


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Where the second and every later sentence of a stretch starts."""
    starts = [
        found.end()
        for found in _SENTENCE_END.finditer(text, start, end)
        if found.end() < end and _ends_sentence(text, start, found)
    ]
    return outside(starts, spans(text, start, end)) if starts else starts


def spans(text: str, start: int, end: int) -> list[Span]:
    """Links, images, inline code and the like, in order: a cut in one of them breaks it."""
    if _MAY_HOLD_SPANS.search(text, start, end) is None:
        return []
    return [found.span() for found in _SPAN.finditer(text, start, end)]


def outside(places: list[int], held: list[Span]) -> list[int]:
    """Those places that are in no span."""
    if not held:
        return places
    firsts = [first for first, _ in held]
    kept = []
    for place in places:
        at = bisect_right(firsts, place - 1) - 1
        if at < 0 or place >= held[at][1]:
            kept.append(place)
    return kept


def word_starts(text: str, start: int, end: int) -> list[int]:
    """Where words start after the first; where a script has no spaces, where characters do."""
    held = spans(text, start, end)
    places = outside([found.end() for found in _SPACE.finditer(text, start, end) if start < found.end() < end], held)
    if len(places) * 40 < end - start:
        places = outside([place for place in range(start + 1, end) if is_whole(text, place)], held) or places
    return places


def clause_starts(text: str, start: int, end: int) -> list[int]:
    """Where clauses start after the first, and lines."""
    places = [found.end() for found in _CLAUSE_END.finditer(text, start, end) if start < found.end() < end]
    return outside(places, spans(text, start, end)) if places else places


def parted(text: str, start: int, end: int, most_chars: int) -> Iterator[tuple[int, bool]]:
    """Places that part a long stretch into pieces of at most so many characters, and whether a clause starts there.

    Among several the text itself decides, not the distance, so that the same words are parted alike after an edit before them.
    """
    held = spans(text, start, end)
    at, span = start, 0
    while end - at > most_chars:
        first, last = at + max(1, most_chars // 2), at + most_chars
        while span < len(held) and held[span][1] <= first:
            span += 1
        near = held[span : span + most_chars]
        clauses = _places(_CLAUSE_END, text, first, last, near)
        places = clauses or _places(_SPACE, text, first, last, near)
        at = max(places, key=lambda place: (crc32(text[place : place + 16].encode("utf-8", "replace")), -place), default=0)
        if not places:
            at = _forced(text, first, last, near)
        if at >= end:
            return
        yield at, bool(clauses)


def is_whole(text: str, place: int) -> bool:
    """Whether no character that a reader sees is parted here: accents, joined emoji, line ends."""
    following, before = text[place], text[place - 1]
    if following < "\u0300":
        return not (before == "\r" and following == "\n") and before != "\u200d"
    if following in _JOINERS or before == "\u200d" or "\U0001f3fb" <= following <= "\U0001f3ff":
        return False
    return unicodedata.category(following)[0] != "M" and following not in "、。，．！？；：」』）】》"


def _places(pattern: re.Pattern[str], text: str, first: int, last: int, held: list[Span]) -> list[int]:
    return outside([found.end() for found in pattern.finditer(text, first, last) if found.end() < last], held)


def _forced(text: str, first: int, last: int, held: list[Span]) -> int:
    """Somewhere in a stretch without a space: before or after a span that covers it, else at the bound."""
    for start, end in held:
        if first < start < last:
            return start
        if start <= first and end <= last:
            return end
    for place in range(last, first, -1):
        if place < len(text) and is_whole(text, place):
            return place
    return last


def _ends_sentence(text: str, start: int, found: re.Match[str]) -> bool:
    mark = found[0][0]
    if mark not in ".!?…‽":
        return True
    following = text[found.end() : found.end() + 4].lstrip("*_[(\"'“„«`~#> ")
    if following[:1].islower():
        return False
    if mark != "." or found[0].startswith(".."):
        return True
    word = _WORD_BEFORE.search(text, max(start, found.start() - _LOOK_BACK), found.start())
    before = word[0].casefold() if word is not None else ""
    return before not in _ABBREVIATIONS and not _LETTERS_WITH_DOTS.match(before)
