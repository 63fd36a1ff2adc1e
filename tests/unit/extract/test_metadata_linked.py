from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import ReadPage


def script(data: Any) -> str:
    return (
        f"<script type='application/ld+json'>{data if isinstance(data, str) else json.dumps(data)}</script><p>text of the page"
    )


ARTICLE = {
    "@type": "NewsArticle",
    "datePublished": "2024-05-06T07:08:09+02:00",
    "dateModified": "2024-05-07",
    "author": [{"@type": "Person", "name": "Ann  Lee"}, {"@type": "Person", "name": "Bo"}],
    "publisher": {"@type": "Organization", "name": "The Paper"},
    "image": {"@type": "ImageObject", "url": "/i.jpg"},
}
EXPECTED = ("2024-05-06T07:08:09+02:00", "2024-05-07", "Ann Lee, Bo", "The Paper", "http://site.example/i.jpg")


def authorship(document: dict[str, Any]) -> tuple[str, ...]:
    return tuple(document[name] for name in ("published", "modified", "author", "site_name", "image"))


@pytest.mark.parametrize(
    "data",
    [
        ARTICLE,
        [ARTICLE],
        {"@graph": [{"@type": "BreadcrumbList", "datePublished": "1999-01-01"}, ARTICLE]},
        {"@type": "WebPage", "datePublished": "2001-01-01", "mainEntity": ARTICLE},
        f"<!-- {json.dumps(ARTICLE)} -->",
        f"//<![CDATA[\n{json.dumps(ARTICLE)}\n//]]>",
        json.dumps(ARTICLE) + ";",
        json.dumps(ARTICLE).replace("The Paper", "The\nPaper"),
    ],
)
def test_json_ld_of_the_page_is_read_at_any_place(data: Any, read_page: ReadPage) -> None:
    assert authorship(read_page(script(data)).document) == EXPECTED


def test_a_reference_to_a_person_is_resolved(read_page: ReadPage) -> None:
    graph = [
        {"@type": "Article", "author": {"@id": "#ann"}, "publisher": {"@id": "#paper"}},
        {"@type": "Person", "@id": "#ann", "name": "Ann"},
        {"@type": "Organization", "@id": "#paper", "name": "The Paper"},
    ]
    document = read_page(script({"@graph": graph})).document
    assert (document["author"], document["site_name"]) == ("Ann", "The Paper")


def test_comments_and_reviews_are_not_metadata_of_the_page(read_page: ReadPage) -> None:
    review = {"@type": "Review", "datePublished": "2024-01-01", "author": "Reviewer"}
    product = {"@type": "Product", "name": "Pan", "review": [review], "comment": review}
    assert authorship(read_page(script(product)).document)[:3] == ("", "", "")


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "",
        "null",
        "[[[]]]",
        "[" * 100_000,
        '{"@graph":' * 5_000,
        '{"@type": 5, "author": 7}',
        '{"@type": ["Article", 1], "author": {}}',
        '{"@type":"Article","author":{"@id":{}},"image":[],"datePublished":{"@value":[]}}',
    ],
)
def test_broken_json_ld_is_ignored(data: str, read_page: ReadPage) -> None:
    document = read_page(script(data)).document
    assert authorship(document) == ("",) * 5
    assert "text of the page" in document["markdown"]


def test_a_url_is_not_an_author(read_page: ReadPage) -> None:
    head = "<meta property=article:author content=https://social.example/ann><meta name=byl content='By Ann Lee'>"
    assert read_page(f"{head}<p>text").document["author"] == "Ann Lee"


def test_a_link_to_the_author_names_them_when_there_is_one(read_page: ReadPage) -> None:
    one = "<a rel='author nofollow' href=/ann>Ann</a>"
    assert read_page(f"<p>{one} and {one}").document["author"] == "Ann"
    assert read_page(f"<p>{one} and <a rel=author href=/bo>Bo</a>").document["author"] == ""


def test_a_secret_that_json_ld_hides_is_not_kept(read_page: ReadPage) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    data = json.dumps({"@type": "Article", "author": key}).replace("AKIA", "\\u0041KIA")
    page = read_page(script(data))
    assert key not in json.dumps(page.document)
    assert page.reading.snapshot is None
