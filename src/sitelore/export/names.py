"""File names for URLs: readable, the same every time, and inside the folder whatever the URL says.

    https://example.com/          example.com/index.md
    https://example.com/a         example.com/a.md
    https://example.com/a/b       example.com/a/b.md
    https://example.com/a/        example.com/a/index.md
    https://example.com/a?p=2     example.com/a-p-2-5d41402a.md

A folder never ends in `.md` and a file always does, so the two cannot clash. Names that differ in case alone are one
name on many disks: the second one gets a short hash of its URL.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from urllib.parse import unquote

from sitelore.model.url import Url

_SAFE_MARKS = frozenset("-_.~+,@!()")
_SPACES = re.compile(r"[\s_]*\s[\s_]*")
_PAGE_ENDINGS = (".html", ".htm", ".xhtml")
_RESERVED = frozenset(
    {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
    | {f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789¹²³"}
)
_SEGMENT_BYTES = 120
_QUERY_BYTES = 60
_PATH_BYTES = 600
_FOLDERS = 24


PICTURE = ".screenshot.jpg"
"""How the name of a page's picture ends, beside its Markdown. No folder's does."""


class Names:
    """Hands every URL a name of its own. Names depend on the URLs seen before, so hand them in sorted order."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def name(self, url: Url) -> str:
        """A path with forward slashes, relative to the folder of the export."""
        wanted = name_of(url)
        if self._take(wanted):
            return wanted
        marked = f"{wanted[:-3]}-{_mark(url)}.md"
        self._take(marked)
        return marked

    def picture(self, name: str) -> str:
        """The name of the picture of the page that has this name."""
        wanted = name.removesuffix(".md") + PICTURE
        self._take(wanted)
        return wanted

    def has(self, name: str) -> bool:
        """Whether a page of this export has the name, in whatever case."""
        return _fingerprint(name) in self._taken

    def _take(self, name: str) -> bool:
        fingerprint = _fingerprint(name)
        if fingerprint in self._taken:
            return False
        self._taken.add(fingerprint)
        return True


def name_of(url: Url) -> str:
    """The name a URL would like to have."""
    *folders, last = url.path[1:].split("/")
    stem = _segment(_without_ending(last)) if last else "index"
    if url.query:
        slug = _cut(_segment(url.query.replace("=", "-").replace("&", "-"), keep_marks=False), _QUERY_BYTES)
        stem = f"{stem}-{slug}-{_mark(url)}"
    parts = [_folder(url.authority), *(_folder(_decoded(folder)) for folder in folders)]
    if len(parts) > _FOLDERS or sum(len(part.encode()) + 1 for part in parts) > _PATH_BYTES:
        parts, stem = _shortened(parts), f"{stem}-{_mark(url)}"
    return "/".join((*parts, f"{stem}.md"))


def _shortened(parts: list[str]) -> list[str]:
    kept: list[str] = []
    room = _PATH_BYTES
    for part in parts[:_FOLDERS]:
        room -= len(part.encode()) + 1
        if room < 0:
            break
        kept.append(part)
    return kept


@lru_cache(maxsize=4096)
def _folder(text: str) -> str:
    name = _segment(text)
    return f"{name}_" if name.lower().endswith((".md", PICTURE)) else name


def _without_ending(last: str) -> str:
    decoded = _decoded(last)
    lowered = decoded.lower()
    for ending in _PAGE_ENDINGS:
        if lowered.endswith(ending) and len(decoded) > len(ending):
            return decoded[: -len(ending)]
    return decoded


def _decoded(segment: str) -> str:
    """Percent-decoded once, where that gives text; what it decodes to is still treated as hostile."""
    if "%" not in segment:
        return segment
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        return segment


def _segment(text: str, *, keep_marks: bool = True) -> str:
    """One path segment that every file system takes and none takes for anything but a name."""
    if text.isascii() and text.isalnum():
        name = text
    else:
        text = _SPACES.sub("-", unicodedata.normalize("NFC", text).strip())
        marks = _SAFE_MARKS if keep_marks else "-_."
        name = "".join(char if char in marks or (char.isalnum() and char.isprintable()) else "_" for char in text)
        if name.startswith("."):
            name = f"_{name[1:]}"
        if name.endswith((".", "-")):
            name = name.rstrip(".-") + "_"
    if name.partition(".")[0].upper() in _RESERVED:
        name = f"_{name}"
    if len(name) * 4 > _SEGMENT_BYTES and len(name.encode()) > _SEGMENT_BYTES:
        name = f"{_cut(name, _SEGMENT_BYTES - 9)}-{_mark(text)}"
    return name or "_"


def _cut(name: str, limit: int) -> str:
    return name.encode()[:limit].decode("utf-8", "ignore").rstrip(".-")


def _mark(text: str) -> str:
    return blake2b(text.encode(), digest_size=4).hexdigest()


def _fingerprint(name: str) -> int:
    """Eight bytes for a name: a million pages fit in memory, and two of them meet once in twenty million exports."""
    return int.from_bytes(blake2b(name.casefold().encode(), digest_size=8).digest(), "big")
