"""Cuts a tree down to the blocks that were chosen: whole elements where none of their blocks is kept, loose text elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sitelore.extract import dom
from sitelore.extract.content.blocks import Blocks, Flags, Ints
from sitelore.extract.content.tag_marks import INLINE, TAG_NUMBER

_KEPT_AROUND = 0.5
NEVER_ALONE = [TAG_NUMBER[tag] for tag in (b"td", b"th", b"hr")]  # dropping an empty cell would shift its row


@dataclass(frozen=True, slots=True)
class Cuts:
    """What goes: elements, by their places among all elements, and texts that stand directly in an element which stays."""

    elements: list[int]
    texts: dict[int, set[bytes]]
    """By the place of the element they stand in."""


def trim(in_order: list[dom.Element], cuts: Cuts) -> None:
    """Cut a subtree, given as all its elements."""
    for place, texts in cuts.texts.items():
        _drop_loose(in_order[place], {_plain(text.decode("utf-8", "replace")) for text in texts})
    for place in cuts.elements:
        dom.drop(in_order[place])


def cuts_of(blocks: Blocks, kept: Flags) -> Cuts:
    """Everything of a page but what belongs to a kept block. `choose.c` does the same where it was compiled."""
    elements = blocks.elements
    run_kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    run_words = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.where(kept, blocks.words, 0))])
    run_all = np.concatenate([np.zeros(1, np.int64), np.cumsum(blocks.words)])
    held = run_kept[elements.last] - run_kept[elements.first]
    words = run_all[elements.last] - run_all[elements.first]
    share = (run_words[elements.last] - run_words[elements.first]) / np.maximum(words, 1)
    # An element without text (a figure, a rule) stays where most of what is around it does and a neighbour is kept.
    empty = elements.first == elements.last
    beside = np.concatenate([kept, np.zeros(1, np.bool_)])
    neighbour = beside[elements.first] | beside[elements.first - 1]
    stays = held > 0
    parent = np.maximum(elements.parent, 0)
    stays |= empty & neighbour & (share[parent] >= _KEPT_AROUND) & (words[parent] > 0)
    stays |= empty & stays[parent] & (empty[parent] | np.isin(elements.tag, NEVER_ALONE))
    stays[0] = True
    goes = ~stays & stays[parent]
    return Cuts(elements.order[goes].tolist(), _loose(blocks, kept, stays))


def _loose(blocks: Blocks, kept: Flags, stays: Flags) -> dict[int, set[bytes]]:
    found: dict[int, set[bytes]] = {}
    dropped: Ints = np.flatnonzero(~kept & stays[blocks.element])
    for block in dropped.tolist():
        place = int(blocks.elements.order[blocks.element[block]])
        found.setdefault(place, set()).add(blocks.text[blocks.begins[block] : blocks.ends[block]])
    return found


def _plain(text: str) -> str:
    """Text as both the serialisation and the tree have it: no references, no white space."""
    for reference, char in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(reference, char)
    return "".join(text.split())


def _drop_loose(element: dom.Element, texts: set[str]) -> None:
    run: list[dom.AnyNode] = []
    for child in [*dom.children(element), None]:
        if child is not None and (not isinstance(child, dom.Element) or child.tag.encode() in INLINE):
            run.append(child)
            continue
        if run and _plain("".join(map(dom.text_of, run))) in texts:
            for node in run:
                dom.drop(node)
        run = []
