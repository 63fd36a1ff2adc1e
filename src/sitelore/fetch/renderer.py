"""URL → the page as a browser shows it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING

from sitelore.fetch.arrival import Judge, Rules
from sitelore.fetch.browser import Browser, NoBrowser, Running
from sitelore.fetch.connections import Lookup, system_lookup
from sitelore.fetch.forward_proxy import ForwardProxy
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.tab import HEIGHT_PX, WIDTH, Crashed, Tab
from sitelore.model.rendering import Rendered, RenderFailure, RenderRequest
from sitelore.model.response import Failure
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, StorageState

_LOG = logging.getLogger(__name__)

_OWN_CRASHES = 2
"""A page that ends its own process gets one more try."""
_OTHER_CRASHES = 6
"""A browser that dies is seldom the page's fault."""
_OPEN_S = 15.0


async def anywhere(_: Url) -> str | None:
    """No rule but the address guard's."""
    return None


class _Room:
    """A run's context in one running browser, with its idle tabs."""

    def __init__(self, running: Running, context: BrowserContext) -> None:
        self.running = running
        self.context = context
        self.idle: list[Tab] = []
        self.busy = 0

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_OPEN_S):
                await self.context.close()


class BrowserRenderer:
    """Renders for one run: its own context and its own proxy, a few tabs used again and again.

    `judge_navigation` says why the main frame must not go to a URL (robots.txt, scope); the URL that was asked for is taken
    as judged. Everything the browser loads is judged by the guard.
    """

    def __init__(
        self,
        browser: Browser,
        settings: CrawlSettings,
        guard: AddressGuard,
        judge_navigation: Judge = anywhere,
        *,
        lookup: Lookup = system_lookup,
    ) -> None:
        self._browser = browser
        self._settings = settings
        self._proxy = ForwardProxy(guard, settings.limits, lookup)
        self._rules = Rules(guard, judge_navigation, settings, self._proxy)
        self._room: _Room | None = None
        self._kept: StorageState | None = None
        """Cookies and storage, from the last browser that had its time."""
        self._making = asyncio.Lock()
        self._is_listening = False

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """Open the page, wait until it has settled, read it; failures come back as data."""
        started = time.perf_counter()
        own = others = 0
        while own < _OWN_CRASHES and others < _OTHER_CRASHES:
            try:
                async with self._browser.lent() as running:
                    rendered = await self._tried(running, request)
                    if isinstance(rendered, Rendered):
                        return rendered
                    is_own = await running.answers()  # what a dying browser says of a page is not about the page
                    if is_own and rendered is not None:
                        return rendered
            except NoBrowser as problem:
                return RenderFailure(request.url, Failure.CONNECTION, str(problem), time.perf_counter() - started)
            own += is_own
            others += not is_own
            _LOG.info("the browser is tried again", extra={"url": request.url})
        elapsed_s = time.perf_counter() - started
        if own >= _OWN_CRASHES:
            return RenderFailure(request.url, Failure.TOO_LARGE, "The page ended its process, twice.", elapsed_s)
        return RenderFailure(request.url, Failure.CONNECTION, "The browser ended, again and again.", elapsed_s)

    async def _tried(self, running: Running, request: RenderRequest) -> Rendered | RenderFailure | None:
        """None when the page, or the whole browser, is gone."""
        try:
            return await self._render_in(running, request)
        except Crashed:
            return None

    async def close(self) -> None:
        """Forget the run's cookies and pages. The browser itself belongs to the house."""
        room, self._room = self._room, None
        if room is not None:
            await room.close()
        await self._proxy.close()

    async def _render_in(self, running: Running, request: RenderRequest) -> Rendered | RenderFailure:
        room = await self._room_in(running)
        room.busy += 1
        tab: Tab | None = None
        try:
            tab = room.idle.pop() if room.idle else await self._new_tab(room)
            return await tab.render(request)
        finally:
            if tab is not None:
                await self._give_back(room, tab)
            room.busy -= 1
            if running.is_retired and not running.is_dead:
                self._kept = await _state(room) or self._kept
            if room is not self._room and not room.busy:
                await room.close()

    async def _give_back(self, room: _Room, tab: Tab) -> None:
        await tab.leave()
        if tab.is_fit and room is self._room and not room.running.is_retired:
            room.idle.append(tab)
        else:
            await tab.close()

    async def _room_in(self, running: Running) -> _Room:
        """The run's context in this browser. One from a browser that is to end hands its cookies over."""
        async with self._making:
            room = self._room
            if room is not None and room.running is running:
                return room
            state = await _state(room) or self._kept
            if not self._is_listening:
                await self._proxy.start()
                self._is_listening = True
            self._room = made = _Room(running, await self._new_context(running, state))
            if room is not None and not room.busy:
                await room.close()
            return made

    async def _new_context(self, running: Running, state: StorageState | None) -> BrowserContext:
        from playwright.async_api import Error  # noqa: PLC0415 only where there is a browser

        try:
            async with asyncio.timeout(_OPEN_S):
                return await running.chromium.new_context(
                    proxy={"server": self._proxy.address, "bypass": "<-loopback>"},
                    user_agent=self._settings.user_agent,
                    viewport={"width": WIDTH, "height": HEIGHT_PX},
                    locale="en-US",
                    timezone_id="UTC",
                    reduced_motion="reduce",
                    service_workers="block",
                    accept_downloads=False,
                    permissions=[],
                    storage_state=state,
                )
        except (Error, TimeoutError):
            running.is_dead = True
            raise Crashed from None

    async def _new_tab(self, room: _Room) -> Tab:
        from playwright.async_api import Error  # noqa: PLC0415 only where there is a browser

        try:
            async with asyncio.timeout(_OPEN_S):
                return await Tab.open(await room.context.new_page(), self._rules)
        except (Error, TimeoutError):
            room.running.is_dead = True
            raise Crashed from None


async def _state(room: _Room | None) -> StorageState | None:
    """What a run's context has learnt; nothing when its browser is gone."""
    if room is None or room.running.is_dead:
        return None
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_OPEN_S):
            return await room.context.storage_state()
    return None
