from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sitelore.extract.writing import texts
from sitelore.extract.writing.emphasis import spell_tags
from sitelore.extract.writing.markdown import _RANGES, _UNSEEN, unseen
from sitelore.extract.writing.texts import (
    Sign,
    Within,
    even,
    even_slowly,
    signs_in,
    signs_slowly,
    spelled,
)

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


@given(_LONG, st.lists(st.sampled_from(["\u200b", "\U000e0041", "\x01", "\ufeff", "\U000f0000"]), max_size=5), _LONG)
def test_characters_are_found_wherever_they_stand(before: str, chars: list[str], after: str) -> None:
    within = Within(((0x01, 0x08), (0x200B, 0x200F), (0xFEFF, 0xFEFF), (0xE0000, 0xE0FFF)), 3)
    utf8 = f"{before}{after.join(chars)}{after}".encode()
    assert within.all_in(utf8) == within.all_slowly(utf8)
    assert within.all_in(utf8) == "".join(dict.fromkeys(char for char in chars if char != "\U000f0000"))[:3]


_TAGS = ("</", "<strong>", "</em>", "<s>", "\\<del>", "</code>", "<br>", "<a>")
_MARKED = st.lists(
    st.sampled_from(["\\_", "\\", "  \n", "\n> |", "|", ":", *_TAGS, "**__", "*", "~", "\ufdd0", "words ", "x" * 70, " > "]),
    max_size=30,
).map("".join)


@given(_MARKED)
def test_compiled_and_plain_see_the_same_signs(text: str) -> None:
    assert signs_in(text.encode()) == signs_slowly(text.encode())


def test_an_escaped_tag_is_no_sign_of_emphasis() -> None:
    assert signs_in(b"a <strong>b</strong>") == Sign.ENDS | Sign.OPENS | Sign.CLOSES
    assert signs_in(b"a \\<strong>b\\</strong>") == Sign.ENDS
    assert signs_in(b"first  \n> |---|") == Sign.RULED


def test_a_marker_within_a_tag_of_emphasis_is_a_sign() -> None:
    assert signs_in(b"<em>a *b*</em>") == Sign.ENDS | Sign.OPENS | Sign.CLOSES | Sign.CROWDED
    assert signs_in(b"<em>a</em> *b*") & Sign.CROWDED == 0
    assert signs_in(b"<em>a\n*b*</em>") & Sign.CROWDED == 0


_EMPHASIS = ("<strong>", "</strong>", "<em>", "</em>", "<em>one</em>", "<strong>two words</strong>", "<code>c</code>", "<del>")
_NEIGHBOURS = (
    " ",
    "word",
    ".",
    "(",
    ")",
    ">",
    "*",
    "_",
    "~",
    "\\",
    "`",
    "\u201c",
    "é",
    "漢",
    "\u2003",
    "\u2019",
    "\xab",
    "\x1c",
)


@given(st.lists(st.sampled_from([*_EMPHASIS, *_NEIGHBOURS, "\n"]), max_size=24).map("".join))
def test_emphasis_that_is_plain_is_spelled_as_whoever_looks_closer_would(text: str) -> None:
    for line, told in zip(text.split("\n"), spelled(text).split("\n"), strict=True):
        assert told in (line, spell_tags(line))


def test_emphasis_between_spaces_and_punctuation_is_plain() -> None:
    assert spelled("### <strong>1. Care</strong>\n\nsays \u201c<em>why</em>\u201d (<em>a b</em>).") == (
        "### **1. Care**\n\nsays \u201c*why*\u201d (*a b*)."
    )
    for open_question in (
        "a<em>b</em>",
        "<em> b</em>",
        "<em>a <strong>b</strong></em>",
        "<em>a</em><em>b</em>",
        "`<em>a</em>`",
    ):
        assert spelled(open_question) == open_question


@given(_TEXT)
def test_compiled_and_plain_make_text_even_alike(text: str) -> None:
    assert even(text.encode()) == even_slowly(text.encode())


@given(_TEXT)
def test_compiled_and_plain_find_the_same_characters(text: str) -> None:
    within = Within(_RANGES, 4)
    assert within.all_in(text.encode()) == within.all_slowly(text.encode())


def test_a_text_with_many_kinds_of_unseen_characters_is_searched_for_all() -> None:
    few, many = "".join(map(chr, range(0x200B, 0x200F))), "".join(map(chr, range(0xE0001, 0xE0021)))
    assert unseen(f"a{few}b{few}".encode()) == frozenset(few)
    assert unseen(f"a{many}".encode()) == _UNSEEN
    assert unseen(b"plain\n") == frozenset()


@given(st.lists(st.sampled_from(["a", "b", "", "\n", "long line", "a\nb"]), max_size=12).map("\n".join))
def test_compiled_and_plain_see_repeats_alike(text: str) -> None:
    assert signs_in(text.encode()) == signs_slowly(text.encode())
