"""Builds the blocks of an HTML table: a Markdown table, a list of its rows, or the content of its cells where it is a layout.

A cell that spans rows or columns is repeated in each of them. A cell is one line in GFM. A table whose cells hold code of
several lines or tables is written as a list, one item per row, so that nothing is lost and no HTML is needed.
"""

from __future__ import annotations

from itertools import takewhile

from sitelore.extract import dom
from sitelore.extract.markdown.blocks import BULLETS, Block, Item, List, Paragraph, Table
from sitelore.extract.markdown.inline import STRONG

_MAX_COLUMNS = 200
_MAX_CELLS = 4_000
_MAX_GROWTH = 4
_MAX_REPEATED_CHARS = 50_000
_LONG_CELL_CHARS = 600
_LAYOUT_ROLES = frozenset({"presentation", "none"})
_LAYOUT_ATTRIBUTES = ("cellpadding", "cellspacing", "width", "bgcolor", "background", "align")
GRID_CLASS = "table"
"""Part of the class of an element that may be a table made of a grid."""
_HEAD_CELL = "table-header"


class Cell:
    """A cell of a table: what it holds, how many places it covers, and how much text is in it."""

    __slots__ = ("blocks", "chars", "height", "is_head", "width")

    def __init__(self, element: dom.Element) -> None:
        self.blocks: list[Block] = []
        self.is_head = element.tag == "th"
        self.width = _span(element, "colspan")
        self.height = _span(element, "rowspan")
        self.chars = 0


_Row = list[Cell]
_Group = list[_Row]


class TableDraft:
    """A table while it is read."""

    def __init__(self, element: dom.Element) -> None:
        self.element = element
        self._groups: dict[str, list[_Group]] = {"thead": [], "tbody": [[]], "tfoot": []}
        self._rows = self._groups["tbody"][0]  # of the current group
        self.caption: list[Block] = []
        self.has_head = False
        self.is_layout = dom.attribute(element, "role").lower() in _LAYOUT_ROLES
        self.holds_sections = self.holds_blocks = self.holds_tables = False

    def start_group(self, section: str) -> None:
        """Start a group of rows, beyond which no cell of it reaches: a `thead`, `tbody` or `tfoot`."""
        self.has_head |= section == "thead"
        self._rows = []
        self._groups[section].append(self._rows)

    def add_row(self) -> None:
        """Start a row."""
        self._rows.append([])

    def add_cell(self, cell: Cell) -> None:
        """Add a cell to the row that was started last."""
        if not self._rows:
            self.add_row()
        self._rows[-1].append(cell)

    def finish(self) -> list[Block]:
        """Return the blocks of the table: a table, a list of its rows, or what its cells hold."""
        groups = [list(filter(None, group)) for section in self._groups.values() for group in section]
        rows = [row for group in groups for row in group]
        cells = [cell for row in rows for cell in row]
        for group in groups:
            _end_cells_with_group(group)
        grid = _fill_grid(rows) if cells and not self._lays_out(rows, cells) else None
        if grid is None:
            return [*self.caption, *(block for cell in cells for block in cell.blocks)]
        fits = all(block.fits_cell() for cell in cells for block in cell.blocks)
        return [*self.caption, Table(grid) if fits else _list_of_rows(rows)]

    def _lays_out(self, rows: list[_Row], cells: _Row) -> bool:
        """Whether the table only arranges parts of the page."""
        if self.is_layout or len(cells) == 1:
            return True
        if self.has_head or self.caption or any(cell.is_head for cell in cells):
            return False
        if self.holds_sections:
            return True
        width = max(map(len, rows))
        if self.holds_tables:
            return len(rows) == 1 or width == 1 or any(self.element.attr(name) is not None for name in _LAYOUT_ATTRIBUTES)
        return self.holds_blocks and (width == 1 or any(cell.chars > _LONG_CELL_CHARS for cell in cells))


def grid_rows(element: dom.Element) -> list[list[dom.Element]]:
    """Return the rows of a table that is a grid of `div` elements, as Javadoc has written it since version 16; none else."""
    cells = dom.child_elements(element)
    classes = [dom.attribute(cell, "class").split() for cell in cells]
    width = sum(1 for _ in takewhile(lambda tokens: _HEAD_CELL in tokens, classes))
    if width < 2 or len(cells) % width or not all(any(token.startswith("col-") for token in tokens) for tokens in classes):
        return []
    return [cells[at : at + width] for at in range(0, len(cells), width)]


def _span(cell: dom.Element, name: str) -> int:
    raw = cell.attr(name)
    if raw is None:
        return 1
    raw = raw.strip()
    return int(raw) if raw.isdecimal() and len(raw) < 6 else 1


def _end_cells_with_group(rows: _Group) -> None:
    """Let no cell span more rows than its group has left; a span of 0 is all of them."""
    for place, row in enumerate(rows):
        left = len(rows) - place
        for cell in row:
            cell.height = min(cell.height or left, left)


def _list_of_rows(rows: list[_Row]) -> List:
    items = List(BULLETS)
    for row in rows:
        item = Item()
        for cell in row:
            for block in cell.blocks:
                if cell.is_head and isinstance(block, Paragraph):
                    block.add_style(STRONG)
            item.blocks += cell.blocks
        items.items.append(item)
    return items


def _fill_grid(rows: list[_Row]) -> list[list[list[Block]]] | None:
    """Return the blocks that each place of the table shows (HTML, "forming a table"); None when filling it grows too much.

    A cell that spans several places is repeated in each of them; every row is as wide as the widest.
    """
    if all(cell.width == cell.height == 1 for row in rows for cell in row):
        places: list[list[Cell | None]] = [list(row) for row in rows]
    else:
        places = _place_cells(rows)
    width = max(map(len, places))
    if width * len(places) > max(_MAX_CELLS, _MAX_GROWTH * sum(map(len, rows))):
        return None
    placed: set[Cell] = set()
    repeatable_chars = _MAX_REPEATED_CHARS
    grid: list[list[list[Block]]] = []
    for row in places:
        filled: list[list[Block]] = []
        for cell in row:
            if cell is None:
                filled.append([])
            elif cell not in placed:
                placed.add(cell)
                filled.append(cell.blocks)
            else:
                repeatable_chars -= cell.chars
                filled.append(cell.blocks if repeatable_chars > 0 else [])
        grid.append(filled + [[] for _ in range(width - len(filled))])
    return grid


def _place_cells(rows: list[_Row]) -> list[list[Cell | None]]:
    """Return the cell at each place of each row, None where there is none."""
    places: dict[tuple[int, int], Cell] = {}
    height, budget = len(rows), _MAX_CELLS
    widths = [0] * height
    for y, row in enumerate(rows):
        x = 0
        for cell in row:
            while (y, x) in places:
                x += 1
            wide = max(1, min(cell.width, _MAX_COLUMNS))
            tall = cell.height
            budget -= wide * tall
            if budget < 0:
                wide = tall = 1
            for dy in range(y, y + tall):
                widths[dy] = max(widths[dy], x + wide)
                for dx in range(x, x + wide):
                    places.setdefault((dy, dx), cell)
            x += wide
    return [[places.get((y, x)) for x in range(width)] for y, width in enumerate(widths)]
