"""Writes text fragments, the part of a URL that makes a browser scroll to a passage and highlight it.

`:~:text=start,end` (WICG, URL Fragment Text Directives). A browser searches the visible text, one block at a time, so both ends
are taken from runs of words that hold no Markdown and stay within one block.
"""

from __future__ import annotations

import re
from urllib.parse import quote

Words = list[tuple[int, int]]
"""Offsets of words."""

_MARKUP = re.compile(
    r"!\[[^\[\]]*\]\([^()\s]*(?:\s\"[^\"\n]*\")?\)|!?\[|\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s\"[^\"\n]*\")?\)|\]"
    r"|<[^<>\n]*>|&#?\w+;|\\.|[*`~|\\]+|(?<!\w)_+|_+(?!\w)|\n(?:[ \t]*\n)+|\n[ \t]*(?:[#>|]|[-*+] |\d{1,9}[.)] )|https?://\S+"
    r"|^[ \t]*(?:#{1,6}[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t])|  \n|\n[ \t]*(?:`{3,}|~{3,})[^\n]*"
)
_WORD = re.compile(r"\S+")
_LETTER = re.compile(r"\w")
_MIN_WORDS, _WORDS, _MAX_WORDS = 3, 6, 12
_MAX_WORD_CHARS = 120
_SEARCH_CHARS = (300, 3_000)
_LONG_PAGE = 300_000  # on longer pages uniqueness is not checked: it would take quadratic time


def text_fragment(text: str, start: int, end: int) -> str:
    """The fragment that leads to the text from `start` to `end`; empty when that holds no words."""
    opening: Words = []
    for reach in _SEARCH_CHARS:
        opening = _first_long_enough(_plain_runs(text, start, min(end, start + reach)))
        if len(opening) >= _MIN_WORDS or start + reach >= end:
            break
    if not opening:
        return ""
    first = _unique(text, opening)
    closing: Words = []
    for reach in _SEARCH_CHARS:
        after = max(first[-1][1], end - reach)
        closing = _first_long_enough(_plain_runs(text, after, end)[::-1])
        if len(closing) >= _MIN_WORDS or after == first[-1][1]:
            break
    if not closing:
        return f":~:text={_encoded(text, first)}"
    return f":~:text={_encoded(text, first)},{_encoded(text, closing[-_WORDS:])}"


def _plain_runs(text: str, start: int, end: int) -> list[Words]:
    """The runs of words between Markdown markup."""
    runs: list[Words] = []
    at = start
    for markup in [*(match.span() for match in _MARKUP.finditer(text, start, end)), (end, end)]:
        words = [word.span() for word in _WORD.finditer(text, at, markup[0]) if _is_word(text, *word.span())]
        if words:
            runs.append(words)
        at = max(at, markup[1])
    return runs


def _is_word(text: str, start: int, end: int) -> bool:
    return end - start <= _MAX_WORD_CHARS and _LETTER.search(text, start, end) is not None


def _first_long_enough(runs: list[Words]) -> Words:
    """The first run of at least three words, else the longest."""
    return next((words for words in runs if len(words) >= _MIN_WORDS), max(runs, key=len, default=[]))


def _unique(text: str, words: Words) -> Words:
    """The shortest start of the run whose first occurrence on the page is here; at most twelve words."""
    if len(text) <= _LONG_PAGE:
        for count in (_WORDS, _MAX_WORDS):
            if text.find(text[words[0][0] : words[:count][-1][1]]) == words[0][0]:
                return words[:count]
    return words[:_MAX_WORDS]


def _encoded(text: str, words: Words) -> str:
    plain = " ".join(text[start:end] for start, end in words)
    # `-` marks a prefix or suffix, `,` separates start and end, `&` separates directives; `quote` does not escape `-`.
    return quote(plain, safe="", errors="replace").replace("-", "%2D")
