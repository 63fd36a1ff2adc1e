"""The media of a tenant for the API: lists, files, thumbnails on demand, deletion."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from enum import Enum, auto

from sitelore.crawl.media.image_pool import ImagePool
from sitelore.model.ids import SiteId
from sitelore.model.platform.media import StoredMedia, content_hash_of, is_screenshot, thumbnail_key
from sitelore.platform.video_thumbnails import THUMBNAIL_PROVIDERS, VideoThumbnails
from sitelore.platform_ports import MediaFiles, MediaLibrary
from sitelore.ports import Clock

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
