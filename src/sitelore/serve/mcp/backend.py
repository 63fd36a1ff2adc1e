"""The interface through which the MCP tools use the application (`McpBackend`), and its implementation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sitelore.app.explain import Explanation, run_that_knows
from sitelore.model.errors import NoSuchRun
from sitelore.model.frontier import Run
from sitelore.model.ids import RunId, TenantId
from sitelore.model.search import SearchAnswer, SearchQuery, SiteIndexStats
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Ledger
from sitelore.serve.run_requests import QuickCrawlRequest, quick_settings

if TYPE_CHECKING:
    from sitelore.crawl.search.service import SearchService

_INDEXED_S = 20.0


class McpBackend(Protocol):
    """The operations behind the tools."""

    async def search(self, query: SearchQuery, tenant: TenantId) -> SearchAnswer:
        """Search results for a query."""
        ...

    async def read_page(self, url: Url, tenant: TenantId) -> Mapping[str, Any] | None:
        """The last stored version of a page: `url`, `title`, `markdown`, `fetched_at`, `presence`; None without one."""
        ...

    async def sites(self, tenant: TenantId) -> list[SiteIndexStats]:
        """All sites of the tenant."""
        ...

    async def explain(self, url: Url, tenant: TenantId) -> Explanation:
        """Every decision about the URL, from the latest run that knows it."""
        ...

    async def crawl(self, url: Url, max_pages: int, tenant: TenantId) -> RunId:
        """Create a run of the tenant."""
        ...


@dataclass(frozen=True, slots=True)
class AppBackend:
    """The backend over an application, embedded or scaled."""

    open_search_service: Callable[[TenantId], SearchService]
    ledger: Ledger
    explain_in: Callable[[Url, Run], Awaitable[Explanation]]
    """Explains a URL in a run."""
    start: Callable[[CrawlSettings, TenantId], Awaitable[Run]]
    allow_private: tuple[str, ...] = ()
    """Private addresses that crawls may reach."""
    is_current: asyncio.Event | None = None
    """Set when pending pages are indexed; a search waits for it, up to a limit."""

    async def search(self, query: SearchQuery, tenant: TenantId) -> SearchAnswer:
        """Search results for a query."""
        if self.is_current is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_INDEXED_S):
                    await self.is_current.wait()
        return await self.open_search_service(tenant).search(query)

    async def read_page(self, url: Url, tenant: TenantId) -> Mapping[str, Any] | None:
        """The last stored version of a page."""
        return await self.open_search_service(tenant).page(url)

    async def sites(self, tenant: TenantId) -> list[SiteIndexStats]:
        """All sites of the tenant."""
        return await self.open_search_service(tenant).sites()

    async def explain(self, url: Url, tenant: TenantId) -> Explanation:
        """Explain the URL from the latest run that knows it."""
        run = await run_that_knows(url, self.ledger.for_tenant(tenant))
        if run is None:
            raise NoSuchRun("nothing has been crawled yet")
        return await self.explain_in(url, run)

    async def crawl(self, url: Url, max_pages: int, tenant: TenantId) -> RunId:
        """Create a run of the tenant; the address guard checks the URL as in any API request."""
        settings = quick_settings(QuickCrawlRequest(url=str(url), max_pages=max_pages), self.allow_private)
        return (await self.start(settings, tenant)).id
