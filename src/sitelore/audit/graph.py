"""The links of a site as arrays, and measures over them: links to a page, click depth, internal rank.

A site may have millions of links, so a link is a row of numbers: URLs and texts are stored once. numpy is needed to sort them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sitelore.model.frontier import LinkBetweenPages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

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


class SiteGraph:
    """The links of the current versions of all pages of a site."""

    def __init__(self, links: Iterable[LinkBetweenPages] = ()) -> None:
        self.urls: list[str] = []
        self.ids: dict[str, int] = {}
        self.sources, self.targets, self.positions = array("i"), array("i"), array("i")
        self._strings: list[str] = [""]
        self._string_ids: dict[str, int] = {"": 0}
        self._texts = array("i")
        self.nofollow = bytearray()
        self._anchors = tuple(array("i") for _ in range(4))
        """Links to fragments: source, target, fragment, text."""
        for link in links:
            self.add(link)

    def __len__(self) -> int:
        return len(self.sources)

    def add(self, link: LinkBetweenPages) -> None:
        """Add one link."""
        self.add_link(link.source, link.target, link.position, link.text, link.fragment, link.nofollow)

    def add_link(
        self, source: str, target: str, position: int = 0, text: str = "", fragment: str = "", nofollow: bool = False
    ) -> None:
        """Add one link by its parts."""
        self.sources.append(self.id_of(source))
        self.targets.append(self.id_of(target))
        self.positions.append(position)
        self._texts.append(self._string_id(text))
        self.nofollow.append(nofollow)
        if fragment:
            self.add_anchor(source, target, fragment, text)

    def add_anchor(self, source: str, target: str, fragment: str, text: str) -> None:
        """Add a link to a fragment. It needs no link of its own: links are stored once for each target."""
        row = (self.id_of(source), self.id_of(target), self._string_id(fragment), self._string_id(text))
        for column, number in zip(self._anchors, row, strict=True):
            column.append(number)

    def anchors(self) -> Iterator[AnchorLink]:
        """Yield the links to fragments, those to one URL together."""
        sources, targets, fragments, texts = self._anchors
        urls, strings = self.urls, self._strings
        for at in sorted(range(len(targets)), key=targets.__getitem__):
            yield AnchorLink(urls[sources[at]], urls[targets[at]], strings[fragments[at]], strings[texts[at]])

    def id_of(self, url: str) -> int:
        """The number of a URL, a new one for a new URL."""
        number = self.ids.get(url)
        if number is None:
            number = self.ids[url] = len(self.urls)
            self.urls.append(str(url))
        return number

    def _string_id(self, text: str) -> int:
        number = self._string_ids.get(text)
        if number is None:
            number = self._string_ids[text] = len(self._strings)
            self._strings.append(str(text))
        return number

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
        wanted = [number for number, url in enumerate(self.urls) if is_wanted(url)]
        return self._links_with(self.targets, wanted)

    def links_with_text(self, is_wanted: Callable[[str], bool]) -> Iterator[GraphLink]:
        """Yield the links whose text is wanted. Each text is looked at once."""
        wanted = [number for number, text in enumerate(self._strings) if is_wanted(text)]
        return self._links_with(self._texts, wanted)

    def _links_with(self, column: array[int], wanted: list[int]) -> Iterator[GraphLink]:
        import numpy as np  # noqa: PLC0415 part of an extra

        if not wanted or not column:
            return iter(())
        return map(self.link, np.flatnonzero(np.isin(np.frombuffer(column, np.int32), wanted)).tolist())

    def nofollow_links(self) -> Iterator[GraphLink]:
        """Yield the links that are marked nofollow."""
        return (self.link(at) for at, is_marked in enumerate(self.nofollow) if is_marked)

    def distinct_targets(self, is_counted: Callable[[str], bool] = bool) -> Counter[str]:
        """The number of distinct other URLs that each page links, of those that count."""
        import numpy as np  # noqa: PLC0415 part of an extra

        if not len(self):
            return Counter()
        counts_as = np.fromiter(map(is_counted, self.urls), bool, len(self.urls))
        sources, targets = np.frombuffer(self.sources, np.int32), np.frombuffer(self.targets, np.int32)
        keep = counts_as[targets] & (sources != targets)
        pairs = _pairs(sources, targets, keep, len(self.urls))
        pairs.sort()
        counts = np.bincount(pairs[_is_first(pairs)] // len(self.urls), minlength=len(self.urls)).tolist()
        return Counter({url: count for url, count in zip(self.urls, counts, strict=True) if count})

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

        if not len(self):
            return Edges(count, np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, bool))
        node = np.asarray(nodes, dtype=np.int32)
        sources, targets = node[np.frombuffer(self.sources, np.int32)], node[np.frombuffer(self.targets, np.int32)]
        is_edge = (sources >= 0) & (targets >= 0) & (sources != targets)
        pairs = _pairs(sources, targets, is_edge, count)
        del sources, targets
        # The last bit says nofollow: of the links of a pair, a followed one comes first.
        pairs *= 2
        pairs += np.frombuffer(self.nofollow, np.uint8)[is_edge]
        pairs.sort()
        followed = pairs & 1 == 0
        pairs >>= 1
        is_first = _is_first(pairs)
        pairs = pairs[is_first]
        divisor = max(count, 1)
        return Edges(count, (pairs // divisor).astype(np.int32), (pairs % divisor).astype(np.int32), followed[is_first])


def _pairs(sources: NDArray[np.int32], targets: NDArray[np.int32], is_wanted: NDArray[np.bool_], count: int) -> Ints:
    """A number for each pair that is wanted."""
    import numpy as np  # noqa: PLC0415 part of an extra

    pairs = sources[is_wanted].astype(np.int64)
    pairs *= count
    pairs += targets[is_wanted]
    return pairs


def _is_first(numbers: Ints) -> NDArray[np.bool_]:
    """Where a new number begins in a sorted array. (`np.unique` needs several times the memory.)"""
    import numpy as np  # noqa: PLC0415 part of an extra

    is_first = np.ones(len(numbers), bool)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return is_first


def _grouped(numbers: array[int], count: int) -> tuple[NDArray[np.int32], Ints]:
    """The rows sorted by a number, and where the rows of each number start."""
    import numpy as np  # noqa: PLC0415 part of an extra

    values = np.frombuffer(numbers, np.int32) if numbers else np.zeros(0, np.int32)
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(values, minlength=count), out=starts[1:])
    return np.argsort(values, kind="stable").astype(np.int32), starts


class Edges(NamedTuple):
    """Distinct edges between a number of `nodes`, without loops."""

    nodes: int
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    followed: NDArray[np.bool_]

    def followed_in_degrees(self) -> list[int]:
        """How many nodes link to each node without nofollow."""
        import numpy as np  # noqa: PLC0415 part of an extra

        degrees: list[int] = np.bincount(self.targets[self.followed], minlength=self.nodes).tolist()
        return degrees

    def click_depths(self, start: int) -> list[int]:
        """The length of the shortest path of followed links from a node to each node; -1 where there is none."""
        import numpy as np  # noqa: PLC0415 part of an extra

        sources, targets = self.sources[self.followed], self.targets[self.followed]
        starts = np.searchsorted(sources, np.arange(self.nodes + 1))  # edges are sorted by source
        depths = np.full(self.nodes, -1, np.int64)
        if start < 0:
            return [-1] * self.nodes
        depths[start], frontier, depth = 0, np.array([start]), 0
        while len(frontier):
            depth += 1
            reached = np.unique(np.concatenate([targets[starts[node] : starts[node + 1]] for node in frontier.tolist()]))
            frontier = reached[depths[reached] < 0]
            depths[frontier] = depth
        result: list[int] = depths.tolist()
        return result

    def pagerank(self) -> list[float]:
        """The PageRank of each node. A nofollow edge counts among the links of its source and passes nothing on."""
        import numpy as np  # noqa: PLC0415 part of an extra

        count = self.nodes
        if not count:
            return []
        degrees = np.bincount(self.sources, minlength=count)
        shares = 1.0 / np.maximum(degrees, 1)
        sources, targets = self.sources[self.followed], self.targets[self.followed]
        is_dangling = degrees == 0
        ranks: Floats = np.full(count, 1.0 / count)
        for _ in range(MAX_ITERATIONS):
            passed = np.bincount(targets, (ranks * shares)[sources], minlength=count)
            new = (1 - DAMPING) / count + DAMPING * (passed + ranks[is_dangling].sum() / count)
            change = float(np.abs(new - ranks).sum())
            ranks = new
            if change < TOLERANCE:
                break
        result: list[float] = ranks.tolist()
        return result
