from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from sitelore.model.errors import CorruptData, DataDirBusy, DiskFull, StorageError
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.settings import CrawlSettings
from sitelore.store import engine
from sitelore.store.engine import connect_read_only, is_unavailable, open_postgres, open_sqlite, postgres_error, sqlite_error
from sitelore.store.runs.lifecycle import create_run, latest_runs
from sitelore.store.schema import sites
from sitelore.store.tenants import for_tenant


def _site(number: int, name: str) -> dict[str, object]:
    return {"tenant_id": DEFAULT_TENANT, "id": number, "name": name, "created_at": 1}


async def test_a_file_that_is_not_a_database_gives_a_one_line_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"this is not a database at all, whatever its name says" * 100)
    with pytest.raises(CorruptData, match=str(path)):
        await open_sqlite(path)


async def test_a_damaged_database_gives_a_one_line_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    opened = await open_sqlite(path)
    await opened.write(lambda conn: conn.execute(sa.insert(sites), [_site(n, f"{n:0900}") for n in range(2000)]))
    await opened.close()
    data = bytearray(path.read_bytes())
    data[4096 * 20 : 4096 * 200] = os.urandom(4096 * 180)
    path.write_bytes(data)
    with pytest.raises(CorruptData, match=str(path)):  # noqa: PT012 - the damage shows when it is read, wherever that is
        opened = await open_sqlite(path)
        try:
            await opened.read(lambda conn: conn.execute(sa.select(sites)).all())
        finally:
            await opened.close()


async def test_a_database_whose_header_claims_another_format_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await (await open_sqlite(path)).close()
    data = bytearray(path.read_bytes())
    data[44:48] = b"\0\0\0\x09"
    path.write_bytes(data)
    with pytest.raises(CorruptData, match=str(path)):
        await open_sqlite(path)


def test_a_database_that_a_killed_process_left_cannot_be_read_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = tmp_path / "ledger.db", tmp_path / "ledger.db-wal"
    monkeypatch.setattr("sitelore.store.engine.is_writable", lambda _: False)
    failed = sqlite3.OperationalError("unable to open database file")
    log.write_bytes(b"changes")
    assert "was not closed" in str(sqlite_error(failed, path))
    log.write_bytes(b"")
    assert "cannot be opened" in str(sqlite_error(failed, path))


async def test_an_empty_write_ahead_log_is_no_obstacle_to_reading(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await (await open_sqlite(path)).close()
    path.with_name("ledger.db-wal").write_bytes(b"")
    with closing(connect_read_only(path)) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)
        assert not path.with_name("ledger.db-shm").exists()


@pytest.mark.parametrize("column", ["settings", "error"])
async def test_flipped_bytes_in_a_stored_value_are_damage(tmp_path: Path, column: str) -> None:
    path = tmp_path / "ledger.db"
    opened = await open_sqlite(path)
    try:
        await opened.write(for_tenant, create_run, DEFAULT_TENANT, "site.test", CrawlSettings(), (), 1.0)
        with sqlite3.connect(path) as database:
            database.execute(f"UPDATE runs SET {column} = CAST(x'7b229b22' AS TEXT)")
        with pytest.raises(CorruptData, match=f"{path} is damaged"):
            await opened.read(for_tenant, latest_runs, DEFAULT_TENANT)
    finally:
        await opened.close()


async def test_undecodable_json_in_a_stored_value_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    opened = await open_sqlite(path)
    try:
        await opened.write(for_tenant, create_run, DEFAULT_TENANT, "site.test", CrawlSettings(), (), 1.0)
        with sqlite3.connect(path) as database:
            database.execute("UPDATE runs SET settings = '{\"seeds\": [}'")
        with pytest.raises(CorruptData, match=f"{path} is damaged"):
            await opened.read(for_tenant, latest_runs, DEFAULT_TENANT)
    finally:
        await opened.close()


async def test_a_directory_that_cannot_be_created_gives_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DiskFull, match="file"):
        await open_sqlite(tmp_path / "file" / "below" / "ledger.db")


async def test_a_path_that_is_a_directory_gives_a_one_line_error(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match=str(tmp_path)):
        await open_sqlite(tmp_path)


async def test_a_full_disk_rolls_back_the_transaction_and_keeps_earlier_commits(tmp_path: Path) -> None:
    opened = await open_sqlite(tmp_path / "ledger.db")
    await opened.write(lambda conn: conn.execute(sa.insert(sites).values(_site(1, "kept"))))
    pages = await opened.write(lambda conn: conn.scalar(sa.text("PRAGMA page_count")))
    await opened.write(
        lambda conn: conn.execute(sa.text(f"PRAGMA max_page_count = {pages}"))
    )  # SQLite's own words for a full disk
    with pytest.raises(DiskFull, match="no space left"):
        await opened.write(lambda conn: conn.execute(sa.insert(sites), [_site(n, "x" * 5000 + str(n)) for n in range(2, 11)]))
    assert await opened.read(lambda conn: conn.scalar(sa.select(sa.func.count()).select_from(sites))) == 1
    await opened.close()


async def test_a_database_locked_by_another_process_gives_a_one_line_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_BUSY_TIMEOUT_MS", 1)
    path = tmp_path / "ledger.db"
    opened = await open_sqlite(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DataDirBusy, match=str(path)):
        await opened.write(lambda conn: conn.execute(sa.insert(sites).values(_site(1, "x"))))
    other.close()
    await opened.close()


async def test_a_function_that_raises_is_rolled_back(tmp_path: Path) -> None:
    opened = await open_sqlite(tmp_path / "ledger.db")

    def fails(conn: sa.Connection) -> None:
        conn.execute(sa.insert(sites).values(_site(1, "gone")))
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        await opened.write(fails)
    assert await opened.read(lambda conn: conn.scalar(sa.select(sa.func.count()).select_from(sites))) == 0
    await opened.close()


async def test_readers_do_not_wait_for_the_writer(tmp_path: Path) -> None:
    opened = await open_sqlite(tmp_path / "ledger.db")
    loop = asyncio.get_running_loop()
    inside, read = asyncio.Event(), asyncio.Event()

    def writes(conn: sa.Connection) -> None:
        conn.execute(sa.insert(sites).values(_site(1, "late")))
        loop.call_soon_threadsafe(inside.set)
        asyncio.run_coroutine_threadsafe(read.wait(), loop).result(30)

    writing = asyncio.create_task(opened.write(writes))
    await inside.wait()
    assert await opened.read(lambda conn: conn.scalar(sa.select(sa.func.count()).select_from(sites))) == 0
    read.set()
    await writing
    assert await opened.read(lambda conn: conn.scalar(sa.select(sa.func.count()).select_from(sites))) == 1
    await opened.close()


async def test_an_unreachable_server_gives_a_one_line_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be reached") as raised:
        await open_postgres(f"postgresql://someone:secret@/nothing?host={tmp_path}")
    assert "secret" not in str(raised.value)


def test_programming_errors_are_not_translated() -> None:
    assert sqlite_error(sqlite3.OperationalError("no such column: x"), Path("a.db")) is None
    assert postgres_error(sqlite3.OperationalError("syntax error"), "db") is None
    assert isinstance(sqlite_error(sqlite3.OperationalError("attempt to write a readonly database"), Path("a.db")), DiskFull)
    assert isinstance(sqlite_error(OSError(5, "Input/output error"), Path("a.db")), DiskFull)


def test_postgres_errors_are_classified_by_sqlstate() -> None:
    def problem(state: str) -> object:
        error = RuntimeError("server says so")
        error.sqlstate = state  # type: ignore[attr-defined]  # as the driver's errors carry it
        return type(postgres_error(error, "db"))

    assert problem("53100") is problem("25006") is DiskFull
    assert problem("XX001") is CorruptData
    assert problem("08006") is problem("57P01") is StorageError


def test_an_unavailable_server_is_distinguished_from_one_that_rejects() -> None:
    def away(state: str) -> bool:
        error = RuntimeError("server says so")
        error.sqlstate = state  # type: ignore[attr-defined]  # as the driver's errors carry it
        return is_unavailable(error)

    assert all(map(away, ("57P01", "57P03", "08003", "08006", "53300", "25P03")))
    assert not any(map(away, ("28P01", "3D000", "53100", "23505", "40001", "")))
    assert is_unavailable(ConnectionRefusedError())
    assert is_unavailable(TimeoutError())
    assert not is_unavailable(OSError(28, "No space left on device"))
