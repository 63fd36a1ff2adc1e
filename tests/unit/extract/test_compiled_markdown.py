"""The compiled writer of Markdown gives what the parser's own gives, byte for byte, or leaves the tree to that."""

from __future__ import annotations

import html
import json
import lzma
import random
from itertools import islice
from pathlib import Path

import pytest

from sitelore.extract import dom
from sitelore.extract.about.links import resolver_for
from sitelore.extract.native.library import library
from sitelore.extract.writing.rewriting import Rewriter
from sitelore.model.url import Url

from .compiled_code import called

pytestmark = pytest.mark.skipif(library() is None, reason="no writer of Markdown was compiled to compare with")

_PAGE = Url("https://www.example.org/")
# What pages are made of: all of it has to be written.
_COMMON = [
    "<p>one</p> <p> two\n words </p>three<p></p>four<div>five<div> six</div>seven</div>",
    "# a<br>- b<br>+ c<br>= d<br>> e<br>1. f<br>2) g<br>3 . h<br>12.i<br>a 1. b",
    "a*b_c `d` [e] \\ ~f~ |g| !h #i &amp;amp; &amp;copy; &amp;#35; &amp;#x; & j &lt;k &lt; l &lt;",
    "<u>1</u>. a<p><b>1.</b> b<p><small>-</small> c<p><sup>1</sup>. d<p>x <sup>- e</sup>",
    "<h1>a</h1><h2> b  <i>c</i> </h2><h3># d</h3><h4>e #</h4><h5>f ##</h5><h6>1. g<br>h</h6><h2>i\u3000j</h2>",
    "<h2>a<p>b</p><ul><li>c</ul></h2>d<hr>e<hr><hr>",
    "a<br>b <br> c<br><br>d<p><br>e<p>f<br></p><br><div>g</div><br>h",
    "\u3000a\u3000<p>b \u2003<p>c\u3000d<br>\u3000e",
    "a<b> b </b>c <i>d</i>. (<b>e</b>) f<b>g</b>h <i><b>i</b></i> <b><i>j</i></b> <b>k <i>l</i></b> <i>m <b>n</b> o</i>",
    "a<b>(b)</b>c, d<i>.e</i> <b>f.</b>g <b>h: </b>i <b>(j)</b><img src=u> <b>(k)</b><a href=u>l</a> <b>(m)</b><br>n",
    "<b>a</b><b>b</b> <i>c</i><i>d</i> <b>e</b><i>f</i>g <b>h<i>i</i>j</b> <i>k<b>l</b></i> <b>m,<i>(n)</i></b>",
    "a <b>é</b> b<p><b>c</b><p><i>d<br>e</i>",
    "<p><b>é</b></p><p>“a” <i>b</i></p>",
    "<b><i>a &amp; b</i></b> c <s>d</s> <del>e</del>",
    "<del>a</del> b<s>c</s>d <strike>e.</strike>",
    "<b>a<br>b</b> <i>c<br>d<br>e</i>",
    "<b>a<p>b</p><h2>c</h2><ul><li>d</ul></b>",
    "<p>x</p><u> </u><p>y</p><label> <p>z</p> </label><x-y><section>a</section></x-y><form><div></div>b</form>",
    '<a href=u>a</a> <a href="u" title="t &quot;q&quot;">b [c]</a>!<a href=v>d</a> <a>e</a><a href=w> f </a>g',
    '<a href="a(b)">a</a><a href="a)b(">b</a><a href="a b">c</a><a href="">d</a><a href="a\\b&amp;amp;">e</a>',
    "<a href=u><h3>a</h3><p>b</p></a>c<a href=v><img src=i alt='x [y] *z*'></a><a href=w>- d<br>1. e</a>",
    "<img src=u alt='a &amp; b | c'><img src='a b' title=t><img src=v alt='a\nb'>",
    "<code>a</code> <code> b </code> <kbd>c`d</kbd> <samp>`e`</samp> <code>f\ng<br>h</code> <code>a|b *c*</code><code></code>",
    "<pre>a\n  b\n\n</pre><pre><code class='x language-py'>```\nc</code></pre>",
    "<pre class=language-js>d<b> e</b></pre><pre></pre>",
    "<p style='white-space: pre'>a  b</p><div style='white-space:nowrap'>c</div>",
    "<ul><li><p style='white-space:pre'>d</p></ul>",
    "<ul><li>a<li>b<ul><li>c<ol><li>d<li>e</ol></ul><li>f</ul>",
    "<ul><li><p>a</p><li><p>b</p></ul>x<ul><li><p>a</p><p>b</p><li>c</ul>",
    "<ol start=9><li>a<li>b<pre>c\n\nd</pre><li value=3>e<h3>f</h3>g</ol>",
    "<ul><li>a</ul><ul><li>b</ul><ol><li>c</ol><ol><li>d</ol><ol start=2><li>e</ol>",
    "<ul><li>a<pre>b</pre><li>c<blockquote>d</blockquote><li>e<hr><li><h3>f</h3><li>g</ul>",
    "<ul><li><pre>a</pre><li><ul><li>b</ul><li><ul><li>c</ul></ul>",
    "<ul><li>a<ul><li>b<p>c</p><li>d</ul><li>e<ul><li><h3>f</h3><li>g</ul></ul>",
    "<ul><li>a<ul><li><pre>b</pre></ul><li>c<ul><li>d</ul>e</ul>",
    "<ul><li>a<br>b<li><img src=u><h3>c</h3>d</ul>",
    "a<ul></ul>b<ul><li>c<ul> </ul><li><ul></ul>d<ul></ul>e</ul><ol></ol><ul><li>f</ul><blockquote><ul></ul>g</blockquote>",
    "x<ul><ul><li>a<li>b</ul><li>c</ul>y<ol><ul><li>d<ol><li>e</ol></ul></ol>z<ul><li>f<ul> <ul><li>g</ul></ul></ul>",
    "<ul><ul><li>a<li><p>b</p><p>c</p></ul><ol><li>d</ol><li>e<li>f</ul>x<ol><ol start=3><li>g</ol></ol>",
    "<ul><li><label><div>a</div></label><li><x-y>b<div>c</div></x-y>d<li>e<form><ul><li>f</ul></form></ul>",
    "<ul><li><x-y> <div><img src=i></div> </x-y><li><form>\n<pre>a</pre></form><li><p>b</p><form> <p>c</p></form></ul>",
    "<ul><li><x-y><section>a</section></x-y><li>b</ul><ul><li><h3>c</h3><x-y><div>d</div></x-y><li><x-y><h3>e</h3></x-y></ul>",
    "<blockquote>a<p><i> </i></p>b<form> <p>c</p></form></blockquote><blockquote> <p> </p> </blockquote>d",
    "<ol start><li>a<li value=x>b<li value='7 c'>d</ol><ol start=' +5'><li>e</ol>",
    "<table><tr><td>a<ul><li>b <li><p>c</p></ul><td><ol start=3><li>d<li value=7>e</ol>f<td> <ul> <li>g</ul></table>",
    "<table><tr><td>a<td> <ul> <li>g<ol><li>h</ol></ul></table>",
    "a &amp; <u>b</u>; c &amp;<u> d</u>",
    "<blockquote>a<p>b<br>c</p></blockquote>d<blockquote><ul><li>e<p>f</ul><pre>g\n\nh</pre></blockquote>",
    "<blockquote><blockquote>a</blockquote></blockquote>b<blockquote><blockquote>c</blockquote></blockquote>",
    "<ul><li>a<blockquote>b<ol><li>c</ol></blockquote></ul><blockquote><ul><li>d</ul></blockquote><ul><li>e</ul>",
    "<dl><dt>a<dd>b</dl><details><summary>c</summary>d</details><figure><img src=u><figcaption>e</figcaption></figure>",
    "<address>a</address><center>b</center><fieldset><legend>c</legend>d</fieldset><x-y>e</x-y><noscript>f</noscript>",
    "a<q>b <i>c</i></q>d<wbr>e<input>f<abbr>g</abbr><ins>h</ins><mark>i</mark><var>j</var><time>k</time><cite>l</cite>",
    "<table><tr><td>a|b<td><b>c</b><br>d<tr><td><a href='u|v'>e</a><td><p>f</p><p>- g</p></table>",
    "<ul><li><table><tr><td>a<td>b</table><li>c</ul><blockquote><table><tr><td>d</table></blockquote>",
    "中文<b>粗</b>。<i>斜</i> 😀<p>a\xa0b",
    "",
]  # fmt: skip
# What nobody writes: it may be left to the parser's writer.
_RARE = [
    "<b>a <b>b</b> c</b><del><i><b>d</b></i></del>",
    "<p>a</p><i> </i><ul><li><u> </u><li>b</ul>",
    "<q></q>a<q>\n1. b</q>",
    "<blockquote></blockquote>a",
    "<ul></ul>a<ul><li></ul>",
    "<ul><li><x-y><h3>a</h3></x-y>b<li>c</ul><form><ul></ul><section>d</section></form>",
    "<ul><ul><li>a</ul><li><ul><li>b</ul></ul><ol><ul><li>c</ul></ol><ol><li>d</ol>",
    "<blockquote> </blockquote><blockquote>a</blockquote><blockquote><form> </form><blockquote>b</blockquote></blockquote>",
    "&amp;am<b></b>p; <u>a &amp;b</u>; c",
    "<i><p></p><div><br></div>a</i><a href=u><h3>a<ul><li><br>b</ul></h3></a><ul><li><br><pre>c</pre></ul>",
    "<ul>a<div><li>b</div><ul><li>c</ul></ul>",
    "<ol start=x><li>a</ol><ol start=1234567890><li>a</ol>",
    "<code>a</code><code>b</code>`<code>c</code><code> </code>",
    "<h2></h2><h2><pre>a</pre></h2>",
    "<a href=u></a><a href='\x01'>b</a>",
    "<script>a<b>é</b></script><style>b</style><template>c</template><title>d</title>",
    "<textarea>e</textarea><iframe>f</iframe>",
    "<svg><title>a</title><a href=u>b</a></svg><math><mi>c</mi></math>",
    "<ul><li><input type=checkbox checked> a</ul>",
    "<p style='white-space:pre;background:url(a;b)'>c</p>",
    "<p style='white-space:normal !important;white-space:pre'>a</p>",
    "<li>a</li><dir><li>b</dir><menu><li>c</menu>",
    "<i>a\u3000</i>b<b>\xa0c</b>",
    "<ruby>a<rp>(</rp><rt>b</rt></ruby>",
    "<i>k</i><i>(<p>a</p></i>b<b>x\\</b>c<i>x\\y</i><b>a</b>",
    "<br><b>z<br></b><b><br>y</b>",
    "<a href=u><pre>a</pre><table><tr><td>b</table></a>",
    "<p>a</p><form><div></div></form><form> </form><p>b</p>",
    "<i><ul><li>a</ul></i><ul><li>b</ul>",
]
_WORDS = [
    "a", "bc.", "(d)", "1.", "2)", "-", "#", "*", "_e_", "é", "中", "“f”", "&", "<", ">", "&amp;", "[g]", "`", "~", "\\", "|",
    "!", "=", "x,", ":", "\u3000", "😀",
]  # fmt: skip
_INLINE = ["b", "strong", "i", "em", "del", "u", "a href=u", "a", "code", "q", "small", "label", "x-y", "sup", "cite"]
_BLOCKS = ["p", "div", "h2", "ul", "ol", "blockquote", "pre", "section", "table", "figure"]


def _markdown_of(serialised: bytes) -> bytes | None:
    return called("markdown_of_html", serialised)


def _is_written(element: dom.Element) -> bool:
    """Whether the compiled way wrote an element. What it writes has to be what the parser's writer gives."""
    written = _markdown_of(dom.serialised(element))
    if written is not None:
        assert written.decode() == dom.to_markdown(element, is_spliced=False), dom.serialised(element)
    return written is not None


def _body(text: str) -> dom.Element:
    body = dom.body(dom.parse(text))
    assert body is not None
    return body


class _Generator:
    """Documents that no person would write, the same for the same seed."""

    def __init__(self, seed: int, richness: float) -> None:
        self._random = random.Random(seed)
        self._richness = richness

    def flow(self, depth: int) -> str:
        """Some blocks and some text, nested up to a depth."""
        pick = self._random
        parts = [self._block(depth) if pick.random() < 0.5 else self._inline(depth) for _ in range(pick.randrange(4))]
        return pick.choice(["", "\n"]).join(parts)

    def _text(self) -> str:
        pick = self._random
        words = [pick.choice(_WORDS if pick.random() < self._richness else _WORDS[:3]) for _ in range(pick.randrange(1, 4))]
        edges = [pick.choice(["", "", " ", "\n"]) for _ in range(2)]
        return html.escape(edges[0] + pick.choice([" ", ""]).join(words) + edges[1], quote=False)

    def _inline(self, depth: int) -> str:
        pick = self._random
        if depth <= 0 or pick.random() < 0.4:
            return self._text()
        if pick.random() < 0.2:
            return pick.choice(["<br>", "<img src=u alt='a [b]'>", "<wbr>", " "])
        tag = pick.choice(_INLINE)
        inner = "".join(self._inline(depth - 1) for _ in range(pick.randrange(3)))
        return f"<{tag}>{inner}{self._block(depth - 1) if pick.random() < 0.05 else ''}</{tag.split()[0]}>"

    def _block(self, depth: int) -> str:
        pick = self._random
        tag = pick.choice(_BLOCKS) if depth > 0 else "p"
        if tag in {"ul", "ol"}:
            inner = f"<ul><li>{self.flow(depth - 2)}</li></ul>" if pick.random() < 0.1 else ""
            inner += "".join(f"<li>{self.flow(depth - 1)}</li>" for _ in range(pick.randrange(4)))
        elif tag == "table":
            inner = "".join(f"<tr><td>{self._inline(depth)}</td><td>{self._inline(depth)}</td></tr>" for _ in range(2))
        elif tag in {"p", "h2"}:
            inner = "".join(self._inline(depth) for _ in range(pick.randrange(4)))
        elif tag == "pre":
            inner = f"{self._text()}\n{self._text()}"
        else:
            inner = self.flow(depth - 1)
        return f"<{tag}>{inner}</{tag}>"


@pytest.mark.parametrize("text", _COMMON)
def test_what_pages_are_made_of_is_written_as_the_parser_writes_it(text: str) -> None:
    assert _is_written(_body(text))


@pytest.mark.parametrize("text", _RARE)
def test_what_nobody_writes_is_written_the_same_or_left_alone(text: str) -> None:
    _is_written(_body(text))


@pytest.mark.parametrize("tag", ["main", "div", "blockquote", "article", "form", "p", "center", "x-y"])
def test_the_chosen_element_itself_may_be_of_any_kind(tag: str) -> None:
    element = dom.made(tag, None, dom.words(" - a "), dom.made("b", None, dom.words("b")), dom.made("p", None, dom.words("c")))
    assert _is_written(element)


@pytest.mark.parametrize("edge", [*map(chr, range(33, 127)), "é", "\u3000", "\u2028", "\xa0", "😀"])
def test_whatever_stands_next_to_emphasis(edge: str) -> None:
    char = html.escape(edge)
    patterns = [
        "p {0}<b>(x</b>",
        "<b>x)</b>{0} p",
        "a<i>{0}x</i>",
        "<i>x{0}</i>a",
        "<b>x<i>{0}</i></b>",
        "{0}<del>x</del>{0}",
        "{0}<a href=u>x</a>",
    ]
    for pattern in patterns:
        _is_written(_body(pattern.format(char)))


@pytest.mark.parametrize(("seed", "richness"), [(1, 0.0), (2, 0.1), (3, 0.4)])
def test_generated_documents_are_written_the_same_or_left_alone(seed: int, richness: float) -> None:
    documents = [_Generator(seed * 10_000 + number, richness).flow(3) for number in range(500)]
    written = sum(_is_written(_body(document)) for document in documents)
    assert written > len(documents) // 3


def test_real_pages_are_written_as_the_parser_writes_them(corpora: Path) -> None:
    count = written = 0
    with lzma.open(corpora / "content" / "wcxb_dev.jsonl.xz", "rt") as lines:
        for line in islice(lines, 0, 400, 8):
            body = dom.body(dom.parse(json.loads(line)["html"]))
            if body is None:
                continue
            for element in dom.select(body, "script,style,template,svg,iframe,title,textarea,math"):
                dom.drop(element)
            rewriter = Rewriter(resolver_for(()).on_page(_PAGE))
            rewriter.rewrite(body)
            if not rewriter.is_spliced:
                count += 1
                written += _is_written(body)
    assert written > count * 0.5  # whole pages, menus and all: of chosen content it is nearly all


@pytest.mark.parametrize(
    "text",
    [
        "<b>(x)</b><u></u>" * 20_000,
        "<b>x</b>" * 20_000,
        "<ul>" + "<li>x<ul><li>y</li></ul></li>" * 10_000 + "</ul>",
        "<a href=u>x</a> " * 20_000,
        "<ul><li>" * 120 + "x",
        "<blockquote>" * 250 + "x",
        "<i>" + "<br>x" * 20_000,
        "<p>" + "`" * 20_000 + "<pre>" + "`" * 20_000,
    ],
)
def test_large_and_deep_trees_are_written_at_once(text: str) -> None:
    _is_written(_body(text))


def test_html_that_is_cut_short_or_odd_is_left_alone_or_written() -> None:
    whole = dom.serialised(_body("".join(_COMMON)))
    for end in range(0, len(whole), 7):
        assert _markdown_of(whole[:end]) is None or whole[:end].endswith(b">")
    pick = random.Random(7)
    for _ in range(1_000):
        at = pick.randrange(len(whole))
        _markdown_of(whole[:at] + bytes([pick.randrange(256)]) + whole[at + pick.randrange(9) :])
