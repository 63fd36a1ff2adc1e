"""Sanitised SVG images hold nothing that runs, loads or links."""

from __future__ import annotations

import pytest

from sitelore.media.svg import NotSvg, sanitise_svg, svg_size

_SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 20 10">'


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<SCRIPT>alert(1)</SCRIPT>",
        '<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>',
        '<g onload="alert(1)"/>',
        '<g ONCLICK="alert(1)"/>',
        '<a href="javascript:alert(1)"><path d="M0 0"/></a>',
        '<use xlink:href="https://evil.test/x.svg#alert"/>',
        '<image href="https://evil.test/alert.png"/>',
        '<image href="data:image/svg+xml;base64,alert"/>',
        '<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="alert"/></foreignObject>',
        '<rect style="background:url(https://evil.test/alert)"/>',
        '<rect fill="url(https://evil.test/alert)"/>',
        "<style>@import 'https://evil.test/alert.css';</style>",
        "<style>rect{fill:u\\72l(https://evil.test/alert)}</style>",
        '<set attributeName="href" to="javascript:alert(1)"/>',
        '<animate attributeName="onload" values="alert(1)"/>',
        '<?xml-stylesheet href="alert.css"?>',
        "<!-- alert -->",
        '<g xml:base="https://evil.test/alert"/>',
        "<metadata>alert</metadata>",
    ],
)
def test_what_could_run_or_load_is_removed(hostile: str) -> None:
    clean = sanitise_svg(f"{_SVG}{hostile}<rect width='3' height='3'/></svg>".encode())
    assert b"alert" not in clean
    assert b"evil" not in clean
    assert b'<rect width="3" height="3"' in clean


def test_the_drawing_stays() -> None:
    drawing = (
        f'{_SVG}<defs><linearGradient id="a"><stop offset="0" stop-color="red"/></linearGradient></defs>'
        '<g transform="rotate(3)"><path d="M0 0L9 9" fill="url(#a)"/><use xlink:href="#a"/>'
        '<image href="data:image/png;base64,AAAA"/><text x="1">Words<tspan>more</tspan>last</text></g></svg>'
    )
    clean = sanitise_svg(drawing.encode()).decode()
    for part in (
        'fill="url(#a)"',
        'xlink:href="#a"',
        "data:image/png;base64,AAAA",
        "Words<tspan>more</tspan>last",
        "rotate(3)",
    ):
        assert part in clean
    assert sanitise_svg(clean.encode()).decode() == clean
    assert svg_size(clean.encode()) == (20, 10)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not xml",
        b"<html/>",
        b"<svg",
        b'<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg xmlns="http://www.w3.org/2000/svg"/>',
        b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg">&x;</svg>',
    ],
)
def test_what_is_no_harmless_drawing_is_refused(data: bytes) -> None:
    with pytest.raises(NotSvg):
        sanitise_svg(data)
