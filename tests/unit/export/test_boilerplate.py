from __future__ import annotations

import random
import re

import pytest

from sitelore.export.boilerplate import CleanedPage, UnitKind, group_lists, match_lines, remove_repeats, split_units
from sitelore.model.document import line_numbers

COOKIES = "We use cookies to make this site work for you."
CALL = "Ready to start? [Talk to us](https://a.example/contact) today."
OWN = "\n\n".join(f"Paragraph {n} says something that no other page of this site says." for n in range(8))


def text_of(markdown: str) -> str:
    """Near enough to what extraction writes beside the Markdown."""
    lines = []
    for line in markdown.split("\n"):
        plain = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", line)
        plain = re.sub(r"\]\([^)]*\)", "", plain).replace("[", "").replace("**", "").lstrip("# >")
        if plain.strip() and not re.fullmatch(r"[|\s:-]+|`{3}.*", plain):
            lines.append(plain.strip())
    return "\n".join(lines)


def cut(markdown: str, *repeats: str, wide: bool = False) -> CleanedPage:
    numbers = frozenset(number for repeat in repeats for number in line_numbers(text_of(repeat)))
    return remove_repeats(markdown, text_of(markdown), numbers, numbers if wide else frozenset())


def test_markdown_falls_into_units_that_cover_it() -> None:
    markdown = (
        "# Title\n\nOne.\ntwo\n\n- a\n- b\n  - c\n\n  more of b\n- d\n\n```py\nx\n\n- y\n```\n\n| a |\n| - |\n\n1. e\n2. f"
    )
    units = split_units(markdown)
    kinds = [(unit.kind, markdown[unit.start : unit.end]) for unit in units]
    assert kinds == [
        (UnitKind.HEADING, "# Title"),
        (UnitKind.PROSE, "One.\ntwo"),
        (UnitKind.ITEM, "- a"),
        (UnitKind.ITEM, "- b\n  - c\n\n  more of b"),
        (UnitKind.ITEM, "- d"),
        (UnitKind.OTHER, "```py\nx\n\n- y\n```"),
        (UnitKind.OTHER, "| a |\n| - |"),
        (UnitKind.ITEM, "1. e"),
        (UnitKind.ITEM, "2. f"),
    ]
    assert [len(block.units) for block in group_lists(units)] == [1, 1, 3, 1, 1, 2]


def test_a_list_item_that_starts_with_a_code_block_ends_with_it() -> None:
    markdown = "- ```\n  1\n  2\n  ```\n\n## Next\n\nText.\n\n```\ncode\n```\n\nMore."
    assert [(unit.kind, unit.text) for unit in split_units(markdown)] == [
        (UnitKind.OTHER, "- ```\n  1\n  2\n  ```"),
        (UnitKind.HEADING, "## Next"),
        (UnitKind.PROSE, "Text."),
        (UnitKind.OTHER, "```\ncode\n```"),
        (UnitKind.PROSE, "More."),
    ]


def test_tables_and_code_in_a_list_item_or_below_a_line_of_text_are_never_removed() -> None:
    table = "- Parameters\n  | height | how far |\n  | --- | --- |\n  | limit | how long |"
    code = "- Call it:\n\n  ```\n  raise()\n  ```"
    below = "Sizes of it\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    for kept in (table, code, below):
        [unit] = split_units(kept)
        assert unit.kind is UnitKind.OTHER
        markdown = f"# Apples\n\n{OWN}\n\n{kept}"
        assert cut(markdown, kept, wide=True).markdown == markdown


def test_a_quoted_heading_is_part_of_its_quote() -> None:
    [quote] = split_units("> # Note\n> Mind the gap.")
    assert (quote.kind, quote.level) == (UnitKind.PROSE, 0)


def test_every_unit_finds_its_lines_in_the_text() -> None:
    markdown = f"# Title\n\nOne **bold**  \nline & more.\n\n- [a](http://x/(y))\n- b\n\n{OWN}"
    text = "Title\nOne bold\nline & more.\n- a\n-\nb\n" + OWN.replace("\n\n", "\n")
    lines = text.split("\n")
    spans = match_lines(split_units(markdown), lines, range(len(lines)))
    assert [spans[at] for at in range(4)] == [(0, 1), (1, 3), (3, 4), (5, 6)]
    assert [lines[spans[at][0]] for at in range(4, 12)] == OWN.split("\n\n")


def test_only_units_with_exactly_the_requested_lines_are_found() -> None:
    markdown = "Cookies here.\n\nSome words, then\ncookies here.\n\n| cookies here |\n\n- Cookies here.\n- More cookies here."
    lines = ["Cookies here.", "Some words, then", "cookies here.", "cookies here", "- Cookies here.", "- More cookies here."]
    assert match_lines(split_units(markdown), lines, [0, 2, 3, 4]) == {0: (0, 1), 2: (3, 4), 3: (4, 5)}


def test_cookie_text_a_call_to_action_and_a_related_box_go_from_the_end_of_a_page() -> None:
    box = "## Related articles\n\n- [Bears](https://a.example/bears)\n- [Clouds](https://a.example/clouds)"
    shown = cut(f"# Apples\n\n{OWN}\n\n{CALL}\n\n{box}\n\n{COOKIES}", CALL, box, COOKIES)
    assert shown.markdown == f"# Apples\n\n{OWN}"
    assert shown.text == text_of(f"# Apples\n\n{OWN}")
    assert shown.words == 23


def test_repeated_text_is_removed_from_the_start_and_the_middle() -> None:
    halves = OWN.split("\n\n")
    first, second = "\n\n".join(halves[:4]), "\n\n".join(halves[4:])
    assert cut(f"# Apples\n\n{COOKIES}\n\n{OWN}", COOKIES).markdown == f"# Apples\n\n{OWN}"
    menu = "- [Home](https://a.example/)\n- [Shop](https://a.example/shop)"
    assert cut(f"# A\n\n{first}\n\n{menu}\n\n{second}", menu).markdown == f"# A\n\n{first}\n\n{second}"
    assert cut(f"# A\n\n{first}\n\n{CALL}\n\n{COOKIES}\n\n{second}", CALL, COOKIES).markdown == f"# A\n\n{first}\n\n{second}"
    assert cut(f"# A\n\n{first}\n\n{COOKIES}\n\n{second}", COOKIES, wide=True).markdown == f"# A\n\n{first}\n\n{second}"


@pytest.mark.parametrize("line", ["Yes.", "Example:", "Run the following command:", "See below for details.", COOKIES])
def test_a_line_that_pages_happen_to_share_is_not_cut_out_of_running_text(line: str) -> None:
    halves = OWN.split("\n\n")
    markdown = "\n\n".join(["# A", *halves[:4], line, *halves[4:]])
    assert cut(markdown, line).markdown == markdown


def test_a_repeated_sentence_that_introduces_other_text_is_kept() -> None:
    line = "Run the following command in the folder of your project:"
    markdown = f"# A\n\n{line}\n\n```sh\nmake it\n```\n\n{OWN}"
    assert cut(markdown, line, wide=True).markdown == markdown


def test_headings_alone_are_kept() -> None:
    markdown = f"# A\n\n## Parameters\n\n{OWN}\n\n## Returns\n\nNothing that any other page returns."
    assert cut(markdown, "## Parameters", "## Returns", wide=True).markdown == markdown


def test_a_heading_is_removed_only_with_everything_under_it() -> None:
    box = "## Questions\n\nAsk us anything you like.\n\n### By mail\n\nWrite to the usual address please."
    assert cut(f"# A\n\n{OWN}\n\n{box}", box).markdown == f"# A\n\n{OWN}"
    more = f"{box}\n\nThis is a sentence of this page alone."
    shown = cut(f"# A\n\n{OWN}\n\n{more}", box).markdown
    assert shown == f"# A\n\n{OWN}\n\n## Questions\n\n### By mail\n\nThis is a sentence of this page alone."


def test_a_unique_heading_is_kept_when_the_text_under_it_is_removed() -> None:
    shown = cut(f"# A\n\n{OWN}\n\n## Only here\n\n{COOKIES}", COOKIES).markdown
    assert shown == f"# A\n\n{OWN}\n\n## Only here"


def test_the_title_of_a_page_stays() -> None:
    markdown = f"# Welcome\n\n{COOKIES}"
    assert cut(f"{markdown}\n\n## B\n\n{OWN}", markdown).markdown.startswith("# Welcome\n\n## B")


@pytest.mark.parametrize(
    "block", ["```sh\npip install it now\n```", "| Size | Price |\n| --- | --- |\n| Small | 3 |", "![A](x.png)"]
)
def test_code_tables_and_pictures_stay(block: str) -> None:
    markdown = f"# A\n\n{OWN}\n\n{block}"
    assert cut(markdown, block, wide=True).markdown == markdown


def test_list_items_are_kept_unless_the_whole_list_is_removed() -> None:
    steps = "1. Log in to the console with your name.\n2. Open the menu called settings there."
    markdown = f"# A\n\n{OWN}\n\n{steps}\n3. Do what only this page tells you to do."
    assert cut(markdown, steps, wide=True).markdown == markdown
    assert cut(f"# A\n\n{OWN}\n\n{steps}", steps, wide=True).markdown == f"# A\n\n{OWN}"


def test_of_a_menu_the_entry_of_one_page_stays() -> None:
    menu = "- [Home](https://a.example/)\n- [Shop](https://a.example/shop)"
    shown = cut(f"# A\n\n{menu}\n- [Only here](https://a.example/only)\n\n{OWN}", menu)
    assert shown.markdown == f"# A\n\n- [Only here](https://a.example/only)\n\n{OWN}"
    assert shown.text.split("\n")[1] == "- Only here"


def test_a_page_that_would_lose_most_of_itself_is_left_alone() -> None:
    markdown = f"# A\n\nOnly this is its own, and it is short.\n\n{COOKIES}\n\n{CALL}\n\nOne more line that is everywhere."
    assert cut(markdown, COOKIES, CALL, "One more line that is everywhere.", wide=True) == CleanedPage(
        markdown, text_of(markdown)
    )


@pytest.mark.parametrize("seed", range(40))
def test_lines_that_do_not_repeat_are_always_kept(seed: int) -> None:
    chance = random.Random(seed)
    shared = [
        COOKIES,
        CALL,
        "## Related",
        "- [Home](/)\n- [Shop](/shop)",
        "Yes.",
        "1. Open it.\n2. Close it again.",
        "> Quoted by all.",
    ]
    parts = [f"Sentence {n} of page {seed} is only here." for n in range(12)]
    parts += [
        f"## Heading {seed}",
        f"- Entry {seed} one\n- [Entry {seed} two](/x)",
        f"```\ncode {seed}\n\nmore\n```",
        f"| {seed} |\n| - |",
    ]
    blocks = [*parts, *chance.sample(shared, 5), *chance.sample(shared, 3)]
    chance.shuffle(blocks)
    markdown = "\n\n".join(blocks)
    shown = cut(markdown, *shared, wide=bool(seed % 2))
    for part in parts:
        assert part in shown.markdown
        assert text_of(part) in shown.text
    assert text_of(shown.markdown) == shown.text
    assert not set(shown.markdown.split("\n")) - set(markdown.split("\n"))


def test_nothing_repeats_nothing_changes() -> None:
    assert cut("# A\n\n\n\nodd   white space \n", "not there") == CleanedPage(
        "# A\n\n\n\nodd   white space \n", "A\nodd   white space"
    )


def test_text_that_cannot_be_found_in_the_markdown_loses_nothing() -> None:
    lines = frozenset(set(line_numbers(COOKIES)))
    assert remove_repeats("# Something else\n\nentirely", f"{COOKIES}\nmore", lines).text == f"{COOKIES}\nmore"


def test_a_link_without_text_is_not_compared_by_its_target() -> None:
    markdown = f"# A\n\n{OWN}\n\n[](https://a.example/cookies)\n\n{COOKIES}"
    assert cut(markdown, COOKIES).markdown == f"# A\n\n{OWN}\n\n[](https://a.example/cookies)"


def test_scripts_without_spaces_count_by_character() -> None:
    cookies = "当サイトではクッキーを使用しています。"
    own = "\n\n".join(f"これはこのページだけにある段落{n}です。ほかのどこにもありません。" for n in range(6))
    shown = cut(f"# 題\n\n{own}\n\n{cookies}", cookies)
    assert shown.markdown == f"# 題\n\n{own}"
    assert shown.words == 19
