"""Media service of a tenant: files and byte ranges, thumbnails on demand, YouTube and Vimeo thumbnails, deletion."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from urllib.parse import quote

import msgspec

from sitelore.crawl.media.image_pool import ImagePool
from sitelore.model.ids import SiteId
from sitelore.model.platform.media import StoredMedia, content_hash_of, is_screenshot, thumbnail_key
from sitelore.model.response import Request, Response
from sitelore.model.settings import CrawlSettings, FetchLimits
from sitelore.model.url import Url
from sitelore.platform_ports import MediaFiles, MediaLibrary
from sitelore.ports import Clock, Fetcher

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
    """Thumbnails of videos, fetched from YouTube and Vimeo."""

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


_ENDLESS = 4e9
"""A time after every file: the row is deleted, so the file may go."""


class Deletion(Enum):
    """The result of a deletion."""

    DONE = auto()
    USED = auto()
    """A page shows it."""
    MISSING = auto()


@dataclass(frozen=True, slots=True)
class MediaService:
    """The media of one tenant."""

    library: MediaLibrary
    files: MediaFiles
    images: ImagePool
    videos: VideoThumbnails
    clock: Clock

    async def file(self, media: StoredMedia) -> bytes | None:
        """The stored file; None when there is none."""
        try:
            return await self.files.get(media.key) if media.key else None
        except KeyError:
            return None

    async def part(self, media: StoredMedia, start: int, end: int) -> bytes | None:
        """The bytes of the stored file from `start` until before `end`; None when there is no file."""
        try:
            return await self.files.get_part(media.key, start, end) if media.key else None
        except KeyError:
            return None

    async def thumbnail(self, media: StoredMedia) -> bytes | None:
        """A small WebP of an image, or of a video at a provider, made when it is first requested; None where there is none."""
        content_hash = content_hash_of(media.poster_key) if media.poster_key else media.content_hash
        key = thumbnail_key(content_hash)
        try:
            return await self.files.get(key)
        except KeyError:
            pass
        original = await self._picture(media)
        if original is None:
            return None
        small = await self.images.thumbnail(original, media.picture_key.rpartition(".")[2] or "jpg")
        if not small.data:
            return None
        await self.files.put(key, small.data)
        return small.data

    async def _picture(self, media: StoredMedia) -> bytes | None:
        if media.provider in THUMBNAIL_PROVIDERS:
            return await self.videos.fetch(media.provider, media.video_id)
        try:
            return await self.files.get(media.picture_key) if media.picture_key else None
        except KeyError:
            return None

    async def delete_screenshot(self, key: str | None) -> None:
        """Delete the screenshot of a page that was deleted."""
        if key is not None and is_screenshot(key):
            await asyncio.shield(self.files.delete([key], time.time()))

    async def delete(self, media_id: int, site: SiteId) -> Deletion:
        """Delete a file that no page shows, with its thumbnail."""
        media = await self.library.find_media(media_id, site)
        if media is None:
            return Deletion.MISSING
        deleted_at = time.time()
        if not await self.library.delete_media(media_id):
            is_left = await self.library.find_media(media_id, site) is not None
            return Deletion.USED if is_left else Deletion.MISSING
        keys = [key for key in (media.key, thumbnail_key(media.content_hash)) if key]
        # A crawl that has found the file again meanwhile has put it again, after the row was deleted.
        await asyncio.shield(self.files.delete(keys, deleted_at))
        return Deletion.DONE
