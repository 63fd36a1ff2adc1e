from __future__ import annotations

import json
from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.structured.entities import currency_in, parse_amount, parse_number, read_structured

PAGE = "https://shop.example/p/1"


def frame(**data: Any) -> Any:
    source = {"@context": "https://schema.org", **{f"@{name}" if name == "type" else name: one for name, one in data.items()}}
    [entity] = read_structured(dom.parse(f"<script type='application/ld+json'>{json.dumps(source)}</script>"), PAGE)
    return entity["frame"]


def thing(kind: str, **data: Any) -> dict[str, Any]:
    return {"@type": kind, **data}


def test_a_product_shows_its_offers_with_numbers_and_currency() -> None:
    product = frame(
        type="Product",
        name="  A   pan ",
        description="<p>Iron &amp; steel</p>",
        image=["/1.jpg", thing("ImageObject", url="/2.jpg")],
        brand=thing("Brand", name="Panco"),
        sku=17,
        gtin13="4006381333931",
        offers=thing(
            "Offer",
            price="€ 1.299,00",
            availability="https://schema.org/InStock",
            itemCondition="NewCondition",
            url="/buy",
            seller=thing("Organization", name="Shop"),
            priceValidUntil="2030-01-02",
        ),
        aggregateRating=thing("AggregateRating", ratingValue="4.5", reviewCount="12", bestRating="5"),
        review=[thing("Review", author="Ann", reviewBody="Good", reviewRating=thing("Rating", ratingValue=5))],
    )
    assert product == {
        "kind": "Product",
        "name": "A pan",
        "description": "Iron & steel",
        "image": ["https://shop.example/1.jpg", "https://shop.example/2.jpg"],
        "brand": "Panco",
        "sku": "17",
        "gtin": "4006381333931",
        "offers": [
            {
                "price": 1299.0,
                "currency": "EUR",
                "availability": "InStock",
                "condition": "NewCondition",
                "seller": "Shop",
                "url": "https://shop.example/buy",
                "valid_until": "2030-01-02",
            }
        ],
        "rating": {"value": 4.5, "best": 5, "reviews": 12},
        "reviews": [{"author": "Ann", "rating": {"value": 5}, "body": "Good"}],
    }


def test_a_range_of_offers_shows_both_ends_and_each_offer() -> None:
    inner = [
        thing("Offer", price=5, priceCurrency="usd"),
        thing("Offer", priceSpecification=thing("X", price="7", priceCurrency="USD")),
    ]
    product = frame(
        type="Product",
        offers=thing("AggregateOffer", lowPrice="5", highPrice="7.50", priceCurrency="USD", offerCount="2", offers=inner),
    )
    assert product["offers"] == [
        {"low_price": 5, "high_price": 7.5, "currency": "USD", "count": 2},
        {"price": 5, "currency": "USD"},
        {"price": 7, "currency": "USD"},
    ]


def test_breadcrumbs_are_in_order_in_every_notation() -> None:
    items = [
        thing("ListItem", position="3", name="Three"),
        thing("ListItem", position=1, name="One", item="/1"),
        thing("ListItem", position=2, item=thing("WebPage", **{"@id": "https://shop.example/2"}, name="Two")),
    ]
    expected = [
        {"position": 1, "name": "One", "url": "https://shop.example/1"},
        {"position": 2, "name": "Two", "url": "https://shop.example/2"},
        {"position": 3, "name": "Three"},
    ]
    assert frame(type="BreadcrumbList", itemListElement=items)["items"] == expected
    assert frame(type="WebPage", breadcrumb=thing("BreadcrumbList", itemListElement=items))["breadcrumbs"] == expected


def test_questions_have_their_answers() -> None:
    questions = [
        thing("Question", name="Why?", acceptedAnswer=thing("Answer", text="<b>So</b> that")),
        thing("Question", text="How?", suggestedAnswer=[thing("Answer", text="Thus"), thing("Answer", text="Or thus")]),
        thing("Question", name="When?"),
    ]
    assert frame(type="FAQPage", mainEntity=questions)["questions"] == [
        {"question": "Why?", "answer": "So that"},
        {"question": "How?", "answer": "Thus"},
        {"question": "When?", "answer": ""},
    ]


def test_an_event_has_dates_and_a_place() -> None:
    place = thing("Place", name="Hall", address=thing("PostalAddress", streetAddress="1 Road", addressLocality="Rome"))
    event = frame(
        type="MusicEvent",
        name="Concert",
        startDate="2024-05-06T19:30:00+02:00",
        endDate="May 7, 2024",
        eventStatus="https://schema.org/EventPostponed",
        location=place,
        performer=[thing("Person", name="Ann"), "Bo"],
    )
    assert event == {
        "kind": "Event",
        "name": "Concert",
        "start": "2024-05-06T19:30:00+02:00",
        "end": "2024-05-07",
        "status": "EventPostponed",
        "location": {"name": "Hall", "address": {"street": "1 Road", "locality": "Rome"}},
        "performers": ["Ann", "Bo"],
    }


def test_all_article_types_share_a_frame() -> None:
    for kind in ("NewsArticle", "BlogPosting", "OpinionNewsArticle"):
        article = frame(type=kind, headline="H", author=[{"name": "Ann"}, "Bo"], datePublished="2024-05-06", keywords="a, b")
        assert article == {
            "kind": "Article",
            "name": "H",
            "authors": ["Ann", "Bo"],
            "published": "2024-05-06",
            "keywords": ["a", "b"],
        }


def test_businesses_recipes_jobs_and_guides_have_frames() -> None:
    hours = thing("OpeningHoursSpecification", dayOfWeek=["Monday", "https://schema.org/Friday"], opens="09:00", closes="17:00")
    geo = thing("GeoCoordinates", latitude="41.9", longitude=12.5)
    business = frame(type="Restaurant", name="R", geo=geo, openingHoursSpecification=hours, address="1 Road", priceRange="$$")
    assert business == {
        "kind": "LocalBusiness",
        "name": "R",
        "address": {"text": "1 Road"},
        "geo": {"latitude": 41.9, "longitude": 12.5},
        "opening_hours": ["Monday Friday 09:00-17:00"],
        "price_range": "$$",
    }
    section = thing(
        "HowToSection", name="Sauce", itemListElement=[thing("HowToStep", text="Stir"), thing("HowToStep", name="Taste")]
    )
    recipe = frame(
        type="Recipe", name="Pasta", recipeIngredient=["a", "b"], recipeInstructions=[section, "Eat"], totalTime="PT20M"
    )
    assert (recipe["steps"], recipe["ingredients"], recipe["total_time"]) == (["Stir", "Taste", "Eat"], ["a", "b"], "PT20M")
    pay = thing(
        "MonetaryAmount", currency="EUR", value=thing("QuantitativeValue", minValue="30000", maxValue=40000, unitText="YEAR")
    )
    job = frame(
        type="JobPosting",
        title="Cook",
        baseSalary=pay,
        hiringOrganization=thing("Organization", name="R"),
        datePosted="2024-05-06",
    )
    assert job["salary"] == {"min": 30000, "max": 40000, "unit": "YEAR", "currency": "EUR"}
    assert (job["title"], job["company"], job["posted"]) == ("Cook", "R", "2024-05-06")
    howto = frame(
        type="HowTo",
        name="Fix",
        step=[thing("HowToStep", position=2, text="Then"), thing("HowToStep", position=1, text="First")],
    )
    assert howto["steps"] == ["First", "Then"]


def test_sites_people_reviews_and_videos_have_frames() -> None:
    search = thing("SearchAction", target=thing("EntryPoint", urlTemplate="https://shop.example/?q={q}"))
    assert frame(type="WebSite", name="S", potentialAction=search)["search"] == "https://shop.example/?q={q}"
    person = frame(type="Person", name="Ann", worksFor=thing("Organization", name="R"), sameAs=["https://a.example/", "/ann"])
    assert (person["works_for"], person["same_as"]) == (["R"], ["https://a.example/", "https://shop.example/ann"])
    review = frame(type="Review", itemReviewed=thing("Movie", name="M"), reviewRating="4", author=thing("Person", name="Bo"))
    assert review == {"kind": "Review", "item": "M", "rating": {"value": 4}, "author": "Bo"}
    video = frame(
        type="VideoObject", name="V", uploadDate="2024-05-06", thumbnailUrl="/t.jpg", contentUrl="/v.mp4", duration="PT1M"
    )
    assert (video["thumbnail"], video["content_url"]) == (["https://shop.example/t.jpg"], "https://shop.example/v.mp4")
    assert frame(type="Organization", name="O", logo=thing("ImageObject", url="/l.svg"))["logo"] == "https://shop.example/l.svg"


def test_the_main_entity_of_a_page_gets_its_frame_in_place() -> None:
    source = {
        "@type": "ItemPage",
        "mainEntity": {"@type": "Product", "name": "Pan", "offers": {"@type": "Offer", "price": "5"}},
    }
    [entity] = read_structured(dom.parse(f"<script type='application/ld+json'>{json.dumps(source)}</script>"), PAGE)
    product = entity["properties"]["mainEntity"]
    assert product["frame"] == {"kind": "Product", "name": "Pan", "offers": [{"price": 5}]}
    assert "frame" not in product["properties"]["offers"]


def test_the_most_telling_of_several_types_decides() -> None:
    assert frame(type=["Organization", "Restaurant"], name="R")["kind"] == "LocalBusiness"
    assert frame(type=["Product", "Organization"], name="P")["kind"] == "Product"


@pytest.mark.parametrize("kind", ["Product", "Event", "Recipe", "JobPosting", "FAQPage", "BreadcrumbList", "HowTo", "WebSite"])
def test_values_of_the_wrong_shape_break_no_frame(kind: str) -> None:
    odd: list[Any] = [
        None,
        "",
        5,
        True,
        [],
        [[]],
        {},
        {"@id": "#x"},
        {"@value": "v"},
        [{"@type": 3}],
        {"name": {"name": {"name": 1}}},
    ]
    names = ("name", "offers", "itemListElement", "mainEntity", "image", "location", "baseSalary", "recipeInstructions", "step")
    for value in odd:
        result = frame(
            type=kind, alternateName="x", **dict.fromkeys((*names, "aggregateRating", "review", "potentialAction"), value)
        )
        assert result["kind"] == kind


@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("19.99", 19.99, ""),
        ("$19.99", 19.99, ""),
        ("US$ 1,299", 1299, "USD"),
        ("1.299,50 €", 1299.5, "EUR"),
        ("1 299,00 kr", 1299.0, ""),
        ("CHF 1'299.00", 1299.0, "CHF"),
        ("£5", 5, "GBP"),
        ("1.299.000", 1299000, ""),
        ("12,5", 12.5, ""),
        ("5 - 7", None, ""),
        ("free", None, ""),
        ("10%", None, ""),
        ("9" * 100, None, ""),
    ],
)
def test_prices_are_read_in_every_common_spelling(text: str, value: float | None, code: str) -> None:
    assert (parse_amount(text), currency_in(text)) == (value, code)


def test_numbers_have_no_units() -> None:
    assert [parse_number(text) for text in ("4.5", "1,204", "4,5", " 7 ", ".5", "4 of 5", "", "0x10")] == [
        4.5,
        1204,
        4.5,
        7,
        0.5,
        None,
        None,
        None,
    ]
