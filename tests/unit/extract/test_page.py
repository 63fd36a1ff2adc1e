import hashlib
import json
import lzma
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.corpora import corpus

from sitelore.extract import dom
from sitelore.extract import page as page_module
from sitelore.extract.page import read
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

from .conftest import ReadPage

HTML = (("content-type", "text/html"),)


def read_bytes(body: bytes) -> Reading:
    return read(Response(Url("http://site.example/a/b?c=1"), 200, HTML, body), ReadOptions())


def test_blobs_are_keyed_by_their_content(read_page: ReadPage) -> None:
    body = b"<title>T</title><p>Text</p><a href=/x>x</a>"
    page = read_page(body)
    assert page.reading.document is not None
    assert page.reading.snapshot is not None
    unpacked = zstandard.decompress(page.reading.document.data)
    assert page.reading.document.key == hashlib.sha256(unpacked).hexdigest()
    assert page.reading.snapshot.key == hashlib.sha256(body).hexdigest()
    assert page.document["url"] == "http://site.example/dir/page"
    assert page.document["links"] == [{"url": "http://site.example/x", "nofollow": False, "text": "x"}]
    assert read_page(body, options=ReadOptions(keep_snapshot=False)).reading.snapshot is None


def test_a_secret_that_entities_hide_in_an_address_is_kept_nowhere(read_page: ReadPage) -> None:
    token = "ghp_" + "a1B2" * 9
    hidden = "".join(f"&#{ord(char)};" for char in token)
    page = read_page(f"<p>Text</p><nav><a href='/x?t={hidden}'>x</a></nav><a href=/y>y</a>")
    assert page.reading.links == (Url("http://site.example/x?t=[REDACTED:github-token]"), Url("http://site.example/y"))
    assert [link["url"] for link in page.document["links"]] == [str(url) for url in page.reading.links]
    assert token not in json.dumps(page.document)
    assert page.reading.snapshot is None


def test_the_content_hash_covers_words_and_novelty_ignores_numbers(read_page: ReadPage) -> None:
    one = read_page("<title>Day 1</title><p>No  events\non 2024-01-01</p>").reading
    same = read_page("<title>DAY 1</title><div>no events <b>on</b> 2024-01-01</div>").reading
    next_day = read_page("<title>Day 2</title><p>No events on 2024-01-02</p>").reading
    other = read_page("<title>Day 1</title><p>A party on 2024-01-01</p>").reading
    assert one.content_hash == same.content_hash != next_day.content_hash
    assert one.novelty == next_day.novelty != other.novelty
    assert read_page("<title>Only a title</title>").reading.content_hash == ""


def test_words_are_counted_in_scripts_with_and_without_spaces(read_page: ReadPage) -> None:
    assert read_page("<p>three little words</p>").reading.word_count == 3
    assert read_page("<p>これは日本語の文章です</p>").reading.word_count >= 11


@pytest.mark.parametrize(
    ("body", "content_type", "problem"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "text/html", "content_type: image/png bytes labelled text/html"),
        (b"%PDF-1.7\n...", "text/plain", "parse_error: the PDF is cut off or damaged"),
        (b"PK\x03\x04rest", "text/html; charset=utf-8", "content_type: application/zip bytes labelled text/html"),
        (b"\x00\x01\x02\x03" * 100, None, "content_type: binary bytes without a type"),
        (b"{}", "application/json", "content_type: application/json is not a page"),
        (b"<rss/>", "application/xml", "content_type: application/xml is not a page"),
    ],
)
def test_a_body_that_is_not_text_is_an_error(read_page: ReadPage, body: bytes, content_type: str | None, problem: str) -> None:
    reading = read_page(body, content_type).reading
    assert (reading.problem, reading.document, reading.snapshot) == (problem, None, None)


def test_a_body_left_on_the_wire_is_a_problem() -> None:
    response = Response(Url("http://a/x.zip"), 200, (("content-type", "application/zip"),), b"", body_read=False)
    assert read(response, ReadOptions()).problem == "content_type: application/zip is not read"


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"<!doctype html><title>t</title><p>sniffed-html", None, "t\nsniffed-html"),
        (b"\n <!-- c --> <p class=x>sniffed-html", "", "sniffed-html"),
        (b"just words", None, "just words"),
        ("<p>sixteen-ü".encode("utf-16"), None, "sixteen-ü"),
        ("<p>sixteen-ü".encode("utf-16-le"), "text/html", "sixteen-ü"),
        ("<meta charset=windows-1251><p>Привет мир".encode("cp1251"), "text/html", "Привет мир"),
        (b"<html xmlns='http://www.w3.org/1999/xhtml'><body>x</body></html>", "application/xml", "x"),
        (b"<p>a stray \x0b control and more text than that</p>", "text/html", "a stray control and more text than that"),
    ],
)
def test_pages_are_read_by_their_actual_type(read_page: ReadPage, body: bytes, content_type: str | None, text: str) -> None:
    page = read_page(body, content_type)
    assert (page.text, page.reading.problem) == (text, "")


@pytest.mark.parametrize(
    "part",
    [
        "<div>", "<nav>", "<header>", "<article>", "<h1><div>", "<div class=menu>", "<div class=content>", "<noscript>",
        "<p hidden>",
        "<ul><li>", "<blockquote>", "<table><tr><td>", "<b><p>", "<a href=x><table><tr><td>", "<template>",
        "<form>",
    ],
)  # fmt: skip
def test_two_hundred_thousand_levels_deep_is_read_like_any_page(part: str) -> None:
    depth = 200_000 // part.count("<")
    reading = read_bytes(b"<html><body>" + part.encode() * depth + b"deep-text")
    assert reading.problem == ""
    assert reading.document is not None
    if "hidden" not in part and part != "<template>":
        assert reading.word_count >= 1


@pytest.mark.parametrize(
    "flood",
    ["-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaa.", 'token="', "\u00ad", "<meta ", "<!--", "<", "&",
     "<a a=1 ", "http://a:bcde@f ", "[x]("],
)  # fmt: skip
def test_floods_of_one_thing_end(flood: str) -> None:
    assert read_bytes(b"<p>" + flood.encode() * 20_000).problem == ""


def test_the_same_bytes_give_the_same_reading_in_every_process() -> None:
    body = b"<title>T</title><nav>n</nav><main><p>Some text 1</p><a href=/x>x</a><a href=y rel=nofollow>y</a></main>"
    script = (
        "import sys\nfrom sitelore.extract.page import read\nfrom sitelore.model.document import ReadOptions\n"
        "from sitelore.model.response import Response\nfrom sitelore.model.url import Url\n"
        f"r = read(Response(Url('http://site.example/a/b?c=1'), 200, {HTML!r}, {body!r}), ReadOptions())\n"
        "sys.stdout.write(repr(r))"
    )
    source = str(Path(__file__).parents[3] / "src")
    seen = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": source},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }  # fmt: skip
    for other in (b"<a href=/x>warm</a>", body):
        read_bytes(other)
    assert seen == {repr(read_bytes(body))}


def test_reading_imports_little() -> None:
    heavy = ("aiohttp", "asyncio", "lxml", "sqlalchemy", "pydantic", "rich", "typer", "ssl")
    script = f"import sys, sitelore.extract.page; print([m for m in {heavy!r} if m in sys.modules])"
    source = str(Path(__file__).parents[3] / "src")
    out = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=600))
def test_no_bytes_at_all_raise(body: bytes) -> None:
    reading = read_bytes(body)
    assert reading.problem or reading.document is not None


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([
                "<a href='", "'>", "</a>", "<base href=", "<table>", "<td>", "<p style='display:none", "<article>",
                "<nav class=menu>",
                "<meta name=robots content=", "<link rel=canonical href=", "<title>", "<svg>", "<!--", "-->", "<script>",
                "&#x",
                "http://[", "//", "\x00", "\ud83d", "<img src=", "<pre><code>", "[x](javascript:", "<noscript>", "<template>",
            ]),
            st.text(max_size=20),
        ),
        max_size=40,
    )
)  # fmt: skip
def test_no_soup_of_tags_raises(parts: list[str]) -> None:
    reading = read_bytes("".join(parts).encode("utf-8", "replace"))
    assert reading.problem or reading.document is not None


def test_mutated_real_pages_never_raise() -> None:
    dice = random.Random(20_240_501)
    with lzma.open(corpus("content/wcxb_dev.jsonl.xz"), "rt") as lines:
        pages = [json.loads(line)["html"].encode("utf-8", "replace") for line, _ in zip(lines, range(60), strict=False)]
    for page in pages:
        body = bytearray(page[: dice.randrange(len(page)) + 1])
        for _ in range(dice.randrange(1, 60)):
            at = dice.randrange(len(body))
            cut = dice.randrange(0, 200)
            body[at : at + cut] = dice.choice(
                [b"", b"<", b"\xff", b"</div>", b"<table>", b"&", b"'", dice.randbytes(8), bytes(body[:cut])]
            )
            if not body:
                body = bytearray(b"<")
        reading = read_bytes(bytes(body))
        assert reading.problem or reading.document is not None


def test_a_page_too_big_for_the_process_is_a_problem_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(text: str) -> None:
        raise MemoryError

    monkeypatch.setattr(dom, "parse", no_room)
    assert read_bytes(b"<p>x").problem.startswith("parse_error: ")


def test_long_attributes_change_nothing_of_a_large_page(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "&quot;x&quot;:1," * 10_000
    prose = "<p>The mill stands where the river bends, and its wheel has not turned since the flood of that year.</p>" * 12
    inline, sources = f"data:image/png;base64,{'QUJD' * 20_000}", f"/a.png 1x{', /b.png 1x' * 6_000}"
    images = f"<img data-src=/i.png alt=i><img src='{inline}' srcset='{sources}'>"
    hidden = f"<p style='display:none;{'left:1px;' * 8_000}'>Not shown.</p>"
    long = f"data-state=\"{data}\" data-kind='{data}' class='main {data}' onclick='{data}' data-short=1"
    body = f"<body><main {long}>{prose}{images}{hidden}</main></body>"
    response = Response(Url("http://site.example/"), 200, (("content-type", "text/html"),), body.encode())
    whole = read(response, ReadOptions())
    assert read(response, ReadOptions()) == whole
    monkeypatch.setattr(page_module, "LARGE_PAGE", 1000)
    assert read(response, ReadOptions()) == whole
    assert whole.word_count > 100


def test_long_attributes_are_dropped_and_long_lists_are_cut() -> None:
    tree = dom.parse(f"<p class='{'a ' * 40_000}' data-x='{'x' * 50_001}' data-y='{'y' * 50_000}' style='{'z' * 60_000}'>t</p>")
    page_module._shorten_attributes(tree)
    paragraph = dom.first(tree, "p")
    assert paragraph is not None
    assert {name: len(value) for name, value in dom.attributes(paragraph).items()} == {"data-y": 50_000, "style": 50_000}


def test_comments_before_the_first_tag_of_an_undeclared_body_take_linear_time() -> None:
    # A pattern that tries every way to divide the comments would never end.
    comments = b"<!-- a -->" * 140
    for body, is_text in ((comments + b"plain text", True), (comments + b"<p>Words of a page.", False)):
        reading = read(Response(Url("http://site.example/"), 200, (), body), ReadOptions())
        assert reading.document is not None
        document = json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(reading.document.data))
        assert (document["strategy"] == "text") is is_text
