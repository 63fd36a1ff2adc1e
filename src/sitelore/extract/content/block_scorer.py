"""Splits a page into blocks of text, scores how likely each is content, and groups the blocks into structural units.

A block is text between two boundaries of the flow, with at least one word. Its features describe its text, its neighbours, the
elements around it and the page; a trained model turns them into a probability. The model is sets of oblivious decision trees
and a small network, evaluated by compiled code (`native/scoring`). Training (`bench/train_content.py`) writes numpy's format, a
zip of arrays; it is read here without numpy, which would take more memory than reading a page.

Content is kept or cut by whole units (elements, sections under their headings, terms with their definitions), so that a
definition never loses its term, a section its heading, or a table a row. Units that one template wrote (posts of a thread,
cards of a list) are grouped, so that all of them stay or go together.
"""

from __future__ import annotations

import ctypes
import struct
import zipfile
from array import array
from ast import literal_eval
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import accumulate, groupby
from math import exp, inf, prod
from operator import and_
from pathlib import Path
from typing import Any

from sitelore.extract.content import vocabulary as known
from sitelore.extract.content.vocabulary import FEATURE_NAMES, MARK, TAG_NUMBER
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
        blocks, elements = page.blocks(), page.elements()
        return ScoredPage(
            page.text(),
            page.tables.opened,
            _block_table(blocks),
            ElementTable(**{name: elements[name].tolist() for name in _ELEMENT_LISTS}, order=elements["order"]),
            blocks["heading"].tolist(),
            blocks["landmarks"],
            blocks["copies"].tolist(),
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
    return BlockTable(*(columns[name].tolist() for name in ("begin", "end", "words", "linked", "element")))


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


# Structural units

ELEMENT, SECTION, PAIR, LINK = range(4)
"""Kinds of units: an element; a heading with what it heads; a term with its definitions; a link between elements."""

_DT = TAG_NUMBER[b"dt"]
_WHOLE_WORDS = {TAG_NUMBER[b"pre"]: inf, TAG_NUMBER[b"table"]: 200, TAG_NUMBER[b"ul"]: 80, TAG_NUMBER[b"ol"]: 80}
"""Elements that are never divided, up to this many words: a longer table may be a page layout, a longer list may hold articles
or a menu beside content."""
_TABLE, _ROW = TAG_NUMBER[b"table"], TAG_NUMBER[b"tr"]
_CELLS = frozenset({TAG_NUMBER[b"td"], TAG_NUMBER[b"th"]})
_CELL_BLOCKS = 1.5
_TERM = 9
"""Level of a `dt`: below all headings."""
_TEMPLATE_MEMBERS = 4
"""Siblings with the same signature from which on a template wrote them."""
_PROSE_TAGS = frozenset({TAG_NUMBER[b"p"], TAG_NUMBER[b"blockquote"], TAG_NUMBER[b"figure"]})
"""Elements that follow each other in a text without being the items of a list."""
_AD = MARK["ad"]


@dataclass(slots=True)
class Units:
    """The units of a page as a tree, one list a column. Unit 0 is the root.

    An element whose only child has the same text is one unit with it.
    """

    kind: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    own: list[list[tuple[int, int, int]]] = field(default_factory=list)
    """Ranges of blocks (first, last, heading level) that go with the unit itself: loose text, headings, terms, code."""
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    linked: list[int] = field(default_factory=list)
    """Words inside links."""
    tags: list[int] = field(default_factory=list)
    """Tag numbers of the elements that are this unit, as bits; 0 for other kinds of units."""
    marks: list[int] = field(default_factory=list)
    element: list[int] = field(default_factory=list)
    """Row of the outermost element that is this unit; -1 for other kinds of units."""
    headers: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each long table that is divided by its rows: where its first row begins and ends, and where the table ends."""

    def __len__(self) -> int:
        return len(self.kind)


def build_units(page: ScoredPage) -> Units:
    """Group a page's blocks and elements into units."""
    units = Units()
    words, linked = [0, *accumulate(page.blocks.words)], [0, *accumulate(page.blocks.linked)]
    _add_elements(units, page, words)
    for unit, own in enumerate(units.own[:]):
        if units.children[unit] and any(level for _, _, level in own):
            _group_sections(units, unit)
    units.words = [words[last] - words[first] for first, last in zip(units.first, units.last, strict=True)]
    units.linked = [linked[last] - linked[first] for first, last in zip(units.first, units.last, strict=True)]
    return units


def _add(units: Units, kind: int, first: int, last: int) -> int:
    """Add a unit that is not an element."""
    units.kind.append(kind)
    units.children.append([])
    units.own.append([])
    units.first.append(first)
    units.last.append(last)
    units.tags.append(0)
    units.marks.append(0)
    units.element.append(-1)
    return len(units.kind) - 1


def _add_elements(units: Units, page: ScoredPage, words: list[int]) -> None:
    """Add the units that are elements, each with its own blocks. `words` is their running count."""
    elements, heading = page.elements, page.heading
    element_first, element_last = elements.first, elements.last
    children, own, unit_row, unit_tags, unit_marks = units.children, units.own, units.element, units.tags, units.marks
    heading_words = [0, *accumulate([count if level else 0 for count, level in zip(page.blocks.words, heading, strict=True)])]
    table_rows = _table_rows(units, page, words)
    unit_of = [-1] * len(elements)
    """The unit of each element; -1 for what is inside something that is never divided."""
    rows = zip(elements.parent, element_first, element_last, elements.tag, elements.marks, strict=True)
    for row, (parent, first, last, tag, marks) in enumerate(rows):
        if first == last:
            continue
        if parent < 0:
            outer = -1
        else:
            outer = unit_of[parent]
            if outer < 0:
                continue
        # The element around this one has the range of its unit.
        if outer >= 0 and element_first[parent] == first and element_last[parent] == last and not own[outer]:
            unit = outer
            unit_tags[unit] |= 1 << tag
            unit_marks[unit] |= marks
        elif outer >= 0 and (
            tag == _DT or (heading[first] and heading_words[last] - heading_words[first] == words[last] - words[first])
        ):
            own[outer].append((first, last, _TERM if tag == _DT else heading[first]))
            continue
        else:
            unit = len(unit_row)
            children.append([])
            own.append([])
            unit_tags.append(1 << tag)
            unit_marks.append(marks)
            unit_row.append(row)
            if outer >= 0:
                children[outer].append(unit)
        if (tag in _WHOLE_WORDS and words[last] - words[first] <= _WHOLE_WORDS[tag]) or row in table_rows:
            own[unit].append((first, last, 0))
        else:
            unit_of[row] = unit
    units.kind = [ELEMENT] * len(unit_row)
    units.first = [element_first[row] for row in unit_row]
    units.last = [element_last[row] for row in unit_row]
    _add_loose_blocks(units, page, unit_of)


def _table_rows(units: Units, page: ScoredPage, words: list[int]) -> set[int]:
    """The rows of long tables of data, which are not divided into cells; notes the header of each such table.

    Most rows of a table of data have the same number of cells, few cells have more than one block of text, and it holds no
    other table; all else may be a page layout.
    """
    elements = page.elements
    if _TABLE not in elements.tag:
        return set()
    table_of: dict[int, int] = {}
    """The table around each part of one."""
    rows: dict[int, list[int]] = {}
    cells: Counter[int] = Counter()
    for row, (parent, tag) in enumerate(zip(elements.parent, elements.tag, strict=True)):
        around = table_of.get(parent, -1)
        if tag == _TABLE:
            rows.pop(around, None)
            rows[row] = []
            table_of[row] = row
        elif around >= 0:
            table_of[row] = around
            if tag == _ROW and around in rows:
                rows[around].append(row)
            elif tag in _CELLS:
                cells[parent] += 1
    whole: set[int] = set()
    for table, inner in rows.items():
        first, last = elements.first, elements.last
        common, count = Counter(cells[row] for row in inner).most_common(1)[0] if inner else (0, 0)
        blocks, all_cells = last[table] - first[table], sum(cells[row] for row in inner)
        longest = max((words[last[row]] - words[first[row]] for row in inner), default=0)
        if (
            common > 1
            and count > 1
            and 2 * count >= len(inner)
            and longest <= _WHOLE_WORDS[_TABLE]
            and blocks <= _CELL_BLOCKS * all_cells
        ):
            whole.update(inner)
            units.headers.append((first[inner[0]], last[inner[0]], last[table]))
    return whole


def _add_loose_blocks(units: Units, page: ScoredPage, unit_of: list[int]) -> None:
    """Give each block that is directly inside a unit to it. `unit_of` is the unit of each element."""
    blocks, own, children = page.blocks, units.own, units.children
    rows = zip(blocks.element, blocks.words, blocks.linked, page.heading, strict=True)
    for block, (row, count, linked, level) in enumerate(rows):
        unit = unit_of[row]
        if unit < 0:
            continue
        # A link between elements (to skip them, or back) is a unit of its own.
        if linked == count and not level and children[unit]:
            link = _add(units, LINK, block, block + 1)
            children[unit].append(link)
            unit = link
        own[unit].append((block, block + 1, level))


def _group_sections(units: Units, unit: int) -> None:
    """Put a heading and everything up to the next heading of its level into a unit, and terms with their definitions."""
    items = [(first, last, level, -1) for first, last, level in units.own[unit]]
    items += [(units.first[child], units.last[child], 0, child) for child in units.children[unit]]
    items.sort()
    units.own[unit], units.children[unit] = [], []
    open_sections = [(0, unit)]
    is_defined = True
    for first, last, level, child in items:
        # Several terms may share a definition.
        joins = level == _TERM and open_sections[-1][0] == _TERM and not is_defined
        if level and not joins:
            while open_sections[-1][0] >= level:
                open_sections.pop()
            section = _add(units, PAIR if level == _TERM else SECTION, first, last)
            units.children[open_sections[-1][1]].append(section)
            open_sections.append((level, section))
        inner = open_sections[-1][1]
        if child >= 0:
            units.children[inner].append(child)
        else:
            units.own[inner].append((first, last, level))
        is_defined = level == 0
        for _, section in open_sections[1:]:
            units.last[section] = last


@dataclass(slots=True)
class Templates:
    """A page's units, grouped by the template that wrote them: the same part of each post or card is one group.

    Most groups have one member. The groups form a tree as their members do.
    """

    groups: Units
    """One row a group: its members' own blocks and their sums. `first`, `last` and `element` are those of the first member."""
    members: list[list[int]]
    """The units of each group, in document order."""


def group_templates(units: Units, page: ScoredPage) -> Templates:
    """Group siblings with the same tag and names, and below them the parts that have the same place in each."""
    groups, members = Units(), [[0]]
    open_groups = [0]
    for group in open_groups:
        each = members[group]
        if len(each) > 1:
            parts = _parts_of_templates(units, page, each)
        elif units.children[each[0]]:
            parts = _siblings(units, page, each[0])
        else:
            groups.children.append([])
            continue
        children = range(len(members), len(members) + len(parts))
        groups.children.append(list(children))
        members += parts
        open_groups += children
    first_members = [each[0] for each in members]
    for merged, column in (
        *((groups.kind, units.kind), (groups.first, units.first), (groups.last, units.last), (groups.element, units.element)),
        *((groups.words, units.words), (groups.linked, units.linked), (groups.tags, units.tags), (groups.marks, units.marks)),
    ):
        merged.extend(map(column.__getitem__, first_members))
    groups.own = [units.own[unit] for unit in first_members]
    for group, each in enumerate(members):
        if len(each) > 1:
            groups.own[group] = [blocks for unit in each for blocks in units.own[unit]]
            groups.words[group] = sum([units.words[unit] for unit in each])
            groups.linked[group] = sum([units.linked[unit] for unit in each])
            # What the members do not have in common says nothing about the template.
            groups.tags[group] = reduce(and_, [units.tags[unit] for unit in each])
            groups.marks[group] = reduce(and_, [units.marks[unit] for unit in each])
    return Templates(groups, members)


def _siblings(units: Units, page: ScoredPage, parent: int) -> list[list[int]]:
    """The children of a unit; those that a template wrote are together. An advertisement between them is not one of them."""
    signature, tag = page.elements.signature, page.elements.tag
    children = units.children[parent]
    if len(children) < _TEMPLATE_MEMBERS:
        return [[child] for child in children]
    rows = [units.element[child] for child in children]
    alike: dict[tuple[int, int], list[int]] = {}
    for row, child in zip(rows, children, strict=True):
        if row >= 0 and tag[row] not in _PROSE_TAGS:
            alike.setdefault((signature[row], units.marks[child] & _AD), []).append(child)
    templates = {group[0]: group for group in alike.values() if len(group) >= _TEMPLATE_MEMBERS}
    if not templates:
        return [[child] for child in children]
    others = {child for group in templates.values() for child in group[1:]}
    return [templates.get(child) or [child] for child in children if child not in others]


def _parts_of_templates(units: Units, page: ScoredPage, members: list[int]) -> list[list[int]]:
    """The children of units that a template wrote. Parts with equal names are distinguished by their order."""
    signature = page.elements.signature
    groups: dict[tuple[int, int, int, int], list[int]] = {}
    for member in members:
        counts: dict[tuple[int, int], int] = {}
        for child in units.children[member]:
            row = units.element[child]
            key = units.kind[child], signature[row] if row >= 0 else -1
            counts[key] = counts.get(key, 0) + 1
            groups.setdefault((*key, counts[key], units.marks[child] & _AD), []).append(child)
    return list(groups.values())
