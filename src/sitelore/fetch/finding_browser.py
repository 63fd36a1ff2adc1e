"""Which Chromium this machine has."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ADVICE = (
    "Pages that scripts make are read as they come over HTTP; for a browser, pip install 'sitelore[browser]' and "
    "apt install chromium-headless-shell (or: playwright install chromium-headless-shell)."
)

_NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
_PLACES = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium/headless_shell",
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/bin/google-chrome",
    "/snap/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_DOWNLOADS = (".cache/ms-playwright", "Library/Caches/ms-playwright")
_DOWNLOADED = (
    "chromium_headless_shell-*/*/headless_shell",
    "chromium_headless_shell-*/*/chrome-headless-shell",
    "chromium-*/*/chrome",
    "chromium-*/*/Chromium.app/Contents/MacOS/Chromium",
)
_VERSION_S = 10.0


@dataclass(frozen=True, slots=True)
class FoundBrowser:
    """A Chromium that can be started."""

    path: str

    def version(self) -> str:
        """What it calls itself; empty when it does not say. Starts it for a moment."""
        try:
            said = subprocess.run(  # noqa: S603 the path is one that was found, or that the operator named
                [self.path, "--version"], capture_output=True, timeout=_VERSION_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return said.stdout.decode("utf-8", "replace").strip()


def find_browser(named: str = "", downloads: str = "") -> FoundBrowser | None:
    """The browser the operator named, else the first of the usual ones. A name that leads nowhere is not replaced.

    `downloads` is where Playwright keeps its own browsers, when that is not the usual place.
    """
    if named:
        path = shutil.which(named)
        return FoundBrowser(path) if path else None
    return next((FoundBrowser(path) for path in _candidates(downloads) if shutil.which(path)), None)


def has_driver() -> bool:
    """Whether the library that talks to the browser is installed."""
    return find_spec("playwright") is not None


def _candidates(downloads: str) -> Iterator[str]:
    for name in _NAMES:
        path = shutil.which(name)
        if path:
            yield path
    yield from _PLACES
    try:
        homes = [Path(downloads)] if downloads else [Path.home() / folder for folder in _DOWNLOADS]
    except RuntimeError:  # nobody's home
        homes = []
    for home in homes:
        for pattern in _DOWNLOADED:
            # The newest first: the number is in the folder's name.
            yield from sorted((str(path) for path in home.glob(pattern)), reverse=True)
