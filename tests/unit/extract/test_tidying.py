"""What is done a line or a stretch at a time comes out as if it were done to the whole text."""

from __future__ import annotations

import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from sitelore.extract import dom
from sitelore.extract.writing.emphasis import spell_tags
from sitelore.extract.writing.texts import signs_in
from sitelore.extract.writing.tidying import _FENCE, _around_spans, _spelled, _stretches, tidy

_TAGS = ("<strong>", "</strong>", "<em>", "</em>", "<s>", "</s>")
_LINE = st.lists(st.sampled_from([*_TAGS, "a", "wörd", " ", ".", "*", "_", "\\", "<"]), max_size=14).map("".join)
_MARKS = ("a<strong>b</strong>c", "<em>x</em>", "<s>-<em>y</em></s>", "(<strong>z</strong>)")
_BALANCED = st.lists(st.sampled_from([*_MARKS, " ", "word", "`<em>`", "_", "<code>c</code>"]), max_size=8).map("".join)


@given(st.lists(_LINE, max_size=6))
def test_lines_that_leave_tags_open_are_spelled_together(lines: list[str]) -> None:
    text = "\n".join([*lines, "opens <em>here", "closes</em> here"])
    assert _spelled(text) == _around_spans(text, spell_tags)


@given(st.lists(_BALANCED, max_size=6).map("\n".join))
def test_a_line_that_closes_its_tags_is_spelled_alone_as_among_others(text: str) -> None:
    assert _spelled(text) == _around_spans(text, spell_tags)


def _stretches_by_line(markdown: str) -> list[tuple[bool, str]]:
    """The plain definition: a line that opens a fence begins code, its like ends it."""
    stretches: list[tuple[bool, list[str]]] = [(False, [])]
    fence = ""
    for line in markdown.split("\n"):
        opened = None if fence else _FENCE.match(line)
        if opened is not None:
            fence = opened[1]
            stretches.append((True, [line]))
            continue
        stretches[-1][1].append(line)
        if fence and line.strip(" >") == fence:
            fence = ""
            stretches.append((False, []))
    return [(is_code, "\n".join(lines)) for is_code, lines in stretches if lines]


_FENCES = ("```", "````", "> ```py", "- ```", "``` x")


@given(st.lists(st.sampled_from([*_FENCES, "text", "", "`a`", "a ``` b"]), max_size=12).map("\n".join))
def test_fenced_code_is_told_from_prose(markdown: str) -> None:
    assert _stretches(markdown) == _stretches_by_line(markdown)
    assert "\n".join([text for _, text in _stretches(markdown)]) == markdown


def test_code_is_left_as_it_is() -> None:
    markdown = "snake\\_case\n\n```\nsnake\\_case <strong>x</strong>\n```\n\na <strong>b</strong> c"
    tidied = tidy(markdown, signs_in(markdown.encode()))
    assert tidied == "snake_case\n\n```\nsnake\\_case <strong>x</strong>\n```\n\na **b** c"


_ODD = ("<!-- no -->", "<img src=x alt='\u2028\">'>", "&lt;", "😀")
_PAGE = st.lists(st.sampled_from(["<p>text", "<b>ü</b>", "<ul><li>a</ul>", "<br>", "<a href=y>z</a>", *_ODD]))


@given(_PAGE.map("".join), st.sampled_from([1, 400]))
def test_a_tree_is_serialised_in_parts_as_it_is_in_one(html: str, times: int) -> None:
    body = dom.body(dom.parse(html * times))
    assert body is not None
    told = dom.serialised(body)
    assert told == body.encode("utf-8")
    assert b"<!--" not in told


@given(_PAGE.map("".join))
def test_the_writer_is_told_the_same_every_time(html: str) -> None:
    plain = turbohtml.Markdown(tables=dom._TABLES, links=dom._LINKS)
    assert dom.to_markdown(dom.parse(html), is_spliced=False) == dom.parse(html).to_markdown(plain)
    assert dom.to_markdown(dom.parse(html), is_spliced=False) == dom.parse(html).to_markdown(plain)
