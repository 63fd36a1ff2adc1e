"""A subtree as Markdown and as plain text: absolute links, no scripts in them, no characters that nobody can see."""

from __future__ import annotations

import re
from typing import NamedTuple

from sitelore.extract import dom
from sitelore.extract.about.links import PageResolver
from sitelore.extract.writing.embeds import keep_embeds, keep_spare_images, keep_task_boxes
from sitelore.extract.writing.emphasis import is_crowded
from sitelore.extract.writing.formulas import keep_delimited, keep_formulas
from sitelore.extract.writing.rewriting import REWRITTEN, Rewriter, flatten_marks
from sitelore.extract.writing.texts import Within, even, signs_in
from sitelore.extract.writing.tidying import tidy

# Zero-width, bidi and tag characters, variation selectors 17-256 and controls: text can hide in all of them.
_RANGES = (
    (0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_UNSEEN = frozenset(chr(code) for low, high in _RANGES for code in range(low, high + 1))
_JOINERS = frozenset("\u200c\u200d")
_JOINER = re.compile("[\u200c\u200d]")
_ALL_BUT_JOINERS = dict.fromkeys(map(ord, _UNSEEN - _JOINERS))
_REWRITTEN = frozenset(REWRITTEN)
_FEW = 16
_ANY_UNSEEN = Within(_RANGES, _FEW + 2)

_MAX_TABLE_DEPTH = 8
_TABLE_PARTS = ("table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th")


def visible(text: str) -> str:
    """Text without the characters that show nothing."""
    return without(text, unseen(text.encode("utf-8", "replace")))


def unseen(utf8: bytes) -> frozenset[str]:
    """The characters of a text, given as UTF-8, that show nothing."""
    found = _ANY_UNSEEN.all_in(utf8)
    # Text with more kinds than a page has by accident is searched for all.
    return _UNSEEN if len(found) > _FEW + 1 else frozenset(found)


def without(text: str, chars: frozenset[str]) -> str:
    """Text without these characters. Joiners stay where they shape Persian, Indic scripts or emoji: not next to ASCII."""
    if len(chars) > _FEW:
        text = text.translate(_ALL_BUT_JOINERS)
    else:
        for char in chars - _JOINERS:
            text = text.replace(char, "")
    return _JOINER.sub(_kept_joiner, text) if chars & _JOINERS else text


def _kept_joiner(found: re.Match[str]) -> str:
    text, at = found.string, found.start()
    shapes = 0 < at < len(text) - 1 and not text[at - 1].isascii() and not text[at + 1].isascii()
    return found[0] if shapes else ""


def prepare(tree: dom.Tree) -> None:
    """Save from pruning what only looks like machinery: formulas, embeds, task boxes, pictures within `noscript`."""
    keep_formulas(tree)
    keep_embeds(tree)
    keep_task_boxes(tree)
    keep_spare_images(tree)


class Written(NamedTuple):
    """A text, and the same in UTF-8 where that was at hand: what is looked for in a text is found there at less cost."""

    text: str
    utf8: bytes | None


def write_markdown(nodes: tuple[dom.Node, ...], resolver: PageResolver) -> Written:
    """The Markdown of the chosen subtrees. Changes them in place; `write_text` may come before or after.

    Its UTF-8 may have more white space at its ends.
    """
    parts, utf8 = [], None
    for node in nodes:
        # Rules may put something else in an element's place; the caller's nodes stay what they are.
        if isinstance(node, dom.Element) and node.tag in _REWRITTEN:
            node = dom.made("div", None, dom.copied(node))  # noqa: PLW2901 - the same content, one level down
        _clear_text(node)
        _take_apart_tables(node, deeper_than=_MAX_TABLE_DEPTH)
        rewriter = Rewriter(resolver)
        rewriter.rewrite(node)
        markdown = dom.to_markdown(node, is_spliced=rewriter.is_spliced)
        utf8 = markdown.encode("utf-8", "replace")
        signs = signs_in(utf8)
        if is_crowded(signs):
            flatten_marks(node)
            markdown = dom.to_markdown(node, is_spliced=rewriter.is_spliced)
            utf8 = markdown.encode("utf-8", "replace")
            signs = signs_in(utf8)
        tidied = tidy(markdown, signs)
        parts.append(tidied)
        utf8 = utf8 if tidied is markdown else None
    return Written(_trimmed("\n\n".join(filter(None, parts))), utf8 if len(parts) == 1 else None)


def _trimmed(markdown: str) -> str:
    return _without_edge_rules(markdown.strip("\n").rstrip())


def _without_edge_rules(markdown: str) -> str:
    """No rule first or last: it parts nothing from nothing, and one on the first line would read as front matter."""
    while markdown.startswith("---\n"):
        markdown = markdown[4:].lstrip("\n")
    while markdown.endswith("\n---"):
        markdown = markdown[:-4].rstrip("\n")
    return "" if markdown == "---" else markdown


def _clear_text(node: dom.Node) -> None:
    """Plain spaces, nothing invisible, and TeX set apart: all of it shapes how Markdown is written, and is rare."""
    text = node.text
    # For one character before two, a search that finds nothing takes a tenth.
    if ("\\" in text and ("\\(" in text or "\\[" in text)) or ("$" in text and "$$" in text):
        keep_delimited(node)
    if text.isascii():
        return
    chars = unseen(text.encode("utf-8", "replace"))
    is_spaced = "\xa0" in text or "\u202f" in text
    if not chars and not is_spaced:
        return
    has_code = is_spaced and dom.first(node, "pre") is not None
    for piece in [piece for piece in dom.texts(node) if not piece.data.isascii()]:
        data = piece.data
        cleared = without(data, chars) if chars else data
        if "\xa0" in cleared or "\u202f" in cleared:
            parent = piece.parent
            if not has_code or parent is None or parent.closest("pre") is None:
                cleared = cleared.replace("\xa0", " ").replace("\u202f", " ")
        if cleared != data:
            piece.data = cleared


def write_text(nodes: tuple[dom.Node, ...]) -> Written:
    """The plain text of the chosen subtrees, one line a block. Takes tables within tables apart."""
    for node in nodes:
        # The writer lays every table out in columns, once for each table around it: nested ones would take for ever.
        _take_apart_tables(node, deeper_than=1)
    text = even("\n".join(map(dom.to_text, nodes)))
    return Written(text, text.encode("utf-8", "replace"))


def _take_apart_tables(node: dom.Node, deeper_than: int) -> None:
    """Where tables nest deeper than this, none of them is one: each becomes plain blocks."""
    tables = dom.elements_list(node, "table")
    if len(tables) <= deeper_than:
        return
    depth: dict[dom.Element, int] = {}
    for table in tables:  # outer ones come first
        outer = dom.table_around(table)
        depth[table] = depth.get(outer, 0) + 1 if outer is not None else 1
        if depth[table] > deeper_than:
            for part in dom.elements_list(node, *_TABLE_PARTS):
                part.tag = "div"
            return
