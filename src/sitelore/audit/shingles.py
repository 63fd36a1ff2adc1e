"""Finds near duplicates among pages by their content: shingles, min-hashes, locality-sensitive hashing, Jaccard index.

Shingles are 5 words long. The Jaccard index is computed in full for pairs that hashing finds. The work is linear in the
number of pages unless many are alike: only pages that share a band of min-hashes are compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

from sitelore.model.audit.findings import Shingles
from sitelore.model.errors import DiskFull

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHINGLE_WORDS = 5
HASHES = 128
BANDS = ((0.88, 16), (0.0, 32))
"""The number of bands by the lowest similarity that is looked for: more bands find pairs that are less alike."""
MAX_BUCKET = 200
"""Pages of one bucket that are compared with each other; the rest is compared with the first."""
CUT = 0.80
"""Two clusters are not joined if pages of them are less alike than this."""
MAX_CHARS = 200_000
"""Of a text: the rest is not compared."""
COMPARED = 4
"""Pages of each cluster that are compared before two are joined."""

_COMMON_CHARS = 0x20000
"""Characters from here on are mostly ideographs: all count as letters."""
_BASE = 0xD1342543DE82EF95
_SEED = 20_240_501


class _NamelessFile:
    """A temporary file without a name, closed with the last reference to it."""

    def __init__(self) -> None:
        with TemporaryFile(buffering=0) as file:
            self.descriptor = os.dup(file.fileno())

    def __del__(self) -> None:
        os.close(self.descriptor)


class StoredShingles:
    """The shingles of a page in a `ShingleFile`; `bytes` reads them."""

    __slots__ = ("_at", "_file", "_size")

    def __init__(self, file: _NamelessFile, at: int, size: int) -> None:
        self._file, self._at, self._size = file, at, size

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return os.pread(self._file.descriptor, self._size, self._at)


class ShingleFile:
    """Keeps the shingles of pages in a temporary file: those of a large site would take hundreds of megabytes of memory."""

    def __init__(self) -> None:
        self._file = _NamelessFile()
        self._size = 0

    def store(self, shingles: bytes) -> Shingles:
        """Write the shingles of a page."""
        if not shingles:
            return b""
        at, self._size = self._size, self._size + len(shingles)
        if os.pwrite(self._file.descriptor, shingles, at) != len(shingles):
            raise DiskFull("no room for a temporary file of the audit; free some space, or set TMPDIR to another disk")
        return StoredShingles(self._file, at, len(shingles))


class SimilarPair(NamedTuple):
    """Two pages and the Jaccard index of their shingles."""

    first: str
    second: str
    similarity: float


def shingles_of(text: str) -> bytes:
    """The sorted distinct 32-bit hashes of a text's runs of five words, as bytes; empty for a shorter text."""
    import numpy as np  # noqa: PLC0415 part of an extra

    words = _word_hashes(text[:MAX_CHARS].lower()[:MAX_CHARS])
    if len(words) < SHINGLE_WORDS:
        return b""
    runs = np.zeros(len(words) - SHINGLE_WORDS + 1, np.uint64)
    for at in range(SHINGLE_WORDS):
        runs = runs * np.uint64(0x9E3779B97F4A7C15) + words[at : at + len(runs)]
        runs ^= runs >> np.uint64(29)
    values = (runs >> np.uint64(16)).astype(np.uint32)
    values.sort()
    is_first = np.ones(len(values), bool)
    is_first[1:] = values[1:] != values[:-1]  # faster than `np.unique` for so few
    return values[is_first].tobytes()


def _word_hashes(text: str) -> NDArray[np.uint64]:
    """The hashes of the words of a text, runs of letters, digits and underscores, in order.

    A hash is the sum of the characters, each multiplied by a power of a large number. The sums of all words come from running
    totals, so no word becomes an object of Python: a regular expression and a lookup of each word take three times as long.
    """
    import numpy as np  # noqa: PLC0415 part of an extra

    is_word_char, powers = _hash_tables()
    chars = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    inside = np.zeros(len(chars) + 2, bool)
    inside[1:-1] = is_word_char[np.minimum(chars, _COMMON_CHARS)]
    edges = np.flatnonzero(inside[1:] != inside[:-1])  # starts and ends of words by turns
    totals = np.zeros(len(chars) + 1, np.uint64)
    np.cumsum(chars * powers[: len(chars)], out=totals[1:])
    starts = edges[::2]
    # Multiplied by the power that makes it independent of the place of the word.
    hashes: NDArray[np.uint64] = (totals[edges[1::2]] - totals[starts]) * powers[MAX_CHARS - starts]
    return hashes


@cache
def _hash_tables() -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Whether a character belongs to words, by its number, and the powers that hash characters by their place."""
    import numpy as np  # noqa: PLC0415 part of an extra

    in_words = bytes(char.isalnum() or char == "_" for char in map(chr, range(_COMMON_CHARS)))
    powers = np.full(MAX_CHARS + 1, _BASE, np.uint64)
    powers[0] = 1
    return np.frombuffer(in_words + b"\1", bool), np.cumprod(powers)


def jaccard(first: Shingles, second: Shingles) -> float:
    """The share of shingles that two texts have in common."""
    import numpy as np  # noqa: PLC0415 part of an extra

    a, b = np.frombuffer(bytes(first), np.uint32), np.frombuffer(bytes(second), np.uint32)
    both = len(np.intersect1d(a, b, assume_unique=True))
    return both / (len(a) + len(b) - both) if len(a) or len(b) else 0.0


def similar_pairs(pages: Mapping[str, Shingles], threshold: float = 0.90) -> list[SimilarPair]:
    """The pairs of pages whose shingles are at least this much alike, most alike first."""
    pairs: list[SimilarPair] = []
    bands = next(number for lowest, number in BANDS if threshold >= lowest)
    for first, second in sorted(set(_candidates(pages, bands))):
        a, b = pages[first], pages[second]
        if min(len(a), len(b)) >= threshold * max(len(a), len(b)) and (value := jaccard(a, b)) >= threshold:
            pairs.append(SimilarPair(first, second, value))
    return sorted(pairs, key=lambda pair: (-pair.similarity, pair.first, pair.second))


def _candidates(pages: Mapping[str, Shingles], bands: int) -> Iterator[tuple[str, str]]:
    """Yield the pairs that share a band of min-hashes, each in alphabetical order."""
    import numpy as np  # noqa: PLC0415 part of an extra

    multipliers, offsets = _permutations()
    urls = [url for url, shingles in pages.items() if shingles]
    rows = HASHES // bands
    digests = np.empty((bands, len(urls)), np.uint64)
    weights = np.random.default_rng(_SEED).integers(1, 2**64 - 1, rows, np.uint64) | np.uint64(1)
    for number, url in enumerate(urls):
        # A weighted sum of each band; that of different bands may be equal, but then their pages are compared in full.
        digests[:, number] = _min_hashes(bytes(pages[url]), multipliers, offsets).reshape(bands, rows) @ weights
    for band in digests:
        order = np.argsort(band, kind="stable")
        ends = np.flatnonzero(np.append(band[order][1:] != band[order][:-1], True)) if len(order) else order
        for start, end in zip((0, *(ends[:-1] + 1).tolist()), (ends + 1).tolist(), strict=False):
            alike = [urls[number] for number in order[start:end].tolist()] if end - start > 1 else []
            for at, url in enumerate(alike[:MAX_BUCKET]):
                yield from (_ordered(url, other) for other in alike[at + 1 : MAX_BUCKET])
            yield from (_ordered(alike[0], other) for other in alike[MAX_BUCKET:])


def _ordered(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)


def _permutations() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    import numpy as np  # noqa: PLC0415 part of an extra

    numbers = np.random.default_rng(_SEED).integers(1, 2**32 - 1, (2, HASHES), dtype=np.uint32)
    return numbers[0] | np.uint32(1), numbers[1]


def _min_hashes(shingles: bytes, multipliers: NDArray[np.uint32], offsets: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The smallest hash of the shingles under each permutation. Long texts are taken in parts, to bound the memory."""
    import numpy as np  # noqa: PLC0415 part of an extra

    numbers = np.frombuffer(shingles, np.uint32)
    smallest: Any = np.full(HASHES, 2**32 - 1, np.uint32)
    for start in range(0, len(numbers), 4096):
        part = numbers[start : start + 4096, None] * multipliers + offsets
        smallest = np.minimum(smallest, part.min(axis=0))
    result: NDArray[np.uint32] = smallest
    return result


def clusters(pairs: Iterable[SimilarPair], pages: Mapping[str, Shingles]) -> list[list[str]]:
    """Group pages that are alike. Two groups are joined unless their first pages are less alike than `CUT`."""
    group_of: dict[str, list[str]] = {}
    for pair in pairs:
        groups = group_of.setdefault(pair.first, [pair.first]), group_of.setdefault(pair.second, [pair.second])
        larger, smaller = sorted(groups, key=len, reverse=True)
        if larger is smaller or any(jaccard(pages[a], pages[b]) < CUT for a in larger[:COMPARED] for b in smaller[:COMPARED]):
            continue
        larger.extend(smaller)
        group_of.update(dict.fromkeys(smaller, larger))
    groups_by_identity = {id(group): group for group in group_of.values() if len(group) > 1}
    return list(groups_by_identity.values())
