"""Microdata → entities (HTML standard, "Microdata"), and what pages mean when they get it slightly wrong.

A `content` attribute counts on every element, as search engines have it; a type without `itemscope` makes an item all the
same; an item that is a property of nothing stands on its own. Items may refer to each other in a circle (`itemref`): none
is within itself, and none is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sitelore.extract import dom
from sitelore.extract.structured.entities import (
    MAX_SHOWN_CHARS,
    Entity,
    absolute,
    add,
    entity,
    type_names,
    value_of,
    with_place,
)
from sitelore.extract.structured.vocabularies import short

_MAX_ELEMENTS = 20_000
_MAX_VALUES = 10_000
_MAX_TEXT_CHARS = 1_000_000
_MAX_DEPTH = 32
_MAX_REFS = 64
_SCOPES = "[itemprop],[itemscope],[itemtype]"
_ADDRESS_IN = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_VALUE_IN = {"data": "value", "meter": "value", "time": "datetime"}
_DATA_TYPES = frozenset({"Text", "URL", "Number", "Integer", "Float", "Boolean", "Date", "DateTime", "Time"})


@dataclass(slots=True, eq=False)
class _Group:
    """An item, or an element that an `itemref` points at: the properties that are its own, by their place on the page."""

    element: dom.Element
    is_item: bool
    at: int = -1
    """Where it stands among the properties, when it is one."""
    members: list[int] = field(default_factory=list)
    within: list[_Group] = field(default_factory=list)
    """Groups below that are no items: what they hold is this one's as well."""
    refs: list[_Group] = field(default_factory=list)


def microdata_entities(tree: dom.Tree, base: str) -> list[Entity]:
    """The items of a page that are part of no other, in page order."""
    return _Reader(dom.select(tree, _SCOPES)[:_MAX_ELEMENTS], tree, base).roots()


class _Reader:
    """One page's items, and how much of them may still be read."""

    __slots__ = ("_base", "_chars", "_elements", "_groups", "_left", "_names", "_owned", "_told")

    def __init__(self, elements: list[dom.Element], tree: dom.Tree, base: str) -> None:
        self._base = base
        self._elements = elements
        self._left = _MAX_VALUES
        self._chars = _MAX_TEXT_CHARS
        self._names = [element.attr("itemprop") for element in elements]
        self._groups = {e: _Group(e, is_item=True, at=at) for at, e in enumerate(elements) if _is_item(e)}
        self._told: set[dom.Element] = set()
        self._owned: set[dom.Element] = set()
        self._refer(tree)
        self._sort()

    def _refer(self, tree: dom.Tree) -> None:
        """Follow every `itemref` to the elements it names."""
        wanted = [(group, said.split()[:_MAX_REFS]) for e, group in self._groups.items() if (said := e.attr("itemref"))]
        if not wanted:
            return
        by_id: dict[str, dom.Element] = {}
        for element in dom.select(tree, "[id]"):
            by_id.setdefault(element.attr("id") or "", element)
        for group, names in wanted:
            for name in dict.fromkeys(names):
                if (target := by_id.get(name)) is not None:
                    other = self._groups.get(target) or self._groups.setdefault(target, _Group(target, is_item=False))
                    group.refs.append(other)

    def _sort(self) -> None:
        """Give every property to the nearest group around it. What lies between is looked at once, however deep the page."""
        above: dict[dom.Element, _Group | None] = {}
        for at, (element, name) in enumerate(zip(self._elements, self._names, strict=True)):
            if name:
                own = self._groups.get(element)
                if own is not None and not own.is_item:
                    own.members.append(at)
                elif (owner := self._above(element, above)) is not None:
                    owner.members.append(at)
                    if own is not None:
                        self._owned.add(element)
        for group in list(self._groups.values()):
            if not group.is_item and (owner := self._above(group.element, above)) is not None:
                owner.within.append(group)

    def _above(self, element: dom.Element, above: dict[dom.Element, _Group | None]) -> _Group | None:
        passed: list[dom.Element] = []
        found: _Group | None = None
        at: dom.Element | None = element
        while at is not None:
            if at in above:
                found = above[at]
                break
            passed.append(at)
            at = dom.as_element(at.parent)
            if at is not None and (group := self._groups.get(at)) is not None:
                found = group
                break
        for each in passed:
            above[each] = found
        return found

    def roots(self) -> list[Entity]:
        """First the items that are nobody's property; then those that nobody told, being in a circle or too deep."""
        for group in self._groups.values():
            if group.is_item:
                for other in group.refs:
                    self._own_all(other)
        items = [group for group in self._groups.values() if group.is_item]
        found = [self._root(group) for group in items if group.element not in self._owned]
        found += [self._root(group) for group in items if group.element in self._owned and group.element not in self._told]
        return [root for root in found if root["types"] or root["properties"] or root["id"]]

    def _own_all(self, group: _Group) -> None:
        if group.is_item:
            if group.element.attr("itemprop"):
                self._owned.add(group.element)
            return
        for at in group.members:
            if self._elements[at] in self._groups:
                self._owned.add(self._elements[at])

    def _root(self, group: _Group) -> Entity:
        found = self._entity(group, [])
        if self._left <= 0:
            found["truncated"] = True
        repaired = group.element.attr("itemscope") is None
        return with_place(found, "microdata", dom.place(group.element), repaired=repaired)

    def _entity(self, group: _Group, path: list[_Group]) -> Entity:
        element = group.element
        self._told.add(element)
        properties: dict[str, Any] = {}
        path.append(group)
        for at in self._members(group):
            if self._left <= 0:
                break
            self._put(properties, at, path)
        path.pop()
        identifier = absolute(element.attr("itemid") or "", self._base)
        return entity(type_names(element.attr("itemtype") or ""), identifier, properties)

    def _members(self, group: _Group) -> list[int]:
        """An item's properties in page order: below it, and below what it refers to."""
        if not group.refs and not group.within:
            return group.members
        found = set(group.members)
        seen = {group}
        todo = [*group.refs, *group.within]
        while todo:
            other = todo.pop()
            if other in seen:
                continue
            seen.add(other)
            if other.is_item:
                if other.element.attr("itemprop"):
                    found.add(other.at)
            else:
                found.update(other.members)
                todo += other.within
        return sorted(found)

    def _put(self, properties: dict[str, Any], at: int, path: list[_Group]) -> None:
        names = [short(name) for name in (self._names[at] or "").split()[:8]]
        element = self._elements[at]
        group = self._groups.get(element)
        self._left -= 1
        if group is None or not group.is_item:
            raw = self._raw(element)
            for name in names:
                add(properties, name, value_of(name, raw, self._base))
            return
        if group in path or len(path) >= _MAX_DEPTH:
            return
        inner = self._entity(group, path)
        if not inner["properties"] and element.attr("itemscope") is None:
            raw = self._raw(element)
            if not set(inner["types"]) - _DATA_TYPES:
                for name in names:
                    add(properties, name, value_of(name, raw, self._base))
                return
            inner["properties"] = {"name": raw} if raw else {}
        add(properties, names[0], inner)
        for name in names[1:]:
            # Told whole once: items within items that have two names each would be told without end.
            add(properties, name, inner if _is_flat(inner) else entity(inner["types"], inner.get("id", ""), {}))

    def _raw(self, element: dom.Element) -> str:
        """A property's value by its element (HTML standard, "Values: the content attribute, …")."""
        said = element.attr("content")
        tag = element.tag
        if said is not None:
            return said.strip()
        if tag in _ADDRESS_IN:
            return absolute(
                element.attr(_ADDRESS_IN[tag]) or (element.attr("data-src") if tag == "img" else "") or "", self._base
            )
        if tag in _VALUE_IN and (said := element.attr(_VALUE_IN[tag])) is not None:
            return said.strip()
        if tag == "meta":
            return ""
        # Texts can hold each other, and then every one holds all texts below it.
        if self._chars <= 0:
            return ""
        text = dom.one_line(element)[:MAX_SHOWN_CHARS]
        self._chars -= len(text)
        return text


def _is_flat(found: Entity) -> bool:
    return not any(isinstance(value, dict | list) for value in found["properties"].values())


def _is_item(element: dom.Element) -> bool:
    return element.attr("itemscope") is not None or bool(element.attr("itemtype"))
