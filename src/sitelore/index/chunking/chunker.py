"""Splits a page's Markdown into chunks of similar size, each readable alone and with its place on the page."""

from __future__ import annotations

import re
from bisect import bisect_right
from hashlib import sha256
from itertools import pairwise

from sitelore.index.chunking.boundaries import ChunkSpan, PieceLimits, choose_starts, spans_with_overlap
from sitelore.index.chunking.segments import Heading, Segment, segment_markdown
from sitelore.index.chunking.text_fragments import text_fragment
from sitelore.index.plain_text import plain_text
from sitelore.index.prompt_injection import find_flags
from sitelore.model.ids import NO_TEXT, ChunkId, CleanText, piece_of
from sitelore.model.search import Chunk, ChunkSizes
from sitelore.model.url import Url

_MAX_HEADINGS_BACK = 400  # a page that consists of headings must not take quadratic time
_MAX_HEADING_CHARS = 200
_MAX_LEAD_CHARS = 1_200
_WRAPPED = re.compile(r"(\*\*|__|`|\*|\[)(?P<inner>[^*`\[\]]+)(?:\*\*|__|`|\*|\]\([^()\s]*(?:\s\"[^\"]*\")?\))$")
_DEFAULT = ChunkSizes()


def chunk_page(
    url: Url, markdown: CleanText, sizes: ChunkSizes = _DEFAULT, *, title: str = "", landmark: str = ""
) -> tuple[Chunk, ...]:
    """Split a page into chunks, in order. Together they hold everything but the white space between them and the page's title.

    A first heading that equals `title` is in the `headings` of the chunks and not in their text.
    """
    limits = PieceLimits.of(sizes)
    segments, headings = segment_markdown(markdown, limits.max_tokens)
    segments = _without_title(markdown, segments, headings, title)
    if not segments:
        return ()
    starts = choose_starts(markdown, segments, limits)
    pieces = [
        ChunkSpan(first, last, segments[first].start, segments[last - 1].end)
        for first, last in pairwise([*starts, len(segments)])
    ]
    spans = spans_with_overlap(markdown, segments, pieces, sizes)
    byte_offsets = _byte_offsets(markdown, [offset for span in spans for offset in (span.start, span.end)])
    heading_starts = [heading.start for heading in headings]
    chunks: list[Chunk] = []
    copies: dict[str, int] = {}
    for piece, span in zip(pieces, spans, strict=True):
        text = piece_of(markdown, span.start, span.end)
        chunk = Chunk(
            id=_chunk_id(url, text, copies),
            text=text,
            start=byte_offsets[span.start],
            end=byte_offsets[span.end],
            tokens=span.tokens,
            overlap=max(0, chunks[-1].end - byte_offsets[span.start]) if chunks else 0,
            lead=_lead(markdown, segments, span.start),
            headings=_headings_above(markdown, headings, heading_starts, piece),
            landmark=landmark,
            fragment=text_fragment(markdown, piece.start, piece.end),
            flags=find_flags(text),
        )
        chunks.append(chunk)
    return tuple(chunks)


def _without_title(text: CleanText, segments: list[Segment], headings: list[Heading], title: str) -> list[Segment]:
    """The segments after a heading that repeats the title; all of them where nothing follows it."""
    if not title or not headings or headings[0].start != segments[0].start:
        return segments
    if plain_text(text[slice(*headings[0].words)]).split() != title.split():
        return segments
    return [segment for segment in segments if segment.start >= headings[0].end] or segments


def _chunk_id(url: Url, text: str, copies: dict[str, int]) -> ChunkId:
    """A hash of the page's URL and the chunk's text; further chunks with the same text are numbered."""
    number = copies.get(text, 0)
    copies[text] = number + 1
    parts = [str(url), text, str(number)] if number else [str(url), text]
    return ChunkId(sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32])


def _byte_offsets(text: str, offsets: list[int]) -> dict[int, int]:
    """Maps character offsets to offsets in the UTF-8 encoding."""
    if text.isascii():
        return {offset: offset for offset in offsets}
    in_bytes: dict[int, int] = {}
    at = total = 0
    for offset in sorted(set(offsets)):
        total += len(text[at:offset].encode("utf-8", "surrogatepass"))
        in_bytes[offset], at = total, offset
    return in_bytes


def _lead(text: CleanText, segments: list[Segment], start: int) -> CleanText:
    segment = segments[bisect_right(segments, start, key=lambda segment: segment.start) - 1]
    if segment.lead is None or segment.lead[1] - segment.lead[0] > _MAX_LEAD_CHARS:
        return NO_TEXT
    return piece_of(text, *segment.lead)


def _headings_above(text: CleanText, headings: list[Heading], starts: list[int], piece: ChunkSpan) -> tuple[CleanText, ...]:
    """The headings above a chunk's own text, with those it starts with, outermost first."""
    last = bisect_right(starts, piece.start) - 1
    while 0 <= last < len(headings) - 1 and starts[last + 1] < piece.end and starts[last] >= piece.start:
        if text[headings[last].end : starts[last + 1]].strip() or headings[last + 1].level <= headings[last].level:
            break
        last += 1
    above: list[CleanText] = []
    level = 7
    for heading in reversed(headings[max(0, last + 1 - _MAX_HEADINGS_BACK) : last + 1]):
        if heading.level < level:
            level = heading.level
            if words := _unwrapped(text, *heading.words):
                above.append(words)
    return tuple(reversed(above))


def _unwrapped(text: CleanText, start: int, end: int) -> CleanText:
    """A heading's words without the link or emphasis that wraps all of them."""
    for _ in range(3):
        wrapped = _WRAPPED.match(text, start, end)
        if wrapped is None:
            break
        start, end = wrapped.span("inner")
    return piece_of(text, start, min(end, start + _MAX_HEADING_CHARS))
