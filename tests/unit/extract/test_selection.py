"""The selection of units by their scores."""

from __future__ import annotations

from .conftest import ReadPage
from .scored import MENU, PROSE, SENTENCES, scored

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
    found = page.select({"one two three four": 0.9, "five six seven eight": 0.5, "nine ten": 0.05})
    # Keeping the first two: 2 * (3.6 + 2) / (8 + 5.7).
    assert abs(found.expected_f1 - 2 * 5.6 / 13.7) < 1e-9
    assert found.threshold == found.expected_f1 / 2
    assert page.kept(found) == ["one two three four", "five six seven eight"]


def test_a_heading_stays_with_its_section_however_low_its_score() -> None:
    page = scored(f"<article>{PROSE}<h2>Owls</h2><p>{SENTENCES[6]} Again.</p></article>")
    assert "Owls" in page.kept(page.select({"Owls": 0.0}))


def test_a_heading_goes_with_its_section_however_high_its_score() -> None:
    related = f"<h2>Related</h2><div class=related>{MENU}</div>"
    page = scored(f"<article>{PROSE}{related}</article>")
    found = page.select({"Related": 0.99} | {f"Section {n}": 0.0 for n in range(12)})
    assert page.kept(found) == list(SENTENCES)


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


def test_doubtful_words_among_content_stay_unless_they_are_named_as_something_else() -> None:
    page = scored(f"<article>{PROSE}<p>see below</p><div class=share-bar>share it</div><p>the end</p></article>")
    found = page.select({"see below": 0.46, "share it": 0.46})
    assert found.threshold > 0.46
    assert page.kept(found) == [*SENTENCES, "see below", "the end"]


def test_a_paragraph_of_content_inside_a_dropped_part_is_kept() -> None:
    page = scored(f"<article>{PROSE}</article><aside><p>{SENTENCES[0]} Twice.</p><ul><li>x<li>y</ul></aside>")
    kept = page.kept(page.select({"x": 0.0, "y": 0.0}))
    assert f"{SENTENCES[0]} Twice." in kept


def test_what_is_written_twice_is_kept_once() -> None:
    twice = "A wheel of oak wood, three metres wide"
    page = scored(f"{PROSE}<p>{twice}</p><p>Yes.</p><div><p>{twice}</p><p>Yes.</p></div>")
    kept = page.kept(page.select({}))
    assert kept.count(twice) == 1
    assert kept.count("Yes.") == 2  # too short to tell


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
    found = page.select(dict.fromkeys(low, 0.0))
    reasons = page.reasons(found)
    assert reasons.pop("buy a watch").startswith("scored below 0.")
    assert reasons == {
        "one two": "a nav, footer or form element",
        "share it now": "named as secondary content",
        " ".join(f"Section {n}" for n in range(12)): "mostly links",
        "a mill b mill": "named as navigation, and mostly links",
        "next chapter": "a link between elements",
    }
    assert not set(low) & set(page.kept(found))
    for cut in found.cuts:
        assert not any(found.kept[cut.first : cut.last])
