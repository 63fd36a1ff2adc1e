"""RDFa Lite and the common part of RDFa 1.1 Core of a page → entities (RDFa Core 1.1 §7.5, HTML+RDFa 1.1).

Only elements with an RDFa attribute are visited; all others pass on the scope they are in. Types and properties without a
vocabulary keep their bare names, since their author meant something by them. Open Graph names in `meta` elements are read in
`entities`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sitelore.extract import dom
from sitelore.extract.structured.entities import (
    MAX_ELEMENT_CHARS,
    SCHEMA_ORG,
    VALUE_ATTRIBUTES,
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

_MAX_ELEMENTS = 20_000
_MAX_VALUES = 10_000
_MAX_TEXT_CHARS = 1_000_000
_MAX_DEPTH = 32
_MAX_NAMES = 16
_MAX_PREFIXES = 64
_SELECTOR = ":is([typeof],[property],[vocab],[about],[resource],[prefix],[rel],[rev])"
_OPENGRAPH_PREFIXES = frozenset({
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


@dataclass(slots=True, eq=False)
class _Subject:
    """Something that the page makes statements about, with the statements in page order."""

    identifier: str
    element: dom.Element | None
    types: list[str] = field(default_factory=list)
    statements: list[tuple[str, Any]] = field(default_factory=list)
    """Property and value: a text, a `_Link` or another subject."""
    reverse: list[tuple[str, _Subject]] = field(default_factory=list)
    is_value: bool = False
    """Whether it is the value of another subject's property."""
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class _Link:
    """A value that is a URL. Elements further down may make statements about its target."""

    url: str


@dataclass(slots=True, eq=False)
class _IncompleteTriples:
    """A `rel` or `rev` whose other end is further down (§7.3, "incomplete triples")."""

    subject: _Subject
    rel: list[str]
    rev: list[str]
    completed: set[_Subject] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class _Scope:
    """What an element passes on to the elements below it (§7.3, "evaluation context")."""

    vocabulary: str
    prefixes: dict[str, str]
    subject: _Subject
    incomplete: _IncompleteTriples | None = None

    def name(self, raw: str) -> str:
        """The name that a word means: with a prefix, as a URL, or in the vocabulary."""
        if ":" in raw:
            return expand_prefix(raw, self.prefixes) or raw
        return name_in(self.vocabulary, raw) if self.vocabulary else short_name(raw)

    def enter(self, subject: _Subject) -> None:
        """Make a subject the one that elements below are about."""
        self.subject, self.incomplete = subject, None


def rdfa_entities(tree: dom.Tree, base: str) -> list[Entity]:
    """The top-level entities of a page's RDFa; the value of another entity's property is nested in that entity."""
    root = dom.first(tree, "html")
    prefixes = _xmlns_prefixes(root) if root is not None else {}
    return _StatementReader(base, prefixes).read(dom.select(tree, _SELECTOR)[:_MAX_ELEMENTS])


class _StatementReader:
    """Collects the statements of one page, element by element in page order."""

    __slots__ = ("_base", "_by_id", "_chars", "_left", "_outermost", "_page", "_scopes", "_subjects")

    def __init__(self, base: str, prefixes: dict[str, str]) -> None:
        self._base = base
        self._page = _Subject(base, None)
        self._subjects: list[_Subject] = []
        self._by_id: dict[str, _Subject] = {base: self._page}
        self._outermost = _Scope("", prefixes, self._page)
        self._scopes: dict[dom.Element, _Scope] = {}
        self._chars = _MAX_TEXT_CHARS
        self._left = _MAX_VALUES

    def read(self, elements: list[dom.Element]) -> list[Entity]:
        """The entities that these elements make statements about."""
        for element in elements:
            if self._left <= 0:
                break
            self._read_element(element)
        return self._entities()

    def _scope_around(self, element: dom.Element) -> _Scope:
        """The scope that an element is in, cached for every element on the way up."""
        passed = []
        at = dom.as_element(element.parent)
        while at is not None and at not in self._scopes:
            passed.append(at)
            at = dom.as_element(at.parent)
        scope = self._scopes[at] if at is not None else self._outermost
        for each in passed:
            self._scopes[each] = scope
        return scope

    def _read_element(self, element: dom.Element) -> None:
        outer = self._scope_around(element)
        scope = self._scopes[element] = _Scope(outer.vocabulary, outer.prefixes, outer.subject, outer.incomplete)
        vocabulary = element.attr("vocab")
        if vocabulary is not None:
            scope.vocabulary = SCHEMA_ORG if is_schema_org(vocabulary) else vocabulary.strip()
        if declared := _declared_prefixes(element):
            scope.prefixes = {**outer.prefixes, **declared}
        properties = self._properties(element, scope)
        rel, rev = self._relations(element, "rel", scope), self._relations(element, "rev", scope)
        types, repaired = self._types(element, scope)
        has_subject = element.attr("about") is not None or element.attr("resource") is not None
        if not (properties or rel or rev or types is not None or has_subject):
            return
        if rel or rev:
            self._enter_related(element, outer, scope, types, rel, rev)
        else:
            self._enter_unrelated(element, outer, scope, types, has_property=bool(properties))
        if repaired:
            scope.subject.repaired = True
        if properties:
            self._add_statements(element, outer, scope, properties, has_type=types is not None, has_relation=bool(rel))

    def _enter_unrelated(
        self, element: dom.Element, outer: _Scope, scope: _Scope, types: list[str] | None, *, has_property: bool
    ) -> None:
        """Find the subject of an element without `rel` and `rev` (§7.5 step 5)."""
        about = self._target(element, ("about",), scope)
        subject: _Subject | None
        if has_property and element.attr("content") is None and element.attr("datatype") is None:
            subject = about or outer.subject
            if types is not None:
                inner = about or self._target(element, ("resource", "href", "src"), scope) or self._new_subject(element)
                self._add_types(inner, types, element)
                scope.enter(inner)
            elif about is not None:
                scope.enter(about)
        else:
            # `content` together with `src` or `href` is a linked value, although the specification makes the link the subject.
            is_value = has_property and types is None
            subject = about or self._target(element, ("resource",) if is_value else ("resource", "href", "src"), scope)
            if subject is None and types is not None:
                subject = self._new_subject(element)
            if subject is not None:
                if types is not None:
                    self._add_types(subject, types, element)
                scope.enter(subject)
        self._complete(outer, subject or outer.subject)

    def _enter_related(
        self, element: dom.Element, outer: _Scope, scope: _Scope, types: list[str] | None, rel: list[str], rev: list[str]
    ) -> None:
        """Find the two ends of `rel` and `rev` (§7.5 steps 6, 9 and 10)."""
        about = self._target(element, ("about",), scope)
        subject = about or outer.subject
        other = self._target(element, ("resource", "href", "src"), scope)
        if types is not None:
            if about is None:
                other = other or self._new_subject(element)
                self._add_types(other, types, element)
            else:
                self._add_types(about, types, element)
        self._complete(outer, subject)
        if other is not None:
            self._relate(subject, rel, rev, other)
            scope.enter(other)
        else:
            scope.subject = self._new_subject(element)  # the statements below are about the other end, whatever that is
            scope.incomplete = _IncompleteTriples(subject, rel, rev)

    def _complete(self, outer: _Scope, subject: _Subject) -> None:
        incomplete = outer.incomplete
        if incomplete is not None and subject not in incomplete.completed:
            incomplete.completed.add(subject)
            self._relate(incomplete.subject, incomplete.rel, incomplete.rev, subject)

    def _relate(self, subject: _Subject, rel: list[str], rev: list[str], other: _Subject) -> None:
        self._left -= len(rel) + len(rev)
        subject.statements += [(name, other) for name in rel]
        subject.reverse += [(name, other) for name in rev]
        if (rel or rev) and other is not subject:
            other.is_value = True

    def _add_statements(
        self, element: dom.Element, outer: _Scope, scope: _Scope, properties: list[str], *, has_type: bool, has_relation: bool
    ) -> None:
        """Add the values of `property` (§7.5 step 11)."""
        self._left -= len(properties)
        content, datatype = element.attr("content"), element.attr("datatype")
        about = self._target(element, ("about",), scope)
        is_literal = content is not None or datatype is not None
        subject = about or (scope.subject if is_literal and not has_relation else outer.subject)
        if not is_literal and not has_relation:
            if has_type and about is None:
                self._relate(subject, properties, [], scope.subject)
                return
            target = next((raw for name in ("resource", "href", "src") if (raw := element.attr(name)) is not None), None)
            if target is not None and (url := self._identifier(target, scope)):
                subject.statements += [(name, _Link(url)) for name in properties]
                return
        text = content.strip() if content is not None else self._text(element)
        subject.statements += [(name, text) for name in properties]
        if subject.element is None:
            subject.element = element

    def _text(self, element: dom.Element) -> str:
        value = element.attr(VALUE_ATTRIBUTES[element.tag]) if element.tag in VALUE_ATTRIBUTES else None
        if value is not None:
            return value.strip()
        if self._chars <= 0:
            return ""
        text = dom.one_line_text(element)[:MAX_ELEMENT_CHARS]
        self._chars -= len(text)
        return text

    def _target(self, element: dom.Element, attributes: tuple[str, ...], scope: _Scope) -> _Subject | None:
        """The subject that the first of these attributes points at."""
        for name in attributes:
            raw = element.attr(name)
            if raw is None:
                continue
            url = self._identifier(raw, scope) if name in {"about", "resource"} else absolute_url(raw, self._base)
            if not url:
                return self._page if name == "about" and not raw.strip() else None
            known = self._by_id.get(url)
            if known is None:
                known = self._by_id[url] = _Subject(url, element)
                self._subjects.append(known)
            return known
        return None

    def _identifier(self, raw: str, scope: _Scope) -> str:
        """The URL that a URL, a `[prefix:name]` or a `prefix:name` means."""
        raw = raw.strip()
        if raw.startswith("[") and raw.endswith("]"):
            raw = raw[1:-1]
        prefix, colon, rest = raw.partition(":")
        if colon and prefix in scope.prefixes and not rest.startswith("//"):
            return scope.prefixes[prefix] + rest
        return absolute_url(raw, self._base)

    def _new_subject(self, element: dom.Element) -> _Subject:
        subject = _Subject("", element)
        self._subjects.append(subject)
        return subject

    def _add_types(self, subject: _Subject, types: list[str], element: dom.Element) -> None:
        subject.types += [name for name in types if name not in subject.types]
        if subject is self._page and subject.element is None:
            subject.element = element

    def _types(self, element: dom.Element, scope: _Scope) -> tuple[list[str] | None, bool]:
        """The types of an element, and whether they were repaired: `type` next to `vocab` can only mean `typeof`."""
        raw, repaired = element.attr("typeof"), False
        if raw is None and element.attr("vocab") and element.tag not in _TYPED_ELEMENTS:
            raw, repaired = element.attr("type") or None, True
        if raw is None:
            return None, False
        return [scope.name(name) for name in raw.split()[:_MAX_NAMES]], repaired

    def _properties(self, element: dom.Element, scope: _Scope) -> list[str]:
        raw = element.attr("property")
        if not raw:
            return []
        names = raw.split()[:_MAX_NAMES]
        if element.tag == "meta":
            names = [name for name in names if name.partition(":")[0].lower() not in _OPENGRAPH_PREFIXES]
        # Outside of a typed subject, a word without a vocabulary is defined nowhere.
        if not scope.vocabulary and scope.subject is self._page:
            names = [name for name in names if ":" in name]
        return [scope.name(name) for name in names]

    def _relations(self, element: dom.Element, attribute: str, scope: _Scope) -> list[str]:
        raw = element.attr(attribute)
        if not raw:
            return []
        has_property = element.attr("property") is not None or element.tag == "link"
        return [
            scope.name(name)
            for name in raw.split()[:_MAX_NAMES]
            if ":" in name or (scope.vocabulary and not has_property and name.lower() not in _LINK_TYPES)
        ]

    def _entities(self) -> list[Entity]:
        """Subjects that are no value of another come first; then those that refer to each other in a circle."""
        for subject in self._subjects:
            for _, value in subject.statements:
                known = self._by_id.get(value.url) if isinstance(value, _Link) else None
                if known is not None and known is not subject and known is not self._page:
                    known.is_value = True
        subjects = [each for each in [self._page, *self._subjects] if each.types or each.statements or each.reverse]
        used: set[_Subject] = set()
        entities = []
        for is_value in (False, True):
            for subject in subjects:
                if subject.is_value == is_value and subject not in used:
                    entity = self._entity(subject, [], used)
                    at = dom.css_path(subject.element) if subject.element is not None else ""
                    entities.append(with_place(entity, "rdfa", at, repaired=subject.repaired))
        return [entity for entity in entities if entity["types"] or entity["properties"] or "reverse" in entity]

    def _entity(self, subject: _Subject, path: list[_Subject], used: set[_Subject]) -> Entity:
        used.add(subject)
        path.append(subject)
        properties: dict[str, Any] = {}
        for name, value in subject.statements:
            self._left -= 1
            if self._left > -_MAX_VALUES:
                add_value(properties, name, self._value(name, value, path, used))
        entity = new_entity(subject.types, subject.identifier, properties)
        if subject.reverse:
            reverse: dict[str, Any] = {}
            for name, other in subject.reverse:
                add_value(reverse, name, self._value(name, other, path, used))
            entity["reverse"] = reverse
        path.pop()
        return entity

    def _value(self, name: str, value: Any, path: list[_Subject], used: set[_Subject]) -> Any:
        if isinstance(value, _Link):
            value = self._by_id.get(value.url) or value.url
        if isinstance(value, str):
            return typed_value(name, value, self._base)
        if not (value.types or value.statements or value.reverse):
            return typed_value(name, value.identifier, self._base)
        if value in path or len(path) >= _MAX_DEPTH or self._left <= -_MAX_VALUES:
            return {"id": value.identifier} if value.identifier else {"types": value.types}
        return self._entity(value, path, used)


def _xmlns_prefixes(root: dom.Element) -> dict[str, str]:
    """Prefixes as RDFa 1.0 declared them: `xmlns:name` on the root."""
    return {name[6:]: url for name in root.attrs if name.startswith("xmlns:") and (url := root.attr(name))}


def _declared_prefixes(element: dom.Element) -> dict[str, str]:
    words = (element.attr("prefix") or "").split()[: 2 * _MAX_PREFIXES]
    return {name[:-1]: url for name, url in zip(words[::2], words[1::2], strict=False) if name.endswith(":")}
