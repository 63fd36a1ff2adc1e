"""Scores on the dev corpus do not fall below their floors: figures per type of page, of the final Markdown.

A seeded sample of every type. `make bench-content` gives the figures of all pages and of other libraries; when a figure has
become better, the floor is raised to it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from bench.content_reading import scored
from bench.content_scores import CORPUS, TYPES, Figures, Page, Score, by_type, corpus, figures, score, text_of
from tests.support.corpora import present

PROCESSES = 2
AT_ONCE = 24
PAGES_OF_A_TYPE = 70
ARTICLES = 200

# The packaged model was trained on these pages, so these figures are higher than on pages of other sites. When whole units
# took the place of single blocks (decision 0018), they fell by .003 to .02, and the cross-validated F1 stayed (.878 to .879).
# When the replies of a thread became one decision, all 113 forum pages fell from .845 to .836 with the packaged model, which
# remembers the replies that are annotated; cross-validated, they rose from .800 to .802. Prices and captions cost precision.
# The floor of forums fell from .859 by one page, whose log of 1,300 words stays with its post and is not annotated.
F1_FLOORS = {
    "article": 0.97,
    "documentation": 0.93,
    "service": 0.885,
    "forum": 0.855,
    "listing": 0.846,
    "collection": 0.813,
    "product": 0.713,
}
ALL_FLOORS = {"f1": 0.884, "precision": 0.865, "recall": 0.944, "with_share": 0.893, "without_share": 0.053}
"""`without_share` is a ceiling."""


@pytest.fixture(scope="module")
def measured() -> dict[str, Figures]:
    present(CORPUS)
    scores: list[Score] = []
    waiting: deque[Future[Score]] = deque()
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        for page in sample():
            waiting.append(pool.submit(scored, page))
            if len(waiting) == AT_ONCE:
                scores.append(waiting.popleft().result())
        scores += [each.result() for each in waiting]
    figures_by_type = by_type(scores)
    for kind, all_of in figures_by_type.items():
        print(f"{kind:<14}{all_of}")
    return figures_by_type


def sample() -> Iterator[Page]:
    """A fixed sample of pages; each type is sampled on its own, so that a new page of one type does not change the others."""
    chance = {kind: random.Random(f"floors {kind}") for kind in TYPES}
    left = dict.fromkeys(TYPES, PAGES_OF_A_TYPE) | {"article": ARTICLES}
    for page in corpus():
        if left[page.type] and chance[page.type].random() < (0.3 if page.type == "article" else 0.8):
            left[page.type] -= 1
            yield page


@pytest.mark.parametrize("kind", TYPES)
def test_no_type_of_page_is_read_worse_than_it_was(kind: str, measured: dict[str, Figures]) -> None:
    assert measured[kind].f1 >= F1_FLOORS[kind]


def test_the_scores_over_all_pages_are_not_below_their_floors(measured: dict[str, Figures]) -> None:
    figures = measured["all"]
    for name in ("f1", "precision", "recall", "with_share"):
        assert getattr(figures, name) >= ALL_FLOORS[name], name
    assert figures.without_share <= ALL_FLOORS["without_share"]


PAGE = Page("1", "http://a.example/", "article", "", "One two, two three.", ("two  TWO", "one"), ("four", "thr"))


def test_words_are_counted_as_often_as_they_stand_there() -> None:
    assert score(PAGE, "one two two three").f1 == 1.0
    assert score(PAGE, "one two three four").precision == score(PAGE, "one two three four").recall == 0.75
    assert score(PAGE, "").f1 == 0.0


def test_snippets_are_found_with_any_punctuation_between_their_words() -> None:
    result = score(PAGE, "One, two — two;\nthree")
    assert (result.wanted_found, result.unwanted_found) == (2, 0)
    assert figures([result, score(PAGE, "four")]).without_share == 0.25


def test_text_is_what_a_reader_of_the_rendered_markdown_sees() -> None:
    table = "| x | y |\n|---|---|\n| 1 | [2](http://a.example/three) |"
    markdown = f"---\ntitle: x\n---\n\n# A *b*c\n\n{table}\n\n`x<y>` &amp; \\*\n\n![alt](i)"
    assert text_of("markdown", markdown).split() == ["A", "bc", "x", "y", "1", "2", "x<y>", "&", "*"]
    assert text_of("html", "<p a='>'>x<b>y</b></p><script>no</script>z").split() == ["xy", "z"]
