"""Searches whole texts: invisible characters, uneven white space, and Markdown that needs a second pass."""

from __future__ import annotations

from operator import eq

import re2


class Sign:
    """Markdown that needs a second pass, as bits. Plain integers: testing an enum flag costs more than finding it."""

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


class Within:
    """Finds the characters whose codes lie in some of many ranges."""

    def __init__(self, ranges: tuple[tuple[int, int], ...], most: int) -> None:
        """`most`: the number of different ones that are told apart."""
        self._pattern = re2.compile("".join(["[", *(f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in ranges), "]"]).encode())
        self._most = most

    def all_in(self, utf8: bytes) -> str:
        """Each of them that a text holds, once, in order of appearance."""
        kinds: list[bytes] = []
        start = 0
        # Each round removes one kind of them.
        while len(kinds) < self._most and (found := self._pattern.search(utf8, start)) is not None:
            start = found.start()
            kinds.append(found[0])
            utf8 = utf8.replace(found[0], b"")
        return b"".join(kinds).decode()


def even(text: str) -> str:
    """Text with single spaces, no empty lines and no spaces around line ends."""
    return "\n".join(filter(None, [" ".join(line.split()) for line in text.split("\n")]))


def signs_in(utf8: bytes) -> int:
    """Which signs are in a text, added up."""
    found = sum(sign for sign, pattern in _SIGNS.items() if pattern.search(utf8) is not None)
    return found | Sign.REPEATED if _repeats(utf8) else found


def _repeats(utf8: bytes) -> bool:
    blocks = utf8.split(b"\n\n")
    lines = list(filter(None, utf8.split(b"\n")))
    return any(map(eq, lines, lines[1:])) or any(map(eq, blocks, blocks[1:]))
