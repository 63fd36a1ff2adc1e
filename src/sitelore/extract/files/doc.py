"""Reads DOC files (Word 97 to 2003, MS-DOC): text by its piece table, headings by style, tables by cell marks, link fields.

The file is a compound file (MS-CFB), a small file system with named streams.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape

from sitelore.extract.files.reader import FileContent, FileFacts, HtmlBuilder, Unreadable, link, sensible_title, table

_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_NO_SECTOR = 0xFFFFFFFA  # this and all above
_ENTRY_BYTES = 128
_MAX_ENTRIES = 20_000
_WORD = 0xA5EC
_ENCRYPTED, _SECOND_TABLE = 0x0100, 0x0200
_MAX_CHARS = 8_000_000
_PAGE = 512
_ROW_END = b"\x17\x24\x01"  # sprmPFTtp: the mark ends a row, not a cell
_IN_LIST = b"\x0b\x46"  # sprmPIlfo: the paragraph belongs to a list
_LEVEL = b"\x0a\x26"  # sprmPIlvl
_HYPERLINK = re.compile(r"""\s*HYPERLINK\s+(?:\\[mnot]\s+)?(?:"([^"]{1,4000})"|([^\s"\\]\S{0,3999}))""", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x06\x08\x0e-\x12\x16-\x1d\x1f]")
_DAMAGED = "the file is cut off or damaged"
_FILETIME_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Format:
    """The format of a paragraph."""

    style: int = 0
    settings: bytes = b""


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    """The index of its first character in the text."""
    offset: int
    """The offset of that character in the stream."""
    width: int
    """Bytes a character."""


class CompoundFile:
    """The streams of a compound file. A chain of sectors ends where it runs in a circle or out of the file."""

    def __init__(self, body: bytes) -> None:
        if len(body) < 512 or not body.startswith(_MAGIC):
            raise Unreadable(_DAMAGED)
        self._body = body
        shift, mini_shift = struct.unpack_from("<HH", body, 0x1E)
        if shift not in {9, 12} or mini_shift > 9:
            raise Unreadable(_DAMAGED)
        self._size, self._mini_size = 1 << shift, 1 << mini_shift
        (directory,) = struct.unpack_from("<I", body, 0x30)
        self._cutoff, mini, _, difat, _ = struct.unpack_from("<5I", body, 0x38)
        self._table = self._allocation(difat)
        self._mini_table = _numbers(self._chain(mini))
        self._entries = self._directory(self._chain(directory))
        root = next((entry for entry in self._entries if entry[1] == 5), None)
        if root is None:
            raise Unreadable(_DAMAGED)
        self._mini_body = self._chain(root[2], root[3])

    def names(self) -> set[str]:
        """The names of all streams and storages."""
        return {name for name, _, _, _ in self._entries}

    def stream(self, name: str) -> bytes:
        """The bytes of a stream; empty when there is none."""
        for entry, kind, start, size in self._entries:
            if entry == name and kind == 2:
                return self._mini_chain(start, size) if size < self._cutoff else self._chain(start, size)
        return b""

    def _allocation(self, difat: int) -> tuple[int, ...]:
        """The table of the sector that follows each sector, joined from its own sectors."""
        sectors = [at for at in struct.unpack_from("<109I", self._body, 0x4C) if at < _NO_SECTOR]
        seen: set[int] = set()
        while difat < _NO_SECTOR and difat not in seen:
            seen.add(difat)
            numbers = _numbers(self._sector(difat))
            if not numbers:
                break
            sectors += [at for at in numbers[:-1] if at < _NO_SECTOR]
            difat = numbers[-1]
        limit = len(self._body) // self._size + 1
        return _numbers(b"".join(self._sector(at) for at in sectors[:limit]))

    def _sector(self, at: int) -> bytes:
        start = (at + 1) * self._size
        return self._body[start : start + self._size]

    def _chain(self, at: int, size: int | None = None) -> bytes:
        parts: list[bytes] = []
        seen: set[int] = set()
        length = len(self._body) if size is None else min(size, len(self._body))
        while at < len(self._table) and at not in seen and len(parts) * self._size < length:
            seen.add(at)
            parts.append(self._sector(at))
            at = self._table[at]
        return b"".join(parts)[:length]

    def _mini_chain(self, at: int, size: int) -> bytes:
        parts: list[bytes] = []
        seen: set[int] = set()
        while at < len(self._mini_table) and at not in seen and len(parts) * self._mini_size < size:
            seen.add(at)
            parts.append(self._mini_body[at * self._mini_size : (at + 1) * self._mini_size])
            at = self._mini_table[at]
        return b"".join(parts)[:size]

    @staticmethod
    def _directory(data: bytes) -> list[tuple[str, int, int, int]]:
        """Name, kind (1 storage, 2 stream, 5 root), first sector and size of every entry."""
        entries = []
        for at in range(0, min(len(data), _MAX_ENTRIES * _ENTRY_BYTES) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
            length, kind = struct.unpack_from("<HB", data, at + 64)
            start, size = struct.unpack_from("<II", data, at + 116)
            name = data[at : at + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
            if kind:
                entries.append((name, kind, start, size))
        return entries


def _numbers(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])


def read_doc(body: bytes) -> FileContent:
    """The content of a DOC file."""
    file = CompoundFile(body)
    if "EncryptedPackage" in file.names():
        raise Unreadable("the document is protected by a password", is_unsupported=True)
    main = file.stream("WordDocument")
    if len(main) < 0x1AA or struct.unpack_from("<H", main)[0] != _WORD:
        raise Unreadable("no Word document of 1997 or later is in it", is_unsupported="WordDocument" not in file.names())
    (flags,) = struct.unpack_from("<H", main, 0x0A)
    if flags & _ENCRYPTED:
        raise Unreadable("the document is protected by a password", is_unsupported=True)
    tables = file.stream("1Table" if flags & _SECOND_TABLE else "0Table")
    try:
        text, pieces = _text(main, tables)
        formats = _Formats(main, tables)
    except (struct.error, ValueError, IndexError) as error:
        raise Unreadable(_DAMAGED) from error
    builder = HtmlBuilder()
    _write(text, pieces, formats, builder)
    has_embedded_files = "ObjectPool" in file.names() or "Macros" in file.names()
    return FileContent(
        builder.html(), _summary_facts(file.stream("\x05SummaryInformation")), has_embedded_files=has_embedded_files
    )


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
    """The formats of paragraphs, by the offset of their end in the stream."""

    def __init__(self, main: bytes, tables: bytes) -> None:
        start, size = struct.unpack_from("<II", main, 0x102)
        plan = tables[start : start + size]
        count = max(0, min((len(plan) - 4) // 8, len(main) // _PAGE + 1))
        self._ends: list[int] = []
        self._formats: list[_Format] = []
        for number in range(count):
            (page,) = struct.unpack_from("<I", plan, 4 * (count + 1) + 4 * number)
            start = (page & 0x3FFFFF) * _PAGE
            self._add_page(main[start : start + _PAGE])

    def _add_page(self, page: bytes) -> None:
        if len(page) < _PAGE:
            return
        count = page[-1]
        for number in range(min(count, 29)):
            (end,) = struct.unpack_from("<I", page, 4 * number + 4)
            at = page[4 * (count + 1) + 13 * number] * 2
            style = _Format()
            if at:
                size = page[at]
                at, size = (at + 1, 2 * size - 1) if size else (at + 2, 2 * page[at + 1])
                data = page[at : at + size]
                style = _Format(int.from_bytes(data[:2], "little"), data[2:])
            if not self._ends or end > self._ends[-1]:
                self._ends.append(end)
                self._formats.append(style)

    def at(self, offset: int) -> _Format:
        place = bisect_right(self._ends, offset)
        return self._formats[place] if place < len(self._formats) else _Format()


def _paragraphs(text: str, pieces: list[_Piece], formats: _Formats) -> Iterator[tuple[str, str, _Format]]:
    """Text, the mark that ends it, and its format."""
    starts = [piece.start for piece in pieces]
    at = 0
    for end in re.finditer("[\r\x07\x0c]|\\Z", text):
        piece = pieces[bisect_right(starts, end.start()) - 1] if pieces else _Piece(0, 0, 1)
        yield text[at : end.start()], end[0], formats.at(piece.offset + (end.start() - piece.start) * piece.width)
        at = end.end()


def _write(text: str, pieces: list[_Piece], formats: _Formats, builder: HtmlBuilder) -> None:
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
        builder.block(table(rows))
        rows = []
        _block(inner, form, builder)
    builder.block(table([*rows, cells] if cells else rows))


def _block(inner: str, form: _Format, builder: HtmlBuilder) -> None:
    if 1 <= form.style <= 9:
        return builder.heading(form.style, inner)
    if (at := form.settings.find(_IN_LIST)) >= 0 and form.settings[at + 2 : at + 4] != b"\0\0":
        level = form.settings.find(_LEVEL)
        return builder.item(form.settings[level + 2] if 0 <= level < len(form.settings) - 2 else 0, inner)
    return builder.paragraph(inner)


def _inner(raw: str) -> str:
    """A paragraph's text as HTML. Of a field the result is shown, and that of a HYPERLINK is a link."""
    parts: list[str] = []
    fields: list[list[str]] = []
    """Open fields: instruction, and (once it has begun) result."""
    for piece in re.split("([\x13\x14\x15])", raw):
        if piece == "\x13":
            fields.append([""])
        elif piece == "\x14":
            if fields:
                fields[-1].append("")
        elif piece == "\x15":
            if fields:
                instruction, *result = fields.pop()
                address = _HYPERLINK.match(instruction)
                html = link("".join(result), (address[1] or address[2]) if address else "")
                _append(html, fields, parts)
        else:
            _append(_as_html(piece), fields, parts)
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


def _as_html(text: str) -> str:
    plain = _CONTROLS.sub("", text.replace("\x1e", "-").replace("\xa0", " ").replace("\t", " "))
    return escape(plain).replace("\x0b", "<br>")


def _summary_facts(data: bytes, notes: tuple[str, ...] = ()) -> FileFacts:
    """The metadata in a property set (MS-OLEPS)."""
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
                values[key] = _file_time(struct.unpack_from("<Q", data, at + 4)[0])
    except (struct.error, LookupError):
        pass  # keep what was read so far
    texts = {key: " ".join(str(value).split()) for key, value in values.items()}
    pages = values.get(14, 0)
    return FileFacts(
        title=sensible_title(texts.get(2, "")),
        author=texts.get(4, "")[:300],
        description=texts.get(3, ""),
        keywords=texts.get(5, ""),
        published=texts.get(12, "").removeprefix("1601-01-01T00:00:00Z"),
        modified=texts.get(13, "").removeprefix("1601-01-01T00:00:00Z"),
        pages=pages if isinstance(pages, int) and pages < 10**6 else 0,
        notes=notes,
    )


def _file_time(ticks: int) -> str:
    """A number of 100 ns since 1601 as ISO 8601."""
    try:
        return (_FILETIME_EPOCH + timedelta(microseconds=ticks // 10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):
        return ""
