"""Decompresses and decodes a sitemap piece by piece, so that memory stays bounded even for a decompression bomb."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator

GZIP_MAGIC = b"\x1f\x8b"
PIECE_BYTES = 64 * 1024

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
# Character sets only: Python also has codecs (punycode, unicode_escape …) that no document is written in.
_CHARACTER_SETS = re.compile(r"utf-8|iso8859-\d+|cp\d{3,4}|koi8-[rtu]|gb\w+|big5\w*|euc_\w+|shift_\w+|iso2022_\w+|mac-\w+")


class TextStream:
    """A body as a stream of text. After the last piece, `problem` says what was wrong with the compression or size."""

    def __init__(self, body: bytes, content_type: str, max_bytes: int) -> None:
        self._body = body
        self._content_type = content_type
        self._max_bytes = max_bytes
        self.problem = ""

    def __iter__(self) -> Iterator[str]:
        pieces = self._bytes()
        head = next(pieces, b"")
        encoding, skip = _encoding(head, self._content_type)
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        yield decoder.decode(head[skip:])
        for piece in pieces:
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)

    def _bytes(self) -> Iterator[bytes]:
        remaining = self._max_bytes
        for piece in self._inflated() if self._body.startswith(GZIP_MAGIC) else self._sliced():
            if len(piece) > remaining:
                yield piece[:remaining]
                self.problem = f"too_large: more than {self._max_bytes} bytes"
                return
            remaining -= len(piece)
            if piece:
                yield piece

    def _sliced(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), PIECE_BYTES):
            yield self._body[start : start + PIECE_BYTES]

    def _inflated(self) -> Iterator[bytes]:
        """All members of a gzip file (RFC 1952 §2.2); bytes after the last one are padding."""
        packed = b""
        inflater = None
        for part in self._sliced():
            packed += part
            while packed:
                if inflater is None:
                    if not packed.startswith(GZIP_MAGIC):
                        return
                    inflater = zlib.decompressobj(wbits=31)
                try:
                    piece = inflater.decompress(packed, PIECE_BYTES)
                except zlib.error as error:
                    self.problem = f"broken_gzip: {error}"
                    return
                packed = inflater.unconsumed_tail
                if inflater.eof:
                    packed, inflater = inflater.unused_data, None
                yield piece
        if inflater is not None:
            # At most the few bits that zlib holds back, so it cannot be a bomb.
            yield inflater.flush()
            if not inflater.eof:
                self.problem = "broken_gzip: it ends too early"


def _encoding(head: bytes, content_type: str) -> tuple[str, int]:
    """The encoding and the length of its byte order mark, by: mark, zero bytes, header, declaration (RFC 7303 §3)."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name, len(mark)
    if head[:2] == b"<\0":
        return "utf-16-le", 0
    if head[:2] == b"\0<":
        return "utf-16-be", 0
    header = _CHARSET.search(content_type)
    declared = _DECLARED.search(head[:512])
    for name in (header[1] if header else "", declared[1].decode("ascii") if declared else ""):
        supported = _supported(name)
        if supported:
            return supported, 0
    return ("utf-8" if _is_utf8(head) else "cp1252"), 0


def _supported(name: str) -> str:
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    if codec in {"ascii", "iso8859-1"}:
        return "cp1252"  # as browsers read them (WHATWG Encoding §4.2)
    # UTF-16 is excluded: a declaration that could be read byte by byte is not written in it.
    return codec if _CHARACTER_SETS.fullmatch(codec) else ""


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
