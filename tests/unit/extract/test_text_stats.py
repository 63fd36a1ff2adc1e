from __future__ import annotations

import pytest

from sitelore.extract.text import TextStats, text_stats
from sitelore.model.document import LINES, line_numbers, lines_of


def stats(title: str, text: str, *, has_single_spaces: bool = True) -> TextStats:
    return text_stats(title, text, text.encode(), has_single_spaces=has_single_spaces)


def test_words_are_counted_without_those_of_the_title() -> None:
    assert stats("A title", "Three plain words").words == 3
    assert stats("A title", "Three  uneven \n words", has_single_spaces=False).words == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("四つの漢字", 5),
        ("我们使用 Python 编写程序。", 4 + 1 + 4),
        ("我们使用Python编写程序。", 4 + 1 + 4),
        ("他说「你好」、再见。", 6),
        ("A long English sentence about 漢字 stays as long as it is.", 11 + 2),
        ("東京タワーの高さは333メートルです。", 5 + 4 + 1 + 6),
        ("한국어 문장은 띄어쓰기로 나뉜다", 4),
        ("ภาษาไทยไม่มีช่องว่าง", 5),
        ("Thai ภาษา and English", 4),
        ("هذه جملة باللغة العربية", 4),
        ("Das ist schön — ein Café", 6),
        ("good 😀 morning", 3),
        ("猫 😀 犬", 3),
        ("𠮷野家", 3),
    ],
)
def test_words_are_counted_in_every_script(text: str, words: int) -> None:
    assert stats("A title", text).words == words
    assert stats("題名", text).words == words


def test_the_title_of_a_page_does_not_count_in_any_script() -> None:
    assert stats("漢字の題", "One word").words == 2


def test_pages_that_differ_in_digits_alone_share_their_novelty() -> None:
    one, other = (stats("May", f"Day {day} of May") for day in (1, 22))
    assert one.novelty == other.novelty
    assert one.content_hash != other.content_hash


def test_case_and_line_ends_do_not_matter() -> None:
    one, other = (stats("T", text) for text in ("One line\nand two", "ONE LINE and\nTWO"))
    assert one.content_hash == other.content_hash
    assert one.sketch != other.sketch


def test_the_sketch_has_a_number_for_every_line() -> None:
    assert lines_of(stats("Title", "One\nTWO").sketch) == line_numbers("One\nTWO")


def test_a_page_without_text_measures_nothing() -> None:
    assert stats("Title", " \n ") == TextStats(0, "", "")


def test_of_a_long_text_the_first_and_the_last_lines_are_sketched() -> None:
    text = "\n".join(f"line {number}" for number in range(2 * LINES))
    numbers = line_numbers(text)
    assert lines_of(stats("Title", text).sketch) == numbers[: LINES // 2] + numbers[-LINES // 2 :]
