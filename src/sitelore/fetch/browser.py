"""The one browser of the house: started when it is first needed, watched, replaced, and started anew after a crash.

It is started so that it cannot outlive us: it speaks through pipes, and ends when they close. Its own way out leads nowhere;
each run gives its context a proxy of its own (`forward_proxy.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitelore.fetch.finding_browser import ADVICE, FoundBrowser, find_browser, has_driver

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import CDPSession, Playwright

_LOG = logging.getLogger(__name__)

Find = Callable[[], FoundBrowser | None]

_START_S = 30.0
_END_S = 5.0
_LOOK_S = 0.5
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-site-isolation-trials",  # frames of other sites stay in their page's process and can be read there
    "--block-new-web-contents",
    "--no-pings",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-server=http://127.0.0.1:9",  # port 9 discards: what belongs to no run has no way out
    "--proxy-bypass-list=<-loopback>",
    "--js-flags=--max-old-space-size=768",
    "--mute-audio",
)


class NoBrowser(Exception):
    """There is none, or it does not start. Never leaves this room."""


@dataclass(frozen=True, slots=True)
class BrowserLimits:
    """How many pages are open at once, and when a browser is replaced by a fresh one."""

    at_once: int = 4
    pages: int = 200
    memory_bytes: int = 1500 * 2**20
    page_memory_bytes: int = 1200 * 2**20
    """A page that takes more than this is ended."""


LIMITS = BrowserLimits()


class Running:
    """A browser that was started, with its driver."""

    def __init__(self, driver: Playwright, chromium: Chromium, session: CDPSession) -> None:
        self.chromium = chromium
        self._driver = driver
        self._session = session
        self.pages = 0
        self.active = 0
        self.memory_bytes = 0
        self.is_dead = False
        self.is_retired = False
        self.is_ending = False
        chromium.on("disconnected", lambda _: self._died())

    @classmethod
    async def start(cls, found: FoundBrowser) -> Running:
        """Start a browser; `NoBrowser` when that fails."""
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415 only where a browser is used

        driver = await async_playwright().start()
        as_root = hasattr(os, "geteuid") and os.geteuid() == 0
        try:
            chromium = await driver.chromium.launch(
                executable_path=found.path,
                args=[*_FLAGS, *(("--no-sandbox",) if as_root else ())],
                ignore_default_args=["--disable-popup-blocking"],
                chromium_sandbox=not as_root,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                timeout=_START_S * 1e3,
            )
            return cls(driver, chromium, await chromium.new_browser_cdp_session())
        except Error as error:
            await driver.stop()
            reason = str(error).splitlines()[0][:200]
            raise NoBrowser(f"The browser {found.path} does not start: {reason}") from None

    async def processes(self) -> dict[int, str]:
        """Process id → kind (browser, renderer …)."""
        told: dict[str, Any] = await self._session.send("SystemInfo.getProcessInfo")
        return {int(process["id"]): str(process["type"]) for process in told["processInfo"]}

    async def answers(self) -> bool:
        """Whether it is still alive: a page may hear of the browser's death before anybody else does."""
        try:
            async with asyncio.timeout(_START_S):
                await self.processes()
        except Exception:  # noqa: BLE001 however it fails to answer, it is of no more use
            self.is_dead = True
        return not self.is_dead

    async def end(self) -> None:
        """End it and its driver, politely and then not."""
        self.is_dead = True
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_END_S):
                await self.chromium.close()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_END_S):
                await self._driver.stop()

    def _died(self) -> None:
        self.is_dead = True


class Browser:
    """Lends out a running browser. A dead one is replaced by the next who asks; a worn one ends with its last page."""

    def __init__(self, find: Find = find_browser, *, limits: BrowserLimits = LIMITS) -> None:
        self._find = find
        self._limits = limits
        self._found: FoundBrowser | None = None
        self._running: Running | None = None
        self._starting = asyncio.Lock()
        self._places = asyncio.Semaphore(limits.at_once)
        self._ending: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None
        self.starts = 0
        """How many times a browser was started."""

    def is_there(self) -> bool:
        """Whether there is one on this machine. Starts nothing; what was found once is not looked for again."""
        if self._found is None and has_driver():
            self._found = self._find()
        return self._found is not None

    @property
    def current(self) -> Running | None:
        """The one that runs now, if one does."""
        return self._running

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Running]:
        """A running browser to show one page in. Waits for a place; `NoBrowser` when there is none."""
        async with self._places:
            running = await self._current()
            running.active += 1
            running.pages += 1
            # Known before its last pages are shown, so that whoever shows them can take along what must not be lost.
            running.is_retired |= running.pages >= self._limits.pages or running.memory_bytes > self._limits.memory_bytes
            try:
                yield running
            finally:
                running.active -= 1
                if running.is_dead or running.is_retired:
                    self._retire(running, whatever_is_open=running.is_dead)

    async def close(self) -> None:
        """End everything."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        if self._running is not None:
            self._retire(self._running, whatever_is_open=True)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _current(self) -> Running:
        async with self._starting:
            running = self._running
            if running is not None and not running.is_dead and not running.is_retired:
                return running
            if running is not None:
                self._retire(running, whatever_is_open=running.is_dead)
            if not self.is_there():
                raise NoBrowser(ADVICE)
            assert self._found is not None
            self._running = await Running.start(self._found)
            self.starts += 1
            if self._watch is None or self._watch.done():
                self._watch = asyncio.create_task(self._keep_watch())
            return self._running

    def _retire(self, running: Running, *, whatever_is_open: bool) -> None:
        """No new pages; it ends when its last page has."""
        running.is_retired = True
        if running is self._running and (whatever_is_open or running.active == 0):
            self._running = None
        if (running.active == 0 or whatever_is_open) and not running.is_ending:
            running.is_ending = True
            task = asyncio.create_task(running.end())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _keep_watch(self) -> None:
        """Look at the memory of whatever runs, for as long as something does."""
        while self._running is not None and not self._running.is_dead:
            await asyncio.sleep(_LOOK_S)
            running = self._running
            if running is None or not running.active:
                continue
            with contextlib.suppress(Exception):
                kinds = await running.processes()
                sizes = {number: private_bytes(number) for number in kinds}
                running.memory_bytes = sum(sizes.values())
                for number, kind in kinds.items():
                    if kind == "renderer" and sizes[number] > self._limits.page_memory_bytes:
                        _LOG.warning("a page took %d MB and was ended", sizes[number] >> 20)
                        os.kill(number, signal.SIGKILL)


def private_bytes(process: int) -> int:
    """The memory that a process shares with nobody; 0 where the system does not say."""
    try:
        words = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
        return max(0, int(words[1]) - int(words[2])) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0
