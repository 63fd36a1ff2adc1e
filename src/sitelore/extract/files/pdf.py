"""Reads PDF files by PDFium: lines of text with their position, size and weight become paragraphs, headings, lists and code.

PDFium is native code that parses untrusted input, so it is called in an extraction process alone, which is limited in time and
memory and may crash. The text of a page is taken in one call, and only a few characters of each line are examined.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from sitelore.extract.files.reader import FileContent, FileFacts, HtmlBuilder, Unreadable, language_tag, link, sensible_title
from sitelore.extract.metadata import iso_date

_MAX_PAGES = 1000
_MAX_CHARS = 8_000_000
_MAX_PAGE_LINKS = 500
_PASSWORD_ERROR = 4
_HANDLER_ERROR = 5
_LINE_END = re.compile("\r\n?|\n|\ufffe|\x02(?:\r\n)?")
_BOLD = re.compile(r"(?i)bold|black|heavy|semibold|demi|cmbx|sfbx|[-,]bd\b")
_FIXED = re.compile(r"(?i)mono|courier|consol|typewriter|cmtt|sftt|menlo")
_FIXED_FLAG, _BOLD_FLAG = 1, 1 << 18
_BOLD_WEIGHT = 650
_WRITTEN_URL = re.compile(r"https?://[^\s<>\"'()\[\]{}\u2018-\u201f]{3,2000}")
_SPACES = re.compile(r"[ \t\xa0]+")
_PDF_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?")

_HEADING_SIZE = 1.12
_HEADING_CHARS = 200
_HEADING_LINES = 8
_MAX_LINES_BACK = 40
_BOLD_HEADING_CHARS = 90
_HEADING_LEVELS = 5
_EDGE_LINES = 2
_MIN_PAGES = 3
_DIGITS = re.compile(r"\d+|\b[ivxlc]{1,6}\b")
_PAGE_NUMBER = re.compile(r"(?i)\W*(?:page|seite|p\.)?\s*(?:\d{1,5}|[ivxlc]{1,6})(?:\s*(?:/|of|von|de)\s*\d{1,5})?\W*")
_EDGE_NUMBER = re.compile(r"(?:(\d{1,4})(?=\s|$))?(?:.*?(?<=\s)(\d{1,4})|.*)")
_LEADERS = re.compile(r"\s?(?:\.\s?){5,}|\s?(?:[\u2026_]\s?){3,}")
_BULLET = re.compile(
    "([\u2022\u2023\u25e6\u25aa\u25ab\u25cf\u25cb\u25a0\u25a1\u2043\u2219\uf0b7\uf0a7\u27a2\u2713\u2714*\u2013-])\\s+(?=\\S)"
)
_NUMBERED = re.compile(r"(?:\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(?=\S)")
_ENDS = (".", "!", "?", ":", ";", "…", "。", "”", '"')
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST_PART = re.compile(r"[^\W\d_]+$")
_FIRST_PART = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text on a page. Coordinates are in points, from the page's bottom left."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    size: float
    is_bold: bool = False
    is_fixed: bool = False
    """Whether the font is monospaced."""
    is_hyphenated: bool = False
    """Whether its last word continues in the next line."""
    links: tuple[tuple[int, int, str], ...] = ()
    """Links in it: start, end, address."""


Page = list[Line]


def read_pdf(body: bytes) -> FileContent:
    """The content of a PDF."""
    try:
        import pypdfium2 as pdfium  # noqa: PLC0415 optional, and most crawls have no PDF
    except ImportError as error:
        raise Unreadable(
            "reading PDF needs one more library: pip install 'sitelore[documents]'", is_unsupported=True
        ) from error
    try:
        file = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        if error.err_code in {_PASSWORD_ERROR, _HANDLER_ERROR}:
            raise Unreadable("the PDF is protected by a password", is_unsupported=True) from error
        raise Unreadable("the PDF is cut off or damaged") from error
    try:
        return _PdfReader(file, pdfium).read()
    except pdfium.PdfiumError as error:
        raise Unreadable("the PDF is cut off or damaged") from error
    finally:
        file.close()


class _PdfReader:
    """Reads one PDF."""

    def __init__(self, file: Any, pdfium: Any) -> None:
        self._file = file
        self._raw = pdfium.raw
        self._error = pdfium.PdfiumError
        self._links: list[str] = []
        self._numbers = tuple([ctypes.c_double() for _ in range(6)])
        self._name = ctypes.create_string_buffer(256)

    def read(self) -> FileContent:
        count = len(self._file)
        pages: list[Page] = []
        chars = 0
        for at in range(min(count, _MAX_PAGES)):
            pages.append(self._page(at))
            chars += sum(len(line.text) for line in pages[-1])
            if chars > _MAX_CHARS:
                break
        notes = []
        if len(pages) < count:
            notes.append(f"Only the first {len(pages)} of {count} pages were read.")
        if not chars:
            notes.append("There is no text in it; it may be made of pictures of pages.")
        builder = HtmlBuilder()
        _write_pages(pages, builder)
        properties = self._file.get_metadata_dict()
        links = tuple(dict.fromkeys(self._links))
        other_text = "\n".join([*map(str, properties.values()), *(line.text for page in pages for line in page), *links])
        facts = self._facts(properties, count, tuple(notes))
        return FileContent(builder.html(), facts, links, other_text, self._file.count_attachments() > 0)

    def _facts(self, properties: dict[str, str], count: int, notes: tuple[str, ...]) -> FileFacts:
        return FileFacts(
            title=sensible_title(properties.get("Title", "")),
            author=" ".join(properties.get("Author", "").split())[:300],
            description=" ".join(properties.get("Subject", "").split())[:1000],
            keywords=" ".join(properties.get("Keywords", "").split())[:1000],
            published=_iso_date(properties.get("CreationDate", "")),
            modified=_iso_date(properties.get("ModDate", "")),
            lang=language_tag(self._language()),
            pages=count,
            notes=notes,
        )

    def _language(self) -> str:
        buffer = (ctypes.c_ushort * 40)()
        size = self._raw.FPDFCatalog_GetLanguage(self._file.raw, buffer, ctypes.sizeof(buffer))
        return bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", "replace") if 0 < size <= ctypes.sizeof(buffer) else ""

    def _page(self, number: int) -> Page:
        """The lines of a page; none when the page is damaged, so that the others are still read."""
        try:
            page = self._file[number]
        except self._error:
            return []
        try:
            text_page = page.get_textpage()
        except self._error:
            page.close()
            return []
        try:
            text = text_page.get_text_range()
            places = _units_before(text)
            lines = [line for part in _parts(text) if (line := self._line(text_page.raw, places, *part)) is not None]
            lines = self._with_links(page, text_page, lines)
        finally:
            text_page.close()
            page.close()
        for line in lines:
            self._links += [url.rstrip(".,;:!?") for url in _WRITTEN_URL.findall(line.text)]
        return lines

    def _line(self, raw_page: Any, places: list[int] | None, start: int, part: str, ended: str) -> Line | None:
        raw = self._raw
        first = start + len(part) - len(part.lstrip())
        last = start + len(part.rstrip()) - 1
        if last < first:
            return None
        text_indexes = [places[at] if places else at for at in (first, (first + last) // 2, last)]
        low, middle, high = [max(0, raw.FPDFText_GetCharIndexFromTextIndex(raw_page, at)) for at in text_indexes]
        left, right, bottom, top = self._box(raw_page, low)
        _, right, _, _ = self._box(raw_page, high)
        name, flags = self._font(raw_page, middle)
        is_bold = (
            bool(_BOLD.search(name)) or bool(flags & _BOLD_FLAG) or raw.FPDFText_GetFontWeight(raw_page, middle) >= _BOLD_WEIGHT
        )
        is_fixed = bool(flags & _FIXED_FLAG) or bool(_FIXED.search(name))
        if is_fixed and low != middle:
            name, flags = self._font(raw_page, low)
            is_fixed = bool(flags & _FIXED_FLAG) or bool(_FIXED.search(name))
        shown = _SPACES.sub(" ", part).strip()
        is_cut = ended in {"\ufffe", "\x02", "\x02\r\n"}
        if shown.endswith(("-", "\u2010", "\xad")) and not is_cut and len(shown) > 2 and shown[-2].isalpha():
            shown, is_cut = shown[:-1], True
        size = sorted([self._size(raw_page, at) for at in (low, middle, high)])[1]
        return Line(shown, left, right, bottom, top, size, is_bold, is_fixed, is_cut)

    def _box(self, raw_page: Any, at: int) -> tuple[float, float, float, float]:
        raw, (left, right, bottom, top, x, y) = self._raw, self._numbers
        raw.FPDFText_GetCharBox(raw_page, at, left, right, bottom, top)
        if raw.FPDFText_GetCharOrigin(raw_page, at, x, y):
            return left.value, right.value, y.value, top.value  # letters differ in depth, the baseline does not
        return left.value, right.value, bottom.value, top.value

    def _font(self, raw_page: Any, at: int) -> tuple[str, int]:
        flags = ctypes.c_int()
        size = self._raw.FPDFText_GetFontInfo(raw_page, at, self._name, len(self._name), flags)
        name = self._name.raw[: max(0, size - 1)].decode("utf-8", "replace") if 0 < size <= len(self._name) else ""
        return name.partition("+")[2] or name, flags.value

    def _size(self, raw_page: Any, at: int) -> float:
        """The font size as it is shown: many programs set size 1 and scale it by a matrix."""
        size = self._raw.FPDFText_GetFontSize(raw_page, at)
        matrix = self._raw.FS_MATRIX()
        if self._raw.FPDFText_GetMatrix(raw_page, at, matrix):
            size *= (matrix.c**2 + matrix.d**2) ** 0.5
        return round(size * 2) / 2 if 0 < size < 10_000 else 0.0

    def _with_links(self, page: Any, text_page: Any, lines: Page) -> Page:
        placed: dict[int, list[tuple[int, int, str]]] = {}
        for href, (left, bottom, right, top) in self._annotations(page):
            self._links.append(href)
            shown = _SPACES.sub(" ", text_page.get_text_bounded(left, bottom, right, top)).strip()
            for at, line in enumerate(lines) if shown and len(shown) <= 500 else ():
                if bottom - 2 <= line.bottom <= top and (start := line.text.find(shown)) >= 0:
                    placed.setdefault(at, []).append((start, start + len(shown), href))
                    break
        return [replace(line, links=tuple(placed[at])) if at in placed else line for at, line in enumerate(lines)]

    def _annotations(self, page: Any) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
        raw = self._raw
        at, link, box = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
        for _ in range(_MAX_PAGE_LINKS):
            if not raw.FPDFLink_Enumerate(page.raw, at, link):
                return
            action = raw.FPDFLink_GetAction(link)
            if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI or not raw.FPDFLink_GetAnnotRect(link, box):
                continue
            size = raw.FPDFAction_GetURIPath(self._file.raw, action, None, 0)
            if 1 < size <= 8192:
                buffer = ctypes.create_string_buffer(size)
                raw.FPDFAction_GetURIPath(self._file.raw, action, buffer, size)
                yield buffer.raw[: size - 1].decode("utf-8", "replace"), (box.left, box.bottom, box.right, box.top)


def _parts(text: str) -> Iterator[tuple[int, str, str]]:
    """The lines of a page's text: start, text, line end."""
    at = 0
    for end in _LINE_END.finditer(text):
        yield at, text[at : end.start()], end[0]
        at = end.end()
    yield at, text[at:], ""


def _units_before(text: str) -> list[int] | None:
    """The offset of each character in UTF-16, by which PDFium counts; None where offsets are equal."""
    if text.isascii() or max(text) <= "\uffff":
        return None
    places = [0]
    for char in text:
        places.append(places[-1] + (2 if char > "\uffff" else 1))
    return places


def _iso_date(text: str) -> str:
    """`D:20240506070809+02'00'` as ISO 8601, as precise as it is; empty for anything else."""
    match = _PDF_DATE.match(text.strip())
    if match is None:
        return ""
    year, month, day, hour, minute, second, zulu, sign, off_hour, off_minute = match.groups()
    written = "-".join(filter(None, (year, month, day)))
    if hour and minute:
        written += f"T{hour}:{minute}:{second or '00'}"
        written += "Z" if zulu else f"{sign}{off_hour}:{off_minute or '00'}" if sign else ""
    return iso_date(written)


def _write_pages(pages: list[Page], builder: HtmlBuilder) -> None:
    """Write all pages as one document, without running headers; a paragraph may continue on the next page."""
    lines = [line for page in pages for line in page]
    if not lines:
        return
    body = _body_size(lines)
    lines = [line for page in _without_running_lines(pages, body) for line in page]
    words = {word.lower() for line in lines for word in _WORD.findall(line.text)}
    levels = _levels(lines, body)
    for block in _blocks(lines, levels):
        _write_block(block, levels, words, builder)


def _without_running_lines(pages: list[Page], body: float) -> Iterator[Page]:
    """Pages without headers, footers and page numbers: edge lines that most pages have at one height."""
    running: Counter[tuple[str, int]] = Counter()
    edges = [_edge_lines(page) for page in pages]
    numbers = [{offset for line in edge for offset in _offsets(line, at, body)} for at, edge in enumerate(edges)]
    for edge in edges:
        running.update({_running_key(line) for line in edge})
    offsets = Counter(offset for page_offsets in numbers for offset in page_offsets)
    min_pages = max(_MIN_PAGES, len(pages) * 0.4)
    for at, (page, edge) in enumerate(zip(pages, edges, strict=True)):
        dropped = {
            id(line)
            for line in edge
            if running[_running_key(line)] >= min_pages
            or any(offsets[offset] >= min_pages for offset in _offsets(line, at, body))
        }
        yield [line for line in page if id(line) not in dropped] if dropped else page


def _offsets(line: Line, page: int, body: float) -> set[int]:
    """The differences between numbers at the ends of a line and the page index: constant over pages for a page number."""
    if len(line.text) >= 100 or line.size >= body * _HEADING_SIZE:  # a heading may begin with a number too
        return set()
    match = _EDGE_NUMBER.fullmatch(line.text)
    return {int(number) - page for number in match.groups() if number} if match else set()


def _edge_lines(page: Page) -> list[Line]:
    ordered = sorted(page, key=lambda line: line.bottom)
    return ordered if len(ordered) <= 2 * _EDGE_LINES else ordered[:_EDGE_LINES] + ordered[-_EDGE_LINES:]


def _running_key(line: Line) -> tuple[str, int]:
    """The key by which running headers of pages are equal: words without numbers, and height."""
    words = "#" if _PAGE_NUMBER.fullmatch(line.text) else _DIGITS.sub("#", line.text.lower())
    return words, round(line.bottom / 4)


def _body_size(lines: list[Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0]


def _levels(lines: list[Line], body: float) -> dict[tuple[float, bool], int]:
    """The heading level of each font size above that of the text, largest first; then that of bold lines of its size."""
    chars: Counter[float] = Counter()
    for line in lines:
        if line.size >= body * _HEADING_SIZE and len(line.text) <= _HEADING_CHARS and not line.is_fixed:
            chars[line.size] += 1
    ranks: list[float] = []
    for size in sorted(chars, reverse=True):
        if not ranks or ranks[-1] - size > 0.04 * size:
            ranks.append(size)
    levels: dict[tuple[float, bool], int] = {}
    for size in chars:
        rank = next((at for at, top in enumerate(ranks) if top - size <= 0.04 * size), len(ranks))
        levels[size, False] = levels[size, True] = min(rank + 1, _HEADING_LEVELS)
    bold = sum(len(line.text) for line in lines if line.is_bold)
    if bold * 3 < sum(len(line.text) for line in lines):  # where a third is bold, bold marks no headings
        levels[body, True] = min(len(ranks) + 1, _HEADING_LEVELS)
    return levels


def _blocks(lines: list[Line], levels: dict[tuple[float, bool], int]) -> Iterator[list[Line]]:
    block: list[Line] = []
    for line in lines:
        if block and not _continues(block, line, levels):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _continues(block: list[Line], line: Line, levels: dict[tuple[float, bool], int]) -> bool:
    """Whether a line continues the paragraph before it."""
    last = block[-1]
    if last.is_fixed and line.is_fixed:
        return last.bottom - line.bottom < 3 * line.size  # code continues over an empty line, not over a page
    level = _level([line], levels)
    if last.is_fixed != line.is_fixed or level != _level(block, levels):
        return False
    if abs(last.size - line.size) > (0.5 if level else 3):
        return False
    if last.is_hyphenated:
        return True
    if _LEADERS.search(last.text) or _BULLET.match(line.text) or _NUMBERED.match(line.text):
        return False
    gap = last.bottom - line.bottom
    if gap < 0:  # the next column, or the next page
        return not last.text.endswith(_ENDS) and line.text[:1].islower()
    if gap > 1.75 * max(line.size, _spacing(block)):
        return False
    return bool(level) or not _begins_paragraph(block, line)


def _begins_paragraph(block: list[Line], line: Line) -> bool:
    """Whether a line begins a paragraph: it is indented, or the line above ends before the right edge."""
    last = block[-1]
    is_listed = _BULLET.match(block[0].text) or _NUMBERED.match(block[0].text)
    if is_listed and line.left < block[0].left - 1:
        return True
    if not last.text.endswith(_ENDS):
        return False
    if not is_listed and line.left > last.left + 0.8 * line.size:
        return True
    gap = max(other.right for other in [*block[-_MAX_LINES_BACK:], line]) - last.right
    return gap > 0.18 * (last.right - last.left + line.right - line.left)


def _spacing(block: list[Line]) -> float:
    return (block[-2].bottom - block[-1].bottom) / 1.4 if len(block) > 1 else 0.0


def _level(block: list[Line], levels: dict[tuple[float, bool], int]) -> int:
    first = block[0]
    level = levels.get((first.size, first.is_bold), 0)
    if not level or first.is_fixed or len(block) > _HEADING_LINES:
        return 0
    text = " ".join(line.text for line in block)
    if levels.get((first.size, False)):
        return level if len(text) <= _HEADING_CHARS else 0
    is_title = (
        len(text) <= _BOLD_HEADING_CHARS and all(line.is_bold for line in block) and not text.endswith((".", ",", ";", ":"))
    )
    return level if is_title else 0


def _write_block(block: list[Line], levels: dict[tuple[float, bool], int], words: set[str], builder: HtmlBuilder) -> None:
    if block[0].is_fixed:
        builder.code("\n".join(_indented(block)))
        return
    if _LEADERS.search(block[-1].text):
        builder.item(0, _LEADERS.sub(" … ", _joined(block, words)))
        return
    if level := _level(block, levels):
        builder.heading(level, _joined(block, words))
        return
    first = block[0]
    for pattern, is_numbered in ((_BULLET, False), (_NUMBERED, True)):
        mark = pattern.match(first.text)
        if mark is not None and (not is_numbered or len(block) == 1 or block[1].left > first.left + 1):
            # A number stays part of the text: which one it is matters, and a list starts at one.
            rest = first if is_numbered else _without_start(first, mark.end())
            inner = _joined([rest, *block[1:]], words)
            builder.paragraph(inner) if is_numbered else builder.item(0, inner)
            return
    builder.paragraph(_joined(block, words))


def _indented(block: list[Line]) -> Iterable[str]:
    """Lines of code with the indent that they have on the page."""
    edge = min(line.left for line in block)
    for line in block:
        width = (line.right - line.left) / max(1, len(line.text))
        yield " " * min(40, round((line.left - edge) / width) if width > 0 else 0) + line.text


def _without_start(line: Line, count: int) -> Line:
    links = tuple([(max(0, start - count), end - count, href) for start, end, href in line.links if end > count])
    return replace(line, text=line.text[count:], links=links)


def _joined(block: list[Line], words: set[str]) -> str:
    parts: list[str] = []
    for at, line in enumerate(block):
        text = _html(line)
        following = block[at + 1] if at + 1 < len(block) else None
        if following is None:
            parts.append(text)
        elif line.is_hyphenated:
            parts.append(text + _hyphen(line.text, following.text, words))
        else:
            parts.append(text + " ")
    return "".join(parts)


def _hyphen(before: str, after: str, words: set[str]) -> str:
    """The text between the halves of a hyphenated word: nothing, or a hyphen that belongs to the word."""
    head, tail = _LAST_PART.search(before), _FIRST_PART.match(after)
    if head is None or tail is None:
        return "-"
    whole, parted = f"{head[0]}{tail[0]}".lower(), f"{head[0]}-{tail[0]}".lower()
    if whole in words:
        return ""
    return "-" if parted in words or not tail[0][0].islower() else ""


def _html(line: Line) -> str:
    parts: list[str] = []
    at = 0
    for start, end, href in sorted(line.links):
        if start >= at:
            parts += (escape(line.text[at:start]), link(escape(line.text[start:end]), href))
            at = end
    parts.append(escape(line.text[at:]))
    return "".join(parts)
