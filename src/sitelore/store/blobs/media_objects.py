"""`ports.MediaFiles` in the object store that also holds the blobs. Deleted files stay readable until they are purged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sitelore.model.ids import DEFAULT_TENANT, TenantId
from sitelore.store.blobs.media_keys import is_media_key, tenant_prefix
from sitelore.store.blobs.object_store import Bucket


class ObjectMediaFiles:
    """Media files of one tenant in a bucket."""

    def __init__(self, bucket: Bucket, tenant: TenantId = DEFAULT_TENANT) -> None:
        self.prefix = tenant_prefix(tenant)
        self._bucket = bucket

    def for_tenant(self, tenant: TenantId) -> ObjectMediaFiles:
        """The files of another tenant in the same bucket."""
        return ObjectMediaFiles(self._bucket, tenant)

    async def put(self, key: str, data: bytes) -> None:
        """Store a file."""
        await self._bucket.put(self.prefix + key, data)

    async def get(self, key: str) -> bytes:
        """The bytes of a file; KeyError when there is none."""
        data = await self._bucket.get(self.prefix + key) if is_media_key(key) else None
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
        async for path in self._bucket.paths(self.prefix, stored_before, deleted=deleted):
            yield path.removeprefix(self.prefix)

    async def delete(self, keys: Sequence[str], stored_before: float) -> int:
        """Delete files, except those that were put again since this time."""
        return await self._bucket.delete([self.prefix + key for key in keys], stored_before)

    async def purge(self, keys: Sequence[str], deleted_before: float) -> int:
        """Remove files for good that were deleted before this time."""
        return await self._bucket.purge([self.prefix + key for key in keys], deleted_before)

    async def restore(self, keys: Sequence[str]) -> None:
        """Make deleted files ordinary files again."""
        await self._bucket.restore([self.prefix + key for key in keys])

    async def close(self) -> None:
        """Nothing: the bucket belongs to the blobs."""
