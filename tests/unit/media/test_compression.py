"""Images are compressed within their format, upright and without metadata, and never become larger."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.support.pictures import picture, png_bomb

from sitelore.crawl.media.image_pool import ImagePool
from sitelore.media.compression import MAX_WIDTH, CompressedImage

pyvips = pytest.importorskip("pyvips")


@pytest.fixture
async def pool() -> AsyncIterator[ImagePool]:
    pool = ImagePool(1)
    yield pool
    await pool.close()


def opened(image: CompressedImage) -> Any:
    return pyvips.Image.new_from_buffer(image.data, "")


@pytest.mark.parametrize(
    ("suffix", "options", "loader"),
    [
        (".jpg", {"Q": 97}, "jpegload_buffer"),
        (".webp", {"Q": 99}, "webpload_buffer"),
        (".png", {"compression": 0}, "pngload_buffer"),
    ],
)
async def test_a_wide_image_keeps_its_format_and_becomes_narrower(
    pool: ImagePool, suffix: str, options: dict[str, int], loader: str
) -> None:
    data = picture(2400, 600, suffix, **options)
    result = await pool.compress(data, suffix[1:])
    assert (result.width, result.height, result.problem) == (MAX_WIDTH, 480, "")
    assert 0 < len(result.data) < len(data)
    assert opened(result).get("vips-loader") == loader


async def test_metadata_is_removed_and_the_orientation_applied(pool: ImagePool) -> None:
    image = pyvips.Image.new_from_buffer(picture(300, 200, ".jpg", Q=98), "").copy()
    image.set_type(pyvips.GValue.gint_type, "orientation", 6)
    image.set_type(pyvips.GValue.gstr_type, "exif-ifd0-Artist", "A. Person")
    result = await pool.compress(image.write_to_buffer(".jpg", Q=98), "jpg")
    assert (result.width, result.height) == (200, 300)
    assert b"A. Person" not in result.data
    assert opened(result).get_typeof("exif-data") == 0
    assert opened(result).get_typeof("orientation") == 0


async def test_an_image_that_would_become_larger_stays_as_it_is(pool: ImagePool) -> None:
    small = picture(200, 100, ".jpg", Q=5, optimize_coding=True, keep="none")
    assert await pool.compress(small, "jpg") == CompressedImage(width=200, height=100)


async def test_animated_images_are_left_alone(pool: ImagePool) -> None:
    frames = pyvips.Image.new_from_buffer(picture(60, 80, ".png"), "").copy()
    frames.set_type(pyvips.GValue.gint_type, "page-height", 40)
    for suffix in (".gif", ".webp"):
        result = await pool.compress(frames.write_to_buffer(suffix, page_height=40), suffix[1:])
        assert result == CompressedImage(width=60, height=40), suffix
    still = picture(60, 80, ".png")
    animated = still.replace(b"IDAT", b"acTL\0\0\0\0\0\0\0\x08acTLIDAT", 1)
    assert (await pool.compress(animated, "png")).data == b""


@pytest.mark.parametrize(
    "side", [pytest.param(11_000, id="121 megapixels"), pytest.param(17_000, id="a side that is too long"), 60_000]
)
async def test_a_bomb_is_refused_before_it_is_decoded(pool: ImagePool, side: int) -> None:
    bomb = png_bomb(side)
    assert len(bomb) < 10_000
    for result in (await pool.compress(bomb, "png"), await pool.thumbnail(bomb, "png")):
        assert result.is_too_large
        assert f"{side} x {side} pixels" in result.problem


async def test_an_image_that_takes_too_much_memory_fails_alone(pool: ImagePool) -> None:
    little = ImagePool(1, memory_bytes=400 * 2**20)
    try:
        interlaced = (
            pyvips.Image.black(9_900, 9_900, bands=3).copy(interpretation="srgb").write_to_buffer(".png", interlace=True)
        )
        assert (await little.compress(interlaced, "png")).problem
        assert (await little.compress(picture(300, 200, ".jpg", Q=98), "jpg")).data
    finally:
        await little.close()


async def test_what_is_no_image_is_a_problem(pool: ImagePool) -> None:
    result = await pool.compress(b"\xff\xd8\xff" + b"not a picture" * 9, "jpg")
    assert result.problem.startswith("the image cannot be decoded: ")
    assert not result.is_too_large


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp"])
async def test_a_truncated_image_is_a_problem(pool: ImagePool, suffix: str) -> None:
    noise = pyvips.Image.gaussnoise(2400, 600, mean=128, sigma=30).cast("uchar")
    data = noise.bandjoin([noise, noise]).copy(interpretation="srgb").write_to_buffer(suffix)
    for end in (len(data) // 2, 20):
        assert (await pool.compress(data[:end], suffix[1:])).problem.startswith("the image cannot be decoded: "), end


async def test_colours_that_screens_do_not_have_become_srgb(pool: ImagePool) -> None:
    noise = pyvips.Image.gaussnoise(600, 300, mean=128, sigma=30).cast("uchar")
    rgb = noise.bandjoin([noise, noise]).copy(interpretation="srgb")
    printed = rgb.icc_export(output_profile="cmyk", depth=8).write_to_buffer(".jpg", Q=97)
    deep = rgb.cast("ushort", shift=True).copy(interpretation="rgb16").resize(4).write_to_buffer(".png")
    for data, extension in ((printed, "jpg"), (deep, "png")):
        result = opened(await pool.compress(data, extension))
        assert (result.interpretation, result.format, result.bands) == ("srgb", "uchar", 3)


async def test_a_thumbnail_is_a_small_webp(pool: ImagePool) -> None:
    for suffix in (".jpg", ".png", ".webp", ".gif", ".avif"):
        result = await pool.thumbnail(picture(640, 400, suffix), suffix[1:])
        assert (result.width, result.height, result.data[8:12]) == (320, 200, b"WEBP"), suffix
    assert (await pool.thumbnail(b"<svg/>", "svg")).data == b""
