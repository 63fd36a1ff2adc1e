"""Makes every request to a host wait for the host's rate limit, and reports back how the host answered.

Pages over HTTP, pages through the browser, robots.txt, sitemaps and probes all go through `HostLimiter.run`. The `HostGate`
behind it applies the rules: the gap between requests, the concurrency per host, Crawl-delay, Retry-After, and the backoff
after errors.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sitelore.model.response import Fetched, FetchFailure, Rendered, RenderFailure, RenderRequest, Request
from sitelore.model.settings import CrawlSettings
from sitelore.ports import Clock, Feedback, Fetcher, HostGate, Renderer

_T = TypeVar("_T")


class HostBusy(Exception):
    """The host's rate limit requires a longer wait than the caller accepts. No request was made."""


class HostLimiter:
    """Applies a run's pace to its requests, through the gate that all runs share."""

    def __init__(self, gate: HostGate, settings: CrawlSettings) -> None:
        self._gate = gate
        self._pace = settings.pace

    async def run(
        self,
        host: str,
        request: Callable[[], Awaitable[_T]],
        feedback: Callable[[_T], Feedback],
        *,
        max_wait_s: float = math.inf,
    ) -> _T:
        """Wait for the host's turn, make the request, and report its outcome. Raises `HostBusy` when the wait is too long."""
        while wait_s := await self._gate.acquire(host, self._pace):
            max_wait_s -= wait_s
            if max_wait_s < 0:
                raise HostBusy(host)
            await asyncio.sleep(wait_s)
        outcome = Feedback(0.0)  # a request that raises or is cancelled says nothing about the host
        try:
            result = await request()
            outcome = feedback(result)
        finally:
            await self._gate.release(host, self._pace, outcome)
        return result

    async def set_crawl_delay(self, host: str, delay_s: float) -> None:
        """Apply the Crawl-delay of a robots.txt."""
        await self._gate.set_crawl_delay(host, self._pace, delay_s)


def fetch_feedback(fetched: Fetched, now: float) -> Feedback:
    """The feedback to the gate after a response or failure over HTTP."""
    if isinstance(fetched, FetchFailure):
        return Feedback(fetched.elapsed_s, failure=fetched.failure)
    return Feedback(fetched.elapsed_s, status=fetched.status, retry_after_s=fetched.retry_after_s(now))


def render_feedback(rendered: Rendered | RenderFailure, now: float) -> Feedback:
    """The feedback to the gate after a rendered page: error statuses only.

    The time a browser takes is mostly its own, and its crashes are not the host's fault, so neither may change the host's pace.
    """
    if isinstance(rendered, RenderFailure):
        return Feedback(0.0)
    status = rendered.response.status
    return Feedback(0.0, status=status if status >= 400 else None, retry_after_s=rendered.response.retry_after_s(now))


class PoliteFetcher:
    """A `Fetcher` whose requests wait for the host's rate limit."""

    def __init__(self, fetcher: Fetcher, gate: HostGate, settings: CrawlSettings, clock: Clock) -> None:
        self._fetcher = fetcher
        self._limiter = HostLimiter(gate, settings)
        self._clock = clock

    async def fetch(self, request: Request) -> Fetched:
        """Send one GET when the host's turn has come."""
        return await self._limiter.run(
            request.url.authority, lambda: self._fetcher.fetch(request), lambda fetched: fetch_feedback(fetched, self._clock())
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._fetcher.close()


class PoliteRenderer:
    """A `Renderer` whose pages wait for the host's rate limit: to the host, a rendered page is a request like any other."""

    def __init__(self, renderer: Renderer, gate: HostGate, settings: CrawlSettings, clock: Clock) -> None:
        self._renderer = renderer
        self._limiter = HostLimiter(gate, settings)
        self._clock = clock

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """Render one page when the host's turn has come."""
        return await self._limiter.run(
            request.url.authority,
            lambda: self._renderer.render(request),
            lambda rendered: render_feedback(rendered, self._clock()),
        )

    async def close(self) -> None:
        """Drop the run's cookies and pages."""
        await self._renderer.close()
