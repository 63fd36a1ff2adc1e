from __future__ import annotations

import math

import pytest

from sitelore.app.lineage import NO_PARENT, lineage_of, places
from sitelore.model.frontier import FoundUrl


def row_of(number: int, parent: int | None, *, is_sitemap: bool = False) -> FoundUrl:
    return FoundUrl(number, parent, f"https://site.example/{number}", "VISITED", 0, "text/html", is_sitemap)


def test_seeds_and_sitemaps_with_urls_are_roots_and_parents_come_first() -> None:
    rows = [
        row_of(1, None),
        row_of(7, 8),
        row_of(2, 1),
        row_of(8, 1, is_sitemap=True),
        row_of(9, 1, is_sitemap=True),
        row_of(3, 2),
    ]
    tree = lineage_of(rows)
    assert tree.urls == [f"https://site.example/{number}" for number in (1, 8, 7, 2, 3)]
    assert tree.parents == [NO_PARENT, NO_PARENT, 1, 0, 3]
    assert tree.states == ["VISITED", "", "VISITED", "VISITED", "VISITED"]


def test_a_url_whose_parent_is_not_listed_is_a_root() -> None:
    assert lineage_of([row_of(1, None), row_of(2, 77)]).parents == [NO_PARENT, NO_PARENT]


def test_a_single_root_is_in_the_centre_and_every_level_is_a_circle() -> None:
    x, y = places([NO_PARENT, 0, 0, 1, 1, 1])
    assert [round(math.hypot(*at), 9) for at in zip(x, y, strict=True)] == [0, 1, 1, 2, 2, 2]


def test_several_roots_stand_around_the_centre() -> None:
    x, y = places([NO_PARENT, NO_PARENT])
    assert [round(math.hypot(*at), 9) for at in zip(x, y, strict=True)] == [1, 1]
    assert places([]) == ([], [])


def test_branches_share_the_circle_by_their_leaves() -> None:
    parents = [NO_PARENT, 0, 0, 1, 1, 1]  # the first branch has three leaves, the second one
    x, y = places(parents)
    turns = [math.atan2(b, a) / (2 * math.pi) % 1 for a, b in zip(x, y, strict=True)]
    assert turns[1:] == pytest.approx([3 / 8, 7 / 8, 1 / 8, 3 / 8, 5 / 8])
