"""Copies of media files: a tree of files that never change under their name."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from sitelore.store.blobs.media_files import ROOTS, is_replaceable, key_at

if TYPE_CHECKING:
    from sitelore.store.blobs.object_store import Bucket

_FAR_FUTURE = 1e12


def is_media_path(path: str) -> bool:
    """Whether a relative path is that of a media file, and not a path to anything else."""
    return key_at(path) is not None


def media_paths(folder: Path) -> Iterator[str]:
    """The relative paths of all media files below a directory."""
    for root in ROOTS:
        for path in sorted((folder / root).rglob("*")):
            name = path.relative_to(folder).as_posix()
            if is_media_path(name) and path.is_file():
                yield name


def copy_media(source: Path, target: Path) -> int:
    """Copy the files that the target does not have. Returns their number."""
    copied = 0
    for name in media_paths(source):
        if not _is_copied(source / name, target / name, may_differ=is_replaceable(name)):
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
    for root, deleted in product(ROOTS, (False, True)):
        paths: AsyncIterator[str] = bucket.paths(f"{root}/", _FAR_FUTURE, deleted=deleted)
        async for path in paths:
            if is_media_path(path) and path not in current:
                current.add(path)
                copied += await _copy_object(bucket, path, target)
    return current, copied


async def _copy_object(bucket: Bucket, path: str, target: Path) -> int:
    if (target / path).exists() and not is_replaceable(path):
        return 0
    data = await bucket.get(path)
    if data is None:  # purged meanwhile
        return 0
    write_media(target / path, data)
    return 1


def _is_copied(source: Path, target: Path, *, may_differ: bool) -> bool:
    """Whether the target has the file; `may_differ`: even one of equal size may have other content."""
    if not target.exists() or source.stat().st_size != target.stat().st_size:
        return False
    return not may_differ or filecmp.cmp(source, target, shallow=False)
