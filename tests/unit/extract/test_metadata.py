from .conftest import ReadPage


def test_title_heading_description_and_language_of_a_page_are_read(read_page: ReadPage) -> None:
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


def test_the_language_is_taken_from_the_first_place_that_has_one(read_page: ReadPage) -> None:
    header = (("content-language", "fr, en"),)
    assert read_page("<html lang='{{x}}'><meta property=og:locale content=en_GB><p>x").document["lang"] == "en-GB"
    assert read_page("<meta http-equiv=content-language content=es><p>x").document["lang"] == "es"
    assert read_page("<p>x", headers=header).document["lang"] == "fr"
    assert read_page("<p>x").document["lang"] == ""


def test_the_site_s_name_and_the_page_s_picture_come_from_the_head(read_page: ReadPage) -> None:
    page = read_page(
        "<meta property=og:site_name content='The  Site'><meta property=og:image content='../i.png?utm_source=x'><p>x"
    )
    assert (page.document["site_name"], page.document["image"]) == ("The Site", "http://site.example/i.png")
    assert read_page("<link rel=image_src href=/j.png><p>x").document["image"] == "http://site.example/j.png"
    assert read_page("<meta property=og:image content='javascript:x'><p>x").document["image"] == ""


def test_headings_make_an_outline_in_page_order(read_page: ReadPage) -> None:
    page = read_page(
        "<h2>Before</h2><h1>The <b>top</b></h1><h3></h3><h2 hidden>no</h2><section><h4> deep \n er</h4></section><h2>Last</h2>"
    )
    assert page.document["headings"] == [
        {"level": 2, "text": "Before"},
        {"level": 1, "text": "The top"},
        {"level": 4, "text": "deep er"},
        {"level": 2, "text": "Last"},
    ]


def test_landmarks_are_those_of_the_aria_specification(read_page: ReadPage) -> None:
    page = read_page(
        "<header>x</header><nav aria-label='Main  menu'>x</nav><div role=search>x</div><main>"
        "<article><header>x</header></article>"
        "<section>x</section><section aria-label=Prices>x</section><div role=list>x</div></main><aside>x</aside><form>x</form>"
        "<footer role=presentation>x</footer><footer>x</footer>"
    )
    assert [(mark["role"], mark["label"]) for mark in page.document["landmarks"]] == [
        ("banner", ""),
        ("navigation", "Main menu"),
        ("search", ""),
        ("main", ""),
        ("region", "Prices"),
        ("complementary", ""),
        ("contentinfo", ""),
    ]


def test_landmarks_by_tag_and_by_role_come_in_page_order(read_page: ReadPage) -> None:
    page = read_page(
        "<div role=' Banner '>x</div><div role=button>x</div><nav>x</nav><h2 role=main>x</h2><svg><foreignObject role=region>"
        "<p>x</p></foreignObject></svg><time role=main>x</time><p itemprop=name role=main>x</p><aside>x</aside>"
    )
    roles = ["banner", "navigation", "region", "main", "complementary"]
    assert [mark["role"] for mark in page.document["landmarks"]] == roles


def test_behind_hundreds_of_marked_elements_no_landmark_is_looked_for(read_page: ReadPage) -> None:
    page = read_page("<nav>x</nav>" + "<i itemprop=name>x</i>" * 399 + "<div role=main>x</div><footer>x</footer>")
    assert [mark["role"] for mark in page.document["landmarks"]] == ["navigation"]


def test_a_page_made_of_headings_and_landmarks_stays_small(read_page: ReadPage) -> None:
    page = read_page("<nav>x</nav><h2>y</h2><time>2024-01-01</time><i itemprop=author>z</i>" * 20_000)
    assert len(page.document["headings"]) <= 100
    assert len(page.document["landmarks"]) <= 24


def test_a_secret_in_a_heading_or_an_author_is_not_kept(read_page: ReadPage) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    hidden = key.replace("A", "&#65;", 1)
    page = read_page(f"<meta name=author content='{hidden}'><h2>{hidden}</h2><nav aria-label='{hidden}'>x</nav><p>text")
    assert page.document["author"].startswith("[REDACTED")
    assert page.document["headings"][0]["text"].startswith("[REDACTED")
    assert page.document["landmarks"][0]["label"].startswith("[REDACTED")


def test_headings_are_read_without_the_mark_of_their_permalink(read_page: ReadPage) -> None:
    page = read_page(
        "<h1>The csv module<a class=headerlink href='#x'>\u00b6</a></h1><h2>C#</h2>"
        "<h2>Use <a href='#u'>\u00a7</a></h2><p>text</p>"
    )
    assert page.document["h1"] == "The csv module"
    assert [heading["text"] for heading in page.document["headings"]] == ["The csv module", "C#", "Use"]
