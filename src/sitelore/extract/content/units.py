"""The structural units of a page: elements, sections under their headings, terms with their definitions.

Content is kept or cut by whole units, so that a definition never loses its term, a section its heading, or a table a row.
Units that one template wrote (posts of a thread, cards of a list) are grouped, so that all of them stay or go together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from math import inf
from operator import and_

from sitelore.extract.content.block_scorer import ScoredPage
from sitelore.extract.content.vocabulary import MARK, TAG_NUMBER

ELEMENT, SECTION, PAIR, LINK = range(4)
"""Kinds of units: an element; a heading with what it heads; a term with its definitions; a link between elements."""

_DT = TAG_NUMBER[b"dt"]
_WHOLE_WORDS = {TAG_NUMBER[b"pre"]: inf, TAG_NUMBER[b"table"]: 200, TAG_NUMBER[b"ul"]: 80, TAG_NUMBER[b"ol"]: 80}
"""Elements that are never divided, up to this many words: a longer table may be a page layout, a longer list may hold articles
or a menu beside content."""
_TABLE, _ROW = TAG_NUMBER[b"table"], TAG_NUMBER[b"tr"]
_CELLS = frozenset({TAG_NUMBER[b"td"], TAG_NUMBER[b"th"]})
_CELL_BLOCKS = 1.5
_TERM = 9
"""Level of a `dt`: below all headings."""
_TEMPLATE_MEMBERS = 4
"""Siblings with the same signature from which on a template wrote them."""
_PROSE_TAGS = frozenset({TAG_NUMBER[b"p"], TAG_NUMBER[b"blockquote"], TAG_NUMBER[b"figure"]})
"""Elements that follow each other in a text without being the items of a list."""
_AD = MARK["ad"]


@dataclass(slots=True)
class Units:
    """The units of a page as a tree, one list a column. Unit 0 is the root.

    An element whose only child has the same text is one unit with it.
    """

    kind: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    own: list[list[tuple[int, int, int]]] = field(default_factory=list)
    """Ranges of blocks (first, last, heading level) that go with the unit itself: loose text, headings, terms, code."""
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    linked: list[int] = field(default_factory=list)
    """Words inside links."""
    tags: list[int] = field(default_factory=list)
    """Tag numbers of the elements that are this unit, as bits; 0 for other kinds of units."""
    marks: list[int] = field(default_factory=list)
    element: list[int] = field(default_factory=list)
    """Row of the outermost element that is this unit; -1 for other kinds of units."""
    headers: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each long table that is divided by its rows: where its first row begins and ends, and where the table ends."""

    def __len__(self) -> int:
        return len(self.kind)


def build_units(page: ScoredPage) -> Units:
    """Group a page's blocks and elements into units."""
    units = Units()
    words, linked = [0, *accumulate(page.blocks.words)], [0, *accumulate(page.blocks.linked)]
    _add_elements(units, page, words)
    for unit, own in enumerate(units.own[:]):
        if units.children[unit] and any(level for _, _, level in own):
            _group_sections(units, unit)
    units.words = [words[last] - words[first] for first, last in zip(units.first, units.last, strict=True)]
    units.linked = [linked[last] - linked[first] for first, last in zip(units.first, units.last, strict=True)]
    return units


def _add(units: Units, kind: int, first: int, last: int) -> int:
    """Add a unit that is not an element."""
    units.kind.append(kind)
    units.children.append([])
    units.own.append([])
    units.first.append(first)
    units.last.append(last)
    units.tags.append(0)
    units.marks.append(0)
    units.element.append(-1)
    return len(units.kind) - 1


def _add_elements(units: Units, page: ScoredPage, words: list[int]) -> None:
    """Add the units that are elements, each with its own blocks. `words` is their running count."""
    elements, heading = page.elements, page.heading
    element_first, element_last = elements.first, elements.last
    children, own, unit_row, unit_tags, unit_marks = units.children, units.own, units.element, units.tags, units.marks
    heading_words = [0, *accumulate([count if level else 0 for count, level in zip(page.blocks.words, heading, strict=True)])]
    table_rows = _table_rows(units, page, words)
    unit_of = [-1] * len(elements)
    """The unit of each element; -1 for what is inside something that is never divided."""
    rows = zip(elements.parent, element_first, element_last, elements.tag, elements.marks, strict=True)
    for row, (parent, first, last, tag, marks) in enumerate(rows):
        if first == last:
            continue
        count = words[last] - words[first]
        if parent < 0:
            outer = -1
        else:
            outer = unit_of[parent]
            if outer < 0:
                continue
        # The element around this one has the range of its unit.
        if outer >= 0 and element_first[parent] == first and element_last[parent] == last and not own[outer]:
            unit = outer
            unit_tags[unit] |= 1 << tag
            unit_marks[unit] |= marks
        elif outer >= 0 and (tag == _DT or (heading[first] and heading_words[last] - heading_words[first] == count)):
            own[outer].append((first, last, _TERM if tag == _DT else heading[first]))
            continue
        else:
            unit = len(unit_row)
            children.append([])
            own.append([])
            unit_tags.append(1 << tag)
            unit_marks.append(marks)
            unit_row.append(row)
            if outer >= 0:
                children[outer].append(unit)
        if (tag in _WHOLE_WORDS and count <= _WHOLE_WORDS[tag]) or row in table_rows:
            own[unit].append((first, last, 0))
        else:
            unit_of[row] = unit
    units.kind = [ELEMENT] * len(unit_row)
    units.first = [element_first[row] for row in unit_row]
    units.last = [element_last[row] for row in unit_row]
    _add_loose_blocks(units, page, unit_of)


def _table_rows(units: Units, page: ScoredPage, words: list[int]) -> set[int]:
    """The rows of long tables of data, which are not divided into cells; notes the header of each such table.

    Most rows of a table of data have the same number of cells, few cells have more than one block of text, and it holds no
    other table; all else may be a page layout.
    """
    elements = page.elements
    if _TABLE not in elements.tag:
        return set()
    table_of: dict[int, int] = {}
    """The table around each part of one."""
    rows: dict[int, list[int]] = {}
    cells: Counter[int] = Counter()
    for row, (parent, tag) in enumerate(zip(elements.parent, elements.tag, strict=True)):
        around = table_of.get(parent, -1)
        if tag == _TABLE:
            rows.pop(around, None)
            rows[row] = []
            table_of[row] = row
        elif around >= 0:
            table_of[row] = around
            if tag == _ROW and around in rows:
                rows[around].append(row)
            elif tag in _CELLS:
                cells[parent] += 1
    whole: set[int] = set()
    for table, inner in rows.items():
        first, last = elements.first, elements.last
        common, count = Counter(cells[row] for row in inner).most_common(1)[0] if inner else (0, 0)
        blocks, all_cells = last[table] - first[table], sum(cells[row] for row in inner)
        longest = max((words[last[row]] - words[first[row]] for row in inner), default=0)
        if (
            common > 1
            and count > 1
            and 2 * count >= len(inner)
            and longest <= _WHOLE_WORDS[_TABLE]
            and blocks <= _CELL_BLOCKS * all_cells
        ):
            whole.update(inner)
            units.headers.append((first[inner[0]], last[inner[0]], last[table]))
    return whole


def _add_loose_blocks(units: Units, page: ScoredPage, unit_of: list[int]) -> None:
    """Give each block that is directly inside a unit to it. `unit_of` is the unit of each element."""
    blocks, own, children = page.blocks, units.own, units.children
    rows = zip(blocks.element, blocks.words, blocks.linked, page.heading, strict=True)
    for block, (row, count, linked, level) in enumerate(rows):
        unit = unit_of[row]
        if unit < 0:
            continue
        # A link between elements (to skip them, or back) is a unit of its own.
        if linked == count and not level and children[unit]:
            link = _add(units, LINK, block, block + 1)
            children[unit].append(link)
            unit = link
        own[unit].append((block, block + 1, level))


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
            section = _add(units, PAIR if level == _TERM else SECTION, first, last)
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


@dataclass(slots=True)
class Templates:
    """A page's units, grouped by the template that wrote them: the same part of each post or card is one group.

    Most groups have one member. The groups form a tree as their members do.
    """

    groups: Units
    """One row a group: its members' own blocks and their sums. `first`, `last` and `element` are those of the first member."""
    members: list[list[int]]
    """The units of each group, in document order."""


def group_templates(units: Units, page: ScoredPage) -> Templates:
    """Group siblings with the same tag and names, and below them the parts that have the same place in each."""
    groups, members = Units(), [[0]]
    open_groups = [0]
    for group in open_groups:
        parts = (
            _parts_of_templates(units, page, members[group])
            if members[group][1:]
            else _siblings(units, page, members[group][0])
        )
        children = range(len(members), len(members) + len(parts))
        groups.children.append(list(children))
        members += parts
        open_groups += children
    first_members = [each[0] for each in members]
    for merged, column in (
        *((groups.kind, units.kind), (groups.first, units.first), (groups.last, units.last), (groups.element, units.element)),
        *((groups.words, units.words), (groups.linked, units.linked), (groups.tags, units.tags), (groups.marks, units.marks)),
    ):
        merged += [column[unit] for unit in first_members]
    groups.own = [units.own[unit] for unit in first_members]
    for group, each in enumerate(members):
        if each[1:]:
            groups.own[group] = [blocks for unit in each for blocks in units.own[unit]]
            groups.words[group] = sum([units.words[unit] for unit in each])
            groups.linked[group] = sum([units.linked[unit] for unit in each])
            # What the members do not have in common says nothing about the template.
            groups.tags[group] = reduce(and_, [units.tags[unit] for unit in each])
            groups.marks[group] = reduce(and_, [units.marks[unit] for unit in each])
    return Templates(groups, members)


def _siblings(units: Units, page: ScoredPage, parent: int) -> list[list[int]]:
    """The children of a unit; those that a template wrote are together. An advertisement between them is not one of them."""
    signature, tag = page.elements.signature, page.elements.tag
    children = units.children[parent]
    if len(children) < _TEMPLATE_MEMBERS:
        return [[child] for child in children]
    rows = [units.element[child] for child in children]
    keys = [
        (signature[row], units.marks[child] & _AD) if row >= 0 else (-1, 0) for row, child in zip(rows, children, strict=True)
    ]
    counts = Counter(keys)
    groups: dict[tuple[int, int], list[int]] = {}
    for child, row, key in zip(children, rows, keys, strict=True):
        is_template = row >= 0 and counts[key] >= _TEMPLATE_MEMBERS and tag[row] not in _PROSE_TAGS
        groups.setdefault(key if is_template else (-2 - child, 0), []).append(child)
    return list(groups.values())


def _parts_of_templates(units: Units, page: ScoredPage, members: list[int]) -> list[list[int]]:
    """The children of units that a template wrote. Parts with equal names are distinguished by their order."""
    signature = page.elements.signature
    groups: dict[tuple[int, int, int, int], list[int]] = {}
    for member in members:
        counts: Counter[tuple[int, int]] = Counter()
        for child in units.children[member]:
            row = units.element[child]
            key = units.kind[child], signature[row] if row >= 0 else -1
            counts[key] += 1
            groups.setdefault((*key, counts[key], units.marks[child] & _AD), []).append(child)
    return list(groups.values())
