"""Snippets of an answer: plain text, the right window, and exact highlights."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitelore.index import plain_text as plain_text_module
from sitelore.index.plain_text import plain_text
from sitelore.index.snippets import WIDTH, Snippet, _find_matches, _matches_in_run, _TermMatch, make_snippet
from sitelore.index.terms import WORD, is_unspaced, query_terms, vocabulary


def of(markdown: str, question: str, lang: str = "en") -> Snippet:
    return make_snippet(markdown, {term: word.weight for word in query_terms(question, [lang]) for term in word.terms}, lang)


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[start:end] for start, end in snippet.highlights]


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("## A **bold** _move_", "A bold move"),
        ('See [the `kubectl` docs](https://a.example/b_(c) "t") now', "See the kubectl docs now"),
        ("![a chart](x.png) and [![alt](i.png)](https://a.example)", "a chart and alt"),
        ("- one\n- [x] two\n1. three\n> said", "one two three said"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a · b 1 · 2"),
        ("```python\nx = __init__  # *kept*\n```\nafter", "x = __init__ # *kept* after"),
        ("snake_case_name and 2 \\* 3 and `a*b`", "snake_case_name and 2 * 3 and a*b"),
        ("<!-- no --><https://a.example/x> &amp; <b>co</b>", "https://a.example/x & co"),
        ("Title\n=====\n\n---\n\n[ref]: https://a.example", "Title"),
        ("~~gone~~ line  \nnext", "gone line next"),
        ("", ""),
    ],
)
def test_markdown_is_read_as_plain_text(markdown: str, plain: str) -> None:
    assert plain_text(markdown) == plain


def test_words_of_the_question_are_marked_in_every_form() -> None:
    snippet = of("Rolling updates of a **Deployment** update its pods.", "update deployments")
    assert marked(snippet) == ["updates", "Deployment", "update"]


def test_the_snippet_covers_most_words_of_the_query() -> None:
    text = (
        "Pods are small. "
        + "Nothing is written here. " * 60
        + "A pod needs a volume claim to keep data. "
        + "More follows. " * 60
    )
    snippet = of(text, "pod volume claim")
    assert "A pod needs a volume claim" in snippet.text
    assert snippet.text.startswith("…")
    assert snippet.text.endswith("…")
    assert len(snippet.text) <= WIDTH + 2
    assert marked(snippet) == ["pod", "volume", "claim"]


def test_without_a_match_the_beginning_is_shown() -> None:
    snippet = of("The beginning. " + "More. " * 100, "unrelated")
    assert snippet.text.startswith("The beginning.")
    assert snippet.highlights == ()


def test_a_short_text_is_shown_whole() -> None:
    assert of("A *small* text", "small").text == "A small text"


def test_pairs_of_characters_in_a_row_are_one_mark() -> None:
    assert marked(of("这是日本語の文書です", "日本語", "ja")) == ["日本語"]


@given(st.text(alphabet="ab cd.*_`[]()#|\\<>!-\n語é", max_size=900), st.sampled_from(["ab cd", "語語", "a.b-c", ""]))
@settings(max_examples=150, deadline=None)
def test_highlights_are_inside_the_snippet_and_never_overlap(markdown: str, question: str) -> None:
    snippet = of(markdown, question)
    last = 0
    for start, end in snippet.highlights:
        assert last <= start < end <= len(snippet.text)
        last = end
    assert len(snippet.text) <= WIDTH + 2


MARKDOWN = (
    "**|```|~~~|<!--|-->|[a](b)|![x](y)|[![i](j)](k)|`c`|``d`e``|\n\\| a \\| b \\|\n|\n\\|---\\|\n|&amp;|<b>|</b>|<http://a.example>"
    "|> |- |# |\n|word |snake_case |\\*|a@b.c|<x@y.z>|~~|__x__|*y*|[q]: z|\n---\n|1. |[ ] |\u00a0|\u2028|é|語"
).replace("\\|", "\0")
markdown = st.lists(
    st.one_of(st.sampled_from([part.replace("\0", "|") for part in MARKDOWN.split("|")]), st.characters()), max_size=60
)


def inlined(text: str, depth: int = 0) -> str:
    """The definition: one substitution."""

    def read(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match["code"]
        if match["label"] is not None:
            return inlined(match["label"], depth + 1) if depth < plain_text_module._MAX_NESTING else match["label"]
        return match["literal"] or match["address"] or ""

    return plain_text_module._INLINE.sub(read, text)


@given(markdown)
@settings(max_examples=600, deadline=None)
def test_looking_for_marks_first_reads_a_line_as_one_substitution_does(parts: list[str]) -> None:
    text = "".join(parts)
    assert plain_text_module._inline(text) == inlined(text)
    assert not re.search(r"[^\S ]|  |^ | $", plain_text(text))


@given(markdown, st.sampled_from(["a word", "語", "snake_case x", "é b", "c y", ""]), st.sampled_from(["en", "ja", ""]))
@settings(max_examples=300, deadline=None)
def test_marks_are_those_of_a_text_that_is_read_word_by_word(parts: list[str], question: str, lang: str) -> None:
    text = plain_text("".join(parts))
    worth = {term: word.weight for word in query_terms(question, [lang]) for term in word.terms}
    expected: list[_TermMatch] = []
    for match in WORD.finditer(text):
        terms = tuple(term for term in vocabulary(lang)[match[0]] if term in worth)
        if terms and is_unspaced(match[0]):
            expected += _matches_in_run(match[0], match.start(), terms)
        elif terms:
            expected.append(_TermMatch(match.start(), match.end(), terms))
    assert _find_matches(text, worth, lang) == expected


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 50_000,
        "`" * 50_000,
        "*a" * 50_000,
        "<" * 50_000,
        "![](" * 20_000,
        "> " * 50_000,
        "| " * 50_000,
        "[a](" + "(" * 50_000,
        "\\" * 50_000,
        "- " * 40_000,
    ],
)
def test_hostile_markdown_takes_bounded_time(hostile: str) -> None:
    began = time.process_time()
    of(hostile, "a b")
    assert time.process_time() - began < 5
