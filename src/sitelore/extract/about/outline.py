"""How a page is laid out: its headings, its landmarks, and the dates that stand by its first heading.

Landmarks follow the accessibility mapping of HTML (HTML-AAM §3.5): a `header` or `footer` is one
only outside of sectioning content, a `section` or `form` only when it has a name.
"""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.extract import dom
from sitelore.extract.about.dates import iso_date

_LEVELS = {f"h{level}": level for level in range(1, 7)}
_LANDMARKS = {
    "main": "main",
    "nav": "navigation",
    "header": "banner",
    "footer": "contentinfo",
    "aside": "complementary",
    "search": "search",
}
_NAMED_LANDMARKS = {"section": "region", "form": "form"}
_ROLES = frozenset({"main", "navigation", "banner", "contentinfo", "complementary", "search", "region", "form"})
_SECTIONING = "article,aside,main,nav,section,[role=main i],[role=article i],[role=region i]"
_ZONES = f"{','.join(_LANDMARKS)},[role]"
_ROOMS = {*_LANDMARKS, *_NAMED_LANDMARKS}
_DATED = {*_LEVELS, "time"}
_IN_ORDER = f":is({','.join((*_ROOMS, '[role]', '[itemprop]'))}):not({','.join(_DATED)})"
_MAX_HEADINGS = 100
_MAX_LANDMARKS = 24
_MAX_LOOKS = 400
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Outline:
    """Headings as (level, text), landmarks as (role, label), and dates that the page shows for itself."""

    headings: tuple[tuple[int, str], ...] = ()
    landmarks: tuple[tuple[str, str], ...] = ()
    published: str = ""
    modified: str = ""


NO_OUTLINE = Outline()


@dataclass(frozen=True, slots=True)
class Walked:
    """The elements of a page that tell about it, in page order."""

    heads: list[dom.Element]
    rooms: list[dom.Element]
    """What may be a landmark, by its tag or by its role."""
    dates: list[dom.Element]
    """`time` elements and headings: the question is which heading a date stands by."""
    marked: list[tuple[str, dom.Element]]
    """Microdata: `itemprop` in lower case, and the element that has it."""


def walk(tree: dom.Tree) -> Walked:
    """Look at a whole page, before anything is cut from it."""
    # Walks that ask for tags, or for one attribute, cost together half of one that asks for all of it.
    dates: list[dom.Element] = []
    rooms: list[dom.Element] = []
    for element in dom.elements_list(tree, *_DATED, *_ROOMS):
        (dates if element.tag in _DATED else rooms).append(element)
    heads = [element for element in dates if element.tag != "time"] if tree.select("time") else dates
    said, props = dom.select(tree, "[role]"), dom.select(tree, "[itemprop]")
    marked = [(prop.lower(), element) for element in props if (prop := element.attr("itemprop"))]
    if len(rooms) + len(said) + len(props) > _MAX_LOOKS:
        rooms = dom.select(tree, _IN_ORDER)[:_MAX_LOOKS]
    elif by_role := [element for element in said if _is_room_by_role(element)]:
        rooms = _merged(tree, rooms, by_role)
    return Walked(heads, rooms, dates, marked)


def _is_room_by_role(element: dom.Element) -> bool:
    """Whether it may be a landmark for its role alone."""
    if (element.attr("role") or "").strip().lower() not in _ROLES:
        return False
    return element.tag not in _ROOMS and element.tag not in _DATED


def _merged(tree: dom.Tree, rooms: list[dom.Element], others: list[dom.Element]) -> list[dom.Element]:
    """Both in page order."""
    both = {*rooms, *others}
    merged = [element for element in dom.elements_list(tree, *_ROOMS, *{other.tag for other in others}) if element in both]
    # An element of SVG can be called otherwise than it is found.
    return merged if len(merged) == len(both) else [element for element in dom.select(tree, _IN_ORDER) if element in both]


def read_outline(walked: Walked) -> Outline:
    """The outline of a page."""
    dates = walked.dates
    published, modified = _shown_dates(dates) if len(dates) > len(walked.heads) > 0 else ("", "")
    return Outline(_headings(walked.heads), _landmarks(walked.rooms), published, modified)


def _headings(heads: list[dom.Element]) -> tuple[tuple[int, str], ...]:
    found = []
    for element in heads[:_MAX_HEADINGS]:
        text = " ".join(element.text.split())
        if text and element.attr("hidden") is None and element.attr("aria-hidden") != "true":
            found.append((_LEVELS[element.tag], text[:_MAX_CHARS]))
    return tuple(found)


def _landmarks(rooms: list[dom.Element]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    labels = _Labels()
    for element in rooms:
        if role := _role(element, labels):
            found.append((role, labels.of(element)))
            if len(found) == _MAX_LANDMARKS:
                break
    return tuple(found)


def landmark_around(element: dom.Element) -> str:
    """The role of the landmark that an element is in; empty where it is in none."""
    at = element.closest(_ZONES)
    while at is not None:
        if role := _role(at, None):
            return role
        parent = dom.as_element(at.parent)
        at = parent.closest(_ZONES) if parent is not None else None
    return ""


def _role(element: dom.Element, labels: _Labels | None) -> str:
    if (role := element.attr("role")) and (said := role.strip().lower()):
        return said if said in _ROLES else ""
    tag = element.tag
    if tag in _NAMED_LANDMARKS:
        return _NAMED_LANDMARKS[tag] if labels is not None and labels.of(element) else ""
    if tag in {"header", "footer"} and dom.has_ancestor(element, _SECTIONING):
        return ""
    return _LANDMARKS.get(tag, "")


class _Labels:
    """What landmarks are called: by themselves, or by the elements that they name for it."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[str, dom.Element] | None = None

    def of(self, element: dom.Element) -> str:
        if ids := element.attr("aria-labelledby"):
            known = self._ids(element)
            texts = [known[one].text for one in ids.split()[:4] if one in known]
            if text := " ".join(" ".join(texts).split()):
                return text[:_MAX_CHARS]
        said = element.attr("aria-label") or element.attr("title")
        return " ".join(said.split())[:_MAX_CHARS] if said else ""

    def _ids(self, element: dom.Element) -> dict[str, dom.Element]:
        if self._by_id is None:
            self._by_id = {}
            for one in dom.select(dom.top_of(element), "[id]"):
                self._by_id.setdefault(one.attr("id") or "", one)
        return self._by_id


def _shown_dates(walked: list[dom.Element]) -> tuple[str, str]:
    """The dates next to the first `h1`: after it or just before it, with no other heading between."""
    top = next((at for at, element in enumerate(walked) if element.tag == "h1"), None)
    if top is None:
        return "", ""
    after = next((at for at in range(top + 1, len(walked)) if walked[at].tag != "time"), len(walked))
    before = next((at for at in range(top - 1, -1, -1) if walked[at].tag != "time"), -1)
    near = walked[top + 1 : after] + walked[before + 1 : top]
    published = modified = ""
    for element in near[:8]:
        if not _is_of(walked[top], element):
            continue
        date = iso_date(dom.attribute(element, "datetime") or dom.one_line(element))
        if date and _says_changed(element):
            modified = modified or date
        elif date:
            published = published or date
    return published, modified


def _is_of(top: dom.Element, time: dom.Element) -> bool:
    """A date in an article that the heading is not part of is that article's: a list of posts under "News"."""
    article = time.closest("article")
    return (article is None or article == top.closest("article")) and not dom.is_inside(time, "aside,footer,nav")


def _says_changed(element: dom.Element) -> bool:
    said = f"{dom.attribute(element, 'itemprop')} {dom.attribute(element, 'class')}".lower()
    return "modif" in said or "updat" in said
