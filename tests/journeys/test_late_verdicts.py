"""A worker that stood still past its leases may get the very same rows again while its old visits of them still go on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.journey import crawl_in, crawl_settings
from tests.support.serve import page, prose, serving, site

from sitelore.app.wiring import embedded
from sitelore.model.frontier import Lease
from sitelore.model.ids import RunId, WorkerId
from sitelore.ports import Ledger

_EVERY_LEASE = 1e12


class _TakesBack:
    """A ledger that lets every lease it gives run out once, so that whoever asks next gets the same rows."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.taken_back: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def claim(
        self, run: RunId, worker: WorkerId, limit: int, now: float, lease_s: float, closed_hosts: Collection[str] = ()
    ) -> list[Lease]:
        leases = await self._ledger.claim(run, worker, limit, now, lease_s, closed_hosts)
        if {lease.url for lease in leases} - self.taken_back:
            self.taken_back |= {lease.url for lease in leases}
            await self._ledger.release(run, _EVERY_LEASE)
        return leases


async def test_a_page_visited_again_by_the_worker_that_was_too_late_offers_its_links_again(tmp_path: Path) -> None:
    links = tuple(f"/{number}" for number in range(6))
    pages = {"/": page("Home", prose("home"), links=links)}
    pages |= {link: page(f"Page {link}", prose(link), links=(f"{link}/more",)) for link in links}
    pages |= {f"{link}/more": page(f"More {link}", prose(f"more {link}")) for link in links}
    with serving(site(pages)) as web:
        async with embedded(tmp_path, writing=True) as app:
            ledger = _TakesBack(app.ledger)
            worker_context = replace(app.worker_context, ledger=ledger)
            done = await crawl_in(
                replace(app, worker_context=worker_context), crawl_settings(web.url(), discover_sitemaps=False)
            )
    assert done.kept(web.origin) == set(pages)
    assert len(ledger.taken_back) == len(pages)
    assert all(row.fetches == 1 for row in done.rows.values())
