"""The compiled writer of plain text gives what the parser's own gives once its white space is evened, or leaves it to that."""

from __future__ import annotations

import json
import lzma
import random
from itertools import islice
from pathlib import Path

import pytest

from sitelore.extract import dom
from sitelore.extract.native.library import library
from sitelore.extract.writing.markdown import _take_apart_tables, evened

from .compiled_code import called

pytestmark = pytest.mark.skipif(library() is None, reason="no writer of plain text was compiled to compare with")

_CONSTRUCTS = [
    "<p>one</p> <p> two\n words </p>three<p></p>four",
    "<p>a<b> b </b>c <i>d</i>, <a href=x>e</a><img alt=no src=y>f</p>",
    "<p>a<br>b<br> c</p><br>d<hr>e<wbr>f",
    "<span>a<div>b</div>c</span>d<p>e</p>f",
    "<h1>a</h1><h2> b <small>c</small></h2><section>d<article>e</article></section>",
    "<ul><li>a<li><p>b</p><p>c</p><li>d<ul><li>e</ul>f</ul>",
    "<ul>stray<li>a</li><b>lost</b><ul><li>b</ul><ol start=7><li>c<li value=3>d<li>e</ol></ul>",
    "<ol start=x><li>a<li value=>b<li value='12 c'>d</ol><ol start=0><li>e</ol>",
    "<ol start=999999999999999999999><li>a</ol>",
    "<ul><li><img src=x><p>a</p></li><li></li><li> <div>b</div></li></ul>",
    "<blockquote>a<p>b</p></blockquote>c<blockquote></blockquote><p>d</p>",
    "<p>a</p><blockquote></blockquote>b<ul><li><blockquote>c</blockquote><li>d</ul>",
    "a<span>b<blockquote></blockquote>c</span><p>d</p>",
    "<pre>a\n  b\n\nc\n</pre>d<pre>\n\ne<b> f</b>\n\n</pre>",
    "<ul><li><pre>a\nb</pre><li>c</ul>",
    "<table><tr><th>a<th>b<tr><td>c<td>d e</table>f",
    "<table><caption>lost</caption><tr><td>a<td><p>b</p><p>c</p><td>d<br>e<tr><td>f</table>",
    "x<table><thead><tr><td>a</thead><tfoot><tr><td>z</tfoot><tr></tr><tr><td><ul><li>b<li>c</ul></table>y",
    "<ul><li><table><tr><td>a<td>b<tr><td>c</table></li><li>d</li></ul>",
    "<table><tr></tr></table>a<table></table>b",
    "<table><tr><td>a<blockquote></blockquote></td></tr></table><p>b</p>",
    "<table><tr><td>a<table><tr><td>b</table></table>",
    "<dl><dt>a<dd>b<dd><p>c</p></dl><details><summary>d</summary>e</details>",
    "<figure><img src=x><figcaption>a</figcaption></figure><address>b</address>c",
    "<title>lost</title><p>a<datalist><option>lost</datalist>b</p><ruby>c<rp>(</rp><rt>d</rt></ruby>",
    "<p>a&nbsp;b &amp;lt; &lt;c&gt; &quot;d&quot; \u3000e\u2003f \u202fg</p><p>\xa0</p>\xa0",
    "<svg><title>a</title><p>b</p></svg>c",
    "<p>a</p><template><p>b</p></template><noscript>c</noscript><textarea>\n\nd</textarea>",
    "<center>a</center><x-tag>b<p>c</p></x-tag>d<label>e</label><button>f</button>",
    '<div "="" a"b="c" =x="y">odd names</div>',
    "",
]
_TAGS = [
    "p", "div", "ul", "ol", "li", "table", "tr", "td", "th", "tbody", "thead", "span", "a", "b", "em", "blockquote",
    "pre", "code", "br", "img", "hr", "dl", "dt", "dd", "h2", "figure", "menu", "details", "summary", "title", "rp",
    "ruby", "section", "caption", "wbr", "body", "label", "noscript", "x-y", "font",
]  # fmt: skip
_VOID = {"br", "img", "hr", "wbr"}
_TEXTS = [
    " ", "\n", "a", "b c", " d", "e ", "\xa0", "f\xa0g", " \n ", "h\r\ni",
    "j\tk", "\fl", "m\u3000n", "é", "\n\no\n", "1. p",
]  # fmt: skip
_ITEMS = {"ul": "li", "ol": "li", "tr": "td", "table": "tr"}


def _text_of(html: bytes) -> str | None:
    written = called("text_of_html", html)
    return None if written is None else evened(written).text


def _is_same(element: dom.Element) -> bool | None:
    """Whether both ways write the same; None where the compiled one does not write it."""
    _take_apart_tables(element, deeper_than=1)
    written = _text_of(dom.serialised(element))
    return None if written is None else written == evened(dom.to_text(element).encode()).text


def _body(html: str) -> dom.Element:
    body = dom.body(dom.parse(html))
    assert body is not None
    return body


def _grown(rng: random.Random, depth: int) -> list[dom.AnyNode]:
    nodes: list[dom.AnyNode] = []
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
        if depth <= 0 or rng.random() < 0.4:
            nodes.append(dom.words(rng.choice(_TEXTS)))
            continue
        tag = rng.choice(_TAGS)
        below = _grown(rng, depth - 1) if tag not in _VOID else []
        if item := _ITEMS.get(tag):
            below = [dom.made(item, None, node) if rng.random() < 0.7 else node for node in below]
        attributes = {"start": rng.choice(["5", "x", "007", "-2"])} if tag == "ol" and rng.random() < 0.4 else None
        nodes.append(dom.made(tag, attributes, *below))
    return nodes


@pytest.mark.parametrize("html", _CONSTRUCTS)
def test_a_construct_is_written_as_the_parser_writes_it(html: str) -> None:
    assert _is_same(_body(html)) is not False


def test_what_is_common_is_not_left_to_the_parser() -> None:
    left = [html for html in _CONSTRUCTS if _is_same(_body(html)) is None]
    assert len(left) == 3  # a number past all reason, a drawing, a template


def test_generated_documents_are_written_as_the_parser_writes_them() -> None:
    rng = random.Random(7)
    same = []
    for _ in range(1500):
        root = rng.choice(["div", "body", "span", "ul", "li", "td"])
        element = dom.made(root, None, *_grown(rng, rng.randint(1, 6)))
        same.append(_is_same(element))
        assert same[-1] is not False, dom.serialised(element)
    assert same.count(True) > 1400


def test_real_pages_are_written_as_the_parser_writes_them(corpora: Path) -> None:
    same = []
    with lzma.open(corpora / "content" / "wcxb_dev.jsonl.xz", "rt") as lines:
        for line in islice(lines, 0, 240, 4):
            body = _body(json.loads(line)["html"])
            for element in dom.elements_list(body, "script", "style", "svg", "math", "template", "noframes", "xmp"):
                dom.drop(element)
            same.append(_is_same(body))
    assert False not in same
    assert same.count(True) > 0.9 * len(same)


@pytest.mark.parametrize("html", [b"", b"text", b"<p>a", b"<p>a</b>", b"<p a=1>b</p>", b"<p>a</p><p>b</p>", b"<pre>\na</pre>"])
def test_what_no_serialiser_writes_is_left_to_the_parser(html: bytes) -> None:
    assert _text_of(html) is None


def test_cut_and_changed_html_does_no_harm() -> None:
    rng = random.Random(8)
    whole = dom.serialised(_body("".join(_CONSTRUCTS)))
    for _ in range(2000):
        start = rng.randrange(len(whole))
        html = bytearray(whole[start : start + rng.randint(1, 600)] if rng.random() < 0.5 else whole)
        for _ in range(rng.randint(0, 4)):
            html[rng.randrange(len(html))] = rng.choice(b"<>/\"'= &ap\xc3\n")
        _text_of(bytes(html))
