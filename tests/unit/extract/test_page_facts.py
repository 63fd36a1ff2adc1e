"""The elements of a page's head are read once, and queries on them give the values of the elements."""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.metadata import collect_elements, read_head

from .conftest import ReadPage


def metas(source: str) -> list[tuple[str, str, str]]:
    return [meta[:3] for meta in read_head(dom.parse(source))]


def test_name_takes_precedence_over_property_except_for_open_graph() -> None:
    assert metas("<meta name=Author property=' OG:Title ' content='A  B'>") == [("author", "og:title", "A B")]
    assert metas("<meta property=og:title content=T>") == [("og:title", "og:title", "T")]
    assert metas("<meta name=twitter:card content=summary>") == [("twitter:card", "twitter:card", "summary")]


def test_properties_outside_open_graph_are_not_open_graph() -> None:
    assert metas("<meta name=author content=A><meta http-equiv='x:y' content=B><meta charset=utf-8>") == [
        ("author", "", "A"),
        ("x:y", "", "B"),
    ]


def test_value_replaces_content_only_for_open_graph() -> None:
    assert metas("<meta property=og:type value=article>") == [("og:type", "", ""), ("", "og:type", "article")]
    assert metas("<meta property=og:type>") == [("og:type", "", "")]


def test_open_graph_takes_more_of_a_long_text() -> None:
    [plain, shared] = metas(f"<meta property=og:description content='{'x' * 6000}'>")
    assert (len(plain[2]), len(shared[2])) == (2000, 5000)


def test_links_are_grouped_by_rel() -> None:
    survey = collect_elements(dom.parse("<link rel='Canonical' href=/a><link href=/b>"))
    assert survey.relations == [("canonical", "/a"), ("", "/b")]


def test_metadata_and_open_graph_read_the_same_head(read_page: ReadPage) -> None:
    page = read_page(
        "<head><title>T</title><meta name=robots content=noindex><meta name=robots content=nofollow>"
        "<meta property=og:title content='The  title'><meta name=description content=D><link rel=next href=/2></head><p>text"
    )
    assert (page.document["noindex"], page.document["nofollow"]) == (True, True)
    assert page.document["description"] == "D"
    assert page.document["meta"]["og:title"] == "The title"
    [shared] = page.document["structured"]
    assert shared["properties"] == {"title": "The title"}
    assert [link["url"] for link in page.document["links"]] == ["http://site.example/2"]
