"""Splits a page into blocks of text and scores how likely each is content, by compiled code (`native/scoring`).

A block is text between two boundaries of the flow, with at least one word. Its features describe its text, its neighbours, the
elements around it and the page; a trained model turns them into a probability. The model is sets of oblivious decision trees
and a small network. Training (`bench/train_content.py`) writes numpy's format, a zip of arrays; it is read here without numpy,
which would take more memory than reading a page.
"""

from __future__ import annotations

import ctypes
import struct
import zipfile
from array import array
from ast import literal_eval
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import exp, prod
from pathlib import Path
from typing import Any

from sitelore.extract.content import vocabulary as known
from sitelore.extract.content.vocabulary import FEATURE_NAMES
from sitelore.extract.native.library import library

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

_NATIVE = library()
_OK, _NO_BLOCKS, _TOO_MANY_BLOCKS = 0, 1, 2
_OTHER_FEATURES = -2
_INLINE, _VOID = 1, 2
_NUMBER_BYTES, _FLOAT_BYTES = 8, 4
# The fields of `Block` and `Element` in sitelore_native.h, in their order.
_BLOCK_FIELDS = (
    "begin", "end", "words", "chars", "linked", "bold", "links", "images", "breaks", "element", "heading", "landmarks",
    "marks", "copy", "copies", "digits", "stops", "commas", "bars", "signs", "currency",
)  # fmt: skip
_ELEMENT_FIELDS = ("parent", "level", "first", "last", "tag", "marks", "signature", "order")
_ELEMENT_LISTS = ("parent", "first", "last", "tag", "marks", "signature")


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The blocks of a page in document order, one sequence a column."""

    begin: Sequence[int]
    end: Sequence[int]
    """Where each block is in the page's text, in bytes."""
    words: list[int]
    linked: list[int]
    """Words inside links."""
    element: list[int]
    """Row of the innermost flow-breaking element around the block."""

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, slots=True)
class ElementTable:
    """The elements of a page that break the flow of text, in document order, one sequence a column."""

    parent: list[int]
    """Row of the nearest such element around it, -1 for the root."""
    first: list[int]
    """Its first block; `first == last` when it has no text."""
    last: list[int]
    tag: list[int]
    """`vocabulary.TAG_NUMBER`, 0 for a tag that is not in it."""
    marks: list[int]
    signature: list[int]
    """A hash of its tag, classes and id without digits: elements that one template wrote have the same."""
    order: Sequence[int]
    """Its index among all elements of the page."""

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True, slots=True)
class ScoredPage:
    """A page's blocks, the elements around them, and how likely each block is content."""

    text: bytes
    """The texts of all blocks, in UTF-8."""
    opened: int
    """Number of elements in the serialisation."""
    blocks: BlockTable
    elements: ElementTable
    heading: list[int]
    """Of each block: 1 to 6 for a heading, else 0."""
    landmarks: Sequence[int]
    """Of each block: landmark elements around it (`vocabulary.LANDMARK`), as bits."""
    copies: Sequence[int]
    """Of each block: how many blocks have its text."""
    scores: list[float]
    """Of each block: the probability that it is content."""

    def texts(self) -> list[bytes]:
        """The text of every block, as it is in the serialisation."""
        return [self.text[begin:end] for begin, end in zip(self.blocks.begin, self.blocks.end, strict=True)]


@dataclass(frozen=True, slots=True)
class PageFeatures:
    """The features of a page's blocks, for training."""

    names: tuple[str, ...]
    matrix: bytes
    """One row of float32 a feature, one column a block."""
    text: bytes
    blocks: BlockTable

    def texts(self) -> list[bytes]:
        """The text of every block, as it is in the serialisation."""
        return [self.text[begin:end] for begin, end in zip(self.blocks.begin, self.blocks.end, strict=True)]


def score_page(html: bytes, model: Model, *, max_blocks: int) -> ScoredPage | None:
    """Score the blocks of a serialised element (`dom.serialised`); None without any block, or with more than `max_blocks`."""
    with _opened(html, max_blocks) as page:
        if page is None:
            return None
        log_odds = array("d", bytes(_NUMBER_BYTES * page.tables.block_count))
        into = log_odds.buffer_info()[0]
        _check(_NATIVE.page_score(page.handle, ctypes.byref(model.trees), ctypes.byref(model.network), into))
        blocks, elements = page.blocks(), page.elements()
        return ScoredPage(
            page.text(),
            page.tables.opened,
            _block_table(blocks),
            ElementTable(**{name: elements[name].tolist() for name in _ELEMENT_LISTS}, order=elements["order"]),
            blocks["heading"].tolist(),
            blocks["landmarks"],
            blocks["copies"],
            model.probabilities(log_odds),
        )


def block_features(html: bytes) -> PageFeatures | None:
    """The features of the blocks of a serialised element; None without any block."""
    with _opened(html, len(html)) as page:
        if page is None:
            return None
        tables = page.tables
        matrix = ctypes.string_at(tables.features, tables.feature_count * tables.block_count * _FLOAT_BYTES)
        return PageFeatures(known.FEATURE_NAMES, matrix, page.text(), _block_table(page.blocks()))


def _block_table(columns: dict[str, memoryview[int]]) -> BlockTable:
    """The columns that are read as a whole become lists; the others stay views, of which few items are read."""
    return BlockTable(columns["begin"], columns["end"], *(columns[name].tolist() for name in ("words", "linked", "element")))


class _Tables(ctypes.Structure):
    """`PageTables` in sitelore_native.h."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("block_count", "element_count", "feature_count", "opened", "text_size")),
        *((name, ctypes.c_void_p) for name in ("text", "blocks", "elements", "features")),
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """An open page handle and its tables, which are valid until it is closed."""

    handle: ctypes.c_void_p
    tables: _Tables

    def text(self) -> bytes:
        return ctypes.string_at(self.tables.text, self.tables.text_size)

    def blocks(self) -> dict[str, memoryview[int]]:
        return _columns(self.tables.blocks, self.tables.block_count, _BLOCK_FIELDS)

    def elements(self) -> dict[str, memoryview[int]]:
        return _columns(self.tables.elements, self.tables.element_count, _ELEMENT_FIELDS)


@contextmanager
def _opened(html: bytes, max_blocks: int) -> Iterator[_Page | None]:
    """The page while it is open; None where it has no blocks or too many."""
    handle = ctypes.c_void_p()
    status = _NATIVE.page_open(_vocabulary(), html, len(html), max_blocks, ctypes.byref(handle))
    if status in {_NO_BLOCKS, _TOO_MANY_BLOCKS}:
        yield None
        return
    _check(status)
    try:
        tables = _Tables()
        _NATIVE.page_tables(handle, ctypes.byref(tables))
        yield _Page(handle, tables)
    finally:
        _NATIVE.page_close(handle)


def _check(status: int) -> None:
    if status == _OTHER_FEATURES:
        raise ValueError("the trained model has other features than this version computes; train it again")
    if status != _OK:
        raise MemoryError


def _columns(address: int, count: int, fields: tuple[str, ...]) -> dict[str, memoryview[int]]:
    """The columns of an array of structs whose fields are all 64-bit integers, as views of a copy of it."""
    width = len(fields)
    numbers = memoryview(ctypes.string_at(address, count * width * _NUMBER_BYTES)).cast("q")
    return {name: numbers[at::width] for at, name in enumerate(fields)}


class _Settings(ctypes.Structure):
    """`VocabularySettings` in sitelore_native.h."""

    _fields_ = (
        ("is_bold", ctypes.c_char_p),
        *((name, ctypes.c_void_p) for name in ("landmark", "counted_labels")),
        *((name, ctypes.c_int64) for name in ("counted_label_count", "label_groups", "mark_groups", "landmarks", "features")),
        *((name, ctypes.c_int64) for name in ("secondary_marks", "secondary_landmarks", "shortest_part")),
        *(
            (name, ctypes.c_int64)
            for name in ("link", "image", "line_break", "h1", "h6", "article", "main", "paragraph", "listing")
        ),
    )


@lru_cache(maxsize=1)
def _vocabulary() -> int:
    """The vocabulary as the compiled code has it: one a process, never freed."""
    numbers = known.TAG_NUMBER
    is_bold = bytearray(256)
    for tag in known.BOLD:
        is_bold[numbers[tag]] = 1
    landmark = array("q", [0] * known.TAG_NUMBERS)
    for tag, bit in known.LANDMARK.items():
        landmark[numbers[tag]] = bit
    counted = array("q", known.COUNTED_LABEL_BITS)
    settings = _Settings(
        bytes(is_bold),
        landmark.buffer_info()[0],
        counted.buffer_info()[0],
        *(len(counted), len(known.LABELS), len(known.GROUPS), len(known.LANDMARKS), len(known.FEATURE_NAMES)),
        *(known.SECONDARY_MARKS, known.SECONDARY_LANDMARKS, known.SHORTEST_PART),
        *(numbers[tag] for tag in (b"a", b"img", b"br", b"h1", b"h6", b"article", b"main", b"p", b"pre")),
    )
    handle = _NATIVE.vocabulary_create(ctypes.byref(settings))
    if not handle:
        raise MemoryError
    refused = [name for name in known.INLINE | known.VOID | set(numbers) if _NATIVE.vocabulary_add_tag(*_tag(handle, name))]
    refused += [
        word for word, marks in known.MARK_OF_WORD.items() if _NATIVE.vocabulary_add_mark(handle, word, len(word), marks)
    ]
    refused += [word for word, at in known.LABEL_OF_WORD.items() if _NATIVE.vocabulary_add_label(handle, word, len(word), at)]
    if refused:
        raise ValueError(f"the compiled scorer has no room for {refused[0]!r}")
    return int(handle)


def _tag(handle: int, name: bytes) -> tuple[int, bytes, int, int, int]:
    flags = (name in known.INLINE) * _INLINE + (name in known.VOID) * _VOID
    return handle, name, len(name), known.TAG_NUMBER.get(name, 0), flags


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
