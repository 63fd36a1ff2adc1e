"""The HTML parser, behind the few verbs the room needs. No other module imports it, so that it can be swapped.

The parser and its walks are iterative in C: a page nested 200,000 deep costs tens of milliseconds and no recursion.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias, cast

import turbohtml
from turbohtml._html import strip_comments_node  # `clean`, its public place, loads a sanitizer and three minifiers as well

Tree: TypeAlias = turbohtml.Document
Element: TypeAlias = turbohtml.Element
Text: TypeAlias = turbohtml.Text
Node: TypeAlias = turbohtml.Document | turbohtml.Element
AnyNode: TypeAlias = turbohtml.Node

Named: TypeAlias = tuple[turbohtml.Element, str, str]

VERBATIM = "_md"  # no tag of a page starts with an underscore: only `verbatim` makes these


_MAX_PLACE_DEPTH = 100
_PIECE_BYTES = 2**16
_SHOW_TEXT = 4  # NodeFilter.SHOW_TEXT
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z][\w-]*(?:\[\d+\])?)+", re.ASCII)


def parse(source: str | bytes) -> Tree:
    """The tree of a document; every text has one. UTF-8 has to come without a byte order mark.

    A tree holds on to the text it is made of, or to another one where lines end in returns. Of UTF-8 it gets a piece at a time,
    and keeps its own copy of what it needs. That takes half as long again, and less memory where text is wide.
    """
    if isinstance(source, str):
        return turbohtml.parse(source, positions=False)
    parser = turbohtml.IncrementalParser(encoding="utf-8", positions=False)
    for start in range(0, len(source), _PIECE_BYTES):
        parser.feed(source[start : start + _PIECE_BYTES])
    return parser.close()


def elements_list(node: Node, *tags: str) -> list[Element]:
    """Descendants with these tags, in document order, all at once: callers change the tree as they go."""
    return list(node.iter_elements(tags))


def any_refuses(node: Node) -> bool:
    """Whether it is worth asking links, one by one, whether they say nofollow."""
    return any(node.select(f"{tag}[rel*=nofollow i]") for tag in ("a", "area", "link"))


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


def matches(node: Element, selector: str) -> bool:
    """Whether an element matches a selector that the page wrote; one that is not CSS matches nothing."""
    try:
        return node.matches(selector)
    except ValueError:
        return False


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


def has_ancestor_in(node: Element, elements: set[Element]) -> bool:
    """Whether a proper ancestor is one of these."""
    return any(ancestor in elements for ancestor in node.ancestors)


def top_of(element: Element) -> Element:
    """The outermost element around this one: the root of its tree."""
    top = element
    for ancestor in element.ancestors:
        if isinstance(ancestor, turbohtml.Element):
            top = ancestor
    return top


def attributes(element: Element) -> dict[str, str]:
    """All attributes of an element; one without a value has an empty one."""
    return {name: element.attr(name) or "" for name in element.attrs}


def long_attributes(node: Node, chars: int) -> list[Named]:
    """Attributes with more characters than this: the element, the attribute's name and its value."""
    return [
        (element, name, value)
        for element in node.iter_elements(None, True)
        for name in element.attrs
        if len(value := element.attr(name) or "") > chars
    ]


def drop(node: AnyNode) -> None:
    """Take a node and all it holds out of the tree."""
    node.decompose()


def all_elements(node: Element) -> list[Element]:
    """An element and all elements below it, in document order."""
    return list(node.iter_elements(None, True))


def children(node: Element) -> list[AnyNode]:
    """The nodes directly within an element."""
    return list(node.children)


def text_of(node: AnyNode) -> str:
    """The character data of any node."""
    return node.text


def serialised(node: Element) -> bytes:
    """A subtree, which loses its comments, as well-formed HTML: all elements are closed, `<` and `>` are nothing but tags."""
    # In parts: as a whole it is put together four bytes a character first, which takes a large page twice as long.
    return b"".join([part.encode() for part in strip_comments_node(node).serialize_iter()])


def raw_text(node: Node) -> str:
    """All character data, as it stands in the source."""
    return node.text


def one_line(node: Node) -> str:
    """The text with its white space collapsed."""
    return " ".join(node.text.split())


def place(node: Element) -> str:
    """A CSS selector that finds this element again on its page; empty for one that lies too deep to be named."""
    # `css_path` starts at the nearest id, and for that indexes all ids of the page on its first call.
    if node.closest("[id]") is None and (steps := css_steps(node)):
        return " > ".join(steps)
    return node.css_path() if len(_ancestors(node)) < _MAX_PLACE_DEPTH else ""


def css_steps(node: Element) -> list[str]:
    """The tags from the root down, each with its position among siblings of that tag if there are any: `div:nth-of-type(2)`.

    Empty for an element that lies too deep to be named, and where a tag has characters that CSS has to escape.
    """
    ancestors, path = _ancestors(node), node.xpath_path()
    if len(ancestors) == _MAX_PLACE_DEPTH or not _PLAIN_PATH.fullmatch(path):
        return []
    # A tag can end in a bracket, which looks like a position.
    if "[" in "".join([each.tag for each in (node, *ancestors) if isinstance(each, turbohtml.Element)]):
        return []
    return path[1:].replace("[", ":nth-of-type(").replace("]", ")").split("/")


def _ancestors(node: Element) -> list[AnyNode]:
    return list(islice(node.ancestors, _MAX_PLACE_DEPTH))


def body(tree: Tree) -> Element | None:
    """The document's body."""
    return tree.find("body")


def made(tag: str, attrs: dict[str, str] | None = None, *children: AnyNode) -> Element:
    """A new element; children that are part of a tree move into it."""
    return turbohtml.Element(tag, attrs, children)


def words(data: str) -> Text:
    """A new piece of text."""
    return turbohtml.Text(data)


def verbatim(markdown: str, *children: AnyNode) -> Element:
    """An element that is written as the Markdown given, not escaped; its children are its plain text."""
    return turbohtml.Element(VERBATIM, {"md": markdown}, children)


def unwrap_all(node: Node, selector: str) -> None:
    """Take elements away and leave what they hold in their place."""
    node.strip_tags(selector)


def copied(node: Element) -> Element:
    """A copy of a subtree that is part of no tree."""
    return copy.deepcopy(node)


def texts(node: Node) -> Iterator[Text]:
    """Every piece of text below a node."""
    return cast("Iterator[Text]", turbohtml.NodeIterator(node, _SHOW_TEXT))


def only_text(node: Element) -> str | None:
    """The text of an element that holds one piece of text and nothing else."""
    inner = node.children
    if len(inner) != 1:
        return None
    only = inner[0]
    return only.data if isinstance(only, turbohtml.Text) else None


def child_elements(node: Node) -> list[Element]:
    """The children that are elements."""
    return [child for child in node.children if isinstance(child, turbohtml.Element)]


def as_element(node: AnyNode | None) -> Element | None:
    """The same node when it is an element."""
    return node if isinstance(node, turbohtml.Element) else None


def as_text(node: AnyNode | None) -> Text | None:
    """The same node when it is text."""
    return node if isinstance(node, turbohtml.Text) else None


def comment_of(node: AnyNode) -> str | None:
    """The text of a comment; None for any other node."""
    return node.data if isinstance(node, turbohtml.Comment) else None


def is_blank(node: AnyNode) -> bool:
    """Whether a node shows nothing: a comment, or white space."""
    if isinstance(node, turbohtml.Text):
        return not node.data or node.data.isspace()
    return not isinstance(node, turbohtml.Element)


def holds(node: Element, *tags: str) -> bool:
    """Whether an element with one of these tags is below."""
    return next(iter(node.iter_elements(tags)), None) is not None
