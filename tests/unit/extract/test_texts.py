from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sitelore.extract import texts
from sitelore.extract.markdown import _RANGES
from sitelore.extract.texts import Within, even, even_slowly, repeats, repeats_slowly

_PIECES = st.sampled_from(
    [
        "a",
        "word",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        "\xa0",
        "\u202f",
        "é",
        "漢",
        "😀",
        "\u200b",
        "\xad",
        "\r",
        "\u2003",
        "\x01",
        "\U000e0041",
        "x" * 70,
    ]
)
_TEXT = st.one_of(st.lists(_PIECES, max_size=30).map("".join), st.text(st.characters(exclude_categories=["Cs"]), max_size=80))


def test_it_is_compiled_by_installing() -> None:
    assert texts._EVEN is not None


@given(_TEXT)
def test_compiled_and_plain_make_text_even_alike(text: str) -> None:
    assert even(text.encode()) == even_slowly(text.encode())


@given(_TEXT, st.integers(0, 3))
def test_compiled_and_plain_find_the_same_character(text: str, start: int) -> None:
    within = Within(_RANGES)
    skipped = len(text[:start].encode())
    assert within.first(text.encode(), skipped) == within.first_slowly(text.encode(), skipped)


@given(st.lists(st.sampled_from(["a", "b", "", "\n", "long line", "a\nb"]), max_size=12).map("\n".join))
def test_compiled_and_plain_see_repeats_alike(text: str) -> None:
    assert repeats(text.encode()) == repeats_slowly(text.encode())
