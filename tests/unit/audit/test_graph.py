"""Measures over links: PageRank, click depth, links to a page."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sitelore.audit.graph import DAMPING, Edges, SiteGraph

from .sites import columns_of, linked


def random_graph(nodes: int, links: int, seed: int) -> SiteGraph:
    """A graph with loops, repeated links and pages without links."""
    graph = SiteGraph()
    for number in range(nodes):
        assert graph.ids[f"https://site.example/{number}"] == number
    chosen = random.Random(seed)
    for _ in range(links):
        source, target = chosen.randrange(nodes * 3 // 4), chosen.randrange(nodes)
        graph.add(columns_of([linked(f"https://site.example/{source}", f"https://site.example/{target}")]))
    return graph


def edges_of(graph: SiteGraph) -> Edges:
    return graph.edges(range(len(graph.urls)), len(graph.urls))


def dense_pagerank(pairs: set[tuple[int, int]], count: int) -> list[float]:
    """PageRank by power iteration over the full matrix, as in the textbook."""
    matrix = np.zeros((count, count))
    for source, target in pairs:
        matrix[target, source] = 1.0
    degrees = matrix.sum(axis=0)
    matrix = np.where(degrees > 0, matrix / np.maximum(degrees, 1), 1.0 / count)
    ranks = np.full(count, 1.0 / count)
    for _ in range(500):
        ranks = (1 - DAMPING) / count + DAMPING * matrix @ ranks
    values: list[float] = ranks.tolist()
    return values


@pytest.mark.parametrize("seed", range(5))
def test_pagerank_equals_power_iteration_over_the_full_matrix(seed: int) -> None:
    graph = random_graph(120, 700, seed)
    pairs = {(source, target) for source, target in zip(graph.sources, graph.targets, strict=True) if source != target}
    ranks = edges_of(graph).pagerank()
    assert ranks == pytest.approx(dense_pagerank(pairs, 120), abs=1e-7)
    assert sum(ranks) == pytest.approx(1)


def test_pagerank_of_a_site_without_pages_or_links() -> None:
    assert SiteGraph().edges([], 0).pagerank() == []
    graph = SiteGraph()
    assert [graph.ids["https://site.example/a"], graph.ids["https://site.example/b"]] == [0, 1]
    assert edges_of(graph).pagerank() == pytest.approx([0.5, 0.5])


def test_a_nofollow_link_takes_a_share_and_passes_nothing_on() -> None:
    ranks = {}
    for nofollow in (False, True):
        graph = SiteGraph()
        graph.add(columns_of([linked("a", "b")]))
        graph.add(columns_of([linked("a", "c", nofollow=nofollow)]))
        graph.add(columns_of([linked("b", "a")]))
        graph.add(columns_of([linked("c", "a")]))
        ranks[nofollow] = dict(zip(graph.urls, edges_of(graph).pagerank(), strict=True))
    assert ranks[True]["c"] < ranks[False]["c"]
    assert ranks[True]["b"] <= ranks[False]["b"]


def test_a_link_that_is_followed_once_counts_as_followed() -> None:
    graph = SiteGraph()
    graph.add(columns_of([linked("a", "b", nofollow=True)]))
    graph.add(columns_of([linked("a", "b")]))
    edges = edges_of(graph)
    assert edges.followed.tolist() == [True]
    assert edges.followed_in_degrees() == [0, 1]


def test_click_depth_is_the_shortest_path_of_followed_links() -> None:
    graph = SiteGraph()
    for source, target in (("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("e", "a")):
        graph.add(columns_of([linked(source, target)]))
    graph.add(columns_of([linked("a", "d", nofollow=True)]))
    depths = dict(zip(graph.urls, edges_of(graph).click_depths(0), strict=True))
    assert depths == {"a": 0, "b": 1, "c": 1, "d": 2, "e": -1}
    assert edges_of(graph).click_depths(-1) == [-1] * 5


@pytest.mark.parametrize("seed", range(3))
def test_links_to_and_from_a_url_are_complete(seed: int) -> None:
    graph = random_graph(40, 300, seed)
    rows = [graph.link(at) for at in range(len(graph))]
    for url in graph.urls:
        assert list(graph.inlinks(url)) == [link for link in rows if link.target == url]
        assert list(graph.outlinks(url)) == [link for link in rows if link.source == url]
        assert graph.inlink_count(url) == sum(link.target == url for link in rows)
    assert list(graph.inlinks("https://site.example/unknown")) == []


def test_links_to_fragments_are_kept_beside_the_links() -> None:
    graph = SiteGraph()
    graph.add(columns_of([linked("a", "b", 3, "part", "Text")]))
    graph.add_anchor("c", "b", "other", "More")
    assert [tuple(link) for link in graph.anchors()] == [("a", "b", "part", "Text"), ("c", "b", "other", "More")]
    assert len(graph) == 1
