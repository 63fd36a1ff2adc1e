"""Twenty seeded sites, each crawled by 1, 4 and 16 at once, whole and under budgets: every export equals the oracle's.

Some of them on Postgres, Valkey and S3 too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.fleet import scaled_app
from tests.support.graph import Expected, Graph
from tests.support.journey import as_expected, crawl, crawl_in, crawl_settings, differences
from tests.support.serve import page, prose, serving, site

from sitelore.app.app import App
from sitelore.app.wiring import embedded

ELSEWHERE = '<a rel="nofollow" href="http://elsewhere.invalid/">elsewhere</a>'


def graph_of(seed: int) -> Graph:
    """60 to 117 URLs; every fourth site has a sitemap."""
    return Graph(seed, 60 + 3 * seed, with_sitemap=seed % 4 == 3)


def _kept(rows: dict[str, Expected]) -> int:
    return sum(row.state == "VISITED" for row in rows.values())


@asynccontextmanager
async def built(how: str, request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[App]:
    """An app of either kind, empty."""
    if how == "embedded":
        async with embedded(folder, writing=True) as app:
            yield app
    else:
        async with scaled_app(request.getfixturevalue("servers"), upkeep_s=0.05) as (app, _):
            yield app


@pytest.mark.parametrize(
    ("how", "seed"), [*(("embedded", seed) for seed in range(20)), *(("scaled", seed) for seed in (3, 14))]
)
async def test_a_crawl_equals_the_oracle_whatever_the_concurrency_and_budget(
    how: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    graph = graph_of(seed)
    with serving(lambda _: None, host="localhost") as web:
        web.pages = graph.pages(web.origin)
        async with built(how, request, tmp_path) as app:
            whole = _kept(graph.expected(web.origin))
            for budget in (None, 1, 7, 50):
                expected = graph.expected(web.origin, budget)
                pages = _kept(expected)
                if budget is not None and pages == whole:
                    continue  # a budget that does not bind is the first case over again
                for concurrency in (1, 4, 16):
                    web.forget()
                    settings = crawl_settings(web.url("/"), concurrency=concurrency, max_pages=budget, force=True)
                    journey = await crawl_in(app, settings)
                    wrong = differences(as_expected(journey.rows), expected)
                    assert not wrong, f"seed {seed}, budget {budget}, concurrency {concurrency}:\n" + "\n".join(wrong)
                    assert journey.counts.pages == pages
                    assert budget is None or pages == budget
                    assert len(web.targets()) == len(set(web.targets())), "a URL was fetched twice"


@pytest.mark.parametrize("max_depth", [0, 1, 3])
async def test_depth_limits_equal_the_oracle_too(max_depth: int, tmp_path: Path) -> None:
    graph = Graph(77, 100)
    with serving(lambda _: None, host="localhost") as web:
        web.pages = graph.pages(web.origin)
        expected = graph.expected(web.origin, max_depth=max_depth)
        async with embedded(tmp_path, writing=True) as app:
            for concurrency in (1, 16):
                settings = crawl_settings(web.url("/"), concurrency=concurrency, max_depth=max_depth, force=True)
                journey = await crawl_in(app, settings)
                wrong = differences(as_expected(journey.rows), expected)
                assert not wrong, f"depth {max_depth}, concurrency {concurrency}:\n" + "\n".join(wrong)


async def test_what_answers_last_still_counts_as_first(tmp_path: Path) -> None:
    """The first page in rank order answers last: depth, parent and budget must not notice."""
    links = ("/first", "/second")
    found = ("/shared", "http://elsewhere.invalid/", "/tail")
    pages = {
        "/": page("Home", prose("home"), links=links),
        "/first": page(
            "First", prose("first") + ' <a rel="nofollow" href="http://elsewhere.invalid/">e</a>', links=("/tail", "/shared")
        ),
        "/second": page("Second", prose("second"), links=found),
        "/shared": page("Shared", prose("shared")),
        "/tail": page("Tail", prose("tail")),
    }
    with serving(site(pages)) as web:
        web.slow["/first"] = 0.3
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), max_pages=4, concurrency=4))
        assert [hit.target for hit in web.hits if hit.target in links] == ["/first", "/second"]
        assert journey.kept(web.origin) == {"/", "/first", "/second", "/tail"}
        for url in (web.url("/shared"), web.url("/tail"), "http://elsewhere.invalid/"):
            assert journey.rows[url].parent == web.url("/first"), url


async def test_answers_in_another_order_change_nothing(tmp_path: Path) -> None:
    """Servers that stumble reorder everything: some URLs answer 503 once."""
    graph = Graph(5, 60)
    with serving(lambda _: None, host="localhost") as web:
        web.pages, web.flaky_share = graph.pages(web.origin), 0.08
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), concurrency=16))
        wrong = differences(as_expected(journey.rows), graph.expected(web.origin))
        assert not wrong, "\n".join(wrong)
        assert any(hit.status == 503 for hit in web.hits)
