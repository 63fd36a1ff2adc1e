"""The compiled way from a page's HTML to what is kept of it (`choose.c`): the same choice as `scorer` and `trimming` make."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.block_features import DESCRIBE, IN_PRE, IN_TABLE
from sitelore.extract.content.describing import Describer
from sitelore.extract.content.scorer import MOST_WORDS, Choice, Trees
from sitelore.extract.content.tag_marks import TAG_NUMBER
from sitelore.extract.content.trimming import NEVER_ALONE, Cuts
from sitelore.extract.content.walking import Questions, questions_of
from sitelore.extract.native.library import address, library

_WHOLE_BYTES = 8
_SIZES, _COUNTS, _FIGURES = ctypes.c_int64 * 4, ctypes.c_int64 * 6, ctypes.c_double * 2


@dataclass(frozen=True, slots=True)
class Looked:
    """A page that the compiled code holds, until it looks at the next one."""

    chooser: Chooser
    trees: Trees
    count: int
    opened: int
    words: int
    is_worthwhile: bool

    def decided(self) -> tuple[Choice, Cuts, float]:
        """What is kept, what goes, and how many words are kept."""
        return self.chooser.decided(self.trees, self.count)


class Chooser:
    """Looks at a page, then decides, in the same thread."""

    def __init__(self, found: ctypes.CDLL, describe: Describer) -> None:
        self._names = describe.names
        self._look, self._ask, self._decide, self._let_go = found.look, found.ask_all, found.decide, found.let_go
        for function in (self._look, self._ask, self._decide):
            function.restype = ctypes.c_int64
        self._let_go.restype, self._let_go.argtypes = None, []
        whole, place = ctypes.c_int64, ctypes.c_void_p
        self._look.argtypes = [ctypes.c_char_p, whole, place, whole, whole, whole, place]
        self._ask.argtypes = [place] * 3
        self._decide.argtypes = [place] * 6
        # Kept here because the addresses below are of their data.
        alone = np.zeros(len(MOST_WORDS), np.uint8)
        alone[NEVER_ALONE] = 1
        self._rules = (describe.told, MOST_WORDS, alone, np.array([TAG_NUMBER[b"pre"], IN_TABLE | IN_PRE], np.int64))
        self._told, *self._kept_by = map(address, self._rules)
        self._asked: tuple[Trees | None, tuple[int, ...]] = (None, ())
        self._network: NDArray[np.int64] = np.zeros(0, np.int64)
        self._questions: Questions | None = None

    def look(self, html: bytes, trees: Trees, most_blocks: int, few_words: int) -> Looked | None:
        """Cut and describe a page; None where that has to be done the plain way. Sizes out of bounds are not worthwhile."""
        if trees.names != self._names:
            raise ValueError("the trained scorer knows other features than this version computes; train it again")
        sizes = _SIZES()
        done = self._look(html, len(html), self._told, len(self._names), most_blocks, few_words, sizes)
        if done != 0:
            self._let_go()
        if done < 0:
            return None
        count, _, opened, words = sizes
        return Looked(self, trees, count, opened, words, done == 0)

    def decided(self, trees: Trees, count: int) -> tuple[Choice, Cuts, float]:
        """The choice among the blocks that were looked at last."""
        said = np.empty(count)
        scores: NDArray[np.float64] = np.zeros(0)
        if self._ask(*self._places_of(trees), address(said)) == 0:
            scores = trees.shares(said)
        counts, figures = _COUNTS(), _FIGURES()
        if len(scores) == 0 or self._decide(address(scores), *self._kept_by, figures, counts) != 0:
            raise MemoryError
        going, loose, kept_words, plan_at, text_at, kept_at = counts
        plan = memoryview(ctypes.string_at(plan_at, (going + 3 * loose) * _WHOLE_BYTES)).cast("q").tolist()
        texts: dict[int, set[bytes]] = {}
        for at in range(going, len(plan), 3):
            place, begins, ends = plan[at : at + 3]
            texts.setdefault(place, set()).add(ctypes.string_at(text_at + begins, ends - begins))
        kept = np.frombuffer(ctypes.string_at(kept_at, count), np.bool_)
        self._let_go()
        threshold, expected = figures
        return Choice(kept, scores, threshold, expected), Cuts(plan[:going], texts), float(kept_words)

    def _places_of(self, trees: Trees) -> tuple[int, ...]:
        known, places = self._asked
        if known is not trees:
            net = trees.network
            parts: list[NDArray[np.generic]] = [net.even, net.weight, net.tagged, net.by_tag, net.first, net.last]
            self._network = np.array([*net.weight.shape, len(net.tagged), *map(address, parts)], np.int64)
            self._questions = questions_of(trees.feature, trees.bound, trees.value)
            places = (address(self._questions.told), address(self._network))
            self._asked = (trees, places)
        return places


def _chooser() -> Chooser | None:
    found = library()
    return Chooser(found, DESCRIBE) if found is not None and DESCRIBE is not None else None


CHOOSER = _chooser()
"""None where it was not compiled."""
