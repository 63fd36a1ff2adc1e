from __future__ import annotations

import json
from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.structured.entities import read_structured

PAGE = "https://site.example/dir/page"


def entities(source: str) -> list[dict[str, Any]]:
    return [one for one in read_structured(dom.parse(source), PAGE) if one["source"] == "microdata"]


def properties(source: str) -> dict[str, Any]:
    [result] = entities(f"<div itemscope itemtype='https://schema.org/Thing'>{source}</div>")
    known: dict[str, Any] = result["properties"]
    return known


def test_items_have_types_ids_and_items_within() -> None:
    [result] = entities(
        "<div id=it itemscope itemtype='https://schema.org/Product http://other.example/Pan' itemid='#pan'>"
        "<span itemprop='name'> A\n pan </span>"
        "<div itemprop=offers itemscope itemtype=http://schema.org/Offer><b itemprop=price content=19.99>20</b></div></div>"
    )
    assert result["types"] == ["Product", "http://other.example/Pan"]
    assert (result["id"], result["at"], result["repaired"]) == (f"{PAGE}#pan", "#it", False)
    assert result["properties"] == {"name": "A pan", "offers": {"types": ["Offer"], "properties": {"price": 19.99}}}


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ("<meta itemprop=x content=' text '>", "text"),
        ("<meta itemprop=x>", ""),
        ("<a itemprop=x href='../up?a=1#b'>text</a>", "https://site.example/up?a=1#b"),
        ("<area itemprop=x href=/a>", "https://site.example/a"),
        ("<link itemprop=x href=//cdn.example/a>", "https://cdn.example/a"),
        ("<img itemprop=x src=i.png>", "https://site.example/dir/i.png"),
        ("<img itemprop=x data-src=late.png>", "https://site.example/dir/late.png"),
        ("<img itemprop=x>", ""),
        ("<audio itemprop=x src=/s></audio>", "https://site.example/s"),
        ("<video itemprop=x src=/v></video>", "https://site.example/v"),
        ("<iframe itemprop=x src=/f></iframe>", "https://site.example/f"),
        ("<embed itemprop=x src=/e>", "https://site.example/e"),
        ("<source itemprop=x src=/s>", "https://site.example/s"),
        ("<object itemprop=x data=/o></object>", "https://site.example/o"),
        ("<data itemprop=x value=12>twelve</data>", "12"),
        ("<meter itemprop=x value=0.5>half</meter>", "0.5"),
        ("<time itemprop=x datetime=2024-05-06>May</time>", "2024-05-06"),
        ("<time itemprop=x>May 6</time>", "May 6"),
        ("<span itemprop=x content=''>text</span>", ""),
        ("<p itemprop=x>a <b>bold</b>\n word</p>", "a bold word"),
    ],
)
def test_a_value_is_where_its_element_keeps_it(element: str, value: str) -> None:
    assert properties(element) == {"x": value}


def test_names_can_be_several_and_addresses() -> None:
    result = properties("<b itemprop='name https://schema.org/alternateName http://o.example/n'>N</b><i itemprop=name>M</i>")
    assert result == {"name": ["N", "M"], "alternateName": "N", "http://o.example/n": "N"}


def test_values_are_typed_by_their_property() -> None:
    result = properties(
        "<link itemprop=availability href=http://schema.org/OutOfStock><b itemprop=price>1.299,00 €</b>"
        "<time itemprop=startDate>6 May 2024</time><b itemprop=ratingValue>4,5</b><a itemprop=url href=/u>u</a>"
    )
    assert result == {
        "availability": "OutOfStock",
        "price": 1299.0,
        "priceCurrency": "EUR",
        "startDate": "2024-05-06",
        "ratingValue": 4.5,
        "url": "https://site.example/u",
    }


def test_itemref_includes_properties_from_elsewhere() -> None:
    [result] = entities(
        "<p id=a>by <b itemprop=author>Ann</b></p><div itemscope itemref='a b missing'><b itemprop=name>N</b></div>"
        "<div id=b itemprop=part itemscope><b itemprop=name>Part</b></div>"
    )
    assert result["properties"] == {"author": "Ann", "name": "N", "part": {"types": [], "properties": {"name": "Part"}}}


def test_an_element_that_is_referred_to_still_belongs_to_the_item_around_it() -> None:
    one, two = entities(
        "<div itemscope itemtype=https://schema.org/A><p id=x><b itemprop=name>N</b></p></div>"
        "<div itemscope itemtype=https://schema.org/B itemref=x></div>"
    )
    assert one["properties"] == two["properties"] == {"name": "N"}


def test_items_in_a_circle_end_and_none_is_lost() -> None:
    result = entities(
        "<div itemscope id=a itemprop=to itemref=b itemtype=https://schema.org/A><b itemprop=name>A</b></div>"
        "<div itemscope id=b itemprop=to itemref=a itemtype=https://schema.org/B><b itemprop=name>B</b></div>"
    )
    assert {kind for one in result for kind in one["types"]} | {result[0]["properties"]["to"]["types"][0]} == {"A", "B"}
    assert entities("<div itemscope id=a itemprop=to itemref=a itemtype=https://schema.org/A></div>")[0]["types"] == ["A"]


def test_unambiguous_mistakes_are_corrected() -> None:
    [orphan] = entities("<div itemprop=review itemscope itemtype=https://schema.org/Review><b itemprop=name>R</b></div>")
    assert (orphan["types"], orphan["repaired"]) == (["Review"], False)
    [unscoped] = entities("<div itemtype='schema.org/Person'><b itemprop=name>Ann</b></div>")
    assert (unscoped["types"], unscoped["properties"], unscoped["repaired"]) == (["Person"], {"name": "Ann"}, True)
    assert properties("<b itemprop=name itemtype=https://schema.org/Text>N</b>") == {"name": "N"}
    assert properties("<b itemprop=author itemtype=https://schema.org/Person>Ann</b>") == {
        "author": {"types": ["Person"], "properties": {"name": "Ann"}}
    }


def test_a_property_outside_of_any_item_is_nobodys() -> None:
    assert entities("<b itemprop=name>N</b><div itemscope></div>") == []


def test_depth_width_and_repetition_are_bounded() -> None:
    deep = "<div itemscope itemtype=https://schema.org/D itemprop=d>" * 3000
    wide = "<div itemscope itemtype=https://schema.org/W><b itemprop=n>x</b></div>" * 30_000
    nested = "<p itemprop=x>word" * 3000
    many = "<div itemscope itemtype=https://schema.org/M>" + "<b itemprop=n>x</b>" * 30_000
    tree = "".join(f"<div id=i{n} itemprop=d itemscope itemref='i{n + 1} j{n + 1}'></div>" for n in range(60))
    twin = tree.replace("id=i", "id=j")
    buried = "<div>" * 300 + "<b itemscope><i itemprop=name>deep</i>" * 50
    for source in (deep, wide, f"<div itemscope>{nested}", many, tree + twin, buried):
        result = entities(source)
        assert result
        assert len(result) <= 500
        assert len(json.dumps(result)) < 5_000_000
