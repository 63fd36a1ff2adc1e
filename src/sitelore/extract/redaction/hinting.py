"""Where hints of secrets may stand: a first look by compiled code (`hints.c`), several times as fast as searching for them all.

Hints are regular expressions. The standard library's own parser reads each, it is written as a short program, and the compiled
code makes tables of all programs together. What the look finds is then matched by google-re2: the look may find too much (edges
of words within a hint are ignored, for one), never too little. There is none for hints that mean something else to RE2.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from re import _constants as sre  # what the parser's trees are made of has no public name
from re import _parser as parser  # nor has the parser
from typing import Any, NamedTuple

from sitelore.extract.native.library import library

Look = Callable[[bytes], tuple[list[int], int]]
"""Gives the places where hints may begin, in order, and up to where was looked; what is left has to be searched."""

_TAKE, _SPLIT, _JUMP, _EDGE = range(4)
_Code = list[tuple[int, int]]
"""Instructions: take a byte of a set, go on here and so far from here, go on so far from here, be at an edge of a word."""

_MOST_PLACES = 2048
_Places = ctypes.c_int64 * _MOST_PLACES
_MOST_STATES, _KINDS, _OPENINGS = 8192, 256, 2608
_MOST_COPIES, _MOST_CODE = 64, 32_000
_ALL = 2**256 - 1
# Python takes a POSIX class, and {,n}, for something else than RE2 does.
_READ_OTHERWISE = re.compile(r"\[:\^?\w+:\]|\{,")


class _Unknown(Exception):
    """Nothing is known of what a hint may begin with."""


class Tables(NamedTuple):
    """What the look goes by, as the compiled code has made it."""

    kind_of: bytes
    kinds: int
    states: bytes
    openings: bytes


def first_look(hints: Iterable[str]) -> Look | None:
    """A function that looks for all hints at once; None where it was not built, or not for such hints."""
    return looking(tables_of(hints))


def tables_of(hints: Iterable[str]) -> Tables | None:
    """What the look for all of these goes by; None where it was not built, or not for such hints."""
    if _MAKE is None:
        return None
    sets: dict[int, int] = {}
    try:
        code = _any_of([_code_of(hint, sets) for hint in hints])
    except (_Unknown, re.error, Warning, RecursionError, OverflowError):
        return None
    if len(code) > _MOST_CODE:
        return None
    program = (ctypes.c_int32 * (2 * len(code)))(*chain.from_iterable(code))
    members = b"".join(each.to_bytes(32, "little") for each in sets)
    kind_of, openings, sizes = (ctypes.c_uint8 * _KINDS)(), (ctypes.c_uint64 * _OPENINGS)(), (ctypes.c_int64 * 2)()
    states = (ctypes.c_uint16 * (_MOST_STATES * _KINDS))()
    if not _MAKE(program, len(code), members, len(sets), kind_of, states, openings, ctypes.sizeof(openings), sizes):
        return None
    count, kinds = sizes
    return Tables(bytes(kind_of), kinds, bytes((ctypes.c_uint16 * (count * kinds)).from_buffer(states)), bytes(openings))


def looking(tables: Tables | None) -> Look | None:
    """A function that looks for the hints that these tables were made of; None where nothing can."""
    if tables is None or _FIND is None:
        return None
    kind_of, kinds = (ctypes.c_uint8 * _KINDS).from_buffer_copy(tables.kind_of), tables.kinds
    states = (ctypes.c_uint16 * (len(tables.states) // 2)).from_buffer_copy(tables.states)
    openings = (ctypes.c_uint64 * _OPENINGS).from_buffer_copy(tables.openings)

    def look(data: bytes) -> tuple[list[int], int]:
        places, reached = _Places(), ctypes.c_int64()
        into = (places, _MOST_PLACES, ctypes.byref(reached))
        count = _FIND(data, len(data), kind_of, kinds, states, openings, *into)
        return places[:count], reached.value

    return look


def _code_of(hint: str, sets: dict[int, int]) -> _Code:
    if _READ_OTHERWISE.search(hint):
        raise _Unknown
    tree = parser.parse(hint.encode())
    return _sequence(tree, tree.state.flags, sets)


def _sequence(nodes: Iterable[tuple[Any, Any]], flags: int, sets: dict[int, int]) -> _Code:
    code: _Code = []
    for kind, value in nodes:
        code += _node(kind, value, flags, sets)
        if len(code) > _MOST_CODE:
            raise _Unknown
    return code


def _node(kind: Any, value: Any, flags: int, sets: dict[int, int]) -> _Code:
    if kind in _ONE_BYTE:
        members = _members(kind, value, flags)
        return [(_TAKE, sets.setdefault(members, len(sets)))]
    if kind is sre.SUBPATTERN:
        _, more, fewer, nodes = value
        return _sequence(nodes, (flags | more) & ~fewer, sets)
    if kind is sre.BRANCH:
        return _any_of([_sequence(nodes, flags, sets) for nodes in value[1]])
    if kind is sre.MAX_REPEAT or kind is sre.MIN_REPEAT:
        least, most, nodes = value
        return _repeated(_sequence(nodes, flags, sets), least, most)
    if kind is sre.AT:
        # What else has no width is let pass: it can only make the hint rarer.
        return [(_EDGE, 0)] if value is sre.AT_BOUNDARY else []
    raise _Unknown


def _any_of(codes: Sequence[_Code]) -> _Code:
    end = sum(len(code) + 2 for code in codes[:-1]) + len(codes[-1])
    joined: _Code = []
    for code in codes[:-1]:
        joined += [(_SPLIT, len(code) + 2), *code]
        joined.append((_JUMP, end - len(joined)))
    return joined + codes[-1]


def _repeated(code: _Code, least: int, most: int) -> _Code:
    if least > _MOST_COPIES:
        least, most = _MOST_COPIES, sre.MAXREPEAT
    again = [(_SPLIT, len(code) + 2), *code, (_JUMP, -len(code) - 1)]
    if most is sre.MAXREPEAT or most - least > _MOST_COPIES:
        return code * least + again
    return code * least + [(_SPLIT, len(code) + 1), *code] * (most - least)


def _members(kind: Any, value: Any, flags: int) -> int:
    """The bytes that one place of a hint takes, as bits."""
    if kind is sre.ANY:
        return _ALL if flags & re.DOTALL else _ALL ^ 1 << 10
    items = value if kind is sre.IN else [(sre.LITERAL, value)]
    is_negated = kind is sre.NOT_LITERAL
    found = 0
    for what, which in items:
        if what is sre.NEGATE:
            is_negated = True
        elif what is sre.LITERAL:
            found |= 1 << which
        elif what is sre.RANGE:
            found |= (2 << which[1]) - (1 << which[0])
        else:
            found |= _CATEGORIES[which]
    if flags & re.IGNORECASE:
        if found >> 128:  # RE2 folds Latin letters beyond ASCII as well
            return _ALL
        found |= (found & _UPPER) << 32 | (found & _LOWER) >> 32
    return _ALL ^ found if is_negated else found


def _bits(members: bytes) -> int:
    return sum(1 << byte for byte in members)


_DIGITS, _UPPER = _bits(b"0123456789"), _bits(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = _UPPER << 32
_WORD = _DIGITS | _UPPER | _LOWER | _bits(b"_")
_SPACE = _bits(b"\t\n\f\r ")  # RE2's: Python's has the vertical tab as well
_CATEGORIES = {
    sre.CATEGORY_DIGIT: _DIGITS,
    sre.CATEGORY_NOT_DIGIT: _ALL ^ _DIGITS,
    sre.CATEGORY_WORD: _WORD,
    sre.CATEGORY_NOT_WORD: _ALL ^ _WORD,
    sre.CATEGORY_SPACE: _SPACE,
    sre.CATEGORY_NOT_SPACE: _ALL ^ _SPACE,
}
_ONE_BYTE = frozenset({sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN})

_MAKE: Any = getattr(library(), "make_hints", None)
_FIND: Any = getattr(library(), "find_hints", None)
if _MAKE is not None and _FIND is not None:
    _MAKE.restype = _FIND.restype = ctypes.c_int64
    _MAKE.argtypes = [
        *(ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64, *[ctypes.c_void_p] * 3),
        *(ctypes.c_int64, ctypes.c_void_p),
    ]
    _FIND.argtypes = [
        *(ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p),
        *(ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p),
    ]
