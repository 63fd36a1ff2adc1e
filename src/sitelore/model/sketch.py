"""A page's lines as numbers: small enough to keep for every page, enough to see what pages of a site have in common.

`extract` makes a sketch of every page's text; `export` compares the sketches of a run and finds what repeats. A number is two
checksums of one line. They are no proof against somebody who wants two lines to look alike, and need not be: all that such a
site could reach is that a line of its own is taken for another line of its own.
"""

from __future__ import annotations

import struct
from zlib import adler32, crc32

LINES = 256
"""Lines that a sketch holds at most: the first and the last half of them. What repeats stands near the ends of a page."""


def sketch_of(lowered: bytes) -> bytes:
    """The sketch of a text, given as UTF-8 in lower case with one block a line."""
    lines = lowered.split(b"\n")
    if len(lines) > LINES:
        lines = lines[: LINES // 2] + lines[-LINES // 2 :]
    return struct.pack(f"<{2 * len(lines)}I", *map(crc32, lines), *map(adler32, lines))


def lines_of(sketch: bytes) -> list[int]:
    """One number a line, in order."""
    count = len(sketch) // 8
    numbers = struct.unpack(f"<{2 * count}I", sketch)
    return [crc << 32 | adler for crc, adler in zip(numbers[:count], numbers[count:], strict=True)]


def line_numbers(text: str) -> list[int]:
    """The number of every line of a text, as `sketch_of` counts it."""
    lines = text.encode("utf-8", "replace").lower().split(b"\n")
    return [crc << 32 | adler for crc, adler in zip(map(crc32, lines), map(adler32, lines), strict=True)]


SKETCH_SIZE = 32


def similarity(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """The estimated share of word pairs two texts have in common, 0 to 1. Exact for texts shorter than the sketch."""
    if not a or not b:
        return 0.0
    ours, theirs = set(a), set(b)
    smallest = sorted(ours | theirs)[:SKETCH_SIZE]
    return sum(1 for value in smallest if value in ours and value in theirs) / len(smallest)
