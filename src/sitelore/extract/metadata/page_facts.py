"""Collects facts from a page's tree: titles, meta elements, outline, links, JSON-LD scripts and style sheets.

`metadata`, `links`, `structured/` and `content/` interpret them. Landmarks follow the accessibility mapping of HTML
(HTML-AAM §3.5): a `header` or `footer` is one only outside of sectioning content, a `section` or `form` only when it has a
name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from sitelore.extract import dom
from sitelore.extract.metadata.dates import iso_date

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
_LANDMARK_TAGS = {*_LANDMARKS, *_NAMED_LANDMARKS}
_HEADINGS_AND_TIMES = {*_LEVELS, "time"}
_LANDMARK_CANDIDATES = f":is({','.join((*_LANDMARK_TAGS, '[role]', '[itemprop]'))}):not({','.join(_HEADINGS_AND_TIMES)})"
_LANDMARK_OR_ROLE = f"{','.join(_LANDMARKS)},[role]"
_COMMENT_OR_REVIEW = (
    "[itemprop~=comment i],[itemprop~=review i],[itemprop~=suggestedAnswer i],[itemtype*='/Comment'],[itemtype*='/Review']"
)
_PERMALINK = " \u00b6\u00a7\uf0c1"
"""Marks at the end of a heading that link to it: \u00b6, \u00a7 and a character of Font Awesome."""
_MAX_CONTENT_CHARS = 2_000
_MAX_OPEN_GRAPH_CHARS = 5_000
_MAX_TITLES = 50
_MAX_HEADINGS = 100
_MAX_LANDMARK_CANDIDATES = 400
_MAX_LANDMARKS = 24
_MAX_OUTLINE_CHARS = 200
_MAX_PROPERTIES = 40
_MAX_DATES = 8
_MAX_LABEL_IDS = 4

Meta: TypeAlias = tuple[str, str, str, dom.Element]
"""A `meta` element: its name, its Open Graph name (both in lower case, one may be empty), its content on one line, itself."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Headings as (level, text), landmarks as (role, label), and the dates beside the first heading."""

    headings: tuple[tuple[int, str], ...] = ()
    landmarks: tuple[tuple[str, str], ...] = ()
    published: str = ""
    modified: str = ""


NO_OUTLINE = Outline()


@dataclass(frozen=True, slots=True)
class PageElements:
    """The elements and texts of a page that say something about it."""

    title: str
    """The first `title` that is not empty and not part of a drawing, on one line."""
    h1: str
    base: str
    languages: list[str]
    """`lang` and `xml:lang` of the root element."""
    metas: list[tuple[str, str]]
    """Each `meta`: its `name`, `property` or `http-equiv` in lower case, and its content on one line."""
    relations: list[tuple[str, str]]
    """Each `link`: its `rel` in lower case, and its address."""
    outline: Outline
    links: list[dom.Element]
    """Every `a`, `area` and `link rel=next|prev`, in page order."""
    scripts: list[tuple[str, dom.Element]]
    """Scripts of JSON-LD."""
    sheets: list[tuple[str, str]]
    """`style` elements: media query and content."""
    _tree: dom.Tree
    _properties: list[tuple[str, dom.Element]]
    """Elements of Microdata, by the names of their properties."""

    def bylines(self) -> list[str]:
        """The texts of links to an author."""
        return list(map(dom.one_line, dom.select(self._tree, "a[rel~=author i]")[:_MAX_PROPERTIES]))

    def property_values(self, name: str) -> list[str]:
        """The values of a Microdata property, but for those of comments and reviews."""
        elements = [element for names, element in self._properties if name in names and name in names.split()]
        own = [element for element in elements[:_MAX_PROPERTIES] if not dom.is_inside(element, _COMMENT_OR_REVIEW)]
        return list(map(_author if name == "author" else _date, own))


def collect_elements(tree: dom.Tree) -> PageElements:
    """Collect the facts of a tree, before anything is cut from it."""
    root = dom.first(tree, "html")
    properties = dom.select(tree, "[itemprop]")
    relations = [((element.attr("rel") or "").lower(), element.attr("href") or "") for element in tree.select("link")]
    titles = (title for title in tree.select("title")[:_MAX_TITLES] if title.closest("svg") is None)
    return PageElements(
        title=_first_line(titles),
        h1=_first_line(tree.select("h1")[:_MAX_TITLES]).rstrip(_PERMALINK),
        base=next(filter(str.strip, [element.attr("href") or "" for element in tree.select("base")]), ""),
        languages=[dom.attribute(root, "lang"), dom.attribute(root, "xml:lang")] if root is not None else [],
        metas=[(name, content) for name, _, content, _ in read_head(tree) if name],
        relations=relations,
        outline=read_outline(tree, properties),
        links=_links(tree, has_next=any(_is_next_or_prev(rel) for rel, _ in relations)),
        scripts=scripts_of(tree),
        sheets=[(style.attr("media") or "", dom.raw_text(style)) for style in dom.select(tree, "style")],
        _tree=tree,
        _properties=[((element.attr("itemprop") or "").lower(), element) for element in properties],
    )


def links_of(tree: dom.Tree) -> list[dom.Element]:
    """Every `a`, `area` and `link rel=next|prev`, in page order."""
    return _links(tree, has_next=any(_is_next_or_prev(element.attr("rel") or "") for element in tree.select("link")))


def scripts_of(tree: dom.Tree) -> list[tuple[str, dom.Element]]:
    """The JSON-LD scripts of a page: content and element."""
    return [(dom.raw_text(script), script) for script in dom.select(tree, "script") if _is_json_ld(script.attr("type"))]


def read_head(tree: dom.Tree) -> list[Meta]:
    """Every named `meta` of a page with its Open Graph name, in page order, wherever it stands."""
    metas: list[Meta] = []
    for element in tree.select("meta"):
        attr = element.attr
        name, shared = attr("name"), attr("property")
        if not (label := name or shared or attr("http-equiv")):
            continue
        key, content = label.strip().lower(), attr("content")
        og_name = (shared.strip().lower() if name and shared else key) if (name or shared) and ":" in (shared or label) else ""
        if content is not None and len(content) <= _MAX_CONTENT_CHARS:
            metas.append((key, og_name, " ".join(content.split()), element))
            continue
        # Open Graph keeps more of a text, and reads the attribute `value` as well.
        metas.append((key, "", " ".join((content or "")[:_MAX_CONTENT_CHARS].split()), element))
        if og_name and (text := attr("value") if content is None else content):
            metas.append(("", og_name, " ".join(text[:_MAX_OPEN_GRAPH_CHARS].split()), element))
    return metas


def read_outline(tree: dom.Tree, properties: list[dom.Element] | None = None) -> Outline:
    """Read headings, landmarks and the dates beside the first heading. `properties`: the elements with an `itemprop`."""
    # Selecting by tag or by one attribute is indexed: several such queries cost half of one that asks for everything.
    headings_and_times: list[dom.Element] = []
    landmarks: list[dom.Element] = []
    for element in dom.elements_list(tree, *_HEADINGS_AND_TIMES, *_LANDMARK_TAGS):
        (headings_and_times if element.tag in _HEADINGS_AND_TIMES else landmarks).append(element)
    headings = (
        [element for element in headings_and_times if element.tag != "time"] if tree.select("time") else headings_and_times
    )
    with_role = dom.select(tree, "[role]")
    properties = dom.select(tree, "[itemprop]") if properties is None else properties
    if len(landmarks) + len(with_role) + len(properties) > _MAX_LANDMARK_CANDIDATES:
        landmarks = dom.select(tree, _LANDMARK_CANDIDATES)[:_MAX_LANDMARK_CANDIDATES]
    elif by_role := [element for element in with_role if _is_landmark_by_role(element)]:
        landmarks = _in_page_order(tree, landmarks, by_role)
    published, modified = _dates_by_heading(headings_and_times) if len(headings_and_times) > len(headings) > 0 else ("", "")
    return Outline(_read_headings(headings), _read_landmarks(landmarks), published, modified)


def landmark_around(element: dom.Element) -> str:
    """The role of the landmark that an element is in; empty where it is in none."""
    at = element.closest(_LANDMARK_OR_ROLE)
    while at is not None:
        if role := _role(at, is_named=False):
            return role
        parent = dom.as_element(at.parent)
        at = parent.closest(_LANDMARK_OR_ROLE) if parent is not None else None
    return ""


def _is_next_or_prev(rel: str) -> bool:
    rel = rel.lower()
    return ("next" in rel or "prev" in rel) and not {"next", "prev"}.isdisjoint(rel.replace(",", " ").split())


def _is_json_ld(kind: str | None) -> bool:
    return kind is not None and "json" in (lower := kind.lower()) and ("ld+json" in lower or "json+ld" in lower)


def _first_line(elements: Iterable[dom.Element]) -> str:
    return next(filter(None, map(dom.one_line, elements)), "")


def _links(tree: dom.Tree, *, has_next: bool) -> list[dom.Element]:
    # One tag's elements come from the tree's index, which costs far less than a walk; few pages need the walk.
    if not has_next and not tree.select("area"):
        return tree.select("a")
    elements = dom.elements_list(tree, "a", "area", "link")
    return [element for element in elements if element.tag != "link" or _is_next_or_prev(element.attr("rel") or "")]


def _author(element: dom.Element) -> str:
    names = dom.select(element, "[itemprop~=name i]")
    name = names[0] if names else element
    return dom.attribute(name, "content") or dom.one_line(name)


def _date(element: dom.Element) -> str:
    return dom.attribute(element, "content") or _time(element)


def _time(element: dom.Element) -> str:
    return dom.attribute(element, "datetime") or dom.one_line(element)


def _read_headings(elements: list[dom.Element]) -> tuple[tuple[int, str], ...]:
    headings = []
    for element in elements[:_MAX_HEADINGS]:
        text = " ".join(element.text.split()).rstrip(_PERMALINK)
        if text and element.attr("hidden") is None and element.attr("aria-hidden") != "true":
            headings.append((_LEVELS[element.tag], text[:_MAX_OUTLINE_CHARS]))
    return tuple(headings)


def _is_landmark_by_role(element: dom.Element) -> bool:
    """Whether an element may be a landmark by its role alone."""
    if (element.attr("role") or "").strip().lower() not in _ROLES:
        return False
    return element.tag not in _LANDMARK_TAGS and element.tag not in _HEADINGS_AND_TIMES


def _in_page_order(tree: dom.Tree, landmarks: list[dom.Element], others: list[dom.Element]) -> list[dom.Element]:
    """Two lists of elements as one, in page order."""
    both = {*landmarks, *others}
    tags = {*_LANDMARK_TAGS, *(other.tag for other in others)}
    merged = [element for element in dom.elements_list(tree, *tags) if element in both]
    # The parser may adjust the tag of an SVG element, which is then not found by it.
    return (
        merged
        if len(merged) == len(both)
        else [element for element in dom.select(tree, _LANDMARK_CANDIDATES) if element in both]
    )


def _read_landmarks(elements: list[dom.Element]) -> tuple[tuple[str, str], ...]:
    landmarks: list[tuple[str, str]] = []
    by_id: dict[str, dom.Element] = {}
    for element in elements:
        label = _label(element, by_id)
        if role := _role(element, is_named=bool(label)):
            landmarks.append((role, label[:_MAX_OUTLINE_CHARS]))
            if len(landmarks) == _MAX_LANDMARKS:
                break
    return tuple(landmarks)


def _role(element: dom.Element, *, is_named: bool) -> str:
    """The landmark role of an element: its own, or that of its tag; empty where it is no landmark."""
    if role := (element.attr("role") or "").strip().lower():
        return role if role in _ROLES else ""
    tag = element.tag
    if tag in {"header", "footer"} and dom.has_ancestor(element, _SECTIONING):
        return ""
    return _NAMED_LANDMARKS[tag] if is_named and tag in _NAMED_LANDMARKS else _LANDMARKS.get(tag, "")


def _label(element: dom.Element, by_id: dict[str, dom.Element]) -> str:
    """The accessible name of an element: `aria-labelledby`, else `aria-label`, else `title`, on one line.

    `by_id` are the elements with an id; it is filled when it is first needed.
    """
    attr = element.attr
    if ids := attr("aria-labelledby"):
        if not by_id:
            for named in reversed(dom.select(dom.top_of(element), "[id]")):
                by_id[named.attr("id") or ""] = named
        texts = [by_id[name].text for name in ids.split()[:_MAX_LABEL_IDS] if name in by_id]
        if label := " ".join(" ".join(texts).split()):
            return label
    return " ".join((attr("aria-label") or attr("title") or "").split())


def _dates_by_heading(elements: list[dom.Element]) -> tuple[str, str]:
    """When the page was published and modified, by the `time` elements next to its first `h1`, with no heading between."""
    top = next((at for at, element in enumerate(elements) if element.tag == "h1"), None)
    if top is None:
        return "", ""
    after = next((at for at in range(top + 1, len(elements)) if elements[at].tag != "time"), len(elements))
    before = next((at for at in range(top - 1, -1, -1) if elements[at].tag != "time"), -1)
    near = elements[top + 1 : after] + elements[before + 1 : top]
    published = modified = ""
    for time in near[:_MAX_DATES]:
        if not _is_date_of(elements[top], time) or not (date := iso_date(_time(time))):
            continue
        names = f"{dom.attribute(time, 'itemprop')} {dom.attribute(time, 'class')}".lower()
        if "modif" in names or "updat" in names:
            modified = modified or date
        else:
            published = published or date
    return published, modified


def _is_date_of(heading: dom.Element, time: dom.Element) -> bool:
    """Whether a date belongs to a heading: one in an article that the heading is not part of is that article's date."""
    article = time.closest("article")
    return (article is None or article == heading.closest("article")) and not dom.is_inside(time, "aside,footer,nav")
