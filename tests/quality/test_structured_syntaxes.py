"""Things described in JSON-LD, Microdata and RDFa: all three syntaxes give equal data, however the markup is nested."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.structured.entities import read_structured

PAGE = "https://site.example/dir/page"
Thing = dict[str, Any]


def thing(kind: str, **properties: Any) -> Thing:
    return {"@type": kind, **properties}


THINGS = {
    "a product with an offer and ratings": thing(
        "Product",
        name="Stoneware mug",
        sku="MUG-7",
        brand=thing("Brand", name="Kiln & Co"),
        offers=thing("Offer", price="14.50", priceCurrency="EUR", availability="https://schema.org/InStock"),
        aggregateRating=thing("AggregateRating", ratingValue="4.6", reviewCount="31"),
    ),
    "a recipe": thing(
        "Recipe",
        name="Barley soup",
        recipeYield="4 bowls",
        recipeIngredient=["200 g barley", "1 onion", "2 carrots"],
        author=thing("Person", name="Ida Brandt"),
    ),
    "an event at a place": thing(
        "Event",
        name="Evening of lutes",
        startDate="2031-05-04T19:30",
        location=thing(
            "Place", name="Old granary", address=thing("PostalAddress", addressLocality="Lund", postalCode="222 21")
        ),
    ),
    "an open position": thing(
        "JobPosting",
        title="Bookbinder",
        datePosted="2031-01-09",
        hiringOrganization=thing("Organization", name="Paper Mill"),
        jobLocation=thing("Place", address=thing("PostalAddress", addressCountry="SE")),
    ),
    "questions and answers": thing(
        "FAQPage",
        mainEntity=[
            thing("Question", name="Is it dishwasher safe?", acceptedAnswer=thing("Answer", text="Yes, on the upper rack.")),
            thing("Question", name="Does it break?", acceptedAnswer=thing("Answer", text="If you drop it.")),
        ],
    ),
    "breadcrumbs": thing(
        "BreadcrumbList",
        itemListElement=[thing("ListItem", position="1", name="Home"), thing("ListItem", position="2", name="Mugs")],
    ),
    "an article": thing(
        "NewsArticle",
        headline="Mill reopens after “repairs”",
        datePublished="2031-02-03",
        author=[thing("Person", name="A. Writer"), thing("Person", name="B. Writer")],
    ),
    "a business": thing(
        "Bakery", name="Crumb", telephone="+46 40 123 45", openingHours=["Mo-Fr 06:00-15:00", "Sa 07:00-12:00"]
    ),
    "a video": thing("VideoObject", name="How to throw a mug", uploadDate="2030-12-01", duration="PT3M20S"),
    "a course in three levels": thing(
        "Course", name="Pottery", provider=thing("Organization", name="School", founder=thing("Person", name="M. Olsson"))
    ),
}


def json_ld(described: Thing) -> str:
    text = json.dumps({"@context": "https://schema.org", **described}).replace("</", "<\\/")
    return f'<script type="application/ld+json">{text}</script>'


def microdata(described: Thing, name: str = "") -> str:
    prop = f' itemprop="{name}"' if name else ""
    kind = f"https://schema.org/{described['@type']}"
    return f'<div{prop} itemscope itemtype="{kind}">{inner(described, microdata, "itemprop")}</div>'


def rdfa(described: Thing, name: str = "") -> str:
    prop = f' property="{name}"' if name else ' vocab="https://schema.org/"'
    return f'<div{prop} typeof="{described["@type"]}">{inner(described, rdfa, "property")}</div>'


def inner(described: Thing, write: Any, attribute: str) -> str:
    parts = []
    for name, values in described.items():
        if name == "@type":
            continue
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):
                parts.append(write(value, name))
            else:
                parts.append(f'<p>Text beside it. <span {attribute}="{name}">{escape(value)}</span></p>')
    return "".join(parts)


def read(html: str, source: str) -> list[Thing]:
    page = f"<!doctype html><title>Page</title><body><main><h1>Page</h1>{html}</main>"
    return [entity for entity in read_structured(dom.parse(page), PAGE) if entity["source"] == source]


def named(value: Any) -> set[str]:
    """Every type in a thing."""
    if isinstance(value, list):
        return {kind for item in value for kind in named(item)}
    if not isinstance(value, dict):
        return set()
    return {value["@type"]} | {kind for inner in value.values() for kind in named(inner)}


def found_types(value: Any) -> set[str]:
    if isinstance(value, list):
        return {kind for item in value for kind in found_types(item)}
    if not isinstance(value, dict):
        return set()
    return set(value.get("types", ())) | {kind for inner in value.values() for kind in found_types(inner)}


@pytest.mark.parametrize("name", THINGS)
def test_three_syntaxes_of_one_thing_give_equal_properties(name: str) -> None:
    described = THINGS[name]
    written = {"json-ld": json_ld(described), "microdata": microdata(described), "rdfa": rdfa(described)}
    entities = {source: read(html, source) for source, html in written.items()}
    assert {source: len(things) for source, things in entities.items()} == dict.fromkeys(written, 1)
    first = entities["json-ld"][0]
    assert found_types(first["properties"]) | set(first["types"]) == named(described)
    for source in ("microdata", "rdfa"):
        assert entities[source][0]["types"] == first["types"]
        assert entities[source][0]["properties"] == first["properties"]
        assert entities[source][0].get("frame") == first.get("frame")


def test_several_things_on_one_page_are_found_in_every_syntax() -> None:
    for source, write in (("json-ld", json_ld), ("microdata", microdata), ("rdfa", rdfa)):
        html = "".join(write(described) for described in THINGS.values())
        assert [entity["types"][0] for entity in read(html, source)] == [each["@type"] for each in THINGS.values()]


BROKEN = {
    "a comma at the end": '{"@context":"https://schema.org","@type":"Product","name":"Mug",}',
    "a comma at the end of a list": '{"@context":"https://schema.org","@type":"Product","name":"Mug","image":["a.png",]}',
    "comments": '/* shop */ {"@context":"https://schema.org","@type":"Product", // kind\n"name":"Mug"}',
    "inside an HTML comment": '<!-- {"@context":"https://schema.org","@type":"Product","name":"Mug"} -->',
    "inside CDATA": '//<![CDATA[\n{"@context":"https://schema.org","@type":"Product","name":"Mug"}\n//]]>',
    "a line break in a string": '{"@context":"https://schema.org","@type":"Product","name":"Mug","description":"One\ntwo"}',
    "a semicolon after it": '{"@context":"https://schema.org","@type":"Product","name":"Mug"};',
}


@pytest.mark.parametrize("name", BROKEN)
def test_json_ld_with_a_common_mistake_is_still_read(name: str) -> None:
    things = read(f'<script type="application/ld+json">{BROKEN[name]}</script>', "json-ld")
    assert [(entity["types"], entity["properties"]["name"]) for entity in things] == [(["Product"], "Mug")]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "Product", '{"name": "no type"}', "<p>hello</p>"])
def test_json_ld_that_means_nothing_gives_nothing_and_harms_nothing(text: str) -> None:
    html = f'<script type="application/ld+json">{text}</script>{json_ld(THINGS["a video"])}'
    assert [entity["types"] for entity in read(html, "json-ld") if entity["types"]] == [["VideoObject"]]
