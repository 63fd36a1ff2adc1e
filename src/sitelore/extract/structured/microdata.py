"""Microdata of a page → entities (HTML standard, "Microdata"), with common mistakes accepted.

A `content` attribute counts on every element, as for search engines. A type without `itemscope` makes an item. An item that
is a property of nothing is a top-level entity. Items may refer to each other in a circle (`itemref`): none then contains
itself, and none is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sitelore.extract import dom
from sitelore.extract.structured.entities import (
    MAX_ELEMENT_CHARS,
    VALUE_ATTRIBUTES,
    Entity,
    absolute_url,
    add_value,
    new_entity,
    short_name,
    typed_value,
    with_place,
)

_MAX_ELEMENTS = 20_000
_MAX_VALUES = 10_000
_MAX_TEXT_CHARS = 1_000_000
_MAX_DEPTH = 32
_MAX_REFS = 64
_MAX_TYPES = 32
_SELECTOR = "[itemprop],[itemscope],[itemtype]"
_URL_ATTRIBUTES = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_DATA_TYPES = frozenset({"Text", "URL", "Number", "Integer", "Float", "Boolean", "Date", "DateTime", "Time"})


@dataclass(slots=True, eq=False)
class _Group:
    """An item, or an element that an `itemref` names. Its properties are indexes into the elements of the page."""

    element: dom.Element
    is_item: bool
    index: int = -1
    """Index of an item's own element."""
    members: list[int] = field(default_factory=list)
    nested: list[_Group] = field(default_factory=list)
    """Groups below that are not items: their properties belong to this group as well."""
    refs: list[_Group] = field(default_factory=list)


def microdata_entities(tree: dom.Tree, base: str) -> list[Entity]:
    """The top-level items of a page, in page order."""
    return _ItemReader(dom.select(tree, _SELECTOR)[:_MAX_ELEMENTS], tree, base).entities()


class _ItemReader:
    """The items of one page, and how much more may be read."""

    __slots__ = ("_base", "_chars", "_elements", "_groups", "_left", "_names", "_nested", "_read")

    def __init__(self, elements: list[dom.Element], tree: dom.Tree, base: str) -> None:
        self._base = base
        self._elements = elements
        self._left = _MAX_VALUES
        self._chars = _MAX_TEXT_CHARS
        self._names = [element.attr("itemprop") for element in elements]
        self._groups = {e: _Group(e, is_item=True, index=index) for index, e in enumerate(elements) if _is_item(e)}
        self._read: set[dom.Element] = set()
        self._nested: set[dom.Element] = set()
        """Elements of items that are a property of another item."""
        self._resolve_refs(tree)
        self._assign_members()

    def _resolve_refs(self, tree: dom.Tree) -> None:
        """Look up the elements that each `itemref` names."""
        refs = [(group, raw.split()[:_MAX_REFS]) for e, group in self._groups.items() if (raw := e.attr("itemref"))]
        if not refs:
            return
        by_id: dict[str, dom.Element] = {}
        for element in dom.select(tree, "[id]"):
            by_id.setdefault(element.attr("id") or "", element)
        for group, ids in refs:
            for identifier in dict.fromkeys(ids):
                if (target := by_id.get(identifier)) is not None:
                    group.refs.append(self._groups.setdefault(target, _Group(target, is_item=False)))

    def _assign_members(self) -> None:
        """Give every property to the nearest group around it. Elements in between are visited once, however deep the page."""
        owners: dict[dom.Element, _Group | None] = {}
        for index, (element, name) in enumerate(zip(self._elements, self._names, strict=True)):
            if name:
                own = self._groups.get(element)
                if own is not None and not own.is_item:
                    own.members.append(index)
                elif (owner := self._owner(element, owners)) is not None:
                    owner.members.append(index)
                    if own is not None:
                        self._nested.add(element)
        for group in list(self._groups.values()):
            if not group.is_item and (owner := self._owner(group.element, owners)) is not None:
                owner.nested.append(group)

    def _owner(self, element: dom.Element, owners: dict[dom.Element, _Group | None]) -> _Group | None:
        """The nearest group above an element. `owners` caches the answer for every element on the way."""
        passed: list[dom.Element] = []
        owner: _Group | None = None
        at: dom.Element | None = element
        while at is not None:
            if at in owners:
                owner = owners[at]
                break
            passed.append(at)
            at = dom.as_element(at.parent)
            if at is not None and (group := self._groups.get(at)) is not None:
                owner = group
                break
        for each in passed:
            owners[each] = owner
        return owner

    def entities(self) -> list[Entity]:
        """Items that are no property first; then items that were not reached from these (in a circle, or too deep)."""
        items = [group for group in self._groups.values() if group.is_item]
        for item in items:
            for group in item.refs:
                self._mark_nested(group)
        entities = [self._top_level(group) for group in items if group.element not in self._nested]
        entities += [
            self._top_level(group) for group in items if group.element in self._nested and group.element not in self._read
        ]
        return [entity for entity in entities if entity["types"] or entity["properties"] or entity["id"]]

    def _mark_nested(self, group: _Group) -> None:
        if group.is_item:
            if group.element.attr("itemprop"):
                self._nested.add(group.element)
            return
        self._nested.update(self._elements[index] for index in group.members if self._elements[index] in self._groups)

    def _top_level(self, group: _Group) -> Entity:
        entity = self._entity(group, [])
        if self._left <= 0:
            entity["truncated"] = True
        repaired = group.element.attr("itemscope") is None
        return with_place(entity, "microdata", dom.css_path(group.element), repaired=repaired)

    def _entity(self, group: _Group, path: list[_Group]) -> Entity:
        element = group.element
        self._read.add(element)
        properties: dict[str, Any] = {}
        path.append(group)
        for index in self._members(group):
            if self._left <= 0:
                break
            self._put(properties, index, path)
        path.pop()
        types = list(dict.fromkeys(map(short_name, (element.attr("itemtype") or "").split()[:_MAX_TYPES])))
        return new_entity(types, absolute_url(element.attr("itemid") or "", self._base), properties)

    def _members(self, group: _Group) -> list[int]:
        """The properties of an item in page order: those below it, and below the elements it refers to."""
        if not group.refs and not group.nested:
            return group.members
        members = set(group.members)
        visited = {group}
        todo = [*group.refs, *group.nested]
        while todo:
            other = todo.pop()
            if other in visited:
                continue
            visited.add(other)
            if other.is_item:
                if other.element.attr("itemprop"):
                    members.add(other.index)
            else:
                members.update(other.members)
                todo += other.nested
        return sorted(members)

    def _put(self, properties: dict[str, Any], index: int, path: list[_Group]) -> None:
        names = [short_name(name) for name in (self._names[index] or "").split()[:8]]
        element = self._elements[index]
        group = self._groups.get(element)
        self._left -= 1
        if group is None or not group.is_item:
            self._put_text(properties, names, self._text(element))
            return
        if group in path or len(path) >= _MAX_DEPTH:
            return
        inner = self._entity(group, path)
        if not inner["properties"] and element.attr("itemscope") is None:
            text = self._text(element)
            if not set(inner["types"]) - _DATA_TYPES:
                self._put_text(properties, names, text)
                return
            inner["properties"] = {"name": text} if text else {}
        add_value(properties, names[0], inner)
        for name in names[1:]:
            # Nested items with two names each would double at every level, so only the first name gets the whole item.
            add_value(properties, name, inner if _is_flat(inner) else new_entity(inner["types"], inner.get("id", ""), {}))

    def _put_text(self, properties: dict[str, Any], names: list[str], text: str) -> None:
        for name in names:
            add_value(properties, name, typed_value(name, text, self._base))

    def _text(self, element: dom.Element) -> str:
        """The value of a property by its element (HTML standard, "Values: the content attribute, …")."""
        tag, content = element.tag, element.attr("content")
        if content is not None:
            return content.strip()
        if tag in _URL_ATTRIBUTES:
            url = element.attr(_URL_ATTRIBUTES[tag]) or (element.attr("data-src") if tag == "img" else "") or ""
            return absolute_url(url, self._base)
        if tag in VALUE_ATTRIBUTES and (value := element.attr(VALUE_ATTRIBUTES[tag])) is not None:
            return value.strip()
        # Texts can be nested, and then each holds all texts below it.
        if tag == "meta" or self._chars <= 0:
            return ""
        text = dom.one_line_text(element)[:MAX_ELEMENT_CHARS]
        self._chars -= len(text)
        return text


def _is_flat(entity: Entity) -> bool:
    return not any(isinstance(value, dict | list) for value in entity["properties"].values())


def _is_item(element: dom.Element) -> bool:
    return element.attr("itemscope") is not None or bool(element.attr("itemtype"))
