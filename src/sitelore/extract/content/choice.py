"""What choosing gives, and the rules that both ways of choosing follow: `choosing`, which is compiled, and `scorer`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from sitelore.extract.content.tag_marks import TAG_NUMBER

MOST_WORDS = {TAG_NUMBER[b"ul"]: 80.0, TAG_NUMBER[b"ol"]: 80.0, TAG_NUMBER[b"tr"]: 200.0, TAG_NUMBER[b"pre"]: inf}
"""Elements that are never cut in two, up to this many words: a longer row of a table is a layout, a longer list has parts."""
NEVER_ALONE = [TAG_NUMBER[tag] for tag in (b"td", b"th", b"hr")]  # dropping an empty cell would shift its row


@dataclass(frozen=True, slots=True)
class Choice:
    """Which blocks are kept, by what score, and how good the choice is expected to be."""

    kept: list[bool]
    scores: list[float]
    threshold: float
    expected: float
    """Expected F1 of the kept words, by the scores themselves."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """What goes: elements, by their places among all elements, and texts that stand directly in an element which stays."""

    elements: list[int]
    texts: dict[int, set[bytes]]
    """By the place of the element they stand in."""
