"""Selectors of links: the first link to a target, by URL and fragment."""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.link_selectors import link_selectors
from sitelore.model.url import Url

PAGE = """<base href=/docs/><nav><a href=/>Start</a></nav><main id=content><ul><li><a href=a.html>A</a></li>
<li><a href="b.html?id=a81b5d1">B</a></li><li><a href="a.html#part">Part</a></li></ul></main><a href=a.html>A again</a>"""


def test_each_selector_finds_the_first_link_to_its_target() -> None:
    url = Url.trusted("https://site.example/x")
    a = "https://site.example/docs/a.html"
    wanted = [(a, ""), (a, "part"), ("https://site.example/docs/b.html?id=a81b5d1", ""), ("https://site.example/none", "")]
    selectors = link_selectors(PAGE, url, wanted)
    tree = dom.parse(PAGE)
    texts = {key: tree.select(selector)[0].text for key, selector in selectors.items()}
    assert texts == {wanted[0]: "A", wanted[1]: "Part", wanted[2]: "B"}
