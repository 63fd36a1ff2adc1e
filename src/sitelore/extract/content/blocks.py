"""A page cut into blocks: what stands between two boundaries of the flow, and the elements around it, as arrays.

The tree is not walked node by node: its serialisation is well formed and is read from left to right, by compiled code
(`walking`). Where that was not built, one regular expression gives every tag with the text after it, and numpy does the rest
for the whole page at once: nesting is a running sum, an element's end is the next tag of its own depth, and what an element
holds is the difference of two places in a cumulative sum. Both give the same, number for number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.tag_table import TagTable
from sitelore.extract.content.teaching import (
    BAR,
    BOLD,
    COMMA,
    CURRENCY,
    DIGIT,
    IMAGE,
    KIND_OF_BYTE,
    KINDS,
    LINE_BREAK,
    LINK,
    SIGN,
    SPACE,
    STOP,
)  # fmt: skip
from sitelore.extract.content.walking import Walked, walk

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

_TOKEN = re.compile(rb"<([^>]*)>([^<]*)")
_KIND = np.frombuffer(KIND_OF_BYTE, np.uint8)
_TAGS = TagTable()


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements that break the flow, in document order."""

    parent: Ints
    """Row of the nearest such element around it, -1 for the root."""
    level: Ints
    first: Ints
    """The first block within it; `first == last` when it has no text."""
    last: Ints
    tag: Ints
    marks: Ints
    signature: Ints
    order: Ints
    """Its place among all elements of the tree, the root being 0."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a page that hold at least one word, in document order, and the elements they stand in."""

    text: bytes
    begins: Ints
    ends: Ints
    """Where each block stands in `text`."""
    words: Ints
    linked: Ints
    """Words within links."""
    bold: Ints
    chars: Ints
    digits: Ints
    stops: Ints
    commas: Ints
    bars: Ints
    signs: Ints
    """`@` and `©`."""
    currency: Ints
    links: Ints
    images: Ints
    breaks: Ints
    element: Ints
    """The innermost element around each block."""
    elements: Elements
    opened: int
    """How many elements the page has; a tree with other ones was not written as it is read."""
    walked: Walked | None = None
    """The same as the compiled code wrote it, which describes the blocks as well."""

    def __len__(self) -> int:
        return len(self.words)

    def texts(self) -> list[bytes]:
        """The text of every block, as it stands in the page."""
        text = self.text
        return [text[begin:end] for begin, end in zip(self.begins.tolist(), self.ends.tolist(), strict=True)]


def segment(html: bytes) -> Blocks:
    """The blocks of a serialised subtree without scripts, styles and comments."""
    html = html.replace(b"&nbsp;", b" ").replace(b"&amp;", b"&")
    walked = walk(html)
    return _from_walk(walked) if walked is not None else _segment_slowly(html)


def _from_walk(walked: Walked) -> Blocks:
    begins, ends, words, linked, bold, *kinds, element, links, images, breaks = walked.blocks
    return Blocks(
        text=walked.text,
        begins=begins,
        ends=ends,
        words=words,
        linked=linked,
        bold=bold,
        chars=walked.blocks[6:13].sum(axis=0),
        digits=kinds[DIGIT],
        stops=kinds[STOP],
        commas=kinds[COMMA],
        bars=kinds[BAR],
        signs=kinds[SIGN],
        currency=kinds[CURRENCY],
        links=links,
        images=images,
        breaks=breaks,
        element=element,
        elements=Elements(*walked.elements),
        opened=walked.opened,
        walked=walked,
    )


def _segment_slowly(html: bytes) -> Blocks:
    pairs = _TOKEN.findall(html)
    rows = _TAGS.rows([tag for tag, _ in pairs])
    texts = [text for _, text in pairs]
    step, number = _TAGS.step[rows].astype(np.int64), _TAGS.number[rows].astype(np.int64)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    text = b"".join(texts)
    places = _running(lengths)
    bounds = np.flatnonzero(_TAGS.breaks[rows])
    if len(bounds) == 0 or bounds[0] != 0:
        bounds = np.concatenate([np.zeros(1, np.int64), bounds])
    spans = np.append(places[bounds], len(text))
    opened_links = np.cumsum(np.where(number == LINK, step, 0)) > 0
    opened_bold = np.cumsum(np.where(np.isin(number, BOLD), step, 0)) > 0
    counts = _Counts(text, spans)
    words = counts.words()
    held = np.flatnonzero(words)
    per_block = np.append(bounds, len(rows))

    def tags(wanted: Flags) -> Ints:
        found: Ints = np.diff(_running(wanted)[per_block])
        return found[held]

    elements, element = _elements(rows[bounds], step[bounds], held, words > 0)
    order = np.cumsum(_TAGS.opens[rows]) - 1
    kinds = counts.kinds()[held]
    return Blocks(
        text=text,
        begins=spans[:-1][held],
        ends=spans[1:][held],
        words=words[held],
        linked=counts.words(np.repeat(opened_links, lengths))[held],
        bold=counts.words(np.repeat(opened_bold, lengths))[held],
        chars=kinds[:, 1:].sum(axis=1),
        digits=kinds[:, DIGIT],
        stops=kinds[:, STOP],
        commas=kinds[:, COMMA],
        bars=kinds[:, BAR],
        signs=kinds[:, SIGN],
        currency=kinds[:, CURRENCY],
        links=tags((number == LINK) & (step == 1)),
        images=tags(number == IMAGE),
        breaks=tags(number == LINE_BREAK),
        element=element,
        elements=_placed(elements, order[bounds]),
        opened=int(order[-1]) + 1 if len(order) else 0,
    )


class _Counts:
    """Counts characters and words per span of a text, in a few passes over it."""

    def __init__(self, text: bytes, spans: Ints) -> None:
        chars = np.frombuffer(text or b" ", np.uint8)
        self._count = len(spans) - 1
        self._kind: Bytes = _KIND[chars]
        sizes = np.diff(spans) if text else np.eye(1, self._count, dtype=np.int64)[0]
        self._span = np.repeat(np.arange(self._count), sizes)
        # A word begins after white space, and at the start of a span.
        ink = self._kind != SPACE
        begins = ink.copy()
        begins[1:] &= ~ink[:-1]
        starts = spans[:-1][spans[:-1] < len(chars)]
        begins[starts] = ink[starts]
        self._begins = np.flatnonzero(begins)
        # Scripts written without spaces: two characters count as a word.
        self._unspaced = np.flatnonzero((chars >= 0xE3) & (chars <= 0xE9))

    def words(self, within: Flags | None = None) -> Ints:
        """Words per span; only those that begin where `within` holds."""
        found = self._per_span(self._begins, within)
        return found + self._per_span(self._unspaced, within) // 2 if len(self._unspaced) else found

    def _per_span(self, places: Ints, within: Flags | None) -> Ints:
        if within is not None:
            places = places[within[places]] if len(within) else places[:0]
        return np.bincount(self._span[places], minlength=self._count)

    def kinds(self) -> Ints:
        """How many characters of each kind a span has."""
        found = np.bincount(self._span * KINDS + self._kind, minlength=self._count * KINDS)
        return found.reshape(self._count, KINDS)


def _running(counts: NDArray[np.generic]) -> Ints:
    """What stands before each place, and before the end."""
    total = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=total[1:])
    return total


def _elements(rows: NDArray[np.intp], step: Ints, held: Ints, has_text: Flags) -> tuple[Elements, Ints]:
    """The elements of the boundary tags, and the innermost one at each tag in `held`."""
    level = np.cumsum(step)
    starts, ends = np.flatnonzero(step == 1), np.flatnonzero(step == -1)
    depth = level[starts]
    # By depth, then by place: the k-th start of a depth and the k-th end of it belong together.
    by_depth = np.argsort(depth, kind="stable")
    end = np.full(len(starts), len(rows), np.int64)
    end[by_depth[: len(ends)]] = ends[np.argsort(level[ends], kind="stable")][: len(starts)]
    stride = len(rows) + 1
    key = depth[by_depth] * stride + starts[by_depth]
    parent = by_depth[np.maximum(np.searchsorted(key, (depth - 1) * stride + starts) - 1, 0)]
    parent[depth <= 1] = -1
    inner = by_depth[np.maximum(np.searchsorted(key, level[held] * stride + held, side="right") - 1, 0)]
    before = _running(has_text)
    elements = Elements(
        parent=parent,
        level=depth,
        first=before[starts],
        last=before[end],
        tag=_TAGS.number[rows[starts]].astype(np.int64),
        marks=_TAGS.marks[rows[starts]],
        signature=_TAGS.signature[rows[starts]],
        order=starts,
    )
    return elements, inner


def _placed(elements: Elements, order: Ints) -> Elements:
    return Elements(
        elements.parent,
        elements.level,
        elements.first,
        elements.last,
        elements.tag,
        elements.marks,
        elements.signature,
        order[elements.order],
    )
