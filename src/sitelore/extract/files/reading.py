"""Which kind of document a body is, and what it holds. The readers themselves are imported when the first one is met."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from html import escape
from importlib import import_module
from urllib.parse import unquote

from sitelore.extract import dom
from sitelore.extract.about.metadata import Metadata, robots_of
from sitelore.extract.about.outline import read_outline
from sitelore.extract.about.survey import layout_of
from sitelore.extract.files.office_facts import Facts, Told
from sitelore.extract.files.office_package import Package, as_text
from sitelore.extract.files.unreadable import Unreadable
from sitelore.extract.media import Kind
from sitelore.model.response import Response

_READERS = {
    Kind.PDF: ("pdf", "read_pdf"),
    Kind.DOCX: ("docx", "read_docx"),
    Kind.PPTX: ("pptx", "read_pptx"),
    Kind.XLSX: ("xlsx", "read_xlsx"),
    Kind.DOC: ("doc", "read_doc"),
}
_PARTS = (("word/", Kind.DOCX), ("xl/", Kind.XLSX), ("ppt/", Kind.PPTX))
_TITLE_CHARS = 120
_TAG = re.compile(r"<[^>]*>")


def read_document(kind: Kind, body: bytes) -> tuple[Kind, Told]:
    """The content of a document; raises `Unreadable` with the sentence that says why there is none."""
    if kind is Kind.ARCHIVE:
        kind = _office_kind(body)
    module, name = _READERS[kind]
    reader: Callable[[bytes], Told] = getattr(import_module(f"sitelore.extract.files.{module}"), name)
    return kind, reader(_from_its_start(body) if kind is Kind.PDF else body)


def _office_kind(body: bytes) -> Kind:
    """What an archive is, by the parts in it: a label may be wrong, and often says nothing but `zip`."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = [name.replace("\\", "/").lstrip("/").lower() for name in archive.namelist()]
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, zlib.error) as error:
        raise Unreadable("the archive is cut off or damaged") from error
    for start, kind in _PARTS:
        if any(name.startswith(start) and name.endswith(".xml") for name in names):
            return kind
    raise Unreadable("it is an archive, not a document", is_closed=True)


def _from_its_start(body: bytes) -> bytes:
    """Some servers put bytes before a PDF; within the first kilobyte they are forgiven."""
    start = body.find(b"%PDF-", 0, 1024)
    return body[start:] if start > 0 else body


def as_page(told: Told) -> str:
    """The content as `main` of an HTML page, and beside it the addresses that it links to elsewhere."""
    links = "".join(f'<a href="{escape(url)}"></a>' for url in told.links)
    return f"<main>{told.html}</main><nav>{links}</nav>"


def metadata_of(tree: dom.Tree, facts: Facts, response: Response) -> Metadata:
    """What the document says of itself; its title else is its first heading, its first line, or its name."""
    outline = read_outline(layout_of(tree))
    h1 = next((text for level, text in outline.headings if level == 1), "")
    said = {"pages": str(facts.pages or ""), "keywords": facts.keywords, "note": " ".join(facts.notes)}
    return Metadata(
        title=facts.title
        or h1
        or next((text for _, text in outline.headings if text), "")
        or _first_line(tree)
        or _name(response),
        h1=h1,
        description=facts.description,
        lang=facts.lang or (response.header("content-language") or "").partition(",")[0].strip(),
        base=response.url,
        robots=robots_of([], response.header_all("x-robots-tag")),
        meta={name: value for name, value in said.items() if value},
        author=facts.author,
        published=facts.published,
        modified=facts.modified,
        outline=outline,
    )


def _first_line(tree: dom.Tree) -> str:
    first = dom.first(tree, "p")
    return dom.one_line(first)[:_TITLE_CHARS] if first is not None else ""


def _name(response: Response) -> str:
    return unquote(response.url.path.rpartition("/")[2])[:_TITLE_CHARS]


def unseen_text(kind: Kind, body: bytes, told: Told) -> str:
    """All text in a file that can be got at, whether it shows or not: the file is kept only when no secret is in it."""
    parts = [told.elsewhere, body.decode("latin-1")]
    if kind in {Kind.DOCX, Kind.PPTX, Kind.XLSX}:
        package = Package(body)
        for name in package.markup_parts():
            text = as_text(package.part(name))
            parts += (text, _TAG.sub("", text))
    return "\n".join(parts)
