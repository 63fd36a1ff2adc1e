from __future__ import annotations

from array import array
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from bench.content_scores import CORPUS, corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sitelore.extract import dom, native
from sitelore.extract.content import choosing
from sitelore.extract.content.block_features import matrix, scene_in_numpy, scene_of
from sitelore.extract.content.blocks import Blocks, _from_walk, _segment_slowly, segment
from sitelore.extract.content.describing import NAMES
from sitelore.extract.content.main import judge
from sitelore.extract.content.scorer import ask_slowly
from sitelore.extract.content.trees import Table, questions_of, trees_from
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.content.walking import ask_trees, walk
from sitelore.extract.markdown import prepare
from sitelore.extract.native.library import library

_SOURCE = Path(native.__file__).parent / "scoring" / "walk.c"


def walked(html: bytes) -> Blocks:
    found = walk(html)
    assert found is not None, "walk.c was not compiled: make install does it"
    return _from_walk(found)


def assert_equal(one: Blocks, other: Blocks) -> None:
    assert one.text == other.text
    assert one.opened == other.opened
    for part, same in ((one, other), (one.elements, other.elements)):
        for field in fields(part):
            found = getattr(part, field.name)
            if isinstance(found, np.ndarray):
                expected = getattr(same, field.name)
                assert found.dtype == expected.dtype, field.name
                assert found.tolist() == expected.tolist(), field.name


def test_it_is_compiled_by_installing() -> None:
    assert library() is not None
    assert _SOURCE.is_file()


_NAMES = st.sampled_from(
    [
        "nav",
        "siteFooter",
        "relatedPosts",
        "main-content",
        "col-12",
        "ABTest",
        "x",
        "sidebarwidget",
        "é",
        "Entry_Title2",
        "sixteenlettersss",
        "navigationcontainerwrapper",
        "siteNAVIGATIONnav",
        "a" * 500,
    ]
)
_ATTRIBUTE = st.tuples(
    st.sampled_from(["class", "id", "role", "itemprop", "data-testid", "data-qa", "data-component", "href", "classy"]), _NAMES
)
_TEXT = st.sampled_from(
    [
        "",
        " ",
        "word",
        "two words ",
        "ends. ",
        "a,b;c",
        "3 € | © @",
        "漢字かな",
        " \n ",
        "x&amp;y",
        "&nbsp;",
        "100%!",
        "Related WORDS",
        "Más comments2 two",
    ]
)
_VOIDS = ["br", "img", "hr", "input"]


@st.composite
def _element(draw: st.DrawFn, depth: int = 0) -> str:
    if depth > 4 or draw(st.integers(0, 5)) == 0:
        return f"<{draw(st.sampled_from(_VOIDS))}>" + draw(_TEXT)
    name = draw(
        st.sampled_from(
            ["div", "p", "a", "b", "strong", "li", "ul", "h1", "h2", "h3", "article", "span", "custom-card", "td", "em"]
        )
    )
    attributes = "".join(f' {key}="{value}"' for key, value in draw(st.lists(_ATTRIBUTE, max_size=3)))
    inner = "".join(draw(_TEXT) + draw(_element(depth + 1)) for _ in range(draw(st.integers(0, 3))))
    return f"<{name}{attributes}>{draw(_TEXT)}{inner}{draw(_TEXT)}</{name}>{draw(_TEXT)}"


@settings(max_examples=200, deadline=None)
@given(_element())
def test_compiled_and_plain_cut_any_page_alike(inner: str) -> None:
    html = f"<body>{inner}</body>".encode()
    assert_equal(walked(html), _segment_slowly(html))
    assert_described_alike(walked(html))


def assert_described_alike(found: Blocks) -> None:
    if len(found) == 0:
        return
    scene, plain = scene_of(found), scene_in_numpy(found)
    assert scene.described is not None
    assert tuple(plain.columns) == NAMES
    for name, row, expected in zip(NAMES, matrix(scene), matrix(plain), strict=True):
        assert row.tolist() == expected.tolist(), name
    for name in ("heading", "around", "marks", "copies", "section"):
        assert getattr(scene, name).tolist() == getattr(plain, name).tolist(), name


@pytest.mark.parametrize("html", [b"<body></body>", b"<body>a</body>", b"<span class=nav>inline</span>", b"<body><>x</body>"])
def test_next_to_nothing_is_cut_alike(html: bytes) -> None:
    assert_equal(segment(html), _segment_slowly(html))


@pytest.mark.parametrize("html", [b"<body><div>never closed", b"<div>" * 5000 + b"deep" + b"</div>" * 5000])
def test_what_is_not_nested_or_too_deep_is_left_to_the_plain_way(html: bytes) -> None:
    assert library() is not None
    assert walk(html) is None
    assert len(segment(html)) == 1


def test_real_pages_are_cut_and_scored_alike() -> None:
    if not CORPUS.exists():
        pytest.skip(f"the corpus of real pages is not at {CORPUS}")
    trees = trees_from()
    for page in islice(corpus(), 0, 400, 10):
        tree = dom.parse(page.html)
        prepare(tree)
        drop_unseen(tree)
        body = dom.body(tree)
        assert body is not None
        html = dom.serialised(body)
        assert_equal(walked(html), _segment_slowly(html))
        assert_described_alike(walked(html))
        columns = matrix(scene_of(segment(html)))
        said = ask_trees(columns, questions_of(trees.feature, trees.bound, trees.value))
        assert said is not None
        assert said.tolist() == ask_slowly(columns, trees).tolist()
        assert_chosen_alike(body)


def table(typecode: str, numbers: NDArray[np.generic]) -> Table:
    return Table(array(typecode, numbers.tobytes()), numbers.shape)


@pytest.mark.parametrize("levels", [1, 3, 4, 7])
@pytest.mark.parametrize("count", [1, 31, 32, 100])
def test_any_trees_are_asked_alike(levels: int, count: int) -> None:
    chance = np.random.default_rng(levels * 1000 + count)
    features, trees = 3, 200  # more bounds a feature than a byte can count
    bound = chance.normal(size=(trees, levels)).astype(np.float32)
    bound[::3] = bound[0]  # some are asked again and again
    trained = replace(
        trees_from(),
        feature=table("q", chance.integers(0, features, (trees, levels))),
        bound=table("f", bound),
        value=table("f", chance.normal(size=(trees, 2**levels)).astype(np.float32)),
    )
    columns = chance.normal(size=(features, count)).astype(np.float32)
    columns[:, ::2] = bound[0, 0]  # equal is not above
    said = ask_trees(columns, questions_of(trained.feature, trained.bound, trained.value))
    assert said is not None
    assert said.tolist() == ask_slowly(columns, trained).tolist()


def test_trees_with_more_leaves_than_a_byte_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="train smaller ones"):
        questions_of(
            table("q", np.zeros((2, 8), np.int64)),
            table("f", np.zeros((2, 8), np.float32)),
            table("f", np.zeros((2, 256), np.float32)),
        )


def assert_chosen_alike(body: dom.Element) -> None:
    found = judge(body)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(choosing, "CHOOSER", None)
        plain = judge(body)
    if plain is None:
        assert found is None
        return
    assert found is not None
    assert found.choice == plain.choice
    assert (found.words, found.kept_words, found.cuts) == (plain.words, plain.kept_words, plain.cuts)
    assert list(found.cuts.texts) == list(plain.cuts.texts)


@settings(max_examples=100, deadline=None)
@given(st.lists(_element(), min_size=1, max_size=4))
def test_compiled_and_plain_choose_alike(parts: list[str]) -> None:
    words = "".join(
        f"<h2>Part {n}</h2><p>{'some words in a row, said once more. ' * 5}</p>{part}" for n, part in enumerate(parts * 6)
    )
    tree = dom.parse(f"<body><h1>A title</h1>{words}</body>")
    body = dom.body(tree)
    assert body is not None
    assert_chosen_alike(body)
