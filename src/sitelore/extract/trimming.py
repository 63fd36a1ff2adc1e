"""Cuts a tree down to the blocks that were chosen: whole elements where none of their blocks is kept, loose text elsewhere."""

from __future__ import annotations

import numpy as np

from sitelore.extract import dom
from sitelore.extract.blocks import Blocks, Flags, Ints
from sitelore.extract.tag_marks import INLINE, TAG_NUMBER

_KEPT_AROUND = 0.5
_NEVER_ALONE = [TAG_NUMBER[tag] for tag in (b"td", b"th", b"hr")]  # dropping an empty cell would shift its row


def trim(in_order: list[dom.Element], blocks: Blocks, kept: Flags) -> None:
    """Drop everything of a subtree, given as all its elements, but what belongs to a kept block."""
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
    stays |= empty & stays[parent] & (empty[parent] | np.isin(elements.tag, _NEVER_ALONE))
    stays[0] = True
    goes = ~stays & stays[parent]
    loose = _loose(blocks, kept, stays)
    for row in loose:
        _drop_loose(in_order[int(elements.order[row])], loose[row])
    for order in elements.order[goes].tolist():
        dom.drop(in_order[order])


def _loose(blocks: Blocks, kept: Flags, stays: Flags) -> dict[int, set[str]]:
    """Texts to drop that stand directly in an element which stays, by the row of that element."""
    found: dict[int, set[str]] = {}
    dropped: Ints = np.flatnonzero(~kept & stays[blocks.element])
    for block in dropped.tolist():
        text = blocks.text[blocks.begins[block] : blocks.ends[block]]
        found.setdefault(int(blocks.element[block]), set()).add(_plain(text.decode("utf-8", "replace")))
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
