"""The nodes that are compiled from a page's source are those of the parser's tree, or the page is left to the parser."""

from __future__ import annotations

import json
import lzma
import random
from html.entities import html5
from itertools import islice
from pathlib import Path

import pytest
from tests.quality.documents import made

from sitelore.extract import dom
from sitelore.extract.native.library import library

from .compiled_code import page_made

pytestmark = pytest.mark.skipif(library() is None, reason="no parser was compiled to compare with")

_CONSTRUCTS = [
    # What is around a body.
    "", " ", "x", " x ", "<p>a", "<!doctype html><p>a", "<html><head><title>a</title></head><body>b</body></html>",
    "<!-- a --><!doctype html><html lang=en> <!-- b --> <head> <meta charset=utf-8> </head> <body> a </body> b </html> c ",
    "<title>a</title>b", "<meta><link><style>a</style><script>b</script>c", "</p></br>a", "</div>a</span>",
    "<body a=1>b<body c=2 a=3>d", "<html a=1><html b=2 a=3>c<html d=4>", "<head></head> a <style>b</style>",
    "<head></head><style>a</style> <p>b", "<head></head></head><link>", "<head></head><head><link>",
    "<head></head><html a=1> <link>", "<head>a<title>b</title>", "<head><p>a</head>b", "</html>a<p>b</html><p>c",
    "</body><!-- a --> <p>b</body></html><p>c", "<head><noscript><link><p>a</noscript>b",
    "<noscript><style>a</style> </noscript><link>", "<head><noscript> a", "<body><noscript><p>a</noscript>b",
    "<head><base href=a><template><p>b</template><link>", "<frame>a<head>b<tr>c",
    # Doctypes, and what they say of tables in paragraphs.
    "<p>a<table>", "<!DOCTYPE HTML><p>a<table>", "<!doctypehtml><p>a<table>",
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><p>a<table>',
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd"><p>a<table>',
    '<!DOCTYPE html SYSTEM "about:legacy-compat"><p>a<table>', "<p>a<!doctype html>b",
    '<?xml version="1.0"?><!doctype html><p>a<table>',
    # Comments and what looks like them.
    "a<!-- b -->c", "a<!-->b-->c", "a<!--->b", "a<!---->b", "a<!--b--!>c", "a<!--b->c-->d", "a<!--b", "a<!b>c", "a<!>b",
    "a</ b>c", "a<?>b", "a<?xml b?>c", "<p>a<![CDATA[b]]>c", "a<!-- <!-- b --> c -->", "a < b << c <3 </", "a<", "a</", "a<b",
    "a<b c", "a<b c='d", "a</b", "<p>a</>b",
    # Tags and attributes.
    "<DIV CLASS=A Id='b'>c</DIV >d</div/>", "<p a b=c d = 'e' f=\"g\"h=i j/k=l/>m", "<p =a =b=c \"=d e'f=g <h i`=j>k",
    "<p a=1 A=2 a>b", "<br/><hr / ><img src=a/>b<div/>c", "<a\tb\n=\nc\fd>e",
    '<p class="a" >b<p class="c"/>d<p\nclass="e">f<p  id="g">h', "<x-y Z=1>a</X-Y>b", "<a<b>c</a<b>",
    "<p title='\"<>&\xa0'>\xa0<p title=\"a\nb&#10;c&#13;d\">", "<p é=ü>a</p><é>b", '<p a="&amp;&lt;&gt;&quot;&nbsp;">b',
    '<p a="?b=1&c=2&copy=3&copy;&copy">d', "<p a=&quot;b&quot c='&#38;&#x26;&#0;&notit;'>d", "<p class='a' class=\"b\">c",
    '<p viewBox="a" onClick="b">',
    # References.
    "&amp;&lt;&gt;&quot;&nbsp;&apos;", "&amp &lt&gt&copy&copyx&notit;&notin;&not",
    "&#65;&#x41&#x41;&#X42;&#0;&#128;&#x9f;&#xD800;&#x110000;&#99999999999;",
    "& &; &# &#; &#x &#x; &#xg; &a &zzz; &AMP; &Amp;", "&NotEqualTilde;&nGt;&CounterClockwiseContourIntegral;",
    "<title>&amp;&lt;b></title><textarea>&copy</textarea>",
    "<style>&amp;</style><script>&amp;</script><xmp>&amp;</xmp><iframe>&amp;</iframe>", "a&#13;b\r\nc\rd\n\re",
    # Text as it stands.
    "<script>a<b></script >c", "<script>'</scrip'+'t>'</SCRIPT\n>a", "<script><!-- a </script>b --></script>c",
    "<script><!-- <b>x</b> --></script>d", "<script><!-- <script>a</script> --></script>b",
    "<script><!--><script>a</script>b", "<style><!-- </style>a", "<script>a", "<title>a</titl></title b=c>d", "<title>a",
    "<textarea>\na</textarea><textarea>\n\nb</textarea><textarea>&#10;c",
    "<pre>\na</pre><pre>\n\nb</pre><pre>&#10;c</pre><listing>\r\nd</listing>", "<p><b>a<pre>\n</pre>c",
    "<xmp><b></xmp>a<noembed><i></noembed>b<noframes><u></noframes>c<iframe><s></iframe>",
    # Paragraphs, headings, items.
    "<p>a<p>b<div>c</p>d", "<p>a<b>b<p>c</b>d", "<p><button><p>a</button>b", "<h1>a<h2>b</h1>c",
    "<ul><li>a<li>b<ul><li>c</ul>d<li>e</ul>", "<li>a<div><li>b<p><li>c", "<dl><dt>a<dd>b<dt>c<dd><p>d<dd>e</dl>",
    "<ul><li><span>a<li>b</ul>", "<form><div><form>a</form></div>b</form>c", "<form>a<p>b</form>c",
    "<address>a<p>b</address>c", "<ruby>a<rb>b<rt>c<rtc>d<rt>e<rp>f</ruby>", "<button>a<button>b", "<div><p>a</div>b",
    "<center><p>a</center></center>b", "<object><p>a</object>b", "<dialog><p>a</dialog>b",
    # Formatting.
    "<b>a<i>b</b>c</i>d", "<p><b>a</p>b</b>c", "<b><p>a</b>b</p>c", "<a>b<div>c<a>d</div>e",
    "<a>b<table><tr><td><a>c</table>d", "<b><b><b><b><b>a<p>b", "<font size=1><p>a</font>b",
    "<i><b><u><s>a<div>b</i>c</div>d", "<b>a<table><tr><td>b</b>c</table>d", "<nobr>a<nobr>b</nobr>c",
    "<em>a<ul><li>b</em>c<li>d</ul>e", "</b><a></b>c</a>", "<a><p></a></p>", "<b><i><div><p>a</b>b</i>c",
    "<small><div><small></div>a</small>b", "<p><em>a<p>b<p>c</em>d", "<code><pre>a</code>b</pre>",
    "<b><source><track><param>a", "<i><p><source>", "<b id=a><b id=a><b id=a><b id=a><p>b",
    "<b a=1 b=2><b a=1 b=2><b a=1 b=2><b b=2 a=1></p><p>c",
    # Tables.
    "<table><tr><td>a<td>b<tr><th>c</table>d", "<table> <tr> <td> a </td> </tr> </table>", "<table>a<tr>b<td>c</table>",
    "<table><div>a</div><tr><td>b</table>c", "<table><caption>a<p>b<tr><td>c</table>",
    "<table><colgroup><col a=1><col></colgroup><tbody><tr><td>b</table>", "<table><col></col><col><tr>",
    "<table><td>a</tbody><tr>b", "<table><thead><tr><th>a<tbody><tr><td>b<tfoot><tr><td>c</table>",
    "<table><tr><td><table><tr><td>a</table>b</table>c", "<table><tr><td>a</tr></td>b</table>",
    "<table><form><tr><td><input></form></table>", "<table><input type=hidden><input type=text><tr><td>a</table>",
    "<table><script>a</script><style>b</style> <tr>", "<table><b>a<tr><td>b</table>c", "<table><tr><b>a</b>b<td>c</table>d",
    "<table><table>a</table>b", "</table></td></tr>a", "<table></p></div></b></form>a", "<table><td></body></html>a",
    "<table><!-- a --> <!-- b -->c<tr>", "<table><a>b<tr><td>c<a>d</table>e", "<p><table><tr><td><p>a</table>b",
    # Lists to choose from, templates.
    "<select><option>a<option selected>b<optgroup label=c><option>d<optgroup><option>e</select>f",
    "<select><div>a</div><p>b<hr>c</select>", "<select><select>a", "<select><input>a", "<select><option>a<b>b</select>c",
    "<option>a<option>b<optgroup>c", "<table><tr><td><select><option>a</td><td>b", "<datalist><option>a<option>b</datalist>",
    "<template><tr><td>a</template>b", "<template><p>a</template><table><template>b</template><tr>",
    "<div><template><li>a<li>b</template>c", "<template>a<template>b</template>c", "<template>a",
    # Drawings.
    "<svg viewbox=a><path d='b'/><lineargradient id=c></lineargradient></svg>d",
    '<svg viewBox="0 0" preserveAspectRatio="x"><g><circle r="1"/></g></svg>', "<svg><title>a<p>b</title>c</svg>d",
    "<svg><foreignobject><div>a<p>b</foreignobject></svg>c", "<svg><desc><svg></desc>a</svg>b",
    "<svg><style>a<b></style></svg>", "<svg><style>.a>b{}</style><script>c&amp;d</script></svg>e",
    "<svg><![CDATA[a<b>&amp;]]></svg>c", "<svg><p>a", "<svg><g></svg>a", "<svg></p>a",
    "<p><svg><a xlink:href='b'>c</a></svg>d", "<svg/>a", "<svg><PATH/><image href=a /></svg>", "<svg>a<!-- b -->c&lt;</svg>",
    "<table><tr><svg><td>a", "<b><svg><title></b>a", "<svg><select><option>a</svg>b", "<svg><br>a",
    "<svg><desc><td>a</td></desc></svg>",
]  # fmt: skip
_LEFT = [
    "a\0b", "<frameset><frame></frameset>", "<math><mi>x</math>", "<plaintext>a", "<keygen>", "<p><?php a ?>b", "<div>" * 400,
    "<svg><font size=1>a</svg>", "<table><input type=HIDDEN>", "<template shadowrootmode=open>a</template>", "<table> </> a",
    "<select><selectedcontent></selectedcontent><option>a</select>", "<p " + " ".join(f"a{i}" for i in range(300)) + ">",
    "<script><!-- <script></script> --></script>", "<!doctype a><p><table>",
    "<p>" + "".join(f"<i a={i}>" for i in range(250)) + "<p>a" * 3000,
]  # fmt: skip
_TAGS = [
    "a", "b", "i", "em", "font", "nobr", "code", "p", "div", "span", "ul", "li", "dl", "dt", "dd", "h1", "h2", "table", "tr",
    "td", "th", "tbody", "thead", "caption", "colgroup", "col", "form", "select", "option", "optgroup", "button", "input",
    "pre", "br", "hr", "img", "object", "script", "style", "title", "textarea", "template", "svg", "desc", "foreignObject",
    "path", "g", "noscript", "head", "body", "html", "ruby", "rt", "rp", "iframe", "source", "x-y",
]  # fmt: skip
_TEXTS = [
    "x", "x y", " ", "\n", "\r\n", "é", "東", "🙂", "&amp;", "&nbsp;", "&copy", "&notit;", "&#39;", "&#10;", "&", "<", "< ",
    "<!-- a -->", "<!-->", "</ a>", "</>", "<![CDATA[a]]>", "<!doctype html>", "<?xml a?>", "-->", "<a", "</",
]  # fmt: skip
_ATTRIBUTES = [
    "", "", "", "", ' class="a b"', " id=c", " ID='d'", ' href="?a=1&b=2"', ' href="?a=1&amp;b=2"', " hidden", " type=hidden",
    ' viewBox="0 0"', ' title="<\xa0>"', " a=b/", "/", ' c="&copy=1"', '\nclass="x"', ' x="1"y="2"', " =", ' class="a b"',
]  # fmt: skip


def _is_same(source: str) -> bool | None:
    """Whether both ways make the same of a source; None where the compiled one leaves it to the parser."""
    compiled = page_made("parse_page", source.encode())
    if compiled is None:
        return None
    html = dom.first(dom.parse(source), "html")
    assert html is not None
    wanted = dom.serialised(html)
    read = page_made("read_page", wanted)
    return compiled[1] == wanted and (read is None or compiled[0] == read[0])


def _soup(rng: random.Random) -> str:
    tags = rng.sample(_TAGS, rng.choice((3, 8, 20, len(_TAGS))))
    parts, opened = [rng.choice(("", "<!doctype html>", "<!doctype html><title>a</title><body>"))], ["p"]
    for _ in range(rng.choice((5, 15, 40, 100))):
        what = rng.random()
        if what < 0.45:
            opened.append(rng.choice(tags))
            parts.append(f"<{opened[-1]}{rng.choice(_ATTRIBUTES)}{rng.choice(('', '', '', ' ', '/'))}>")
        elif what < 0.7:
            parts.append(rng.choice(_TEXTS) if rng.random() < 0.5 else "x")
        else:
            parts.append(f"</{opened.pop() if opened and rng.random() < 0.7 else rng.choice(tags)}>")
    return "".join(parts)


@pytest.mark.parametrize("source", _CONSTRUCTS)
def test_a_construct_becomes_what_the_parser_makes_of_it(source: str) -> None:
    assert _is_same(source) is not False
    assert _is_same("<!doctype html>" + source + "<p>東") is not False


def test_what_is_common_is_not_left_to_the_parser() -> None:
    left = [source for source in _CONSTRUCTS if _is_same(source) is None]
    assert left == ["<script><!-- <script>a</script> --></script>b"]


@pytest.mark.parametrize("source", _LEFT)
def test_what_is_not_certain_is_left_to_the_parser(source: str) -> None:
    assert _is_same(source) is None
    assert page_made("parse_page", b"<p>a") is not None  # what is left does no harm to the next


def test_every_named_reference_means_what_the_parser_takes_it_for() -> None:
    names = sorted(html5)
    for behind in ("", ";", "x", "=", "1;"):
        text = "".join(f"<p title='&{name}{behind}'>&{name}{behind}</p>" for name in names)
        short = "".join(f"<p>&{name[:size]}{behind}" for name in names for size in (2, 4, len(name) - 1) if size < len(name))
        assert _is_same(text) is True
        assert _is_same(short) is True


def test_tag_soup_becomes_what_the_parser_makes_of_it() -> None:
    rng = random.Random(11)
    same = []
    for _ in range(4000):
        source = _soup(rng)
        same.append(_is_same(source))
        assert same[-1] is not False, source
    assert same.count(True) > 3600


def test_documents_nobody_would_write_become_what_the_parser_makes_of_them() -> None:
    real = ["".join(_CONSTRUCTS[:60]), "".join(_CONSTRUCTS[60:])]
    for seed in range(300):
        source = made(seed, real).response.body.decode("utf-8", "replace").removeprefix("\ufeff")
        assert _is_same(source) is not False, seed


def test_real_pages_become_what_the_parser_makes_of_them(corpora: Path) -> None:
    rng = random.Random(12)
    same = []
    with lzma.open(corpora / "content" / "wcxb_dev.jsonl.xz", "rt") as lines:
        for line in islice(lines, 0, 240, 3):
            page = json.loads(line)["html"]
            same.append(_is_same(page))
            assert _is_same(page[: rng.randrange(len(page) + 1)]) is not False
    assert False not in same
    assert same.count(True) > 0.95 * len(same)


def test_bytes_of_any_kind_do_no_harm() -> None:
    rng = random.Random(13)
    whole = "".join(_CONSTRUCTS).encode()
    for _ in range(1500):
        start = rng.randrange(len(whole))
        source = bytearray(whole[start : start + rng.randint(1, 800)])
        for _ in range(rng.randint(0, 6)):
            source[rng.randrange(len(source))] = rng.choice(b"<>/!-\"'= &;#ap\xc3\xc2\xa0\n\r")
        page_made("parse_page", bytes(source))
