"""How alike two pages are, from sketches small enough to carry around.

A sketch is the sorted smallest hashes of a text's word pairs (a bottom-k sketch). `extract/soft_404.py` makes them;
`frontier` compares a page with a probe of a path that cannot exist.
"""

from __future__ import annotations

SKETCH_SIZE = 32


def similarity(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """The estimated share of word pairs two texts have in common, 0 to 1. Exact for texts shorter than the sketch."""
    if not a or not b:
        return 0.0
    ours, theirs = set(a), set(b)
    smallest = sorted(ours | theirs)[:SKETCH_SIZE]
    return sum(1 for value in smallest if value in ours and value in theirs) / len(smallest)
