"""A JSON-LD context: what the names in an object mean (JSON-LD 1.1 §4.1, API §4), as far as it stands in the page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sitelore.extract.structured.entities import absolute
from sitelore.extract.structured.vocabularies import SCHEMA, is_schema, joined, short, unprefixed

_MAX_TERMS = 500
_MAX_CONTEXTS = 32
_MAX_CHAIN = 32
_MAX_NAME_CHARS = 500
_NO_CONTAINER: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Term:
    """What one name is defined as."""

    name: str
    """A keyword, a short name of schema.org, or an address; empty when the name is to be ignored."""
    prefix: str = ""
    """The address itself, for what is used as a prefix."""
    type: str = ""
    container: frozenset[str] = _NO_CONTAINER
    is_reverse: bool = False
    language: str = ""
    context: Any = None
    """A context for what is below this name, as written."""

    @cached_property
    def without_container(self) -> Term:
        """The same for values that were taken out of their container."""
        return replace(self, container=_NO_CONTAINER)


_SCHEMA_TERMS = {"type": Term("@type"), "id": Term("@id")}


@dataclass(frozen=True, slots=True)
class Context:
    """The names that hold at one place. `vocabulary` is None where none is known: then names stay as they are."""

    base: str = ""
    vocabulary: str | None = None
    terms: dict[str, Term] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)

    def based(self, base: str) -> Context:
        """The same on another page."""
        return replace(self, base=base)

    def extended(self, said: Any) -> Context:
        """This context and what an object adds to it."""
        context = self
        for one in (said if isinstance(said, list) else [said])[:_MAX_CONTEXTS]:
            if isinstance(one, str):
                context = context.with_schema() if is_schema(one) else context
            elif isinstance(one, dict):
                context = context.with_terms(one)
            elif one is None:
                context = Context(base=self.base)
        return context

    def with_schema(self) -> Context:
        """This context and all of schema.org."""
        if self.vocabulary == SCHEMA and self.terms.get("type") is not None:
            return self
        return replace(self, vocabulary=SCHEMA, terms={**self.terms, **_SCHEMA_TERMS} if self.terms else _SCHEMA_TERMS)

    def with_terms(self, said: dict[str, Any]) -> Context:
        """This context and what one object defines."""
        base, vocabulary = self.base, self.vocabulary
        if isinstance(given := said.get("@base"), str):
            base = absolute(given, base) or base
        if "@vocab" in said:
            vocabulary = _vocabulary(said["@vocab"], self)
        definitions = {key: one for key, one in list(said.items())[:_MAX_TERMS] if key[:1] != "@"}
        making = _Making(replace(self, base=base, vocabulary=vocabulary), definitions)
        return making.context()

    @property
    def keeps_words(self) -> bool:
        """Whether a plain word that is not defined is its own name."""
        return self.vocabulary is None or self.vocabulary == SCHEMA

    def keyword(self, key: str) -> str:
        """The keyword that a key is or stands for; empty for a property."""
        if key[:1] == "@":
            return key
        term = self.terms.get(key)
        return term.name if term is not None and term.name[:1] == "@" else ""

    def name(self, key: str, term: Term | None) -> str:
        """What a key of an object names; empty when it is to be ignored."""
        if term is not None:
            return term.name
        if not key or key[0] == "@":
            return key
        return self._plain(key)

    def type_name(self, said: str) -> str:
        """What a type names."""
        term = self.terms.get(said)
        if term is not None and term.name[:1] != "@":
            return term.name or said
        return self._plain(said.strip())

    def _plain(self, said: str) -> str:
        if len(said) > _MAX_NAME_CHARS:
            return said[:_MAX_NAME_CHARS]
        if ":" in said:
            return unprefixed(said, self.prefixes) or said
        vocabulary = self.vocabulary
        if vocabulary == SCHEMA:
            return said if "/" not in said else short(said)
        return short(said) if vocabulary is None else joined(vocabulary, said)

    def identifier(self, said: Any) -> str:
        """The id that a text means: an absolute address or a blank node."""
        if not isinstance(said, str) or not (said := said.strip()):
            return ""
        prefix, colon, rest = said.partition(":")
        if colon and prefix in self.prefixes and not rest.startswith("//"):
            return self.prefixes[prefix] + rest
        return absolute(said, self.base) or said[:_MAX_NAME_CHARS]


EMPTY = Context()


def _vocabulary(said: Any, context: Context) -> str | None:
    if not isinstance(said, str):
        return None
    if not said:
        return context.base
    if is_schema(said):
        return SCHEMA
    if ":" in said and not said.partition(":")[2].startswith("//"):
        prefix, _, rest = said.partition(":")
        return context.prefixes[prefix] + rest if prefix in context.prefixes else said
    return said


class _Making:
    """Works the definitions of one object out, each once; one that needs itself is left as it is written."""

    __slots__ = ("_definitions", "_depth", "_outer", "_prefixes", "_started", "_terms")

    def __init__(self, outer: Context, definitions: dict[str, Any]) -> None:
        self._outer = outer
        self._definitions = definitions
        self._terms = dict(outer.terms)
        self._prefixes = dict(outer.prefixes)
        self._started: set[str] = set()
        self._depth = 0

    def context(self) -> Context:
        for key in self._definitions:
            self._define(key)
        return replace(self._outer, terms=self._terms, prefixes=self._prefixes)

    def _define(self, key: str) -> None:
        if key in self._started or self._depth > _MAX_CHAIN:
            return
        self._started.add(key)
        self._depth += 1
        self._define_as(key, self._definitions[key])
        self._depth -= 1

    def _define_as(self, key: str, said: Any) -> None:
        if said is None or said is False:
            self._terms[key] = Term("")
            return
        if isinstance(said, str):
            said = {"@id": said}
        if not isinstance(said, dict):
            return
        is_reverse = isinstance(said.get("@reverse"), str)
        target = said.get("@reverse") if is_reverse else said.get("@id", key)
        if target is None:
            self._terms[key] = Term("")
            return
        self._terms[key] = self._term(key, target if isinstance(target, str) else key, said, is_reverse=is_reverse)

    def _term(self, key: str, target: str, said: dict[str, Any], *, is_reverse: bool) -> Term:
        kind, container, language = said.get("@type"), said.get("@container"), said.get("@language")
        containers = [container] if isinstance(container, str) else container if isinstance(container, list) else []
        address = self._address(target) if target != key else self._own(key)
        if address[:1] != "@":
            self._prefixes[key] = address
        return Term(
            name=address if address[:1] == "@" else short(address),
            prefix=address,
            type=kind if isinstance(kind, str) else "",
            container=frozenset(one for one in containers if isinstance(one, str)),
            is_reverse=is_reverse,
            language=language if isinstance(language, str) else "",
            context=said.get("@context"),
        )

    def _own(self, key: str) -> str:
        """The address of a name that is defined without one."""
        if ":" in key:
            return self._address(key)
        vocabulary = self._outer.vocabulary
        return key if vocabulary is None else vocabulary + key

    def _address(self, said: str) -> str:
        """What a definition points at, whole."""
        if said[:1] == "@":
            return said
        prefix, colon, rest = said.partition(":")
        if colon and not rest.startswith("//"):
            if prefix in self._definitions and prefix not in self._started:
                self._define(prefix)
            address = self._prefixes.get(prefix)
            return address + rest if address is not None else unprefixed(said, {}) or said
        if colon:
            return said
        if said in self._definitions and said not in self._started:
            self._define(said)
        if (known := self._terms.get(said)) is not None:
            return known.prefix or known.name
        return said if self._outer.vocabulary is None else self._outer.vocabulary + said
