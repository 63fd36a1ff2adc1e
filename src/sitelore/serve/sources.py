"""What the tools of the MCP server ask of a house, and a house that answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sitelore.crawl.explain import Explanation
from sitelore.model.errors import NoSuchRun
from sitelore.model.frontier import Run
from sitelore.model.ids import RunId
from sitelore.model.knowledge import SearchAnswer, SearchQuery, SiteShelf
from sitelore.model.listing import RunListing
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Ledger
from sitelore.serve.asking import QuickCrawl, quick_settings

if TYPE_CHECKING:
    from sitelore.crawl.library import Library

_RUNS = 100
_INDEXED_S = 20.0


class Sources(Protocol):
    """Exactly what the tools need."""

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """What answers a question."""
        ...

    async def read_page(self, url: Url, tenant: str) -> Mapping[str, Any] | None:
        """A page as it last was: `url`, `title`, `markdown`, `fetched_at`, `presence`; None when the tenant has none there."""
        ...

    async def sites(self, tenant: str) -> list[SiteShelf]:
        """Every site of the tenant."""
        ...

    async def explain(self, url: Url, tenant: str) -> Explanation:
        """Every gate the URL met, in the latest run that says something about it."""
        ...

    async def crawl(self, url: Url, max_pages: int) -> RunId:
        """Make a run."""
        ...


@dataclass(frozen=True, slots=True)
class HouseSources:
    """A house, embedded or scaled."""

    open_library: Callable[[], Library]
    ledger: Ledger
    tell: Callable[[Url, Run], Awaitable[Explanation]]
    """Every gate a URL met in a run."""
    start: Callable[[CrawlSettings], Awaitable[Run]]
    allow_private: tuple[str, ...] = ()
    """Private addresses that crawls may reach."""
    is_current: asyncio.Event | None = None
    """Set when what was crawled before is indexed; a question waits for it, not for ever."""

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """What answers a question."""
        if self.is_current is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_INDEXED_S):
                    await self.is_current.wait()
        return await self.open_library().search(query)

    async def read_page(self, url: Url, tenant: str) -> Mapping[str, Any] | None:
        """A page as it last was."""
        return await self.open_library().page(url, tenant)

    async def sites(self, tenant: str) -> list[SiteShelf]:
        """Every site of the tenant."""
        return await self.open_library().sites(tenant)

    async def explain(self, url: Url, tenant: str) -> Explanation:
        """In the latest run that met the URL; else in the latest of a site that it could belong to; else in the latest."""
        runs, _ = await self.ledger.list_runs(RunListing(limit=_RUNS, tenant=tenant))
        if not runs:
            raise NoSuchRun("nothing was crawled yet")
        for run in runs:
            told = await self.tell(url, run)
            if told.row is not None:
                return told
        return await self.tell(url, next((run for run in runs if _is_near(run, url)), runs[0]))

    async def crawl(self, url: Url, max_pages: int) -> RunId:
        """Make a run; the address is judged as for any stranger's request."""
        settings = quick_settings(QuickCrawl(url=str(url), max_pages=max_pages), self.allow_private)
        return (await self.start(settings)).id


def _is_near(run: Run, url: Url) -> bool:
    seeds = (Url.parse(seed) for seed in (*run.settings.seeds, *run.settings.sitemaps))
    return any(seed is not None and seed.host == url.host for seed in seeds)
