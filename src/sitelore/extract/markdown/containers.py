"""Elements that hold blocks (quotes, admonitions, lists, definition lists, tables, footnotes), and code blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sitelore.extract import dom
from sitelore.extract.markdown.admonitions import Admonition, admonition_of, icon_label, is_title
from sitelore.extract.markdown.blocks import (
    BULLETS,
    DEFINITIONS,
    MAX_DEPTH,
    NUMBERS,
    Block,
    CodeBlock,
    Item,
    List,
    Note,
    Paragraph,
    Quote,
    Rule,
    join_paragraphs,
)
from sitelore.extract.markdown.code import Listings
from sitelore.extract.markdown.inline import BREAK, TEXT, Leaf
from sitelore.extract.markdown.invisible import without
from sitelore.extract.markdown.paragraphs import Paragraphs
from sitelore.extract.markdown.tables import Cell, Draft

Leave = Callable[[], object]
Enter = Callable[[Any, dom.Element], Leave | None]
"""Handles the start of an element in a walk: None when nothing below it is to be read, else what to do at its end."""

_MAX_NUMBER_DIGITS = 9
_SPACE_LEAF: Leaf = (TEXT, " ", 0, None, "")
_BREAK_LEAF: Leaf = (BREAK, "", 0, None, "")


def nothing() -> None:
    """Do nothing at the end of an element."""


class Containers(Paragraphs):
    """Reads the elements that hold blocks. They nest at most `MAX_DEPTH` deep; deeper ones are read as plain blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.contents: list[List] = []
        """Lists of nothing but links to places of the same page."""
        self._in_page: list[str] = []  # the targets of such links
        self._list: List | None = None
        self._notes: list[Note] = []
        self._table: Draft | None = None
        self._admonition: Admonition | None = None
        self._listings = Listings()
        self._depth = 0
        self._sections = self._block_count = self._tables = 0

    # Handlers: footnotes

    @staticmethod
    def _note(label: str) -> Enter:
        return lambda walk, element: walk._read_note(element, label)  # noqa: SLF001 - a handler of the walk

    def _read_note(self, element: dom.Element, label: str) -> Leave:
        self._end_heading()
        self._flush()
        note = Note(label)
        is_item = element.tag in {"li", "dd"} and self._list is not None
        (self._notes if is_item else self.blocks).append(note)
        blocks, self.blocks = self.blocks, note.blocks
        own, self._list = self._list, None
        self._own_number = label if element.tag != "li" else ""

        def end() -> None:
            self._flush()
            self.blocks, self._list, self._own_number = blocks, own, ""

        return end

    # Handlers: code, rules, quotes

    def _pre(self, element: dom.Element) -> Leave | None:
        if not element.text.strip():
            return nothing if dom.holds(element, "img", dom.VERBATIM) else None
        self._end_heading()
        self._flush()
        self._block_count += 1
        if (block := self._listings.block(element)) is not None:
            self.blocks.append(self._seen_code(block))
            self._count(len(block.code))
        return None

    def _seen_code(self, block: CodeBlock) -> CodeBlock:
        if self._invisible:
            block.code = without(block.code, self._invisible)
        return block

    def _count(self, size: int) -> None:
        self.chars += size
        self._unlinked += size
        self._outside += size

    def _hr(self, _element: dom.Element) -> None:
        self._end_heading()
        self._flush()
        self._block_count += 1
        self.blocks.append(Rule())

    def _blockquote(self, element: dom.Element) -> Leave:
        if (class_ := element.attr("class")) and (admonition := self._admonition_of(element, class_)) is not None:
            self._end_heading()
            self._flush()
            return self._admonish(admonition)
        quote = Quote([])
        return self._contain(quote.blocks, lambda: [quote])

    def _contain(self, inner: list[Block], finish: Callable[[], list[Block]]) -> Leave:
        """Read blocks into a container; what `finish` returns takes its place."""
        self._end_heading()
        self._flush()
        self._block_count += 1
        if self._depth >= MAX_DEPTH:
            return self._flush
        self._depth += 1
        outer, self.blocks = self.blocks, inner
        own, self._list = self._list, None
        notes, self._notes = self._notes, []

        def end() -> None:
            self._end_heading()
            self._flush()
            outer.extend(finish())
            outer.extend(self._notes)
            self.blocks, self._list, self._notes = outer, own, notes
            self._depth -= 1

        return end

    # Handlers: admonitions

    def _admonition_of(self, element: dom.Element, class_: str) -> Admonition | None:
        return admonition_of(element, class_) if self._depth < MAX_DEPTH else None

    def _admonish(self, admonition: Admonition) -> Leave:
        chars = self.chars
        outer, self._admonition = self._admonition, admonition
        leave = self._contain(admonition.blocks, lambda: admonition.finish(self.chars - chars))

        def end() -> None:
            leave()
            self._admonition = outer

        return end

    def _is_at_title(self, element: dom.Element) -> bool:
        """Whether an element is the title of the admonition that has just begun."""
        admonition = self._admonition
        return (
            admonition is not None
            and not admonition.label
            and not admonition.blocks
            and not self._leaves
            and self.blocks is admonition.blocks
            and is_title(element)
        )

    def _label(self, level: int = 0) -> Leave:
        """Read the title of an admonition, which may be a heading."""
        admonition = self._admonition
        outer, self.blocks = self.blocks, []

        def end() -> None:
            self._flush()
            for block in self.blocks:
                if isinstance(block, Paragraph) and admonition is not None:
                    admonition.label += block.leaves
                    admonition.level = level
            self.blocks = outer

        return end

    # Handlers: lists

    def _ul(self, element: dom.Element) -> Leave:
        return self._list_start(element, List(BULLETS))

    def _ol(self, element: dom.Element) -> Leave:
        return self._list_start(element, List(NUMBERS))

    def _list_start(self, element: dom.Element, own: List) -> Leave:
        before: list[Block] = []
        is_outermost = self._list is None
        outside, in_page, chars = self._outside, len(self._in_page), self.chars

        def finish() -> list[Block]:
            if own.kind == NUMBERS:
                _number(own, element)
            elif own.kind == DEFINITIONS:
                _place_terms(own)
            elif _is_layout(own):
                return [*before, *(block for item in own.items for block in item.blocks)]
            targets = self._in_page[in_page:]
            if is_outermost and self._outside == outside and len(targets) > 1:
                own.in_page_targets, own.chars = targets, self.chars - chars
                self.contents.append(own)
            return [*before, own] if own.items else before

        leave = self._contain(before, finish)
        if leave != self._flush:
            self._list = own
        return leave

    def _li(self, element: dom.Element) -> Leave:
        self._end_heading()
        self._flush()
        self._block_count += 1
        if self._list is None or self._list.kind == DEFINITIONS:
            return self._flush
        item = Item(_number_of(element.attr("value")))
        self._list.items.append(item)
        self.blocks = item.blocks  # what stands between two items belongs to the first
        own = self._list

        def end() -> None:
            self._end_heading()
            self._flush()
            self._list = own

        return end

    def _dl(self, element: dom.Element) -> Leave:
        if (class_ := element.attr("class")) and (admonition := self._admonition_of(element, class_)) is not None:
            self._end_heading()
            self._flush()
            return self._admonish(admonition)
        return self._list_start(element, List(DEFINITIONS))

    def _dt(self, element: dom.Element) -> Leave:
        self._end_heading()
        self._flush()
        self._block_count += 1
        if self._admonition is not None and self._is_at_title(element):
            return self._label()
        own = self._list
        if own is None or own.kind != DEFINITIONS:
            return self._flush
        last = own.items[-1] if own.items else None
        item = last if last is not None and not last.blocks else Item()
        if item is not last:
            own.items.append(item)
        term: list[Block] = []
        self.blocks = term

        def end() -> None:
            self._end_heading()
            self._flush()
            self.blocks = item.blocks
            _add_term(item, term)

        return end

    def _dd(self, _element: dom.Element) -> Leave:
        self._end_heading()
        self._flush()
        self._block_count += 1
        own = self._list
        if own is None or own.kind != DEFINITIONS:
            return self._flush
        if not own.items:
            own.items.append(Item())
        self.blocks = own.items[-1].blocks

        def end() -> None:
            self._end_heading()
            self._flush()
            self._list = own

        return end

    # Handlers: tables

    def _table_start(self, element: dom.Element) -> Leave | None:
        if (listing := self._listings.of_table(element)) is not None:
            self._end_heading()
            self._flush()
            self.blocks.append(self._seen_code(listing))
            self._count(len(listing.code))
            return None
        if (class_ := element.attr("class")) and (admonition := self._admonition_of(element, class_)) is not None:
            self._flush()
            return self._admonish(admonition)
        draft = Draft(element)
        if self._admonition is not None and not self._admonition.blocks and self.blocks is self._admonition.blocks:
            draft.is_layout = True
        before: list[Block] = []
        outer = self._table
        counts = self._sections, self._tables
        self._tables += 1

        def finish() -> list[Block]:
            draft.holds_sections = self._sections > counts[0]
            draft.holds_tables = self._tables > counts[1] + 1
            draft.holds_blocks = self._block_count > block_count
            self._table = outer
            return [*before, *draft.blocks()]

        leave = self._contain(before, finish)
        block_count = self._block_count
        if leave != self._flush:
            self._table = draft
        return leave

    def _caption(self, _element: dom.Element) -> Leave:
        self._flush()
        if self._table is None:
            return self._flush
        outer, self.blocks = self.blocks, self._table.caption
        self._table.has_head = True

        def end() -> None:
            self._flush()
            self.blocks = outer

        return end

    def _row(self, _element: dom.Element) -> Leave:
        self._flush()
        if self._table is not None:
            self._table.add_row()
        return self._flush

    def _cell(self, element: dom.Element) -> Leave | None:
        self._end_heading()
        self._flush()
        table, admonition = self._table, self._admonition
        if table is None:
            return self._flush
        if admonition is not None and table.is_layout and not admonition.label and not admonition.blocks:
            class_ = (element.attr("class") or "").split()
            if "icon" in class_ and (label := icon_label(element)):
                admonition.label.append((TEXT, label, 0, None, ""))
                self._count(len(label))
                return None
        cell = Cell(element)
        table.add_cell(cell)
        outer, self.blocks = self.blocks, cell.blocks
        own, self._list = self._list, None
        chars = self.chars

        def end() -> None:
            self._end_heading()
            self._flush()
            cell.chars = self.chars - chars
            self.blocks, self._list = outer, own
            self._table = table

        return end


def _add_term(item: Item, term: list[Block]) -> None:
    """Add a term, on one line, to an item."""
    first = term[0] if term and isinstance(term[0], Paragraph) and not term[0].level else None
    if first is None:
        item.blocks += term
        return
    first.leaves = [leaf if leaf[0] != BREAK else _SPACE_LEAF for leaf in first.leaves]
    others = term[1:]
    while others and isinstance(others[0], Paragraph) and not others[0].level:
        join_paragraphs(first, others[0], _SPACE_LEAF)
        del others[0]
    item.terms.append(first)
    item.blocks += others


def _place_terms(own: List) -> None:
    """Put the terms of a definition list before their definitions, below each other; terms without one are items."""
    items: list[Item] = []
    for item in own.items:
        terms, item.terms = item.terms, []
        if not item.blocks:
            for term in terms:
                items.append(Item())
                items[-1].blocks.append(term)
            continue
        for term in terms[1:]:
            join_paragraphs(terms[0], term, _BREAK_LEAF)
        item.blocks[:0] = terms[:1]
        items.append(item)
    own.items = items


def _is_layout(own: List) -> bool:
    """Whether a list holds sections or cards: every item starts with a heading. They are written as the blocks they are."""
    return own.kind == BULLETS and all(
        item.blocks and isinstance(item.blocks[0], Paragraph) and item.blocks[0].level for item in own.items
    )


def _number_of(raw: str | None) -> int | None:
    raw = (raw or "").strip()
    return int(raw) if raw.isdecimal() and len(raw) < _MAX_NUMBER_DIGITS else None


def _number(own: List, element: dom.Element) -> None:
    """Give the items of a list their numbers, where they do not just count up from one."""
    start = _number_of(element.attr("start"))
    if element.attr("reversed") is not None:
        number = start if start is not None else len(own.items)
        for item in own.items:
            number = item.number if item.number is not None else number
            item.number = max(number, 0)
            number -= 1
    else:
        number = start if start is not None else 1
        for item in own.items:
            number = item.number if item.number is not None else number
            item.number = number
            number += 1
