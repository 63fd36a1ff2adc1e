"""The site graph and its oracle, checked against a small crawler that knows HTTP and regular expressions only."""

from __future__ import annotations

import http.client
import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from tests.support.graph import EXTERNAL, Graph
from tests.support.serve import Web, serving


def test_equal_seeds_give_equal_sites_and_other_seeds_give_other_sites() -> None:
    assert Graph(3, 80).nodes == Graph(3, 80).nodes
    assert Graph(3, 80).nodes != Graph(4, 80).nodes


def test_every_graph_holds_every_kind_of_trouble() -> None:
    for seed in range(20):
        nodes = Graph(seed, 90).nodes
        statuses = {node.status for node in nodes.values()}
        assert {200, 404} < statuses
        assert len(statuses & {301, 302, 307, 308}) >= 2
        assert any(node.redirect == node.path for node in nodes.values())
        assert any(len(node.anchors) > 100 for node in nodes.values())
        assert any(a.nofollow for node in nodes.values() for a in node.anchors)


def test_canonical_links_stand_between_equal_pages_only() -> None:
    named = 0
    for seed in range(20):
        nodes = Graph(seed, 90).nodes
        for node in nodes.values():
            if node.canonical and node.canonical != node.path:
                named += 1
                assert nodes[node.canonical].content == node.content
    assert named > 20


def test_the_budget_is_kept_by_the_oracle_and_the_set_grows_with_it() -> None:
    graph = Graph(5, 90)
    sizes = []
    for budget in (1, 7, 50, None):
        rows = graph.expected("http://x", budget)
        kept = {url for url, row in rows.items() if row.state == "VISITED"}
        assert budget is None or len(kept) <= budget
        sizes.append(len(kept))
    assert sizes[0] == 1
    assert sizes[1] == 7
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("seed", range(20))
def test_a_naive_crawler_finds_what_the_oracle_says(seed: int) -> None:
    graph = Graph(seed, 90)
    with serving(lambda _: None, host="localhost") as web:
        web.pages = graph.pages(web.origin)
        found = _naive_crawl(web)
        expected = graph.expected(web.origin)
    reached = {url for url, row in expected.items() if row.state != "SKIPPED"}
    assert {url for url, (state, _) in found.items() if state} == reached
    for url, (state, depth) in found.items():
        if state == "ok":
            assert expected[url].state in {"VISITED", "ALIAS"}, url
            assert expected[url].depth == depth, url
        elif state == "missing":
            assert expected[url].state == "NOT_FOUND", url


def _naive_crawl(web: Web) -> dict[str, tuple[str, int]]:
    """Breadth first, redirects at the depth of their source. URL → (how it ended, depth)."""
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)
    found: dict[str, tuple[str, int]] = {}
    level, depth = [web.origin + "/"], 0
    while level:
        deeper: list[str] = []
        while level:
            url = level.pop(0)
            if url in found or url.startswith((EXTERNAL, web.origin + "/private/")):
                continue
            connection.request("GET", url.removeprefix(web.origin))
            reply = connection.getresponse()
            body = reply.read().decode()
            if reply.status in {301, 302, 307, 308}:
                found[url] = ("moved", depth)
                level.append(reply.headers["Location"])
            elif reply.status == 404:
                found[url] = ("missing", depth)
            else:
                found[url] = ("ok", depth)
                hrefs = re.findall(r"<a href='([^']*)'", body) + re.findall(r'rel="canonical" href="([^"]*)"', body)
                deeper += [_plain(urljoin(url, unescape(href).strip())) for href in hrefs]
        level, depth = deeper, depth + 1
    connection.close()
    return found


def _plain(url: str) -> str:
    parts = urlsplit(url)
    query = "&".join(p for p in parts.query.split("&") if p and not p.startswith(("utm_", "gclid")))
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path}" + (f"?{query}" if query else "")
