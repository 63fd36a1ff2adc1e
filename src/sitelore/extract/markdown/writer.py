"""Markdown and plain text of subtrees: one walk builds blocks, from which both are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from sitelore.extract import dom
from sitelore.extract.markdown.blocks import Block, Rule, markdown_lines, settled, text_lines
from sitelore.extract.markdown.embeds import rescue_embeds, rescue_images, rescue_task_boxes
from sitelore.extract.markdown.escape import escape_heading, escape_text
from sitelore.extract.markdown.formulas import rescue_formulas
from sitelore.extract.markdown.invisible import visible
from sitelore.extract.markdown.walk import Walk
from sitelore.extract.metadata.links import PageResolver, resolver_for

_NO_PAGE = "http://page.invalid/"  # plain text shows no addresses


class Written(NamedTuple):
    """A document as Markdown and as plain text."""

    markdown: str
    text: str


def prepare(tree: dom.Tree) -> None:
    """Rescue formulas, embedded content, task boxes and `noscript` images, before hidden elements are dropped from a tree."""
    rescue_formulas(tree)
    rescue_embeds(tree)
    rescue_task_boxes(tree)
    rescue_images(tree)


def write(nodes: Sequence[dom.Node], resolver: PageResolver) -> Written:
    """Write subtrees as Markdown, with absolute links, and as plain text. Leaves them as they are."""
    blocks = _blocks(nodes, resolver)
    text = _text(blocks)
    return Written(_markdown(blocks), text)


def write_markdown(nodes: Sequence[dom.Node], resolver: PageResolver) -> str:
    """Write subtrees as Markdown, with absolute links. Leaves them as they are."""
    return _markdown(_blocks(nodes, resolver))


def write_text(nodes: Sequence[dom.Node], *, with_menus: bool = False) -> str:
    """Write subtrees as plain text: one line per block, single spaces. Leaves them as they are.

    `with_menus`: also what Markdown leaves out, menus and lists of contents.
    """
    return _text(_blocks(nodes, resolver_for(()).on_page(_NO_PAGE), with_menus=with_menus))


def write_title(title: str) -> str:
    """Write a page's title as a heading of the first level; empty when the title is."""
    line = " ".join(visible(title).split())
    return f"# {escape_heading(escape_text(line))}" if line else ""


def _markdown(blocks: list[Block]) -> str:
    """Write blocks as Markdown. Settles them, so their plain text has to be written before."""
    return "\n".join(markdown_lines(_without_edge_rules(settled(blocks))))


def _text(blocks: list[Block]) -> str:
    lines = [" ".join(line.split()) for text in text_lines(blocks) for line in text.split("\n")]
    return "\n".join(filter(None, lines))


def _blocks(nodes: Sequence[dom.Node], resolver: PageResolver, *, with_menus: bool = False) -> list[Block]:
    walk = Walk(resolver, with_menus=with_menus)
    for node in nodes:
        walk.read(node)
    if not with_menus:
        _drop_contents(walk, nodes)
    return walk.blocks


def _drop_contents(walk: Walk, nodes: Sequence[dom.Node]) -> None:
    """Empty lists of contents: nothing but links to places of this page that are written as well."""
    if not walk.contents:
        return
    names = {name for node in nodes for element in dom.select(node, "[id],a[name]") for name in _names(element)}
    for contents in walk.contents:
        targets = contents.in_page_targets or []
        found = sum(unquote(target) in names for target in targets)
        if found * 2 >= len(targets) and walk.chars > contents.chars:
            contents.items = []


def _names(element: dom.Element) -> tuple[str, str]:
    return element.attr("id") or "", element.attr("name") or ""


def _without_edge_rules(blocks: list[Block]) -> list[Block]:
    """Drop rules at both ends: they separate nothing, and one on the first line would be read as front matter."""
    start, end = 0, len(blocks)
    while start < end and isinstance(blocks[start], Rule):
        start += 1
    while end > start and isinstance(blocks[end - 1], Rule):
        end -= 1
    return blocks[start:end]
