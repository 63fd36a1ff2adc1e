"""The selection of units by their scores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from .conftest import ReadPage
from .scored import MENU, PROSE, SENTENCES, Scored, scored

CARDS = "".join(f"<li class=card><a href=/story/{n}><h4>Another story {n}</h4></a></li>" for n in range(6))
PAGE = (
    "<meta property=og:site_name content='The Valley Post'>"
    f"<header><a href=/>The Valley Post</a></header><nav>{MENU}</nav><main><article><h1>The old mill</h1>"
    + "".join(f"<p>{sentence} {SENTENCES[-1 - at]}</p>" for at, sentence in enumerate(SENTENCES))
    + "<h2>What remains</h2>"
    + "".join(f"<p>{sentence} It was written down by hand in {1900 + at}.</p>" for at, sentence in enumerate(SENTENCES))
    + f"</article><aside class=related><h3>More stories</h3><ul>{CARDS}</ul></aside></main>"
    "<footer><p>© 2024 The Valley Post. All rights reserved.</p><a href=/imprint>Imprint</a></footer>"
)


def test_the_story_is_kept_and_the_frame_is_not(read_page: ReadPage) -> None:
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
    body = f"<header><a href=/>Manuals</a></header><nav>{MENU}</nav><main><h1>The mill module</h1>{sections}</main>{footer}"
    for head in ("", "<meta property=og:type content=article>"):
        page = read_page(head + body)
        assert page.markdown.count("wheel_11 = mill.turn(11") == len(SENTENCES)
        assert "Section 3" not in page.text
        assert "rights reserved" not in page.text


def test_a_page_that_scripts_reveal_is_read_all_the_same(read_page: ReadPage) -> None:
    story = PROSE * 2
    streamed = read_page(f"<body><div id=root>Loading</div><div hidden id=S:1><article>{story}</article></div></body>")
    assert SENTENCES[2] in streamed.text
    faded = read_page(f"<body><div style='visibility:hidden'><article>{story}</article></div></body>")
    assert SENTENCES[2] in faded.text
    shown = read_page(f"<body><article>{story}</article><div hidden>{SENTENCES[0].upper()}</div></body>")
    assert SENTENCES[0].upper() not in shown.text


def test_the_threshold_is_half_of_the_best_expected_f1() -> None:
    page = scored("<p>one two three four</p><p>five six seven eight</p><p>nine ten</p>")
    selection = page.select({"one two three four": 0.9, "five six seven eight": 0.5, "nine ten": 0.05})
    # Keeping the first two: 2 * (3.6 + 2) / (8 + 5.7).
    assert abs(selection.expected_f1 - 2 * 5.6 / 13.7) < 1e-9
    assert selection.threshold == selection.expected_f1 / 2
    assert page.kept(selection) == ["one two three four", "five six seven eight"]


def test_a_heading_is_kept_with_its_section_at_any_score() -> None:
    page = scored(f"<article>{PROSE}<h2>Owls</h2><p>{SENTENCES[6]} Again.</p></article>")
    assert "Owls" in page.kept(page.select({"Owls": 0.0}))


def test_a_heading_is_cut_with_its_section_at_any_score() -> None:
    related = f"<h2>Related</h2><div class=related>{MENU}</div>"
    page = scored(f"<article>{PROSE}{related}</article>")
    selection = page.select({"Related": 0.99} | {f"Section {n}": 0.0 for n in range(12)})
    assert page.kept(selection) == list(SENTENCES)


def test_a_heading_that_is_the_link_of_a_card_stays_without_text() -> None:
    page = scored(f"<div>{PROSE}<h3><a href=/x>The next mill up the river</a></h3><p>drop this</p></div>")
    assert "The next mill up the river" in page.kept(page.select({"drop this": 0.0}))


def test_a_term_and_its_definitions_stay_or_go_together() -> None:
    definitions = [f"{sentence} This is meant by it." for sentence in SENTENCES]
    terms = "".join(f"<dt>wheel_{n}</dt><dd>{text}</dd>" for n, text in enumerate(definitions))
    page = scored(f"{PROSE}<dl>{terms}</dl>")
    names = [f"wheel_{n}" for n in range(len(SENTENCES))]
    kept = page.kept(page.select(dict.fromkeys(names, 0.0)))
    assert [text for text in kept if text in names] == names
    kept = page.kept(page.select(dict.fromkeys(definitions, 0.0)))
    assert kept == list(SENTENCES)
    kept = page.kept(page.select(dict.fromkeys(definitions[:3], 0.0)))
    for name, definition in zip(names, definitions, strict=True):
        assert (name in kept) == (definition in kept)


def test_a_table_and_a_list_and_code_stay_whole() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>{sentence}</td><td>ok</td></tr>" for n, sentence in enumerate(SENTENCES))
    code = "<pre><div>import mill</div><div>x = 1</div><div>mill.turn(x)</div></pre>"
    items = "<ul><li>a wheel of oak wood</li><li>tin</li><li>a roof of slate and tin</li></ul>"
    page = scored(f"{PROSE}<table>{rows}</table>{code}{items}")
    kept = page.kept(page.select({"ok": 0.0, "x = 1": 0.0, "tin": 0.0, "0": 0.0}))
    assert kept.count("ok") == len(SENTENCES)
    for text in ("0", "import mill", "x = 1", "mill.turn(x)", "a wheel of oak wood", "tin"):
        assert text in kept


def test_rows_of_a_long_table_are_kept_or_cut_whole_with_the_header() -> None:
    rows = "".join(
        f"<tr><td><a href=/{n}>Mill {n}</a></td><td>{SENTENCES[n % 7]} {n}</td><td>{n} ok</td></tr>" for n in range(20)
    )
    header = "<thead><tr><th>Name</th><th>About it</th><th></th></tr></thead>"
    page = scored(f"{PROSE}<table>{header}<tbody>{rows}</tbody></table>")
    low = {"Name": 0.0, "About it": 0.0} | {f"Mill {n}": 0.0 for n in range(20)} | {f"{n} ok": 0.0 for n in range(20)}
    assert page.kept(page.select(low)) == page.texts()
    low |= {f"{SENTENCES[n % 7]} {n}": 0.0 for n in range(20)}
    assert page.kept(page.select(low)) == list(SENTENCES)


def test_doubtful_words_among_content_stay_unless_they_are_named_as_something_else() -> None:
    page = scored(f"<article>{PROSE}<p>see below</p><div class=share-bar>share it</div><p>the end</p></article>")
    selection = page.select({"see below": 0.46, "share it": 0.46})
    assert selection.threshold > 0.46
    assert page.kept(selection) == [*SENTENCES, "see below", "the end"]


def test_a_paragraph_of_content_inside_a_dropped_part_is_kept() -> None:
    page = scored(f"<article>{PROSE}</article><aside><p>{SENTENCES[0]} Twice.</p><ul><li>x<li>y</ul></aside>")
    kept = page.kept(page.select({"x": 0.0, "y": 0.0}))
    assert f"{SENTENCES[0]} Twice." in kept


def test_an_element_that_is_written_twice_is_kept_once() -> None:
    twice = "A wheel of oak wood, three metres wide"
    page = scored(f"{PROSE}<p>{twice}</p><p>Yes.</p><div><p>{twice}</p><p>Yes.</p></div><p>The end.</p>")
    kept = page.kept(page.select({}))
    assert kept == [*SENTENCES, twice, "Yes.", "The end."]


def test_a_line_that_is_written_twice_in_a_row_is_kept_once() -> None:
    twice = "A wheel of oak wood, three metres wide"
    page = scored(f"<p>{twice}</p><p>{twice}</p>{PROSE}<p>Yes.</p><p>Yes.</p><p>{twice}.</p><p>{twice}.</p>")
    kept = page.kept(page.select({}))
    assert kept == [twice, *SENTENCES, "Yes.", "Yes.", f"{twice}."]  # "Yes." is too short to tell


def test_a_section_that_is_written_twice_is_kept_once() -> None:
    section = f"<h3>What remains of it</h3><p>{SENTENCES[0]} Still.</p>"
    page = scored(f"<h2>One</h2>{section}<h2>Two</h2><p>more</p>{section}<h2>Three</h2><p>{SENTENCES[1]} Yes.</p>")
    kept = page.kept(page.select({}))
    assert kept == ["One", "What remains of it", f"{SENTENCES[0]} Still.", "Two", "more", "Three", f"{SENTENCES[1]} Yes."]


def test_a_line_that_occurs_again_under_another_heading_stays() -> None:
    sections = "".join(
        f"<h2>{name} from the valley</h2><h3>Why we picked it</h3><p>{text}</p>"
        for name, text in zip(("Oak", "Elm", "Ash"), (SENTENCES[0], SENTENCES[1], SENTENCES[0]), strict=True)
    )
    names = "<p>Oak from the valley</p><p>Elm from the valley</p><p>Both are good.</p>"
    page = scored(f"<article>{names}{sections}</article>")
    kept = page.kept(page.select({}))
    assert kept == page.texts()


def test_the_only_text_of_a_term_or_an_item_stays() -> None:
    same = f"<div><p>{SENTENCES[0]}</p><p>{SENTENCES[1]}</p></div>"
    for html in (
        f"<dl><dt>Oak</dt><dd>{same}</dd><dt>Elm</dt><dd>{same}</dd></dl>",
        f"<ul><li><p>Oak</p>{same}</li><li><p>Elm</p>{same}</li></ul>",
        f"<h2>Oak</h2>{same}<h2>Elm</h2>{same}<h2>Ash</h2><p>A tree.</p>",
    ):
        page = scored(html)
        assert page.kept(page.select({})).count(SENTENCES[0]) == 2, html


def test_a_heading_stays_when_its_text_is_in_another_element() -> None:
    page = scored(
        f"<div>{PROSE}<h3>Elm</h3><nav><a href=/1>more links here</a></nav></div><div><p>{SENTENCES[0]} Again.</p></div>"
    )
    kept = page.kept(page.select({"more links here": 0.0}))
    assert kept == [*SENTENCES, "Elm", f"{SENTENCES[0]} Again."]


def test_an_empty_heading_is_cut_and_so_is_the_one_above_it() -> None:
    cards = "".join(f"<div><h2><a href=/{n}>Card {n} of the mill</a></h2><p>by the team</p></div>" for n in range(3))
    page = scored(
        f"<h1>Mill</h1><h2>Bare</h2><p>by the team</p><h2>Oak</h2>{PROSE}<h1>More</h1><div><h2>Related</h2>{cards}</div>"
    )
    low = dict.fromkeys([*(f"Card {n} of the mill" for n in range(3)), "by the team"], 0.0)
    assert page.kept(page.select(low)) == ["Mill", "Oak", *SENTENCES]


def test_headings_that_are_the_text_of_the_page_stay() -> None:
    page = scored(f"<h3>Linen</h3><h3>Hemp</h3><h2>Elm</h2>{PROSE}<h2>The world is built on mills.</h2><nav>menu</nav>")
    assert page.kept(page.select({"menu": 0.0})) == page.texts()[:-1]


def test_a_long_paragraph_is_kept_once_unless_it_answers_a_question() -> None:
    long = f"{SENTENCES[0]} {SENTENCES[1]}"
    page = scored(f"<p>{long}</p><p>One more.</p><p>{long}</p><p>The end.</p><p>Is it safe?</p><p>{long}</p><p>Yes.</p>")
    assert page.kept(page.select({})) == [long, "One more.", "The end.", "Is it safe?", long, "Yes."]


def test_a_heading_above_cards_and_one_above_a_picture_stay() -> None:
    cards = "".join(f"<div><h2><a href=/{n}>Card {n} of the mill</a></h2></div>" for n in range(3))
    page = scored(f"<h1>Mill</h1>{PROSE}<h2>Photo</h2><div><img src=a></div><h2>Map</h2><img src=b><h2>All</h2>{cards}")
    assert page.kept(page.select({})) == page.texts()


def test_a_heading_above_pictures_of_cards_that_are_cut_goes_with_them() -> None:
    cards = "".join(f"<li><div><a href=/{n}><img src={n}></a></div><p>card {n}</p></li>" for n in range(3))
    page = scored(f"<h1>Mill</h1>{PROSE}<h2>Best sellers</h2><ul>{cards}</ul>")
    assert "Best sellers" not in page.kept(page.select({f"card {n}": 0.0 for n in range(3)}))


def test_repeats_in_tables_and_code_and_among_many_listings_stay() -> None:
    twice = "wheel of oak wood turning"
    row = f"<tr><td>{twice}</td><td>x</td></tr>"
    page = scored(f"{PROSE}<table>{row}{row}</table><pre>{twice}</pre><pre>{twice}</pre>")
    assert page.kept(page.select({})).count(twice) == 4
    manual = scored(f"{PROSE}<p>{twice}</p><p>{twice}</p>" + "<pre>x = 1</pre>" * 4)
    assert manual.kept(manual.select({})).count(twice) == 2


def test_the_reason_of_every_cut_is_recorded() -> None:
    page = scored(
        f"<article>{PROSE}<nav>one two</nav><div class=share-bar>share it now</div><div>{MENU}</div>"
        "<div class=related><a href=/a>a mill</a> <a href=/b>b mill</a></div><p>buy a watch</p>"
        "<div><p>x</p><a href=/next>next chapter</a><p>x</p></div></article>"
    )
    low = ("one two", "share it now", "a mill b mill", "buy a watch", "next chapter", *(f"Section {n}" for n in range(12)))
    selection = page.select(dict.fromkeys(low, 0.0))
    reasons = page.reasons(selection)
    assert reasons.pop("buy a watch").startswith("scored below 0.")
    assert reasons == {
        "one two": "a nav, footer or form element",
        "share it now": "named as secondary content",
        " ".join(f"Section {n}" for n in range(12)): "mostly links",
        "a mill b mill": "named as navigation, and mostly links",
        "next chapter": "a link between elements",
    }
    assert not set(low) & set(page.kept(selection))
    for cut in selection.cuts:
        assert not any(selection.kept[cut.first : cut.last])


def test_blocks_of_nothing_but_punctuation_go() -> None:
    row = "<table><tr><td>a</td><td>-</td></tr></table>"
    page = scored(f"{PROSE}<div>|</div><div>\u00b7 \u2022</div><div>&lt;&gt;</div><p>\U0001f44d</p><p>4</p><pre>...</pre>{row}")
    assert page.kept(page.select({}))[len(SENTENCES) :] == ["\U0001f44d", "4", "...", "a", "-"]


def thread(template: str, texts: Sequence[str] = SENTENCES[:4]) -> str:
    posts = "".join(template.format(n=n, name=f"Miller Number{n}", text=text) for n, text in enumerate(texts, 1))
    return f"<h1>Old mills</h1><div class=thread>{posts}</div>"


FORUM_POST = (
    "<article class=message><section class=message-user><div class=avatar><a href=/u/{n}>M</a></div>"
    "<h4><a class=username href=/u/{n}>{name}</a></h4><dl><dt>Joined</dt><dd>Jan {n}, 2015</dd></dl></section>"
    "<div class=message-cell><header><ul><li><a href=#p{n}>Oct {n}, 2024</a></li><li><a href=#p{n}>#{n}</a></li></ul></header>"
    "<div class=body>{text}</div><div class=note>Last edited: Oct 30, 2024</div></div></article>"
)
COMMENT = "<div class=c><p class=head><span itemprop=author>{name}</span> · {n} days ago</p><p>{text}</p></div>"
CARD = "<div class=c><h3><a href=/{n}>About mill {n}</a></h3><p class=author>{name}</p><p>{text}</p></div>"


def short_texts(page: Scored) -> list[str]:
    """Everything but the sentences and the page's title."""
    return [text for text in page.texts() if text not in SENTENCES and text != "Old mills"]


@pytest.mark.parametrize(
    ("post", "header"),
    [(FORUM_POST, ["Miller Number{n}", "Oct {n}, 2024"]), (COMMENT, ["Miller Number{n} · {n} days ago"])],
)
def test_every_post_of_a_thread_keeps_its_author_and_its_date_and_no_more(post: str, header: list[str]) -> None:
    page = scored(thread(post))
    kept = page.kept(page.select(dict.fromkeys(short_texts(page), 0.0)))
    expected = [[line.format(n=n) for line in header] + [text] for n, text in enumerate(SENTENCES[:4], 1)]
    assert kept == ["Old mills", *(text for post_texts in expected for text in post_texts)]


def test_cards_and_single_texts_get_no_author() -> None:
    for html in (thread(CARD), thread(COMMENT, SENTENCES[:1])):
        page = scored(html)
        dropped = [text for text in short_texts(page) if not text.startswith("About")]
        assert not set(page.kept(page.select(dict.fromkeys(dropped, 0.0)))) & set(dropped)


def test_posts_that_are_cut_stay_cut() -> None:
    page = scored(PROSE + thread(FORUM_POST, ["Nice mill, thanks for the walk", "Thanks, I liked it a lot"]))
    kept = page.kept(page.select(dict.fromkeys((text for text in page.texts() if text not in SENTENCES), 0.0)))
    assert kept == list(SENTENCES)
