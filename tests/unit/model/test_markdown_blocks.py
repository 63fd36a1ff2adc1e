"""Markdown blocks: kinds, levels and offsets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitelore.model.markdown_blocks import BlockKind, MarkdownLine, item_indent, parse_blocks


def parsed(markdown: str) -> list[tuple[str, str]]:
    return [(block.kind.name, markdown[block.start : block.end]) for block in parse_blocks(markdown)]


@pytest.mark.parametrize(
    ("markdown", "blocks"),
    [
        ("", []),
        ("\n \n", []),
        ("# A\ntext\nmore", [("HEADING", "# A"), ("TEXT", "text\nmore")]),
        ("A\n===\nB", [("HEADING", "A\n==="), ("TEXT", "B")]),
        ("> ## A\n> b", [("HEADING", "> ## A"), ("TEXT", "> b")]),
        ("#hashtag", [("TEXT", "#hashtag")]),
        ("```py\nx\n\n# y\n```\nz", [("CODE", "```py\nx\n\n# y\n```"), ("TEXT", "z")]),
        ("```not a fence``` here", [("TEXT", "```not a fence``` here")]),
        ("~~~~\n```\n~~~\n~~~~~", [("CODE", "~~~~\n```\n~~~\n~~~~~")]),
        ("- ```\n  x\n  ```\n- y", [("CODE", "- ```\n  x\n  ```"), ("TEXT", "- y")]),
        ("> ```\n> x\ny", [("CODE", "> ```\n> x"), ("TEXT", "y")]),
        ("a\n\n    x\n\n    y\n\nb", [("TEXT", "a"), ("CODE", "    x\n\n    y"), ("TEXT", "b")]),
        ("- a\n\n    b\n\nc", [("TEXT", "- a"), ("TEXT", "    b"), ("TEXT", "c")]),
        ("a\n| b | c |\n| - | - |\n- d", [("TEXT", "a"), ("TABLE", "| b | c |\n| - | - |"), ("TEXT", "- d")]),
        ("<table>\n<tr><td>a</table>\n\nb", [("HTML_TABLE", "<table>\n<tr><td>a</table>"), ("TEXT", "b")]),
    ],
)  # fmt: skip
def test_markdown_is_split_into_blocks(markdown: str, blocks: list[tuple[str, str]]) -> None:
    assert parsed(markdown) == blocks


def test_a_heading_inside_a_list_item_does_not_end_the_list() -> None:
    markdown = "- a\n\n  #### Reply\n\n      nested text, not code\n\n#### Outside\n\n    code"
    assert [kind for kind, _ in parsed(markdown)] == ["TEXT", "HEADING", "TEXT", "HEADING", "CODE"]


def test_levels_and_items_are_recorded() -> None:
    assert [block.level for block in parse_blocks("# a\n\n###### b\n\nc\n---\n\nd")] == [1, 6, 2, 0]
    assert item_indent("  - a", MarkdownLine(0, 5)) == 2
    assert item_indent("> 1. a", MarkdownLine(0, 6)) == 2
    assert item_indent("-a", MarkdownLine(0, 2)) is None


@given(st.text("#>-*`~| \n\tab1.=<table", max_size=80))
@settings(max_examples=300, deadline=None)
def test_only_blank_lines_are_outside_blocks(markdown: str) -> None:
    end = 0
    for block in parse_blocks(markdown):
        assert not markdown[end : block.start].strip()
        assert block.start >= end
        assert isinstance(block.kind, BlockKind)
        end = block.end
    assert not markdown[end:].strip()
