"""Blocks of a document (paragraphs, lists, quotes, tables, code …), each with its Markdown and its plain text.

The walk over the HTML (`writer.py`) builds blocks by `ParagraphBuilder`, and `tables.py` builds each `Table`. Blocks write
plain text directly; for Markdown, `render_blocks` writes their inline content and drops empty blocks, then `add_markdown` adds
their lines. Containers nest at most `MAX_DEPTH` deep, so all of this may recurse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import compress

from sitelore.extract import dom
from sitelore.extract.markdown.inline import (
    BREAK,
    CODE,
    RAW,
    STRONG,
    TEXT,
    Leaf,
    Link,
    code_span,
    escape_heading,
    escape_lines,
    fence_for,
    inline_markdown,
    inline_text,
    is_blank,
)

MAX_DEPTH = 30
_REPEATED_ITEM_WORDS = 4  # shorter items may repeat for a reason: scores, sizes, ratings
_MAX_NUMBER_DIGITS = 9
# A note of one word, or of one with a title, is a link definition to CommonMark (4.7), which shows nothing.
_LINK_DEFINITION = re.compile(r"""\[\^[^\]]*\]: \S+(?:\s+["'(].*)?""", re.DOTALL)
_SPACES = frozenset(" \t\n\f\r\xa0\u202f")
_WHITE_SPACE = re.compile(r"[ \t\n\f\r]+")
_SEPARATORS = frozenset({",", ";", "|"})
_SPACE_LEAF: Leaf = (TEXT, " ", 0, None, "")
_BREAK_LEAF: Leaf = (BREAK, "", 0, None, "")


class Block:
    """A block of a document."""

    __slots__ = ()

    def render(self) -> bool:
        """Write the inline Markdown of the block and of all blocks in it. Returns whether there is anything to write."""
        return True

    def add_markdown(self, lines: list[str], first: str, rest: str) -> None:
        """Add the lines of the rendered block. `first` is put before the first line, `rest` before all others."""

    def add_text(self, lines: list[str]) -> None:
        """Add the plain text of the block."""

    def add_to_cell(self, parts: list[str]) -> None:
        """Add the Markdown of the block on one line, as a cell of a table needs it."""

    def fits_cell(self) -> bool:
        """Whether the block can be written on one line."""
        return True


class Paragraph(Block):
    """A paragraph, or a heading of a level from 1 to 6."""

    __slots__ = ("leaves", "level", "markdown")

    def __init__(self, leaves: list[Leaf], level: int = 0) -> None:
        self.leaves = leaves
        self.level = level
        self.markdown = ""

    @property
    def text(self) -> str:
        """The plain text."""
        return inline_text(self.leaves)

    def add_style(self, bits: int) -> None:
        """Emphasise all of it."""
        self.leaves = [(kind, text, style | bits, link, plain) for kind, text, style, link, plain in self.leaves]

    def render(self) -> bool:
        """Write the paragraph, with what would open a block escaped at the starts of its lines."""
        is_heading = self.level > 0
        markdown = inline_markdown(self.leaves, id(self), is_heading=is_heading, one_line=is_heading)
        if not markdown:
            return False
        if self.level:
            markdown = f"{'#' * self.level} {escape_heading(markdown)}"
        elif self.leaves[0][0] != RAW:
            markdown = escape_lines(markdown)
        elif "\n" in markdown:
            # Raw Markdown may look like a block on purpose: a task box, a footnote's label.
            first, _, rest = markdown.partition("\n")
            markdown = f"{first}\n{escape_lines(rest)}"
        self.markdown = markdown
        return True

    def add_markdown(self, lines: list[str], first: str, rest: str) -> None:
        _add_lines(lines, self.markdown, first, rest)

    def add_text(self, lines: list[str]) -> None:
        lines.append(self.leaves[0][1] if len(self.leaves) == 1 and self.leaves[0][0] == TEXT else self.text)

    def add_to_cell(self, parts: list[str]) -> None:
        parts.append(inline_markdown(self.leaves, id(self), is_heading=self.level > 0, one_line=True))


class CodeBlock(Block):
    """A code block with its language, which may be empty."""

    __slots__ = ("code", "is_span", "language")

    def __init__(self, code: str, language: str) -> None:
        self.code = code
        self.language = language
        self.is_span = False
        """Whether the source is an inline `code` with few line breaks: in a table cell it is written as one line."""

    def add_markdown(self, lines: list[str], first: str, rest: str) -> None:
        fence = fence_for(self.code)
        _add_lines(lines, f"{fence}{self.language}\n{self.code}\n{fence}", first, rest)

    def add_text(self, lines: list[str]) -> None:
        lines.append(self.code)

    def add_to_cell(self, parts: list[str]) -> None:
        parts.append(code_span(" ".join(self.code.split())))

    def fits_cell(self) -> bool:
        return self.is_span or "\n" not in self.code


class Rule(Block):
    """A thematic break."""

    __slots__ = ()

    def add_markdown(self, lines: list[str], first: str, rest: str) -> None:
        # Within an item three hyphens could be read as one with its marker.
        lines.append(f"{first}___" if rest else "---")


class Quote(Block):
    """A block quote; admonitions are quotes that start with a label."""

    __slots__ = ("blocks",)

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks

    def render(self) -> bool:
        self.blocks = render_blocks(self.blocks)
        return bool(self.blocks)

    def add_markdown(self, lines: list[str], first: str, rest: str) -> None:
        _add_blocks(lines, self.blocks, f"{first}> ", f"{rest}> ", is_tight=False)

    def add_text(self, lines: list[str]) -> None:
        for block in self.blocks:
            block.add_text(lines)

    def add_to_cell(self, parts: list[str]) -> None:
        for block in self.blocks:
            block.add_to_cell(parts)

    def fits_cell(self) -> bool:
        return all(block.fits_cell() for block in self.blocks)


class Note(Quote):
    """A footnote. It is rendered as its blocks, the first of them after a label."""

    __slots__ = ("label",)

    def __init__(self, label: str) -> None:
        super().__init__([])
        self.label = label

    def render(self) -> bool:
        label: Leaf = (RAW, f"[^{self.label}]: ", 0, None, f"[{self.label}] ")
        first = _first_paragraph(self.blocks)
        if first is None:
            self.blocks = [Paragraph([label]), *self.blocks]
        else:
            kind, text = first.leaves[0][:2]
            first.leaves[:1] = [label, (kind, text.lstrip() if kind == TEXT else text, *first.leaves[0][2:])]
            # Only its first paragraph belongs to a footnote, and indented ones would be code to CommonMark.
            end = 1
            while (other := _first_paragraph(self.blocks[end : end + 1])) is not None:
                first.leaves += [_BREAK_LEAF, *other.leaves]
                end += 1
            del self.blocks[1:end]
        if not super().render():
            return False
        if first is not None and _LINK_DEFINITION.fullmatch(first.markdown):
            first.markdown += " ↩"
        return True

    def add_text(self, lines: list[str]) -> None:
        start = len(lines)
        super().add_text(lines)
        _prefix(lines, start, f"[{self.label}]")


class Item:
    """An item of a list.

    `terms`: the terms of a definition list, while it is read; `is_defined`: whether a definition, maybe empty, came after them.
    """

    __slots__ = ("blocks", "is_defined", "number", "terms")

    def __init__(self, raw_number: str | None = None) -> None:
        self.blocks: list[Block] = []
        self.number = _parse_number(raw_number)
        self.terms: list[Paragraph] = []
        self.is_defined = False

    def add_term(self, term: list[Block]) -> None:
        """Add a term, on one line."""
        first = _first_paragraph(term)
        if first is None:
            self.blocks += term
            return
        first.leaves = [leaf if leaf[0] != BREAK else _SPACE_LEAF for leaf in first.leaves]
        others = term[1:]
        while (other := _first_paragraph(others)) is not None:
            first.leaves += [_SPACE_LEAF, *other.leaves]
            del others[0]
        self.terms.append(first)
        self.blocks += others


BULLETS, NUMBERS, DEFINITIONS = "bullets", "numbers", "definitions"


class List(Block):
    """A list with bullets or numbers, or a definition list."""

    __slots__ = ("chars", "in_page_targets", "is_loose", "items", "kind", "marker")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.items: list[Item] = []
        self.is_loose = False
        self.marker = ""
        self.chars = 0
        self.in_page_targets: list[str] = []
        """The places of the page that it links to, when it holds nothing but such links."""

    def is_layout(self) -> bool:
        """Whether the list only arranges sections or cards: every item starts with a heading."""
        return self.kind == BULLETS and all(
            item.blocks and isinstance(item.blocks[0], Paragraph) and item.blocks[0].level for item in self.items
        )

    def number_items(self, element: dom.Element) -> None:
        """Give the items of an ordered list the numbers that its attributes say."""
        is_reversed = element.attr("reversed") is not None
        number = _parse_number(element.attr("start"))
        if number is None:
            number = len(self.items) if is_reversed else 1
        for item in self.items:
            if item.number is None:
                item.number = max(number, 0)
            number = item.number + (-1 if is_reversed else 1)

    def place_terms(self) -> None:
        """Put the terms of a definition list before their definitions, below each other; terms without one are items."""
        items: list[Item] = []
        for item in self.items:
            if not item.blocks:
                for term in item.terms:
                    items.append(Item())
                    items[-1].blocks.append(term)
                continue
            for term in item.terms[1:]:
                item.terms[0].leaves += [_BREAK_LEAF, *term.leaves]
            item.blocks[:0] = item.terms[:1]
            items.append(item)
        self.items = items

    def render(self) -> bool:
        """Render the items; drop those that are empty, and long ones that repeat the one before them."""
        items: list[Item] = []
        last = ""
        for item in self.items:
            item.blocks = render_blocks(item.blocks)
            if not item.blocks:
                continue
            first = item.blocks[0]
            markdown = first.markdown if len(item.blocks) == 1 and isinstance(first, Paragraph) else ""
            if markdown and markdown == last and len(markdown.split()) > _REPEATED_ITEM_WORDS:
                continue
            last = markdown
            items.append(item)
        self.items = items
        self.is_loose = any(
            _needs_gap(before, after) for item in items for before, after in zip(item.blocks, item.blocks[1:], strict=False)
        )
        return bool(items)

    def choose_marker(self, before: Block | None) -> None:
        """Choose the marker. Directly after another list it has to differ, or both would be read as one."""
        is_numbered = self.kind == NUMBERS
        usual, other = (".", ")") if is_numbered else ("-", "*")
        if not isinstance(before, List) or (before.kind == NUMBERS) != is_numbered:
            self.marker = usual
        elif before.kind == self.kind == DEFINITIONS:
            self.marker = before.marker
        else:
            self.marker = other if before.marker == usual else usual

    def add_markdown(self, lines: list[str], first: str, rest: str) -> None:
        for at, item in enumerate(self.items):
            if at:
                if self.is_loose:
                    lines.append(rest.rstrip())
                first = rest
            mark = f"{item.number}{self.marker} " if self.kind == NUMBERS else f"{self.marker} "
            _add_blocks(lines, item.blocks, first + mark, rest + " " * len(mark), is_tight=not self.is_loose)

    def add_text(self, lines: list[str]) -> None:
        """Add the items with their bullets and numbers."""
        for item in self.items:
            start = len(lines)
            for block in item.blocks:
                block.add_text(lines)
            if self.kind != DEFINITIONS:
                _prefix(lines, start, f"{item.number}." if self.kind == NUMBERS else "-")

    def add_to_cell(self, parts: list[str]) -> None:
        """Add the items; bullets become stars between them."""
        for item in self.items:
            if self.kind == NUMBERS:
                parts.append(f"{item.number}.")
            elif self.kind == BULLETS and len(self.items) > 1:
                parts.append("*")
            for block in item.blocks:
                block.add_to_cell(parts)

    def fits_cell(self) -> bool:
        return all(block.fits_cell() for item in self.items for block in item.blocks)


class Table(Block):
    """A table: the blocks of each cell, and what is written of them. The first row is the head."""

    __slots__ = ("cells", "rows")

    def __init__(self, cells: list[list[list[Block]]]) -> None:
        self.cells = cells
        self.rows: list[list[str]] = []

    def render(self) -> bool:
        """Write every cell on one line, and drop empty rows and columns.

        A cell that spans several places is repeated in each of them.
        """
        written: dict[int, str] = {}
        for row in self.cells:
            for blocks in row:
                if id(blocks) not in written:
                    written[id(blocks)] = _cell_markdown(blocks)
        rows = [[written[id(blocks)] for blocks in row] for row in self.cells]
        shown = [any(column) for column in zip(*rows, strict=True)]
        # The first row is the head, which GFM needs.
        self.rows = [list(compress(row, shown)) for at, row in enumerate(rows) if not at or any(row)]
        return any(shown)

    def add_markdown(self, lines: list[str], first: str, rest: str) -> None:
        head, *body = [f"| {' | '.join(row)} |" for row in self.rows]
        separator = f"| {' | '.join(['---'] * len(self.rows[0]))} |"
        _add_lines(lines, "\n".join([head, separator, *body]), first, rest)

    def add_text(self, lines: list[str]) -> None:
        lines += [" ".join([" ".join(_texts(blocks)) for blocks in row]) for row in self.cells]

    def fits_cell(self) -> bool:
        return False


def _parse_number(raw: str | None) -> int | None:
    raw = (raw or "").strip()
    return int(raw) if raw.isdecimal() and len(raw) < _MAX_NUMBER_DIGITS else None


def _first_paragraph(blocks: Sequence[Block]) -> Paragraph | None:
    first = blocks[0] if blocks else None
    return first if isinstance(first, Paragraph) and not first.level else None


def render_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Render blocks; drop those that hold nothing, and paragraphs that repeat the one before them."""
    rendered: list[Block] = []
    last = ""
    for block in blocks:
        is_written = block.render()
        if not isinstance(block, Paragraph):
            last = ""
            if is_written:
                rendered += block.blocks if isinstance(block, Note) else [block]
        elif is_written and block.markdown != last:
            last = block.markdown
            rendered.append(block)
    return rendered


def _needs_gap(before: Block, after: Block) -> bool:
    """Whether two blocks of an item need an empty line between them, so that each is read as what it is."""
    if isinstance(after, Rule) or (isinstance(after, Paragraph) and not after.level):
        return True
    if isinstance(before, Paragraph):
        # A list interrupts a paragraph only when it has bullets or starts with 1 (CommonMark 5.3).
        return isinstance(after, List) and (after.kind == DEFINITIONS or after.items[0].number not in {None, 1})
    return not isinstance(before, (CodeBlock, List)) or isinstance(after, Table)


def _cell_markdown(blocks: Sequence[Block]) -> str:
    parts: list[str] = []
    for block in blocks:
        block.add_to_cell(parts)
    return " ".join(filter(None, parts)).replace("|", "\\|")


def markdown_of(blocks: Iterable[Block]) -> str:
    """Write blocks as Markdown. Renders them, so their plain text has to be written before.

    Rules at both ends go: they separate nothing, and one on the first line would be read as front matter.
    """
    rendered = render_blocks(blocks)
    start, end = 0, len(rendered)
    while start < end and isinstance(rendered[start], Rule):
        start += 1
    while end > start and isinstance(rendered[end - 1], Rule):
        end -= 1
    lines: list[str] = []
    _add_blocks(lines, rendered[start:end], "", "", is_tight=False)
    return "\n".join(lines)


def text_of(blocks: Iterable[Block]) -> str:
    """Write blocks as plain text: no empty lines, single spaces."""
    lines: list[str] = []
    for text in _texts(blocks):
        # Of white space only the simple space is printable.
        if text.isprintable() and "  " not in text:
            lines.append(text.strip())
        else:
            lines += [" ".join(line.split()) for line in text.split("\n")]
    return "\n".join(filter(None, lines))


def _texts(blocks: Iterable[Block]) -> list[str]:
    texts: list[str] = []
    for block in blocks:
        block.add_text(texts)
    return texts


def _add_blocks(lines: list[str], blocks: Sequence[Block], first: str, rest: str, *, is_tight: bool) -> None:
    before: Block | None = None
    for block in blocks:
        if before is not None:
            if not is_tight:
                lines.append(rest.rstrip())
            first = rest
        if isinstance(block, List):
            block.choose_marker(before)
        block.add_markdown(lines, first, rest)
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


def _prefix(lines: list[str], start: int, mark: str) -> None:
    """Put a mark before the first of the lines that shows anything."""
    for at in range(start, len(lines)):
        if lines[at].strip():
            lines[at] = f"{mark} {lines[at].lstrip()}"
            return


# Building paragraphs


class ParagraphBuilder:
    """Collects the text of the paragraph or heading that is being read, until a block ends it."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        """The blocks of the innermost container."""
        self.chars = 0
        """How many characters of text there are so far."""
        self._unlinked_chars = 0
        self._outside_chars = 0  # in no link to a place of the same page
        self._leaves: list[Leaf] = []
        self._ends_in_space = True  # also before the first leaf
        self._has_break = False
        self._style = 0
        self._link: Link | None = None
        self._is_code = False
        self._level = 0  # of the heading that is open

    def _add_words(self, data: str) -> None:
        """Add text with its white space collapsed."""
        if self._is_code and "\xa0" in data:
            self._add_spaced_code(data)
            return
        # Of white space only the simple space is printable.
        text = data.strip(" ") if data.isprintable() and "  " not in data else _collapse_spaces(data)
        if not text:
            if data:
                self._add_gap()
            return
        size = len(text)
        link = self._link
        self.chars += size
        if link is None:
            self._unlinked_chars += size
            self._outside_chars += size
        elif not link.in_page:
            self._outside_chars += size
        if data[0] in _SPACES and not self._ends_in_space:
            text = f" {text}"
        if data[-1] in _SPACES:
            text += " "
            self._ends_in_space = True
        else:
            self._ends_in_space = False
        kind = CODE if self._is_code and not self._separates_code(text) else TEXT
        self._leaves.append((kind, text, self._style, link, ""))

    def _separates_code(self, text: str) -> bool:
        """Whether a text within code only separates it from the link before."""
        if self._link is not None or text.strip() not in _SEPARATORS or not self._leaves:
            return False
        before = self._leaves[-1]
        return before[0] == CODE and before[3] is not None

    def _add_spaced_code(self, data: str) -> None:
        """Add inline code with as many spaces as are seen: no-break spaces do not collapse."""
        text = _WHITE_SPACE.sub(" ", data)
        is_start = not self._leaves or self._leaves[-1][0] != CODE
        if self._ends_in_space:
            text = text.lstrip() if is_start else text.lstrip(" ")
        if text:
            self._ends_in_space = text[-1] == " "
            self._leaves.append((CODE, text.replace("\xa0", " "), self._style, self._link, ""))
            if self._link is None:
                self._count_unlinked(len(text))
            else:
                self.chars += len(text)

    def _add_gap(self) -> None:
        """Separate words."""
        if not self._ends_in_space:
            self._leaves.append((CODE if self._is_code else TEXT, " ", self._style, self._link, ""))
            self._ends_in_space = True

    def _add_raw(self, markdown: str, plain: str) -> None:
        """Add finished Markdown with its plain text."""
        self._leaves.append((RAW, markdown, self._style, self._link, plain))
        self._ends_in_space = False
        if self._link is None:
            self._count_unlinked(len(plain))
        else:
            self.chars += len(plain)

    def _add_break(self) -> None:
        if self._level:
            self._add_gap()
        else:
            self._leaves.append((BREAK, "", self._style, None, ""))
            self._has_break = self._ends_in_space = True

    def _count_unlinked(self, size: int) -> None:
        self.chars += size
        self._unlinked_chars += size
        self._outside_chars += size

    def _flush(self) -> None:
        """End the paragraph. Within a heading, which is one line, only separate the words."""
        leaves = self._leaves
        if not leaves:
            return
        if self._level:
            self._add_gap()
            return
        self._leaves, self._ends_in_space = [], True
        if not self._has_break:
            self._add_paragraph(leaves)
            return
        self._has_break = False
        # Two breaks are a new paragraph.
        part: list[Leaf] = []
        breaks: list[Leaf] = []
        for leaf in leaves:
            if leaf[0] == BREAK:
                breaks.append(leaf)
                continue
            if breaks:
                if is_blank(leaf):
                    continue
                if len(breaks) > 1:
                    self._add_paragraph(part)
                    part = []
                else:
                    part += breaks
                breaks = []
            part.append(leaf)
        self._add_paragraph(part)

    def _end_block(self) -> None:
        """End the heading or the paragraph that is open."""
        if self._level:
            level, leaves = self._level, self._leaves
            self._level, self._leaves, self._ends_in_space = 0, [], True
            self._add_paragraph(leaves, level)
        elif self._leaves:
            self._flush()

    def _add_paragraph(self, leaves: list[Leaf], level: int = 0) -> None:
        shows_text = False
        common = STRONG
        for kind, text, style, link, _ in leaves:
            if kind == RAW or (text and not text.isspace()):
                shows_text = True
                common &= style
                if level and link is not None:
                    link.has_heading = True
        if level and common:
            # A heading is bold anyway.
            leaves = [(kind, text, style & ~STRONG, link, plain) for kind, text, style, link, plain in leaves]
        if shows_text:
            self.blocks.append(Paragraph(leaves, level))


def _collapse_spaces(text: str) -> str:
    """Make single spaces of all white space but the wider spaces of Unicode, with none at both ends."""
    if text.isascii():
        return " ".join(text.split())
    for char in "\n\t\xa0\u202f\r\f":
        if char in text:
            text = text.replace(char, " ")
    return " ".join(filter(None, text.split(" "))) if "  " in text else text.strip(" ")


# Admonitions: boxes of a kind (note, warning, see also, new in version …), written as quotes that start with a bold label

_LABELS = {
    "note": "Note", "warning": "Warning", "tip": "Tip", "caution": "Caution", "important": "Important", "danger": "Danger",
    "hint": "Hint", "attention": "Attention", "seealso": "See also", "see-also": "See also", "versionadded": "",
    "versionchanged": "", "deprecated": "Deprecated", "versionremoved": "", "deprecated-removed": "",
}  # fmt: skip
_MARKED_LABELS = _LABELS | {
    "info": "Info", "error": "Error", "success": "Success", "todo": "Todo", "example": "Example", "question": "Question",
    "bug": "Bug", "abstract": "Abstract", "failure": "Failure", "quote": "Quote", "secondary": "Note", "details": "Details",
}  # fmt: skip
_MARKER_CLASSES = frozenset({
    "admonition", "admonitionblock", "theme-admonition", "markdown-alert", "custom-block", "callout", "starlight-aside",
})  # fmt: skip
_KIND_CLASS = re.compile(r"(?:[a-z]+-)?(?:admonition|alert|aside|block|callout|is)[-_]{1,2}([a-z]+)")
_ALERT_CLASSES = frozenset({"alert", "bd-callout"})
_ADMONITION_CLASSES = _MARKER_CLASSES | _ALERT_CLASSES | _LABELS.keys()
_ADMONITION_TAGS = frozenset({"div", "aside", "section", "p", "blockquote", "dl", "details", "table"})
_TITLE_CLASS = re.compile(
    r"(?i)(?:^|\s)(?:title|versionmodified|[\w-]*(?:admonition|alert|aside|block|callout|note)[_-]{0,2}(?:title|head(?:ing|er))\w{0,20})(?=\s|$)"
)
_TITLE_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt"})
_SENTENCE_ENDS = (":", ".", "!", "?", "\uff1a", "。", "…")
_MAX_UNMARKED_CHARS = 1500


class Admonition:
    """An admonition while it is read."""

    __slots__ = ("blocks", "class_label", "is_marked", "label", "level", "needs_label")

    def __init__(self, class_label: str, *, is_marked: bool, needs_label: bool) -> None:
        self.class_label = class_label
        """The label that its class gives; empty when it gives none."""
        self.is_marked = is_marked
        """Whether its markup says that it is an admonition, not only of which kind."""
        self.needs_label = needs_label
        """Whether it is one only with a label in its text."""
        self.label: list[Leaf] = []
        self.level = 0
        """The level of the heading that its label is; 0 when it is none."""
        self.blocks: list[Block] = []

    def finish(self, chars: int) -> list[Block]:
        """Return a quote that starts with the label, or the blocks alone when they are no admonition after all."""
        if self._is_section(chars):
            return [Paragraph(self.label, self.level), *self.blocks] if self.label else self.blocks
        label, blocks = self.label, self.blocks
        first = _first_paragraph(blocks)
        if not label and first is not None:
            if len(blocks) > 1 and self._is_class_label(first.leaves):
                label, blocks = first.leaves, blocks[1:]
                first = _first_paragraph(blocks)
            elif _starts_with_label(first, self.class_label):
                return [Quote(blocks)]
        if not label:
            if self.needs_label or not blocks:
                return blocks
            label = [(TEXT, self.class_label, 0, None, "")] if self.class_label else []
        leaves = _bold_label(label)
        if first is not None:
            first.leaves[:0] = [*leaves, _SPACE_LEAF]
        else:
            blocks = [Paragraph(leaves), *blocks]
        return [Quote(blocks)]

    def _is_section(self, chars: int) -> bool:
        """Whether it is a whole section that only has the name of a kind for its class."""
        if self.is_marked or self.needs_label or (self.label and self._is_class_label(self.label)):
            return False
        return chars > _MAX_UNMARKED_CHARS or any(isinstance(block, Paragraph) and block.level for block in self.blocks)

    def _is_class_label(self, leaves: list[Leaf]) -> bool:
        return inline_text(leaves).strip(" :").casefold() == self.class_label.casefold()


def admonition_of(element: dom.Element, class_: str | None) -> Admonition | None:
    """Return an admonition when an element's class says that it is one."""
    tokens = class_.lower().split() if class_ else ()
    if _ADMONITION_CLASSES.isdisjoint(tokens):
        return None
    is_marked = not _MARKER_CLASSES.isdisjoint(tokens)
    is_alert = not is_marked and not _ALERT_CLASSES.isdisjoint(tokens)
    if is_marked or is_alert:
        parts = [match[1] for token in tokens if (match := _KIND_CLASS.fullmatch(token)) is not None]
        name = next((_MARKED_LABELS[token] for token in (*tokens, *parts) if token in _MARKED_LABELS), "")
        return Admonition(name, is_marked=is_marked, needs_label=is_alert)
    if element.tag not in _ADMONITION_TAGS:
        return None
    name = next(_LABELS[token] for token in tokens if token in _LABELS)
    return Admonition(name, is_marked=False, needs_label=not name)


def is_title(element: dom.Element) -> bool:
    """Whether the first element with text in an admonition is its title."""
    if element.tag in _TITLE_TAGS:
        return True
    class_ = element.attr("class")
    return class_ is not None and _TITLE_CLASS.search(class_) is not None


def icon_label(cell: dom.Element) -> str:
    """Return the label that an icon represents, in the first cell of an AsciiDoc or DocBook admonition."""
    if text := " ".join(cell.text.split()):
        return text
    for element in cell.iter_elements(("i", "img", "span")):
        if label := (element.attr("title") or element.attr("alt") or "").strip(" []"):
            return label
    return ""


def _starts_with_label(paragraph: Paragraph, name: str) -> bool:
    """Whether a paragraph starts with a bold label, or with the name of the admonition's kind."""
    first = next((leaf for leaf in paragraph.leaves if not is_blank(leaf)), None)
    if first is None or first[0] == RAW:
        return False
    if first[2] & STRONG:
        return True
    start = paragraph.text.strip()[: len(name) + 1].casefold()
    return bool(name) and start.startswith(name.casefold()) and start[len(name) :] in {":", "!", "."}


def _bold_label(label: list[Leaf]) -> list[Leaf]:
    """Make a label bold, with a colon at its end and a capital at its start."""
    leaves = [(kind, text, style | STRONG, link, plain) for kind, text, style, link, plain in label]
    while leaves and is_blank(leaves[-1]):
        leaves.pop()
    while leaves and is_blank(leaves[0]):
        leaves.pop(0)
    if leaves and leaves[0][0] == TEXT:
        text = leaves[0][1].lstrip(" [")
        leaves[0] = (TEXT, text[:1].upper() + text[1:], *leaves[0][2:])
    if leaves and leaves[-1][0] == TEXT:
        text = leaves[-1][1].rstrip(" ]")
        leaves[-1] = (TEXT, text if text.endswith(_SENTENCE_ENDS) else f"{text}:", *leaves[-1][2:])
    return leaves
