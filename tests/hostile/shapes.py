"""Pages that are cheap to send and may be expensive to read. Each generator takes a size and returns HTML of that order.

`tests/hostile/test_shapes.py` counts the work that reading them takes; `bench/shapes.py` measures time and memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Generator: TypeAlias = Callable[[int], str]

_SENTENCE = "The mill stands where the river bends, and its wheel has not turned since the flood of that year. "
_STORY = f"<h1>The old mill</h1>{f'<p>{_SENTENCE * 3}</p>' * 12}"
_SCHEMA = "https://schema.org/"


@dataclass(frozen=True, slots=True)
class Shape:
    """A generator and the size at which it writes a page of some tens of kilobytes."""

    html: Generator
    size: int


def _page(body: str, head: str = "") -> str:
    """A page whose hostile part is content at any size, so that it is not cut before rendering."""
    return f"<!doctype html><html><head><title>Mill</title>{head}</head><body><article>{_STORY}{body}</article></body></html>"


def _repeated(part: str, head: str = "") -> Generator:
    return lambda n: _page(part * n, head)


def _numbered(part: str, around: str = "{}") -> Generator:
    """`part` once for each number, which replaces `#`."""
    return lambda n: _page(around.replace("{}", "".join([part.replace("#", str(i)) for i in range(n)])))


def _selectors_and_elements(n: int) -> str:
    rules = "".join([f".s{i}x{i % 7}{{display:none}}" for i in range(n)])
    return _page("".join([f"<p class='s{i}x{i % 5} e{i}'>{i} words</p>" for i in range(n)]), f"<style>{rules}</style>")


def _many_sheets(n: int) -> str:
    sheets = "".join([f"<style>.s{i}a,#s{i}b{{left:-9999px}}.s{i}c{{display:none}}</style>" for i in range(n)])
    return _page("".join([f"<p class=s{i}a>{i}</p><p id=s{i}b>b</p><p class=s{i}c>c</p>" for i in range(n)]), sheets)


def _one_class_and_selectors(n: int) -> str:
    """Every selector matches every element."""
    rules = "".join([f".x:not(.q{i}),.x.y,p.x{{display:none}}" for i in range(n)])
    return _page("<p class='x y'>word</p>" * n, f"<style>{rules}</style>")


def _selectors_and_scripts(n: int) -> str:
    rules = "".join([f".s{i}{{display:none}}" for i in range(n)])
    script = "var filler='" + "abcdefgh " * n + "';"
    return _page("".join([f"<p class=s{i}>{i}</p>" for i in range(n)]), f"<style>{rules}</style><script>{script}</script>")


def _footnotes(n: int) -> str:
    marks = "".join([f"<p>text<sup><a href=#fn{i} id=ref{i}>[{i}]</a></sup></p>" for i in range(n)])
    return _page(marks + "<ol>" + "".join([f"<li id=fn{i}>note {i} <a href=#ref{i}>back</a></li>" for i in range(n)]) + "</ol>")


def _footnotes_crossed(n: int) -> str:
    """Every reference points to one note, which has as many back-links."""
    marks = "".join([f"<p>text<sup id=ref{i}><a href=#fn1>[1]</a></sup></p>" for i in range(n)])
    return _page(f"{marks}<div id=fn1>note {''.join([f'<a href=#ref{i}>^</a>' for i in range(n)])}</div>")


def _nested_tables(n: int) -> str:
    return _page("<table><tr><td>a<td>" * n + "cell" + "</table>" * n)


def _spans(n: int) -> str:
    return _page(f"<table>{'<tr><td colspan=1000 rowspan=1000>a<td colspan=1000 rowspan=65534>b' * n}</table>")


def _labelled(n: int) -> str:
    """Each region refers to all labels, which share the text of one ancestor."""
    text = "".join([f"<b id=l{i}>label {i}</b>" for i in range(n)])
    regions = "".join([f"<section aria-labelledby='l{i} all l{n - i}'>x</section>" for i in range(n)])
    return _page(f"<div id=all>{text}</div>{regions}")


def _labelled_fields(n: int) -> str:
    fields = "".join([f"<label for=f{i}>Field {i}</label><input id=f{i} name=n{i} aria-labelledby=all>" for i in range(n)])
    return _page(f"<form id=all action=/x method=post>{fields}<button>Send</button></form>")


def _forms(n: int) -> str:
    fields = "<input type=email name=e><input type=password name=p><select name=s><option>1<option>2</select>"
    return _page(
        "".join([f"<form action=/f{i} method=post><label>Mail{fields}</label><button>Go</button></form>" for i in range(n)])
    )


def _scattered_fields(n: int) -> str:
    """Fields outside of the forms they belong to."""
    fields = "".join([f"<input form=f{i} name=n{i}>" for i in range(n)])
    return _page("".join([f"<form id=f{i} action=/f{i}></form>" for i in range(n)]) + fields)


def _json_ld_wide(n: int) -> str:
    items = [
        {"@type": "Product", "@id": f"#p{i}", "name": f"Thing {i}", "isRelatedTo": {"@id": f"#p{i // 2}"}} for i in range(n)
    ]
    return _page("", f'<script type="application/ld+json">{json.dumps({"@context": _SCHEMA, "@graph": items})}</script>')


def _json_ld_deep(n: int) -> str:
    nested = '{"@type":"Thing","name":"t","hasPart":' * n + "1" + "}" * n
    return _page("", f'<script type="application/ld+json">{nested}</script>')


def _json_ld_broken(n: int) -> str:
    broken = "{" + "'a': // x\n \"b\": 'c',, " * n
    return _page("", f'<script type="application/ld+json">{broken}</script>')


def _json_ld_many(n: int) -> str:
    script = '<script type="application/ld+json">{"@context":"https://schema.org","@type":"Thing","name":"#"}</script>'
    return _page("", "".join([script.replace("#", str(i)) for i in range(n)]))


def _microdata_knot(n: int) -> str:
    """Items that refer to each other, and to all others."""
    refs = " ".join([f"i{i}" for i in range(n)])
    items = "".join([f"<div id=i{i} itemprop=part><b itemprop=name>{i}</b></div>" for i in range(n)])
    return _page(f"<div itemscope itemtype={_SCHEMA}Thing itemref='{refs}'></div>" * 4 + items)


def _microdata_wide(n: int) -> str:
    props = "".join([f"<b itemprop=p{i}>v</b>" for i in range(n)])
    return _page(f"<div itemscope itemtype={_SCHEMA}Product>{props}</div>")


def _unique_attributes(n: int) -> str:
    return _page(f"<p {' '.join([f'data-a{i}=1' for i in range(n)])}>one</p>")


def _attribute(name: str, value: str = "x") -> Generator:
    return lambda n: _page(f"<div {name}='{value * n}'><p>{_SENTENCE}</p></div>")


def _unclosed_quote(n: int) -> str:
    """Attributes with values that are never closed."""
    return _page("<p " + 'data-a="' * n)


def _srcset(n: int) -> str:
    return _page(f"<img alt=mill srcset='{', '.join([f'/i{i}.png {i}w' for i in range(n)])}'>")


def _nested_hidden(n: int) -> str:
    return _page("<div hidden class=accordion>word " * n)


def _hidden_texts(n: int) -> str:
    return _page("".join([f"<div style='display:none' id=h{i} class=tab-content>{_SENTENCE}</div>" for i in range(n)]))


def _noise(n: int) -> str:
    """A page of few words in many elements with names of page frames."""
    return f"<html><body>{'<div class=sidebar><div class=content>a' * n}</body></html>"


def _svg(n: int) -> str:
    return _page("<svg>" + "<g><title>t</title><path d='M0 0'/><foreignObject><p>x</p></foreignObject></g>" * n + "</svg>")


def _lists(n: int) -> str:
    return _page("<ul><li>item" * n)


def _concealed_nested(n: int) -> str:
    return _page("<div class=x>word " * n, "<style>.x{left:-9999px}</style>")


def _sheets_without_braces(n: int) -> str:
    return _page("<p class=x>word</p>", f"<style>.x{{display:none}}{'a ' * 7_900}</style>" * n)


def _collapsed_styles(n: int) -> str:
    """A style attribute of many declarations in the content."""
    text = f"<p>{_SENTENCE * 3}</p>" * 6
    style = "overflow:hidden;height:1" * n
    return f"<html><body><article><h1>Mill</h1>{text}<p style='{style}'>x</p>{text}</article></body></html>"


_OPENED = "<b><i><u><s><em><strong><code><a href=/x><font color=red><p>"

SHAPES: dict[str, Shape] = {
    "div nested": Shape(_repeated("<div>"), 20_000),
    "section nested": Shape(_repeated("<section><h2>a</h2>"), 2_000),
    "article nested": Shape(_repeated("<article>a"), 4_000),
    "span nested": Shape(_repeated("<span>a"), 4_000),
    "list nested": Shape(_lists, 2_000),
    "quotes nested": Shape(_repeated("<blockquote>a"), 4_000),
    "tables nested": Shape(_nested_tables, 500),
    "tables nested, no cells": Shape(_repeated("<table>"), 4_000),
    "siblings": Shape(_repeated("<p>word</p>"), 8_000),
    "spans side by side": Shape(_repeated("<span>w</span>"), 8_000),
    "spans of cells": Shape(_spans, 100),
    "table rows": Shape(_repeated("<tr><td>a<td>b", "<table>"), 4_000),
    "one row of cells": Shape(lambda n: _page(f"<table><tr>{'<td>a' * n}<tr>{'<td>b' * n}</table>"), 5_000),
    "footnotes": Shape(_footnotes, 600),
    "footnotes crossed": Shape(_footnotes_crossed, 600),
    "selectors and elements": Shape(_selectors_and_elements, 600),
    "sheets and elements": Shape(_many_sheets, 400),
    "selectors that all match": Shape(_one_class_and_selectors, 400),
    "selectors and scripts": Shape(_selectors_and_scripts, 600),
    "rules without end": Shape(lambda n: _page("", f"<style>{'a{display:none' * n}</style>"), 1_000),
    "sheets without braces": Shape(_sheets_without_braces, 4),
    "concealed nested": Shape(_concealed_nested, 2_000),
    "labels": Shape(_labelled, 600),
    "labels of fields": Shape(_labelled_fields, 400),
    "forms": Shape(_forms, 200),
    "fields outside their forms": Shape(_scattered_fields, 500),
    "options": Shape(_repeated("<option value=1>choice", "<form><select name=s>"), 5_000),
    "links of one text": Shape(_numbered("<a href=/p#>more</a>"), 4_000),
    "links nested": Shape(_numbered("<div><a href=/p#>more</a>"), 2_000),
    "links in the page": Shape(_numbered("<a href='#t#' id=s#>x</a><p id=t#>y</p>"), 1_500),
    "definitions": Shape(_repeated("<dl><dt>term<dd>its definition</dl>"), 2_000),
    "definitions nested": Shape(_repeated("<dl><dt>term<dd>"), 1_000),
    "formatting left open": Shape(_repeated(_OPENED), 400),
    "formatting misnested": Shape(_repeated("<b><p></b>x<i></p>y"), 3_000),
    "links left open": Shape(_repeated("<a href=/x><div>"), 3_000),
    "json-ld wide": Shape(_json_ld_wide, 500),
    "json-ld deep": Shape(_json_ld_deep, 1_000),
    "json-ld broken": Shape(_json_ld_broken, 2_000),
    "json-ld scripts": Shape(_json_ld_many, 500),
    "microdata wide": Shape(_microdata_wide, 2_000),
    "microdata nested": Shape(_repeated(f"<div itemscope itemprop=part itemtype={_SCHEMA}T><b itemprop=name>n</b>"), 500),
    "microdata references": Shape(_microdata_knot, 800),
    "authors": Shape(_repeated("<b itemprop=author>Ann</b><time itemprop=datePublished>2024-05-06</time>"), 800),
    "rdfa nested": Shape(_repeated(f"<div vocab={_SCHEMA} property=part typeof=T><b property=name>n</b>"), 500),
    "rdfa wide": Shape(_repeated(f"<div vocab={_SCHEMA} typeof=T><b property=name>n</b></div>"), 700),
    "rdfa prefixes": Shape(_numbered("<div prefix='p#: http://x/#/' property='p#:a'>"), 600),
    "metas": Shape(_numbered("<meta name=n# content='some value'><meta property='og:image' content=/i#.png>"), 1_000),
    "link elements": Shape(_numbered("<link rel='alternate next' hreflang=de href=/l#>"), 1_500),
    "titles": Shape(_repeated("<h1> </h1><title> </title>"), 2_000),
    "srcset": Shape(_srcset, 4_000),
    "data attribute": Shape(_attribute("data-state"), 300_000),
    "style attribute": Shape(_attribute("style", "left:1px;"), 20_000),
    "style of colours": Shape(_attribute("style", "overflow:hidden;height:1"), 8_000),
    "style in the content": Shape(_collapsed_styles, 4_000),
    "style of blanks": Shape(_attribute("style", "color:   ;clip: rect(0 0 "), 8_000),
    "class attribute": Shape(_attribute("class", "menu x "), 20_000),
    "title attribute": Shape(_attribute("title"), 300_000),
    "href": Shape(lambda n: _page(f"<a href='/{'a/../' * n}'>x</a>"), 30_000),
    "attributes of one element": Shape(_unique_attributes, 4_000),
    "attribute names that start a value": Shape(_unclosed_quote, 8_000),
    "comments": Shape(_repeated("<!-- x --><p>y"), 4_000),
    "comments left open": Shape(_repeated("<!--"), 10_000),
    "cdata": Shape(_repeated("<![CDATA[ x ]]>"), 5_000),
    "entities": Shape(_repeated("&amp;&lt;&#x41;&notin;&nosuch;&"), 3_000),
    "null bytes and blanks": Shape(_repeated("\0 \u00a0\u200b\u00ad\n"), 5_000),
    "svg": Shape(_svg, 800),
    "mathml": Shape(_repeated("<math><mfrac><mi>x</mi><mn>2</mn></mfrac></math>"), 800),
    "hidden": Shape(_repeated("<p hidden>secret</p>"), 5_000),
    "hidden nested": Shape(_nested_hidden, 2_000),
    "hidden tabs": Shape(_hidden_texts, 400),
    "noscripts": Shape(_repeated("<noscript><p>text</p></noscript>"), 2_000),
    "buttons in headings": Shape(_repeated("<h3><button>Open</button></h3><div>text</div>"), 1_500),
    "headings": Shape(_repeated("<h2>Heading</h2>"), 5_000),
    "headings nested": Shape(_repeated("<div><h2>Heading</h2>"), 2_500),
    "frames": Shape(_repeated("<nav><a href=/x>x</a></nav><aside>y</aside>"), 1_500),
    "frames nested": Shape(_repeated("<nav><header>"), 3_000),
    "noise": Shape(_noise, 2_000),
    "images inline": Shape(lambda n: _page(f"<img alt=i src='data:image/png;base64,{'QUJD' * n}'>" * 3), 20_000),
    "images": Shape(_numbered("<picture><source srcset='/a#.webp 1x, /b#.webp 2x'><img src=/i#.png alt=i></picture>"), 800),
    "code": Shape(_repeated("<pre><code class=language-c>int x;\n</code></pre>"), 1_500),
    "code of lines": Shape(lambda n: _page(f"<pre>{'int x = 1;<br>' * n}</pre>"), 4_000),
    "line breaks": Shape(_repeated("a<br>"), 8_000),
    "one word": Shape(_repeated("a"), 200_000),
    "ideographs": Shape(_repeated("漢字かな"), 20_000),
    "buttons": Shape(_numbered("<button data-action=a# onclick='go(#)'>Buy #</button>"), 1_500),
    "videos": Shape(_numbered("<video src=/v#.mp4><track src=/t#.vtt></video><iframe src=//x.example/#></iframe>"), 600),
    "templates": Shape(_repeated("<template><div>x"), 3_000),
    "custom elements": Shape(_numbered("<x-tag-# slot=a>y</x-tag-#>"), 1_500),
}  # fmt: skip
