"""The media of one tenant (`ports.MediaLibrary`), in SQLite or Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

from sitelore.model.ids import SiteId
from sitelore.model.platform.media import SiteMedia, thumbnail_key
from sitelore.store.engine import Repository, read, read_long, write
from sitelore.store.platform import media


class SqlMediaLibrary(Repository):
    """Each method runs one function of `store/platform/media.py` in one transaction."""

    find_content = read(media.find_content)
    list_media = read_long(media.list_media)
    find_media = read_long(media.find_media)
    uses_of = read_long(media.uses_of)
    totals = read_long(media.totals)
    page_ids = read_long(media.page_ids)
    delete_media = write(media.delete_media)
    delete_unused = write(media.delete_unused)
    forget_pages = write(media.forget_pages)
    screenshot_folder = read(media.screenshot_folder)

    async def references(self) -> AsyncIterator[set[str]]:
        """All keys of files that rows of the tenant refer to, thumbnails and screenshots included, in parts."""
        after: int | None = 0
        while after is not None:
            part = await self._read_long(media.references_after, after)
            yield {key for _, content, key in part if key for key in (key, thumbnail_key(content))}
            after = part[-1][0] if len(part) == media.MEDIA_PER_READ else None
        page: tuple[int, int] | None = (0, 0)
        while page is not None:
            screenshots = await self._read_long(media.screenshots_after, page)
            yield {key for _, _, key in screenshots}
            page = screenshots[-1][:2] if len(screenshots) == media.MEDIA_PER_READ else None

    async def site_media(self, site: SiteId) -> AsyncIterator[list[SiteMedia]]:
        """The files behind the media URLs of a site, in parts."""
        after: int | None = 0
        while after is not None:
            part = await self._read_long(media.site_media_after, site, after)
            yield [each for _, each in part]
            after = part[-1][0] if len(part) == media.MEDIA_PER_READ else None
