"""Text fragments: the part of an address that makes a browser scroll to a text and highlight it.

`:~:text=start,end` (WICG, URL fragment text directives). Both ends are words as a reader sees them, so they are taken from
stretches that hold no Markdown, and each from a single block, as a browser looks for them.
"""

from __future__ import annotations

import re
from urllib.parse import quote

Words = list[tuple[int, int]]
"""Where they stand."""

_MARKUP = re.compile(
    r"!\[[^\[\]]*\]\([^()\s]*(?:\s\"[^\"\n]*\")?\)|!?\[|\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s\"[^\"\n]*\")?\)|\]"
    r"|<[^<>\n]*>|&#?\w+;|\\.|[*`~|\\]+|(?<!\w)_+|_+(?!\w)|\n(?:[ \t]*\n)+|\n[ \t]*(?:[#>|]|[-*+] |\d{1,9}[.)] )|https?://\S+"
    r"|^[ \t]*(?:#{1,6}[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t])|  \n|\n[ \t]*(?:`{3,}|~{3,})[^\n]*"
)
_WORD = re.compile(r"\S+")
_LETTER = re.compile(r"\w")
_FEW, _WORDS, _MANY = 3, 6, 12
_MOST_CHARS = 120
_LOOKED_AT = (300, 3_000)
_LONG_PAGE = 300_000  # beyond it nobody looks whether the same words stood earlier: that would cost the page squared


def fragment_of(text: str, start: int, end: int) -> str:
    """What leads to the text from `start` to `end`; empty when it holds no words."""
    opening: Words = []
    for reach in _LOOKED_AT:
        opening = _first(_stretches(text, start, min(end, start + reach)))
        if len(opening) >= _FEW or start + reach >= end:
            break
    if not opening:
        return ""
    first = _unique(text, opening)
    closing: Words = []
    for reach in _LOOKED_AT:
        after = max(first[-1][1], end - reach)
        closing = _first(_stretches(text, after, end)[::-1])
        if len(closing) >= _FEW or after == first[-1][1]:
            break
    if not closing:
        return f":~:text={_encoded(text, first)}"
    return f":~:text={_encoded(text, first)},{_encoded(text, closing[-_WORDS:])}"


def _stretches(text: str, start: int, end: int) -> list[Words]:
    """Words, as places, by stretches without Markdown."""
    found: list[Words] = []
    at = start
    for markup in [*(match.span() for match in _MARKUP.finditer(text, start, end)), (end, end)]:
        words = [word.span() for word in _WORD.finditer(text, at, markup[0]) if _is_word(text, *word.span())]
        if words:
            found.append(words)
        at = max(at, markup[1])
    return found


def _is_word(text: str, start: int, end: int) -> bool:
    return end - start <= _MOST_CHARS and _LETTER.search(text, start, end) is not None


def _first(stretches: list[Words]) -> Words:
    """The first stretch that says enough, else the longest."""
    return next((words for words in stretches if len(words) >= _FEW), max(stretches, key=len, default=[]))


def _unique(text: str, words: Words) -> Words:
    """As many words as it takes to be the first such on the page."""
    if len(text) <= _LONG_PAGE:
        for many in (_WORDS, _MANY):
            if text.find(text[words[0][0] : words[:many][-1][1]]) == words[0][0]:
                return words[:many]
    return words[:_MANY]


def _encoded(text: str, words: Words) -> str:
    plain = " ".join(text[start:end] for start, end in words)
    # `-` marks a prefix or suffix, `,` parts start and end, `&` parts directives: `quote` leaves the first alone.
    return quote(plain, safe="", errors="replace").replace("-", "%2D")
