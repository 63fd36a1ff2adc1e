"""`kill -9` in the middle of a crawl loses nothing. The full ordeal is `make soak-kill`."""

from __future__ import annotations

from pathlib import Path

from tests.support.graph import Graph
from tests.support.kill import ordeal
from tests.support.serve import serving


async def test_five_kills_lose_nothing_settle_nothing_twice_and_change_no_byte_of_the_export(tmp_path: Path) -> None:
    with serving(lambda _: None) as web:
        toll = await ordeal(web, Graph(11, 600), tmp_path, kills=5)
    assert toll.kills == 5
    assert toll.pages > 300
    assert toll.lost == 0
    assert toll.settled_twice == 0
    assert toll.refetched <= toll.bound
    assert toll.export_equal
    assert toll.oracle_differs == 0
