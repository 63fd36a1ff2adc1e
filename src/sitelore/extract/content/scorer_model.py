"""The trained model of the block scorer: an ensemble of oblivious decision trees and the weights of a small network.

Training (`bench/train_content.py`) writes numpy's format, a zip of arrays. It is read here without numpy, which would take more
memory than reading a page.
"""

from __future__ import annotations

import ctypes
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

from sitelore.extract.content.vocabulary import FEATURE_NAMES

UNDERRATED = 0.4
"""Log odds that training adds to every block by weighting page furniture down; without them, scores are probabilities."""
NETWORK_TAGS = 64
"""Rows of the network's table for a feature that is a tag number."""

_PACKAGED = Path(__file__).with_name("content_trees.npz")
_HEAD = struct.Struct("<8sH")
_MAGIC = b"\x93NUMPY\x01\x00"
_TYPECODES = {"<i2": "h", "<i8": "q", "<f2": "e", "<f4": "f", "<f8": "d"}
_MAX_RANKS, _MAX_LEVELS = 127, 7  # ranks and leaf indexes are signed bytes
_MAX_HIDDEN = 128  # NETWORK_HIDDEN_MAX


@dataclass(frozen=True, slots=True)
class Table:
    """An array of numbers, row by row."""

    numbers: array[int] | array[float]
    shape: tuple[int, ...]


class TreeEnsemble(ctypes.Structure):
    """`TreeEnsemble` in `sitelore_native.h`."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("scales", "trees", "levels")),
        *(
            (name, ctypes.c_void_p)
            for name in ("scale_feature", "scale_begin", "bounds", "question_scale", "question_rank", "leaves")
        ),
    )


class Network(ctypes.Structure):
    """`Network` in `sitelore_native.h`."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("features", "hidden", "tag_features")),
        *(
            (name, ctypes.c_void_p)
            for name in ("normalisation", "weights", "tag_feature", "tag_weights", "hidden_bias", "output")
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A trained model, ready for the compiled scorer."""

    bias: float
    trees: TreeEnsemble
    network: Network
    arrays: tuple[array[Any], ...]
    """The numbers that `trees` and `network` point to."""

    def probabilities(self, log_odds: Iterable[float]) -> list[float]:
        """What the trees and the network add up to, as probabilities."""
        bias = self.bias
        return [1 / (1 + exp(-(each + bias - UNDERRATED))) for each in log_odds]


@lru_cache(maxsize=8)
def load_model(path: str = "") -> Model:
    """The model in a file that training wrote; an empty path means the packaged one."""
    with zipfile.ZipFile(path or _PACKAGED) as stored:
        names, tables = _read(stored)
    if names != FEATURE_NAMES:
        raise ValueError("the trained model has other features than this version computes; train it again")
    trees, tree_arrays = _tree_ensemble(tables["feature"], tables["bound"], tables["value"])
    network, network_arrays = _network(tables)
    return Model(tables["bias"].numbers[0], trees, network, (*tree_arrays, *network_arrays))


def _read(stored: zipfile.ZipFile) -> tuple[tuple[str, ...], dict[str, Table]]:
    """The names of the features, and every table by its name."""
    integers, floats = ("feature", "tagged"), ("bound", "value", "even", "weight", "by_tag", "first", "last")
    typecodes = {**dict.fromkeys(integers, "q"), **dict.fromkeys(floats, "f"), "bias": "d"}
    tables = {}
    for name, typecode in typecodes.items():
        kind, shape, data = _array_in(stored.read(f"{name}.npy"))
        tables[name] = Table(array(typecode, struct.unpack(f"<{prod(shape)}{_TYPECODES[kind]}", data)), shape)
    return tuple(_array_in(stored.read("names.npy"))[2].decode("utf-32-le").split()), tables


def _array_in(data: bytes) -> tuple[str, tuple[int, ...], bytes]:
    """An array's element type, its shape, and its numbers row by row."""
    magic, size = _HEAD.unpack_from(data)
    end = _HEAD.size + size
    header: dict[str, Any] = literal_eval(data[_HEAD.size : end].decode("latin-1")) if magic == _MAGIC else {}
    if header.get("fortran_order", True):
        raise ValueError("the trained model is not stored in the format that this version reads; train it again")
    return header["descr"], header["shape"], data[end:]


def _tree_ensemble(feature: Table, bound: Table, value: Table) -> tuple[TreeEnsemble, tuple[array[Any], ...]]:
    """Trees with their questions sorted by feature: a scale is the bounds of one feature, a question a position on a scale.

    A feature with more bounds than a signed byte counts has several scales.
    """
    trees, levels = feature.shape
    is_sound = levels <= _MAX_LEVELS and bound.shape == feature.shape and value.shape == (trees, 2**levels)
    if not is_sound or not all(0 <= number < len(FEATURE_NAMES) for number in feature.numbers):
        raise ValueError(f"the trained trees are not sound, or ask more than {_MAX_LEVELS} questions each; train them again")
    questions = list(zip(feature.numbers, bound.numbers, strict=True))
    place_of: dict[tuple[float, float], tuple[int, int]] = {}
    features, begins, bounds = array("q"), array("q"), array("f")
    for about, same_feature in groupby(sorted(set(questions)), key=lambda question: question[0]):
        for rank, question in enumerate(same_feature):
            if rank % _MAX_RANKS == 0:
                features.append(int(about))
                begins.append(len(bounds))
            place_of[question] = (len(begins) - 1, rank % _MAX_RANKS)
            bounds.append(question[1])
    begins.append(len(bounds))
    places = [place_of[question] for question in questions]
    scale, rank_of = array("q", [each for each, _ in places]), array("b", [each for _, each in places])
    arrays = (features, begins, bounds, scale, rank_of, value.numbers)
    return TreeEnsemble(len(features), trees, levels, *map(_address, arrays)), arrays


def _network(tables: dict[str, Table]) -> tuple[Network, tuple[array[Any], ...]]:
    features, hidden = tables["weight"].shape
    (tag_features,) = tables["tagged"].shape
    shapes = {
        "even": (len(FEATURE_NAMES), 2),
        "weight": (len(FEATURE_NAMES), hidden),
        "by_tag": (tag_features, NETWORK_TAGS, hidden),
        "first": (hidden,),
        "last": (hidden + 2,),
    }
    is_sound = hidden <= _MAX_HIDDEN and all(tables[name].shape == shape for name, shape in shapes.items())
    if not is_sound or not all(0 <= number < features for number in tables["tagged"].numbers):
        raise ValueError(f"the trained network is not sound, or has more than {_MAX_HIDDEN} hidden units; train it again")
    arrays = tuple(tables[name].numbers for name in ("even", "weight", "tagged", "by_tag", "first", "last"))
    return Network(features, hidden, tag_features, *map(_address, arrays)), arrays


def _address(numbers: array[Any]) -> int:
    return numbers.buffer_info()[0]
