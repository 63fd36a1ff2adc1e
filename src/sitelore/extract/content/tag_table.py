"""Tags looked up in numpy: the plain way to what `walk.c` makes of them.

Read once per distinct tag and kept in tables that numpy can look a whole page up in: a site writes the same few hundred
tags on every page. What is remembered never shows in a result, only in its cost.
"""

from __future__ import annotations

import re
import zlib

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.tag_marks import INLINE, LEAST_WITHIN, MARK_OF_WORD, TAG_NUMBER, VOID

_LONG_WORDS = sorted((word for word in MARK_OF_WORD if len(word) >= LEAST_WITHIN), key=lambda word: (-len(word), word))
_LONG_WORD = re.compile(b"|".join(_LONG_WORDS))  # also within words that have no joint: `sitefooter`
_SHORT_COMPOUND = 6
_NAMES = re.compile(rb' (?:class|id|role|itemprop|data-testid|data-component|data-qa)="([^"]*)"')
_WORD = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+")
_DIGITS = re.compile(rb"[0-9]+")
_NAMES_BYTES = 400
_MAX_TAGS = 30_000


class _Marks(dict[bytes, int]):
    """The marks of one word of a name."""

    def __missing__(self, word: bytes) -> int:
        plain = word.lower()
        marks = MARK_OF_WORD.get(plain, 0)
        if not marks and len(plain) >= _SHORT_COMPOUND:
            for part in _LONG_WORD.findall(plain):
                marks |= MARK_OF_WORD[part]
        self[word] = marks
        return marks


class TagTable(dict[bytes, int]):
    """A tag as it stands between `<` and `>` → its row in the columns below."""

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def _forget(self) -> None:
        self.clear()
        self._rows: dict[tuple[bytes, bytes], int] = {}
        self._marks = _Marks()
        self.step: NDArray[np.int8] = np.zeros(0, np.int8)
        """+1 where an element begins, -1 where it ends, 0 for one that cannot hold anything."""
        self.number: NDArray[np.int8] = np.zeros(0, np.int8)
        self.breaks: NDArray[np.bool_] = np.zeros(0, np.bool_)
        """Whether it ends a block of text."""
        self.opens: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.marks: NDArray[np.int64] = np.zeros(0, np.int64)
        self.signature: NDArray[np.int64] = np.zeros(0, np.int64)
        self._grow(2048)

    def _grow(self, rows: int) -> None:
        for name in ("step", "number", "breaks", "opens", "marks", "signature"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(rows - len(column), column.dtype)]))

    def rows(self, tags: list[bytes]) -> NDArray[np.intp]:
        """The row of every tag of a page."""
        if len(self) > _MAX_TAGS:
            self._forget()
        return np.fromiter(map(self.__getitem__, tags), np.intp, len(tags))

    def __missing__(self, tag: bytes) -> int:
        name = tag.partition(b" ")[0]
        # What a link or an image is called is never asked for, and every one of them is another tag.
        names = b" ".join(_NAMES.findall(tag))[:_NAMES_BYTES] if b'="' in tag and name not in INLINE else b""
        row = self._rows.get((name, names))
        if row is None:
            row = self._rows[name, names] = self._learn(name, names)
        self[tag] = row
        return row

    def _learn(self, name: bytes, names: bytes) -> int:
        row = len(self._rows)
        ends = name[:1] == b"/"
        name = name.removeprefix(b"/")
        if row >= len(self.step):
            self._grow(2 * row)
        marks = 0
        for word in _WORD.findall(names):
            marks |= self._marks[word]
        self.step[row] = -1 if ends else 0 if name in VOID else 1
        self.number[row] = TAG_NUMBER.get(name, 0)
        self.breaks[row] = name not in INLINE
        self.opens[row] = not ends
        self.marks[row] = marks
        self.signature[row] = zlib.crc32(name + b"|" + _DIGITS.sub(b"", names))
        return row
