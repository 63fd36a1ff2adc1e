"""Audit facts: each fact where the page has it, where it does not, and where the page is hostile or oversized."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
import zstandard
from tests.conventions.project import DOCS
from tests.quality.documents import generate

from sitelore.extract import audit_facts as bounds
from sitelore.extract.audit_facts import decode_audit_facts
from sitelore.extract.page import read
from sitelore.model.audit.facts import (
    Alt,
    Alternate,
    AuditFacts,
    ControlFact,
    DateFact,
    Declaration,
    HeadingFact,
    HiddenPart,
    IdReference,
    IframeFact,
    ImageFact,
    InsecureResource,
    LinkFact,
    LinkKind,
    Place,
    TableFact,
    VideoFact,
    WidestParent,
    has_id,
    hash_id,
)
from sitelore.model.document import ReadOptions

from .conftest import ReadPage, _page

HTTPS = "https://site.example/dir/page"
WITH_FACTS = ReadOptions(facts=True)


def record(body: str | bytes, **arguments: Any) -> bytes:
    blob = _page(body, options=WITH_FACTS, **arguments).reading.facts
    assert blob is not None
    return zstandard.decompress(blob.data)


def facts(body: str | bytes, **arguments: Any) -> AuditFacts:
    return decode_audit_facts(record(body, **arguments))


HEAD = [
    ("<title> Water   mills </title>", {"title": "Water mills", "titles": 1}),
    ("<h1>Mills</h1>", {"title": "", "titles": 0}),
    ("<title></title><meta property=og:title content=Other>", {"title": "", "titles": 1}),
    ("<title>A</title><title>B</title>", {"title": "A", "titles": 2}),
    (f"<title>{'x' * 5000}</title>", {"title": "x" * 300}),
    ("<meta name=description content=' About  mills '>", {"description": "About mills", "descriptions": 1}),
    ("<meta property=og:description content=Other>", {"description": "", "descriptions": 0}),
    ("<meta name=description content=A><meta name=Description content=B>", {"description": "A", "descriptions": 2}),
    ("<html lang=xx_invalid!>", {"lang": "xx_invalid!"}),
    ("<html><meta http-equiv=content-language content=de>", {"lang": ""}),
    ("<meta charset=Latin1>", {"charset": "Latin1", "is_charset_early": True}),
    ("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", {"charset": "koi8-r"}),
    (f"<!--{'-' * 1100}--><meta charset=utf-8>", {"charset": "utf-8", "is_charset_early": False}),
    ("<p>none", {"charset": "", "header_charset": "utf-8", "is_charset_early": False}),
    ("<base href=/other/>", {"base": "/other/"}),
    ("<meta name=viewport content='width=device-width, maximum-scale=1'>", {"viewport": "width=device-width, maximum-scale=1"}),
    ("<p>none", {"viewport": "", "viewports": 0, "refresh": ""}),
    ("<meta http-equiv=refresh content='5; url=/next'>", {"refresh": "5; url=/next"}),
    (
        "<meta name=robots content='NoIndex, max-snippet:0'>",
        {"robots": (Declaration("noindex, max-snippet:0", Place.HEAD, "robots"),)},
    ),
    (
        "<meta name=googlebot content=nosnippet>",
        {"robots": (Declaration("nosnippet", Place.HEAD, "googlebot"),), "robots_metas": 0},
    ),
    ("<title>a</title>", {"robots": (), "canonicals": (), "alternates": (), "neighbours": (), "head_in_body": ()}),
    (
        "<link rel=canonical href='/a#b'><link rel='canonical' href=HTTP://x.example>",
        {
            "canonicals": (
                Declaration("/a#b", Place.HEAD, "canonical"),
                Declaration("HTTP://x.example", Place.HEAD, "canonical"),
            )
        },
    ),
    (
        "<link rel=alternate hreflang=de-AT href=/de><link rel=alternate type=application/rss+xml href=/feed>",
        {"alternates": (Alternate("de-AT", "/de", Place.HEAD),)},
    ),
    (
        "<link rel=prev href=/1><link rel=next href=/3>",
        {"neighbours": (Declaration("/1", Place.HEAD, "prev"), Declaration("/3", Place.HEAD, "next"))},
    ),
    (
        "<head><title>a</title><div class=ad>x</div><meta name=robots content=noindex><link rel=canonical href=/a></head>",
        {
            "head_in_body": ("meta robots", "link canonical"),
            "head_ended_by": "div.ad",
            "robots": (Declaration("noindex", Place.BODY, "robots"),),
            "canonicals": (Declaration("/a", Place.BODY, "canonical"),),
        },
    ),
    ("<body><p>x</p><title>late</title>", {"head_in_body": ("title",), "head_ended_by": "p", "title": ""}),
    ("<body><svg><title>drawing</title></svg>", {"head_in_body": (), "titles": 0}),
    ('<script type=application/ld+json>{"@type": "Thing"}</script><script>{</script>', {"json_ld_errors": ()}),
    (
        "<script type=application/ld+json>{'a': 1,}</script>",
        {"json_ld_errors": ("JSON is malformed: object keys must be strings (byte 1)",)},
    ),
    ("<script type=application/ld+json> </script>", {"json_ld_errors": ("The script is empty",)}),
]


GERMAN = "<p>" + "Die alte M\u00fchle am Fluss wurde vor vielen Jahren gebaut und steht heute noch im Tal. " * 12


@pytest.mark.parametrize(
    ("source", "expected"), [(f"<html lang=en>{GERMAN}", "de"), ("<html lang=en><p>Die alte M\u00fchle.", "")]
)
def test_the_language_of_a_longer_text_is_detected(source: str, expected: str) -> None:
    assert facts(source).detected_lang == expected


@pytest.mark.parametrize(("source", "expected"), HEAD)
def test_the_head_is_recorded_as_declared(source: str, expected: dict[str, Any]) -> None:
    own = facts(source)
    assert {name: getattr(own, name) for name in expected} == expected


def test_headers_declare_canonical_alternates_robots_and_charset() -> None:
    own = facts(
        "<p>x",
        content_type="text/html; charset=ISO-8859-1",
        headers=(
            ("link", '<https://a.example/>; rel="canonical", </de>; rel=alternate; hreflang="de"'),
            ("x-robots-tag", "googlebot: NOINDEX"),
        ),
    )
    assert own.canonicals == (Declaration("https://a.example/", Place.HEADER, "canonical"),)
    assert own.alternates == (Alternate("de", "/de", Place.HEADER),)
    assert own.robots == (Declaration("googlebot: noindex", Place.HEADER, "x-robots-tag"),)
    assert own.header_charset == "ISO-8859-1"


def test_headings_keep_their_order_and_empty_ones() -> None:
    own = facts(f"<h2>A</h2><main><h1> B  c </h1><h3></h3><h4><img alt=Logo></h4></main><h6 hidden>x</h6><h5>{'y' * 500}</h5>")
    assert own.headings == (
        HeadingFact(2, "A", False),
        HeadingFact(1, "B c", True),
        HeadingFact(3, "", True),
        HeadingFact(4, "Logo", True),
        HeadingFact(5, "y" * 120, False),
    )
    assert own.mains == 1


def test_mains_are_counted_by_tag_and_role() -> None:
    assert facts("<main role=main>a</main><div role=MAIN>b</div>").mains == 2
    assert facts("<p>a").mains == 0


def test_ids_and_names_of_anchors_are_kept_in_page_order() -> None:
    own = facts("<p id=b><p id=a><p id=b><a name=old></a><a name=a></a><p id=''>")
    assert own.ids == ("b", "a", "old")
    assert own.duplicate_ids == ("b",)
    assert has_id(own, "old")
    assert not has_id(own, "other")


def test_ids_beyond_the_bound_are_kept_as_hashes() -> None:
    own = facts("".join(f"<p id=n{number}>" for number in range(bounds.MAX_IDS + 10)))
    assert len(own.ids) == bounds.MAX_IDS
    assert own.hashed_ids == tuple(sorted(hash_id(f"n{number}") for number in range(bounds.MAX_IDS, bounds.MAX_IDS + 10)))
    assert has_id(own, f"n{bounds.MAX_IDS + 9}")


def test_long_ids_are_kept_as_hashes() -> None:
    own = facts(f"<p id=a><p id={'x' * 40_000}>")
    assert own.ids == ("a",)
    assert has_id(own, "x" * 40_000)


def test_references_to_missing_and_repeated_ids_are_recorded() -> None:
    own = facts("<i id=a></i><i id=a></i><i id=c></i><label for=a>x</label><p aria-labelledby='b c' aria-controls=b>")
    assert own.id_references == (
        IdReference("a", "for", 2),
        IdReference("b", "aria-labelledby", 0),
        IdReference("b", "aria-controls", 0),
    )


LINKS = [
    ("<a href=/a>A</a><a href=https://x.example/>B</a>", ()),
    ("<a>no link</a><a name=x></a>", ()),
    ("<a href='/a#part'>A</a>", (LinkFact("/a#part", "A", "", LinkKind.PAGE),)),
    ("<a href='#part'>A</a><p id=part>", ()),
    ("<a href='#a%20b'>A</a><p id='a b'>", ()),
    ("<a href='#part'>A</a>", (LinkFact("#part", "A", "", LinkKind.SAME_PAGE),)),
    ("<a href='page#part'>A</a><p id=part>", ()),
    ("<a href='page#part'>A</a>", (LinkFact("page#part", "A", "", LinkKind.SAME_PAGE),)),
    ("<base href=/b><a href='#part'>A</a><p id=part>", (LinkFact("#part", "A", "", LinkKind.PAGE),)),
    ("<a href='#part'>A</a><p id=part><p id=part>", (LinkFact("#part", "A", "", LinkKind.SAME_PAGE),)),
    ("<a href=/a rel='NoFollow noopener'>A</a>", (LinkFact("/a", "A", "nofollow noopener", LinkKind.PAGE),)),
    ("<a href=/a rel=noopener>A</a>", ()),
    ("<a href=/a></a>", (LinkFact("/a", "", "", LinkKind.PAGE),)),
    ("<a href=/a><img></a><a href=/a><img></a>", (LinkFact("/a", "", "", LinkKind.PAGE),)),
    ("<a href=/a><img alt=Home></a><a href=/b title=B></a><a href=/c aria-label=C></a>", ()),
    ("<a href=/a aria-labelledby=x></a><p id=x>X", ()),
    ("<a href=''>A</a>", (LinkFact("", "A", "", LinkKind.EMPTY),)),
    ("<a href='JavaScript:go()'>A</a>", (LinkFact("JavaScript:go()", "A", "", LinkKind.SCRIPT),)),
    ("<a href='file:///etc'>A</a>", (LinkFact("file:///etc", "A", "", LinkKind.FILE),)),
    ("<a href='http://[bad'>A</a>", (LinkFact("http://[bad", "A", "", LinkKind.INVALID),)),
    ("<a href='tel:+4312345'>A</a>", (LinkFact("tel:+4312345", "A", "", LinkKind.OTHER),)),
    (f"<a href='#{'x' * 3000}'>A</a>", (LinkFact(f"#{'x' * 119}\u2026", "A", "", LinkKind.SAME_PAGE),)),
]


@pytest.mark.parametrize(("source", "expected"), LINKS)
def test_links_are_recorded_where_the_document_does_not_describe_them(source: str, expected: tuple[LinkFact, ...]) -> None:
    assert facts(source).links == expected


def test_all_links_are_counted() -> None:
    own = facts("".join(f"<a href='/p{number}#x'>x</a>" for number in range(3000)))
    assert own.link_count == 3000
    assert len(own.links) == bounds.MAX_LINKS == 2000


IMAGES = [
    ("<img src=/a.png>", ImageFact("/a.png", Alt.ABSENT, "", "", "", False, False)),
    ("<img src=/a.png alt=''>", ImageFact("/a.png", Alt.EMPTY, "", "", "", False, False)),
    ("<img src=/a.png alt=A width=10 loading=lazy>", ImageFact("/a.png", Alt.TEXT, "10", "", "lazy", False, False)),
    ("<a href=/a><img src=/a.png alt=A width=1 height=1></a>", ImageFact("/a.png", Alt.TEXT, "1", "1", "", True, False)),
    ("<img role=presentation src=/a.png>", ImageFact("/a.png", Alt.ABSENT, "", "", "", False, True)),
    ("<img src='data:image/png;base64,AAAA'>", ImageFact("data:image/png;base64", Alt.ABSENT, "", "", "", False, False)),
]


@pytest.mark.parametrize(("source", "expected"), IMAGES)
def test_images_that_lack_something_are_recorded(source: str, expected: ImageFact) -> None:
    assert facts(source).images == (expected,)


def test_images_that_lack_nothing_are_only_counted() -> None:
    own = facts("<img src=/a.png alt=A width=1 height=1><a href=/b><img src=/b.png alt=B width=1 height=1> text</a>")
    assert (own.images, own.image_count) == ((), 2)


def test_iframes_and_videos_are_recorded() -> None:
    own = facts(
        "<iframe src=/f></iframe><iframe src=/g title=Map></iframe>"
        "<video src=/v></video><video><source src=/w><track kind=captions></video><video><track kind=chapters></video>"
    )
    assert own.iframes == (IframeFact("/f", ""), IframeFact("/g", "Map"))
    assert own.videos == (VideoFact("/v", False), VideoFact("/w", True), VideoFact("", False))
    assert facts("<p>x").iframes == ()
    assert facts("<p>x").videos == ()


INSECURE = (
    "<link rel=stylesheet href=http://x.example/a.css><link rel=canonical href=http://x.example/>"
    "<script src=HTTP://x.example/a.js></script><script src=//x.example/b.js></script>"
    "<form action=http://x.example/go></form><img src=http://x.example/a.png><img srcset='/b 1x, http://x.example/c 2x'>"
)


def test_an_https_page_records_what_it_loads_over_http() -> None:
    assert facts(INSECURE, url=HTTPS).insecure == (
        InsecureResource("link", "http://x.example/a.css", True),
        InsecureResource("script", "HTTP://x.example/a.js", True),
        InsecureResource("form", "http://x.example/go", True),
        InsecureResource("img", "http://x.example/a.png", False),
        InsecureResource("img", "http://x.example/c", False),
    )
    assert facts(INSECURE).insecure == ()


CONTROLS = [
    ("<input name=q>", (ControlFact("input", "", "q", ""),)),
    ("<input type=Email id=e placeholder=Mail>", (ControlFact("input#e", "email", "", "Mail"),)),
    (
        "<select name=s></select><textarea name=t></textarea>",
        (ControlFact("select", "", "s", ""), ControlFact("textarea", "", "t", "")),
    ),
    ("<label>Name <input></label><label for=a>A</label><input id=a><input aria-label=B><input title=C>", ()),
    ("<input type=hidden><input type=submit><input type=image alt=Go><input type=button value=Go>", ()),
    ("<input type=image name=i>", (ControlFact("input", "image", "i", ""),)),
    ("<button name=b></button>", (ControlFact("button", "", "b", ""),)),
    ("<button>x</button><button aria-label=x></button><button><img alt=x></button>", ()),
]


@pytest.mark.parametrize(("source", "expected"), CONTROLS)
def test_controls_without_a_label_are_recorded(source: str, expected: tuple[ControlFact, ...]) -> None:
    assert facts(source).controls == expected


def test_tables_without_header_cells_are_recorded() -> None:
    own = facts(
        "<table><tr><td>a<td>b<tr><td>c<td>d<td>e</table><table><tr><th>a<tr><td>b</table>"
        "<table role=presentation><tr><td>a<td>b<tr><td>c</table><table></table>"
        "<table><tr><td>a<td>b</table><table><tr><td>a<tr><td>b</table>"
    )
    assert own.tables == (TableFact(2, 3, "a | b"),)


def test_the_size_of_the_tree_is_recorded() -> None:
    assert facts("<html><head></head><body><p>a<p>b").elements == 5
    assert facts("<p>a").depth == 0
    deep = facts(f"<body>{'<div>' * 40}x")
    assert (deep.elements, deep.depth) == (43, 42)
    wide = facts(f"<ul id=list class='a b'>{'<li>x' * 4000}</ul>")
    assert (wide.widest, wide.depth) == (WidestParent("ul#list.a.b", 4000), 0)


HIDDEN = [
    ("<div style='display:none'>a b <a href=/x>c</a></div>", HiddenPart("display", "div", 3, 1)),
    ("<div style='visibility: hidden' id=x>a b</div>", HiddenPart("visibility", "div#x", 2, 0)),
    ("<div hidden class='a b' role=dialog>a</div>", HiddenPart("hidden", "div.a.b[role=dialog]", 1, 0)),
    ("<p style='font-size:0'>a</p>", HiddenPart("font-size", "p", 1, 0)),
    ("<p style='position:absolute; left:-9999px'>a</p>", HiddenPart("off-screen", "p", 1, 0)),
    ("<p style='clip:rect(0,0,0,0)'>a</p>", HiddenPart("clip", "p", 1, 0)),
    ("<p style='color:#fff;background:white'>a</p>", HiddenPart("colour", "p", 1, 0)),
    ("<div hidden>a <script>var b = 1;</script><p hidden>c</p></div>", HiddenPart("hidden", "div", 2, 0)),
]


@pytest.mark.parametrize(("source", "expected"), HIDDEN)
def test_hidden_text_is_recorded_with_its_technique(source: str, expected: HiddenPart) -> None:
    own = facts(f"<p>Shown.</p>{source}")
    assert own.hidden == (expected,)
    assert own.hidden_words == expected.words


@pytest.mark.parametrize(
    "source",
    [
        "<p aria-hidden=true>a</p>",
        "<p style='color:red'>a</p>",
        "<div hidden></div>",
        "<body style='display:none'><p>a</p>",
        "<div hidden id='S:0'>streamed</div>",
        "<script hidden>var a;</script>",
    ],
)
def test_shown_text_is_not_recorded_as_hidden(source: str) -> None:
    own = facts(source)
    assert (own.hidden, own.hidden_words, own.hidden_text) == ((), 0, "")


def test_hidden_text_is_cut_and_stays_out_of_the_document(read_page: ReadPage) -> None:
    source = f"<p>{'Mills grind corn in the valley. ' * 100}</p><div style='display:none'>Ignore previous {'word ' * 500}</div>"
    own, page = facts(source), read_page(source)
    assert own.hidden_words == 502
    assert own.hidden_text.startswith("Ignore previous word")
    assert len(own.hidden_text) <= bounds.MAX_VALUE_CHARS
    assert "Ignore previous" not in json.dumps(page.document)


@pytest.mark.parametrize(
    ("source", "notice", "year"),
    [
        ("<footer>Copyright 2009-2021 Mills Ltd</footer>", "Copyright 2009-2021", 2021),
        ("<footer>&copy; Mills Ltd, 2019</footer>", "\u00a9 Mills Ltd, 2019", 2019),
        ("<footer>2018 &copy; Mills</footer>", "2018 \u00a9", 2018),
        ("<div class=footer>\u00a9 <span>2020</span></div>", "\u00a9 2020", 2020),
        ("<div class=copyright-footer>Copyright &copy; 2005, 2006 Mills</div>", "Copyright \u00a9 2005, 2006", 2006),
        ("<p>Copyright &copy; 2003-2019 Mills</p><script>1</script>", "Copyright \u00a9 2003-2019", 2019),
        ("<p>&copy; 2020</p><p>End</p>", "", 0),
        ("<footer>Founded 1999</footer>", "", 0),
    ],
)
def test_the_copyright_notice_of_the_footer_is_recorded(source: str, notice: str, year: int) -> None:
    own = facts(f"<p>x</p>{source}")
    assert (own.footer, own.footer_year) == (notice, year)


def test_dates_are_recorded_by_source() -> None:
    own = facts(
        "<meta property=article:published_time content=2024-01-02>"
        '<script type=application/ld+json>{"@type": "Article", "datePublished": "2024-01-03", '
        '"dateModified": "2024-02-01"}</script>'
        "<main><h1>Mills of the valley</h1><time datetime=2024-01-04>4 January</time>"
        "<p>Mills grind corn in the valley, and have done so for long.</p><p>Last updated on: 5 March 2024.</p></main>",
        url="http://site.example/2024/01/05/mills",
    )
    assert own.dates == (
        DateFact("meta", "published", "2024-01-02"),
        DateFact("json-ld", "published", "2024-01-03"),
        DateFact("json-ld", "modified", "2024-02-01"),
        DateFact("time", "published", "2024-01-04"),
        DateFact("url", "published", "2024-01-05"),
        DateFact("text", "modified", "2024-03-05"),
    )
    assert facts("<p>Updated often, published by us.").dates == ()


def test_sizes_are_recorded() -> None:
    source = (
        "<style>p{}</style><script>var a=1</script><script src=/x></script><p>M\u00fchle</p><img src='data:image/png,AAAAAAAA'>"
    )
    own = facts(source)
    assert (own.body_bytes, own.text_bytes) == (len(source.encode()), 6)
    assert (own.style_chars, own.script_chars, own.largest_inline_chars) == (3, 7, 23)


def test_a_text_has_its_kind_and_sizes() -> None:
    own = facts("# Mills\n\nThey grind.", content_type="text/markdown")
    assert own == AuditFacts(kind="text", title="Mills", body_bytes=20, text_bytes=20)


def test_facts_are_read_only_by_option_and_of_nothing_that_cannot_be_read(read_page: ReadPage) -> None:
    assert read_page("<p>x").reading.facts is None
    content_alone = ReadOptions(full=False, facts=True)
    assert read_page("<p>x", options=content_alone).reading.facts is not None
    assert read_page(b"\x89PNG\r\n\x1a\n", content_type="image/png", options=WITH_FACTS).reading.facts is None


def test_a_record_leaves_out_empty_values_and_knows_every_name() -> None:
    names = {field.name for field in fields(AuditFacts)}
    stored = json.loads(record("<title>A</title><p>x"))
    assert stored.keys() <= names
    assert not [name for name, value in stored.items() if not value]


def test_every_fact_is_documented() -> None:
    page = (DOCS / "reference" / "audit-facts.md").read_text(encoding="utf-8")
    assert [field.name for field in fields(AuditFacts) if f"`{field.name}`" not in page] == []


def test_secrets_that_parsing_brings_to_light_are_redacted(read_page: ReadPage) -> None:
    secret = "AKIA" + "Z7QX3LM5N2PB4RTW"
    written = "".join(f"&#{ord(char)};" for char in secret)
    source = (
        f"<p>Shown.</p><p hidden>key {written}</p><h2>{written}</h2><a href='/a?k={written}#x'>{written}</a><p id='{written}'>"
    )
    stored = record(source)
    assert secret.encode() not in stored
    assert b"hidden_text" in stored
    assert read_page(source, options=WITH_FACTS).reading.snapshot is None


BOUNDED = {
    "headings": "<h2>x</h2>",
    "alternates": "<link rel=alternate hreflang=de href=/x>",
    "canonicals": "<link rel=canonical href=/x>",
    "robots": "<meta name=robots content=noindex>",
    "iframes": "<iframe src=/x></iframe>",
    "videos": "<video src=/x></video>",
    "controls": "<input name=x>",
    "tables": "<table><tr><td>x<td>y<tr><td>z</table>",
    "hidden": "<p hidden>x</p>",
    "insecure": "<script src=http://x.example/></script>",
    "duplicate_ids": "",
    "links": "",
    "images": "",
}


@pytest.mark.parametrize("name", BOUNDED)
def test_every_list_is_bounded(name: str) -> None:
    numbered = {
        "duplicate_ids": "<p id=n{0}><p id=n{0}>",
        "links": "<a href='/{0}#x'>{0}</a>",
        "images": "<img src=/{0}.png>",
    }
    source = "".join(numbered[name].format(number) for number in range(3000)) if name in numbered else BOUNDED[name] * 3000
    assert 0 < len(getattr(facts(source, url=HTTPS), name)) <= bounds.MAX_LINKS


def test_the_record_of_a_huge_page_is_small() -> None:
    part = "<div hidden id=i{0}><a href='/{0}{1}#f'>{1}</a><img src='/{0}{1}'><h2>{1}</h2><input name={1}></div>"
    source = "".join(part.format(number, "x" * 400) for number in range(2500))
    assert len(record(source, url=HTTPS)) < 200_000


def test_nested_links_and_hidden_parts_are_read_a_bounded_number_of_times() -> None:
    source = "<table><tr><td><a href=/x hidden>words " * 4000
    own = facts(source)
    assert own.link_count == 4000
    assert own.hidden_words <= 8000


def test_generated_documents_give_facts_that_can_be_decoded_and_are_equal_the_second_time() -> None:
    for seed in range(150):
        document = generate(seed, [])
        first, second = (read(document.response, WITH_FACTS) for _ in range(2))
        assert first.facts == second.facts, seed
        if first.facts is not None:
            decode_audit_facts(zstandard.decompress(first.facts.data))
