"""Cuts a tree down to the blocks that were chosen: whole elements where none of their blocks is kept, loose text elsewhere."""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.content.choice import Cuts
from sitelore.extract.content.tag_marks import INLINE


def trim(in_order: list[dom.Element], cuts: Cuts) -> None:
    """Cut a subtree, given as all its elements."""
    for place, texts in cuts.texts.items():
        _drop_loose(in_order[place], {_plain(text.decode("utf-8", "replace")) for text in texts})
    for place in cuts.elements:
        dom.drop(in_order[place])


def _plain(text: str) -> str:
    """Text as both the serialisation and the tree have it: no references, no white space."""
    for reference, char in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(reference, char)
    return "".join(text.split())


def _drop_loose(element: dom.Element, texts: set[str]) -> None:
    run: list[dom.AnyNode] = []
    for child in [*dom.children(element), None]:
        if child is not None and (not isinstance(child, dom.Element) or child.tag.encode() in INLINE):
            run.append(child)
            continue
        if run and _plain("".join(map(dom.text_of, run))) in texts:
            for node in run:
                dom.drop(node)
        run = []
