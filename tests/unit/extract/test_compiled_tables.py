"""Tables and listings come out of the compiled rules as they come out of those in Python, or are left to them."""

from __future__ import annotations

import random

import pytest

from sitelore.extract import dom
from sitelore.extract.about.links import Resolver
from sitelore.extract.native.library import library
from sitelore.extract.writing.listings import _KNOWN, _NO_LANGUAGE
from sitelore.extract.writing.markdown import _clear_text
from sitelore.extract.writing.rewriting import Rewriter
from sitelore.model.url import KeyRules

from .compiled_code import called

pytestmark = pytest.mark.skipif(library() is None, reason="no rules of rewriting were compiled to compare with")
_BASE = "https://www.example.org/some/page/"
_LONG = "long " * 121

_LISTINGS = [
    "<pre>a\n  b\n</pre>",
    "<pre>\n\n a</pre><pre> \n</pre><pre></pre><pre>\xa0</pre>",
    "<pre><img src=https://example.org/a.png></pre>",
    "<pre><img src=https://example.org/a.png>a</pre>",
    "<pre><code class='language-js'>a</code></pre>",
    "<pre class='highlight python'><span class=k>def</span> <span>f</span>():\n    <b>pass</b></pre>",
    "<div class='highlight highlight-source-c++'><pre>a</pre></div>",
    "<div class='sourceCode'><pre class='sourceCode r'><code class='sourceCode r'>a</code></pre></div>",
    "<pre data-lang='Ruby '>a</pre><pre lang=en>b</pre><pre lang=lua>c</pre><pre syntax='x y'>d</pre>",
    "<pre class='brush: js; toolbar: false'>a</pre><pre class='brush:'>b</pre><pre class='brush: language-x'>c</pre>",
    "<pre class='language-none c'>a</pre><pre class='highlight-text'>b</pre><pre class='highlight-Text'>c</pre>",
    "<pre class='line-numbers lang-css'><span class=gutter>1\n2</span><code>a</code></pre>",
    "<pre><span class='linenos'>1</span> a\n<span class='linenos'>x</span> b</pre>",
    "<pre><span data-line-number=1>1</span>a\n<i data-line-number=2 data-line=2>2</i>b</pre>",
    "<pre><span class=line>a</span><span class='code-line x'>b</span>\n<span class=cl>c</span><span class=line>d</span></pre>",
    "<pre><span style='display: block'>a</span><span style='display:inline'>b</span><span style='display:grid'>c</span></pre>",
    "<pre><span class=line>a</span></pre><pre><span class=deadline>a</span><span class=deadline>b</span></pre>",
    "<pre><div>a</div><div>b<div>c</div></div><p>d</p></pre><pre><ol><li>a<li>b\n<li>c</ol></pre>",
    "<pre>a<br>b<br><br>c</pre><pre><code>a<br>b</code></pre>",
    "<div><pre class=js>a</pre></div><div class='code python'><pre>b</pre></div><div class=css><pre>c</pre></div>",
    "<div class=code><pre class=x>a</pre><pre>b</pre><pre>c</pre><pre>d</pre></div>",
    "<pre class='é js'>a</pre><pre class='a\u2003js'>b</pre><pre class='lang-\u017fh'>c</pre>",
    "<pre><pre>a</pre><code>b</code></pre>",
    "<p><code>a</code> <tt>b</tt><code>c</code><code>d</code><code>e <b>f</b></code></p>",
    "<p><tt>a</tt><code>b</code><tt>c</tt><code>d</code><code><code>e</code></code><code>f</code></p>",
    "<p><code><a href=https://example.org/>a</a></code> <code><a href=https://example.org/>a</a>b</code></p>",
    "<code>a<br>b</code><code class=lang-js><div>a</div><div>b</div></code>",
    "<div class=highlight> <code>a\nb</code> </div><div class=highlight><code>a\nb</code>c</div>",
    "<code style='white-space: pre'>a\nb</code><p><code>\na\n</code></p>",
]
_TABLES = [
    "<table><tr><th>a<th>b<tr><td>c<td>d</table>",
    "<table><tr><td>a<td>b<tr><td>c<td>d</table>",
    "<table><tr><td>a</table><table><tr><th>a</table>",
    "<table></table><table><tr></table><table><caption>a</caption></table>",
    "<table role=presentation><tr><td>a<td>b</table><table role=None><tr><th>a<th>b</table>",
    "<table><caption>a <b>b</b></caption><tr><td>c<td>d</table><table><caption> </caption><tr><td>c<td>d</table>",
    "<table><caption><p>a</p></caption><tr><td>c<td>d</table>",
    "<table><thead><tr><th>a<th>b</thead><tfoot><tr><td>y<td>z</tfoot><tbody><tr><td>c<td>d</tbody></table>",
    "<table><colgroup><col></colgroup><tr><td><h2>a</h2><td>b</table><table><tr><td><p>a</p><tr><td><p>b</p></table>",
    "<table><tr><td><p>a</p><p>b</p><td><ul><li>c<li>d</ul><tr><td><dl><dt>e<dd>f</dl><td>g</table>",
    f"<table><tr><td><p>{_LONG}</p><td>b</table><table><tr><td>{_LONG}<td>b</table>",
    "<table><tr><td>a<td>b<tr><td>c<tr><tr><td>d<td>e<td>f</table>",
    "<table><tr><td colspan=2>a<td>b<tr><td>c<td>d<td>e</table>",
    "<table><tr><td rowspan=2>a<td>b<tr><td>c<tr><td rowspan=0 colspan=0>d<td colspan=' 2 '>e<tr><td>f</table>",
    "<table><tr><td colspan=x>a<td colspan=999999>b<tr><td rowspan=9><b>c</b></table>",
    "<table><tr><td colspan=''>a<td>b<tr><td>c<td>d</table>",
    "<table><tr><td colspan=٣>a<td>b</table>",
    "<table><tr>" + "<td>a" * 90 + "</tr>" + "<tr><td>b" * 90 + "</table>",
    "<table width=9><tr><td>a<td><table><tr><td>b<td>c</table></table>",
    "<table><tr><td>a<td><table><tr><td>b</table></table>",
    "<table><tr><th>a<td><pre>b</pre></table>",
    "<table class=highlighttable><tr><td class=linenos><pre>1\n2</pre><td class=code><pre>a\nb</pre></table>",
]
_PIECES = [
    "a", "b c", "1 2", "\n", " ", "\xa0", "\u2003", _LONG, "x\ny", "*", "é", "<br>", "<p>a</p>", "<b>c</b>", "<code>d|</code>",
]  # fmt: skip


def _is_same(inner: str) -> bool | None:
    """Whether both ways rewrite the same; None where the compiled one leaves it to Python."""
    chosen = dom.first(dom.parse(f"<main><div><div><div>{inner}</div></div></div></main>"), "main")
    assert chosen is not None
    resolver = Resolver(KeyRules()).on_page(_BASE)
    html = dom.serialised(chosen)
    addresses = called("addresses_in_html", html)
    if addresses is None:
        return None
    answers = [resolver.target(raw.decode()).written for raw in addresses.split(b"\0")[:-1]]
    rewritten = called("rewritten_html", b"".join(answer.encode() + b"\0" for answer in answers))
    _clear_text(chosen)
    rewriter = Rewriter(resolver)
    rewriter.rewrite(chosen)
    assert rewritten is None or not rewriter.is_spliced
    return None if rewritten is None else rewritten == dom.serialised(chosen)


def _grown_table(rng: random.Random, depth: int) -> str:
    width, height = rng.randint(1, 4), rng.randint(1, 4)
    rows = []
    for _ in range(height):
        cells = []
        for _ in range(width if rng.random() < 0.8 else rng.randint(0, 4)):
            tag = "th" if rng.random() < 0.2 else "td"
            span = rng.choice(["colspan", "rowspan"]) + f"={rng.choice([0, 1, 2, 3, 'x'])}" if rng.random() < 0.15 else ""
            cells.append(f"<{tag} {span}>{_grown(rng, depth - 1)}</{tag}>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    part = rng.choice(["tbody", "tbody", "thead", "tfoot"])
    caption = f"<caption>{rng.choice(_PIECES)}</caption>" if rng.random() < 0.1 else ""
    return f"<table>{caption}<{part}>{''.join(rows[:2])}</{part}>{''.join(rows[2:])}</table>"


def _grown_listing(rng: random.Random, depth: int) -> str:
    tag = rng.choice(["pre", "pre", "code", "code", "tt", "span", "div"])
    class_ = rng.choice(["", "", "line", "highlight", "language-js", "python", "gutter", "code cl", "brush: go"])
    return f"<{tag} class='{class_}'>{_grown(rng, depth - 1)}</{tag}>"


def _grown(rng: random.Random, depth: int) -> str:
    parts = []
    for _ in range(rng.randint(1, 4)):
        if depth <= 0 or rng.random() < 0.5:
            parts.append(rng.choice(_PIECES))
        else:
            parts.append((_grown_table if rng.random() < 0.3 else _grown_listing)(rng, depth))
    return "".join(parts)


@pytest.mark.parametrize("html", [*_LISTINGS, *_TABLES])
def test_a_construct_is_rewritten_as_in_python(html: str) -> None:
    assert _is_same(html) is not False


def test_what_is_common_is_not_left_to_python() -> None:
    assert [html for html in _LISTINGS if _is_same(html) is None] == [_LISTINGS[21]]
    assert sum(_is_same(html) is None for html in _TABLES) == 4  # three that stay HTML or listings, and a span in other digits


def test_the_same_names_are_languages() -> None:
    names = [*_KNOWN, *_NO_LANGUAGE, "text", "js2", "C", "Java"]
    for name in names:
        html = f"<pre class='{name}'>a</pre><pre class='lang-{name}'>b</pre><pre lang='{name}'>c</pre>"
        assert _is_same(html) is True, name


def test_generated_documents_are_rewritten_as_in_python() -> None:
    rng = random.Random(5)
    same = []
    for _ in range(500):
        html = _grown(rng, 3)
        same.append(_is_same(html))
        assert same[-1] is not False, html
    assert same.count(True) > 250


def test_a_row_of_many_codes_is_one() -> None:
    assert _is_same("<code>a</code>" * 1_000) is True


def test_tables_are_spelled_as_the_parser_spells_them() -> None:
    rng = random.Random(6)
    same = []
    for _ in range(400):
        table = _grown_table(rng, 1)
        chosen = dom.first(dom.parse(f"<div>{table}</div>"), "div")
        assert chosen is not None
        _clear_text(chosen)
        Rewriter(Resolver(KeyRules()).on_page(_BASE)).rewrite(chosen)
        written = called("markdown_of_html", dom.serialised(chosen))
        expected = dom.to_markdown(chosen, is_spliced=False)
        assert written is None or written.decode() == expected, dom.serialised(chosen)
        same.append(written is not None)
    assert sum(same) > 150
