"""Finds the title of a page and puts it first in the content, once, as its `h1`.

The title is the page's `h1`. Where there is none, or it names the site, it is the heading or other element whose text is a part
of `<title>`; and at last `<title>` itself without the name of the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sitelore.extract import dom

_SEPARATOR = re.compile(r"\s+[|\u2013\u2014\u00b7\u2022\u00bb\u00ab>:\-]+\s+|\s*::\s+|\s+::\s*|\s*\|\s*|:\s+")
_SYMBOLS = re.compile(r"[\W_]+")
_NAMED = "[class*=title i],[id*=title i],[class*=caption i],[class*=headline i]"
_HEADINGS = ("h1", "h2", "h3")
_MAX_TITLES = 20
_MAX_NAMED = 40
_MAX_CHARS = 300
_SHORT_PART = 3


@dataclass(frozen=True, slots=True)
class Title:
    """The title of a page, and the element that shows it, where one does."""

    text: str
    element: dom.Element | None = None


NO_TITLE = Title("")


def find_title(tree: dom.Tree, head_title: str, site_name: str) -> Title:
    """The title of a whole page, before anything is cut from it. `head_title` is the text of `<title>`."""
    parts = [part for part in _SEPARATOR.split(head_title) if _key(part)]
    keys = [_key(part) for part in parts]
    whole, site = _key(head_title), _key(site_name)
    shown = [(element, key) for element in tree.select("h1")[:_MAX_TITLES] if (key := _key(element.text[:_MAX_CHARS]))]
    # An `h1` that is the last part of the title, or the site's name, is a logo.
    own = [(element, key) for element, key in shown if key != site and not (len(keys) > 1 and key == keys[-1] != keys[0])]
    told = [(len(key), element) for element, key in own if key in whole]
    if told:
        longest = max(size for size, _ in told)
        return _titled(next(element for size, element in told if size == longest))
    if len(own) == 1:
        return _titled(own[0][0])
    candidates = [*dom.elements_list(tree, *_HEADINGS)[:_MAX_TITLES], *tree.select(_NAMED)[:_MAX_NAMED]]
    for element in candidates:
        key = _key(element.text[:_MAX_CHARS])
        if key and (key == whole or (key in keys and key != site and key != keys[-1])):
            return _titled(element)
    text = _without_site(parts, site) or head_title
    return Title(text) if text or not own else _titled(own[0][0])


def place_title(title: Title, nodes: tuple[dom.Node, ...]) -> tuple[dom.Node, ...]:
    """The content with its title in front of it; a heading with the title's text is not repeated."""
    key = _key(title.text)
    if not key:
        return nodes
    element = title.element
    if element is not None and _is_part(element, nodes) and not _is_whole(element, nodes):
        heading = element
    else:
        same = (one for node in nodes for one in _first_headings(node) if _key(one.text[:_MAX_CHARS]) == key)
        heading = next(same, None) or dom.made("h1", None, dom.words(title.text))
    if heading.parent is not None:
        heading.extract()
    heading.tag = "h1"
    return (dom.made("div", None, heading), *nodes)


def _titled(element: dom.Element) -> Title:
    return Title(dom.one_line(element)[:_MAX_CHARS], element)


def _key(text: str) -> str:
    """Letters and digits alone, to compare titles by."""
    return _SYMBOLS.sub("", text).lower()


def _without_site(parts: list[str], site: str) -> str:
    """The first part of a title that is not the site's name."""
    others = [part for part in parts if _key(part) != site]
    return next((part.strip() for part in others if len(_key(part)) >= _SHORT_PART), "")


def _first_headings(node: dom.Node) -> Iterable[dom.Element]:
    return dom.elements_list(node, *_HEADINGS)[:_MAX_TITLES]


def _is_part(element: dom.Element, nodes: tuple[dom.Node, ...]) -> bool:
    return element in nodes or dom.has_ancestor_in(element, {node for node in nodes if isinstance(node, dom.Element)})


def _is_whole(element: dom.Element, nodes: tuple[dom.Node, ...]) -> bool:
    """Whether an element is all of the content: a page that is one paragraph."""
    return element in nodes
