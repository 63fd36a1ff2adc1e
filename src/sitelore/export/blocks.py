"""Markdown as a list of units that can be taken out, and the lines of the plain text that say the same."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_TARGET = re.compile(r"\]\((?:<[^>\n]*>|(?:\\.|[^\s()\\]|\([^\s()]*\))*)(?:\s+\"(?:\\.|[^\"\\])*\")?\)")
_IMAGE = re.compile(r"!\[(?:\\.|[^\[\]\\])*" + _TARGET.pattern)
_LINK = re.compile(r"\[((?:\\.|[^\[\]\\])*)" + _TARGET.pattern)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LOOK_AHEAD = 64
_WORD = re.compile(r"[A-Za-z0-9]+|[^\x00-\x7f]+")
# What Markdown adds, escapes or spaces differently is all ASCII; other signs are the same on both sides.
_SIGNS = {code: None for code in (*range(128), 0xA0, 0x202F) if not chr(code).isalnum()}


class Kind(Enum):
    """What a unit of Markdown is."""

    PROSE = "prose"
    HEADING = "heading"
    ITEM = "item"
    OTHER = "other"
    """Code, tables, raw HTML, pictures: what is never taken out."""


class Unit:
    """The smallest piece that can go: a block, or one entry of a list with everything below it."""

    __slots__ = ("_letters", "_linked", "end", "kind", "list_number", "start", "text")

    def __init__(self, kind: Kind, text: str, start: int, list_number: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = start + len(text)
        self.list_number = list_number
        self._letters: str | None = None
        self._linked = 0

    @property
    def letters(self) -> str:
        """The letters and digits of it, without the targets of links."""
        if self._letters is None:
            text = self.text
            if self.kind is Kind.OTHER and _FENCE.match(text):
                self._letters = letters_of(text.partition("\n")[2])
            else:
                self._letters, self._linked = _measured(text)
        return self._letters

    @property
    def linked(self) -> int:
        """How many of the letters are links."""
        return self._linked if self.letters else 0

    @property
    def level(self) -> int:
        """Of a heading, 1 to 6; 0 of everything else."""
        found = _HEADING.match(self.text) if self.kind is Kind.HEADING else None
        return len(found[1]) if found else 0

    @property
    def introduces(self) -> bool:
        """Whether it ends in a colon: something must follow."""
        return self.text.rstrip("*_ \n").endswith((":", "\uff1a"))


@dataclass(frozen=True, slots=True)
class Block:
    """A unit, or all entries of a list together."""

    kind: Kind
    level: int
    units: tuple[int, ...]


def units_of(markdown: str) -> list[Unit]:
    """The units of a text, in order."""
    return _Splitter(markdown).units


def blocks_of(units: Sequence[Unit]) -> list[Block]:
    """The units with lists put together."""
    blocks: list[Block] = []
    together: list[int] = []
    for at, unit in enumerate(units):
        if together and unit.list_number != units[together[0]].list_number:
            blocks.append(_list(units, together))
            together = []
        if unit.list_number >= 0:
            together.append(at)
        else:
            blocks.append(Block(unit.kind, unit.level, (at,)))
    if together:
        blocks.append(_list(units, together))
    return blocks


def _list(units: Sequence[Unit], together: list[int]) -> Block:
    kind = Kind.ITEM if all(units[at].kind is Kind.ITEM for at in together) else Kind.OTHER
    return Block(kind, 0, tuple(together))


def matched(units: Sequence[Unit], lines: Sequence[str], wanted: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Which units say just what some of the wanted lines say, each with its lines as a range.

    Few units are looked at closely: those that hold the longest word of a wanted line.
    """
    words = {max(found, key=len) for line in wanted if (found := _WORD.findall(lines[line]))}
    letters = {line: letters_of(lines[line]) for line in wanted}
    places = [line for line in wanted if letters[line]]
    spans: dict[int, tuple[int, int]] = {}
    at = 0
    for number, unit in enumerate(units):
        if at == len(places):
            break
        if not any(word in unit.text for word in words) or not unit.letters:
            continue
        for begin in range(at, min(len(places), at + _LOOK_AHEAD)):
            end = _end(unit.letters, lines, letters, places[begin])
            if end is not None:
                spans[number] = (places[begin], end)
                at = next((later for later in range(begin, len(places)) if places[later] >= end), len(places))
                break
        else:
            # Its line is in there among others: it is none of the units to come.
            if letters[places[at]] in unit.letters:
                at += 1
    return spans


def _end(told: str, lines: Sequence[str], letters: dict[int, str], begin: int) -> int | None:
    """Where the lines end that, from `begin` on, say what a unit says; None when they say something else."""
    length, line = 0, begin
    while length < len(told) and line < len(lines):
        if line not in letters:
            if letters_of(lines[line]):
                return None
        elif not told.startswith(letters[line], length):
            return None
        else:
            length += len(letters[line])
        line += 1
    return line if length == len(told) else None


def letters_of(text: str) -> str:
    """What two spellings of a text have in common."""
    return text.translate(_SIGNS)


class _Splitter:
    """Walks over the lines once."""

    def __init__(self, markdown: str) -> None:
        self.units: list[Unit] = []
        self._text = markdown
        self._start = -1
        self._end = 0
        self._kind = Kind.PROSE
        self._lists = 0
        self._list = -1
        self._fence = ""
        at = 0
        for line in markdown.split("\n"):
            self._take(line, at)
            at += len(line) + 1
        self._flush()

    def _take(self, line: str, at: int) -> None:
        if self._fence:
            self._end = at + len(line)
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
            return
        if not line or line.isspace():
            if self._kind is not Kind.ITEM:
                self._flush()
            return
        in_list = self._kind is Kind.ITEM and self._start >= 0
        is_new = self._start < 0 or self._end + 1 < at
        if in_list and line[0] in " \t" and line[:2].isspace():
            self._continue(line, at)
        elif (is_new or in_list) and _ITEM.match(line):
            self._begin_item(line, at)
        elif is_new or _HEADING.match(line) or _FENCE.match(line):
            self._begin(line, at)
        else:
            self._continue(line, at)

    def _begin(self, line: str, at: int) -> None:
        self._flush()
        self._list = -1
        self._start, self._end, self._kind = at, at + len(line), Kind.PROSE
        first = line.lstrip(" ")[:1]
        if first in "`~" and (fence := _FENCE.match(line)) is not None:
            self._kind, self._fence = Kind.OTHER, fence[1]
        elif first == "#" and _HEADING.match(line):
            self._kind = Kind.HEADING
        elif line.startswith(("|", "    ", "\t", "<", "$$")):
            self._kind = Kind.OTHER

    def _begin_item(self, line: str, at: int) -> None:
        goes_on = self._kind is Kind.ITEM and self._list >= 0
        self._flush()
        if not goes_on:
            self._lists += 1
            self._list = self._lists
        self._start, self._end, self._kind = at, at + len(line), Kind.ITEM

    def _continue(self, line: str, at: int) -> None:
        self._end = at + len(line)
        if ("`" in line or "~" in line) and (fence := _FENCE.match(line.lstrip())) is not None:
            self._fence = fence[1]

    def _flush(self) -> None:
        if self._start < 0:
            return
        text = self._text[self._start : self._end]
        kind, number = self._kind, self._list if self._kind is Kind.ITEM else -1
        if (kind is Kind.PROSE or kind is Kind.ITEM) and ("![" in text or "```" in text or "~~~" in text):
            kind = Kind.OTHER
        self.units.append(Unit(kind, text, self._start, number))
        self._start = -1


def _measured(text: str) -> tuple[str, int]:
    """The letters of some Markdown, and how many of them are links."""
    linked = 0
    if "](" in text:
        text = _IMAGE.sub(" ", text) if "![" in text else text
        linked = sum(len(letters_of(label)) for label in _LINK.findall(text))
        text = _TARGET.sub("]", text)
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub("", text)
    return letters_of(text), linked
