"""Backups of a data directory, or of Postgres and its blobs, made while crawls run, and their restoration.

A backup is a directory, or that directory as one `.tar` file:

    manifest.json    what it is, and of which revision
    sitelore.db      one consistent state of the database (data directory), or
    database.dump    the same of Postgres, in the format of `pg_dump`
    blobs.db         all blobs, compressed, by key
    media/           media files

The database is copied first and the blobs after it: a blob that is too much does no harm, and one that is missing would. While
blobs are copied none is removed (`deletion_lock`). A directory is brought up to date in place: only new blobs are
copied, and the older database is replaced last, so a backup that is interrupted leaves a usable one.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import tarfile
import tempfile
import time
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sitelore.app.settings import process_environment
from sitelore.model.errors import CorruptData, NoSuchRun, UsageError
from sitelore.model.ids import DEFAULT_TENANT, BlobKey
from sitelore.model.platform.operations import StoredBackup
from sitelore.store.backup import media, sqlite
from sitelore.store.schema import REVISION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from typing import IO

    from sitelore.app.app import App
    from sitelore.app.settings import OperatorSettings
    from sitelore.store.blobs.object_store import ObjectBlobs

MANIFEST, DATABASE, DUMP, BLOBS, MEDIA = "manifest.json", "sitelore.db", "database.dump", "blobs.db", "media"
_LOCK, _LOCK_FILE = "blob deletion", "backup.lock"
_LOCK_WAIT_S = 600.0
_POLL_S = 0.2
_SIDE_BY_SIDE = 16
_FAR_FUTURE = 1e12


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds."""

    database: str
    """`sqlite` or `postgres`."""
    revision: str
    created_at: float
    blobs: int
    copied: int = 0
    """Blobs and media files that were not in the backup before."""
    media: int = 0
    """Media files."""


@asynccontextmanager
async def deletion_lock(app: App) -> AsyncIterator[bool]:
    """The lock that backups and deletions exclude each other with. Yields whether it is ours: blobs may be removed now."""
    if app.is_shared:
        async with app.queue.leader_lock(_LOCK, for_long=True) as is_ours:
            yield is_ours
        return
    with _file_lock(Path(app.blobs_name).with_name(_LOCK_FILE)) as is_ours:
        yield is_ours


@contextmanager
def _file_lock(path: Path) -> Iterator[bool]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


async def back_up(data: Path, settings: OperatorSettings, target: Path) -> Manifest:
    """Back up the configured Postgres and blob store, or without them the data directory, to a directory or a `.tar` file."""
    if target.suffix != ".tar":
        return await _back_up_to(data, settings, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        manifest = await _back_up_to(data, settings, Path(folder) / "backup")
        await asyncio.to_thread(_pack, Path(folder) / "backup", target)
    return manifest


async def _back_up_to(data: Path, settings: OperatorSettings, target: Path) -> Manifest:
    _prepare_target(target, "postgres" if settings.is_scaled else "sqlite")
    if settings.is_scaled:
        manifest = await _back_up_servers(settings, target)
    else:
        manifest = await _back_up_directory(data, target)
    with _write_private_file(target / MANIFEST) as file:
        file.write(json.dumps(asdict(manifest)).encode())
    return manifest


def _prepare_target(target: Path, kind: str) -> None:
    """Create the directory of a backup; one that exists must be empty, or a backup of the same kind."""
    if target.is_file():
        raise UsageError(f"{target} is a file; name a directory, or a new file that ends in .tar")
    if target.exists() and any(target.iterdir()) and _read_manifest(target).database != kind:
        raise UsageError(f"{target} is a backup of another kind of database; choose another directory")
    target.mkdir(parents=True, exist_ok=True, mode=0o700)


async def _back_up_directory(data: Path, target: Path) -> Manifest:
    if not (data / DATABASE).exists():
        raise NoSuchRun(f"no crawl data in {data}; name another directory with --data")
    created_at, pending = time.time(), target / f"{DATABASE}.new"
    async with _lock_when_free(lambda: _file_lock_of(data)):
        await asyncio.to_thread(sqlite.snapshot, data / DATABASE, pending)
        has_blobs = (data / BLOBS).exists()
        copied = await asyncio.to_thread(sqlite.copy_blobs, data / BLOBS, target / BLOBS) if has_blobs else 0
        copied += await asyncio.to_thread(media.copy_media, data / MEDIA, target / MEDIA)
        pending.replace(target / DATABASE)
        if has_blobs:
            await asyncio.to_thread(sqlite.prune_blobs, data / BLOBS, target / BLOBS)
        await asyncio.to_thread(media.prune_media, target / MEDIA, set(media.media_paths(data / MEDIA)))
    revision, blobs = sqlite.revision_of(target / DATABASE), sqlite.count_blobs(target / BLOBS)
    return Manifest("sqlite", revision, created_at, blobs, copied, len(list(media.media_paths(target / MEDIA))))


async def _back_up_servers(settings: OperatorSettings, target: Path) -> Manifest:
    from sitelore.store.backup import postgres  # noqa: PLC0415 not needed for a data directory
    from sitelore.store.blobs.object_store import ObjectBlobs  # noqa: PLC0415 see above

    postgres.require_program("pg_dump")
    created_at, pending = time.time(), target / f"{DUMP}.new"
    bucket = ObjectBlobs(settings.blobs_url, settings.patience_s, settings.blobs_secrets)
    engine = postgres.connect(settings.database_url)
    try:
        async with _lock_when_free(lambda: engine.leader_lock(_LOCK, for_long=True)):
            await postgres.dump(settings.database_url, pending, process_environment())
            prefixes = ["" if tenant == DEFAULT_TENANT else f"{tenant}/" for tenant in await postgres.tenant_ids(engine)]
            revision = await postgres.revision_of(engine)
            with closing(sqlite.open_blobs(target / BLOBS)) as blobs:
                before = sqlite.stored_keys(blobs)
                current = await _copy_objects(bucket, prefixes, before, blobs)
                files, copied = await media.copy_media_objects(bucket.bucket, target / MEDIA)
                pending.replace(target / DUMP)
                sqlite.delete_blobs(blobs, before - current)
                media.prune_media(target / MEDIA, files)
    finally:
        await bucket.close()
        await engine.close()
    return Manifest("postgres", revision, created_at, len(current), len(current - before) + copied, len(files))


async def _copy_objects(bucket: ObjectBlobs, prefixes: list[str], stored: set[str], blobs: sqlite.BlobFile) -> set[str]:
    """Copy all objects that are not stored yet. Returns the keys of all objects.

    Objects that were deleted and can still be read are copied too: the dump may refer to them.
    """
    current: set[str] = set()
    for prefix in prefixes:
        for listing in (bucket.keys(_FAR_FUTURE, prefix), bucket.deleted_keys(_FAR_FUTURE, prefix)):
            batch: list[BlobKey] = []
            async for key in listing:
                if key not in stored and key not in current:
                    batch.append(key)
                current.add(key)
                if len(batch) >= _SIDE_BY_SIDE:
                    await _copy_batch(bucket, batch, blobs)
                    batch = []
            await _copy_batch(bucket, batch, blobs)
    return current


async def _copy_batch(bucket: ObjectBlobs, keys: list[BlobKey], blobs: sqlite.BlobFile) -> None:
    contents = await asyncio.gather(*map(bucket.compressed, keys))
    sqlite.insert_blobs(blobs, [(key, data) for key, data in zip(keys, contents, strict=True) if data is not None])


@asynccontextmanager
async def _file_lock_of(data: Path) -> AsyncIterator[bool]:
    with _file_lock(data / _LOCK_FILE) as is_ours:
        yield is_ours


@asynccontextmanager
async def _lock_when_free(lock: Callable[[], AbstractAsyncContextManager[bool]]) -> AsyncIterator[None]:
    """Wait for a lock and hold it during the block."""
    give_up_at = time.monotonic() + _LOCK_WAIT_S
    while True:
        async with lock() as is_ours:
            if is_ours:
                yield
                return
        if time.monotonic() > give_up_at:
            raise UsageError("another backup, or a deletion, is running; try again when it has finished")
        await asyncio.sleep(_POLL_S)


async def restore(source: Path, data: Path, settings: OperatorSettings, *, is_confirmed: bool) -> Manifest | None:
    """Replace the data of a directory or of servers by a backup. None when there is data and replacing it is not confirmed."""
    if source.is_dir():  # noqa: ASYNC240 nothing else runs here
        return await _restore_from(source, data, settings, is_confirmed=is_confirmed)
    with tempfile.TemporaryDirectory(
        prefix=".sitelore-restore-", dir=None if settings.is_scaled else _make_parent(data)
    ) as folder:
        await asyncio.to_thread(_unpack, source, Path(folder))
        return await _restore_from(Path(folder), data, settings, is_confirmed=is_confirmed)


async def _restore_from(source: Path, data: Path, settings: OperatorSettings, *, is_confirmed: bool) -> Manifest | None:
    manifest = _read_manifest(source)
    if manifest.revision > REVISION:
        raise UsageError(f"{source} is a backup of a newer version of Sitelore ({manifest.revision})")
    if (manifest.database == "postgres") != settings.is_scaled:
        needed = (
            "set SITELORE_DATABASE_URL and its companions" if manifest.database == "postgres" else "unset SITELORE_DATABASE_URL"
        )
        raise UsageError(f"{source} is a backup of {manifest.database}; {needed}")
    await asyncio.to_thread(sqlite.check, source / BLOBS)
    if settings.is_scaled:
        is_done = await _restore_servers(source, settings, is_confirmed=is_confirmed)
    else:
        is_done = await asyncio.to_thread(_restore_directory, source, data, is_confirmed=is_confirmed)
    return manifest if is_done else None


def _restore_directory(source: Path, data: Path, *, is_confirmed: bool) -> bool:
    from sitelore.app.wiring import data_directory  # noqa: PLC0415 it imports this module's relatives

    sqlite.check(source / DATABASE)
    with data_directory(data, writing=True):
        for name in (DATABASE, BLOBS):
            sqlite.require_unused(data / name)
        if (data / DATABASE).exists() and not is_confirmed:
            return False
        media.copy_media(source / MEDIA, data / MEDIA)
        media.prune_media(data / MEDIA, set(media.media_paths(source / MEDIA)))
        for name in (BLOBS, DATABASE):
            sqlite.replace(source / name, data / name)
    return True


async def _restore_servers(source: Path, settings: OperatorSettings, *, is_confirmed: bool) -> bool:
    from sitelore.store.backup import postgres  # noqa: PLC0415 not needed for a data directory
    from sitelore.store.blobs.object_store import ObjectBlobs  # noqa: PLC0415 see above

    postgres.require_program("pg_restore")
    bucket = ObjectBlobs(settings.blobs_url, settings.patience_s, settings.blobs_secrets)
    engine = postgres.connect(settings.database_url)
    try:
        has_data, others = await postgres.dump_state(engine)
        if others:
            raise UsageError(
                f"{others} other connections to {engine.name} are open; stop servers, workers and other clients first"
            )
        if has_data and not is_confirmed:
            return False
        for batch in sqlite.read_blobs(source / BLOBS):
            await bucket.put(batch)
        for path in media.media_paths(source / MEDIA):
            await bucket.bucket.put(path, await asyncio.to_thread((source / MEDIA / path).read_bytes))
        await postgres.drop_tables(engine)
        await postgres.restore(settings.database_url, source / DUMP, process_environment())
        await postgres.secure(engine)
    finally:
        await bucket.close()
        await engine.close()
    return True


def _read_manifest(source: Path) -> Manifest:
    try:
        return Manifest(**json.loads((source / MANIFEST).read_bytes()))
    except FileNotFoundError:
        raise UsageError(f"{source} is not a backup: it has no {MANIFEST}") from None
    except (ValueError, TypeError) as error:
        raise CorruptData(f"{source / MANIFEST} is damaged.") from error


def list_backups(folder: Path) -> list[StoredBackup]:
    """The backups in a directory, newest first; the directory may also be a backup itself."""
    paths = [folder] if (folder / MANIFEST).is_file() else [path for path in folder.iterdir() if _is_backup(path)]
    return sorted(map(_describe_backup, paths), key=lambda backup: backup.created_at, reverse=True)


def _is_backup(path: Path) -> bool:
    return (path / MANIFEST).is_file() or (path.suffix == ".tar" and path.is_file() and not path.name.startswith("."))


def _describe_backup(path: Path) -> StoredBackup:
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.is_file()]
    manifest = _read_packed_manifest(path) if path.is_file() else _read_manifest(path)
    return StoredBackup(
        path.name, manifest.database, manifest.revision, manifest.created_at, manifest.blobs, manifest.media,
        sum(file.stat().st_size for file in files),
    )  # fmt: skip


def _read_packed_manifest(path: Path) -> Manifest:
    try:
        with tarfile.open(path) as archive:
            member = next((each for each in archive if each.name == MANIFEST), None)
            content = archive.extractfile(member) if member is not None else None
            return Manifest(**json.loads(content.read() if content is not None else b""))
    except (tarfile.TarError, ValueError, TypeError) as error:
        raise CorruptData(f"{path.name} is not a backup, or is damaged.") from error


def _pack(folder: Path, target: Path) -> None:
    unfinished = folder.parent / target.name
    with _write_private_file(unfinished) as file, tarfile.open(fileobj=file, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
    unfinished.replace(target)


def _unpack(source: Path, folder: Path) -> None:
    try:
        with tarfile.open(source) as archive:
            for name in (MANIFEST, DATABASE, DUMP, BLOBS):
                with contextlib.suppress(KeyError), _write_private_file(folder / name) as out:
                    content = archive.extractfile(name)
                    if content is not None:
                        shutil.copyfileobj(content, out)
            for member in archive:
                path = member.name.removeprefix(f"{MEDIA}/")
                if media.is_media_path(path) and (content := archive.extractfile(member)) is not None:
                    media.write_media(folder / MEDIA / path, content.read())
    except tarfile.TarError as error:
        raise CorruptData(f"{source} is not a backup, or is damaged: {str(error).partition(':')[0]}.") from error


@contextmanager
def _write_private_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
        yield file


def _make_parent(data: Path) -> Path:
    data.parent.mkdir(parents=True, exist_ok=True)
    return data.parent
