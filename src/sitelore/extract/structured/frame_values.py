"""What a field of a frame is read from: the values of a property as text, addresses, numbers, yes or no."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from sitelore.extract.structured.entities import amount, number

MAX_LISTED = 500
_MAX_CHARS = 20_000
_TAG = re.compile(r"<[a-zA-Z/!][^<>]{0,1000}>")

Properties: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[[Properties, tuple[str, ...]], Any]


class Field(NamedTuple):
    """A field of a frame, how it is read, and the properties it is read from, the first that has a value."""

    name: str
    read: Reader
    sources: tuple[str, ...]


class Frame:
    """The fields of one kind of thing. Reading costs by what the entity has, not by what the frame could hold."""

    __slots__ = ("_by_property", "fields")

    def __init__(self, *fields: Field) -> None:
        self.fields = fields
        self._by_property: dict[str, list[int]] = {}
        for at, field in enumerate(fields):
            for source in field.sources:
                self._by_property.setdefault(source, []).append(at)

    def read(self, properties: Properties) -> dict[str, Any]:
        """The fields that an entity fills."""
        wanted: set[int] = set()
        known = self._by_property
        for name in properties:
            if name in known:
                wanted.update(known[name])
        frame: dict[str, Any] = {}
        for at in sorted(wanted):
            field = self.fields[at]
            value = field.read(properties, field.sources)
            if value or (value is not None and value not in ("", [], {})):
                frame[field.name] = value
        return frame


def plain(name: str, *sources: str, by: Reader | None = None) -> Field:
    """A field and the properties it is read from: its own name when none is given."""
    return Field(name, by or text, sources or (name,))


def all_of(properties: Properties, sources: tuple[str, ...]) -> list[Any]:
    """The values of the first of these properties that has any."""
    for name in sources:
        value = properties.get(name)
        if value is not None and value != "":
            return value[:MAX_LISTED] if isinstance(value, list) else [value]
    return []


def inner_of(value: Any) -> Properties:
    """The properties of a value that is an entity."""
    found = value.get("properties") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def spoken(value: Any) -> str:
    """What a reader would call a value: its text, or the name of what it is."""
    if isinstance(value, str):
        if "<" in value and _TAG.search(value):
            value = html.unescape(_TAG.sub(" ", value))
        return " ".join(value.split())[:_MAX_CHARS]
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("value"), str):
        return spoken(value["value"])
    inner = inner_of(value)
    for name in ("name", "headline", "text", "value", "@value", "alternateName"):
        if name in inner and (words := spoken(one_of(inner[name]))):
            return words
    return ""


def one_of(value: Any) -> Any:
    """A value, or the first of several."""
    return (value[0] if value else None) if isinstance(value, list) else value


def address_of(value: Any) -> str:
    """Where a value is: an address itself, or the address of an entity."""
    if isinstance(value, str):
        return value.strip()
    inner = inner_of(value)
    for name in ("url", "contentUrl", "@id"):
        if isinstance(found := one_of(inner.get(name)), str) and found:
            return found
    identifier = value.get("id", "") if isinstance(value, dict) else ""
    return identifier if identifier.startswith(("http://", "https://")) else ""


def text(properties: Properties, sources: tuple[str, ...]) -> str:
    """The first value as text."""
    for name in sources:
        value = properties.get(name)
        # Most values are one plain text.
        if type(value) is str and value and "<" not in value:
            return " ".join(value.split())[:_MAX_CHARS]
        if value is not None and value != "":
            break
    return next(filter(None, map(spoken, all_of(properties, sources))), "")


def texts(properties: Properties, sources: tuple[str, ...]) -> list[str]:
    """All values as texts, each once."""
    return list(dict.fromkeys(filter(None, map(spoken, all_of(properties, sources)))))


def words(properties: Properties, sources: tuple[str, ...]) -> list[str]:
    """Keywords: a list, or one text with commas."""
    found = texts(properties, sources)
    if len(found) == 1 and "," in found[0]:
        found = [word for part in found[0].split(",") if (word := part.strip())]
    return list(dict.fromkeys(found))


def address(properties: Properties, sources: tuple[str, ...]) -> str:
    """The first value as an address."""
    return next(filter(None, map(address_of, all_of(properties, sources))), "")


def addresses(properties: Properties, sources: tuple[str, ...]) -> list[str]:
    """All values as addresses, each once."""
    return list(dict.fromkeys(filter(None, map(address_of, all_of(properties, sources)))))


def figure(properties: Properties, sources: tuple[str, ...]) -> float | int | None:
    """The first value as a number."""
    for value in all_of(properties, sources):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        found = number(spoken(value))
        if found is None:
            found = amount(spoken(value))
        if found is not None:
            return found
    return None


def truth(properties: Properties, sources: tuple[str, ...]) -> bool | None:
    """The first value as yes or no."""
    for value in all_of(properties, sources):
        if isinstance(value, bool):
            return value
        if (said := spoken(value).lower()) in {"true", "false"}:
            return said == "true"
    return None
