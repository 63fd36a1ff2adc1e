"""Blocks of a document and how Markdown and plain text write them.

A walk over the HTML (`walk.py`) builds these; `markdown_lines` and `text_lines` write them. Containers nest at most
`MAX_DEPTH` deep, so both may recurse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sitelore.extract.markdown.escape import code_span, escape_heading, escape_lines, fence_for
from sitelore.extract.markdown.inline import RAW, TEXT, Leaf, inline_markdown, inline_text

MAX_DEPTH = 30
_REPEATED_ITEM_WORDS = 4  # shorter items may repeat for a reason: scores, sizes, ratings


class Paragraph:
    """A paragraph, or a heading of a level from 1 to 6."""

    __slots__ = ("leaves", "level", "markdown", "one_line")

    def __init__(self, leaves: list[Leaf], level: int = 0, *, one_line: bool = False) -> None:
        self.leaves = leaves
        self.level = level
        self.one_line = one_line or level > 0
        self.markdown = ""

    def render(self) -> str:
        """Write the paragraph as Markdown, escaped at the starts of its lines."""
        markdown = inline_markdown(self.leaves, id(self), one_line=self.one_line)
        if not markdown:
            return ""
        if self.level:
            return f"{'#' * self.level} {escape_heading(markdown)}"
        if self.leaves[0][0] != RAW:
            return escape_lines(markdown)
        # Raw Markdown may look like a block on purpose: a task box, a footnote's label.
        first, line_end, rest = markdown.partition("\n")
        return first + line_end + escape_lines(rest) if line_end else first

    @property
    def text(self) -> str:
        """The plain text."""
        return inline_text(self.leaves)


class CodeBlock:
    """A code block with its language, which may be empty."""

    __slots__ = ("code", "language")

    def __init__(self, code: str, language: str) -> None:
        self.code = code
        self.language = language


class Rule:
    """A thematic break."""

    __slots__ = ()


class Quote:
    """A block quote; admonitions are quotes that start with a label."""

    __slots__ = ("blocks",)

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks


class Item:
    """An item of a list. `terms`: the terms of a definition list, while it is read."""

    __slots__ = ("blocks", "number", "terms")

    def __init__(self, number: int | None = None) -> None:
        self.blocks: list[Block] = []
        self.number = number
        self.terms: list[Paragraph] = []


BULLETS, NUMBERS, DEFINITIONS = "bullets", "numbers", "definitions"


class List:
    """A list with bullets or numbers, or a definition list."""

    __slots__ = ("chars", "in_page_targets", "is_loose", "items", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.items: list[Item] = []
        self.is_loose = False
        self.chars = 0
        self.in_page_targets: list[str] | None = None
        """The places of the page that it links to, when it holds nothing but such links."""


class Table:
    """A table: the blocks of each cell, and what is written of them. The first row is the head."""

    __slots__ = ("cells", "rows")

    def __init__(self, cells: list[list[list[Block]]]) -> None:
        self.cells = cells
        self.rows: list[list[str]] = []

    def render(self) -> None:
        """Write every cell on one line."""
        # A cell that spans several places stands in each of them.
        written: dict[int, str] = {}
        for row in self.cells:
            for blocks in row:
                if id(blocks) not in written:
                    written[id(blocks)] = cell_markdown(blocks)
        self.rows = [[written[id(blocks)] for blocks in row] for row in self.cells]

    @property
    def texts(self) -> list[str]:
        """The plain text, one line a row."""
        return [" ".join([" ".join(text_lines(blocks)) for blocks in row]) for row in self.cells]


class Note:
    """A footnote."""

    __slots__ = ("blocks", "label")

    def __init__(self, label: str) -> None:
        self.label = label
        self.blocks: list[Block] = []


Block: TypeAlias = Paragraph | CodeBlock | Rule | Quote | List | Table | Note


def settled(blocks: Sequence[Block]) -> list[Block]:
    """Render paragraphs and tables; drop blocks that hold nothing and paragraphs that repeat the one before them."""
    kept: list[Block] = []
    last = ""
    for block in blocks:
        if isinstance(block, Paragraph):
            block.markdown = block.render()
            if block.markdown and block.markdown != last:
                kept.append(block)
                last = block.markdown
            continue
        last = ""
        if isinstance(block, Note):
            kept += _settled_note(block)
        elif _settle(block):
            kept.append(block)
    return kept


def _settle(block: CodeBlock | Rule | Quote | List | Table) -> bool:
    """Settle a block. Says whether anything is in it."""
    if isinstance(block, Quote):
        block.blocks = settled(block.blocks)
        return bool(block.blocks)
    if isinstance(block, List):
        block.items = _settled_items(block.items)
        block.is_loose = _is_loose(block)
        return bool(block.items)
    if isinstance(block, Table):
        block.render()
        return any(map(any, block.rows))
    return True


def _settled_items(items: list[Item]) -> list[Item]:
    kept: list[Item] = []
    last = ""
    for item in items:
        item.blocks = settled(item.blocks)
        if not item.blocks:
            continue
        only = item.blocks[0] if len(item.blocks) == 1 else None
        own = only.markdown if isinstance(only, Paragraph) else ""
        if own and own == last and len(own.split()) > _REPEATED_ITEM_WORDS:
            continue
        last = own
        kept.append(item)
    return kept


def _settled_note(note: Note) -> list[Block]:
    """The blocks of a footnote, its label before the first of them."""
    label: Leaf = (RAW, f"[^{note.label}]: ", 0, None, f"[{note.label}] ")
    first = note.blocks[0] if note.blocks else None
    if isinstance(first, Paragraph) and not first.level:
        first.leaves.insert(0, label)
        if first.leaves[1][0] == TEXT:
            first.leaves[1] = (TEXT, first.leaves[1][1].lstrip(), *first.leaves[1][2:])
        return settled(note.blocks)
    return settled([Paragraph([label]), *note.blocks])


def _is_loose(own: List) -> bool:
    """Whether blocks of an item need an empty line between them, so that each is read as what it is."""
    return any(
        _needs_gap(before, after) for item in own.items for before, after in zip(item.blocks, item.blocks[1:], strict=False)
    )


def _needs_gap(before: Block, after: Block) -> bool:
    if isinstance(after, (Paragraph, Rule)) and not (isinstance(after, Paragraph) and after.level):
        return True
    if isinstance(before, Paragraph):
        # A list interrupts a paragraph only when it has bullets or starts with 1 (CommonMark 5.3).
        return isinstance(after, List) and (after.kind == DEFINITIONS or (after.items[0].number or 1) != 1)
    return not isinstance(before, (CodeBlock, List)) or isinstance(after, Table)


def cell_markdown(blocks: Sequence[Block]) -> str:
    """Write blocks on one line, as a cell of a table; bullets become stars between the items."""
    parts: list[str] = []
    _add_cell_parts(parts, blocks)
    return " ".join(filter(None, parts)).replace("|", "\\|")


def _add_cell_parts(parts: list[str], blocks: Sequence[Block]) -> None:
    for block in blocks:
        if isinstance(block, Paragraph):
            parts.append(inline_markdown(block.leaves, id(block), one_line=True))
        elif isinstance(block, CodeBlock):
            parts.append(code_span(" ".join(block.code.split())))
        elif isinstance(block, (Quote, Note)):
            _add_cell_parts(parts, block.blocks)
        elif isinstance(block, List):
            for item in block.items:
                parts.append(_cell_marker(block, item))
                _add_cell_parts(parts, item.blocks)


def _cell_marker(own: List, item: Item) -> str:
    if own.kind == NUMBERS:
        return f"{item.number}." if item.number is not None else ""
    return "*" if own.kind == BULLETS and len(own.items) > 1 else ""


def markdown_lines(blocks: Sequence[Block], first: str = "", rest: str = "", *, is_tight: bool = False) -> list[str]:
    """Write blocks as lines. `first` is put before the first line, `rest` before all others."""
    lines: list[str] = []
    _add_blocks(lines, blocks, first, rest, is_tight=is_tight)
    return lines


def _add_blocks(lines: list[str], blocks: Sequence[Block], first: str, rest: str, *, is_tight: bool) -> None:
    before: Block | None = None
    marker = ""
    for block in blocks:
        if before is not None:
            if not is_tight:
                lines.append(rest.rstrip())
            first = rest
        if isinstance(block, Paragraph):
            _add_lines(lines, block.markdown, first, rest)
        elif isinstance(block, CodeBlock):
            fence = fence_for(block.code)
            _add_lines(lines, f"{fence}{block.language}\n{block.code}\n{fence}", first, rest)
        elif isinstance(block, List):
            # The same marker would continue the list before.
            marker = _marker(block, before, marker)
            _add_items(lines, block, first, rest, marker)
        elif isinstance(block, Quote):
            _add_blocks(lines, block.blocks, f"{first}> ", f"{rest}> ", is_tight=False)
        elif isinstance(block, Table):
            width = len(block.rows[0])
            head, *body = [f"| {' | '.join(row)} |" for row in block.rows]
            _add_lines(lines, "\n".join([head, "| " + " | ".join(["---"] * width) + " |", *body]), first, rest)
        elif isinstance(block, Rule):
            # Within an item three hyphens could be read as one with its marker.
            lines.append(f"{first}___" if rest else "---")
        before = block


def _add_lines(lines: list[str], text: str, first: str, rest: str) -> None:
    if "\n" not in text:
        lines.append(first + text)
        return
    head, *others = text.split("\n")
    lines.append(first + head)
    if rest:
        bare = rest.rstrip()
        lines += [rest + line if line else bare for line in others]
    else:
        lines += others


def _marker(own: List, before: Block | None, last: str) -> str:
    """Return the marker of a list. Directly after another list it has to differ, or both would be read as one."""
    is_numbered = own.kind == NUMBERS
    usual, other = (".", ")") if is_numbered else ("-", "*")
    if not isinstance(before, List) or (before.kind == NUMBERS) != is_numbered:
        return usual
    return last if before.kind == own.kind == DEFINITIONS else other if last == usual else usual


def _add_items(lines: list[str], own: List, first: str, rest: str, marker: str) -> None:
    number = 1
    for at, item in enumerate(own.items):
        if at:
            if own.is_loose:
                lines.append(rest.rstrip())
            first = rest
        if own.kind == NUMBERS:
            number = item.number if item.number is not None else number
            mark = f"{number}{marker} "
            number += 1
        else:
            mark = f"{marker} "
        _add_blocks(lines, item.blocks, first + mark, rest + " " * len(mark), is_tight=not own.is_loose)


def text_lines(blocks: Sequence[Block]) -> list[str]:
    """Write blocks as plain text, one line a block, items with their bullets and numbers."""
    lines: list[str] = []
    _add_text(lines, blocks)
    return lines


def _add_text(lines: list[str], blocks: Sequence[Block]) -> None:
    for block in blocks:
        if isinstance(block, Paragraph):
            lines.append(block.text)
        elif isinstance(block, CodeBlock):
            lines.append(block.code)
        elif isinstance(block, Table):
            lines += block.texts
        elif isinstance(block, Quote):
            _add_text(lines, block.blocks)
        elif isinstance(block, List):
            _add_items_text(lines, block)
        elif isinstance(block, Note):
            start = len(lines)
            _add_text(lines, block.blocks)
            _prefix(lines, start, f"[{block.label}]")


def _add_items_text(lines: list[str], own: List) -> None:
    number = 1
    for item in own.items:
        start = len(lines)
        _add_text(lines, item.blocks)
        if own.kind == NUMBERS:
            number = item.number if item.number is not None else number
            _prefix(lines, start, f"{number}.")
            number += 1
        elif own.kind == BULLETS:
            _prefix(lines, start, "-")


def _prefix(lines: list[str], start: int, mark: str) -> None:
    """Put a mark before the first of the lines that shows anything."""
    for at in range(start, len(lines)):
        if lines[at].strip():
            lines[at] = f"{mark} {lines[at].lstrip()}"
            return


def join_paragraphs(into: Paragraph, other: Paragraph, separator: Leaf) -> None:
    """Append a paragraph to another one, with its links."""
    into.leaves.append(separator)
    into.leaves += other.leaves
    for leaf in other.leaves:
        link = leaf[3]
        if link is not None and link.home == id(other):
            link.home = id(into)
