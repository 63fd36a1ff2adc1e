"""Finds citation anchors: places of a page that have a name, to which a citation of a chunk can link.

Places are headings, and terms of definitions (signatures of functions, options, settings).
`extract` writes a definition as a list item whose first paragraph is the term and whose second one is indented below it. A
place gets the page's own anchor where the text of the anchor's element begins as the line does.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sitelore.index.plain_text import plain_text
from sitelore.model.ids import CleanText, piece_of
from sitelore.model.markdown_blocks import BlockKind, MarkdownBlock, MarkdownLine, item_indent, parse_blocks

_MAX_TERM_CHARS = 240
_MAX_TERM_LINES = 12
_KEY_CHARS = 48
_OPENING_TERM = re.compile(r"^[ \t>]*(?:[-*+]|\|)[ \t]+(`[^`\n]{1,80}`|\*\*[^*\n]{1,80}\*\*)(?=[ \t]*\S)", re.MULTILINE)
_NOT_TYPE = "return|else|goto|new|delete|throw|await|yield|case|typedef|using|import|from|def|function|if|while|for|switch"
_PROTOTYPE = re.compile(
    rf"^[ \t>]*(?!(?:{_NOT_TYPE})\b)(?:[A-Za-z_][\w:<>]{{0,60}}[ \t*&]{{1,20}}){{1,6}}([A-Za-z_]\w{{0,80}})[ \t]*"
    r"\((?=[^;{}=]{0,2000}\)[^;{}=()\n]{0,80};)",
    re.MULTILINE,
)
"""A function of C or the like without its body: `int printf(const char *format, ...);`."""
_NOT_KEY = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A heading or a definition term: its offset, whether it is a term, and its anchor (empty without one)."""

    start: int
    end: int
    is_term: bool
    anchor: str = ""


def named_places(text: str, blocks: Sequence[MarkdownBlock], anchors: Iterable[tuple[str, str]]) -> list[NamedPlace]:
    """Every heading and definition term in order. `anchors`: (anchor, text) in page order."""
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    for anchor, words in anchors:
        waiting[_key(words)].append(anchor)
    places = []
    for line, is_term in _named_lines(text, blocks):
        known = waiting.get(_key(plain_text(text[line.start : line.end]))) if waiting else None
        places.append(NamedPlace(line.start, line.end, is_term, known.popleft() if known else ""))
    return places


def definition_terms(text: str, blocks: Sequence[MarkdownBlock]) -> Iterator[MarkdownLine]:
    """The lines that are terms of definitions."""
    for block, following in pairwise(blocks):
        if block.kind is not BlockKind.TEXT or len(block.lines) > _MAX_TERM_LINES:
            continue
        at = len(block.lines) - 1
        while at > 0 and item_indent(text, block.lines[at]) is None:
            at -= 1  # further terms of the same definition have no marker of their own
        indent = item_indent(text, block.lines[at])
        below = text[following.lines[0].start : following.lines[0].end]
        if indent is not None and len(below) - len(below.lstrip()) > indent:
            yield from (line for line in block.lines[at:] if line.end - line.start <= _MAX_TERM_CHARS)


def definitions(text: str, blocks: Sequence[MarkdownBlock]) -> list[tuple[int, str]]:
    """What a text defines, with offsets.

    Terms of definitions, code or bold text that opens a list item or table row, and functions whose prototypes are in code.
    """
    terms = [(line.start, text[line.start : line.end]) for line in definition_terms(text, blocks)]
    openings = [(opening.start(), opening[1]) for opening in _OPENING_TERM.finditer(text)]
    prototypes = [
        (prototype.start(), prototype[1])
        for block in blocks
        if block.kind is BlockKind.CODE
        for prototype in _PROTOTYPE.finditer(text, block.start, block.end)
    ]
    return sorted(terms + openings + prototypes)


def section_of(text: CleanText, anchors: Iterable[tuple[str, str]], name: str) -> CleanText | None:
    """The section with this heading or anchor, with its subsections; None where there is none. A term has its definition."""
    blocks = parse_blocks(text)
    places = named_places(text, blocks, anchors)
    wanted, anchor = _key(name), name.removeprefix("#").partition(":~:")[0]
    first = next((place for place in places if place.anchor == anchor), None) or next(
        (place for place in places if wanted and _key(plain_text(text[place.start : place.end])) == wanted), None
    )
    if first is None:
        return None
    levels = {block.start: block.level for block in blocks if block.kind is BlockKind.HEADING}
    level = levels.get(first.start, 0)
    ends = (
        place.start
        for place in places
        if place.start > first.start and (first.is_term or (not place.is_term and levels.get(place.start, 0) <= level))
    )
    return piece_of(text, first.start, next(ends, len(text)))


def _named_lines(text: str, blocks: Sequence[MarkdownBlock]) -> list[tuple[MarkdownLine, bool]]:
    headings = [(block.lines[0], False) for block in blocks if block.kind is BlockKind.HEADING]
    terms = [(line, True) for line in definition_terms(text, blocks)]
    return sorted(headings + terms, key=lambda named: named[0].start)


def _key(text: str) -> str:
    """What equal names have in common; an option (`--files`) is another name than a heading ("Files")."""
    dash = "-" if text.lstrip().startswith("-") else ""
    return dash + _NOT_KEY.sub("", text).casefold()[:_KEY_CHARS]
