"""Splits Markdown into blocks (headings, code, tables, running text) and gives the character offsets of each.

Line by line, in linear time, for the Markdown that `extract` writes. Chunking (`index`) and the removal of boilerplate
(`export`) both build on these blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import accumulate, chain
from typing import NamedTuple

_MARKERS = r"[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*"
_FENCE = re.compile(_MARKERS + r"(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r"[ \t]*(?:>[ \t]*)*(#{1,6})(?:[ \t]|$)")
_SETEXT = re.compile(r"[ ]{0,3}(=+|-{2,})[ \t]*$")
_TABLE_RULE = re.compile(r"[ \t]*(?:>[ \t]*)*(?=[^|]*\|)\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\r?$")
_ITEM = re.compile(r"([ \t]*(?:>[ \t]*)*)(?:[-*+]|\d{1,9}[.)])[ \t]")
_HTML_TABLE = re.compile(r"[ \t]*<table[\s>]")
_MAY_START_BLOCK = re.compile(r"[#|]|`{3}|~{3}")
_CODE_INDENTS = ("    ", "\t")


class BlockKind(Enum):
    """The kind of a Markdown block."""

    HEADING = auto()
    CODE = auto()
    TABLE = auto()
    HTML_TABLE = auto()
    TEXT = auto()
    """Paragraphs, quotes and lists: consecutive lines without a blank one."""


class MarkdownLine(NamedTuple):
    """The offsets of one line, without its newline."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """Consecutive lines of one kind. `level` is that of a heading, 1 to 6, and 0 for everything else."""

    kind: BlockKind
    lines: tuple[MarkdownLine, ...]
    level: int = 0

    @property
    def start(self) -> int:
        """The offset of its first line."""
        return self.lines[0].start

    @property
    def end(self) -> int:
        """The offset after its last line."""
        return self.lines[-1].end


def parse_blocks(text: str) -> list[MarkdownBlock]:
    """Split a text into blocks, in order. Only blank lines belong to no block."""
    return _BlockParser(text).parse()


def item_indent(text: str, line: MarkdownLine) -> int | None:
    """The indentation of the list item that starts on this line, quote markers included; None when none does."""
    item = _ITEM.match(text, line.start, line.end)
    return None if item is None else len(item[1])


class _BlockParser:
    """Most lines are running text, so a pattern is tried only on a line that contains a character sequence it needs."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._texts = text.split("\n")
        self._is_blank = [not line or line.isspace() for line in self._texts]
        ends = list(accumulate(map(len, self._texts), lambda end, size: end + size + 1))
        starts = chain((0,), (end + 1 for end in ends))
        # By way of `tuple`, because a named tuple's own constructor takes twice as long.
        self._lines: list[MarkdownLine] = list(map(partial(tuple.__new__, MarkdownLine), zip(starts, ends, strict=False)))
        self._blocks: list[MarkdownBlock] = []
        self._in_list = False

    def parse(self) -> list[MarkdownBlock]:
        at = 0
        while at < len(self._lines):
            at = self._parse_block(at)
        return self._blocks

    def _parse_block(self, at: int) -> int:
        """Parse the block that starts at this line; returns the number of the line after it."""
        if self._is_blank[at]:
            return at + 1
        text = self._texts[at]
        if (fence := self._fence(at)) is not None:
            return self._add(BlockKind.CODE, at, self._fence_end(at, fence))
        if (heading := self._heading(at)) is not None:
            self._in_list = self._in_list and text[0] in " \t"  # indented, it belongs to the list item
            return self._add(BlockKind.HEADING, at, at + 1, len(heading[1]))
        if self._is_table(at):
            return self._add(BlockKind.TABLE, at, self._table_end(at + 2))
        if "<table" in text and _HTML_TABLE.match(text):
            return self._add(BlockKind.HTML_TABLE, at, self._html_table_end(at))
        return self._parse_text(at)

    def _fence(self, at: int) -> re.Match[str] | None:
        text = self._texts[at]
        return _FENCE.match(text) if "```" in text or "~~~" in text else None

    def _heading(self, at: int) -> re.Match[str] | None:
        text = self._texts[at]
        return _HEADING.match(text) if "#" in text else None

    def _parse_text(self, at: int) -> int:
        if not self._in_list and self._texts[at].startswith(_CODE_INDENTS):
            return self._add(BlockKind.CODE, at, self._indented_code_end(at))
        end = at + 1
        texts, is_blank, count = self._texts, self._is_blank, len(self._lines)
        while end < count and not is_blank[end] and not (_MAY_START_BLOCK.search(texts[end]) and self._starts_block(end)):
            end += 1
        if end - at >= 2 and (rule := _SETEXT.match(self._texts[at + 1])) is not None:
            self._in_list = False
            return self._add(BlockKind.HEADING, at, at + 2, 1 if rule[1][0] == "=" else 2)
        has_items = any(map(_ITEM.match, texts[at:end]))
        continues = self._in_list and self._texts[at][0] in " \t"
        self._in_list = has_items or continues
        return self._add(BlockKind.TEXT, at, end)

    def _add(self, kind: BlockKind, at: int, end: int, level: int = 0) -> int:
        self._blocks.append(MarkdownBlock(kind, tuple(self._lines[at:end]), level))
        return end

    def _starts_block(self, at: int) -> bool:
        return self._fence(at) is not None or self._heading(at) is not None or self._is_table(at)

    def _is_table(self, at: int) -> bool:
        if "|" not in self._texts[at] or at + 1 >= len(self._texts):
            return False
        rule = self._texts[at + 1]
        return "|" in rule and _TABLE_RULE.match(rule) is not None

    def _fence_end(self, at: int, fence: re.Match[str]) -> int:
        mark = fence[1]
        closing = re.compile(rf"[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
        is_quoted = ">" in fence.string[: fence.start(1)]
        for number in range(at + 1, len(self._lines)):
            text = self._texts[number]
            if is_quoted and not text.lstrip().startswith(">"):
                return number
            if mark in text and closing.match(text):
                return number + 1
        return len(self._lines)

    def _table_end(self, at: int) -> int:
        """The line after a table: a blank one, a list item or the start of another block."""
        while at < len(self._lines) and not self._is_blank[at] and not self._starts_block(at):
            if _ITEM.match(self._texts[at]) is not None:
                break
            at += 1
        return min(at, len(self._lines))

    def _html_table_end(self, at: int) -> int:
        while at < len(self._lines) and not self._is_blank[at]:
            at += 1
        return at

    def _indented_code_end(self, at: int) -> int:
        end = at
        for number in range(at, len(self._lines)):
            if self._is_blank[number]:
                continue
            if not self._texts[number].startswith(_CODE_INDENTS):
                break
            end = number + 1
        return max(end, at + 1)
