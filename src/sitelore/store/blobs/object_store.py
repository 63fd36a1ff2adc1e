"""`ports.Blobs` in an object store: any S3, or a directory that several machines share.

One object for each blob, named by its key: `ab/abcdef…`. A key is derived from the content, so a repeated put writes the same
bytes and needs no check. While the store is unavailable, calls are retried.

Stores have no conditional delete, and other processes put blobs at any time. So a deleted blob is moved to `deleted/ab/abc…`,
where it can still be read. After the grace period of `app/operations/deletion.py`, `purge` removes it there, or `restore` moves
it back: a blob that a visit put, or referred to, while it was being moved is referenced by then.

The library is called from our own threads. Its asynchronous calls deliver results in threads of its own, which hold Python
objects for a moment longer: a process that ended right then was aborted (78 of 360 times on a busy machine, against 0 of 360).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import zstandard
from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import LocalStore, S3Store

from sitelore.model.document import Blob
from sitelore.model.errors import BadConfig, CorruptData, StorageError
from sitelore.model.ids import BlobKey

if TYPE_CHECKING:
    from obstore.store import S3Config

_LOG = logging.getLogger(__name__)

T = TypeVar("T")

_THREADS = 16
_TIMEOUT_S = 20
_OBJECTS_PER_LIST = 1_000
_TENANTS = "tenants"
"""The directory of the blobs of all tenants but the default one."""
_KEY = re.compile(r"(?:\d+/)?[0-9A-Za-z]+")
"""A key, after the tenant's number where it is not of the default tenant."""
_DELETED = "deleted/"
"""The directory of blobs that were deleted and not purged."""
_BACKOFF_S = (0.1, 2.0)
_PERMISSION_ERRORS = (PermissionDeniedError, UnauthenticatedError)
_NOT_FOUND_ERRORS = (NotFoundError, FileNotFoundError)


class Bucket:
    """The store at a URL, by paths: `s3://[key:secret@]bucket[/prefix][?endpoint=…&region=…]` or `file:///directory`."""

    def __init__(self, url: str, retry_for_s: float = 0.0, secrets: Mapping[str, str] | None = None) -> None:
        self.name, self._store = _open(url, secrets or {})
        self._retry_for_s = retry_for_s
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="sitelore-blobs")

    async def put(self, path: str, data: bytes) -> None:
        """Store an object; it is durable when this returns."""
        await self._with_retries(partial(self._store.put, path, data, use_multipart=False))

    async def get(self, path: str) -> bytes | None:
        """The bytes of an object, even if it was deleted and not purged; None when there is none."""
        return await self._with_retries(partial(self._read, path))

    async def get_part(self, path: str, start: int, end: int) -> bytes | None:
        """The bytes of an object from `start` until before `end`; None when there is none."""
        return await self._with_retries(partial(self._read, path, (start, end)))

    async def paths(self, directory: str | None, stored_before: float, *, deleted: bool = False) -> AsyncIterator[str]:
        """Paths below a directory of objects that were last put before this time; `deleted`: of deleted ones."""
        area = _DELETED if deleted else ""
        folder = f"{area}{directory or ''}" or None
        listing = await self._with_retries(partial(self._store.list, folder, chunk_size=_OBJECTS_PER_LIST))
        while entries := await self._with_retries(lambda: next(listing, ())):
            for entry in entries:
                if entry["last_modified"].timestamp() < stored_before and entry["path"].startswith(area):
                    yield entry["path"].removeprefix(area)

    async def delete(self, paths: Sequence[str], stored_before: float) -> int:
        """Move objects to `deleted/`, except those that were put again since this time."""
        deleted = await asyncio.gather(*(self._with_retries(partial(self._delete, path, stored_before)) for path in paths))
        return sum(deleted)

    async def purge(self, paths: Sequence[str], deleted_before: float) -> int:
        """Remove objects from `deleted/` that were moved there before this time."""
        purged = await asyncio.gather(*(self._with_retries(partial(self._purge, path, deleted_before)) for path in paths))
        return sum(purged)

    async def restore(self, paths: Sequence[str]) -> None:
        """Move deleted objects back."""
        await asyncio.gather(*(self._with_retries(partial(self._restore, path)) for path in paths))

    async def check(self) -> None:
        """Write, read and delete one object; raises StorageError when that fails."""
        await self._with_retries(self._probe)

    async def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(cancel_futures=True)

    def _read(self, path: str, part: tuple[int, int] | None = None) -> bytes | None:
        for place in (path, _DELETED + path):
            try:
                if part is not None:
                    return bytes(self._store.get_range(place, start=part[0], end=part[1]))
                return bytes(self._store.get(place).bytes())
            except _NOT_FOUND_ERRORS:
                continue
        return None

    def _delete(self, path: str, stored_before: float) -> bool:
        try:
            if self._is_newer(path, stored_before):
                return False
            self._move(path, _DELETED + path)
        except _NOT_FOUND_ERRORS:
            return False
        return True

    def _purge(self, path: str, deleted_before: float) -> bool:
        path = _DELETED + path
        try:
            if self._is_newer(path, deleted_before):
                return False
            self._store.delete(path)
        except _NOT_FOUND_ERRORS:
            return False
        return True

    def _restore(self, path: str) -> None:
        with contextlib.suppress(*_NOT_FOUND_ERRORS):
            # One that was put again meanwhile is newer.
            if self._exists(path):
                self._store.delete(_DELETED + path)
            else:
                self._move(_DELETED + path, path)

    def _move(self, path: str, to: str) -> None:
        # Not a copy within the store: on a file system that is a hard link, which keeps the time of the original.
        self._store.put(to, bytes(self._store.get(path).bytes()), use_multipart=False)
        self._store.delete(path)

    def _exists(self, path: str) -> bool:
        try:
            self._store.head(path)
        except _NOT_FOUND_ERRORS:
            return False
        return True

    def _is_newer(self, path: str, stored_before: float) -> bool:
        return self._store.head(path)["last_modified"].timestamp() >= stored_before

    def _probe(self) -> None:
        name = "sitelore-check"
        self._store.put(name, b"ok", use_multipart=False)
        self._store.get(name).bytes()
        self._store.delete(name)

    async def _with_retries(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        give_up_at, pause_s = time.monotonic() + self._retry_for_s, _BACKOFF_S[0]
        while True:
            try:
                return await loop.run_in_executor(self._threads, work)
            except _PERMISSION_ERRORS as error:
                raise StorageError(f"The blob store {self.name} refuses access: {_first_line(error)}") from error
            except (BaseError, OSError) as error:
                if time.monotonic() >= give_up_at:
                    raise StorageError(f"The blob store {self.name} cannot be used: {_first_line(error)}") from error
                _LOG.warning("blob store unavailable, retrying")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _BACKOFF_S[1])


class ObjectBlobs:
    """Blobs in the bucket at a URL."""

    def __init__(self, url: str, retry_for_s: float = 0.0, secrets: Mapping[str, str] | None = None) -> None:
        self.bucket = Bucket(url, retry_for_s, secrets)
        self.name = self.bucket.name

    async def put(self, blobs: Sequence[Blob]) -> None:
        """Store compressed blobs; they are durable when this returns."""
        await asyncio.gather(*(self.bucket.put(_path(blob.key), blob.data) for blob in blobs))

    async def get(self, key: BlobKey) -> bytes:
        """The uncompressed bytes; KeyError when there are none."""
        if not _KEY.fullmatch(key):  # a path outside of the store must not be tried
            raise KeyError(key)
        data = await self.bucket.get(_path(key))
        if data is None:
            raise KeyError(key)
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            content = frame.decompress(data)
        except zstandard.ZstdError as error:
            raise CorruptData(f"The blob {key} in {self.name} is damaged.") from error
        if not frame.eof:
            raise CorruptData(f"The blob {key} in {self.name} is truncated.")
        return content

    async def compressed(self, key: BlobKey) -> bytes | None:
        """The bytes of a blob as they are stored, deleted blobs included; None when there are none."""
        return await self.bucket.get(_path(key))

    def keys(self, stored_before: float, prefix: str = "") -> AsyncIterator[BlobKey]:
        """Keys with this prefix, or without any, of blobs that were last put before this time."""
        return self._list(prefix, stored_before, deleted=False)

    def deleted_keys(self, deleted_before: float, prefix: str = "") -> AsyncIterator[BlobKey]:
        """Keys with this prefix, or without any, of blobs that were deleted before this time and not purged."""
        return self._list(prefix, deleted_before, deleted=True)

    async def _list(self, prefix: str, stored_before: float, *, deleted: bool) -> AsyncIterator[BlobKey]:
        directory = f"{_TENANTS}/{prefix}" if prefix else None
        async for path in self.bucket.paths(directory, stored_before, deleted=deleted):
            key = BlobKey(prefix + path.rpartition("/")[2])
            if _path(key) == path:
                yield key

    async def delete(self, keys: Sequence[BlobKey], stored_before: float) -> int:
        """Move blobs to `deleted/`, except those that were put again since this time."""
        return await self.bucket.delete([_path(key) for key in keys], stored_before)

    async def purge(self, keys: Sequence[BlobKey], deleted_before: float) -> int:
        """Remove blobs from `deleted/` that were moved there before this time."""
        return await self.bucket.purge([_path(key) for key in keys], deleted_before)

    async def restore(self, keys: Sequence[BlobKey]) -> None:
        """Move deleted blobs back."""
        await self.bucket.restore([_path(key) for key in keys])

    async def check(self) -> None:
        """Write, read and delete one object; raises StorageError when that fails."""
        await self.bucket.check()

    async def close(self) -> None:
        """End the threads."""
        await self.bucket.close()


def _path(key: BlobKey) -> str:
    """The path of a blob; a prefix, the tenant's, becomes a directory."""
    prefix, slash, digest = key.rpartition("/")
    directory = f"{_TENANTS}/{prefix}{slash}" if prefix else ""
    return f"{directory}{digest[:2]}/{digest}"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]


def _open(url: str, secrets: Mapping[str, str]) -> tuple[str, S3Store | LocalStore]:
    """The name of the store without secrets, and the store."""
    try:
        parts = urlsplit(url)
        bucket = parts.hostname or ""
    except ValueError as error:
        raise BadConfig(f"SITELORE_BLOBS_URL is not a valid URL: {error}") from error
    if parts.scheme == "file" and not bucket and parts.path:
        folder = Path(unquote(parts.path))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return str(folder), LocalStore(folder)
        except OSError as error:
            raise StorageError(f"The blob directory {folder} cannot be created: {error.strerror}.") from error
    if parts.scheme == "s3" and bucket:
        return f"s3://{bucket}{parts.path}", _open_s3(url, secrets)
    raise BadConfig("SITELORE_BLOBS_URL takes s3://bucket/prefix?endpoint=… or file:///directory")


def _open_s3(url: str, secrets: Mapping[str, str]) -> S3Store:
    parts = urlsplit(url)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    unknown = sorted(options.keys() - {"endpoint", "region"})
    if unknown:
        raise BadConfig(f"SITELORE_BLOBS_URL has an unknown option: {unknown[0]}")
    endpoint = options.get("endpoint")
    key_id = unquote(parts.username) if parts.username else secrets.get("key_id")
    secret = unquote(parts.password) if parts.password else secrets.get("secret")
    config: S3Config = {"region": options.get("region") or secrets.get("region") or "us-east-1"}
    if endpoint:
        config["endpoint"] = endpoint
    if key_id and secret:
        config["access_key_id"], config["secret_access_key"] = key_id, secret
    return S3Store(
        parts.hostname or "",
        prefix=parts.path.strip("/") or None,
        config=config,
        client_options={
            "allow_http": bool(endpoint and endpoint.startswith("http://")),
            "timeout": timedelta(seconds=_TIMEOUT_S),
        },
        retry_config={"max_retries": 0},  # `_with_retries` retries, logs it and ends in time
    )
