from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sitelore.extract.writing.markdown import _UNSEEN, unseen
from sitelore.extract.writing.texts import Sign, Within, even, signs_in

_SPACES = ("\n", " ", "\u2003", "\u2028", "\u3000", "\xa0", "\x85", "\u1680")
_LONG = st.lists(st.sampled_from(["a line of words. ", "word", *_SPACES, "\u2019", "一"]), min_size=20, max_size=90).map(
    "".join
)


@given(_LONG, st.lists(st.sampled_from(["\u200b", "\U000e0041", "\x01", "\ufeff", "\U000f0000"]), max_size=5), _LONG)
def test_characters_are_found_wherever_they_stand(before: str, chars: list[str], after: str) -> None:
    within = Within(((0x01, 0x08), (0x200B, 0x200F), (0xFEFF, 0xFEFF), (0xE0000, 0xE0FFF)), 3)
    utf8 = f"{before}{after.join(chars)}{after}".encode()
    assert within.all_in(utf8) == "".join(dict.fromkeys(char for char in chars if char != "\U000f0000"))[:3]


def test_an_escaped_tag_is_no_sign_of_emphasis() -> None:
    assert signs_in(b"a <strong>b</strong>") == Sign.ENDS | Sign.OPENS | Sign.CLOSES
    assert signs_in(b"a \\<strong>b\\</strong>") == Sign.ENDS
    assert signs_in(b"first  \n> |---|") == Sign.RULED


def test_a_marker_within_a_tag_of_emphasis_is_a_sign() -> None:
    assert signs_in(b"<em>a *b*</em>") == Sign.ENDS | Sign.OPENS | Sign.CLOSES | Sign.CROWDED
    assert signs_in(b"<em>a</em> *b*") & Sign.CROWDED == 0
    assert signs_in(b"<em>a\n*b*</em>") & Sign.CROWDED == 0


def test_a_text_with_many_kinds_of_unseen_characters_is_searched_for_all() -> None:
    few, many = "".join(map(chr, range(0x200B, 0x200F))), "".join(map(chr, range(0xE0001, 0xE0021)))
    assert unseen(f"a{few}b{few}".encode()) == frozenset(few)
    assert unseen(f"a{many}".encode()) == _UNSEEN
    assert unseen(b"plain\n") == frozenset()


def test_repeated_lines_and_blocks_are_a_sign() -> None:
    assert signs_in(b"a\n\na") == signs_in(b"a\nb\n\na\nb") == signs_in(b"x\nx") == Sign.REPEATED
    assert signs_in(b"a\nb\na") == 0


def test_even_text_has_single_spaces_and_no_empty_lines() -> None:
    assert even("  one\t two\xa0\u202fthree \n\n\u3000\nfour\u2003five\r\n") == "one two three\nfour five"
