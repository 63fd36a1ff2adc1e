"""CSS selectors that find an element again on a later visit.

An id is preferred, then an attribute made for tests, then a name that is unique for its tag; otherwise a path of tags from the
nearest of these. Ids that a framework counts up or a build hashes change between visits and are not used. Classes never are.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TypeAlias

from sitelore.extract import dom

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
_MAX_STEPS = _MAX_SELECTOR_CHARS // len(" > p")
_MAX_IDS = 20_000

Mark: TypeAlias = tuple[str, str, str]
"""A tag (empty for any), an attribute and its value."""


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

    __slots__ = ("_bases", "_by_id", "_counts", "_known", "_steps", "_tree", "uniqueness")

    def __init__(self, tree: dom.Tree) -> None:
        self._tree = tree
        self._by_id: dict[str, dom.Element] | None = None
        self._counts: dict[tuple[str, str], Counter[str | None]] = {}
        self.uniqueness: dict[Mark, bool] = {}
        """Answers of `is_unique`, which the form cache records."""
        self._known: dict[dom.Element, str] = {}
        self._bases: dict[dom.Element, str] = {}
        self._steps: dict[dom.Element, dict[dom.Element, str]] = {}

    def element(self, identifier: str) -> dom.Element | None:
        """The first element with this id."""
        if self._by_id is None:
            self._by_id = {}
            for element in dom.select(self._tree, "[id]")[:_MAX_IDS]:
                self._by_id.setdefault(element.attr("id") or "", element)
        return self._by_id.get(identifier)

    def of(self, element: dom.Element) -> str:
        """The selector of an element, which `document.querySelector` resolves to that element. Empty if it would be too
        long.
        """
        known = self._known.get(element)
        if known is None:
            path = self._by_mark(element) or self._by_own_attribute(element) or self._by_path(element)
            known = self._known[element] = path if len(path) <= _MAX_SELECTOR_CHARS else ""
        return known

    def is_unique(self, mark: Mark) -> bool:
        """Whether exactly one element of the page has this mark."""
        known = self.uniqueness.get(mark)
        if known is None:
            tag, name, value = mark
            counts = self._counts.get((tag, name))
            if counts is None:
                elements = dom.select_safely(self._tree, f"{tag}[{name}]")
                counts = self._counts[tag, name] = Counter([element.attr(name) for element in elements])
            known = self.uniqueness[mark] = counts[value] == 1
        return known

    def _by_mark(self, element: dom.Element, attributes: tuple[str, ...] = _TEST_ATTRIBUTES) -> str:
        """A selector by id, or by an attribute made for tests."""
        identifier, tag = element.attr("id"), element.tag
        # With its tag in the selector, an id only has to be unique among the elements of that tag, which are indexed.
        if identifier and _is_lasting(identifier) and self.is_unique((tag, "id", identifier)):
            name = tag if _IDENTIFIER.match(tag) else ""
            return f"{name}#{identifier}" if _IDENTIFIER.match(identifier) else f"{name}[id={quoted(identifier)}]"
        for name in attributes:
            value = element.attr(name)
            if value and _is_lasting(value) and self.is_unique(("", name, value)):
                return f"[{name}={quoted(value)}]"
        return ""

    def _by_own_attribute(self, element: dom.Element) -> str:
        """A selector by an attribute that no other element of its tag has with this value."""
        tag = element.tag
        for name in _OWN_ATTRIBUTES.get(tag, ()):
            value = element.attr(name)
            if not value or len(value) > _MAX_VALUE_CHARS:
                continue
            # A path may hold the number of an article; a query may hold that of a session.
            changing = value.partition("?")[2] if name in {"href", "action"} else value
            if not is_volatile(changing) and self.is_unique((tag, name, value)):
                return f"{tag}[{name}={quoted(value)}]"
        return ""

    def _by_path(self, element: dom.Element) -> str:
        """A path of tags from the nearest ancestor with a selector of its own, which siblings share."""
        ancestors: list[dom.Element] = []
        form, base = element.closest("form"), ""
        start = form if form is not None and form != element and self._known.get(form) else None
        for node in element.ancestors:
            parent = dom.as_element(node)
            if parent is None:
                break
            if len(ancestors) == _MAX_STEPS:
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

    def _steps_down(self, ancestors: list[dom.Element], element: dom.Element) -> list[str]:
        """The steps to an element from the last of its ancestors, which are sorted nearest first."""
        if steps := dom.css_steps(element):
            return steps[len(steps) - len(ancestors) :]
        return [self._step(each, parent) for each, parent in zip([element, *ancestors], ancestors, strict=False)][::-1]

    def _by_landmark(self, element: dom.Element) -> str:
        tag = element.tag
        if tag in _LANDMARKS and len(dom.select(self._tree, tag)) == 1:
            return tag
        return self._by_mark(element, _LANDMARK_ATTRIBUTES)

    def _step(self, element: dom.Element, parent: dom.Element) -> str:
        """`tag`, or `tag:nth-of-type(n)` among siblings of the same tag."""
        steps = self._steps.get(parent)
        if steps is None:
            steps = self._steps[parent] = {}
            by_tag: dict[str, list[dom.Element]] = {}
            for place, child in enumerate(dom.child_elements(parent), 1):
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
