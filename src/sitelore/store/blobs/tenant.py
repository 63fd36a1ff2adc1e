"""Blob store of one tenant: keys of a shared blob store with the tenant as prefix, so that tenants share no blob."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from sitelore.model.document import Blob
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, TenantId
from sitelore.platform_ports import MediaFiles
from sitelore.store.blobs.media_files import is_media_key


class BlobStore(Protocol):
    """A store of blobs of all tenants. Keys may have a prefix that ends with `/`."""

    async def put(self, blobs: Sequence[Blob]) -> None:
        """Store compressed blobs."""
        ...

    async def get(self, key: BlobKey) -> bytes:
        """The uncompressed bytes; KeyError when there are none."""
        ...

    def keys(self, stored_before: float, prefix: str = "") -> AsyncIterator[BlobKey]:
        """Keys with this prefix, or without any, of blobs that were last written before this time."""
        ...

    def deleted_keys(self, deleted_before: float, prefix: str = "") -> AsyncIterator[BlobKey]:
        """Keys with this prefix, or without any, of blobs that were soft-deleted before this time: they can still be read."""
        ...

    async def delete(self, keys: Sequence[BlobKey], stored_before: float) -> int:
        """Soft-delete blobs, except those that were written again since this time."""
        ...

    async def purge(self, keys: Sequence[BlobKey], deleted_before: float) -> int:
        """Permanently remove blobs that were soft-deleted before this time."""
        ...

    async def restore(self, keys: Sequence[BlobKey]) -> None:
        """Undo the soft delete of blobs."""
        ...

    async def close(self) -> None:
        """Close the store."""
        ...


class TenantBlobs:
    """`ports.Blobs` of one tenant. The default tenant has no prefix: its blobs may predate tenants.

    Screenshots are read like blobs, but are files of the media store.
    """

    def __init__(self, store: BlobStore, tenant: TenantId, files_of: Callable[[TenantId], MediaFiles] | None = None) -> None:
        self._store = store
        self._tenant = tenant
        self._files_of = files_of
        self._prefix = "" if tenant == DEFAULT_TENANT else f"{tenant}/"

    def for_tenant(self, tenant: TenantId) -> TenantBlobs:
        """The blobs of another tenant in the same store."""
        return TenantBlobs(self._store, tenant, self._files_of)

    async def put(self, blobs: Sequence[Blob]) -> None:
        """Store compressed blobs; on return they survive a crash of the process."""
        await self._store.put([Blob(self._key(blob.key), blob.data) for blob in blobs] if self._prefix else blobs)

    async def get(self, key: BlobKey) -> bytes:
        """The uncompressed bytes; KeyError when there are none."""
        if "/" in key:
            if self._files_of is None or not is_media_key(key):
                raise KeyError(key)
            return await self._files_of(self._tenant).get(key)
        return await self._store.get(self._key(key))

    async def keys(self, stored_before: float) -> AsyncIterator[BlobKey]:
        """The keys of all blobs that were last put before this time."""
        async for key in self._store.keys(stored_before, self._prefix):
            yield BlobKey(key.removeprefix(self._prefix))

    async def deleted_keys(self, deleted_before: float) -> AsyncIterator[BlobKey]:
        """The keys of blobs that were deleted before this time and can still be read."""
        async for key in self._store.deleted_keys(deleted_before, self._prefix):
            yield BlobKey(key.removeprefix(self._prefix))

    async def delete(self, keys: Sequence[BlobKey], stored_before: float) -> int:
        """Delete blobs, except those that were put again since this time."""
        return await self._store.delete([self._key(key) for key in keys], stored_before)

    async def purge(self, keys: Sequence[BlobKey], deleted_before: float) -> int:
        """Permanently remove blobs that were deleted before this time."""
        return await self._store.purge([self._key(key) for key in keys], deleted_before)

    async def restore(self, keys: Sequence[BlobKey]) -> None:
        """Make deleted blobs that can still be read ordinary blobs again."""
        await self._store.restore([self._key(key) for key in keys])

    def _key(self, key: BlobKey) -> BlobKey:
        return BlobKey(self._prefix + key)
