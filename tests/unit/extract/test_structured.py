from __future__ import annotations

import json
import random
from typing import Any

from sitelore.extract import dom
from sitelore.extract.structured.entities import read_structured, texts_of, with_texts

from .conftest import ReadPage

PRODUCT = {
    "@context": "https://schema.org",
    "@type": "Product",
    "name": "Pan",
    "datePublished": "2024-05-06",
    "offers": {"@type": "Offer", "price": "5.00", "priceCurrency": "EUR", "availability": "https://schema.org/InStock"},
}
PAGE = (
    "<html><head><title>Pan</title><meta property=og:title content=Pan>"
    f"<script type=application/ld+json>{json.dumps(PRODUCT)}</script></head><body>"
    "<div itemscope itemtype=https://schema.org/Person><b itemprop=name>Ann</b></div>"
    "<div vocab=https://schema.org/ typeof=Place><b property=name>Rome</b></div><p>Some text of the page.</p></body></html>"
)


def test_structured_data_of_all_syntaxes_has_one_format(read_page: ReadPage) -> None:
    structured = read_page(PAGE).document["structured"]
    assert [(one["source"], one["types"]) for one in structured] == [
        ("json-ld", ["Product"]),
        ("microdata", ["Person"]),
        ("rdfa", ["Place"]),
        ("opengraph", []),
    ]
    assert structured[0]["frame"]["offers"] == [{"price": 5.0, "currency": "EUR", "availability": "InStock"}]
    assert all({"types", "id", "properties", "source", "at", "repaired"} <= one.keys() for one in structured)


def test_every_place_leads_back_to_its_element() -> None:
    tree = dom.parse(PAGE)
    for one in read_structured(tree, "https://site.example/"):
        [element] = dom.select(tree, one["at"])
        assert element.tag in {"script", "div", "meta"}


def test_a_page_without_any_has_none(read_page: ReadPage) -> None:
    assert read_page("<title>T</title><p>Text that says typeof x and itemscope</p>").document["structured"] == []


def test_relative_addresses_follow_the_base_of_the_page(read_page: ReadPage) -> None:
    head = "<base href='https://cdn.example/x/'><script type=application/ld+json>"
    data = json.dumps({"@type": "Thing", "image": "i.png"})
    [entity] = read_page(f"{head}{data}</script><p>text").document["structured"]
    assert entity["properties"]["image"] == "https://cdn.example/x/i.png"


def test_secrets_that_parsing_brings_to_light_are_kept_nowhere(read_page: ReadPage) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    hidden = key.replace("AKIA", "\\u0041KIA")
    escaped = "".join(f"&#{ord(char)};" for char in key)
    split = "AK\u200bIA" + key[4:]
    for source in (
        f'<script type=application/ld+json>{{"@type":"Thing","name":"x {hidden} y"}}</script>',
        f'<script type=application/ld+json>{{"@type":"Thing","{hidden}":"x"}}</script>',
        f'<script type=application/ld+json>{{"@type":"{hidden}","name":"n"}}</script>',
        f'<script type=application/ld+json>{{"@type":"Product","sku":"{hidden}","name":"n"}}</script>',
        f"<div itemscope itemtype=https://schema.org/Thing><meta itemprop=name content='{escaped}'></div>",
        f"<div vocab=https://schema.org/ typeof=Thing><meta property=name content='{escaped}'></div>",
        f"<meta property=og:description content='{split}'>",
    ):
        page = read_page(f"{source}<p>text")
        assert key not in json.dumps(page.document), source
        assert "[REDACTED:aws-access-key]" in json.dumps(page.document["structured"]), source
        assert page.reading.redactions, source


def test_texts_are_all_found_and_put_back() -> None:
    entities: tuple[dict[str, Any], ...] = ({"types": ["A"], "properties": {"n": ["x", 1, {"value": "y"}]}, "repaired": False},)
    assert set(texts_of(entities)) == {"types", "A", "properties", "n", "x", "value", "y", "repaired"}
    assert with_texts(entities, {"x": "z", "n": "m"}) == (
        {"types": ["A"], "properties": {"m": ["z", 1, {"value": "y"}]}, "repaired": False},
    )


def test_pages_that_are_cut_and_shuffled_never_raise() -> None:
    chance = random.Random(7)
    pieces = [PAGE[at : at + size] for at in range(0, len(PAGE), 7) for size in (3, 11, 40)]
    pieces += [
        "itemref=a",
        " id=a ",
        "<div itemprop=x itemscope>",
        "typeof='a:b c'",
        "rel=x",
        "about=''",
        '"@graph":[',
        "\x00",
        "\ud7ff",
    ]
    for _ in range(300):
        source = PAGE[: chance.randrange(len(PAGE))] + "".join(chance.choices(pieces, k=chance.randrange(30)))
        entities = read_structured(dom.parse(source), "https://site.example/")
        assert json.loads(json.dumps(entities)) == list(entities)
