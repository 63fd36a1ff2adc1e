"""The HTTP client of a crawl: address guard, connection pool, rate limit and robots.txt put together."""

from __future__ import annotations

from sitelore.fetch.access import RunAccess
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.fetch.politeness import PoliteFetcher
from sitelore.fetch.robots import Load, RobotsCache, Save
from sitelore.model.settings import CrawlSettings
from sitelore.ports import Clock, Fetcher, HostGate


class PoliteClient:
    """Fetches pages and robots.txt files of one run. Every request passes the address guard and the host's rate limit.

    Callers ask `robots` whether a URL is allowed before they fetch it.
    """

    def __init__(
        self,
        settings: CrawlSettings,
        gate: HostGate,
        clock: Clock,
        load_robots: Load,
        save_robots: Save,
        fetcher: Fetcher | None = None,
        access: RunAccess | None = None,
    ) -> None:
        """`fetcher` replaces the HTTP client, and with it the address guard."""
        self.guard = AddressGuard(settings.open_origins, settings.allow_private)
        http = fetcher or HttpFetcher(settings, self.guard, clock=clock, sent=gate.mark_sent, access=access)
        self.fetcher = PoliteFetcher(http, gate, settings, clock)
        self.robots = RobotsCache(http, gate, settings, clock, load_robots, save_robots)

    async def close(self) -> None:
        """Close all connections."""
        await self.fetcher.close()
