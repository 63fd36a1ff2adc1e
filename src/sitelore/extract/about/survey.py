"""Gathers facts from a page's tree: titles, meta elements, headings, landmarks, links, JSON-LD scripts and style sheets.

`head`, `metadata`, `outline` and `links` here, `jsonld` and `style_sheets` elsewhere decide what they mean. Expensive facts
that are seldom needed are gathered on demand, as long as the tree stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from sitelore.extract import dom

LEVELS = {f"h{level}": level for level in range(1, 7)}
LANDMARKS = {
    "main": "main",
    "nav": "navigation",
    "header": "banner",
    "footer": "contentinfo",
    "aside": "complementary",
    "search": "search",
}
NAMED_LANDMARKS = {"section": "region", "form": "form"}
ROLES = frozenset({"main", "navigation", "banner", "contentinfo", "complementary", "search", "region", "form"})
SECTIONING = "article,aside,main,nav,section,[role=main i],[role=article i],[role=region i]"
_ROOMS = {*LANDMARKS, *NAMED_LANDMARKS}
_DATED = {*LEVELS, "time"}
_IN_ORDER = f":is({','.join((*_ROOMS, '[role]', '[itemprop]'))}):not({','.join(_DATED)})"
_OF_OTHERS = (
    "[itemprop~=comment i],[itemprop~=review i],[itemprop~=suggestedAnswer i],[itemtype*='/Comment'],[itemtype*='/Review']"
)
MAX_SAID = 2_000
_PERMALINK = " \u00b6\u00a7\uf0c1"
"""Marks at the end of a heading by which it can be linked to: \u00b6, \u00a7 and a character of Font Awesome."""
_MAX_TITLES = 50
_MAX_HEADINGS = 100
_MAX_ROOMS = 400
_MAX_MARKED = 40
_MAX_DATES = 8
_MAX_IDS = 4


Room: TypeAlias = tuple[str, str, str, str]
"""An element that may be a landmark: its tag, which is empty for a `header` or `footer` within sectioning content; its role, as
it is written; what the elements say that it is labelled by, on one line; its `aria-label` or else its `title`, as written."""


class Layout(NamedTuple):
    """What there is to see of a page's order."""

    headings: Sequence[tuple[int, str]]
    """Level and text, on one line, of those among the first that show any."""
    rooms: tuple[Room, ...]
    dates: list[tuple[str, str]]
    """`time` elements that stand by the first `h1`: what each says, and how it is marked."""


class Links(NamedTuple):
    """Every `a`, `area` and `link rel=next|prev`, in page order."""

    hrefs: list[str]
    """Empty where there is none."""
    text_of: Callable[[int], str]
    """What one of them is called, on one line: its text, or that of the picture it is part of."""
    rels: Callable[[], Mapping[int, str]]
    """What those say of themselves that may say nofollow."""
    elements: Sequence[dom.Element] = ()
    """Themselves, where there is a tree."""


class Survey(NamedTuple):
    """What was found on a page."""

    title: str
    """Of the first ones that say anything, on one line. Drawings have titles of their own."""
    h1: str
    base: str
    languages: list[str]
    """What the root element says, in `lang` and `xml:lang`."""
    metas: list[tuple[str, str]]
    """What each `meta` is called, by `name`, `property` or `http-equiv`, in lower case; its content on one line."""
    relations: list[tuple[str, str]]
    """Of each `link`: what it is for, in lower case, and its address. Those may be left out that are neither `canonical` nor
    `image_src`."""
    layout: Layout
    marked: Callable[[str], list[str]]
    """Microdata: the values of a property, but for those of comments and reviews."""
    bylines: Callable[[], list[str]]
    """The texts of links to an author."""
    links: Links
    scripts: list[tuple[str, dom.Element]]
    """Those of JSON-LD."""
    sheets: list[tuple[str, str]]
    """`style` elements: for which media, and what they hold."""


def surveyed(tree: dom.Tree) -> Survey:
    """Look at a whole tree, before anything is cut from it."""
    root = dom.first(tree, "html")
    props = dom.select(tree, "[itemprop]")
    relations = tree.select("link")
    rels = [element.attr("rel") or "" for element in relations]
    return Survey(
        title=_first_line(one for one in tree.select("title")[:_MAX_TITLES] if one.closest("svg") is None),
        h1=_first_line(tree.select("h1")[:_MAX_TITLES]).rstrip(_PERMALINK),
        base=next(filter(str.strip, [element.attr("href") or "" for element in tree.select("base")]), ""),
        languages=[dom.attribute(root, "lang"), dom.attribute(root, "xml:lang")] if root is not None else [],
        metas=_metas(tree),
        relations=[(rel.lower(), element.attr("href") or "") for rel, element in zip(rels, relations, strict=True)],
        layout=_layout(tree, props),
        marked=partial(_marked, [((element.attr("itemprop") or "").lower(), element) for element in props]),
        bylines=lambda: list(map(dom.one_line, dom.select(tree, "a[rel~=author i]")[:_MAX_MARKED])),
        links=_links(tree, has_more=any(map(leads_on, rels))),
        scripts=scripts_of(tree),
        sheets=sheets_of(tree),
    )


def links_of(tree: dom.Tree) -> Links:
    """The links of a page alone."""
    return _links(tree, has_more=any(leads_on(element.attr("rel") or "") for element in tree.select("link")))


def layout_of(tree: dom.Tree) -> Layout:
    """The layout of a page alone."""
    return _layout(tree, dom.select(tree, "[itemprop]"))


def scripts_of(tree: dom.Tree) -> list[tuple[str, dom.Element]]:
    """The JSON-LD of a page alone."""
    return [(dom.raw_text(one), one) for one in dom.select(tree, "script") if _is_linked_data(one.attr("type"))]


def sheets_of(tree: dom.Tree) -> list[tuple[str, str]]:
    """The style sheets of a page alone."""
    return [(style.attr("media") or "", dom.raw_text(style)) for style in dom.select(tree, "style")]


def leads_on(rel: str) -> bool:
    """Whether a `link` is one to the next or the last page."""
    rel = rel.lower()
    return ("next" in rel or "prev" in rel) and not {"next", "prev"}.isdisjoint(rel.replace(",", " ").split())


def _is_linked_data(kind: str | None) -> bool:
    """Whether a script of this type holds JSON-LD."""
    return kind is not None and "json" in (lower := kind.lower()) and ("ld+json" in lower or "json+ld" in lower)


def _first_line(elements: Iterable[dom.Element]) -> str:
    return next(filter(None, map(dom.one_line, elements)), "")


def _metas(tree: dom.Tree) -> list[tuple[str, str]]:
    metas = []
    for element in tree.select("meta"):
        attr = element.attr
        if said := attr("name") or attr("property") or attr("http-equiv"):
            metas.append((said.strip().lower(), " ".join((attr("content") or "")[:MAX_SAID].split())))
    return metas


def _links(tree: dom.Tree, *, has_more: bool) -> Links:
    elements = _linking(tree, has_more=has_more)
    return Links(
        [element.attr("href") or "" for element in elements],
        lambda at: " ".join((elements[at].text or elements[at].attr("alt") or "").split()),
        lambda: {at: rel for at, one in enumerate(elements) if (rel := one.attr("rel"))} if dom.any_refuses(tree) else {},
        elements,
    )


def _linking(tree: dom.Tree, *, has_more: bool) -> list[dom.Element]:
    """`has_more` says that there is a `link` that leads on."""
    # One tag's elements come from the tree's index, which costs far less than a walk; few pages need the walk.
    if not has_more and not tree.select("area"):
        return tree.select("a")
    every = dom.elements_list(tree, "a", "area", "link")
    return [one for one in every if one.tag != "link" or leads_on(one.attr("rel") or "")]


def _marked(props: list[tuple[str, dom.Element]], name: str) -> list[str]:
    said = [element for prop, element in props if name in prop and name in prop.split()]
    own = [element for element in said[:_MAX_MARKED] if not dom.is_inside(element, _OF_OTHERS)]
    return list(map(_author if name == "author" else _date, own))


def _author(element: dom.Element) -> str:
    inner = dom.select(element, "[itemprop~=name i]")
    plain = inner[0] if inner else element
    return dom.attribute(plain, "content") or dom.one_line(plain)


def _date(element: dom.Element) -> str:
    return dom.attribute(element, "content") or _when(element)


def _layout(tree: dom.Tree, props: list[dom.Element]) -> Layout:
    # Walks that ask for tags, or for one attribute, cost together half of one that asks for all of it.
    dates: list[dom.Element] = []
    rooms: list[dom.Element] = []
    for element in dom.elements_list(tree, *_DATED, *_ROOMS):
        (dates if element.tag in _DATED else rooms).append(element)
    heads = [element for element in dates if element.tag != "time"] if tree.select("time") else dates
    said = dom.select(tree, "[role]")
    if len(rooms) + len(said) + len(props) > _MAX_ROOMS:
        rooms = dom.select(tree, _IN_ORDER)[:_MAX_ROOMS]
    elif by_role := [element for element in said if _is_room_by_role(element)]:
        rooms = _merged(tree, rooms, by_role)
    labels = _Labels()
    near = _near(dates) if len(dates) > len(heads) > 0 else []
    return Layout(_headings(heads), tuple([_room(element, labels) for element in rooms]), near)


def _is_room_by_role(element: dom.Element) -> bool:
    """Whether it may be a landmark for its role alone."""
    if (element.attr("role") or "").strip().lower() not in ROLES:
        return False
    return element.tag not in _ROOMS and element.tag not in _DATED


def _merged(tree: dom.Tree, rooms: list[dom.Element], others: list[dom.Element]) -> list[dom.Element]:
    """Both in page order."""
    both = {*rooms, *others}
    merged = [element for element in dom.elements_list(tree, *_ROOMS, *{other.tag for other in others}) if element in both]
    # An element of SVG can be called otherwise than it is found.
    return merged if len(merged) == len(both) else [element for element in dom.select(tree, _IN_ORDER) if element in both]


def _headings(heads: list[dom.Element]) -> list[tuple[int, str]]:
    found = []
    for element in heads[:_MAX_HEADINGS]:
        text = " ".join(element.text.split()).rstrip(_PERMALINK)
        if text and element.attr("hidden") is None and element.attr("aria-hidden") != "true":
            found.append((LEVELS[element.tag], text))
    return found


def _room(element: dom.Element, labels: _Labels) -> Room:
    attr, tag = element.attr, element.tag
    if tag in {"header", "footer"} and dom.has_ancestor(element, SECTIONING):
        tag = ""
    return tag, attr("role") or "", labels.named_by(element), attr("aria-label") or attr("title") or ""


class _Labels:
    """What elements say that others name as their label."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[str, dom.Element] | None = None

    def named_by(self, element: dom.Element) -> str:
        if not (ids := element.attr("aria-labelledby")):
            return ""
        known = self._ids(element)
        return " ".join(" ".join([known[one].text for one in ids.split()[:_MAX_IDS] if one in known]).split())

    def _ids(self, element: dom.Element) -> dict[str, dom.Element]:
        if self._by_id is None:
            self._by_id = {}
            for one in dom.select(dom.top_of(element), "[id]"):
                self._by_id.setdefault(one.attr("id") or "", one)
        return self._by_id


def _near(walked: list[dom.Element]) -> list[tuple[str, str]]:
    """The dates next to the first `h1`: after it or just before it, with no other heading between."""
    top = next((at for at, element in enumerate(walked) if element.tag == "h1"), None)
    if top is None:
        return []
    after = next((at for at in range(top + 1, len(walked)) if walked[at].tag != "time"), len(walked))
    before = next((at for at in range(top - 1, -1, -1) if walked[at].tag != "time"), -1)
    near = walked[top + 1 : after] + walked[before + 1 : top]
    own = [time for time in near[:_MAX_DATES] if _is_of(walked[top], time)]
    return [(_when(time), f"{dom.attribute(time, 'itemprop')} {dom.attribute(time, 'class')}") for time in own]


def _when(element: dom.Element) -> str:
    return dom.attribute(element, "datetime") or dom.one_line(element)


def _is_of(top: dom.Element, time: dom.Element) -> bool:
    """A date in an article that the heading is not part of is that article's: a list of posts under "News"."""
    article = time.closest("article")
    return (article is None or article == top.closest("article")) and not dom.is_inside(time, "aside,footer,nav")
