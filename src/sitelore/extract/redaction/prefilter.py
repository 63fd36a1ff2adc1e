"""Finds where hints of secrets may begin, with one automaton for all hints (`native/secret_prefilter.c`).

Hints are regular expressions. The standard library's parser reads each, it is compiled into a short program, and the native
code builds one DFA from all programs. google-re2 confirms every match: the prefilter may report too many places (it ignores
word edges inside a hint, for one), never too few. There is no prefilter for hints that RE2 reads differently from Python.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from re import _constants as sre  # it has no public name
from re import _parser as parser  # it has no public name
from typing import Any, NamedTuple

from sitelore.extract.native.library import library

_NATIVE = library()
Prefilter = Callable[[bytes], tuple[list[int], int]]
"""Returns the offsets where hints may begin, ascending, and the offset up to which the text was searched."""

_TAKE, _SPLIT, _JUMP, _EDGE = range(4)
_Code = list[tuple[int, int]]
"""Instructions: consume a byte of a set, continue here and at a distance, continue at a distance, be at a word edge."""

_MAX_OFFSETS = 2048
_Offsets = ctypes.c_int64 * _MAX_OFFSETS
_MAX_STATES, _CLASSES, _OPENINGS = 8192, 256, 2608
_MAX_COPIES, _MAX_CODE = 64, 32_000
_ALL = 2**256 - 1
# Python reads a POSIX class, and {,n}, differently from RE2.
_DIFFERENT_IN_RE2 = re.compile(r"\[:\^?\w+:\]|\{,")


class _Unsupported(Exception):
    """A hint that the prefilter cannot represent."""


class Tables(NamedTuple):
    """The tables of the automaton."""

    byte_class: bytes
    classes: int
    states: bytes
    openings: bytes


def prefilter_for(hints: Iterable[str]) -> Prefilter | None:
    """A function that searches for all hints at once; None for hints that it cannot represent."""
    tables = build_tables(hints)
    return prefilter_from(tables) if tables is not None else None


def build_tables(hints: Iterable[str]) -> Tables | None:
    """The tables for these hints; None for hints that they cannot represent."""
    sets: dict[int, int] = {}
    try:
        code = _any_of([_code_of(hint, sets) for hint in hints])
    except (_Unsupported, re.error, Warning, RecursionError, OverflowError):
        return None
    if len(code) > _MAX_CODE:
        return None
    program = (ctypes.c_int32 * (2 * len(code)))(*chain.from_iterable(code))
    members = b"".join(each.to_bytes(32, "little") for each in sets)
    byte_class, openings, sizes = (ctypes.c_uint8 * _CLASSES)(), (ctypes.c_uint64 * _OPENINGS)(), (ctypes.c_int64 * 2)()
    states = (ctypes.c_uint16 * (_MAX_STATES * _CLASSES))()
    if not _NATIVE.prefilter_build(
        program, len(code), members, len(sets), byte_class, states, openings, ctypes.sizeof(openings), sizes
    ):
        return None
    count, classes = sizes
    return Tables(bytes(byte_class), classes, bytes((ctypes.c_uint16 * (count * classes)).from_buffer(states)), bytes(openings))


def prefilter_from(tables: Tables) -> Prefilter:
    """A function that searches for the hints from which these tables were built."""
    byte_class, classes = (ctypes.c_uint8 * _CLASSES).from_buffer_copy(tables.byte_class), tables.classes
    states = (ctypes.c_uint16 * (len(tables.states) // 2)).from_buffer_copy(tables.states)
    openings = (ctypes.c_uint64 * _OPENINGS).from_buffer_copy(tables.openings)

    def find(data: bytes) -> tuple[list[int], int]:
        offsets, reached = _Offsets(), ctypes.c_int64()
        into = (offsets, _MAX_OFFSETS, ctypes.byref(reached))
        count = _NATIVE.prefilter_find(data, len(data), byte_class, classes, states, openings, *into)
        return offsets[:count], reached.value

    return find


def _code_of(hint: str, sets: dict[int, int]) -> _Code:
    if _DIFFERENT_IN_RE2.search(hint):
        raise _Unsupported
    tree = parser.parse(hint.encode())
    return _sequence(tree, tree.state.flags, sets)


def _sequence(nodes: Iterable[tuple[Any, Any]], flags: int, sets: dict[int, int]) -> _Code:
    code: _Code = []
    for kind, value in nodes:
        code += _node(kind, value, flags, sets)
        if len(code) > _MAX_CODE:
            raise _Unsupported
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
        # Other assertions are ignored: they can only make the hint rarer.
        return [(_EDGE, 0)] if value is sre.AT_BOUNDARY else []
    raise _Unsupported


def _any_of(codes: Sequence[_Code]) -> _Code:
    end = sum(len(code) + 2 for code in codes[:-1]) + len(codes[-1])
    joined: _Code = []
    for code in codes[:-1]:
        joined += [(_SPLIT, len(code) + 2), *code]
        joined.append((_JUMP, end - len(joined)))
    return joined + codes[-1]


def _repeated(code: _Code, least: int, most: int) -> _Code:
    if least > _MAX_COPIES:
        least, most = _MAX_COPIES, sre.MAXREPEAT
    again = [(_SPLIT, len(code) + 2), *code, (_JUMP, -len(code) - 1)]
    if most is sre.MAXREPEAT or most - least > _MAX_COPIES:
        return code * least + again
    return code * least + [(_SPLIT, len(code) + 1), *code] * (most - least)


def _members(kind: Any, value: Any, flags: int) -> int:
    """The bytes that one position of a hint matches, as bits."""
    if kind is sre.ANY:
        return _ALL if flags & re.DOTALL else _ALL ^ 1 << 10
    items = value if kind is sre.IN else [(sre.LITERAL, value)]
    is_negated = kind is sre.NOT_LITERAL
    members = 0
    for item, value_of_item in items:
        if item is sre.NEGATE:
            is_negated = True
        elif item is sre.LITERAL:
            members |= 1 << value_of_item
        elif item is sre.RANGE:
            members |= (2 << value_of_item[1]) - (1 << value_of_item[0])
        else:
            members |= _CATEGORIES[value_of_item]
    if flags & re.IGNORECASE:
        if members >> 128:  # RE2 folds Latin letters beyond ASCII as well
            return _ALL
        members |= (members & _UPPER) << 32 | (members & _LOWER) >> 32
    return _ALL ^ members if is_negated else members


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
