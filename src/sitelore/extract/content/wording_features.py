"""What a page's own words say of its parts: the labels that sections stand under, and the words of its title.

A label is a heading or another short block. Its words are looked up in a small vocabulary: what stands under "Related" or after
"Comments" is frame on most pages, what stands under "Description" is not. Text that is about the page says the words of its
title again; a card for another page says others. `wording.c` does the same where it was compiled, number for number.
"""

from __future__ import annotations

import re

import numpy as np

from sitelore.extract.content.blocks import Ints
from sitelore.extract.content.scene import Floats, Scene, running
from sitelore.extract.content.wording import LABEL_OF_WORD, LABELS, SINCE, SINCE_BITS, TITLE_NAMES

_LABEL_WORDS, _HEADING_WORDS, _SURE_WORDS = 8, 14, 6
_TITLE_BYTES, _TITLE_WORDS = 4, 64
_FAR = 999.0
_LETTERS = re.compile(rb"[A-Za-z\x80-\xff]+")
_SIGNS = re.compile(rb"[0-9A-Za-z\x80-\xff]+")


def add_wording(scene: Scene) -> None:
    """Add all these features to a page that has its title and headings."""
    labels = _labels(scene)
    _add_under(scene, labels)
    _add_since(scene, labels)
    _add_title(scene)


def _labels(scene: Scene) -> Ints:
    """The groups that the words of each label belong to, as bits; 0 for what is no label."""
    may_be = (scene.words <= _LABEL_WORDS) | ((scene.heading > 0) & (scene.words <= _HEADING_WORDS))
    found = np.zeros(len(scene.blocks), np.int64)
    for block in np.flatnonzero(may_be).tolist():
        for word in _LETTERS.findall(scene.lines[block].lower()):
            if (number := LABEL_OF_WORD.get(word)) is not None:
                found[block] |= 1 << number
    return found


def _add_under(scene: Scene, labels: Ints) -> None:
    """2 under a heading of the group, 1 where only a heading above that one is."""
    near, outer = np.zeros(len(labels), np.int64), np.zeros(len(labels), np.int64)
    stack: list[tuple[int, int]] = []
    own = above = 0
    for block, level in enumerate(scene.heading.tolist()):
        if level:
            while stack and stack[-1][0] >= level:
                stack.pop()
            above = 0
            for _, bits in stack:
                above |= bits
            own = int(labels[block])
            stack.append((level, own))
        near[block], outer[block] = own, above
    for number, group in enumerate(LABELS):
        scene.columns[f"under_{group}"] = np.where(near >> number & 1, 2, outer >> number & 1)


def _add_since(scene: Scene, labels: Ints) -> None:
    """How many blocks ago the page last said such a label."""
    is_sure = (scene.words <= _SURE_WORDS) & ((scene.linked < 0.5 * scene.words) | (scene.heading > 0))
    for group, bit in zip(SINCE, SINCE_BITS, strict=True):
        last = np.maximum.accumulate(np.where(is_sure & (labels & bit != 0), scene.index, -1))
        scene.columns[f"since_{group}"] = np.where(last >= 0, scene.index - last, _FAR)


def _add_title(scene: Scene) -> None:
    """How often a block, its section and the elements around it say a word of the title, against the page as a whole."""
    count = len(scene.blocks)
    wanted = _title_words(scene)
    if not wanted:
        scene.columns |= dict.fromkeys(TITLE_NAMES, np.full(count, -1.0))
        return
    said = [[word for word in _SIGNS.findall(line.lower()) if word in wanted] for line in scene.lines]
    hits = running(np.fromiter(map(len, said), np.int64, count))
    page = hits[-1] / scene.total + 1e-6
    begins = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(scene.heading)])
    ends = np.append(begins[1:], count)
    columns = [
        np.diff(hits),
        np.fromiter((len(set(words)) / len(wanted) for words in said), np.float64, count),
        _against(scene, hits, begins[scene.section], ends[scene.section], page),
    ]
    elements = scene.blocks.elements
    at = scene.blocks.element
    for step in range(1, 5):
        at = np.where(at >= 0, elements.parent[np.maximum(at, 0)], -1)
        if step in {1, 2, 4}:
            row = np.maximum(at, 0)
            around = _against(scene, hits, elements.first[row], elements.last[row], page)
            columns.append(np.where(at >= 0, around, 1.0))
    scene.columns |= dict(zip(TITLE_NAMES, [*columns, np.full(count, page)], strict=True))


def _title_words(scene: Scene) -> set[bytes]:
    if (scene.heading != 1).all():
        return set()
    title = -int(scene.columns["title_blocks"][0])
    words = [word for word in _SIGNS.findall(scene.lines[title].lower()) if len(word) >= _TITLE_BYTES]
    return set(list(dict.fromkeys(words))[:_TITLE_WORDS])


def _against(scene: Scene, hits: Floats, first: Ints, last: Ints, page: float) -> Floats:
    words = np.maximum(scene.run_words[last] - scene.run_words[first], 1)
    return np.asarray((hits[last] - hits[first]) / words / page)
