from __future__ import annotations

import pytest

from sitelore.extract.metadata import date_in_path, iso_date

from .conftest import ReadPage


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-05-06", "2024-05-06"),
        ("2024/5/6", "2024-05-06"),
        ("2024-05", "2024-05"),
        ("2024-05-06T07:08:09+02:00", "2024-05-06T07:08:09+02:00"),
        ("2024-05-06T07:08:09.123456Z", "2024-05-06T07:08:09Z"),
        ("2024-05-06T07:08:09+0000", "2024-05-06T07:08:09Z"),
        ("2024-05-06 07:08", "2024-05-06T07:08:00"),
        ("2024-05-06 7:08 PM", "2024-05-06T19:08:00"),
        ("20240506", "2024-05-06"),
        ("20240506T070809Z", "2024-05-06T07:08:09Z"),
        ("Mon, 06 May 2024 07:08:09 GMT", "2024-05-06T07:08:09Z"),
        ("Monday, May 6, 2024", "2024-05-06"),
        ("May 6th, 2024 at 12:30 am", "2024-05-06T00:30:00"),
        ("6 May 2024", "2024-05-06"),
        ("6. Mai 2024", "2024-05-06"),
        ("6 de mayo de 2024", "2024-05-06"),
        ("1er août 2024", "2024-08-01"),
        ("Sept. 2024", "2024-09"),
        ("25/12/2024", "2024-12-25"),
        ("12/25/2024", "2024-12-25"),
        ("06.05.2024", "2024-05-06"),
        ("1714979289", "2024-05-06T07:08:09Z"),
        ("1714979289000", "2024-05-06T07:08:09Z"),
    ],
)
def test_a_date_is_normalised_to_its_precision(text: str, date: str) -> None:
    assert iso_date(text) == date


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024",
        "05/06/2024",
        "2024-13-01",
        "2024-02-30",
        "2024-05-06T25:00:00",
        "0001-01-01T00:00:00",
        "yesterday",
        "5 days ago",
        "6 Foo 2024",
        "2024-05-06T07:08:09+99:00",
        "2024-05-06 13:00 pm",
        "x" * 100,
        "2024-05-06 and more",
        "{{ date }}",
        "3024-01-01",
    ],
)
def test_invalid_and_ambiguous_dates_are_left_out(text: str) -> None:
    assert iso_date(text) == ""


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("/2024/05/06/title", "2024-05-06"),
        ("/blog/2024/05/title.html", "2024-05"),
        ("/news/2024-05-06-title", "2024-05-06"),
        ("/2024/05/", ""),
        ("/2024/05/06/", ""),
        ("/2024/13/06/x", ""),
        ("/products/1920-1080-screen", ""),
        ("/v2024/05/06/x", ""),
        ("/2024/02/31/x", ""),
    ],
)
def test_a_date_in_the_path_is_read(path: str, date: str) -> None:
    assert date_in_path(path) == date


def test_metadata_of_the_head_takes_precedence_over_the_text(read_page: ReadPage) -> None:
    shown = (
        "<h1>T</h1><time datetime=2024-01-02>2 January</time><time class=updated datetime=2024-02-03>3 February</time><p>text"
    )
    page = read_page(f"<meta property=article:published_time content=2023-12-31T10:00:00Z>{shown}").document
    assert (page["published"], page["modified"]) == ("2023-12-31T10:00:00Z", "2024-02-03")
    assert read_page(shown).document["published"] == "2024-01-02"


def test_the_dates_of_a_list_of_posts_are_not_the_page_s(read_page: ReadPage) -> None:
    posts = "".join(f"<article><time datetime=2024-01-0{n}></time><h2>Post {n}</h2><p>text</article>" for n in (1, 2, 3))
    assert read_page(f"<h1>News</h1>{posts}").document["published"] == ""
    marked = "".join(f"<p><meta itemprop=datePublished content=2024-01-0{n}>text" for n in (1, 2))
    assert read_page(f"<h1>News</h1>{marked}").document["published"] == ""


def test_the_date_is_read_from_microdata_and_the_path_too(read_page: ReadPage) -> None:
    marked = read_page("<div itemscope><span itemprop='datePublished' content='2024-05-06'>May</span><p>text</div>")
    assert marked.document["published"] == "2024-05-06"
    comment = "<div itemprop=comment itemscope><time itemprop=datePublished datetime=2024-05-06></time><p>me too</div>"
    assert read_page(f"<p>text{comment}").document["published"] == ""
    assert read_page("<p>text", url="http://site.example/2024/05/06/title").document["published"] == "2024-05-06"
    assert read_page("<p>text").document["published"] == ""
