"""Properties of Markdown and plain text for any tree: no word is lost, joined or moved; the cost is linear."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sitelore.extract import dom
from sitelore.extract.links import resolver_for
from sitelore.extract.markdown import Written, prepare, write, write_text
from sitelore.extract.text import INVISIBLE, find_invisible, remove_characters, remove_invisible

_URL = "http://site.example/dir/page"
_RENDERER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_BLOCK_TAG = re.compile(r"</?(?:p|ul|ol|li|h\d|blockquote|table|thead|tbody|tr|t[hd]|hr|br|pre)\b[^>]*>")


@dataclass(frozen=True)
class Piece:
    """A piece of HTML, and its words: a space in `text` separates two of them."""

    html: str
    text: str


def _joined(pieces: list[Piece]) -> Piece:
    return Piece("".join(piece.html for piece in pieces), "".join(piece.text for piece in pieces))


def _inline_element(pair: tuple[str, list[Piece]]) -> Piece:
    tag, inner = pair[0], _joined(pair[1])
    return Piece(f"<{tag}>{inner.html}</{tag.split()[0]}>", inner.text)


def _block_element(pair: tuple[str, Piece]) -> Piece:
    return Piece(f"<{pair[0]}>{pair[1].html}</{pair[0].split()[0]}>", f" {pair[1].text} ")


_WORDS = st.sampled_from((
    "alpha", "b", "c.", "(d)", "e,", "1.", "2)", "#", "*", "**f", "_g_", "h_i", "[j]", "[k](l)", "<m>", "&amp;", "~~n", "`o`",
    "-", "+", ">", "|", "\\", "!", "é", "\u4e2d", "\u3002", "\u201cq\u201d", "\u20ac", "==", "---", "$5", ":", "[^1]", "[x]",
    "http://a.b/c_d",
))  # fmt: skip
_TEXT = st.lists(_WORDS, min_size=1, max_size=3).map(lambda words: Piece(html.escape(" ".join(words)), " ".join(words)))
_SPACE = st.sampled_from([Piece(" ", " "), Piece("\n  ", " "), Piece("&nbsp;", " ")])
_CODE = st.tuples(st.just("code"), st.lists(_TEXT | _SPACE, min_size=1, max_size=3)).map(_inline_element)
_INLINE = st.recursive(
    _TEXT | _SPACE | _CODE | st.just(Piece("<br>", " ")),
    lambda inner: st.tuples(
        st.sampled_from(["b", "i", "em", "strong", "s", "span", "a href=/x", "var", "u"]),
        st.lists(inner, min_size=1, max_size=3),
    ).map(_inline_element),
    max_leaves=6,
)
_PHRASE = st.lists(_INLINE, min_size=1, max_size=4).map(_joined)
_LISTING = st.lists(_WORDS, min_size=1, max_size=4).map(
    lambda words: Piece(f"<pre>{html.escape(chr(10).join(words))}</pre>", f" {' '.join(words)} ")
)


def _items(pair: tuple[str, list[Piece]]) -> Piece:
    items = [_block_element(("li", inner)) for inner in pair[1]]
    return _block_element((pair[0], _joined(items)))


def _definitions(groups: list[tuple[Piece, Piece]]) -> Piece:
    parts = [_joined([_block_element(("dt", term)), _block_element(("dd", inner))]) for term, inner in groups]
    return _block_element(("dl", _joined(parts)))


def _table(rows: list[list[Piece]]) -> Piece:
    body = [_block_element(("tr", _joined([_block_element(("td", cell)) for cell in row]))) for row in rows]
    return _block_element(("table", _joined(body)))


_LEAF_BLOCK = st.tuples(st.sampled_from(["p", "div", "h2", "h5", "section"]), _PHRASE).map(_block_element) | _LISTING | _PHRASE
_BLOCKS = st.recursive(
    _LEAF_BLOCK,
    lambda inner: (
        st.tuples(
            st.sampled_from(["div", "blockquote", "section", "details"]), st.lists(inner, min_size=1, max_size=3).map(_joined)
        ).map(_block_element)
        | st.tuples(st.sampled_from(["ul", "ol", "ol start=7"]), st.lists(inner, min_size=1, max_size=3)).map(_items)
        | st.lists(st.tuples(_PHRASE, inner), min_size=1, max_size=3).map(_definitions)
        | st.lists(st.lists(_PHRASE | _LISTING, min_size=1, max_size=3), min_size=1, max_size=3).map(_table)
    ),
    max_leaves=6,
)
_DOCUMENT = st.lists(_BLOCKS, min_size=1, max_size=4).map(_joined)


def _body(source: str) -> dom.Element:
    tree = dom.parse(f"<!doctype html><body>{source}")
    prepare(tree)
    body = dom.body(tree)
    assert body is not None
    return body


def _written(source: str) -> Written:
    return write((_body(source),), resolver_for(()).on_page(_URL))


def _rendered_words(markdown: str) -> list[str]:
    rendered = _BLOCK_TAG.sub(" ", _RENDERER.render(markdown))
    return html.unescape(re.sub(r"<[^>]+>", "", rendered)).split()


def _tree_words(piece: Piece) -> list[str]:
    """The words of a piece as the parser keeps them."""
    return piece.text.replace("\xa0", " ").split()


def _without_repeats(words: list[str]) -> list[str]:
    """Words without repetitions: a paragraph that repeats the one before it is written once."""
    joined = " ".join(words)
    before = None
    while before != joined:
        before, joined = joined, re.sub(r"(?<!\S)(\S+(?: \S+){0,60})(?: \1)+(?!\S)", r"\1", joined)
    return joined.split()


@settings(max_examples=500, deadline=None, derandomize=True)
@given(_DOCUMENT)
def test_markdown_renders_to_the_words_of_the_tree_in_their_order(document: Piece) -> None:
    markdown = _written(document.html).markdown
    assert _without_repeats(_rendered_words(markdown)) == _without_repeats(_tree_words(document)), markdown


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_DOCUMENT)
def test_plain_text_has_the_words_of_the_tree_in_their_order(document: Piece) -> None:
    lines = _written(document.html).text.split("\n")
    words = [word for line in lines for word in re.sub(r"^(?:(?:-|\d+\.) )+", "", line).split() if word.isalnum()]
    expected = [word for word in _tree_words(document) if word.isalnum()]
    assert _without_repeats(words) == _without_repeats(expected)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_DOCUMENT)
def test_code_blocks_are_code_and_nothing_else_is(document: Piece) -> None:
    tokens = [token.type for token in _RENDERER.parse(_written(document.html).markdown)]
    assert "code_block" not in tokens
    assert "html_block" not in tokens
    if "<pre>" not in document.html and "<br>" not in document.html:
        assert "fence" not in tokens


_TAGS = (
    "p", "div", "b", "i", "a href='#x'", "a href=/y", "code", "pre", "ul", "ol", "li", "dl", "dt", "dd", "table", "tr", "td",
    "th", "h1", "h4", "blockquote", "sup", "q", "ruby", "rt", "nav", "details", "summary", "caption", "figure", "br",
    "img src=i alt=x",
)  # fmt: skip
_OPENED_TAGS = (
    *_TAGS, "div class='admonition note'", "p class=admonition-title", "td class=icon", "div class=note", "span class=lineno",
    "p id=x", "hr", "div style='white-space:pre-wrap'", "div style='white-space:pre'",
)  # fmt: skip
_SOUP_TEXT = (
    "w",
    " ",
    "\n",
    "*",
    "_",
    "`",
    "[",
    "](",
    "\\(x\\)",
    "$$y=$$",
    "\u200b",
    "\xa0",
    "\u3000",
    "1. ",
    "&lt;b&gt;",
    "<!-- c -->",
)
_SOUP = st.lists(
    st.sampled_from([f"<{tag}>" for tag in _OPENED_TAGS])
    | st.sampled_from([f"</{tag.split()[0]}>" for tag in _TAGS])
    | st.sampled_from(_SOUP_TEXT),
    max_size=40,
).map("".join)


@settings(max_examples=800, deadline=None, derandomize=True)
@given(_SOUP)
def test_no_markup_raises_and_all_ways_of_writing_agree(source: str) -> None:
    body = _body(source)
    resolver = resolver_for(()).on_page(_URL)
    text = write_text((body,))
    markdown = write((body,), resolver).markdown
    assert write((body,), resolver) == Written(markdown, text)
    assert "\n\n\n" not in re.sub(r"```.*?```", "code", markdown, flags=re.DOTALL)
    assert "&#" not in markdown


def test_text_is_written_alike_with_and_without_addresses() -> None:
    source = "<p>a <a href='javascript:x'>b</a></p><nav><a href=/x>c</a></nav><h2>d<a href='#d'>¶</a></h2>"
    assert write_text((_body(source),)) == _written(source).text == "a b\nd"


def _heading(title: str) -> str:
    return _written(f"<h1>{html.escape(title)}</h1>").markdown


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="$"), max_size=40))
def test_a_heading_is_one_line_with_its_words(title: str) -> None:
    assume("\\(" not in title and "\\[" not in title)  # a formula
    tokens = _RENDERER.parse(_heading(title))
    words = "".join(remove_invisible(title).split())
    assert [token.type for token in tokens] == (["heading_open", "inline", "heading_close"] if words else [])
    if words:
        rendered = html.unescape(re.sub(r"<[^>]+>", "", _RENDERER.render(_heading(title))))
        assert "".join(rendered.split()) == words


def test_headings_are_escaped() -> None:
    assert _heading(" The *args  of\nC# #") == "# The \\*args of C# \\#"
    assert _heading("\u200b ") == ""


@given(
    st.lists(st.sampled_from(["a", "\u200b", "\xad", "\u200d", "\u0646", "\U000e0041", "\x01", "\n"]), max_size=20).map("".join)
)
def test_invisible_characters_are_found_and_removed(text: str) -> None:
    spans = find_invisible(text.encode())
    assert spans == INVISIBLE & set(text)
    left = remove_characters(text, spans)
    assert remove_invisible(text) == left
    assert not (INVISIBLE - {"\u200d"}) & set(left)
    assert [char for char in left if char not in INVISIBLE] == [char for char in text if char not in INVISIBLE]


def test_a_text_with_many_invisible_characters_loses_all() -> None:
    many = "".join(map(chr, range(0xE0001, 0xE0021)))
    assert find_invisible(f"a{many}".encode()) == INVISIBLE
    assert remove_invisible(f"a{many}b") == "ab"


def _calls(source: str) -> int:
    """The number of calls of Python and compiled functions while rendering."""
    body, resolver = _body(source), resolver_for(()).on_page(_URL)
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        write((body,), resolver)
    finally:
        sys.setprofile(before)
    return count


def _nested(tags: str) -> Callable[[int], str]:
    return lambda size: f"<{tags}>" * size + "deep"


def _many(piece: str, before: str = "") -> Callable[[int], str]:
    return lambda size: before + piece * size


_NESTED = (
    "div", "ul><li", "ol><li><p", "blockquote", "table><tr><td", "dl><dd", "dl><dt", "b", "i><b", "span", "a href=/x", "h2",
    "code", "pre", "details", "nav", "q", "sup", "div class=note", "div class='admonition note'><p class=admonition-title",
    "span class=lineno", "table class=highlight><tr><td class=gutter", "div style='white-space:pre-wrap'",
)  # fmt: skip
_SHAPES: dict[str, Callable[[int], str]] = {
    **{f"nested {tags}": _nested(tags) for tags in _NESTED},
    "links": _many("<a href=/x>l</a> ", "<p>"),
    "links in a heading": _many("<a href='#x'>l</a> ", "<h2>"),
    "links of a list of contents": _many("<li><a href='#x'>l</a>", "<p id=x>y</p><ul>"),
    "stars": _many("*", "<p>"),
    "underscores": _many("_a", "<p>"),
    "brackets": _many("[^", "<p>"),
    "bold words": _many("<b>a.</b>b", "<p>"),
    "bold and italic words": _many("<b>a</b><i>b</i>", "<p>"),
    "overlapping marks": _many("<b>a<i>b</b>c</i>", "<p>"),
    "breaks": _many("a<br>", "<p>"),
    "rules": _many("<hr>"),
    "terms": _many("<dt>a", "<dl>"),
    "formulas": _many("\\(a", "<p>"),
    "code with breaks": _many("<code>a<br></code>", "<div>"),
    "listings": _many("<pre>x</pre>"),
    "lines of a listing": _many("<span class=line>a</span>", "<pre>"),
    "admonitions": _many("<div class=note>x</div>"),
    "rows": _many("<tr><td>x<td>y", "<table>"),
    "spans": _many("<tr><td rowspan=65534 colspan=1000>x", "<table>"),
    "footnotes": lambda size: (
        "".join(f"<p>x<sup><a href='#n{at}' id=r{at}>{at}</a></sup></p>" for at in range(size))
        + "<ol>"
        + "".join(f"<li id=n{at}>note <a href='#r{at}'>^</a></li>" for at in range(size))
    ),
    "attributes": lambda size: f"<p title='{'x' * size}' class='{'note ' * size}' style='white-space:{' ' * size}'>x",
}


@pytest.mark.parametrize("shape", _SHAPES.values(), ids=_SHAPES)
def test_cost_grows_no_faster_than_the_page(shape: Callable[[int], str]) -> None:
    _calls(shape(10))  # work that is done once in a process
    small, large = _calls(shape(300)), _calls(shape(1200))
    assert large <= 4.5 * small + 2000
    written = _written(shape(1200))
    assert len(written.markdown) <= 100 * len(shape(1200)) + 1000


def test_a_page_may_nest_as_deep_as_it_likes() -> None:
    for tags in ("div", "ul><li", "blockquote", "b", "table><tr><td", "dl><dd"):
        assert "deep" in _written(f"<{tags}>" * 100_000 + "deep").markdown
