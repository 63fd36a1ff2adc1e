"""The names of all that is known of a block, and what `describe.c` is told to find out. `block_features` says what each is."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

from sitelore.extract.content.tag_marks import ALL_TAGS, APART, ASIDE, GROUPS, LANDMARK, LANDMARKS, TAG_NUMBER
from sitelore.extract.content.wording import NAMES as WORDING_NAMES

_TOLD_TAGS = (b"h1", b"h6", b"article", b"main", b"p", b"pre")
_ROOTS = ("root0.4", "root0.6", "root0.8", "own_root0.5", "own_root0.7", "own_words0.5", "own_words0.7")
LANDMARK_OF_TAG = [0] * ALL_TAGS
"""By the number of a tag."""
for _tag, _bit in LANDMARK.items():
    LANDMARK_OF_TAG[TAG_NUMBER[_tag]] = _bit
TOLD = array("q", [*(TAG_NUMBER[tag] for tag in _TOLD_TAGS), len(GROUPS), len(LANDMARKS), APART, ASIDE, *LANDMARK_OF_TAG])
"""What tags and landmarks mean, in the order of `describe.c`."""


def _with(names: Sequence[str], parts: str) -> list[str]:
    return [f"{name}_{part}" for name in names for part in parts.split()]


def _words(text: str) -> list[str]:
    return text.split()


def _names() -> tuple[str, ...]:
    steps = ("-2", "-1", "+1", "+2")
    return tuple(
        chain(
            _words("tag outer heading level words linked word_length digits stops commas bars signs currency"),
            _words("links images breaks bold ends_with begins_with"),
            [f"{what}{step}" for step in steps for what in ("words", "linked", "tag")],
            ["heading-1", "heading+1"],
            [f"{what}_within{reach}" for reach in (3, 8, 20) for what in ("good", "linked", "words")],
            _words("good_after8 good_before8 to_next_good to_previous_good to_next_long to_previous_long"),
            _words("place words_place good_left good_before good_after"),
            _with(["section"], "words good good_share linked blocks level number"),
            _words("sections_left since_heading words_since_heading"),
            [f"named_{group}" for group in GROUPS],
            [f"in_{tag.decode()}" for tag in LANDMARKS],
            _with([f"around{step}" for step in (1, 2, 3, 5)], "share good_share linked blocks good"),
            _words("cards card_tag card_words card_linked card_place cards_share cards_good_share cards_linked cards_mean"),
            _with(["holder"], "tag good_share linked good blocks stops"),
            _with(_ROOTS, "blocks words to_end linked share"),
            _words("marked marked_share marked_to_end marked_from_start"),
            _words("titles title_blocks title_words title_share title_steps copy copies"),
            _words("alike alike_share alike_good_share alike_linked alike_mean alike_span since_first_alike"),
            _with(
                ["page"], "words good linked blocks headings paragraphs articles code currency good_blocks good_mean longest"
            ),
            WORDING_NAMES,
        )
    )


NAMES = _names()
"""The features in the order in which they are written."""
