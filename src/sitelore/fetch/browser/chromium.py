"""The Chromium process: finds the browser on this machine, starts it on first use, and replaces it.

It is replaced after a crash, after many pages, or when it takes too much memory.

All runs share one process. It cannot outlive us: it is driven through pipes and exits when they close. By itself it has no
network access; each run gives its browser context a proxy of its own (`guard_proxy.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitelore.extras import install_command

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import CDPSession, Playwright

_LOG = logging.getLogger(__name__)

INSTALL_HINT = (
    f"Pages that scripts make are read as they come over HTTP; for a browser, {install_command('browser')} and "
    "apt install chromium-headless-shell (or: playwright install chromium-headless-shell)."
)

_COMMANDS = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
_PATHS = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium/headless_shell",
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/bin/google-chrome",
    "/snap/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_DOWNLOAD_DIRS = (".cache/ms-playwright", "Library/Caches/ms-playwright")
_DOWNLOAD_PATTERNS = (
    "chromium_headless_shell-*/*/headless_shell",
    "chromium_headless_shell-*/*/chrome-headless-shell",
    "chromium-*/*/chrome",
    "chromium-*/*/Chromium.app/Contents/MacOS/Chromium",
)
_VERSION_TIMEOUT_S = 10.0
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 5.0
_MEMORY_CHECK_S = 0.5
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_WITHOUT_WINDOW = ("--block-new-web-contents", "--mute-audio")
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-site-isolation-trials",  # frames of other sites stay in their page's process and can be read there
    "--no-pings",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-server=http://127.0.0.1:9",  # the discard port: requests outside a run's context reach nothing
    "--proxy-bypass-list=<-loopback>",
    "--js-flags=--max-old-space-size=768",
)


@dataclass(frozen=True, slots=True)
class BrowserExecutable:
    """A Chromium executable on this machine."""

    path: str

    def version(self) -> str:
        """The output of `--version`; empty when it fails."""
        try:
            result = subprocess.run(  # noqa: S603 the path was searched for here or set by the operator
                [self.path, "--version"], capture_output=True, timeout=_VERSION_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return result.stdout.decode("utf-8", "replace").strip()


def find_browser(name: str = "", downloads: str = "", *, has_window: bool = False) -> BrowserExecutable | None:
    """The executable that the operator named, else the first usual one. A name that does not exist has no fallback.

    `downloads` is the directory of Playwright's own browsers, when it is not the default one. `has_window`: one that can open
    a window.
    """
    if name:
        path = shutil.which(name)
        return BrowserExecutable(path) if path else None
    paths = (path for path in _candidates(downloads) if shutil.which(path))
    return next((BrowserExecutable(path) for path in paths if not has_window or "headless" not in Path(path).name), None)


def has_playwright() -> bool:
    """Whether the library that drives the browser is installed."""
    return find_spec("playwright") is not None


def _candidates(downloads: str) -> Iterator[str]:
    for command in _COMMANDS:
        path = shutil.which(command)
        if path:
            yield path
    yield from _PATHS
    try:
        directories = [Path(downloads)] if downloads else [Path.home() / folder for folder in _DOWNLOAD_DIRS]
    except RuntimeError:  # the user has no home directory
        directories = []
    for directory in directories:
        for pattern in _DOWNLOAD_PATTERNS:
            # Newest first: the build number is part of the folder's name.
            yield from sorted((str(path) for path in directory.glob(pattern)), reverse=True)


class BrowserUnavailable(Exception):
    """No browser is installed, or it does not start. Caught inside `fetch`."""


@dataclass(frozen=True, slots=True)
class BrowserLimits:
    """How many pages are open at once, and when the process is replaced."""

    at_once: int = 4
    pages: int = 200
    memory_bytes: int = 1500 * 2**20
    page_memory_bytes: int = 1200 * 2**20
    """A page whose process takes more than this is killed."""


LIMITS = BrowserLimits()


class BrowserProcess:
    """A started browser with its driver."""

    def __init__(self, driver: Playwright, chromium: Chromium, session: CDPSession) -> None:
        self.chromium = chromium
        self._driver = driver
        self._session = session
        self.pages = 0
        self.active = 0
        self.memory_bytes = 0
        self.is_dead = False
        self.is_retired = False
        """The process gets no new pages, and is stopped after its last page."""
        self.is_stopping = False
        chromium.on("disconnected", lambda _: self._on_disconnect())

    @classmethod
    async def start(cls, executable: BrowserExecutable, *, has_window: bool = False) -> BrowserProcess:
        """Start a browser, with a window for a login by the user. Raises `BrowserUnavailable` when that fails."""
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415 loaded only when a browser is used

        driver = await async_playwright().start()
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        try:
            chromium = await driver.chromium.launch(
                executable_path=executable.path,
                headless=not has_window,
                args=[*_FLAGS, *(() if has_window else _WITHOUT_WINDOW), *(("--no-sandbox",) if is_root else ())],
                ignore_default_args=["--disable-popup-blocking"],
                chromium_sandbox=not is_root,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                timeout=_START_TIMEOUT_S * 1e3,
            )
            return cls(driver, chromium, await chromium.new_browser_cdp_session())
        except Error as error:
            await driver.stop()
            reason = str(error).splitlines()[0][:200]
            raise BrowserUnavailable(f"The browser {executable.path} does not start: {reason}") from None

    async def processes(self) -> dict[int, str]:
        """Process id → type (browser, renderer …)."""
        info: dict[str, Any] = await self._session.send("SystemInfo.getProcessInfo")
        return {int(process["id"]): str(process["type"]) for process in info["processInfo"]}

    async def is_responsive(self) -> bool:
        """Whether the process is alive. Asks it: a page may report a crash of the browser before the driver does."""
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                await self.processes()
        except Exception:  # noqa: BLE001 a browser that cannot answer is unusable, whatever the error
            self.is_dead = True
        return not self.is_dead

    async def stop(self) -> None:
        """Close the browser, then its driver, which kills remaining processes."""
        self.is_dead = True
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await self.chromium.close()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await self._driver.stop()

    def _on_disconnect(self) -> None:
        self.is_dead = True


class Browser:
    """The browser that all runs share. A dead process is replaced on the next use; a worn-out one after its last page."""

    def __init__(self, find: Callable[[], BrowserExecutable | None] = find_browser, *, limits: BrowserLimits = LIMITS) -> None:
        self._find = find
        self._limits = limits
        self._executable: BrowserExecutable | None = None
        self._process: BrowserProcess | None = None
        self._start_lock = asyncio.Lock()
        self._page_slots = asyncio.Semaphore(limits.at_once)
        self._stop_tasks: set[asyncio.Task[None]] = set()
        self._memory_watch: asyncio.Task[None] | None = None
        self.starts = 0
        """How many times a process was started."""

    def is_available(self) -> bool:
        """Whether a browser is installed. Starts nothing; a browser that was found is not searched again."""
        if self._executable is None and has_playwright():
            self._executable = self._find()
        return self._executable is not None

    @property
    def current(self) -> BrowserProcess | None:
        """The running process, if there is one."""
        return self._process

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[BrowserProcess]:
        """A running browser for one page. Waits for a free page slot. Raises `BrowserUnavailable`."""
        async with self._page_slots:
            process = await self._get_process()
            process.active += 1
            process.pages += 1
            # Set before the last pages are opened, so that renderers can save the run's cookies from them.
            process.is_retired |= process.pages >= self._limits.pages or process.memory_bytes > self._limits.memory_bytes
            try:
                yield process
            finally:
                process.active -= 1
                if process.is_dead or process.is_retired:
                    self._retire(process, at_once=process.is_dead)

    async def close(self) -> None:
        """Stop the browser processes and the tasks that watch them."""
        if self._memory_watch is not None:
            self._memory_watch.cancel()
            await asyncio.gather(self._memory_watch, return_exceptions=True)
            self._memory_watch = None
        if self._process is not None:
            self._retire(self._process, at_once=True)
        await asyncio.gather(*self._stop_tasks, return_exceptions=True)

    async def _get_process(self) -> BrowserProcess:
        async with self._start_lock:
            process = self._process
            if process is not None and not process.is_dead and not process.is_retired:
                return process
            if process is not None:
                self._retire(process, at_once=process.is_dead)
            if not self.is_available():
                raise BrowserUnavailable(
                    "No browser is available; `sitelore doctor` says how to install one."
                )  # stored with the URL, so without paths of this machine
            assert self._executable is not None
            self._process = await BrowserProcess.start(self._executable)
            self.starts += 1
            if self._memory_watch is None or self._memory_watch.done():
                self._memory_watch = asyncio.create_task(self._watch_memory())
            return self._process

    def _retire(self, process: BrowserProcess, *, at_once: bool) -> None:
        """Open no new pages in this process; stop it now or when its last page has closed."""
        process.is_retired = True
        if process is self._process and (at_once or process.active == 0):
            self._process = None
        if (process.active == 0 or at_once) and not process.is_stopping:
            process.is_stopping = True
            task = asyncio.create_task(process.stop())
            self._stop_tasks.add(task)
            task.add_done_callback(self._stop_tasks.discard)

    async def _watch_memory(self) -> None:
        """Measure the memory of the running process and kill pages that take too much."""
        while self._process is not None and not self._process.is_dead:
            await asyncio.sleep(_MEMORY_CHECK_S)
            process = self._process
            if process is None or not process.active:
                continue
            with contextlib.suppress(Exception):
                types = await process.processes()
                sizes = {pid: private_bytes(pid) for pid in types}
                process.memory_bytes = sum(sizes.values())
                for pid, process_type in types.items():
                    if process_type == "renderer" and sizes[pid] > self._limits.page_memory_bytes:
                        _LOG.warning("killed a page that used %d MB of memory", sizes[pid] >> 20)
                        os.kill(pid, signal.SIGKILL)


def private_bytes(pid: int) -> int:
    """Memory that a process does not share with others; 0 where the system does not report it."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return max(0, int(fields[1]) - int(fields[2])) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0
