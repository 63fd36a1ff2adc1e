"""The trained scorer as its file has it: a few hundred small decision trees and the weights of a network.

Training (`bench/train_content.py`) writes numpy's own format, a zip of arrays. It is read here without numpy, which takes more
memory than all pages of a site: where the scorer is compiled, nothing else would need it.
"""

from __future__ import annotations

import struct
import zipfile
from array import array
from ast import literal_eval
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import exp, prod
from pathlib import Path
from typing import Any

UNDERRATED = 0.4  # training counts frame for less than it is; this much, in log odds, makes scores shares again
_PACKAGED = Path(__file__).with_name("content_trees.npz")
_HEAD = struct.Struct("<8sH")
_MAGIC = b"\x93NUMPY\x01\x00"
_READ_AS = {"<i2": "h", "<i8": "q", "<f2": "e", "<f4": "f", "<f8": "d"}
_MOST_RANKS, _MOST_LEVELS = 127, 7  # what a signed byte counts to


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers in rows, one after the other in memory, where the compiled code finds them."""

    numbers: array[int] | array[float]
    shape: tuple[int, ...]

    @property
    def place(self) -> int:
        """The address of the first number. The table has to outlive whoever uses it."""
        return self.numbers.buffer_info()[0]


@dataclass(frozen=True, slots=True)
class NetworkTables:
    """The weights of the network; `network` says what each of them is."""

    even: Table
    weight: Table
    tagged: Table
    by_tag: Table
    first: Table
    last: Table


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Trained trees: per tree and level a feature and a bound, per tree and leaf a value."""

    feature: Table
    bound: Table
    value: Table
    bias: float
    names: tuple[str, ...]
    network: NetworkTables
    """Asked beside them; training scaled both so that their sum is the score."""

    def shares(self, said: Iterable[float]) -> list[float]:
        """What is said of each block, as a share between 0 and 1. By one `exp` for all: numpy's own differs in a bit."""
        bias = self.bias
        return [1 / (1 + exp(-(each + bias - UNDERRATED))) for each in said]


@lru_cache(maxsize=8)
def trees_from(path: str = "") -> Trees:
    """Trees from a file that training wrote; an empty path means those of the package."""
    with zipfile.ZipFile(path or _PACKAGED) as stored:

        def told(name: str) -> tuple[str, tuple[int, ...], bytes]:
            return _array_in(stored.read(f"{name}.npy"))

        def table(name: str, typecode: str) -> Table:
            kind, shape, data = told(name)
            return Table(array(typecode, struct.unpack(f"<{prod(shape)}{_READ_AS[kind]}", data)), shape)

        return Trees(
            table("feature", "q"),
            table("bound", "f"),
            table("value", "f"),
            table("bias", "d").numbers[0],
            tuple(told("names")[2].decode("utf-32-le").split()),
            NetworkTables(
                table("even", "f"),
                table("weight", "f"),
                table("tagged", "q"),
                table("by_tag", "f"),
                table("first", "f"),
                table("last", "f"),
            ),
        )


def _array_in(data: bytes) -> tuple[str, tuple[int, ...], bytes]:
    """The kind of an array's numbers, its shape, and the numbers themselves, row by row."""
    magic, size = _HEAD.unpack_from(data)
    end = _HEAD.size + size
    told: dict[str, Any] = literal_eval(data[_HEAD.size : end].decode("latin-1")) if magic == _MAGIC else {}
    if told.get("fortran_order", True):
        raise ValueError("the trained scorer is not stored as this version reads it; train it again")
    return told["descr"], told["shape"], data[end:]


@dataclass(frozen=True, slots=True)
class Questions:
    """What trees ask, as `ask` in `walk.c` is told it."""

    told: array[int]
    """Sizes, then where the parts stand."""
    parts: tuple[array[int] | array[float], ...]


def questions_of(feature: Table, bound: Table, value: Table) -> Questions:
    """Sorted by what they are about: a scale is the bounds that are asked of one feature, a question a place on a scale.

    A feature with more bounds than a byte can count has several scales.
    """
    trees, levels = feature.shape
    if levels > _MOST_LEVELS:
        raise ValueError(f"trees may ask {_MOST_LEVELS} questions; train smaller ones")
    asked = list(zip(feature.numbers, bound.numbers, strict=True))
    place_of: dict[tuple[float, float], tuple[int, int]] = {}
    features, begins, bounds = array("q"), array("q"), array("f")
    for about, questions in groupby(sorted(set(asked)), key=lambda question: question[0]):
        for rank, question in enumerate(questions):
            if rank % _MOST_RANKS == 0:
                features.append(int(about))
                begins.append(len(bounds))
            place_of[question] = (len(begins) - 1, rank % _MOST_RANKS)
            bounds.append(question[1])
    begins.append(len(bounds))
    places = [place_of[question] for question in asked]
    scale, place = array("q", [each for each, _ in places]), array("b", [each for _, each in places])
    parts = (features, begins, bounds, scale, place, value.numbers)
    told = array("q", [len(features), trees, levels, *(part.buffer_info()[0] for part in parts)])
    return Questions(told, parts)
