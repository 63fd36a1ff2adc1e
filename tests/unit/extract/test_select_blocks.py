"""The choice of blocks that are kept, and how a tree is cut down to them."""

from __future__ import annotations

from dataclasses import replace

from sitelore.extract import dom
from sitelore.extract.content.block_scorer import ScoredPage, score_page
from sitelore.extract.content.main import select_blocks
from sitelore.extract.content.scorer_model import load_model
from sitelore.extract.content.trimming import trim
from sitelore.extract.content.vocabulary import TAG_NUMBER

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


def body_of(html: str) -> dom.Element:
    body = dom.body(dom.parse(html))
    assert body is not None
    return body


def page_of(body: dom.Element) -> ScoredPage:
    page = score_page(dom.serialised(body), load_model(), max_blocks=10_000)
    assert page is not None
    return page


def cut_down(html: str, wanted: set[str]) -> dom.Element:
    """The tree with the blocks alone that say one of these."""
    body = body_of(html)
    page = page_of(body)
    scores = [0.9 if " ".join(text.decode().split()) in wanted else 0.0 for text in page.texts()]
    trim(dom.all_elements(body), select_blocks(replace(page, scores=scores)))
    return body


def test_the_story_is_chosen_and_the_frame_is_not(read_page: ReadPage) -> None:
    page = read_page(PAGE)
    assert page.document["strategy"] == "learned"
    for sentence in SENTENCES:
        assert sentence in page.text
    for word in ("Section 3", "Another story", "rights reserved", "Imprint"):
        assert word not in page.text
    assert page.markdown.count("\n# ") + page.markdown.startswith("# ") == 1
    assert "## What remains" in page.markdown


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


def test_blocks_at_least_half_of_the_expected_f1_are_kept() -> None:
    page = page_of(body_of("<p>one two three four</p><p>five six seven eight</p><p>nine ten</p>"))
    cuts = select_blocks(replace(page, scores=[0.9, 0.5, 0.05]))
    # Keeping the first two: 2 * (3.6 + 2) / (8 + 5.7).
    assert abs(cuts.expected_f1 - 2 * 5.6 / 13.7) < 1e-9
    assert cuts.threshold == cuts.expected_f1 / 2
    assert cuts.kept == [True, True, False]


def test_the_best_block_is_kept_however_low_its_score() -> None:
    page = page_of(body_of("<p>one two</p><p>three four</p>"))
    assert select_blocks(replace(page, scores=[0.01, 0.002])).kept[0]


def test_a_row_of_a_table_and_a_listing_are_kept_whole() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>{sentence}</td><td>ok</td></tr>" for n, sentence in enumerate(SENTENCES))
    code = "<pre><div>import mill</div><div>x = 1</div><div>mill.turn(x)</div></pre>"
    page = page_of(body_of(PAGE.replace("<h2>", f"<table>{rows}</table>{code}<h2>")))
    kept, elements = select_blocks(page).kept, page.elements
    whole = [row for row, tag in enumerate(elements.tag) if tag in {TAG_NUMBER[b"tr"], TAG_NUMBER[b"pre"]}]
    assert len(whole) == len(SENTENCES) + 1
    for row in whole:
        part = kept[elements.first[row] : elements.last[row]]
        assert all(part) or not any(part)


def test_trimming_keeps_the_chosen_blocks_and_nothing_else() -> None:
    html = (
        "<nav><a href=/>Menu</a></nav><main>loose <b>start</b><h1>Title</h1><p>First &lt;p&gt;.</p>"
        "<aside>Buy <i>now</i></aside>"
        "<p>Second.</p>loose end</main><footer>Foot</footer>"
    )
    body = cut_down(html, {"Title", "First &lt;p&gt;.", "Second."})
    assert " ".join(dom.raw_text(body).split()) == "TitleFirst <p>.Second."


def test_a_picture_between_kept_paragraphs_stays_and_one_among_dropped_ones_goes() -> None:
    html = (
        "<div><p>one two three</p><figure><img src=a></figure><p>four five six</p></div>"
        "<div><p>seven</p><figure><img src=b></figure><p>eight</p></div>"
    )
    body = cut_down(html, {"one two three", "four five six"})
    assert [dom.attribute(image, "src") for image in dom.select(body, "img")] == ["a"]


def test_empty_cells_of_a_kept_row_stay() -> None:
    body = cut_down("<p>x</p><table><tr><td>a</td><td></td><td>b</td></tr></table>", {"a", "b"})
    assert len(dom.select(body, "td")) == 3
