"""Files that are there whole or not at all, and the disk's complaints as sentences."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from sitelore.model.errors import DiskFull, StorageError

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_RIGHT = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def disk_error(problem: OSError, path: Path) -> StorageError:
    """What the disk said about `path`, as an error with one clear sentence."""
    if problem.errno in _NO_ROOM:
        return DiskFull(f"no room left on the disk to write {path}")
    if problem.errno in _NO_RIGHT:
        return DiskFull(f"no permission to write {path}")
    return StorageError(f"cannot write {path}: {problem.strerror or problem}")


@contextmanager
def saying_where(path: Path) -> Iterator[None]:
    """Turn what the disk raises inside into a sentence about `path`. A closed pipe is the reader's choice: it passes."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise disk_error(problem, path) from problem


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its name, and the place of an older one, only when everything in it is on the disk."""
    with saying_where(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".sitelore-", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as sink:
                yield cast("BinaryIO", sink)
                sink.flush()
                os.fsync(sink.fileno())
            _make_readable(name)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise


def write_whole(path: str, data: bytes, temporary: str) -> None:
    """A small file written at one stroke, under a temporary name first (on the same disk, this writer's own).

    Not forced to the disk: a tree of thousands of pages can be exported again. The folder must exist.
    """
    try:
        sink = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(sink, left) :]
        finally:
            os.close(sink)
        os.replace(temporary, path)  # noqa: PTH105 a third of the time of the same through pathlib
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _make_readable(name: str) -> None:
    """A temporary file is private; the finished one gets the rights a plain `open` would have given it."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
