"""The smallest pieces a page's Markdown is chunked by: sentences, list items, table rows, whole listings.

Each knows how good a place its start is to end a chunk, and how many tokens it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from sitelore.index.blocks import Block, Kind, Line, blocks_of, item_depth
from sitelore.index.sentences import parted, sentence_starts
from sitelore.index.tokens import count_tokens

_PIECE_TOKENS = 48  # of a sentence that is too long: small enough that overlaps can be measured out
_LONG_SENTENCE_TOKENS = 72
_LITTLE_SPACE = 8


class Break(IntEnum):
    """How good a place is to part a page; less is better. 1 to 6 are headings of that level."""

    BLOCK = 7
    ITEM = 8
    ROW = 9
    SENTENCE = 10
    CLAUSE = 11
    WORD = 12
    CODE_GAP = 13
    """Within a listing that is too long for a chunk, after an empty line of it."""
    CODE_LINE = 14
    FORCED = 15
    """Between a heading and its text, a sentence and the listing it announces, within a row too long for a chunk."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece from `start` up to the next atom's start; `end` is where it ends without the space after it."""

    start: int
    end: int
    tokens: int
    rank: int
    is_prose: bool = True
    lead: tuple[int, int] | None = None
    """What must be read before a chunk that starts here: the header of the table, the opening line of the listing."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a heading and its own words stand."""

    start: int
    end: int
    level: int
    words: tuple[int, int]


def atoms_of(text: str, most: int) -> tuple[list[Atom], list[Heading]]:
    """Everything a text holds but the space between, in order, and its headings. No atom has more tokens than `most`."""
    atoms: list[Atom] = []
    headings: list[Heading] = []
    before: Block | None = None
    for block in blocks_of(text):
        rank = _rank(text, block, before)
        if block.kind is Kind.HEADING:
            headings.append(Heading(block.start, block.end, block.level, _words(text, block)))
        atoms += _atoms_of_block(text, block, rank, most)
        before = block
    return atoms, headings


def _rank(text: str, block: Block, before: Block | None) -> int:
    if before is not None and before.kind is Kind.HEADING and not 0 < block.level <= before.level:
        return Break.FORCED  # a heading stays with what it heads, be that another heading
    if block.kind is Kind.HEADING:
        return block.level
    if before is not None and before.kind is Kind.TEXT and text[before.start : before.end].rstrip().endswith((":", "：")):  # noqa: RUF001  # the wide colon of CJK
        return Break.FORCED if block.kind is not Kind.TEXT else Break.CLAUSE
    return Break.BLOCK


def _atoms_of_block(text: str, block: Block, rank: int, most: int) -> Iterator[Atom]:
    if block.kind is Kind.TEXT:
        return _prose(text, block, rank)
    if block.kind is Kind.HEADING:
        return _sentence(text, block.start, block.end, rank)
    if block.kind is Kind.CODE:
        return _code(text, block, rank, most)
    return _table(text, block, rank, most)


def _prose(text: str, block: Block, rank: int) -> Iterator[Atom]:
    """Runs of text (a paragraph, an item, a line that ends by will), sentence by sentence."""
    start = block.start
    for last, line in zip(block.lines, block.lines[1:], strict=False):
        depth = item_depth(text, line)
        if depth is not None or _ends_by_will(text, last):
            yield from _run(text, start, last.end, rank)
            rank, start = _line_rank(text, line, depth), line.start
    yield from _run(text, start, block.end, rank)


def _line_rank(text: str, line: Line, depth: int | None) -> int:
    if depth is None:
        return Break.CLAUSE if text[line.start : line.end].lstrip()[:1].islower() else Break.SENTENCE
    return Break.ITEM if depth == 0 else Break.SENTENCE


def _ends_by_will(text: str, line: Line) -> bool:
    return text.endswith(("  ", "\\", "<br>"), line.start, line.end)


def _run(text: str, start: int, end: int, rank: int) -> Iterator[Atom]:
    for place in sentence_starts(text, start, end):
        yield from _sentence(text, start, place, rank)
        start, rank = place, Break.SENTENCE
    yield from _sentence(text, start, end, rank)


def _sentence(text: str, start: int, end: int, rank: int) -> Iterator[Atom]:
    bare = _bare_end(text, start, end)
    # The space after a sentence is part of the next word's token; a lot of it is not.
    tokens = count_tokens(text[start : bare if end - bare < _LITTLE_SPACE else end])
    if tokens > _LONG_SENTENCE_TOKENS:
        yield from _pieces(text, Atom(start, end, tokens, rank), _PIECE_TOKENS)
    else:
        yield Atom(start, bare, tokens, rank)


def _pieces(text: str, whole: Atom, limit: int) -> Iterator[Atom]:
    """A stretch that is too long, parted into pieces of about `limit` tokens."""
    start, rank = whole.start, whole.rank
    chars = max(1, (whole.end - start) * limit // whole.tokens)
    for place, is_clause in [*parted(text, start, whole.end, chars), (whole.end, False)]:
        piece = Atom(start, place, count_tokens(text[start:place]), rank, whole.is_prose, whole.lead)
        if piece.tokens > limit * 3 // 2 and place - start > 1:  # tokens are denser here than elsewhere in it
            yield from _pieces(text, piece, limit)
        else:
            yield replace(piece, end=_bare_end(text, start, place))
        start, rank = place, (Break.CLAUSE if is_clause else Break.WORD) if whole.is_prose else Break.FORCED


def _code(text: str, block: Block, rank: int, most: int) -> Iterator[Atom]:
    whole = text[block.start : block.end]
    tokens = count_tokens(whole)
    if tokens <= most:
        yield Atom(block.start, _bare_end(text, block.start, block.end), tokens, rank, is_prose=False)
        return
    opening = (block.start, block.lines[0].end) if "```" in text[block.start : block.lines[0].end] else None
    for number, line in enumerate(block.lines):
        if not text[line.start : line.end].strip():
            continue
        yield from _line(text, line, rank, most, opening if number else None)
        rank = Break.CODE_LINE if text[line.end + 1 : line.end + 2].strip() else Break.CODE_GAP
        if number == 0 or number == len(block.lines) - 2:
            rank = Break.FORCED  # the fences stay with what is between them


def _line(text: str, line: Line, rank: int, most: int, lead: tuple[int, int] | None) -> Iterator[Atom]:
    tokens = count_tokens(text[line.start : line.end + 1])
    if tokens > most:
        yield from _pieces(text, Atom(line.start, line.end, tokens, rank, is_prose=False, lead=lead), most // 2)
    else:
        yield Atom(line.start, _bare_end(text, line.start, line.end), tokens, rank, is_prose=False, lead=lead)


def _table(text: str, block: Block, rank: int, most: int) -> Iterator[Atom]:
    """The header with its rule is one atom, then row by row."""
    lines = block.lines
    header = (block.start, lines[min(1, len(lines) - 1)].end)
    yield from _line(text, Line(*header), rank, most, None)
    for number, line in enumerate(lines[2:]):
        is_loose = number == 0 or text.startswith("</table>", line.start)
        yield from _line(text, line, Break.FORCED if is_loose else Break.ROW, most, header)


def _bare_end(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


def _words(text: str, block: Block) -> tuple[int, int]:
    """A heading's own words, without what makes it one."""
    start, end = block.lines[0].start, block.lines[0].end
    raw = text[start:end]
    own = raw.lstrip(" \t>#")
    start += len(raw) - len(own)
    bare = own.rstrip()
    closing = bare.rstrip("#")
    if closing != bare and closing.endswith((" ", "\t")):
        bare = closing.rstrip()
    return start, start + len(bare)
