"""How a page is laid out: its headings, its landmarks, and the dates that stand by its first heading.

Landmarks follow the accessibility mapping of HTML (HTML-AAM §3.5): a `header` or `footer` is one
only outside of sectioning content, a `section` or `form` only when it has a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sitelore.extract import dom
from sitelore.extract.about.dates import iso_date
from sitelore.extract.about.survey import LANDMARKS, NAMED_LANDMARKS, ROLES, SECTIONING, Layout, Room

_ZONES = f"{','.join(LANDMARKS)},[role]"
_MAX_LANDMARKS = 24
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Outline:
    """Headings as (level, text), landmarks as (role, label), and dates that the page shows for itself."""

    headings: tuple[tuple[int, str], ...] = ()
    landmarks: tuple[tuple[str, str], ...] = ()
    published: str = ""
    modified: str = ""


NO_OUTLINE = Outline()


def read_outline(layout: Layout) -> Outline:
    """The outline of a page."""
    published, modified = _shown_dates(layout.dates) if layout.dates else ("", "")
    headings = tuple([(level, text[:_MAX_CHARS]) for level, text in layout.headings])
    return Outline(headings, _landmarks(layout.rooms), published, modified)


@lru_cache(maxsize=256)
def _landmarks(rooms: tuple[Room, ...]) -> tuple[tuple[str, str], ...]:
    """Remembered, since pages of a site are laid out alike."""
    found: list[tuple[str, str]] = []
    for tag, said, named, label in rooms:
        is_named = tag in NAMED_LANDMARKS and bool(named or label.strip())
        if role := _role(said, tag, is_named=is_named):
            found.append((role, (named or " ".join(label.split()))[:_MAX_CHARS]))
            if len(found) == _MAX_LANDMARKS:
                break
    return tuple(found)


def landmark_around(element: dom.Element) -> str:
    """The role of the landmark that an element is in; empty where it is in none."""
    at = element.closest(_ZONES)
    while at is not None:
        tag = at.tag
        if tag in {"header", "footer"} and dom.has_ancestor(at, SECTIONING):
            tag = ""
        if role := _role(at.attr("role") or "", tag, is_named=False):
            return role
        parent = dom.as_element(at.parent)
        at = parent.closest(_ZONES) if parent is not None else None
    return ""


def _role(said: str, tag: str, *, is_named: bool) -> str:
    """What an element is: as it says, or by its tag, which is empty where that is out of place."""
    if said and (role := said.strip().lower()):
        return role if role in ROLES else ""
    return NAMED_LANDMARKS[tag] if is_named else LANDMARKS.get(tag, "")


def _shown_dates(dates: list[tuple[str, str]]) -> tuple[str, str]:
    """When the page was published and changed, by the dates that stand by its first heading."""
    published = modified = ""
    for said, marks in dates:
        date = iso_date(said)
        if date and _says_changed(marks):
            modified = modified or date
        elif date:
            published = published or date
    return published, modified


def _says_changed(marks: str) -> bool:
    marks = marks.lower()
    return "modif" in marks or "updat" in marks
