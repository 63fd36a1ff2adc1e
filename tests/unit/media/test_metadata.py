"""Metadata of images that are stored as they were received."""

from __future__ import annotations

import struct
import zlib

import pytest
import pyvips

from sitelore.media.metadata import strip_metadata

PLACE = b"GPS 50.0755 N, 14.4378 E"


def picture(suffix: str, orientation: int = 1) -> bytes:
    image = pyvips.Image.black(40, 20, bands=3).copy(interpretation="srgb").copy()
    image.set_type(pyvips.GValue.gint_type, "orientation", orientation)
    image.set_type(pyvips.GValue.gstr_type, "exif-ifd0-Artist", PLACE.decode())
    data: bytes = image.write_to_buffer(suffix)
    return data


def pixels(data: bytes) -> bytes:
    decoded: bytes = pyvips.Image.new_from_buffer(data, "").autorot().write_to_memory()
    return decoded


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp"])
@pytest.mark.parametrize("orientation", [1, 6])
def test_metadata_goes_and_the_picture_with_its_orientation_stays(suffix: str, orientation: int) -> None:
    data = picture(suffix, orientation)
    stripped = strip_metadata(data, suffix[1:])
    assert PLACE in data
    assert PLACE not in stripped
    assert len(stripped) < len(data)
    assert pixels(stripped) == pixels(data)
    opened = pyvips.Image.new_from_buffer(stripped, "").autorot()
    assert (opened.width, opened.height) == ((40, 20) if orientation == 1 else (20, 40))


def segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + (len(body) + 2).to_bytes(2, "big") + body


def test_colours_stay_and_other_files_behind_or_inside_a_jpeg_go() -> None:
    data = picture(".jpg")
    profile, adobe = segment(0xE2, b"ICC_PROFILE\0\1\1profile"), segment(0xEE, b"Adobe\0\x64\0\0\0\0\1")
    secret = segment(0xFE, PLACE) + segment(0xED, b"Photoshop 3.0\0" + PLACE) + segment(0xE2, b"MPF\0" + PLACE)
    stripped = strip_metadata(data[:2] + profile + secret + adobe + data[2:] + b"PK\3\4" + PLACE + b"\xff\xd9", "jpg")
    assert PLACE not in stripped
    assert profile in stripped
    assert adobe in stripped
    assert stripped.endswith(b"\xff\xd9")
    assert b"PK\3\4" not in stripped


def test_texts_and_what_follows_a_png_go() -> None:
    data = picture(".png")
    body = b"tEXt" + b"Location\0" + PLACE
    text = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    stripped = strip_metadata(data[:33] + text + data[33:] + b"<script>alert(1)</script>", "png")
    assert PLACE not in stripped
    assert b"script" not in stripped
    assert pixels(stripped) == pixels(data)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp"])
def test_a_damaged_file_is_no_error(suffix: str) -> None:
    data = picture(suffix, 6)
    for end in range(len(data)):
        strip_metadata(data[:end], suffix[1:])
    for at in range(2, min(len(data), 400)):
        strip_metadata(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :], suffix[1:])


def test_other_formats_are_left_alone() -> None:
    assert strip_metadata(b"GIF89a" + PLACE, "gif") == b"GIF89a" + PLACE
