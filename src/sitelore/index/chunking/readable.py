"""Makes Markdown readable: labels of links without their targets and titles, and the offsets that lead back.

Chunks are cut from readable text: an address is noise to a reader, a model and a token count. Code keeps its brackets.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_TARGET = r"\((?:[^()\\\n]|\\.|\((?:[^()\n]|\([^()\n]{0,200}\)){0,500}\)){0,2000}\)"
# Each part of a label is read in one way (an atomic group): links in a bracket that nothing closes would take exponential time.
_LINK = re.compile(
    rf"""
    (?P<ticks>`+)(?:.{{1,2000}}?)(?P=ticks)(?!`)
    |\\.
    |(?P<open>!?\[)(?P<label>(?>!?\[(?:[^\[\]]|\[[^\[\]]{{0,99}}\]){{0,300}}\](?:{_TARGET})?|`[^`\n]{{1,300}}`|\\.|[^\[\]\\`]){{0,300}}?)\]{_TARGET}
    |\[\^[^\[\]\s]{{1,60}}\](?!:)
    """,
    re.VERBOSE | re.DOTALL,
)
_FENCE = re.compile(r"^[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?[ \t>]*(`{3,}|~{3,})", re.MULTILINE)
_MAY_BE_LINK = re.compile(r"[`\\\[!]")
_SIGNS = ("](", "[^")
_MAX_NESTING = 3

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SourceMap:
    """Leads from offsets in a text to offsets in the Markdown it was made of. Without entries both are equal."""

    starts: tuple[int, ...] = ()
    """Offsets in the text after which something was removed, ascending."""
    removed: tuple[int, ...] = ()
    """How many characters were removed up to there."""
    labels: tuple[Range, ...] = ()
    """The labels of links in the text, in order."""

    def linked_share(self, start: int, end: int) -> float:
        """The share of a range of the text that is labels of links."""
        first = bisect_right(self.labels, start, key=lambda label: label[1])
        last = bisect_left(self.labels, end, key=lambda label: label[0])
        return sum(min(end, b) - max(start, a) for a, b in self.labels[first:last]) / max(1, end - start)

    def start(self, at: int) -> int:
        """The offset in the Markdown at which a text that starts here starts, with the markup that opens it."""
        index = bisect_left(self.starts, at) - 1
        return at + (self.removed[index] if index >= 0 else 0)

    def end(self, at: int) -> int:
        """The offset in the Markdown at which a text that ends here ends, with the markup that closes it."""
        index = bisect_right(self.starts, at) - 1
        return at + (self.removed[index] if index >= 0 else 0)


UNCHANGED = SourceMap()


def removed_ranges(markdown: str) -> list[Range]:
    """The ranges of a Markdown text that a reader does not see: brackets and targets of links, references to footnotes."""
    if not _may_hold_links(markdown):
        return []
    ranges: list[Range] = []
    at, fence = 0, ""
    for mark in _FENCE.finditer(markdown):
        if not fence:
            ranges += _in_range(markdown, at, mark.start(), 0)
            fence = mark[1]
        elif mark[1].startswith(fence):
            at, fence = mark.end(), ""
    if not fence:
        ranges += _in_range(markdown, at, len(markdown), 0)
    return ranges


def without_ranges(text: str, ranges: list[Range]) -> tuple[str, SourceMap]:
    """The text without these ranges, which are in order, and the map back."""
    if not ranges:
        return text, UNCHANGED
    parts, starts, removed = [], [], []
    at = length = cut = 0
    for start, end in ranges:
        parts.append(text[at:start])
        length += start - at
        cut += end - start
        starts.append(length)
        removed.append(cut)
        at = end
    parts.append(text[at:])
    opened = [text[end - 1] == "[" and text[start] != "!" for start, end in ranges]
    labels = [
        (first, last) for (first, last), is_link in zip(pairwise(starts), opened, strict=False) if is_link and last > first
    ]
    return "".join(parts), SourceMap(tuple(starts), tuple(removed), tuple(labels))


def _may_hold_links(text: str) -> bool:
    return any(sign in text for sign in _SIGNS)


def _in_range(text: str, start: int, end: int, depth: int) -> Iterator[Range]:
    while (mark := _MAY_BE_LINK.search(text, start, end)) is not None:
        link = _LINK.match(text, mark.start(), end)
        if link is None:
            start = mark.end()
            continue
        if link["open"] is not None:
            first, last = link.span("label")
            yield link.start(), first
            if depth < _MAX_NESTING and _may_hold_links(link["label"]):
                yield from _in_range(text, first, last, depth + 1)
            yield last, link.end()
        elif text[link.start()] == "[":
            yield link.span()
        start = max(link.end(), mark.end())
