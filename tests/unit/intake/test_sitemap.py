from __future__ import annotations

import base64
import gzip
import json
import random
import subprocess
import sys
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import corpus

from sitelore.intake.sitemap import read_sitemap
from sitelore.intake.xml_scanner import Scanner
from sitelore.model.document import SitemapReading
from sitelore.model.url import Url

BASE = Url.trusted("https://example.com/maps/sitemap.xml")
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def read(body: str | bytes, content_type: str = "", **limits: int) -> SitemapReading:
    return read_sitemap(body.encode() if isinstance(body, str) else body, BASE, content_type, **limits)


def urls(reading: SitemapReading) -> list[str]:
    return [str(entry.url) for entry in reading.entries]


def urlset(*items: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset {NS}>{"".join(items)}</urlset>'


def item(address: str, rest: str = "") -> str:
    return f"<url><loc>{address}</loc>{rest}</url>"


def test_every_case_of_the_corpus_reads_as_expected() -> None:
    """How the corpus is read: an expected rejection is a `problem`; `Sitemaps` are children, `SiteMapUrls` entries.

    The options of the Java tests choose between strictness and lenience. The expectations recorded are those of lenient
    reading (namespaces not judged, partial files allowed, other hosts allowed), which is the only way this reader has. Two
    cases have no body in the corpus; `xmlSitemap.gz`, which lists as many URLs as they expect, replaces it.
    """
    folder = corpus("sitemaps")
    cases = json.loads((folder / "crawler_commons.json").read_text())["cases"]
    lost = gzip.decompress((folder / "cc_files" / "xmlSitemap.gz").read_bytes())
    wrong = [case["test"] for case in cases if not _as_expected(case, lost)]
    assert wrong == []
    assert sum(not case["body_b64"] for case in cases) == 2


def _as_expected(case: dict[str, Any], lost: bytes) -> bool:
    base = Url.parse(case["url"])
    assert base is not None
    reading = read_sitemap(base64.b64decode(case["body_b64"]) or lost, base, case["content_type"])
    if case["expect_reject"]:
        return bool(reading.problem)
    listed = reading.children if case["kind"] == "Sitemaps" else reading.entries
    return len(listed) == case["expect_count"] and set(case["asserted_urls"]) <= {str(entry.url) for entry in listed}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("hebdenbridgetimes-articles-sitemap.xml", 74),
        ("pagemaps-sitemap.xml", 2),
        ("shinpaideshou-news-sitemap.xml", 3),
        ("sitemap-images.xml", 1),
        ("sitemap-links.xml", 3),
        ("sitemap-mobile.xml", 3),
        ("sitemap-news.xml", 2),
        ("sitemap-videos-tvshow.xml", 1),
        ("sitemap-videos.xml", 3),
    ],
)
def test_extensions_do_not_add_addresses(name: str, count: int) -> None:
    reading = read((corpus("sitemaps/cc_files/extension") / name).read_bytes())
    assert (reading.kind, len(reading.entries), reading.problem) == ("urlset", count, "")


def test_entries_come_once_in_document_order_with_their_dates() -> None:
    reading = read(
        urlset(
            item("https://example.com/b", "<lastmod>2024-01-02</lastmod>"),
            "<url><lastmod>1970-01-02</lastmod><loc>https://example.com/a</loc></url>",
            item("https://example.com/b#again"),
            item("mailto:someone@example.com"),
            item("ftp://example.com/x"),
            item(""),
            item("relative?x=1&amp;y=2"),
        )
    )
    assert [(str(e.url), e.lastmod) for e in reading.entries] == [
        ("https://example.com/b", 1704153600.0),
        ("https://example.com/a", 86400.0),
        ("https://example.com/maps/relative?x=1&y=2", None),
    ]
    assert reading.problem == ""


def test_an_index_lists_children_and_either_item_is_read_under_either_root() -> None:
    body = f"<sitemapindex {NS}><sitemap><loc>/a.xml</loc><lastmod>1970-01-02</lastmod></sitemap>{item('/page')}</sitemapindex>"
    reading = read(body)
    assert reading.kind == "index"
    assert [(str(e.url), e.lastmod) for e in reading.children] == [("https://example.com/a.xml", 86400.0)]
    assert urls(reading) == ["https://example.com/page"]


def test_addresses_of_images_videos_and_alternates_are_not_pages_even_without_their_namespaces() -> None:
    body = f"""<urlset {NS}><url><loc>/p</loc>
        <image:image><image:loc>/i.png</image:loc></image:image><image:loc>/j.png</image:loc>
        <video:video><video:player_loc>/v</video:player_loc><video:content_loc>/w</video:content_loc></video:video>
        <xhtml:link rel="alternate" hreflang="de" href="/de"/>
        <image xmlns="http://www.google.com/schemas/sitemap-image/1.1"><loc>/k.png</loc></image>
        <mobile:mobile/></url></urlset>"""
    assert urls(read(body)) == ["https://example.com/p"]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/a?b=1&amp;c=2", "/a?b=1&c=2"),
        ("/a?b=1&c=2", "/a?b=1&c=2"),
        ("/a?b=1&copy=2", "/a?b=1&copy=2"),
        ("<![CDATA[/a?b=1&c=2]]>", "/a?b=1&c=2"),
        ("/a<![CDATA[?b=1&]]>c=2", "/a?b=1&c=2"),
        ("/a?b=1&#38;c=&#x32;", "/a?b=1&c=2"),
        ("\n\t /a\u00a0\n", "/a"),
        ("/a&undefined;b", "/a&undefined;b"),
        ("/&apos;&quot;", "/'%22"),
        ("/<!-- no -->a", "/a"),
    ],
)
def test_common_mistakes_in_urls_are_corrected(written: str, path: str) -> None:
    assert urls(read(urlset(item(written)))) == [f"https://example.com{path}"]


@pytest.mark.parametrize(
    "body",
    [
        f"\ufeff \n<?xml version='1.0'?><urlset {NS}><url><loc>/é</loc></url></urlset>".encode(),
        f"<?xml version='1.0' encoding='UTF-16'?><urlset {NS}><url><loc>/é</loc></url></urlset>".encode("utf-16"),
        f"<?xml version='1.0' encoding='UTF-16'?><urlset {NS}><url><loc>/é</loc></url></urlset>".encode("utf-16-be"),
        f"<?xml version='1.0' encoding='UTF-16'?><urlset {NS}><url><loc>/é</loc></url></urlset>".encode(),
        f"<?xml version='1.0' encoding='ISO-8859-1'?><urlset {NS}><url><loc>/é</loc></url></urlset>".encode("latin-1"),
        f"<?xml version='1.0' encoding='windows-1252'?><urlset {NS}><url><loc>/é</loc></url></urlset>".encode("cp1252"),
        f"<urlset {NS}><url><loc>/é</loc></url></urlset>".encode("latin-1"),
        f"<?xml version='1.0' encoding='unicode_escape'?><urlset {NS}><url><loc>/é</loc></url></urlset>".encode(),
    ],
    ids=[
        "bom",
        "utf-16",
        "utf-16-be without a mark",
        "utf-8 that says utf-16",
        "latin-1",
        "cp1252",
        "undeclared",
        "no charset",
    ],
)
def test_encodings(body: bytes) -> None:
    reading = read(body)
    assert (urls(reading), reading.problem) == (["https://example.com/%C3%A9"], "")


def test_the_charset_of_the_header_is_used() -> None:
    reading = read(f"<urlset {NS}><url><loc>/дом</loc></url></urlset>".encode("koi8-r"), "text/xml; charset=KOI8-R")
    assert urls(reading) == ["https://example.com/%D0%B4%D0%BE%D0%BC"]


def test_a_text_list_is_one_address_a_line() -> None:
    reading = read(
        "\ufeffhttps://example.com/a\r\n\r\n# a note\nnot an address\n"
        "HTTPS://example.com/b \rwww.example.com/c\nexample.com/d\nother.example/e"
    )
    assert reading.kind == "text"
    assert urls(reading) == [
        "https://example.com/a",
        "https://example.com/b",
        "https://www.example.com/c",
        "https://example.com/d",
    ]


def test_rss_gives_its_items_with_link_or_guid() -> None:
    body = """<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
        <link>https://example.com/</link><atom:link href="https://example.com/feed" rel="self"/>
        <item><title>x</title><link>/1</link><guid>tag:1</guid><pubDate>Fri, 02 Jan 1970 00:00:00 GMT</pubDate></item>
        <item><guid isPermaLink="true">https://example.com/2</guid><dc:date>1970-01-03</dc:date></item>
        <item><guid>not an address</guid><atom:link href="/no"/></item>
        <item><media:content><link>/no</link></media:content><link>/3</link></item></channel></rss>"""
    reading = read(body)
    assert (reading.kind, reading.problem) == ("rss", "")
    assert [(e.url.path, e.lastmod) for e in reading.entries] == [("/1", 86400.0), ("/2", 172800.0), ("/3", None)]


def test_atom_gives_the_alternate_of_each_entry() -> None:
    body = """<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:link href="/"/><a:entry><a:link rel="edit" href="/edit"/>
        <a:link rel='alternate' href='/1?a=1&amp;b=2'/><a:published>1970-01-03</a:published>
        <a:updated>1970-01-02T00:00:00Z</a:updated>
        </a:entry><a:entry><a:id>https://example.com/id</a:id></a:entry><a:entry><a:link href=/2 /></a:entry></a:feed>"""
    reading = read(body)
    assert reading.kind == "atom"
    assert [(e.url.target, e.lastmod) for e in reading.entries] == [("/1?a=1&b=2", 86400.0), ("/2", None)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (urlset(item("/a"), "</url>", item("/b")), ["/a", "/b"]),
        (urlset(item("/a"), "</urlset>", item("/b")), ["/a", "/b"]),
        (urlset(item("/a"), "<url><loc>/b</url>", item("/c")), ["/a", "/b", "/c"]),
        (urlset("<url><loc>/a</loc>", item("/b")), ["/a", "/b"]),
        (urlset("<url><loc>/a<loc>/b</loc></url>", item("/c")), ["/a", "/b", "/c"]),
        (urlset(item("/a", "<x>1 < 2</x>"), item("/b")), ["/a", "/b"]),
        (urlset(item("/a", '<x y="1>2</x>'), item("/b")), ["/a", "/b"]),
        (urlset(item("/a")) + urlset(item("/b")), ["/a", "/b"]),
        (urlset(item("/a"), item("/b"))[:-30], ["/a"]),
        (f"<b>Warning</b>: x in y<br />\n{urlset(item('/a'))}", ["/a"]),
        (f"Warning: x in y\n{urlset(item('/a'))}", ["/a"]),
    ],
)
def test_a_broken_file_gives_the_entries_before_and_after_the_error(body: str, expected: list[str]) -> None:
    assert [entry.url.path for entry in read(body).entries] == expected


def test_a_break_is_reported() -> None:
    assert read(urlset(item("/a"), "</url>")).problem == "broken_xml: </url> closes nothing"
    assert read(urlset(item("/a"))[:-9]).problem.startswith("broken_xml: ")
    assert read(urlset(item("/a", "<x>1 < 2</x>"))).problem == "broken_xml: a < starts no tag"


def test_a_truncated_url_is_ignored() -> None:
    whole = urlset(item("/first"), item("/second"))
    for end in range(len(whole)):
        assert {entry.url.path for entry in read(whole[:end]).entries} <= {"/first", "/second"}


@pytest.mark.parametrize(
    "dtd",
    [
        '<!ENTITY l0 "lol"><!ENTITY l1 "&l0;&l0;">',
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1:1/x.dtd"> %p;',
        '<!-- hidden --><!ELEMENT urlset ANY>\n<!ENTITY\nx "y">',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_that_declares_an_entity_is_rejected_whole(dtd: str, encoding: str) -> None:
    body = f'<?xml version="1.0"?><!DOCTYPE urlset [{dtd}]><urlset {NS}>{item("/a?&x;&l1;")}{item("/b")}</urlset>'
    for packed in (body.encode(encoding), gzip.compress(body.encode(encoding))):
        reading = read(packed)
        assert reading.problem == "xml_rejected: it declares an entity"
        assert (reading.entries, reading.children) == ((), ())


def test_an_entity_declared_after_entries_takes_them_back() -> None:
    assert read(urlset(item("/a"), '<!ENTITY x "y">')).entries == ()


def test_a_doctype_without_entities_and_the_word_in_a_comment_are_harmless() -> None:
    doctype = '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd">'
    reading = read(f"{doctype}<!-- <!ENTITY x 'y'> --><rss><channel><item><link>/a</link></item></channel></rss>")
    assert (urls(reading), reading.problem) == (["https://example.com/a"], "")


def test_a_gzip_body_is_recognised_by_its_first_bytes_with_members_and_padding() -> None:
    body = urlset(*(item(f"/{n}") for n in range(5000))).encode()
    half = len(body) // 2
    reading = read(gzip.compress(body[:half]) + gzip.compress(body[half:]) + b"\0" * 100, "text/xml")
    assert (len(reading.entries), reading.problem) == (5000, "")


def test_a_truncated_gzip_body_gives_its_readable_entries() -> None:
    chance = random.Random(1)
    packed = gzip.compress(urlset(*(item(f"/{chance.random()}") for _ in range(5000))).encode())
    reading = read(packed[: len(packed) // 2])
    assert reading.problem == "broken_gzip: it ends too early"
    assert 1000 < len(reading.entries) < 4000
    assert read(packed[:200] + b"\xff" * 50 + packed[250:]).problem.startswith("broken_gzip: ")


def test_an_exceeded_limit_is_reported_and_earlier_entries_are_kept() -> None:
    body = urlset(*(item(f"/{n}") for n in range(1000)))
    by_size = read(body, max_bytes=2000)
    assert by_size.problem == "too_large: more than 2000 bytes"
    assert 10 < len(by_size.entries) < 100
    by_count = read(body, max_entries=10)
    assert (len(by_count.entries), by_count.problem) == (10, "too_large: more than 10 entries")


_BOMB = """
import resource, sys, zlib
from sitelore.intake.sitemap import read_sitemap
from sitelore.model.url import Url
body = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
reading = read_sitemap(body, Url.trusted("https://example.com/sitemap.xml.gz"), "application/x-gzip")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, len(reading.entries), reading.problem)
"""


@pytest.mark.parametrize(
    "filling", [b"\0", b"\n", b"<urlset><url><loc>" + b"x" * 2**20, b"<", b'<a "', b"<urlset><!--", b"<a>"]
)
def test_a_bomb_of_100_mib_costs_little_memory(filling: bytes) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = filling * max(1, 2**20 // len(filling))
    bomb = b"".join(packer.compress(block) for _ in range(100)) + packer.flush()
    done = subprocess.run([sys.executable, "-c", _BOMB], input=bomb, capture_output=True, check=True)
    grown_kib, entries, problem = done.stdout.decode().split(" ", 2)
    assert int(grown_kib) < 20_000
    assert entries == "0"
    assert problem.startswith(("too_large: ", "not_a_sitemap: "))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "not_a_sitemap: neither a sitemap, a feed nor a list of addresses"),
        ("User-agent: *\nDisallow:", "not_a_sitemap: neither a sitemap, a feed nor a list of addresses"),
        ("<!doctype html><html><body><url><loc>/a</loc></url></body></html>", "not_a_sitemap: its root is <html>"),
        ("<svg><a href='/x'/></svg>", "not_a_sitemap: its root is <svg>"),
        ("<", "not_a_sitemap: no tag in it"),
    ],
)
def test_other_documents_are_not_sitemaps(body: str, problem: str) -> None:
    assert read(body) == SitemapReading(problem=problem)


class Heard:
    def __init__(self) -> None:
        self.reported: list[tuple[str, ...]] = []

    def start(self, prefix: str, name: str, attributes: str) -> None:
        self.reported.append(("start", prefix, name, attributes))

    def end(self, prefix: str, name: str) -> None:
        self.reported.append(("end", prefix, name))

    def text(self, text: str) -> None:
        # Where a piece ends, text in CDATA comes in two.
        if self.reported and self.reported[-1][0] == "text":
            text = self.reported.pop()[1] + text
        self.reported.append(("text", text))


_MARKUP = st.lists(
    st.sampled_from(
        ["<urlset>", "</urlset>", "<a:loc x='>'>", "</a:loc>", "<b/>", "text", "&amp;", "&", "<", ">", '"', "'", "<![CDATA[",
         "]]>", "]", "<!--", "-->", "-", "<?", "?>", "<!DOCTYPE x [", "<!E", " ", "\n", "=", "/"]
    ),
    max_size=25,
)  # fmt: skip


@given(_MARKUP, st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_where_pieces_are_cut_makes_no_difference(parts: list[str], sizes: list[int]) -> None:
    text = "".join(parts) + "<end></end>"
    whole, pieces = Heard(), Heard()
    scanner = Scanner(whole)
    scanner.feed(text)
    scanner.close()
    other = Scanner(pieces)
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        other.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    other.close()
    assert pieces.reported == whole.reported
    assert other.problem == scanner.problem


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(noise: bytes) -> None:
    for body in (noise, urlset(item("/a")).encode()[:90] + noise, b"\x1f\x8b\x08\0" + noise):
        reading = read(body)
        assert not reading.problem or ": " in reading.problem
        assert all(Url.parse(entry.url) == entry.url for entry in reading.entries)
