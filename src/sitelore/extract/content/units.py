"""The structural units of a page: elements, sections under their headings, terms with their definitions.

Content is kept or cut by whole units, so that a definition never loses its term, a section its heading, or a table a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

from sitelore.extract.content.block_scorer import ScoredPage
from sitelore.extract.content.vocabulary import TAG_NUMBER

_PRE, _TABLE, _UL, _OL, _DT = (TAG_NUMBER[tag] for tag in (b"pre", b"table", b"ul", b"ol", b"dt"))
_WHOLE_TABLE_WORDS = 200  # a longer table may be a page layout
_WHOLE_LIST_WORDS = 80  # a longer list may hold articles, or a menu beside content
_TERM = 9
"""Level of a `dt`: below all headings."""


@dataclass(slots=True)
class Units:
    """The units of a page as a tree, one list a column. Unit 0 is the root; children come after their parents.

    An element whose only child has the same text is one unit with it.
    """

    children: list[list[int]] = field(default_factory=list)
    own: list[list[tuple[int, int, int]]] = field(default_factory=list)
    """Ranges of blocks (first, last, heading level) that go with the unit itself: loose text, headings, terms, code."""
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    linked: list[int] = field(default_factory=list)
    """Words inside links."""
    tags: list[int] = field(default_factory=list)
    """Tag numbers of the elements that are this unit, as bits; 0 for a section and for a term with its definitions."""
    marks: list[int] = field(default_factory=list)
    element: list[int] = field(default_factory=list)
    """Row of the outermost element that is this unit; -1 for a section and for a term with its definitions."""

    def __len__(self) -> int:
        return len(self.children)

    def is_link(self, unit: int) -> bool:
        """Whether a unit is a link between elements."""
        return self.element[unit] < 0 and not self.children[unit] and self.own[unit][0][2] == 0

    def is_pair(self, unit: int) -> bool:
        """Whether a unit is a term with its definitions."""
        return self.element[unit] < 0 and self.own[unit][0][2] == _TERM

    def bottom_up(self) -> list[int]:
        """All units, children before their parents."""
        order, open_units = [], [0]
        while open_units:
            unit = open_units.pop()
            order.append(unit)
            open_units += self.children[unit]
        order.reverse()
        return order

    def _add(self, first: int, last: int, tags: int, marks: int, element: int) -> int:
        self.children.append([])
        self.own.append([])
        self.first.append(first)
        self.last.append(last)
        self.tags.append(tags)
        self.marks.append(marks)
        self.element.append(element)
        return len(self.children) - 1


def build_units(page: ScoredPage) -> Units:
    """Group a page's blocks and elements into units."""
    units = Units()
    _add_elements(units, page)
    for unit in range(len(units)):
        if units.children[unit] and any(level for _, _, level in units.own[unit]):
            _group_sections(units, unit)
    words, linked = [0, *accumulate(page.blocks.words)], [0, *accumulate(page.blocks.linked)]
    units.words = [words[last] - words[first] for first, last in zip(units.first, units.last, strict=True)]
    units.linked = [linked[last] - linked[first] for first, last in zip(units.first, units.last, strict=True)]
    return units


def _add_elements(units: Units, page: ScoredPage) -> None:  # noqa: C901, PLR0912 one pass over the rows of a table
    elements, heading = page.elements, page.heading
    words = [0, *accumulate(page.blocks.words)]
    heading_words = [0, *accumulate([count if level else 0 for count, level in zip(page.blocks.words, heading, strict=True)])]
    unit_of = [-1] * len(elements)
    """The unit of each element; -1 for what is inside something that is never divided."""
    rows = zip(elements.parent, elements.first, elements.last, elements.tag, elements.marks, strict=True)
    for row, (parent, first, last, tag, marks) in enumerate(rows):
        if first == last:
            continue
        outer = -1
        if parent >= 0:
            outer = unit_of[parent]
            if outer < 0:
                continue
        count = words[last] - words[first]
        if outer >= 0 and units.first[outer] == first and units.last[outer] == last and not units.own[outer]:
            unit = outer
            units.tags[unit] |= 1 << tag
            units.marks[unit] |= marks
        elif outer >= 0 and (tag == _DT or heading_words[last] - heading_words[first] == count):
            units.own[outer].append((first, last, _TERM if tag == _DT else heading[first]))
            continue
        else:
            unit = units._add(first, last, 1 << tag, marks, row)  # noqa: SLF001 the class's own builder
            if outer >= 0:
                units.children[outer].append(unit)
        is_whole = tag == _PRE or (tag == _TABLE and count <= _WHOLE_TABLE_WORDS)
        if is_whole or (tag in {_UL, _OL} and count <= _WHOLE_LIST_WORDS):
            units.own[unit].append((first, last, 0))
        else:
            unit_of[row] = unit
    for block, row in enumerate(page.blocks.element):
        if (unit := unit_of[row]) >= 0:
            # A link between elements (to skip them, or back) is a unit of its own.
            if units.children[unit] and not heading[block] and page.blocks.linked[block] == page.blocks.words[block]:
                link = units._add(block, block + 1, 0, 0, -1)  # noqa: SLF001 the class's own builder
                units.children[unit].append(link)
                unit = link
            units.own[unit].append((block, block + 1, heading[block]))


def _group_sections(units: Units, unit: int) -> None:
    """Put a heading and everything up to the next heading of its level into a unit, and terms with their definitions."""
    items = [(first, last, level, -1) for first, last, level in units.own[unit]]
    items += [(units.first[child], units.last[child], 0, child) for child in units.children[unit]]
    items.sort()
    units.own[unit], units.children[unit] = [], []
    open_sections = [(0, unit)]
    is_defined = True
    for first, last, level, child in items:
        # Several terms may share a definition.
        joins = level == _TERM and open_sections[-1][0] == _TERM and not is_defined
        if level and not joins:
            while open_sections[-1][0] >= level:
                open_sections.pop()
            section = units._add(first, last, 0, 0, -1)  # noqa: SLF001 the class's own builder
            units.children[open_sections[-1][1]].append(section)
            open_sections.append((level, section))
        inner = open_sections[-1][1]
        if child >= 0:
            units.children[inner].append(child)
        else:
            units.own[inner].append((first, last, level))
        is_defined = level == 0
        for _, section in open_sections[1:]:
            units.last[section] = last
