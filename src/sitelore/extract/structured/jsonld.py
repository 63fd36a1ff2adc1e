"""JSON-LD 1.1 of a page → entities. No context is ever fetched.

The schema.org context is built in; names under any other remote context stay as written. Contexts in the page are applied:
prefixes, terms, `@vocab`, `@base`, keyword aliases, coercion, containers, contexts of a term or a type. A reference to a node
of any script of the page is replaced by that node, two levels deep.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from sitelore.extract import dom
from sitelore.extract.structured.entities import (
    MAX_CHARS,
    SCHEMA_ORG,
    Entity,
    absolute_url,
    add_value,
    expand_prefix,
    is_schema_org,
    name_in,
    new_entity,
    short_name,
    typed_value,
    with_place,
)

_MAX_SCRIPTS = 64
_MAX_SOURCE_CHARS = 1_000_000
"""Of all scripts together: a shop that ships its whole stock as JSON-LD does not say more about the page."""
_MAX_VALUES = 20_000
_MAX_DEPTH = 40
_MAX_RESOLVED = 400
_RESOLVE_DEPTH = 2
_MAX_TERMS = 500
_MAX_CONTEXTS = 32
_MAX_CHAIN = 32
_MAX_NAME_CHARS = 500
_PLAIN_TYPES = ("http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "xsd:", "rdf:")
_DATA_TYPES = frozenset({"Text", "Date", "DateTime", "Time", "Number", "Integer", "Float", "Boolean", "URL"})
_CHARACTER_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});")
_GRAPH_KEYS = frozenset({"@context", "@graph", "@id", "@index"})
_KEYWORDS = frozenset({
    "@type", "@context", "@id", "@graph", "@index", "@language", "@direction", "@value", "@list", "@set", "@reverse", "@base",
    "@vocab", "@version", "@included", "@nest", "@json", "@none", "@container", "@import", "@prefix", "@propagate",
    "@protected",
})  # fmt: skip
_KEYED_CONTAINERS = frozenset({"@language", "@index", "@id", "@type", "@graph"})
_NO_CONTAINER: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Script:
    """A JSON-LD script with its parsed value."""

    value: Any
    element: dom.Element
    repaired: bool


def read_scripts(texts: list[tuple[str, dom.Element]]) -> list[Script]:
    """Parse the JSON-LD scripts of a page, and repair those that are not valid JSON."""
    scripts: list[Script] = []
    left = _MAX_SOURCE_CHARS
    for text, element in texts:
        if len(text) > left or len(scripts) == _MAX_SCRIPTS:
            continue
        left -= len(text)
        repaired = False
        try:
            value = msgspec.json.decode(text)
        except (ValueError, RecursionError):
            from sitelore.extract.structured.jsonld_repair import repair_json  # noqa: PLC0415 few scripts are broken

            value, repaired = repair_json(text), True
        if value is not None:
            scripts.append(Script(value, element, repaired))
    return scripts


def jsonld_entities(scripts: list[Script], base: str) -> list[Entity]:
    """The top-level entities of a page's JSON-LD, in page order."""
    reader = _NodeReader(base)
    roots: list[tuple[Entity, Script, bool]] = []
    for script in scripts:
        reader.has_repairs = False
        nodes = reader.read(script.value)
        roots += [(node, script, script.repaired or reader.has_repairs) for node in nodes]
    references = _References([node for node, _, _ in roots]) if reader.has_references else None
    places = {element: dom.css_path(element) for element in {script.element for _, script, _ in roots}}
    return [
        with_place(references.resolved(node) if references else node, "json-ld", places[script.element], repaired=repaired)
        for node, script, repaired in roots
        if references is None or not references.is_merged(node)
    ]


class _NodeReader:
    """Turns JSON values into entities, up to the bounds of a page."""

    __slots__ = ("_base", "_graph", "_left", "has_references", "has_repairs")

    def __init__(self, base: str) -> None:
        self._base = base
        self._left = _MAX_VALUES
        self._graph: list[Entity] = []
        self.has_references = False
        self.has_repairs = False

    def read(self, value: Any) -> list[Entity]:
        """The top-level nodes of one script."""
        self._graph = []
        self._read_top(value, _Context(base=self._base), 0)
        return self._graph

    def _read_top(self, value: Any, context: _Context, depth: int) -> None:
        """Read a node, a list of nodes or a graph; each node becomes a top-level one."""
        if depth > _MAX_DEPTH or self._left <= 0:
            return
        if isinstance(value, list):
            # A lone context in a list is meant for the nodes after it.
            for item in value:
                if isinstance(item, dict) and len(item) == 1 and "@context" in item:
                    context = context.extended(item["@context"])
                else:
                    self._read_top(item, context, depth + 1)
        elif isinstance(value, dict):
            if "@graph" in value and value.keys() <= _GRAPH_KEYS:
                inner = context.extended(value["@context"]) if "@context" in value else context
                self._read_top(value["@graph"], inner, depth + 1)
                return
            at = len(self._graph)
            node = self._node(value, context, depth)
            if node["types"] or node["properties"] or "reverse" in node:
                self._graph.insert(at, node)

    def _node(self, value: dict[str, Any], context: _Context, depth: int) -> Entity:
        if "@context" in value:
            context = context.extended(value["@context"])
        types = self._types(value, context)
        if context.terms:
            for name in sorted(_strings(value.get("@type"))):
                if (term := context.terms.get(name)) is not None and term.context is not None:
                    context = context.extended(term.context)
        node = new_entity(types, "", {})
        self._read_members(node, value, context, depth)
        if self._left <= 0:
            node["truncated"] = True
        return node

    def _types(self, value: dict[str, Any], context: _Context) -> list[str]:
        raw = value.get("@type")
        if raw is None:
            raw = next((value[key] for key in value if context.keyword(key) == "@type"), None)
        elif "type" in value and context.keyword("type") == "@type":
            raw = [*_strings(raw), *_strings(value["type"])]
        types = [context.type_name(name) for text in _strings(raw) if (name := text.strip())]
        return list(dict.fromkeys(types)) if len(types) > 1 else types

    def _read_members(self, node: Entity, value: dict[str, Any], context: _Context, depth: int) -> None:
        """Put the members of a JSON object into an entity: keywords, properties, reverse properties."""
        properties, terms = node["properties"], context.terms
        keeps_words = context.keeps_words
        for key, inner in value.items():
            if self._left <= 0:
                return
            self._left -= 1
            term = terms.get(key)
            name = key if term is None and keeps_words and key.isidentifier() else context.property_name(key, term)
            if not name or inner is None:
                continue
            if name[0] == "@":
                self._read_keyword(name, node, inner, context, depth)
            elif term is None:
                self._put(properties, name, inner, context, depth)
            else:
                scoped = context.extended(term.context) if term.context is not None else context
                target = node.setdefault("reverse", {}) if term.is_reverse else properties
                self._put(target, name, inner, scoped, depth, term)

    def _read_keyword(self, name: str, node: Entity, value: Any, context: _Context, depth: int) -> None:
        if name == "@id":
            if isinstance(value, str) and (identifier := context.identifier(value)):
                node["id"] = identifier
        elif name in {"@graph", "@included"}:
            self._read_top(value, context, depth + 1)
        elif name == "@reverse" and isinstance(value, dict):
            self._read_reverse(node.setdefault("reverse", {}), value, context, depth)
        elif name == "@nest":
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, dict) and depth < _MAX_DEPTH:
                    self._read_members(node, inner, context, depth + 1)
        elif name not in _KEYWORDS and name[1:] not in node["properties"]:
            # `@name` is not a keyword; only the property can be meant.
            self.has_repairs = True
            self._put(node["properties"], name[1:], value, context, depth)

    def _read_reverse(self, reverse: dict[str, Any], value: dict[str, Any], context: _Context, depth: int) -> None:
        for key, inner in value.items():
            term = context.terms.get(key)
            if (name := context.property_name(key, term)) and name[0] != "@":
                self._put(reverse, name, inner, context, depth, term)

    def _put(
        self, properties: dict[str, Any], name: str, value: Any, context: _Context, depth: int, term: _Term | None = None
    ) -> None:
        """Add a value, or each value of a list, to a property."""
        if type(value) is str and term is None:
            add_value(properties, name, self._text(name, value))
            return
        is_list = isinstance(value, dict) and "@list" in value
        if is_list or (term is not None and "@list" in term.container):
            items = value["@list"] if is_list and (term is None or "@list" not in term.container) else value
            properties[name] = list(self._values(name, items, context, depth + 1, term))
            return
        for item in self._values(name, value, context, depth + 1, term):
            add_value(properties, name, item)

    def _values(self, name: str, value: Any, context: _Context, depth: int, term: _Term | None) -> Iterator[Any]:
        """All values of a property; nested lists are flattened."""
        self._left -= 1
        if depth > _MAX_DEPTH or self._left <= 0 or value is None:
            return
        if term is not None and term.type == "@json":
            yield _as_json(value)
        elif isinstance(value, str):
            yield self._coerced(name, value, context, term)
        elif isinstance(value, list):
            for item in value:
                yield from self._values(name, item, context, depth + 1, term)
        elif isinstance(value, dict):
            yield from self._object_values(name, value, context, depth, term)
        elif isinstance(value, bool | int | float):
            yield value

    def _object_values(
        self, name: str, value: dict[str, Any], context: _Context, depth: int, term: _Term | None
    ) -> Iterator[Any]:
        if "@value" in value:
            yield from self._literal(name, value, context)
        elif "@set" in value or "@list" in value:
            yield from self._values(name, value.get("@set", value.get("@list")), context, depth + 1, term)
        elif term is not None and term.container and "@type" not in value and "@id" not in value:
            yield from self._container_values(name, value, context, depth, term)
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

    def _container_values(self, name: str, value: dict[str, Any], context: _Context, depth: int, term: _Term) -> Iterator[Any]:
        """Values under keys that are languages, ids, types or indexes (JSON-LD 1.1 §4.6)."""
        if not term.container & _KEYED_CONTAINERS:
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
            for item in self._values(name, inner, context, depth + 1, term.without_container):
                if isinstance(item, dict) and "properties" in item and key != "@none":
                    if "@id" in term.container:
                        item.setdefault("id", context.identifier(key))
                    elif "@type" in term.container:
                        item["types"] = [context.type_name(key), *item["types"]]
                yield item

    def _literal(self, name: str, value: dict[str, Any], context: _Context) -> Iterator[Any]:
        """A `@value` object. Its type is kept only if it is none of the standard data types, which the property implies."""
        raw, kind, language = value["@value"], value.get("@type"), value.get("@language")
        if kind == "@json":
            yield _as_json(raw)
        elif isinstance(raw, str):
            text = self._text(name, raw)
            type_name = context.type_name(kind) if isinstance(kind, str) else ""
            if isinstance(language, str):
                yield {"value": text, "language": language[:64]}
            elif type_name and type_name not in _DATA_TYPES and not type_name.startswith(_PLAIN_TYPES):
                yield {"value": text, "type": type_name}
            else:
                yield text
        elif isinstance(raw, bool | int | float):
            yield raw

    def _coerced(self, name: str, text: str, context: _Context, term: _Term | None) -> Any:
        """A string converted to the type or language that its term declares."""
        kind = term.type if term is not None else ""
        if kind == "@id":
            self.has_references = True
            return {"id": identifier} if (identifier := context.identifier(text)) else text
        if kind == "@vocab":
            return typed_value(name, context.type_name(text), self._base)
        if term is not None and term.language and not kind:
            return {"value": self._text(name, text), "language": term.language}
        return self._text(name, text)

    def _text(self, name: str, text: str) -> Any:
        """A string value of a property. Character references are decoded unless the text is HTML, which may hold them."""
        if "&" in text and ";" in text and "<" not in text and _CHARACTER_REFERENCE.search(text):
            text = html.unescape(text)
            self.has_repairs = True
        return typed_value(name, text.strip(), self._base)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value[:64] if isinstance(item, str)] if isinstance(value, list) else []


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()[:MAX_CHARS]


class _References:
    """Replaces references to nodes of a page by those nodes."""

    __slots__ = ("_by_id", "_left", "_merged")

    def __init__(self, roots: list[Entity]) -> None:
        self._left = _MAX_RESOLVED
        self._by_id: dict[str, Entity] = {}
        self._merged: set[int] = set()
        for root in roots:
            self._register(root, is_root=True)
        for root in roots:
            self._register_nested(root, 0)

    def is_merged(self, root: Entity) -> bool:
        """Whether a top-level node was merged into another one with the same id."""
        return id(root) in self._merged

    def _register(self, node: Entity, *, is_root: bool) -> None:
        identifier = node.get("id")
        if not identifier or not node["properties"]:
            return
        known = self._by_id.setdefault(identifier, node)
        # Two nodes with one id are one node (JSON-LD 1.1 §2), unless different types show that the id is the mistake.
        if known is not node and is_root and known["types"] == node["types"]:
            for name, value in node["properties"].items():
                known["properties"].setdefault(name, value)
            self._merged.add(id(node))

    def _register_nested(self, node: Entity, depth: int) -> None:
        if depth > _MAX_DEPTH:
            return
        for value in node["properties"].values():
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, dict) and "properties" in item:
                    self._register(item, is_root=False)
                    self._register_nested(item, depth + 1)

    def resolved(self, root: Entity) -> Entity:
        """A copy of a top-level node with its references replaced."""
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
            return [self._value(item, path, level, depth) for item in value]
        if not isinstance(value, dict):
            return value
        identifier = value.get("id")
        if identifier and not value.get("properties"):
            known = self._by_id.get(identifier)
            if known is None or identifier in path or level == _RESOLVE_DEPTH or self._left <= 0:
                return value
            self._left -= 1
            return self._entity(known, (*path, identifier), level + 1, depth + 1)
        if "properties" not in value:
            return value
        return self._entity(value, (*path, identifier) if identifier else path, level, depth + 1)


# Contexts (JSON-LD 1.1 §4.1, API §4)


@dataclass(frozen=True)
class _Term:
    """The definition of one name in a context."""

    name: str
    """A keyword, a short schema.org name or a URL; empty if the name is to be ignored."""
    prefix: str = ""
    """The whole URL, for terms that are used as prefixes."""
    type: str = ""
    container: frozenset[str] = _NO_CONTAINER
    is_reverse: bool = False
    language: str = ""
    context: Any = None
    """A context for the values of this property, as written."""

    @cached_property
    def without_container(self) -> _Term:
        """The definition for values that were taken out of their container."""
        return replace(self, container=_NO_CONTAINER)


_SCHEMA_ORG_TERMS = {"type": _Term("@type"), "id": _Term("@id")}


@dataclass(frozen=True, slots=True)
class _Context:
    """The names that are defined at one place. Without a `vocabulary`, undefined names stay as written."""

    base: str = ""
    vocabulary: str | None = None
    terms: dict[str, _Term] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)

    def extended(self, raw: Any) -> _Context:
        """This context with a `@context` value applied."""
        context = self
        for part in (raw if isinstance(raw, list) else [raw])[:_MAX_CONTEXTS]:
            if isinstance(part, str):
                context = context.with_schema_org() if is_schema_org(part) else context
            elif isinstance(part, dict):
                context = context.with_definitions(part)
            elif part is None:
                context = _Context(base=self.base)
        return context

    def with_schema_org(self) -> _Context:
        if self.vocabulary == SCHEMA_ORG and self.terms.get("type") is not None:
            return self
        terms = {**self.terms, **_SCHEMA_ORG_TERMS} if self.terms else _SCHEMA_ORG_TERMS
        return replace(self, vocabulary=SCHEMA_ORG, terms=terms)

    def with_definitions(self, raw: dict[str, Any]) -> _Context:
        base, vocabulary = self.base, self.vocabulary
        if isinstance(url := raw.get("@base"), str):
            base = absolute_url(url, base) or base
        if "@vocab" in raw:
            vocabulary = self._vocabulary(raw["@vocab"])
        definitions = {key: value for key, value in list(raw.items())[:_MAX_TERMS] if key[:1] != "@"}
        return _ContextBuilder(replace(self, base=base, vocabulary=vocabulary), definitions).context()

    def _vocabulary(self, raw: Any) -> str | None:
        if not isinstance(raw, str):
            return None
        if not raw:
            return self.base
        if is_schema_org(raw):
            return SCHEMA_ORG
        prefix, colon, rest = raw.partition(":")
        return self.prefixes[prefix] + rest if colon and not rest.startswith("//") and prefix in self.prefixes else raw

    @property
    def keeps_words(self) -> bool:
        """Whether an undefined plain word is its own name."""
        return self.vocabulary is None or self.vocabulary == SCHEMA_ORG

    def keyword(self, key: str) -> str:
        """The keyword that a key is or is an alias of; empty for a property."""
        if key[:1] == "@":
            return key
        term = self.terms.get(key)
        return term.name if term is not None and term.name[:1] == "@" else ""

    def property_name(self, key: str, term: _Term | None) -> str:
        """The name that a key means; empty if it is to be ignored."""
        if term is not None:
            return term.name
        if not key or key[0] == "@":
            return key
        return self._expanded(key)

    def type_name(self, raw: str) -> str:
        """The name that a type means."""
        term = self.terms.get(raw)
        if term is not None and term.name[:1] != "@":
            return term.name or raw
        return self._expanded(raw.strip())

    def _expanded(self, name: str) -> str:
        if len(name) > _MAX_NAME_CHARS:
            return name[:_MAX_NAME_CHARS]
        if ":" in name:
            return expand_prefix(name, self.prefixes) or name
        vocabulary = self.vocabulary
        if vocabulary == SCHEMA_ORG:
            return name if "/" not in name else short_name(name)
        return short_name(name) if vocabulary is None else name_in(vocabulary, name)

    def identifier(self, raw: Any) -> str:
        """The id that a text means: an absolute URL or a blank node."""
        if not isinstance(raw, str) or not (text := raw.strip()):
            return ""
        prefix, colon, rest = text.partition(":")
        if colon and prefix in self.prefixes and not rest.startswith("//"):
            return self.prefixes[prefix] + rest
        return absolute_url(text, self.base) or text[:_MAX_NAME_CHARS]


class _ContextBuilder:
    """Resolves the definitions of one `@context` object, each once. A definition that needs itself stays as written."""

    __slots__ = ("_definitions", "_depth", "_outer", "_prefixes", "_started", "_terms")

    def __init__(self, outer: _Context, definitions: dict[str, Any]) -> None:
        self._outer = outer
        self._definitions = definitions
        self._terms = dict(outer.terms)
        self._prefixes = dict(outer.prefixes)
        self._started: set[str] = set()
        self._depth = 0

    def context(self) -> _Context:
        for key in self._definitions:
            self._define(key)
        return replace(self._outer, terms=self._terms, prefixes=self._prefixes)

    def _define(self, key: str) -> None:
        if key in self._started or self._depth > _MAX_CHAIN:
            return
        self._started.add(key)
        self._depth += 1
        term = self._term(key, self._definitions[key])
        if term is not None:
            self._terms[key] = term
        self._depth -= 1

    def _term(self, key: str, raw: Any) -> _Term | None:
        if raw is None or raw is False:
            return _Term("")
        definition = {"@id": raw} if isinstance(raw, str) else raw
        if not isinstance(definition, dict):
            return None
        is_reverse = isinstance(definition.get("@reverse"), str)
        target = definition.get("@reverse") if is_reverse else definition.get("@id", key)
        if target is None:
            return _Term("")
        kind, container, language = definition.get("@type"), definition.get("@container"), definition.get("@language")
        containers = [container] if isinstance(container, str) else container if isinstance(container, list) else []
        url = self._url(target) if isinstance(target, str) and target != key else self._own_url(key)
        if url[:1] != "@":
            self._prefixes[key] = url
        return _Term(
            name=url if url[:1] == "@" else short_name(url),
            prefix=url,
            type=kind if isinstance(kind, str) else "",
            container=frozenset(name for name in containers if isinstance(name, str)),
            is_reverse=is_reverse,
            language=language if isinstance(language, str) else "",
            context=definition.get("@context"),
        )

    def _own_url(self, key: str) -> str:
        """The URL of a term that is defined without one."""
        if ":" in key:
            return self._url(key)
        vocabulary = self._outer.vocabulary
        return key if vocabulary is None else vocabulary + key

    def _url(self, raw: str) -> str:
        """The URL or keyword that a definition points at."""
        if raw[:1] == "@":
            return raw
        prefix, colon, rest = raw.partition(":")
        if colon and not rest.startswith("//"):
            if prefix in self._definitions:
                self._define(prefix)
            url = self._prefixes.get(prefix)
            return url + rest if url is not None else expand_prefix(raw, {}) or raw
        if colon:
            return raw
        if raw in self._definitions:
            self._define(raw)
        if (known := self._terms.get(raw)) is not None:
            return known.prefix or known.name
        return raw if self._outer.vocabulary is None else self._outer.vocabulary + raw
