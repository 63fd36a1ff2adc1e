"""Suggests a spelling for words that are on no page: the most frequent known word that is a few edits away."""

from __future__ import annotations

from collections.abc import Iterable

MIN_CHARS = 4
_LONG_WORD = 8


def edit_distance(a: str, b: str, limit: int) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours that lead from one word to another; `limit` + 1 if more."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, first in enumerate(a, 1):
        before, last, row = row, before, [i] + [0] * len(b)
        for j, second in enumerate(b, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (first != second))
            if i > 1 and j > 1 and first == b[j - 2] and a[i - 2] == second:
                row[j] = min(row[j], last[j - 2] + 1)
        if min(row) > limit:
            return limit + 1
    return row[-1]


def nearest_term(term: str, known: Iterable[tuple[str, int]]) -> str:
    """The known term that is most like another one; `known`: terms with their frequency. Empty where none is like it."""
    if len(term) < MIN_CHARS:
        return ""
    limit = 2 if len(term) >= _LONG_WORD else 1
    ranked = [
        (distance, -frequency, other)
        for other, frequency in known
        if other != term and (distance := edit_distance(term, other, limit)) <= limit
    ]
    return min(ranked)[2] if ranked else ""
