"""Admonitions: boxes of a kind (note, warning, see also, new in version …), written as quotes that start with a bold label."""

from __future__ import annotations

import re

from sitelore.extract import dom
from sitelore.extract.markdown.blocks import Block, Paragraph, Quote
from sitelore.extract.markdown.emphasis import STRONG
from sitelore.extract.markdown.inline import RAW, TEXT, Leaf, inline_text

_KINDS = {
    "note": "Note", "warning": "Warning", "tip": "Tip", "caution": "Caution", "important": "Important", "danger": "Danger",
    "hint": "Hint", "attention": "Attention", "seealso": "See also", "see-also": "See also", "versionadded": "",
    "versionchanged": "", "deprecated": "Deprecated", "versionremoved": "", "deprecated-removed": "",
}  # fmt: skip
_MARKED_KINDS = _KINDS | {
    "info": "Info", "error": "Error", "success": "Success", "todo": "Todo", "example": "Example", "question": "Question",
    "bug": "Bug", "abstract": "Abstract", "failure": "Failure", "quote": "Quote", "secondary": "Note", "details": "Details",
}  # fmt: skip
_MARKERS = frozenset({"admonition", "admonitionblock", "theme-admonition", "markdown-alert", "custom-block", "callout"})
_PREFIXES = re.compile(r"(?:theme-admonition|markdown-alert|admonition|custom-block|callout|alert|bd-callout)-{1,2}([a-z]+)")
_ALERTS = frozenset({"alert", "bd-callout"})
_TOKENS = _MARKERS | _ALERTS | _KINDS.keys()
_TAGS = frozenset({"div", "aside", "section", "p", "blockquote", "dl", "details", "table"})
_TITLE = re.compile(
    r"(?:^|\s)(?:title|admonition-?title|admonition-?heading|admonition_header|markdown-alert-title|custom-block-title|callout-title"
    r"|callout-heading|alert-heading|alert-title|note__?title|notetitle|versionmodified|admonition(?:Heading|Title)_\w+)(?=\s|$)",
    re.IGNORECASE,
)
_TITLE_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt"})
_ENDS = (":", ".", "!", "?", "\uff1a", "。", "…")
_MAX_UNMARKED_CHARS = 1500


class Admonition:
    """An admonition while it is read."""

    __slots__ = ("blocks", "is_marked", "label", "level", "named", "needs_label")

    def __init__(self, name: str, *, is_marked: bool, needs_label: bool) -> None:
        self.named = name
        """The label that its class gives; empty when it gives none."""
        self.is_marked = is_marked
        """Whether its markup says that it is an admonition, not only of which kind."""
        self.needs_label = needs_label
        """Whether it is one only with a label in its text."""
        self.label: list[Leaf] = []
        self.level = 0
        """The level of the heading that its label is; 0 when it is none."""
        self.blocks: list[Block] = []

    def finish(self, chars: int) -> list[Block]:
        """Write the admonition: a quote with its label, or its blocks when it turns out to be none."""
        if self._is_section(chars):
            return [Paragraph(self.label, self.level), *self.blocks] if self.label else self.blocks
        label, blocks = self.label, self.blocks
        first = _first_paragraph(blocks)
        if not label and first is not None:
            if self.named and len(blocks) > 1 and first.text.strip().rstrip(":").casefold() == self.named.casefold():
                label, blocks = first.leaves, blocks[1:]
                first = _first_paragraph(blocks)
            elif _starts_with_label(first, self.named):
                return [Quote(blocks)]
        if not label:
            if self.needs_label or not blocks:
                return blocks
            label = [(TEXT, self.named, 0, None, "")] if self.named else []
        leaves = _bold_label(label)
        if first is not None:
            first.leaves[:0] = [*leaves, (TEXT, " ", 0, None, "")]
        else:
            blocks = [Paragraph(leaves), *blocks]
        return [Quote(blocks)]

    def _is_section(self, chars: int) -> bool:
        """Whether it is a whole section that only has the name of a kind for its class."""
        if self.is_marked or self.needs_label:
            return False
        if self.label and inline_text(self.label).strip(" :").casefold() == self.named.casefold():
            return False
        return chars > _MAX_UNMARKED_CHARS or any(isinstance(block, Paragraph) and block.level for block in self.blocks)


def _first_paragraph(blocks: list[Block]) -> Paragraph | None:
    first = blocks[0] if blocks else None
    return first if isinstance(first, Paragraph) and not first.level else None


def admonition_of(element: dom.Element, class_: str) -> Admonition | None:
    """Return an admonition when an element's class says that it is one."""
    tokens = class_.lower().split()
    if _TOKENS.isdisjoint(tokens):
        return None
    is_marked = not _MARKERS.isdisjoint(tokens)
    is_alert = not is_marked and not _ALERTS.isdisjoint(tokens)
    if is_marked or is_alert:
        parts = [match[1] for token in tokens if (match := _PREFIXES.fullmatch(token)) is not None]
        name = next((_MARKED_KINDS[token] for token in (*tokens, *parts) if token in _MARKED_KINDS), "")
        return Admonition(name, is_marked=is_marked, needs_label=is_alert)
    if element.tag not in _TAGS:
        return None
    name = next(_KINDS[token] for token in tokens if token in _KINDS)
    return Admonition(name, is_marked=False, needs_label=not name)


def is_title(element: dom.Element) -> bool:
    """Whether the first element with text in an admonition is its title."""
    if element.tag in _TITLE_TAGS:
        return True
    class_ = element.attr("class")
    return class_ is not None and _TITLE.search(class_) is not None


def icon_label(cell: dom.Element) -> str:
    """Return the label that an icon stands for, in the first cell of an AsciiDoc or DocBook admonition."""
    if text := " ".join(cell.text.split()):
        return text
    for element in cell.iter_elements(("i", "img", "span")):
        if label := (element.attr("title") or element.attr("alt") or "").strip(" []"):
            return label
    return ""


def _starts_with_label(paragraph: Paragraph, name: str) -> bool:
    """Whether a paragraph starts with a bold label, or with the name of the admonition's kind."""
    shown = next((leaf for leaf in paragraph.leaves if leaf[0] == RAW or leaf[1].strip()), None)
    if shown is None or shown[0] == RAW:
        return False
    if shown[2] & STRONG:
        return True
    start = paragraph.text.strip()[: len(name) + 1].casefold()
    return bool(name) and start.startswith(name.casefold()) and start[len(name) :] in {":", "!", "."}


def _bold_label(label: list[Leaf]) -> list[Leaf]:
    """Make a label bold, with a colon at its end and a capital at its start."""
    leaves = [(kind, text, style | STRONG, link, plain) for kind, text, style, link, plain in label]
    while leaves and leaves[-1][0] == TEXT and not leaves[-1][1].strip():
        leaves.pop()
    while leaves and leaves[0][0] == TEXT and not leaves[0][1].strip():
        leaves.pop(0)
    if leaves and leaves[0][0] == TEXT:
        kind, text, style, link, plain = leaves[0]
        text = text.lstrip(" [")
        leaves[0] = (kind, text[:1].upper() + text[1:], style, link, plain)
    if leaves and leaves[-1][0] == TEXT:
        kind, text, style, link, plain = leaves[-1]
        text = text.rstrip(" ]")
        leaves[-1] = (kind, text if text.endswith(_ENDS) else f"{text}:", style, link, plain)
    return leaves
