"""JSON as pages write it: what is wrong with it is put right where it can mean one thing only.

First the strict parser, which nearly all pages pass. Then what stands around the JSON is taken off (comments, CDATA, a byte
order mark, a semicolon). Then a forgiving reader goes over it: commas too many or missing, comments, raw line ends, quotes
of the wrong kind or not escaped, names without quotes, several values in a row, brackets that are never closed. Where that
would be a guess, nothing is read.
"""

from __future__ import annotations

import html
import json
import math
import re
from typing import Any, NamedTuple

import msgspec

_MAX_DEPTH = 128
_MAX_VALUES = 1000
_BEFORE = re.compile(r"(?:[\s\ufeff\u200b;]|<!--|-->|(?:/[/*]\s*)?<!\[CDATA\[(?:\s*\*/)?|/\*[^{\[]*?\*/|//[^\n{\[]*|]]>)*")
_AFTER = re.compile(r"(?:[\s\ufeff\u200b;]|<!--|-->|]]>|/\*|\*/|//)*$")
_SPACE = re.compile(r"(?:[\s\ufeff\u200b]+|//[^\n]*|/\*.*?\*/|<!--|-->|<!\[CDATA\[|]]>)*", re.DOTALL)
_PLAIN = re.compile(r"[^\"\\]*")
_PLAIN_BY_QUOTE = {'"': _PLAIN, "'": re.compile(r"[^'\\]*"), "\u201c": re.compile(r"[^\u201d\u201c\\]*")}
_CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d\u201c"}
_ENDS_NAME = re.compile(r"\s*:")
_ENDS_VALUE = re.compile(
    r"\s*(?:,\s*(?:[\"'\u201c{\[}\]\d/@,-]|[A-Za-z]\w*\s*\"?\s*:|true|false|null|$)|[}\];]|$|/[/*]|-->|]]>|<!)"
)
_ENDS_LINE = re.compile(r"[ \t]*\r?\n\s*[\"'\u201c@\w][^\"\n]{0,80}[\"'\u201d]?\s*:")
_NAME = re.compile(r"@?[A-Za-z_$][\w$.:@/-]*")
_WORD = re.compile(r"[-+.:\w$]+")
_UNOPENED = re.compile(r"([^\"\n{}\[\],:]{1,200})\"")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "undefined": None, "NaN": None,
    "TRUE": True, "FALSE": False, "NULL": None, "Infinity": None, "-Infinity": None,
}  # fmt: skip
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\n": "", "\r": ""}
_HEX4 = re.compile(r"[0-9A-Fa-f]{4}")
_HEX2 = re.compile(r"[0-9A-Fa-f]{2}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MISSING = object()


class Decoded(NamedTuple):
    """What a script holds; `value` is None when it cannot be read."""

    value: Any
    repaired: bool = False


def decoded(source: str) -> Decoded:
    """The JSON of a script, repaired where that is safe."""
    try:
        return Decoded(msgspec.json.decode(source))
    except (ValueError, RecursionError):
        pass
    start = _matched_end(_BEFORE, source)
    plain = source[start : _tail(source, start)]
    if not plain:
        return Decoded(None)
    value = _lenient(plain)
    if value is _MISSING and "&quot;" in plain and '"' not in plain:
        value = _lenient(html.unescape(plain))
    if value is _MISSING and plain[:1] in {"{", "["}:
        value = _forgiven(plain)
    return Decoded(None) if value is _MISSING else Decoded(value, repaired=True)


def _matched_end(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    found = pattern.match(text, start)
    return found.end() if found is not None else start


def _tail(source: str, start: int) -> int:
    """Where the JSON ends. Only the last characters are searched: the pattern may not look over all of a long script."""
    near = max(start, len(source) - 200)
    found = _AFTER.search(source, near)
    return found.start() if found is not None else len(source)


def _lenient(text: str) -> Any:
    """The standard library's parser: raw control characters and lone surrogates pass."""
    try:
        value = json.loads(text, strict=False, parse_constant=_nothing, parse_float=_finite)
        return _without_surrogates(value) if "\\u" in text else value
    except (ValueError, RecursionError):
        return _MISSING


def _nothing(_: str) -> None:
    return None


def _finite(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def _without_surrogates(value: Any) -> Any:
    """The same with halves of characters replaced: they cannot be written as UTF-8."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(one) for one in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _without_surrogates(one) for key, one in value.items()}
    return value


def _forgiven(text: str) -> Any:
    reader = _Reader(text)
    try:
        values = _without_surrogates(reader.all())
    except (_Unreadable, RecursionError):
        return _MISSING
    if not values:
        return _MISSING
    return values[0] if len(values) == 1 else values


class _Unreadable(Exception):
    """More than one thing could be meant, or none."""


class _Reader:
    """Reads JSON and what people take for it, from left to right, each character once."""

    __slots__ = ("_at", "_end", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._end = len(text)

    def all(self) -> list[Any]:
        """Every value in a row; objects or lists only, since a lone word is no data. Text after the first ends it."""
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
            self._at = _matched_end(_SPACE, self._text, at)
        return self._text[self._at] if self._at < self._end else ""

    def _value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise _Unreadable
        char = self._peek()
        if char == "{":
            return self._object(depth + 1)
        if char == "[":
            return self._list(depth + 1)
        if char and char in _CLOSING:
            return self._string(char, is_name=False)
        return self._word()

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while (char := self._peek()) and char != "}":
            if char in ",;":
                self._at += 1
                continue
            if char == "]":
                return found  # the list around it ends, so this has ended
            name = self._name(char)
            if self._peek() != ":":
                raise _Unreadable
            self._at += 1
            if self._peek() in {"", ",", "}"}:
                continue  # a name without a value says nothing
            value = self._value(depth)
            # A name that is said twice keeps its first value when the second is empty.
            if value is not None or name not in found:
                found[name] = value
        self._at += 1
        return found

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while (char := self._peek()) and char != "]":
            if char in ",;":
                self._at += 1
                continue
            if char == "}":
                return found
            found.append(self._value(depth))
        self._at += 1
        return found

    def _name(self, char: str) -> str:
        if char in _CLOSING:
            return self._string(char, is_name=True)
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise _Unreadable
        self._at = found.end()
        # The quote before the name was forgotten, the one after it was not.
        if self._text.startswith('"', self._at):
            self._at += 1
            return found[0]
        # `name: value` without quotes; the pattern takes colons within a name and must give the last one back.
        if found[0].endswith(":"):
            self._at -= 1
            return found[0][:-1]
        return found[0]

    def _string(self, quote: str, *, is_name: bool) -> str:
        text, plain, closing = self._text, _PLAIN_BY_QUOTE[quote], _CLOSING[quote]
        parts: list[str] = []
        self._at += 1
        while True:
            stop = _matched_end(plain, text, self._at)
            parts.append(text[self._at : stop])
            self._at = stop
            if stop >= self._end:
                raise _Unreadable  # where it ends is anyone's guess
            if text[stop] == "\\":
                parts.append(self._escape())
            elif text[stop] in closing and self._closes(stop + 1, is_name=is_name):
                self._at = stop + 1
                return "".join(parts)
            else:
                parts.append(text[stop])
                self._at = stop + 1

    def _closes(self, at: int, *, is_name: bool) -> bool:
        """Whether a quote ends a string: what follows it could not follow otherwise."""
        if is_name:
            return _ENDS_NAME.match(self._text, at) is not None
        return _ENDS_VALUE.match(self._text, at) is not None or _ENDS_LINE.match(self._text, at) is not None

    def _escape(self) -> str:
        text, at = self._text, self._at + 1
        char = text[at : at + 1]
        self._at = at + 1
        if char == "u" and (found := _HEX4.match(text, at + 1)) is not None:
            self._at = found.end()
            return self._paired(int(found[0], 16))
        if char == "x" and (found := _HEX2.match(text, at + 1)) is not None:
            self._at = found.end()
            return chr(int(found[0], 16))
        return _ESCAPES.get(char, char)

    def _paired(self, code: int) -> str:
        """A character; of two halves one is made."""
        if 0xD800 <= code < 0xDC00 and self._text.startswith("\\u", self._at):
            found = _HEX4.match(self._text, self._at + 2)
            if found is not None and 0xDC00 <= (low := int(found[0], 16)) < 0xE000:
                self._at = found.end()
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        return chr(code)

    def _word(self) -> Any:
        """A word or a number, or a text whose first quote was forgotten."""
        unopened = _UNOPENED.match(self._text, self._at)
        if unopened is not None and self._closes(unopened.end(), is_name=False):
            self._at = unopened.end()
            return _number(unopened[1]) or unopened[1]
        found = _WORD.match(self._text, self._at)
        if found is None:
            raise _Unreadable
        self._at = found.end()
        word = found[0]
        if word in _WORDS:
            return _WORDS[word]
        value = _number(word)
        if value is None and not word[0].isdigit():
            raise _Unreadable  # a name of something that only a script would know
        return word if value is None else value


def _number(word: str) -> float | int | None:
    if _NUMBER.fullmatch(word) is None or len(word) > 40 or not math.isfinite(value := float(word)):
        return None
    return int(word) if word.lstrip("+-").isdigit() else value
