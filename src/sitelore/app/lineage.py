"""How the URLs of a run were found: a tree in columns, with the place of every URL in a radial picture.

The distance of a URL from the centre is its level in the tree. Its share of the circle is that of the leaves below it, so no
two branches overlap. Equal trees give equal places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from sitelore.model.frontier import FoundUrl

NO_PARENT = -1


@dataclass(slots=True)
class Lineage:
    """The tree. Each column has an entry for each URL; parents come before their children."""

    urls: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """The index of the parent, or `NO_PARENT`."""
    states: list[str] = field(default_factory=list)
    """Empty for a sitemap."""
    depths: list[int] = field(default_factory=list)
    content_types: list[str] = field(default_factory=list)

    def add(self, row: FoundUrl, parent: int) -> None:
        """Add a URL whose parent is here already."""
        self.urls.append(row.url)
        self.parents.append(parent)
        self.states.append("" if row.is_sitemap else row.state)
        self.depths.append(row.depth)
        self.content_types.append(row.content_type)


def lineage_of(rows: Sequence[FoundUrl]) -> Lineage:
    """The tree of these URLs: seeds and sitemaps with URLs are its roots."""
    sources = {each.parent for each in rows}
    seeds = [each for each in rows if each.parent is None and not each.is_sitemap]
    sitemaps = [each for each in rows if each.is_sitemap and each.id in sources]
    others = (each for each in rows if each.parent is not None and not each.is_sitemap)
    tree, indexes = Lineage(), dict[int | None, int]()
    for each in chain(seeds, sitemaps, others):
        parent = NO_PARENT if each.is_sitemap else indexes.get(each.parent, NO_PARENT)
        indexes[each.id] = len(tree.urls)
        tree.add(each, parent)
    return tree


def places(parents: Sequence[int]) -> tuple[list[float], list[float]]:
    """The x and y of every node of a tree in a circle around 0, one unit for each level."""
    leaves = [0] * len(parents)
    for node in range(len(parents) - 1, -1, -1):
        leaves[node] = leaves[node] or 1
        if parents[node] != NO_PARENT:
            leaves[parents[node]] += leaves[node]
    roots = [node for node, parent in enumerate(parents) if parent == NO_PARENT]
    total = sum(leaves[root] for root in roots)
    levels = [0] * len(parents)
    starts = [0.0] * len(parents)  # the angle at which the next child of a node begins
    first_level, next_root = (0 if len(roots) == 1 else 1), 0.0
    x, y = [0.0] * len(parents), [0.0] * len(parents)
    for node, parent in enumerate(parents):
        share = 2 * math.pi * leaves[node] / total
        if parent == NO_PARENT:
            start, next_root = next_root, next_root + share
            levels[node] = first_level
        else:
            start = starts[parent]
            starts[parent] += share
            levels[node] = levels[parent] + 1
        starts[node] = start
        angle = start + share / 2
        x[node], y[node] = levels[node] * math.cos(angle), levels[node] * math.sin(angle)
    return x, y
