"""Splits a page into blocks of text and scores how likely each is content, by compiled code (`native/scoring`).

A block is text between two boundaries of the flow, with at least one word. Its features describe its text, its neighbours, the
elements around it and the page; a trained model (`scorer_model`) turns them into a probability.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from sitelore.extract.content import vocabulary as known
from sitelore.extract.content.scorer_model import Model
from sitelore.extract.native.library import library

_NATIVE = library()
_OK, _NO_BLOCKS, _TOO_MANY_BLOCKS = 0, 1, 2
_OTHER_FEATURES = -2
_OTHER_BYTE = 1
_INLINE, _VOID = 1, 2
_NUMBER_BYTES, _FLOAT_BYTES = 8, 4
# The fields of `Block` and `Element` in sitelore_native.h, in their order.
_BLOCK_FIELDS = (
    "begin", "end", "words", "chars", "linked", "bold", "links", "images", "breaks", "element", "heading", "landmarks",
    "marks", "copy", "copies", "digits", "stops", "commas", "bars", "signs", "currency",
)  # fmt: skip
_ELEMENT_FIELDS = ("parent", "level", "first", "last", "tag", "marks", "signature", "order")


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The blocks of a page in document order, one list a column."""

    begin: list[int]
    end: list[int]
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
    """The elements of a page that break the flow of text, in document order, one list a column."""

    parent: list[int]
    """Row of the nearest such element around it, -1 for the root."""
    first: list[int]
    """Its first block; `first == last` when it has no text."""
    last: list[int]
    tag: list[int]
    """`vocabulary.TAG_NUMBER`, 0 for a tag that is not in it."""
    marks: list[int]
    order: list[int]
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
    landmarks: list[int]
    """Of each block: landmark elements around it (`vocabulary.LANDMARK`), as bits."""
    copies: list[int]
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
        blocks = page.block_columns()
        return ScoredPage(
            page.text(),
            page.tables.opened,
            _block_table(blocks),
            ElementTable(**page.element_columns()),
            blocks["heading"],
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
        return PageFeatures(known.FEATURE_NAMES, matrix, page.text(), _block_table(page.block_columns()))


def _block_table(columns: dict[str, list[int]]) -> BlockTable:
    return BlockTable(**{name: columns[name] for name in BlockTable.__slots__})


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

    def block_columns(self) -> dict[str, list[int]]:
        wanted = (*BlockTable.__slots__, "heading", "landmarks", "copies")
        return _columns(self.tables.blocks, self.tables.block_count, _BLOCK_FIELDS, wanted)

    def element_columns(self) -> dict[str, list[int]]:
        return _columns(self.tables.elements, self.tables.element_count, _ELEMENT_FIELDS, ElementTable.__slots__)


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


def _columns(address: int, count: int, fields: tuple[str, ...], wanted: tuple[str, ...]) -> dict[str, list[int]]:
    """The wanted columns of an array of structs whose fields are all 64-bit integers."""
    width = len(fields)
    numbers = memoryview(ctypes.string_at(address, count * width * _NUMBER_BYTES)).cast("q")
    return {name: numbers[fields.index(name) :: width].tolist() for name in wanted}


class _Settings(ctypes.Structure):
    """`VocabularySettings` in sitelore_native.h."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("byte_class", "is_bold")),
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
    byte_class = bytearray([_OTHER_BYTE]) * 256
    for number, members in known.BYTE_CLASSES.items():
        for byte in members:
            byte_class[byte] = number
    is_bold = bytearray(256)
    for tag in known.BOLD:
        is_bold[numbers[tag]] = 1
    landmark = array("q", [0] * known.TAG_NUMBERS)
    for tag, bit in known.LANDMARK.items():
        landmark[numbers[tag]] = bit
    counted = array("q", known.COUNTED_LABEL_BITS)
    settings = _Settings(
        bytes(byte_class),
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
