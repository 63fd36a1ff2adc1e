"""File names for URLs: readable, stable, and always inside the export folder.

    https://example.com/          example.com/index.md
    https://example.com/a         example.com/a.md
    https://example.com/a/b       example.com/a/b.md
    https://example.com/a/        example.com/a/index.md
    https://example.com/a?p=2     example.com/a-p-2-5d41402a.md

A folder never ends in `.md` and a file always does, so the two cannot clash. Names that differ in case alone are one
name on many file systems: the second one gets a short hash of its URL.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from urllib.parse import unquote

from sitelore.model.url import Url

_UNSAFE = re.compile(r"[^\w.~+,@!()-]")
_UNSAFE_OR_PUNCTUATION = re.compile(r"[^\w.-]")
_SPACES = re.compile(r"[\s_]*\s[\s_]*")
_PAGE_ENDINGS = (".html", ".htm", ".xhtml")
_RESERVED = frozenset(
    {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
    | {f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789¹²³"}
)
_MAX_SEGMENT_BYTES = 120
_MAX_QUERY_BYTES = 60
_MAX_PATH_BYTES = 600
_MAX_FOLDERS = 24


SCREENSHOT_SUFFIX = ".screenshot.jpg"
"""The end of a screenshot's file name, which no folder name has."""


class FilenameAllocator:
    """Allocates a unique file name to every URL. Names depend on the URLs before, so pass them in sorted order."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def allocate(self, url: Url) -> str:
        """A path with forward slashes, relative to the export folder."""
        preferred = preferred_name(url)
        if self._take(preferred):
            return preferred
        hashed = f"{preferred[:-3]}-{_short_hash(url)}.md"
        self._take(hashed)
        return hashed

    def allocate_screenshot(self, name: str) -> str:
        """The name of the screenshot of the page with this file name."""
        screenshot = name.removesuffix(".md") + SCREENSHOT_SUFFIX
        self._take(screenshot)
        return screenshot

    def has(self, name: str) -> bool:
        """Whether the name is allocated, ignoring case."""
        return _fingerprint(name) in self._taken

    def _take(self, name: str) -> bool:
        fingerprint = _fingerprint(name)
        if fingerprint in self._taken:
            return False
        self._taken.add(fingerprint)
        return True


def preferred_name(url: Url) -> str:
    """The file name of a URL before conflicts are resolved."""
    *folders, last = url.path[1:].split("/")
    stem = _segment(_without_ending(last)) if last else "index"
    if url.query:
        slug = _cut(_segment(url.query.replace("=", "-").replace("&", "-"), keep_punctuation=False), _MAX_QUERY_BYTES)
        stem = f"{stem}-{slug}-{_short_hash(url)}"
    parts = [_folder(url.authority), *(_folder(_decoded(folder)) for folder in folders)]
    if len(parts) > _MAX_FOLDERS or sum(len(part.encode()) + 1 for part in parts) > _MAX_PATH_BYTES:
        parts, stem = _shortened(parts), f"{stem}-{_short_hash(url)}"
    return "/".join((*parts, f"{stem}.md"))


def _shortened(parts: list[str]) -> list[str]:
    kept: list[str] = []
    room = _MAX_PATH_BYTES
    for part in parts[:_MAX_FOLDERS]:
        room -= len(part.encode()) + 1
        if room < 0:
            break
        kept.append(part)
    return kept


@lru_cache(maxsize=4096)
def _folder(text: str) -> str:
    name = _segment(text)
    return f"{name}_" if name.lower().endswith((".md", SCREENSHOT_SUFFIX)) else name


def _without_ending(last: str) -> str:
    decoded = _decoded(last)
    lowered = decoded.lower()
    for ending in _PAGE_ENDINGS:
        if lowered.endswith(ending) and len(decoded) > len(ending):
            return decoded[: -len(ending)]
    return decoded


def _decoded(segment: str) -> str:
    """The segment percent-decoded once where that gives UTF-8. The result is still untrusted."""
    if "%" not in segment:
        return segment
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        return segment


def _segment(text: str, *, keep_punctuation: bool = True) -> str:
    """A path segment that is a valid file name on every file system, and nothing else on any."""
    if text.isascii() and text.isalnum():
        name = text
    else:
        text = _SPACES.sub("-", unicodedata.normalize("NFC", text).strip())
        name = (_UNSAFE if keep_punctuation else _UNSAFE_OR_PUNCTUATION).sub("_", text)
        if name.startswith("."):
            name = f"_{name[1:]}"
        if name.endswith((".", "-")):
            name = name.rstrip(".-") + "_"
    if name.partition(".")[0].upper() in _RESERVED:
        name = f"_{name}"
    if len(name) * 4 > _MAX_SEGMENT_BYTES and len(name.encode()) > _MAX_SEGMENT_BYTES:
        name = f"{_cut(name, _MAX_SEGMENT_BYTES - 9)}-{_short_hash(text)}"
    return name or "_"


def _cut(name: str, limit: int) -> str:
    return name.encode()[:limit].decode("utf-8", "ignore").rstrip(".-")


def _short_hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=4).hexdigest()


def _fingerprint(name: str) -> int:
    """An eight-byte hash of a name: a million fit in memory, and two collide once in twenty million exports."""
    return int.from_bytes(blake2b(name.casefold().encode(), digest_size=8).digest(), "big")
