"""Determines the kind of a response body by its `Content-Type` and first bytes, and decodes text by its encoding.

The encoding is chosen in the order of the HTML standard (§13.2.3.2): byte order mark, HTTP header, `<meta>` prescan, then the
form of the bytes. Labels and decoders are those of the WHATWG Encoding Standard (§4.2), which the HTML library has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from sitelore.extract import dom
from sitelore.model.response import COMPOUND_MAGIC, OFFICE_TYPES, PDF_TYPES, VAGUE_TYPES, Response, starts_like_document

_BOMS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16le", b"\xfe\xff": "utf-16be"}


class ContentKind(StrEnum):
    """How a body is read."""

    HTML = "html"
    TEXT = "text"
    MARKDOWN = "markdown"
    PDF = "pdf"
    DOC = "doc"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    ARCHIVE = "archive"
    """A zip archive that may be an office file; its parts say which."""


FILE_KINDS = frozenset(
    {ContentKind.PDF, ContentKind.DOC, ContentKind.DOCX, ContentKind.PPTX, ContentKind.XLSX, ContentKind.ARCHIVE}
)
"""Kinds that are binary files, not text."""

_BY_TYPE = {
    "text/html": ContentKind.HTML,
    "application/xhtml+xml": ContentKind.HTML,
    "text/plain": ContentKind.TEXT,
    "text/markdown": ContentKind.MARKDOWN,
    "text/x-markdown": ContentKind.MARKDOWN,
}
_SNIFFED_TYPES = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
_XML_TYPES = frozenset({"application/xml", "text/xml"})

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"), (b"\xff\xd8\xff", "image/jpeg"),
    (b"%PDF-", "application/pdf"), (b"%!PS-Adobe-", "application/postscript"), (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"), (b"\x1f\x8b\x08", "application/gzip"), (b"BZh91AY&SY", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"), (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"), (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"), (b"\x7fELF", "application/x-elf"),
    (b"MZ\x90\x00", "application/x-msdownload"), (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\x00asm", "application/wasm"), (b"wOFF", "font/woff"), (b"wOF2", "font/woff2"), (b"OTTO\x00", "font/otf"),
    (b"\x00\x01\x00\x00", "font/ttf"), (b"\x00\x00\x01\x00", "image/x-icon"), (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"), (b"OggS\x00", "application/ogg"), (b"fLaC\x00", "audio/flac"), (b"ID3\x03", "audio/mpeg"),
    (b"ID3\x04", "audio/mpeg"), (b"\x1a\x45\xdf\xa3", "video/webm"), (b"SQLite format 3\x00", "application/vnd.sqlite3"),
)  # fmt: skip
_MAGIC_FIRST_BYTES = frozenset(magic[0] for magic, _ in _MAGIC)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_PDF_START = 1024  # a PDF may begin this many bytes into a body
_CONTROLS = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_SNIFF_BYTES = 1445  # the resource header of the MIME sniffing standard (§5.2)
# Comments are matched possessively: otherwise thirty of them could be divided in 2^30 ways.
_TAG_START = re.compile(rb"\s*+(?:<!--(?>.*?-->)\s*+)*+<(?:!doctype|[a-z?][a-z0-9:-]*[\s/>])", re.IGNORECASE | re.DOTALL)
_HTML_INSIDE = re.compile(rb"<html[\s>]|http://www\.w3\.org/1999/xhtml", re.IGNORECASE)


def content_kind(response: Response, *, documents: bool = False) -> tuple[ContentKind | None, str]:
    """The kind of a body, or None and the reason why it is not read. `documents`: whether PDF and office files are read."""
    declared = response.content_type
    if not response.body_read:
        return None, f"{declared or 'unknown type'} is not read"
    head = response.body[:_SNIFF_BYTES]
    if documents and (file_kind := _file_kind(declared, head)) is not None:
        return file_kind, ""
    kind = _BY_TYPE.get(declared)
    if kind is None and declared not in _SNIFFED_TYPES:
        if declared in _XML_TYPES and _HTML_INSIDE.search(head):
            return ContentKind.HTML, ""
        return None, f"{declared} is not a page"
    detected = binary_type(head)
    if detected:
        return None, f"{detected} bytes labelled {declared}" if declared else f"{detected} bytes without a type"
    if kind is None:
        kind = ContentKind.HTML if _TAG_START.match(head) or head[:2] in {b"\xff\xfe", b"\xfe\xff"} else ContentKind.TEXT
    return kind, ""


def _file_kind(declared: str, head: bytes) -> ContentKind | None:
    """The kind of a PDF or office file; None for anything else. Where the type names one, its first bytes may be less clear."""
    is_named = declared in PDF_TYPES or declared in OFFICE_TYPES or declared in VAGUE_TYPES
    if head.startswith(b"%PDF-") or (is_named and b"%PDF-" in head[:_PDF_START] and not head.startswith(b"PK")):
        return ContentKind.PDF
    if head.startswith(b"PK\x03\x04"):
        return ContentKind.ARCHIVE if is_named or starts_like_document(head) else None
    return ContentKind.DOC if head.startswith(COMPOUND_MAGIC) else None


def binary_type(head: bytes) -> str:
    """The media type of binary bytes, `binary` for an unknown one, empty for text."""
    if head.startswith(tuple(_BOMS)):
        return ""
    for magic, media_type in _MAGIC if head and head[0] in _MAGIC_FIRST_BYTES else ():
        if head.startswith(magic):
            return media_type
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "application/x-riff")
    if head[4:8] == b"ftyp":
        return "video/mp4"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls == 0:
        return ""
    # Real pages have stray control bytes. In UTF-16 without a byte order mark every second byte of ASCII text is zero.
    if not head[::2].strip(b"\x00") or not head[1::2].strip(b"\x00"):
        return ""
    return "binary" if controls > max(2, len(head) // 50) else ""


# Encodings

_PRESCAN_BYTES = 1024
_LATE_META_BYTES = 65536  # a parser that meets a later <meta> changes the encoding (§13.2.3.4)
_UTF16_START = re.compile(rb"<\x00[!?a-zA-Z]\x00|\x00<\x00[!?a-zA-Z]")
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]+)", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"'>]+)[\"']")
_LATE_META = re.compile(rb"<meta[\s/][^>]{0,500}charset", re.IGNORECASE)
_CONTENT_CHARSET = re.compile(r"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"'][^\s;]*))", re.IGNORECASE)
_RAW_TEXT = re.compile(
    rb"<(?=/?(?:script|style|title|textarea|noscript|noembed|noframes|iframe|template|select|plaintext|xmp)[\s/>])",
    re.IGNORECASE,
)
_LARGE_BODY = 2**20


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a body, and the encoding it was decoded from."""

    utf8: bytes
    """The text in UTF-8, without a byte order mark."""
    charset: str
    """The standard's name of the encoding, in lower case."""
    is_utf8: bool
    """Whether `utf8` is the body unchanged."""
    known_text: str | None = None
    """The text as a `str`; None for a large body, or one that was not valid UTF-8."""

    @property
    def text(self) -> str:
        """The text as a `str`."""
        return self.utf8.decode() if self.known_text is None else self.known_text


def decode(body: bytes, content_type: str = "") -> Decoded:
    """Decode a body. `content_type` is the whole header value, parameters included."""
    for mark, name in _BOMS.items():
        if body.startswith(mark):
            return _decoded(body[len(mark) :], name)
    declared = _header_charset(content_type) or _detect_utf16_from_null_bytes(body) or _meta_charset(body)
    if declared is not None and declared != "utf-8":
        return _decoded(body, declared)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return _decoded(body, declared or "windows-1252")
    # The standard's default for undeclared ASCII is windows-1252.
    charset = declared or ("windows-1252" if body.isascii() else "utf-8")
    return Decoded(body, charset, is_utf8=True, known_text=text if len(body) < _LARGE_BODY else None)


def _decoded(data: bytes, name: str) -> Decoded:
    return Decoded(dom.decode_as(data, name).encode("utf-8", "replace"), name, is_utf8=False)


@lru_cache(maxsize=64)
def _header_charset(content_type: str) -> str | None:
    match = _HEADER_CHARSET.search(content_type)
    return dom.charset_named(match[1]) if match else None


def _detect_utf16_from_null_bytes(body: bytes) -> str | None:
    if _UTF16_START.match(body) is None:
        return None
    return "utf-16be" if body[0] == 0 else "utf-16le"


def _meta_charset(body: bytes) -> str | None:
    """The encoding that a document declares in its markup, or None."""
    name = _prescan(body[:_PRESCAN_BYTES])
    if name is None and len(body) > _PRESCAN_BYTES:
        late = _LATE_META.search(body, 0, _LATE_META_BYTES)
        if late is not None:
            name = _prescan(body[: late.end() + _PRESCAN_BYTES])
    return name


def _prescan(head: bytes) -> str | None:
    """The encoding that the start of a document declares: by a `meta` element, or else by an XML declaration."""
    # The standard's prescan looks at tags alone, so also at those within a script.
    for meta in dom.select(dom.parse(_RAW_TEXT.sub(b"<x-", head).decode("latin-1")), "meta"):
        label = meta.attr("charset")
        if label is None and dom.attribute(meta, "http-equiv").lower() == "content-type":
            match = _CONTENT_CHARSET.search(dom.attribute(meta, "content"))
            label = (match[1] or match[2] or match[3]) if match else None
        name = dom.charset_named(label) if label else None
        if name is not None:
            return _effective_encoding(name)
    declaration = _XML_DECLARATION.match(head)
    name = dom.charset_named(declaration[1].decode("latin-1")) if declaration else None
    return _effective_encoding(name) if name else None


def _effective_encoding(name: str) -> str:
    """The encoding that a declaration in the markup means: markup that was read as ASCII is not UTF-16."""
    return {"utf-16be": "utf-8", "utf-16le": "utf-8", "x-user-defined": "windows-1252"}.get(name, name)
