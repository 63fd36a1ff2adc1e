"""Fetches the pictures of videos that are not downloaded from their providers, when they are first shown.

The server fetches them and not the browser, so that the provider does not see who looks at the dashboard. Requests pass the
address guard; a picture that could not be fetched is tried again after a while.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import quote

import msgspec

from sitelore.model.response import Request, Response
from sitelore.model.settings import CrawlSettings, FetchLimits
from sitelore.model.url import Url
from sitelore.ports import Fetcher

THUMBNAIL_PROVIDERS = frozenset({"youtube", "vimeo"})
FETCH_SETTINGS = CrawlSettings(
    documents=False,
    limits=FetchLimits(connect_s=5.0, headers_s=10.0, body_s=10.0, wire_bytes=4 << 20, body_bytes=4 << 20),
)
"""Limits of requests to providers."""
_YOUTUBE = "https://i.ytimg.com/vi/{id}/{name}.jpg"
_YOUTUBE_NAMES = ("maxresdefault", "hqdefault")
"""The large one exists for some videos only."""
_VIMEO = "https://vimeo.com/api/oembed.json?width=640&url={video}"
_AT_ONCE = 4
_RETRY_AFTER_S = 600.0
_MAX_FAILED = 10_000


class _VimeoAnswer(msgspec.Struct):
    """The part of an oEmbed answer that is read."""

    thumbnail_url: str = ""


class VideoThumbnails:
    """Pictures of videos at YouTube and Vimeo."""

    def __init__(self, fetcher: Fetcher, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._failed: OrderedDict[tuple[str, str], float] = OrderedDict()

    async def fetch(self, provider: str, video_id: str) -> bytes | None:
        """The picture of a video; None when there is none, or the provider cannot be reached."""
        video = (provider, video_id)
        if self._clock() < self._failed.get(video, 0.0):
            return None
        async with self._slots:
            picture = await (self._of_youtube(video_id) if provider == "youtube" else self._of_vimeo(video_id))
        if picture is None:
            self._failed[video] = self._clock() + _RETRY_AFTER_S
            if len(self._failed) > _MAX_FAILED:
                self._failed.popitem(last=False)
        return picture

    async def _of_youtube(self, video_id: str) -> bytes | None:
        for name in _YOUTUBE_NAMES:
            picture = await self._get(_YOUTUBE.format(id=quote(video_id, safe=""), name=name))
            if picture is not None:
                return picture
        return None

    async def _of_vimeo(self, video_id: str) -> bytes | None:
        answer = await self._get(_VIMEO.format(video=quote(f"https://vimeo.com/{video_id}", safe="")))
        try:
            address = msgspec.json.decode(answer or b"{}", type=_VimeoAnswer).thumbnail_url
        except msgspec.DecodeError:
            return None
        return await self._get(address) if address.startswith("https://") else None

    async def _get(self, address: str) -> bytes | None:
        """The body of a successful answer. Redirects are not followed."""
        url = Url.parse(address)
        if url is None:
            return None
        result = await self._fetcher.fetch(Request(url, any_content_type=True, accept="*/*"))
        return result.body if isinstance(result, Response) and result.status == 200 else None
