"""Text whose style keeps its line ends, without being a listing: posts, descriptions, whole articles of some site builders."""

from __future__ import annotations

import re

from sitelore.extract import dom

# Not `pre` alone: that is how listings are set.
_KEEPS_LINES = re.compile(r"white-space\s*:\s*(?:pre-wrap|pre-line|break-spaces)", re.ASCII | re.IGNORECASE)


def keep_lines(node: dom.Node) -> None:
    """Have such text broken where its lines end. The writer would take it for a listing."""
    for element in dom.select(node, "[style*=white-space i]"):
        if element.tag == "img" or not _KEEPS_LINES.search(element.attr("style") or "") or dom.is_inside(element, "pre"):
            continue
        dom.drop_attribute(element, "style")
        for piece in [piece for piece in dom.texts(element) if "\n" in piece.data.strip()]:
            if (around := dom.as_element(piece.parent)) is not None and not dom.is_inside(around, "pre,code"):
                _break_lines(piece)


def _break_lines(piece: dom.Text) -> None:
    text = piece.data
    inner = text.strip()
    start = text.index(inner)
    lines = inner.split("\n")
    lines[0] = text[:start] + lines[0]
    lines[-1] += text[start + len(inner) :]
    for number, line in enumerate(lines):
        if number:
            piece.insert_before(dom.made("br"))
        if line:
            piece.insert_before(dom.words(line))
    dom.drop(piece)
