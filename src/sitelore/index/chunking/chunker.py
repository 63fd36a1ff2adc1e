"""Splits a page's Markdown into chunks of similar size, each readable alone and with its place on the page."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from sitelore.index.chunking.boundaries import ChunkSpan, OverlappedSpan, PieceLimits, choose_starts, spans_with_overlap
from sitelore.index.chunking.places import NamedPlace, definitions, named_places
from sitelore.index.chunking.readable import UNCHANGED, SourceMap
from sitelore.index.chunking.segments import Heading, Segment, segment_markdown
from sitelore.index.chunking.text_fragments import text_fragment
from sitelore.index.plain_text import plain_text
from sitelore.index.prompt_injection import MAX_HINT_CHARS, find_flags, hint_starts
from sitelore.model.ids import NO_TEXT, ChunkId, CleanText, piece_of
from sitelore.model.markdown_blocks import parse_blocks
from sitelore.model.search import Chunk, ChunkSizes
from sitelore.model.url import Url

_MAX_HEADINGS_BACK = 400  # a page that consists of headings must not take quadratic time
_MAX_HEADING_CHARS = 200
_LINK_LIST_SHARE = 0.45
_MAX_LEAD_CHARS = 1_200
_WRAPPED = re.compile(r"(\*\*|__|`|\*|\[)(?P<inner>[^*`\[\]]+)(?:\*\*|__|`|\*|\]\([^()\s]*(?:\s\"[^\"]*\")?\))$")
_DEFAULT = ChunkSizes()


@dataclass(frozen=True, slots=True)
class PageContext:
    """What chunks need to know of their page besides its text."""

    title: str = ""
    landmark: str = ""
    source: SourceMap = UNCHANGED
    """Leads from the text to the page's Markdown, which `start` and `end` of a chunk refer to."""
    markdown: str = ""
    """The Markdown itself; empty where the text is the Markdown."""
    anchors: tuple[tuple[str, str], ...] = ()
    """(anchor, text) of the page's headings and definition terms, in page order."""
    plain: str = ""
    """The page's plain text, a line for each block; text fragments are checked against it."""


_NO_CONTEXT = PageContext()


def chunk_page(url: Url, text: CleanText, sizes: ChunkSizes = _DEFAULT, page: PageContext = _NO_CONTEXT) -> tuple[Chunk, ...]:
    """Split a page into chunks, in order. Together they hold everything but the white space between them and the page's title.

    A first heading that equals the page's title is in the `headings` of the chunks and not in their text.
    """
    limits = PieceLimits.of(sizes)
    blocks = parse_blocks(text)
    segments, headings = segment_markdown(text, blocks, limits.max_tokens)
    segments = _without_title(text, segments, headings, page.title)
    if not segments:
        return ()
    starts = choose_starts(text, segments, limits)
    pieces = [
        ChunkSpan(first, last, segments[first].start, segments[last - 1].end)
        for first, last in pairwise([*starts, len(segments)])
    ]
    spans = spans_with_overlap(text, segments, pieces, sizes)
    places = [(span, page.source.start(span.start), page.source.end(span.end)) for span in spans]
    byte_offsets = _byte_offsets(page.markdown or text, [offset for _, start, end in places for offset in (start, end)])
    heading_starts = [heading.start for heading in headings]
    named = [place for place in named_places(text, blocks, page.anchors) if place.anchor] if page.anchors else []
    plain = page.plain or "\n".join(map(plain_text, text.split("\n")))
    defined = definitions(text, blocks)
    hints = list(hint_starts(text))
    chunks: list[Chunk] = []
    copies: dict[str, int] = {}
    for piece, (span, start, end) in zip(pieces, places, strict=True):
        own = piece_of(text, span.start, span.end)
        chunk = Chunk(
            id=_chunk_id(url, own, copies),
            text=own,
            start=byte_offsets[start],
            end=byte_offsets[end],
            tokens=span.tokens,
            overlap=max(0, chunks[-1].end - byte_offsets[start]) if chunks else 0,
            lead=_lead(text, segments, span.start),
            headings=_headings_above(text, headings, heading_starts, piece),
            landmark=page.landmark,
            fragment=text_fragment(text, piece.start, piece.end, plain),
            anchors=_anchors_in(named, span),
            definitions=tuple(words for _, words in defined[slice(*_inside(defined, span))]),
            flags=find_flags(own) if _has_hint(hints, span) else (),
            is_link_list=page.source.linked_share(span.start, span.end) > _LINK_LIST_SHARE,
        )
        chunks.append(chunk)
    return tuple(chunks)


def _inside(defined: list[tuple[int, str]], span: OverlappedSpan) -> tuple[int, int]:
    """The range of the definitions that begin in a chunk."""
    return bisect_left(defined, (span.start, "")), bisect_left(defined, (span.end, ""))


def _has_hint(hints: list[int], span: OverlappedSpan) -> bool:
    """Whether a hint of a prompt injection starts in a chunk, or shortly before it and may hide another one."""
    return bisect_left(hints, span.start - MAX_HINT_CHARS) < bisect_left(hints, span.end)


def _anchors_in(named: list[NamedPlace], span: OverlappedSpan) -> tuple[tuple[int, str], ...]:
    """The anchors of a chunk with their offsets in its text: the one above its start (-1), and those inside."""
    first = bisect_left(named, span.start, key=lambda place: place.start)
    last = bisect_left(named, span.end, key=lambda place: place.start)
    above = [(-1, named[first - 1].anchor)] if first else []
    return (*above, *((place.start - span.start, place.anchor) for place in named[first:last]))


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
