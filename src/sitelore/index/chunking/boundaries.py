"""Chooses where chunks start, and how far neighbouring chunks overlap.

Boundaries. A text is split at its best place, again and again, until every piece is small enough. The best place is the highest
heading, else a paragraph, and so on down the ranks; ties are broken by a hash of the words that follow. Boundaries thus
depend on the text around them and not on the amount of text before: an edit moves only the boundaries near it.

Overlap. Two neighbours share a tenth to a seventh of the later chunk. The later chunk reaches back to a sentence start of the
earlier one. Where that has none in range (after a listing, or an image with a long address), the earlier chunk reaches forward.
Clause and word starts are the next choice; listings and rows are never split for it. If nothing fits the overlap is empty.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import sqrt
from zlib import crc32

from sitelore.index.chunking.segments import BoundaryRank, Segment, count_tokens
from sitelore.index.chunking.sentences import clause_starts, word_starts
from sitelore.model.search import ChunkSizes

_TOKEN_MARGIN = 0.98  # the tokens of a text are not exactly the sum of the tokens of its parts
_MIN_TARGET_SHARE = 0.68
_MAX_TARGET_SHARE = 1.45
_EVEN_SHARE = 0.9
_EVEN_PART = 0.42
_HASHED_CHARS = 64
_BELOW_HEADINGS = BoundaryRank.BLOCK << 32
_FORCED = BoundaryRank.FORCED << 32

_MAX_OVERLAP = 1.22  # as shares of the overlap that the settings ask for
_MIN_OVERLAP = 0.86
_BEST_OVERLAP = 1.04
_MAX_CANDIDATES = 12
_MAX_FITS = 3
_SENTENCE_SLACK = 0.97  # for the margin of token sums
_CLAUSE_SLACK = 0.88  # tokens are not spread evenly over a sentence


@dataclass(frozen=True, slots=True)
class PieceLimits:
    """Token limits of a chunk's own text; the overlap is added to it."""

    min_tokens: int
    even_tokens: int
    """The minimum where a place has no advantage but its rank."""
    split_above: int
    max_tokens: int
    """Longer pieces are split even at a bad place."""

    @staticmethod
    def of(sizes: ChunkSizes) -> PieceLimits:
        """The limits that follow from the configured chunk sizes."""
        own_share = max(0.5, 1 - sizes.overlap * _MAX_OVERLAP)
        widest = max(16, int(sizes.max_tokens * own_share))
        target = sizes.target * (1 - sizes.overlap)
        min_tokens = min(max(sizes.min_tokens / _TOKEN_MARGIN, _MIN_TARGET_SHARE * target), widest / 2)
        split_above = min(widest, max(2.1 * min_tokens, _MAX_TARGET_SHARE * target))
        even = int(max(min_tokens, _EVEN_SHARE * target))
        return PieceLimits(int(min_tokens), even, int(split_above), max(16, int(sizes.max_tokens * _TOKEN_MARGIN)))


def choose_starts(text: str, segments: list[Segment], limits: PieceLimits) -> list[int]:
    """The numbers of the segments that start a chunk, in order; the first segment is one of them."""
    keys = [_boundary_key(text, segment) for segment in segments]
    before = [0, *accumulate(segment.tokens for segment in segments)]
    starts = [0]
    stack = [(0, len(segments))]
    while stack:
        first, last = stack.pop()
        cut = _best_cut(keys, before, first, last, limits)
        if cut is None:
            starts.append(first)
        else:
            stack += ((first, cut), (cut, last))
    return _merge_small(keys, before, sorted(set(starts)), limits)


def _boundary_key(text: str, segment: Segment) -> int:
    """Sort key of a segment as the start of a chunk: its rank, then a hash of its first words. Lower is better."""
    following = text[segment.start : segment.start + _HASHED_CHARS].encode("utf-8", "replace")
    return (segment.rank << 32) + crc32(following)


def _best_cut(keys: list[int], before: list[int], first: int, last: int, limits: PieceLimits) -> int | None:
    """The best place to split the segments from `first` up to `last`; None to keep them together."""
    size = before[last] - before[first]
    middle = before[first] + size // 2
    candidates = _inside_margin(before, first, last, limits.min_tokens)
    if candidates is not None:
        best = min(keys[slice(*candidates)])
        if best < _BELOW_HEADINGS:
            return _nearest_to_middle(keys, before, best, candidates, middle)
    if size > limits.split_above:
        for margin in (min(limits.even_tokens, int(size * _EVEN_PART)), limits.min_tokens):
            candidates = _inside_margin(before, first, last, max(margin, limits.min_tokens))
            if candidates is not None and (best := min(keys[slice(*candidates)])) < _FORCED:
                return _nearest_to_middle(keys, before, best, candidates, middle)
    return _last_resort_cut(keys, before, first, last) if size > limits.max_tokens else None


def _inside_margin(before: list[int], first: int, last: int, margin: int) -> tuple[int, int] | None:
    """The range of segments with at least `margin` tokens before and after them."""
    low = bisect_left(before, before[first] + margin, first + 1, last)
    high = bisect_right(before, before[last] - margin, first + 1, last)
    return (low, high) if low < high else None


def _nearest_to_middle(keys: list[int], before: list[int], best: int, candidates: tuple[int, int], middle: int) -> int:
    """The place nearest the middle among places with equal keys, which a page has that repeats one text."""
    low, high = candidates
    if keys[low:high].count(best) == 1:
        return keys.index(best, low, high)
    return min((at for at in range(low, high) if keys[at] == best), key=lambda at: abs(before[at] - middle))


def _last_resort_cut(keys: list[int], before: list[int], first: int, last: int) -> int | None:
    """The place nearest the middle of a piece that has no good one, mostly a long listing; forced places come last."""
    middle = (before[first] + before[last]) // 2
    places = [at for at in range(first + 1, last) if keys[at] < _FORCED] or list(range(first + 1, last))
    return min(places, key=lambda at: abs(before[at] - middle), default=None)


def _merge_small(keys: list[int], before: list[int], starts: list[int], limits: PieceLimits) -> list[int]:
    """Merge pieces that are too small into the neighbour across the weaker boundary, where the sum is not too large."""
    ends = [*starts[1:], len(keys)]
    pieces = list(zip(starts, ends, strict=True))
    merged: list[tuple[int, int]] = []
    for number, (first, last) in enumerate(pieces):
        if merged and _is_small(before, merged[-1], limits) | _is_small(before, (first, last), limits):
            joined = (merged[-1][0], last)
            following = pieces[number + 1] if number + 1 < len(pieces) else None
            fits = before[last] - before[joined[0]] <= limits.split_above
            is_small = _is_small(before, (first, last), limits) and not _is_small(before, merged[-1], limits)
            belongs_to_next = (
                is_small
                and following is not None
                and keys[following[0]] > keys[first]
                and before[following[1]] - before[first] <= limits.split_above
            )
            if fits and not belongs_to_next:
                merged[-1] = joined
                continue
        merged.append((first, last))
    return [first for first, _ in merged]


def _is_small(before: list[int], piece: tuple[int, int], limits: PieceLimits) -> bool:
    return before[piece[1]] - before[piece[0]] < limits.min_tokens


SplitFunction = Callable[[str, int, int], list[int]]
CandidateKinds = tuple[SplitFunction | None, ...]
"""Kinds of places where an overlap may start or end, by the function that finds them; None means sentence starts."""
SizedPlaces = list[tuple[float, int]]
"""Places, each with the number of tokens that would be shared."""

_SENTENCES: CandidateKinds = (None,)
_PARTS_OF_SENTENCES: CandidateKinds = (clause_starts, word_starts)


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A chunk's own text without overlap: the range of its segments, and its offsets."""

    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OverlappedSpan:
    """The offsets of a chunk with its overlap, and its token count."""

    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _OverlapLimits:
    """How many tokens two chunks may share, absolutely and as a share of the later one."""

    min_tokens: float
    best_tokens: float
    max_tokens: float
    min_share: float
    max_share: float
    max_chunk_tokens: int

    def allows(self, shared: int, whole: int) -> bool:
        """Whether `shared` is neither too small nor too large a share of `whole`."""
        return self.min_share * whole <= shared <= self.max_share * whole


@dataclass(frozen=True, slots=True)
class _OverlapPlaces:
    """Candidate places for an overlap to start or end: sentence and clause starts, and segments that can be split further."""

    sentences: SizedPlaces = field(default_factory=list)
    clauses: SizedPlaces = field(default_factory=list)
    inside: list[tuple[Segment, float]] = field(default_factory=list)
    """Prose segments, each with the tokens shared before it is split."""

    def add(self, shared: float, place: int, following: Segment) -> None:
        """Add the place before `following`, at which `shared` tokens would be shared."""
        is_sentence = following.rank <= BoundaryRank.SENTENCE or not following.is_prose
        (self.sentences if is_sentence else self.clauses).append((shared, place))


def spans_with_overlap(text: str, segments: list[Segment], pieces: list[ChunkSpan], sizes: ChunkSizes) -> list[OverlappedSpan]:
    """Extend every chunk by its overlap. From the last chunk to the first: a share needs the final size of the later chunk."""
    spans: list[OverlappedSpan] = []
    end = pieces[-1].end
    for number in range(len(pieces) - 1, 0, -1):
        span, end = _overlap(text, segments, (pieces[number - 1], pieces[number]), end, sizes)
        spans.append(span)
    spans.append(OverlappedSpan(pieces[0].start, end, count_tokens(text[pieces[0].start : end])))
    return spans[::-1]


def _overlap(
    text: str, segments: list[Segment], neighbours: tuple[ChunkSpan, ChunkSpan], end: int, sizes: ChunkSizes
) -> tuple[OverlappedSpan, int]:
    """The span of the later of two chunks, which ends at `end`, and the end of the earlier one."""
    earlier, later = neighbours
    tokens = count_tokens(text[later.start : end])
    span = OverlappedSpan(later.start, end, tokens)
    earlier_tokens = sum(segment.tokens for segment in segments[earlier.first : earlier.last])
    limits = _overlap_limits(tokens, earlier_tokens, sizes)
    if limits is None:
        return span, earlier.end
    for kinds in (_SENTENCES, _PARTS_OF_SENTENCES):
        if (extended := _reach_back(text, segments, (earlier, earlier_tokens), span, limits, kinds)) is not None:
            return extended, earlier.end
        room = sizes.max_tokens - earlier_tokens
        if (earlier_end := _reach_forward(text, segments, later, tokens, limits, room, kinds)) is not None:
            return span, earlier_end
    return span, earlier.end


def _overlap_limits(tokens: int, earlier_tokens: int, sizes: ChunkSizes) -> _OverlapLimits | None:
    if sizes.overlap <= 0 or not tokens:
        return None
    min_share, max_share = sizes.overlap * _MIN_OVERLAP, sizes.overlap * _MAX_OVERLAP
    # The shared text is a share of both chunks: between a long and a short one the geometric mean suits both.
    best_share = min(max_share, max(min_share, _BEST_OVERLAP * sizes.overlap * sqrt(earlier_tokens / tokens)))
    low, best, high = (tokens * share / (1 - share) for share in (min_share, best_share, max_share))
    return _OverlapLimits(low, best, high, min_share, max_share, sizes.max_tokens)


def _reach_back(
    text: str,
    segments: list[Segment],
    earlier: tuple[ChunkSpan, int],
    later: OverlappedSpan,
    limits: _OverlapLimits,
    kinds: CandidateKinds,
) -> OverlappedSpan | None:
    """The later chunk extended into the earlier one."""
    piece, earlier_tokens = earlier
    if later.tokens + limits.min_tokens > limits.max_chunk_tokens:
        return None
    for places in _candidates(text, _places_before_end(segments, piece, limits), limits, kinds, is_forward=False):
        fitting: list[tuple[bool, int, OverlappedSpan]] = []
        for number, place in enumerate(places):
            shared = count_tokens(text[place : piece.end])
            if not limits.allows(shared, later.tokens + shared):
                continue
            tokens = _joined_tokens(text, place, later)
            if limits.allows(shared, tokens) and tokens <= limits.max_chunk_tokens:
                suits_both = limits.allows(shared, earlier_tokens + shared)
                fitting.append((not suits_both, number, OverlappedSpan(place, later.end, tokens)))
                if suits_both or len(fitting) >= _MAX_FITS:
                    break
        if fitting:
            return min(fitting, key=lambda fit: fit[:2])[2]
    return None


def _joined_tokens(text: str, place: int, later: OverlappedSpan) -> int:
    """The tokens of a chunk that is extended to an earlier place."""
    # No token goes on after a newline, unless with white space: then the two parts may be counted separately.
    if text.startswith("\n", later.start - 1) and not text[later.start].isspace():
        return count_tokens(text[place : later.start]) + later.tokens
    return count_tokens(text[place : later.end])


def _reach_forward(
    text: str,
    segments: list[Segment],
    later: ChunkSpan,
    tokens: int,
    limits: _OverlapLimits,
    room: float,
    kinds: CandidateKinds,
) -> int | None:
    """The end of the earlier chunk when it takes the start of the later one."""
    low, high = tokens * limits.min_share, min(tokens * limits.max_share, room)
    if low > high:
        return None
    best = min(high, tokens * (limits.min_share + limits.max_share) / 2)
    limits = replace(limits, min_tokens=low, best_tokens=best, max_tokens=high)
    for places in _candidates(text, _places_after_start(segments, later, limits), limits, kinds, is_forward=True):
        for place in places:
            end = later.start + len(text[later.start : place].rstrip())
            shared = count_tokens(text[later.start : end])
            if limits.allows(shared, tokens) and shared <= room:
                return end
    return None


def _places_before_end(segments: list[Segment], piece: ChunkSpan, limits: _OverlapLimits) -> _OverlapPlaces:
    """Where the shared last part of a piece may start."""
    places = _OverlapPlaces()
    shared = 0.0
    for at in range(piece.last - 1, piece.first - 1, -1):
        segment = segments[at]
        if segment.is_prose and shared + segment.tokens > limits.min_tokens:
            places.inside.append((segment, shared))
        shared += segment.tokens
        if at > piece.first and (segment.is_prose or segment.rank < BoundaryRank.FORCED):
            places.add(shared, segment.start, segment)
        if shared > limits.max_tokens:
            break
    return places


def _places_after_start(segments: list[Segment], piece: ChunkSpan, limits: _OverlapLimits) -> _OverlapPlaces:
    """Where the shared first part of a piece may end."""
    places = _OverlapPlaces()
    shared = 0.0
    for at in range(piece.first, piece.last - 1):
        segment, following = segments[at], segments[at + 1]
        if segment.is_prose and shared + segment.tokens > limits.min_tokens:
            places.inside.append((segment, shared))
        shared += segment.tokens
        if following.rank < BoundaryRank.FORCED:
            places.add(shared, segment.end, following)
        if shared > limits.max_tokens:
            break
    return places


def _candidates(
    text: str, places: _OverlapPlaces, limits: _OverlapLimits, kinds: CandidateKinds, *, is_forward: bool
) -> Iterable[list[int]]:
    """Places to try, one list for each kind, nearest to the best size first."""

    def inside(split: SplitFunction) -> SizedPlaces:
        return [
            (
                shared
                + abs(place - (segment.start if is_forward else segment.end))
                * segment.tokens
                / max(1, segment.end - segment.start),
                place,
            )
            for segment, shared in places.inside
            for place in split(text, segment.start, segment.end)
        ]

    for split in kinds:
        if split is None:
            yield _nearest_in_size(places.sentences, limits, _SENTENCE_SLACK)
        else:
            also = places.clauses if split is clause_starts else []
            yield _nearest_in_size(also + inside(split), limits, _CLAUSE_SLACK)


def _nearest_in_size(places: SizedPlaces, limits: _OverlapLimits, slack: float) -> list[int]:
    low, high = limits.min_tokens * slack, limits.max_tokens / slack
    near = [(abs(size - limits.best_tokens), place) for size, place in places if low <= size <= high]
    return [place for _, place in sorted(near)[:_MAX_CANDIDATES]]
