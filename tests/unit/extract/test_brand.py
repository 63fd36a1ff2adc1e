"""The brand of a home page: six sources in order, placeholders skipped, entries of the user never overwritten."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.links import resolver_for
from sitelore.extract.page_objects.brand import brand_probe, merge_brands, pack_probe, read_brand, unpack_probe, with_probed
from sitelore.extract.page_objects.brand_styles import (
    first_font,
    font_name,
    parse_colour,
    read_styles,
    service_fonts,
    tailwind_colour,
)
from sitelore.model.document import PROBED_HEADER, READ_HEADERS
from sitelore.model.response import Response
from sitelore.model.url import Url

from .conftest import ReadPage

HOME = Url("http://site.example/")
SHADCN = """<html><head><link rel=icon href=/icon.svg type=image/svg+xml>
<link rel=apple-touch-icon sizes=180x180 href=/touch.png>
<style>@layer base{:root{--background:0 0% 100%;--primary:222.2 47.4% 11.2%;--primary-foreground:210 40% 98%;
--secondary: 24 95% 53%;--ring:var(--primary)} .dark{--primary:0 0% 98%}}
@media (prefers-color-scheme: dark){:root{--primary: 1 1% 1%}}
@font-face{font-family:'__Inter_d65c78';src:url(/_next/static/media/x.woff2) format('woff2');font-display:swap}
@font-face{font-family:'__Inter_Fallback_d65c78';src:local("Arial");ascent-override:90%}
.__className_d65c78{font-family:'__Inter_d65c78','__Inter_Fallback_d65c78'}</style></head>
<body class=__className_d65c78><header><a href="/"><img src=/logo.svg alt="Acme logo"></a><button>Ghost</button></header><p>x"""


def brand_of(html: str, **more: Any) -> dict[str, Any]:
    return read_brand(dom.parse(html), resolver_for(()).on_page(HOME), **more)


def test_a_page_in_the_style_of_shadcn_and_next_gives_colours_and_font(read_page: ReadPage) -> None:
    brand = read_page(SHADCN, url=HOME).document["brand"]
    assert (brand["primary_color"], brand["secondary_color"], brand["font_primary"]) == ("#0f172a", "#f97015", "Inter")
    assert brand["confidence"] == 1.0
    assert (brand["logo"], brand["favicon"]) == ("http://site.example/logo.svg", "http://site.example/icon.svg")
    assert brand["sources"]["primary_color"] == "css_variable --primary"
    assert [icon["url"] for icon in brand["icons"]] == ["http://site.example/icon.svg", "http://site.example/touch.png"]


def test_only_a_home_page_has_a_brand(read_page: ReadPage) -> None:
    assert read_page(SHADCN).document["brand"] == {}
    assert read_page("<p>x</p>", url=HOME).document["brand"] == {}


@pytest.mark.parametrize(
    ("written", "colour"),
    [
        ("#4F46E5", "#4f46e5"),
        ("#abc", "#aabbcc"),
        ("#4f46e5ff", "#4f46e5"),
        ("#4f46e510", ""),
        ("rgb(79, 70, 229)", "#4f46e5"),
        ("rgb(79 70 229 / 1)", "#4f46e5"),
        ("rgba(79,70,229,.2)", ""),
        ("rgb(31% 27.5% 89.8%)", "#4f46e5"),
        ("hsl(239, 84%, 67%)", "#6467f2"),
        ("hsl(239deg 84% 67% / 90%)", "#6467f2"),
        ("239 84% 67%", "#6467f2"),
        ("222.2 47.4% 11.2%", "#0f172a"),
        ("13, 110, 253", "#0d6efd"),
        ("79 70 229", "#4f46e5"),
        ("oklch(54.6% 0.245 262.881)", "#155dfc"),
        ("oklch(0.205 0 0)", "#171717"),
        ("hwb(194 0% 0%)", "#00c3ff"),
        ("Rebeccapurple", "#663399"),
        ("transparent", ""),
        ("1px solid red", ""),
        ("rgb()", ""),
        ("hsl(a, b, c)", ""),
        ("1 2 3 4", ""),
    ],
)
def test_colours_are_read_in_every_spelling(written: str, colour: str) -> None:
    assert parse_colour(written) == colour


def test_css_variables_of_many_frameworks_are_recognised() -> None:
    for name, value in (
        ("--color-primary", "#123456"),
        ("--bs-primary", "#123456"),
        ("--brand-color", "rgb(18 52 86)"),
        ("--wp--preset--color--primary", "#123456"),
        ("--primary-500", "#123456"),
        ("--md-sys-color-primary", "#123456"),
    ):
        css = f"<style>:root{{--primary-foreground:#fff;{name}:{value}}}</style>"
        assert brand_of(css)["primary_color"] == "#123456", name
    chained = "<style>:root{--indigo:239 84% 67%;--primary:hsl(var(--indigo));--accent:var(--none, #e11d48)}</style>"
    assert (brand_of(chained)["primary_color"], brand_of(chained)["secondary_color"]) == ("#6467f2", "#e11d48")


def test_the_first_painted_button_counts_and_ghosts_do_not() -> None:
    brand = brand_of(
        "<style>.btn{background:transparent}.btn-primary{background-color:#e11d48}"
        ".hero{background:linear-gradient(90deg,#123456,#fff)}a.btn-primary:hover{background:#000}</style>"
        "<header><a class=btn>Ghost</a><button style='background:#ffffff'>White</button>"
        "<a class='btn btn-primary'>Buy</a></header><div class=hero></div>"
    )
    assert (brand["primary_color"], brand["sources"]["primary_color"]) == ("#e11d48", "header_button")
    assert (brand["secondary_color"], brand["sources"]["secondary_color"]) == ("#123456", "hero_background")
    assert brand["confidence"] == 0.67


def test_of_two_tailwind_backgrounds_the_first_written_counts() -> None:
    for first, second, colour in (("indigo", "rose", "#4f46e5"), ("rose", "indigo", "#e11d48")):
        html = f"<header><button class='p-1 bg-{first}-600 x y bg-{second}-600 z'>Go</button></header>"
        assert brand_of(html)["primary_color"] == colour


def test_tailwind_classes_give_colours_without_their_style_sheet() -> None:
    brand = brand_of("<nav><a class='px-4 bg-transparent'>x</a><a class='rounded bg-indigo-600 text-white'>Start</a></nav>")
    assert brand["primary_color"] == "#4f46e5"
    assert tailwind_colour("bg-[#0f0] p-1") == "#00ff00"
    assert tailwind_colour("bg-[rgb(1_2_3)]") == "#010203"
    assert tailwind_colour("bg-white bg-nothing-600") == ""


def test_fonts_come_from_services_then_faces_then_text() -> None:
    link = '<link rel=stylesheet href="https://fonts.googleapis.com/css2?family=Open+Sans:wght@400;700&family=Lora">'
    face = "<style>@font-face{font-family:Face}body{font-family:Body, sans-serif}</style>"
    assert brand_of(link + face)["fonts"] == ["Open Sans", "Lora", "Face", "Body"]
    assert brand_of(face)["sources"]["font_primary"] == "font_face"
    assert brand_of("<style>body{font-family:Arial, Helvetica}h1{font-family:'Playfair Display',serif}</style>")["fonts"] == [
        "Playfair Display"
    ]
    imported = "<style>@import url('https://fonts.googleapis.com/css?family=Roboto:400|Lato');p{color:red}</style>"
    assert brand_of(imported)["fonts"] == ["Roboto", "Lato"]


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("__Inter_abc123", "Inter"),
        ("'__Open_Sans_12ab34'", "Open Sans"),
        ("__geistSans_1e4310", "Geist Sans"),
        ("__Inter_Fallback_abc123", ""),
        ("Inter Fallback", ""),
        ('"Segoe UI"', ""),
        ("Material Icons", ""),
        ("Font Awesome 6 Free", ""),
        ("var(--x)", ""),
        ("Proxima Nova", "Proxima Nova"),
    ],
)
def test_font_names_are_the_common_ones(raw: str, name: str) -> None:
    assert font_name(raw) == name


def test_a_list_of_fonts_that_starts_with_a_system_font_names_none() -> None:
    assert first_font("'__Inter_abc123', '__Inter_Fallback_abc123', system-ui") == "Inter"
    assert first_font("Arial, Inter") == ""
    assert service_fonts("https://fonts.example/css?family=X") == []


def test_computed_styles_take_precedence_over_the_source() -> None:
    probed = {
        "variables": {"--primary": "239 84% 67%", "--other": "12px"},
        "buttons": [{"background": "rgb(225, 29, 72)"}, {"background": "rgba(0, 0, 0, 0)"}, 7],
        "backgrounds": ["rgb(255, 255, 255)", "linear-gradient(rgb(9, 99, 199), rgb(1, 2, 3))"],
        "fonts": {"body": "__Inter_abc123, __Inter_Fallback_abc123", "h1": "Arial"},
        "faces": ["__Inter_abc123", "Material Icons"],
    }
    header = pack_probe(probed)
    assert len(header) <= 500
    assert header.isascii()
    brand = brand_of("<style>:root{--primary:#000}</style>", probed=unpack_probe(header))
    assert (brand["primary_color"], brand["secondary_color"], brand["font_primary"]) == ("#6467f2", "#e11d48", "Inter")


@pytest.mark.parametrize(
    "probed", [None, [], 3, "x", {}, {"variables": []}, {"buttons": {"a": 1}, "fonts": 3}, {"faces": [None, []]}]
)
def test_an_invalid_probe_is_ignored(probed: Any) -> None:
    assert pack_probe(probed) == ""


def test_a_probe_is_sent_with_the_response_and_its_size_is_bounded(read_page: ReadPage) -> None:
    much = {
        "variables": {f"--brand-{'x' * n}primary": "#123456" for n in range(100)} | {"--primary": "#abcdef"},
        "faces": [f"Font {'Ä' * 40} {n}" for n in range(100)],
        "buttons": [{"background": f"rgb({n}, 0, 0)"} for n in range(200)],
    }
    response = with_probed(Response(HOME, 200, ((PROBED_HEADER, "old"),), b""), much)
    assert PROBED_HEADER in READ_HEADERS
    [value] = response.header_all(PROBED_HEADER)
    assert len(value) <= 500
    assert json.loads(value)
    page = read_page("<p>x", url="http://site.example/en", headers=response.headers)
    assert page.document["brand"]["primary_color"] == "#abcdef"
    assert with_probed(response, None).headers == ()


@pytest.mark.parametrize(
    "header", ["", "{", "[]", '{"v":3,"b":[1],"t":{"body":7}}', '{"v":{"--primary":"url(x)"}}', "[" * 5000]
)
def test_a_header_that_is_none_of_ours_is_nothing(read_page: ReadPage, header: str) -> None:
    assert read_page("<p>x", headers=((PROBED_HEADER, header),)).document["brand"] == {}


def test_the_probe_is_one_expression() -> None:
    script = brand_probe()
    code = "\n".join(line for line in script.splitlines() if not line.startswith("//"))
    assert code.startswith("(() => {")
    assert code.rstrip().endswith("})()")


def test_entries_of_the_user_are_never_overwritten() -> None:
    detected = {"primary_color": "#111111", "font_primary": "Inter", "logo": "/l.svg", "confidence": 0.67}
    assert merge_brands({"primary_color": "#222222"}, detected) == {"primary_color": "#222222"}
    assert merge_brands({"primary_color": None, "logo": "/mine.svg"}, detected) == {**detected, "logo": "/mine.svg"}
    assert merge_brands({"logo": "/mine.svg"}, {"favicon": "/f.ico", "confidence": 0.0}) == {"logo": "/mine.svg"}
    assert merge_brands({}, {}) == {}


@pytest.mark.parametrize(
    "css",
    [
        "}" * 1000 + "{" * 100_000,
        ":root{--a:var(--b);--b:var(--a);--primary:var(--a)}",
        ":root{--primary:" + "var(--primary) " * 300 + "}",
        "/* never closed :root{--primary:#123456}",
        "a{" * 5000 + "background:red" + "}" * 5000,
        "@font-face{font-family:" + "x" * 100_000 + "}",
    ],
)
def test_odd_style_sheets_are_read_within_bounds(css: str) -> None:
    styles = read_styles([css])
    assert len(styles.backgrounds) <= 4000
    assert len(str(brand_of(f"<style>{css}</style>"))) < 2000
