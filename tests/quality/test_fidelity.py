"""Markdown that renders back to the structure it came from: every construct alone, and through a whole page."""

from __future__ import annotations

import html
import json
import re
from itertools import groupby

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sitelore.extract import dom
from sitelore.extract.links import resolver_for
from sitelore.extract.markdown import prepare, write, write_text
from sitelore.extract.page import read
from sitelore.extract.text import remove_invisible
from sitelore.model.document import ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

from .constructs import CONSTRUCTS, Construct

_URL = "http://site.example/dir/page"
_RENDERER = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable(["table", "strikethrough"])
_SENTENCE = "This paragraph of the article goes on for a while about its subject, with commas, clauses and an end that says {}."
_BEFORE = "".join(f"<p>{_SENTENCE.format(word)}</p>" for word in ("one", "two", "three"))
_AFTER = "".join(f"<p>{_SENTENCE.format(word)}</p>" for word in ("four", "five", "six"))
_CODE = re.compile(r"(<pre>.*?</pre>)", re.DOTALL)


def written(source: str) -> str:
    tree = dom.parse(f"<!doctype html><body>{source}")
    prepare(tree)
    body = dom.body(tree)
    assert body is not None
    return write((body,), resolver_for(()).on_page(_URL)).markdown


def of_page(body: str) -> str:
    page = f"<!doctype html><title>t</title><body>{body}"
    reading = read(Response(Url(_URL), 200, (("content-type", "text/html; charset=utf-8"),), page.encode()), ReadOptions())
    assert reading.document is not None
    # The page's title comes first; constructs are compared without it.
    return str(json.loads(zstandard.decompress(reading.document.data))["markdown"]).removeprefix("# t\n\n")


def within_an_article(source: str) -> str:
    """The Markdown of HTML in the middle of an article."""
    markdown = of_page(f"<article><h1>On it</h1>{_BEFORE}{source}{_AFTER}</article>")
    before, after = _SENTENCE.format("three"), _SENTENCE.format("four")
    assert before in markdown
    assert after in markdown
    return markdown.partition(before)[2].rpartition(after)[0].strip("\n")


def rendered(markdown: str) -> str:
    """HTML with the white space between tags gone, but not within code."""
    parts = _CODE.split(_RENDERER.render(markdown))
    parts[::2] = [
        re.sub(r"\s*(</?(?:p|ul|ol|li|h\d|blockquote|table|thead|tbody|tr|t[hd]|hr|br)\b[^>]*>)\s*", r"\1", part)
        for part in parts[::2]
    ]
    return "".join(part.strip() if at % 2 == 0 else part for at, part in enumerate(parts))


def keeps(construct: Construct, markdown: str) -> None:
    if construct.back is not None:
        assert rendered(markdown) == construct.back, markdown
    for piece in construct.holds:
        assert piece in markdown
    for piece in construct.lacks:
        assert piece not in markdown


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda each: each.name)
def test_a_construct_renders_back_to_what_it_was(construct: Construct) -> None:
    keeps(construct, written(construct.html))


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda each: each.name)
def test_a_construct_survives_within_an_article(construct: Construct) -> None:
    keeps(construct, within_an_article(construct.html))


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda each: each.name)
def test_a_construct_survives_on_a_page_of_its_own(construct: Construct) -> None:
    keeps(construct, of_page(f"<main><h1>t</h1>{construct.html}</main>"))


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda each: each.name)
def test_a_construct_is_written_the_same_twice(construct: Construct) -> None:
    assert written(construct.html) == written(construct.html)


_ANY_LINE = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), exclude_characters="\xa0\u202f"), max_size=60
)
_PIECES = [*"ab 1.)#*_+->|[](){}<>!`~=\\:&;^/'\"é。「", "  ", "---", "| ", "|-|", "1. ", "# ", "http://a_b.c/_d", "&amp;", "=="]
_MARKUP = st.lists(st.sampled_from(_PIECES), max_size=14).map("".join)
_LINES = _ANY_LINE | _MARKUP


def _plain(text: str) -> str:
    return re.sub(r"[ \t\n\f\r]+", " ", text).strip(" ")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(_LINES, min_size=1, max_size=4))
def test_any_text_renders_back_to_itself(lines: list[str]) -> None:
    texts = [remove_invisible(line) for line in lines]
    markdown = written("<p>" + "<br>".join(html.escape(line) for line in lines) + "</p>")
    parts = [
        _plain(html.unescape(part))
        for part in re.split(r"<br>|</p><p>", rendered(markdown).removeprefix("<p>").removesuffix("</p>"))
    ]
    expected = [part for part in map(_plain, texts) if part]
    # Consecutive equal lines may be merged.
    assert [part for part, _ in groupby(parts) if part] == [part for part, _ in groupby(expected)], markdown


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(_LINES, min_size=1, max_size=6), st.booleans())
def test_any_code_renders_back_byte_for_byte(lines: list[str], in_list: bool) -> None:
    code = remove_invisible("\n".join(lines))
    source = f"<pre><code>{html.escape(code)}</code></pre>"
    markdown = written(f"<ul><li>x{source}</ul>" if in_list else source)
    fences = [token.content for token in _RENDERER.parse(markdown) if token.type == "fence"]
    if code.strip():
        assert fences == [code if code.endswith("\n") else code + "\n"]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.lists(_LINES, min_size=2, max_size=4), min_size=1, max_size=4))
def test_any_table_renders_back_to_its_matrix(rows: list[list[str]]) -> None:
    width = max(map(len, rows))
    source = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    tokens = _RENDERER.parse(written(f"<table>{source}</table>"))
    cells = [_visible_text(token) for token in tokens if token.type == "inline"]
    matrix = [[" ".join(_plain(remove_invisible(cell)).split()) for cell in [*row, *[""] * (width - len(row))]] for row in rows]
    # Columns without any text are removed, and rows below the head.
    columns = [at for at in range(width) if any(row[at] for row in matrix)]
    expected = [row[at] for number, row in enumerate(matrix) if not number or any(row) for at in columns]
    assert [" ".join(cell.split()) for cell in cells] == expected


def _visible_text(token: Token) -> str:
    return "".join(child.content for child in token.children or [] if child.type in {"text", "text_special"})


_INLINE = st.recursive(
    st.sampled_from(["a", "b c", " ", "(x)", "é", "1.", "。", "*", "_", "`"]).map(html.escape),
    lambda inner: st.tuples(st.sampled_from(["b", "i", "strong", "span"]), st.lists(inner, min_size=1, max_size=3)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.lists(_INLINE, min_size=1, max_size=5).map("".join))
def test_any_nesting_of_marks_keeps_its_words_and_spaces(source: str) -> None:
    markdown = written(f"<p>x{source}y</p>")
    text = html.unescape(re.sub(r"<[^>]+>", "", rendered(markdown)))
    assert _plain(text) == _plain(html.unescape(re.sub(r"<[^>]+>", "", f"x{source}y"))), markdown


@pytest.mark.parametrize(
    "tag", ["div", "ul><li", "blockquote", "table><tr><td", "b", "a href=/x", "dl><dd", "h2", "pre", "details", "code"]
)
def test_nesting_past_all_reason_is_bounded(tag: str) -> None:
    assert "deep" in written(f"<{tag}>" * 50_000 + "deep")


@pytest.mark.parametrize(
    "source",
    [
        "<table>" + "<tr><td rowspan=65534 colspan=1000>x" * 500,
        "<table><tr>" + "<td>x" * 3000 + "<tr><td>y" * 3000,
        "<p>" + "\\(" * 20_000,
        "<p>" + "<b>a.</b>b" * 5000,
        "<pre>x</pre>" * 5000,
        "<p>" + "`" * 20_000,
        "<img srcset='" + "a 1x, " * 20_000 + "'>x",
    ],
    ids=["spans", "ragged", "delimiters", "marks", "listings", "backticks", "srcset"],
)
def test_bombs_stay_small(source: str) -> None:
    assert len(written(source)) < 50 * len(source)


def test_plain_text_comes_from_the_same_tree() -> None:
    tree = dom.parse('<body><h2>Head<a class=headerlink href="#h">¶</a></h2><p>E<math alttext="x^2"><mi>x</mi></math></p>')
    prepare(tree)
    body = dom.body(tree)
    assert body is not None
    write((body,), resolver_for(()).on_page(_URL))
    assert write_text((body,)) == "Head\nE$x^2$"
