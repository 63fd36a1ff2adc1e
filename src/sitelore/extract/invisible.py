"""Characters that show nothing: zero-width, bidi and tag characters, variation selectors 17-256, controls."""

from __future__ import annotations

import re

import re2

# Text can be smuggled past a reader in all of these.
_RANGES = (
    (0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
INVISIBLE = frozenset(chr(code) for low, high in _RANGES for code in range(low, high + 1))
_JOINERS = frozenset("\u200c\u200d")
_JOINER = re.compile("[\u200c\u200d]")
_ALL_BUT_JOINERS = dict.fromkeys(map(ord, INVISIBLE - _JOINERS))
_PATTERN = re2.compile("".join(["[", *(f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in _RANGES), "]"]).encode())
_MAX_KINDS = 16


def remove_invisible(text: str) -> str:
    """Remove the invisible characters of a text."""
    return (
        text
        if text.isascii() and text.isprintable()
        else remove_characters(text, find_invisible(text.encode("utf-8", "replace")))
    )


def find_invisible(utf8: bytes) -> frozenset[str]:
    """Return the invisible characters that a UTF-8 text contains; all of them when it contains many different ones."""
    kinds: list[bytes] = []
    start = 0
    while (match := _PATTERN.search(utf8, start)) is not None:
        if len(kinds) > _MAX_KINDS:
            return INVISIBLE
        start = match.start()
        kinds.append(match[0])
        utf8 = utf8.replace(match[0], b"")
    return frozenset(b"".join(kinds).decode())


def remove_characters(text: str, chars: frozenset[str]) -> str:
    """Remove these characters. Joiners that shape Persian, Indic scripts or emoji stay: those with no ASCII neighbour."""
    if len(chars) > _MAX_KINDS:
        text = text.translate(_ALL_BUT_JOINERS)
    else:
        for char in chars - _JOINERS:
            text = text.replace(char, "")
    return _JOINER.sub(_keep_shaping_joiner, text) if chars & _JOINERS else text


def _keep_shaping_joiner(match: re.Match[str]) -> str:
    text, at = match.string, match.start()
    shapes = 0 < at < len(text) - 1 and not text[at - 1].isascii() and not text[at + 1].isascii()
    return match[0] if shapes else ""
