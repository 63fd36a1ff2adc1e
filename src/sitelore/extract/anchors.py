"""Finds the anchors of a page's headings and definition terms: what a URL's fragment names, so that a citation can lead there.

The anchor of a heading is its own `id`, that of an element inside it, of the element that it opens (`<section id>`), or of an
empty element before it. Its permanent link (`<a href="#…">¶</a>`) counts where no `id` does.
"""

from __future__ import annotations

from collections.abc import Iterable

from sitelore.extract import dom

_TARGETS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt")
_PERMALINK = " \u00b6\u00a7#\uf0c1"
_MAX_ANCHORS = 2_000
_MAX_CHARS = 160
_MAX_ANCHOR_CHARS = 200
_MAX_WRAPPERS = 4


def read_anchors(nodes: Iterable[dom.Node]) -> tuple[tuple[str, str], ...]:
    """(anchor, text) of every heading and definition term that has an anchor, in page order."""
    anchors: list[tuple[str, str]] = []
    for node in nodes:
        for element in dom.elements_list(node, *_TARGETS):
            anchor = _anchor_of(element)
            if anchor and len(anchor) <= _MAX_ANCHOR_CHARS and not any(map(str.isspace, anchor)):
                text = " ".join(element.text.split()).rstrip(_PERMALINK)[:_MAX_CHARS]
                if text:
                    anchors.append((anchor, text))
            if len(anchors) >= _MAX_ANCHORS:
                return tuple(anchors)
    return tuple(anchors)


def _anchor_of(element: dom.Element) -> str:
    if own := element.attr("id"):
        return own
    if within := dom.select(element, "[id],a[name]"):
        return within[0].attr("id") or within[0].attr("name") or ""
    before = dom.element_before(element)
    at, wrapper = element, dom.as_element(element.parent)
    for _ in range(_MAX_WRAPPERS):
        if dom.element_before(at) is not None or wrapper is None or wrapper.tag in {"body", "main", "dl"}:
            break
        if anchor := wrapper.attr("id"):
            return anchor
        at, wrapper = wrapper, dom.as_element(wrapper.parent)
    if before is not None and not before.text.strip() and (anchor := before.attr("id") or before.attr("name")):
        return anchor
    links = [link.attr("href") or "" for link in dom.select(element, 'a[href^="#"]')]
    return links[-1][1:] if links else ""
