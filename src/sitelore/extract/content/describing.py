"""The compiled way to a page's features (`describe.c`): the same numbers as `block_features` gives, for a tenth of the cost."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.tag_marks import GROUPS, TAG_NUMBER
from sitelore.extract.content.walking import Walked
from sitelore.extract.content.wording import NAMES, teach
from sitelore.extract.native.library import library

_TOLD_TAGS = (b"h1", b"h6", b"article", b"main", b"p", b"pre")
_ROOTS = ("root0.4", "root0.6", "root0.8", "own_root0.5", "own_root0.7", "own_words0.5", "own_words0.7")


def _with(names: Sequence[str], parts: str) -> list[str]:
    return [f"{name}_{part}" for name in names for part in parts.split()]


def _words(text: str) -> list[str]:
    return text.split()


def names_with(landmarks: Sequence[str]) -> tuple[str, ...]:
    """The features in the order in which they are written."""
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
            [f"in_{tag}" for tag in landmarks],
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
            NAMES,
        )
    )


@dataclass(frozen=True, slots=True)
class Described:
    """The features of a page's blocks, a row a feature, and what choosing needs besides them."""

    matrix: NDArray[np.float32]
    heading: NDArray[np.int64]
    around: NDArray[np.int64]
    marks: NDArray[np.int64]
    copies: NDArray[np.int64]


class Describer:
    """Computes all features in one pass. What tags and names mean is told to it once."""

    told: NDArray[np.int64]
    """What tags and landmarks mean, in the order of `describe.c`."""

    def __init__(
        self, found: ctypes.CDLL, landmarks: Sequence[str], landmark_of: NDArray[np.int64], masks: tuple[int, int]
    ) -> None:
        self.names = names_with(landmarks)
        teach(found)
        self._describe = found.describe
        self._describe.restype = ctypes.c_int64
        self._describe.argtypes = [*[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 2, ctypes.c_char_p, *[ctypes.c_void_p] * 3]
        told = [TAG_NUMBER[tag] for tag in _TOLD_TAGS]
        self.told = np.array([*told, len(GROUPS), len(landmarks), *masks, *landmark_of.tolist()], np.int64)

    def __call__(self, walked: Walked) -> Described | None:
        """None where there is nothing to describe, or no memory to do it in."""
        count, rows = walked.blocks.shape[1], walked.elements.shape[1]
        matrix = np.empty((len(self.names), count), np.float32)
        facts = np.empty((4, count), np.int64)
        into = (self.told.ctypes.data, matrix.ctypes.data, facts.ctypes.data)
        given = (walked.blocks.ctypes.data, walked.elements.ctypes.data, walked.text)
        if count == 0 or self._describe(count, rows, *given, *into) != len(self.names):
            return None
        return Described(matrix, *facts)


def describer(landmarks: Sequence[str], landmark_of: NDArray[np.int64], masks: tuple[int, int]) -> Describer | None:
    """None where it was not compiled. `masks` are the marks and the landmarks that set a block apart."""
    found = library()
    return None if found is None else Describer(found, landmarks, landmark_of, masks)
