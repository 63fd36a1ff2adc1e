"""The HTML parser and operations on its tree. No other module imports turbohtml, so that it can be replaced.

The parser and its walks are iterative in C: a page nested 200,000 deep costs tens of milliseconds and no recursion.

Four functions read text. `raw_text`: the text of a node and everything below it, with its white space unchanged.
`one_line_text`: that text with every run of white space as one space. `only_text`: the text of an element whose only child is a
text node. `text_nodes`: the text nodes themselves.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TypeAlias, cast

import turbohtml
import turbohtml.detect  # registers the codecs of the WHATWG Encoding Standard
from turbohtml._html import strip_comments_node  # `clean`, its public place, loads a sanitizer and three minifiers as well

Tree: TypeAlias = turbohtml.Document
Element: TypeAlias = turbohtml.Element
Text: TypeAlias = turbohtml.Text
Node: TypeAlias = turbohtml.Document | turbohtml.Element
AnyNode: TypeAlias = turbohtml.Node

ClassAndId: TypeAlias = tuple[turbohtml.Element, str, str]
"""An element with its `class` and its `id`, each empty where it has none."""

MARKDOWN_TAG = "_md"  # no tag of a page starts with an underscore: only `new_markdown` makes these

_MAX_PATH_DEPTH = 100
_PIECE_BYTES = 2**16
_SHOW_TEXT = 4  # NodeFilter.SHOW_TEXT
_END_OF_NOSCRIPT = "</noscript"
_OPEN_FRAME = re.compile(r"(<iframe\b[^<>]*>)(?=\s*</noscript)", re.IGNORECASE)
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z][\w-]*(?:\[\d+\])?)+", re.ASCII)


def parse(source: str | bytes) -> Tree:
    """Parse a document; any text gives a tree. UTF-8 has to come without a byte order mark.

    `noscript` is read as markup, as without scripts. An `iframe` in it that nothing closes would hold the rest of the document,
    which browsers show, because they run scripts; so it is closed where its `noscript` ends.

    A tree keeps the `str` it is made of in memory. UTF-8 is fed piece by piece, and the tree copies what it needs, which takes
    half as long again, and less memory where the `str` would take four bytes a character.
    """
    tree = _parse(source)
    if any(_END_OF_NOSCRIPT in frame.text for frame in tree.iter_elements(("iframe",))):
        closed = _OPEN_FRAME.sub(r"\1</iframe>", source if isinstance(source, str) else source.decode("utf-8", "replace"))
        tree = _parse(closed if isinstance(source, str) else closed.encode())
    return tree


def _parse(source: str | bytes) -> Tree:
    if isinstance(source, str):
        return turbohtml.parse(source, positions=False)
    parser = turbohtml.IncrementalParser(encoding="utf-8", positions=False)
    for start in range(0, len(source), _PIECE_BYTES):
        parser.feed(source[start : start + _PIECE_BYTES])
    return parser.close()


def charset_named(label: str) -> str | None:
    """The WHATWG name of an encoding in lower case, by one of its labels; None for an unknown label."""
    try:
        name = turbohtml.parse(b"", encoding=label.strip("\t\n\f\r ")).encoding
    except LookupError:
        return None
    return name.lower() if name and name != "replacement" else None


def decode_as(data: bytes, name: str) -> str:
    """Decode bytes by the WHATWG name of their encoding. Invalid bytes become U+FFFD."""
    return data.decode(f"whatwg-{name}", "replace")


def elements_list(node: Node, *tags: str) -> list[Element]:
    """Descendants with these tags, in document order, as a list: callers may change the tree while they iterate."""
    return list(node.iter_elements(tags))


def first_elements(node: Node, count: int, *tags: str) -> list[Element]:
    """The first descendants with these tags, in document order; the walk ends with the last of them."""
    return list(islice(node.iter_elements(tags), count))


def elements_with_class_or_id(node: Node) -> list[ClassAndId]:
    """Descendants that have a class or an id, in document order."""
    return [(e, e.attr("class") or "", e.attr("id") or "") for e in node.select("[class],[id]")]


def first(node: Node, tag: str) -> Element | None:
    """The first descendant with this tag."""
    return node.find(tag)


def select(node: Node, selector: str) -> list[Element]:
    """Descendants that match a CSS selector, in document order."""
    return node.select(selector)


def select_safely(node: Node, selector: str) -> list[Element]:
    """Descendants that match an operator's selector, which matches nothing when it is not valid CSS."""
    try:
        return node.select(selector)
    except ValueError:
        return []


def selector_problem(selector: str) -> str:
    """The reason why a selector is not valid CSS; empty for a valid one."""
    try:
        parse("<p>").select(selector)
    except ValueError as error:
        return str(error).rpartition('": ')[2]
    return ""


def matches(node: Element, selector: str) -> bool:
    """Whether an element matches a selector of the page, which matches nothing when it is not valid CSS."""
    try:
        return node.matches(selector)
    except ValueError:
        return False


def attribute(node: Element, name: str) -> str:
    """An attribute's value, empty when there is none."""
    return node.attr(name) or ""


def has_attribute(node: Element, name: str) -> bool:
    """Whether an element has an attribute, with or without a value."""
    return node.attr(name) is not None


def set_attribute(node: Element, name: str, value: str) -> None:
    """Set an attribute."""
    node.attrs[name] = value


def drop_attribute(node: Element, name: str) -> None:
    """Remove an attribute."""
    node.attrs.pop(name, None)


def is_inside(node: Element, selector: str) -> bool:
    """Whether the element or an ancestor matches a CSS selector."""
    return node.closest(selector) is not None


def has_ancestor(node: Element, selector: str) -> bool:
    """Whether a proper ancestor matches a CSS selector."""
    parent = node.parent
    return isinstance(parent, Element) and parent.closest(selector) is not None


def has_ancestor_in(node: Element, elements: set[Element]) -> bool:
    """Whether one of these is a proper ancestor."""
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


def long_attributes(node: Node, chars: int) -> list[tuple[Element, str, str]]:
    """Attributes with more characters than this: the element, the attribute's name and its value."""
    return [
        (element, name, value)
        for element in node.iter_elements(None, True)
        for name in element.attrs
        if len(value := element.attr(name) or "") > chars
    ]


def drop(node: AnyNode) -> None:
    """Remove a node and its descendants from the tree."""
    node.decompose()


def all_elements(node: Element) -> list[Element]:
    """An element and all elements below it, in document order."""
    return list(node.iter_elements(None, True))


def children(node: Element) -> list[AnyNode]:
    """The nodes directly within an element."""
    return list(node.children)


def serialised(node: Element) -> bytes:
    """A subtree as well-formed HTML in UTF-8: elements are closed, `<` and `>` in text are escaped. Removes its comments."""
    # In parts: the whole is built with four bytes a character first, which takes twice as long for a large page.
    return b"".join([part.encode() for part in strip_comments_node(node).serialize_iter()])


def raw_text(node: AnyNode) -> str:
    """The text of a node and everything below it, with its white space unchanged."""
    return node.text


def one_line_text(node: Node) -> str:
    """The text of a node and everything below it, with every run of white space as one space."""
    return " ".join(node.text.split())


def css_path(node: Element) -> str:
    """A CSS selector that finds this element in this version of the page; empty for one that is nested too deep.

    `Selectors` makes selectors that also hold on a later visit.
    """
    # `css_path` starts at the nearest id, and for that indexes all ids of the page on its first call.
    if node.closest("[id]") is None and (steps := css_steps(node)):
        return " > ".join(steps)
    return node.css_path() if len(_ancestors(node)) < _MAX_PATH_DEPTH else ""


def css_steps(node: Element) -> list[str]:
    """The tags from the root down, each with its position among siblings of that tag if there are any: `div:nth-of-type(2)`.

    Empty for an element that is nested too deep, and where a tag has characters that CSS has to escape.
    """
    ancestors, path = _ancestors(node), node.xpath_path()
    if len(ancestors) == _MAX_PATH_DEPTH or not _PLAIN_PATH.fullmatch(path):
        return []
    # A tag can end in a bracket, which looks like a position.
    if "[" in "".join([each.tag for each in (node, *ancestors) if isinstance(each, turbohtml.Element)]):
        return []
    return path[1:].replace("[", ":nth-of-type(").replace("]", ")").split("/")


def _ancestors(node: Element) -> list[AnyNode]:
    return list(islice(node.ancestors, _MAX_PATH_DEPTH))


def body(tree: Tree) -> Element | None:
    """The document's body."""
    return tree.find("body")


def new_element(tag: str, attrs: dict[str, str] | None = None, *children: AnyNode) -> Element:
    """A new element; children that are part of a tree move into it."""
    return turbohtml.Element(tag, attrs, children)


def new_text(data: str) -> Text:
    """A new text node."""
    return turbohtml.Text(data)


def new_markdown(markdown: str, *children: AnyNode) -> Element:
    """A new element that represents finished Markdown, which is written unescaped; its children are its plain text."""
    return turbohtml.Element(MARKDOWN_TAG, {"md": markdown}, children)


def unwrap_all(node: Node, selector: str) -> None:
    """Replace elements by their children."""
    node.strip_tags(selector)


def copied(node: Element) -> Element:
    """A detached copy of a subtree."""
    return copy.deepcopy(node)


def text_nodes(node: Node) -> Iterator[Text]:
    """Every text node below a node, in document order."""
    return cast("Iterator[Text]", turbohtml.NodeIterator(node, _SHOW_TEXT))


def has_text(node: Node) -> bool:
    """Whether a node holds text that is not white space."""
    return any(text.data.strip() for text in text_nodes(node))


def only_text(node: Element) -> str | None:
    """The text of an element whose only child is a text node; None for any other element."""
    inner = node.children
    if len(inner) != 1:
        return None
    only = inner[0]
    return only.data if isinstance(only, turbohtml.Text) else None


def child_elements(node: Node) -> list[Element]:
    """The children that are elements."""
    return [child for child in node.children if isinstance(child, turbohtml.Element)]


def as_element(node: AnyNode | None) -> Element | None:
    """The node if it is an element, else None."""
    return node if isinstance(node, turbohtml.Element) else None


def element_before(node: Element) -> Element | None:
    """The element directly before an element; None where text is between them or nothing comes before."""
    before = node.previous_sibling
    while before is not None and not isinstance(before, turbohtml.Element):
        if isinstance(before, turbohtml.Text) and before.data.strip():
            return None
        before = before.previous_sibling
    return before


def as_text(node: AnyNode | None) -> Text | None:
    """The node if it is text, else None."""
    return node if isinstance(node, turbohtml.Text) else None


def comment_of(node: AnyNode) -> str | None:
    """The text of a comment; None for any other node."""
    return node.data if isinstance(node, turbohtml.Comment) else None


def is_blank(node: AnyNode) -> bool:
    """Whether a node shows nothing: a comment, or white space."""
    if isinstance(node, turbohtml.Text):
        return not node.data or node.data.isspace()
    return not isinstance(node, turbohtml.Element)


def has_descendant(node: Node, *tags: str) -> bool:
    """Whether an element has a descendant with one of these tags."""
    return next(iter(node.iter_elements(tags)), None) is not None


# CSS selectors that find an element again on a later visit.
#
# An id is preferred, then an attribute made for tests, then a name that is unique for its tag; otherwise a path of tags from
# the nearest of these. Ids that a framework counts up or a build hashes change between visits and are not used, and classes
# never are.

_TEST_ATTRIBUTES = ("data-testid", "data-test-id", "data-test", "data-cy", "data-qa")
_OWN_ATTRIBUTES = {
    "form": ("name", "action", "aria-label", "role"),
    "a": ("href", "aria-label"),
    "button": ("name", "aria-label"),
    "input": ("name", "aria-label"),
    "select": ("name",),
    "textarea": ("name",),
}
_LANDMARK_ATTRIBUTES = _TEST_ATTRIBUTES[:1]
_LANDMARKS = frozenset({"main", "header", "footer", "nav", "aside", "body"})
# Letters, digits, dash, underscore, and everything from U+00A0. Written as a negation, which `re` compiles fastest.
_IDENTIFIER = re.compile(r"[^\x00-@\[-^`{-\x9f][^\x00-,./:-@\[-^`{-\x9f]*$")
_VOLATILE = re.compile(
    r"[:«»]r|^[«:]|(?i:^(?:ember|ext-gen|yui_|ui-id-|radix-|headlessui-|react-aria|mui-\d|__bvid__|el-id-|downshift-|react-select-\d"
    r"|react-tabs|mantine-|cdk-|mat-[a-z-]+-\d|ion-|p-[a-z]+-\d|rc[_-]|input-\d+$|field-\d+$|:))"
    r"|\d{5}|(?i:[0-9a-f]{8}-[0-9a-f]{4}-)"
    r"|(?:^|[-_])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{8,}$|(?i:(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,})"
)
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")
_MAX_VALUE_CHARS = 120
_MAX_SELECTOR_CHARS = 600
_MAX_SELECTOR_STEPS = _MAX_SELECTOR_CHARS // len(" > p")
_MAX_IDS = 20_000


@lru_cache(maxsize=256)
def is_volatile(word: str) -> bool:
    """Whether an id or name looks counted up or hashed, so that it changes between visits."""
    return _VOLATILE.search(word) is not None


def link_selector(href: str) -> str:
    """The selector of the first link with this `href`, empty if the `href` may change between visits."""
    if not href or len(href) > _MAX_VALUE_CHARS or ("?" in href and is_volatile(href.partition("?")[2])):
        return ""
    return f"a[href={quoted(href)}]"


def quoted(value: str) -> str:
    """A CSS string (CSS Syntax §4.3.5)."""
    if value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_CONTROL_CHARACTERS.sub(lambda char: f"{chr(92)}{ord(char[0]):x} ", escaped)}"'


class Selectors:
    """Makes selectors for the elements of one page, with every lookup cached."""

    __slots__ = ("_bases", "_by_id", "_counts", "_known", "_steps", "_tree")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._by_id: dict[str, Element] | None = None
        self._counts: dict[tuple[str, str], Counter[str | None]] = {}
        self._known: dict[Element, str] = {}
        self._bases: dict[Element, str] = {}
        self._steps: dict[Element, dict[Element, str]] = {}

    def element(self, identifier: str) -> Element | None:
        """The first element with this id."""
        if self._by_id is None:
            self._by_id = {}
            for element in select(self._tree, "[id]")[:_MAX_IDS]:
                self._by_id.setdefault(element.attr("id") or "", element)
        return self._by_id.get(identifier)

    def of(self, element: Element) -> str:
        """The selector of an element, which `document.querySelector` resolves to that element. Empty if it would be too
        long.
        """
        known = self._known.get(element)
        if known is None:
            path = self._by_mark(element) or self._by_own_attribute(element) or self._by_path(element)
            known = self._known[element] = path if len(path) <= _MAX_SELECTOR_CHARS else ""
        return known

    def _is_unique(self, tag: str, name: str, value: str) -> bool:
        """Whether exactly one element of the page has this tag (any, if empty) and this value of an attribute."""
        counts = self._counts.get((tag, name))
        if counts is None:
            elements = select_safely(self._tree, f"{tag}[{name}]")
            counts = self._counts[tag, name] = Counter([element.attr(name) for element in elements])
        return counts[value] == 1

    def _by_mark(self, element: Element, attributes: tuple[str, ...] = _TEST_ATTRIBUTES) -> str:
        """A selector by id, or by an attribute made for tests."""
        identifier, tag = element.attr("id"), element.tag
        # With its tag in the selector, an id only has to be unique among the elements of that tag, which are indexed.
        if identifier and _is_lasting(identifier) and self._is_unique(tag, "id", identifier):
            name = tag if _IDENTIFIER.match(tag) else ""
            return f"{name}#{identifier}" if _IDENTIFIER.match(identifier) else f"{name}[id={quoted(identifier)}]"
        for name in attributes:
            value = element.attr(name)
            if value and _is_lasting(value) and self._is_unique("", name, value):
                return f"[{name}={quoted(value)}]"
        return ""

    def _by_own_attribute(self, element: Element) -> str:
        """A selector by an attribute that no other element of its tag has with this value."""
        tag = element.tag
        for name in _OWN_ATTRIBUTES.get(tag, ()):
            value = element.attr(name)
            if not value or len(value) > _MAX_VALUE_CHARS:
                continue
            # A path may hold the number of an article; a query may hold that of a session.
            changing = value.partition("?")[2] if name in {"href", "action"} else value
            if not is_volatile(changing) and self._is_unique(tag, name, value):
                return f"{tag}[{name}={quoted(value)}]"
        return ""

    def _by_path(self, element: Element) -> str:
        """A path of tags from the nearest ancestor with a selector of its own, which siblings share."""
        ancestors: list[Element] = []
        form, base = element.closest("form"), ""
        start = form if form is not None and form != element and self._known.get(form) else None
        for node in element.ancestors:
            parent = as_element(node)
            if parent is None:
                break
            if len(ancestors) == _MAX_SELECTOR_STEPS:
                return ""
            ancestors.append(parent)
            if start is None:
                base = self._bases.get(parent) or self._known.get(parent) or self._by_landmark(parent)
            elif parent == start:
                base = self._known[parent]
            if base:
                break
        base = base or [element, *ancestors][-1].tag
        for parent, step in zip(reversed(ancestors), self._steps_down(ancestors, element), strict=True):
            self._bases[parent] = base
            base = f"{base} > {step}"
        return base

    def _steps_down(self, ancestors: list[Element], element: Element) -> list[str]:
        """The steps to an element from the last of its ancestors, which are sorted nearest first."""
        if steps := css_steps(element):
            return steps[len(steps) - len(ancestors) :]
        return [self._step(each, parent) for each, parent in zip([element, *ancestors], ancestors, strict=False)][::-1]

    def _by_landmark(self, element: Element) -> str:
        tag = element.tag
        if tag in _LANDMARKS and len(select(self._tree, tag)) == 1:
            return tag
        return self._by_mark(element, _LANDMARK_ATTRIBUTES)

    def _step(self, element: Element, parent: Element) -> str:
        """`tag`, or `tag:nth-of-type(n)` among siblings of the same tag."""
        steps = self._steps.get(parent)
        if steps is None:
            steps = self._steps[parent] = {}
            by_tag: dict[str, list[Element]] = {}
            for place, child in enumerate(child_elements(parent), 1):
                if _IDENTIFIER.match(child.tag):
                    by_tag.setdefault(child.tag, []).append(child)
                else:
                    steps[child] = f"*:nth-child({place})"
            for tag, siblings in by_tag.items():
                for place, child in enumerate(siblings, 1):
                    steps[child] = tag if len(siblings) == 1 else f"{tag}:nth-of-type({place})"
        return steps[element]


def _is_lasting(value: str) -> bool:
    return len(value) <= _MAX_VALUE_CHARS and not is_volatile(value)
