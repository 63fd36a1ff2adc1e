"""Cuts a tree down to the blocks that were chosen: whole elements where none of their blocks is kept, loose text elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.extract import dom
from sitelore.extract.content.vocabulary import INLINE


@dataclass(frozen=True, slots=True)
class Cuts:
    """Which blocks of a page are kept, and what has to be cut from its tree for that."""

    elements: list[int]
    """Elements to drop, by their index among all elements."""
    texts: dict[int, set[bytes]]
    """Texts to drop that are directly inside an element which stays, by that element's index."""
    kept: list[bool]
    """Of each block: whether it is kept."""
    threshold: float
    """Blocks with at least this score are content."""
    expected_f1: float
    """Expected F1 of the kept words, by the scores themselves."""


def trim(in_order: list[dom.Element], cuts: Cuts) -> None:
    """Cut a subtree, given as all its elements in document order."""
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
