"""Detects sitemaps and feeds that were fetched as pages, by their first bytes (content sniffing)."""

from __future__ import annotations

import codecs
import re
import zlib

from sitelore.intake.decompress import GZIP_MAGIC

_HEAD_BYTES = 4096
_PAGE_STARTS = (b"<!doctype html", b"<html")
_PROLOG = re.compile(r"<\?.*?\?>|<!--.*?-->|[^<]+", re.DOTALL)
_NAME = re.compile(r"<(?:!doctype\s+)?(?:[\w.-]+:)?([\w.-]+)", re.IGNORECASE)
_LISTED = re.compile(r"https?://\S+\s*$", re.IGNORECASE | re.MULTILINE)


def looks_like_sitemap(body_head: bytes, content_type: str, path: str) -> bool:
    """Whether a body that starts like this is read as a sitemap or feed instead of as a page.

    The root tag decides, or the name in a DOCTYPE (so that a sitemap with a DTD is recognised and its rejection recorded); the
    path decides only for gzip whose content is unclear, and for text lists.
    """
    if body_head.startswith(GZIP_MAGIC):
        return "sitemap" in path.lower() or _is_sitemap_text(_decompress_head(body_head), path)
    if "html" in content_type and body_head[:64].lstrip().lower().startswith(_PAGE_STARTS):
        return False
    return _is_sitemap_text(body_head[:_HEAD_BYTES], path)


def _is_sitemap_text(head: bytes, path: str) -> bool:
    from sitelore.intake.sitemap import ROOTS  # noqa: PLC0415 nearly all responses are recognised as pages before this

    text = _decode_head(head).lstrip("\ufeff \t\r\n")
    if not text.startswith("<"):
        name = path.rpartition("/")[2].lower()
        return "sitemap" in name and name.endswith((".txt", ".txt.gz")) and _LISTED.match(text) is not None
    at = 0
    while prolog := _PROLOG.match(text, at):
        at = prolog.end()
    match = _NAME.match(text, at)
    name = match[1].lower() if match else ""
    # RDF is a feed only when it declares RSS; other vocabularies use the same root.
    return name in ROOTS and (name != "rdf" or "/rss/" in text)


def _decompress_head(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
    except zlib.error:
        return b""


def _decode_head(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "replace")
    if head[:2] in {b"<\0", b"\0<"}:
        return head.decode("utf-16-le" if head[0] else "utf-16-be", "replace")
    return head.decode("utf-8", "replace")
