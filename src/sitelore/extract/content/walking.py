"""The compiled code step by step, each step's result as arrays of numpy: for training, and for whoever looks into a choice.

A crawl goes all the way in one (`choosing`), and leaves the tables where they are.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.describing import NAMES, TOLD
from sitelore.extract.content.teaching import taught
from sitelore.extract.content.trees import Questions

_BLOCK_ROWS, _ELEMENT_ROWS = 17, 8


@dataclass(frozen=True, slots=True)
class Walked:
    """What one walk over a page finds, rows as `walk.c` names them."""

    text: bytes
    blocks: NDArray[np.int64]
    elements: NDArray[np.int64]
    opened: int


@dataclass(frozen=True, slots=True)
class Described:
    """The features of a page's blocks, a row a feature, and what choosing needs besides them."""

    matrix: NDArray[np.float32]
    heading: NDArray[np.int64]
    around: NDArray[np.int64]
    marks: NDArray[np.int64]
    copies: NDArray[np.int64]


def walk(html: bytes) -> Walked | None:
    """Cut a page into blocks; None where that was not compiled, or where it has to be done the plain way."""
    found = _compiled()
    if found is None:
        return None
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


def describe(walked: Walked) -> Described | None:
    """All features in one pass; None where there is nothing to describe, or no memory to do it in."""
    found = _compiled()
    count, rows = walked.blocks.shape[1], walked.elements.shape[1]
    if found is None or count == 0:
        return None
    matrix = np.empty((len(NAMES), count), np.float32)
    facts = np.empty((4, count), np.int64)
    given = (walked.blocks.ctypes.data, walked.elements.ctypes.data, walked.text)
    if found.describe(count, rows, *given, TOLD.buffer_info()[0], matrix.ctypes.data, facts.ctypes.data) != len(NAMES):
        return None
    return Described(matrix, *facts)


def ask_trees(columns: NDArray[np.float32], questions: Questions) -> NDArray[np.float64] | None:
    """For each column the sum of what the trees say; None where it was not built."""
    found = _compiled()
    if found is None:
        return None
    count, told = columns.shape[1], questions.told.buffer_info()[0]
    ranks = np.empty(found.ask_room(told, count), np.int8)
    sums = np.zeros(count)
    found.ask(columns.ctypes.data, count, told, sums.ctypes.data, ranks.ctypes.data)
    return sums


@lru_cache(maxsize=1)
def _compiled() -> ctypes.CDLL | None:
    found = taught()
    if found is not None:
        whole, place = ctypes.c_int64, ctypes.c_void_p
        found.walk.restype = found.describe.restype = found.ask_room.restype = whole
        found.walk.argtypes = [ctypes.c_char_p, *[whole] * 2, *[place] * 4]
        found.describe.argtypes = [*[whole] * 2, *[place] * 2, ctypes.c_char_p, *[place] * 3]
        found.ask_room.argtypes = [place, whole]
        found.ask.restype, found.ask.argtypes = None, [place, whole, *[place] * 3]
    return found
