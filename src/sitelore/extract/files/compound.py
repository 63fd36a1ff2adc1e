"""A compound file, the small file system that office files of before 2007 are kept in (MS-CFB): its streams by name."""

from __future__ import annotations

import struct

from sitelore.extract.files.unreadable import Unreadable

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_END = 0xFFFFFFFA  # this and all above mean: no sector
_ENTRY_BYTES = 128
_MAX_ENTRIES = 20_000


class CompoundFile:
    """Streams of a compound file. Chains of sectors that run in a circle or out of the file end where they do."""

    def __init__(self, body: bytes) -> None:
        if len(body) < 512 or not body.startswith(MAGIC):
            raise Unreadable("the file is cut off or damaged")
        self._body = body
        shift, mini_shift = struct.unpack_from("<HH", body, 0x1E)
        if shift not in {9, 12} or mini_shift > 9:
            raise Unreadable("the file is cut off or damaged")
        self._size, self._mini_size = 1 << shift, 1 << mini_shift
        (directory,) = struct.unpack_from("<I", body, 0x30)
        self._cutoff, mini, _, difat, _ = struct.unpack_from("<5I", body, 0x38)
        self._table = self._allocation(difat)
        self._mini_table = _numbers(self._chain(mini))
        self._entries = self._directory(self._chain(directory))
        root = next((entry for entry in self._entries if entry[1] == 5), None)
        if root is None:
            raise Unreadable("the file is cut off or damaged")
        self._mini_body = self._chain(root[2], root[3])

    def names(self) -> set[str]:
        """The names of all streams and storages."""
        return {name for name, _, _, _ in self._entries}

    def stream(self, name: str) -> bytes:
        """The bytes of a stream; empty when there is none."""
        for found, kind, start, size in self._entries:
            if found == name and kind == 2:
                return self._mini_chain(start, size) if size < self._cutoff else self._chain(start, size)
        return b""

    def _allocation(self, difat: int) -> tuple[int, ...]:
        """The table that says which sector follows which, put together from its own sectors."""
        sectors = [at for at in struct.unpack_from("<109I", self._body, 0x4C) if at < _END]
        seen: set[int] = set()
        while difat < _END and difat not in seen:
            seen.add(difat)
            numbers = _numbers(self._sector(difat))
            if not numbers:
                break
            sectors += [at for at in numbers[:-1] if at < _END]
            difat = numbers[-1]
        most = len(self._body) // self._size + 1
        return _numbers(b"".join(self._sector(at) for at in sectors[:most]))

    def _sector(self, at: int) -> bytes:
        start = (at + 1) * self._size
        return self._body[start : start + self._size]

    def _chain(self, at: int, size: int | None = None) -> bytes:
        parts: list[bytes] = []
        seen: set[int] = set()
        wanted = len(self._body) if size is None else min(size, len(self._body))
        while at < len(self._table) and at not in seen and len(parts) * self._size < wanted:
            seen.add(at)
            parts.append(self._sector(at))
            at = self._table[at]
        return b"".join(parts)[:wanted]

    def _mini_chain(self, at: int, size: int) -> bytes:
        parts: list[bytes] = []
        seen: set[int] = set()
        while at < len(self._mini_table) and at not in seen and len(parts) * self._mini_size < size:
            seen.add(at)
            parts.append(self._mini_body[at * self._mini_size : (at + 1) * self._mini_size])
            at = self._mini_table[at]
        return b"".join(parts)[:size]

    @staticmethod
    def _directory(data: bytes) -> list[tuple[str, int, int, int]]:
        """Name, kind (1 storage, 2 stream, 5 root), first sector and size of every entry."""
        found = []
        for at in range(0, min(len(data), _MAX_ENTRIES * _ENTRY_BYTES) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
            length, kind = struct.unpack_from("<HB", data, at + 64)
            start, size = struct.unpack_from("<II", data, at + 116)
            name = data[at : at + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
            if kind:
                found.append((name, kind, start, size))
        return found


def _numbers(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
