from .conftest import ReadPage


def test_a_page_tells_its_title_heading_description_and_language(read_page: ReadPage) -> None:
    page = read_page(
        "<html lang=de_AT><head><title> A\n title </title><meta name=Description content='What  it is'>"
        "<meta property=og:title content=OG><meta property=article:published_time content=2024-05-06>"
        "<meta name=author content=Ann>"
        "<meta name=viewport content=x></head><body><svg><title>icon</title></svg><h1></h1><h1>The <b>heading</b></h1><p>text"
    )
    document = page.document
    assert page.reading.title == document["title"] == "A title"
    assert (document["h1"], document["description"], document["lang"]) == ("The heading", "What it is", "de-AT")
    assert document["meta"] == {"og:title": "OG", "article:published_time": "2024-05-06", "author": "Ann"}


def test_without_a_title_the_page_borrows_one(read_page: ReadPage) -> None:
    assert read_page("<svg><title>icon</title></svg><meta property=og:title content=OG><p>x").reading.title == "OG"
    assert read_page("<h1>Heading</h1>").reading.title == "Heading"


def test_the_canonical_is_absolute_from_head_or_header(read_page: ReadPage) -> None:
    link = (("link", '</other>; rel="preload", <http://site.example/c?utm_source=x>; rel="canonical"'),)
    assert read_page("<link rel=canonical href='../c'><p>x").reading.canonical == "http://site.example/c"
    assert read_page("<p>x", headers=link).reading.canonical == "http://site.example/c"
    assert (
        read_page("<link rel=canonical href='/head'><p>x", headers=link).document["canonical_url"] == "http://site.example/head"
    )
    assert read_page("<link rel=canonical href='mailto:x'><p>x").reading.canonical is None
    assert read_page("<p>x").document["canonical_url"] == ""


def test_noarchive_keeps_no_snapshot(read_page: ReadPage) -> None:
    page = read_page("<meta name=robots content=noarchive><p>x")
    assert page.reading.noarchive
    assert page.reading.snapshot is None
    assert page.reading.document is not None
