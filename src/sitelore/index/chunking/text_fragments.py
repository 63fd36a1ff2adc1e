"""Writes text fragments for citations: the part of a URL that makes a browser scroll to a passage and highlight it.

`:~:text=words` (WICG, URL Fragment Text Directives). A browser searches the visible text for whole words within one block. The
words are those of the chunk's first line that the page's plain text, which has a line for each block, holds as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from sitelore.index.plain_text import plain_text

_COUNTS = (6, 12)
"""Words of a fragment: more where fewer occur on the page twice."""
_MIN_WORDS = 3
_MAX_LINES = 12
_MAX_CHARS = 400
_IN_LINE = re.compile(r"(?<=[`*])\s+(?=[`*])|^[>\s]*\*\*[^*\n]{1,40}:\*\*\s+|<br>")
"""Between two parts in code or emphasis (a term and its synonym), and after the label of a note."""
_IN_CELL = re.compile(r"(?<!\\)\||(?<=[`*])\s+|\s+(?=[`*])|<br>")
"""Between cells, and within them around code: the paragraphs of a cell are in one line."""
_WORD_CHAR = re.compile(r"\w")


def text_fragment(text: str, start: int, end: int, page_text: str) -> str:
    """The fragment that leads to the text from `start` to `end`; empty when none of its first lines is on the page as it is."""
    second_best = ""
    for line in _first_lines(text, start, end):
        words = line.split()
        for count in _COUNTS:
            phrase = " ".join(words[:count])
            at = _find(page_text, phrase)
            if at < 0:
                break
            if len(words) >= _MIN_WORDS and _find(page_text, phrase, at + 1) < 0:
                return _directive(phrase)
            second_best = second_best or phrase
    return _directive(second_best) if second_best else ""


def _first_lines(text: str, start: int, end: int) -> Iterator[str]:
    """The first lines of a range as plain text, cut where a browser may see two blocks: the page's text does not tell."""
    at = start
    for _ in range(_MAX_LINES):
        if at >= end:
            return
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        line = text[at : min(stop, at + _MAX_CHARS)]
        parts = _IN_CELL.split(line) if line.lstrip(" >").startswith("|") else _IN_LINE.split(line)
        yield from filter(None, map(plain_text, filter(None, parts)))
        at = stop + 1


def _find(page_text: str, phrase: str, start: int = 0) -> int:
    """The offset of a phrase between word boundaries; -1 where there is none."""
    at = page_text.find(phrase, start) if phrase else -1
    while at >= 0:
        after = at + len(phrase)
        cuts_start = at > 0 and _is_word(phrase[0]) and _is_word(page_text[at - 1])
        if not cuts_start and not (after < len(page_text) and _is_word(phrase[-1]) and _is_word(page_text[after])):
            return at
        at = page_text.find(phrase, at + 1)
    return -1


def _is_word(character: str) -> bool:
    return _WORD_CHAR.match(character) is not None


def _directive(phrase: str) -> str:
    # `-` marks a prefix or suffix, `,` separates start and end, `&` separates directives; `quote` does not escape `-`.
    return f":~:text={quote(phrase, safe='', errors='replace').replace('-', '%2D')}"
