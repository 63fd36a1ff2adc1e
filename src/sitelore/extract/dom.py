"""The HTML parser, behind the few verbs the room needs. No other module imports it, so that it can be swapped.

The parser and its walks are iterative in C: a page nested 200,000 deep costs tens of milliseconds and no recursion.
"""

from __future__ import annotations

from typing import TypeAlias

import turbohtml

Tree: TypeAlias = turbohtml.Document
Element: TypeAlias = turbohtml.Element
Node: TypeAlias = turbohtml.Document | turbohtml.Element

Named: TypeAlias = tuple[turbohtml.Element, str, str]

_MARKDOWN = turbohtml.Markdown(
    # Raw HTML must never reach Markdown, not even a list within a table cell.
    tables=turbohtml.Markdown.Tables(cell_blocks="text"),
    links=turbohtml.Markdown.Links(autolink=False),
)
_PLAIN = turbohtml.PlainText(layout="strict", bullet="- ", table_cell_separator=" ")


def parse(text: str) -> Tree:
    """The tree of a document; every text has one."""
    return turbohtml.parse(text, positions=False)


def elements_list(node: Node, *tags: str) -> list[Element]:
    """Descendants with these tags, in document order, all at once: callers change the tree as they go."""
    return list(node.iter_elements(tags))


def links(node: Node) -> tuple[list[Element], list[str]]:
    """Every `a`, `area` and `link rel=next|prev` in document order, and the href of each, empty where there is none."""
    # One tag's elements come from the tree's index, which costs far less than a walk; few pages need the walk.
    found = node.select("a")
    if node.select("area") or any(map(_is_paging, node.select("link"))):
        found = [e for e in node.iter_elements(("a", "area", "link")) if e.tag != "link" or _is_paging(e)]
    return found, [element.attr("href") or "" for element in found]


def _is_paging(link: Element) -> bool:
    rel = (link.attr("rel") or "").lower()
    return ("next" in rel or "prev" in rel) and not {"next", "prev"}.isdisjoint(rel.replace(",", " ").split())


def link_text(node: Element) -> str:
    """What a link is called: its text, or that of the picture it is part of."""
    return node.text or node.attr("alt") or ""


def refuses(node: Element) -> bool:
    """Whether a link says nofollow."""
    rel = node.attr("rel")
    return rel is not None and "nofollow" in rel.lower().replace(",", " ").split()


def named(node: Node) -> list[Named]:
    """Descendants that have a class or an id, in document order, each with both; empty where it has none."""
    return [(e, e.attr("class") or "", e.attr("id") or "") for e in node.select("[class],[id]")]


def first(node: Node, tag: str) -> Element | None:
    """The first descendant with this tag."""
    return node.find(tag)


def select(node: Node, selector: str) -> list[Element]:
    """Descendants that match a CSS selector, in document order."""
    return node.select(selector)


def select_safely(node: Node, selector: str) -> list[Element]:
    """The same for a selector that a person wrote; one that is not CSS matches nothing."""
    try:
        return node.select(selector)
    except ValueError:
        return []


def attribute(node: Element, name: str) -> str:
    """An attribute's value, empty when there is none."""
    return node.attr(name) or ""


def has_attribute(node: Element, name: str) -> bool:
    """Whether an attribute is there, with or without a value."""
    return node.attr(name) is not None


def set_attribute(node: Element, name: str, value: str) -> None:
    """Give an attribute a value."""
    node.attrs[name] = value


def drop_attribute(node: Element, name: str) -> None:
    """Take an attribute away."""
    node.attrs.pop(name, None)


def is_inside(node: Element, selector: str) -> bool:
    """Whether the element or an ancestor matches a CSS selector."""
    return node.closest(selector) is not None


def has_ancestor(node: Element, selector: str) -> bool:
    """Whether a proper ancestor matches a CSS selector."""
    parent = node.parent
    return isinstance(parent, Element) and parent.closest(selector) is not None


def drop(node: Element) -> None:
    """Take an element and all it holds out of the tree."""
    node.decompose()


def raw_text(node: Node) -> str:
    """All character data, as it stands in the source."""
    return node.text


def one_line(node: Node) -> str:
    """The text with its white space collapsed."""
    return " ".join(node.text.split())


def body(tree: Tree) -> Element | None:
    """The document's body."""
    return tree.find("body")


def to_markdown(node: Node) -> str:
    """Markdown of a subtree, its text escaped."""
    return node.to_markdown(_MARKDOWN)


def to_text(node: Node) -> str:
    """Plain text of a subtree, one line a block."""
    return node.to_text(_PLAIN)
