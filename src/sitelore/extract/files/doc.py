"""DOC (Word 97 to 2003, MS-DOC) → HTML: text by its piece table, headings by style, tables by their marks, linking fields."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from sitelore.extract.files.compound import CompoundFile
from sitelore.extract.files.flow import Flow, linked, table
from sitelore.extract.files.office_facts import Facts, Told, file_time, sensible_title
from sitelore.extract.files.unreadable import Unreadable

_WORD = 0xA5EC
_ENCRYPTED, _SECOND_TABLE = 0x0100, 0x0200
_MAX_CHARS = 8_000_000
_PAGE = 512
_ROW_END = b"\x17\x24\x01"  # sprmPFTtp: the mark ends a row, not a cell
_IN_LIST = b"\x0b\x46"  # sprmPIlfo: the paragraph belongs to a list
_LEVEL = b"\x0a\x26"  # sprmPIlvl
_HYPERLINK = re.compile(r"""\s*HYPERLINK\s+(?:\\[mnot]\s+)?(?:"([^"]{1,4000})"|([^\s"\\]\S{0,3999}))""", re.IGNORECASE)
_UNSAID = re.compile("[\x00-\x06\x08\x0e-\x12\x16-\x1d\x1f]")
_DAMAGED = "the file is cut off or damaged"


@dataclass(frozen=True, slots=True)
class _Format:
    """What is known of a paragraph."""

    style: int = 0
    settings: bytes = b""


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    """Its first character."""
    offset: int
    """Where that stands in the stream."""
    width: int
    """Bytes a character."""


def read_doc(body: bytes) -> Told:
    """The content of an old word processor's file."""
    file = CompoundFile(body)
    if "EncryptedPackage" in file.names():
        raise Unreadable("the document is protected by a password", is_closed=True)
    main = file.stream("WordDocument")
    if len(main) < 0x1AA or struct.unpack_from("<H", main)[0] != _WORD:
        raise Unreadable("no Word document of 1997 or later is in it", is_closed="WordDocument" not in file.names())
    (flags,) = struct.unpack_from("<H", main, 0x0A)
    if flags & _ENCRYPTED:
        raise Unreadable("the document is protected by a password", is_closed=True)
    tables = file.stream("1Table" if flags & _SECOND_TABLE else "0Table")
    try:
        text, pieces = _text(main, tables)
        formats = _Formats(main, tables)
    except (struct.error, ValueError, IndexError) as error:
        raise Unreadable(_DAMAGED) from error
    flow = Flow()
    _write(text, pieces, formats, flow)
    holds_files = "ObjectPool" in file.names() or "Macros" in file.names()
    return Told(flow.html(), summary_facts(file.stream("\x05SummaryInformation")), holds_files=holds_files)


def _text(main: bytes, tables: bytes) -> tuple[str, list[_Piece]]:
    (length,) = struct.unpack_from("<i", main, 0x4C)
    start, size = struct.unpack_from("<II", main, 0x1A2)
    clx = tables[start : start + size]
    at = 0
    while at + 3 <= len(clx) and clx[at] == 1:
        at += 3 + struct.unpack_from("<H", clx, at + 1)[0]
    if at >= len(clx) or clx[at] != 2:
        raise Unreadable(_DAMAGED)
    count = (struct.unpack_from("<I", clx, at + 1)[0] - 4) // 12
    count = max(0, min(count, (len(clx) - at - 9) // 12))
    ends = struct.unpack_from(f"<{count + 1}I", clx, at + 5)
    parts: list[str] = []
    pieces: list[_Piece] = []
    taken = 0
    for number in range(count):
        (offset,) = struct.unpack_from("<I", clx, at + 5 + 4 * (count + 1) + 8 * number + 2)
        width = 1 if offset & 0x40000000 else 2
        offset = (offset & 0x3FFFFFFF) // 2 if width == 1 else offset & 0x3FFFFFFF
        wanted = max(0, min(ends[number + 1] - ends[number], max(0, length) - taken, _MAX_CHARS - taken))
        data = main[offset : offset + wanted * width]
        pieces.append(_Piece(taken, offset, width))
        parts.append(data.decode("cp1252" if width == 1 else "utf-16-le", "replace").ljust(len(data) // width, "\0"))
        taken += len(parts[-1])
    return "".join(parts), pieces


class _Formats:
    """Which style each paragraph has, by where its end stands in the stream."""

    def __init__(self, main: bytes, tables: bytes) -> None:
        start, size = struct.unpack_from("<II", main, 0x102)
        plan = tables[start : start + size]
        count = max(0, min((len(plan) - 4) // 8, len(main) // _PAGE + 1))
        self._ends: list[int] = []
        self._formats: list[_Format] = []
        for number in range(count):
            (page,) = struct.unpack_from("<I", plan, 4 * (count + 1) + 4 * number)
            start = (page & 0x3FFFFF) * _PAGE
            self._learn(main[start : start + _PAGE])

    def _learn(self, page: bytes) -> None:
        if len(page) < _PAGE:
            return
        count = page[-1]
        for number in range(min(count, 29)):
            (end,) = struct.unpack_from("<I", page, 4 * number + 4)
            at = page[4 * (count + 1) + 13 * number] * 2
            found = _Format()
            if at:
                size = page[at]
                at, size = (at + 1, 2 * size - 1) if size else (at + 2, 2 * page[at + 1])
                data = page[at : at + size]
                found = _Format(int.from_bytes(data[:2], "little"), data[2:])
            if not self._ends or end > self._ends[-1]:
                self._ends.append(end)
                self._formats.append(found)

    def at(self, offset: int) -> _Format:
        place = bisect_right(self._ends, offset)
        return self._formats[place] if place < len(self._formats) else _Format()


def _paragraphs(text: str, pieces: list[_Piece], formats: _Formats) -> Iterator[tuple[str, str, _Format]]:
    """Text, the mark that ends it, and its format."""
    starts = [piece.start for piece in pieces]
    at = 0
    for found in re.finditer("[\r\x07\x0c]|\\Z", text):
        piece = pieces[bisect_right(starts, found.start()) - 1] if pieces else _Piece(0, 0, 1)
        yield text[at : found.start()], found[0], formats.at(piece.offset + (found.start() - piece.start) * piece.width)
        at = found.end()


def _write(text: str, pieces: list[_Piece], formats: _Formats, flow: Flow) -> None:
    rows: list[list[str]] = []
    cells: list[str] = []
    cell: list[str] = []
    for raw, mark, form in _paragraphs(text, pieces, formats):
        inner = _inner(raw)
        in_table = b"\x16\x24\x01" in form.settings  # sprmPFInTable
        if mark == "\x07":
            if _ROW_END in form.settings or (not form.settings and not inner and not cell and cells):
                rows.append(cells)
                cells = []
            else:
                cells.append("<br>".join(filter(None, [*cell, inner])))
            cell = []
            continue
        if in_table:
            cell.append(inner)
            continue
        flow.block(table(rows))
        rows = []
        _block(inner, form, flow)
    flow.block(table([*rows, cells] if cells else rows))


def _block(inner: str, form: _Format, flow: Flow) -> None:
    if 1 <= form.style <= 9:
        return flow.heading(form.style, inner)
    if (at := form.settings.find(_IN_LIST)) >= 0 and form.settings[at + 2 : at + 4] != b"\0\0":
        level = form.settings.find(_LEVEL)
        return flow.item(form.settings[level + 2] if 0 <= level < len(form.settings) - 2 else 0, inner)
    return flow.paragraph(inner)


def _inner(raw: str) -> str:
    """A paragraph's text as HTML. Of a field its result shows; that of a HYPERLINK is a link."""
    parts: list[str] = []
    fields: list[list[str]] = []
    """Fields that stand open: instruction, and (once it has begun) result."""
    for piece in re.split("([\x13\x14\x15])", raw):
        if piece == "\x13":
            fields.append([""])
        elif piece == "\x14":
            if fields:
                fields[-1].append("")
        elif piece == "\x15":
            if fields:
                instruction, *result = fields.pop()
                found = _HYPERLINK.match(instruction)
                shown = linked("".join(result), (found[1] or found[2]) if found else "")
                _append(shown, fields, parts)
        else:
            _append(_shown(piece), fields, parts)
    for left in fields:
        parts += left[1:]
    return "".join(parts).strip()


def _append(html: str, fields: list[list[str]], parts: list[str]) -> None:
    if not fields:
        parts.append(html)
    elif len(fields[-1]) == 1:
        fields[-1][0] += html.replace("&quot;", '"').replace("&amp;", "&")
    else:
        fields[-1][-1] += html


def _shown(text: str) -> str:
    plain = _UNSAID.sub("", text.replace("\x1e", "-").replace("\xa0", " ").replace("\t", " "))
    return escape(plain).replace("\x0b", "<br>")


def summary_facts(data: bytes, notes: tuple[str, ...] = ()) -> Facts:
    """The property set that old office files describe themselves in (MS-OLEPS)."""
    values: dict[int, str | int] = {}
    try:
        (start,) = struct.unpack_from("<I", data, 44)
        _, count = struct.unpack_from("<II", data, start)
        code_page = "cp1252"
        for number in range(min(count, 100)):
            key, offset = struct.unpack_from("<II", data, start + 8 + 8 * number)
            at = start + offset
            (kind,) = struct.unpack_from("<I", data, at)
            if kind == 2 and key == 1:
                page = struct.unpack_from("<H", data, at + 4)[0]
                code_page = "utf-8" if page == 65001 else "utf-16-le" if page == 1200 else f"cp{page}"
            elif kind == 3:
                values[key] = struct.unpack_from("<I", data, at + 4)[0]
            elif kind == 30:
                size = struct.unpack_from("<I", data, at + 4)[0]
                values[key] = data[at + 8 : at + 8 + min(size, 4000)].decode(code_page, "replace").partition("\0")[0]
            elif kind == 64:
                values[key] = file_time(struct.unpack_from("<Q", data, at + 4)[0])
    except (struct.error, LookupError):
        pass  # whatever was told before it breaks off
    said = {key: " ".join(str(value).split()) for key, value in values.items()}
    pages = values.get(14, 0)
    return Facts(
        title=sensible_title(said.get(2, "")),
        author=said.get(4, "")[:300],
        description=said.get(3, ""),
        keywords=said.get(5, ""),
        published=said.get(12, "").removeprefix("1601-01-01T00:00:00Z"),
        modified=said.get(13, "").removeprefix("1601-01-01T00:00:00Z"),
        pages=pages if isinstance(pages, int) and pages < 10**6 else 0,
        notes=notes,
    )
