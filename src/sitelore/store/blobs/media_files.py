"""Files of media and screenshots (`ports.MediaFiles`) in a directory or in an object store, and the keys of both.

`model/platform/media.py` has the layout. In a directory, a file is written under a temporary name and renamed, so that a file
with its own name is always complete. All calls that change files of a directory run in one thread, so that no put comes
between the check and the removal of a file that is deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sitelore.model.errors import DiskFull, StorageError
from sitelore.model.ids import DEFAULT_TENANT, TenantId
from sitelore.model.platform.media import place_of, screenshot_key

if TYPE_CHECKING:
    from sitelore.store.blobs.object_store import Bucket


T = TypeVar("T")

_UNFINISHED = ".part"


class DirectoryMediaFiles:
    """Media files of one tenant below a directory, which is created with the first file."""

    def __init__(self, root: Path, tenant: TenantId = DEFAULT_TENANT, thread: ThreadPoolExecutor | None = None) -> None:
        self._root = root
        self._tenant = tenant
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="sitelore-media")

    def for_tenant(self, tenant: TenantId) -> DirectoryMediaFiles:
        """The files of another tenant in the same directory."""
        return DirectoryMediaFiles(self._root, tenant, self._thread)

    def place(self, key: str) -> str:
        """The path of a file below the directory."""
        return place_of(self._tenant, key)

    async def put(self, key: str, data: bytes) -> None:
        """Store a file. One that exists gets a new time, so that it is not deleted as unused."""
        await self._call(partial(_put, self._path(key), data))

    async def get(self, key: str) -> bytes:
        """The bytes of a file; KeyError when there is none."""
        return await self._read(key, 0, -1)

    async def get_part(self, key: str, start: int, end: int) -> bytes:
        """The bytes of a file from `start` until before `end`; KeyError when there is none."""
        return await self._read(key, start, end - start)

    async def _read(self, key: str, start: int, size: int) -> bytes:
        if not is_media_key(key):  # a path outside of the directory must not be tried
            raise KeyError(key)
        try:
            return await asyncio.to_thread(_read, self._path(key), start, size)
        except FileNotFoundError:
            raise KeyError(key) from None
        except OSError as error:
            raise StorageError(f"The media file {self._path(key)} cannot be read: {error.strerror}.") from error

    async def keys(self, stored_before: float) -> AsyncIterator[str]:
        """The keys of all files that were last put before this time."""
        for key in await self._call(partial(_keys, self._root, self._tenant, stored_before)):
            yield key

    async def deleted_keys(self, deleted_before: float) -> AsyncIterator[str]:  # noqa: ARG002
        """Nothing: one process writes to this directory, so a file is deleted at once."""
        for key in list[str]():
            yield key

    async def delete(self, keys: Sequence[str], stored_before: float) -> int:
        """Delete files, except those that were put again since this time."""
        return await self._call(partial(_delete, self._root, [self._path(key) for key in keys], stored_before))

    async def purge(self, keys: Sequence[str], deleted_before: float) -> int:  # noqa: ARG002
        """Do nothing: deleted files are gone."""
        return 0

    async def restore(self, keys: Sequence[str]) -> None:
        """Do nothing: a deleted file cannot be restored."""

    async def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _path(self, key: str) -> Path:
        return self._root / self.place(key)

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except OSError as error:
            raise DiskFull(f"Media files cannot be written to {self._root}: {error.strerror}.") from error


def _read(path: Path, start: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(size)


def _put(path: Path, data: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            os.utime(path)
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}{_UNFINISHED}")
    temporary.write_bytes(data)
    temporary.replace(path)


def _keys(root: Path, tenant: TenantId, stored_before: float) -> list[str]:
    """The keys of files. Unfinished files are removed: only this thread writes any, so a killed process left them."""
    keys: list[str] = []
    for directory in directories_of(tenant):
        for folder, _, names in os.walk(root / directory):
            for path in (Path(folder, name) for name in names):
                key = key_at(path.relative_to(root).as_posix())
                if path.suffix == _UNFINISHED:
                    path.unlink()
                elif key is not None and path.stat().st_mtime < stored_before:
                    keys.append(key)
    return keys


def _delete(root: Path, paths: Sequence[Path], stored_before: float) -> int:
    """Delete files, and the directories that become empty: their names hold ids of tenants and channels."""
    deleted = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < stored_before:
                path.unlink()
                deleted += 1
    for folder in sorted({path.parent for path in paths}):
        _remove_empty(root, folder)
    return deleted


def _remove_empty(root: Path, folder: Path) -> None:
    with contextlib.suppress(OSError):  # not empty, or gone
        while folder != root:
            folder.rmdir()
            folder = folder.parent


ROOTS = ("webmedia", "webpages")
"""The directories of all files: in a data directory, in an object store and in a backup."""
_SCREENSHOT = r"screenshots/[0-9a-z-]{1,40}/\d{1,19}\.jpg"
_KEY = re.compile(rf"(?:images|videos|documents|thumbnails)/[0-9a-f]{{64}}\.[a-z0-9]{{1,5}}|{_SCREENSHOT}")
_SCREENSHOT_PATH = re.compile(r"webpages/(\d+)/([^/]+)/screenshots/(\d+)\.jpg")
_MEDIA_PATH = re.compile(r"webmedia/(\d+)/(.+)")


def directories_of(tenant: TenantId) -> tuple[str, ...]:
    """The directories that hold all files of a tenant, with a slash at the end."""
    return tuple(f"{root}/{tenant}/" for root in ROOTS)


def is_media_key(key: str) -> bool:
    """Whether a text is the key of a file, and not a path to anything else."""
    return _KEY.fullmatch(key) is not None


def key_at(path: str) -> str | None:
    """The key of the file at a path of a store; None for the path of anything else."""
    screenshot = _SCREENSHOT_PATH.fullmatch(path)
    if screenshot is not None:
        key = screenshot_key(screenshot[2], int(screenshot[3]))
        tenant = screenshot[1]
    else:
        media = _MEDIA_PATH.fullmatch(path)
        if media is None:
            return None
        tenant, key = media[1], media[2]
    return key if is_media_key(key) and place_of(TenantId(int(tenant)), key) == path else None


def is_replaceable(path: str) -> bool:
    """Whether the file at a path may get other content: screenshots, as opposed to files that are named by their content."""
    return _SCREENSHOT_PATH.fullmatch(path) is not None


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
        """Permanently remove files that were deleted before this time."""
        return await self._bucket.purge([self.place(key) for key in keys], deleted_before)

    async def restore(self, keys: Sequence[str]) -> None:
        """Make deleted files ordinary files again."""
        await self._bucket.restore([self.place(key) for key in keys])

    async def close(self) -> None:
        """Nothing: the bucket belongs to the blobs."""
