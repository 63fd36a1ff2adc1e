"""`kill -9` in the middle of a crawl loses nothing. `make soak-kill` does the same on 3,000 pages."""

from __future__ import annotations

from pathlib import Path

from tests.support.faults import crawl_with_kills
from tests.support.graph import Graph
from tests.support.http_server import serve_site


async def test_five_kills_lose_nothing_settle_nothing_twice_and_change_no_byte_of_the_export(tmp_path: Path) -> None:
    with serve_site(lambda _: None) as http_server:
        report = await crawl_with_kills(http_server, Graph(11, 600), tmp_path, kills=5)
    assert report.kills == 5
    assert report.pages > 300
    assert report.lost == 0
    assert report.settled_twice == 0
    assert report.refetched <= report.bound
    assert report.export_equal
    assert report.oracle_differs == 0
