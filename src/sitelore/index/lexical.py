"""BM25 over packed postings: which chunks hold the words of a question, and how much that says.

What is counted (how many chunks there are, how many hold a word, how long they are) is counted over live chunks alone, of all
sites that are asked at once. So an index that was made again gives the same scores as one that grew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from sitelore.index.terms import Asked

K1 = 1.5
"""How slowly repeating a word stops to count."""
B = 0.7
"""How much oftener a long chunk must say a word."""

_ENTRY_BYTES = 8
_COMMON_SHARE, _COMMON_WORDS = 8, 32
"""A word is common that every eighth chunk holds; 8 bytes for each chunk are kept for so many of them."""
_SPREAD = 8
_SMALL = 1 << 16

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Numbers = NDArray[np.uint32]


class LiveChunks:
    """The live chunks of a site by number, and the place of each in the order of numbers."""

    __slots__ = ("_places", "lengths", "numbers")

    def __init__(self, numbers: Numbers, lengths: NDArray[np.uint16]) -> None:
        self.numbers = numbers
        self.lengths = lengths
        self._places: NDArray[np.int32] | None = None
        highest = int(numbers[-1]) if len(numbers) else 0
        # A table beats a search by far, and is small unless numbers run far ahead of chunks.
        if len(numbers) and highest < _SPREAD * len(numbers) + _SMALL:
            self._places = np.full(highest + 1, -1, np.int32)
            self._places[numbers] = np.arange(len(numbers), dtype=np.int32)

    def __len__(self) -> int:
        return len(self.numbers)

    def places(self, numbers: Numbers) -> tuple[Places, NDArray[np.bool_]]:
        """Where these chunks stand, for those that live; and which those are."""
        if not len(self.numbers):
            return np.empty(0, np.int64), np.zeros(len(numbers), np.bool_)
        if self._places is not None:
            inside = np.minimum(numbers, len(self._places) - 1)
            found = self._places[inside].astype(np.int64)
            live = (found >= 0) & (inside == numbers)
        else:
            found = np.searchsorted(self.numbers, numbers)
            np.minimum(found, len(self.numbers) - 1, out=found)
            live = self.numbers[found] == numbers
        return found[live], live


@dataclass(frozen=True, slots=True)
class Entries:
    """Where a term stands in a collection: places ascending, and how often in each."""

    places: Places
    counts: Floats


NOWHERE = Entries(np.empty(0, np.int64), np.empty(0, np.float64))


def unpacked(packed: Sequence[bytes], chunks: LiveChunks, first_place: int = 0) -> Entries:
    """Packed postings of one site without what is dead. Places begin at `first_place`."""
    sizes = [len(part) // _ENTRY_BYTES for part in packed]
    numbers = b"".join([part[: 4 * size] for part, size in zip(packed, sizes, strict=True)])
    counts = b"".join([part[4 * size : 6 * size] for part, size in zip(packed, sizes, strict=True)])
    found, live = chunks.places(np.frombuffer(numbers, "<u4"))
    return Entries(found + first_place, np.frombuffer(counts, "<u2")[live].astype(np.float64))


def joined(parts: Sequence[Entries]) -> Entries:
    """Entries of one term, one behind the other."""
    if len(parts) < 2:
        return parts[0] if parts else NOWHERE
    return Entries(np.concatenate([part.places for part in parts]), np.concatenate([part.counts for part in parts]))


def merged(entries: Sequence[Entries]) -> Entries:
    """Several terms as if they were one, where a chunk may hold more than one of them."""
    held = [each for each in entries if len(each.places)]
    if len(held) < 2:
        return held[0] if held else NOWHERE
    places, inverse = np.unique(np.concatenate([each.places for each in held]), return_inverse=True)
    counts = np.zeros(len(places))
    np.add.at(counts, inverse, np.concatenate([each.counts for each in held]))
    return Entries(places, counts)


class Collection:
    """The chunks that are asked, of one site or several, one behind the other."""

    __slots__ = ("_common", "lengths", "norms")

    def __init__(self, sites: Sequence[LiveChunks]) -> None:
        lengths = np.concatenate([site.lengths for site in sites]) if sites else np.empty(0, np.uint16)
        self.lengths = lengths.astype(np.float64)
        mean = max(1.0, int(lengths.sum(dtype=np.int64)) / max(1, len(lengths)))
        self.norms: Floats = K1 * (1 - B + B * self.lengths / mean)
        """How many mentions count half as much as mentions can, in each chunk."""
        self._common: OrderedDict[tuple[str, ...], Floats] = OrderedDict()

    def __len__(self) -> int:
        return len(self.lengths)

    def rarity(self, holding: int) -> float:
        """How much a word says that so many chunks hold; above zero even for a word that all do."""
        return log(1 + (len(self) - holding + 0.5) / (holding + 0.5))

    def common(self, terms: tuple[str, ...], found: Entries) -> Floats:
        """What its mentions are worth in every chunk, for a word of which most questions have some: it is kept."""
        known = self._common.get(terms)
        if known is None:
            known = np.zeros(len(self))
            known[found.places] = saturated(found.counts, self.norms[found.places])
            self._common[terms] = known
            if len(self._common) > _COMMON_WORDS:
                self._common.popitem(last=False)
        self._common.move_to_end(terms)
        return known


@dataclass(frozen=True, slots=True)
class Weighed:
    """A word of a question with where it stands and how much it says."""

    asked: Asked
    found: Entries
    rarity: float


def weighed(asked: Sequence[Asked], entries: Mapping[str, Entries], collection: Collection) -> list[Weighed]:
    """The words of a question that stand anywhere in the collection."""
    words = []
    for word in asked:
        found = merged([entries[term] for term in word.terms if term in entries])
        if len(found.places):
            words.append(Weighed(word, found, collection.rarity(len(found.places))))
    return words


def scores(words: Sequence[Weighed], collection: Collection) -> Floats:
    """The score of every chunk of the collection; zero where none of the words stands."""
    total, part = np.zeros(len(collection)), np.empty(len(collection))
    for word in words:
        places, weight = word.found.places, word.asked.weight * word.rarity
        if _COMMON_SHARE * len(places) > len(collection):
            total += np.multiply(weight, collection.common(word.asked.terms, word.found), out=part)
        else:
            total[places] += weight * saturated(word.found.counts, collection.norms[places])
    return total


def saturated(counts: Floats, norms: Floats) -> Floats:
    """What so many mentions in chunks of these norms are worth."""
    worth: Floats = counts * (K1 + 1) / (counts + norms)
    return worth
