from __future__ import annotations

import asyncio
import hashlib
import math
import sqlite3
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zstandard

from sitelore.model.document import Blob
from sitelore.model.errors import BadConfig, CorruptData, StorageError
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, CleanBytes, TenantId
from sitelore.ports import Blobs
from sitelore.store.blobs.object_store import ObjectBlobs
from sitelore.store.blobs.sqlite import SqliteBlobs
from sitelore.store.blobs.tenant import TenantBlobs


def blob(content: bytes) -> Blob:
    return Blob(BlobKey(hashlib.sha256(content).hexdigest()), CleanBytes(zstandard.compress(content)))


@asynccontextmanager
async def opened(where: Path | str) -> AsyncIterator[Blobs]:
    blobs = SqliteBlobs(where) if isinstance(where, Path) else ObjectBlobs(where)
    try:
        yield blobs
    finally:
        await blobs.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "blobs.db"


@pytest.fixture(params=["sqlite", "directory", "s3"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A place for blobs of each kind."""
    if request.param == "sqlite":
        return tmp_path / "blobs.db"
    if request.param == "directory":
        return f"file://{tmp_path / 'blobs of many'}"
    url, _, options = str(request.getfixturevalue("s3_url")).partition("?")
    return f"{url}/{tmp_path.name}?{options}"


async def test_stored_blobs_can_be_read_after_reopening(where: Path | str) -> None:
    many = [blob(f"page {n}".encode() * n) for n in range(40)]
    async with opened(where) as blobs:
        await blobs.put(many)
        assert await blobs.get(many[39].key) == b"page 39" * 39
        assert await blobs.get(many[0].key) == b""
    async with opened(where) as blobs:
        assert await blobs.get(many[7].key) == b"page 7" * 7


async def test_a_tenant_does_not_see_the_blobs_of_another(where: Path | str) -> None:
    ours, theirs, shared = blob(b"ours"), blob(b"theirs"), blob(b"shared")
    store = SqliteBlobs(where) if isinstance(where, Path) else ObjectBlobs(where)
    default = TenantBlobs(store, DEFAULT_TENANT)
    tenants = {tenant: default.for_tenant(TenantId(tenant)) for tenant in (2, 23)}
    await default.put([shared])
    await tenants[2].put([ours, shared])
    await tenants[23].put([theirs])
    assert [key async for key in default.keys(math.inf)] == [shared.key]
    assert {key async for key in tenants[2].keys(math.inf)} == {ours.key, shared.key}
    assert [key async for key in tenants[23].keys(math.inf)] == [theirs.key]
    for tenant, own, foreign in ((tenants[2], ours, theirs), (tenants[23], theirs, ours), (default, shared, ours)):
        assert await tenant.get(own.key)
        for key in (foreign.key, f"2/{ours.key}", f"../2/{ours.key}"):
            with pytest.raises(KeyError):
                await tenant.get(BlobKey(key))
    assert await tenants[2].delete([shared.key], math.inf) == 1
    assert await default.get(shared.key) == b"shared"
    await store.close()


async def test_a_frame_without_a_content_size_is_decompressed(where: Path | str) -> None:
    content = b"streamed " * 1000
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    data = stream.compress(content) + stream.flush()
    one = Blob(BlobKey(hashlib.sha256(content).hexdigest()), CleanBytes(data))
    async with opened(where) as blobs:
        await blobs.put([one])
        assert await blobs.get(one.key) == content


async def test_concurrent_gets_each_get_their_own_result(where: Path | str) -> None:
    many = [blob(f"page {n}".encode() * n) for n in range(20)]
    async with opened(where) as blobs:
        await blobs.put(many)
        keys = [*(one.key for one in many), many[3].key, BlobKey("0" * 64)]
        given_up = asyncio.create_task(blobs.get(many[0].key))
        results = asyncio.gather(*map(blobs.get, keys), return_exceptions=True)
        await asyncio.sleep(0)
        given_up.cancel()
        *read, again, missing = await results
    assert read == [f"page {n}".encode() * n for n in range(20)]
    assert again == b"page 3" * 3
    assert isinstance(missing, KeyError)


async def test_a_get_after_close_fails(path: Path) -> None:
    async with opened(path) as blobs:
        await blobs.put([blob(b"x")])
    with pytest.raises(RuntimeError):
        await blobs.get(blob(b"x").key)


async def test_a_key_without_a_blob_is_a_key_error(where: Path | str) -> None:
    async with opened(where) as blobs:
        await blobs.put([blob(b"another")])
        for key in ("0" * 64, "", "../../etc/passwd", "' OR 1=1 --"):
            with pytest.raises(KeyError):
                await blobs.get(BlobKey(key))


async def test_a_repeated_put_changes_nothing(where: Path | str) -> None:
    one = blob(b"once")
    async with opened(where) as blobs, opened(where) as other:
        await asyncio.gather(*(store.put([one, one, blob(f"{n}".encode())]) for n in range(8) for store in (blobs, other)))
        assert await other.get(one.key) == b"once"
        for n in range(8):
            assert await blobs.get(blob(f"{n}".encode()).key) == f"{n}".encode()
    if isinstance(where, Path):
        with sqlite3.connect(where) as db:
            assert db.execute("SELECT count(*) FROM blobs").fetchone() == (9,)
        db.close()


async def test_a_put_of_no_blobs_creates_no_file(path: Path) -> None:
    async with opened(path) as blobs:
        await blobs.put([])
    assert not path.exists()


@pytest.mark.parametrize("data", [b"garbage", blob(b"fine").data[:-3]])
async def test_the_error_for_a_damaged_blob_names_its_key(where: Path | str, data: bytes) -> None:
    one = Blob(blob(b"fine").key, CleanBytes(data))
    async with opened(where) as blobs:
        await blobs.put([one])
        with pytest.raises(CorruptData, match=one.key):
            await blobs.get(one.key)


async def test_a_file_that_is_not_a_database_gives_a_one_line_error(path: Path) -> None:
    path.write_bytes(b"this is no database " * 200)
    async with opened(path) as blobs:
        with pytest.raises(CorruptData, match=str(path)):
            await blobs.get(BlobKey("0" * 64))


async def test_a_missing_directory_gives_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    async with opened(tmp_path / "file" / "blobs.db") as blobs:
        with pytest.raises(StorageError):
            await blobs.put([blob(b"x")])


async def test_an_unavailable_blob_store_is_retried_and_then_named_in_the_error(tmp_path: Path) -> None:
    away = "s3://key:secret@bucket?endpoint=http://127.0.0.1:1"
    for blobs in (ObjectBlobs(away), ObjectBlobs(away, retry_for_s=0.2)):
        with pytest.raises(StorageError, match="s3://bucket") as problem:
            await blobs.put([blob(b"x")])
        assert "secret" not in str(problem.value)
        await blobs.close()


async def test_a_wrong_key_fails_without_retries(s3_url: str) -> None:
    blobs = ObjectBlobs(s3_url.replace("sitelore-secret", "wrong"), retry_for_s=60)
    with pytest.raises(StorageError, match="refuses") as problem:
        await blobs.check()
    assert "wrong" not in str(problem.value)
    await blobs.close()


async def test_a_check_leaves_nothing_behind(where: Path | str) -> None:
    if isinstance(where, Path):
        pytest.skip("a directory of our own needs no check")
    blobs = ObjectBlobs(where)
    await blobs.check()
    with pytest.raises(KeyError):
        await blobs.get(BlobKey("sitelorecheck"))
    await blobs.close()


@pytest.mark.parametrize("url", ["", "bucket", "http://bucket", "s3://", "file://host/x", "s3://b?colour=red"])
def test_an_invalid_blob_store_url_gives_a_one_line_error(url: str) -> None:
    with pytest.raises(BadConfig, match="SITELORE_BLOBS_URL"):
        ObjectBlobs(url)


def test_several_processes_can_create_a_file_at_the_same_time(tmp_path: Path) -> None:
    async def put_one(path: Path, number: int) -> None:
        async with opened(path) as blobs:
            await blobs.put([blob(f"{number}".encode())])

    with ThreadPoolExecutor(4) as threads:
        for turn in range(25):
            path = tmp_path / f"{turn}.db"
            for done in [threads.submit(asyncio.run, put_one(path, number)) for number in range(4)]:
                done.result()
