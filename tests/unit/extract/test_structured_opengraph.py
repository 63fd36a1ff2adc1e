from __future__ import annotations

from typing import Any

from sitelore.extract import dom
from sitelore.extract.structured.entities import read_structured

PAGE = "https://site.example/dir/page"


def entities(*pairs: tuple[str, str], attribute: str = "property") -> list[dict[str, Any]]:
    source = "".join(f"<meta {attribute}='{name}' content='{value}'>" for name, value in pairs)
    return list(read_structured(dom.parse(source), PAGE))


def test_a_page_presents_itself() -> None:
    [entity] = entities(
        ("og:title", " A  title "),
        ("og:type", "article"),
        ("OG:URL", "/canonical"),
        ("article:published_time", "2024-05-06T07:08:09Z"),
        ("article:tag", "one"),
        ("article:tag", "two"),
        ("viewport", "width=1"),
        ("fb:app_id", "5"),
    )
    assert (entity["types"], entity["source"], entity["at"]) == (["article"], "opengraph", "html > head > meta:nth-of-type(1)")
    assert entity["properties"] == {
        "title": "A title",
        "type": "article",
        "url": "https://site.example/canonical",
        "article:published_time": "2024-05-06T07:08:09Z",
        "article:tag": ["one", "two"],
        "fb:app_id": "5",
    }
    assert entity["frame"] == {
        "kind": "Article",
        "name": "A title",
        "url": "https://site.example/canonical",
        "published": "2024-05-06T07:08:09Z",
        "keywords": ["one", "two"],
    }


def test_image_properties_belong_to_the_last_image() -> None:
    [entity] = entities(
        ("og:image", "/a.jpg"),
        ("og:image:url", "/a.jpg"),
        ("og:image:width", "1200"),
        ("og:image:alt", "An a"),
        ("og:image", "/b.jpg"),
        ("og:video:url", "/v.mp4"),
        ("og:video:height", "20px"),
    )
    assert entity["properties"] == {
        "image": [
            {"types": ["ImageObject"], "properties": {"url": "https://site.example/a.jpg", "width": 1200, "alt": "An a"}},
            "https://site.example/b.jpg",
        ],
        "video": {"types": ["VideoObject"], "properties": {"url": "https://site.example/v.mp4", "height": 20}},
    }
    assert entity["frame"]["image"] == ["https://site.example/a.jpg", "https://site.example/b.jpg"]


def test_a_card_alone_is_enough() -> None:
    [entity] = entities(("twitter:card", "summary"), ("twitter:title", "T"), ("twitter:image", "i.png"), attribute="name")
    assert entity["types"] == []
    assert entity["properties"]["twitter:image"] == "https://site.example/dir/i.png"
    assert entity["frame"] == {"kind": "WebPage", "name": "T", "image": ["https://site.example/dir/i.png"]}


def test_a_product_has_a_price_and_a_currency() -> None:
    [entity] = entities(
        ("og:type", "og:product"),
        ("og:title", "Pan"),
        ("product:price:amount", "1,299.00"),
        ("product:price:currency", "USD"),
        ("product:availability", "in stock"),
    )
    assert entity["frame"]["kind"] == "Product"
    assert entity["frame"]["offers"] == [{"price": 1299.0, "currency": "USD", "availability": "InStock"}]


def test_pages_without_any_of_it_have_none_and_long_ones_end() -> None:
    assert entities(("description", "text"), ("theme:color", "red")) == []
    assert entities(("og:title", "")) == []
    [entity] = entities(*[("og:image", f"/{n}.jpg") for n in range(5000)])
    assert len(entity["properties"]["image"]) == 256
