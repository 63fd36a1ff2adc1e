from dataclasses import replace

import numpy as np
import pytest

from sitelore.extract import dom
from sitelore.extract.content import scorer
from sitelore.extract.content.block_features import scene_of
from sitelore.extract.content.blocks import segment
from sitelore.extract.content.scene import Scene
from sitelore.extract.content.scorer import choose, scores_of
from sitelore.extract.content.tag_marks import TAG_NUMBER
from sitelore.extract.content.trees import trees_from

from .conftest import ReadPage

SENTENCES = (
    "The mill stands where the river bends, and its wheel has not turned since the flood.",
    "Nobody in the village remembers who built it, although the ledger in the church names three families.",
    "In spring the meadow below is under water for a week, which is why the path runs along the ridge.",
    "Every miller kept a list of the floods, and the last entry is from the year the railway came.",
    "What is left of the machinery was sold to a museum, where children may turn a small copy of the wheel.",
    "The roof was mended twice, first with slate and then with tin, and both times by the same carpenter.",
    "On quiet evenings the owls that nest in the loft can be heard as far as the station.",
)
MENU = "<nav><ul>" + "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(12)) + "</ul></nav>"
CARDS = "".join(f"<li class=card><a href=/story/{n}><h4>Another story {n}</h4></a></li>" for n in range(6))
PAGE = (
    f"<header><a href=/>The Valley Post</a></header>{MENU}<main><article><h1>The old mill</h1>"
    + "".join(f"<p>{sentence} {SENTENCES[-1 - at]}</p>" for at, sentence in enumerate(SENTENCES))
    + "<h2>What remains</h2>"
    + "".join(f"<p>{sentence} It was written down by hand in {1900 + at}.</p>" for at, sentence in enumerate(SENTENCES))
    + f"</article><aside class=related><h3>More stories</h3><ul>{CARDS}</ul></aside></main>"
    "<footer><p>© 2024 The Valley Post. All rights reserved.</p><a href=/imprint>Imprint</a></footer>"
)


def scene(html: str) -> Scene:
    body = dom.body(dom.parse(html))
    assert body is not None
    return scene_of(segment(dom.serialised(body)))


def test_the_story_is_chosen_and_the_frame_is_not(read_page: ReadPage) -> None:
    page = read_page(PAGE)
    assert page.document["strategy"] == "learned"
    for sentence in SENTENCES:
        assert sentence in page.text
    for word in ("Section 3", "Another story", "rights reserved", "Imprint"):
        assert word not in page.text
    assert page.markdown.count("\n# ") + page.markdown.startswith("# ") == 1
    assert "## What remains" in page.markdown


def test_scores_are_shares_and_the_same_each_time() -> None:
    trees, page = trees_from(), scene(PAGE)
    once, twice = scores_of(page, trees), scores_of(scene(PAGE), trees)
    assert ((once >= 0) & (once <= 1)).all()
    assert (once == twice).all()
    choice = choose(page, trees)
    assert 0 < choice.expected <= 1
    assert any(choice.kept)


def test_trees_of_other_features_are_refused() -> None:
    trees = replace(trees_from(), names=("other",))
    with pytest.raises(ValueError, match="train it again"):
        scores_of(scene(PAGE), trees)


def test_trees_are_small_and_agree_with_themselves() -> None:
    trees = trees_from()
    assert trees.feature.shape == trees.bound.shape
    assert trees.value.shape == (trees.feature.shape[0], 2 ** trees.feature.shape[1])
    assert sum(table.numbers.itemsize * len(table.numbers) for table in (trees.value, trees.bound)) < 2**20
    assert max(trees.feature.numbers) < len(trees.names)


def test_a_row_of_a_table_and_a_listing_are_kept_whole() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>{sentence}</td><td>ok</td></tr>" for n, sentence in enumerate(SENTENCES))
    code = "<pre><div>import mill</div><div>x = 1</div><div>mill.turn(x)</div></pre>"
    page = scene(PAGE.replace("<h2>", f"<table>{rows}</table>{code}<h2>"))
    kept = choose(page, trees_from()).kept
    elements = page.blocks.elements
    for row in np.flatnonzero(elements.last - elements.first > 1).tolist():
        if elements.tag[row] in {TAG_NUMBER[b"tr"], TAG_NUMBER[b"pre"]}:
            part = kept[elements.first[row] : elements.last[row]]
            assert all(part) or not any(part)


def test_the_listings_between_the_sections_of_a_manual_stay(read_page: ReadPage) -> None:
    listing = "<pre>" + "\n".join(f"wheel_{n} = mill.turn({n}, speed={3 * n}, log=None)" for n in range(12)) + "</pre>"
    sections = "".join(
        f"<h2>Turning {at}</h2><p>{sentence}</p><p>{SENTENCES[-1 - at]}</p>{listing}" for at, sentence in enumerate(SENTENCES)
    )
    footer = "<footer><p>© 2024 Mills and Manuals. All rights reserved.</p><a href=/imprint>Imprint</a></footer>"
    page = read_page(f"<header><a href=/>Manuals</a></header>{MENU}<main><h1>The mill module</h1>{sections}</main>{footer}")
    assert page.markdown.count("wheel_11 = mill.turn(11") == len(SENTENCES)
    assert "Section 3" not in page.text


def test_a_page_that_scripts_reveal_is_read_all_the_same(read_page: ReadPage) -> None:
    story = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES * 2)
    streamed = read_page(f"<body><div id=root>Loading</div><div hidden id=S:1><article>{story}</article></div></body>")
    assert SENTENCES[2] in streamed.text
    faded = read_page(f"<body><div style='visibility:hidden'><article>{story}</article></div></body>")
    assert SENTENCES[2] in faded.text
    shown = read_page(f"<body><article>{story}</article><div hidden>{SENTENCES[0].upper()}</div></body>")
    assert SENTENCES[0].upper() not in shown.text


def test_a_heading_goes_with_its_section_unless_it_is_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    page = scene(
        "<body><section><h2>More from the valley</h2><p>Words nobody wants</p></section>"
        "<section><h2><a href=/mill>The mill by the river</a></h2><p>Words nobody wants</p></section></body>"
    )
    monkeypatch.setattr(scorer, "scores_of", lambda page, _: np.where(page.heading > 0, 0.9, 0.01))
    assert choose(page, trees_from()).kept == [False, False, True, False]
