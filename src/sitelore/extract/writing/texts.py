"""Looks at whole texts in UTF-8: by compiled code (`texts.c`), or in Python where that was not built."""

from __future__ import annotations

import ctypes
from itertools import chain
from operator import eq

import re2

from sitelore.extract.native.library import library

# White space that str.split knows, beyond what every second page has.
_RARE_SPACE = re2.compile(rb"[\r\v\f\x1c-\x1f\x{85}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}]")


class Sign:
    """What Markdown may hold that needs a second look. Plain numbers: of flags, to ask for one costs more than to find it."""

    ESCAPED = 1
    """An underscore behind a backslash."""
    RULED = 2
    """A broken line before one that may be a table's rule."""
    ENDS = 4
    """The start of an end tag."""
    OPENS, CLOSES = 8, 16
    """Tags of emphasis."""
    CODE = 32
    """The end tag of code."""
    BROKEN = 64
    """A line break as a tag."""
    DOUBLED = 128
    """Two kinds of markers."""
    JOINED = 256
    """A line that belongs to the one before it."""
    CROWDED = 512
    """A character of markers right within emphasis that is a tag."""
    REPEATED = 1024
    """A line that says what the line before it says, empty ones aside, or a block that says what the block before it does."""


_SIGNS = {
    Sign.ESCAPED: re2.compile(rb"\\_"),
    Sign.RULED: re2.compile(rb"  \n[ >]*[|:]"),
    Sign.ENDS: re2.compile(rb"</"),
    Sign.OPENS: re2.compile(rb"(?:^|[^\\])<(?:strong|em|s|del)>"),
    Sign.CLOSES: re2.compile(rb"(?:^|[^\\])</(?:strong|em|s|del)>"),
    Sign.CODE: re2.compile(rb"</code>"),
    Sign.BROKEN: re2.compile(rb"<br>"),
    Sign.DOUBLED: re2.compile(rb"\*\*__"),
    Sign.JOINED: re2.compile("\ufdd0".encode()),
    Sign.CROWDED: re2.compile(rb"(?:^|[^\\])<(?:strong|em|s|del)>[^<\n]*[*_~]"),
}
_PLANE = 2**16


class Within:
    """Finds the characters whose codes lie in some of many ranges. None of these may hold tab, line feed or return."""

    def __init__(self, ranges: tuple[tuple[int, int], ...], most: int) -> None:
        """`most`: as many different ones are told apart."""
        self._pattern = re2.compile("".join(["[", *(f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in ranges), "]"]).encode())
        self._most = most
        self._room = ctypes.c_int64 * most
        bits = 0
        for low, high in ranges:
            bits |= (1 << min(high + 1, _PLANE)) - (1 << min(low, _PLANE))
        beyond = sorted((max(low, _PLANE), high) for low, high in ranges if high >= _PLANE)
        self._plane = bits.to_bytes(_PLANE // 8, "little")
        self._ranges = (ctypes.c_int64 * (2 * len(beyond)))(*chain.from_iterable(beyond))
        self._told = (self._plane, self._ranges, len(beyond))

    def all_in(self, utf8: bytes) -> str:
        """Each of them that a text holds, once, in the order they are met."""
        if _ALL_WITHIN is None:
            return self.all_slowly(utf8)
        found = self._room()
        count = _ALL_WITHIN(utf8, len(utf8), *self._told, found, self._most)
        return "".join(map(chr, found[:count])) if count else ""

    def all_slowly(self, utf8: bytes) -> str:
        """The same in Python."""
        kinds: list[bytes] = []
        start = 0
        # Each round takes one kind of them out.
        while len(kinds) < self._most and (found := self._pattern.search(utf8, start)) is not None:
            start = found.start()
            kinds.append(found[0])
            utf8 = utf8.replace(found[0], b"")
        return b"".join(kinds).decode()


def even(utf8: bytes) -> bytes | None:
    """Text with single spaces, no empty lines and no spaces around line ends; None where it has rare white space."""
    if _EVEN is None:
        return even_slowly(utf8)
    out = bytearray(len(utf8) + 1)
    size = _EVEN(utf8, len(utf8), ctypes.byref(ctypes.c_char.from_buffer(out)))
    return None if size < 0 else bytes(memoryview(out)[:size])


def even_slowly(utf8: bytes) -> bytes | None:
    """The same in Python."""
    utf8 = utf8.replace(b"\xc2\xa0", b" ").replace(b"\xe2\x80\xaf", b" ").replace(b"\t", b" ")
    if _RARE_SPACE.search(utf8) is not None:
        return None
    # Most lines are even already; to see that, in bytes, costs a fifth of splitting and joining them.
    lines = [b" ".join(line.split()) if b"  " in line else line.strip(b" ") for line in utf8.split(b"\n") if line]
    return b"\n".join(filter(None, lines))


def signs_in(utf8: bytes) -> int:
    """Which signs are in a text, added up."""
    return int(_SIGNS_IN(utf8, len(utf8))) if _SIGNS_IN is not None else signs_slowly(utf8)


def signs_slowly(utf8: bytes) -> int:
    """The same in Python."""
    found = sum(sign for sign, pattern in _SIGNS.items() if pattern.search(utf8) is not None)
    return found | Sign.REPEATED if _repeats(utf8) else found


def _repeats(utf8: bytes) -> bool:
    blocks = utf8.split(b"\n\n")
    lines = list(filter(None, utf8.split(b"\n")))
    return any(map(eq, lines, lines[1:])) or any(map(eq, blocks, blocks[1:]))


def spelled(text: str) -> str:
    """Markdown with markers in place of the tags `strong` and `em`, on lines where whoever looks closer would do the same."""
    if _SPELL is None:
        return text
    try:
        utf8 = text.encode()
    except UnicodeEncodeError:
        return text
    out = bytearray(len(utf8) + 1)
    size = _SPELL(utf8, len(utf8), ctypes.byref(ctypes.c_char.from_buffer(out)))
    return str(memoryview(out)[:size], "utf-8")


_ALL_WITHIN = _EVEN = _SIGNS_IN = _SPELL = None
if (_found := library()) is not None and hasattr(_found, "spell"):
    _ALL_WITHIN, _EVEN, _SPELL = _found.all_within, _found.even, _found.spell
    _SIGNS_IN = _found.signs_in
    for _function in (_ALL_WITHIN, _EVEN, _SPELL, _SIGNS_IN):
        _function.restype = ctypes.c_int64
    _ALL_WITHIN.argtypes = [
        ctypes.c_char_p,
        ctypes.c_int64,
        *[ctypes.c_void_p] * 2,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
    ]
    _EVEN.argtypes = _SPELL.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p]
    _SIGNS_IN.argtypes = [ctypes.c_char_p, ctypes.c_int64]
