"""Documentation: what tells it from other pages, its content region, and what is cut from it."""

from __future__ import annotations

import pytest

from sitelore.extract.content.documentation import PageFacts

from .conftest import ReadPage
from .scored import MENU, PROSE, SENTENCES, scored

SOCIAL = PageFacts(metas=(("og:title", "Mills"), ("twitter:card", "summary")))
LINKED_DATA = PageFacts(has_json_ld=True)
STORY = f"<h1>The mill</h1>{PROSE}"
LISTING = "<pre>" + "\n".join(f"wheel_{n} = mill.turn({n}, speed={3 * n}, log=None)" for n in range(12)) + "</pre>"


def kept_of(body: str) -> list[str]:
    page = scored(body)
    return page.kept(page.documentation())


def reasons_of(body: str) -> dict[str, str]:
    page = scored(body)
    return page.reasons(page.documentation())


@pytest.mark.parametrize(
    "generator",
    ["Sphinx 7.2", "mkdocs-1.5.3, mkdocs-material-9.4", "Docutils 0.20", "DocBook XSL Stylesheets V1.79", "mdBook", "rustdoc"],
)
def test_pages_of_a_documentation_generator_are_documentation(generator: str) -> None:
    facts = PageFacts(metas=(*SOCIAL.metas, ("generator", generator)), has_json_ld=True)
    assert scored(f"<div class=price>{STORY}</div>").is_documentation(facts)


@pytest.mark.parametrize("generator", ["WordPress 6.4", "Wix.com Website Builder", "Hugo 0.120", ""])
def test_pages_of_another_generator_are_not_documentation_for_that_reason(generator: str) -> None:
    facts = PageFacts(metas=(*SOCIAL.metas, ("generator", generator)))
    assert not scored(STORY).is_documentation(facts)


@pytest.mark.parametrize("generator", ["Discourse 3.4.0", "vBulletin 3.8.11", "phpBB"])
def test_pages_of_forum_software_are_not_documentation(generator: str) -> None:
    page = scored(f"<main>{PROSE}<pre>{'make all ' * 40}</pre></main>")
    assert page.is_documentation()
    assert not page.is_documentation(PageFacts(metas=(("generator", generator),)))


def test_a_plain_page_is_documentation_and_one_that_is_promoted_is_not() -> None:
    page = scored(STORY)
    assert page.is_documentation()
    assert page.is_documentation(PageFacts(metas=(("viewport", "width=device-width"), ("description", "Mills"))))
    assert not page.is_documentation(SOCIAL)
    assert not page.is_documentation(LINKED_DATA)


@pytest.mark.parametrize("name", ["add-to-cart", "product-price", "social-share", "reviews", "ad-slot", "image-carousel"])
def test_a_page_that_sells_or_shares_is_not(name: str) -> None:
    assert not scored(f"{STORY}<div class='{name}'>12</div>").is_documentation()


def test_a_promoted_page_full_of_code_or_terms_is() -> None:
    code = "".join(f"<h2>Turning {n}</h2><p>{sentence}</p>{LISTING}" for n, sentence in enumerate(SENTENCES))
    terms = "".join(f"<dt>wheel_{n}</dt><dd>{sentence}</dd>" for n, sentence in enumerate(SENTENCES))
    for body in (code, f"{PROSE}<dl>{terms}</dl>"):
        page = scored(f"<main><h1>The mill module</h1>{body}</main>")
        assert page.is_documentation(SOCIAL)
        shop = "<div class=cart>1</div><div class=price>2</div><div class=reviews>3</div>"
        assert not scored(f"<main><h1>The mill module</h1>{body}{shop}</main>").is_documentation(SOCIAL)


def test_posts_of_several_authors_are_a_discussion() -> None:
    post = f"<div><span>Ann</span><div class=author>Ann</div><p>{SENTENCES[0]}</p></div>"
    assert scored(post).is_documentation()
    assert not scored(post * 3).is_documentation()


@pytest.mark.parametrize(
    "region",
    [
        f"<main>{STORY}</main>",
        f"<div role=main>{STORY}</div>",
        f"<article>{STORY}</article>",
        f"<div class='x document'>{STORY}</div>",
        f"<div id=content>{STORY}</div>",
        f"<div class=rst-content><div role=main><article>{STORY}</article></div></div>",
        f"<div><div>{STORY}</div></div>",
    ],
)
def test_the_region_is_kept_whole_and_nothing_else(region: str) -> None:
    around = f"<div class=sphinxsidebar>{MENU}</div>{region}<div class=footer>Copyright 2024, the millers</div>"
    assert kept_of(around) == ["The mill", *SENTENCES]


def test_the_innermost_of_regions_around_the_same_text_is_taken() -> None:
    beside = "<div>Chapter list of all the mills</div>"
    body = f"<main>{beside}<article>{STORY}</article></main>"
    assert kept_of(body) == ["The mill", *SENTENCES]
    assert reasons_of(body) == {"Chapter list of all the mills": "outside the content region"}


def test_a_main_element_with_little_text_is_not_the_region() -> None:
    assert kept_of(f"<main><p>Loading the page</p></main><div>{STORY}</div>")[-len(SENTENCES) :] == list(SENTENCES)


def test_a_last_section_outside_the_densest_element_stays() -> None:
    body = f"<div>{STORY}{PROSE}</div><div><h2>Notes</h2><p>Written in the year of the flood.</p></div>"
    assert kept_of(body)[-2:] == ["Notes", "Written in the year of the flood."]


@pytest.mark.parametrize(
    ("navigation", "reason"),
    [
        (f"<nav>{MENU}</nav>", "navigation by its tag or role"),
        ("<div role=navigation><p>Up to the top</p></div>", "navigation by its tag or role"),
        ("<div role=search>Search the mill</div>", "navigation by its tag or role"),
        ("<div class=breadcrumbs>Mills / Wheels</div>", "navigation, a footer or a form"),
        ("<div class='prev-next'>Previous and next</div>", "navigation, a footer or a form"),
        ("<div id=footer>Made by millers</div>", "navigation, a footer or a form"),
        ("<div class=related><a href=/a>A mill</a> <a href=/b>Another mill</a></div>", "named as navigation, and mostly links"),
        (
            "<div class=header><a href=/n>Next: Wheels</a>, <a href=/u>Up: Mills</a></div>",
            "named as navigation, and mostly links",
        ),
        ("<div class=toc><p>On this page</p><ul><li><a href='#x'>Wheels and stones</a></ul></div>", "a table of contents"),
    ],
)
def test_navigation_inside_the_region_is_cut_as_a_whole(navigation: str, reason: str) -> None:
    for body in (f"<main>{navigation}{STORY}</main>", f"<main>{STORY}{navigation}</main>"):
        assert kept_of(body) == ["The mill", *SENTENCES]
        reasons = reasons_of(body)
        assert list(reasons.values()) == [reason]


@pytest.mark.parametrize(
    ("control", "reason"),
    [
        ("<div><a href=/s>Source</a> <a href=/e>Edit</a></div>", "links to the source"),
        ("<div><a href=/s>View source</a></div>", "links to the source"),
        ("<div class=popup>Link copied to clipboard</div>", "a control"),
        ("<p>Was this page helpful?</p>", "a control"),
    ],
)
def test_a_control_is_cut(control: str, reason: str) -> None:
    body = f"<main>{STORY}{control}<ul><li><a href=/s>Source</a></li><li>of the river</li></ul></main>"
    assert kept_of(body) == ["The mill", *SENTENCES, "Source", "of the river"]
    assert list(reasons_of(body).values()) == [reason]


def test_links_to_their_own_place_are_no_navigation() -> None:
    turn = "<div class=related><a href='#turn' title='Link to this method'>turn(wheel, speed)</a></div>"
    method = f"<div id=turn>{turn}<p>Turns it.</p></div>"
    assert "turn(wheel, speed)" in kept_of(f"<main>{STORY}{method}</main>")
    assert "turn(wheel, speed)" not in kept_of(f"<main>{STORY}{method.replace('#turn', '#grind')}</main>")


def test_sections_right_below_a_named_region_stay() -> None:
    references = "<h2>References</h2><dl><dt>[Mills]</dt><dd>The Miller. Mills of the valley.</dd></dl>"
    dialog = f"<div><h2>Your choice of cookies</h2><p>Accept</p></div><h2>Read on</h2><ul>{MENU}</ul>"
    assert kept_of(f"<main>{STORY}</main>{references}{dialog}") == [
        *("The mill", *SENTENCES, "References", "[Mills]", "The Miller. Mills of the valley.")
    ]


@pytest.mark.parametrize("name", ["footnotes", "endnotes"])
def test_footnotes_outside_the_region_stay(name: str) -> None:
    body = f"<div id=content>{STORY}</div><div id={name}><p>1. Written at the mill.</p></div><div id=footer>Version 2</div>"
    assert kept_of(body) == ["The mill", *SENTENCES, "1. Written at the mill."]


def test_what_stands_between_the_title_and_the_region_stays() -> None:
    top = f"<header><div>Wheels</div><h1>The mill</h1></header><div class=path>POST /wheels</div><nav>{MENU}</nav>"
    assert kept_of(f"{top}<div id=content>{PROSE}</div>") == ["Wheels", "The mill", "POST /wheels", *SENTENCES]


def test_a_header_of_a_part_stays_and_that_of_the_page_does_not() -> None:
    part = "<article><header><a href=/t>turn</a> of wheels</header><p>Turns one wheel after the other.</p></article>"
    kept = kept_of(f"<main><header><a href=/h>Home</a> of millers</header>{STORY}{part}</main>")
    assert kept[-2:] == ["turn of wheels", "Turns one wheel after the other."]


@pytest.mark.parametrize("name", ["rst-content", "docstring", "vp-doc"])
def test_a_promoted_page_in_the_markup_of_documentation_is_documentation(name: str) -> None:
    assert scored(f"<div class={name}>{STORY}</div>").is_documentation(SOCIAL)


def test_a_bar_of_a_few_links_with_labels_is_cut() -> None:
    bar = (
        "<div class=header><p>Next: <a href=/n>Wheels</a>, Previous: <a href=/p>Stones</a>, Up: <a href=/u>Mills</a></p></div>"
    )
    body = f"<main>{bar}{STORY}</main>"
    assert kept_of(body) == ["The mill", *SENTENCES]
    assert list(reasons_of(body).values()) == ["a navigation bar"]


def test_a_list_of_links_to_places_of_the_page_is_contents_and_one_to_other_pages_is_not() -> None:
    sections = "".join(f"<h2 id=s{n}>Part {n}</h2><p>{sentence}</p>" for n, sentence in enumerate(SENTENCES))
    inner = "<ul>" + "".join(f"<li><a href='#s{n}'>To part {n}</a></li>" for n in range(len(SENTENCES))) + "</ul>"
    assert not [text for text in kept_of(f"<main><h1>Mills</h1>{inner}{sections}</main>") if text.startswith("To part")]
    assert set(reasons_of(f"<main><h1>Mills</h1>{inner}{sections}</main>").values()) == {"a table of contents"}
    outer = inner.replace("#s", "/mill/")
    gone = inner.replace("#s", "#elsewhere")
    for links in (outer, gone):
        kept = kept_of(f"<main><h1>Mills</h1>{links}{sections}</main>")
        assert [text for text in kept if text.startswith("To part")] == [f"To part {n}" for n in range(len(SENTENCES))]


def test_a_page_that_is_a_table_of_contents_keeps_it() -> None:
    entries = "".join(f"<li><a href='/chapter/{n}'>Chapter {n}</a></li>" for n in range(20))
    kept = kept_of(f"<main><h1>Contents</h1><div class=toc><ul>{entries}</ul></div></main>")
    assert kept == ["Contents", *(f"Chapter {n}" for n in range(20))]


def test_see_also_boxes_and_lists_of_links_under_headings_stay() -> None:
    see = "<div class='admonition seealso'><p>See also</p><p>The <a href=/stones>stones</a> module</p></div>"
    links = "<h2>See also</h2><ul><li><a href=/grain>Grain</a></li><li><a href=/flour>Flour</a></li></ul>"
    kept = kept_of(f"<main>{STORY}{see}{links}</main>")
    assert kept[-5:] == ["See also", "The stones module", "See also", "Grain", "Flour"]
    assert reasons_of(f"<main>{STORY}{see}{links}</main>") == {}


def test_short_terms_tables_and_code_stay() -> None:
    body = (
        "<main><h1>turn</h1><dl><dt>turn(wheel)</dt><dd>Turn it.</dd><dt>stop()</dt><dd></dd></dl>"
        "<table><tr><th>Name<th>Kind<tr><td><a href=/a>oak</a><td>wood</table><pre>turn(1)</pre></main>"
    )
    assert kept_of(body) == ["turn", "turn(wheel)", "Turn it.", "stop()", "Name", "Kind", "oak", "wood", "turn(1)"]


def test_a_title_outside_the_region_is_kept_without_the_menu_beside_it() -> None:
    header = f"<div class=navbar>{MENU}</div><div class=page-title><h1>The mill</h1><p>Of wheels</p></div>"
    assert kept_of(f"{header}<main>{PROSE}</main>") == ["The mill", "Of wheels", *SENTENCES]
    inside = f"<div class=site><h1>Millers of the valley</h1></div><main>{STORY}</main>"
    assert kept_of(inside) == ["The mill", *SENTENCES]


def test_the_heading_of_navigation_is_kept_when_the_navigation_is_cut() -> None:
    body = f"<main>{STORY}<div><h2>Navigation</h2><nav>{MENU}</nav></div></main>"
    assert kept_of(body) == ["The mill", *SENTENCES, "Navigation"]


def test_the_header_of_an_article_stays_with_its_title() -> None:
    body = f"<main><article><header><h1>The mill</h1><p>Of wheels and stones</p></header>{PROSE}</article></main>"
    assert kept_of(body) == ["The mill", "Of wheels and stones", *SENTENCES]


def test_banners_and_asides_of_a_page_that_names_no_region_go() -> None:
    body = f"<div>{STORY}</div><aside>Mill of the day</aside><div class=cookie-banner>We use cookies</div>"
    assert kept_of(body) == ["The mill", *SENTENCES]


def test_a_title_that_is_kept_outside_the_region_is_not_among_the_cuts() -> None:
    body = f"<div id=header><h1>mill(1)</h1><h2>NAME</h2><p>mill - grind grain</p></div><div id=content>{PROSE}{PROSE}</div>"
    assert kept_of(body)[:3] == ["mill(1)", "NAME", "mill - grind grain"]
    assert not [text for text in reasons_of(body) if "grind grain" in text]


def test_bars_that_lead_to_the_pages_around_this_one_go() -> None:
    links = "<a href=a>{}</a>".format
    for bar in (
        f"<div id=ft>&laquo; {links('previous')} | {links('up')} | {links('next')} &raquo;</div>",
        f"{links('&lt;-previous')}{links('Table of Contents')}{links('next-&gt;')}",
        f"<p>Previous: {links('Wheels')}, Up: {links('Mills')} [{links('Contents')}]</p>",
    ):
        assert kept_of(f"<main>{STORY}{bar}</main>") == kept_of(f"<main>{STORY}</main>"), bar
    about = f"<p>Next {links('the wheel')} turns.</p><ul><li>{links('Index')}</li></ul>"
    assert kept_of(f"<main>{STORY}{about}</main>")[-2:] == ["Next the wheel turns.", "Index"]


def test_the_heading_of_a_table_of_contents_is_cut_with_it() -> None:
    items = "".join(f"<li><a href=#s{n}>Section {n}</a></li>" for n in range(3))
    sections = "".join(f"<h2 id=s{n}>Section {n}</h2><p>{SENTENCES[n]}</p>" for n in range(3))
    contents = f"<div><h2>Table of Contents</h2><div class=contents><ul>{items}</ul></div></div>"
    assert "Table of Contents" not in kept_of(f"<main>{STORY}{contents}{sections}</main>")
    assert "Table of Contents" in kept_of(f"<main>{STORY}{contents}<p>{SENTENCES[4]}</p>{sections}</main>")


def test_rows_of_pictures_of_arrows_and_the_rules_beside_navigation_go(read_page: ReadPage) -> None:
    arrows = "".join(f"<a href={word}.html><img src={word}.png alt={word}></a>" for word in ("Prev", "Up", "Next"))
    photo = "<p><a href=mill.html><img src=mill.png alt='The mill'></a></p>"
    bar = "<div class=header><p>Next: <a href=a>Wheels</a></p></div><hr>"
    markdown = read_page(
        f"<main>{bar}<h1>The mill</h1><div>{arrows}</div>{photo}{PROSE}<hr><h2>Oak</h2>{PROSE}</main>"
    ).markdown
    assert "Prev.png" not in markdown
    assert "mill.png" in markdown
    assert markdown.count("---") == 1


def test_a_hash_in_a_class_name_spells_no_word() -> None:
    assert scored(f"{STORY}<div class='memitem:add6a6738682209e6d861faaedd0fbd1b'>12</div>").is_documentation()
    assert not scored(f"{STORY}<div class='add to basket 12345678'>12</div>").is_documentation()


def test_a_table_in_an_element_named_contents_is_not_a_table_of_contents() -> None:
    rows = "".join(
        f"<tr><td><a href=m{n}.html>turn{n}</a>() const</td><td><a href=w.html>Wheel</a></td></tr>" for n in range(9)
    )
    kept = kept_of(f"<div class=contents>{STORY}<p>All members:</p><table>{rows}</table></div>")
    assert "turn8() const" in " ".join(kept)


def test_a_paragraph_of_links_with_a_word_of_its_own_is_not_a_table_of_contents() -> None:
    links = ", ".join(f"<a href='#e{n}'>element{n}</a>" for n in range(20))
    sections = "".join(f"<h2 id=e{n}>element{n}</h2><p>{SENTENCES[n % 7]}</p>" for n in range(20))
    kept = kept_of(f"<main>{STORY}<p>Category members: {links}</p><p>{links}</p>{sections}</main>")
    assert sum("element3, element4" in text for text in kept) == 1


def test_a_footer_that_is_half_of_a_short_page_is_cut() -> None:
    footer = "".join(
        f"<h3>Company {n}</h3><ul><li><a href=/{n}>Jobs {n}</a></li><li><a href=/p{n}>Press {n}</a></li></ul>" for n in range(6)
    )
    kept = kept_of(f"<div><h1>token issue</h1><p>{SENTENCES[0]}</p></div><footer>{footer}</footer>")
    assert SENTENCES[0] in kept
    assert not any("Jobs" in text for text in kept)


@pytest.mark.parametrize("name", ["topNav", "subNav", "bottom-nav", "navigate"])
def test_a_bar_named_as_navigation_is_cut_whatever_is_in_it(name: str) -> None:
    bar = f"<div class={name}><ul><li><a href=o.html>Overview</a></li><li>Class</li><li>Nested Field</li></ul></div>"
    assert not any("Nested" in text for text in kept_of(f"{bar}<div><h1>Mill</h1>{PROSE}</div>{bar}"))


def test_one_article_in_a_named_region_is_an_entry_of_it() -> None:
    entry = f"<div class=body><article class=func><h4>turn(Wheel)</h4>{PROSE}</article></div>"
    description = f"<section><h2>Description</h2><p>{SENTENCES[2]} {SENTENCES[3]} {SENTENCES[4]}</p></section>"
    assert "Description" in kept_of(f"<div>{MENU}<div id=content><h1>mill</h1>{description}{entry}</div></div>")


def test_a_region_that_says_little_is_kept_without_the_menus_around_it(read_page: ReadPage) -> None:
    head = "<title>Mill::Chunk</title><meta name=generator content='Crystal Docs, docutils'>"
    menu = "<div class=sidebar>" + "".join(f"<li><a href={n}.html>Type {n}</a></li>" for n in range(60)) + "</div>"
    footer = f"<footer><p>{' '.join(SENTENCES)}</p></footer>"
    page = read_page(
        f"{head}<body>{menu}<main><h1>module Mill::Chunk</h1><h2>Overview</h2><p>Mills of oak turn slowly.</p></main>{footer}"
    )
    assert page.markdown == "# module Mill::Chunk\n\n## Overview\n\nMills of oak turn slowly."
    assert "Type 7" in read_page(f"{head}<body>{menu}<main></main>").markdown


@pytest.mark.parametrize(
    ("host", "path", "is_documentation"),
    [
        ("docs.mill.example", "/wheel.html", True),
        ("mill.example", "/doc/2.1/wheel.html", True),
        ("mill.example", "/api/wheel/", True),
        ("mill.example", "/docs", False),
        ("mill.example", "/doctors/wheel", False),
        ("mill-docs.example", "/blog/wheel", False),
    ],
)
def test_a_url_in_documentation_makes_a_page_documentation(host: str, path: str, is_documentation: bool) -> None:
    page = scored(f"{STORY}<div class=social-share>12</div>")
    assert page.is_documentation(PageFacts(SOCIAL.metas, host=host, path=path)) is is_documentation
    posts = "".join(f"<div><div class=author>Ada</div>{sentence}</div>" for sentence in SENTENCES)
    assert not scored(f"{STORY}{posts}").is_documentation(PageFacts(host=host, path=path))


def test_a_section_about_feedback_is_kept_and_a_box_that_asks_for_it_is_cut() -> None:
    section = "<div class=section id=feedback><h2>1.5 Feedback</h2><p>Feedback by mail is most welcome.</p></div>"
    box = "<div id=pre-footer><h2>Was this page helpful?</h2><p class=feedback--prompt>Thanks for the feedback.</p></div>"
    kept = kept_of(f"<main>{STORY}{section}{box}</main>")
    assert "1.5 Feedback" in kept
    assert "Thanks for the feedback." not in kept


@pytest.mark.parametrize("name", ["Navigation", "Pagination", "Footer", "Breadcrumbs"])
def test_a_section_about_navigation_is_not_navigation(name: str) -> None:
    section = f"<div class=section id={name.lower()}><h2>{name} \u00b6</h2><p>{SENTENCES[5]}</p></div>"
    assert name in " ".join(kept_of(f"<main>{STORY}{section}{PROSE}</main>"))


def test_a_listing_of_links_to_the_page_is_not_a_table_of_contents() -> None:
    links = "".join(f"<a href='#p{n}'>new wheel{n} = mill.wheel{n}()</a>\n" for n in range(6))
    parts = "".join(f"<h2 id=p{n}>wheel{n}</h2><p>{SENTENCES}</p>" for n in range(6))
    kept = kept_of(f"<main><h1>Mill</h1><h2>Synopsis</h2><pre>{links}</pre>{parts}</main>")
    assert any("new wheel5" in text for text in kept)


def test_logos_slogans_filters_and_a_table_of_links_above_the_title_go(read_page: ReadPage) -> None:
    logo = "<a href=../index.html><img class=mill-logo src=m.svg alt=Mills></a>"
    bar = f"<table><tr><td>{logo}</td><td><a href=/>Home</a></td><td><a href=/people>People</a></td></tr></table>"
    slogan = "<div><div class=tagline>Small. Fast. Turning.</div></div>"
    names = "<div id=mbrsel><span>Ordering</span><ol><li>Alphabetic</li><li>By Inheritance</li></ol></div>"
    body = f"{bar}<div>{logo}</div>{slogan}<h2>Wheels</h2>{PROSE}{names}{PROSE}"
    markdown = read_page(f"<title>Wheels</title><meta name=generator content=DocBook>{body}").markdown
    assert markdown.startswith("# Wheels\n")
    assert not [word for word in ("People", "mill-logo", "m.svg", "Turning", "Alphabetic") if word in markdown]


def test_an_anchor_that_is_written_as_in_xml_does_not_make_the_page_a_list_of_links(read_page: ReadPage) -> None:
    paragraphs = "".join(f"<p>{number} {sentence}</p>" for number, sentence in enumerate([SENTENCES] * 6))
    page = read_page(f'<title>Wheels</title><body><div><a id="top" /><h1>Wheels</h1>{paragraphs}</div>')
    assert [f"{number} {SENTENCES[:20]}" in page.markdown for number in range(6)] == [True] * 6
    assert {"id": "top", "text": "Wheels"} in page.document["anchors"]
