"""The links of a site as arrays, and measures over them: links to a page, click depth, internal rank.

A site may have millions of links, so a link is a row of numbers: URLs and texts are stored once. numpy is needed to sort them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sitelore.model.frontier import LinkColumns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

MAX_POSITION = 65_535
BLOCK_ROWS = 500_000
"""Links that are sorted or added up at once."""
DAMPING = 0.85
MAX_ITERATIONS = 100
TOLERANCE = 1e-7
"""Iterating ends when the sum of all changes of rank is less than this."""


class GraphLink(NamedTuple):
    """One link between two URLs."""

    source: str
    target: str
    position: int
    text: str
    nofollow: bool


class AnchorLink(NamedTuple):
    """A link to a fragment of a page."""

    source: str
    target: str
    fragment: str
    text: str


class _Numbers(dict[str, int]):
    """Numbers of strings; looking up a new string gives it the next number."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __missing__(self, name: str) -> int:
        plain = str(name)
        number = self[plain] = len(self.names)
        self.names.append(plain)
        return number


class SiteGraph:
    """The links of the current versions of all pages of a site."""

    def __init__(self) -> None:
        self.ids = _Numbers()
        self.sources, self.targets, self._texts = array("i"), array("i"), array("i")
        self.positions = array("H")
        self._string_ids = _Numbers()
        self.nofollow = bytearray()
        self._anchors = tuple(array("i") for _ in range(4))
        """Links to fragments: source, target, fragment, text."""

    @property
    def urls(self) -> list[str]:
        """The URLs by their numbers."""
        return self.ids.names

    @property
    def _strings(self) -> list[str]:
        return self._string_ids.names

    def __len__(self) -> int:
        return len(self.sources)

    def add(self, links: LinkColumns) -> None:
        """Add links, column by column: there may be millions."""
        if not links.sources:
            return
        number_of, positions = self.ids.__getitem__, links.positions
        self.sources.extend(map(number_of, links.sources))
        self.targets.extend(map(number_of, links.targets))
        self.positions.extend(positions if max(positions) <= MAX_POSITION else [min(at, MAX_POSITION) for at in positions])
        self._texts.extend(map(self._string_ids.__getitem__, links.texts))
        self.nofollow.extend(links.nofollow)
        for at, fragment in enumerate(links.fragments):
            if fragment:
                self.add_anchor(links.sources[at], links.targets[at], fragment, links.texts[at])

    def add_anchor(self, source: str, target: str, fragment: str, text: str) -> None:
        """Add a link to a fragment. It needs no link of its own: links are stored once for each target."""
        row = (self.ids[source], self.ids[target], self._string_ids[fragment], self._string_ids[text])
        for column, number in zip(self._anchors, row, strict=True):
            column.append(number)

    def anchors(self) -> Iterator[AnchorLink]:
        """Yield the links to fragments, those to one URL together."""
        sources, targets, fragments, texts = self._anchors
        urls, strings = self.urls, self._strings
        for at in sorted(range(len(targets)), key=targets.__getitem__):
            yield AnchorLink(urls[sources[at]], urls[targets[at]], strings[fragments[at]], strings[texts[at]])

    def link(self, at: int) -> GraphLink:
        """The link in one row."""
        urls, strings = self.urls, self._strings
        return GraphLink(
            urls[self.sources[at]],
            urls[self.targets[at]],
            self.positions[at],
            strings[self._texts[at]],
            bool(self.nofollow[at]),
        )

    def inlinks(self, url: str, limit: int | None = None) -> Iterator[GraphLink]:
        """Yield the links to a URL."""
        return map(self.link, self._rows(self._by_target, url)[:limit])

    def outlinks(self, url: str) -> Iterator[GraphLink]:
        """Yield the links of a page, in page order."""
        return map(self.link, self._rows(self._by_source, url))

    def links_to(self, is_wanted: Callable[[str], bool]) -> Iterator[GraphLink]:
        """Yield the links whose target is wanted. Each URL is looked at once."""
        return self._links_with(self.targets, map(is_wanted, self.urls))

    def links_with_text(self, is_wanted: Callable[[str], bool]) -> Iterator[GraphLink]:
        """Yield the links whose text is wanted. Each text is looked at once."""
        return self._links_with(self._texts, map(is_wanted, self._strings))

    def _links_with(self, column: array[int], wanted: Iterable[bool]) -> Iterator[GraphLink]:
        """Yield the links whose number in a column is wanted; `wanted` says it for each number."""
        import numpy as np  # noqa: PLC0415 part of an extra

        is_wanted, numbers = np.fromiter(wanted, bool), _ints(column)
        if is_wanted.any():
            for start in range(0, len(numbers), BLOCK_ROWS):
                rows = np.flatnonzero(is_wanted[numbers[start : start + BLOCK_ROWS]])
                yield from map(self.link, (rows + start).tolist())

    def nofollow_links(self) -> Iterator[GraphLink]:
        """Yield the links that are marked nofollow."""
        return (self.link(at) for at, is_marked in enumerate(self.nofollow) if is_marked)

    def distinct_targets(self, is_counted: Callable[[str], bool] = bool) -> Counter[str]:
        """The number of distinct other URLs that each page links, of those that count."""
        import numpy as np  # noqa: PLC0415 part of an extra

        counts_as = np.fromiter(map(is_counted, self.urls), bool, len(self.urls))
        counts = np.zeros(len(self.urls), np.int64)
        for sources, _, _ in self._edge_parts(range(len(self.urls)), len(self.urls), counts_as):
            counts += np.bincount(sources, minlength=len(self.urls))
        return Counter({url: count for url, count in zip(self.urls, counts.tolist(), strict=True) if count})

    def inlink_count(self, url: str) -> int:
        """The number of links to a URL."""
        return len(self._rows(self._by_target, url))

    def _rows(self, index: tuple[Any, Any], url: str) -> list[int]:
        order, starts = index
        number = self.ids.get(url)
        if number is None or number + 1 >= len(starts):
            return []
        rows: list[int] = order[starts[number] : starts[number + 1]].tolist()
        return rows

    @cached_property
    def _by_target(self) -> tuple[NDArray[np.int32], Ints]:
        return _grouped(self.targets, len(self.urls))

    @cached_property
    def _by_source(self) -> tuple[NDArray[np.int32], Ints]:
        return _grouped(self.sources, len(self.urls))

    def edges(self, nodes: Sequence[int], count: int) -> Edges:
        """The distinct edges between nodes. `nodes` has the node of each URL number, -1 for none; `count` nodes exist."""
        import numpy as np  # noqa: PLC0415 part of an extra

        columns = np.empty(len(self), np.int32), np.empty(len(self), np.int32), np.empty(len(self), bool)
        size = 0
        for part in self._edge_parts(nodes, count):
            end = size + len(part[0])
            for column, values in zip(columns, part, strict=True):
                column[size:end] = values
            size = end
        sources, targets, followed = columns
        return Edges(count, sources[:size], targets[:size], followed[:size])

    def _edge_parts(
        self, nodes: Sequence[int], count: int, is_target: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]]:
        """Yield the edges in parts, because sorting needs several times the memory of what it sorts.

        `is_target`: the nodes whose incoming edges are wanted, all by default.
        """
        import numpy as np  # noqa: PLC0415 part of an extra

        node = np.asarray(nodes, dtype=np.int32)
        if len(self):
            links = _counts(_ints(self.sources), len(node))
            is_node = node >= 0
            starts = np.zeros(count + 1, np.int64)
            np.cumsum(np.bincount(node[is_node], links[is_node], count).astype(np.int64), out=starts[1:])
            for block in _blocks(starts):
                yield self._edges_from(node, count, block, is_target)

    def _edges_from(
        self, node: NDArray[np.int32], count: int, block: tuple[int, int], is_target: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """The distinct edges of the nodes in a range: sources, targets, and whether one of their links is followed."""
        import numpy as np  # noqa: PLC0415 part of an extra

        rows = np.flatnonzero(((node >= block[0]) & (node < block[1]))[_ints(self.sources)])
        sources, targets = node[_ints(self.sources)[rows]], node[_ints(self.targets)[rows]]
        is_edge = (targets >= 0) & (sources != targets)
        if is_target is not None:
            is_edge &= is_target[targets]
        pairs = sources[is_edge].astype(np.int64)
        pairs *= count
        pairs += targets[is_edge]
        # The last bit says nofollow: of the links of a pair, a followed one comes first.
        pairs *= 2
        pairs += np.frombuffer(self.nofollow, np.uint8)[rows][is_edge]
        pairs.sort()
        followed = pairs & 1 == 0
        pairs >>= 1
        is_first = np.ones(len(pairs), bool)
        is_first[1:] = pairs[1:] != pairs[:-1]  # `np.unique` needs several times the memory
        pairs = pairs[is_first]
        return (pairs // count).astype(np.int32), (pairs % count).astype(np.int32), followed[is_first]


def _ints(numbers: array[int]) -> NDArray[np.int32]:
    """An array as one of numpy, without a copy."""
    import numpy as np  # noqa: PLC0415 part of an extra

    return np.frombuffer(numbers, np.int32) if numbers else np.zeros(0, np.int32)


def _counts(numbers: NDArray[np.int32], count: int) -> Ints:
    """How often each number occurs. In parts, because `bincount` makes numbers of 64 bits first."""
    import numpy as np  # noqa: PLC0415 part of an extra

    counts = np.zeros(count, np.int64)
    for at in range(0, len(numbers), BLOCK_ROWS):
        counts += np.bincount(numbers[at : at + BLOCK_ROWS], minlength=count)
    return counts


def _blocks(starts: Ints) -> Iterator[tuple[int, int]]:
    """Yield ranges of numbers that have about `BLOCK_ROWS` rows together."""
    first, count = 0, len(starts) - 1
    while first < count:
        last = int(starts.searchsorted(starts[first] + BLOCK_ROWS))
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def _grouped(numbers: array[int], count: int) -> tuple[NDArray[np.int32], Ints]:
    """The rows sorted by a number, and where the rows of each number start."""
    import numpy as np  # noqa: PLC0415 part of an extra

    values = _ints(numbers)
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(_counts(values, count), out=starts[1:])
    order = np.empty(len(values), np.int32)
    for first, last in _blocks(starts):
        rows = np.flatnonzero((values >= first) & (values < last))
        order[starts[first] : starts[last]] = rows[np.argsort(values[rows], kind="stable")]
    return order, starts


class Edges(NamedTuple):
    """Distinct edges between a number of `nodes`, without loops."""

    nodes: int
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    followed: NDArray[np.bool_]

    def _followed(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Sources and targets of the edges without nofollow; no copy where that is all."""
        if self.followed.all():
            return self.sources, self.targets
        return self.sources[self.followed], self.targets[self.followed]

    def followed_in_degrees(self) -> list[int]:
        """How many nodes link to each node without nofollow."""
        degrees: list[int] = _counts(self._followed()[1], self.nodes).tolist()
        return degrees

    def click_depths(self, start: int) -> list[int]:
        """The length of the shortest path of followed links from a node to each node; -1 where there is none."""
        import numpy as np  # noqa: PLC0415 part of an extra

        sources, targets = self._followed()
        starts = np.searchsorted(sources, np.arange(self.nodes + 1))  # edges are sorted by source
        depths = np.full(self.nodes, -1, np.int64)
        if start < 0:
            return [-1] * self.nodes
        depths[start], frontier, depth = 0, np.array([start]), 0
        while len(frontier):
            depth += 1
            is_reached = np.zeros(self.nodes, bool)
            for node in frontier.tolist():
                is_reached[targets[starts[node] : starts[node + 1]]] = True
            frontier = np.flatnonzero(is_reached & (depths < 0))
            depths[frontier] = depth
        result: list[int] = depths.tolist()
        return result

    def pagerank(self) -> list[float]:
        """The PageRank of each node. A nofollow edge counts among the links of its source and passes nothing on."""
        import numpy as np  # noqa: PLC0415 part of an extra

        count = self.nodes
        if not count:
            return []
        degrees = _counts(self.sources, count)
        shares = 1.0 / np.maximum(degrees, 1)
        sources, targets = self._followed()
        is_dangling = degrees == 0
        ranks: Floats = np.full(count, 1.0 / count)
        for _ in range(MAX_ITERATIONS):
            share, passed = ranks * shares, np.zeros(count)
            for at in range(0, len(sources), BLOCK_ROWS):
                passed += np.bincount(targets[at : at + BLOCK_ROWS], share[sources[at : at + BLOCK_ROWS]], minlength=count)
            new = (1 - DAMPING) / count + DAMPING * (passed + ranks[is_dangling].sum() / count)
            change = float(np.abs(new - ranks).sum())
            ranks = new
            if change < TOLERANCE:
                break
        result: list[float] = ranks.tolist()
        return result
