"""A worker whose leases expired may claim the same rows again while its old visits are still active."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import page, prose, serve_site, site

from sitelore.app.wiring import embedded
from sitelore.model.frontier import Lease
from sitelore.model.ids import RunId, TenantId, WorkerId
from sitelore.ports import Ledger

_EVERY_LEASE = 1e12


class _ExpiringLeases:
    """A ledger whose leases all expire once, so that the next claim returns the same rows."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.taken_back: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def for_tenant(self, _: TenantId) -> _ExpiringLeases:
        return self

    async def claim(
        self, run: RunId, worker: WorkerId, limit: int, now: float, lease_s: float, closed_hosts: Collection[str] = ()
    ) -> list[Lease]:
        leases = await self._ledger.claim(run, worker, limit, now, lease_s, closed_hosts)
        if {lease.url for lease in leases} - self.taken_back:
            self.taken_back |= {lease.url for lease in leases}
            await self._ledger.release(run, _EVERY_LEASE)
        return leases


async def test_a_page_visited_again_after_a_rejected_settlement_offers_its_links_again(tmp_path: Path) -> None:
    links = tuple(f"/{number}" for number in range(6))
    pages = {"/": page("Home", prose("home"), links=links)}
    pages |= {link: page(f"Page {link}", prose(link), links=(f"{link}/more",)) for link in links}
    pages |= {f"{link}/more": page(f"More {link}", prose(f"more {link}")) for link in links}
    with serve_site(site(pages)) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            ledger = _ExpiringLeases(app.ledger)
            worker_context = replace(app.worker_context, ledger=ledger)
            done = await crawl_in(
                replace(app, worker_context=worker_context), crawl_settings(http_server.url(), discover_sitemaps=False)
            )
    assert done.kept(http_server.origin) == set(pages)
    assert len(ledger.taken_back) == len(pages)
    assert all(row.fetches == 1 for row in done.rows.values())
