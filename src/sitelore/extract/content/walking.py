"""The compiled part of choosing content (`walk.c`), where it was built. Without it everything works, at more cost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.tag_marks import INLINE, LEAST_WITHIN, MARK_OF_WORD, TAG_NUMBER, VOID
from sitelore.extract.native.library import address, library

_BLOCK_ROWS, _ELEMENT_ROWS = 17, 8
_INLINE, _VOID = 1, 2
_MOST_RANKS, _MOST_LEVELS = 127, 7  # what a signed byte counts to


@dataclass(frozen=True, slots=True)
class Walked:
    """What one walk over a page finds, rows as `walk.c` names them."""

    text: bytes
    blocks: NDArray[np.int64]
    elements: NDArray[np.int64]
    opened: int


Walk = Callable[[bytes], Walked | None]


def compiled_walk(kinds: bytes, *, link: int, image: int, line_break: int, bold: Iterable[int]) -> Walk | None:
    """A function that cuts a page into blocks, knowing all tags and words; None where it was not built."""
    found = library()
    if found is None:
        return None
    found.walk.restype = ctypes.c_int64
    found.walk.argtypes = [ctypes.c_char_p, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 4]
    found.begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p, *[ctypes.c_int64] * 4]
    found.learn_tag.argtypes = found.learn_word.argtypes = [ctypes.c_char_p, *[ctypes.c_int64] * 3]
    bold_numbers = bytearray(256)
    for number in bold:
        bold_numbers[number] = 1
    found.begin(kinds, bytes(bold_numbers), link, image, line_break, LEAST_WITHIN)
    for name in INLINE | VOID | set(TAG_NUMBER):
        found.learn_tag(name, len(name), TAG_NUMBER.get(name, 0), (name in INLINE) * _INLINE + (name in VOID) * _VOID)
    for word, marks in MARK_OF_WORD.items():
        found.learn_word(word, len(word), marks, int(len(word) >= LEAST_WITHIN))
    return lambda html: _walk(found, html)


def _walk(found: ctypes.CDLL, html: bytes) -> Walked | None:
    room = html.count(b"<") + 1
    text = np.empty(len(html), np.uint8)
    blocks = np.empty((_BLOCK_ROWS, room), np.int64)
    elements = np.empty((_ELEMENT_ROWS, room), np.int64)
    sizes = np.zeros(4, np.int64)
    into = (text.ctypes.data, blocks.ctypes.data, elements.ctypes.data, sizes.ctypes.data)
    if found.walk(html, len(html), room, *into) != 0:
        return None
    block_count, element_count, opened, text_bytes = sizes.tolist()
    return Walked(text[:text_bytes].tobytes(), blocks[:, :block_count].copy(), elements[:, :element_count].copy(), opened)


@dataclass(frozen=True, slots=True)
class Questions:
    """What trees ask, as `ask` in `walk.c` is told it."""

    told: NDArray[np.int64]
    """Sizes, then where the parts stand."""
    parts: tuple[NDArray[np.generic], ...]


def questions_of(feature: NDArray[np.int64], bound: NDArray[np.float32], value: NDArray[np.float32]) -> Questions:
    """Sorted by what they are about: a scale is the bounds that are asked of one feature, a question a place on a scale.

    A feature with more bounds than a byte can count has several scales.
    """
    if feature.shape[1] > _MOST_LEVELS:
        raise ValueError(f"trees may ask {_MOST_LEVELS} questions; train smaller ones")
    order = np.lexsort((bound.ravel(), feature.ravel()))
    features, bounds = feature.ravel()[order], bound.ravel()[order]
    begins_feature = np.diff(features, prepend=-1) != 0
    is_new = begins_feature | np.append(True, bounds[1:] != bounds[:-1])
    number = np.cumsum(is_new) - 1
    features, bounds, first = features[is_new], bounds[is_new], np.flatnonzero(begins_feature[is_new])
    ends = np.append(first, len(bounds))
    begins = np.flatnonzero((np.arange(len(bounds)) - np.repeat(first, np.diff(ends))) % _MOST_RANKS == 0)
    scale, place = np.empty(feature.shape, np.int64), np.empty(feature.shape, np.int8)
    on_scale = np.searchsorted(begins, number, side="right") - 1
    scale.ravel()[order], place.ravel()[order] = on_scale, number - begins[on_scale]
    parts = (features[begins], np.append(begins, len(bounds)), bounds, scale, place, value)
    return Questions(np.array([len(begins), *feature.shape, *map(address, parts)], np.int64), parts)


def ask_trees(columns: NDArray[np.float32], questions: Questions) -> NDArray[np.float64] | None:
    """For each column the sum of what the trees say; None where it was not built."""
    found = library()
    if found is None:
        return None
    count, told = columns.shape[1], questions.told
    found.ask_room.restype = ctypes.c_int64
    place, whole = ctypes.c_void_p, ctypes.c_int64
    ranks = np.empty(found.ask_room(place(address(told)), whole(count)), np.int8)
    sums = np.zeros(count)
    found.ask(place(address(columns)), whole(count), *[place(address(array)) for array in (told, sums, ranks)])
    return sums
