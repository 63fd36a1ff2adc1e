from __future__ import annotations

import asyncio
import errno
import hashlib
from pathlib import Path

import pytest
import zstandard

from sitelore.model.document import Blob
from sitelore.model.errors import CorruptData, DiskFull
from sitelore.model.ids import BlobKey, CleanBytes
from sitelore.ports import Blobs
from sitelore.store.blobs import DirectoryBlobs


def blob(content: bytes) -> Blob:
    return Blob(BlobKey(hashlib.sha256(content).hexdigest()), CleanBytes(zstandard.compress(content)))


def files_below(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


async def test_what_was_put_comes_back(root: Path) -> None:
    blobs: Blobs = DirectoryBlobs(root)
    many = [blob(f"page {n}".encode() * n) for n in range(40)]
    await blobs.put(many)
    assert await blobs.get(many[39].key) == b"page 39" * 39
    assert await blobs.get(many[0].key) == b""
    assert await DirectoryBlobs(root).get(many[7].key) == b"page 7" * 7


async def test_a_frame_without_its_size_is_read_too(root: Path) -> None:
    content = b"streamed " * 1000
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    data = stream.compress(content) + stream.flush()
    one = Blob(BlobKey(hashlib.sha256(content).hexdigest()), CleanBytes(data))
    await DirectoryBlobs(root).put([one])
    assert await DirectoryBlobs(root).get(one.key) == content


async def test_a_key_without_a_blob_is_a_key_error(root: Path) -> None:
    blobs = DirectoryBlobs(root)
    for key in ("0" * 64, "", "../../etc/passwd", "ab/../../x", "a", "ab\0"):
        with pytest.raises(KeyError):
            await blobs.get(BlobKey(key))


async def test_a_key_cannot_leave_the_directory(root: Path) -> None:
    with pytest.raises(KeyError):
        await DirectoryBlobs(root).put([Blob(BlobKey("../../escaped"), CleanBytes(b""))])


async def test_putting_a_blob_again_leaves_the_first_file_alone(root: Path) -> None:
    one = blob(b"once")
    await DirectoryBlobs(root).put([one, one])
    [file] = files_below(root)
    before = file.stat()
    await DirectoryBlobs(root).put([one])
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_many_puts_at_once_leave_whole_files_only(root: Path) -> None:
    stores = [DirectoryBlobs(root), DirectoryBlobs(root)]
    many = [blob(f"page {n}".encode()) for n in range(30)]
    await asyncio.gather(*(stores[n % 2].put(many) for n in range(8)))
    files = files_below(root)
    assert len(files) == 30
    assert {path.parent.name + path.name for path in files} == {f"{one.key}.zst" for one in many}


async def test_no_blobs_make_no_directory(root: Path) -> None:
    await DirectoryBlobs(root).put([])
    assert files_below(root.parent) == []


async def test_a_damaged_blob_is_named(root: Path) -> None:
    one = blob(b"fine")
    await DirectoryBlobs(root).put([one])
    [file] = files_below(root)
    file.write_bytes(b"garbage")
    with pytest.raises(CorruptData, match=str(file)):
        await DirectoryBlobs(root).get(one.key)
    file.write_bytes(one.data[:-3])
    with pytest.raises(CorruptData):
        await DirectoryBlobs(root).get(one.key)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
async def test_a_disk_that_takes_nothing_more_is_one_sentence(root: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    await DirectoryBlobs(root).put([blob(b"before")])

    def refuse(source: str, target: str) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr("os.rename", refuse)
    with pytest.raises(DiskFull, match=str(root)):
        await DirectoryBlobs(root).put([blob(b"after")])
    assert len(files_below(root)) == 1


async def test_a_root_that_is_a_file_is_one_sentence_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DiskFull):
        await DirectoryBlobs(tmp_path / "file").put([blob(b"x")])
