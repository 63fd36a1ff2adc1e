"""Cutting a tree down to the kept blocks."""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.content.selection import Selection, trim

from .scored import scored


def cut_down(html: str, wanted: set[str]) -> dom.Element:
    """The tree with nothing but the blocks of these texts."""
    page = scored(html)
    trim(page.page, Selection([text in wanted for text in page.texts()]), page.elements)
    return page.body


def test_trimming_keeps_the_chosen_blocks_and_nothing_else() -> None:
    html = (
        "<nav><a href=/>Menu</a></nav><main>loose <b>start</b><h1>Title</h1><p>First &lt;p&gt;.</p>"
        "<aside>Buy <i>now</i></aside>"
        "<p>Second.</p>loose end</main><footer>Foot</footer>"
    )
    body = cut_down(html, {"Title", "First &lt;p&gt;.", "Second."})
    assert " ".join(dom.raw_text(body).split()) == "TitleFirst <p>.Second."


def test_loose_text_beside_dropped_elements_stays_with_its_markup() -> None:
    body = cut_down("<div>loose <b>start</b> of it<p>drop</p>and its end</div>", {"loose start of it", "and its end"})
    assert dom.raw_text(body).split() == ["loose", "start", "of", "itand", "its", "end"]
    assert [dom.raw_text(element) for element in dom.select(body, "b")] == ["start"]
    assert dom.select(body, "p") == []


def test_an_image_between_kept_paragraphs_is_kept_and_one_among_cut_ones_is_cut() -> None:
    html = (
        "<div><p>one two three</p><figure><img src=a></figure><p>four five six</p></div>"
        "<div><p>seven</p><figure><img src=b></figure><p>eight</p></div>"
    )
    body = cut_down(html, {"one two three", "four five six"})
    assert [dom.attribute(image, "src") for image in dom.select(body, "img")] == ["a"]


def test_empty_cells_of_a_kept_row_stay() -> None:
    body = cut_down("<p>x</p><table><tr><td>a</td><td></td><td>b</td></tr></table>", {"a", "b"})
    assert len(dom.select(body, "td")) == 3
    assert dom.select(body, "p") == []
