"""Images for tests, made with the library that compresses them."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest


def picture(width: int, height: int, suffix: str = ".jpg", seed: int = 1, **options: Any) -> bytes:
    """A picture that looks like a photo to a compressor: soft shapes with some noise."""
    pyvips = pytest.importorskip("pyvips")
    shapes = pyvips.Image.perlin(width, height, cell_size=64, seed=seed) * 90 + 128
    noise = pyvips.Image.gaussnoise(width, height, mean=128, sigma=12, seed=seed)
    image = shapes.bandjoin([shapes.rot180(), noise]).cast("uchar").copy(interpretation="srgb")
    data: bytes = image.write_to_buffer(suffix, **options)
    return data


def png_bomb(side: int) -> bytes:
    """A valid PNG of a few kilobytes that would take gigabytes to decode."""
    rows = zlib.compress(bytes(2_000_000), 9)
    parts = ((b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b""))
    chunks = [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
