"""Splits a page's Markdown into chunks: pieces of similar size that can be read alone and found again on the page."""

from __future__ import annotations

import re
from bisect import bisect_right
from hashlib import sha256
from itertools import pairwise

from sitelore.index.atoms import Atom, Heading, atoms_of
from sitelore.index.boundaries import Bounds, pieces_of
from sitelore.index.fragments import fragment_of
from sitelore.index.hygiene import flags_of
from sitelore.index.overlaps import Piece, reaches_of
from sitelore.index.plain import plain_text
from sitelore.model.ids import NO_TEXT, ChunkId, CleanText, piece_of
from sitelore.model.search import Chunk, ChunkSizes
from sitelore.model.url import Url

_LOOKED_BACK = 400  # headings: a page of nothing else must not cost its length squared
_MOST_HEADING_CHARS = 200
_MOST_LEAD_CHARS = 1_200
_WRAPPED = re.compile(r"(\*\*|__|`|\*|\[)(?P<inner>[^*`\[\]]+)(?:\*\*|__|`|\*|\]\([^()\s]*(?:\s\"[^\"]*\")?\))$")
_DEFAULT = ChunkSizes()


def chunk_page(
    url: Url, markdown: CleanText, sizes: ChunkSizes = _DEFAULT, *, title: str = "", landmark: str = ""
) -> tuple[Chunk, ...]:
    """The chunks of a page, in order. Together they hold everything but white space between them, and the page's title.

    A first heading that says the same as `title` is in the `headings` of chunks and not in their text.
    """
    bounds = Bounds.of(sizes)
    atoms, headings = atoms_of(markdown, bounds.most)
    atoms = _without_title(markdown, atoms, headings, title)
    if not atoms:
        return ()
    starts = pieces_of(markdown, atoms, bounds)
    pieces = [Piece(first, last, atoms[first].start, atoms[last - 1].end) for first, last in pairwise([*starts, len(atoms)])]
    reaches = reaches_of(markdown, atoms, pieces, sizes)
    places = _byte_places(markdown, [place for reach in reaches for place in (reach.start, reach.end)])
    opened = [heading.start for heading in headings]
    chunks: list[Chunk] = []
    seen: dict[str, int] = {}
    for piece, reach in zip(pieces, reaches, strict=True):
        text = piece_of(markdown, reach.start, reach.end)
        chunk = Chunk(
            id=_id(url, text, seen),
            text=text,
            start=places[reach.start],
            end=places[reach.end],
            tokens=reach.tokens,
            overlap=max(0, chunks[-1].end - places[reach.start]) if chunks else 0,
            lead=_lead(markdown, atoms, reach.start),
            headings=_above(markdown, headings, opened, piece),
            landmark=landmark,
            fragment=fragment_of(markdown, piece.start, piece.end),
            flags=flags_of(text),
        )
        chunks.append(chunk)
    return tuple(chunks)


def _without_title(text: CleanText, atoms: list[Atom], headings: list[Heading], title: str) -> list[Atom]:
    """The atoms after a heading that repeats the title; all of them where nothing follows it."""
    if not title or not headings or headings[0].start != atoms[0].start:
        return atoms
    if plain_text(text[slice(*headings[0].words)]).split() != title.split():
        return atoms
    return [atom for atom in atoms if atom.start >= headings[0].end] or atoms


def _id(url: Url, text: str, seen: dict[str, int]) -> ChunkId:
    """Of the page and the text; the second chunk that says the same gets another."""
    again = seen.get(text, 0)
    seen[text] = again + 1
    parts = [str(url), text, str(again)] if again else [str(url), text]
    return ChunkId(sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32])


def _byte_places(text: str, places: list[int]) -> dict[int, int]:
    """Characters' places as places in the UTF-8."""
    if text.isascii():
        return {place: place for place in places}
    found: dict[int, int] = {}
    at = total = 0
    for place in sorted(set(places)):
        total += len(text[at:place].encode("utf-8", "surrogatepass"))
        found[place], at = total, place
    return found


def _lead(text: CleanText, atoms: list[Atom], start: int) -> CleanText:
    atom = atoms[bisect_right(atoms, start, key=lambda atom: atom.start) - 1]
    if atom.lead is None or atom.lead[1] - atom.lead[0] > _MOST_LEAD_CHARS:
        return NO_TEXT
    return piece_of(text, *atom.lead)


def _above(text: CleanText, headings: list[Heading], opened: list[int], piece: Piece) -> tuple[CleanText, ...]:
    """The headings above a chunk's own text, its first ones included, outermost first."""
    last = bisect_right(opened, piece.start) - 1
    while 0 <= last < len(headings) - 1 and opened[last + 1] < piece.end and opened[last] >= piece.start:
        if text[headings[last].end : opened[last + 1]].strip() or headings[last + 1].level <= headings[last].level:
            break
        last += 1
    above: list[CleanText] = []
    level = 7
    for heading in reversed(headings[max(0, last + 1 - _LOOKED_BACK) : last + 1]):
        if heading.level < level:
            level = heading.level
            if words := _unwrapped(text, *heading.words):
                above.append(words)
    return tuple(reversed(above))


def _unwrapped(text: CleanText, start: int, end: int) -> CleanText:
    """A heading's words; one that is a link or emphasised as a whole, without that."""
    for _ in range(3):
        found = _WRAPPED.match(text, start, end)
        if found is None:
            break
        start, end = found.span("inner")
    return piece_of(text, start, min(end, start + _MOST_HEADING_CHARS))
