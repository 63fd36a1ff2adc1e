"""JSON-LD 1.1 of a page → entities, with no context ever fetched.

The context of schema.org is known; any other that is only an address is not, and names stay as they are written. Contexts
within the page are followed: prefixes, terms, `@vocab`, `@base`, aliases of keywords, coercion, containers, contexts of a
term or a type. Nodes of all scripts that have the same `@id` know each other: a reference to one is replaced by it, two
deep.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from sitelore.extract import dom
from sitelore.extract.structured.entities import MAX_CHARS, Entity, add, entity, value_of, with_place
from sitelore.extract.structured.jsonld_context import EMPTY, Context, Term
from sitelore.extract.structured.jsonld_repair import decoded

_MAX_SCRIPTS = 64
_MAX_SOURCE_CHARS = 1_000_000
"""Of all scripts together: a shop that ships its whole stock as JSON-LD does not say more about the page."""
_MAX_VALUES = 20_000
_MAX_DEPTH = 40
_MAX_JOINED = 400
_JOIN_DEPTH = 2
_PLAIN_TYPES = ("http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#")
_DATA_TYPES = frozenset({"Text", "Date", "DateTime", "Time", "Number", "Integer", "Float", "Boolean", "URL"})
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});")
_ONLY_GRAPH = frozenset({"@context", "@graph", "@id", "@index"})


@dataclass(frozen=True, slots=True)
class Script:
    """One script of JSON-LD, parsed."""

    value: Any
    element: dom.Element
    """Where it stands, for who has to say so."""
    repaired: bool


def read_scripts(texts: list[tuple[str, dom.Element]]) -> list[Script]:
    """Every script of a page that holds JSON-LD, parsed once for all who read it."""
    scripts: list[Script] = []
    left = _MAX_SOURCE_CHARS
    for text, element in texts:
        if len(text) > left or len(scripts) == _MAX_SCRIPTS:
            continue
        left -= len(text)
        value, repaired = decoded(text)
        if value is not None:
            scripts.append(Script(value, element, repaired))
    return scripts


def linked_entities(scripts: list[Script], base: str) -> list[Entity]:
    """The entities of a page's JSON-LD, in page order."""
    reader = _Reader(base)
    found: list[tuple[Entity, Script, bool]] = []
    for script in scripts:
        reader.was_mended = False
        roots = reader.roots(script.value)
        found += [(root, script, script.repaired or reader.was_mended) for root in roots]
    joiner = _Joiner([root for root, _, _ in found]) if reader.has_references else None
    places = {at: dom.place(at) for at in {script.element for _, script, _ in found}}
    return [
        with_place(root if joiner is None else joiner.joined(root), "json-ld", places[script.element], repaired=repaired)
        for root, script, repaired in found
        if joiner is None or not joiner.is_told(root)
    ]


class _Reader:
    """Turns JSON into entities, as many as a page may have."""

    __slots__ = ("_base", "_graph", "_left", "has_references", "was_mended")

    def __init__(self, base: str) -> None:
        self._base = base
        self._left = _MAX_VALUES
        self._graph: list[Entity] = []
        self.has_references = False
        self.was_mended = False

    def roots(self, value: Any) -> list[Entity]:
        """Everything that stands on its own in one script."""
        self._graph = []
        self._top(value, EMPTY.based(self._base), 0)
        return self._graph

    def _top(self, value: Any, context: Context, depth: int) -> None:
        """A node, a list of them, or a graph; each becomes a root."""
        if depth > _MAX_DEPTH or self._left <= 0:
            return
        if isinstance(value, list):
            # A lone context in a list is meant for what follows it.
            for one in value:
                if isinstance(one, dict) and len(one) == 1 and "@context" in one:
                    context = context.extended(one["@context"])
                else:
                    self._top(one, context, depth + 1)
        elif isinstance(value, dict):
            if "@graph" in value and value.keys() <= _ONLY_GRAPH:
                inner = context.extended(value["@context"]) if "@context" in value else context
                self._top(value["@graph"], inner, depth + 1)
                return
            at = len(self._graph)
            node = self._node(value, context, depth)
            if node["types"] or node["properties"] or "reverse" in node:
                self._graph.insert(at, node)

    def _node(self, value: dict[str, Any], context: Context, depth: int) -> Entity:
        if "@context" in value:
            context = context.extended(value["@context"])
        types = self._types(value, context)
        if context.terms:
            for kind in sorted(said for said in _strings(value.get("@type"))):
                if (term := context.terms.get(kind)) is not None and term.context is not None:
                    context = context.extended(term.context)
        properties: dict[str, Any] = {}
        node = entity(types, "", properties)
        self._members(node, value, context, depth)
        if self._left <= 0:
            node["truncated"] = True
        return node

    def _types(self, value: dict[str, Any], context: Context) -> list[str]:
        said = value.get("@type")
        if said is None:
            said = next((value[key] for key in value if context.keyword(key) == "@type"), None)
        elif "type" in value and context.keyword("type") == "@type":
            said = [*_strings(said), *_strings(value["type"])]
        found = [context.type_name(name) for text in _strings(said) if (name := text.strip())]
        return list(dict.fromkeys(found)) if len(found) > 1 else found

    def _members(self, node: Entity, value: dict[str, Any], context: Context, depth: int) -> None:
        """Put the members of an object into an entity: keywords, properties, what points at it."""
        properties, terms = node["properties"], context.terms
        keeps_words = context.keeps_words
        for key, inner in value.items():
            if self._left <= 0:
                return
            self._left -= 1
            term = terms.get(key)
            name = key if term is None and keeps_words and key.isidentifier() else context.name(key, term)
            if not name or inner is None:
                continue
            if name[0] == "@":
                self._keyword(name, node, inner, context, depth)
            elif term is None:
                self._put(properties, name, inner, context, depth)
            else:
                scoped = context.extended(term.context) if term.context is not None else context
                if term.is_reverse:
                    self._put(node.setdefault("reverse", {}), name, inner, scoped, depth, term)
                else:
                    self._put(properties, name, inner, scoped, depth, term)

    def _keyword(self, name: str, node: Entity, value: Any, context: Context, depth: int) -> None:
        if name == "@id":
            if isinstance(value, str) and (identifier := context.identifier(value)):
                node["id"] = identifier
        elif name in {"@graph", "@included"}:
            self._top(value, context, depth + 1)
        elif name == "@reverse" and isinstance(value, dict):
            self._reverse(node.setdefault("reverse", {}), value, context, depth)
        elif name == "@nest":
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, dict) and depth < _MAX_DEPTH:
                    self._members(node, inner, context, depth + 1)
        elif name not in _KEYWORDS and name[1:] not in node["properties"]:
            # `@name` is no keyword; there is one thing it can mean.
            self.was_mended = True
            self._put(node["properties"], name[1:], value, context, depth)

    def _reverse(self, reverse: dict[str, Any], value: dict[str, Any], context: Context, depth: int) -> None:
        for key, inner in value.items():
            term = context.terms.get(key)
            if (said := context.name(key, term)) and said[0] != "@":
                self._put(reverse, said, inner, context, depth, term)

    def _put(
        self, properties: dict[str, Any], name: str, value: Any, context: Context, depth: int, term: Term | None = None
    ) -> None:
        """Add a value, or each of several, to a property."""
        if type(value) is str and term is None:
            value = self._text(name, value)
            if name in properties:
                add(properties, name, value)
            else:
                properties[name] = value
            return
        if term is not None and "@list" in term.container:
            properties[name] = list(self._values(name, value, context, depth + 1, term))
            return
        if isinstance(value, dict) and "@list" in value:
            properties[name] = list(self._values(name, value["@list"], context, depth + 1, term))
            return
        for one in self._values(name, value, context, depth + 1, term):
            add(properties, name, one)

    def _values(self, name: str, value: Any, context: Context, depth: int, term: Term | None) -> Iterator[Any]:
        """All that a value holds; lists within lists are one list."""
        self._left -= 1
        if depth > _MAX_DEPTH or self._left <= 0 or value is None:
            return
        if term is not None and term.type == "@json":
            yield _written(value)
        elif isinstance(value, str):
            yield self._coerced(name, value, context, term)
        elif isinstance(value, list):
            for one in value:
                yield from self._values(name, one, context, depth + 1, term)
        elif isinstance(value, dict):
            yield from self._of_object(name, value, context, depth, term)
        elif isinstance(value, bool | int | float):
            yield value

    def _of_object(self, name: str, value: dict[str, Any], context: Context, depth: int, term: Term | None) -> Iterator[Any]:
        if "@value" in value:
            yield from self._literal(name, value, context)
        elif "@set" in value or "@list" in value:
            yield from self._values(name, value.get("@set", value.get("@list")), context, depth + 1, term)
        elif term is not None and term.container and "@type" not in value and "@id" not in value:
            yield from self._of_container(name, value, context, depth, term)
        elif len(value) == 1 and context.keyword(next(iter(value))) == "@id":
            identifier = context.identifier(next(iter(value.values())))
            if identifier:
                self.has_references = True
                yield {"id": identifier}
        elif value:
            node = self._node(value, context, depth)
            if not node["properties"] and "id" in node:
                self.has_references = True
            yield node

    def _of_container(self, name: str, value: dict[str, Any], context: Context, depth: int, term: Term) -> Iterator[Any]:
        """Values under keys that are languages, ids, types, or mean nothing (JSON-LD 1.1 §4.6)."""
        if not term.container & {"@language", "@index", "@id", "@type", "@graph"}:
            yield self._node(value, context, depth)
            return
        if term.container == {"@graph"}:
            yield from self._values(name, [value], context, depth + 1, None)
            return
        for key, inner in value.items():
            if "@language" in term.container:
                for text in _strings(inner):
                    yield text if key == "@none" else {"value": self._text(name, text), "language": key}
                continue
            for one in self._values(name, inner, context, depth + 1, term.without_container):
                if isinstance(one, dict) and "properties" in one and key != "@none":
                    if "@id" in term.container:
                        one.setdefault("id", context.identifier(key))
                    elif "@type" in term.container:
                        one["types"] = [context.type_name(key), *one["types"]]
                yield one

    def _literal(self, name: str, value: dict[str, Any], context: Context) -> Iterator[Any]:
        """A `@value`; its type decides nothing that its property does not, unless it is one of the page's own."""
        said, kind, language = value["@value"], value.get("@type"), value.get("@language")
        if kind == "@json":
            yield _written(said)
        elif isinstance(said, str):
            text = self._text(name, said)
            type_name = context.type_name(kind) if isinstance(kind, str) else ""
            if isinstance(language, str):
                yield {"value": text, "language": language[:64]}
            elif type_name and type_name not in _DATA_TYPES and not type_name.startswith((*_PLAIN_TYPES, "xsd:", "rdf:")):
                yield {"value": text, "type": type_name}
            else:
                yield text
        elif isinstance(said, bool | int | float):
            yield said

    def _coerced(self, name: str, text: str, context: Context, term: Term | None) -> Any:
        if term is None or not term.type:
            if term is not None and term.language:
                return {"value": self._text(name, text), "language": term.language}
            return self._text(name, text)
        if term.type == "@id":
            self.has_references = True
            return {"id": identifier} if (identifier := context.identifier(text)) else text
        if term.type == "@vocab":
            return value_of(name, context.type_name(text), self._base)
        return self._text(name, text)

    def _text(self, name: str, text: str) -> Any:
        """A text as its property has it; entities in it were meant for HTML, unless it is HTML itself."""
        if "&" in text and ";" in text and "<" not in text and _ENTITY.search(text):
            text = html.unescape(text)
            self.was_mended = True
        return value_of(name, text.strip(), self._base)


_KEYWORDS = frozenset({
    "@type", "@context", "@id", "@graph", "@index", "@language", "@direction", "@value", "@list", "@set", "@reverse", "@base",
    "@vocab", "@version", "@included", "@nest", "@json", "@none", "@container", "@import", "@prefix", "@propagate",
    "@protected",
})  # fmt: skip


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value[:64] if isinstance(one, str)] if isinstance(value, list) else []


def _written(value: Any) -> str:
    """Data that is not for us to read, as the JSON it is."""
    return msgspec.json.encode(value).decode()[:MAX_CHARS]


class _Joiner:
    """Puts what is referred to in the place of the reference."""

    __slots__ = ("_by_id", "_left", "_merged")

    def __init__(self, roots: list[Entity]) -> None:
        self._left = _MAX_JOINED
        self._by_id: dict[str, Entity] = {}
        self._merged: set[int] = set()
        for root in roots:
            self._know(root, is_root=True)
        for root in roots:
            self._know_within(root, 0)

    def is_told(self, root: Entity) -> bool:
        """Whether a root is part of another one with the same id."""
        return id(root) in self._merged

    def _know(self, node: Entity, *, is_root: bool) -> None:
        identifier = node.get("id")
        if not identifier or not node["properties"]:
            return
        known = self._by_id.setdefault(identifier, node)
        # Two things under one id are one thing (JSON-LD 1.1 §2), unless their types say that the id is the mistake.
        if known is not node and is_root and known["types"] == node["types"]:
            for name, value in node["properties"].items():
                known["properties"].setdefault(name, value)
            self._merged.add(id(node))

    def _know_within(self, node: Entity, depth: int) -> None:
        if depth > _MAX_DEPTH:
            return
        for value in node["properties"].values():
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, dict) and "properties" in one:
                    self._know(one, is_root=False)
                    self._know_within(one, depth + 1)

    def joined(self, root: Entity) -> Entity:
        """A root with what it refers to."""
        return self._entity(root, (root.get("id", ""),), 0, 0)

    def _entity(self, node: Entity, path: tuple[str, ...], level: int, depth: int) -> Entity:
        if depth > _MAX_DEPTH:
            return node
        changed = dict(node)
        for part in ("properties", "reverse"):
            if part in node:
                changed[part] = {name: self._value(value, path, level, depth) for name, value in node[part].items()}
        return changed

    def _value(self, value: Any, path: tuple[str, ...], level: int, depth: int) -> Any:
        if isinstance(value, list):
            return [self._value(one, path, level, depth) for one in value]
        if not isinstance(value, dict):
            return value
        identifier = value.get("id")
        if identifier and not value.get("properties"):
            known = self._by_id.get(identifier)
            if known is None or identifier in path or level == _JOIN_DEPTH or self._left <= 0:
                return value
            self._left -= 1
            return self._entity(known, (*path, identifier), level + 1, depth + 1)
        return (
            self._entity(value, (*path, identifier) if identifier else path, level, depth + 1)
            if "properties" in value
            else value
        )
