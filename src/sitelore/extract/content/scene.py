"""A page as the scorer sees it: its blocks, with the sums that many questions about them need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.blocks import Blocks, Ints
from sitelore.extract.content.tag_marks import TAG_NUMBER
from sitelore.extract.content.walking import Described

Floats = NDArray[np.float64]


@dataclass(slots=True)
class Scene:
    """A page's blocks with what many features need: running sums, per block and per element."""

    blocks: Blocks
    index: Ints
    words: Floats
    linked: Floats
    good: Floats
    """The words of a block if it is a good one, else 0."""
    run_words: Floats
    run_linked: Floats
    run_good: Floats
    total: float
    total_good: float
    heading: Ints
    """1 to 6 for a heading, 0 for everything else."""
    section: Ints
    around: Ints
    """Landmark elements around each block, as bits."""
    marks: Ints
    """Marks of the elements around each block, as bits."""
    copies: Ints
    """How often the page says the same text."""
    columns: dict[str, NDArray[np.generic]]
    """The features by name; empty where they are described."""
    described: Described | None = None
    _lines: list[bytes] | None = None

    @property
    def lines(self) -> list[bytes]:
        """The text of each block with single spaces."""
        if self._lines is None:
            self._lines = [b" ".join(text.split()) for text in self.blocks.texts()]
        return self._lines

    @property
    def listings(self) -> int:
        """How many listings of code the page has."""
        return int(np.count_nonzero(self.blocks.elements.tag == TAG_NUMBER[b"pre"]))

    def within(self, running: Floats, rows: Ints) -> Floats:
        """What the elements in these rows hold of a running sum."""
        elements = self.blocks.elements
        return running[elements.last[rows]] - running[elements.first[rows]]


def running(values: NDArray[np.generic]) -> Floats:
    """What stands before each place, and before the end."""
    total = np.zeros(len(values) + 1)
    np.cumsum(values, out=total[1:])
    return total
