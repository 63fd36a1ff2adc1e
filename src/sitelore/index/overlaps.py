"""What two chunks share: a tenth to a seventh of the later one, parted from the rest between two sentences.

The later chunk reaches back into the earlier one. Where no sentence starts there, as after a listing or a picture with a
long address, the earlier one reaches forward. Where that ends in no sentence either, a clause does, or at least a word; within
a listing or a row nothing does. What neither side can do is left: then they share nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import sqrt

from sitelore.index.atoms import Atom, Break
from sitelore.index.sentences import clause_starts, word_starts
from sitelore.index.tokens import count_tokens
from sitelore.model.search import ChunkSizes

HIGHEST = 1.22
"""The largest share that is taken, in parts of the one that is asked for."""
_LOWEST = 0.86
_CENTRE = 1.04
_MOST_PLACES = 12
_TRIES = 3
_SLACK = 0.97  # tokens of a whole are not exactly the sum of its parts' tokens
_ROUGH = 0.88  # nor are tokens spread evenly over a sentence

StartsIn = Callable[[str, int, int], list[int]]
Worths = tuple[StartsIn | None, ...]
"""Kinds of places, by what finds them; None is what atoms are, sentences."""
Sized = list[tuple[float, int]]
"""Places, each with how many tokens would be shared there."""

_SENTENCES: Worths = (None,)
_LESS: Worths = (clause_starts, word_starts)


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk's own text, and its atoms: from `first` up to `last`."""

    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reach:
    """From where to where a chunk goes, and how many tokens it has."""

    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """How many tokens two chunks may share, and as what part of the later one."""

    low: float
    best: float
    high: float
    lowest: float
    highest: float
    most: int
    """Tokens of a chunk, all in all."""

    def allows(self, shared: int, whole: int) -> bool:
        """Whether that many tokens are neither too small nor too large a part of the whole."""
        return self.lowest * whole <= shared <= self.highest * whole


@dataclass(frozen=True, slots=True)
class _Places:
    """Where what is shared may start or end: between sentences, between clauses, and in which atoms, after how many tokens."""

    sentences: Sized = field(default_factory=list)
    clauses: Sized = field(default_factory=list)
    within: list[tuple[Atom, float]] = field(default_factory=list)

    def add(self, shared: float, place: int, following: Atom) -> None:
        """A place with that many tokens shared, before this atom."""
        is_sentence = following.rank <= Break.SENTENCE or not following.is_prose
        (self.sentences if is_sentence else self.clauses).append((shared, place))


def reaches_of(text: str, atoms: list[Atom], pieces: list[Piece], sizes: ChunkSizes) -> list[Reach]:
    """Every chunk with what it shares. From the last to the first: what a share is of must be known before it is taken."""
    reaches: list[Reach] = []
    end = pieces[-1].end
    for number in range(len(pieces) - 1, 0, -1):
        reach, end = _shared(text, atoms, (pieces[number - 1], pieces[number]), end, sizes)
        reaches.append(reach)
    reaches.append(Reach(pieces[0].start, end, count_tokens(text[pieces[0].start : end])))
    return reaches[::-1]


def _shared(text: str, atoms: list[Atom], both: tuple[Piece, Piece], end: int, sizes: ChunkSizes) -> tuple[Reach, int]:
    """The later of two chunks, which goes up to `end`, and where the earlier one ends."""
    before, own = both
    tokens = count_tokens(text[own.start : end])
    reach = Reach(own.start, end, tokens)
    size = sum(atom.tokens for atom in atoms[before.first : before.last])
    asked = _asked(tokens, size, sizes)
    if asked is None:
        return reach, before.end
    for worths in (_SENTENCES, _LESS):
        if (back := _reach_back(text, atoms, (before, size), reach, asked, worths)) is not None:
            return back, before.end
        if (before_end := _reach_forward(text, atoms, own, tokens, asked, sizes.most - size, worths)) is not None:
            return reach, before_end
    return reach, before.end


def _asked(tokens: int, size: int, sizes: ChunkSizes) -> _Asked | None:
    if sizes.overlap <= 0 or not tokens:
        return None
    lowest, highest = sizes.overlap * _LOWEST, sizes.overlap * HIGHEST
    # The same text is a share of both chunks: between a long and a short one it is best in the middle.
    wanted = min(highest, max(lowest, _CENTRE * sizes.overlap * sqrt(size / tokens)))
    low, best, high = (tokens * share / (1 - share) for share in (lowest, wanted, highest))
    return _Asked(low, best, high, lowest, highest, sizes.most)


def _reach_back(
    text: str, atoms: list[Atom], before: tuple[Piece, int], own: Reach, asked: _Asked, worths: Worths
) -> Reach | None:
    piece, size = before
    if own.tokens + asked.low > asked.most:
        return None
    for places in _by_worth(text, _behind(atoms, piece, asked), asked, worths, is_ahead=False):
        in_reach: list[tuple[bool, int, Reach]] = []
        for number, place in enumerate(places):
            shares = count_tokens(text[place : piece.end])
            if not asked.allows(shares, own.tokens + shares):
                continue
            tokens = count_tokens(text[place : own.end])
            if asked.allows(shares, tokens) and tokens <= asked.most:
                is_of_both = asked.allows(shares, size + shares)
                in_reach.append((not is_of_both, number, Reach(place, own.end, tokens)))
                if is_of_both or len(in_reach) >= _TRIES:
                    break
        if in_reach:
            return min(in_reach, key=lambda found: found[:2])[2]
    return None


def _reach_forward(
    text: str, atoms: list[Atom], own: Piece, tokens: int, asked: _Asked, room: float, worths: Worths
) -> int | None:
    """Where the chunk before ends when it takes the start of this one along."""
    low, high = tokens * asked.lowest, min(tokens * asked.highest, room)
    if low > high:
        return None
    asked = replace(asked, low=low, best=min(high, tokens * (asked.lowest + asked.highest) / 2), high=high)
    for places in _by_worth(text, _ahead(atoms, own, asked), asked, worths, is_ahead=True):
        for place in places:
            end = own.start + len(text[own.start : place].rstrip())
            shares = count_tokens(text[own.start : end])
            if asked.allows(shares, tokens) and shares <= room:
                return end
    return None


def _behind(atoms: list[Atom], piece: Piece, asked: _Asked) -> _Places:
    """Where the last part of a piece may start."""
    found = _Places()
    shared = 0.0
    for at in range(piece.last - 1, piece.first - 1, -1):
        atom = atoms[at]
        if atom.is_prose and shared + atom.tokens > asked.low:
            found.within.append((atom, shared))
        shared += atom.tokens
        if at > piece.first and (atom.is_prose or atom.rank < Break.FORCED):
            found.add(shared, atom.start, atom)
        if shared > asked.high:
            break
    return found


def _ahead(atoms: list[Atom], piece: Piece, asked: _Asked) -> _Places:
    """Where the first part of a piece may end."""
    found = _Places()
    shared = 0.0
    for at in range(piece.first, piece.last - 1):
        atom, following = atoms[at], atoms[at + 1]
        if atom.is_prose and shared + atom.tokens > asked.low:
            found.within.append((atom, shared))
        shared += atom.tokens
        if following.rank < Break.FORCED:
            found.add(shared, atom.end, following)
        if shared > asked.high:
            break
    return found


def _by_worth(text: str, places: _Places, asked: _Asked, worths: Worths, *, is_ahead: bool) -> Iterable[list[int]]:
    """Places to try, by what they are between; of each kind those nearest to what is wanted first."""

    def inside(starts_in: StartsIn) -> Sized:
        return [
            (shared + abs(place - (atom.start if is_ahead else atom.end)) * atom.tokens / max(1, atom.end - atom.start), place)
            for atom, shared in places.within
            for place in starts_in(text, atom.start, atom.end)
        ]

    for starts_in in worths:
        if starts_in is None:
            yield _nearest(places.sentences, asked, _SLACK)
        else:
            also = places.clauses if starts_in is clause_starts else []
            yield _nearest(also + inside(starts_in), asked, _ROUGH)


def _nearest(places: Sized, asked: _Asked, slack: float) -> list[int]:
    near = [(abs(size - asked.best), place) for size, place in places if asked.low * slack <= size <= asked.high / slack]
    return [place for _, place in sorted(near)[:_MOST_PLACES]]
