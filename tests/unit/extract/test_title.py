"""The title of a page: which text it is, and that it comes first, once."""

from __future__ import annotations

import pytest

from sitelore.extract import dom
from sitelore.extract.content.main_content import Title, find_title, place_title
from sitelore.model.document import ReadOptions
from sitelore.model.settings import Overrides

from .conftest import ReadPage
from .scored import PROSE, SENTENCES


def title_of(body: str, head_title: str, site_name: str = "") -> str:
    """The text of the element that is the title; of `<title>` in brackets where there is none."""
    title = find_title(dom.parse(body), head_title, site_name)
    return dom.one_line_text(title.element) if title.element is not None else f"[{title.text}]"


def test_the_h1_is_the_title() -> None:
    assert title_of("<h1>The old mill</h1><h2>Wheels</h2>", "The old mill | Valley Post") == "The old mill"
    assert title_of("<h1>The <b>old</b>\n mill ¶</h1>", "the old mill") == "The old mill ¶"


def test_an_h1_that_is_the_name_of_the_site_is_not() -> None:
    body = "<h1>Valley Post</h1><h2>The old mill</h2>"
    assert title_of(body, "The old mill - Valley Post") == "The old mill"
    assert title_of(body, "The old mill - Valley Post", "Valley Post") == "The old mill"
    assert title_of("<h1>Valley Post</h1><p>x</p>", "Valley Post - The old mill", "Valley Post") == "[The old mill]"


@pytest.mark.parametrize("site", ["<a href=/><h1>My own notes</h1></a>", "<h1><a href=/>My own notes</a></h1>"])
def test_an_h1_that_only_leads_to_the_start_of_the_site_is_not(site: str) -> None:
    assert title_of(f"<header>{site}</header><article><h2>The old mill</h2></article>", "The old mill") == "The old mill"
    linked = '<a href="/mill"><h1>My own notes</h1></a>'
    assert title_of(f"<article>{linked}<h2>The old mill</h2></article>", "The old mill") == "My own notes"


def test_of_several_h1_the_one_that_the_head_repeats_is_taken() -> None:
    assert title_of("<h1>News</h1><h1>The old mill</h1><h1>More</h1>", "The old mill | Valley") == "The old mill"


def test_an_h1_with_most_of_its_words_in_the_head_is_taken() -> None:
    assert (
        title_of("<h1>The old mill and its wheel</h1>", "Valley Post: old mill, wheel and the stones")
        == "The old mill and its wheel"
    )


@pytest.mark.parametrize("tag", ["h2", "h3", "h4"])
def test_a_lower_heading_that_the_head_repeats_is_the_title(tag: str) -> None:
    assert title_of(f"<{tag}>Wheels</{tag}><{tag}>Stones</{tag}>", "Stones — Mills 3.1 documentation") == "Stones"


def test_a_heading_that_the_head_ends_with_after_a_colon_is_the_title() -> None:
    assert (
        title_of("<h2>Chapter 11. Wheels</h2><h2>Stones</h2>", "Mills: Documentation: 18: Chapter 11. Wheels")
        == "Chapter 11. Wheels"
    )


def test_an_element_named_as_title_that_the_head_repeats_is_the_title() -> None:
    assert title_of("<div class=page-title>Stones</div><h2>About</h2>", "Stones | Mills") == "Stones"
    assert title_of("<div class=page-title>Other</div><h2>About</h2>", "Stones | Mills") == "[Stones]"


@pytest.mark.parametrize(
    ("heading", "head"),
    [
        ("3.2. Wheels and stones", "Wheels and stones"),
        ("Wheels and stones", "3.2. Wheels and stones — Mills"),
        ("Chapter 4. Wheels and stones", "Chapter 4. Wheels and stones"),
        ("Chapter 4. Wheels and stones", "Wheels and stones - Mill handbook"),
    ],
)
def test_numbers_of_headings_do_not_matter(heading: str, head: str) -> None:
    assert title_of(f"<h2>About</h2><h2>{heading}</h2>", head) == heading


@pytest.mark.parametrize(
    ("head", "site", "text"),
    [
        ("Stones | Mills", "", "Stones"),
        ("Stones - Wheels - Mills", "", "Stones"),
        ("Mills » Stones", "Mills", "Stones"),
        ("Mills :: Stones", "mills", "Stones"),
        ("Stones", "Mills", "Stones"),
        ("Mills", "Mills", "Mills"),
        ("well-known stones", "", "well-known stones"),
        ("", "Mills", ""),
    ],
)
def test_the_head_s_title_is_taken_without_the_name_of_the_site(head: str, site: str, text: str) -> None:
    assert find_title(dom.parse("<p>x</p>"), head, site) == Title(text)


def test_the_title_comes_first_and_once(read_page: ReadPage) -> None:
    for body in (
        f"<main><h1>The old mill</h1>{PROSE}</main>",
        f"<main>{PROSE}<h1>The old mill</h1></main>",
        f"<h1>The old mill</h1><main>{PROSE}</main>",
        f"<main><h2>The old mill</h2>{PROSE}</main>",
        f"<main>{PROSE}</main>",
    ):
        page = read_page(f"<title>The old mill | Valley Post</title>{body}")
        assert page.markdown.startswith(f"# The old mill\n\n{SENTENCES[0]}")
        assert page.text.startswith(f"The old mill\n{SENTENCES[0]}")
        assert page.markdown.count("The old mill") == page.text.count("The old mill") == 1
        assert all(sentence in page.markdown for sentence in SENTENCES)


def test_other_headings_stay_below_the_title(read_page: ReadPage) -> None:
    body = f"<title>Stones | Mills</title><main><h1>Mills</h1><h2>Stones</h2>{PROSE}<h2>Wheels</h2>{PROSE}</main>"
    markdown = read_page(body).markdown
    assert markdown.startswith("# Stones\n\n")
    assert "## Wheels" in markdown


def test_the_only_h1_is_the_title_even_if_the_title_element_differs(read_page: ReadPage) -> None:
    head = "<title>Welcome</title>"
    outside = read_page(f"{head}<div class=page-title><h1>The old mill</h1></div><main>{PROSE}</main>").markdown
    assert outside.startswith("# The old mill\n\n")
    assert "Welcome" not in outside
    assert read_page(f"{head}<header><h1>Blog</h1></header><main>{PROSE}</main>").markdown.startswith("# Welcome\n\n")


def test_content_without_text_gets_no_title(read_page: ReadPage) -> None:
    assert read_page("<title>Only a title</title><main> </main>").markdown == ""
    empty = (dom.new_element("div"),)
    assert place_title(Title("Mills"), empty) == empty


def test_a_page_without_any_title_begins_with_its_text(read_page: ReadPage) -> None:
    assert read_page(f"<main>{PROSE}</main>").markdown.startswith(SENTENCES[0])


def test_content_that_is_the_title_itself_is_written_once(read_page: ReadPage) -> None:
    tree = dom.parse("<h1>The old mill</h1><p>text</p>")
    for title in (find_title(tree, "The old mill", ""), Title("The old mill")):
        nodes = place_title(title, tuple(dom.select(dom.parse("<h2>The old mill</h2>"), "h2")))
        assert [dom.one_line_text(node) for node in nodes] == ["The old mill"]
    rules = Overrides("site.example", ("h1",))
    page = read_page("<title>The old mill</title><h1>The old mill</h1>" + PROSE, options=ReadOptions(overrides=(rules,)))
    assert (page.markdown, page.text) == ("# The old mill", "The old mill")


def test_an_override_gets_its_title_too() -> None:
    tree = dom.parse("<h1>The old mill</h1><div id=x><p>text</p></div>")
    nodes = place_title(find_title(tree, "The old mill", ""), tuple(dom.select(tree, "#x")))
    assert [dom.one_line_text(node) for node in nodes] == ["The old mill", "text"]
    # It is a copy: what stands outside the content stays where it is.
    assert len(dom.select(tree, "h1")) == 1


def test_an_h1_equal_to_the_title_element_is_the_title_at_any_place(read_page: ReadPage) -> None:
    body = f"<h1>The best mills</h1><article>{PROSE}<h1>Buying guide: the best mills</h1><p>{SENTENCES[0]} Again.</p></article>"
    markdown = read_page(f"<title>The best mills | Valley Post</title>{body}").markdown
    assert markdown.startswith(f"# The best mills\n\n{SENTENCES[0]}")
    assert f"# Buying guide: the best mills\n\n{SENTENCES[0]} Again." in markdown


def test_an_h1_that_is_a_link_to_the_start_of_the_site_is_not_the_title(read_page: ReadPage) -> None:
    for home in ("http://www.mills.example", "/", "../index.html", "index.html"):
        name = f"<h1><a href='{home}'>Mills of Oak</a></h1>"
        markdown = read_page(f"<title>Stones of Oak</title>{name}<div><h2>Stones</h2>{PROSE}</div>").markdown
        assert "Mills of Oak" not in markdown
        assert title_of(f"{name}<h1>module Oak</h1>", "Oak - Mills 1.6") == "module Oak"
    assert title_of("<h1><a href=/stones>Mills of Oak</a></h1>", "Welcome") == "Mills of Oak"
    assert title_of("<h1><a href=/>Mills of Oak</a></h1><h2>x</h2>", "Mills of Oak") == "Mills of Oak"


def test_a_section_with_the_name_of_the_page_is_not_the_title(read_page: ReadPage) -> None:
    section = f"<h4>Stone</h4><p>{SENTENCES[1]}</p>"
    body = f"<h2 class=title>Class Stone</h2><p>{SENTENCES[0]}</p><h3>Constructors</h3>{section}{section}"
    markdown = read_page(f"<title>Stone (API)</title><main>{body}</main>").markdown
    assert markdown.startswith("# Class Stone\n")
    assert markdown.count("#### Stone\n") == 2
    assert title_of("<h2>About</h2><h2 class=title>Buy a stone</h2>", "A stone on Mills") == "[A stone on Mills]"


def test_the_first_numbered_section_is_not_the_title_when_an_element_is() -> None:
    assert title_of("<div class=fancy_title>INSERT</div><h1>1. Overview</h1>", "INSERT") == "INSERT"
    assert title_of("<div class=site_title>Mills</div><h1>The old wheel</h1>", "Mills") == "The old wheel"


def test_of_a_head_s_title_the_part_that_a_page_without_headings_begins_with_is_taken() -> None:
    page = dom.parse("<pre>STONE_TABLE(5)     STONE_TABLE(5)\n\nNAME\n   stone_table</pre>")
    assert find_title(page, "Mill manual - stone_table(5)", "").text == "stone_table(5)"
    assert find_title(dom.parse("<p><a href=news>Mill News</a> jobs</p>"), "jobs | Mill News", "").text == "jobs"


def test_a_title_that_is_written_twice_is_written_once(read_page: ReadPage) -> None:
    markdown = read_page(f"<title>Mills</title><h1>Mills</h1><h2>Questions</h2><hr><h1>Mills</h1>{PROSE}").markdown
    assert markdown.count("# Mills") == 1


def test_of_many_sections_one_that_shares_words_with_the_head_is_not_the_title() -> None:
    sections = "".join(f"<h1>{name}</h1><p>x</p>" for name in ("NAME", "API", "Description"))
    assert title_of(sections, "Mill::Table - Perl API for tables") == "[Mill::Table]"


def test_of_elements_named_as_title_the_one_that_the_head_repeats_longest_is_taken() -> None:
    body = "<div id=titlearea>Mills</div><div class=title>Turning wheels<div class=groups>Class list</div></div>"
    assert find_title(dom.parse(body), "Mills: Turning wheels", "").element is not None
    assert title_of(body, "Mills: Turning wheels").startswith("Turning wheels")


def test_blocks_in_an_element_that_is_the_title_stay_where_they_are(read_page: ReadPage) -> None:
    title = "<div class=title>Turning wheels<div class=groups>Class list</div></div>"
    markdown = read_page(f"<title>Turning wheels</title><main>{title}{PROSE}</main>").markdown
    assert markdown.startswith(f"# Turning wheels\n\nClass list\n\n{SENTENCES[0]}")


def test_a_kind_before_the_name_in_the_head_is_part_of_the_title() -> None:
    body = "<p>Package mills</p><h2 class=title>[Java] Annotation Type Stone</h2><h3>Stones of all kinds Stone</h3>"
    assert title_of(body, "Stone (Mill 2.1 API)") == "[Java] Annotation Type Stone"


def test_the_last_part_of_the_head_is_the_title_where_the_content_begins_with_it() -> None:
    assert title_of("<div id=content><h1>mill_spec</h1><p>x</p></div>", "Mills -- mill_spec") == "mill_spec"
    assert title_of("<div id=content><h1>Mills</h1><h2>Stones</h2></div>", "Stones - Mills") == "Stones"


def test_a_number_and_its_name_are_one_title() -> None:
    assert title_of("<p>x</p>", "PEP 256 \u2013 Docstring Processing System Framework") == (
        "[PEP 256 \u2013 Docstring Processing System Framework]"
    )
    assert title_of("<p>x</p>", "Chapter 4 - Mills") == "[Chapter 4]"


def test_the_name_of_the_product_in_the_header_is_not_the_title_and_goes(read_page: ReadPage) -> None:
    body = f"<header><h1>Mill Server 10</h1><p>Version 10.1</p></header><div id=content><h2>Turning wheels</h2>{PROSE}</div>"
    head = "Mill Server 10 (10.1) - Turning wheels"
    assert title_of(body, head) == "Turning wheels"
    markdown = read_page(f"<title>{head}</title>{body}").markdown
    assert markdown.startswith("# Turning wheels\n")
    assert "# Mill Server" not in markdown
