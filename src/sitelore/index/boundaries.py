"""Where chunks end. The best place within reach decides, again and again, until every piece is small enough.

Best is the highest heading, else a paragraph, and so on down; among equals a hash of the words that follow. So boundaries
hang on the text around them and not on how much text is before: after an edit they fall where they fell, but near the edit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from zlib import crc32

from sitelore.index.atoms import Atom, Break
from sitelore.index.overlaps import HIGHEST
from sitelore.model.search import ChunkSizes

_MARGIN = 0.98  # tokens of a whole are not exactly the sum of its parts' tokens
_NARROWEST = 0.68  # how much smaller than the target a piece is at least, where there is a choice
_WIDEST = 1.45
_EVEN = 0.9
_HASHED_CHARS = 64
_LEAST_SHARE = 0.42
_BELOW_HEADINGS = Break.BLOCK << 32
_FORCED = Break.FORCED << 32


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many tokens of its own a piece has: what the chunk before has too comes on top."""

    least: int
    even: int
    """At least, where nothing but size speaks for a place."""
    enough: int
    """More is parted."""
    most: int
    """More is parted even where it hurts."""

    @staticmethod
    def of(sizes: ChunkSizes) -> Bounds:
        """What chunk sizes ask of pieces."""
        own = max(0.5, 1 - sizes.overlap * HIGHEST)
        widest = max(16, int(sizes.most * own))
        target = sizes.target * (1 - sizes.overlap)
        least = min(max(sizes.least / _MARGIN, _NARROWEST * target), widest / 2)
        enough = min(widest, max(2.1 * least, _WIDEST * target))
        return Bounds(int(least), int(max(least, _EVEN * target)), int(enough), max(16, int(sizes.most * _MARGIN)))


def pieces_of(text: str, atoms: list[Atom], bounds: Bounds) -> list[int]:
    """The atoms that start a piece, in order; the first of all is among them."""
    keys = [_key(text, atom) for atom in atoms]
    before = [0, *accumulate(atom.tokens for atom in atoms)]
    starts = [0]
    stack = [(0, len(atoms))]
    while stack:
        first, last = stack.pop()
        cut = _cut(keys, before, first, last, bounds)
        if cut is None:
            starts.append(first)
        else:
            stack += ((first, cut), (cut, last))
    return _packed(keys, before, sorted(set(starts)), bounds)


def _key(text: str, atom: Atom) -> int:
    """How good it is to start a piece with an atom; less is better."""
    following = text[atom.start : atom.start + _HASHED_CHARS].encode("utf-8", "replace")
    return (atom.rank << 32) + crc32(following)


def _cut(keys: list[int], before: list[int], first: int, last: int, bounds: Bounds) -> int | None:
    """The best place to part the atoms from `first` up to `last`; None when they are to stay together."""
    size = before[last] - before[first]
    middle = before[first] + size // 2
    among = _within(before, first, last, bounds.least)
    if among is not None:
        best = min(keys[slice(*among)])
        if best < _BELOW_HEADINGS:
            return _nearest(keys, before, best, among, middle)
    if size > bounds.enough:
        for margin in (min(bounds.even, int(size * _LEAST_SHARE)), bounds.least):
            among = _within(before, first, last, max(margin, bounds.least))
            if among is not None and (best := min(keys[slice(*among)])) < _FORCED:
                return _nearest(keys, before, best, among, middle)
    return _relaxed(keys, before, first, last) if size > bounds.most else None


def _within(before: list[int], first: int, last: int, margin: int) -> tuple[int, int] | None:
    """The atoms that have so many tokens before and after them."""
    low = bisect_left(before, before[first] + margin, first + 1, last)
    high = bisect_right(before, before[last] - margin, first + 1, last)
    return (low, high) if low < high else None


def _nearest(keys: list[int], before: list[int], best: int, among: tuple[int, int], middle: int) -> int:
    """Of equally good places the one nearest the middle, as in a page that says the same thing a thousand times."""
    low, high = among
    if keys[low:high].count(best) == 1:
        return keys.index(best, low, high)
    return min((at for at in range(low, high) if keys[at] == best), key=lambda at: abs(before[at] - middle))


def _relaxed(keys: list[int], before: list[int], first: int, last: int) -> int | None:
    """Something too long to stay together leaves no good place: a listing that fills a chunk, mostly. The one nearest the
    middle is taken, and only where there is no other, one that hurts.
    """
    middle = (before[first] + before[last]) // 2
    places = [at for at in range(first + 1, last) if keys[at] < _FORCED] or list(range(first + 1, last))
    return min(places, key=lambda at: abs(before[at] - middle), default=None)


def _packed(keys: list[int], before: list[int], starts: list[int], bounds: Bounds) -> list[int]:
    """Pieces that came out too small join the neighbour they have the weaker boundary with, where that has room."""
    ends = [*starts[1:], len(keys)]
    pieces = list(zip(starts, ends, strict=True))
    packed: list[tuple[int, int]] = []
    for number, (first, last) in enumerate(pieces):
        if packed and _is_small(before, packed[-1], bounds) | _is_small(before, (first, last), bounds):
            joined = (packed[-1][0], last)
            following = pieces[number + 1] if number + 1 < len(pieces) else None
            fits = before[last] - before[joined[0]] <= bounds.enough
            is_small = _is_small(before, (first, last), bounds) and not _is_small(before, packed[-1], bounds)
            waits = (
                is_small
                and following is not None
                and keys[following[0]] > keys[first]
                and before[following[1]] - before[first] <= bounds.enough
            )
            if fits and not waits:
                packed[-1] = joined
                continue
        packed.append((first, last))
    return [first for first, _ in packed]


def _is_small(before: list[int], piece: tuple[int, int], bounds: Bounds) -> bool:
    return before[piece[1]] - before[piece[0]] < bounds.least
