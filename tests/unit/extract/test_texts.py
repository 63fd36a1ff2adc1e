from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sitelore.extract import texts
from sitelore.extract.markdown import _RANGES
from sitelore.extract.texts import Sign, Within, even, even_slowly, repeats, repeats_slowly, signs_in, signs_slowly

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


# Long enough to be looked at in stretches.
_SPACES = ("\n", " ", "\u2003", "\u2028", "\u3000", "\xa0", "\x85", "\u1680")
_LONG = st.lists(st.sampled_from(["a line of words. ", "word", *_SPACES, "\u2019", "一"]), min_size=20, max_size=90).map(
    "".join
)


@given(_LONG)
def test_compiled_and_plain_make_long_text_even_alike(text: str) -> None:
    assert even(text.encode()) == even_slowly(text.encode())


@given(_LONG, st.sampled_from(["\u200b", "\U000e0041", "\x01", "\ufeff", "\U000f0000", ""]), _LONG)
def test_a_character_is_found_wherever_it_stands(before: str, char: str, after: str) -> None:
    within, utf8 = (
        Within(((0x01, 0x08), (0x200B, 0x200F), (0xFEFF, 0xFEFF), (0xE0000, 0xE0FFF))),
        f"{before}{char}{after}".encode(),
    )
    assert within.first(utf8) == within.first_slowly(utf8)


_TAGS = ("</", "<strong>", "</em>", "<s>", "\\<del>", "</code>", "<br>", "<a>")
_MARKED = st.lists(
    st.sampled_from(["\\_", "\\", "  \n", "\n> |", "|", ":", *_TAGS, "**__", "*", "\ufdd0", "words ", "x" * 70, " > "]),
    max_size=30,
).map("".join)


@given(_MARKED)
def test_compiled_and_plain_see_the_same_signs(text: str) -> None:
    assert signs_in(text.encode()) == signs_slowly(text.encode())


def test_an_escaped_tag_is_no_sign_of_emphasis() -> None:
    assert signs_in(b"a <strong>b</strong>") == Sign.ENDS | Sign.OPENS | Sign.CLOSES
    assert signs_in(b"a \\<strong>b\\</strong>") == Sign.ENDS
    assert signs_in(b"first  \n> |---|") == Sign.RULED


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
