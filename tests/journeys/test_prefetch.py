"""Slow pages do not hold up a crawl, and what is fetched ahead changes nothing in its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripts.servers import LocalServers
from tests.support.crawls import CrawlResult, crawl, crawl_settings
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site
from tests.support.workers import crawl_with_workers, scaled_app, worker_pool

from sitelore.crawl import worker
from sitelore.crawl.prefetch import Prefetcher
from sitelore.export.rows import export_row
from sitelore.model.settings import CrawlSettings, Prefetch
from sitelore.model.states import RunState

LEVELS = 5
QUICK = 6


def levels() -> dict[str, Answer]:
    """Five levels of quick pages; the first page links to a slow one as well."""
    pages = {"/slow": page("Slow", prose("slow"))}
    for level in range(LEVELS):
        path = "/" if level == 0 else f"/level{level}/0"
        below = tuple(f"/level{level + 1}/{number}" for number in range(QUICK)) if level + 1 < LEVELS else ()
        pages[path] = page(f"Level {level}", prose(path), links=("/slow", *below))
        pages |= {quick: page(quick, prose(quick)) for quick in below[1:]}
    return pages


def exported(result: CrawlResult) -> list[object]:
    return [export_row(result.rows[url]) for url in sorted(result.rows)]


def hold_the_slow_page_until_all_others_were_requested(http_server: HttpServer) -> None:
    http_server.held["/slow"] = len(levels()) + 2  # with robots.txt and the sitemap


async def test_pages_of_all_levels_are_fetched_while_one_page_is_slow(tmp_path: Path) -> None:
    with serve_site(site(levels())) as http_server:
        quick = await crawl(tmp_path / "quick", crawl_settings(http_server.url("/")))
        http_server.clear_log()
        hold_the_slow_page_until_all_others_were_requested(http_server)
        slow = await crawl(tmp_path / "slow", crawl_settings(http_server.url("/")))
        assert slow.run.state is RunState.COMPLETED
        assert exported(slow) == exported(quick)
        assert sorted(http_server.targets()) == sorted(levels())  # each page once
        assert slow.counts.prefetch_unused == 0


async def test_nothing_is_remembered_of_pages_that_were_admitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefetchers: list[Prefetcher] = []

    def build(*arguments: Any) -> Prefetcher:
        prefetchers.append(Prefetcher(*arguments))
        return prefetchers[-1]

    monkeypatch.setattr(worker, "Prefetcher", build)
    with serve_site(site(levels())) as http_server:
        hold_the_slow_page_until_all_others_were_requested(http_server)
        await crawl(tmp_path, crawl_settings(http_server.url("/")))
    [prefetcher] = prefetchers
    assert not prefetcher._tried
    assert not prefetcher._entries
    assert not prefetcher._patterns._ahead


async def test_without_prefetching_the_next_level_waits_for_the_slow_page(tmp_path: Path) -> None:
    with serve_site(site(levels())) as http_server:
        settings = crawl_settings(http_server.url("/"), prefetch=Prefetch.OFF)
        http_server.held["/slow"] = 3 + 1 + QUICK  # all of the first level
        result = await crawl(tmp_path, settings)
        assert result.counts.pages == len(levels())
        targets = http_server.targets()
        assert {target for target in targets[: 2 + QUICK] if target.startswith("/level2")} == set()


@pytest.mark.parametrize("limit", [1, 3, 8, 12])
async def test_a_page_limit_is_exact_and_no_page_too_many_is_fetched(limit: int, tmp_path: Path) -> None:
    with serve_site(site(levels())) as http_server:
        expected = await crawl(tmp_path / "off", _limited(http_server, limit, Prefetch.OFF))
        http_server.clear_log()
        http_server.slow["/slow"] = 0.5
        result = await crawl(tmp_path / "certain", _limited(http_server, limit, Prefetch.CERTAIN))
        assert exported(result) == exported(expected)
        assert len(http_server.targets()) == result.counts.pages == limit


def _limited(http_server: HttpServer, limit: int, prefetch: Prefetch) -> CrawlSettings:
    return crawl_settings(http_server.url("/"), max_pages=limit, prefetch=prefetch)


async def test_several_workers_fetch_ahead_and_fetch_no_page_twice(servers: LocalServers, tmp_path: Path) -> None:
    with serve_site(site(levels())) as http_server:
        expected = await crawl(tmp_path, crawl_settings(http_server.url("/")))
        http_server.clear_log()
        hold_the_slow_page_until_all_others_were_requested(http_server)
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                pool.start(2)
                run = await crawl_with_workers(app, crawl_settings(http_server.url("/")))
                assert run.state is RunState.COMPLETED
                rows = {str(row.url): row async for row in app.ledger.rows(run.id)}
        assert [export_row(rows[url]) for url in sorted(rows)] == exported(expected)
        assert sorted(http_server.targets()) == sorted(levels())


async def test_links_of_a_trap_are_not_followed_ahead(tmp_path: Path) -> None:
    """A calendar without end beside a slow page: no more of it is fetched than without prefetching."""

    def calendar(target: str) -> Answer | None:
        if target == "/slow":
            return page("Slow", prose("slow"))
        if target == "/":
            return page("Start", prose("start"), links=("/slow", "/calendar/2024/1/1"))
        if target.startswith("/calendar/"):
            year, month, day = map(int, target.split("/")[2:])
            after = f"/calendar/{year}/{month}/{day + 1}" if day < 28 else f"/calendar/{year}/{month + 1}/1"
            return page("Calendar", "Nothing on this day.", links=(after,))
        return None

    with serve_site(calendar) as http_server:
        off = await crawl(tmp_path / "off", crawl_settings(http_server.url("/"), prefetch=Prefetch.OFF))
        fetched = len(http_server.targets())
        http_server.clear_log()
        http_server.slow["/slow"] = 2.0
        on = await crawl(tmp_path / "on", crawl_settings(http_server.url("/")))
        assert exported(on) == exported(off)
        assert len(http_server.targets()) == fetched + on.counts.prefetch_unused
        assert on.counts.prefetch_unused <= fetched


async def test_bets_follow_the_chain_of_lists_before_the_articles_use_them_up(tmp_path: Path) -> None:
    """A blog beside a slow page. The limit allows for 10 bets: the links of the second list are candidates, then the lists
    follow, whose articles have to wait.
    """
    lists = 8
    first = {"/", "/slow", *(f"/articles/{number}" for number in (10, 11, 12, 20, 21, 22))}
    first |= {f"/page/{number}" for number in range(2, lists + 1)}
    blog = {"/slow": page("Slow", prose("slow"))}
    for number in range(1, lists + 1):
        path = "/" if number == 1 else f"/page/{number}"
        articles = [f"/articles/{number}{index}" for index in range(3)]
        following = [f"/page/{number + 1}"] if number < lists else []
        blog[path] = page(f"List {number}", prose(path), links=(*(["/slow"] if number == 1 else []), *articles, *following))
        blog |= {article: page(article, prose(article)) for article in articles}
    with serve_site(site(blog)) as http_server:
        expected = await crawl(tmp_path / "off", _limited(http_server, 200, Prefetch.OFF))
        http_server.clear_log()
        http_server.held["/slow"] = len(first) + 2  # with robots.txt and the sitemap
        result = await crawl(tmp_path / "on", _limited(http_server, 200, Prefetch.ON))
        assert exported(result) == exported(expected)
        assert set(http_server.targets()[: len(first)]) == first
        assert result.counts.prefetch_unused == 0
