"""Renders pages for one run: URL → the page as a browser shows it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.chromium import Browser, BrowserProcess, BrowserUnavailable
from sitelore.fetch.browser.guard_proxy import GuardProxy
from sitelore.fetch.browser.navigation import NavigationCheck, NavigationRules
from sitelore.fetch.browser.tab import VIEWPORT_HEIGHT, VIEWPORT_WIDTH, Tab, TabCrashed
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.pool import Lookup
from sitelore.model.access import Cookie
from sitelore.model.response import Failure, Rendered, RenderFailure, RenderRequest
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, StorageState

_LOG = logging.getLogger(__name__)

_MAX_PAGE_CRASHES = 2
"""A page that crashes its own process gets one more attempt."""
_MAX_BROWSER_CRASHES = 6
"""A crash of the whole browser is seldom the page's fault."""
_OPEN_TIMEOUT_S = 15.0


async def allow_all(_: Url) -> str | None:
    """Allow every navigation; the address guard still applies."""
    return None


class _RunContext:
    """A run's browser context in one browser process, with its idle tabs."""

    def __init__(self, process: BrowserProcess, context: BrowserContext) -> None:
        self.process = process
        self.context = context
        self.idle_tabs: list[Tab] = []
        self.active = 0

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                await self.context.close()


class BrowserRenderer:
    """Renders for one run, with its own browser context and proxy; tabs are reused.

    `check_navigation` says why the main frame must not load a URL (robots.txt, scope); the requested URL itself is not checked.
    Everything the browser loads passes the address guard.
    """

    def __init__(
        self,
        browser: Browser,
        settings: CrawlSettings,
        guard: AddressGuard,
        check_navigation: NavigationCheck = allow_all,
        *,
        lookup: Lookup | None = None,
        access: RunAccess | None = None,
    ) -> None:
        self._browser = browser
        self._settings = settings
        self._access = access or RunAccess()
        self._proxy = GuardProxy(guard, settings.limits, lookup, self._access)
        self._rules = NavigationRules(guard, check_navigation, settings, self._proxy, self._access)
        self._context: _RunContext | None = None
        self._saved_state = _initial_storage_state(self._access)
        """Cookies and storage of the last retired browser process."""
        self._context_lock = asyncio.Lock()
        self._is_listening = False

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """Load the page, wait until it is idle, serialise it; failures are returned, not raised."""
        started = time.perf_counter()
        page_crashes = browser_crashes = 0
        while page_crashes < _MAX_PAGE_CRASHES and browser_crashes < _MAX_BROWSER_CRASHES:
            try:
                async with self._browser.acquire() as process:
                    rendered = await self._try_render(process, request)
                    if isinstance(rendered, Rendered):
                        return rendered
                    is_alive = await process.is_responsive()  # a failure reported by a dying browser is not the page's
                    if is_alive and rendered is not None:
                        return rendered
            except BrowserUnavailable as error:
                return RenderFailure(request.url, Failure.CONNECTION, str(error), time.perf_counter() - started)
            page_crashes += is_alive
            browser_crashes += not is_alive
            _LOG.info("retrying after a crash of the %s", "page" if is_alive else "browser", extra={"url": request.url})
        elapsed_s = time.perf_counter() - started
        if page_crashes >= _MAX_PAGE_CRASHES:
            return RenderFailure(request.url, Failure.TOO_LARGE, "The page crashed its process twice.", elapsed_s)
        return RenderFailure(request.url, Failure.CONNECTION, "The browser crashed repeatedly.", elapsed_s)

    async def close(self) -> None:
        """Drop the run's cookies and pages. The browser process is shared and stays."""
        context, self._context = self._context, None
        if context is not None:
            await self._keep_session(context, with_storage=True)
            await context.close()
        await self._proxy.close()

    async def _try_render(self, process: BrowserProcess, request: RenderRequest) -> Rendered | RenderFailure | None:
        """Render in this process; None when the page or the browser crashed."""
        try:
            context = await self._browser_context(process)
            context.active += 1
            tab: Tab | None = None
            try:
                tab = context.idle_tabs.pop() if context.idle_tabs else await self._open_tab(context)
                rendered = await tab.render(request)
                await self._keep_session(context)
                return rendered
            finally:
                if tab is not None:
                    await self._release_tab(context, tab)
                context.active -= 1
                if process.is_retired and not process.is_dead:
                    self._saved_state = await _storage_state(context) or self._saved_state
                if context is not self._context and not context.active:
                    await context.close()
        except TabCrashed:
            return None

    async def _keep_session(self, context: _RunContext, *, with_storage: bool = False) -> None:
        """Copy what sites have set in the browser to their stored sessions, which requests over HTTP use as well."""
        origins = self._access.session_origins
        if not origins or context.process.is_dead:
            return
        with contextlib.suppress(Exception):  # the session is kept as it was
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                state = await context.context.storage_state() if with_storage else None
                stored = {entry["origin"]: entry["localStorage"] for entry in state["origins"]} if state else {}
                for origin in origins:
                    items = [(item["name"], item["value"]) for item in stored[origin]] if origin in stored else None
                    self._access.store_from_browser(origin, cookies_of(await context.context.cookies(origin)), items)

    async def _release_tab(self, context: _RunContext, tab: Tab) -> None:
        await tab.reset()
        if tab.is_reusable and context is self._context and not context.process.is_retired:
            context.idle_tabs.append(tab)
        else:
            await tab.close()

    async def _browser_context(self, process: BrowserProcess) -> _RunContext:
        """The run's context in this process. It takes over the cookies of a context in a retired process."""
        async with self._context_lock:
            previous = self._context
            if previous is not None and previous.process is process:
                return previous
            state = await _storage_state(previous) or self._saved_state
            if not self._is_listening:
                await self._proxy.start()
                self._is_listening = True
            self._context = context = _RunContext(process, await self._new_context(process, state))
            if previous is not None and not previous.active:
                await previous.close()
            return context

    async def _new_context(self, process: BrowserProcess, state: StorageState | None) -> BrowserContext:
        from playwright.async_api import Error  # noqa: PLC0415 loaded only when a browser is used

        language = self._settings.accept_language
        try:
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                return await process.chromium.new_context(
                    proxy={"server": self._proxy.address, "bypass": "<-loopback>"},
                    user_agent=self._settings.user_agent,
                    viewport={"width": VIEWPORT_WIDTH, "height": VIEWPORT_HEIGHT},
                    locale=language.partition(",")[0].partition(";")[0].strip() or "en-US",
                    extra_http_headers={"Accept-Language": language} if language else None,
                    ignore_https_errors=self._access.insecure or self._access.tls.is_custom,  # see `guard_proxy.py`
                    timezone_id="UTC",
                    reduced_motion="reduce",
                    service_workers="block",
                    accept_downloads=False,
                    permissions=[],
                    storage_state=state,
                )
        except (Error, TimeoutError):
            process.is_dead = True
            raise TabCrashed from None

    async def _open_tab(self, context: _RunContext) -> Tab:
        from playwright.async_api import Error  # noqa: PLC0415 loaded only when a browser is used

        try:
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                return await Tab.open(await context.context.new_page(), self._rules)
        except (Error, TimeoutError):
            context.process.is_dead = True
            raise TabCrashed from None


def _initial_storage_state(access: RunAccess) -> StorageState | None:
    """The local storage of the user's access; None when it has none. Cookies are added to requests (`tab.py`)."""
    origins = [
        {"origin": origin, "localStorage": [{"name": name, "value": value} for name, value in items]}
        for origin, items in access.local_storage().items()
    ]
    return cast("StorageState", {"cookies": [], "origins": origins}) if origins else None


def cookies_of(entries: Iterable[Mapping[str, Any]]) -> list[Cookie]:
    """Cookies of the browser. Their domain begins with a dot where subdomains get them as well."""
    return [
        Cookie(
            entry["name"],
            entry["value"],
            entry["domain"],
            entry["path"],
            bool(entry["secure"]),
            entry["expires"] if entry["expires"] > 0 else None,
        )
        for entry in entries
    ]


async def _storage_state(context: _RunContext | None) -> StorageState | None:
    """Cookies and storage of a run's context; None when its browser is dead."""
    if context is None or context.process.is_dead:
        return None
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_OPEN_TIMEOUT_S):
            return await context.context.storage_state()
    return None
