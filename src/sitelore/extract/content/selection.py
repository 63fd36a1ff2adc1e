"""Selects the content of a scored page: which structural units are kept, which are cut, and why.

Pages of documentation keep their whole content region but navigation (`documentation`). On all other pages the scores decide:
every unit is kept or dropped so that the expected gain in content words is largest, where a unit whose state differs from its
parent's costs something. A small dynamic programme finds the best choice, in time linear in the number of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul

from sitelore.extract.content.block_scorer import ScoredPage
from sitelore.extract.content.units import LINK, PAIR, Units
from sitelore.extract.content.vocabulary import LANDMARK, MARK, TAG_NUMBER

_LEAVE_COST = 0.05
"""For each word of a unit that is cut from a kept one."""
_LEAVE_STRUCTURE_COST = 0.25
"""For each word of code, a table or a definition list that is cut from a kept unit: they are hardly ever navigation."""
_ENTER_COST, _ENTER_COST_PER_WORD = 3.0, 0.1
"""For a unit that is kept inside a dropped one."""
_MANY_LINKS = 0.5
_MOSTLY_LINKS = 0.6
_REPEATED_WORDS = 4
_MANY_LISTINGS = 3  # of code: documentation repeats lines on purpose
_IN_CODE_OR_TABLE = LANDMARK[b"pre"] | LANDMARK[b"table"]


def tag_bits(*tags: bytes) -> int:
    """A set of tags as bits, as `Units.tags` has them."""
    return sum(1 << TAG_NUMBER[tag] for tag in tags)


def mark_bits(*groups: str) -> int:
    """A set of mark groups as bits, as `Units.marks` has them."""
    return sum(MARK[group] for group in groups)


_SECONDARY_TAGS = tag_bits(b"nav", b"footer", b"form")
_CONTENT_TAGS = tag_bits(b"table", b"tr", b"section", b"dl", b"p", b"pre")
"""Never taken for navigation because of their links or names."""
_STRUCTURE_TAGS = tag_bits(b"table", b"dl", b"pre")
_NAVIGATION_MARKS = mark_bits("nav", "page", "related", "share", "toc")
_SECONDARY_MARKS = _NAVIGATION_MARKS | mark_bits(
    "foot", "side", "comment", "ad", "modal", "tags", "form", "cart", "review", "filter", "vote", "place", "head"
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A unit that was cut from kept content."""

    first: int
    last: int
    """Its blocks."""
    element: int
    """Row of its element; -1 for a section."""
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which blocks of a page are kept."""

    kept: list[bool]
    cuts: list[Cut] = field(default_factory=list)
    threshold: float = 0.0
    """Score above which a block counts as content."""
    expected_f1: float = 0.0
    """Of the kept words, the scores taken as probabilities."""


def threshold_of(words: list[int], scores: list[float]) -> tuple[float, float]:
    """The score from which on a block is worth keeping, and the expected F1 of keeping all of these.

    F1 is largest when every block above half of that largest F1 is kept. The threshold is computed so, instead of taken from
    the last block worth keeping: it moves little when a page does, and two fetches of one page give the same choice.
    """
    mass = list(map(mul, scores, words))
    total, held, held_mass, expected = sum(mass), 0, 0.0, 0.0
    for block in sorted(range(len(scores)), key=scores.__getitem__, reverse=True):
        held, held_mass = held + words[block], held_mass + mass[block]
        expected = max(expected, 2 * held_mass / (held + total))
    return min(expected / 2, max(scores)), expected


def select_scored(page: ScoredPage, units: Units, threshold: float, expected_f1: float) -> Selection:
    """The units that make the best page by their scores. `threshold` and `expected_f1` are those of `threshold_of`."""
    words, scores = page.blocks.words, page.scores
    run_cost = [0.0, *accumulate([(threshold - score) * count for score, count in zip(scores, words, strict=True)])]
    leave = _leave_costs(units)
    enter = [_ENTER_COST + _ENTER_COST_PER_WORD * count for count in units.words]
    keep, drop = _unit_costs(units, run_cost, leave, enter)
    own, children, kind = units.own, units.children, units.kind
    kept_blocks = [False] * len(words)
    cuts = []
    open_units = [(0, keep[0] < drop[0])]
    while open_units:
        unit, is_kept = open_units.pop()
        if is_kept:
            for first, last, _ in own[unit]:
                kept_blocks[first:last] = [True] * (last - first)
        for child in children[unit]:
            if kind[unit] == PAIR:
                stays = is_kept
            elif is_kept:
                stays = keep[child] <= drop[child] + leave[child]
                if not stays:
                    reason = _secondary_reason(units, child) or f"scored below {threshold:.2f}"
                    cuts.append(Cut(units.first[child], units.last[child], units.element[child], reason))
            else:
                stays = keep[child] + enter[child] < drop[child]
            open_units.append((child, stays))
    drop_repeats(page, kept_blocks)
    drop_bare_headings(page, kept_blocks)
    return Selection(kept_blocks, cuts, threshold, expected_f1)


def _unit_costs(units: Units, run_cost: list[float], leave: list[float], enter: list[float]) -> tuple[list[float], list[float]]:
    """What it costs to keep and to drop each unit, with the best choice inside it. `run_cost` is that of keeping blocks."""
    keep, drop = [0.0] * len(units), [0.0] * len(units)
    own, children, kind = units.own, units.children, units.kind
    for unit in units.bottom_up():
        kept_cost = dropped_cost = 0.0
        for first, last, _ in own[unit]:
            kept_cost += run_cost[last] - run_cost[first]
        for child in children[unit]:
            kept, dropped = keep[child], drop[child]
            if kind[unit] != PAIR:  # a term goes with its definitions
                kept, dropped = min(kept, dropped + leave[child]), min(dropped, kept + enter[child])
            kept_cost += kept
            dropped_cost += dropped
        keep[unit], drop[unit] = kept_cost, dropped_cost
    return keep, drop


def _leave_costs(units: Units) -> list[float]:
    """What it costs to cut each unit from a kept one: nothing for what its markup or its links call secondary."""
    costs = []
    for unit, (kind, tags, words) in enumerate(zip(units.kind, units.tags, units.words, strict=True)):
        if _secondary_reason(units, unit):
            costs.append(0.0)
        else:
            costs.append((_LEAVE_STRUCTURE_COST if tags & _STRUCTURE_TAGS or kind == PAIR else _LEAVE_COST) * words)
    return costs


def _secondary_reason(units: Units, unit: int) -> str:
    """Why a unit may be cut at no cost: its markup or its links say that it is not content. Empty where nothing does."""
    if kind := units.kind[unit]:
        return "a link between elements" if kind == LINK else ""
    tags, marks, linked, words = units.tags[unit], units.marks[unit], units.linked[unit], units.words[unit]
    if tags & _SECONDARY_TAGS:
        return "a nav, footer or form element"
    if marks & _NAVIGATION_MARKS and linked > _MANY_LINKS * words:
        return "named as navigation, and mostly links"
    if tags & _CONTENT_TAGS:
        return ""
    if linked > _MOSTLY_LINKS * words:
        return "mostly links"
    return "named as secondary content" if marks & _SECONDARY_MARKS else ""


def drop_repeats(page: ScoredPage, kept: list[bool]) -> None:
    """Drop kept blocks that repeat a kept one: cards and captions are often written twice. Not in code and tables."""
    if page.elements.tag.count(TAG_NUMBER[b"pre"]) > _MANY_LISTINGS:
        return
    seen: set[bytes] = set()
    for block, count in enumerate(page.blocks.words):
        if not kept[block] or page.copies[block] < 2 or count < _REPEATED_WORDS or page.landmarks[block] & _IN_CODE_OR_TABLE:
            continue
        text = b" ".join(page.text[page.blocks.begin[block] : page.blocks.end[block]].lower().split())
        kept[block] = text not in seen
        seen.add(text)


def drop_bare_headings(page: ScoredPage, kept: list[bool]) -> None:
    """Drop headings whose whole section in their element was cut; the last ones first, so that those above them follow.

    Not one that is a link: that is the title of a card.
    """
    levels, elements, blocks = page.heading, page.elements, page.blocks
    for block in range(len(kept) - 2, -1, -1):
        if not kept[block] or levels[block] < 2 or (kept[block + 1] and not levels[block + 1]):
            continue
        if blocks.linked[block] >= _MANY_LINKS * blocks.words[block]:
            continue
        around = elements.parent[blocks.element[block]]
        end = elements.last[around] if around >= 0 else len(kept)
        section = range(block + 1, _section_end(levels, block, end))
        if section and not any(kept[at] for at in section):
            kept[block] = False


def _section_end(levels: Sequence[int], heading: int, end: int) -> int:
    for block in range(heading + 1, end):
        if 0 < levels[block] <= levels[heading]:
            return block
    return end
