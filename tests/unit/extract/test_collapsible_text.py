"""Collapsible text is part of the page; overlays and text without an opener are not."""

from __future__ import annotations

import pytest

from sitelore.extract import dom
from sitelore.extract.content.visibility import drop_unseen

from .conftest import ReadPage

ANSWER = "Bring the wheel in before noon and we will have it trued and back on the bike by the evening of the same day."
STORY = "<p>The shop on the corner repairs bicycles of every make, old and new, and lends one meanwhile.</p>"


@pytest.mark.parametrize(
    "part",
    [
        f"<div role=tabpanel hidden><p>{ANSWER}</p></div>",
        f"<button aria-controls=a1>How long?</button><div id=a1 style='display:none'><p>{ANSWER}</p></div>",
        f"<a href='#a1'>How long?</a><div id=a1 hidden>{ANSWER}</div>",
        f"<div class='accordion__body' style='display: none'>{ANSWER}</div>",
        f"<div class=faq-answer style='visibility:hidden'>{ANSWER}</div>",
        f"<div aria-labelledby=q1 hidden>{ANSWER}</div>",
        f"<li class='slick-slide' aria-hidden=true>{ANSWER}</li>",
        f"<div aria-hidden=true><p>{ANSWER}</p></div>",
        f"<div class=accordion__content style='overflow: hidden; height: 0px'>{ANSWER}</div>",
        f"<div class=collapse-panel style='overflow:hidden;display:none;opacity:0;height:0px'>{ANSWER}</div>",
        f"<button aria-expanded=false>Weight</button><div class=css-1k0 hidden aria-hidden=true><p>{ANSWER}</p></div>",
        f"<h3><button aria-expanded=false>Weight</button></h3><div class=css-1k0 style='display: none'><p>{ANSWER}</p></div>",
    ],
)
def test_collapsible_text_is_part_of_the_page(read_page: ReadPage, part: str) -> None:
    page = read_page(f"<main><h1>Repairs</h1>{STORY}<section><h2>How long does it take?</h2>{part}</section></main>")
    assert ANSWER in page.markdown


@pytest.mark.parametrize(
    "part",
    [
        f"<div style='display:none'>{ANSWER}</div>",
        f"<div hidden id=a1>{ANSWER}</div>",
        f"<div role=dialog aria-hidden=true class=panel>{ANSWER}</div>",
        f"<div class='modal collapse' id=a1 hidden>{ANSWER}</div><a href='#a1'>open</a>",
        f"<li class='slick-slide slick-cloned' aria-hidden=true>{ANSWER}</li>",
        f"<span aria-hidden=true>{ANSWER}</span>",
        f"<dialog class=accordion>{ANSWER}</dialog>",
        f"<nav><button aria-expanded=false>Shop</button><div hidden>{ANSWER}</div></nav>",
        f"<button>Weight</button><div hidden>{ANSWER}</div>",
        f"<div role=tabpanel hidden style='display:none'><div style='display:none'>{ANSWER}</div></div>",
    ],
)
def test_text_without_an_opener_and_overlays_stay_hidden(read_page: ReadPage, part: str) -> None:
    page = read_page(f"<main><h1>Repairs</h1>{STORY}<section><h2>How long does it take?</h2>{part}</section></main>")
    assert "trued" not in page.markdown


def test_a_button_in_a_heading_is_the_title_of_its_panel(read_page: ReadPage) -> None:
    page = read_page(
        f"<main><h1>Repairs</h1>{STORY}<h3><button aria-expanded=false>How long does it take?</button></h3>"
        f"<div role=region hidden><p>{ANSWER}</p></div><p>{ANSWER[:40]}</p><button>Send now</button></main>"
    )
    assert "### How long does it take?" in page.markdown
    assert "Send now" not in page.markdown


def test_a_heading_in_a_button_is_kept(read_page: ReadPage) -> None:
    page = read_page(
        f"<main><h1>Repairs</h1>{STORY}<div><button class=w-full><h3>How long does it take?</h3><svg></svg></button></div>"
        f"<div><button class=w-full><h3>Do you lend a bicycle meanwhile?</h3></button></div></main>"
    )
    assert "### How long does it take?" in page.markdown
    assert "### Do you lend a bicycle meanwhile?" in page.markdown


def test_a_teaser_that_is_a_link_hidden_from_screen_readers_is_kept_once(read_page: ReadPage) -> None:
    cards = "".join(
        f"<article><h2><a href=/{n}>Wheel number {n}</a></h2><p><a href=/{n} aria-hidden=true>{ANSWER} {n}</a></p></article>"
        for n in range(4)
    )
    page = read_page(f"<main><h1>Repairs</h1>{STORY}{cards}<p>{ANSWER} 7 <a href=/7 aria-hidden=true>{ANSWER} 7</a></p></main>")
    assert page.text.count(f"{ANSWER} 3") == 1
    assert page.text.count(f"{ANSWER} 7") == 1


def test_a_consent_dialog_is_cut_unless_it_is_the_whole_page(read_page: ReadPage) -> None:
    dialog = f"<div id=onetrust-consent-sdk><p>{ANSWER}</p></div>"
    assert "trued" not in read_page(f"<body>{dialog}<main><h1>Repairs</h1>{STORY}</main></body>").markdown
    assert "trued" in read_page(f"<body>{dialog}</body>").markdown


def test_a_button_that_does_something_with_the_heading_beside_it_goes(read_page: ReadPage) -> None:
    heading = "<h1>Struct <span>Wheel</span>&nbsp;<button title='Copy item path to clipboard'>Copy item path</button></h1>"
    page = read_page(f"<main>{heading}{STORY}<h2><button>Copy a wheel</button></h2><p>{ANSWER}</p></main>")
    assert page.markdown.startswith("# Struct Wheel\n")
    assert "## Copy a wheel" in page.markdown


@pytest.mark.parametrize(
    "style",
    [
        "display:none", "DISPLAY : NONE !important", "color:red;visibility:hidden", "visibility: collapse",
        "content-visibility:hidden", "font-size:0", "font-size: 0.0em;color:red", "font-size:.5px", "font-size:1px!important",
        "left:-9999px", "color:red; margin-top : -10000em", "clip:rect(0,0,0,0)", "clip: rect(1px, 1px, 1px, 1px)",
        "clip-path:inset(50%)", "color:transparent", "color:#fff;background:white",
        f"{'margin:0;' * 50}display:none",
    ],
)  # fmt: skip
def test_a_style_that_hides_hides(style: str) -> None:
    assert _seen(style) == "before after"


@pytest.mark.parametrize(
    "style",
    [
        "", "display:block", "opacity:0", "visibility:visible", "font-size:0.8em", "font-size:10px", "left:-99px",
        "padding-left:-9999px", "clip:auto", "clip-path:inset(10%)", "color:#fff;background:black", "--display:-9999",
        f"{'margin:0;' * 50}color:transparent",
    ],
)  # fmt: skip
def test_a_style_that_hides_nothing_hides_nothing(style: str) -> None:
    assert _seen(style) == "before shown after"


def _seen(style: str) -> str:
    tree = dom.parse(f"<body><p>before <span style='{style}'>shown </span>after</p>")
    drop_unseen(tree)
    return dom.one_line_text(tree)


QUESTION = "How long does a repair of a wheel take?"


@pytest.mark.parametrize(
    "part",
    [
        f"<div><button aria-expanded=false><div>{QUESTION}</div></button><div class=acc-a><p>{ANSWER}</p></div></div>",
        f"<div><button aria-controls=a1>{QUESTION}</button></div><div id=a1 hidden>{ANSWER}</div>",
        f"<button class=accordion-title>{QUESTION}</button><div class=accordion-body style='display:none'>{ANSWER}</div>",
    ],
)
def test_a_button_that_is_a_question_stays_above_its_answer(read_page: ReadPage, part: str) -> None:
    page = read_page(f"<main><h1>Repairs</h1>{STORY}{part}<button>Send now</button></main>")
    assert page.markdown.index(f"**{QUESTION}**") < page.markdown.index(ANSWER)
    assert "Send now" not in page.markdown


@pytest.mark.parametrize(
    "part",
    [
        f"<button aria-expanded=false>Add to cart</button><p>{ANSWER}</p>",
        f"<button aria-expanded=false>Open the main menu</button><div class=main-menu>{ANSWER}</div>",
        "<button aria-expanded=false>Choose another size here</button><p>Large</p>",
        f"<button type=submit>Send us your question now</button><p>{ANSWER}</p>",
    ],
)
def test_other_buttons_are_not_text(read_page: ReadPage, part: str) -> None:
    page = read_page(f"<main><h1>Repairs</h1>{STORY}<p>{ANSWER}</p>{part}</main>")
    button = part[part.index(">") + 1 : part.index("</button>")]
    assert button not in page.markdown


def test_a_price_hidden_from_screen_readers_alone_is_kept(read_page: ReadPage) -> None:
    price = (
        "<div aria-label='current price $116.97, original price $145'><span aria-hidden=true>$116.97</span> "
        "<s aria-hidden=true>$145</s> <span>19% off</span></div>"
    )
    page = read_page(f"<main><h1>Shoe</h1>{STORY}{price}<p>{ANSWER}</p></main>")
    assert "$116.97 ~~$145~~ 19% off" in page.markdown


def test_a_price_is_written_once_where_its_twin_is_for_screen_readers(read_page: ReadPage) -> None:
    price = "<p><span aria-hidden=true>$116.97</span><span class=sr-only>$116.97</span></p>"
    page = read_page(f"<main><h1>Shoe</h1>{STORY}{price}<p>{ANSWER}</p></main>")
    assert page.markdown.count("$116.97") == 1


def test_parts_that_react_streams_are_put_in_their_place(read_page: ReadPage) -> None:
    page = read_page(
        f"<main><h1>Setup</h1>{STORY}<p>Then run:</p><!--$?--><template id='B:4'></template><p>Loading code</p><!--/$-->"
        f"<p>After the code.</p><p>{ANSWER}</p></main>"
        "<div hidden id='S:4'><pre><code>npm run test</code></pre></div><script>$RC('B:4','S:4')</script>"
    )
    assert "Then run:\n\n```\nnpm run test\n```\n\nAfter the code." in page.markdown
    assert "Loading code" not in page.markdown


def test_dialogs_and_menus_do_not_make_a_page_one_that_scripts_reveal(read_page: ReadPage) -> None:
    text = "<p>The mill stands where the river bends, and its wheel has not turned since the flood of that year.</p>"
    words = " ".join(f"entry {number} of the list" for number in range(2000))
    for dialog in (f"<div class=lightbox-dialog hidden>{words}</div>", f"<ul role=menu hidden><li>{words}</li></ul>"):
        page = read_page(f"<main>{text * 8}</main>{dialog}<section hidden><h2>Oops!</h2><p>No connection.</p></section>")
        assert page.text.startswith("The mill stands")
        assert "entry 7" not in page.text
        assert "Oops" not in page.text
    for part in ("main", "div"):
        faded = read_page(f"<div class=has-menu hidden><{part}>{text * 12}</{part}></div><p>Loading</p>")
        assert "The mill stands" in faded.text
