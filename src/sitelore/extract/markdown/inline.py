"""Inline content: leaves of text, code, images and breaks, each with its emphasis and link, written as Markdown or plain text.

Emphasis is kept as a set of bits per leaf, not as nested elements, so that nesting, adjacency and overlaps of a page's markup
need no special cases: markers are placed where the bits of neighbouring leaves differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sitelore.extract.markdown.emphasis import CODE_SPAN, EM, HARD_BREAK, MARKUP, PLAIN, STRIKE, STRONG, Atom, joined
from sitelore.extract.markdown.escape import escape_label, escape_text

TEXT, CODE, BREAK, RAW = 0, 1, 2, 3


class Link:
    """A link: its address, and the paragraph that shows it when it spans several."""

    __slots__ = ("home", "href", "in_page", "is_heading")

    def __init__(self, href: str, *, in_page: bool) -> None:
        self.href = href
        self.in_page = in_page
        self.home = 0
        """The `id` of that paragraph: a reference would make a cycle."""
        self.is_heading = False
        """Whether that is a heading."""


Leaf: TypeAlias = tuple[int, str, int, Link | None, str]
"""Kind, text (Markdown for RAW), emphasis bits, link, plain text of RAW."""


def inline_markdown(leaves: Sequence[Leaf], home: int, *, one_line: bool = False) -> str:
    """Write leaves as Markdown. `home`: the `id` of their paragraph; links at home in another are written as their text."""
    if len(leaves) == 1:
        kind, text, style, only, _ = leaves[0]
        if kind == TEXT and not style:
            text = text.strip()
            if only is None or only.home != home or not only.href:
                return escape_text(text)
            return f"[{escape_label(text)}]({_destination(only.href)})"
    atoms: list[Atom] = []
    linked: list[Leaf] = []
    link: Link | None = None
    for leaf in leaves:
        own = leaf[3]
        if own is not None and (own.home != home or not own.href):
            own = None
        if own is not link:
            if link is not None:
                _add_link(atoms, linked, link)
                linked = []
            link = own
        if own is not None:
            linked.append(leaf)
        else:
            _add_leaf(atoms, leaf, one_line=one_line)
    if link is not None:
        _add_link(atoms, linked, link)
    return joined(atoms, escape_text)


def inline_text(leaves: Iterable[Leaf]) -> str:
    """Write leaves as plain text. Two links next to each other are two words, whatever draws them apart."""
    parts: list[str] = []
    before: Link | None = None
    for kind, text, _, link, plain in leaves:
        if link is not before:
            if link is not None and before is not None:
                parts.append(" ")
            before = link
        parts.append(plain if kind == RAW else "\n" if kind == BREAK else text)
    return "".join(parts)


def _destination(href: str) -> str:
    return href if " " not in href and "(" not in href else f"<{href}>"


def _add_leaf(atoms: list[Atom], leaf: Leaf, *, one_line: bool) -> None:
    kind, text, style, _, _ = leaf
    if kind == RAW:
        atoms.append(Atom(text, style, MARKUP))
    elif kind == BREAK:
        atoms.append(Atom(" ", style, PLAIN) if one_line else Atom(HARD_BREAK, style, MARKUP))
    elif text:
        atoms.append(Atom(text, style, PLAIN if kind == TEXT else CODE_SPAN))


def _add_link(atoms: list[Atom], leaves: list[Leaf], link: Link) -> None:
    """Add a link, the emphasis that all of its text has around it."""
    shown = [leaf for leaf in leaves if leaf[0] == RAW or leaf[1].strip()]
    if not shown:
        for leaf in leaves:
            _add_leaf(atoms, leaf, one_line=False)
        return
    href = _destination(link.href)
    if len(leaves) == 1 and leaves[0][0] == TEXT:
        _, text, style, _, _ = leaves[0]
        label = text.strip()
        start = text.index(label)
        if start:
            atoms.append(Atom(" ", style, PLAIN))
        atoms.append(Atom(f"[{escape_label(label)}]({href})", style, MARKUP))
        if start + len(label) < len(text):
            atoms.append(Atom(" ", style, PLAIN))
        return
    outer = EM | STRONG | STRIKE
    for leaf in shown:
        outer &= leaf[2]
    inner: list[Atom] = []
    for leaf in leaves:
        _add_leaf(inner, (leaf[0], leaf[1], leaf[2] & ~outer, None, leaf[4]), one_line=True)
    first, last = inner[0], inner[-1]
    ends_in_space = last.kind != MARKUP and last.source[-1].isspace()
    if first.kind != MARKUP and first.source[0].isspace():
        atoms.append(Atom(" ", outer, PLAIN))
    atoms.append(Atom(f"[{joined(inner, escape_label)}]({href})", outer, MARKUP))
    if ends_in_space:
        atoms.append(Atom(" ", outer, PLAIN))
