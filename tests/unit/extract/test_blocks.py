import random

import numpy as np
import pytest

from sitelore.extract import dom
from sitelore.extract.content import tag_table
from sitelore.extract.content.block_features import matrix, scene_of
from sitelore.extract.content.blocks import Blocks, segment
from sitelore.extract.content.plain_choosing import cuts_of
from sitelore.extract.content.trimming import trim


def body_of(html: str) -> dom.Element:
    body = dom.body(dom.parse(html))
    assert body is not None
    return body


def blocks_of(html: str) -> Blocks:
    return segment(dom.serialised(body_of(html)))


def lines(blocks: Blocks) -> list[str]:
    return [" ".join(text.decode().split()) for text in blocks.texts()]


def test_inline_tags_stay_in_a_block_and_every_other_boundary_ends_it() -> None:
    blocks = blocks_of("<h1>A <i>title</i></h1>loose <b>text</b><div>one<p>two <a href=x>three</a></p>four</div>")
    assert lines(blocks) == ["A title", "loose text", "one", "two three", "four"]
    assert blocks.words.tolist() == [2, 2, 1, 2, 1]
    assert blocks.linked.tolist() == [0, 0, 0, 1, 0]
    assert blocks.bold.tolist() == [0, 1, 0, 0, 0]


def test_an_element_knows_its_blocks_its_parent_and_its_place_in_the_tree() -> None:
    body = body_of("<main><p>a</p><img src=x><section><p>b</p><p>c <span>d</span></p></section></main><footer>e</footer>")
    blocks = segment(dom.serialised(body))
    elements, tree = blocks.elements, dom.all_elements(body)
    names = [tree[order].tag for order in elements.order.tolist()]
    assert names == ["body", "main", "p", "section", "p", "p", "footer"]
    spans = dict(zip(zip(names, elements.first.tolist(), strict=True), elements.last.tolist(), strict=True))
    assert spans[("body", 0)] == 4
    assert spans[("main", 0)] == 3
    assert spans[("section", 1)] == 3
    assert elements.parent.tolist() == [-1, 0, 1, 1, 3, 3, 0]
    assert [names[row] for row in blocks.element.tolist()] == ["p", "p", "p", "footer"]


def test_references_comments_and_attributes_are_no_tags() -> None:
    blocks = blocks_of("<p title='a > b < c'>1 &lt; 2 &amp; 3 &gt; 2<!-- <p>not</p> --></p><p>&nbsp;next</p>")
    assert [text.strip() for text in blocks.texts()] == [b"1 &lt; 2 & 3 &gt; 2", b"next"]


def test_scripts_without_spaces_have_words_too() -> None:
    blocks = blocks_of("<p>これは日本語の文章です</p>")
    assert blocks.words[0] >= 4


def test_deep_nesting_costs_no_recursion() -> None:
    deep = 3000
    blocks = blocks_of("<div>" * deep + "<p>ten words of text that stand very deep down here</p>" + "</div>" * deep)
    assert len(blocks) == 1
    assert matrix(scene_of(blocks)).shape[1] == 1


@pytest.mark.parametrize("seed", range(20))
def test_every_page_has_one_row_of_finite_features_per_block(seed: int) -> None:
    chance = random.Random(seed)
    tags = ["div", "p", "li", "ul", "h1", "h2", "section", "table", "tr", "td", "span", "a", "pre", "article"]
    html = "".join(
        f"<{chance.choice(tags)} class='{chance.choice(['nav', 'post-body', 'Related3', ''])}'>word " * chance.randint(1, 3)
        + chance.choice(["", "</div>", "</p></ul>", "some more words of text, and a stop."])
        for _ in range(chance.randint(1, 60))
    )
    blocks = blocks_of(html)
    rows = matrix(scene_of(blocks))
    assert rows.shape[1] == len(blocks)
    assert np.isfinite(rows).all()


def test_what_is_remembered_of_tags_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    html = "<div class=menu><a href=/a>one</a></div><div class=post-content><p>two three</p></div>" * 20
    first = matrix(scene_of(blocks_of(html)))
    monkeypatch.setattr(tag_table, "_MAX_TAGS", 1)
    assert (matrix(scene_of(blocks_of(html))) == first).all()
    assert (matrix(scene_of(blocks_of("<p>another page</p>" + html))).shape[1]) == first.shape[1] + 1


def test_trimming_keeps_the_chosen_blocks_and_nothing_else() -> None:
    html = (
        "<nav><a href=/>Menu</a></nav><main>loose <b>start</b><h1>Title</h1><p>First &lt;p&gt;.</p>"
        "<aside>Buy <i>now</i></aside>"
        "<p>Second.</p>loose end</main><footer>Foot</footer>"
    )
    body = body_of(html)
    blocks = segment(dom.serialised(body))
    wanted = {"Title", "First &lt;p&gt;.", "Second."}
    trim(dom.all_elements(body), cuts_of(blocks, np.array([line in wanted for line in lines(blocks)])))
    assert " ".join(dom.raw_text(body).split()) == "TitleFirst <p>.Second."


def test_a_picture_between_kept_paragraphs_stays_and_one_among_dropped_ones_goes() -> None:
    html = (
        "<div><p>one two three</p><figure><img src=a></figure><p>four five six</p></div>"
        "<div><p>seven</p><figure><img src=b></figure><p>eight</p></div>"
    )
    body = body_of(html)
    trim(dom.all_elements(body), cuts_of(segment(dom.serialised(body)), np.array([True, True, False, False])))
    assert [dom.attribute(image, "src") for image in dom.select(body, "img")] == ["a"]


def test_empty_cells_of_a_kept_row_stay() -> None:
    body = body_of("<p>x</p><table><tr><td>a</td><td></td><td>b</td></tr></table>")
    trim(dom.all_elements(body), cuts_of(segment(dom.serialised(body)), np.array([False, True, True])))
    assert len(dom.select(body, "td")) == 3
