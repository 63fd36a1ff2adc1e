"""PDF → lines of text with their place, size and weight, links and metadata, by PDFium.

The library is native code fed with what strangers send: it is called in a reading process alone, which is bounded in time and
memory, and whose end costs the one document. The text of a page is taken in one call, and only a few characters of each line
are looked at closely.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sitelore.extract.files.flow import Flow
from sitelore.extract.files.office_facts import Facts, Told, language, pdf_date, sensible_title
from sitelore.extract.files.pdf_layout import Line, Page, write_pages
from sitelore.extract.files.unreadable import Unreadable

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


def read_pdf(body: bytes) -> Told:
    """The content of a PDF."""
    try:
        import pypdfium2 as pdfium  # noqa: PLC0415 optional, and most crawls meet no PDF
    except ImportError as error:
        raise Unreadable("reading PDF needs one more library: pip install 'sitelore[documents]'", is_closed=True) from error
    try:
        file = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        if error.err_code in {_PASSWORD_ERROR, _HANDLER_ERROR}:
            raise Unreadable("the PDF is protected by a password", is_closed=True) from error
        raise Unreadable("the PDF is cut off or damaged") from error
    try:
        return _Reader(file, pdfium).told()
    except pdfium.PdfiumError as error:
        raise Unreadable("the PDF is cut off or damaged") from error
    finally:
        file.close()


class _Reader:
    """One PDF being read."""

    def __init__(self, file: Any, pdfium: Any) -> None:
        self._file = file
        self._raw = pdfium.raw
        self._error = pdfium.PdfiumError
        self._links: list[str] = []
        self._numbers = tuple([ctypes.c_double() for _ in range(6)])
        self._name = ctypes.create_string_buffer(256)

    def told(self) -> Told:
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
        flow = Flow()
        write_pages(pages, flow)
        said = self._file.get_metadata_dict()
        links = tuple(dict.fromkeys(self._links))
        elsewhere = "\n".join([*map(str, said.values()), *(line.text for page in pages for line in page), *links])
        facts = self._facts(said, count, tuple(notes))
        return Told(flow.html(), facts, links, elsewhere, self._file.count_attachments() > 0)

    def _facts(self, said: dict[str, str], count: int, notes: tuple[str, ...]) -> Facts:
        return Facts(
            title=sensible_title(said.get("Title", "")),
            author=" ".join(said.get("Author", "").split())[:300],
            description=" ".join(said.get("Subject", "").split())[:1000],
            keywords=" ".join(said.get("Keywords", "").split())[:1000],
            published=pdf_date(said.get("CreationDate", "")),
            modified=pdf_date(said.get("ModDate", "")),
            lang=language(self._language()),
            pages=count,
            notes=notes,
        )

    def _language(self) -> str:
        buffer = (ctypes.c_ushort * 40)()
        size = self._raw.FPDFCatalog_GetLanguage(self._file.raw, buffer, ctypes.sizeof(buffer))
        return bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", "replace") if 0 < size <= ctypes.sizeof(buffer) else ""

    def _page(self, number: int) -> Page:
        """The lines of a page; none when the page is broken, which is no reason to leave the others."""
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
            found = [self._line(text_page.raw, places, *part) for part in _parts(text)]
            lines = [line for line in found if line is not None]
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
        looked_at = [places[at] if places else at for at in (first, (first + last) // 2, last)]
        low, middle, high = [max(0, raw.FPDFText_GetCharIndexFromTextIndex(raw_page, at)) for at in looked_at]
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
            return left.value, right.value, y.value, top.value  # letters differ in depth, the base line does not
        return left.value, right.value, bottom.value, top.value

    def _font(self, raw_page: Any, at: int) -> tuple[str, int]:
        flags = ctypes.c_int()
        size = self._raw.FPDFText_GetFontInfo(raw_page, at, self._name, len(self._name), flags)
        name = self._name.raw[: max(0, size - 1)].decode("utf-8", "replace") if 0 < size <= len(self._name) else ""
        return name.partition("+")[2] or name, flags.value

    def _size(self, raw_page: Any, at: int) -> float:
        """The size of type, as it is shown: many programs set size 1 and let a matrix enlarge it."""
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
    """The lines of a page's text: where each starts, what it says, what ends it."""
    at = 0
    for end in _LINE_END.finditer(text):
        yield at, text[at : end.start()], end[0]
        at = end.end()
    yield at, text[at:], ""


def _units_before(text: str) -> list[int] | None:
    """PDFium counts in UTF-16: where each character stands by that count; None where that is where it stands."""
    if text.isascii() or max(text) <= "\uffff":
        return None
    places = [0]
    for char in text:
        places.append(places[-1] + (2 if char > "\uffff" else 1))
    return places
