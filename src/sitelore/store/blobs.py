"""`ports.Blobs` over a directory: one compressed file for each distinct content.

Plain files, because an object-store library was measured five times slower on a local disk (0.26 against 0.05 ms a put).
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import threading
from collections.abc import Sequence
from pathlib import Path

import zstandard

from sitelore.model.document import Blob
from sitelore.model.errors import CorruptData, DiskFull
from sitelore.model.ids import BlobKey

_NO_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}


class DirectoryBlobs:
    """Files `ab/cdef….zst` below a root. A file that stands is whole: it is written elsewhere and then renamed."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._made: set[str] = set()
        self._unfinished = f".{os.getpid():x}{secrets.token_hex(4)}"

    async def put(self, blobs: Sequence[Blob]) -> None:
        """Store compressed blobs; on return they survive a crash of the process."""
        if blobs:
            await asyncio.get_running_loop().run_in_executor(None, self._put, blobs)

    async def get(self, key: BlobKey) -> bytes:
        """The uncompressed bytes; KeyError when there are none."""
        return await asyncio.get_running_loop().run_in_executor(None, self._get, key)

    def _put(self, blobs: Sequence[Blob]) -> None:
        try:
            for blob in blobs:
                self._put_one(blob)
        except OSError as error:
            if error.errno not in _NO_WRITING:
                raise
            raise DiskFull(f"Pages cannot be written below {self._root}: {os.strerror(error.errno or 0)}.") from error

    def _put_one(self, blob: Blob) -> None:
        directory, path = self._place(blob.key)
        if os.path.exists(path):  # noqa: PTH110 twice a page: plain calls, no path objects
            return
        if directory not in self._made:
            os.makedirs(directory, exist_ok=True)  # noqa: PTH103 as above
            self._made.add(directory)
        # A name of its own: two writers with one page in hand, or a file that a crash left, must not meet.
        unfinished = f"{path}{self._unfinished}{threading.get_ident():x}"
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            try:
                _write_all(file, blob.data)
            finally:
                os.close(file)
            os.rename(unfinished, path)  # noqa: PTH104 as above
        except OSError:
            os.unlink(unfinished)  # noqa: PTH108 as above
            raise

    def _get(self, key: BlobKey) -> bytes:
        _, path = self._place(key)
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            raise KeyError(key) from None
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            content = frame.decompress(data)
        except zstandard.ZstdError as error:
            raise CorruptData(f"The stored page {path} is damaged.") from error
        if not frame.eof:
            raise CorruptData(f"The stored page {path} is cut short.")
        return content

    def _place(self, key: BlobKey) -> tuple[str, str]:
        if len(key) < 3 or not key.isalnum():
            raise KeyError(key)
        directory = f"{self._root}/{key[:2]}"
        return directory, f"{directory}/{key[2:]}.zst"


def _write_all(file: int, data: bytes) -> None:
    """A disk that fills up may take a part of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
