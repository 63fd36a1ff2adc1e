"""What compiled code makes of a chosen element is what Python makes of it, or it is left to Python."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest
from bench.content_scores import CORPUS, corpus

from sitelore.extract import dom
from sitelore.extract.about.links import PageResolver, resolver_for
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.native.library import library
from sitelore.extract.writing.markdown import _clear_text, _take_apart_tables, prepare
from sitelore.extract.writing.rewriting import Rewriter

from .compiled_code import called

pytestmark = pytest.mark.skipif(library() is None, reason="no rules of rewriting were compiled to compare with")

_PAGE = "http://site.example/dir/page"
_CORPUS_PAGES = 40

# Done in C; whatever stands here must not be left to Python.
_DONE = {
    "links": (
        '<p>'
        '<a href="/x">a</a> <a href="y#z">b</a> <a href="javascript:x()">c</a> <a href="mailto:a@b.example">d</a> <a>e</a></p>'
    ),
    "address_with_brackets": '<p><a href="/a(b)\'c?q=&quot;&amp;x">a</a></p>',
    "empty_links": '<p><a href="/x"> </a><a href="/x"></a><a href="/x"><i> </i></a><a href="/x"><img src="i.png"></a></p>',
    "link_with_a_space_that_does_not_break": '<p><a href="/x">\xa0</a>|<a href="/x"><i>\xa0</i></a></p>',
    "permalinks": (
        '<h2>One <a href="#one" class="headerlink">¶</a></h2><h2 id="x"><a href="#x">Two</a></h2><p>'
        '<a href="#y">§</a></p>'
    ),
    "permalink_of_another_page": (
        '<h2><a href="/p#x">Two</a></h2><h2>Three <a href="/p#x">#</a></h2><p><a href="/p#x">#</a>'
        '</p>'
    ),
    "permalink_named_so": (
        '<h3>T <a class="x Anchor-Link" href="/p#a">link</a></h3>'
        '<h3>T <a class="anchors" href="/p#a">link</a></h3>'
    ),
    "permalink_of_other_scripts": '<h2>x <a href="#a">中文</a></h2><h2>x <a href="#a">↑</a></h2><h2>x <a href="#a">Да</a></h2>',
    "permalink_that_is_a_picture": '<h2><a href="#a"><img src="/i.png"></a> x</h2>',
    "link_around_a_heading": '<a href="/x" title="t"><div>a</div><h3>b <i>c</i></h3></a>',
    "link_around_an_empty_heading": '<a href="/x"><h3> </h3><p>b</p></a>',
    "link_around_blocks": '<a href="/x"><div> <p>one <b>two</b></p><p>three</p></div></a>',
    "link_around_one_block": '<a href="/x"><div>a</div></a>',
    "link_around_a_line_and_a_block": '<a href="/x"> <img src="/i.png"> a<div>b</div></a>',
    "link_around_pictures_in_blocks": '<a href="/x"><div><img src="/i.png"></div><div>a</div><div>b</div></a>',
    "pictures": '<p><img src="i.png" alt="a\n b\xa0c" title="x\ny"><img src="/i.png#f"><img><img src=" "></p>',
    "pictures_that_are_not_seen": (
        '<p><img src="a" width="1"><img src="a" height="0px"><img src="a" style="Display : none">'
        '</p>'
    ),
    "pictures_that_load_late": (
        '<p><img src="/blank.gif" data-src="/a.png"><img src="data:x" data-lazy="b.png"><img src="/c.png" data-original="{d}">'
        '<img src="spacer.gif" srcset="e.png 1x, f.png 2x"><img srcset="g.png 300w,h.png 1200w"><img src="a_1x1.png?x"></p>'
    ),
    "picture_of_sources": '<picture><source srcset="a.webp 1x, b.webp 1.5x"><source srcset="c"><img src="data:,"></picture>',
    "breaks": "<p>a<br><br>b<br>c <b>d<br></b>e<i><br>f</i><br> <br> <br>g</p><h2>a<br><br>b</h2><p><span><br></span></p>",
    "lists": (
        '<ul><li>a</li><li> </li>b<li>c</li><p>d</p></ul><ul>x<div><li>y</li></div></ul><ul> <li></li></ul>'
        '<ol start="3"><li>z</ol>'
    ),
    "nested_lists": "<ul><li>a<ul><li>b</li></ul></li><ul><li>c</li></ul></ul><ol><ul><li>d</li></ul></ol>",
    "headings": '<h2>a<span class="mw-editsection">[edit]</span></h2><h3> <i></i></h3><h4><img src="/i.png"></h4>',
    "menus": '<nav><a href="/a">a</a> <a href="/b">b</a></nav><nav><a href="/a">a</a> x</nav><nav></nav>',
    "contents": (
        '<p>text</p><ul><li><a href="#a">a</a></li><li><a href="#b">b</a><ul><li><a href="#c">c</a></li>'
        '</ul></li></ul>'
    ),
    "contents_that_are_all": '<ul><li><a href="#a">a</a></li><li><a href="#b">b</a></li></ul>',
    "contents_with_more": (
        '<p>text</p><ol><li><a href="#a">a</a>: b</li><li><a href="#b">b</a></li></ol><ul><li>'
        '<a href="#a">a</a></li></ul>'
    ),
    "raised": (
        "<p>10<sup>6</sup> x<sup>n-1</sup> 1<sup>st</sup> Ca<sup>2+</sup> m<sup>\u2212 1</sup> m<sup> \u22121 </sup>"
        "<sup>T</sup><sup>12b</sup><sup>-</sup><sup><i>2</i></sup><sup>™</sup><sup>1234567</sup><sup></sup></p>"
    ),
    "lowered": "<p>H<sub>2</sub>O x<sub>i</sub> y<sub>T</sub> z<sub>10-</sub> <code>a<sub>2</sub></code></p>",
    "spaces": "<p>a\xa0b\u202fc\u3000d</p><p>\xa0</p>",
    "unseen": "<p>soft\xadhyphen zero\u200bwidth é\u200dé a\u200db x\u200c क\u094d\u200dष \ufeff</p>",
    "marks": "<p><b>a<strong>b</strong></b><i><span><em>c</em></span></i><b><i>d</i></b><font>e<span>f</span></font></p>",
    "summaries": (
        "<details><summary>a</summary>b</details><details><summary><b>a</b></summary></details><summary>"
        "<p>x</p></summary>"
    ),
    "typewriter": "<p><tt>a</tt></p>",
    "prices": "<p>$5 and $$, even $$$ or $$$$; a \\ b \\( c</p>",
    "references": "<p>&lt;b&gt; &amp;amp; &quot;x&quot;</p>",
    "odd_attributes": '<p a"b="c" =d="&lt;"><a href="/x" title="&quot;&gt;" Data-X>y</a></p>',
}  # fmt: skip

_LEFT = {
    "definitions": "<dl><dt>a</dt><dd>b</dd></dl>",
    "readings": "<ruby>漢<rt>kan</rt></ruby>",
    "formula_between_brackets": "<p>so \\(x^2\\) is</p>",
    "formula_between_dollars": "<p>so $$x^2$$ is</p>",
    "formula_of_a_picture": '<p><img class="tex" alt="x^2" src="/i.png"></p>',
    "footnotes": '<p>a<sup><a href="#n1">1</a></sup></p><ol><li id="n1">note</li></ol>',
    "backward_lists": "<ol reversed><li>a</li><li>b</li></ol>",
    "old_listings": "<xmp><b></xmp>",
    "task_boxes": "<ul><li><input type=checkbox checked> a</li></ul>",
    "controls": "<p>a&#11;b</p>",
}


def answers_to(addresses: bytes, resolver: PageResolver) -> bytes:
    targets = [resolver.target(raw) for raw in addresses.decode().split("\0")[:-1]]
    return "".join([f"{'' if target.url is not None else chr(1)}{target.written}\0" for target in targets]).encode()


def compiled(html: bytes) -> bytes | None:
    """None where it is left to Python."""
    addresses = called("addresses_in_html", html)
    return None if addresses is None else called("rewritten_html", answers_to(addresses, resolver_for(()).on_page(_PAGE)))


def in_python(node: dom.Element) -> bytes:
    _clear_text(node)
    _take_apart_tables(node, deeper_than=8)
    Rewriter(resolver_for(()).on_page(_PAGE)).rewrite(node)
    return dom.serialised(node)


def body_of(source: str) -> dom.Element:
    tree = dom.parse(f"<!doctype html><body>{source}")
    prepare(tree)
    body = dom.body(tree)
    assert body is not None
    return body


def assert_alike(source: str) -> bool:
    """Whether it was done in C at all."""
    body = body_of(source)
    html = dom.serialised(body)
    found = compiled(html)
    assert found is None or found == in_python(body), html
    return found is not None


@pytest.mark.parametrize("name", _DONE)
def test_what_pages_are_made_of_is_done_as_python_does_it(name: str) -> None:
    assert assert_alike(_DONE[name])


@pytest.mark.parametrize("name", _LEFT)
def test_what_is_rare_is_left_to_python(name: str) -> None:
    assert not assert_alike(_LEFT[name])


def test_every_letter_that_c_knows_is_one_to_python() -> None:
    codes = [*range(0x80, 0x3100, 3), *range(0x3100, 0x20000, 199)]
    done = sum(assert_alike(f'<h2>x <a href="#y">{chr(code)}</a></h2>') for code in codes if not 0xD800 <= code < 0xE000)
    assert done > len(codes) // 3


_ADDRESSES = [
    "#", "#a", "#b", "#fn1", "#fn%31", "/x", "/x#y", "x?a=b#c", "mailto:a@b.example", "javascript:x()", "",
    "data:image/png;base64,AA", "/img/blank.gif", "/a/spacer-1.PNG?x=/y", "lazyload.svg", "/pixel/photo.jpg", "{{src}}",
    "1x1.png", "/i/é.jpg", "/i/blan\u212a.jpg", "x_blank.a.gif", "/a.b/dot", "?",
    "//cdn.example/i.png", " /s.jpg ", "#é", " #c", "tel:+123456", ".blank.gif",
]  # fmt: skip
_SETS = [
    "a.jpg 1x, b.jpg 2x", "/c.png 300w,/d.png 600w", "/e.png 1.5x , f.png 1..5x", ", ,x", ",,", "data:x 3x, y 2w", "a,b 2x",
    "a 12345678901234w", "g.png\xa02x, h", "k  3h,", "a 5q, b 4x", "{x} 9x", "a .x,b .5x", "x \u0663x", " ,a 1.x",
]  # fmt: skip
_CLASSES = ["headerlink", "x anchor-link", "Header-Anchor", "footnote-ref", "mw-editsection", "tex", "hash-link é", "anchor\n"]
_WORDS = [
    "x", "word", "Two words", " ", "\n", "\xa0", "a\xa0b", "\u3000", "c\u202fd", "\u200b", "soft\xadhyphen", "é\u200dé",
    "a\u200db", "1", "12", "2+", "n-1", "\u2212", "T", "th", "#", "¶", "🔗", "中文", "é", "\u0663", "12b", "[1]", "[ note 2 ]",
    "†",
    "(a)", "\\(x\\)", "$$x=1$$", "$$", "&lt;b&gt;", "&amp;", "\u2028", "\x85", "edit", "Привет", "क", "½", "™",
    "\U0001d4b3",
]  # fmt: skip
_TAGS = [
    *["a"] * 10, *["img"] * 5, *["br", "span", "div", "p", "li"] * 4, *["ul", "b", "sup", "h2"] * 2, "ol", "nav", "sub",
    "summary", "tt", "code", "h3", "font", "strong", "i", "em", "u", "section", "picture", "source", "figure", "x-own", "dl",
    "dt",
    "hr", "table", "tr", "td", "pre",
]  # fmt: skip


def _attributes(random: Random, tag: str) -> dict[str, str]:
    likely: dict[str, tuple[float, list[str]]] = {"class": (0.2, _CLASSES), "id": (0.1, ["a", "b", "fn1"])}
    if tag == "a":
        likely |= {"href": (0.9, _ADDRESSES), "title": (0.2, _WORDS)}
    elif tag in {"img", "source"}:
        styles = ["display:none", "DISPLAY : None", "visibility:\thidden", "display:block;x:none", "é:display:none"]
        sources = {"src": (0.8, _ADDRESSES), "data-src": (0.1, _ADDRESSES), "data-lazy": (0.1, _ADDRESSES)}
        sets = {"srcset": (0.3, _SETS), "data-srcset": (0.1, _SETS), "alt": (0.4, [*_WORDS, "two\nlines\xa0 here"])}
        likely |= sources | sets | {"width": (0.1, ["0", "1px", "100"]), "style": (0.1, styles)}
    return {name: random.choice(values) for name, (share, values) in likely.items() if random.random() < share}


def document(random: Random, depth: int = 0) -> str:
    parts = []
    for _ in range(random.choice([1, 1, 2, 2, 3, 5])):
        if depth > 5 or random.random() < 0.45:
            parts.append(random.choice(_WORDS))
            continue
        tag = random.choice(_TAGS)
        given = [f' {name}="{value}"' for name, value in _attributes(random, tag).items()]
        inner = "" if tag in {"img", "br", "hr", "source"} else document(random, depth + 1) + f"</{tag}>"
        parts.append(f"<{tag}{''.join(given)}>{inner}")
    return "".join(parts)


def test_documents_of_every_kind_are_done_alike_or_left() -> None:
    done = sum(assert_alike(document(Random(seed))) for seed in range(3000))
    assert done > 1000


def test_names_of_pictures_that_show_nothing_are_told_alike() -> None:
    random = Random(7)
    words = [
        "blank",
        "LOADING",
        "lazy",
        "lazyload",
        "1x1",
        "dot",
        "a",
        "photo",
        "/",
        ".",
        "-",
        "_",
        ".gif",
        ".JPEG",
        "?",
        ".gifx",
    ]
    names = ["".join(random.choices(words, k=random.randint(1, 7))) for _ in range(3000)]
    assert assert_alike("".join(f'<img src="{name}" data-lazy="/real.jpg">' for name in names))


def test_pages_of_the_corpus_are_done_alike_and_few_are_left() -> None:
    if not CORPUS.exists():
        pytest.skip("the content corpus is not on this machine (set SITELORE_CORPORA)")
    done = 0
    for page in islice(corpus(), _CORPUS_PAGES):
        tree = dom.parse(page.html)
        prepare(tree)
        drop_unseen(tree)
        body = dom.body(tree)
        assert body is not None
        found = compiled(dom.serialised(body))
        assert found is None or found == in_python(body)
        done += found is not None
    assert done >= _CORPUS_PAGES * 0.8


def test_html_that_no_parser_wrote_is_never_trusted() -> None:
    random = Random(11)
    whole = dom.serialised(body_of("".join(_DONE.values())))
    bits = [b"<", b">", b"</", b'"', b"=", b"&", b"\xc2", b"\xe2\x80", b"\xf0", b"\0", b"\xff", b"<li>", b'<a href="#', b"</a>"]
    for _ in range(2000):
        broken = bytearray(whole[: random.randrange(len(whole))] if random.random() < 0.2 else whole)
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(broken) + 1)
            broken[at : at + random.randint(0, 3)] = random.choice(bits)
        html = bytes(broken)  # has to stay until it is rewritten
        addresses = called("addresses_in_html", html)
        if addresses is not None:
            called("rewritten_html", b"http://site.example/\0" * addresses.count(0))


def test_answers_to_other_questions_are_not_taken() -> None:
    html = b'<div><a href="/x">a</a></div>'
    for answers, is_taken in ((b"", False), (b"http://a/\0", True), (b"http://a/", False), (b"http://a/\0http://b/\0", False)):
        assert called("addresses_in_html", html) == b"/x\0"
        assert (called("rewritten_html", answers) is not None) is is_taken


@pytest.mark.parametrize(
    "html", [b"", b"text", b"<p>a</p><p>b</p>", b'<a href="/x">a</a>', b"<span>a</span>", b"<_md>x</_md>", b"<div>" * 2]
)
def test_what_is_no_chosen_element_is_left(html: bytes) -> None:
    assert compiled(html) is None


def test_more_elements_than_python_has_rules_for_are_left() -> None:
    assert compiled(b"<div>" + b"<br>" * 50_000 + b"</div>") is not None
    assert compiled(b"<div>" + b"<br>" * 50_001 + b"</div>") is None
    assert compiled(b"<div>" * 302 + b"</div>" * 302) is None
