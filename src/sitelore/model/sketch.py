"""Sketches: small fingerprints of a page's text, for finding repeated lines and comparing pages.

A line sketch has one number per line. `extract` makes it for every page; `export` finds the lines that repeat over a site. A
number consists of two checksums, which is no protection against deliberate collisions, and need not be: a site can only make
two of its own lines look equal.

A fingerprint is a bottom-k sketch: the smallest hashes of a text's word pairs, sorted. `extract/text.py` makes it;
`crawl/soft_404.py` compares a page with a probe by it.
"""

from __future__ import annotations

import struct
from zlib import adler32, crc32

LINES = 256
"""The maximum number of lines in a sketch: the first and the last half. Repeated lines are near the ends of a page."""
SKETCH_SIZE = 32
"""The maximum number of hashes in a fingerprint."""


def sketch_of(lowered: bytes) -> bytes:
    """The line sketch of a text, given as UTF-8 in lower case with one block per line."""
    lines = lowered.split(b"\n")
    if len(lines) > LINES:
        lines = lines[: LINES // 2] + lines[-LINES // 2 :]
    return struct.pack(f"<{2 * len(lines)}I", *map(crc32, lines), *map(adler32, lines))


def lines_of(sketch: bytes) -> list[int]:
    """The numbers of a line sketch, one per line, in order."""
    count = len(sketch) // 8
    numbers = struct.unpack(f"<{2 * count}I", sketch)
    return [crc << 32 | adler for crc, adler in zip(numbers[:count], numbers[count:], strict=True)]


def line_numbers(text: str) -> list[int]:
    """The number of every line of a text, as `sketch_of` computes it."""
    lines = text.encode("utf-8", "replace").lower().split(b"\n")
    return [crc << 32 | adler for crc, adler in zip(map(crc32, lines), map(adler32, lines), strict=True)]


def similarity(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """The estimated share of word pairs that two texts have in common, 0 to 1. Exact for texts shorter than the fingerprint."""
    if not a or not b:
        return 0.0
    first, second = set(a), set(b)
    smallest = sorted(first | second)[:SKETCH_SIZE]
    return sum(1 for value in smallest if value in first and value in second) / len(smallest)
