"""What a site answers to a path that cannot exist, asked once per directory and only when a page reads like an error page."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

from sitelore.model.document import Reading
from sitelore.model.errors import ReaderCrashed
from sitelore.model.response import Fetched, Request, Response
from sitelore.model.sketch import similarity
from sitelore.model.url import Url

SURE = 0.9
"""Reads so much like an error page that the text alone decides when a probe cannot."""
SUSPECT = 0.5
SAME = 0.8
_MAX_DIRECTORIES = 2000

Fetch = Callable[[Request], Awaitable[Fetched]]
Read = Callable[[Response], Awaitable[Reading]]


class Soft404Detector:
    """One run's probes. Two visits that need the same one share it."""

    def __init__(self, fetch: Fetch, read: Read, salt: str) -> None:
        self._fetch = fetch
        self._read = read
        self._salt = salt
        self._known: dict[str, asyncio.Task[tuple[int, ...]]] = {}

    async def soft_404(self, url: Url, reading: Reading) -> str | None:
        """The evidence that a page served as 200 is an error page, or None."""
        if reading.looks_missing < SUSPECT or url.is_root:
            return None
        probe = await self._probe(url)
        if probe and similarity(reading.fingerprint, probe) >= SAME:
            return "reads like an error page and equals what the site answers to a path that cannot exist"
        if reading.looks_missing >= SURE:
            return "title and text say that the page does not exist"
        return None

    async def close(self) -> None:
        """Leave no probe behind."""
        for task in self._known.values():
            task.cancel()
        await asyncio.gather(*self._known.values(), return_exceptions=True)

    async def _probe(self, url: Url) -> tuple[int, ...]:
        """The sketch of what the site serves beside this URL for a path that cannot exist; empty when it serves no page."""
        directory = f"{url.origin}{url.path.rpartition('/')[0]}/"
        task = self._known.get(directory)
        if task is None:
            if len(self._known) >= _MAX_DIRECTORIES:
                return ()
            task = self._known[directory] = asyncio.create_task(self._ask(directory))
        return await asyncio.shield(task)

    async def _ask(self, directory: str) -> tuple[int, ...]:
        name = hashlib.sha256(f"{self._salt} {directory}".encode()).hexdigest()[:20]
        url = Url.parse(f"{directory}{name}")
        if url is None:
            return ()
        fetched = await self._fetch(Request(url))
        if not isinstance(fetched, Response) or not 200 <= fetched.status < 300 or not fetched.body_read:
            return ()
        try:
            return (await self._read(fetched)).fingerprint
        except ReaderCrashed:
            return ()
