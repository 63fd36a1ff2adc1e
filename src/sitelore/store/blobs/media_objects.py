"""`ports.MediaFiles` in the object store that also holds the blobs. Deleted files stay readable until they are purged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sitelore.model.ids import DEFAULT_TENANT, TenantId
from sitelore.model.platform.media import place_of
from sitelore.store.blobs.media_keys import directories_of, is_media_key, key_at
from sitelore.store.blobs.object_store import Bucket


class ObjectMediaFiles:
    """Media files of one tenant in a bucket."""

    def __init__(self, bucket: Bucket, tenant: TenantId = DEFAULT_TENANT) -> None:
        self._bucket = bucket
        self._tenant = tenant

    def for_tenant(self, tenant: TenantId) -> ObjectMediaFiles:
        """The files of another tenant in the same bucket."""
        return ObjectMediaFiles(self._bucket, tenant)

    def place(self, key: str) -> str:
        """The path of a file in the bucket."""
        return place_of(self._tenant, key)

    async def put(self, key: str, data: bytes) -> None:
        """Store a file."""
        await self._bucket.put(self.place(key), data)

    async def get(self, key: str) -> bytes:
        """The bytes of a file; KeyError when there is none."""
        data = await self._bucket.get(self.place(key)) if is_media_key(key) else None
        if data is None:
            raise KeyError(key)
        return data

    async def get_part(self, key: str, start: int, end: int) -> bytes:
        """The bytes of a file from `start` until before `end`; KeyError when there is none."""
        data = await self._bucket.get_part(self.place(key), start, end) if is_media_key(key) else None
        if data is None:
            raise KeyError(key)
        return data

    def keys(self, stored_before: float) -> AsyncIterator[str]:
        """The keys of all files that were last put before this time."""
        return self._list(stored_before, deleted=False)

    def deleted_keys(self, deleted_before: float) -> AsyncIterator[str]:
        """The keys of files that were deleted before this time and not purged."""
        return self._list(deleted_before, deleted=True)

    async def _list(self, stored_before: float, *, deleted: bool) -> AsyncIterator[str]:
        for directory in directories_of(self._tenant):
            async for path in self._bucket.paths(directory, stored_before, deleted=deleted):
                if (key := key_at(path)) is not None:
                    yield key

    async def delete(self, keys: Sequence[str], stored_before: float) -> int:
        """Delete files, except those that were put again since this time."""
        return await self._bucket.delete([self.place(key) for key in keys], stored_before)

    async def purge(self, keys: Sequence[str], deleted_before: float) -> int:
        """Remove files for good that were deleted before this time."""
        return await self._bucket.purge([self.place(key) for key in keys], deleted_before)

    async def restore(self, keys: Sequence[str]) -> None:
        """Make deleted files ordinary files again."""
        await self._bucket.restore([self.place(key) for key in keys])

    async def close(self) -> None:
        """Nothing: the bucket belongs to the blobs."""
