"""Blocks, elements, features and scores of the compiled block scorer."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sitelore.extract import content, dom
from sitelore.extract.content import block_scorer
from sitelore.extract.content.block_scorer import UNDERRATED, ScoredPage, block_features, load_model, score_page
from sitelore.extract.content.vocabulary import FEATURE_NAMES, LABEL_OF_WORD, LABELS, LANDMARK, MARK, TAG_NUMBER
from sitelore.extract.native import library as native

PACKAGED = Path(content.__file__).with_name("content_trees.npz")
WORDED = (
    b"<body><h1>The Old Watermill of Ashford</h1><p>The watermill at Ashford has not turned since the flood of that year.</p>"
    b"<h2>Customer reviews</h2><h3>Summary</h3><p>Nobody who visited it was ever disappointed, or said so in writing.</p>"
    b"<h2>History</h2><p>Three families owned it one after the other.</p><div>Related stories</div>"
    b"<div><p><a href=/b>A bakery in town</a></p></div></body>"
)


def body_of(html: str) -> dom.Element:
    body = dom.body(dom.parse(html))
    assert body is not None
    return body


def scored(html: str | bytes) -> ScoredPage:
    source = html if isinstance(html, bytes) else dom.serialised(body_of(html))
    page = score_page(source, load_model(), max_blocks=10_000)
    assert page is not None
    return page


def matrix_of(html: str | bytes) -> NDArray[np.float32]:
    """One row a feature."""
    features = block_features(html if isinstance(html, bytes) else dom.serialised(body_of(html)))
    assert features is not None
    return np.frombuffer(features.matrix, np.float32).reshape(len(features.names), len(features.blocks))


def column(html: bytes, name: str) -> list[float]:
    values: list[float] = matrix_of(html)[FEATURE_NAMES.index(name)].tolist()
    return values


def lines(page: ScoredPage) -> list[str]:
    return [" ".join(text.decode().split()) for text in page.texts()]


def test_inline_tags_stay_in_a_block_and_every_other_boundary_ends_it() -> None:
    page = scored("<h1>A <i>title</i></h1>loose <b>text</b><div>one<p>two <a href=x>three</a></p>four</div>")
    assert lines(page) == ["A title", "loose text", "one", "two three", "four"]
    assert page.blocks.words == [2, 2, 1, 2, 1]
    assert page.blocks.linked == [0, 0, 0, 1, 0]
    assert page.heading == [1, 0, 0, 0, 0]


def test_an_element_has_its_blocks_its_parent_and_its_depth() -> None:
    body = body_of("<main><p>a</p><img src=x><section><p>b</p><p>c <span>d</span></p></section></main><footer>e</footer>")
    page = scored(dom.serialised(body))
    elements, tree = page.elements, dom.all_elements(body)
    assert page.opened == len(tree)
    names = [tree[order].tag for order in elements.order]
    assert names == ["body", "main", "p", "section", "p", "p", "footer"]
    assert elements.tag == [TAG_NUMBER[name.encode()] for name in names]
    assert elements.first == [0, 0, 0, 1, 1, 2, 3]
    assert elements.last == [4, 3, 1, 3, 2, 3, 4]
    assert elements.parent == [-1, 0, 1, 1, 3, 3, 0]
    assert [names[row] for row in page.blocks.element] == ["p", "p", "p", "footer"]


def test_class_names_ids_and_roles_are_read_as_marks_and_landmarks() -> None:
    page = scored(
        "<nav class=x><p>a</p></nav><div class='siteFooter wide'><p>b</p></div><div id=related-posts3><p>c</p></div>"
        "<div role=complementary><p>d</p></div><div id=related-posts7><p>e</p></div><p>f</p>"
    )
    marks = dict(zip(page.elements.order, page.elements.marks, strict=True))
    assert [marks[order] for order in (1, 3, 5, 7)] == [0, MARK["foot"], MARK["related"], MARK["side"]]
    assert list(page.landmarks) == [LANDMARK[b"nav"], 0, 0, 0, 0, 0]


def test_blocks_with_the_same_words_are_copies() -> None:
    page = scored("<p>Read more here</p><p>another text of it</p><p>read  MORE here</p>")
    assert list(page.copies) == [2, 1, 2]


def test_references_comments_and_attributes_are_not_tags() -> None:
    page = scored("<p title='a > b < c'>1 &lt; 2 &amp; 3 &gt; 2<!-- <p>not</p> --></p><p>&nbsp;next</p>")
    assert [text.strip() for text in page.texts()] == [b"1 &lt; 2 & 3 &gt; 2", b"next"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("これは日本語の文章です", 5),
        ("我们在北京学习中文\uff0c", 5),
        ("한국어 문장은 띄어 쓴다.", 4),
        ("Это предложение из пяти слов.", 5),
        ("هذه جملة من خمس كلمات", 5),
        ("ภาษาไทยไม่มีช่องว่าง", 4),
        ("用 Python 编程\uff08很简单\uff09", 5),
        ("\u3000", 0),
        ("→", 1),
    ],
)
def test_words_are_counted_where_there_are_spaces_and_weighed_elsewhere(text: str, words: int) -> None:
    assert scored(f"<p>two words</p><p>{text}</p>").blocks.words == [2, words][: 1 + bool(words)]


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("A sentence ends, here.", "句子在这里\uff0c结束。"),
        ("Is it so?", "هل هو كذلك؟"),
        ("5 items: 3 left", "5 件商品\uff1a剩 3 件"),
    ],
)
def test_signs_of_all_scripts_are_counted_alike(english: str, other: str) -> None:
    for name in ("ends_with", "begins_with"):
        assert column(f"<p>{english}</p>".encode(), name) == column(f"<p>{other}</p>".encode(), name)
    counts = [scored(f"<p>{text}</p>") for text in (english, other)]
    assert len({len(page.blocks) for page in counts}) == 1


@pytest.mark.parametrize("heading", ["相关推荐", "関連記事", "관련기사", "Также читайте", "مقالات ذات صلة"])
def test_labels_are_recognised_in_other_scripts(heading: str) -> None:
    html = f"<body><h2>{heading}</h2><p>one two three</p></body>".encode()
    assert column(html, "under_related") == [2, 2]


@pytest.mark.parametrize("deep", [3_000, 200_000])
def test_elements_nest_to_any_depth(deep: int) -> None:
    html = b"<div>" * deep + b"<p>ten words of text that stand very deep down here</p>" + b"</div>" * deep
    page = scored(html)
    assert len(page.elements) == deep + 1
    assert 0 <= page.scores[0] <= 1


def test_pages_without_blocks_or_with_too_many_are_not_scored() -> None:
    model = load_model()
    for html in (b"", b"text", b"<body></body>", b"<body><img></body>", b"<br>text", b"</p>text", b"<body"):
        assert score_page(html, model, max_blocks=10) is None, html
    assert score_page(b"<body>" + b"<p>a</p>" * 10 + b"</body>", model, max_blocks=10) is not None
    assert score_page(b"<body>" + b"<p>a</p>" * 11 + b"</body>", model, max_blocks=10) is None


def test_html_that_is_not_nested_is_read_all_the_same() -> None:
    page = scored(b"<body></p></div>one<div><p>two</body></body>three<li>four<b")
    assert lines(page) == ["one", "two", "three", "four"]
    assert page.elements.first[0] == 0
    assert page.elements.last[0] == 4


@pytest.mark.parametrize("seed", range(20))
def test_every_page_has_one_column_of_finite_features_per_block(seed: int) -> None:
    chance = random.Random(seed)
    tags = ["div", "p", "li", "ul", "h1", "h2", "section", "table", "tr", "td", "span", "a", "pre", "article"]
    html = "".join(
        f"<{chance.choice(tags)} class='{chance.choice(['nav', 'post-body', 'Related3', ''])}'>word " * chance.randint(1, 3)
        + chance.choice(["", "</div>", "</p></ul>", "some more words of text, and a stop."])
        for _ in range(chance.randint(1, 60))
    )
    assert matrix_of(html).shape == (len(FEATURE_NAMES), len(scored(html).blocks))
    assert np.isfinite(matrix_of(html)).all()


def test_labels_count_for_the_blocks_under_their_heading() -> None:
    assert column(WORDED, "under_review") == [0, 0, 2, 1, 1, 0, 0, 0, 0]
    assert column(WORDED, "under_about") == [0, 0, 0, 2, 2, 0, 0, 0, 0]


def test_a_label_need_not_be_a_heading_to_be_remembered() -> None:
    assert column(WORDED, "since_related") == [999, 999, 999, 999, 999, 999, 999, 0, 1]
    assert column(WORDED, "since_review") == [999, 999, 0, 1, 2, 3, 4, 5, 6]


def test_words_of_the_title_are_counted() -> None:
    assert column(WORDED, "title_said") == [2, 2, 0, 0, 0, 0, 0, 0, 0]
    assert column(WORDED, "title_covered") == [1, 1, 0, 0, 0, 0, 0, 0, 0]
    around = column(WORDED, "title_around1")
    assert around[1] > around[-1] == 0
    assert column(b"<body><h2>Mill</h2><p>The mill stands.</p></body>", "title_page") == [-1, -1]


def test_the_features_of_a_page_have_the_expected_values() -> None:
    html = b"<body><h1>Two words</h1><p>One <a>link</a>, 3 words.</p><ul><li>a</li><li>b</li><li>c</li></ul></body>"
    assert column(html, "words") == [2, 4, 1, 1, 1]
    assert column(html, "linked") == [0, 0.25, 0, 0, 0]
    assert column(html, "words-1") == [0, 2, 4, 1, 1]
    assert column(html, "heading-1") == [-1, 1, 0, 0, 0]
    assert column(html, "in_ul") == [0, 0, 1, 1, 1]
    assert column(html, "cards") == [0, 0, 3, 3, 3]
    assert column(html, "page_blocks") == [5] * 5
    assert column(html, "ends_with") == [0, 5, 0, 0, 0]
    assert column(html, "digits")[1] == pytest.approx(1 / 15)


def test_scores_equal_the_sums_of_the_stored_model() -> None:
    """The model in numpy, straight from the file: each tree's leaf, then the hidden layer over log-scaled features."""
    columns = matrix_of(WORDED)
    with np.load(PACKAGED, allow_pickle=False) as stored:
        feature, bound, value = stored["feature"], stored["bound"], stored["value"]
        bits = (columns[feature] > bound[:, :, None]) << np.arange(feature.shape[1])[:, None]
        log_odds = value[np.arange(len(value))[:, None], bits.sum(axis=1)].sum(axis=0) + float(stored["bias"]) - UNDERRATED
        mantissa, exponent = np.frexp(np.abs(columns) + np.float32(1))
        scaled = np.copysign(exponent - 1 + 2 * mantissa - 1, columns)
        normal = np.clip((scaled - stored["even"][:, :1]) * stored["even"][:, 1:], -4, 4)
        hidden = stored["first"][:, None] + stored["weight"].astype(np.float32).T @ normal
        for at, row in enumerate(stored["tagged"]):
            hidden += stored["by_tag"][at][columns[row].astype(int) + 1].T
        *weights, bias, share = stored["last"]
        log_odds += share * np.clip(np.array(weights) @ np.maximum(hidden, 0) + bias, -8, 8)
    assert scored(WORDED).scores == pytest.approx((1 / (1 + np.exp(-log_odds))).tolist(), abs=1e-4)


def test_scores_are_probabilities_and_the_same_each_time() -> None:
    page = scored(WORDED)
    assert all(0 <= score <= 1 for score in page.scores)
    assert scored(WORDED).scores == page.scores


def test_a_word_has_one_meaning_and_every_feature_one_name() -> None:
    assert len(set(FEATURE_NAMES)) == len(FEATURE_NAMES)
    assert set(LABEL_OF_WORD.values()) == set(range(len(LABELS)))
    assert all(word == word.lower() for word in LABEL_OF_WORD)


@pytest.mark.parametrize(("status", "error"), [(-1, MemoryError), (-2, ValueError)])
def test_a_failure_of_the_compiled_code_is_an_error(status: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        block_scorer._check(status)


def test_the_error_for_a_missing_library_says_how_to_build_it(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from sitelore.extract.native import library as native\n"
        "native._FOLDER = Path(sys.argv[1])\n"
        "import sitelore.extract.page"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: the compiled library sitelore/extract/native/extract.so is missing" in done.stderr
    assert "reinstall sitelore" in done.stderr


def test_a_library_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "VERSION", native.VERSION + 1)
    with pytest.raises(ImportError, match="has version"):
        native.load(native.library_path())
