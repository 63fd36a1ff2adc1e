"""Tables as Markdown can hold them: one matrix of cells, spans filled in, captions before them.

A table that only lays a page out is no table. One that holds tables or listings in its cells stays HTML, built anew
from escaped text and five tags without attributes: nothing of the page's own markup goes through.
"""

from __future__ import annotations

from html import escape

from sitelore.extract import dom
from sitelore.extract.writing.listings import listing_of_table

_MAX_COLUMNS = 200
_MAX_CELLS = 4_000
_MAX_GROWTH = 4
_MAX_COPIED_CHARS = 50_000
_MAX_DEPTH = 8
_LONG_CELL_CHARS = 600
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_SECTIONS = ("h1", "h2", "h3", "h4", "h5", "h6", "article", "section", "form", "nav", "main", "aside", "header", "footer")
_BLOCKS = ("p", "div", "ul", "ol", "dl", "table", "pre", "blockquote", "hr", *_SECTIONS)
_LAYOUT_ATTRIBUTES = ("cellpadding", "cellspacing", "width", "bgcolor", "background", "align")
_ENDS = frozenset({"p", "div", "li", "dt", "dd", "tr", "blockquote", *_HEADINGS})

Row = list[dom.Element]


def settle_table(table: dom.Element) -> bool:
    """Make a table fit for Markdown, in place or by something else in its place. Says whether that is verbatim."""
    rows = _rows(table)
    cells = [cell for row in rows for cell in _cells(row)]
    if not cells:
        table.unwrap()
        return False
    if (listing := listing_of_table(table, cells)) is not None:
        table.replace_with(listing)
        return False
    if _is_layout(table, rows, cells):
        _take_apart(table, rows, cells)
        return False
    _move_caption(table)
    _move_foot(table, rows)
    # Cells become single lines: their blocks must not run into each other.
    for block in dom.elements_list(table, *_BLOCKS, "li", "dt", "dd"):
        block.insert_before(dom.words(" "))
    if not _fill(rows):
        _take_apart(table, rows, cells)
        return False
    if dom.holds(table, "table", "pre"):
        table.wrap(dom.verbatim(_as_html(table, 0))).wrap(dom.made("div"))
        return True
    return False


def _rows(table: dom.Element) -> list[dom.Element]:
    """The rows of this table, not of those within."""
    rows = []
    for part in dom.child_elements(table):
        if part.tag == "tr":
            rows.append(part)
        elif part.tag in {"thead", "tbody", "tfoot"}:
            rows += [row for row in dom.child_elements(part) if row.tag == "tr"]
    return rows


def _cells(row: dom.Element) -> Row:
    return [cell for cell in dom.child_elements(row) if cell.tag in {"td", "th"}]


def _is_layout(table: dom.Element, rows: list[dom.Element], cells: Row) -> bool:
    if dom.attribute(table, "role").lower() in {"presentation", "none"}:
        return True
    if any(cell.tag == "th" for cell in cells) or dom.holds(table, "caption", "thead"):
        # Some pages put everything into one table, headings in its cells included.
        return len(cells) == 1
    width = max(len(_cells(row)) for row in rows)
    if len(cells) == 1 or dom.holds(table, *_SECTIONS):
        return True
    if not dom.holds(table, *_BLOCKS):
        return False
    if dom.holds(table, "table"):
        return len(rows) == 1 or width == 1 or any(dom.has_attribute(table, name) for name in _LAYOUT_ATTRIBUTES)
    return width == 1 or any(len(cell.text) > _LONG_CELL_CHARS for cell in cells)


def _take_apart(table: dom.Element, rows: list[dom.Element], cells: Row) -> None:
    for caption in [part for part in dom.child_elements(table) if part.tag in {"caption", "colgroup"}]:
        if caption.tag == "caption":
            caption.tag = "div"
        else:
            dom.drop(caption)
    for part in [
        *cells,
        *rows,
        *(part for part in dom.child_elements(table) if part.tag in {"thead", "tbody", "tfoot"}),
        table,
    ]:
        part.tag = "div"


def _move_caption(table: dom.Element) -> None:
    for caption in [part for part in dom.child_elements(table) if part.tag == "caption"]:
        caption.extract()
        if not dom.is_bare(caption):
            caption.tag = "p" if not dom.holds(caption, *_BLOCKS) else "div"
            table.insert_before(caption)


def _move_foot(table: dom.Element, rows: list[dom.Element]) -> None:
    """A foot is shown last, wherever it is written."""
    feet = [part for part in dom.child_elements(table) if part.tag == "tfoot"]
    for foot in feet:
        moved = [row for row in rows if row.parent == foot]
        table.append(foot.extract())
        rows[:] = [row for row in rows if row not in moved] + moved


def _span(cell: dom.Element, name: str) -> int:
    raw = (cell.attr(name) or "").strip()
    return int(raw) if raw.isdecimal() and len(raw) < 6 else 1


def _fill(rows: list[dom.Element]) -> bool:
    """Give every row the same number of cells: a cell that spans several places is repeated in each of them.

    Says no, and changes nothing, when that takes more cells than any table is worth.
    """
    matrix = [_cells(row) for row in rows]
    widths = {len(cells) for cells in matrix}
    spanning = any(cell.attr("colspan") or cell.attr("rowspan") for cells in matrix for cell in cells)
    if len(widths) == 1 and not spanning:
        return True
    grid: list[list[dom.Element | None]] = _grid(matrix) if spanning else [list(cells) for cells in matrix]
    width = max(map(len, grid))
    if width * len(grid) > max(_MAX_CELLS, _MAX_GROWTH * sum(map(len, matrix))):
        return False
    seen: set[dom.Element] = set()
    left = _MAX_COPIED_CHARS
    for row, places in zip(rows, grid, strict=True):
        filled = []
        for cell in places:
            if cell is None:
                filled.append(dom.made("td"))
                continue
            dom.drop_attribute(cell, "colspan")
            dom.drop_attribute(cell, "rowspan")
            if cell not in seen:
                filled.append(cell)
                seen.add(cell)
                continue
            # What holds a table is shown once: tables within tables, all with spans, would grow without end.
            left -= len(cell.text) if left > 0 else 0
            filled.append(dom.copied(cell) if left > 0 and not dom.holds(cell, "table") else dom.made(cell.tag))
        for cell in filled:
            if cell.parent is not None:
                cell.extract()
        row.clear()
        row.extend(filled)
        row.extend([dom.made("td") for _ in range(width - len(places))])
    return True


def _grid(matrix: list[Row]) -> list[list[dom.Element | None]]:
    """Which cell each place of the table shows (HTML, "forming a table"); None where nothing covers it."""
    held: dict[tuple[int, int], dom.Element] = {}
    height, budget = len(matrix), _MAX_CELLS
    extents = [0] * height
    for y, cells in enumerate(matrix):
        x = 0
        for cell in cells:
            while (y, x) in held:
                x += 1
            wide = max(1, min(_span(cell, "colspan"), _MAX_COLUMNS))
            tall = min(_span(cell, "rowspan") or height - y, height - y)
            budget -= wide * tall
            if budget < 0:
                wide = tall = 1
            for dy in range(y, y + tall):
                extents[dy] = max(extents[dy], x + wide)
                for dx in range(x, x + wide):
                    held.setdefault((dy, dx), cell)
            x += wide
    return [[held.get((y, x)) for x in range(extent)] for y, extent in enumerate(extents)]


def _as_html(table: dom.Element, depth: int) -> str:
    lines = ["<table>"]
    for row in _rows(table):
        cells = "".join(f"<{cell.tag}>{_inner_html(cell, depth)}</{cell.tag}>" for cell in _cells(row))
        lines.append(f"<tr>{cells}</tr>")
    return "".join([*lines, "</table>"]) if depth else "\n".join([*lines, "</table>"])


def _inner_html(cell: dom.Element, depth: int) -> str:
    """The text of a cell with its tables and listings, on one line: an empty line would end the HTML."""
    parts: list[str] = []
    stack: list[dom.AnyNode] = list(reversed(cell.children))
    while stack:
        node = stack.pop()
        if (text := dom.as_text(node)) is not None:
            parts.append(escape(" ".join(f".{text.data}.".split())[1:-1], quote=False))
            continue
        element = dom.as_element(node)
        if element is None:
            continue
        if element.tag == "table" and depth < _MAX_DEPTH:
            parts.append(_as_html(element, depth + 1))
        elif element.tag == "pre":
            parts.append("<pre>" + escape(element.text, quote=False).replace("\n", "&#10;") + "</pre>")
        elif element.tag == "br":
            parts.append("<br>")
        else:
            if element.tag in _ENDS and parts and not parts[-1].endswith((">", " ")):
                parts.append("<br>" if element.tag not in {"div", "tr"} else " ")
            stack += reversed(element.children)
    return "".join(parts).strip()
