"""Boilerplate: text that repeats over the pages of a site (menus, notices, footers), found by counting and removed from pages.

`find_repeats` finds the lines that occur on many pages which are otherwise different. It is a pure function of a run's pages
and their sketches: neither the order of pages nor the number of workers matters.

`remove_repeats` removes the blocks of a page that consist of such lines. A heading is removed only with everything below it;
code, tables and images stay; an item of a numbered list stays unless the whole list is removed; a short line that many pages
happen to share is not cut out of running text; and a page that would lose most of its text is left as it is.
"""

from __future__ import annotations

import heapq
import html
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b

from sitelore.model.document import line_numbers, lines_of
from sitelore.model.frontier import PageSketch
from sitelore.model.markdown_blocks import BlockKind, MarkdownBlock, MarkdownLine, parse_blocks
from sitelore.model.url import Url

MAX_SAMPLED_PAGES = 4_096
"""Larger sites are sampled, always with the same pages."""

_MIN_DIFFERENT_PAGES = 3
_SITE_SHARE = 0.2
_SMALL_SITE_PAGES = 5
_FOLDER_SHARE = 0.5
_MIN_FOLDER_PAGES = 4
_WIDE_SHARE = 0.5
_SAME_PAGE_SHARE = 0.6
_MAX_COMPARED_PAGES = 64
[_EMPTY_LINE] = line_numbers("")

LineHashes = frozenset[int]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Repeating lines, by their hashes: over the whole site, and over the pages of one folder."""

    everywhere: LineHashes = frozenset()
    folders: dict[str, LineHashes] = field(default_factory=dict)
    wide: LineHashes = frozenset()
    """Those on at least half of the pages of the site or of a folder."""

    def on(self, url: Url) -> LineHashes:
        """The lines that repeat as far as this page is concerned."""
        return self.everywhere | self.folders.get(folder_of(url), frozenset())


NO_REPEATS = Repeats()


@dataclass(frozen=True, slots=True)
class _SketchedPage:
    folder: str
    lines: LineHashes


async def find_repeats(pages: AsyncIterator[PageSketch]) -> Repeats:
    """Find the lines that repeat over the pages of a run."""
    # The sample holds the pages whose URLs have the smallest hashes, so it does not depend on their order.
    sample: list[tuple[int, str, PageSketch]] = []
    async for page in pages:
        entry = (-int.from_bytes(blake2b(page.url.encode(), digest_size=8).digest(), "big"), str(page.url), page)
        if len(sample) < MAX_SAMPLED_PAGES:
            heapq.heappush(sample, entry)
        else:
            heapq.heappushpop(sample, entry)
    return repeats_among([page for _, _, page in sorted(sample, key=lambda entry: entry[1])])


def repeats_among(pages: Iterable[PageSketch]) -> Repeats:
    """Find the lines that repeat over these pages."""
    sketched = [_SketchedPage(folder_of(page.url), frozenset(lines_of(page.sketch)) - {_EMPTY_LINE}) for page in pages]
    counts = _count_lines(sketched)
    everywhere = _repeating(sketched, counts, _SITE_SHARE)
    wide = {line for line in everywhere if counts[line] >= _WIDE_SHARE * len(sketched)}
    folders: dict[str, LineHashes] = {}
    by_folder: dict[str, list[_SketchedPage]] = defaultdict(list)
    for page in sketched:
        by_folder[page.folder].append(page)
    for folder, members in by_folder.items():
        if _MIN_FOLDER_PAGES <= len(members) < len(sketched):
            repeating = _repeating(members, _count_lines(members), _FOLDER_SHARE)
            wide |= repeating
            if repeating - everywhere:
                folders[folder] = repeating - everywhere
    return Repeats(everywhere, folders, frozenset(wide))


def folder_of(url: Url) -> str:
    """The host and path up to the last slash."""
    return f"{url.authority}{url.path.rpartition('/')[0]}"


def _count_lines(pages: Iterable[_SketchedPage]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for page in pages:
        counts.update(page.lines)
    return counts


def _repeating(pages: Sequence[_SketchedPage], counts: Counter[int], share: float) -> LineHashes:
    """The lines on at least this share of the pages, among them three that are otherwise different."""
    # On a small site the first lines of an article are in its few lists too: there, half of the pages are required.
    least = max(_MIN_DIFFERENT_PAGES, share * len(pages), min(_SMALL_SITE_PAGES, len(pages) / 2))
    pages_with: dict[int, list[_SketchedPage]] = {line: [] for line, count in counts.items() if count >= least}
    if not pages_with:
        return frozenset()
    for page in pages:
        for line in pages_with.keys() & page.lines:
            pages_with[line].append(page)
    wide_count = max(2.0, _WIDE_SHARE * len(pages))
    own_lines: dict[int, LineHashes] = {}
    repeating = set()
    for line, members in pages_with.items():
        step = max(1, len(members) // _MAX_COMPARED_PAGES)
        if _are_different(members[::step], own_lines, counts, wide_count):
            repeating.add(line)
    return frozenset(repeating)


def _are_different(
    pages: Iterable[_SketchedPage], own_lines: dict[int, LineHashes], counts: Counter[int], wide_count: float
) -> bool:
    """Whether three of these pages are not versions of one another: the lines that few pages of the site share differ."""
    different: list[LineHashes] = []
    for page in pages:
        lines = own_lines.get(id(page))
        if lines is None:
            lines = own_lines[id(page)] = frozenset(line for line in page.lines if counts[line] < wide_count)
        if lines and all(len(lines & other) < _SAME_PAGE_SHARE * min(len(lines), len(other)) for other in different):
            different.append(lines)
            if len(different) == _MIN_DIFFERENT_PAGES:
                return True
    return False


_MAX_REMOVED_SHARE = 0.6
_MIN_WORDS_LEFT = 5
_LINKED_SHARE = 0.5
_MENU_LINKED_SHARE = 0.9
_MIN_WORDS_AT_EDGE = 4
_MIN_WORDS_ANYWHERE = 6
_EDGE_BLOCKS = 3
_CJK = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class CleanedPage:
    """A page without its boilerplate, and the number of words that were removed."""

    markdown: str
    text: str
    words: int = 0


def remove_repeats(markdown: str, text: str, repeats: LineHashes, wide: LineHashes = frozenset()) -> CleanedPage:
    """Remove the blocks that repeat. `wide` are the repeats that are on at least half of the pages."""
    if not repeats:
        return CleanedPage(markdown, text)
    hashes = line_numbers(text)
    if repeats.isdisjoint(hashes):
        return CleanedPage(markdown, text)
    lines = text.split("\n")
    repeating = [at for at, line_hash in enumerate(hashes) if line_hash in repeats]
    if not any(letters_of(line) for line in {lines[at] for at in repeating}):
        return CleanedPage(markdown, text)
    units = split_units(markdown)
    spans = match_lines(units, lines, repeating)
    page = _RepeatingUnits(units)
    for at, (low, high) in spans.items():
        if units[at].kind is not UnitKind.OTHER:
            page.repeats[at] = True
            page.wide[at] = all(hashes[line] in wide for line in range(low, high) if lines[line])
            page.words[at] = _count_words(lines[low:high])
    removed = page.removable()
    lost, total = sum(page.words[at] for at in removed), _count_words(lines)
    if not removed or lost > _MAX_REMOVED_SHARE * total or total - lost < _MIN_WORDS_LEFT:
        return CleanedPage(markdown, text)
    dropped = {line for at in removed for line in range(*spans[at])}
    left = "\n".join(line for at, line in enumerate(lines) if at not in dropped)
    return CleanedPage(_join_units(markdown, units, removed), left, _word_count(text) - _word_count(left, like=text))


class _RepeatingUnits:
    """Decides which of the repeating units of a page are boilerplate."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._blocks = group_lists(units)
        self._body = [at for at, block in enumerate(self._blocks) if block.kind is not UnitKind.HEADING]
        self._index_in_body = {at: index for index, at in enumerate(self._body)}
        self.words = [0] * len(units)
        self.repeats = [False] * len(units)
        self.wide = [False] * len(units)

    def removable(self) -> set[int]:
        """The numbers of the units to remove."""
        repeating = {at for at in self._body if all(self.repeats[unit] for unit in self._blocks[at].units)}
        removed = {at for at in repeating if self._looks_like_boilerplate(at, repeating)}
        removed |= {at for at in repeating - removed if self._is_enclosed(at, removed)}
        removed |= self._empty_headings(removed)
        return {unit for at in removed for unit in self._blocks[at].units} | self._menu_items(removed)

    def _looks_like_boilerplate(self, at: int, repeating: set[int]) -> bool:
        """Whether a repeating block consists of links, is on most pages, in a run of such blocks or at an end of the page."""
        block = self._blocks[at]
        if any(self._units[unit].ends_in_colon for unit in block.units[-1:]):
            return False
        if self._linked_share(block) >= _LINKED_SHARE:
            return True
        words = sum(self.words[unit] for unit in block.units)
        if words >= _MIN_WORDS_ANYWHERE and all(self.wide[unit] for unit in block.units):
            return True
        index = self._index_in_body[at]
        at_edge = index < _EDGE_BLOCKS or len(self._body) - index <= _EDGE_BLOCKS
        in_run = any(
            0 <= neighbour < len(self._body) and self._body[neighbour] in repeating for neighbour in (index - 1, index + 1)
        )
        return words >= _MIN_WORDS_AT_EDGE and (at_edge or in_run)

    def _linked_share(self, block: UnitGroup) -> float:
        """The share of a block's letters that are links."""
        letters = sum(len(self._units[unit].letters) for unit in block.units)
        return sum(self._units[unit].linked for unit in block.units) / max(1, letters)

    def _is_enclosed(self, at: int, removed: set[int]) -> bool:
        """Whether both neighbours of a block are removed, so that it would be left alone."""
        index = self._index_in_body[at]
        before = index > 0 and self._body[index - 1] in removed
        after = index + 1 == len(self._body) or self._body[index + 1] in removed
        return before and after

    def _empty_headings(self, removed: set[int]) -> set[int]:
        """Repeating headings that have lost everything below them. The title of the page always stays."""
        empty: set[int] = set()
        for at in reversed(range(len(self._blocks))):
            block = self._blocks[at]
            if block.kind is not UnitKind.HEADING or block.level < 2 or not self.repeats[block.units[0]]:
                continue
            end = at + 1
            while end < len(self._blocks) and not 0 < self._blocks[end].level <= block.level:
                end += 1
            if end > at + 1 and all(below in removed or below in empty for below in range(at + 1, end)):
                empty.add(at)
        return empty

    def _menu_items(self, removed: set[int]) -> set[int]:
        """The repeating items of menus of which most items repeat."""
        items: set[int] = set()
        for at, block in enumerate(self._blocks):
            if at in removed or block.kind is not UnitKind.ITEM:
                continue
            repeating = [unit for unit in block.units if self.repeats[unit]]
            if len(repeating) < max(2, len(block.units) / 2):
                continue
            units = [self._units[unit] for unit in block.units]
            if all(unit.linked >= _MENU_LINKED_SHARE * len(unit.letters) for unit in units):
                items.update(repeating)
        return items


def _join_units(markdown: str, units: Sequence[Unit], removed: set[int]) -> str:
    """The rest of the Markdown byte for byte, with one blank line where units were removed."""
    parts: list[str] = []
    last = -1
    for at, unit in enumerate(units):
        if at in removed:
            continue
        if last >= 0:
            is_next = last == at - 1 or (unit.kind is UnitKind.ITEM and units[last].list_number == unit.list_number)
            parts.append(markdown[units[at - 1].end : unit.start] if is_next else "\n\n")
        parts.append(markdown[unit.start : unit.end])
        last = at
    return "".join(parts)


def _count_words(lines: Sequence[str]) -> int:
    """Count words; in a script without spaces, half of the characters."""
    words = 0
    for line in lines:
        count = len(line.split())
        words += count if line.isascii() else max(count, len(_CJK.findall(line)) // 2)
    return words


def _word_count(text: str, like: str = "") -> int:
    """Count words as the `word_count` of a document does."""
    words = len(text.split())
    whole = like or text
    return words + len(_CJK.findall(text)) if len(whole.encode("utf-8", "replace")) > len(whole) * 1.4 else words


_TOP_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_TOP_HEADING_OR_FENCE = re.compile(r" {0,3}(?:#|`{3}|~{3})")
_OTHER_STARTS = ("|", "    ", "\t", "<", "$$")
_TARGET = re.compile(r"\]\((?:<[^>\n]*>|(?:\\.|[^\s()\\]|\([^\s()]*\))*)(?:\s+\"(?:\\.|[^\"\\])*\")?\)")
_IMAGE = re.compile(r"!\[(?:\\.|[^\[\]\\])*" + _TARGET.pattern)
_LINK = re.compile(r"\[((?:\\.|[^\[\]\\])*)" + _TARGET.pattern)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_MAX_LOOKAHEAD = 64
_WORD = re.compile(r"[A-Za-z0-9]+|[^\x00-\x7f]+")
# Everything that Markdown adds, escapes or spaces differently is ASCII; other characters are equal in Markdown and plain text.
_PUNCTUATION = {code: None for code in (*range(128), 0xA0, 0x202F) if not chr(code).isalnum()}
_NEVER_REMOVED = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.HTML_TABLE})


class UnitKind(Enum):
    """The kind of a unit of Markdown."""

    PROSE = "prose"
    HEADING = "heading"
    ITEM = "item"
    OTHER = "other"
    """Code, tables, raw HTML and images, which are never removed."""


class Unit:
    """The smallest removable part of Markdown: a block, or one item of a list with everything nested in it."""

    __slots__ = ("_letters", "_linked", "end", "kind", "level", "list_number", "start", "text")

    def __init__(self, kind: UnitKind, text: str, start: int, list_number: int, level: int = 0) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = start + len(text)
        self.list_number = list_number
        self.level = level
        """Of a heading, 1 to 6; 0 for everything else."""
        self._letters: str | None = None
        self._linked = 0

    @property
    def letters(self) -> str:
        """Its letters and digits, without the targets of links."""
        if self._letters is None:
            if self.kind is UnitKind.OTHER and _TOP_HEADING_OR_FENCE.match(self.text):
                self._letters = letters_of(self.text.partition("\n")[2])
            else:
                self._letters, self._linked = _letters_and_linked(self.text)
        return self._letters

    @property
    def linked(self) -> int:
        """How many of the letters are in links."""
        return self._linked if self.letters else 0

    @property
    def ends_in_colon(self) -> bool:
        """Whether it ends in a colon and thus announces what follows."""
        return self.text.rstrip("*_ \n").endswith((":", "\uff1a"))


@dataclass(frozen=True, slots=True)
class UnitGroup:
    """A unit, or all items of a list together."""

    kind: UnitKind
    level: int
    units: tuple[int, ...]


def split_units(markdown: str) -> list[Unit]:
    """Split Markdown into units, in order."""
    return _UnitSplitter(markdown).units


def group_lists(units: Sequence[Unit]) -> list[UnitGroup]:
    """Group the items of each list; every other unit is a group of its own."""
    groups: list[UnitGroup] = []
    items: list[int] = []
    for at, unit in enumerate(units):
        if items and unit.list_number != units[items[0]].list_number:
            groups.append(_list_group(units, items))
            items = []
        if unit.list_number >= 0:
            items.append(at)
        else:
            groups.append(UnitGroup(unit.kind, unit.level, (at,)))
    if items:
        groups.append(_list_group(units, items))
    return groups


def _list_group(units: Sequence[Unit], items: list[int]) -> UnitGroup:
    kind = UnitKind.ITEM if all(units[at].kind is UnitKind.ITEM for at in items) else UnitKind.OTHER
    return UnitGroup(kind, 0, tuple(items))


class _UnitSplitter:
    """Joins the blocks of a text into units: list items take in everything that is indented below them."""

    def __init__(self, markdown: str) -> None:
        self.units: list[Unit] = []
        self._text = markdown
        self._start = -1
        self._end = 0
        self._kind = UnitKind.PROSE
        self._level = 0
        self._list_number = -1
        self._lists = 0
        for block in parse_blocks(markdown):
            is_text = block.kind is BlockKind.TEXT
            for line in block.lines if is_text else (MarkdownLine(block.start, block.end),):
                self._add(block, line)
                if is_text and self._list_number < 0:  # the other lines continue this unit
                    self._end = block.end
                    break
        self._close()

    def _add(self, block: MarkdownBlock, line: MarkdownLine) -> None:
        in_list = self._start >= 0 and self._list_number >= 0
        after_blank = self._start < 0 or self._end + 1 < line.start
        if in_list and self._text[line.start : line.start + 2].isspace():
            self._end = line.end
        elif (after_blank or in_list) and _TOP_ITEM.match(self._text, line.start, line.end):
            self._open(UnitKind.ITEM, line)
        elif after_blank or (block.kind is not BlockKind.TEXT and _TOP_HEADING_OR_FENCE.match(self._text, line.start)):
            self._open(self._kind_of(block), line)
            self._level = block.level if self._kind is UnitKind.HEADING else 0
        else:
            self._end = line.end
        if block.kind in _NEVER_REMOVED:
            self._kind = UnitKind.OTHER

    def _kind_of(self, block: MarkdownBlock) -> UnitKind:
        if block.kind is BlockKind.HEADING and not self._text[block.start : block.end].lstrip().startswith(">"):
            return UnitKind.HEADING
        return UnitKind.OTHER if self._text.startswith(_OTHER_STARTS, block.start) else UnitKind.PROSE

    def _open(self, kind: UnitKind, line: MarkdownLine) -> None:
        continues_list = kind is UnitKind.ITEM and self._start >= 0 and self._list_number >= 0
        self._close()
        if kind is not UnitKind.ITEM:
            self._list_number = -1
        elif not continues_list:
            self._lists += 1
            self._list_number = self._lists
        self._start, self._end, self._kind, self._level = line.start, line.end, kind, 0

    def _close(self) -> None:
        if self._start >= 0:
            text = self._text[self._start : self._end]
            kind = UnitKind.OTHER if "![" in text and self._kind is not UnitKind.HEADING else self._kind
            self.units.append(Unit(kind, text, self._start, self._list_number, self._level))


def match_lines(units: Sequence[Unit], lines: Sequence[str], repeating: Sequence[int]) -> dict[int, tuple[int, int]]:
    """The units that consist of repeating lines of the plain text, each with the range of its lines.

    Only units that contain the longest word of a repeating line are compared.
    """
    words = {max(in_line, key=len) for line in repeating if (in_line := _WORD.findall(lines[line]))}
    letters = {line: letters_of(lines[line]) for line in repeating}
    candidates = [line for line in repeating if letters[line]]
    spans: dict[int, tuple[int, int]] = {}
    at = 0
    for number, unit in enumerate(units):
        if at == len(candidates):
            break
        if not any(word in unit.text for word in words) or not unit.letters:
            continue
        for begin in range(at, min(len(candidates), at + _MAX_LOOKAHEAD)):
            end = _match_end(unit.letters, lines, letters, candidates[begin])
            if end is not None:
                spans[number] = (candidates[begin], end)
                at = next((later for later in range(begin, len(candidates)) if candidates[later] >= end), len(candidates))
                break
        else:
            # The line is part of this unit, so it is none of the units to come.
            if letters[candidates[at]] in unit.letters:
                at += 1
    return spans


def _match_end(unit_letters: str, lines: Sequence[str], letters: dict[int, str], begin: int) -> int | None:
    """The end of the range of lines from `begin` on whose letters equal those of a unit; None when there is none."""
    length, line = 0, begin
    while length < len(unit_letters) and line < len(lines):
        if line not in letters:
            if letters_of(lines[line]):
                return None
        elif not unit_letters.startswith(letters[line], length):
            return None
        else:
            length += len(letters[line])
        line += 1
    return line if length == len(unit_letters) else None


def letters_of(text: str) -> str:
    """The letters and digits of a text, which Markdown and plain text have in common."""
    return text.translate(_PUNCTUATION)


def _letters_and_linked(text: str) -> tuple[str, int]:
    """The letters of Markdown, and how many of them are in links."""
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
