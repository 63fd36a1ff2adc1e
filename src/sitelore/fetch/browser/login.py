"""Logs in to a site and takes its session: in a browser window, by the user, or in a browser without one, by declared steps.

Everything that the browser loads passes the address guard, as in a crawl.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.chromium import BrowserExecutable, BrowserProcess, BrowserUnavailable
from sitelore.fetch.browser.guard_proxy import GuardProxy
from sitelore.fetch.browser.renderer import cookies_of
from sitelore.fetch.browser.tab import changed_headers
from sitelore.fetch.guard import AddressGuard
from sitelore.model.access import SiteSession, page_of
from sitelore.model.errors import LoginFailed
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page, Request

_STEP_S = 15.0
_OPEN_S = 30.0
_AFTER_STEPS_S = 10.0
"""How long the last step may take to lead away from the login form."""
_POLL_S = 0.5
_PASSWORD = "input[type=password]:visible"  # noqa: S105 a selector
_READ_STORAGE = "() => [location.origin, Object.entries(localStorage)]"


class StepAction(StrEnum):
    """What a step of a login does."""

    FILL = "fill"
    CLICK = "click"
    WAIT = "wait"
    GOTO = "goto"
    PRESS = "press"


@dataclass(frozen=True, slots=True)
class LoginStep:
    """One step of a login."""

    action: StepAction
    target: str
    """A CSS selector; for `goto` a URL, for `press` a key."""
    value: str = field(default="", repr=False)
    """What `fill` types."""


@dataclass(frozen=True, slots=True)
class LoginBrowser:
    """The browser of a login and its way to the network."""

    executable: BrowserExecutable
    access: RunAccess
    allow_private: tuple[str, ...] = ()
    has_window: bool = False


async def log_in(
    browser: LoginBrowser, url: Url, steps: Sequence[LoginStep] = (), until: Callable[[], Awaitable[None]] | None = None
) -> SiteSession:
    """Open the URL, log in and return the session. `until` waits for the user; None: the steps log in.

    Raises `LoginFailed`.
    """
    settings = CrawlSettings()
    proxy = GuardProxy(AddressGuard((url.origin,), browser.allow_private), settings.limits, access=browser.access)
    try:
        process = await BrowserProcess.start(browser.executable, has_window=browser.has_window)
    except BrowserUnavailable as problem:
        raise LoginFailed(str(problem)) from None
    try:
        await proxy.start()
        context = await process.chromium.new_context(
            proxy={"server": proxy.address, "bypass": "<-loopback>"},
            user_agent=None if browser.has_window else settings.user_agent,
            ignore_https_errors=browser.access.insecure or browser.access.tls.is_custom,
            no_viewport=browser.has_window,
            accept_downloads=False,
        )
        login = _Login(context, proxy, browser.access, url)
        await login.open()
        await (login.run(steps) if until is None else login.watch(until))
        return login.session()
    finally:
        await process.stop()
        await proxy.close()
        await browser.access.close()


class _Login:
    """One login in a browser context: what was shown, and the cookies and local storage so far."""

    def __init__(self, context: BrowserContext, proxy: GuardProxy, access: RunAccess, url: Url) -> None:
        self._context = context
        self._proxy = proxy
        self._access = access
        self._url = url
        self._page: Page | None = None
        self._chains: dict[Page, list[Url]] = {}
        """The URLs of the last navigation of each page: what was requested, and its redirects."""
        self._login_pages: dict[str, None] = {}
        self._cookies: list[Any] = []
        self._storage: dict[str, list[tuple[str, str]]] = {}
        self._shown = ""
        self._has_form = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Open the URL that the user named."""
        from playwright.async_api import Error  # noqa: PLC0415 loaded only when a browser is used

        self._context.on("page", lambda page: self._start(self._attach(page)))
        self._page = page = await self._context.new_page()
        await self._attach(page)
        try:
            await page.goto(str(self._url), timeout=_OPEN_S * 1e3, wait_until="domcontentloaded")
        except Error as error:
            raise LoginFailed(f"cannot open {self._url}: {self._reason(error)}") from None
        await self._observe()

    async def run(self, steps: Sequence[LoginStep]) -> None:
        """Execute the steps, then wait until the login form is gone."""
        from playwright.async_api import Error  # noqa: PLC0415 loaded only when a browser is used

        page = self._page
        assert page is not None
        for number, step in enumerate(steps, 1):
            try:
                await self._execute(page, step)
            except Error as error:
                # The library's own message may contain the value that was filled in.
                reason = self._reason(error) if step.action is StepAction.GOTO else f"no visible element within {_STEP_S:.0f} s"
                form = ", which still shows a password field" if await self._observe() else ""
                where = f"{self._where(page)}{form}"
                raise LoginFailed(f"step {number} ({step.action} {step.target!r}): {reason} on {where}") from None
            await self._observe()
        with contextlib.suppress(Error):
            await page.wait_for_load_state("networkidle", timeout=_AFTER_STEPS_S * 1e3)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_AFTER_STEPS_S):
                while await self._observe():  # noqa: ASYNC110 the page has no event for it
                    await asyncio.sleep(_POLL_S / 5)

    async def watch(self, until: Callable[[], Awaitable[None]]) -> None:
        """Observe the window until the user has confirmed the login or closed it."""
        finished = asyncio.ensure_future(until())
        try:
            while not finished.done() and self._context.pages:  # a closed window has no page
                await self._observe()
                await asyncio.wait((finished,), timeout=_POLL_S)
            await self._observe()
        finally:
            finished.cancel()

    def session(self) -> SiteSession:
        """The session. Raises `LoginFailed` when the login form is still shown, or the site has set nothing."""
        shown = Url.parse(self._shown)
        if shown is None:
            raise LoginFailed(f"no page of {self._url.authority} was shown")
        if self._has_form:
            raise LoginFailed(f"{page_of(shown)} still shows a password field: the site did not accept the login")
        storage = tuple((origin, name, value) for origin, items in self._storage.items() for name, value in items)
        if not self._cookies and not storage:
            raise LoginFailed(f"{self._url.authority} has set no cookie and no local storage, so there is no session to keep")
        pages = [page for page in self._login_pages if page != page_of(shown)]
        return SiteSession(self._url.origin, tuple(cookies_of(self._cookies)), storage, tuple(pages), str(shown))

    async def _execute(self, page: Page, step: LoginStep) -> None:
        timeout = _STEP_S * 1e3
        match step.action:
            case StepAction.FILL:
                await page.fill(step.target, step.value, timeout=timeout)
            case StepAction.CLICK:
                await page.click(step.target, timeout=timeout)
            case StepAction.WAIT:
                await page.wait_for_selector(step.target, timeout=timeout)
            case StepAction.GOTO:
                await page.goto(urljoin(page.url, step.target), timeout=_OPEN_S * 1e3, wait_until="domcontentloaded")
            case StepAction.PRESS:
                await page.keyboard.press(step.target)

    async def _observe(self) -> bool:
        """Record the current URL and the cookies and storage of the page. Returns whether it shows a login form."""
        with contextlib.suppress(Exception):  # a page that navigates or closes meanwhile is observed the next time
            has_form = False
            for page in self._context.pages:
                if not page.url.startswith(("http:", "https:")):
                    continue
                is_login = any([await frame.locator(_PASSWORD).count() > 0 for frame in page.frames])
                if is_login:
                    chain = self._chains.get(page, [])
                    own = Url.parse(page.url)
                    for url in (*chain[1:], *((own,) if own is not None else ())):
                        self._login_pages[page_of(url)] = None
                has_form |= is_login
                origin, items = await page.evaluate(_READ_STORAGE)
                self._storage[origin] = [(name, value) for name, value in items]
                self._shown = page.url
            self._has_form = has_form
            self._cookies = list(await self._context.cookies())
        return self._has_form

    async def _attach(self, page: Page) -> None:
        """Give the proxy its credentials, and requests the headers of the user's access."""
        if page in self._chains:
            return
        self._chains[page] = []
        page.on("request", partial(self._on_request, page))
        with contextlib.suppress(Exception):  # a window that closed at once
            session = await self._context.new_cdp_session(page)
            session.on("Fetch.requestPaused", lambda event: self._start(self._resume(session, event)))
            session.on("Fetch.authRequired", lambda event: self._start(self._authenticate(session, event)))
            patterns = [{"urlPattern": f"{origin}/*"} for origin in self._access.origins_with_headers]
            await session.send(
                "Fetch.enable", {"patterns": [{"resourceType": "Document"}, *patterns], "handleAuthRequests": True}
            )

    async def _resume(self, session: CDPSession, event: dict[str, Any]) -> None:
        changes = changed_headers(self._access, event["request"])
        with contextlib.suppress(Exception):
            await session.send("Fetch.continueRequest", {"requestId": event["requestId"], **changes})

    async def _authenticate(self, session: CDPSession, event: dict[str, Any]) -> None:
        answer = {"requestId": event["requestId"], "authChallengeResponse": self._proxy.answer(event["authChallenge"])}
        with contextlib.suppress(Exception):
            await session.send("Fetch.continueWithAuth", answer)

    def _on_request(self, page: Page, request: Request) -> None:
        url = Url.parse(request.url)
        if url is None or not request.is_navigation_request() or request.frame != page.main_frame:
            return
        if request.redirected_from is None:
            self._chains[page] = []
        self._chains[page].append(url)

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _reason(self, error: Exception) -> str:
        """Why a page could not be opened: the proxy knows it better than the browser."""
        info = self._proxy.failure(self._url.host, self._url.port)
        return info.detail.rstrip(".") if info is not None else str(error).splitlines()[0].partition(" at ")[0][:200]

    @staticmethod
    def _where(page: Page) -> str:
        url = Url.parse(page.url)
        return page_of(url) if url is not None else "an empty page"
