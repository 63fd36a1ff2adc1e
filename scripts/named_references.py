"""Writes `extract/native/parsing/named_references.h`: the HTML standard's named character references, as Python has them."""

from __future__ import annotations

import unicodedata
from html.entities import html5
from pathlib import Path

_HEADER = Path(__file__).parents[1] / "src/sitelore/extract/native/parsing/named_references.h"
_WIDTH = 140
_MOST_BYTES = 6


def _spelled(meant: str) -> str:
    """As C spells it: what nobody could see, or would take for the end of the string, by its bytes."""
    return "".join(
        char
        if unicodedata.category(char)[0] in "LNPS" and char not in '"\\?'
        else "".join(f"\\{byte:03o}" for byte in char.encode())
        for char in meant
    )


def _lines(pieces: list[str], before: str, after: str) -> list[str]:
    lines, line = [], before
    for piece in pieces:
        if len(line) + len(piece) + len(after) > _WIDTH:
            lines.append(line + after)
            line = before
        line += piece
    return [*lines, line + after]


def _header() -> str:
    entries, starts, size = [], [], 0
    for name in sorted(html5):
        meant = html5[name]
        size_bytes = len(meant.encode())
        assert " " not in meant, name  # it ends the name
        assert size_bytes <= _MOST_BYTES and 4 * size_bytes <= 5 * (len(name) + 1), name  # noqa: PT018 the room `references.c` has
        entries.append(f"{name} {_spelled(meant)}\\0")
        starts.append(f"{size}, ")
        size += len(f"{name} {meant}\0".encode())
    assert size < 2**16
    return "\n".join(
        [
            "/* Written by scripts/named_references.py. By name, with its semicolon where it has one: what each means. */",
            "static const char named_references[] =",
            *_lines(entries, '    "', '"'),
            "    ;",
            "/* Where each begins. */",
            "static const uint16_t reference_starts[] = {",
            *(line.rstrip() for line in _lines(starts, "    ", "")),
            "};",
            "",
        ]
    )


if __name__ == "__main__":
    _HEADER.write_text(_header())
