from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sitelore.export.links import relative_to, rewrite_links
from sitelore.model.settings import LinkStyle
from sitelore.model.url import Url

ABSOLUTE, RELATIVE, TEXT, NONE = LinkStyle


@lru_cache(maxsize=1)
def gfm() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("reference")


def words(markdown: str) -> list[str]:
    """What a reader sees, by an independent renderer, without regard to white space."""

    def of(tokens: Sequence[Token]) -> str:
        parts = []
        for token in tokens:
            if token.type in {"text", "code_inline", "fence", "code_block"}:
                parts.append(token.content)
            elif token.type in {"softbreak", "hardbreak"}:
                parts.append("\n")
            elif token.type in {"inline", "image"}:
                parts.append(of(token.children or []) + ("\n" if token.type == "inline" else ""))
        return "".join(parts)

    return of(gfm().parse(markdown)).split()


def links(markdown: str) -> int:
    return sum(child.type == "link_open" for token in gfm().parse(markdown) for child in token.children or ())


@pytest.mark.parametrize(
    ("markdown", "text", "none"),
    [
        ("See [the guide](https://x.example/a) now.", "See the guide now.", None),
        ('[a](https://x/ "Title") [b](<https://x/a b>) [c](u (t))', "a b c", None),
        ("![alt](https://x/p.png)", "![alt](https://x/p.png)", "alt"),
        ("[![alt](p.png)](https://x/)", "![alt](p.png)", "alt"),
        ("![a [b](c) d](e)", "![a [b](c) d](e)", "a b d"),
        ("`[a](b)` and ``[`](c)`` [d](e)", "`[a](b)` and ``[`](c)`` d", None),
        ("```\n[a](b)\n```\n\n    [a](b)\n\n[a](b)", "```\n[a](b)\n```\n\n    [a](b)\n\na", None),
        ("- a\n\n      [code](b)\n\n  [link](b)", "- a\n\n      [code](b)\n\n  link", None),
        ("- a\n\n  ```\n  [code](b)\n  ```\n> ~~~\n> [c](d)", "- a\n\n  ```\n  [code](b)\n  ```\n> ~~~\n> [c](d)", None),
        (r"\[a](b) \![c](d) [e\]](f) [g](h\)i)", r"\[a](b) \!c e\] g", None),
        ("[a](https://x/a_(b)_c) [d](e(f(g)h)i)", "a d", None),
        ("<https://x.example/a_b*c> <me@x.example>", r"https://x.example/a\_b\*c me@x.example", None),
        ('<a href="[a](b)">[c](d)</a>', '<a href="[a](b)">c</a>', None),
        ("[a] (b) [c][d] [e]: f [](g)", "[a] (b) [c][d] [e]: f ", None),
        ("[a [b](c) d](e)", "\\[a b d](e)", None),
        ("# [Title](u)\n\n[Sub](u)\n---", "# Title\n\nSub\n---", None),
        ("| [a](b) | `[c](d)` |\n|---|---|\n| [e\\|f](g) | [h](i) |", "| a | `[c](d)` |\n|---|---|\n| e\\|f | h |", None),
        ("> [a\n> b](c) d\n> [e](\n> f) g", "> a\n> b d\n> e\n> g", None),
        ("1. [a](b)\n   [1](c). d", "1. a\n   1\\. d", None),
        ("[# a](b)\n\n[- a](b)\n\n[> a](b)\n\n[1. a](b)", "\\# a\n\n\\- a\n\n\\> a\n\n1\\. a", None),
        ("**[a](b)** *[c](d)*, [**e**](f)", "**a** *c*, **e**", None),
        ("[_a_](b)c [**Note:**](d)text", "ac Note:text", None),
        ("[^1]: [Source](https://x/)", "[^1]: Source", None),
        ("line one\\\n[two](u)  \nthree", "line one\\\ntwo  \nthree", None),
    ],
)
def test_links_become_their_text(markdown: str, text: str, none: str | None) -> None:
    assert rewrite_links(markdown, TEXT) == text
    assert rewrite_links(markdown, NONE) == (text if none is None else none)
    assert rewrite_links(markdown, ABSOLUTE) == markdown


@pytest.mark.parametrize(
    "markdown",
    [
        "[[a](b)](c)",
        "x*[a](b)*",
        "*[a](b)*c",
        "*x [y* z](u)",
        "<[a](b)>",
        "&[amp;](b)",
        "[a][](b)(c)",
        "~~[a](b)~~",
        "[](a)---",
    ],
)
def test_text_that_would_be_parsed_otherwise_reads_the_same(markdown: str) -> None:
    assert words(rewrite_links(markdown, TEXT)) == words(markdown)


def test_relative_links_change_their_destination_alone() -> None:
    def address(url: str) -> str:
        return url.replace("https://x.example/", "../")

    markdown = '[a](https://x.example/b "T") [c](<https://x.example/d e>) ![i](https://x.example/i) <https://x.example/f> `[a](https://x.example/)`'
    expected = '[a](../b "T") [c](<../d%20e>) ![i](https://x.example/i) <https://x.example/f> `[a](https://x.example/)`'
    assert rewrite_links(markdown, RELATIVE, address) == expected
    assert rewrite_links(r"[a](https://x.example/a\_b&amp;c)", RELATIVE, address) == "[a](../a_b&c)"
    assert rewrite_links(r"[a](https://other.example/a\_b)", RELATIVE, address) == r"[a](https://other.example/a\_b)"


SEGMENT = st.sampled_from(["a", "b", "c.html", "x:y", "", ".", "e%20f", "(g)"])
TARGET = st.builds(
    lambda parts, query: f"https://x.example/{'/'.join(parts)}{query}",
    st.lists(SEGMENT, max_size=4),
    st.sampled_from(["", "?q=1", "?a/b"]),
)


@given(TARGET, TARGET, st.sampled_from(["", "#part"]))
def test_a_relative_address_leads_to_the_same_url(page: str, target: str, fragment: str) -> None:
    base, url = Url.parse(page), Url.parse(target)
    assert base is not None
    assert url is not None
    written = relative_to(base)(url + fragment)
    assert Url.parse(written, base) == url
    assert written.endswith(fragment)
    assert not written.startswith(("http", "/"))


def test_addresses_of_other_origins_stay_absolute() -> None:
    address = relative_to(Url("https://x.example/a/b"))
    for url in (
        "http://x.example/a",
        "https://x.example:8443/a",
        "https://www.x.example/",
        "mailto:a@x.example",
        "tel:1",
        "#part",
        "",
    ):
        assert address(url) == url


FRAGMENT = st.sampled_from(
    [
        "[a](u)", "[a b](<u v>)", '[c](u "t")', "![i](p)", "[![i](p)](u)", "**[a](u)**", "*", "**", "_", "~~", "`", "``",
        "[", "]", "(", ")", "![", "](u)", "<", ">", "<b>", "</b>", "<https://x.y/z_z>", "\\", "&", "amp;", "!", "word", "a_b",
        " ", " ", "  ", "\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n    ", "\n```\n", "# ", "| ", "|", "\n|-|-|\n", "1.", "-",
        "=", "---", ":", "é", "\uff0c",
    ]
)  # fmt: skip
DOCUMENT = st.lists(FRAGMENT, max_size=14).map("".join)


@settings(max_examples=400, deadline=None)
@given(DOCUMENT)
@example("[a](u)\n---\n[b](u)")
def test_a_reader_sees_the_same_text_without_links(markdown: str) -> None:
    assert words(rewrite_links(markdown, TEXT)) == words(markdown)
    assert words(rewrite_links(markdown, NONE)) == words(markdown)


@settings(max_examples=400, deadline=None)
@given(DOCUMENT)
def test_absolute_is_the_identity_and_so_is_relative_without_a_new_address(markdown: str) -> None:
    assert rewrite_links(markdown, ABSOLUTE) == markdown
    assert rewrite_links(markdown, RELATIVE, lambda url: url) == markdown


SAFE = st.text(
    st.characters(exclude_characters="[]<>`!\\*_~&|#\r\n\0-+=>.)", exclude_categories=("Cs", "Cc")), max_size=20
).filter(lambda text: text == text.strip())


@given(st.lists(st.tuples(SAFE, SAFE), min_size=1, max_size=6), st.booleans())
def test_text_outside_links_stays_byte_for_byte(parts: list[tuple[str, str]], fenced: bool) -> None:
    linked = "".join(f"x{before} [y{text}](https://x.example/p)" for before, text in parts)
    plain = "".join(f"x{before} y{text}" for before, text in parts)
    if fenced:
        linked = plain = f"```\n{linked}\n```"
    document = "First *line* with `[a](b)`.\n\n{}\n\n> Last   line.\n"
    assert rewrite_links(document.format(linked), TEXT) == document.format(plain)


@pytest.mark.parametrize(
    "unit",
    [
        "[", "]", "![", "[a](", "[a](b ", '[a](b "', "[a](<", "`", "`` ` ", "<", "<!--", "<?", "<a b='", "<a b ", "(", "\\",
        "[a](u)", "*[a](u)", "[![a](b)](c) ", "> ", "- ", "[a](u)\n", "| [a](u) ", "<https://x.y> ", "[](u)", "[[a](u)](v)",
    ],
)  # fmt: skip
def test_time_is_linear_in_the_size_of_the_text(unit: str) -> None:
    # A quadratic pass over this much would outlast the time limit of the test many times over.
    text = unit * (400_000 // len(unit))
    for style in (TEXT, NONE, RELATIVE):
        assert rewrite_links(text, style, lambda url: url) is not None


def test_no_link_is_left_on_an_ordinary_page() -> None:
    page = "\n\n".join(
        f"## [Section {n}](https://x.example/{n}#s)\n\nSome *text* with [`code_{n}`](https://x.example/c) and <https://x.example/>.\n\n"
        f"- [item](https://x.example/i): **bold**\n- second [item](https://x.example/j)"
        for n in range(50)
    )
    assert links(page) > 100
    assert links(rewrite_links(page, TEXT)) == 0
    assert not re.search(r"\]\(|<!--", rewrite_links(page, TEXT))
