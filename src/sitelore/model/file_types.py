"""Documents that are not pages (PDF, office files): recognised by media type and by their first bytes."""

from __future__ import annotations

_OPEN_XML = "application/vnd.openxmlformats-officedocument."
PDF_TYPES = frozenset({"application/pdf", "application/x-pdf", "application/acrobat", "text/pdf", "text/x-pdf"})
OFFICE_TYPES = frozenset(
    {
        f"{_OPEN_XML}wordprocessingml.document",
        f"{_OPEN_XML}wordprocessingml.template",
        f"{_OPEN_XML}presentationml.presentation",
        f"{_OPEN_XML}presentationml.slideshow",
        f"{_OPEN_XML}presentationml.template",
        f"{_OPEN_XML}spreadsheetml.sheet",
        f"{_OPEN_XML}spreadsheetml.template",
        "application/vnd.ms-word.document.macroenabled.12",
        "application/vnd.ms-excel.sheet.macroenabled.12",
        "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        "application/msword",
        "application/x-msword",
        "application/vnd.ms-word",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.ms-office",
        "application/x-ole-storage",
    }
)
VAGUE_TYPES = frozenset(
    {
        "",
        "application/octet-stream",
        "binary/octet-stream",
        "application/unknown",
        "unknown/unknown",
        "application/zip",
        "application/x-zip",
        "application/x-zip-compressed",
        "application/download",
        "application/force-download",
        "application/x-download",
        "application/x-force-download",
    }
)
"""Types that servers send for files they do not know; the first bytes decide whether it is a document."""

COMPOUND_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PDF_MAGIC = b"%PDF-"
_ZIP_MAGIC = b"PK\x03\x04"
_OFFICE_PARTS = (b"[content_types].xml", b"_rels/", b"docprops/", b"customxml/", b"word/", b"xl/", b"ppt/")
_ZIP_NAME = 30  # offset of the first entry's name, after its header


def is_document_type(content_type: str) -> bool:
    """Whether a media type names a document that can be extracted."""
    return content_type in PDF_TYPES or content_type in OFFICE_TYPES


def starts_like_document(head: bytes) -> bool:
    """Whether bytes begin like a PDF or office file. For a ZIP archive, the name of the first entry decides."""
    if head.startswith(_ZIP_MAGIC):
        return head[_ZIP_NAME : _ZIP_NAME + 20].lower().startswith(_OFFICE_PARTS)
    return head.startswith((_PDF_MAGIC, COMPOUND_MAGIC))
