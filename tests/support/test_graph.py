"""The site graph and its oracle, checked against a small crawler made of an HTTP client and regular expressions."""

from __future__ import annotations

import http.client
import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from tests.support.graph import EXTERNAL, Graph
from tests.support.http_server import HttpServer, serve_site


def test_equal_seeds_give_equal_sites_and_other_seeds_give_other_sites() -> None:
    assert Graph(3, 80).nodes == Graph(3, 80).nodes
    assert Graph(3, 80).nodes != Graph(4, 80).nodes


def test_every_graph_has_every_kind_of_difficulty() -> None:
    for seed in range(20):
        nodes = Graph(seed, 90).nodes
        statuses = {node.status for node in nodes.values()}
        assert {200, 404} < statuses
        assert len(statuses & {301, 302, 307, 308}) >= 2
        assert any(node.redirect == node.path for node in nodes.values())
        assert any(len(node.anchors) > 100 for node in nodes.values())
        assert any(a.nofollow for node in nodes.values() for a in node.anchors)


def test_canonical_links_connect_equal_pages_only() -> None:
    named = 0
    for seed in range(20):
        nodes = Graph(seed, 90).nodes
        for node in nodes.values():
            if node.canonical and node.canonical != node.path:
                named += 1
                assert nodes[node.canonical].content == node.content
    assert named > 20


def test_the_oracle_respects_the_budget_and_visits_more_pages_with_a_larger_one() -> None:
    graph = Graph(5, 90)
    sizes = []
    for budget in (1, 7, 50, None):
        rows = graph.expected("http://x", budget)
        visited = {url for url, row in rows.items() if row.state == "VISITED"}
        assert budget is None or len(visited) <= budget
        sizes.append(len(visited))
    assert sizes[0] == 1
    assert sizes[1] == 7
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("seed", range(20))
def test_a_naive_crawler_reaches_the_pages_that_the_oracle_expects(seed: int) -> None:
    graph = Graph(seed, 90)
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages = graph.pages(http_server.origin)
        outcomes = _naive_crawl(http_server)
        expected = graph.expected(http_server.origin)
    reached = {url for url, row in expected.items() if row.state != "SKIPPED"}
    assert {url for url, (state, _) in outcomes.items() if state} == reached
    for url, (state, depth) in outcomes.items():
        if state == "ok":
            assert expected[url].state in {"VISITED", "ALIAS"}, url
            assert expected[url].depth == depth, url
        elif state == "missing":
            assert expected[url].state == "NOT_FOUND", url


def _naive_crawl(http_server: HttpServer) -> dict[str, tuple[str, int]]:
    """Crawl breadth first, redirects at the depth of their source. URL → (outcome, depth)."""
    connection = http.client.HTTPConnection("127.0.0.1", http_server.port, timeout=10)
    outcomes: dict[str, tuple[str, int]] = {}
    level, depth = [http_server.origin + "/"], 0
    while level:
        deeper: list[str] = []
        while level:
            url = level.pop(0)
            if url in outcomes or url.startswith((EXTERNAL, http_server.origin + "/private/")):
                continue
            connection.request("GET", url.removeprefix(http_server.origin))
            reply = connection.getresponse()
            body = reply.read().decode()
            if reply.status in {301, 302, 307, 308}:
                outcomes[url] = ("moved", depth)
                level.append(reply.headers["Location"])
            elif reply.status == 404:
                outcomes[url] = ("missing", depth)
            else:
                outcomes[url] = ("ok", depth)
                hrefs = re.findall(r"<a href='([^']*)'", body) + re.findall(r'rel="canonical" href="([^"]*)"', body)
                deeper += [_plain(urljoin(url, unescape(href).strip())) for href in hrefs]
        level, depth = deeper, depth + 1
    connection.close()
    return outcomes


def _plain(url: str) -> str:
    parts = urlsplit(url)
    query = "&".join(p for p in parts.query.split("&") if p and not p.startswith(("utm_", "gclid")))
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path}" + (f"?{query}" if query else "")
