"""The paragraph that is being read: its text, emphasis and link, until a block ends it."""

from __future__ import annotations

import re

from sitelore.extract import dom
from sitelore.extract.markdown.blocks import Block, Paragraph
from sitelore.extract.markdown.footnotes import without_own_number
from sitelore.extract.markdown.formulas import formula_pieces
from sitelore.extract.markdown.inline import BREAK, CODE, RAW, TEXT, Leaf, Link
from sitelore.extract.markdown.invisible import without

_SPACES = re.compile(r"[ \t\n\f\r\xa0\u202f]+")


class Paragraphs:
    """Collects leaves and makes paragraphs and headings of them."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        """The blocks of the innermost container."""
        self.chars = 0
        """How much text there is."""
        self._leaves: list[Leaf] = []
        self._ends_in_space = True
        self._style = 0
        self._link: Link | None = None
        self._unlinked = self._outside = 0  # characters in no link, and in no link to a place of the page
        self._is_code = False
        self._level = 0  # of the heading that is open
        self._heading: dom.Element | None = None
        self._heading_text = ""
        self._keeps_lines = False
        self._own_number = ""  # of the footnote whose text begins
        self._invisible: frozenset[str] = frozenset()
        self._has_formulas = False

    def _text(self, data: str) -> None:
        if self._invisible and not (data.isascii() and data.isprintable()):
            data = without(data, self._invisible)
        if self._own_number and data.strip():
            data = without_own_number(data, self._own_number)
            self._own_number = ""
        if self._has_formulas and not self._is_code and ("\\" in data or "$$" in data):
            for is_formula, piece, is_block in formula_pieces(data):
                if is_formula:
                    self._formula(piece, is_block=is_block)
                else:
                    self._plain(piece)
            return
        if self._keeps_lines and "\n" in data:
            self._lines(data)
            return
        self._plain(data)

    def _plain(self, data: str) -> None:
        """Add text with its white space collapsed."""
        if not data:
            return
        if data.isascii():
            words = data.split()
            if not words:
                self._gap()
                return
            text = " ".join(words)
            starts, ends = data[0].isspace(), data[-1].isspace()
        else:
            text = _SPACES.sub(" ", data)
            starts, ends = text[0] == " ", text[-1] == " "
            text = text.strip(" ")
            if not text:
                self._gap()
                return
        size = len(text)
        link = self._link
        self.chars += size
        if link is None:
            self._unlinked += size
            self._outside += size
        elif not link.in_page:
            self._outside += size
        if starts and not self._ends_in_space:
            text = f" {text} " if ends else f" {text}"
        elif ends:
            text += " "
        self._ends_in_space = ends
        self._leaves.append((CODE if self._is_code else TEXT, text, self._style, link, ""))

    def _lines(self, data: str) -> None:
        """Add text whose line ends are shown as such."""
        inner = data.strip("\n")
        for at, line in enumerate(inner.split("\n")):
            if at:
                self._break()
            self._plain(line)

    def _gap(self) -> None:
        """Separate words."""
        if not self._ends_in_space:
            self._leaves.append((CODE if self._is_code else TEXT, " ", self._style, self._link, ""))
            self._ends_in_space = True

    def _raw(self, markdown: str, plain: str) -> None:
        self._leaves.append((RAW, markdown, self._style, self._link, plain))
        self._ends_in_space = False
        size = len(plain)
        self.chars += size
        if self._link is None:
            self._unlinked += size
            self._outside += size

    def _formula(self, markdown: str, *, is_block: bool) -> None:
        if is_block and not self._level:
            self._flush()
        self._raw(markdown, markdown)
        if is_block and not self._level:
            self._flush()

    def _break(self) -> None:
        if self._level:
            self._gap()
        else:
            self._leaves.append((BREAK, "", self._style, None, ""))
            self._ends_in_space = True

    def _flush(self) -> None:
        """End the paragraph. Within a heading, which is one line, only separate the words."""
        if self._level:
            self._gap()
            return
        leaves = self._leaves
        self._ends_in_space = True
        if not leaves:
            return
        self._leaves = []
        if len(leaves) == 1:
            self._add_paragraph(leaves)
            return
        # Two breaks are a new paragraph.
        part: list[Leaf] = []
        breaks: list[Leaf] = []
        for leaf in leaves:
            if leaf[0] == BREAK:
                breaks.append(leaf)
                continue
            if breaks:
                if leaf[0] != RAW and not leaf[1].strip():
                    continue
                if len(breaks) > 1:
                    self._add_paragraph(part)
                    part = []
                else:
                    part += breaks
                breaks = []
            part.append(leaf)
        self._add_paragraph(part)

    def _add_paragraph(self, leaves: list[Leaf], level: int = 0) -> None:
        paragraph = Paragraph(leaves, level)
        is_empty = True
        for leaf in leaves:
            if leaf[0] != RAW and not leaf[1].strip():
                continue
            is_empty = False
            link = leaf[3]
            # Of several paragraphs in one link, its heading links, or else its first line.
            if link is not None and (not link.home or (level and not link.is_heading)):
                link.home, link.is_heading = id(paragraph), level > 0
        if not is_empty:
            self.blocks.append(paragraph)

    def _end_heading(self) -> None:
        """Write the heading that is open: a block follows in it that no heading can hold."""
        if self._level:
            level, leaves = self._level, self._leaves
            self._level, self._heading = 0, None
            self._leaves, self._ends_in_space = [], True
            self._add_paragraph(leaves, level)
