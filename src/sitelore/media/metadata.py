"""Removes metadata from image files that are stored as they were received, without decoding them.

Cameras write the place and the owner into photos. What an image needs to look right stays: colour profiles, Adobe's marker of
the colour transform, transparency, and the orientation.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator

_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_DROPPED = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"dSIG"})
_SOS, _EOI, _COMMENT, _APP0, _APP1, _APP15 = 0xDA, 0xD9, 0xFE, 0xE0, 0xE1, 0xEF
_KEPT_APPS = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
_ALONE = frozenset({0x01, *range(0xD0, 0xDA)})
"""Markers without a length."""
_ORIENTATION = 0x0112
_EXIF = b"Exif\0\0"
_WEBP_EXIF, _WEBP_XMP = 0x08, 0x04
"""Flags in the header of an extended WebP."""
_NEXT_MARKER = re.compile(rb"\xff[^\0\xd0-\xd7\xff]")
"""Within a scan, 0xff is data where one of these bytes follows."""


def strip_metadata(data: bytes, extension: str) -> bytes:
    """The file without metadata; a file of another format, or one that cannot be parsed, as it is."""
    strip = {"jpg": _strip_jpeg, "png": _strip_png, "webp": _strip_webp}.get(extension)
    if strip is None:
        return data
    try:
        return strip(data)
    except (IndexError, struct.error):
        return data


def _strip_jpeg(data: bytes) -> bytes:
    """Drop comments and application segments. The orientation is kept in a segment that holds nothing else."""
    kept, orientation = [data[:2]], 0
    for marker, segment in _segments(data):
        body = segment[4:]
        if marker == _APP1 and body.startswith(_EXIF):
            orientation = _orientation_of(body[len(_EXIF) :]) or orientation
        if marker != _COMMENT and not (_APP0 <= marker <= _APP15 and not _is_kept_app(marker, body)):
            kept.append(segment)
    if orientation > 1:
        body = _EXIF + _exif_of(orientation)
        kept.insert(1, b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body)
    return b"".join(kept)


def _segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The segments of a JPEG with their markers, each scan with its data, until the end of the image: what follows is another
    file. Raises `IndexError` where there is none.
    """
    at = 2
    while at < len(data):
        while data[at] == 0xFF and data[at + 1] == 0xFF:  # fill bytes
            at += 1
        if data[at] != 0xFF:
            raise IndexError
        marker, end = data[at + 1], at + 2
        if marker not in _ALONE:
            end += int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == _SOS:
            following = _NEXT_MARKER.search(data, end)
            end = len(data) if following is None else following.start()
        yield marker, data[at:end]
        if marker == _EOI:
            return
        at = end


def _is_kept_app(marker: int, body: bytes) -> bool:
    start = _KEPT_APPS.get(marker)
    return start is not None and body.startswith(start)


def _orientation_of(tiff: bytes) -> int:
    """The orientation in the first directory of EXIF data; 0 without one."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return 0
    try:
        [start] = struct.unpack_from(f"{order}I", tiff, 4)
        [count] = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(min(count, 500)):
            tag, kind = struct.unpack_from(f"{order}HH", tiff, start + 2 + 12 * entry)
            if tag == _ORIENTATION and kind == 3:
                [value] = struct.unpack_from(f"{order}H", tiff, start + 2 + 12 * entry + 8)
                return value if 1 <= value <= 8 else 0
    except struct.error:
        return 0
    return 0


def _exif_of(orientation: int) -> bytes:
    """EXIF data with nothing but the orientation."""
    return b"MM\0*\0\0\0\x08" + struct.pack(">HHHIHHI", 1, _ORIENTATION, 3, 1, orientation, 0, 0)


def _strip_png(data: bytes) -> bytes:
    kept, at = [_PNG_START], len(_PNG_START)
    while at < len(data):
        [size] = struct.unpack_from(">I", data, at)
        kind = data[at + 4 : at + 8]
        end = at + 12 + size
        if end > len(data):
            return data
        if kind == b"eXIf":
            orientation = _orientation_of(data[at + 8 : end - 4])
            kept.append(_png_chunk(kind, _exif_of(orientation)) if orientation > 1 else b"")
        elif kind not in _PNG_DROPPED:
            kept.append(data[at:end])
        at = end
        if kind == b"IEND":
            break
    return b"".join(kept)


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _strip_webp(data: bytes) -> bytes:
    kept, at = [], 12
    while at + 8 <= len(data):
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        end = at + 8 + size + size % 2
        chunk = data[at:end]
        at = end
        if kind == b"EXIF":
            orientation = _orientation_of(chunk[8:].removeprefix(_EXIF))
            exif = _exif_of(orientation)
            chunk = kind + len(exif).to_bytes(4, "little") + exif if orientation > 1 else b""
        elif kind == b"XMP ":
            chunk = b""
        kept.append(chunk)
    has_exif = any(chunk.startswith(b"EXIF") for chunk in kept)
    for number, chunk in enumerate(kept):
        if chunk.startswith(b"VP8X"):
            flags = chunk[8] & ~_WEBP_XMP & ~(0 if has_exif else _WEBP_EXIF)
            kept[number] = chunk[:8] + bytes([flags]) + chunk[9:]
    body = b"WEBP" + b"".join(kept)
    return b"RIFF" + len(body).to_bytes(4, "little") + body
