import pytest

from sitelore.model.document import ReadOptions

from .conftest import ReadPage


def test_links_come_in_page_order_each_once(read_page: ReadPage) -> None:
    page = read_page(
        '<link rel=next href="?p=2"><a href="/b">B</a><a href="a">A</a><map><area href="/area" alt="Area"></map>'
        '<a href="/b#x">again</a><a href="http://other.example/?utm_source=x&q=1">other</a><iframe src="/frame"></iframe>'
        '<a>none</a><a href="#here">self</a>'
    )
    assert page.reading.links == (
        "http://site.example/dir/page?p=2",
        "http://site.example/b",
        "http://site.example/dir/a",
        "http://site.example/area",
        "http://other.example/?q=1",
    )
    assert [link["text"] for link in page.document["links"]] == ["", "B", "A", "Area", "other"]


def test_a_base_element_moves_every_relative_link(read_page: ReadPage) -> None:
    page = read_page('<base href="/docs/"><a href="x">x</a><a href="/y">y</a><a href="#f">f</a><p><img src=i.png alt=i></p>')
    assert page.reading.links == ("http://site.example/docs/x", "http://site.example/y", "http://site.example/docs/")
    assert "(http://site.example/docs/i.png)" in page.markdown
    odd = read_page('<base href="javascript:x"><a href="x">x</a>')
    assert odd.reading.links == ("http://site.example/dir/x",)


def test_twelve_spellings_of_one_page_are_two_links(read_page: ReadPage) -> None:
    spellings = [
        "x/page", "./x/page", "x/../x/page", "x//../x/page", "x/%70age", "x/page#frag", "HTTP://127.0.0.1:8900/b/65/x/page",
        "//127.0.0.1:8900/b/65/x/page", " x/page ", "x/pa\nge", "x\\page", "x/page?",
    ]  # fmt: skip
    body = "".join(f'<a href="{href}">v</a>' for href in spellings)
    page = read_page(body, url="http://127.0.0.1:8900/b/65/start")
    assert page.reading.links == ("http://127.0.0.1:8900/b/65/x/page", "http://127.0.0.1:8900/b/65/x/x/page")


def test_links_that_are_not_web_addresses_are_left_out(read_page: ReadPage) -> None:
    hrefs = [
        "javascript:alert(1)", "data:text/html,<a href=/b/66/d>", "mailto:a@b.c", "tel:+123456", "file:///etc/passwd",
        "ftp://127.0.0.1/x", "gopher://127.0.0.1:6379/_FLUSHALL", "about:blank", "http://", "http://[bad",
        "http://a b.example/", "blob:http://x/y", "http://x:99999/", "\x01java\tscript:alert(2)",
    ]  # fmt: skip
    page = read_page("".join(f'<p><a href="{href}">x</a></p>' for href in hrefs))
    assert page.reading.links == ()
    for word in ("javascript", "script:", "data:", "file:", "gopher", "blob:"):
        assert word not in page.markdown
    assert "(mailto:a@b.c)" in page.markdown
    assert "(tel:+123456)" in page.markdown


def test_nofollow_refuses_a_target_unless_another_link_follows_it(read_page: ReadPage) -> None:
    body = '<a rel="nofollow noopener" href=/a>a</a><a rel=NOFOLLOW href=/b>b</a><a href=/c>c</a><a href=/a>a</a>'
    obeyed = read_page(body).reading
    assert obeyed.links == ("http://site.example/a", "http://site.example/c")
    assert obeyed.refused_links == ("http://site.example/b",)
    ignored = read_page(body, options=ReadOptions(obey_nofollow=False)).reading
    assert ignored.links == ("http://site.example/a", "http://site.example/b", "http://site.example/c")
    assert ignored.refused_links == ()


@pytest.mark.parametrize(
    ("head", "headers"),
    [
        ('<meta name=robots content="noindex, NoFollow">', ()),
        ("<meta name=Sitelore content=none>", ()),
        ("", (("x-robots-tag", "noindex, nofollow"),)),
        ("", (("x-robots-tag", "unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow, noindex"),)),
        ("", (("x-robots-tag", "googlebot: all"), ("x-robots-tag", "sitelore: noindex, nofollow"))),
    ],
)
def test_a_nofollow_page_gives_no_links(read_page: ReadPage, head: str, headers: tuple[tuple[str, str], ...]) -> None:
    page = read_page(f"{head}<p>text</p><a href=/honey>h</a>", headers=headers)
    assert page.reading.noindex
    assert page.reading.links == ()
    assert page.reading.refused_links == ("http://site.example/honey",)
    assert page.document["nofollow"] is True


def test_another_agents_directives_are_not_ours(read_page: ReadPage) -> None:
    page = read_page("<p>t</p><a href=/a>a</a>", headers=(("x-robots-tag", "otherbot: noindex, nofollow, noarchive"),))
    assert (page.reading.noindex, page.reading.noarchive, len(page.reading.links)) == (False, False, 1)


def test_tracking_parameters_of_the_site_are_dropped(read_page: ReadPage) -> None:
    body = "<a href='/a?ref=1&q=2'>a</a>"
    assert read_page(body, options=ReadOptions(dropped_parameters=("ref",))).reading.links == ("http://site.example/a?q=2",)
    assert read_page(body).reading.links == ("http://site.example/a?ref=1&q=2",)


def test_a_page_with_a_hundred_thousand_links_is_read_whole(read_page: ReadPage) -> None:
    page = read_page("<main>" + "".join(f'<a href="/b/56/l{i}">x</a>' for i in range(100_000)))
    assert len(page.reading.links) == 100_000
    assert page.reading.links[-1] == "http://site.example/b/56/l99999"


@pytest.mark.parametrize(
    ("href", "fragment"),
    [
        ("#clear()", "#clear%28%29"),
        ("Map.html#put(K,V)", "#put%28K,V%29"),
        ("x.html#Überblick", "#%C3%9Cberblick"),
        ("#a b'[c]", "#a%20b%27%5Bc%5D"),
        ("#50%25", "#50%25"),
        ("#a\nb", "#ab"),
        ("#" + "x" * 300, ""),
    ],
)
def test_a_fragment_is_percent_encoded_where_markdown_would_misread_it(read_page: ReadPage, href: str, fragment: str) -> None:
    page = read_page(f'<main><p>Some text <a href="{href}">place</a> and more.</p></main>')
    address = page.markdown.partition("](")[2].partition(") and more.")[0]
    assert address.startswith("http://site.example/dir/")
    assert address[len(address.partition("#")[0]) :] == fragment
