"""The format of a file is that of its bytes, whatever the server calls it."""

from __future__ import annotations

import pytest
from tests.support import files

from sitelore.media.formats import extension_of, format_of
from sitelore.model.url import Url


@pytest.mark.parametrize(
    ("body", "extension"),
    [
        (b"\xff\xd8\xff\xe0", "jpg"),
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"GIF89a", "gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "webp"),
        (b"\0\0\0\x20ftypavif", "avif"),
        (b"\0\0\0\x20ftypisom", "mp4"),
        (b"\0\0\0\x14ftypqt  ", "mov"),
        (b"\x1a\x45\xdf\xa3\0\0webm", "webm"),
        (b'<?xml version="1.0"?>\n<!-- x --><svg xmlns="x">', "svg"),
        (b"\xef\xbb\xbf <SVG width='1'>", "svg"),
        (files.prose_pdf("Title", "words"), "pdf"),
        (files.docx(files.docx_paragraph("words")), "docx"),
        (files.doc("words\r", (1,)), "doc"),
    ],
)
def test_a_file_is_recognised_by_its_bytes(body: bytes, extension: str) -> None:
    file_format = format_of(body, "application/octet-stream", "")
    assert file_format is not None
    assert file_format.extension == extension


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html><svg></svg></html>", b"<!doctype html><svg>", b"OggS", b"ID3", b"PK\x03\x04 xl/workbook.xml",
        files.pptx([]), files.xlsx({}),
    ],
)  # fmt: skip
def test_anything_else_is_no_media_file(body: bytes) -> None:
    assert format_of(body, "image/png", "png") is None


def test_the_extension_is_that_of_the_path() -> None:
    urls = ("http://a/x.JPG?y=z.png", "http://a/x", "http://a/x.tar.gz#f.png", "http://a.pdf/")
    parsed = [url for raw in urls if (url := Url.parse(raw))]
    assert [extension_of(url) for url in parsed] == ["jpg", "", "gz", ""]
