"""The compiled way from a page's HTML to what is kept of it (`choose.c`): the same choice as `scorer` and `cutting` make."""

from __future__ import annotations

import ctypes
from array import array
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sitelore.extract.content.choice import MOST_WORDS, NEVER_ALONE, Choice, Cuts
from sitelore.extract.content.describing import NAMES, TOLD
from sitelore.extract.content.tag_marks import ALL_TAGS, IN_PRE, IN_TABLE, TAG_NUMBER
from sitelore.extract.content.teaching import taught
from sitelore.extract.content.trees import Questions, Trees, questions_of

_NUMBER_BYTES = 8
_SIZES, _COUNTS, _FIGURES = ctypes.c_int64 * 4, ctypes.c_int64 * 6, ctypes.c_double * 2
# Kept here because the compiled code gets the addresses of their data.
_MOST_WORDS = array("d", [MOST_WORDS.get(tag, -1.0) for tag in range(ALL_TAGS)])
_IS_NEVER_ALONE = array("B", [tag in NEVER_ALONE for tag in range(ALL_TAGS)])
_MAY_REPEAT = array("q", [TAG_NUMBER[b"pre"], IN_TABLE | IN_PRE])


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

    def __init__(self, found: ctypes.CDLL) -> None:
        self._look, self._ask, self._decide, self._let_go = found.look, found.ask_all, found.decide, found.let_go
        for function in (self._look, self._ask, self._decide):
            function.restype = ctypes.c_int64
        self._let_go.restype, self._let_go.argtypes = None, []
        whole, place = ctypes.c_int64, ctypes.c_void_p
        self._look.argtypes = [ctypes.c_char_p, whole, place, whole, whole, whole, place]
        self._ask.argtypes = [place] * 3
        self._decide.argtypes = [place] * 6
        self._rules = [_place(rule) for rule in (_MOST_WORDS, _IS_NEVER_ALONE, _MAY_REPEAT)]

    def look(self, html: bytes, trees: Trees, most_blocks: int, few_words: int) -> Looked | None:
        """Cut and describe a page; None where that has to be done the plain way. Sizes out of bounds are not worthwhile."""
        if trees.names != NAMES:
            raise ValueError("the trained scorer knows other features than this version computes; train it again")
        sizes = _SIZES()
        done = self._look(html, len(html), _place(TOLD), len(NAMES), most_blocks, few_words, sizes)
        if done != 0:
            self._let_go()
        if done < 0:
            return None
        count, _, opened, words = sizes
        return Looked(self, trees, count, opened, words, done == 0)

    def decided(self, trees: Trees, count: int) -> tuple[Choice, Cuts, float]:
        """The choice among the blocks that were looked at last."""
        asked = _asked_of(trees)
        said = array("d", bytes(_NUMBER_BYTES * count))
        if self._ask(_place(asked.questions.told), _place(asked.network), _place(said)) != 0:
            raise MemoryError
        scores = trees.shares(said)
        weighed = array("d", scores)
        counts, figures = _COUNTS(), _FIGURES()
        if self._decide(_place(weighed), *self._rules, figures, counts) != 0:
            raise MemoryError
        going, loose, kept_words, plan_at, text_at, kept_at = counts
        plan = memoryview(ctypes.string_at(plan_at, (going + 3 * loose) * _NUMBER_BYTES)).cast("q").tolist()
        texts: dict[int, set[bytes]] = {}
        for at in range(going, len(plan), 3):
            place, begins, ends = plan[at : at + 3]
            texts.setdefault(place, set()).add(ctypes.string_at(text_at + begins, ends - begins))
        kept = list(map(bool, ctypes.string_at(kept_at, count)))
        self._let_go()
        threshold, expected = figures
        return Choice(kept, scores, threshold, expected), Cuts(plan[:going], texts), float(kept_words)


class _Asked(NamedTuple):
    """Trees and their network as `ask_all` is told them."""

    questions: Questions
    network: array[int]


@lru_cache(maxsize=8)
def _asked_of(trees: Trees) -> _Asked:
    """As many as are kept of the trees themselves, whose tables the compiled code asks."""
    net = trees.network
    places = [part.place for part in (net.even, net.weight, net.tagged, net.by_tag, net.first, net.last)]
    sizes = (*net.weight.shape, *net.tagged.shape)
    return _Asked(questions_of(trees.feature, trees.bound, trees.value), array("q", [*sizes, *places]))


def _place(numbers: array[int] | array[float]) -> int:
    return numbers.buffer_info()[0]


def _chooser() -> Chooser | None:
    found = taught()
    return None if found is None else Chooser(found)


CHOOSER = _chooser()
"""None where it was not compiled."""
