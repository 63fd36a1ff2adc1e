"""Repairs JSON as pages write it, where the broken text can mean only one thing.

First, wrappers around the JSON are removed (comments, CDATA, a byte order mark, a semicolon) and a lenient standard parser
tries it. Then a tolerant parser reads it: extra or missing commas, comments, raw line ends, wrong or unescaped quotes, names
without quotes, several values in a row, brackets that are never closed. Where more than one reading is possible, nothing is
read.
"""

from __future__ import annotations

import html
import json
import math
import re
from typing import Any

_MAX_DEPTH = 128
_MAX_VALUES = 1000
_MAX_TAIL_CHARS = 200
_BEFORE = re.compile(r"(?:[\s\ufeff\u200b;]|<!--|-->|(?:/[/*]\s*)?<!\[CDATA\[(?:\s*\*/)?|/\*[^{\[]*?\*/|//[^\n{\[]*|]]>)*")
_AFTER = re.compile(r"(?:[\s\ufeff\u200b;]|<!--|-->|]]>|/\*|\*/|//)*$")
_SPACE = re.compile(r"(?:[\s\ufeff\u200b]+|//[^\n]*|/\*.*?\*/|<!--|-->|<!\[CDATA\[|]]>)*", re.DOTALL)
_UNQUOTED = {'"': re.compile(r"[^\"\\]*"), "'": re.compile(r"[^'\\]*"), "\u201c": re.compile(r"[^\u201d\u201c\\]*")}
_CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d\u201c"}
_AFTER_NAME = re.compile(r"\s*:")
_AFTER_VALUE = re.compile(
    r"\s*(?:,\s*(?:[\"'\u201c{\[}\]\d/@,-]|[A-Za-z]\w*\s*\"?\s*:|true|false|null|$)|[}\];]|$|/[/*]|-->|]]>|<!)"
)
_NAME_ON_NEXT_LINE = re.compile(r"[ \t]*\r?\n\s*[\"'\u201c@\w][^\"\n]{0,80}[\"'\u201d]?\s*:")
_NAME = re.compile(r"@?[A-Za-z_$][\w$.:@/-]*")
_WORD = re.compile(r"[-+.:\w$]+")
_UNOPENED = re.compile(r"([^\"\n{}\[\],:]{1,200})\"")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_CONSTANTS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "undefined": None, "NaN": None,
    "TRUE": True, "FALSE": False, "NULL": None, "Infinity": None, "-Infinity": None,
}  # fmt: skip
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\n": "", "\r": ""}
_HEX4 = re.compile(r"[0-9A-Fa-f]{4}")
_HEX2 = re.compile(r"[0-9A-Fa-f]{2}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_FAILED = object()


def repair_json(source: str) -> Any:
    """The value of a script that is not valid JSON, None if it cannot be read."""
    start = _match_end(_BEFORE, source)
    # Only the last characters are searched: the pattern is quadratic on a long script.
    tail = _AFTER.search(source, max(start, len(source) - _MAX_TAIL_CHARS))
    text = source[start : tail.start() if tail is not None else len(source)]
    value = _parse_leniently(text)
    if value is _FAILED and "&quot;" in text and '"' not in text:
        value = _parse_leniently(html.unescape(text))
    if value is _FAILED and text[:1] in {"{", "["}:
        value = _parse_tolerantly(text)
    return None if value is _FAILED else value


def _match_end(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    match = pattern.match(text, start)
    return match.end() if match is not None else start


def _parse_leniently(text: str) -> Any:
    """Use the standard library's parser, which accepts raw control characters and lone surrogates."""
    try:
        value = json.loads(text, strict=False, parse_constant=lambda _: None, parse_float=_finite)
        return _without_surrogates(value) if "\\u" in text else value
    except (ValueError, RecursionError):
        return _FAILED


def _finite(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def _without_surrogates(value: Any) -> Any:
    """A copy with lone surrogates replaced, which cannot be encoded as UTF-8."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _without_surrogates(inner) for key, inner in value.items()}
    return value


def _parse_tolerantly(text: str) -> Any:
    try:
        values = _without_surrogates(_TolerantParser(text).values())
    except (_AmbiguousError, RecursionError):
        return _FAILED
    if not values:
        return _FAILED
    return values[0] if len(values) == 1 else values


class _AmbiguousError(Exception):
    """The text has no reading, or more than one."""


class _TolerantParser:
    """Parses JSON and common mistakes in it from left to right, reading each character once."""

    __slots__ = ("_at", "_end", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._end = len(text)

    def values(self) -> list[Any]:
        """All objects and lists in a row. Text after one of them ends the row."""
        values: list[Any] = []
        while self._peek() and len(values) < _MAX_VALUES:
            if self._text[self._at] not in "{[":
                if self._text[self._at] not in ",;":
                    break
                self._at += 1
                continue
            values.append(self._value(0))
        return values

    def _peek(self) -> str:
        """The next character that is not space or a comment; empty at the end."""
        at = self._at
        if at < self._end and (self._text[at] in " \t\r\n/<-]" or not self._text[at].isascii()):
            if self._text[at] == "]" and not self._text.startswith("]]>", at):
                return "]"
            self._at = _match_end(_SPACE, self._text, at)
        return self._text[self._at] if self._at < self._end else ""

    def _value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise _AmbiguousError
        char = self._peek()
        if char == "{":
            return self._object(depth + 1)
        if char == "[":
            return self._list(depth + 1)
        if char and char in _CLOSING:
            return self._string(char, is_name=False)
        return self._word()

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._at += 1
        while (char := self._peek()) and char != "}":
            if char in ",;":
                self._at += 1
                continue
            if char == "]":
                return members  # the list around it ends here, so the object does too
            name = self._name(char)
            if self._peek() != ":":
                raise _AmbiguousError
            self._at += 1
            if self._peek() in {"", ",", "}"}:
                continue  # a name without a value
            value = self._value(depth)
            # Of a repeated name, the first value is kept if the second is null.
            if value is not None or name not in members:
                members[name] = value
        self._at += 1
        return members

    def _list(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self._at += 1
        while (char := self._peek()) and char != "]":
            if char in ",;":
                self._at += 1
                continue
            if char == "}":
                return items
            items.append(self._value(depth))
        self._at += 1
        return items

    def _name(self, char: str) -> str:
        if char in _CLOSING:
            return self._string(char, is_name=True)
        match = _NAME.match(self._text, self._at)
        if match is None:
            raise _AmbiguousError
        self._at = match.end()
        # The quote before the name is missing, the one after it is not.
        if self._text.startswith('"', self._at):
            self._at += 1
            return match[0]
        # `name: value` without quotes. The pattern allows colons within a name, so it took the last one too.
        if match[0].endswith(":"):
            self._at -= 1
            return match[0][:-1]
        return match[0]

    def _string(self, quote: str, *, is_name: bool) -> str:
        text, unquoted, closing = self._text, _UNQUOTED[quote], _CLOSING[quote]
        parts: list[str] = []
        self._at += 1
        while True:
            stop = _match_end(unquoted, text, self._at)
            parts.append(text[self._at : stop])
            self._at = stop
            if stop >= self._end:
                raise _AmbiguousError  # the string is never closed
            if text[stop] == "\\":
                parts.append(self._escape())
            elif text[stop] in closing and self._closes(stop + 1, is_name=is_name):
                self._at = stop + 1
                return "".join(parts)
            else:
                parts.append(text[stop])
                self._at = stop + 1

    def _closes(self, at: int, *, is_name: bool) -> bool:
        """Whether a quote ends its string, by what follows it."""
        if is_name:
            return _AFTER_NAME.match(self._text, at) is not None
        return _AFTER_VALUE.match(self._text, at) is not None or _NAME_ON_NEXT_LINE.match(self._text, at) is not None

    def _escape(self) -> str:
        text, at = self._text, self._at + 1
        char = text[at : at + 1]
        self._at = at + 1
        if char == "u" and (match := _HEX4.match(text, at + 1)) is not None:
            self._at = match.end()
            return self._surrogate_pair(int(match[0], 16))
        if char == "x" and (match := _HEX2.match(text, at + 1)) is not None:
            self._at = match.end()
            return chr(int(match[0], 16))
        return _ESCAPES.get(char, char)

    def _surrogate_pair(self, code: int) -> str:
        """The character of a Unicode escape, joined with the next escape if both are halves of one character."""
        if 0xD800 <= code < 0xDC00 and self._text.startswith("\\u", self._at):
            match = _HEX4.match(self._text, self._at + 2)
            if match is not None and 0xDC00 <= (low := int(match[0], 16)) < 0xE000:
                self._at = match.end()
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        return chr(code)

    def _word(self) -> Any:
        """A constant, a number, or a string whose opening quote is missing."""
        unopened = _UNOPENED.match(self._text, self._at)
        if unopened is not None and self._closes(unopened.end(), is_name=False):
            self._at = unopened.end()
            return _number(unopened[1]) or unopened[1]
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise _AmbiguousError
        self._at = match.end()
        word = match[0]
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        value = _number(word)
        if value is None and not word[0].isdigit():
            raise _AmbiguousError  # a variable of a script
        return word if value is None else value


def _number(word: str) -> float | int | None:
    if _NUMBER.fullmatch(word) is None or len(word) > 40 or not math.isfinite(value := float(word)):
        return None
    return int(word) if word.lstrip("+-").isdigit() else value
