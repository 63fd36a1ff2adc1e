from __future__ import annotations

import random
from itertools import pairwise

import pytest

from sitelore.extract.changes import compare, decay_slots

BODY = "\n\n".join(f"Paragraph {n} is about kettles, how they are made and who makes them." for n in ("one", "two", "three"))


def page(*lines: str) -> tuple[str, str]:
    return "Kettles", "\n\n".join(["# Kettles", BODY, *lines])


def changed(before: str, after: str) -> bool:
    return compare(page(before), page(after)).changed


NOISE = [
    ("Last updated: 12 March 2024", "Last updated: 3 April 2025"),
    ("Updated March 12, 2024 at 10:15 am", "Updated March 13, 2024 at 9:07 pm"),
    ("Tuesday, 5 March 2024", "Wednesday, 6 March 2024"),
    ("Stand: 12.03.2024, 14:33 Uhr", "Stand: 13.03.2024, 08:01 Uhr"),
    ("2024-05-06T07:08:09Z", "2024-05-07T00:00:01Z"),
    ("Le 3 juillet 2024 à 10:20", "Le 4 juillet 2024 à 11:45"),
    ("2024年5月6日", "2024年5月7日"),
    ("Server time 12:00:01 UTC", "Server time 12:00:07 UTC"),
    ("Posted 5 minutes ago by Ann", "Posted 2 hours ago by Ann"),
    ("Posted just now by Ann", "Posted 3 days ago by Ann"),
    ("vor 3 Stunden", "vor 2 Tagen"),
    ("il y a 2 jours", "il y a 3 jours"),
    ("hace 5 minutos", "hace 1 hora"),
    ("1,234 views", "1,301 views"),
    ("Views: 812", "Views: 977"),
    ("12 comments · 33 likes", "14 comments · 35 likes"),
    ("Comments (3)", "Comments (12)"),
    ("1.2k likes", "1.3k likes"),
    ("This page was viewed 99 times", "This page was viewed 100 times"),
    ("You are visitor number 18,291.", "You are visitor number 18,294."),
    ("42 people are viewing this right now", "7 people are viewing this right now"),
    ("17 users online", "19 users online"),
    ("1.204 Aufrufe", "1.377 Aufrufe"),
    ("3 commentaires", "5 commentaires"),
    ("CSRF token: a8f3k2j4", "CSRF token: 99ab31kz"),
    ("Request ID: 5f3a9c1e", "Request ID: 77ba0012"),
    ("Session 550e8400-e29b-41d4-a716-446655440000", "Session 6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    ("Nonce 4f9d8KqLm2Xz81PoWq7T", "Nonce zP0s8Tq3Lw9Rk2Vb7Yx1"),
    ("Build 3f2a9bc1d4e5f6a7", "Build 0011aa22bb33cc44"),
    ("Page generated in 0.034 seconds with 34 queries", "Page generated in 1.2 seconds with 41 queries"),
    ("Served by web-03", "Served by web-17"),
    ("Your IP address is 203.0.113.7", "Your IP address is 198.51.100.23"),
    ("© 2024 Kettle Works", "© 2025 Kettle Works"),
    ("Good morning!", "Good evening!"),
    ("Today is Tuesday", "Today is Friday"),
    ("Offer ends in 2 days 3 hours", "Offer ends in 1 day 22 hours"),
    ("02:13:45 left", "02:13:44 left"),
    ("Rendered 1716400000", "Rendered 1716400123"),
    ("- [Apples](/a)\n- [Bears](/b)\n- [Clouds](/c)", "- [Clouds](/c)\n- [Apples](/a)\n- [Bears](/b)"),
    ("[Apples](/a) | [Bears](/b) | [Clouds](/c)", "[Clouds](/c) | [Apples](/a) | [Bears](/b)"),
    ("## Related articles\n\n- [Apples](/a)\n- [Bears](/b)", "## Related articles\n\n- [Dunes](/d)\n- [Eagles](/e)"),
    ("## You may also like\n\n### [Apples](/a)\n\n### [Bears](/b)", "## You may also like\n\n### [Eagles](/e)"),
    ("**Trending:**\n\n- [Apples](/a)", "**Trending:**\n\n- [Bears](/b)\n- [Dunes](/d)"),
    ("[Kettles](/k?sid=1)", "[Kettles](/k?sid=2)"),
    ("![Kettle](/k.png?v=1)\n\nA kettle.", "![Kettle](/k.png?v=2)\n\nA kettle."),
    ("a  b", "a b"),
    ("Sale", "SALE"),
    ("", "3 comments"),
    ("Updated 12 March 2024", ""),
]

EDITS = [
    ("The kettle costs $19.99.", "The kettle costs $18.99."),
    ("Preis: 19,99 €", "Preis: 18,99 €"),
    ("USD 1,299.00", "USD 1,199.00"),
    ("1.299,00 kr", "1.399,00 kr"),
    ("Now £5", "Now £6"),
    ("20% off", "25% off"),
    ("$19.99, updated 12 March 2024", "$18.99, updated 13 March 2024"),
    ("Price: 19 (1,234 views)", "Price: 18 (1,235 views)"),
    ("Works with version 3.11.", "Works with version 3.12."),
    ("Download v2.0.1", "Download v2.1.0"),
    ("Weighs 10.5 kg", "Weighs 11.5 kg"),
    ("We have 12 employees.", "We have 13 employees."),
    ("Up to 5 users", "Up to 10 users"),
    ("It is in stock.", "It is sold out."),
    ("Made of steel and glass.", "Made of steel and plastic."),
    ("Call 030 1234567", "Call 030 1234568"),
    ("ISBN 9783161484100", "ISBN 9783161484117"),
    ("Open Monday to Friday", "Open Monday to Saturday"),
    ("By Ann Smith", "By Bob Jones"),
    ("A new paragraph came.", ""),
    ("", "A paragraph went that had words in it."),
    ("A short. Then a long paragraph.", "A short. Then another paragraph."),
    ("```py\nwhen = '2024-01-01'\n```", "```py\nwhen = '2024-01-02'\n```"),
    ("| Size | Price |\n| --- | --- |\n| S | 3 |", "| Size | Price |\n| --- | --- |\n| S | 4 |"),
    ("- [Apples](/a)\n- [Bears](/b)", "- [Apples](/a)\n- [Bears](/b)\n- [Clouds](/c)"),
    ("## Related articles\n\n- [Apples](/a)\n\nOnly text.", "## Related articles\n\n- [Bears](/b)\n\nOther text."),
    ("1. First\n2. Second", "1. First\n2. Third"),
    ("Use getElementById2 here", "Use getElementByName2 here"),
    ("First this.\n\nThen that.", "Then that.\n\nFirst this."),
]


@pytest.mark.parametrize(("before", "after"), NOISE)
def test_volatile_text_is_not_a_change(before: str, after: str) -> None:
    assert not changed(before, after)
    assert not changed(after, before)


@pytest.mark.parametrize(("before", "after"), EDITS)
def test_an_edit_is_a_change(before: str, after: str) -> None:
    assert changed(before, after)
    assert changed(after, before)


@pytest.mark.parametrize(("before", "after"), EDITS)
def test_an_edit_between_volatile_text_is_a_change(before: str, after: str) -> None:
    first = page("Updated 12 March 2024, 5 views", before, "Good morning")
    second = page("Updated 13 March 2024, 9 views", before, "Good evening")
    third = page("Updated 14 March 2024, 11 views", after, "Good night")
    learnt = compare(first, second)
    assert not learnt.changed
    assert compare(second, third, learnt.volatile).changed


def test_a_new_title_is_a_change_and_a_counter_in_it_is_not() -> None:
    assert compare(("Kettles", BODY), ("Pots", BODY)).changed
    assert not compare(("3 comments on kettles", BODY), ("4 comments on kettles", BODY)).changed


def fetches(*pages: tuple[str, str]) -> list[bool]:
    """What each fetch after the first is taken for."""
    volatile, results = b"", []
    for before, after in pairwise(pages):
        if before == after:
            volatile = decay_slots(volatile)
            results.append(False)
        else:
            result = compare(before, after, volatile)
            volatile = result.volatile
            results.append(result.changed)
    return results


def test_a_changing_number_is_volatile_after_it_differed_once() -> None:
    assert fetches(*(page(f"Widgets made so far: {n} pieces") for n in range(800, 806))) == [True, False, False, False, False]


def test_a_number_that_was_edited_and_then_kept_still_can_be_edited_again() -> None:
    made = [page(f"We have {n} employees") for n in (12, 13, 13, 14, 14, 15)]
    assert fetches(*made) == [True, False, True, False, True]


def test_a_random_quote_becomes_volatile_and_edits_elsewhere_are_still_changes() -> None:
    quotes = [
        "Kettles boil in the evening.",
        "An early bird drinks tea.",
        "Where there is smoke the toast is done.",
        "A pot alone makes no dinner.",
        "Never weigh sugar in the wind.",
        "Spoons remember everything.",
    ]
    assert fetches(*(page("It costs $5.", quote) for quote in quotes)) == [True, True, False, False, False]
    pages = [page("It costs $6." if n > 3 else "It costs $5.", quote) for n, quote in enumerate(quotes)]
    assert fetches(*pages) == [True, True, False, True, False]


def test_a_box_of_random_links_becomes_volatile() -> None:
    chance = random.Random(7)
    names = [f"Story {word}" for word in ("apple", "bear", "cloud", "dune", "eagle", "fox", "goat", "hill")]
    boxes = ["\n".join(f"- [{name}](/x)" for name in chance.sample(names, 3)) for _ in range(8)]
    results = fetches(*(page(box) for box in boxes))
    assert results[2:] == [False] * 5


def test_a_price_is_always_a_change() -> None:
    assert fetches(*(page(f"Gold stands at ${n}.50 an ounce.") for n in range(90, 98))) == [True] * 7
    pages = [page(f"Story of the day {'abcdefgh'[n] * 5} {'xyzuvwrs'[n] * 4} for ${5 + n // 6}") for n in range(8)]
    assert fetches(*pages)[3:5] == [False, False]


def test_text_in_the_place_of_a_volatile_date_is_not_a_change() -> None:
    pages = [page(f"Seen {when} by Ann") for when in ("5 minutes ago", "9 minutes ago", "a little while back", "2 hours ago")]
    assert fetches(*pages) == [False, False, False]
    assert fetches(pages[0], page("Seen a little while back by Ann")) == [True]


def test_memory_moves_with_the_line_it_belongs_to() -> None:
    pages = [page(f"Widgets so far: {n} pieces") for n in (1, 2, 3)]
    moved = [page("A new paragraph at the top.", f"Widgets so far: {n} pieces") for n in (4, 5)]
    assert fetches(*pages, *moved) == [True, False, True, False]


def test_memory_is_small_and_slots_are_forgotten() -> None:
    before = page(*(f"Thing {n} counts {n}" for n in range(500)))
    after = page(*(f"Thing {n} counts {n + 1}" for n in range(500)))
    learnt = compare(before, after)
    assert learnt.changed
    assert 0 < len(learnt.volatile) <= 64 * 8
    assert decay_slots(learnt.volatile) == b""


def test_slots_can_be_carried_over_without_learning() -> None:
    ticked = compare(page("Widgets so far: 1 pieces"), page("Widgets so far: 2 pieces")).volatile
    carried = compare(page("Widgets so far: 2 pieces"), page("Something new.", "Widgets so far: 2 pieces"), ticked, learn=False)
    assert len(carried.volatile) <= len(ticked)
    assert compare(page("a b"), page("a c"), learn=False).volatile == b""


@pytest.mark.parametrize(
    "flood", ["1 ", "1,", "march ", "12:", "views ", "token ", "12 days ", "[", "![", "](", "a-1_B2", "| ", "`"]
)
def test_floods_of_one_thing_end(flood: str) -> None:
    before, after = ("t", flood * 30_000), ("t", flood * 29_999 + "x")
    assert compare(before, after).changed
    lines = flood * 40 + "\n\n"
    assert compare(("t", lines * 800), ("t", (lines.replace("1", "2") + "y\n\n") * 800)).changed


@pytest.mark.parametrize("hostile", ["](<", "\\[", "![\\[", '](a "', "](()", "[a](b ", "1", "1.", "token-", "\u2003"])
def test_the_time_of_a_comparison_is_linear_in_the_length_of_a_line(hostile: str) -> None:
    # A quadratic pattern would need more than the time limit of a test.
    line = "[link](/a) ![](/b.png) " + hostile * (400_000 // len(hostile))
    assert compare(("T", line), ("T", line + " more")).changed
