"""Splits Markdown into blocks (headings, code, tables, running text) and gives the character offsets of each.

Line by line, in linear time, for the Markdown that `extract` writes. Chunking (`index`) and the removal of boilerplate
(`export`) both build on these blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

_MARKERS = r"[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*"
_FENCE = re.compile(_MARKERS + r"(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r"[ \t]*(?:>[ \t]*)*(#{1,6})(?:[ \t]|$)")
_SETEXT = re.compile(r"[ ]{0,3}(=+|-{2,})[ \t]*$")
_TABLE_RULE = re.compile(r"[ \t]*(?:>[ \t]*)*(?=[^|]*\|)\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\r?$")
_ITEM = re.compile(r"([ \t]*(?:>[ \t]*)*)(?:[-*+]|\d{1,9}[.)])[ \t]")
_HTML_TABLE = re.compile(r"[ \t]*<table[\s>]")
_CODE_INDENTS = ("    ", "\t")


class BlockKind(Enum):
    """The kind of a Markdown block."""

    HEADING = auto()
    CODE = auto()
    TABLE = auto()
    HTML_TABLE = auto()
    TEXT = auto()
    """Paragraphs, quotes and lists: consecutive lines without a blank one."""


@dataclass(frozen=True, slots=True)
class MarkdownLine:
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
    lines: list[MarkdownLine] = []
    at = 0
    for line in text.split("\n"):
        lines.append(MarkdownLine(at, at + len(line)))
        at += len(line) + 1
    return _BlockParser(text, lines).parse()


def item_indent(text: str, line: MarkdownLine) -> int | None:
    """The indentation of the list item that starts on this line, quote markers included; None when none does."""
    item = _ITEM.match(text, line.start, line.end)
    return None if item is None else len(item[1])


class _BlockParser:
    def __init__(self, text: str, lines: list[MarkdownLine]) -> None:
        self._text = text
        self._lines = lines
        self._blocks: list[MarkdownBlock] = []
        self._in_list = False

    def parse(self) -> list[MarkdownBlock]:
        at = 0
        while at < len(self._lines):
            at = self._parse_block(at)
        return self._blocks

    def _parse_block(self, at: int) -> int:
        """Parse the block that starts at this line; returns the number of the line after it."""
        if self._is_blank(at):
            return at + 1
        line = self._lines[at]
        if (fence := _FENCE.match(self._text, line.start, line.end)) is not None:
            return self._add(BlockKind.CODE, at, self._fence_end(at, fence))
        if (heading := _HEADING.match(self._text, line.start, line.end)) is not None:
            self._in_list = self._in_list and self._text[line.start] in " \t"  # indented, it belongs to the list item
            return self._add(BlockKind.HEADING, at, at + 1, len(heading[1]))
        if self._is_table(at):
            return self._add(BlockKind.TABLE, at, self._table_end(at + 2))
        if _HTML_TABLE.match(self._text, line.start, line.end):
            return self._add(BlockKind.HTML_TABLE, at, self._html_table_end(at))
        return self._parse_text(at)

    def _parse_text(self, at: int) -> int:
        if not self._in_list and self._text.startswith(_CODE_INDENTS, self._lines[at].start):
            return self._add(BlockKind.CODE, at, self._indented_code_end(at))
        end = at + 1
        while end < len(self._lines) and not self._is_blank(end) and not self._starts_block(end):
            end += 1
        underline = self._lines[at + 1] if end - at >= 2 else None
        if underline is not None and (rule := _SETEXT.match(self._text, underline.start, underline.end)) is not None:
            self._in_list = False
            return self._add(BlockKind.HEADING, at, at + 2, 1 if rule[1][0] == "=" else 2)
        first = self._lines[at]
        has_items = any(item_indent(self._text, line) is not None for line in self._lines[at:end])
        continues = self._in_list and self._text[first.start] in " \t"
        self._in_list = has_items or continues
        return self._add(BlockKind.TEXT, at, end)

    def _add(self, kind: BlockKind, at: int, end: int, level: int = 0) -> int:
        self._blocks.append(MarkdownBlock(kind, tuple(self._lines[at:end]), level))
        return end

    def _is_blank(self, at: int) -> bool:
        line = self._lines[at]
        return not self._text[line.start : line.end].strip()

    def _starts_block(self, at: int) -> bool:
        line = self._lines[at]
        return (
            _FENCE.match(self._text, line.start, line.end) is not None
            or _HEADING.match(self._text, line.start, line.end) is not None
            or self._is_table(at)
        )

    def _is_table(self, at: int) -> bool:
        if at + 1 >= len(self._lines):
            return False
        head, rule = self._lines[at], self._lines[at + 1]
        return "|" in self._text[head.start : head.end] and bool(_TABLE_RULE.match(self._text, rule.start, rule.end))

    def _fence_end(self, at: int, fence: re.Match[str]) -> int:
        mark = fence[1]
        closing = re.compile(rf"[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
        is_quoted = ">" in self._text[fence.start() : fence.start(1)]
        for number in range(at + 1, len(self._lines)):
            line = self._lines[number]
            if is_quoted and not self._text[line.start : line.end].lstrip().startswith(">"):
                return number
            if closing.match(self._text, line.start, line.end):
                return number + 1
        return len(self._lines)

    def _table_end(self, at: int) -> int:
        """The line after a table: a blank one, a list item or the start of another block."""
        while at < len(self._lines) and not self._is_blank(at) and not self._starts_block(at):
            if item_indent(self._text, self._lines[at]) is not None:
                break
            at += 1
        return min(at, len(self._lines))

    def _html_table_end(self, at: int) -> int:
        while at < len(self._lines) and not self._is_blank(at):
            at += 1
        return at

    def _indented_code_end(self, at: int) -> int:
        end = at
        for number in range(at, len(self._lines)):
            if self._is_blank(number):
                continue
            if not self._text.startswith(_CODE_INDENTS, self._lines[number].start):
                break
            end = number + 1
        return max(end, at + 1)
