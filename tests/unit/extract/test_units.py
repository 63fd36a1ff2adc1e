"""The structural units of a page: what is kept or cut as a whole."""

from __future__ import annotations

from sitelore.extract.content.block_scorer import LINK, PAIR
from sitelore.extract.content.vocabulary import TAG_NUMBER

from .scored import Scored, scored


def has_tag(page: Scored, text: str, tag: str) -> bool:
    return bool(page.units.tags[page.unit(text)] & 1 << TAG_NUMBER[tag.encode()])


def test_a_heading_and_everything_up_to_the_next_one_of_its_level_is_a_unit() -> None:
    page = scored("<p>intro</p><h2>A</h2><p>a one</p><p>a two</p><h2>B</h2><p>b one</p>")
    assert page.children("intro A a one a two B b one") == ["intro", "A a one a two", "B b one"]
    assert page.own("A a one a two") == ["A"]
    assert page.children("A a one a two") == ["a one", "a two"]


def test_a_section_holds_the_sections_of_lower_headings() -> None:
    page = scored("<h2>A</h2><p>a</p><h3>A one</h3><p>text</p><h3>A two</h3><p>more</p><h2>B</h2><p>b</p>")
    assert page.children("A a A one text A two more B b") == ["A a A one text A two more", "B b"]
    assert page.children("A a A one text A two more") == ["a", "A one text", "A two more"]


def test_a_heading_inside_its_own_element_heads_what_follows_that_element() -> None:
    page = scored("<div><h2>A</h2></div><p>a</p><div><h2>B</h2></div><p>b</p>")
    assert page.children("A a B b") == ["A a", "B b"]


def test_headings_of_one_element_do_not_reach_beyond_it() -> None:
    page = scored("<div><h2>A</h2><p>a</p></div><p>loose</p>")
    assert page.children("A a loose") == ["A a", "loose"]


def test_a_term_is_a_unit_with_its_definitions() -> None:
    page = scored("<p>x</p><dl><dt>one</dt><dd>first</dd><dd>second</dd><dt>two</dt><dd>third</dd></dl>")
    assert page.children("one first second two third") == ["one first second", "two third"]
    pair = page.unit("one first second")
    assert page.units.kind[pair] == PAIR
    assert page.own("one first second") == ["one"]
    assert page.units.kind[page.unit("first")] != PAIR


def test_several_terms_share_a_definition() -> None:
    page = scored("<p>x</p><dl><dt>one</dt><dt>uno</dt><dd>first</dd><dt>two</dt><dd>second</dd></dl>")
    assert page.children("one uno first two second") == ["one uno first", "two second"]
    assert page.own("one uno first") == ["one", "uno"]


def test_terms_wrapped_in_groups_stay_with_their_definitions() -> None:
    page = scored("<p>x</p><dl><div><dt>one</dt><dd>first</dd></div><div><dt>two</dt><dd>second</dd></div></dl>")
    assert page.children("one first two second") == ["one first", "two second"]


def test_lists_tables_and_code_are_not_divided() -> None:
    page = scored(
        "<p>x</p><ul><li>a<li>b</ul><ol><li>c<li>d</ol><table><tr><td>e<td>f<tr><td>g</table>"
        "<pre><div>h</div><div>i</div></pre>"
    )
    for text, tag in (("a b", "ul"), ("c d", "ol"), ("e f g", "table"), ("h i", "pre")):
        assert has_tag(page, text, tag)
        assert page.children(text) == []
        assert page.own(text) == [text]


def test_a_long_list_and_a_long_table_are_divided() -> None:
    article = "word " * 120
    page = scored(f"<p>x</p><ul><li>{article}<li>short</ul><table><tr><td>{article}<td>{article}</table>")
    assert len(page.children(f"{article}short")) == 2
    assert page.own(f"{article}short") == []
    assert page.children(f"{article}{article}".strip()) == [article.strip()] * 2


def test_the_rows_of_a_long_table_of_data_are_not_divided_and_those_of_a_page_layout_are() -> None:
    text = "word " * 60
    rows = "".join(f"<tr><td>{n}</td><td>{text}</td></tr>" for n in range(4))
    page = scored(f"<p>x</p><table>{rows}</table>")
    table = f"0 {text}1 {text}2 {text}3 {text}".strip()
    assert page.children(table) == [f"{n} {text}".strip() for n in range(4)]
    assert page.children(f"0 {text}".strip()) == []
    for layout in (
        f"<tr><td>{text}</td></tr><tr><td>0</td><td>{text * 4}</td></tr>",
        f"<tr><td>a</td><td><table>{rows}</table></td></tr>" * 2,
    ):
        page = scored(f"<p>x</p><table>{layout}</table>")
        row = next(unit for unit in range(len(page.units)) if page.units.tags[unit] == 1 << TAG_NUMBER[b"tr"])
        assert len(page.units.children[row]) == 2


def test_a_code_block_of_any_length_is_one_unit() -> None:
    lines = "".join(f"<div>line {number} of the listing</div>" for number in range(200))
    page = scored(f"<p>x</p><pre>{lines}</pre>")
    listing = next(unit for unit in range(len(page.units)) if page.units.tags[unit] & 1 << TAG_NUMBER[b"pre"])
    assert page.units.children[listing] == []
    assert page.units.words[listing] == 1000


def test_a_link_between_elements_is_a_unit_and_one_in_a_paragraph_is_not() -> None:
    page = scored("<div><p>one two</p><a href=/next>Next page</a><p>three <a href=/x>four</a></p></div>")
    link = page.unit("Next page")
    assert page.units.kind[link] == LINK
    assert page.units.element[link] == -1
    assert page.units.kind[page.unit("three four")] != LINK
    assert "four" not in [page.text_of(unit) for unit in range(len(page.units))]


def test_elements_around_the_same_text_are_one_unit() -> None:
    page = scored("<p>x</p><div class=related><section><div><p>all of it</p></div></section></div>")
    assert [page.text_of(unit) for unit in range(len(page.units))] == ["x all of it", "x", "all of it"]
    for tag in ("div", "section", "p"):
        assert has_tag(page, "all of it", tag)
    outermost = page.units.element[page.unit("all of it")]
    assert page.elements[page.page.elements.order[outermost]].attr("class") == "related"


def test_words_and_linked_words_are_those_of_the_whole_unit() -> None:
    page = scored("<div><p>one two <a href=/x>three</a></p><p><a href=/y>four five</a></p></div><p>six</p>")
    unit = page.unit("one two three four five")
    assert (page.units.words[unit], page.units.linked[unit]) == (5, 3)
    assert page.units.words[0] == 6


def test_every_block_belongs_to_one_unit_and_every_unit_but_the_root_to_one_other() -> None:
    page = scored(
        "loose<h1>T</h1><dl><dt>a<dd>b<p>c</p></dl>tail<ul><li>d</ul>"
        "<div><h2>H</h2>e<table><tr><td>f</table></div><a href=x>g</a>"
    )
    owned = sorted(block for own in page.units.own for first, last, _ in own for block in range(first, last))
    assert owned == list(range(len(page.texts())))
    inner = sorted(child for children in page.units.children for child in children)
    assert inner == list(range(1, len(page.units)))
