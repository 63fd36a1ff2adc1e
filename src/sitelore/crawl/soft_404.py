"""Soft-404 detection: compares a suspicious page with what the site serves for a path that cannot exist.

One probe per directory is fetched, and only when a page reads like an error page. Where the probe is answered with 404 or 410,
the server marks missing pages itself, so a page served with 200 exists whatever its title says.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sitelore.model.document import Reading, similarity
from sitelore.model.errors import ReaderCrashed
from sitelore.model.response import Fetched, Request, Response
from sitelore.model.url import Url

_CERTAIN = 0.9
"""`looks_missing` from which the text alone decides when there is no probe to compare with."""
_SUSPECT = 0.5
_SAME_PAGE = 0.8
_MAX_DIRECTORIES = 2000
_TRUE_404 = frozenset({404, 410})

Fetch = Callable[[Request], Awaitable[Fetched]]
Read = Callable[[Response], Awaitable[Reading]]


@dataclass(frozen=True, slots=True)
class _Probe:
    """What a site serves for a path that cannot exist. The default is that of a probe without a usable answer."""

    fingerprint: tuple[int, ...] = ()
    """The fingerprint of the page that the site serves with a success status."""
    is_true_404: bool = False


class Soft404Detector:
    """The soft-404 probes of one run. Concurrent visits that need the same probe share it."""

    def __init__(self, fetch: Fetch, read: Read, salt: str) -> None:
        self._fetch = fetch
        self._read = read
        self._salt = salt
        self._probes: dict[str, asyncio.Task[_Probe]] = {}

    async def soft_404(self, url: Url, reading: Reading) -> str | None:
        """The evidence that a page served with status 200 is an error page; None when there is none."""
        if reading.looks_missing < _SUSPECT or url.is_root:
            return None
        probe = await self._probe(url)
        if probe.is_true_404:
            return None
        if probe.fingerprint and similarity(reading.fingerprint, probe.fingerprint) >= _SAME_PAGE:
            return "reads like an error page and equals what the site answers to a path that cannot exist"
        if reading.looks_missing >= _CERTAIN:
            return "title and text say that the page does not exist"
        return None

    async def close(self) -> None:
        """Cancel the probes that are still running."""
        for task in self._probes.values():
            task.cancel()
        await asyncio.gather(*self._probes.values(), return_exceptions=True)

    async def _probe(self, url: Url) -> _Probe:
        """The probe of the directory of `url`."""
        directory = f"{url.origin}{url.path.rpartition('/')[0]}/"
        task = self._probes.get(directory)
        if task is None:
            if len(self._probes) >= _MAX_DIRECTORIES:
                return _Probe()
            task = self._probes[directory] = asyncio.create_task(self._fetch_probe(directory))
        return await asyncio.shield(task)

    async def _fetch_probe(self, directory: str) -> _Probe:
        name = hashlib.sha256(f"{self._salt} {directory}".encode()).hexdigest()[:20]
        url = Url.parse(f"{directory}{name}")
        if url is None:
            return _Probe()
        fetched = await self._fetch(Request(url))
        if not isinstance(fetched, Response):
            return _Probe()
        if fetched.status in _TRUE_404:
            return _Probe(is_true_404=True)
        if not 200 <= fetched.status < 300 or not fetched.body_read:
            return _Probe()
        try:
            return _Probe((await self._read(fetched)).fingerprint)
        except ReaderCrashed:
            return _Probe()
