"""Detects the format of a downloaded file by its first bytes, because servers send wrong content types."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sitelore.model.response import COMPOUND_MAGIC
from sitelore.model.settings import MediaType
from sitelore.model.url import Url

_OPEN_XML_TEXT = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_HEIF_BRANDS = frozenset({b"avif", b"avis", b"mif1", b"msf1", b"heic", b"heix", b"hevc", b"heim", b"heis"})
_SVG_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*|<!--.*?-->\s*|<!DOCTYPE\s+svg[^>\[]*>\s*)*<svg[\s>]", re.DOTALL | re.IGNORECASE
)
_PATH_EXTENSION = re.compile(r"\.([A-Za-z0-9]{2,5})$")
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of media files."""

    type: MediaType
    extension: str
    mime_type: str


def _image(extension: str, mime_type: str = "") -> FileFormat:
    return FileFormat(MediaType.IMAGE, extension, mime_type or f"image/{extension}")


def _video(extension: str, mime_type: str = "") -> FileFormat:
    return FileFormat(MediaType.VIDEO, extension, mime_type or f"video/{extension}")


JPEG, PNG, WEBP, GIF, AVIF = _image("jpg", "image/jpeg"), _image("png"), _image("webp"), _image("gif"), _image("avif")
SVG = _image("svg", "image/svg+xml")
_MP4, _MOV, _WEBM, _MKV = _video("mp4"), _video("mov", "video/quicktime"), _video("webm"), _video("mkv", "video/x-matroska")
_OGV, _AVI = _video("ogv", "video/ogg"), _video("avi", "video/x-msvideo")
PDF = FileFormat(MediaType.DOCUMENT, "pdf", "application/pdf")
DOCX = FileFormat(MediaType.DOCUMENT, "docx", _OPEN_XML_TEXT)
DOC = FileFormat(MediaType.DOCUMENT, "doc", "application/msword")
_MAGIC = (
    (b"\xff\xd8\xff", JPEG),
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"BM", _image("bmp")),
    (b"\0\0\1\0", _image("ico", "image/x-icon")),
    (b"II*\0", _image("tiff")),
    (b"MM\0*", _image("tiff")),
)
VIDEO_EXTENSIONS = frozenset({"mp4", "m4v", "webm", "mov", "ogv", "avi", "mkv"})
DOCUMENT_EXTENSIONS = frozenset({"pdf", "docx", "doc"})


def extension_of(url: Url) -> str:
    """The extension of a URL's path in lower case; empty when there is none."""
    match = _PATH_EXTENSION.search(url.path)
    return match[1].lower() if match else ""


def format_of(body: bytes, content_type: str, extension: str) -> FileFormat | None:
    """The format of a file; None when files of its kind are not kept."""
    for magic, file_format in _MAGIC:
        if body.startswith(magic):
            return file_format
    if body[:4] == b"RIFF":
        return {b"WEBP": WEBP, b"AVI ": _AVI}.get(body[8:12])
    if body[4:8] == b"ftyp":
        return _iso_format(body[8:12])
    if body.startswith(b"\x1a\x45\xdf\xa3"):
        return _WEBM if b"webm" in body[:_HEAD_BYTES] else _MKV
    if body.startswith(b"OggS"):
        return _OGV if content_type.startswith("video/") or extension == "ogv" else None
    if b"%PDF-" in body[:1024]:
        return PDF
    if body.startswith(b"PK\x03\x04"):
        return DOCX if b"word/" in body else None
    if body.startswith(COMPOUND_MAGIC):
        return DOC if "W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0".encode("latin-1") in body else None
    return SVG if _SVG_START.match(body[:_HEAD_BYTES]) else None


def _iso_format(brand: bytes) -> FileFormat:
    """The format of a file with ISO boxes, which hold images or videos."""
    if brand in _HEIF_BRANDS:
        return AVIF if brand in {b"avif", b"avis", b"mif1", b"msf1"} else _image("heic")
    return _MOV if brand == b"qt  " else _MP4
