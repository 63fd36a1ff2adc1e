"""Reads XLSX files: a heading and tables for each visible sheet. Rows and cells beyond a limit are left out, with a note.

Sheets are parsed as a stream: one can be far larger than what is kept of it.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from html import escape
from xml.etree import ElementTree as ET
from xml.parsers import expat

from sitelore.extract.files.office_package import Package, as_text, attribute, core_facts, relation_id
from sitelore.extract.files.reader import FileContent, HtmlBuilder, Unreadable, link, small_int, table

_MAX_SHEETS = 200
_MAX_ROWS = 20_000
_MAX_CELLS = 200_000
_MAX_COLUMNS = 500
_MAX_CELL_CHARS = 32_767
_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_QUOTED = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_PLACE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_EPOCH = datetime(1899, 12, 30)  # noqa: DTZ001 a sheet's dates have no zone
_MAC_EPOCH = datetime(1904, 1, 1)  # noqa: DTZ001 as above
_VALUES = frozenset({"v", "t"})


class _LimitReached(Exception):
    """The sheet has more rows or cells than are read."""


@dataclass(slots=True)
class _Book:
    strings: list[str]
    date_styles: frozenset[int]
    epoch: datetime
    cells: int = 0
    is_cut: bool = False


@dataclass(slots=True)
class _Sheet:
    """The rows of one sheet, filled by the handlers of the parser."""

    book: _Book
    rows: list[list[str]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    hidden_columns: set[int] = field(default_factory=set)
    names: dict[tuple[int, int], str] = field(default_factory=dict)
    _row: dict[int, str] = field(default_factory=dict)
    _number: int = 0
    _column: int = -1
    _is_hidden: bool = False
    _kind: str = ""
    _style: int = 0
    _text: list[str] = field(default_factory=list)
    _in_value: bool = False
    _is_phonetic: bool = False

    def start(self, tag: str, attrs: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "c":
            place = _PLACE.fullmatch(attrs.get("r", ""))
            self._column = _column(place[1]) if place else self._column + 1
            self._kind, self._style = attrs.get("t", "n"), small_int(attrs.get("s", ""))
            self._text = []
        elif name in _VALUES:
            self._in_value = not self._is_phonetic
        elif name == "rPh":
            self._is_phonetic = True
        elif name == "row":
            self._number = small_int(attrs.get("r", ""), self._number + 1)
            self._row, self._column = {}, -1
            self._is_hidden = attrs.get("hidden", "") in {"1", "true"}
        elif name == "col" and attrs.get("hidden", "") in {"1", "true"}:
            first, last = small_int(attrs.get("min", ""), _MAX_COLUMNS + 1), small_int(attrs.get("max", ""))
            self.hidden_columns.update(range(first - 1, min(last, _MAX_COLUMNS)))
        elif name == "hyperlink":
            self.links[attrs.get("ref", "").partition(":")[0]] = next((v for k, v in attrs.items() if k.endswith(":id")), "")

    def data(self, text: str) -> None:
        if self._in_value:
            self._text.append(text)

    def end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name in _VALUES:
            self._in_value = False
        elif name == "rPh":
            self._is_phonetic = False
        elif name == "c":
            value = _value("".join(self._text)[:_MAX_CELL_CHARS], self._kind, self._style, self.book)
            if value and self._column < _MAX_COLUMNS and self._column not in self.hidden_columns:
                self._row[self._column] = value
        elif name == "row" and self._row and not self._is_hidden:
            self.book.cells += len(self._row)
            if self.book.cells > _MAX_CELLS or len(self.rows) >= _MAX_ROWS:
                self.book.is_cut = True
                raise _LimitReached
            self.places.append(self._number)
            self.rows.append([self._row.get(at, "") for at in range(max(self._row) + 1)])


def read_xlsx(body: bytes) -> FileContent:
    """The content of a spreadsheet."""
    package = Package(body)
    part = package.main_part("xl/workbook.xml")
    root, relations = package.document(part), package.relations(part)
    folder = part.rpartition("/")[0]
    is_1904 = attribute(root.find("workbookPr"), "date1904") in {"1", "true"}
    strings = _strings(package.tree(f"{folder}/sharedStrings.xml"))
    book = _Book(strings, _date_styles(package.tree(f"{folder}/styles.xml")), _MAC_EPOCH if is_1904 else _EPOCH)
    builder = HtmlBuilder()
    sheets = root.findall("sheets/sheet")
    visible = [sheet for sheet in sheets if sheet.get("state", "visible") == "visible" and relation_id(sheet) in relations]
    for element in visible[:_MAX_SHEETS]:
        relation = relations[relation_id(element)]
        if not relation.is_external and not book.is_cut:
            _write(element.get("name", ""), _sheet(package, relation.target, book), package, relation.target, builder)
    notes = (f"Only the first {_MAX_ROWS} rows of a sheet and {_MAX_CELLS} cells in all were read.",) if book.is_cut else ()
    return FileContent(
        builder.html(), core_facts(package, pages=len(sheets), notes=notes), has_embedded_files=package.has_embedded_files
    )


def _sheet(package: Package, part: str, book: _Book) -> _Sheet:
    sheet = _Sheet(book)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = sheet.start
    parser.EndElementHandler = sheet.end
    parser.CharacterDataHandler = sheet.data
    parser.StartDoctypeDeclHandler = _refused
    with contextlib.suppress(expat.ExpatError, _LimitReached):  # what was read so far is kept
        parser.Parse(as_text(package.part(part)).encode("utf-8", "replace"), True)
    return sheet


def _refused(*_: object) -> None:
    raise Unreadable("its XML has a document type, which no office writes")


def _write(name: str, sheet: _Sheet, package: Package, part: str, builder: HtmlBuilder) -> None:
    relations = package.relations(part) if sheet.links else {}
    hrefs = {
        place: relations[key].target for place, key in sheet.links.items() if key in relations and relations[key].is_external
    }
    if not sheet.rows:
        return
    builder.heading(2, escape(name))
    first = min((at for row in sheet.rows for at, value in enumerate(row) if value), default=0)
    part_rows: list[list[str]] = []
    before = 0
    for number, row in zip(sheet.places, sheet.rows, strict=True):
        if before and number > before + 1:  # an empty row separates two tables
            _put(part_rows, builder)
            part_rows = []
        before = number
        cells = [escape(value).replace("\n", "<br>") for value in row]
        if hrefs:
            cells = [link(cell, hrefs.get(f"{_letters(at)}{number}", "")) for at, cell in enumerate(cells)]
        part_rows.append(cells[first:])
    _put(part_rows, builder)


def _put(rows: list[list[str]], builder: HtmlBuilder) -> None:
    """Write a table, or paragraphs for lines of text in a sheet."""
    filled = [[cell for cell in row if cell.strip()] for row in rows]
    if len(rows) < 3 and all(len(row) < 2 for row in filled):
        for row in filled:
            builder.paragraph(" ".join(row))
    else:
        builder.block(table(rows))


def _strings(root: ET.Element | None) -> list[str]:
    """The shared strings, without their phonetic parts."""
    strings = []
    for element in root if root is not None else ():
        phonetic = {text for part in element.iter("rPh") for text in part.iter("t")}
        strings.append("".join(text.text or "" for text in element.iter("t") if text not in phonetic)[:_MAX_CELL_CHARS])
    return strings


def _date_styles(root: ET.Element | None) -> frozenset[int]:
    if root is None:
        return frozenset()
    own = {element.get("numFmtId", ""): _QUOTED.sub("", element.get("formatCode", "")) for element in root.iter("numFmt")}
    dates = {number for number, code in own.items() if re.search(r"[ymdhs]", code, re.IGNORECASE)}
    used = [element.get("numFmtId", "") for element in root.findall("cellXfs/xf")]
    return frozenset(
        at for at, number in enumerate(used) if number in dates or (number not in own and small_int(number) in _DATE_FORMATS)
    )


def _value(text: str, kind: str, style: int, book: _Book) -> str:
    if kind == "s":
        at = small_int(text, -1)
        return book.strings[at].strip() if 0 <= at < len(book.strings) else ""
    if kind == "b":
        return "TRUE" if text.strip() == "1" else "FALSE" if text else ""
    if kind != "n" or not text:
        return text.strip()
    if style in book.date_styles:
        return _date(text, book.epoch)
    return _number(text)


def _number(text: str) -> str:
    """A number without the rounding errors of binary arithmetic."""
    try:
        value = float(text)
    except ValueError:
        return text.strip()
    if len(text) < 16 and "e" not in text.lower():
        return text.strip()
    return f"{value:.15g}"


def _date(text: str, epoch: datetime) -> str:
    try:
        value = float(text)
        moment = epoch + timedelta(seconds=round(value * 86_400))
    except (ValueError, OverflowError):
        return text.strip()
    if 0 <= value < 1:
        return moment.strftime("%H:%M:%S").removesuffix(":00")
    written = moment.isoformat(sep=" ")
    return written.removesuffix(" 00:00:00").removesuffix(":00") if moment.second == 0 else written


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _letters(column: int) -> str:
    letters = ""
    number = column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
