"""Where an element is, said so that it is found again tomorrow.

An id goes first, then an attribute made for tests, then a name; only then a path of tags from the nearest of these. Ids that
a framework counts up or a build step hashes are no anchors: they are others on the next visit. Classes are never used.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from sitelore.extract import dom

_TEST_MARKS = ("data-testid", "data-test-id", "data-test", "data-cy", "data-qa")
_OWN_MARKS = {
    "form": ("name", "action", "aria-label", "role"),
    "a": ("href", "aria-label"),
    "button": ("name", "aria-label"),
    "input": ("name", "aria-label"),
    "select": ("name",),
    "textarea": ("name",),
}
_ANCHORS = frozenset({"main", "header", "footer", "nav", "aside", "body"})
# Letters, digits, dash, underscore, and all from U+00A0 on. Said by what they are not, which `re` compiles in no time.
_NAME = r"[^\x00-@\[-^`{-\x9f][^\x00-,./:-@\[-^`{-\x9f]*"
_IDENTIFIER = re.compile(rf"{_NAME}$")
_VOLATILE = re.compile(
    r"[:«»]r|^[«:]|(?i:^(?:ember|ext-gen|yui_|ui-id-|radix-|headlessui-|react-aria|mui-\d|__bvid__|el-id-|downshift-|react-select-\d"
    r"|react-tabs|mantine-|cdk-|mat-[a-z-]+-\d|ion-|p-[a-z]+-\d|rc[_-]|input-\d+$|field-\d+$|:))"
    r"|\d{5}|(?i:[0-9a-f]{8}-[0-9a-f]{4}-)"
    r"|(?:^|[-_])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{8,}$|(?i:(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,})"
)
_BREAKS = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST = 120
_LONGEST_PATH = 600
_MOST_STEPS = _LONGEST_PATH // len(" > p")
_PLAIN_STEPS = re.compile(rf"(?:/{_NAME}(?:\[\d+\])?)+")
_MANY = 20_000
_FEW = 8


@lru_cache(maxsize=256)
def is_volatile(word: str) -> bool:
    """Whether a name looks counted up or hashed, so that it will be another one next time."""
    return _VOLATILE.search(word) is not None


def link_selector(raw: str) -> str:
    """The selector of the first link of a page to this address, as it is written there; empty where that may change."""
    if not raw or len(raw) > _LONGEST or ("?" in raw and is_volatile(raw.partition("?")[2])):
        return ""
    return f"a[href={quoted(raw)}]"


def quoted(value: str) -> str:
    """A text as a CSS string (CSS Syntax §4.3.5)."""
    if value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    plain = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_BREAKS.sub(lambda found: f"{chr(92)}{ord(found[0]):x} ", plain)}"'


Mark: TypeAlias = tuple[str, str, str]
"""A tag (empty for any), an attribute, and its value."""


class Selectors:
    """Selectors for elements of one page. What it looks up is looked up once."""

    __slots__ = ("_bases", "_by_id", "_counts", "_ids_asked", "_known", "_steps", "_tree", "asked")

    def __init__(self, tree: dom.Tree) -> None:
        self._tree = tree
        self._by_id: dict[str, dom.Element] | None = None
        self._counts: dict[tuple[str, str], dict[str, int]] = {}
        self._ids_asked = 0
        self.asked: dict[Mark, bool] = {}
        """Whether marks that were asked for are found once on the page."""
        self._known: dict[dom.Element, str] = {}
        self._bases: dict[dom.Element, str] = {}
        self._steps: dict[dom.Element, dict[dom.Element, str]] = {}

    def element(self, identifier: str) -> dom.Element | None:
        """The first element with this id."""
        if self._by_id is None:
            self._by_id = {}
            for element in dom.select(self._tree, "[id]")[:_MANY]:
                self._by_id.setdefault(element.attr("id") or "", element)
        return self._by_id.get(identifier)

    def of(self, element: dom.Element) -> str:
        """The selector of an element: `document.querySelector` with it gives that element. Empty where that takes a novel."""
        known = self._known.get(element)
        if known is None:
            path = self._mark(element) or self._own_mark(element) or self._path(element)
            known = self._known[element] = path if len(path) <= _LONGEST_PATH else ""
        return known

    def _mark(self, element: dom.Element, marks: tuple[str, ...] = _TEST_MARKS) -> str:
        """By its id, or by an attribute made for tests."""
        identifier, tag = element.attr("id"), element.tag
        # With its tag, an id need only be the one of its tag: those are at hand, all ids of a page are not.
        if identifier and len(identifier) <= _LONGEST and not is_volatile(identifier) and self.is_only((tag, "id", identifier)):
            name = tag if _IDENTIFIER.match(tag) else ""
            return f"{name}#{identifier}" if _IDENTIFIER.match(identifier) else f"{name}[id={quoted(identifier)}]"
        for name in marks:
            value = element.attr(name)
            if value and len(value) <= _LONGEST and not is_volatile(value) and self.is_only(("", name, value)):
                return f"[{name}={quoted(value)}]"
        return ""

    def _own_mark(self, element: dom.Element) -> str:
        """By an attribute that no other element of its tag has the same."""
        tag = element.tag
        for name in _OWN_MARKS.get(tag, ()):
            value = element.attr(name)
            if not value or len(value) > _LONGEST:
                continue
            # A path may hold an article's number; what follows it may hold a session's.
            changing = value.partition("?")[2] if name in {"href", "action"} else value
            if not is_volatile(changing) and self.is_only((tag, name, value)):
                return f"{tag}[{name}={quoted(value)}]"
        return ""

    def is_only(self, mark: Mark) -> bool:
        """Whether one element of the page has this mark."""
        known = self.asked.get(mark)
        if known is None:
            tag, name, value = mark
            # To ask all elements of a tag pays where many of their ids are wanted.
            if not tag or (name == "id" and self._ids_asked < _FEW and _IDENTIFIER.match(tag)):
                self._ids_asked += 1
                count = len(dom.select_safely(self._tree, f"{tag}[{name}={quoted(value)}]"))
            else:
                count = self._count(tag, name).get(value, 0)
            known = self.asked[mark] = count == 1
        return known

    def _count(self, tag: str, name: str) -> dict[str, int]:
        counts = self._counts.get((tag, name))
        if counts is None:
            counts = self._counts[tag, name] = {}
            for element in dom.select_safely(self._tree, tag):
                if value := element.attr(name):
                    counts[value] = counts.get(value, 0) + 1
        return counts

    def _path(self, element: dom.Element) -> str:
        """From the nearest anchor down. What is above brothers is looked up once."""
        above: list[dom.Element] = []
        at, base = element, ""
        form = element.closest("form")
        within = form if form is not None and form != element and self._known.get(form) else None
        while not base:
            parent = dom.as_element(at.parent)
            if parent is None:
                base = at.tag
                break
            if len(above) == _MOST_STEPS:
                return ""
            above.append(parent)
            at = parent
            if within is None:
                base = self._bases.get(at) or self._known.get(at) or self._anchor(at)
            elif at == within:
                base = self._known[at]
        for parent, step in zip(reversed(above), self._below(above, element), strict=True):
            self._bases[parent] = base
            base = f"{base} > {step}"
        return base

    def _below(self, above: list[dom.Element], element: dom.Element) -> list[str]:
        """The steps down to an element from the last of those above it, which come nearest first."""
        steps = dom.steps(element)
        # A tag may hold a bracket itself: then a step does not say whose place it counts.
        if _PLAIN_STEPS.fullmatch(steps) and "[" not in "".join([one.tag for one in (element, *above)]):
            every = steps.replace("[", ":nth-of-type(").replace("]", ")").split("/")
            return every[len(every) - len(above) :]
        return [self._step(one, parent) for one, parent in zip([element, *above], above, strict=False)][::-1]

    def _anchor(self, element: dom.Element) -> str:
        if element.tag in _ANCHORS and len(dom.select(self._tree, element.tag)) == 1:
            return element.tag
        return self._mark(element, _TEST_MARKS[:1])

    def _step(self, element: dom.Element, parent: dom.Element) -> str:
        """`tag`, or `tag:nth-of-type(n)` among brothers of the same tag."""
        steps = self._steps.get(parent)
        if steps is None:
            steps = self._steps[parent] = {}
            brothers: dict[str, list[dom.Element]] = {}
            for place, child in enumerate(dom.child_elements(parent), 1):
                if _IDENTIFIER.match(child.tag):
                    brothers.setdefault(child.tag, []).append(child)
                else:
                    steps[child] = f"*:nth-child({place})"
            for tag, same in brothers.items():
                for place, child in enumerate(same, 1):
                    steps[child] = tag if len(same) == 1 else f"{tag}:nth-of-type({place})"
        return steps[element]
