"""The real address of an image: lazy loaders, `srcset` and `picture` keep it in other attributes than `src`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from sitelore.extract import dom

_LAZY = ("data-src", "data-lazy-src", "data-original")
_RARELY_LAZY = ("data-lazy", "data-original-src", "data-full-src", "data-hi-res-src", "data-img-src", "data-image")
_SETS = ("data-srcset", "data-lazy-srcset", "srcset")
_PLACEHOLDER = re.compile(
    r"(?:^|[/_.-])(?:blank|spacer|pixel|placeholder|transparent|loading|loader|lazy|lazyload|1x1|clear|dot|grey|gray)"
    r"(?:[._-][^/]*)?\.(?:gif|png|svg|jpe?g|webp)(?:$|\?)",
    re.IGNORECASE,
)
_PLACEHOLDER_WORDS = (
    "blank",
    "spacer",
    "pixel",
    "placeholder",
    "transparent",
    "load",
    "lazy",
    "1x1",
    "clear",
    "dot",
    "grey",
    "gray",
)
_CANDIDATE = re.compile(r"\s*,*\s*(\S*[^\s,])(?:\s+([\d.]{1,12})[wxh])?[^,]*(?:,|$)")
_NO_ADDRESS = ("data:", "javascript:", "blob:", "about:", "vbscript:")
_NO_SIZE = frozenset({"0", "1", "0px", "1px"})
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MAX_SET_CHARS = 20_000


class Attributed(Protocol):
    """An element with a tag and attributes."""

    @property
    def tag(self) -> str:
        """Its name."""
        ...

    def attr(self, name: str, /) -> str | None:
        """An attribute's value."""
        ...


def source_of(image: dom.Element) -> str:
    """The raw address of an `img`, empty when it has none."""
    source = _usable(image.attr("src"))
    # A lazy attribute beside a real address holds the better image.
    for name in _LAZY:
        if (raw := image.attr(name)) and (lazy := _usable(raw)):
            return lazy
    if source and not _is_placeholder(source):
        return source
    rare = (_usable(image.attr(name)) for name in _RARELY_LAZY)
    return next(filter(None, rare), "") or _of_sets(image) or _of_picture(image) or source


@lru_cache(maxsize=1024)
def _is_placeholder(source: str) -> bool:
    """Whether the file's name says that it is a placeholder. The words are looked for first: the pattern is far slower."""
    query = source.find("?")
    start = max(0, source.rfind("/", 0, query if query >= 0 else len(source)))
    name = source[start:].lower()
    for word in _PLACEHOLDER_WORDS:
        if word in name:
            return _PLACEHOLDER.search(source, start) is not None
    return False


def is_pixel(element: Attributed) -> bool:
    """Whether an element is a tracking pixel, or hidden."""
    if element.attr("width") in _NO_SIZE or element.attr("height") in _NO_SIZE:
        return True
    style = (element.attr("style") or "").lower()
    return ("none" in style or "hidden" in style) and _HIDING.search(style) is not None


def _usable(raw: str | None) -> str:
    if not raw:
        return ""
    raw = raw.strip()
    # Braces belong to a template that a script fills in.
    return "" if raw[:11].lower().startswith(_NO_ADDRESS) or "{" in raw else raw


def _of_sets(element: dom.Element) -> str:
    for name in _SETS:
        if (raw := element.attr(name)) and (best := best_of_set(raw)):
            return best
    return ""


def _of_picture(image: dom.Element) -> str:
    picture = image.closest("picture")
    if picture is None:
        return ""
    for source in dom.elements_list(picture, "source"):
        if best := _of_sets(source):
            return best
    return ""


def best_of_set(raw: str) -> str:
    """The largest candidate of a `srcset`; of equals the first."""
    best, most = "", -1.0
    for address, size in _CANDIDATE.findall(raw[:_MAX_SET_CHARS]):
        try:
            value = float(size) if size else 0.0
        except ValueError:
            value = 0.0
        if value > most and _usable(address):
            best, most = _usable(address), value
    return best
