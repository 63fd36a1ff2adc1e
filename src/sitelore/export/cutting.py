"""A page without what repeats over its site.

Careful where it counts: a heading goes only with everything under it; code, tables and pictures stay; a step of a list stays
unless the whole list goes; a short line that many pages happen to share is not cut out of running text; and a page that would
lose most of itself is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sitelore.export.blocks import Block, Kind, Unit, blocks_of, matched, units_of
from sitelore.model.sketch import line_numbers

_MOST = 0.6
_LEAST_WORDS = 5
_LINKED = 0.5
_ALL_LINKED = 0.9
_WORDS_AT_THE_ENDS = 4
_WORDS_ANYWHERE = 6
_ENDS = 3
_CJK = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

Lines = frozenset[int]


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of a page, and how many words went."""

    markdown: str
    text: str
    words: int = 0


def without_repeats(markdown: str, text: str, repeats: Lines, wide: Lines = frozenset()) -> Cut:
    """The page without the blocks that repeat. `wide` are those of the repeats that are on half of the pages or more."""
    if not repeats:
        return Cut(markdown, text)
    numbers = line_numbers(text)
    if repeats.isdisjoint(numbers):
        return Cut(markdown, text)
    lines = text.split("\n")
    units = units_of(markdown)
    spans = matched(units, lines, [at for at, number in enumerate(numbers) if number in repeats])
    page = _Page(units)
    for at, (low, high) in spans.items():
        if units[at].kind is not Kind.OTHER:
            page.repeats[at], page.wide[at] = True, all(numbers[line] in wide for line in range(low, high) if lines[line])
            page.words[at] = _words(lines[low:high])
    gone = page.cut()
    lost, total = sum(page.words[at] for at in gone), _words(lines)
    if not gone or lost > _MOST * total or total - lost < _LEAST_WORDS:
        return Cut(markdown, text)
    dropped = {line for at in gone for line in range(*spans[at])}
    left = "\n".join(line for at, line in enumerate(lines) if at not in dropped)
    return Cut(_joined(markdown, units, gone), left, _counted(text) - _counted(left, like=text))


class _Page:
    """The blocks of one page, and which of them repeat."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._blocks = blocks_of(units)
        self._body = [at for at, block in enumerate(self._blocks) if block.kind is not Kind.HEADING]
        self._place = {at: place for place, at in enumerate(self._body)}
        self.words = [0] * len(units)
        self.repeats = [False] * len(units)
        self.wide = [False] * len(units)

    def cut(self) -> set[int]:
        """The units that go."""
        whole = {at for at in self._body if all(self.repeats[unit] for unit in self._blocks[at].units)}
        gone = {at for at in whole if self._may_go(at, whole)}
        gone |= {at for at in whole - gone if self._stands_between(at, gone)}
        gone |= self._headings(gone)
        return {unit for at in gone for unit in self._blocks[at].units} | self._entries(gone)

    def _may_go(self, at: int, whole: set[int]) -> bool:
        """Whether a block that repeats looks like what sites repeat: links, a run of such blocks, the ends of a page."""
        block = self._blocks[at]
        if any(self._units[unit].introduces for unit in block.units[-1:]):
            return False
        if self._linked(block) >= _LINKED:
            return True
        words = sum(self.words[unit] for unit in block.units)
        if words >= _WORDS_ANYWHERE and all(self.wide[unit] for unit in block.units):
            return True
        place = self._place[at]
        near_an_end = place < _ENDS or len(self._body) - place <= _ENDS
        in_a_run = any(0 <= next_to < len(self._body) and self._body[next_to] in whole for next_to in (place - 1, place + 1))
        return words >= _WORDS_AT_THE_ENDS and (near_an_end or in_a_run)

    def _linked(self, block: Block) -> float:
        """The share of a block's letters that are links."""
        letters = sum(len(self._units[unit].letters) for unit in block.units)
        return sum(self._units[unit].linked for unit in block.units) / max(1, letters)

    def _stands_between(self, at: int, gone: set[int]) -> bool:
        """A short line inside a run that goes would be left behind alone."""
        place = self._place[at]
        before = place > 0 and self._body[place - 1] in gone
        after = place + 1 == len(self._body) or self._body[place + 1] in gone
        return before and after

    def _headings(self, gone: set[int]) -> set[int]:
        """Headings that repeat and have lost everything under them. The title of the page always stays."""
        empty: set[int] = set()
        for at in reversed(range(len(self._blocks))):
            block = self._blocks[at]
            if block.kind is not Kind.HEADING or block.level < 2 or not self.repeats[block.units[0]]:
                continue
            end = at + 1
            while end < len(self._blocks) and not 0 < self._blocks[end].level <= block.level:
                end += 1
            if end > at + 1 and all(below in gone or below in empty for below in range(at + 1, end)):
                empty.add(at)
        return empty

    def _entries(self, gone: set[int]) -> set[int]:
        """Entries of a menu of which most, but not all, repeat."""
        entries: set[int] = set()
        for at, block in enumerate(self._blocks):
            if at in gone or block.kind is not Kind.ITEM:
                continue
            repeating = [unit for unit in block.units if self.repeats[unit]]
            if len(repeating) < max(2, len(block.units) / 2):
                continue
            links = all(self._units[unit].linked >= _ALL_LINKED * len(self._units[unit].letters) for unit in block.units)
            if links:
                entries.update(repeating)
        return entries


def _joined(markdown: str, units: Sequence[Unit], gone: set[int]) -> str:
    """The rest, byte for byte, with one blank line where something was."""
    parts: list[str] = []
    last = -1
    for at, unit in enumerate(units):
        if at in gone:
            continue
        if last >= 0:
            is_next = last == at - 1 or (unit.kind is Kind.ITEM and units[last].list_number == unit.list_number)
            parts.append(markdown[units[at - 1].end : unit.start] if is_next else "\n\n")
        parts.append(markdown[unit.start : unit.end])
        last = at
    return "".join(parts)


def _words(lines: Sequence[str]) -> int:
    """Words, or where a script is written without spaces half its characters."""
    words = 0
    for line in lines:
        count = len(line.split())
        words += count if line.isascii() else max(count, len(_CJK.findall(line)) // 2)
    return words


def _counted(text: str, like: str = "") -> int:
    """Words as `word_count` counts them."""
    words = len(text.split())
    whole = like or text
    return words + len(_CJK.findall(text)) if len(whole.encode("utf-8", "replace")) > len(whole) * 1.4 else words
