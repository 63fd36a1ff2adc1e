"""What labels and the title say of a page's parts, in both ways of computing it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sitelore.extract.content.block_features import feature_names, matrix, scene_in_numpy, scene_of
from sitelore.extract.content.blocks import Blocks, segment
from sitelore.extract.content.scene import Scene
from sitelore.extract.content.wording import LABEL_OF_WORD, LABELS, NAMES

PAGE = (
    b"<body><h1>The Old Watermill of Ashford</h1><p>The watermill at Ashford has not turned since the flood of that year.</p>"
    b"<h2>Customer reviews</h2><h3>Summary</h3><p>Nobody who visited it was ever disappointed, or said so in writing.</p>"
    b"<h2>History</h2><p>Three families owned it one after the other.</p><div>Related stories</div>"
    b"<div><p><a href=/b>A bakery in town</a></p></div></body>"
)


@pytest.fixture(params=[scene_of, scene_in_numpy], ids=["compiled", "plain"])
def column(request: pytest.FixtureRequest) -> Callable[[str], list[float]]:
    make: Callable[[Blocks], Scene] = request.param
    scene = make(segment(PAGE))
    rows = dict(zip(feature_names(scene), matrix(scene).tolist(), strict=True))
    return rows.__getitem__


def test_what_stands_under_a_heading_knows_its_label(column: Callable[[str], list[float]]) -> None:
    assert column("under_review") == [0, 0, 2, 1, 1, 0, 0, 0, 0]
    assert column("under_about") == [0, 0, 0, 2, 2, 0, 0, 0, 0]


def test_a_label_need_not_be_a_heading_to_be_remembered(column: Callable[[str], list[float]]) -> None:
    assert column("since_related") == [999, 999, 999, 999, 999, 999, 999, 0, 1]
    assert column("since_review") == [999, 999, 0, 1, 2, 3, 4, 5, 6]


def test_text_about_the_page_says_the_words_of_its_title(column: Callable[[str], list[float]]) -> None:
    assert column("title_said") == [2, 2, 0, 0, 0, 0, 0, 0, 0]
    assert column("title_covered") == [1, 1, 0, 0, 0, 0, 0, 0, 0]
    around = column("title_around1")
    assert around[1] > around[-1] == 0


def test_a_page_without_a_title_has_no_words_of_it() -> None:
    scene = scene_in_numpy(segment(b"<body><h2>Mill</h2><p>The mill stands.</p></body>"))
    assert scene.columns["title_page"].tolist() == [-1, -1]


def test_a_word_has_one_meaning_and_every_feature_one_name() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert set(LABEL_OF_WORD.values()) == set(range(len(LABELS)))
    assert all(word == word.lower() and len(word) < 24 for word in LABEL_OF_WORD)
