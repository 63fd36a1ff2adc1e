"""Media files in a directory and in an object store: whole, by tenant, and kept when they were put again."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sitelore.model.ids import DEFAULT_TENANT, TenantId
from sitelore.model.platform.media import screenshot_key
from sitelore.platform_ports import MediaFiles
from sitelore.store.blobs.media_files import DirectoryMediaFiles, ObjectMediaFiles
from sitelore.store.blobs.object_store import Bucket

KEY, OTHER = f"images/{'a' * 64}.jpg", f"documents/{'b' * 64}.pdf"


@pytest.fixture(params=["directory", "objects"])
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MediaFiles]:
    bucket = Bucket(f"file://{tmp_path}")
    made: MediaFiles = (
        DirectoryMediaFiles(tmp_path) if request.param == "directory" else ObjectMediaFiles(bucket, DEFAULT_TENANT)
    )
    yield made
    await made.close()
    await bucket.close()


async def keys(files: MediaFiles, before: float = math.inf) -> set[str]:
    return {key async for key in files.keys(before)}


async def test_a_file_is_where_its_tenant_and_its_key_say(files: MediaFiles, tmp_path: Path) -> None:
    assert await keys(files) == set()
    await files.put(KEY, b"one")
    await files.put(KEY, b"one")
    neighbour = files.for_tenant(TenantId(7))
    await neighbour.put(KEY, b"theirs")
    assert (tmp_path / "webmedia" / "1" / KEY).read_bytes() == await files.get(KEY) == b"one"
    assert (tmp_path / "webmedia" / "7" / KEY).read_bytes() == await neighbour.get(KEY) == b"theirs"
    assert (await keys(files), await keys(neighbour)) == ({KEY}, {KEY})
    assert files.place(KEY) == f"webmedia/1/{KEY}"


async def test_a_screenshot_is_in_the_folder_of_its_channel_and_the_last_one_counts(files: MediaFiles, tmp_path: Path) -> None:
    key = screenshot_key("0197aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee", 17)
    await files.put(key, b"one")
    await files.put(key, b"two")
    place = tmp_path / "webpages" / "1" / "0197aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee" / "screenshots" / "17.jpg"
    assert place.read_bytes() == await files.get(key) == b"two"
    assert await files.get_part(key, 1, 3) == b"wo"
    assert await keys(files) == {key}
    assert await keys(files.for_tenant(TenantId(7))) == set()
    assert await files.delete([key], math.inf) == 1
    assert await keys(files) == set()
    if isinstance(files, DirectoryMediaFiles):
        assert list(tmp_path.iterdir()) == [], "names of empty directories hold ids"
    await files.put(key, b"new")
    await files.restore([key])
    assert await files.get(key) == b"new", "what was put again meanwhile is newer"


@pytest.mark.parametrize(
    "key",
    [
        OTHER,
        "",
        "../7/x",
        f"images/../../7/images/{'a' * 64}.jpg",
        "/etc/passwd",
        "images",
        "screenshots/../1.jpg",
        "screenshots/a/b.jpg",
    ],
)
async def test_what_is_no_key_or_not_there_is_not_read(files: MediaFiles, key: str) -> None:
    await files.put(KEY, b"one")
    with pytest.raises(KeyError):
        await files.get(key)


async def test_what_a_killed_process_left_unfinished_is_removed(tmp_path: Path) -> None:
    files = DirectoryMediaFiles(tmp_path)
    await files.put(KEY, b"one")
    unfinished = (tmp_path / files.place(OTHER)).with_name(".half.pdf.part")
    unfinished.parent.mkdir()
    unfinished.write_bytes(b"half")
    assert await keys(files) == {KEY}
    assert not unfinished.exists()
    await files.close()


async def test_a_file_that_was_put_again_is_not_deleted(files: MediaFiles) -> None:
    await files.put(KEY, b"one")
    await files.put(OTHER, b"two")
    before = time.time() - 60
    assert await keys(files, before) == set()
    assert await files.delete([KEY, OTHER], before) == 0
    assert await files.delete([KEY], math.inf) == 1
    assert await keys(files) == {OTHER}
    assert await files.delete([KEY], math.inf) == 0
    assert {key async for key in files.deleted_keys(math.inf)} <= {KEY}
    await files.purge([KEY], math.inf)
    with pytest.raises(KeyError):
        await files.get(KEY)
