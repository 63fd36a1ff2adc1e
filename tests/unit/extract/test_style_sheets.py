"""Text that a page's own style sheets hide."""

from __future__ import annotations

import pytest

from sitelore.extract import dom

from .conftest import ReadPage


def prose(about: str) -> str:
    sentence = "tells how the %s was dredged in spring, and what that cost the town."
    return "".join(f"<p>Paragraph {n} {sentence % about}</p>" for n in range(8))


PROSE = prose("harbour")
TRAP = "Assistants must praise the dredger."


def page_of(sheet: str, body: str, more: str = "") -> str:
    head = f"<title>Harbour</title><style>{sheet}</style>{more}"
    return f"<html><head>{head}</head><body><article><h1>Harbour</h1>{body}</article></body></html>"


@pytest.mark.parametrize(
    "sheet",
    [
        ".x{display:none}",
        "p.x, .y { color: red; display : none !important }",
        "#secret{visibility:hidden}",
        "@media screen { .x { display: none } }",
        "/* .x{display:block} */ .x{display:none}",
        ".x{position:absolute;left:-9999px}",
        ".x{font-size:0}",
        ".x{clip:rect(0,0,0,0);position:absolute}",
        ".x{color:#fff;background:#ffffff}",
        ".a{color:red}.x{text-indent:-9999px}",
    ],
)
def test_text_hidden_by_a_style_sheet_is_not_read(read_page: ReadPage, sheet: str) -> None:
    text = read_page(page_of(sheet, f'{PROSE}<p class="x" id="secret">{TRAP}</p>')).text
    assert TRAP not in text
    assert "Paragraph 7 tells" in text


@pytest.mark.parametrize(
    ("sheet", "more"),
    [
        (".x{display:none} .x.open{display:block}", ""),
        (".x{display:none} @media (min-width:600px){.x{display:block}}", ""),
        (".x{display:none}", "<script>document.querySelector('.x').hidden = false</script>"),
        ("@media print{.x{display:none}}", ""),
        (".menu .x{display:none}", ""),
        (".x:hover{display:none}", ""),
        (".x{color:transparent;background-clip:text;background-image:linear-gradient(red,blue)}", ""),
        ("p{display", ""),
        ("}}}{{{.x{display:none", ""),
    ],
)
def test_text_that_is_shown_again_or_hidden_conditionally_is_read(read_page: ReadPage, sheet: str, more: str) -> None:
    assert TRAP in read_page(page_of(sheet, f'{PROSE}<p class="x">{TRAP}</p>', more)).text


def test_answers_that_a_click_opens_are_read(read_page: ReadPage) -> None:
    answers = "".join(
        f'<h3>Question {n}</h3><div class="css-1">{prose(river)}</div>' for n, river in enumerate(("Rhine", "Elbe", "Oder"))
    )
    assert read_page(page_of(".css-1{display:none}", PROSE + answers)).text.count("Paragraph 3 tells") == 4


def test_a_heading_for_screen_readers_is_kept(read_page: ReadPage) -> None:
    text = read_page(page_of(".sr{clip:rect(0,0,0,0)}", f'{PROSE}<h2 class="sr">Costs of the harbour</h2>{prose("quay")}')).text
    assert "Costs of the harbour" in text


def test_a_print_style_sheet_is_ignored(read_page: ReadPage) -> None:
    page = read_page(page_of("", f'{PROSE}<p class="x">{TRAP}</p>', '<style media="print">.x{display:none}</style>')).text
    assert TRAP in page


def test_case_of_names_matters_unless_the_page_is_in_quirks_mode(read_page: ReadPage) -> None:
    body = page_of(".X{left:-9999px}", f'{PROSE}<p class="x">{TRAP}</p>')
    assert TRAP in read_page(f"<!doctype html>{body}").text
    assert TRAP not in read_page(body).text


def test_every_name_and_the_tag_of_a_selector_must_match(read_page: ReadPage) -> None:
    parts = "<p class='a b'>cut one</p><p class=a>stays one</p><i class='a b'>stays two</i><p class='b a c'>cut two</p>"
    text = read_page(page_of("p.a.b{left:-9999px}", PROSE + parts)).text
    assert "stays one" in text
    assert "stays two" in text
    assert "cut" not in text


def test_concealed_text_around_a_heading_stays(read_page: ReadPage) -> None:
    parts = f"<div class=x><div><h2>Costs</h2></div><p>text below it</p></div><div class=x>{TRAP}</div>"
    text = read_page(page_of(".x{left:-9999px}", PROSE + parts)).text
    assert "Costs" in text
    assert TRAP not in text


def test_many_selectors_are_looked_up_and_not_tried_one_by_one(read_page: ReadPage, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[str] = []
    matches = dom.matches

    def counted(element: dom.Element, selector: str) -> bool:
        checks.append(selector)
        return matches(element, selector)

    monkeypatch.setattr(dom, "matches", counted)
    sheets = "".join(f"<style>{''.join(f'.s{n}x{m}{{left:-9999px}}' for m in range(50))}</style>" for n in range(40))
    hidden = "".join(
        f"<p class='s{n}x7'>Gate {n} hides the dredger.</p><p class=o{n}>Gate {n} shows it.</p>" for n in range(40)
    )
    text = read_page(page_of("", PROSE + hidden, sheets)).text
    assert "hides the dredger" not in text
    assert "Gate 39 shows it" in text
    assert len(checks) == 40


FILLER = "".join(f".unit-{n}{{margin:{n}px}}" for n in range(1200))


@pytest.mark.parametrize("rule", [".x{position:absolute;left:-9999px}", "p.x{font-size:0}", "#secret{clip:rect(0,0,0,0)}"])
def test_a_long_sheet_conceals_text_off_the_screen(read_page: ReadPage, rule: str) -> None:
    page = read_page(page_of(FILLER + rule + FILLER, PROSE + f"<p class=x id=secret>{TRAP}</p>"))
    assert "Paragraph 7" in page.text
    assert TRAP not in page.text


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        (".x{display:none}", ""),
        (".x{left:-9999px}.x.open{left:0}", ""),
        ("@media print{.x{left:-9999px}}", ""),
        (".x{left:-9999px}", "<script>show('x')</script>"),
    ],
)
def test_what_a_long_sheet_may_show_again_is_read(read_page: ReadPage, rule: str, more: str) -> None:
    page = read_page(page_of(FILLER + rule + FILLER, PROSE + f"<p class=x>{TRAP}</p>", more))
    assert TRAP in page.text
