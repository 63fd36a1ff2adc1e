"""Converts PDF and office files to HTML, which is then processed like any page.

It also holds the types and helpers that the modules of all formats use. A format's module is imported when the first file of
that format is read.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from urllib.parse import unquote

from sitelore.extract import dom
from sitelore.extract.metadata import ANNOTATED, Metadata, read_outline, read_robots
from sitelore.extract.response_body import ContentKind
from sitelore.model.response import Response

_READERS = {
    ContentKind.PDF: ("pdf", "read_pdf"),
    ContentKind.DOCX: ("docx", "read_docx"),
    ContentKind.PPTX: ("pptx", "read_pptx"),
    ContentKind.XLSX: ("xlsx", "read_xlsx"),
    ContentKind.DOC: ("doc", "read_doc"),
}
_PART_FOLDERS = (("word/", ContentKind.DOCX), ("xl/", ContentKind.XLSX), ("ppt/", ContentKind.PPTX))
_MAX_TITLE_CHARS = 120
_TAG = re.compile(r"<[^>]*>")
_MAX_LIST_LEVEL = 8
_CODE_END = "</code></pre>"
_PROGRAM_TITLE = re.compile(
    r"(?i)microsoft (?:word|powerpoint|excel) - |\.(?:docx?|pptx?|xlsx?|pdf|dvi|tex|indd|qxd)$|^(?:untitled|title|slide 1)$"
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3}")


class Unreadable(Exception):
    """A file or API answer cannot be read, with a sentence that says why. `page` turns it into a `problem`."""

    def __init__(self, sentence: str, *, is_unsupported: bool = False) -> None:
        super().__init__(sentence)
        self.is_unsupported = is_unsupported
        """Whether it is intact but cannot be read: it has a password, or needs a library that is not installed."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The metadata of a file."""

    title: str = ""
    author: str = ""
    description: str = ""
    keywords: str = ""
    published: str = ""
    modified: str = ""
    lang: str = ""
    pages: int = 0
    notes: tuple[str, ...] = ()
    """Sentences on what was not read."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as HTML that holds nothing but its content, and its metadata."""

    html: str
    facts: FileFacts = FileFacts()
    links: tuple[str, ...] = ()
    """Addresses that it links to and that are not in the HTML."""
    other_text: str = field(default="", repr=False)
    """Text that is not part of the content. It must hold no secret if the file itself is to be stored."""
    has_embedded_files: bool = False
    """Whether it contains other files, which were not read."""


def read_file(kind: ContentKind, body: bytes) -> tuple[ContentKind, FileContent]:
    """The kind and the content of a file. Raises `Unreadable`."""
    if kind is ContentKind.ARCHIVE:
        kind = _office_kind(body)
    module, name = _READERS[kind]
    reader: Callable[[bytes], FileContent] = getattr(import_module(f"sitelore.extract.files.{module}"), name)
    return kind, reader(_without_prefix(body) if kind is ContentKind.PDF else body)


def _office_kind(body: bytes) -> ContentKind:
    """The kind of an archive, by its parts: a content type may be wrong, and often is nothing but `zip`."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = [name.replace("\\", "/").lstrip("/").lower() for name in archive.namelist()]
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, zlib.error) as error:
        raise Unreadable("the archive is cut off or damaged") from error
    for folder, kind in _PART_FOLDERS:
        if any(name.startswith(folder) and name.endswith(".xml") for name in names):
            return kind
    raise Unreadable("it is an archive, not a document", is_unsupported=True)


def _without_prefix(body: bytes) -> bytes:
    """A PDF without the bytes that some servers put before it."""
    start = body.find(b"%PDF-", 0, 1024)
    return body[start:] if start > 0 else body


def as_html_page(content: FileContent) -> str:
    """The content as `main` of an HTML page, and its other links as `nav`."""
    links = "".join(f'<a href="{escape(url)}"></a>' for url in content.links)
    return f"<main>{content.html}</main><nav>{links}</nav>"


def file_metadata(tree: dom.Tree, facts: FileFacts, response: Response) -> Metadata:
    """The metadata of a file. Without a title of its own it is its first heading, its first line, or its file name."""
    outline = read_outline(tree, dom.select(tree, ANNOTATED))
    h1 = next((text for level, text in outline.headings if level == 1), "")
    properties = {"pages": str(facts.pages or ""), "keywords": facts.keywords, "note": " ".join(facts.notes)}
    return Metadata(
        title=facts.title
        or h1
        or next((text for _, text in outline.headings if text), "")
        or _first_line(tree)
        or _file_name(response),
        h1=h1,
        description=facts.description,
        lang=facts.lang or (response.header("content-language") or "").partition(",")[0].strip(),
        base=response.url,
        robots=read_robots([], response.header_all("x-robots-tag")),
        meta={name: value for name, value in properties.items() if value},
        author=facts.author,
        published=facts.published,
        modified=facts.modified,
        outline=outline,
    )


def _first_line(tree: dom.Tree) -> str:
    first = dom.first(tree, "p")
    return dom.one_line_text(first)[:_MAX_TITLE_CHARS] if first is not None else ""


def _file_name(response: Response) -> str:
    return unquote(response.url.path.rpartition("/")[2])[:_MAX_TITLE_CHARS]


def all_text(kind: ContentKind, body: bytes, content: FileContent) -> str:
    """All text in a file, shown or not: the file is stored only when no secret is in it."""
    parts = [content.other_text, body.decode("latin-1")]
    if kind in {ContentKind.DOCX, ContentKind.PPTX, ContentKind.XLSX}:
        from sitelore.extract.files.office_package import Package, as_text  # noqa: PLC0415 it imports this module

        package = Package(body)
        for name in package.markup_parts():
            text = as_text(package.part(name))
            parts += (text, _TAG.sub("", text))
    return "\n".join(parts)


def sensible_title(text: str) -> str:
    """A title on one line; empty for one that a program made up."""
    plain = " ".join(text.split())
    return "" if _PROGRAM_TITLE.search(plain) else plain[:500]


def language_tag(text: str) -> str:
    """A language tag; empty for anything else."""
    plain = text.strip()
    return plain if _LANGUAGE.fullmatch(plain) and plain.lower() not in {"und", "x-none"} else ""


def small_int(text: str, default: int = 0) -> int:
    """A decimal number of up to seven digits; the default for anything else (int() fails for thousands of digits)."""
    return int(text) if text.isdecimal() and len(text) < 8 else default


class HtmlBuilder:
    """Builds the HTML of a document block by block. Inner parts are HTML already (`escape`, `link`, `wrap`)."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open: list[str] = []
        """The open lists, outermost first; each has an open item."""
        self.chars = 0

    def paragraph(self, inner: str) -> None:
        """Add a paragraph; an empty one is left out."""
        self.block(f"<p>{inner}</p>" if inner.strip() else "")

    def heading(self, level: int, inner: str) -> None:
        """Add a heading; its level is limited to 1 to 6."""
        level = min(6, max(1, level))
        self.block(f"<h{level}>{inner}</h{level}>" if inner.strip() else "")

    def code(self, text: str) -> None:
        """Add code; it continues a code block right before it."""
        if text.strip() and not self._open and self._parts and self._parts[-1].endswith(_CODE_END):
            self._parts[-1] = f"{self._parts[-1].removesuffix(_CODE_END)}\n{escape(text)}{_CODE_END}"
            return
        self.block(f"<pre><code>{escape(text)}{_CODE_END}" if text.strip() else "")

    def block(self, html: str) -> None:
        """Add any other block, such as a table; an empty one is left out."""
        if not html:
            return
        while self._open:
            self._close()
        self._add(html)

    def item(self, level: int, inner: str, *, is_numbered: bool = False) -> None:
        """Add an item of a list; level 0 is the outermost."""
        if not inner.strip():
            return
        tag = "ol" if is_numbered else "ul"
        depth = min(level, _MAX_LIST_LEVEL, len(self._open)) + 1
        while len(self._open) > depth:
            self._close()
        if len(self._open) == depth and self._open[-1] != tag:
            self._close()
        if len(self._open) == depth:
            self._add("</li><li>")
        else:
            self._open.append(tag)
            self._add(f"<{tag}><li>")
        self._add(inner)

    def html(self) -> str:
        """The whole document; closes open lists."""
        while self._open:
            self._close()
        return "\n".join(self._parts)

    def _close(self) -> None:
        self._add(f"</li></{self._open.pop()}>")

    def _add(self, html: str) -> None:
        self._parts.append(html)
        self.chars += len(html)


def link(inner: str, href: str) -> str:
    """HTML within a link; without an address or text it stays as it is."""
    return f'<a href="{escape(href)}">{inner}</a>' if href and inner.strip() else inner


def wrap(inner: str, *tags: str) -> str:
    """HTML within elements such as `strong`; space at its edges stays outside, where Markdown needs it."""
    core = inner.strip()
    if not core:
        return inner
    start = inner.index(core)
    before, after = inner[:start], inner[start + len(core) :]
    for tag in tags:
        core = f"<{tag}>{core}</{tag}>"
    return f"{before}{core}{after}"


def table(rows: list[list[str]]) -> str:
    """Rows of cells (HTML each) as a table whose first row is its head; empty rows and empty last columns are left out."""
    width = max((at for row in rows for at, cell in enumerate(row, 1) if cell.strip()), default=0)
    lines = [[*row[:width], *[""] * (width - len(row))] for row in rows if any(cell.strip() for cell in row)]
    if not lines:
        return ""
    head, *rest = lines
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(["<tr>" + "".join([f"<td>{cell}</td>" for cell in row]) + "</tr>" for row in rest])
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
