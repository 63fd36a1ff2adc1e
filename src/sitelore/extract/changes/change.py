"""Has a page changed since it was fetched last, or does it only tick?

Two fetches of a page are compared line by line and, where lines differ, word by word. Words that change by themselves
(`volatile`) are no change, nor is another order of a list of links or other links in a box of related ones. What is no noise by
its form can turn out to be noise: where a page differs from itself again and again, the place is remembered as a slot, and
later differences in it are no change either. A place that keeps still is forgotten again, step by step. Prices, shares and
versions are never noise, whatever their place.

A slot is a range of words of one line of the document last stored; each comparison carries the slots over to the next one.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import IntEnum

import msgspec
import zstandard

from sitelore.extract.changes.changing_lines import Line, limit_masking, lines_of
from sitelore.extract.changes.volatile import MARK, is_amount, is_integer
from sitelore.model.document import Blob, Comparison

_SLOTS = 64
_HIGHEST = 8
_ALL = 0xFFFF
_MOST_CHARS = 1_000_000
_MOST_LINES = 1_000
_MOST_WORDS = 400
_MOST_PAIRS = 2_500
_ALIKE = 0.4
_SLOT = struct.Struct("<HHHBB")


class Noise(IntEnum):
    """What differed in a slot, and so how often it must before it is taken for noise."""

    SHAPED = 0
    """A word that changes by itself stood there: whatever comes next is no change."""
    NUMBER = 1
    """A plain number: noise when it differs for the second time."""
    WORDS = 2
    """Any text: noise when it differs for the third time."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A range of words in which a page differs from itself."""

    line: int
    start: int
    end: int
    noise: Noise
    score: int = 1

    def covers(self, start: int, end: int) -> bool:
        """Whether a difference lies in it."""
        return self.start <= start and end <= self.end

    @property
    def is_noise(self) -> bool:
        """Whether a difference here means nothing."""
        return self.score >= max(1, self.noise)


class _Told(msgspec.Struct):
    """The part of a stored document that is compared."""

    title: str = ""
    markdown: str = ""
    text: str = ""


_DECODER = msgspec.json.Decoder(_Told)


def compare_documents(before: bytes, after: Blob, volatile: bytes, *, learn: bool = True) -> Comparison:
    """The same for documents as they are stored; the later one is still compressed."""
    old = _DECODER.decode(before)
    new = _decoded(after)
    return compare((old.title, old.markdown), (new.title, new.markdown), volatile, learn=learn)


def compare(before: tuple[str, str], after: tuple[str, str], volatile: bytes = b"", *, learn: bool = True) -> Comparison:
    """Title and Markdown of two fetches of a page. Without `learn` slots are only carried over."""
    if max(len(before[1]), len(after[1])) > _MOST_CHARS:
        return Comparison(changed=before != after)
    found = _Differences(lines_of(*before), lines_of(*after), _unpacked(volatile))
    changed = found.walk()
    slots = found.slots if learn else [slot for slot in found.slots if slot.line in found.carried]
    return Comparison(changed, _packed(slots))


def words_between(before: bytes, after: Blob) -> tuple[int, int]:
    """How many words of its text a page gained and lost between two documents as they are stored."""
    old = Counter(_DECODER.decode(before).text.split())
    new = Counter(_decoded(after).text.split())
    return (new - old).total(), (old - new).total()


def _decoded(blob: Blob) -> _Told:
    return _DECODER.decode(zstandard.ZstdDecompressor().decompressobj().decompress(blob.data))


def calmed(volatile: bytes) -> bytes:
    """The slots after a fetch that brought the very same page: what kept still is a step nearer to being forgotten."""
    return _packed(_calmer(slot) for slot in _unpacked(volatile)) if volatile else b""


class _Differences:
    """One comparison under way."""

    def __init__(self, old: Sequence[Line], new: Sequence[Line], known: Iterable[Slot]) -> None:
        self._old = old
        self._new = new
        self._known: dict[int, list[Slot]] = {}
        for slot in known:
            self._known.setdefault(slot.line, []).append(slot)
        self.slots: list[Slot] = []
        self.carried: set[int] = set()
        """Lines of the new document that took over slots."""

    def walk(self) -> bool:
        """Whether anything differs that is not noise. Fills `slots`."""
        old, new = self._old, self._new
        start = 0
        while start < min(len(old), len(new)) and old[start].source == new[start].source:
            self._same(start, start)
            start += 1
        tail = 0
        while tail < min(len(old), len(new)) - start and old[-1 - tail].source == new[-1 - tail].source:
            tail += 1
            self._same(len(old) - tail, len(new) - tail)
        old_end, new_end = len(old) - tail, len(new) - tail
        for lines in (old[start:old_end], new[start:new_end]):
            limit_masking(lines)
        if max(old_end, new_end) - start > _MOST_LINES:
            return [line.key for line in old[start:old_end]] != [line.key for line in new[start:new_end]]
        matcher = SequenceMatcher(
            None, [line.key for line in old[start:old_end]], [line.key for line in new[start:new_end]], autojunk=False
        )
        changed = False
        for what, i1, i2, j1, j2 in matcher.get_opcodes():
            if what == "equal":
                for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                    self._same(start + i, start + j)
            else:
                changed |= self._replaced(range(start + i1, start + i2), range(start + j1, start + j2))
        return changed

    def _same(self, i: int, j: int) -> None:
        """Lines that are equal but for words that change by themselves."""
        old, new = self._old[i], self._new[j]
        known = self._known.get(i, ())
        kept = [replace(_calmer(slot), line=j) for slot in known]
        if old.source != new.source and old.found and len(old.found) == len(new.found):
            places = [at for at, word in enumerate(new.words) if MARK in word]
            for before, after, place in zip(old.found, new.found, places, strict=False):
                if before != after and not any(slot.covers(place, place + 1) for slot in kept):
                    kept.append(Slot(j, place, place + 1, Noise.SHAPED))
        self._keep(kept, j, carried=bool(known))

    def _replaced(self, old: range, new: range) -> bool:
        """Lines that stand where others stood; noise that came or went is no pair of anything."""
        gone, come = list(old), list(new)
        if len(gone) != len(come):
            gone = [i for i in gone if not self._old[i].is_noise]
            come = [j for j in come if not self._new[j].is_noise]
        pairs = _pairs([self._old[i] for i in gone], [self._new[j] for j in come])
        changed = len(pairs) < len(come)
        for i, j in pairs:
            changed |= self._pair(gone[i], come[j])
        for at in set(range(len(gone))).difference(i for i, _ in pairs):
            changed |= not any(slot.is_noise and slot.end == _ALL for slot in self._known.get(gone[at], ()))
        return changed

    def _pair(self, i: int, j: int) -> bool:
        old, new = self._old[i], self._new[j]
        known = self._known.get(i, [])
        changes, moves = _word_changes(old, new)
        changed = False
        learnt: list[Slot] = []
        used: set[Slot] = set()
        for a1, a2, b1, b2 in changes:
            before, after = old.words[a1:a2], new.words[b1:b2]
            if _are_amounts(before) and _are_amounts(after):
                changed = True
                continue
            slot = max((one for one in known if one.covers(a1, a2)), key=lambda one: one.score, default=None)
            noise = Noise.NUMBER if _are_integers(before) and _are_integers(after) else Noise.WORDS
            changed |= slot is None or not slot.is_noise
            used.update([slot] if slot else [])
            score = 1 if slot is None else min(_HIGHEST, slot.score + 1)
            noise = slot.noise if slot is not None and slot.noise is Noise.SHAPED else noise
            learnt.append(Slot(j, b1, _ALL if a2 == _ALL else b2, noise, score))
        kept = [_moved(_calmer(slot), j, moves) for slot in known if slot not in used]
        self._keep([*learnt, *kept], j, carried=bool(known))
        return changed

    def _keep(self, slots: Iterable[Slot], line: int, *, carried: bool) -> None:
        self.slots += [slot for slot in slots if slot.score > 0]
        if carried:
            self.carried.add(line)


def _pairs(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[int, int]]:
    """Which line stands for which: in order, and where there are more on one side, those that are most alike."""
    if len(old) == len(new) or len(old) * len(new) > _MOST_PAIRS:
        return list(zip(range(len(old)), range(len(new)), strict=False))
    if len(old) > len(new):
        return [(i, j) for j, i in _pairs(new, old)]
    pairs: list[tuple[int, int]] = []
    after = 0
    for i, line in enumerate(old):
        words = set(line.words)
        last = len(new) - (len(old) - i)
        best = max(range(after, last + 1), key=lambda j: (len(words & set(new[j].words)), -j))
        pairs.append((i, best))
        after = best + 1
    return pairs


_Change = tuple[int, int, int, int]


def _word_changes(old: Line, new: Line) -> tuple[list[_Change], dict[int, int]]:
    """Where two lines differ, as ranges of words; and where each word of the old line that stayed is now."""
    if old.is_links or new.is_links or max(len(old.words), len(new.words)) > _MOST_WORDS:
        return [(0, _ALL, 0, _ALL)], {}
    matcher = SequenceMatcher(None, old.words, new.words, autojunk=False)
    codes = matcher.get_opcodes()
    moves = {
        i: j for what, i1, i2, j1, j2 in codes if what == "equal" for i, j in zip(range(i1, i2), range(j1, j2), strict=True)
    }
    changes = [(i1, i2, j1, j2) for what, i1, i2, j1, j2 in codes if what != "equal"]
    figures = [one for one in changes if _are_figures(old, new, one)]
    worded = [one for one in changes if one not in figures]
    if worded and matcher.ratio() < _ALIKE:
        return [*figures, (0, _ALL, 0, _ALL)] if not figures else [(0, _ALL, 0, _ALL)], moves
    if len(worded) > 1:
        # Text that is new each time has words in common with the last by chance; its place is all of it.
        worded = [(worded[0][0], worded[-1][1], worded[0][2], worded[-1][3])]
    return [*figures, *worded], moves


def _are_figures(old: Line, new: Line, change: _Change) -> bool:
    a1, a2, b1, b2 = change
    before, after = old.words[a1:a2], new.words[b1:b2]
    return all(_are_amounts(words) or _are_integers(words) for words in (before, after))


def _are_amounts(words: Sequence[str]) -> bool:
    return bool(words) and all(is_amount(word) for word in words)


def _are_integers(words: Sequence[str]) -> bool:
    return bool(words) and all(is_integer(word) for word in words)


def _calmer(slot: Slot) -> Slot:
    return slot if slot.noise is Noise.SHAPED else replace(slot, score=slot.score - 1)


def _moved(slot: Slot, line: int, moves: dict[int, int]) -> Slot:
    """The slot in the new line, by the nearest words around it that stayed."""
    start = next((moves[at] + slot.start - at for at in range(slot.start, -1, -1) if at in moves), slot.start)
    end = slot.end if slot.end == _ALL else max(start, start + slot.end - slot.start)
    return replace(slot, line=line, start=max(0, start), end=end)


def _packed(slots: Iterable[Slot]) -> bytes:
    best = sorted(
        {slot for slot in slots if slot.score > 0 and slot.line < _ALL}, key=lambda s: (-s.score, s.line, s.start, s.end)
    )
    fitting = sorted(best[:_SLOTS], key=lambda slot: (slot.line, slot.start, slot.end))
    return b"".join(_SLOT.pack(s.line, min(s.start, _ALL), min(s.end, _ALL), s.noise, s.score) for s in fitting)


def _unpacked(volatile: bytes) -> list[Slot]:
    return [Slot(line, start, end, Noise(noise), score) for line, start, end, noise, score in _SLOT.iter_unpack(volatile)]
