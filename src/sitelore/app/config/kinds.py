"""Types of setting values: each reads the text of an option, checks a value of Python, JSON or TOML, and describes itself.

A wrong value raises ValueError with the reason. The caller puts the name of the option, field or key in front of it, so that
the same mistake gives the same message everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from sitelore.model.errors import BadUrl, UsageError
from sitelore.model.settings import parse_duration

_SHOWN_CHARS = 60
_MAX_ITEMS = 1000
_MAX_LINE_CHARS = 8192
_MAX_UNIT_CHARS = 40
"""The longest text of a duration or a size."""
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(B|kB|KB|MB|GB|KiB|MiB|GiB)?")
_UNIT_BYTES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_HOST = re.compile(r"\[?[A-Za-z0-9._:-]+\]?(?::\d{1,5})?")
Schema = dict[str, Any]


class Kind(Protocol):
    """The type of a setting's value."""

    def parse(self, text: str) -> Any:
        """The value of a text. Raises ValueError."""

    def check(self, value: Any) -> Any:
        """The value as the settings hold it. Raises ValueError."""

    def schema(self) -> Schema:
        """The JSON schema of the value."""

    def hint(self) -> str:
        """What to write, in a few words."""


def shown(value: Any) -> str:
    """A value in an error message."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def type_name(value: Any) -> str:
    """The type of a value in words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


def _invalid(noun: str, value: Any, hint: str) -> ValueError:
    return ValueError(f"invalid {noun} {shown(value)} (use {hint})")


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def parse(self, text: str) -> bool:
        """`true` or `false`."""
        if text.lower() not in {"true", "false"}:
            raise _invalid("value", text, self.hint())
        return text.lower() == "true"

    def check(self, value: Any) -> bool:
        """A boolean."""
        if not isinstance(value, bool):
            raise _invalid("value", value, self.hint())
        return value

    def schema(self) -> Schema:
        """A boolean."""
        return {"type": "boolean"}

    def hint(self) -> str:
        """Both values."""
        return "true or false"


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within limits."""

    minimum: int
    maximum: int

    def parse(self, text: str) -> int:
        """The number of a text of decimal digits."""
        if not re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
            raise _invalid("number", text, self.hint())
        return self.check(int(text))

    def check(self, value: Any) -> int:
        """A number within the limits."""
        if isinstance(value, bool) or not isinstance(value, int) or not self.minimum <= value <= self.maximum:
            raise _invalid("number", value, self.hint())
        return value

    def schema(self) -> Schema:
        """An integer with its limits."""
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}

    def hint(self) -> str:
        """The limits."""
        return f"a whole number from {self.minimum:,} to {self.maximum:,}"


@dataclass(frozen=True, slots=True)
class Seconds:
    """A duration: a number of seconds, or a text such as `90s` or `24h`."""

    minimum: float
    maximum: float
    needs_unit: bool = False
    """Whether a text must have a unit: `24` could be meant as hours."""

    def parse(self, text: str) -> float:
        """A duration with a unit, or a number of seconds."""
        if not self.needs_unit and re.fullmatch(r"-?\d{1,12}(?:\.\d{1,9})?", text, re.ASCII):
            return self.check(float(text))
        return self.check(text)

    def check(self, value: Any) -> float:
        """A duration within the limits."""
        if isinstance(value, str) and len(value) <= _MAX_UNIT_CHARS:
            seconds = self._duration(value)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise self._invalid(value)
        else:
            seconds = float(value)
        if not self.minimum <= seconds <= self.maximum:
            raise _invalid("duration", value, self._range())
        return seconds

    def _duration(self, text: str) -> float:
        try:
            return parse_duration(text, "")
        except UsageError:
            raise self._invalid(text) from None

    def _invalid(self, value: Any) -> ValueError:
        return _invalid("duration", value, "90s, 30m, 24h or 7d" if self.needs_unit else "seconds, 90s, 30m or 24h")

    def schema(self) -> Schema:
        """Seconds, or a text with units."""
        number = {"type": "number", "minimum": self.minimum, "maximum": self.maximum}
        return {"anyOf": [number, {"type": "string", "maxLength": _MAX_UNIT_CHARS}]}

    def _range(self) -> str:
        return f"{self.minimum:g} to {self.maximum:g} seconds"

    def hint(self) -> str:
        """Examples and limits."""
        return f"seconds or 90s, 30m, 24h; {self._range()}"


@dataclass(frozen=True, slots=True)
class Size:
    """A number of bytes, or a text such as `10MB`."""

    minimum: int
    maximum: int
    unit: int = 1
    """What a plain number counts: bytes, or mebibytes (`2**20`)."""

    def parse(self, text: str) -> int:
        """A number with or without a unit."""
        return self.check(int(text) if re.fullmatch(r"\d{1,15}", text, re.ASCII) else text)

    def check(self, value: Any) -> int:
        """A size within the limits."""
        if isinstance(value, str) and len(value) <= _MAX_UNIT_CHARS and (match := _SIZE.fullmatch(value)):
            size = round(float(match[1]) * _UNIT_BYTES[match[2] or "B"])
        elif isinstance(value, int) and not isinstance(value, bool):
            size = value * self.unit
        else:
            raise _invalid("size", value, f"{'bytes' if self.unit == 1 else 'a number of MB'}, 500KB, 10MB or 16MiB")
        if not self.minimum <= size <= self.maximum:
            raise _invalid("size", value, self._range())
        return size

    def schema(self) -> Schema:
        """Bytes, or a text with a unit."""
        number = {"type": "integer", "minimum": -(-self.minimum // self.unit), "maximum": self.maximum // self.unit}
        return {"anyOf": [number, {"type": "string", "maxLength": _MAX_UNIT_CHARS}]}

    def _range(self) -> str:
        return f"{size_text(self.minimum)} to {size_text(self.maximum)}"

    def hint(self) -> str:
        """Examples and limits."""
        return f"bytes or 500KB, 10MB; {self._range()}"


def size_text(size: int) -> str:
    """A size with the largest unit that keeps it a whole number."""
    for unit in ("GiB", "MiB", "KiB"):
        if size and size % _UNIT_BYTES[unit] == 0:
            return f"{size // _UNIT_BYTES[unit]} {unit}"
    return f"{size} B"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several words."""

    form: type[StrEnum]
    aliases: tuple[tuple[str, str], ...] = ()
    """Other names of words."""

    def parse(self, text: str) -> StrEnum:
        """A word."""
        return self.check(text)

    def check(self, value: Any) -> StrEnum:
        """One of the words."""
        word = dict(self.aliases).get(value, value) if isinstance(value, str) else value
        if not isinstance(word, str) or word not in list(self.form):
            raise _invalid("value", value, self.hint())
        return self.form(word)

    def schema(self) -> Schema:
        """The words."""
        return {"type": "string", "enum": [*map(str, self.form), *(name for name, _ in self.aliases)]}

    def hint(self) -> str:
        """The words."""
        *others, last = map(str, self.form)
        return f"{', '.join(others)} or {last}" if others else last


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several names that are not an enumeration."""

    names: tuple[str, ...]

    def parse(self, text: str) -> str:
        """A name."""
        return self.check(text)

    def check(self, value: Any) -> str:
        """One of the names."""
        if not isinstance(value, str) or value not in self.names:
            raise _invalid("value", value, self.hint())
        return value

    def schema(self) -> Schema:
        """The names."""
        return {"type": "string", "enum": list(self.names)}

    def hint(self) -> str:
        """The names."""
        return f"{', '.join(self.names[:-1])} or {self.names[-1]}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text, checked by a function."""

    noun: str
    example: str
    accept: Callable[[str], str]
    """The text as the settings hold it. Raises ValueError, without a message or with a reason."""
    max_chars: int = _MAX_LINE_CHARS
    is_empty_allowed: bool = False

    def parse(self, text: str) -> str:
        """The text."""
        return self.check(text)

    def check(self, value: Any) -> str:
        """A line that the function accepts."""
        if not isinstance(value, str) or len(value) > self.max_chars or not value.isprintable():
            raise _invalid(self.noun, value, self.hint())
        if not value.strip():
            if self.is_empty_allowed:
                return ""
            raise _invalid(self.noun, value, self.hint())
        try:
            return self.accept(value.strip())
        except BadUrl as problem:
            raise ValueError(str(problem).rstrip(".")) from None
        except ValueError as problem:
            raise _invalid(self.noun, value, str(problem) or self.hint()) from None

    def schema(self) -> Schema:
        """A text."""
        return {"type": "string", "minLength": 0 if self.is_empty_allowed else 1, "maxLength": self.max_chars}

    def hint(self) -> str:
        """An example."""
        return self.example


@dataclass(frozen=True, slots=True)
class Items:
    """A list of values of one kind."""

    kind: Kind
    maximum: int = _MAX_ITEMS

    def parse(self, text: str) -> tuple[Any, ...]:
        """Values separated by commas."""
        return self.parse_all(part.strip() for part in text.split(",") if part.strip())

    def parse_all(self, texts: Iterable[str]) -> tuple[Any, ...]:
        """The values of a repeated option."""
        return self._distinct(self.kind.parse(text) for text in texts)

    def check(self, value: Any) -> tuple[Any, ...]:
        """A list of valid values."""
        if not isinstance(value, list | tuple):
            raise _invalid("value", value, self.hint())
        return self._distinct(self.kind.check(item) for item in value)

    def _distinct(self, values: Iterable[Any]) -> tuple[Any, ...]:
        checked = tuple(values)
        if len(checked) > self.maximum:
            raise ValueError(f"{len(checked):,} values are too many (use at most {self.maximum:,})")
        return tuple(dict.fromkeys(checked))

    def schema(self) -> Schema:
        """A list."""
        return {"type": "array", "items": self.kind.schema(), "maxItems": self.maximum}

    def hint(self) -> str:
        """What an item is."""
        return f"a list of {self.kind.hint()}"


def ascii_line(text: str) -> str:
    """Text for an HTTP header."""
    if not text.isascii():
        raise ValueError
    return text


def any_line(text: str) -> str:
    """Any printable text."""
    return text


def web_url(text: str) -> str:
    """A URL as it is typed, without credentials."""
    from sitelore.intake.seeds import parse_user_url, refuse_credentials  # noqa: PLC0415 read at every start of the command line

    refuse_credentials(text)
    return str(parse_user_url(text))


def national_id(text: str) -> str:
    """The kind of a national id."""
    from sitelore.extract.redaction.personal_data import NATIONAL_IDS  # noqa: PLC0415 imports the patterns of redaction

    if text not in NATIONAL_IDS:
        raise ValueError(", ".join(NATIONAL_IDS))
    return text


def private_address(text: str) -> str:
    """A host, a network or `any`."""
    if text == "any":
        return text
    if "/" in text:
        from ipaddress import ip_network  # noqa: PLC0415 rarely needed

        try:
            return str(ip_network(text, strict=False))
        except ValueError:
            raise ValueError("10.0.0.0/8 or fd00::/8") from None
    if not _HOST.fullmatch(text):
        raise ValueError
    return text.lower()
