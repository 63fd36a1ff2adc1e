"""Compresses images with libvips, each in its own format (JPEG, PNG, WebP, SVG), and makes thumbnails.

Runs in a limited process (`image_process.py`).
Sizes are read from the header and checked before anything is decoded. JPEG, PNG and WebP are scaled to at most `MAX_WIDTH`,
turned upright, converted to sRGB and stripped of metadata; the result is used if it is smaller than the original. Animated
images and other formats are left alone, SVG is sanitised.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sitelore.media.metadata import strip_metadata
from sitelore.media.svg import NotSvg, sanitise_svg, svg_size

if TYPE_CHECKING:
    import pyvips

MAX_WIDTH = 1920
THUMBNAIL_WIDTH = 320
MAX_PIXELS = 100_000_000
MAX_SIDE = 16_384
MAX_FRAMES = 2_000
_MAX_FRAME_PIXELS = 500_000_000
"""Over all frames of an animation."""
_JPEG = {"Q": 80, "optimize_coding": True}
# Effort 2 takes 39 % less CPU than 4, for 5 % more bytes.
_WEBP = {"Q": 85, "effort": 2}
_THUMBNAIL = {"Q": 75, "effort": 2}
_PNG = {"compression": 9}
_SAVERS = {"jpg": (".jpg", _JPEG), "png": (".png", _PNG), "webp": (".webp", _WEBP)}
_READABLE = frozenset({*_SAVERS, "gif"})
_ANIMATION_CHUNK = b"acTL"


@dataclass(frozen=True, slots=True)
class CompressedImage:
    """An image as it is stored."""

    data: bytes = b""
    """Empty: the original is stored."""
    width: int | None = None
    height: int | None = None
    problem: str = ""
    """Why it must not be stored: too large to be decoded safely, or damaged."""
    is_too_large: bool = False


def prepare() -> None:
    """Configure the library: no loaders of formats that are seldom and risky, one thread, nothing kept between images."""
    if find_spec("pyvips") is None:
        return
    import pyvips  # noqa: PLC0415 only the image process has a use for it

    pyvips.block_untrusted_set(True)
    pyvips.concurrency_set(1)
    pyvips.cache_set_max(0)


def compress(data: bytes, extension: str) -> CompressedImage:
    """Compress an image of this format. Without the library, originals are stored."""
    if extension == "svg":
        return _compress_svg(data)
    if find_spec("pyvips") is None:
        return CompressedImage()
    import pyvips  # noqa: PLC0415 as above

    try:
        header = pyvips.Image.new_from_buffer(data, "", access="sequential")
    except pyvips.Error as error:
        # The loaders of some formats are blocked or not built in: those files are stored unseen.
        return _damaged(error) if extension in _READABLE else CompressedImage()
    refused = _refusal(header)
    if refused is not None:
        return refused
    if extension not in _SAVERS or _frames(header) > 1 or (extension == "png" and _ANIMATION_CHUNK in data[: _head_end(data)]):
        return CompressedImage(width=header.width, height=_frame_height(header))
    try:
        return _smaller(data, _upright(data, header, extension), extension)
    except pyvips.Error as error:
        return _damaged(error)


def thumbnail(data: bytes, extension: str) -> CompressedImage:
    """A small WebP of an image; of an animation, its first frame."""
    if extension == "svg":
        return CompressedImage(problem="SVG images have no thumbnail")
    if find_spec("pyvips") is None:
        return CompressedImage(problem="thumbnails need the extra media")
    import pyvips  # noqa: PLC0415 as above

    try:
        header = pyvips.Image.new_from_buffer(data, "", access="sequential")
        refused = _refusal(header)
        if refused is not None:
            return refused
        small = _scaled(data, header, THUMBNAIL_WIDTH)
        saved: bytes = small.write_to_buffer(".webp", keep="none", **_THUMBNAIL)
    except pyvips.Error as error:
        return _damaged(error)
    return CompressedImage(saved, small.width, small.height)


def _upright(data: bytes, header: pyvips.Image, extension: str) -> pyvips.Image:
    """The image in its final size, orientation and colour space."""
    import pyvips  # noqa: PLC0415 as above

    if extension == "png" and header.width <= MAX_WIDTH and not _has(header, "icc-profile-data", "orientation"):
        return pyvips.Image.new_from_buffer(data, "", access="sequential", fail_on="error")  # without any loss
    return _scaled(data, header, MAX_WIDTH)


def _scaled(data: bytes, header: pyvips.Image, width: int) -> pyvips.Image:
    """The image upright, in sRGB, and not wider than this."""
    import pyvips  # noqa: PLC0415 as above

    # A conversion costs four times as much as the rest, and most images have no profile.
    has_profile = _has(header, "icc-profile-data") or header.interpretation == "cmyk"
    profile = {"output_profile": "srgb"} if has_profile else {}
    # The option of the loader: that of `thumbnail_buffer` accepts truncated files.
    strict = {"option_string": "fail_on=error"}
    return pyvips.Image.thumbnail_buffer(data, width, height=MAX_SIDE, size="down", **strict, **profile)


def _smaller(data: bytes, image: pyvips.Image, extension: str) -> CompressedImage:
    suffix, options = _SAVERS[extension]
    saved: bytes = image.write_to_buffer(suffix, keep="none", **options)
    if len(saved) < len(data):
        return CompressedImage(saved, image.width, image.height)
    import pyvips  # noqa: PLC0415 as above

    # The original is stored, without metadata: its size is that after it is turned upright.
    original = pyvips.Image.new_from_buffer(data, "", access="sequential").autorot()
    stripped = strip_metadata(data, extension)
    return CompressedImage(stripped if len(stripped) < len(data) else b"", original.width, original.height)


def _refusal(header: pyvips.Image) -> CompressedImage | None:
    """The refusal of an image that would take too much memory or time to decode."""
    width, height, frames = header.width, _frame_height(header), _frames(header)
    problem = ""
    if width * height > MAX_PIXELS:
        problem = f"the image has {width} x {height} pixels, {MAX_PIXELS:,} are allowed"
    elif max(width, height) > MAX_SIDE:
        problem = f"the image has {width} x {height} pixels, {MAX_SIDE:,} on each side are allowed"
    elif frames > MAX_FRAMES or width * height * frames > _MAX_FRAME_PIXELS:
        problem = f"the animation has {frames:,} frames of {width} x {height} pixels, which is too much"
    return CompressedImage(problem=problem, is_too_large=True) if problem else None


def _has(image: pyvips.Image, *fields: str) -> bool:
    return any(image.get_typeof(field) != 0 for field in fields)


def _frames(image: pyvips.Image) -> int:
    return int(_field(image, "n-pages", 1))


def _frame_height(image: pyvips.Image) -> int:
    return int(_field(image, "page-height", image.height))


def _field(image: pyvips.Image, name: str, default: int) -> Any:
    return image.get(name) if image.get_typeof(name) != 0 else default


def _head_end(data: bytes) -> int:
    """Where the pixels of a PNG begin."""
    at = data.find(b"IDAT")
    return at if at >= 0 else len(data)


def _damaged(error: Exception) -> CompressedImage:
    first_line = str(error).strip().partition("\n")[0]
    return CompressedImage(problem=f"the image cannot be decoded: {first_line[:200]}")


def _compress_svg(data: bytes) -> CompressedImage:
    try:
        clean = sanitise_svg(data)
    except NotSvg as error:
        return CompressedImage(problem=f"the SVG image cannot be made harmless: {error}")
    return CompressedImage(clean, *svg_size(clean))
