"""What a click opens is part of the page; what opens over it, or never, is not."""

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
    ],
)
def test_what_a_click_opens_is_part_of_the_page(read_page: ReadPage, part: str) -> None:
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
        f"<div role=tabpanel hidden style='display:none'><div style='display:none'>{ANSWER}</div></div>",
    ],
)
def test_what_nothing_opens_or_what_opens_over_the_page_stays_hidden(read_page: ReadPage, part: str) -> None:
    page = read_page(f"<main><h1>Repairs</h1>{STORY}<section><h2>How long does it take?</h2>{part}</section></main>")
    assert "trued" not in page.markdown


def test_a_button_in_a_heading_is_the_title_of_what_it_opens(read_page: ReadPage) -> None:
    page = read_page(
        f"<main><h1>Repairs</h1>{STORY}<h3><button aria-expanded=false>How long does it take?</button></h3>"
        f"<div role=region hidden><p>{ANSWER}</p></div><p>{ANSWER[:40]}</p><button>Send now</button></main>"
    )
    assert "### How long does it take?" in page.markdown
    assert "Send now" not in page.markdown


def test_a_dialog_that_asks_for_consent_goes_unless_it_is_all_there_is(read_page: ReadPage) -> None:
    dialog = f"<div id=onetrust-consent-sdk><p>{ANSWER}</p></div>"
    assert "trued" not in read_page(f"<body>{dialog}<main><h1>Repairs</h1>{STORY}</main></body>").markdown
    assert "trued" in read_page(f"<body>{dialog}</body>").markdown


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
    assert _seen(style) == "before told after"


def _seen(style: str) -> str:
    tree = dom.parse(f"<body><p>before <span style='{style}'>told </span>after</p>")
    drop_unseen(tree)
    return dom.one_line(tree)
