"""The plain way from a page's HTML to what is kept of it, in numpy: where nothing was compiled, and for very deep pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sitelore.extract.content.block_features import scene_of
from sitelore.extract.content.blocks import Blocks, Flags, Ints, segment
from sitelore.extract.content.choice import NEVER_ALONE, Choice, Cuts
from sitelore.extract.content.scorer import choose
from sitelore.extract.content.trees import Trees

_KEPT_AROUND = 0.5


@dataclass(frozen=True, slots=True)
class PlainlyLooked:
    """A page cut into blocks: what `choosing.Looked` is."""

    blocks: Blocks
    trees: Trees
    opened: int
    words: int
    is_worthwhile: bool

    def decided(self) -> tuple[Choice, Cuts, float]:
        """What is kept, what goes, and how many words are kept."""
        choice = choose(scene_of(self.blocks), self.trees)
        kept = np.array(choice.kept, np.bool_)
        return choice, cuts_of(self.blocks, kept), float(self.blocks.words[kept].sum())


def look_plainly(html: bytes, trees: Trees, most_blocks: int, few_words: int) -> PlainlyLooked:
    """Cut a page. Sizes out of bounds are not worthwhile."""
    blocks = segment(html)
    words = int(blocks.words.sum())
    return PlainlyLooked(blocks, trees, blocks.opened, words, len(blocks) <= most_blocks and words >= few_words)


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
