from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zstandard

from sitelore.model.document import Blob
from sitelore.model.errors import CorruptData, StorageError
from sitelore.model.ids import BlobKey, CleanBytes
from sitelore.ports import Blobs
from sitelore.store.blobs import SqliteBlobs


def blob(content: bytes) -> Blob:
    return Blob(BlobKey(hashlib.sha256(content).hexdigest()), CleanBytes(zstandard.compress(content)))


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Blobs]:
    blobs = SqliteBlobs(path)
    try:
        yield blobs
    finally:
        await blobs.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "blobs.db"


async def test_what_was_put_comes_back_also_to_who_opens_it_later(path: Path) -> None:
    many = [blob(f"page {n}".encode() * n) for n in range(40)]
    async with opened(path) as blobs:
        await blobs.put(many)
        assert await blobs.get(many[39].key) == b"page 39" * 39
        assert await blobs.get(many[0].key) == b""
    async with opened(path) as blobs:
        assert await blobs.get(many[7].key) == b"page 7" * 7


async def test_a_frame_without_its_size_is_read_too(path: Path) -> None:
    content = b"streamed " * 1000
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    data = stream.compress(content) + stream.flush()
    one = Blob(BlobKey(hashlib.sha256(content).hexdigest()), CleanBytes(data))
    async with opened(path) as blobs:
        await blobs.put([one])
        assert await blobs.get(one.key) == content


async def test_a_key_without_a_blob_is_a_key_error(path: Path) -> None:
    async with opened(path) as blobs:
        for key in ("0" * 64, "", "../../etc/passwd", "' OR 1=1 --"):
            with pytest.raises(KeyError):
                await blobs.get(BlobKey(key))


async def test_putting_a_blob_again_changes_nothing(path: Path) -> None:
    one = blob(b"once")
    async with opened(path) as blobs, opened(path) as other:
        await asyncio.gather(*(store.put([one, one, blob(f"{n}".encode())]) for n in range(8) for store in (blobs, other)))
        assert await other.get(one.key) == b"once"
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM blobs").fetchone() == (9,)
    db.close()


async def test_no_blobs_make_no_file(path: Path) -> None:
    async with opened(path) as blobs:
        await blobs.put([])
    assert not path.exists()


@pytest.mark.parametrize("data", [b"garbage", blob(b"fine").data[:-3]])
async def test_a_damaged_blob_is_named(path: Path, data: bytes) -> None:
    one = Blob(blob(b"fine").key, CleanBytes(data))
    async with opened(path) as blobs:
        await blobs.put([one])
        with pytest.raises(CorruptData, match=str(path)):
            await blobs.get(one.key)


async def test_a_file_that_is_no_database_is_one_sentence(path: Path) -> None:
    path.write_bytes(b"this is no database " * 200)
    async with opened(path) as blobs:
        with pytest.raises(CorruptData, match=str(path)):
            await blobs.get(BlobKey("0" * 64))


async def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    async with opened(tmp_path / "file" / "blobs.db") as blobs:
        with pytest.raises(StorageError):
            await blobs.put([blob(b"x")])
