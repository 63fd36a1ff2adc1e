"""Twenty generated sites, each crawled with concurrency 1, 4 and 16, whole and with budgets: every export equals the oracle's.

Two of them are also crawled on Postgres, Valkey and S3.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.crawls import as_expected, crawl, crawl_in, crawl_settings, differences
from tests.support.graph import Expected, Graph
from tests.support.http_server import page, prose, serve_site, site
from tests.support.workers import scaled_app

from sitelore.app.app import App
from sitelore.app.wiring import embedded

ELSEWHERE = '<a rel="nofollow" href="http://elsewhere.invalid/">elsewhere</a>'


def graph_of(seed: int) -> Graph:
    """60 to 117 URLs; every fourth site has a sitemap."""
    return Graph(seed, 60 + 3 * seed, with_sitemap=seed % 4 == 3)


def _visited_count(rows: dict[str, Expected]) -> int:
    return sum(row.state == "VISITED" for row in rows.values())


@asynccontextmanager
async def open_app(backend: str, request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[App]:
    """An empty app on this backend."""
    if backend == "embedded":
        async with embedded(folder, writing=True) as app:
            yield app
    else:
        async with scaled_app(request.getfixturevalue("servers"), upkeep_s=0.05) as (app, _):
            yield app


@pytest.mark.parametrize(
    ("backend", "seed"), [*(("embedded", seed) for seed in range(10)), *(("scaled", seed) for seed in (3, 14))]
)
async def test_a_crawl_equals_the_oracle_for_every_concurrency_and_budget(
    backend: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    graph = graph_of(seed)
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages = graph.pages(http_server.origin)
        async with open_app(backend, request, tmp_path) as app:
            whole = _visited_count(graph.expected(http_server.origin))
            for budget in (None, 1, 7, 50):
                expected = graph.expected(http_server.origin, budget)
                pages = _visited_count(expected)
                if budget is not None and pages == whole:
                    continue  # a budget larger than the site is the same case as none
                for concurrency in (1, 4, 16):
                    http_server.clear_log()
                    settings = crawl_settings(http_server.url("/"), concurrency=concurrency, max_pages=budget, force=True)
                    result = await crawl_in(app, settings)
                    wrong = differences(as_expected(result.rows), expected)
                    assert not wrong, f"seed {seed}, budget {budget}, concurrency {concurrency}:\n" + "\n".join(wrong)
                    assert result.counts.pages == pages
                    assert budget is None or pages == budget
                    assert len(http_server.targets()) == len(set(http_server.targets())), "a URL was fetched twice"


@pytest.mark.parametrize("max_depth", [0, 1, 3])
async def test_depth_limits_equal_the_oracle_too(max_depth: int, tmp_path: Path) -> None:
    graph = Graph(77, 100)
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages = graph.pages(http_server.origin)
        expected = graph.expected(http_server.origin, max_depth=max_depth)
        async with embedded(tmp_path, writing=True) as app:
            for concurrency in (1, 16):
                settings = crawl_settings(http_server.url("/"), concurrency=concurrency, max_depth=max_depth, force=True)
                result = await crawl_in(app, settings)
                wrong = differences(as_expected(result.rows), expected)
                assert not wrong, f"depth {max_depth}, concurrency {concurrency}:\n" + "\n".join(wrong)


async def test_rank_order_decides_even_when_the_first_page_answers_last(tmp_path: Path) -> None:
    """The first page in rank order answers last; depth, parent and budget stay the same."""
    home_links = ("/first", "/second")
    second_links = ("/shared", "http://elsewhere.invalid/", "/tail")
    pages = {
        "/": page("Home", prose("home"), links=home_links),
        "/first": page(
            "First", prose("first") + ' <a rel="nofollow" href="http://elsewhere.invalid/">e</a>', links=("/tail", "/shared")
        ),
        "/second": page("Second", prose("second"), links=second_links),
        "/shared": page("Shared", prose("shared")),
        "/tail": page("Tail", prose("tail")),
    }
    with serve_site(site(pages)) as http_server:
        http_server.slow["/first"] = 0.3
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), max_pages=4, concurrency=4))
        assert [hit.target for hit in http_server.hits if hit.target in home_links] == ["/first", "/second"]
        assert result.kept(http_server.origin) == {"/", "/first", "/second", "/tail"}
        for url in (http_server.url("/shared"), http_server.url("/tail"), "http://elsewhere.invalid/"):
            assert result.rows[url].parent == http_server.url("/first"), url


async def test_responses_in_another_order_change_nothing(tmp_path: Path) -> None:
    """Some URLs answer 503 once, so responses arrive in another order."""
    graph = Graph(5, 60)
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages, http_server.flaky_share = graph.pages(http_server.origin), 0.08
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), concurrency=16))
        wrong = differences(as_expected(result.rows), graph.expected(http_server.origin))
        assert not wrong, "\n".join(wrong)
        assert any(hit.status == 503 for hit in http_server.hits)
