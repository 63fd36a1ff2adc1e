"""The `meta` elements of a page, for who asks them by name (metadata) and who takes them as they come (Open Graph)."""

from __future__ import annotations

from typing import TypeAlias

from sitelore.extract import dom
from sitelore.extract.about.survey import Meta

_TO_ROBOTS = frozenset({"robots", "sitelore"})
_MAX_CHARS = 2_000
_MAX_SHARED_CHARS = 5_000
_MAX_NAMED = 64
_MAX_KEY_CHARS = 80

Called: TypeAlias = tuple[str, str, str, dom.Element | None]
"""What it is called, what Open Graph would call it (both in lower case, one may be empty), its content on one line, itself."""


def read_named(metas: list[Meta]) -> dict[str, str]:
    """The first that each name says, in lower case; robots directives of several elements are joined."""
    named: dict[str, str] = {}
    for name, shared, equiv, content, _, _ in metas:
        key = (name or shared or equiv).strip().lower()
        if key in _TO_ROBOTS:
            line = _on_one_line(content or "")
            named[key] = f"{named[key]},{line}" if key in named else line
        elif key not in named and (line := _on_one_line(content or "")) and _has_room(named, key):
            named[key] = line
    return named


def _has_room(named: dict[str, str], key: str) -> bool:
    return 0 < len(key) <= _MAX_KEY_CHARS and len(named) < _MAX_NAMED


def read_head(metas: list[Meta]) -> list[Called]:
    """Every one in page order."""
    found: list[Called] = []
    for name, shared, equiv, content, value, element in metas:
        key = (name or shared or equiv).strip().lower()
        called = ""
        if ":" in (shared or name):
            called = shared.strip().lower() if name and shared else key
        if content is not None and len(content) <= _MAX_CHARS:
            found.append((key, called, " ".join(content.split()), element))
            continue
        # Open Graph takes more of a text, and finds it in another attribute too.
        found.append((key, "", _on_one_line(content or ""), element))
        if called and (told := value if content is None else content):
            found.append(("", called, " ".join(told[:_MAX_SHARED_CHARS].split()), element))
    return found


def _on_one_line(content: str) -> str:
    return " ".join(content[:_MAX_CHARS].split())
