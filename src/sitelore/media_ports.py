"""The interfaces (Protocols) of media: the files, and what is known of them. Implemented by `store`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from sitelore.model.ids import SiteId, TenantId
from sitelore.model.platform.media import MediaFile, MediaListing, MediaTotals, MediaUse, StoredMedia
from sitelore.model.url import Url


class MediaFiles(Protocol):
    """The files of one tenant's media, by key (`images/{hash}.jpg`). Equal keys have equal content."""

    @property
    def prefix(self) -> str:
        """What precedes the keys in the store: `webmedia/{tenant}/`."""
        ...

    def for_tenant(self, tenant: TenantId) -> MediaFiles:
        """The files of another tenant in the same store."""
        ...

    async def put(self, key: str, data: bytes) -> None:
        """Store a file; on return it survives a crash of the process."""
        ...

    async def get(self, key: str) -> bytes:
        """The bytes of a file; KeyError when there is none."""
        ...

    def keys(self, stored_before: float) -> AsyncIterator[str]:
        """The keys of all files that were last put before this time (seconds since the epoch)."""
        ...

    def deleted_keys(self, deleted_before: float) -> AsyncIterator[str]:
        """The keys of files that were deleted before this time and can still be restored."""
        ...

    async def delete(self, keys: Sequence[str], stored_before: float) -> int:
        """Delete files, except those that were put again since this time. Gives how many were deleted."""
        ...

    async def purge(self, keys: Sequence[str], deleted_before: float) -> int:
        """Remove files for good that were deleted before this time. Gives how many were removed."""
        ...

    async def restore(self, keys: Sequence[str]) -> None:
        """Make deleted files ordinary files again."""
        ...

    async def close(self) -> None:
        """Close the store."""
        ...


class MediaLibrary(Protocol):
    """The media of one tenant. One call is one transaction; settlements write to it through `Ledger.settle`."""

    def for_tenant(self, tenant: TenantId) -> MediaLibrary:
        """The media of another tenant in the same database."""
        ...

    async def find_content(self, content_hash: str) -> MediaFile | None:
        """The stored file with this content."""
        ...

    async def list_media(self, listing: MediaListing) -> tuple[list[StoredMedia], int]:
        """A page of the media, oldest first, and the total."""
        ...

    async def find_media(self, media_id: int, site: SiteId | None = None) -> StoredMedia | None:
        """The media of this id, if a URL of the site has it."""
        ...

    async def uses_of(self, media_id: int, site: SiteId | None = None, limit: int = 100) -> list[MediaUse]:
        """Pages that show it, by URL."""
        ...

    async def totals(self, site: SiteId | None = None) -> MediaTotals:
        """Numbers and sizes, of a site or (None) of the tenant."""
        ...

    async def page_ids(self, site: SiteId, page_urls: Sequence[Url]) -> dict[Url, int]:
        """The ids under which pages are listed, of those that have one."""
        ...

    async def delete_media(self, media_id: int) -> bool:
        """Delete a row that no page uses; its file is deleted by the caller. False when there is none, or a page uses it."""
        ...

    async def delete_unused(self, crawled_before: float) -> int:
        """Delete some media that no page uses and that were not found since this time. Gives how many; 0 when none is left."""
        ...

    async def forget_pages(self, page_ids: Collection[int]) -> None:
        """Forget what these pages show."""
        ...

    def references(self) -> AsyncIterator[set[str]]:
        """All keys of files that rows refer to, thumbnails included, in parts."""
        ...
