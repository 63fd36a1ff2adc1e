"""RDFa Lite and the common part of RDFa 1.1 Core → entities (RDFa Core 1.1 §7.5, HTML+RDFa 1.1).

Only elements with an attribute of RDFa are looked at; all others hand down what they were handed. Types and properties
without a vocabulary are kept by their bare names, since their author meant them. What `meta` elements say in the names of
Open Graph is `opengraph`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sitelore.extract import dom
from sitelore.extract.structured.entities import MAX_SHOWN_CHARS, Entity, absolute, add, entity, value_of, with_place
from sitelore.extract.structured.vocabularies import SCHEMA, is_schema, joined, short, unprefixed

_MAX_ELEMENTS = 20_000
_MAX_VALUES = 10_000
_MAX_TEXT_CHARS = 1_000_000
_MAX_DEPTH = 32
_MAX_NAMES = 16
_MARKED = ":is([typeof],[property],[vocab],[about],[resource],[prefix],[rel],[rev])"
_OF_OPENGRAPH = frozenset({
    "og", "fb", "article", "product", "book", "profile", "music", "video", "twitter", "al", "ia", "business", "place",
    "restaurant", "games", "website", "bt", "pinterest", "vk", "vr",
})  # fmt: skip
_LINK_TYPES = frozenset({
    "alternate", "apple-touch-icon", "bookmark", "canonical", "dns-prefetch", "external", "help", "home", "icon", "manifest",
    "mask-icon", "me", "modulepreload", "next", "nofollow", "noopener", "noreferrer", "opener", "pingback", "preconnect",
    "prefetch", "preload", "prerender", "prev", "search", "shortcut", "shortlink", "sponsored", "stylesheet", "tag", "ugc",
    "lightbox", "gallery", "prettyphoto", "fancybox", "start", "up", "first", "last", "index", "contents", "edituri",
    "wlwmanifest", "profile", "image_src", "amphtml", "category",
})  # fmt: skip
_TYPED_ELEMENTS = frozenset({
    "a", "button", "embed", "input", "li", "link", "menu", "object", "ol", "param", "script", "source", "style", "ul",
})  # fmt: skip
_VALUE_IN = {"data": "value", "meter": "value", "time": "datetime"}


@dataclass(slots=True, eq=False)
class _Thing:
    """A subject: what is said of it, in the order it was said."""

    identifier: str
    element: dom.Element | None
    types: list[str] = field(default_factory=list)
    said: list[tuple[str, Any]] = field(default_factory=list)
    reverse: list[tuple[str, _Thing]] = field(default_factory=list)
    is_used: bool = False
    """Whether it is the value of another's property."""
    repaired: bool = False


@dataclass(slots=True, eq=False)
class _Waiting:
    """`rel` and `rev` whose other end stands further down (§7.3, "incomplete triples")."""

    subject: _Thing
    rel: list[str]
    rev: list[str]
    ends: set[_Thing] = field(default_factory=set)
    """Those that were found."""


@dataclass(slots=True, eq=False)
class _Scope:
    """What an element hands down to those below it (§7.3, "evaluation context")."""

    vocabulary: str
    prefixes: dict[str, str]
    thing: _Thing
    waiting: _Waiting | None = None


def rdfa_entities(tree: dom.Tree, base: str) -> list[Entity]:
    """What a page says in RDFa; things that are a property of another stand within it."""
    root = dom.first(tree, "html")
    declared = _declared_by_name(root) if root is not None else {}
    return _Reader(base, declared).read(dom.select(tree, _MARKED)[:_MAX_ELEMENTS])


class _Reader:
    """Walks the marked elements of one page in order."""

    __slots__ = ("_base", "_by_id", "_chars", "_left", "_page", "_scopes", "_start", "_things")

    def __init__(self, base: str, prefixes: dict[str, str]) -> None:
        self._base = base
        self._page = _Thing(base, None)
        self._things: list[_Thing] = []
        self._by_id: dict[str, _Thing] = {base: self._page}
        self._start = _Scope("", prefixes, self._page)
        self._scopes: dict[dom.Element, _Scope] = {}
        self._chars = _MAX_TEXT_CHARS
        self._left = _MAX_VALUES

    def read(self, elements: list[dom.Element]) -> list[Entity]:
        for element in elements:
            if self._left <= 0:
                break
            self._element(element)
        return self._entities()

    def _above(self, element: dom.Element) -> _Scope:
        """The scope that an element is in; every element on the way remembers it, so that none is passed twice."""
        passed = []
        at = dom.as_element(element.parent)
        while at is not None and at not in self._scopes:
            passed.append(at)
            at = dom.as_element(at.parent)
        scope = self._scopes[at] if at is not None else self._start
        for each in passed:
            self._scopes[each] = scope
        return scope

    def _element(self, element: dom.Element) -> None:
        above = self._above(element)
        scope = _Scope(above.vocabulary, above.prefixes, above.thing, above.waiting)
        self._scopes[element] = scope
        vocabulary = element.attr("vocab")
        if vocabulary is not None:
            scope.vocabulary = SCHEMA if is_schema(vocabulary) else vocabulary.strip()
        declared = _declared(element)
        if declared:
            scope.prefixes = {**above.prefixes, **declared}
        properties = self._names(element, "property", scope)
        rel, rev = self._relations(element, "rel", scope), self._relations(element, "rev", scope)
        types, repaired = self._types(element, scope)
        has_type = types is not None
        if not (
            properties or rel or rev or has_type or element.attr("about") is not None or element.attr("resource") is not None
        ):
            return
        if rel or rev:
            self._related(element, above, scope, types, rel, rev)
        else:
            self._plain(element, above, scope, types, bool(properties))
        typed = scope.thing
        if repaired:
            typed.repaired = True
        if properties:
            self._say(element, above, scope, properties, has_type=has_type)

    def _plain(self, element: dom.Element, above: _Scope, scope: _Scope, types: list[str] | None, has_property: bool) -> None:
        """Whom an element without `rel` and `rev` speaks of (§7.5 step 5)."""
        about = self._named(element, ("about",), scope)
        if has_property and element.attr("content") is None and element.attr("datatype") is None:
            subject = about or above.thing
            if types is not None:
                inner = about or self._named(element, ("resource", "href", "src"), scope) or self._new(element)
                self._type(inner, types, element)
                scope.thing, scope.waiting = inner, None
            elif about is not None:
                scope.thing, scope.waiting = about, None
        else:
            # `content` with a `src` or `href` is a value with a link round it, whatever the letter says.
            is_value = has_property and types is None
            found = about or self._named(element, ("resource",) if is_value else ("resource", "href", "src"), scope)
            if found is None and types is not None:
                found = self._new(element)
            if found is None:
                self._complete(above, above.thing)
                return
            if types is not None:
                self._type(found, types, element)
            scope.thing, scope.waiting = found, None
            subject = found
        self._complete(above, subject)

    def _related(
        self, element: dom.Element, above: _Scope, scope: _Scope, types: list[str] | None, rel: list[str], rev: list[str]
    ) -> None:
        """Who is related to whom (§7.5 steps 6, 9 and 10)."""
        about = self._named(element, ("about",), scope)
        subject = about or above.thing
        other = self._named(element, ("resource", "href", "src"), scope)
        if types is not None:
            if about is None:
                other = other or self._new(element)
                self._type(other, types, element)
            else:
                self._type(about, types, element)
        self._complete(above, subject)
        if other is not None:
            self._relate(subject, rel, other, is_turned=False)
            self._relate(subject, rev, other, is_turned=True)
            scope.thing, scope.waiting = other, None
        else:
            scope.thing = self._new(element)  # what stands below speaks of whoever that is
            scope.waiting = _Waiting(subject, rel, rev)

    def _complete(self, above: _Scope, thing: _Thing) -> None:
        waiting = above.waiting
        if waiting is not None and thing not in waiting.ends:
            waiting.ends.add(thing)
            self._relate(waiting.subject, waiting.rel, thing, is_turned=False)
            self._relate(waiting.subject, waiting.rev, thing, is_turned=True)

    def _relate(self, subject: _Thing, names: list[str], other: _Thing, *, is_turned: bool) -> None:
        self._left -= len(names)
        if is_turned:
            subject.reverse += [(name, other) for name in names]
        else:
            subject.said += [(name, other) for name in names]
        if names and other is not subject:
            other.is_used = True

    def _say(self, element: dom.Element, above: _Scope, scope: _Scope, properties: list[str], *, has_type: bool) -> None:
        """Values of `property` (§7.5 step 11)."""
        self._left -= len(properties)
        content, datatype = element.attr("content"), element.attr("datatype")
        has_relation = bool(element.attr("rel") and self._relations(element, "rel", scope))
        about = self._named(element, ("about",), scope)
        subject = about or (scope.thing if content is not None or datatype is not None or has_relation else above.thing)
        if has_relation and about is None:
            subject = above.thing
        if content is None and datatype is None and not has_relation:
            if has_type and about is None:
                self._relate(subject, properties, scope.thing, is_turned=False)
                return
            place = next((said for name in ("resource", "href", "src") if (said := element.attr(name)) is not None), None)
            if place is not None and (address := self._identifier(place, scope)):
                subject.said += [(name, _Address(address)) for name in properties]
                return
        text = content.strip() if content is not None else self._text(element)
        subject.said += [(name, text) for name in properties]
        if subject.element is None:
            subject.element = element

    def _text(self, element: dom.Element) -> str:
        said = element.attr(_VALUE_IN[element.tag]) if element.tag in _VALUE_IN else None
        if said is not None:
            return said.strip()
        if self._chars <= 0:
            return ""
        text = dom.one_line(element)[:MAX_SHOWN_CHARS]
        self._chars -= len(text)
        return text

    def _named(self, element: dom.Element, attributes: tuple[str, ...], scope: _Scope) -> _Thing | None:
        """The thing that the first of these attributes points at."""
        for name in attributes:
            said = element.attr(name)
            if said is None:
                continue
            address = self._identifier(said, scope) if name in {"about", "resource"} else absolute(said, self._base)
            if not address:
                return self._page if name == "about" and not said.strip() else None
            known = self._by_id.get(address)
            if known is None:
                known = self._by_id[address] = _Thing(address, element)
                self._things.append(known)
            return known
        return None

    def _identifier(self, said: str, scope: _Scope) -> str:
        """An address, or `[prefix:name]`, or a prefix that the page declared."""
        said = said.strip()
        if said.startswith("[") and said.endswith("]"):
            said = said[1:-1]
        prefix, colon, rest = said.partition(":")
        if colon and prefix in scope.prefixes and not rest.startswith("//"):
            return scope.prefixes[prefix] + rest
        return absolute(said, self._base)

    def _new(self, element: dom.Element) -> _Thing:
        thing = _Thing("", element)
        self._things.append(thing)
        return thing

    def _type(self, thing: _Thing, types: list[str], element: dom.Element) -> None:
        thing.types += [name for name in types if name not in thing.types]
        if thing is self._page and self._page.element is None:
            self._page.element = element

    def _types(self, element: dom.Element, scope: _Scope) -> tuple[list[str] | None, bool]:
        said = element.attr("typeof")
        if said is not None:
            return [_name(name, scope) for name in said.split()[:_MAX_NAMES]], False
        # `vocab` and `type` on an element that has no `type`: one thing can be meant.
        if element.attr("vocab") and element.tag not in _TYPED_ELEMENTS and (said := element.attr("type")):
            return [_name(name, scope) for name in said.split()[:_MAX_NAMES]], True
        return None, False

    def _names(self, element: dom.Element, attribute: str, scope: _Scope) -> list[str]:
        said = element.attr(attribute)
        if not said:
            return []
        names = said.split()[:_MAX_NAMES]
        if element.tag == "meta":
            names = [name for name in names if name.partition(":")[0].lower() not in _OF_OPENGRAPH]
        # A word without a vocabulary is nothing that anybody defined, outside of a thing with a type.
        if not scope.vocabulary and scope.thing is self._page:
            names = [name for name in names if ":" in name]
        return [_name(name, scope) for name in names]

    def _relations(self, element: dom.Element, attribute: str, scope: _Scope) -> list[str]:
        said = element.attr(attribute)
        if not said:
            return []
        has_property = element.attr("property") is not None or element.tag == "link"
        return [
            _name(name, scope)
            for name in said.split()[:_MAX_NAMES]
            if ":" in name or (scope.vocabulary and not has_property and name.lower() not in _LINK_TYPES)
        ]

    def _entities(self) -> list[Entity]:
        """Things that nobody uses come first as they stand; then those that only know each other in a circle."""
        for thing in self._things:
            for _, value in thing.said:
                known = self._by_id.get(value.address) if isinstance(value, _Address) else None
                if known is not None and known is not thing and known is not self._page:
                    known.is_used = True
        things = [thing for thing in [self._page, *self._things] if thing.types or thing.said or thing.reverse]
        told: set[_Thing] = set()
        found = []
        for is_used in (False, True):
            for thing in things:
                if thing.is_used == is_used and thing not in told:
                    made = self._entity(thing, [], told)
                    at = dom.place(thing.element) if thing.element is not None else ""
                    found.append(with_place(made, "rdfa", at, repaired=thing.repaired))
        return [each for each in found if each["types"] or each["properties"] or "reverse" in each]

    def _entity(self, thing: _Thing, path: list[_Thing], told: set[_Thing]) -> Entity:
        told.add(thing)
        path.append(thing)
        properties: dict[str, Any] = {}
        for name, value in thing.said:
            self._left -= 1
            if self._left > -_MAX_VALUES:
                add(properties, name, self._value(name, value, path, told))
        made = entity(thing.types, thing.identifier, properties)
        if thing.reverse:
            reverse: dict[str, Any] = {}
            for name, other in thing.reverse:
                add(reverse, name, self._value(name, other, path, told))
            made["reverse"] = reverse
        path.pop()
        return made

    def _value(self, name: str, value: Any, path: list[_Thing], told: set[_Thing]) -> Any:
        if isinstance(value, _Address):
            known = self._by_id.get(value.address)
            value = known if known is not None else value.address
        if isinstance(value, str):
            return value_of(name, value, self._base)
        if not (value.types or value.said or value.reverse):
            return value_of(name, value.identifier, self._base)
        if value in path or len(path) >= _MAX_DEPTH or self._left <= -_MAX_VALUES:
            return {"id": value.identifier} if value.identifier else {"types": value.types}
        return self._entity(value, path, told)


@dataclass(frozen=True, slots=True)
class _Address:
    """A value that is an address; of what it leads to, something may be said further down."""

    address: str


def _name(said: str, scope: _Scope) -> str:
    """What a word means: a name with a prefix, an address, or a word of the vocabulary."""
    if ":" in said:
        return unprefixed(said, scope.prefixes) or said
    return joined(scope.vocabulary, said) if scope.vocabulary else short(said)


def _declared(element: dom.Element) -> dict[str, str]:
    """The prefixes that an element declares."""
    said = element.attr("prefix")
    if not said:
        return {}
    words = said.split()[:128]
    return {name[:-1]: address for name, address in zip(words[::2], words[1::2], strict=False) if name.endswith(":")}


def _declared_by_name(root: dom.Element) -> dict[str, str]:
    """Prefixes as RDFa 1.0 had them: `xmlns:name` on the root."""
    return {name[6:]: address for name in root.attrs if name.startswith("xmlns:") and (address := root.attr(name))}
