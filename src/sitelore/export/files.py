"""Atomic file writes, and disk errors as messages."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from sitelore.model.errors import DiskFull, StorageError

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def disk_error(problem: OSError, path: Path) -> StorageError:
    """An error with one sentence for what went wrong with `path`."""
    if problem.errno in _NO_SPACE:
        return DiskFull(f"no space left on the disk to write {path}")
    if problem.errno in _NO_PERMISSION:
        return DiskFull(f"no permission to write {path}")
    return StorageError(f"cannot write {path}: {problem.strerror or problem}")


@contextmanager
def disk_errors_for(path: Path) -> Iterator[None]:
    """Turn an `OSError` into an error that names `path`. A closed pipe passes: the reader chose to close it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise disk_error(problem, path) from problem


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file that replaces `path` only when it is complete and flushed to the disk."""
    with disk_errors_for(path):
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


def write_atomic(path: str, data: bytes, temporary: str) -> None:
    """Write a small file under a temporary name (on the same disk, of this writer alone), then rename it.

    Not flushed to the disk: a tree of thousands of pages can be exported again. The folder must exist.
    """
    try:
        sink = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(sink, left) :]
        finally:
            os.close(sink)
        os.replace(temporary, path)  # noqa: PTH105 three times as fast as pathlib
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _make_readable(name: str) -> None:
    """Temporary files are private: give the finished one the permissions of a plain `open`."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
