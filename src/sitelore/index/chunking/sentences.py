"""Finds where running text may be split: at sentence starts, else clause starts, else word starts.

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
_ENDS, _ENDS_WITHOUT_SPACE = ".!?…‽", "。！？｡．।॥؟۔։።፧၊။។៕᙮"
_SENTENCE_END = re.compile(
    rf"[{_ENDS}{_ENDS_WITHOUT_SPACE}]"  # one class of characters first: by it `re` skips everything else quickly
    rf"(?:(?<=[{_ENDS}])[{_ENDS}]*{_CLOSERS}(?:\s+|$)|(?<=[{_ENDS_WITHOUT_SPACE}])[{_ENDS_WITHOUT_SPACE}]*[」』”’）】》〉\])\"'*_]*\s*)"
)
_CLAUSE_END = re.compile(r"[,;:)\]—–][*_]{0,3}\s+|[、，；：،؛][\s]*|\s[—–-]\s|\n[ \t]*")
_SPACE = re.compile(r"\s+")
_SPAN = re.compile(
    r"\[!\[[^\[\]\n]{0,400}\]\([^()\s]{0,2000}\)\]\([^()\s]{0,2000}\)"
    r"|!?\[[^\[\]]{0,400}\](?:\([^()\s]{0,2000}(?:\([^()\s]{0,400}\)[^()\s]{0,400})?(?:\s\"[^\"\n]{0,400}\")?\)|\[[^\[\]]{0,99}\])"
    r"|``[^`](?:[^`]|`(?!`)){0,400}``|`[^`]{1,400}`"
    r"|\*\*[^*\n]{1,200}\*\*|\*[^*\s][^*\n]{0,200}\*|__[^_\n]{1,200}__"
    r"|<[^<>\n]{1,400}>|https?://[^\s<>)\]]{1,2000}"
)
_SPAN_MARK = re.compile(r"[\[`*<]|__|://")
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“„«*_]*$")
_LETTERS_WITH_DOTS = re.compile(r"(?:\w\.)+\w?$|\w$|\d{1,2}$")
_ABBREVIATION_LIST = (
    "mr mrs ms dr prof st jr sr vs etc eg ie cf al fig figs no nos vol vols pp p ch sec eq ref refs ed eds approx dept est "
    "inc ltd co corp bros gen col sgt lt capt hon rev jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri "
    "bzw usw ca evtl ggf inkl vgl nr str bd hrsg abs art z.b d.h u.a o.ä s.o u.s.w m mme mlle mm av env ex chap éd sra dra "
    "ud uds pág núm dott sig pag ecc tzn np tj tzv min max e.g i.e"
)
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())
_MAX_WORD_BACK = 16
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\u20e3")


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """The offsets at which the second and every later sentence start."""
    starts = [
        match.end()
        for match in _SENTENCE_END.finditer(text, start, end)
        if match.end() < end and _is_sentence_end(text, start, match)
    ]
    return outside(starts, spans(text, start, end)) if starts else starts


def spans(text: str, start: int, end: int) -> list[Span]:
    """The inline elements that a split would break (links, images, inline code, emphasis), in order."""
    if _SPAN_MARK.search(text, start, end) is None:
        return []
    return [match.span() for match in _SPAN.finditer(text, start, end)]


def outside(places: list[int], inline: list[Span]) -> list[int]:
    """The places that are inside none of these spans."""
    if not inline:
        return places
    firsts = [first for first, _ in inline]
    kept = []
    for place in places:
        at = bisect_right(firsts, place - 1) - 1
        if at < 0 or place >= inline[at][1]:
            kept.append(place)
    return kept


def word_starts(text: str, start: int, end: int) -> list[int]:
    """The offsets at which words after the first start; in a script without spaces, those of characters."""
    inline = spans(text, start, end)
    places = outside([match.end() for match in _SPACE.finditer(text, start, end) if start < match.end() < end], inline)
    if len(places) * 40 < end - start:
        places = outside([place for place in range(start + 1, end) if is_character_start(text, place)], inline) or places
    return places


def clause_starts(text: str, start: int, end: int) -> list[int]:
    """The offsets at which clauses and lines after the first start."""
    places = [match.end() for match in _CLAUSE_END.finditer(text, start, end) if start < match.end() < end]
    return outside(places, spans(text, start, end)) if places else places


def split_points(text: str, start: int, end: int, max_chars: int) -> Iterator[tuple[int, bool]]:
    """Offsets that split a long text into parts of at most `max_chars`, each with whether a clause starts there.

    Among several candidates a hash of the following text decides, not the distance: an edit before it moves no split.
    """
    inline = spans(text, start, end)
    at, span = start, 0
    while end - at > max_chars:
        first, last = at + max(1, max_chars // 2), at + max_chars
        while span < len(inline) and inline[span][1] <= first:
            span += 1
        near = inline[span : span + max_chars]
        clauses = _places(_CLAUSE_END, text, first, last, near)
        places = clauses or _places(_SPACE, text, first, last, near)
        at = max(places, key=lambda place: (crc32(text[place : place + 16].encode("utf-8", "replace")), -place), default=0)
        if not places:
            at = _forced_split(text, first, last, near)
        if at >= end:
            return
        yield at, bool(clauses)


def is_character_start(text: str, place: int) -> bool:
    """Whether a split here leaves visible characters whole: combining accents, joined emoji, CRLF."""
    following, before = text[place], text[place - 1]
    if following < "\u0300":
        return not (before == "\r" and following == "\n") and before != "\u200d"
    if following in _JOINERS or before == "\u200d" or "\U0001f3fb" <= following <= "\U0001f3ff":
        return False
    return unicodedata.category(following)[0] != "M" and following not in "、。，．！？；：」』）】》"


def _places(pattern: re.Pattern[str], text: str, first: int, last: int, inline: list[Span]) -> list[int]:
    return outside([match.end() for match in pattern.finditer(text, first, last) if match.end() < last], inline)


def _forced_split(text: str, first: int, last: int, inline: list[Span]) -> int:
    """A split of text without spaces: before or after an inline element that covers it, else at the limit."""
    for start, end in inline:
        if first < start < last:
            return start
        if start <= first and end <= last:
            return end
    for place in range(last, first, -1):
        if place < len(text) and is_character_start(text, place):
            return place
    return last


def _is_sentence_end(text: str, start: int, end: re.Match[str]) -> bool:
    mark = end[0][0]
    if mark not in ".!?…‽":
        return True
    following = text[end.end() : end.end() + 4].lstrip("*_[(\"'“„«`~#> ")
    if following[:1].islower():
        return False
    if mark != "." or end[0].startswith(".."):
        return True
    word = _WORD_BEFORE.search(text, max(start, end.start() - _MAX_WORD_BACK), end.start())
    before = word[0].casefold() if word is not None else ""
    return before not in _ABBREVIATIONS and not _LETTERS_WITH_DOTS.match(before)
