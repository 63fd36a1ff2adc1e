"""Splits Markdown into segments, the smallest parts of a chunk: sentences, list items, table rows, whole listings.

Each segment has its token count and a rank that says how good its start is as a chunk boundary. Tokens are counted as OpenAI's
cl100k_base does, offline: the vocabulary is part of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from splintr import Tokenizer

from sitelore.index.chunking.sentences import sentence_starts, split_points
from sitelore.model.markdown_blocks import BlockKind, MarkdownBlock, MarkdownLine, item_indent

_ENCODING = "cl100k_base"

_PART_TOKENS = 48  # of a sentence that is too long: small enough to reach the requested overlap
_LONG_SENTENCE_TOKENS = 72
_MAX_IGNORED_SPACES = 8
_COLONS = (":", "\uff1a")
_HARD_BREAKS = ("  ", "\\", "<br>")


def count_tokens(text: str) -> int:
    """Count the tokens of a text, in linear time. Special tokens such as `<|endoftext|>` count as ordinary text."""
    encode = _encoder()
    try:
        return len(encode(text))
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 encoding
        return len(encode(text.encode("utf-8", "replace").decode()))


@cache
def _encoder() -> Callable[[str], list[int]]:
    return Tokenizer.from_pretrained(_ENCODING).encode_ordinary


class BoundaryRank(IntEnum):
    """How good a place is as a chunk boundary; lower is better. 1 to 6 are headings of that level."""

    BLOCK = 7
    ITEM = 8
    ROW = 9
    SENTENCE = 10
    CLAUSE = 11
    WORD = 12
    CODE_GAP = 13
    """A place after an empty line in a code listing that is too long for one chunk."""
    CODE_LINE = 14
    FORCED = 15
    """Between a heading and its text, between a sentence and the listing it announces, or within a row too long for a chunk."""


class Segment(NamedTuple):
    """A piece of Markdown from `start` up to the next segment's start; `end` excludes the white space after it."""

    start: int
    end: int
    tokens: int
    rank: int
    is_prose: bool = True
    lead: tuple[int, int] | None = None
    """Offsets of the context a chunk that starts here needs: a table's header, a listing's opening fence."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The offsets of a heading, and of its words without markup."""

    start: int
    end: int
    level: int
    words: tuple[int, int]


def segment_markdown(text: str, blocks: list[MarkdownBlock], max_tokens: int) -> tuple[list[Segment], list[Heading]]:
    """Split a text into segments of at most `max_tokens`, and list its headings. Only white space belongs to no segment."""
    segments: list[Segment] = []
    headings: list[Heading] = []
    previous: MarkdownBlock | None = None
    for block in blocks:
        rank = _rank(text, block, previous)
        if block.kind is BlockKind.HEADING:
            headings.append(Heading(block.start, block.end, block.level, _heading_words(text, block)))
        segments += _split_block(text, block, rank, max_tokens)
        previous = block
    return segments, headings


def _rank(text: str, block: MarkdownBlock, previous: MarkdownBlock | None) -> int:
    if previous is not None and previous.kind is BlockKind.HEADING and not 0 < block.level <= previous.level:
        return BoundaryRank.FORCED  # a heading stays with what it heads, be that a subheading
    if block.kind is BlockKind.HEADING:
        return block.level
    if (
        previous is not None
        and previous.kind is BlockKind.TEXT
        and text[previous.start : previous.end].rstrip().endswith(_COLONS)
    ):
        return BoundaryRank.FORCED if block.kind is not BlockKind.TEXT else BoundaryRank.CLAUSE
    return BoundaryRank.BLOCK


def _split_block(text: str, block: MarkdownBlock, rank: int, max_tokens: int) -> Iterable[Segment]:
    if block.kind is BlockKind.TEXT:
        return _split_prose(text, block, rank)
    if block.kind is BlockKind.HEADING:
        heading: list[Segment] = []
        _add_sentence(heading, text, block.start, block.end, rank)
        return heading
    if block.kind is BlockKind.CODE:
        return _split_code(text, block, rank, max_tokens)
    return _split_table(text, block, rank, max_tokens)


def _split_prose(text: str, block: MarkdownBlock, rank: int) -> Iterable[Segment]:
    """Split running text into sentences. A list item and a hard line break end a sentence as well."""
    segments: list[Segment] = []
    start = block.start
    for last, line in pairwise(block.lines):
        indent = item_indent(text, line)
        if indent is not None or text.endswith(_HARD_BREAKS, last.start, last.end):
            _add_sentences(segments, text, start, last.end, rank)
            rank, start = _line_rank(text, line, indent), line.start
    _add_sentences(segments, text, start, block.end, rank)
    return segments


def _line_rank(text: str, line: MarkdownLine, indent: int | None) -> int:
    if indent is None:
        return BoundaryRank.CLAUSE if text[line.start : line.end].lstrip()[:1].islower() else BoundaryRank.SENTENCE
    return BoundaryRank.ITEM if indent == 0 else BoundaryRank.SENTENCE


def _add_sentences(segments: list[Segment], text: str, start: int, end: int, rank: int) -> None:
    for following in sentence_starts(text, start, end):
        _add_sentence(segments, text, start, following, rank)
        start, rank = following, BoundaryRank.SENTENCE
    _add_sentence(segments, text, start, end, rank)


def _add_sentence(segments: list[Segment], text: str, start: int, end: int, rank: int) -> None:
    """Add one segment, or several of a sentence that is too long."""
    sentence = text[start:end]
    stripped = sentence.rstrip()
    # A space after a sentence is part of the next word's token; a long run of white space has tokens of its own.
    tokens = count_tokens(stripped if len(sentence) - len(stripped) < _MAX_IGNORED_SPACES else sentence)
    if tokens > _LONG_SENTENCE_TOKENS:
        segments += _split_long(text, Segment(start, end, tokens, rank), _PART_TOKENS)
    else:
        segments.append(Segment(start, start + len(stripped), tokens, rank))


def _split_long(text: str, whole: Segment, limit: int) -> Iterator[Segment]:
    """Split a segment that is too long into parts of about `limit` tokens."""
    start, rank = whole.start, whole.rank
    chars = max(1, (whole.end - start) * limit // whole.tokens)
    for end, is_clause in [*split_points(text, start, whole.end, chars), (whole.end, False)]:
        part = Segment(start, end, count_tokens(text[start:end]), rank, whole.is_prose, whole.lead)
        if part.tokens > limit * 3 // 2 and end - start > 1:  # tokens are denser here than in the rest of the segment
            yield from _split_long(text, part, limit)
        else:
            yield part._replace(end=_stripped_end(text, start, end))
        start = end
        rank = (BoundaryRank.CLAUSE if is_clause else BoundaryRank.WORD) if whole.is_prose else BoundaryRank.FORCED


def _split_code(text: str, block: MarkdownBlock, rank: int, max_tokens: int) -> Iterator[Segment]:
    """A listing as one segment, or line by line where it is too long for one chunk."""
    tokens = count_tokens(text[block.start : block.end])
    if tokens <= max_tokens:
        yield Segment(block.start, _stripped_end(text, block.start, block.end), tokens, rank, is_prose=False)
        return
    opening = (block.start, block.lines[0].end) if "```" in text[block.start : block.lines[0].end] else None
    for number, line in enumerate(block.lines):
        if not text[line.start : line.end].strip():
            continue
        yield from _split_line(text, line, rank, max_tokens, opening if number else None)
        rank = BoundaryRank.CODE_LINE if text[line.end + 1 : line.end + 2].strip() else BoundaryRank.CODE_GAP
        if number == 0 or number == len(block.lines) - 2:
            rank = BoundaryRank.FORCED  # the fences stay with the code between them


def _split_line(text: str, line: MarkdownLine, rank: int, max_tokens: int, lead: tuple[int, int] | None) -> Iterator[Segment]:
    tokens = count_tokens(text[line.start : line.end + 1])
    if tokens > max_tokens:
        yield from _split_long(text, Segment(line.start, line.end, tokens, rank, is_prose=False, lead=lead), max_tokens // 2)
    else:
        yield Segment(line.start, _stripped_end(text, line.start, line.end), tokens, rank, is_prose=False, lead=lead)


def _split_table(text: str, block: MarkdownBlock, rank: int, max_tokens: int) -> Iterator[Segment]:
    """The header with its rule is one segment, then each row is one."""
    lines = block.lines
    header = (block.start, lines[min(1, len(lines) - 1)].end)
    yield from _split_line(text, MarkdownLine(*header), rank, max_tokens, None)
    for number, line in enumerate(lines[2:]):
        must_follow = number == 0 or text.startswith("</table>", line.start)
        yield from _split_line(text, line, BoundaryRank.FORCED if must_follow else BoundaryRank.ROW, max_tokens, header)


def _stripped_end(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


def _heading_words(text: str, block: MarkdownBlock) -> tuple[int, int]:
    """The offsets of a heading's words without its markers."""
    start, end = block.lines[0].start, block.lines[0].end
    raw = text[start:end]
    words = raw.lstrip(" \t>#")
    start += len(raw) - len(words)
    stripped = words.rstrip()
    unclosed = stripped.rstrip("#")
    if unclosed != stripped and unclosed.endswith((" ", "\t")):
        stripped = unclosed.rstrip()
    return start, start + len(stripped)
