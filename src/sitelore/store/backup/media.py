"""Copies of media files: a tree of files that never change under their name."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sitelore.store.blobs.media_keys import is_media_key

if TYPE_CHECKING:
    from sitelore.store.blobs.object_store import Bucket

ROOT = "webmedia"
"""The directory of all media files, in a data directory, in an object store and in a backup."""
_PATH = re.compile(rf"{ROOT}/\d+/(.+)")
_FAR_FUTURE = 1e12


def is_media_path(path: str) -> bool:
    """Whether a relative path is that of a media file, and not a path to anything else."""
    match = _PATH.fullmatch(path)
    return match is not None and is_media_key(match[1])


def media_paths(folder: Path) -> Iterator[str]:
    """The relative paths of all media files below a directory."""
    for path in sorted((folder / ROOT).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if is_media_path(name) and path.is_file():
            yield name


def copy_media(source: Path, target: Path) -> int:
    """Copy the files that the target does not have. Returns their number."""
    copied = 0
    for name in media_paths(source):
        if not _is_equal(source / name, target / name):
            write_media(target / name, source / name)
            copied += 1
    return copied


def prune_media(target: Path, current: set[str]) -> None:
    """Delete the files that are not among the current ones."""
    for name in list(media_paths(target)):
        if name not in current:
            (target / name).unlink()


def write_media(path: Path, content: Path | bytes) -> None:
    """Write a file that only its owner can read, complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as out:
        if isinstance(content, bytes):
            out.write(content)
        else:
            with content.open("rb") as reading:
                shutil.copyfileobj(reading, out)
    unfinished.replace(path)


async def copy_media_objects(bucket: Bucket, target: Path) -> tuple[set[str], int]:
    """Copy the files of an object store that the target does not have: the paths of all files, and how many were copied.

    Files that were deleted and can still be read are copied too: the dump may refer to them.
    """
    current: set[str] = set()
    copied = 0
    for deleted in (False, True):
        paths: AsyncIterator[str] = bucket.paths(f"{ROOT}/", _FAR_FUTURE, deleted=deleted)
        async for path in paths:
            if is_media_path(path) and path not in current:
                current.add(path)
                copied += await _copy_object(bucket, path, target)
    return current, copied


async def _copy_object(bucket: Bucket, path: str, target: Path) -> int:
    if (target / path).exists():
        return 0
    data = await bucket.get(path)
    if data is None:  # purged meanwhile
        return 0
    write_media(target / path, data)
    return 1


def _is_equal(source: Path, target: Path) -> bool:
    return target.exists() and source.stat().st_size == target.stat().st_size
