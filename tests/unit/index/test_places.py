"""Chunks hold readable text, lead back to the Markdown, and know the page's own anchors and what they define."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.index.pages import PAGE

from sitelore.index.chunking.chunker import PageContext, chunk_page
from sitelore.index.chunking.readable import removed_ranges, without_ranges
from sitelore.index.chunking.text_fragments import text_fragment
from sitelore.index.snippets import best_anchor
from sitelore.model.ids import ChunkId, CleanText, SiteId
from sitelore.model.search import ChunkRecord
from sitelore.model.url import Url

REFERENCE = """# Lamps

Lamps are lit by functions.

- lamps.light(*wick*)

  Light a lamp by its wick.

- lamps.quench(*lamp*)

  Quench the lamp.

| Option | Meaning |
| --- | --- |
| `--dim` | Less light. |
"""
ANCHORS = (("lamps", "Lamps"), ("lamps.light", "lamps.light(wick)"), ("lamps.quench", "lamps.quench(lamp)"))


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ('see [`csv`](http://a.example/b_(c).html#d "T") here', "see `csv` here"),
        ("an [![alt](i.png)](http://a.example) image", "an alt image"),
        ("`a[0](b)` and \\[no](x)", "`a[0](b)` and \\[no](x)"),
        ("```\na[1](2)\n```\n\n[x](y)", "```\na[1](2)\n```\n\nx"),
        ("noted[^1] and [^1]: def", "noted and [^1]: def"),
    ],
)
def test_readable_text_has_the_labels_of_links_alone(markdown: str, text: str) -> None:
    assert without_ranges(markdown, removed_ranges(markdown))[0] == text


@given(st.lists(st.sampled_from(["word ", "[a](b)", "![i](j) ", "`[c](d)`", "[[n]](o)", "\n\n", "é", "[", "](", ")", "```\n"])))
def test_every_character_of_readable_text_is_at_its_offset_in_the_markdown(parts: list[str]) -> None:
    markdown = "".join(parts)
    text, source = without_ranges(markdown, removed_ranges(markdown))
    assert all(markdown[source.end(at)] == character for at, character in enumerate(text))


def test_a_chunk_leads_to_its_bytes_in_the_markdown_with_targets_of_links() -> None:
    markdown = "Ünder [one](http://a.example/1) roof.\n\n- [two](http://a.example/2)"
    text, source = without_ranges(markdown, removed_ranges(markdown))
    (chunk,) = chunk_page(PAGE, CleanText(text), page=PageContext(source=source, markdown=markdown))
    assert chunk.text == "Ünder one roof.\n\n- two"
    assert markdown.encode()[chunk.start : chunk.end].decode() == markdown


def test_a_chunk_knows_its_anchors_and_what_it_defines() -> None:
    (chunk,) = chunk_page(PAGE, CleanText(REFERENCE), page=PageContext(title="Lamps", anchors=ANCHORS))
    assert [(chunk.text[at:][:13].strip("- "), anchor) for at, anchor in chunk.anchors if at >= 0] == [
        ("lamps.light", "lamps.light"),
        ("lamps.quenc", "lamps.quench"),
    ]
    assert [text.strip("- ") for text in chunk.definitions] == ["lamps.light(*wick*)", "lamps.quench(*lamp*)", "`--dim`"]


def test_a_citation_prefers_the_anchor_of_the_part_that_answers() -> None:
    text = CleanText("- lamps.light\n\n  Light a lamp.\n\n- lamps.quench\n\n  Quench it.")
    anchors = ((-1, "lamps"), (0, "lamps.light"), (text.index("- lamps.quench"), "lamps.quench"))
    record = ChunkRecord(
        1, ChunkId("1"), SiteId(1), "site", PAGE, CleanText(""), "en", "page", None, text, CleanText(""), (), 0, 9, 9,
        anchors=anchors,
    )  # fmt: skip
    assert best_anchor(record, {"quench": 1.0}) == ("lamps.quench", True)
    assert best_anchor(record, {"light": 1.0}) == ("lamps.light", True)


def test_most_of_a_table_of_contents_is_labels_of_links() -> None:
    markdown = "".join(f"- [Part number {number}](http://a.example/{number})\n" for number in range(40))
    text, source = without_ranges(markdown, removed_ranges(markdown))
    (chunk,) = chunk_page(PAGE, CleanText(text), page=PageContext(source=source, markdown=markdown))
    assert chunk.is_link_list
    (plain,) = chunk_page(PAGE, CleanText("A sentence with [one link](http://a.example) and more words than that."))
    assert not plain.is_link_list


@pytest.mark.parametrize(
    ("text", "page_text", "fragment"),
    [
        ("One two three four.", "Zero.\nOne two three four.", ":~:text=One%20two%20three%20four."),
        ("Same three words.\n\nOther three words.", "Same three words.\nSame three words.\nOther three words.", "Other"),
        ("> **Note:** When it rains, stay.", "Note: When it rains, stay.", ":~:text=When%20it%20rains%2C%20stay."),
        ("| `a` `int` The first one |", "a int The first one", ":~:text=The%20first%20one"),
        ("Gone from the page.", "Something else.", ""),
    ],
)
def test_a_text_fragment_is_on_the_page(text: str, page_text: str, fragment: str) -> None:
    directive = text_fragment(text, 0, len(text), page_text)
    assert directive.startswith(fragment) if fragment.startswith(":") or not fragment else fragment in directive


def test_an_option_does_not_take_the_anchor_of_a_heading_with_its_name() -> None:
    text = CleanText("## Options\n\n- --files\n\n    Lists them.\n\n## Files\n\nWhere they are.\n")
    (chunk,) = chunk_page(PAGE, text, page=PageContext(anchors=(("_options", "Options"), ("_files", "Files"))))
    assert [anchor for _, anchor in chunk.anchors] == ["_options", "_files"]
    assert chunk.text[chunk.anchors[1][0] :].startswith("## Files")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("int lamp_light(\n  const char *wick,  /* Name of the wick */\n  lamp **out\n);", ["lamp_light"]),
        ("#include <lamp.h>\n\nlamp *lamp_open(void);\nvoid lamp_free(lamp *l) NOEXCEPT(1);", ["lamp_open", "lamp_free"]),
        ("extern unsigned long lamp_count(struct lamps *all);", ["lamp_count"]),
        ("return lamp_light(wick);\nlamp_quench(l);\nx = lamp_open();", []),
        ("lamp *l = lamp_open();\nif (l) lamp_free(l);", []),
        ("int main(void) {\n  return lamp();\n}", []),
    ],
)
def test_functions_whose_prototypes_are_in_code_are_defined_there(code: str, names: list[str]) -> None:
    (chunk,) = chunk_page(Url.trusted("https://a.example/lamps"), CleanText(f"# Lamps\n\n```\n{code}\n```\n"))
    assert list(chunk.definitions) == names


@pytest.mark.timeout(20)
@pytest.mark.parametrize("link", ["[a](b) ", "![a](b) ", "![a [c](d) e](b) ", "[`a`](b) \\\\"])
def test_links_in_a_bracket_that_nothing_closes_take_no_longer_than_others(link: str) -> None:
    text = f"[{link * 200}\n\n[The lamp](http://a.example/lamp) burns.\n"
    assert text[removed_ranges(text)[-1][0] : removed_ranges(text)[-1][1]] == "](http://a.example/lamp)"
