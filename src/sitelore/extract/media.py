"""What kind of thing a body is: what its header says, checked against what its first bytes show."""

from __future__ import annotations

import re
from enum import StrEnum

from sitelore.model.file_types import COMPOUND_MAGIC, OFFICE_TYPES, PDF_TYPES, VAGUE_TYPES, starts_like_document
from sitelore.model.response import Response


class Kind(StrEnum):
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
    """A zip archive that may be one of the last three."""


DOCUMENTS = frozenset({Kind.PDF, Kind.DOC, Kind.DOCX, Kind.PPTX, Kind.XLSX, Kind.ARCHIVE})
"""Kinds that are files, not text."""

_BY_TYPE = {
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    "text/plain": Kind.TEXT,
    "text/markdown": Kind.MARKDOWN,
    "text/x-markdown": Kind.MARKDOWN,
}
_SNIFFED_TYPES = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
_XML_TYPES = frozenset({"application/xml", "text/xml"})

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh91AY&SY", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-elf"),
    (b"MZ\x90\x00", "application/x-msdownload"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\x00asm", "application/wasm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO\x00", "font/otf"),
    (b"\x00\x01\x00\x00", "font/ttf"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"OggS\x00", "application/ogg"),
    (b"fLaC\x00", "audio/flac"),
    (b"ID3\x03", "audio/mpeg"),
    (b"ID3\x04", "audio/mpeg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
)
_FIRST_BYTES = frozenset(magic[0] for magic, _ in _MAGIC)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_PDF_START = 1024  # bytes before a PDF's own first ones are forgiven within this
_CONTROLS = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_SNIFF_BYTES = 1445  # the resource header of the MIME sniffing standard (§5.2)
_TAG_START = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype|[a-z?][a-z0-9:-]*[\s/>])", re.IGNORECASE | re.DOTALL)
_HTML_INSIDE = re.compile(rb"<html[\s>]|http://www\.w3\.org/1999/xhtml", re.IGNORECASE)


def kind_of(response: Response, *, documents: bool = False) -> tuple[Kind | None, str]:
    """How to read a body, or None and the sentence that says why it is not read. Files only where `documents` are asked for."""
    declared = response.content_type
    if not response.body_read:
        return None, f"{declared or 'unknown type'} is not read"
    head = response.body[:_SNIFF_BYTES]
    if documents and (file := _document_kind(declared, head)) is not None:
        return file, ""
    kind = _BY_TYPE.get(declared)
    if kind is None and declared not in _SNIFFED_TYPES:
        if declared in _XML_TYPES and _HTML_INSIDE.search(head):
            return Kind.HTML, ""
        return None, f"{declared} is not a page"
    found = binary_type(head)
    if found:
        return None, f"{found} bytes labelled {declared}" if declared else f"{found} bytes without a type"
    if kind is None:
        kind = Kind.HTML if _TAG_START.match(head) or head[:2] in {b"\xff\xfe", b"\xfe\xff"} else Kind.TEXT
    return kind, ""


def _document_kind(declared: str, head: bytes) -> Kind | None:
    """The kind of file that a body is, if it is one: its first bytes decide, its label says how hard to look."""
    is_named = declared in PDF_TYPES or declared in OFFICE_TYPES or declared in VAGUE_TYPES
    if head.startswith(b"%PDF-") or (is_named and b"%PDF-" in head[:_PDF_START] and not head.startswith(b"PK")):
        return Kind.PDF
    if head.startswith(b"PK\x03\x04"):
        return Kind.ARCHIVE if is_named or starts_like_document(head) else None
    return Kind.DOC if head.startswith(COMPOUND_MAGIC) else None


def binary_type(head: bytes) -> str:
    """The media type of binary bytes, `binary` when they are some other non-text, empty for text."""
    if head.startswith(_TEXT_MARKS):
        return ""
    # Most bodies begin like none of them.
    for magic, media_type in _MAGIC if head and head[0] in _FIRST_BYTES else ():
        if head.startswith(magic):
            return media_type
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "application/x-riff")
    if head[4:8] == b"ftyp":
        return "video/mp4"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls == 0:
        return ""
    # Real pages carry a stray control byte; UTF-16 without a mark is half zeros, all of them in every second place.
    if not head[::2].strip(b"\x00") or not head[1::2].strip(b"\x00"):
        return ""
    return "binary" if controls > max(2, len(head) // 50) else ""
